// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pg.h"

struct pg_decision pg_overflow(const struct pg_params *p, const struct pg_state *s,
			       const struct pg_pools *pools, uint64_t skid_free, uint32_t c)
{
	struct pg_decision d = {.enter_xoff = !pg_in_xoff(s)};

	if (gauge_get(&s->headroom) + c <= p->xoff_cells && c <= pools->headroom_free)
		d.verdict = PG_HEADROOM;
	else if (c <= skid_free)
		d.verdict = PG_SKID;
	else
		d.verdict = PG_DROP_HEADROOM;
	return d;
}

struct pg_delta pg_keep_headroom(struct pg_state *s, uint32_t keep)
{
	uint64_t have = gauge_get(&s->headroom), n = have > keep ? have - keep : 0;

	gauge_set(&s->headroom, have - n);
	gauge_set(&s->shared, gauge_get(&s->shared) + n);
	gauge_max(&s->max_shared, gauge_get(&s->shared));
	return (struct pg_delta){.ingress = (int64_t)n, .headroom = -(int64_t)n};
}

uint64_t pg_xon_at(const struct pg_params *p, uint64_t ingress_free)
{
	uint64_t t = threshold_cells(&p->shared, ingress_free);
	uint64_t below = t > p->xon_offset_cells ? t - p->xon_offset_cells : 0;

	return below > p->xon_cells ? below : p->xon_cells;
}

bool pg_may_xon(const struct pg_params *p, const struct pg_state *s, uint64_t ingress_free)
{
	return gauge_get(&s->skid) == 0 && gauge_get(&s->headroom) == 0 &&
	       gauge_get(&s->shared) <= pg_xon_at(p, ingress_free);
}
