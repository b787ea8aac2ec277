// SPDX-License-Identifier: Apache-2.0
// One-pass parser: Ethernet, 802.1Q / QinQ, IPv4 (options, fragments), IPv6 (extension headers),
// UDP, BTH of RoCEv2, MAC control, protocols of the link. Called by the ingress owner on every
// received frame.
//
// The frame is hostile: nothing beyond `len` is read, the walk is bounded (PARSE_MAX_TAGS tags,
// PARSE_MAX_EXT extension headers), and what does not parse is simply a frame of the layer below.
// Only lengths are believed after they were checked; checksums are not verified. It decides
// nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/wire.h"

enum {
	ETH_ALEN_ = 6,
	ETH_HLEN_ = 14,
	PARSE_MAX_TAGS = 2,
	PARSE_MAX_EXT = 8,
	ROCE_UDP_PORT = 4791,
};

enum pkt_kind {
	PKT_OTHER, // forwarded by address; class by PCP or port
	PKT_IPV4,
	PKT_IPV6,
	PKT_MAC_CONTROL, // EtherType 0x8808, also behind tags, which 802.3 clause 31 does not allow
	// Protocols between a station and its switch.
	PKT_LLDP, // EtherType 0x88cc
	PKT_SLOW, // 802.3 slow protocols, EtherType 0x8809
	PKT_INOF, // EtherType 0x88a7
};

// Group addresses that are not plain multicast.
enum reserved_dst {
	DST_ORDINARY,
	DST_LINK_LOCAL, // 01:80:c2:00:00:01-0f, which no bridge forwards
	DST_STP, // 01:80:c2:00:00:00, the Bridge Group Address
	DST_LOOPBACK, // cf:00:00:00:00:00, of the Configuration Testing Protocol
};

enum ecn { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

struct pkt_info {
	uint8_t kind; // enum pkt_kind
	uint8_t n_tags; // whole tags, at most PARSE_MAX_TAGS
	uint8_t l3_off; // of the IP header; of the payload for other kinds
	uint8_t dscp; // IP only
	uint8_t ecn; // enum ecn, IP only
	uint8_t ip_proto; // last header reached, also one that does not hold; 0: later fragment
	bool group_dst; // destination address is multicast or broadcast
	uint8_t reserved_dst; // enum reserved_dst
	bool fragment; // any fragment but the first; transport unknown
	bool roce; // UDP to 4791 with a whole BTH; bth_ and roce_data hold only then
	bool bad_l3; // EtherType said IP, the header did not hold: treated as PKT_OTHER
	bool roce_data; // of those, roce_is_data
	uint8_t bth_opcode;
	bool bth_ack_req;
	uint16_t tci; // outermost tag, host order; 0 when untagged
	uint16_t ether_type; // after the tags; a TPID where a third tag follows or a tag is cut off
	uint16_t l4_off; // of the transport header; 0 if none, or a UDP header that is not whole
	uint16_t udp_sport, udp_dport; // 0 without UDP
	uint32_t bth_dest_qp;
	uint32_t bth_psn;
	uint32_t inner_tag; // TPID and TCI of the second tag, host order; 0: there is none
};

// Everything that congestion is about: all opcodes but ACK, atomic ACK and RESYNC (of any
// transport) and CNP.
static inline bool roce_is_data(uint8_t bth_opcode)
{
	enum { NOT_DATA = 1u << RC_ACK | 1u << RC_ATOMIC_ACK | 1u << RC_RESYNC };

	return bth_opcode != ROCE_CNP && !(NOT_DATA >> (bth_opcode & ROCE_OPERATION_MASK) & 1);
}

// Reads the BTH of a RoCEv2 frame.
static inline void parse_bth(const struct bth_hdr *bth, struct pkt_info *out)
{
	out->roce = true;
	out->roce_data = roce_is_data(bth->opcode);
	out->bth_opcode = bth->opcode;
	// Each is three bytes behind a byte of flags: one load is quicker than three.
	out->bth_dest_qp = be32_get(&bth->cong) & 0xffffff;
	out->bth_psn = be32_get(&bth->ack_req) & 0xffffff;
	out->bth_ack_req = bth->ack_req & BTH_ACK_REQ;
}

// False when the frame is shorter than an Ethernet header; *out is then undefined.
bool parse(const uint8_t *frame, uint32_t len, struct pkt_info *out);
