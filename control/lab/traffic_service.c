// SPDX-License-Identifier: Apache-2.0
// Clients and servers: request and response, and a storage service (storage.h). A client's
// request is a SEND; the server acts when it has arrived whole. An operation is over when the
// client has its answer, all of its payload, and knows that its request arrived.
//
//   client               server
//   ask ---- request --> (think) [payload: move .. move] (think) reply
//    ^                                                             |
//    +--- credit ------------------------------ answer ------------+
#include "control/lab/traffic_int.h"

enum { SERVER_RETRY_NS = 10000 };

static bool is_storage(const struct op *op)
{
	return op->run->f->pattern.n == PATTERN_STORAGE;
}

static uint32_t next_bytes(const struct op *op)
{
	return is_storage(op) ? storage_next_bytes(&op->run->f->store, op->n_bytes, op->moved) : 0;
}

// ---- the client

static bool ask(struct op *op)
{
	struct lane *l = pair_lane(op->pair, LANE_REQUEST);
	uint32_t n_bytes = (uint32_t)op->run->f->request.n;

	if (l == NULL)
		return false;
	if (is_storage(op))
		n_bytes = storage_request_bytes(&op->run->f->store, op->is_read, op->n_bytes);
	op->waits = STEP_BIT(STEP_REQUEST) | STEP_BIT(STEP_ANSWER);
	if (op->is_read && next_bytes(op) != 0)
		op->waits |= STEP_BIT(STEP_DATA);
	lane_post(l, op, STEP_REQUEST, n_bytes);
	return true;
}

bool service_go(struct op *op)
{
	struct pair *p = op->pair;

	if (!is_storage(op))
		return ask(op);
	if (p->credits_used == op->run->f->store.credits) {
		STAILQ_INSERT_TAIL(&p->waiting, op, next);
		return true;
	}
	if (!ask(op))
		return false;
	p->credits_used++;
	return true;
}

// The answer gives the server's buffer back, to the request that has waited longest.
static void return_credit(struct pair *p)
{
	struct op *op = STAILQ_FIRST(&p->waiting);

	p->credits_used--;
	if (op == NULL)
		return;
	STAILQ_REMOVE_HEAD(&p->waiting, next);
	source_continue(op);
}

// One of the things the operation waits for has come.
static void came(struct op *op, enum step step)
{
	op->waits &= (uint8_t)~STEP_BIT(step);
	if (op->waits == 0)
		source_finish(op);
}

// ---- the server

static void think(struct op *op, vclock_fn *then)
{
	struct traffic *t = op->run->t;
	uint64_t ns = (uint64_t)op->run->f->think.n, now = traffic_now(t);

	if (ns == 0)
		then(op, now);
	else
		traffic_at(t, now + ns, then, op);
}

// Of a kind the connection back to the client; when there is none, fn is tried again later.
static struct lane *lane_back(struct op *op, enum lane_kind kind, vclock_fn *fn)
{
	struct lane *l = pair_lane(op->pair, kind);

	if (l == NULL)
		traffic_at(op->run->t, traffic_now(op->run->t) + SERVER_RETRY_NS, fn, op);
	return l;
}

static void reply(void *arg, uint64_t now_ns)
{
	struct op *op = arg;
	struct lane *l = lane_back(op, LANE_ANSWER, reply);
	uint32_t n_bytes = op->n_bytes;

	if (l == NULL)
		return;
	if (is_storage(op))
		n_bytes = storage_reply_bytes(&op->run->f->store, op->is_read, op->n_bytes);
	op->last_tx_ns = now_ns;
	lane_post(l, op, STEP_ANSWER, n_bytes);
}

// The next piece of the payload. The reply follows a disk read's last one at once.
static void move(void *arg, uint64_t now_ns)
{
	struct op *op = arg;
	uint32_t n = next_bytes(op);
	struct lane *l;

	if (n != 0) {
		l = lane_back(op, op->is_read ? LANE_WRITE : LANE_READ, move);
		if (l == NULL)
			return;
		op->moved += n;
		lane_post(l, op, STEP_DATA, n);
	}
	if (n == 0 || (op->is_read && op->moved == op->n_bytes))
		reply(op, now_ns);
}

static void requested(struct op *op)
{
	// A disk write's payload comes before the disk has work.
	if (!op->is_read && next_bytes(op) != 0)
		move(op, traffic_now(op->run->t));
	else
		think(op, move);
}

// The server knows that a piece is complete.
static void moved(struct op *op)
{
	if (op->moved < op->n_bytes)
		move(op, traffic_now(op->run->t));
	else if (!op->is_read)
		think(op, reply);
}

// ---- what NICs tell

static void done(struct lane *l, struct op *op, enum step step, const struct nic_done *d)
{
	(void)l;
	if (op == NULL)
		return;
	if (step == STEP_REQUEST) {
		op->first_tx_ns = d->first_tx_ns;
		came(op, step);
	} else if (step == STEP_DATA) {
		moved(op);
	}
}

static void served(struct op *op, enum step step, uint64_t now_ns)
{
	(void)now_ns;
	switch (step) {
	case STEP_REQUEST:
		requested(op);
		break;
	case STEP_ANSWER:
		if (is_storage(op))
			return_credit(op->pair);
		came(op, step);
		break;
	case STEP_DATA: // of a disk read; one piece is under way at a time
		if (op->moved == op->n_bytes)
			came(op, step);
		break;
	}
}

const struct behaviour behave_request = {.start = client_start, .done = done, .served = served};
const struct behaviour behave_storage = {.start = client_start, .done = done, .served = served};
