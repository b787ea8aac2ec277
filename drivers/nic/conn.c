// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/conn.h"

#include "dataplane/packet/cm.h"

void conn_init(struct conn *c, bool initiator, uint32_t local_id, uint64_t tid, uint64_t retry_ns)
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

static void enter(struct conn *c, enum conn_state state, uint16_t due)
{
	c->state = (uint8_t)state;
	c->due = due;
	c->tries = 0;
	c->deadline_ns = UINT64_MAX;
}

void conn_start(struct conn *c)
{
	if (c->state == CONN_RESOLVING)
		enter(c, CONN_REQ_SENT, CM_REQ);
}

void conn_close(struct conn *c)
{
	if (c->state == CONN_UP)
		enter(c, CONN_DREQ_SENT, CM_DREQ);
	else if (c->state == CONN_RESOLVING || c->state == CONN_REQ_SENT)
		enter(c, CONN_CLOSED, 0);
}

static bool initiator_on(struct conn *c, uint16_t attr)
{
	if (attr == CM_REP && c->state == CONN_REQ_SENT) {
		enter(c, CONN_UP, CM_RTU);
		return true;
	}
	if (attr == CM_REP && c->state == CONN_UP)
		c->due = CM_RTU;
	if (attr == CM_REJ && c->state == CONN_REQ_SENT) {
		enter(c, CONN_FAILED, 0);
		return true;
	}
	if ((attr == CM_DREP || attr == CM_REJ) && c->state == CONN_DREQ_SENT) {
		enter(c, CONN_CLOSED, 0);
		return true;
	}
	return false;
}

static bool responder_on(struct conn *c, uint16_t attr)
{
	if (attr == CM_REQ && (c->state == CONN_REP_SENT || c->state == CONN_UP))
		c->due = CM_REP;
	if (attr == CM_RTU && c->state == CONN_REP_SENT) {
		enter(c, CONN_UP, 0);
		return true;
	}
	if (attr == CM_DREQ && (c->state == CONN_REP_SENT || c->state == CONN_UP)) {
		enter(c, CONN_CLOSED, CM_DREP);
		return true;
	}
	return false;
}

bool conn_on_message(struct conn *c, uint16_t attr)
{
	return c->initiator ? initiator_on(c, attr) : responder_on(c, attr);
}

void conn_on_data(struct conn *c)
{
	if (c->state == CONN_REP_SENT)
		enter(c, CONN_UP, 0);
}

void conn_sent(struct conn *c, uint64_t now_ns)
{
	bool answered = c->due == CM_REQ || c->due == CM_DREQ ||
			(c->due == CM_REP && c->state == CONN_REP_SENT);

	c->due = 0;
	if (answered)
		c->deadline_ns = now_ns + c->retry_ns;
}

void conn_on_timer(struct conn *c, uint64_t now_ns)
{
	if (now_ns < c->deadline_ns)
		return;
	c->deadline_ns = UINT64_MAX;
	c->tries++;
	if (c->state == CONN_REQ_SENT)
		c->due = CM_REQ;
	else if (c->tries >= CONN_TRIES)
		enter(c, CONN_CLOSED, 0);
	else
		c->due = c->state == CONN_REP_SENT ? CM_REP : CM_DREQ;
}
