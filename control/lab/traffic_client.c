// SPDX-License-Identifier: Apache-2.0
// Hosts that begin operations by themselves: so many under way (closed loop), or at the times of a
// Poisson process; each with one of `to`, drawn evenly. Connections to a host are made when first
// used. With the Poisson pattern each message has one to itself, idle or new; a service's
// operations share theirs.
#include <errno.h>
#include <stdlib.h>

#include "control/lab/traffic_int.h"
#include "drivers/nic/requester.h"

enum { NO_QP_RETRY_NS = 10000 };

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

static struct lane *pair_add(struct pair *p, enum lane_kind kind, enum req_op op)
{
	uint32_t client = p->source->host;
	bool from_client = kind == LANE_REQUEST;
	struct lane *l = lane_add(p->source->run, from_client ? client : p->dst,
				  from_client ? p->dst : client, op);

	if (l != NULL)
		l->pair = p;
	return l;
}

static enum req_op op_of_kind(const struct lab_flow *f, enum lane_kind kind)
{
	switch (kind) {
	case LANE_WRITE:
		return REQ_WRITE;
	case LANE_READ:
		return REQ_READ;
	case LANE_ANSWER:
		return f->pattern.n == PATTERN_REQUEST ? (enum req_op)f->op.n : REQ_SEND;
	default:
		return f->pattern.n == PATTERN_POISSON ? (enum req_op)f->op.n : REQ_SEND;
	}
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
	if (err != 0 && err != -ENOSPC)
		traffic_give_up(t);
	return err == 0 ? l : NULL;
}

struct lane *pair_lane(struct pair *p, enum lane_kind kind)
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
		*slot = pair_add(p, kind, op_of_kind(r->f, kind));
	return connected(*slot, r->t);
}

// ---- Poisson: a connection for each message

static bool poisson_go(struct op *op)
{
	struct pair *p = op->pair;
	struct lane *l = TAILQ_FIRST(&p->idle);

	if (l != NULL) {
		TAILQ_REMOVE(&p->idle, l, spare);
	} else {
		l = TAILQ_FIRST(&p->closed);
		if (l == NULL) {
			l = pair_add(p, LANE_REQUEST, op_of_kind(op->run->f, LANE_REQUEST));
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

static bool go(struct op *op)
{
	return op->run->f->pattern.n == PATTERN_POISSON ? poisson_go(op) : service_go(op);
}

// ---- waiting for a queue pair

static void go_on(void *arg, uint64_t now_ns);

static void wait_for_qp(struct source *s, struct op *op, bool first)
{
	if (first)
		STAILQ_INSERT_HEAD(&s->waiting, op, next);
	else
		STAILQ_INSERT_TAIL(&s->waiting, op, next);
	if (s->retrying)
		return;
	s->retrying = true;
	traffic_at(s->run->t, traffic_now(s->run->t) + NO_QP_RETRY_NS, go_on, s);
}

static void go_on(void *arg, uint64_t now_ns)
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

static void begin(struct source *s)
{
	struct run *r = s->run;
	uint32_t n = r->f->n_dst, d = workload_pick(&s->rng, n - (s->self < n));
	struct pair *p;
	struct op *op;

	if (d >= s->self)
		d++;
	p = pair_of(s, d);
	op = op_begin(r, s->host, r->f->dst[d], flow_draw_size(r->f, &s->rng));
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

void source_continue(struct op *op)
{
	struct source *s = op->pair->source;

	if (!STAILQ_EMPTY(&s->waiting) || !go(op))
		wait_for_qp(s, op, false);
}

void source_finish(struct op *op)
{
	struct source *s = op->pair->source;

	op_finish(op);
	if (s->run->f->load.n < 0 && may_begin(s))
		begin(s);
}

static void arrive(void *arg, uint64_t now_ns)
{
	struct source *s = arg;

	(void)now_ns;
	if (!may_begin(s))
		return;
	begin(s);
	traffic_at(s->run->t, arrivals_next(&s->arrivals, &s->rng), arrive, s);
}

static void begin_loop(void *arg, uint64_t now_ns)
{
	struct source *s = arg;

	(void)now_ns;
	for (int64_t i = 0; i < s->run->f->depth.n && may_begin(s); i++)
		begin(s);
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

const struct behaviour behave_poisson = {.start = client_start, .done = poisson_done};

// ---- start

struct mean_arg {
	const struct lab_flow *f;
	uint8_t op;
};

static uint64_t wire_cost(const void *arg, uint32_t n_bytes)
{
	const struct mean_arg *a = arg;

	return workload_wire_bytes(a->op, a->f->payload, n_bytes);
}

// Of what carries the payload; a storage service uses all operations, whose headers differ little.
static uint64_t mean_wire_q16(const struct lab_flow *f)
{
	struct mean_arg a = {f, f->pattern.n == PATTERN_STORAGE ? REQ_WRITE : (uint8_t)f->op.n};

	return f->size_kind == SIZE_CDF ? cdf_mean_q16(&f->sizes, wire_cost, &a)
					: wire_cost(&a, f->n_bytes) << 16;
}

static uint32_t index_of(const struct lab_flow *f, uint32_t host)
{
	uint32_t i = 0;

	while (i < f->n_dst && f->dst[i] != host)
		i++;
	return i;
}

static void start_source(struct run *r, uint32_t i, uint64_t mean_q16)
{
	struct source *s = &r->sources[i];
	const struct lab_flow *f = r->f;
	uint64_t start_ns = (uint64_t)f->start.n;

	*s = (struct source){.run = r, .host = f->src[i], .self = index_of(f, f->src[i]),
			     .rng = workload_rng(r->seed, i)};
	STAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->idle);
	if (f->n_dst == (s->self < f->n_dst))
		return; // nobody but itself
	r->n_due += (uint64_t)f->count.n;
	start_ns += workload_within(&s->rng, (uint64_t)f->jitter.n);
	if (f->load.n < 0) {
		traffic_at(r->t, start_ns, begin_loop, s);
		return;
	}
	s->arrivals = arrivals_of(mean_q16, (uint64_t)f->load.n,
				  r->t->sc->hosts[s->host].nic.speed_bps, start_ns);
	traffic_at(r->t, arrivals_next(&s->arrivals, &s->rng), arrive, s);
}

int client_start(struct run *r)
{
	uint64_t mean_q16 = mean_wire_q16(r->f);

	r->sources = calloc(r->f->n_src, sizeof(*r->sources));
	if (r->sources == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->f->n_src; i++)
		start_source(r, i, mean_q16);
	return 0;
}
