// SPDX-License-Identifier: Apache-2.0
// When which host posts which message: connections that are there from the start, hosts that begin
// operations by themselves, and what servers do about those.
#include <errno.h>
#include <stdlib.h>

#include "control/lab/traffic_int.h"
#include "drivers/nic/requester.h"

// The least packets of a stream's message. A stream that is stopped ends after a whole message.
enum { STREAM_PACKETS = 128 };

static bool is_rounds(const struct run *r)
{
	return r->f->pattern.n != PATTERN_EACH;
}

static bool over(const struct run *r)
{
	return traffic_now(r->t) >= flow_stop_ns(r->f);
}

// ---- messages of one connection

static void fire(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct run *r = l->run;
	struct op *op = op_begin(r, l->pub.src, l->pub.dst, flow_draw_size(r->f, &r->rng));

	(void)now_ns;
	if (op == NULL)
		return;
	l->n_begun++;
	l->reuse.n_begun++;
	lane_post(l, op, STEP_REQUEST, op->n_bytes);
}

static bool may_fire(const struct lane *l)
{
	const struct lab_flow *f = l->run->f;

	return !over(l->run) && !lane_used_up(l) && l->state != LANE_CLOSED &&
	       (f->count.n < 0 || l->n_begun < (uint64_t)f->count.n);
}

void standing_continue(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	const struct lab_flow *f = l->run->f;

	if (!may_fire(l))
		return;
	fire(l, now_ns);
	if (f->interval.n > 0 && may_fire(l))
		traffic_at(l->run->t, now_ns + (uint64_t)f->interval.n, standing_continue, l);
	for (int64_t i = 1; f->interval.n <= 0 && i < f->depth.n && may_fire(l); i++)
		fire(l, now_ns);
}

// ---- rounds

static void fire_within_jitter(struct lane *l)
{
	struct run *r = l->run;
	uint64_t late = workload_within(&r->rng, (uint64_t)r->f->jitter.n);

	r->left++;
	if (late == 0)
		fire(l, traffic_now(r->t));
	else
		traffic_at(r->t, traffic_now(r->t) + late, fire, l);
}

static void next_round(void *arg, uint64_t now_ns)
{
	struct run *r = arg;
	const uint32_t *start;
	uint32_t n, n_drawn = 0;

	if (over(r) || (r->f->count.n >= 0 && r->n_rounds == (uint64_t)r->f->count.n))
		return;
	start = &r->round_starts[r->n_rounds++ % r->n_groups];
	n = start[1] - start[0];
	if (r->f->fan.n >= 0 && (uint64_t)r->f->fan.n < n)
		n_drawn = (uint32_t)r->f->fan.n;
	for (uint32_t i = 0; n_drawn != 0 && i < n; i++)
		r->order[i] = i;
	// n_drawn of n lanes, each set of them as likely as any other.
	for (uint32_t i = 0; i < n_drawn; i++) {
		uint32_t k = i + workload_pick(&r->rng, n - i), drawn = r->order[k];

		r->order[k] = r->order[i];
		fire_within_jitter(r->lanes[start[0] + drawn]);
	}
	for (uint32_t i = 0; n_drawn == 0 && i < n; i++)
		fire_within_jitter(r->lanes[start[0] + i]);
	if (r->f->interval.n > 0)
		traffic_at(r->t, now_ns + (uint64_t)r->f->interval.n, next_round, r);
}

// ---- both

static void standing_done(struct lane *l, struct op *op, enum step step, const struct nic_done *d)
{
	struct run *r = l->run;

	(void)step;
	if (op == NULL)
		return;
	op->first_tx_ns = d->first_tx_ns;
	op->last_tx_ns = d->last_tx_ns;
	op_finish(op);
	if (l->io != NULL)
		paths_done(l);
	if (!is_rounds(r)) {
		if (r->f->interval.n <= 0 && may_fire(l))
			fire(l, traffic_now(r->t));
	} else if (--r->left == 0 && r->f->interval.n <= 0) {
		next_round(r, traffic_now(r->t));
	}
}

// ---- streams

static void stop_streams(void *arg, uint64_t now_ns)
{
	struct run *r = arg;

	(void)now_ns;
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		nic_flow_stop(r->t->f->hosts[r->lanes[i]->pub.src].nic, r->lanes[i]->pub.id);
		fabric_poke_host(r->t->f, r->lanes[i]->pub.src);
	}
}

// Messages so long that neither depth nor completions are ever a limit.
static struct nic_flow stream_of(struct run *r, uint32_t src)
{
	uint32_t window = r->t->sc->hosts[src].nic.window;
	uint32_t packets = 2 * (window / REQ_MAX_MSGS);

	if (packets < STREAM_PACKETS)
		packets = STREAM_PACKETS;
	if (packets < flow_ack_every(r->f))
		packets = flow_ack_every(r->f);
	return (struct nic_flow){
		.msg_bytes = packets * r->f->payload,
		.start_ns = (uint64_t)r->f->start.n +
			    workload_within(&r->rng, (uint64_t)r->f->jitter.n),
	};
}

// ---- start

struct opening {
	struct run *r;
	bool stream;
	uint32_t room;
};

static int open_pair(void *arg, uint32_t src, uint32_t dst)
{
	struct opening *o = arg;
	struct run *r = o->r;
	int err = 0;
	bool incast = r->f->pattern.n == PATTERN_INCAST;

	// An incast's round is one receiver's lanes, others' are all.
	if (r->n_lanes == 0 || (incast && dst != r->lanes[r->n_lanes - 1]->pub.dst))
		r->round_starts[r->n_groups++] = r->n_lanes;
	for (int64_t q = 0; q < r->f->qps.n && err == 0; q++) {
		struct lane *l = lane_add(r, src, dst, (enum req_op)r->f->op.n);
		struct nic_flow stream;

		if (l == NULL)
			return -ENOMEM;
		r->lanes[r->n_lanes++] = l;
		if (o->stream)
			stream = stream_of(r, src);
		if (r->f->inof.n == 0) // else when a path begins
			err = lane_open(l, o->stream ? &stream : NULL);
	}
	return err;
}

static int count_lanes(void *arg, uint32_t src, uint32_t dst)
{
	struct opening *o = arg;

	(void)src;
	(void)dst;
	o->room += (uint32_t)o->r->f->qps.n;
	return 0;
}

static int standing_start(struct run *r)
{
	struct opening o = {.r = r, .stream = r->f->size_kind == SIZE_UNLIMITED};
	uint64_t start = (uint64_t)r->f->start.n;
	int err;

	flow_each_pair(r->f, count_lanes, &o);
	r->lanes = calloc(o.room + 1, sizeof(struct lane *));
	r->order = calloc(o.room + 1, sizeof(*r->order));
	r->round_starts = calloc(r->f->n_dst + 1, sizeof(*r->round_starts));
	if (r->lanes == NULL || r->order == NULL || r->round_starts == NULL)
		return -ENOMEM;
	err = flow_each_pair(r->f, open_pair, &o);
	if (err != 0 || r->n_lanes == 0)
		return err;
	r->round_starts[r->n_groups] = r->n_lanes;
	if (r->f->inof.n != 0)
		return paths_start(r);
	r->n_due = (uint64_t)r->f->count.n * r->n_lanes;
	if (o.stream && r->f->stop.n >= 0)
		traffic_at(r->t, flow_stop_ns(r->f), stop_streams, r);
	else if (!o.stream && is_rounds(r))
		traffic_at(r->t, start, next_round, r);
	for (uint32_t i = 0; !o.stream && !is_rounds(r) && i < r->n_lanes; i++)
		traffic_at(r->t, start + workload_within(&r->rng, (uint64_t)r->f->jitter.n),
			   standing_continue, r->lanes[i]);
	return 0;
}

// ---- hosts that begin operations
// Hosts that begin operations by themselves: so many under way (closed loop), or at the times of a
// Poisson process; each with one of `to`, drawn evenly. Connections to a host are made when first
// used. With the Poisson pattern each message has one to itself, idle or new; a service's
// operations share theirs.

// ---- pairs

static struct pair *pair_of(struct source *s, uint32_t d)
{
	uint32_t n = s->run->f->n_dst;
	struct pair *p;

	if (s->pairs == NULL)
		s->pairs = calloc(n, sizeof(*s->pairs));
	if (s->pairs == NULL)
		return NULL;
	if (s->pairs[d] != NULL)
		return s->pairs[d];
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->source = s;
	p->dst = s->run->f->dst[d];
	STAILQ_INIT(&p->waiting);
	TAILQ_INIT(&p->idle);
	TAILQ_INIT(&p->closed);
	return s->pairs[d] = p;
}

// A connection of a pair, not connected yet.
static struct lane *pair_add(struct pair *p, enum lane_kind kind)
{
	struct run *r = p->source->run;
	uint32_t client = p->source->host;
	bool from_client = kind == LANE_REQUEST;
	enum req_op op = kind == LANE_WRITE ? REQ_WRITE : kind == LANE_READ ? REQ_READ : REQ_SEND;
	struct lane *l;

	// The flow's operation carries the data of single messages, and the answers to requests.
	if (from_client ? flow_is_single(r->f) : r->f->pattern.n == PATTERN_REQUEST)
		op = (enum req_op)r->f->op.n;
	l = lane_add(r, from_client ? client : p->dst, from_client ? p->dst : client, op);
	if (l != NULL) {
		l->pair = p;
		l->pub.cls = p->source->cls;
	}
	return l;
}

// Connects a row that is not. NULL: no queue pair is left, or no memory, which ends the run.
static struct lane *connected(struct lane *l, struct traffic *t)
{
	int err;

	if (l == NULL) {
		traffic_give_up(t);
		return NULL;
	}
	if (l->state != LANE_CLOSED)
		return l;
	err = lane_open(l, NULL);
	// During a call of a NIC no connection may go: the next try is outside.
	if (err == -ENOSPC && t->in_hook == TRAFFIC_NO_HOST && lane_make_room(l))
		err = lane_open(l, NULL);
	if (err != 0 && err != -ENOSPC)
		traffic_give_up(t);
	return err == 0 ? l : NULL;
}

// Of a pair's lanes of a kind the one whose turn it is, connected. NULL: no queue pair is left.
static struct lane *pair_lane(struct pair *p, enum lane_kind kind)
{
	struct run *r = p->source->run;
	uint32_t n = (uint32_t)r->f->qps.n;
	struct lane **slot;

	if (p->lanes == NULL)
		p->lanes = calloc((size_t)N_LANE_KINDS * n, sizeof(*p->lanes));
	if (p->lanes == NULL) {
		traffic_give_up(r->t);
		return NULL;
	}
	if (kind == LANE_REQUEST)
		p->turn = (p->turn + 1) % n;
	slot = &p->lanes[kind * n + p->turn];
	if (*slot == NULL)
		*slot = pair_add(p, kind);
	return connected(*slot, r->t);
}

// ---- Poisson: a connection for each message

static bool poisson_go(struct op *op)
{
	struct pair *p = op->pair;
	struct lane *l = TAILQ_FIRST(&p->idle);

	if (l == NULL) {
		l = TAILQ_FIRST(&p->closed);
		if (l == NULL) {
			l = pair_add(p, LANE_REQUEST);
			if (l != NULL)
				TAILQ_INSERT_HEAD(&p->closed, l, spare);
		}
		if (connected(l, op->run->t) == NULL)
			return false;
		TAILQ_REMOVE(&p->closed, l, spare);
	}
	lane_post(l, op, STEP_REQUEST, op->n_bytes);
	return true;
}

static bool service_go(struct op *op);

// Begins an operation. False: no queue pair is left.
static bool go(struct op *op)
{
	return flow_is_single(op->run->f) ? poisson_go(op) : service_go(op);
}

// ---- waiting for a queue pair

static void retry_waiting_ops(void *arg, uint64_t now_ns);

static void wait_for_qp(struct source *s, struct op *op, bool first)
{
	if (first)
		STAILQ_INSERT_HEAD(&s->waiting, op, next);
	else
		STAILQ_INSERT_TAIL(&s->waiting, op, next);
	if (s->retrying)
		return;
	s->retrying = true;
	traffic_at(s->run->t, traffic_now(s->run->t) + RETRY_NS, retry_waiting_ops, s);
}

static void retry_waiting_ops(void *arg, uint64_t now_ns)
{
	struct source *s = arg;
	struct op *op;

	(void)now_ns;
	s->retrying = false;
	while ((op = STAILQ_FIRST(&s->waiting)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->waiting, next);
		if (!go(op)) {
			wait_for_qp(s, op, true);
			return;
		}
	}
}

// ---- operations

static bool may_begin(const struct source *s)
{
	const struct lab_flow *f = s->run->f;

	return traffic_now(s->run->t) < flow_stop_ns(f) &&
	       (f->count.n < 0 || s->n_begun < (uint64_t)f->count.n);
}

// Posts the first message as soon as there is a queue pair.
static void source_continue(struct op *op)
{
	struct source *s = op->pair->source;

	if (!STAILQ_EMPTY(&s->waiting) || !go(op))
		wait_for_qp(s, op, false);
}

// An operation with the host d of `to`.
static void begin_with(struct source *s, uint32_t d, uint32_t n_bytes)
{
	struct run *r = s->run;
	struct pair *p = pair_of(s, d);
	struct op *op = op_begin(r, s->host, r->f->dst[d], n_bytes);

	if (p == NULL || op == NULL) {
		traffic_give_up(r->t);
		return;
	}
	op->pair = p;
	if (r->f->pattern.n == PATTERN_STORAGE)
		op->is_read = workload_pick(&s->rng, 1000000) < r->f->store.reads_ppm;
	s->n_begun++;
	source_continue(op);
}

static void begin_with_any(struct source *s)
{
	uint32_t n = s->run->f->n_dst, d = workload_pick(&s->rng, n - (s->self < n));

	if (d >= s->self)
		d++;
	begin_with(s, d, flow_draw_size(s->run->f, &s->rng));
}

// Finishes an operation, and begins the next one of a closed loop.
static void source_finish(struct op *op)
{
	struct source *s = op->pair->source;

	op_finish(op);
	if (s->run->f->load.n < 0 && s->run->f->pattern.n != PATTERN_TRACE && may_begin(s))
		begin_with_any(s);
}

static void begin_arrival(void *arg, uint64_t now_ns)
{
	struct source *s = arg;

	(void)now_ns;
	if (!may_begin(s))
		return;
	begin_with_any(s);
	traffic_at(s->run->t, arrivals_next(&s->arrivals, &s->rng), begin_arrival, s);
}

static void begin_loop(void *arg, uint64_t now_ns)
{
	struct source *s = arg;

	(void)now_ns;
	for (int64_t i = 0; i < s->run->f->depth.n && may_begin(s); i++)
		begin_with_any(s);
}

// ---- Poisson

static void poisson_done(struct lane *l, struct op *op, enum step step, const struct nic_done *d)
{
	(void)l;
	(void)step;
	if (op == NULL)
		return;
	op->first_tx_ns = d->first_tx_ns;
	op->last_tx_ns = d->last_tx_ns;
	source_finish(op);
}

// ---- start

struct mean_arg {
	const struct lab_flow *f;
	uint8_t op;
	uint32_t extra;
};

static uint64_t wire_cost(const void *arg, uint32_t n_bytes)
{
	const struct mean_arg *a = arg;

	return workload_wire_bytes(a->op, a->f->payload, n_bytes, a->extra);
}

// Of what carries the payload; a storage service uses all operations, whose headers differ little.
// The first sender stands for all.
static uint64_t mean_wire_q16(const struct scenario *sc, const struct lab_flow *f)
{
	struct mean_arg a = {f, f->pattern.n == PATTERN_STORAGE ? REQ_WRITE : (uint8_t)f->op.n,
			     flow_extra(f, &sc->hosts[f->src[0]])};

	return f->size_kind == SIZE_CDF ? cdf_mean_q16(&f->sizes, wire_cost, &a)
					: wire_cost(&a, f->n_bytes) << 16;
}

static void source_init(struct source *s, struct run *r, uint32_t i, uint8_t cls)
{
	*s = (struct source){.run = r, .host = r->f->src[i], .cls = cls};
	STAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->idle);
}

static void start_source(struct run *r, uint32_t i, uint64_t mean_q16)
{
	struct source *s = &r->sources[i];
	const struct lab_flow *f = r->f;
	uint64_t start_ns = (uint64_t)f->start.n;

	source_init(s, r, i, (uint8_t)f->cls.n);
	s->rng = workload_rng(r->seed, i);
	while (s->self < f->n_dst && f->dst[s->self] != s->host)
		s->self++;
	if (f->n_dst == (s->self < f->n_dst))
		return; // the host itself is its only receiver
	r->n_due += (uint64_t)f->count.n;
	start_ns += workload_within(&s->rng, (uint64_t)f->jitter.n);
	if (f->load.n < 0) {
		traffic_at(r->t, start_ns, begin_loop, s);
		return;
	}
	s->arrivals = arrivals_of(mean_q16, (uint64_t)f->load.n,
				  r->t->sc->hosts[s->host].nic.speed_bps, start_ns);
	traffic_at(r->t, arrivals_next(&s->arrivals, &s->rng), begin_arrival, s);
}

static int client_start(struct run *r)
{
	uint64_t mean_q16 = mean_wire_q16(r->t->sc, r->f);

	r->sources = calloc(r->f->n_src, sizeof(*r->sources));
	if (r->sources == NULL)
		return -ENOMEM;
	r->n_sources = r->f->n_src;
	for (uint32_t i = 0; i < r->f->n_src; i++)
		start_source(r, i, mean_q16);
	return 0;
}

// ---- traces
// A host has a source for each class, because connections of one class do not serve another.

static void play(void *arg, uint64_t now_ns)
{
	struct run *r = arg;
	const struct trace *t = &r->f->played;
	uint64_t start_ns = (uint64_t)r->f->start.n;

	for (; r->n_played < t->n && !over(r); r->n_played++) {
		const struct trace_flow *f = &t->flows[r->n_played];
		uint32_t cls = t->has_class ? f->cls : (uint32_t)r->f->cls.n;

		if (start_ns + f->start_ns > now_ns) {
			traffic_at(r->t, start_ns + f->start_ns, play, r);
			return;
		}
		begin_with(&r->sources[f->src * NIC_CLASSES + cls], f->dst, f->n_bytes);
	}
}

static int trace_start(struct run *r)
{
	r->sources = calloc((size_t)r->f->n_src * NIC_CLASSES, sizeof(*r->sources));
	if (r->sources == NULL)
		return -ENOMEM;
	r->n_sources = r->f->n_src * NIC_CLASSES;
	for (uint32_t i = 0; i < r->n_sources; i++)
		source_init(&r->sources[i], r, i / NIC_CLASSES, (uint8_t)(i % NIC_CLASSES));
	r->n_due = r->f->played.n;
	traffic_at(r->t, (uint64_t)r->f->start.n, play, r);
	return 0;
}

// ---- clients and servers
// Request and response, and a storage service (workload.h). A client's
// request is a SEND; the server acts when it has arrived whole. An operation is over when the
// client has its answer, all of its payload, and knows that its request arrived.
//
//   client               server
//   go  ---- request --> (think) [payload: move_next_piece, again and again] (think) reply
//    ^                                                             |
//    +--- credit ------------------------------ answer ------------+

static bool is_storage(const struct op *op)
{
	return op->run->f->pattern.n == PATTERN_STORAGE;
}

static uint32_t next_bytes(const struct op *op)
{
	return is_storage(op) ? storage_next_bytes(&op->run->f->store, op->n_bytes, op->moved) : 0;
}

// ---- the client

// Sends the request. False: no queue pair is left.
static bool service_go(struct op *op)
{
	const struct storage_params *store = &op->run->f->store;
	uint32_t n_bytes = (uint32_t)op->run->f->request.n;
	struct pair *p = op->pair;
	struct lane *l;

	if (is_storage(op) && p->credits_used == store->credits) {
		STAILQ_INSERT_TAIL(&p->waiting, op, next);
		return true;
	}
	l = pair_lane(p, LANE_REQUEST);
	if (l == NULL)
		return false;
	if (is_storage(op))
		n_bytes = storage_request_bytes(store, op->is_read, op->n_bytes);
	op->waits = STEP_BIT(STEP_REQUEST) | STEP_BIT(STEP_ANSWER);
	if (op->is_read && next_bytes(op) != 0)
		op->waits |= STEP_BIT(STEP_DATA);
	lane_post(l, op, STEP_REQUEST, n_bytes);
	p->credits_used += is_storage(op);
	return true;
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
		traffic_at(op->run->t, traffic_now(op->run->t) + RETRY_NS, fn, op);
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
static void move_next_piece(void *arg, uint64_t now_ns)
{
	struct op *op = arg;
	uint32_t n = next_bytes(op);
	struct lane *l;

	if (n != 0) {
		l = lane_back(op, op->is_read ? LANE_WRITE : LANE_READ, move_next_piece);
		if (l == NULL)
			return;
		op->moved += n;
		lane_post(l, op, STEP_DATA, n);
	}
	if (n == 0 || (op->is_read && op->moved == op->n_bytes))
		reply(op, now_ns);
}

// ---- reports of the NICs

static void service_done(struct lane *l, struct op *op, enum step step, const struct nic_done *d)
{
	(void)l;
	if (op == NULL)
		return;
	if (step == STEP_REQUEST) {
		op->first_tx_ns = d->first_tx_ns;
		came(op, step);
	} else if (step == STEP_DATA && op->moved < op->n_bytes) {
		// The server knows that a piece is complete.
		move_next_piece(op, traffic_now(op->run->t));
	} else if (step == STEP_DATA && !op->is_read) {
		think(op, reply);
	}
}

static void service_served(struct op *op, enum step step)
{
	struct op *next;

	switch (step) {
	case STEP_REQUEST:
		// A disk write's payload comes before the disk has work.
		if (!op->is_read && next_bytes(op) != 0)
			move_next_piece(op, traffic_now(op->run->t));
		else
			think(op, move_next_piece);
		break;
	case STEP_ANSWER:
		// The answer gives the server's buffer back, to the request that waited longest.
		if (is_storage(op)) {
			op->pair->credits_used--;
			next = STAILQ_FIRST(&op->pair->waiting);
			if (next != NULL) {
				STAILQ_REMOVE_HEAD(&op->pair->waiting, next);
				source_continue(next);
			}
		}
		came(op, step);
		break;
	case STEP_DATA: // of a disk read; one piece is under way at a time
		if (op->moved == op->n_bytes)
			came(op, step);
		break;
	}
}

const struct behaviour behaviours[N_PATTERNS] = {
	[PATTERN_EACH] = {standing_start, standing_done, NULL},
	[PATTERN_INCAST] = {standing_start, standing_done, NULL},
	[PATTERN_ALL_TO_ALL] = {standing_start, standing_done, NULL},
	[PATTERN_POISSON] = {client_start, poisson_done, NULL},
	[PATTERN_REQUEST] = {client_start, service_done, service_served},
	[PATTERN_STORAGE] = {client_start, service_done, service_served},
	[PATTERN_TRACE] = {trace_start, poisson_done, NULL},
};
