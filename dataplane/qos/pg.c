// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pg.h"

static struct pg_decision lossless_overflow(const struct pg_params *p, const struct pg_state *s,
					    const struct pg_pools *pools, uint64_t skid_free,
					    uint32_t c)
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

struct pg_decision pg_decide(const struct pg_params *p, const struct pg_state *s,
			     const struct pg_pools *pools, uint64_t skid_free, uint32_t c)
{
	if (!pg_in_xoff(s)) {
		uint64_t limit = threshold_cells(&p->shared, pools->ingress_free);

		if (gauge_get(&s->min_used) + c <= p->min_cells)
			return (struct pg_decision){.verdict = PG_MIN};
		if (gauge_get(&s->shared) + c <= limit && c <= pools->ingress_free)
			return (struct pg_decision){.verdict = PG_SHARED};
	}
	if (!p->lossless)
		return (struct pg_decision){.verdict = PG_DROP_POOL};
	return lossless_overflow(p, s, pools, skid_free, c);
}

struct pg_delta pg_charge(struct pg_state *s, struct pg_decision d, uint32_t c)
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
	case PG_DROP_POOL:
	case PG_DROP_HEADROOM:
		break;
	}
	return delta;
}

// Takes up to *c cells off one count; returns how many.
static int64_t take(gauge_t *g, uint32_t *c)
{
	uint64_t have = gauge_get(g);
	uint32_t n = have < *c ? (uint32_t)have : *c;

	gauge_set(g, have - n);
	*c -= n;
	return n;
}

struct pg_delta pg_release(struct pg_state *s, uint32_t c)
{
	struct pg_delta delta;

	delta.skid = -take(&s->skid, &c);
	delta.headroom = -take(&s->headroom, &c);
	delta.ingress = -take(&s->shared, &c);
	take(&s->min_used, &c);
	return delta;
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
