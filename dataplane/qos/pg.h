// SPDX-License-Identifier: Apache-2.0
// Ingress accounting of priority groups: who may use the shared buffer, when a group enters XOFF
// and when it leaves it. The SAI buffer model as described by Azure (NSDI'23, section 6.2).
//
// One accountant per priority group: the worker that owns the ingress port calls everything here.
// Egress owners only report how many cells have left. Pure: plain counts in, a verdict out.
//
//   charge, group of class c cells:          release, any order of frames:
//     1. min       while not in XOFF           1. skid
//     2. shared    shared + c <= T             2. headroom
//     3. enter XOFF (lossless), then           3. shared
//        headroom  capped by xoff and pool     4. min
//        skid      the software port's own
//     4. drop
//
//   T = alpha * free(ingress pool), alpha = 2^n; or static.
//   XON when skid = 0, headroom = 0 and shared <= max(xon, T - xon_offset).
//
//            arrival cannot be charged to shared
//     [ON] ------------------------------------------> [XOFF]  latched: min and shared take
//       ^                                                |      no arrivals while it holds
//       +------------------------------------------------+
//            XON condition, looked at once per loop
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/units.h"
#include "dataplane/qos/cells.h"

// Either static or a power of two times what is free in a pool.
struct threshold {
	bool dynamic;
	int8_t alpha_log2; // ALPHA_LOG2_MIN..ALPHA_LOG2_MAX
	uint32_t static_cells;
};

// Floor of alpha * free: an integer count c fits below the real product exactly when it fits
// below its floor.
static inline uint64_t threshold_cells(const struct threshold *t, uint64_t free_cells)
{
	if (!t->dynamic)
		return t->static_cells;
	return t->alpha_log2 >= 0 ? free_cells << t->alpha_log2 : free_cells >> -t->alpha_log2;
}

// Share of the threshold that `used` cells are, in Q16; 1 where none is left.
static inline uint32_t threshold_share_q16(const struct threshold *t, uint64_t used,
					   uint64_t free_cells)
{
	uint64_t limit = threshold_cells(t, free_cells);

	return used >= limit ? 1 << 16 : (uint32_t)((used << 16) / limit);
}

struct buffer_params {
	uint32_t total_cells; // B
	uint32_t ingress_pool_cells; // B - sum(PG min) - headroom pool
	uint32_t headroom_pool_cells; // sum(xoff) / oversubscription
	uint32_t egress_lossy_cells;
};

struct pg_params {
	bool lossless;
	uint32_t min_cells;
	struct threshold shared;
	uint32_t xoff_cells; // headroom cap; 0 for lossy groups
	uint32_t xon_cells;
	uint32_t xon_offset_cells;
};

// Pool use by all priority groups of one worker: a slot that only this worker writes.
struct pool_slot {
	gauge_t used;
	gauge_t max; // watermark
};

// The pools as the accountant sees them now. Built by the worker from the sum of all slots;
// with one worker exact at every frame.
struct pg_pools {
	uint64_t ingress_free; // cells
	uint64_t headroom_free;
	// A reload left the pool smaller than what is in it: min has no memory of its own till it
	// has drained.
	bool overfull;
};

struct pg_state {
	gauge_t min_used, shared, headroom, skid; // cells
	gauge_t max_shared; // watermark, cells
	_Atomic bool xoff; // written by the accountant, shown by control
	gauge_t max_headroom; // watermark, cells
};

enum pg_verdict {
	PG_MIN,
	PG_SHARED,
	PG_HEADROOM,
	PG_SKID,
	PG_NO_ROOM, // below the thresholds; pg_decide and pg_overflow say what follows
	PG_DROP_POOL, // lossy, beyond its limit or the pool
	PG_DROP_HEADROOM, // lossless, beyond headroom and skid
};

struct pg_decision {
	enum pg_verdict verdict;
	bool enter_xoff; // the group enters XOFF with this frame: PAUSE is due
};

static inline bool pg_in_xoff(const struct pg_state *s)
{
	return atomic_load_explicit(&s->xoff, memory_order_relaxed);
}

// Where frames of c cells in all, the smallest of `least`, find room below the thresholds when they
// come one after the other: all of them in min, all of them in shared memory, or PG_NO_ROOM. One
// frame has least == c, and PG_NO_ROOM then says that there is none.
static inline enum pg_verdict pg_room(const struct pg_params *p, const struct pg_state *s,
				      const struct pg_pools *pools, uint32_t c, uint32_t least)
{
	uint64_t min_used = gauge_get(&s->min_used);

	if (pg_in_xoff(s))
		return PG_NO_ROOM;
	if (!pools->overfull && min_used + c <= p->min_cells)
		return PG_MIN;
	// No frame finds room in min. The last one finds the pool fuller by the others, which is
	// c - least cells at most.
	if ((pools->overfull || min_used + least > p->min_cells) && c <= pools->ingress_free &&
	    gauge_get(&s->shared) + c <=
		    threshold_cells(&p->shared, pools->ingress_free - (c - least)))
		return PG_SHARED;
	return PG_NO_ROOM;
}

// The rare rest of pg_decide: a lossless group in XOFF, or about to enter it.
struct pg_decision pg_overflow(const struct pg_params *p, const struct pg_state *s,
			       const struct pg_pools *pools, uint64_t skid_free, uint32_t c);

// Decides where a frame of c cells is charged; changes nothing. skid_free: cells left in the
// port's skid.
static inline struct pg_decision pg_decide(const struct pg_params *p, const struct pg_state *s,
					    const struct pg_pools *pools, uint64_t skid_free,
					    uint32_t c)
{
	enum pg_verdict room = pg_room(p, s, pools, c, c);

	if (room != PG_NO_ROOM)
		return (struct pg_decision){.verdict = room};
	if (!p->lossless)
		return (struct pg_decision){.verdict = PG_DROP_POOL};
	return pg_overflow(p, s, pools, skid_free, c);
}

// What a charge or a release did to the pools.
struct pg_delta {
	int64_t ingress, headroom, skid; // cells; min is reserved and in no pool
};

// Acts on a decision: moves the counts and watermarks of the group.
static inline struct pg_delta pg_charge(struct pg_state *s, struct pg_decision d, uint32_t c)
{
	struct pg_delta delta = {0};

	if (d.enter_xoff)
		atomic_store_explicit(&s->xoff, true, memory_order_relaxed);
	switch (d.verdict) {
	case PG_MIN:
		ctr_add(&s->min_used, c);
		break;
	case PG_SHARED:
		ctr_add(&s->shared, c);
		gauge_max(&s->max_shared, gauge_get(&s->shared));
		delta.ingress = c;
		break;
	case PG_HEADROOM:
		ctr_add(&s->headroom, c);
		gauge_max(&s->max_headroom, gauge_get(&s->headroom));
		delta.headroom = c;
		break;
	case PG_SKID:
		ctr_add(&s->skid, c);
		delta.skid = c;
		break;
	case PG_NO_ROOM:
	case PG_DROP_POOL:
	case PG_DROP_HEADROOM:
		break;
	}
	return delta;
}

// Takes up to *c cells off one count; returns how many.
static inline int64_t pg_take(gauge_t *g, uint32_t *c)
{
	uint64_t have = gauge_get(g);
	uint32_t n = have < *c ? (uint32_t)have : *c;

	gauge_set(g, have - n);
	*c -= n;
	return n;
}

// c cells of the group have left the switch (c may cover several frames).
static inline struct pg_delta pg_release(struct pg_state *s, uint32_t c)
{
	struct pg_delta delta;

	delta.skid = -pg_take(&s->skid, &c);
	delta.headroom = -pg_take(&s->headroom, &c);
	delta.ingress = -pg_take(&s->shared, &c);
	pg_take(&s->min_used, &c);
	return delta;
}

// Headroom beyond `keep` cells becomes shared memory: a new policy gives the group less.
struct pg_delta pg_keep_headroom(struct pg_state *s, uint32_t keep);

// Cells of min that an arrival may take now.
static inline uint32_t pg_min_left(const struct pg_params *p, const struct pg_state *s)
{
	uint64_t used = gauge_get(&s->min_used);

	return !pg_in_xoff(s) && used < p->min_cells ? p->min_cells - (uint32_t)used : 0;
}

// Share of its threshold that the group's shared memory has reached, in Q16; 1 in XOFF.
static inline uint32_t pg_share_q16(const struct pg_params *p, const struct pg_state *s,
				    uint64_t ingress_free)
{
	return pg_in_xoff(s) ? 1 << 16
			     : threshold_share_q16(&p->shared, gauge_get(&s->shared), ingress_free);
}

// The XON threshold now: max(xon, T - xon_offset), T - xon_offset at least 0.
uint64_t pg_xon_at(const struct pg_params *p, uint64_t ingress_free);

// True when a group in XOFF may leave it. The caller clears s->xoff and sends XON.
bool pg_may_xon(const struct pg_params *p, const struct pg_state *s, uint64_t ingress_free);

static inline uint64_t pg_used(const struct pg_state *s)
{
	return gauge_get(&s->min_used) + gauge_get(&s->shared) + gauge_get(&s->headroom) +
	       gauge_get(&s->skid);
}
