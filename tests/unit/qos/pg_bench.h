// SPDX-License-Identifier: Apache-2.0
// A shared buffer with several priority groups and nothing else: what the worker does with a
// verdict of pg_decide, small enough to be obviously right. One accountant: every sum is exact.
#pragma once

#include <string.h>

#include "dataplane/qos/pg.h"
#include "tests/unit/qos/test.h"

enum { BENCH_PGS = 16 };

struct pg_bench {
	uint64_t ingress_size, headroom_size, skid_size; // cells
	uint64_t ingress_used, headroom_used, skid_used;
	struct pg_params p[BENCH_PGS];
	struct pg_state s[BENCH_PGS];
};

static inline struct pg_pools pg_bench_pools(const struct pg_bench *b)
{
	return (struct pg_pools){.ingress_free = b->ingress_size - b->ingress_used,
				 .headroom_free = b->headroom_size - b->headroom_used};
}

static inline void pg_bench_apply(struct pg_bench *b, struct pg_delta d)
{
	b->ingress_used = (uint64_t)((int64_t)b->ingress_used + d.ingress);
	b->headroom_used = (uint64_t)((int64_t)b->headroom_used + d.headroom);
	b->skid_used = (uint64_t)((int64_t)b->skid_used + d.skid);
	assert_true(b->ingress_used <= b->ingress_size);
	assert_true(b->headroom_used <= b->headroom_size);
	assert_true(b->skid_used <= b->skid_size);
}

// A frame of c cells arrives for group g.
static inline struct pg_decision pg_bench_offer(struct pg_bench *b, unsigned g, uint32_t c)
{
	struct pg_pools pools = pg_bench_pools(b);
	struct pg_decision d =
		pg_decide(&b->p[g], &b->s[g], &pools, b->skid_size - b->skid_used, c);

	pg_bench_apply(b, pg_charge(&b->s[g], d, c));
	return d;
}

static inline void pg_bench_release(struct pg_bench *b, unsigned g, uint32_t c)
{
	pg_bench_apply(b, pg_release(&b->s[g], c));
}

static inline bool pg_bench_may_xon(const struct pg_bench *b, unsigned g)
{
	return pg_may_xon(&b->p[g], &b->s[g], b->ingress_size - b->ingress_used);
}

static inline struct threshold alpha(int log2)
{
	return (struct threshold){.dynamic = true, .alpha_log2 = (int8_t)log2};
}

static inline struct threshold fixed(uint32_t cells)
{
	return (struct threshold){.static_cells = cells};
}
