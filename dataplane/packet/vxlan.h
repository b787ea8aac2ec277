// SPDX-License-Identifier: Apache-2.0
// VXLAN (RFC 7348): the headers around a frame of a tunnel. Writes them, and reads those of a
// received frame, which is hostile. Pure; called by the worker that holds the frame. It does not
// know peers, VNIs and VLANs, and does not decide about ECN (tunnel_ecn.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum {
	VXLAN_UDP_PORT = 4789,
	VXLAN_MAX_VNI = 0xffffff,
	VXLAN_FLAG_VNI = 0x08, // the field holds a VNI
	VXLAN_LEAST_SPORT = 0xc000, // source ports 49152 to 65535, as RFC 7348 5 recommends
};

struct vxlan_hdr {
	uint8_t flags;
	uint8_t reserved[3];
	struct be24 vni;
	uint8_t reserved2;
};
static_assert(sizeof(struct vxlan_hdr) == 8, "VXLAN");

enum {
	VXLAN_V4_LEN = sizeof(struct eth_hdr) + sizeof(struct ipv4_hdr) + sizeof(struct udp_hdr) +
		       sizeof(struct vxlan_hdr),
	VXLAN_V6_LEN = VXLAN_V4_LEN + sizeof(struct ipv6_hdr) - sizeof(struct ipv4_hdr),
};

static inline unsigned vxlan_overhead(bool v6)
{
	return v6 ? VXLAN_V6_LEN : VXLAN_V4_LEN;
}

// ---- out

struct vxlan_outer {
	bool v6;
	const uint8_t *src, *dst; // of 4 or 16 bytes
	uint8_t dscp, ecn; // enum ecn
	uint8_t ttl;
	uint16_t sport, dport;
	uint32_t vni;
	uint32_t inner_len; // of the frame in the tunnel, without FCS
};

// Writes vxlan_overhead() bytes: Ethernet with both addresses zero, IP, UDP without a checksum (RFC
// 7348 5, RFC 6935), VXLAN.
void vxlan_write(uint8_t *frame, const struct vxlan_outer *o);

// The source port of a frame: its flow's, so that routers in the middle spread flows over equal
// paths (RFC 7348 5). len: bytes that may be read.
uint16_t vxlan_sport(const uint8_t *frame, uint32_t len, const struct pkt_info *pkt);

// ---- in

enum vxlan_fault {
	VXLAN_OK,
	VXLAN_FRAGMENT, // the first fragment of a datagram
	VXLAN_TRUNCATED, // a header is not whole, or the UDP length is none of the packet
	VXLAN_FLAGS, // not the flags of RFC 7348
	VXLAN_INNER_RUNT, // what follows is shorter than an Ethernet header
};

struct vxlan_found {
	uint32_t vni;
	uint16_t off, len; // of the frame in the tunnel
};

// Reads a UDP frame to a VXLAN port; *out: only of VXLAN_OK. l3_off: where its IP header is, which
// may differ from pkt's by a tag that was taken off. stored: bytes that may be read, which may be
// fewer than the frame has.
enum vxlan_fault vxlan_read(const uint8_t *frame, uint32_t stored, unsigned l3_off,
			    const struct pkt_info *pkt, struct vxlan_found *out);

// Whether the frame is a UDP frame to the port, with a whole UDP header.
static inline bool vxlan_is(const struct pkt_info *pkt, uint16_t port)
{
	return pkt->l4_off != 0 && pkt->ip_proto == IP_PROTO_UDP && pkt->udp_dport == port;
}

// ---- in transit

// Sets CE in the frame that a VXLAN frame holds, if that is IP and ECN-capable, and updates the
// outer UDP checksum if there is one. True: CE was set. l3: of the outer header, behind the
// EtherType; len: of the frame from there on, of which `stored` bytes may be read.
bool vxlan_mark_inner(uint8_t *l3, uint32_t len, uint32_t stored, uint16_t port);
