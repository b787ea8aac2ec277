// SPDX-License-Identifier: Apache-2.0
// Long seeded runs over the accounting: whatever arrives and leaves, nothing is lost or invented.
#include "dataplane/base/rng.h"
#include "tests/unit/qos/pg_bench.h"

enum { ROUNDS = 300000 };

static void random_setup(struct pg_bench *b, struct rng *r)
{
	*b = (struct pg_bench){.ingress_size = 500 + rng_next(r) % 5000,
			       .headroom_size = rng_next(r) % 1000,
			       .skid_size = rng_next(r) % 100};
	for (unsigned g = 0; g < BENCH_PGS; g++)
		b->p[g] = (struct pg_params){
			.lossless = rng_next(r) & 1,
			.min_cells = rng_next(r) % 50,
			.shared = rng_next(r) & 1 ? alpha((int)(rng_next(r) % 16) - 8)
						  : fixed(rng_next(r) % 2000),
			.xoff_cells = rng_next(r) % 300,
			.xon_cells = rng_next(r) % 100,
			.xon_offset_cells = rng_next(r) % 100};
}

static uint64_t sum(const struct pg_bench *b, size_t offset)
{
	uint64_t total = 0;

	for (unsigned g = 0; g < BENCH_PGS; g++)
		total += gauge_get((const gauge_t *)((const char *)&b->s[g] + offset));
	return total;
}

static void check(const struct pg_bench *b, const uint64_t *stored)
{
	for (unsigned g = 0; g < BENCH_PGS; g++) {
		assert_int_equal(pg_used(&b->s[g]), stored[g]);
		assert_true(gauge_get(&b->s[g].min_used) <= b->p[g].min_cells);
		assert_true(gauge_get(&b->s[g].headroom) <= b->p[g].xoff_cells);
		assert_true(b->p[g].lossless || !pg_in_xoff(&b->s[g]));
	}
	assert_int_equal(sum(b, offsetof(struct pg_state, shared)), b->ingress_used);
	assert_int_equal(sum(b, offsetof(struct pg_state, headroom)), b->headroom_used);
	assert_int_equal(sum(b, offsetof(struct pg_state, skid)), b->skid_used);
}

static void step(struct pg_bench *b, struct rng *r, uint64_t *stored)
{
	unsigned g = rng_next(r) % BENCH_PGS;
	uint32_t c = 1 + rng_next(r) % 37;

	if (rng_next(r) % 8 < 5) {
		bool was_xoff = pg_in_xoff(&b->s[g]);
		struct pg_decision d = pg_bench_offer(b, g, c);
		bool stays = d.verdict != PG_DROP_POOL && d.verdict != PG_DROP_HEADROOM;

		assert_false(was_xoff && (d.verdict == PG_MIN || d.verdict == PG_SHARED));
		assert_int_equal(d.enter_xoff, !was_xoff && pg_in_xoff(&b->s[g]));
		stored[g] += stays ? c : 0;
	} else {
		c = stored[g] < c ? (uint32_t)stored[g] : c;
		pg_bench_release(b, g, c);
		stored[g] -= c;
	}
	if (pg_in_xoff(&b->s[g]) && pg_bench_may_xon(b, g))
		atomic_store(&b->s[g].xoff, false);
}

static void cells_are_conserved_over_random_traffic(void **state)
{
	struct pg_bench b;
	struct rng r;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t stored[BENCH_PGS] = {0};

		rng_init(&r, seed);
		random_setup(&b, &r);
		for (int i = 0; i < ROUNDS / 20; i++) {
			step(&b, &r, stored);
			if (i % 16 == 0)
				check(&b, stored);
		}
		for (unsigned g = 0; g < BENCH_PGS; g++)
			pg_bench_release(&b, g, (uint32_t)stored[g]);
		assert_int_equal(b.ingress_used + b.headroom_used + b.skid_used, 0);
		for (unsigned g = 0; g < BENCH_PGS; g++) {
			assert_int_equal(pg_used(&b.s[g]), 0);
			assert_true(pg_bench_may_xon(&b, g));
		}
	}
}

// Entering XOFF and being allowed to leave it at once would make PAUSE frames flap.
static void a_group_that_enters_xoff_may_not_leave_at_once(void **state)
{
	struct pg_bench b;
	struct rng r;

	(void)state;
	rng_init(&r, 7);
	for (int round = 0; round < 2000; round++) {
		b = (struct pg_bench){.ingress_size = 100 + rng_next(&r) % 5000,
				      .headroom_size = 5000};
		b.p[0] = (struct pg_params){.lossless = true,
					    .shared = alpha((int)(rng_next(&r) % 16) - 8),
					    .xoff_cells = 5000,
					    .xon_offset_cells = rng_next(&r) % 200};
		while (!pg_in_xoff(&b.s[0]))
			pg_bench_offer(&b, 0, 1 + rng_next(&r) % 37);
		assert_false(pg_bench_may_xon(&b, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_conserved_over_random_traffic),
		cmocka_unit_test(a_group_that_enters_xoff_may_not_leave_at_once),
	};

	return cmocka_run_group_tests_name("pg_random", tests, NULL, NULL);
}
