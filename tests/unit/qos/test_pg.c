// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/qos/pg_bench.h"

// Frames of c cells that a dynamic threshold admits to an empty pool of `pool` cells. The k-th is
// admitted while k*c <= a*(pool - (k-1)*c), and for a = num/den k = num*(pool+c)/(c*(num+den)).
static uint64_t shared_frames(int alpha_log2, uint64_t pool, uint64_t c)
{
	uint64_t num = alpha_log2 > 0 ? 1ull << alpha_log2 : 1;
	uint64_t den = alpha_log2 < 0 ? 1ull << -alpha_log2 : 1;
	uint64_t by_alpha = num * (pool + c) / (c * (num + den));

	return by_alpha < pool / c ? by_alpha : pool / c;
}

static void xoff_point_of(int a, uint32_t pool, uint32_t c, uint32_t min)
{
	struct pg_bench b = {.ingress_size = pool, .headroom_size = 2 * c};
	uint64_t in_shared = shared_frames(a, pool, c);
	struct pg_decision d;

	b.p[0] = (struct pg_params){
		.lossless = true, .min_cells = min, .shared = alpha(a), .xoff_cells = 2 * c};
	for (uint32_t i = 0; i < min / c; i++)
		assert_int_equal(pg_bench_offer(&b, 0, c).verdict, PG_MIN);
	for (uint64_t i = 0; i < in_shared; i++) {
		d = pg_bench_offer(&b, 0, c);
		if (d.verdict != PG_SHARED || d.enter_xoff)
			fail_msg("alpha 2^%d, pool %u, c %u, min %u: frame %lld of %lld", a,
				 pool, c, min, (long long)i, (long long)in_shared);
	}
	assert_false(pg_in_xoff(&b.s[0]));
	d = pg_bench_offer(&b, 0, c);
	assert_int_equal(d.verdict, PG_HEADROOM);
	assert_true(d.enter_xoff);
	assert_true(pg_in_xoff(&b.s[0]));
	d = pg_bench_offer(&b, 0, c);
	assert_int_equal(d.verdict, PG_HEADROOM);
	assert_false(d.enter_xoff);
	assert_int_equal(pg_used(&b.s[0]), (min / c + in_shared + 2) * c);
}

static void xoff_comes_on_exactly_the_predicted_frame(void **state)
{
	static const uint32_t pools[] = {300, 4096, 46875};
	static const uint32_t frames[] = {1, 2, 5, 7, 36};
	static const uint32_t mins[] = {0, 7, 100};

	(void)state;
	for (int a = ALPHA_LOG2_MIN; a <= ALPHA_LOG2_MAX; a++)
		for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
			for (size_t j = 0; j < ARRAY_SIZE(frames); j++)
				for (size_t k = 0; k < ARRAY_SIZE(mins); k++)
					xoff_point_of(a, pools[i], frames[j], mins[k]);
	// 64 GB in cells of 64 B and of 32 B
	for (int a = ALPHA_LOG2_MIN; a <= ALPHA_LOG2_MAX; a++) {
		xoff_point_of(a, 1u << 30, 1 << 20, 100);
		xoff_point_of(a, 1u << 31, 3 << 20, 7 << 20);
	}
}

static void one_group_stops_at_its_share_of_the_pool(void **state)
{
	(void)state;
	// Stored cells lie in (B'*a/(1+a) - 1, B'*a/(1+a) + a/(1+a)]: with a = num/den in integers.
	for (int a = ALPHA_LOG2_MIN; a <= ALPHA_LOG2_MAX; a++) {
		struct pg_bench b = {.ingress_size = 46875, .headroom_size = 1};
		int64_t num = a > 0 ? 1 << a : 1, den = a < 0 ? 1 << -a : 1, off;

		b.p[0] = (struct pg_params){.lossless = true, .shared = alpha(a), .xoff_cells = 1};
		while (!pg_bench_offer(&b, 0, 1).enter_xoff)
			;
		off = (int64_t)gauge_get(&b.s[0].shared) * (num + den) - 46875 * num;
		assert_true(off > -(num + den));
		assert_true(off <= num);
	}
}

static void static_threshold_is_exact(void **state)
{
	static const struct {
		uint32_t limit, pool, c, frames;
	} rows[] = {
		{100, 1000, 1, 100},  {100, 1000, 3, 33},   {0, 1000, 1, 0},
		{2000, 1000, 1, 1000}, {2000, 1000, 7, 142}, {100, 1000, 100, 1},
		{100, 1000, 101, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pg_bench b = {.ingress_size = rows[i].pool, .headroom_size = 500};
		uint32_t n = 0;

		b.p[0] = (struct pg_params){
			.lossless = true, .shared = fixed(rows[i].limit), .xoff_cells = 500};
		while (!pg_bench_offer(&b, 0, rows[i].c).enter_xoff)
			n++;
		assert_row(i, n, rows[i].frames);
	}
}

static void equal_groups_stop_at_equal_shares(void **state)
{
	(void)state;
	for (int a = -4; a <= 4; a++)
		for (unsigned n = 1; n <= BENCH_PGS; n++) {
			struct pg_bench b = {.ingress_size = 30011, .headroom_size = 1000000};
			int64_t num = a > 0 ? 1 << a : 1, den = a < 0 ? 1 << -a : 1;
			unsigned stopped = 0;

			for (unsigned g = 0; g < n; g++)
				b.p[g] = (struct pg_params){.lossless = true,
							    .shared = alpha(a),
							    .xoff_cells = 1000000};
			while (stopped < n)
				for (unsigned g = 0; g < n; g++)
					stopped += pg_bench_offer(&b, g, 1).enter_xoff;
			for (unsigned g = 0; g < n; g++) {
				int64_t got = (int64_t)gauge_get(&b.s[g].shared) * (den + n * num);

				assert_true(got - 30011 * num < den + (int64_t)n * num);
				assert_true(30011 * num - got < den + (int64_t)n * num);
			}
		}
}

static void groups_filled_in_turn_halve_what_is_left(void **state)
{
	struct pg_bench b = {.ingress_size = 4096, .headroom_size = 100};

	(void)state;
	for (unsigned g = 0; g < 12; g++) {
		b.p[g] = (struct pg_params){.lossless = true, .shared = alpha(0), .xoff_cells = 5};
		while (!pg_bench_offer(&b, g, 1).enter_xoff)
			;
		assert_int_equal(gauge_get(&b.s[g].shared), 4096 >> (g + 1));
	}
}

static void xoff_latches_min_and_shared_until_it_is_cleared(void **state)
{
	struct pg_bench b = {.ingress_size = 100, .headroom_size = 50, .skid_size = 4};
	struct pg_decision d;

	(void)state;
	b.p[0] = (struct pg_params){
		.lossless = true, .min_cells = 10, .shared = fixed(10), .xoff_cells = 50};
	for (int i = 0; i < 20; i++)
		pg_bench_offer(&b, 0, 1);
	assert_true(pg_bench_offer(&b, 0, 1).enter_xoff);
	// The threshold rises and min and shared run empty: still nothing but headroom is charged.
	b.p[0].shared = alpha(7);
	pg_bench_release(&b, 0, 21);
	assert_int_equal(pg_used(&b.s[0]), 0);
	for (int i = 0; i < 50; i++) {
		d = pg_bench_offer(&b, 0, 1);
		assert_int_equal(d.verdict, PG_HEADROOM);
		assert_false(d.enter_xoff);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pg_bench_offer(&b, 0, 1).verdict, PG_SKID);
	assert_int_equal(pg_bench_offer(&b, 0, 1).verdict, PG_DROP_HEADROOM);
	assert_int_equal(gauge_get(&b.s[0].min_used) + gauge_get(&b.s[0].shared), 0);
	// Once cleared, min is first again.
	atomic_store(&b.s[0].xoff, false);
	assert_int_equal(pg_bench_offer(&b, 0, 1).verdict, PG_MIN);
}

static void headroom_is_capped_by_the_group_and_by_the_pool(void **state)
{
	struct pg_bench b = {.ingress_size = 100, .headroom_size = 30};

	(void)state;
	for (unsigned g = 0; g < 2; g++)
		b.p[g] = (struct pg_params){.lossless = true, .shared = fixed(0), .xoff_cells = 20};
	for (int i = 0; i < 20; i++)
		assert_int_equal(pg_bench_offer(&b, 0, 1).verdict, PG_HEADROOM);
	assert_int_equal(pg_bench_offer(&b, 0, 1).verdict, PG_DROP_HEADROOM); // its own cap
	for (int i = 0; i < 3; i++)
		assert_int_equal(pg_bench_offer(&b, 1, 3).verdict, PG_HEADROOM);
	assert_int_equal(pg_bench_offer(&b, 1, 2).verdict, PG_DROP_HEADROOM); // the pool: 29 of 30
	assert_int_equal(pg_bench_offer(&b, 1, 1).verdict, PG_HEADROOM);
	assert_int_equal(pg_bench_offer(&b, 1, 1).verdict, PG_DROP_HEADROOM);
	assert_int_equal(b.headroom_used, 30);
}

static void a_frame_too_long_for_headroom_still_enters_xoff(void **state)
{
	struct pg_bench b = {.ingress_size = 100, .headroom_size = 30};
	struct pg_decision d;

	(void)state;
	b.p[0] = (struct pg_params){.lossless = true, .shared = fixed(0), .xoff_cells = 5};
	d = pg_bench_offer(&b, 0, 6);
	assert_int_equal(d.verdict, PG_DROP_HEADROOM);
	assert_true(d.enter_xoff && pg_in_xoff(&b.s[0]));
	assert_int_equal(pg_used(&b.s[0]), 0);
}

static void a_frame_never_straddles_two_places(void **state)
{
	struct pg_bench b = {.ingress_size = 100, .headroom_size = 10, .skid_size = 10};

	(void)state;
	b.p[0] = (struct pg_params){
		.lossless = true, .min_cells = 10, .shared = fixed(10), .xoff_cells = 10};
	assert_int_equal(pg_bench_offer(&b, 0, 7).verdict, PG_MIN);
	assert_int_equal(pg_bench_offer(&b, 0, 7).verdict, PG_SHARED); // 3 of min left: not split
	assert_int_equal(pg_bench_offer(&b, 0, 3).verdict, PG_MIN); // a shorter one fits
	assert_int_equal(pg_bench_offer(&b, 0, 7).verdict, PG_HEADROOM);
	assert_int_equal(pg_bench_offer(&b, 0, 7).verdict, PG_SKID);
	assert_int_equal(pg_bench_offer(&b, 0, 7).verdict, PG_DROP_HEADROOM);
	assert_int_equal(gauge_get(&b.s[0].min_used), 10);
	assert_int_equal(gauge_get(&b.s[0].shared), 7);
	assert_int_equal(gauge_get(&b.s[0].headroom), 7);
	assert_int_equal(gauge_get(&b.s[0].skid), 7);
}

static void release_empties_skid_headroom_shared_min_in_this_order(void **state)
{
	static const struct {
		uint32_t c;
		uint64_t skid, headroom, shared, min;
	} rows[] = {
		{1, 3, 8, 16, 32}, {3, 0, 8, 16, 32},  {5, 0, 3, 16, 32}, {4, 0, 0, 15, 32},
		{16, 0, 0, 0, 31}, {30, 0, 0, 0, 1}, {1, 0, 0, 0, 0},
	};
	struct pg_state s = {.min_used = 32, .shared = 16, .headroom = 8, .skid = 4};
	struct pg_delta d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pg_state was = s;

		d = pg_release(&s, rows[i].c);
		assert_row(i, gauge_get(&s.skid), rows[i].skid);
		assert_row(i, gauge_get(&s.headroom), rows[i].headroom);
		assert_row(i, gauge_get(&s.shared), rows[i].shared);
		assert_row(i, gauge_get(&s.min_used), rows[i].min);
		assert_row(i, d.skid, (int64_t)rows[i].skid - (int64_t)gauge_get(&was.skid));
		assert_row(i, d.headroom,
			   (int64_t)rows[i].headroom - (int64_t)gauge_get(&was.headroom));
		assert_row(i, d.ingress, (int64_t)rows[i].shared - (int64_t)gauge_get(&was.shared));
	}
}

static void xon_threshold_is_the_larger_of_xon_and_t_less_offset(void **state)
{
	static const struct {
		int alpha_log2; // -100: static 500
		uint32_t xon, offset;
		uint64_t free, want;
	} rows[] = {
		{0, 0, 0, 1000, 1000},	  {0, 0, 100, 1000, 900},  {0, 950, 100, 1000, 950},
		{0, 900, 100, 1000, 900}, {0, 0, 1000, 1000, 0},   {0, 0, 1001, 1000, 0},
		{0, 7, 5000, 1000, 7},	  {0, 0, UINT32_MAX, 0, 0}, {3, 0, 100, 1000, 7900},
		{-3, 0, 100, 1000, 25},	  {-100, 0, 100, 3, 400},  {-100, 450, 100, 3, 450},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pg_params p = {
			.lossless = true,
			.shared = rows[i].alpha_log2 == -100 ? fixed(500)
							     : alpha(rows[i].alpha_log2),
			.xon_cells = rows[i].xon,
			.xon_offset_cells = rows[i].offset};

		assert_row(i, pg_xon_at(&p, rows[i].free), rows[i].want);
	}
}

static void xon_waits_for_empty_skid_and_headroom_and_low_shared(void **state)
{
	static const struct {
		uint64_t min, shared, headroom, skid;
		bool want;
	} rows[] = {
		{0, 900, 0, 0, true},  {0, 901, 0, 0, false}, {0, 0, 1, 0, false},
		{0, 0, 0, 1, false},   {0, 900, 1, 1, false}, {5000, 900, 0, 0, true},
		{5000, 0, 0, 0, true},
	};
	const struct pg_params p = {
		.lossless = true, .shared = alpha(0), .xon_offset_cells = 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pg_state s = {.min_used = rows[i].min,
				     .shared = rows[i].shared,
				     .headroom = rows[i].headroom,
				     .skid = rows[i].skid,
				     .xoff = true};

		assert_row(i, pg_may_xon(&p, &s, 1000), rows[i].want);
	}
}

static void xon_comes_on_exactly_the_predicted_departure(void **state)
{
	struct pg_bench b = {.ingress_size = 1000, .headroom_size = 10};
	uint32_t n = 0;

	(void)state;
	b.p[0] = (struct pg_params){
		.lossless = true, .shared = alpha(0), .xoff_cells = 10, .xon_offset_cells = 100};
	while (!pg_in_xoff(&b.s[0]))
		pg_bench_offer(&b, 0, 1);
	assert_int_equal(gauge_get(&b.s[0].shared), 500);
	// shared <= 1000 - shared - 100 holds from 450 on; the headroom cell leaves first.
	while (!pg_bench_may_xon(&b, 0)) {
		pg_bench_release(&b, 0, 1);
		n++;
	}
	assert_int_equal(n, 1 + 50);
}

static void watermarks_are_the_highest_use(void **state)
{
	struct pg_bench b = {.ingress_size = 100, .headroom_size = 10};

	(void)state;
	b.p[0] = (struct pg_params){.lossless = true, .shared = fixed(20), .xoff_cells = 8};
	for (uint32_t i = 1; i <= 20; i++) {
		pg_bench_offer(&b, 0, 1);
		assert_int_equal(gauge_get(&b.s[0].max_shared), i);
		assert_int_equal(gauge_get(&b.s[0].max_headroom), 0);
	}
	for (uint32_t i = 1; i <= 12; i++) {
		pg_bench_offer(&b, 0, 1);
		assert_int_equal(gauge_get(&b.s[0].max_headroom), i < 8 ? i : 8);
	}
	pg_bench_release(&b, 0, 28);
	assert_int_equal(gauge_get(&b.s[0].max_shared), 20);
	assert_int_equal(gauge_get(&b.s[0].max_headroom), 8);
}

static void a_lossy_group_drops_and_never_pauses(void **state)
{
	struct pg_bench b = {.ingress_size = 50, .headroom_size = 10, .skid_size = 10};
	struct pg_decision d;

	(void)state;
	b.p[0] = (struct pg_params){.min_cells = 5, .shared = fixed(1000000)};
	b.p[1] = (struct pg_params){.shared = fixed(30)};
	for (int i = 0; i < 30; i++)
		assert_int_equal(pg_bench_offer(&b, 1, 1).verdict, PG_SHARED);
	assert_int_equal(pg_bench_offer(&b, 1, 1).verdict, PG_DROP_POOL); // its own limit
	for (int i = 0; i < 25; i++)
		assert_int_not_equal(pg_bench_offer(&b, 0, 1).verdict, PG_DROP_POOL);
	d = pg_bench_offer(&b, 0, 1); // the pool
	assert_int_equal(d.verdict, PG_DROP_POOL);
	assert_false(d.enter_xoff || pg_in_xoff(&b.s[0]));
	assert_int_equal(b.ingress_used, 50);
	assert_int_equal(b.headroom_used + b.skid_used, 0);
}

static void the_share_of_a_threshold_is_exact(void **state)
{
	static const struct {
		struct threshold t;
		uint64_t used, free;
		uint32_t want_q16;
	} t[] = {
		{{.static_cells = 4}, 0, 0, 0},
		{{.static_cells = 4}, 1, 0, 1 << 14},
		{{.static_cells = 3}, 1, 0, (1 << 16) / 3},
		{{.static_cells = 4}, 4, 0, 1 << 16},
		{{.static_cells = 4}, 9, 0, 1 << 16},
		{{.static_cells = 0}, 0, 100, 1 << 16}, // nothing more can be charged
		{{.dynamic = true}, 25, 100, 1 << 14},
		{{.dynamic = true, .alpha_log2 = -2}, 25, 200, 1 << 15},
		{{.dynamic = true, .alpha_log2 = 7}, 64, 1, 1 << 15},
		{{.dynamic = true}, 7, 0, 1 << 16}, // the pool is full
		// 64 GB in cells of 64 B
		{{.dynamic = true, .alpha_log2 = 7}, 1 << 29, 1 << 30, (1 << 16) / 256},
		{{.dynamic = true}, (1 << 30) - 1, 1 << 30, (1 << 16) - 1},
	};
	struct pg_params p = {.lossless = true, .shared.static_cells = 100};
	struct pg_state s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_row(i, threshold_share_q16(&t[i].t, t[i].used, t[i].free), t[i].want_q16);
	gauge_set(&s.shared, 25);
	assert_int_equal(pg_share_q16(&p, &s, 1000), 1 << 14);
	s.xoff = true;
	assert_int_equal(pg_share_q16(&p, &s, 1000), 1 << 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xoff_comes_on_exactly_the_predicted_frame),
		cmocka_unit_test(one_group_stops_at_its_share_of_the_pool),
		cmocka_unit_test(static_threshold_is_exact),
		cmocka_unit_test(equal_groups_stop_at_equal_shares),
		cmocka_unit_test(groups_filled_in_turn_halve_what_is_left),
		cmocka_unit_test(xoff_latches_min_and_shared_until_it_is_cleared),
		cmocka_unit_test(headroom_is_capped_by_the_group_and_by_the_pool),
		cmocka_unit_test(a_frame_too_long_for_headroom_still_enters_xoff),
		cmocka_unit_test(a_frame_never_straddles_two_places),
		cmocka_unit_test(release_empties_skid_headroom_shared_min_in_this_order),
		cmocka_unit_test(xon_threshold_is_the_larger_of_xon_and_t_less_offset),
		cmocka_unit_test(xon_waits_for_empty_skid_and_headroom_and_low_shared),
		cmocka_unit_test(xon_comes_on_exactly_the_predicted_departure),
		cmocka_unit_test(watermarks_are_the_highest_use),
		cmocka_unit_test(the_share_of_a_threshold_is_exact),
		cmocka_unit_test(a_lossy_group_drops_and_never_pauses),
	};

	return cmocka_run_group_tests_name("pg", tests, NULL, NULL);
}
