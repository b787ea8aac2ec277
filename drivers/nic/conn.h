// SPDX-License-Identifier: Apache-2.0
// When a connection sends which management message (InfiniBand Architecture volume 1, 12.9).
// Pure: what arrived and the time go in, what is due and the state come out. Called by the
// owner of the NIC.
//
//   initiator                                    responder
//   [REQ_SENT] --REP: RTU due--> [UP]            [REP_SENT] --RTU or data--> [UP]
//     | REJ                        | close         | too many tries            | DREQ: DREP due
//     v                            v               v                           v
//   [FAILED]                [DREQ_SENT]          [CLOSED] <------- DREP sent --+
//                             | DREP, or too many tries
//                             v
//                           [CLOSED]
//
// REQ, REP and DREQ are repeated every retry_ns until answered. A repeated REP is answered by
// RTU again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum conn_state {
	CONN_FREE,
	CONN_RESOLVING, // initiator without the peer's MAC address
	CONN_REQ_SENT,
	CONN_REP_SENT,
	CONN_UP,
	CONN_DREQ_SENT,
	CONN_CLOSED,
	CONN_FAILED,
};

enum { CONN_TRIES = 64 }; // of REP and DREQ; a REQ is repeated for as long as it takes

struct conn {
	uint8_t state; // enum conn_state
	bool initiator;
	uint16_t due; // enum cm_attr of the message to be sent; 0: none
	uint16_t rej_reason; // of FAILED
	uint32_t tries;
	uint64_t retry_ns;
	uint64_t deadline_ns; // of the answer; UINT64_MAX: none is awaited
	uint32_t local_id, remote_id;
	uint64_t tid;
};

void conn_init(struct conn *c, bool initiator, uint32_t local_id, uint64_t tid, uint64_t retry_ns);

// The initiator knows where to send.
void conn_start(struct conn *c);

// The initiator's side wants to end an established connection.
void conn_close(struct conn *c);

// A message for this connection arrived. True when the state changed.
bool conn_on_message(struct conn *c, uint16_t attr);

// Data arrived: the RTU may have been lost.
void conn_on_data(struct conn *c);

// The due message left.
void conn_sent(struct conn *c, uint64_t now_ns);

void conn_on_timer(struct conn *c, uint64_t now_ns);
