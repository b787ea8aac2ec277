// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/egress.h"

enum egress_verdict egress_decide(const struct egress_params *p, const struct egress_state *s,
				  uint64_t pool_free, uint32_t c)
{
	if (p->lossless || egress_used(s) + c <= p->min_cells)
		return EGRESS_MIN;
	if (c <= pool_free &&
	    gauge_get(&s->shared) + c <= threshold_cells(&p->shared, pool_free))
		return EGRESS_SHARED;
	return EGRESS_DROP;
}

uint32_t egress_charge(struct egress_state *s, enum egress_verdict v, uint32_t c)
{
	if (v == EGRESS_SHARED) {
		ctr_add(&s->shared, c);
		return c;
	}
	if (v == EGRESS_MIN)
		ctr_add(&s->min_used, c);
	return 0;
}

uint32_t egress_release(struct egress_state *s, uint32_t c)
{
	uint64_t shared = gauge_get(&s->shared);
	uint32_t from_shared = shared < c ? (uint32_t)shared : c;

	gauge_set(&s->shared, shared - from_shared);
	gauge_set(&s->min_used, gauge_get(&s->min_used) - (c - from_shared));
	return from_shared;
}
