// SPDX-License-Identifier: Apache-2.0
#include "control/lab/traffic_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "drivers/nic/roce_build.h"

// tag: 1, step, generation and index of the op. A stream's messages count from 0 and have no 1.
enum { TAG_STEP_SHIFT = 60, TAG_GENERATION_SHIFT = 32 };
#define TAG_MARK (1ull << 63)
#define TAG_GENERATIONS (1u << (TAG_STEP_SHIFT - TAG_GENERATION_SHIFT))

static const struct behaviour *const behaviour[N_PATTERNS] = {
	[PATTERN_EACH] = &behave_standing,	 [PATTERN_INCAST] = &behave_standing,
	[PATTERN_ALL_TO_ALL] = &behave_standing, [PATTERN_POISSON] = &behave_poisson,
	[PATTERN_REQUEST] = &behave_request,	 [PATTERN_STORAGE] = &behave_storage,
};

void traffic_give_up(struct traffic *t)
{
	t->f->out_of_memory = true;
}

void traffic_at(struct traffic *t, uint64_t t_ns, vclock_fn *fn, void *arg)
{
	uint64_t now = traffic_now(t);

	if (vclock_at(&t->f->clock, t_ns < now ? now : t_ns, fn, arg) != 0)
		traffic_give_up(t);
}

// ---- operations

static bool add_ops(struct traffic *t)
{
	struct op **blocks = realloc(t->op_blocks, (t->n_op_blocks + 1) * sizeof(*blocks));
	struct op *block;

	if (blocks == NULL)
		return false;
	t->op_blocks = blocks;
	block = calloc(OPS_PER_BLOCK, sizeof(*block));
	if (block == NULL)
		return false;
	for (uint32_t i = 0; i < OPS_PER_BLOCK; i++) {
		block[i].index = t->n_op_blocks * OPS_PER_BLOCK + i;
		STAILQ_INSERT_TAIL(&t->free_ops, &block[i], next);
	}
	t->op_blocks[t->n_op_blocks++] = block;
	return true;
}

struct op *op_begin(struct run *r, uint32_t src, uint32_t dst, uint32_t n_bytes)
{
	struct traffic *t = r->t;
	struct op *op;

	if (STAILQ_EMPTY(&t->free_ops) && !add_ops(t)) {
		traffic_give_up(t);
		return NULL;
	}
	op = STAILQ_FIRST(&t->free_ops);
	STAILQ_REMOVE_HEAD(&t->free_ops, next);
	*op = (struct op){.index = op->index, .generation = op->generation, .src = src, .dst = dst,
			  .n_bytes = n_bytes, .posted_ns = traffic_now(t), .run = r};
	t->n_open++;
	r->n_begun++;
	r->n_open++;
	return op;
}

uint64_t op_tag(const struct op *op, enum step step)
{
	return TAG_MARK | (uint64_t)step << TAG_STEP_SHIFT |
	       (uint64_t)op->generation << TAG_GENERATION_SHIFT | op->index;
}

// NULL: it is done already, and another may have its place.
static struct op *op_of(const struct traffic *t, uint64_t tag)
{
	uint32_t i = (uint32_t)tag;
	struct op *op = &t->op_blocks[i / OPS_PER_BLOCK][i % OPS_PER_BLOCK];

	return op->run != NULL && op_tag(op, (tag >> TAG_STEP_SHIFT) & 7) == tag ? op : NULL;
}

static struct traffic_done *next_done(struct traffic *t)
{
	uint32_t block = (uint32_t)(t->n_done / DONE_PER_BLOCK);

	if (block == t->done_room) {
		struct traffic_done **more = realloc(t->done_blocks, (block + 1) * sizeof(*more));

		if (more == NULL)
			return NULL;
		t->done_blocks = more;
		more[block] = malloc(DONE_PER_BLOCK * sizeof(**more));
		if (more[block] == NULL)
			return NULL;
		t->done_room++;
	}
	return &t->done_blocks[block][t->n_done++ % DONE_PER_BLOCK];
}

void op_finish(struct op *op)
{
	struct traffic *t = op->run->t;
	struct traffic_done *d = next_done(t);

	if (d == NULL)
		traffic_give_up(t);
	else
		*d = (struct traffic_done){.flow = op->run->index & INT32_MAX,
					   .is_read = op->is_read, .src = op->src, .dst = op->dst,
					   .n_bytes = op->n_bytes, .posted_ns = op->posted_ns,
					   .first_tx_ns = op->first_tx_ns,
					   .last_tx_ns = op->last_tx_ns,
					   .done_ns = traffic_now(t)};
	t->n_open--;
	op->run->n_open--;
	op->run->last_done_ns = traffic_now(t);
	op->run = NULL;
	op->generation = (op->generation + 1) % TAG_GENERATIONS;
	STAILQ_INSERT_HEAD(&t->free_ops, op, next);
}

// ---- the end of flows

static bool is_rounds(const struct lab_flow *f)
{
	return f->pattern.n == PATTERN_INCAST || f->pattern.n == PATTERN_ALL_TO_ALL;
}

// Whether a flow begins nothing more. `left` has the messages of a round that jitter holds back.
static bool is_exhausted(const struct run *r)
{
	if (r->left != 0)
		return false;
	if (traffic_now(r->t) >= flow_stop_ns(r->f))
		return true;
	return r->f->count.n >= 0 && (is_rounds(r->f) ? r->n_rounds == (uint64_t)r->f->count.n
						      : r->n_begun == r->n_due);
}

static void look_for_end(struct run *r)
{
	struct traffic *t = r->t;

	if (r->is_done || r->n_open != 0 || lab_flow_endless(r->f) || !is_exhausted(r))
		return;
	r->is_done = true;
	if (--t->n_undone == 0 && t->sc->until_done)
		vclock_stop(&t->f->clock);
}

static void look_at_stop(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	look_for_end(arg);
}

// ---- hooks

static enum step step_of(uint64_t tag)
{
	return (enum step)((tag >> TAG_STEP_SHIFT) & 7);
}

static void on_done(void *arg, uint32_t host, const struct nic_done *d)
{
	struct traffic *t = arg;
	struct lane *l = d->flow < t->by_id_room[host] ? t->by_id[host][d->flow] : NULL;

	if (l == NULL || !(d->tag & TAG_MARK))
		return;
	t->in_hook = host;
	behaviour[l->run->f->pattern.n]->done(l, op_of(t, d->tag), step_of(d->tag), d);
	lane_done(l);
	look_for_end(l->run);
	t->in_hook = TRAFFIC_NO_HOST;
}

static void on_served(void *arg, uint32_t host, const struct nic_served *s)
{
	struct traffic *t = arg;
	struct op *op = s->tag & TAG_MARK ? op_of(t, s->tag) : NULL;
	struct run *r = op != NULL ? op->run : NULL;
	const struct behaviour *b = r != NULL ? behaviour[r->f->pattern.n] : NULL;

	if (b == NULL || b->served == NULL)
		return;
	t->in_hook = host;
	b->served(op, step_of(s->tag), s->now_ns);
	look_for_end(r);
	t->in_hook = TRAFFIC_NO_HOST;
}

void traffic_hooks(struct traffic *t, struct fabric_hooks *hooks)
{
	*hooks = (struct fabric_hooks){.done = on_done, .served = on_served, .arg = t};
}

// ---- life

int traffic_create(const struct scenario *sc, struct traffic **out)
{
	struct traffic *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->sc = sc;
	t->in_hook = TRAFFIC_NO_HOST;
	STAILQ_INIT(&t->free_ops);
	TAILQ_INIT(&t->dying);
	t->runs = calloc(sc->n_flows + 1, sizeof(*t->runs));
	t->by_id = calloc(sc->n_hosts + 1, sizeof(*t->by_id));
	t->by_id_room = calloc(sc->n_hosts + 1, sizeof(*t->by_id_room));
	if (t->runs == NULL || t->by_id == NULL || t->by_id_room == NULL ||
	    ideal_create(sc, &t->ideal) != 0) {
		traffic_destroy(t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sc->n_flows; i++) {
		uint64_t seed = scenario_seed(sc, "traffic", i);

		t->runs[i] = (struct run){.t = t, .f = lab_flow_of(sc, i), .index = i, .seed = seed,
					  .rng = workload_rng(seed, UINT32_MAX),
					  .last_done_ns = UINT64_MAX};
		t->n_undone += !lab_flow_endless(lab_flow_of(sc, i));
	}
	*out = t;
	return 0;
}

static void free_sources(struct run *r)
{
	for (uint32_t i = 0; r->sources != NULL && i < r->f->n_src; i++) {
		struct pair **pairs = r->sources[i].pairs;

		for (uint32_t d = 0; pairs != NULL && d < r->f->n_dst; d++) {
			if (pairs[d] != NULL)
				free(pairs[d]->lanes);
			free(pairs[d]);
		}
		free(pairs);
	}
	free(r->sources);
}

void traffic_destroy(struct traffic *t)
{
	if (t == NULL)
		return;
	for (uint32_t i = 0; t->runs != NULL && i < t->sc->n_flows; i++) {
		free_sources(&t->runs[i]);
		free(t->runs[i].lanes);
		free(t->runs[i].order);
		free(t->runs[i].round_starts);
	}
	for (uint32_t i = 0; i < t->n_lanes; i++)
		lane_free(t->lanes[i]);
	for (uint32_t i = 0; t->by_id != NULL && i < t->sc->n_hosts; i++)
		free(t->by_id[i]);
	for (uint32_t i = 0; i < t->n_op_blocks; i++)
		free(t->op_blocks[i]);
	for (uint32_t i = 0; i < t->done_room; i++)
		free(t->done_blocks[i]);
	ideal_destroy(t->ideal);
	free(t->op_blocks);
	free(t->done_blocks);
	free(t->by_id);
	free(t->by_id_room);
	free(t->lanes);
	free(t->runs);
	free(t);
}

static int start_run(struct run *r)
{
	int err = behaviour[r->f->pattern.n]->start(r);

	if (lab_flow_endless(r->f))
		return err;
	// A flow may have nothing to do, or end with a time.
	traffic_at(r->t, 0, look_at_stop, r);
	if (r->f->stop.n >= 0)
		traffic_at(r->t, flow_stop_ns(r->f), look_at_stop, r);
	return err;
}

int traffic_start(struct traffic *t, struct fabric *f)
{
	int err = 0;

	t->f = f;
	for (uint32_t i = 0; i < t->sc->n_flows && err == 0; i++)
		err = start_run(&t->runs[i]);
	return err;
}

// ---- what others read

uint32_t traffic_n_conns(const struct traffic *t)
{
	return t->n_lanes;
}

const struct traffic_conn *traffic_conn(const struct traffic *t, uint32_t i)
{
	return &t->lanes[i]->pub;
}

struct traffic_counts traffic_conn_counts(const struct traffic *t, uint32_t i)
{
	const struct lane *l = t->lanes[i];
	struct traffic_counts n = l->closed;

	if (l->pub.id != TRAFFIC_NOT_OPEN)
		lane_count(t, l, &n);
	return n;
}

uint64_t traffic_n_done(const struct traffic *t)
{
	return t->n_done;
}

const struct traffic_done *traffic_done(const struct traffic *t, uint64_t i)
{
	return &t->done_blocks[i / DONE_PER_BLOCK][i % DONE_PER_BLOCK];
}

uint64_t traffic_n_open(const struct traffic *t)
{
	return t->n_open;
}

uint64_t traffic_flow_done_ns(const struct traffic *t, uint32_t flow)
{
	return t->runs[flow].is_done ? t->runs[flow].last_done_ns : UINT64_MAX;
}

bool traffic_all_done(const struct traffic *t)
{
	return t->n_undone == 0;
}

uint64_t traffic_flow_open(const struct traffic *t, uint32_t flow)
{
	return t->runs[flow].n_open;
}

uint64_t traffic_ideal_ns(const struct traffic *t, const struct traffic_done *d)
{
	return ideal_op_ns(t->ideal, lab_flow_of(t->sc, d->flow), d);
}
