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
enum egress_verdict egress_decide(const struct egress_params *p, const struct egress_state *s,
				  uint64_t pool_free, uint32_t c);

// Acts on a decision; returns the cells taken from the lossy pool.
uint32_t egress_charge(struct egress_state *s, enum egress_verdict v, uint32_t c);

// c cells left the queue, shared first; returns the cells given back to the lossy pool.
uint32_t egress_release(struct egress_state *s, uint32_t c);
