// SPDX-License-Identifier: Apache-2.0
// Flows with `inof: on`: an initiator sends to the targets that its endpoint uses (inof.h), and
// moves its I/O when the endpoint does. What a host has with one subsystem is an io:
//
//	path begins  its connections open, and open messages go out on them, else new ones
//	path ends    its connections close; open messages wait for the next path, or fail by force
//	keep_alive   no message was complete for so long: the endpoint learns it
#include <errno.h>
#include <stdlib.h>

#include "control/lab/inof.h"
#include "control/lab/traffic_int.h"

struct io {
	struct run *run;
	uint32_t src, dst; // dst: the target in use, or the last one
	bool begun; // a path has begun before
	bool in_use, timer_runs;
	uint64_t alive_ns; // when the path began, or the last message was complete on it
	uint64_t done_ns; // the last message, on any path
};

static bool is_of(const struct io *io, uint32_t src, uint32_t dst)
{
	return io->src == src && lab_inof_one_subsystem(io->run->t->sc, io->dst, dst);
}

// The next open message from *at on. NULL: there is none.
static struct op *next_op(const struct io *io, uint32_t *at)
{
	const struct traffic *t = io->run->t;

	while (*at < t->n_op_blocks * OPS_PER_BLOCK) {
		struct op *op = &t->op_blocks[*at / OPS_PER_BLOCK][*at % OPS_PER_BLOCK];

		++*at;
		if (op->run == io->run && is_of(io, op->src, op->dst))
			return op;
	}
	return NULL;
}

static bool has_ops(const struct io *io)
{
	uint32_t at = 0;

	return next_op(io, &at) != NULL;
}

// ---- keep-alive

static void look_alive(void *arg, uint64_t now_ns);

static uint64_t keep_alive_ns(const struct io *io)
{
	return io->run->t->sc->hosts[io->src].inof.keep_alive_ns;
}

static void start_alive_timer(struct io *io)
{
	if (io->timer_runs || !io->in_use)
		return;
	io->timer_runs = true;
	traffic_at(io->run->t, io->alive_ns + keep_alive_ns(io), look_alive, io);
}

static void look_alive(void *arg, uint64_t now_ns)
{
	struct io *io = arg;

	io->timer_runs = false;
	if (io->in_use && !has_ops(io))
		io->alive_ns = now_ns;
	if (io->in_use && now_ns >= io->alive_ns + keep_alive_ns(io)) {
		io->alive_ns = now_ns;
		lab_inof_silent(io->run->t->f->inof, io->src, io->dst);
	}
	start_alive_timer(io);
}

// ---- paths

static bool is_on(const struct lane *l, uint32_t src, uint32_t dst)
{
	return l->pub.src == src && l->pub.dst == dst;
}

// A connection of a path that is still in use begins its messages.
static void go(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;

	if (l->n_out == 0 && l->queue.n == 0)
		standing_continue(l, now_ns);
}

static void begin_at(struct io *io, struct lane **lanes, uint32_t n, uint32_t dst)
{
	struct run *r = io->run;
	uint64_t from = max_u64(traffic_now(r->t), (uint64_t)r->f->start.n);
	uint32_t at = 0, n_moved = 0;
	struct op *op;

	r->paths.moves += io->begun && io->dst != dst;
	if (!io->begun)
		io->done_ns = from;
	io->begun = io->in_use = true;
	io->alive_ns = from;
	for (uint32_t q = 0; q < n; q++)
		if (lane_open(lanes[q], NULL) != 0)
			traffic_give_up(r->t);
	for (; (op = next_op(io, &at)) != NULL; n_moved++) {
		op->dst = dst;
		lane_post(lanes[n_moved % n], op, STEP_REQUEST, op->n_bytes);
	}
	io->dst = dst;
	for (uint32_t q = n_moved; q < n; q++)
		traffic_at(r->t, from, go, lanes[q]);
	start_alive_timer(io);
}

static void end_at(struct io *io, struct lane **lanes, uint32_t n, bool forced)
{
	struct run *r = io->run;
	uint32_t at = 0;
	struct op *op;

	for (uint32_t q = 0; q < n; q++)
		lane_close(r->t, lanes[q]);
	io->in_use = false;
	while (forced && (op = next_op(io, &at)) != NULL) {
		op_fail(op);
		r->paths.failed++;
	}
}

// A run has the lanes of two hosts one after the other.
void paths_changed(void *arg, const struct fabric_path *p)
{
	struct traffic *t = arg;

	for (uint32_t i = 0; i < t->sc->n_flows; i++) {
		struct run *r = &t->runs[i];
		uint32_t k = 0;

		while (k < r->n_lanes && !is_on(r->lanes[k], p->src, p->dst))
			k++;
		if (k == r->n_lanes || r->n_ios == 0)
			continue;
		if (p->begins)
			begin_at(r->lanes[k]->io, &r->lanes[k], (uint32_t)r->f->qps.n, p->dst);
		else
			end_at(r->lanes[k]->io, &r->lanes[k], (uint32_t)r->f->qps.n, p->forced);
	}
}

void paths_done(const struct lane *l)
{
	struct io *io = l->io;
	struct traffic_paths *p = &l->run->paths;
	uint64_t now = traffic_now(l->run->t);

	p->outage_ns = max_u64(p->outage_ns, now - io->done_ns);
	io->done_ns = io->alive_ns = now;
}

struct traffic_paths traffic_flow_paths(const struct traffic *t, uint32_t flow)
{
	const struct run *r = &t->runs[flow];
	struct traffic_paths p = r->paths;

	for (uint32_t i = 0; i < r->n_ios; i++)
		if (has_ops(&r->ios[i]))
			p.outage_ns = max_u64(p.outage_ns, traffic_now(t) - r->ios[i].done_ns);
	return p;
}

int paths_start(struct run *r)
{
	r->ios = calloc(r->n_lanes, sizeof(*r->ios));
	if (r->ios == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; k < r->n_lanes; k++) {
		struct lane *l = r->lanes[k];
		uint32_t i = 0;

		while (i < r->n_ios && !is_of(&r->ios[i], l->pub.src, l->pub.dst))
			i++;
		if (i == r->n_ios)
			r->ios[r->n_ios++] = (struct io){.run = r, .src = l->pub.src,
							 .dst = l->pub.dst};
		l->io = &r->ios[i];
	}
	return 0;
}
