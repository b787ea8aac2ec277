// SPDX-License-Identifier: Apache-2.0
// Egress admission of a lossy queue: min, then a share of the lossy egress pool (behaviour of SAI
// egress buffer profiles). Lossless queues are never limited here: the ingress side holds their
// senders. Called by the egress owner; pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/counter.h"
#include "dataplane/qos/pg.h"

struct egress_params {
	bool lossless; // no limit
	uint32_t min_cells;
	struct threshold shared;
};

struct egress_state {
	gauge_t min_used, shared; // cells; lossless queues count all of theirs in min_used
};

enum egress_verdict { EGRESS_MIN, EGRESS_SHARED, EGRESS_DROP };

static inline uint64_t egress_used(const struct egress_state *s)
{
	return gauge_get(&s->min_used) + gauge_get(&s->shared);
}

// pool_free: cells free in the lossy egress pool.
static inline enum egress_verdict egress_decide(const struct egress_params *p,
						const struct egress_state *s,
						uint64_t pool_free, uint32_t c)
{
	if (p->lossless || egress_used(s) + c <= p->min_cells)
		return EGRESS_MIN;
	if (c <= pool_free &&
	    gauge_get(&s->shared) + c <= threshold_cells(&p->shared, pool_free))
		return EGRESS_SHARED;
	return EGRESS_DROP;
}

// Frames of c cells in all, one after the other: true when all of them are charged alike, as *v
// says. False: they must be decided one by one.
static inline bool egress_decide_alike(const struct egress_params *p, const struct egress_state *s,
				       uint64_t pool_free, uint32_t c, enum egress_verdict *v)
{
	*v = EGRESS_MIN;
	if (p->lossless || egress_used(s) + c <= p->min_cells)
		return true;
	*v = EGRESS_SHARED;
	return egress_used(s) >= p->min_cells && c <= pool_free &&
	       gauge_get(&s->shared) + c <= threshold_cells(&p->shared, pool_free - c);
}

// Acts on a decision; returns the cells taken from the lossy pool.
static inline uint32_t egress_charge(struct egress_state *s, enum egress_verdict v, uint32_t c)
{
	if (v == EGRESS_SHARED) {
		ctr_add(&s->shared, c);
		return c;
	}
	if (v == EGRESS_MIN)
		ctr_add(&s->min_used, c);
	return 0;
}

// c cells left the queue, shared first; returns the cells given back to the lossy pool.
static inline uint32_t egress_release(struct egress_state *s, uint32_t c)
{
	uint64_t shared = gauge_get(&s->shared);
	uint32_t from_shared = shared < c ? (uint32_t)shared : c;

	gauge_set(&s->shared, shared - from_shared);
	gauge_set(&s->min_used, gauge_get(&s->min_used) - (c - from_shared));
	return from_shared;
}
