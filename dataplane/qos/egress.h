// SPDX-License-Identifier: Apache-2.0
// Egress admission of a queue: of a lossy one min, then a share of the lossy egress pool (behaviour
// of SAI egress buffer profiles). Lossless queues are never limited here: the ingress side holds
// their senders. They count in the lossless egress pool, which is as large as the buffer. Called by
// the egress owner; pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/qos/pg.h"

struct egress_params {
	bool lossless; // no limit
	uint32_t min_cells;
	struct threshold shared;
};

struct egress_state {
	gauge_t min_used, shared, lossless; // cells, as the queue was when they came
};

enum egress_verdict { EGRESS_MIN, EGRESS_SHARED, EGRESS_LOSSLESS, EGRESS_DROP, EGRESS_SPLIT };

static inline uint64_t egress_used(const struct egress_state *s)
{
	return gauge_get(&s->min_used) + gauge_get(&s->shared) + gauge_get(&s->lossless);
}

// Frames of c cells in all, the smallest of `least`, that come one after the other: how all of them
// are charged. EGRESS_SPLIT: they do not share their fate and must be decided one by one. One frame
// has least == c and is never split. pool_free: cells free in the lossy egress pool.
static inline enum egress_verdict egress_decide(const struct egress_params *p,
						const struct egress_state *s,
						uint64_t pool_free, uint32_t c, uint32_t least)
{
	uint64_t used;

	if (p->lossless)
		return EGRESS_LOSSLESS;
	used = egress_used(s);
	if (used + c <= p->min_cells)
		return EGRESS_MIN;
	// No frame finds room in min. The last one finds the pool fuller by the others, which is
	// c - least cells at most.
	if (used + least > p->min_cells && c <= pool_free &&
	    gauge_get(&s->shared) + c <= threshold_cells(&p->shared, pool_free - (c - least)))
		return EGRESS_SHARED;
	return least != c ? EGRESS_SPLIT : EGRESS_DROP;
}

// What a charge or a release did to the egress pools, in cells.
struct egress_delta {
	int64_t lossy, lossless;
};

// Acts on a decision.
static inline struct egress_delta egress_charge(struct egress_state *s, enum egress_verdict v,
						uint32_t c)
{
	struct egress_delta d = {0};

	if (v == EGRESS_SHARED) {
		ctr_add(&s->shared, c);
		d.lossy = c;
	} else if (v == EGRESS_LOSSLESS) {
		ctr_add(&s->lossless, c);
		d.lossless = c;
	} else if (v == EGRESS_MIN) {
		ctr_add(&s->min_used, c);
	}
	return d;
}

// c cells left the queue: of lossy cells shared first, then min. Where a reload has made the queue
// lossless or lossy, its older cells leave before the cells of its kind now.
static inline struct egress_delta egress_release(const struct egress_params *p,
						 struct egress_state *s, uint32_t c)
{
	struct egress_delta d = {0};

	if (p->lossless && gauge_get(&s->shared) + gauge_get(&s->min_used) == 0) {
		ctr_add(&s->lossless, -(uint64_t)c);
		d.lossless = -(int64_t)c;
		return d;
	}
	if (!p->lossless)
		d.lossless = -pg_take(&s->lossless, &c);
	d.lossy = -pg_take(&s->shared, &c);
	pg_take(&s->min_used, &c);
	if (p->lossless)
		d.lossless = -pg_take(&s->lossless, &c);
	return d;
}
