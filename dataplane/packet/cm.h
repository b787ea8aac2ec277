// SPDX-License-Identifier: Apache-2.0
// Connection management messages (InfiniBand Architecture volume 1, chapter 12): REQ, REP, RTU,
// REJ, DREQ and DREP as 256-byte MADs on queue pair 1. The private data of REP has the key and
// address of the responder's memory. The private data of REQ has a wish for a PSN. Both say whether
// lost packets are repeated selectively. Pure: a struct cm_msg becomes bytes and back. Which
// message is due when is conn.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/ip_key.h"

enum {
	CM_MAD_LEN = 256,
	CM_READ_LEN = 72, // as far as cm_read looks
	CM_QP = 1,
	CM_QKEY = (int)0x80010000,
	CM_ANY_PSN = 1 << 24,
};

enum cm_attr {
	CM_REQ = 0x10,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
};

enum cm_rej_reason { CM_REJ_NO_QP = 1, CM_REJ_STALE = 10, CM_REJ_MTU = 26 };

struct cm_msg {
	uint16_t attr; // enum cm_attr
	uint64_t tid;
	uint32_t local_id, remote_id; // communication ids; remote 0 in REQ
	uint32_t qpn; // REQ, REP: the sender's; DREQ: the receiver's
	// REQ, REP: Starting PSN, the PSN with which the receiver of the message begins to send.
	uint32_t psn;
	uint32_t psn_wish; // REQ: the PSN to be stated by REP; CM_ANY_PSN: any
	bool selective; // REQ: wants selective repeat; REP: the connection has it
	uint16_t mtu; // REQ: path MTU
	uint8_t tos; // REQ: DSCP and ECN of the connection
	struct ip_key src_ip, dst_ip; // REQ
	uint16_t reason; // REJ, enum cm_rej_reason
	uint32_t rkey; // REP
	uint64_t va, region_bytes; // REP
};

void cm_build(uint8_t mad[CM_MAD_LEN], const struct cm_msg *m);

// What every implementation says in the same place: the message, its ids, queue pair and PSN; all
// else stays 0. For a bystander. len: what is stored of it. False: no such message.
bool cm_read(const uint8_t *mad, uint32_t len, struct cm_msg *m);

// False when it is no connection management message this endpoint understands.
bool cm_parse(const uint8_t *mad, uint32_t len, struct cm_msg *m);

// "256" .. "4096" to the code of the wire and back; 0: none.
uint8_t cm_mtu_code(uint16_t mtu);
uint16_t cm_mtu_of(uint8_t code);
