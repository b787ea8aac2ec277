// SPDX-License-Identifier: Apache-2.0
// Frames over IP and Ethernet as an endpoint sends and reads them, with one 802.1Q tag or none.
// RoCEv2: BTH, RETH, AETH, DETH, payload, pad and iCRC (InfiniBand Architecture volume 1, chapter
// 9, and annex A17). TCP: RFC 9293, 3.1, with the options MSS, window scale (RFC 7323) and SACK
// (RFC 2018). Pure: it turns a struct roce_pkt or tcp_seg into bytes and back and decides nothing.
// Called by the NIC's owner for each frame.
//
// The reader trusts no length: it checks each one against the frame before use.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/addr.h"
#include "drivers/nic/tcp.h"

// Lengths are those of untagged frames over IPv4; others are longer by frame_extra (addr.h).
enum {
	ROCE_L2L3L4_LEN = 14 + 20 + 8,
	ROCE_MIN_LEN = ROCE_L2L3L4_LEN + 12 + 4, // BTH and iCRC
	ROCE_MAX_EXTRA = 16 + 3, // RETH (the longest extension header an endpoint sends) and pad
	ROCE_IMM_LEN = 4,
	ROCE_MAX_HEADERS = ROCE_L2L3L4_LEN + 12 + 16 + 4, // BTH, RETH and immediate
	TCP_HEADERS = 14 + 20 + 20, // of a segment without options
	TCP_MAX_HEADERS = TCP_HEADERS + 4 + 8 * TCP_MAX_SACKS, // of an ACK; a SYN has less
	TCP_MIN_FRAME = 60, // of Ethernet without FCS: shorter frames are padded
};

struct frame_addr {
	uint8_t src_mac[6], dst_mac[6];
	struct frame_tag tag;
	struct ip_key src_ip, dst_ip; // of one family
	uint16_t sport, dport; // dport: of TCP
	uint16_t ip_id; // of IPv4
	uint8_t tos; // DSCP and ECN
};

static inline uint32_t frame_addr_extra(const struct frame_addr *a)
{
	return frame_extra(&a->tag, !ip_key_is_v4(a->dst_ip));
}

// The tag of a frame as parse() found it.
static inline struct frame_tag frame_tag_of(const struct pkt_info *info)
{
	return (struct frame_tag){info->n_tags != 0, (uint8_t)(info->tci >> TCI_PCP_SHIFT),
				  info->tci & TCI_VID_MASK};
}

// Of a frame as parse() found it: the IP addresses, and the tag.
void frame_ips(const uint8_t *frame, const struct pkt_info *info, struct frame_addr *a);

enum frame_read {
	FRAME_OK,
	FRAME_SHORT, // lengths do not agree, or an opcode this endpoint does not speak
	FRAME_CHECKSUM, // the iCRC, or TCP's checksum
};

// ---- RoCEv2

// What an opcode of the wire means to an endpoint. One row per opcode in frames.c.
enum roce_kind {
	ROCE_OTHER, // nothing this endpoint speaks
	ROCE_SEND,
	ROCE_WRITE,
	ROCE_READ_REQ,
	ROCE_READ_RESP,
	ROCE_ACKNOWLEDGE,
	ROCE_NOTIFY, // congestion notification
	ROCE_UD, // UD SEND only: connection management
};

struct roce_op {
	uint8_t kind; // enum roce_kind
	bool first, last; // of a message; both: only
	bool reth, aeth, deth, imm;
};

extern const struct roce_op roce_ops[256];
static inline const struct roce_op *roce_op_of(uint8_t opcode)
{
	return &roce_ops[opcode];
}

// Bytes between BTH and payload.
static inline uint32_t roce_ext_len(const struct roce_op *op)
{
	return op->reth * (uint32_t)sizeof(struct reth_hdr) +
	       op->aeth * (uint32_t)sizeof(struct aeth_hdr) +
	       op->deth * (uint32_t)sizeof(struct deth_hdr) + op->imm * (uint32_t)ROCE_IMM_LEN;
}

static inline uint32_t roce_pad(uint32_t payload_len)
{
	return -payload_len & 3;
}

struct roce_pkt {
	uint8_t opcode;
	bool ack_req;
	uint32_t dest_qp;
	uint32_t psn;
	uint64_t va; // RETH
	uint32_t rkey, dma_len;
	uint8_t syndrome; // AETH
	uint32_t msn;
	uint32_t qkey, src_qp; // DETH
	const uint8_t *payload;
	uint32_t payload_len;
	uint32_t payload_sum; // where the payload is not kept; 0: not known
};

// Length of the frame that roce_build would write, untagged and over IPv4.
static inline uint32_t roce_frame_len(const struct roce_pkt *p)
{
	return ROCE_MIN_LEN + roce_ext_len(roce_op_of(p->opcode)) + p->payload_len +
	       roce_pad(p->payload_len);
}

// Writes the first `stored` bytes of the frame: all, or, of at least ROCE_MAX_HEADERS, its headers
// and then zeros.
void roce_build(uint8_t *out, uint32_t stored, const struct frame_addr *addr,
		const struct roce_pkt *p);

// Ethernet, IP, UDP and BTH of a connection's frames, with zeros where frames differ: length,
// identification, checksum, opcode, PSN and the bits of the BTH. Made once for many frames.
struct roce_template {
	bool ready; // for the owner: false until it is made, and when an address has changed
	bool v6;
	uint8_t l3_off, len;
	uint8_t extra; // of frame_extra
	uint8_t bytes[ROCE_L2L3L4_LEN + FRAME_MAX_EXTRA + 12];
	uint32_t ip_sum; // of the words of the IPv4 header
};

// a->ip_id does not matter.
void roce_template_init(struct roce_template *t, const struct frame_addr *a, uint32_t dest_qp);

// The same bytes as roce_build of the template's addresses and of ip_id; p->dest_qp is the
// template's.
void roce_fill(uint8_t *out, uint32_t stored, const struct roce_template *t, uint16_t ip_id,
	       const struct roce_pkt *p);

// frame: RoCEv2 of len bytes as parse() found it, of which `stored` bytes are there.
// p->payload points into the frame. A frame that is not stored whole has no iCRC to check, and its
// p->payload is NULL.
enum frame_read roce_read(const uint8_t *frame, uint32_t len, uint32_t stored,
			  const struct pkt_info *info, struct roce_pkt *p);

// The UDP source port Linux derives from both queue pair numbers (symmetric), so that a flow
// hashes to one path and a switch may score a pairing by it.
uint16_t roce_udp_sport(uint32_t qpn_a, uint32_t qpn_b);

// ---- TCP

// Length of the frame that tcp_build would write. extra: of frame_extra.
uint32_t tcp_frame_len(const struct tcp_seg *s, uint32_t extra);

// Writes the first `stored` bytes of the frame, at least all headers. payload: NULL where the
// payload is zeros.
void tcp_build(uint8_t *out, uint32_t stored, const struct frame_addr *a, const struct tcp_seg *s,
	       const uint8_t *payload);

// frame: TCP as parse() found it, of which `stored` bytes are there. The checksum is
// verified where the frame is stored whole; else *payload is NULL. Of a only the ports, the IP
// addresses and the tag are set.
enum frame_read tcp_read(const uint8_t *frame, uint32_t len, uint32_t stored,
			 const struct pkt_info *info, struct frame_addr *a, struct tcp_seg *s,
			 const uint8_t **payload);

// ---- payload: byte n of a queue pair's data stream is a fixed pseudo-random function of n,
// against which a receiver may check it. The period is prime, so a packet swapped with its
// neighbour, repeated or shifted never looks right, and both ends find the bytes by one memcpy or
// memcmp into a table, one for each NIC.

enum {
	PAYLOAD_PERIOD = 251,
	PAYLOAD_MAX = 9216 - 40, // of the largest TCP segment; path MTUs end at 4096
};

struct payload_table {
	uint8_t bytes[PAYLOAD_PERIOD + PAYLOAD_MAX];
};

static inline void payload_table_init(struct payload_table *t)
{
	for (uint32_t i = 0; i < sizeof(t->bytes); i++)
		t->bytes[i] = (uint8_t)((i % PAYLOAD_PERIOD * 0x9e3779b1u) >> 24);
}

// The n bytes at stream position offset; n at most PAYLOAD_MAX.
static inline const uint8_t *payload_at(const struct payload_table *t, uint64_t offset)
{
	return t->bytes + offset % PAYLOAD_PERIOD;
}

// Checksum of n bytes: kept in place of bytes that are to be compared later.
uint32_t payload_sum(const uint8_t *data, uint32_t n);

static inline bool payload_ok(const struct payload_table *t, uint64_t offset, const uint8_t *data,
			      uint32_t n)
{
	return n <= PAYLOAD_MAX && memcmp(data, payload_at(t, offset), n) == 0;
}
