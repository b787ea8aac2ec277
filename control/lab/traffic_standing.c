// SPDX-License-Identifier: Apache-2.0
// Connections that are there from the start: endless streams, messages one after the other, and
// rounds (incast, all-to-all), in which many post at the same instant.
#include <errno.h>
#include <stdlib.h>

#include "control/lab/traffic_int.h"
#include "drivers/nic/requester.h"

// Packets of a stream's messages at least: streams end, when told to, after a whole message.
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

static void fire(struct lane *l)
{
	struct run *r = l->run;
	struct op *op = op_begin(r, l->pub.src, l->pub.dst, flow_draw_size(r->f, &r->rng));

	if (op == NULL)
		return;
	l->n_begun++;
	l->reuse.n_begun++;
	lane_post(l, op, STEP_REQUEST, op->n_bytes);
}

static bool may_fire(const struct lane *l)
{
	const struct lab_flow *f = l->run->f;

	return !over(l->run) && !lane_used_up(l) &&
	       (f->count.n < 0 || l->n_begun < (uint64_t)f->count.n);
}

static void fire_later(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	const struct lab_flow *f = l->run->f;

	if (!may_fire(l))
		return;
	fire(l);
	if (f->interval.n > 0 && may_fire(l))
		traffic_at(l->run->t, now_ns + (uint64_t)f->interval.n, fire_later, l);
	for (int64_t i = 1; f->interval.n <= 0 && i < f->depth.n && may_fire(l); i++)
		fire(l);
}

void standing_continue(struct lane *l, uint64_t now_ns)
{
	fire_later(l, now_ns);
}

// ---- rounds

static void fire_of_round(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	fire(arg);
}

static void fire_within_jitter(struct lane *l)
{
	struct run *r = l->run;
	uint64_t late = workload_within(&r->rng, (uint64_t)r->f->jitter.n);

	r->left++;
	if (late == 0)
		fire(l);
	else
		traffic_at(r->t, traffic_now(r->t) + late, fire_of_round, l);
}

// n_drawn of n lanes, each set of them as likely as any other.
static void fire_some(struct run *r, struct lane **lanes, uint32_t n, uint32_t n_drawn)
{
	for (uint32_t i = 0; i < n; i++)
		r->order[i] = i;
	for (uint32_t i = 0; i < n_drawn; i++) {
		uint32_t k = i + workload_pick(&r->rng, n - i), drawn = r->order[k];

		r->order[k] = r->order[i];
		fire_within_jitter(lanes[drawn]);
	}
}

static void next_round(void *arg, uint64_t now_ns)
{
	struct run *r = arg;
	const uint32_t *start;
	uint32_t n;

	if (over(r) || (r->f->count.n >= 0 && r->n_rounds == (uint64_t)r->f->count.n))
		return;
	start = &r->round_starts[r->n_rounds++ % r->n_groups];
	n = start[1] - start[0];
	if (r->f->fan.n >= 0 && (uint64_t)r->f->fan.n < n)
		fire_some(r, r->lanes + start[0], n, (uint32_t)r->f->fan.n);
	else
		for (uint32_t i = start[0]; i < start[1]; i++)
			fire_within_jitter(r->lanes[i]);
	if (r->f->interval.n > 0)
		traffic_at(r->t, now_ns + (uint64_t)r->f->interval.n, next_round, r);
}

// ---- both

static void done(struct lane *l, struct op *op, enum step step, const struct nic_done *d)
{
	struct run *r = l->run;

	(void)step;
	if (op == NULL)
		return;
	op->first_tx_ns = d->first_tx_ns;
	op->last_tx_ns = d->last_tx_ns;
	op_finish(op);
	if (!is_rounds(r)) {
		if (r->f->interval.n <= 0 && may_fire(l))
			fire(l);
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

// An incast's round is one receiver's lanes, others' are all.
static void group(struct run *r, uint32_t dst)
{
	bool incast = r->f->pattern.n == PATTERN_INCAST;

	if (r->n_lanes == 0 || (incast && dst != r->lanes[r->n_lanes - 1]->pub.dst))
		r->round_starts[r->n_groups++] = r->n_lanes;
}

static int open_pair(void *arg, uint32_t src, uint32_t dst)
{
	struct opening *o = arg;
	struct run *r = o->r;
	int err = 0;

	group(r, dst);
	for (int64_t q = 0; q < r->f->qps.n && err == 0; q++) {
		struct lane *l = lane_add(r, src, dst, (enum req_op)r->f->op.n);
		struct nic_flow stream;

		if (l == NULL)
			return -ENOMEM;
		r->lanes[r->n_lanes++] = l;
		if (o->stream)
			stream = stream_of(r, src);
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

static void start_messages(struct run *r)
{
	uint64_t start = (uint64_t)r->f->start.n, jitter = (uint64_t)r->f->jitter.n;

	if (is_rounds(r))
		traffic_at(r->t, start, next_round, r);
	for (uint32_t i = 0; !is_rounds(r) && i < r->n_lanes; i++)
		traffic_at(r->t, start + workload_within(&r->rng, jitter), fire_later, r->lanes[i]);
}

static int start(struct run *r)
{
	struct opening o = {.r = r, .stream = r->f->size_kind == SIZE_UNLIMITED};
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
	r->n_due = (uint64_t)r->f->count.n * r->n_lanes;
	if (!o.stream)
		start_messages(r);
	else if (r->f->stop.n >= 0)
		traffic_at(r->t, flow_stop_ns(r->f), stop_streams, r);
	return 0;
}

const struct behaviour behave_standing = {.start = start, .done = done};
