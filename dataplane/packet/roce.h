// SPDX-License-Identifier: Apache-2.0
// What a RoCEv2 frame says beyond struct pkt_info: P_Key, AETH, RETH, DETH (InfiniBand Architecture
// volume 1, chapter 9; annex A17), as the flow table and the pairing of queue pairs need it. Called
// by workers on frames that parse() called `roce`. Believes nothing: only bytes within `stored` are
// read, and what is not there is not said. Pure; it decides nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"

enum roce_role {
	ROCE_ROLE_OTHER, // nothing that flows or pairing know
	ROCE_ROLE_DATA, // SEND and WRITE of a reliable transport
	ROCE_ROLE_UNRELIABLE, // SEND and WRITE of UC, which has no ACKs
	ROCE_ROLE_READ_REQUEST,
	ROCE_ROLE_READ_RESPONSE,
	ROCE_ROLE_ACK, // ACK and atomic ACK
	ROCE_ROLE_NAK, // and RNR NAK
	ROCE_ROLE_CNP,
	ROCE_ROLE_MANAGEMENT, // UD SEND to queue pair 1
	ROCE_ROLE_DATAGRAM, // other UD: a flow, but no queue pair to notify
};

struct roce_msg {
	uint8_t role; // enum roce_role
	uint8_t opcode;
	uint8_t syndrome; // AETH: ACK, NAK, and read responses but the middle ones
	bool has_aeth;
	bool first; // of a read response: first or only; its PSN is that of the request
	uint16_t pkey;
	uint32_t dest_qp, psn; // 24 bits
	uint32_t read_bytes; // RETH of a read request
	uint32_t src_qp; // DETH
	const uint8_t *mad; // of a management message, where mad_len bytes are stored
	uint32_t mad_len;
};

extern const uint8_t roce_role_of_opcode[256]; // ROCE_ROLE_DATAGRAM: also management

// The role is known from the opcode alone, but for management.
static inline enum roce_role roce_role(uint8_t opcode, uint32_t dest_qp)
{
	enum roce_role role = (enum roce_role)roce_role_of_opcode[opcode];

	return role == ROCE_ROLE_DATAGRAM && dest_qp == 1 ? ROCE_ROLE_MANAGEMENT : role;
}

// frame: of which `stored` bytes are there; pkt: what parse said, with pkt->roce. False when an
// extension header that the opcode promises is not there.
bool roce_msg_read(const uint8_t *frame, uint32_t stored, const struct pkt_info *pkt,
		   struct roce_msg *out);

// Reads addresses of an IP header; IPv4 in the first four bytes, the rest 0. kind: enum pkt_kind.
void roce_addresses(const uint8_t *l3, uint8_t kind, uint8_t src[16], uint8_t dst[16]);
