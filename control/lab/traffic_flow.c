// SPDX-License-Identifier: Apache-2.0
#include "control/lab/traffic_flow.h"

#include "control/lab/workload.h"

const char *lab_flow_name(const struct lab_flow *f)
{
	return f->label;
}

bool lab_flow_endless(const struct lab_flow *f)
{
	return f->size_kind == SIZE_UNLIMITED || (f->count.n < 0 && f->stop.n < 0);
}

bool lab_flow_is_tcp(const struct lab_flow *f)
{
	return flow_is_tcp(f);
}

struct lab_flow *lab_flow_at(struct scenario *sc, uint32_t i)
{
	return &sc->flows[i];
}

const struct lab_flow *lab_flow_of(const struct scenario *sc, uint32_t i)
{
	return &sc->flows[i];
}

uint32_t flow_draw_size(const struct lab_flow *f, struct rng *r)
{
	return f->size_kind == SIZE_CDF ? cdf_sample(&f->sizes, rng_next(r)) : f->n_bytes;
}

static int pair(uint32_t src, uint32_t dst, flow_pair_fn *fn, void *arg)
{
	return src == dst ? 0 : fn(arg, src, dst);
}

// Each host begins with its successor, so that in a round no receiver is everybody's first.
static int shifted_pairs(const struct lab_flow *f, flow_pair_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t s = 0; s < f->n_dst && err == 0; s++)
		for (uint32_t i = 0; i < f->n_src && err == 0; i++)
			err = pair(f->src[i], f->dst[(i + s) % f->n_dst], fn, arg);
	return err;
}

// An incast's rounds take one receiver after the other.
static int pairs_by_receiver(const struct lab_flow *f, flow_pair_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t d = 0; d < f->n_dst && err == 0; d++)
		for (uint32_t i = 0; i < f->n_src && err == 0; i++)
			err = pair(f->src[i], f->dst[d], fn, arg);
	return err;
}

static int pairs_by_sender(const struct lab_flow *f, flow_pair_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < f->n_src && err == 0; i++) {
		if (f->pairs.n != 0)
			err = pair(f->src[i], f->dst[i], fn, arg);
		for (uint32_t d = 0; f->pairs.n == 0 && d < f->n_dst && err == 0; d++)
			err = pair(f->src[i], f->dst[d], fn, arg);
	}
	return err;
}

int flow_each_pair(const struct lab_flow *f, flow_pair_fn *fn, void *arg)
{
	switch (flow_pattern(f)) {
	case PATTERN_INCAST:
		return pairs_by_receiver(f, fn, arg);
	case PATTERN_ALL_TO_ALL:
		return shifted_pairs(f, fn, arg);
	default:
		return pairs_by_sender(f, fn, arg);
	}
}
