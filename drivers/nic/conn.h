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

#include "dataplane/packet/cm.h"

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

static inline void conn_init(struct conn *c, bool initiator, uint32_t local_id, uint64_t tid,
			     uint64_t retry_ns)
{
	*c = (struct conn){
		.state = initiator ? CONN_RESOLVING : CONN_REP_SENT,
		.initiator = initiator,
		.due = initiator ? 0 : CM_REP,
		.retry_ns = retry_ns,
		.deadline_ns = UINT64_MAX,
		.local_id = local_id,
		.tid = tid,
	};
}

static inline void conn_enter_state(struct conn *c, enum conn_state state, uint16_t due)
{
	c->state = (uint8_t)state;
	c->due = due;
	c->tries = 0;
	c->deadline_ns = UINT64_MAX;
}

// The initiator knows where to send.
static inline void conn_start(struct conn *c)
{
	if (c->state == CONN_RESOLVING)
		conn_enter_state(c, CONN_REQ_SENT, CM_REQ);
}

// The initiator's side wants to end an established connection.
static inline void conn_close(struct conn *c)
{
	if (c->state == CONN_UP)
		conn_enter_state(c, CONN_DREQ_SENT, CM_DREQ);
	else if (c->state == CONN_RESOLVING || c->state == CONN_REQ_SENT)
		conn_enter_state(c, CONN_CLOSED, 0);
}

// A message for this connection arrived. True when the state changed.
static inline bool conn_on_message(struct conn *c, uint16_t attr)
{
	bool open = c->state == CONN_REP_SENT || c->state == CONN_UP; // at the responder

	if (c->initiator && attr == CM_REP && c->state == CONN_UP)
		c->due = CM_RTU;
	if (!c->initiator && attr == CM_REQ && open)
		c->due = CM_REP;
	if (c->initiator && attr == CM_REP && c->state == CONN_REQ_SENT)
		conn_enter_state(c, CONN_UP, CM_RTU);
	else if (c->initiator && attr == CM_REJ && c->state == CONN_REQ_SENT)
		conn_enter_state(c, CONN_FAILED, 0);
	else if (c->initiator && (attr == CM_DREP || attr == CM_REJ) && c->state == CONN_DREQ_SENT)
		conn_enter_state(c, CONN_CLOSED, 0);
	else if (!c->initiator && attr == CM_RTU && c->state == CONN_REP_SENT)
		conn_enter_state(c, CONN_UP, 0);
	else if (!c->initiator && attr == CM_DREQ && open)
		conn_enter_state(c, CONN_CLOSED, CM_DREP);
	else
		return false;
	return true;
}

// Data arrived: the RTU may have been lost.
static inline void conn_on_data(struct conn *c)
{
	if (c->state == CONN_REP_SENT)
		conn_enter_state(c, CONN_UP, 0);
}

// The due message left.
static inline void conn_sent(struct conn *c, uint64_t now_ns)
{
	bool answered = c->due == CM_REQ || c->due == CM_DREQ ||
			(c->due == CM_REP && c->state == CONN_REP_SENT);

	c->due = 0;
	if (answered)
		c->deadline_ns = now_ns + c->retry_ns;
}

static inline void conn_on_timer(struct conn *c, uint64_t now_ns)
{
	if (now_ns < c->deadline_ns)
		return;
	c->deadline_ns = UINT64_MAX;
	c->tries++;
	if (c->state == CONN_REQ_SENT)
		c->due = CM_REQ;
	else if (c->tries >= CONN_TRIES)
		conn_enter_state(c, CONN_CLOSED, 0);
	else
		c->due = c->state == CONN_REP_SENT ? CM_REP : CM_DREQ;
}
