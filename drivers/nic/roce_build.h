// SPDX-License-Identifier: Apache-2.0
// RoCEv2 frames over IPv4 and Ethernet as an endpoint sends and reads them: BTH, RETH, AETH,
// DETH, payload, pad and iCRC (InfiniBand Architecture volume 1, chapter 9, and annex A17).
// Pure: it turns a struct roce_pkt into bytes and back and decides nothing. Called by the NIC's
// owner for each frame.
//
// The reader is told nothing it can trust: every length is checked against the frame before use.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pkt_info;

enum {
	ROCE_L2L3L4_LEN = 14 + 20 + 8,
	ROCE_MIN_LEN = ROCE_L2L3L4_LEN + 12 + 4, // BTH and iCRC
	ROCE_MAX_EXTRA = 16 + 3, // RETH (the longest extension header an endpoint sends) and pad
	ROCE_MAX_HEADERS = ROCE_L2L3L4_LEN + 12 + 16 + 4, // BTH, RETH and immediate
};

// What an opcode of the wire means to an endpoint. One row per opcode in roce_build.c.
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

const struct roce_op *roce_op_of(uint8_t opcode);

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
};

struct roce_addr {
	uint8_t src_mac[6], dst_mac[6];
	uint32_t src_ip, dst_ip; // host order
	uint16_t udp_sport;
	uint16_t ip_id;
	uint8_t tos; // DSCP and ECN
};

enum roce_read {
	ROCE_READ_OK,
	ROCE_READ_SHORT, // lengths do not agree, or an opcode this endpoint does not speak
	ROCE_READ_ICRC,
};

// Length of the frame that roce_build would write.
uint32_t roce_frame_len(const struct roce_pkt *p);

// Writes roce_frame_len(p) bytes.
void roce_build(uint8_t *out, const struct roce_addr *addr, const struct roce_pkt *p);

// Writes the first `stored` bytes of that frame, at least ROCE_MAX_HEADERS and fewer than all: its
// headers, then zeros.
void roce_build_headers(uint8_t *out, uint32_t stored, const struct roce_addr *addr,
			const struct roce_pkt *p);

// frame: untagged IPv4 RoCEv2 as parse() found it. p->payload points into the frame.
enum roce_read roce_read(const uint8_t *frame, uint32_t len, const struct pkt_info *info,
			 struct roce_pkt *p);

// The same of a frame of len bytes of which only the first `stored` are there: it has no iCRC to
// check, and p->payload is NULL.
enum roce_read roce_read_headers(const uint8_t *frame, uint32_t len, uint32_t stored,
				 const struct pkt_info *info, struct roce_pkt *p);

// The UDP source port Linux derives from both queue pair numbers (symmetric), so that a flow
// hashes to one path and a switch may score a pairing by it.
uint16_t roce_udp_sport(uint32_t qpn_a, uint32_t qpn_b);
