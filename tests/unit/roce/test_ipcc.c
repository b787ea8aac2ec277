// SPDX-License-Identifier: Apache-2.0
// The decisions: how many, to whom, when; and the bucket of a port.
#include <string.h>

#include "dataplane/roce/ipcc.h"
#include "tests/unit/qos/test.h"

enum { KB = 1000, US = 1000, HALF = 1 << 15 };

static const uint64_t G = 1000000000;

static const struct ipcc_params params = {
	.enabled = true, .cut_q16 = HALF, .few = 2, .many = 5, .deep_q16 = HALF,
	.interval_ns = 5 * US, .drain_ns = 50 * US, .min_gap_ns = 10 * US,
	.kmin_bytes = 5 * KB, .kmax_bytes = 200 * KB,
};

// ---- how many

static void the_quadrant_follows_depth_and_trend(void **state)
{
	static const struct {
		uint64_t len;
		uint32_t share_q16;
		int64_t trend;
		enum ipcc_quadrant want;
	} t[] = {
		{6 * KB, 0, 1, IPCC_FEW_GROWING},
		{99999, 0, 1, IPCC_FEW_GROWING},
		{100 * KB, 0, 1, IPCC_MANY}, // r = deep is deep
		{300 * KB, 0, 99 * KB, IPCC_MANY},
		{6 * KB, 0, 0, IPCC_NONE}, // standing still is not growing
		{99999, 0, -1, IPCC_NONE},
		{99999, 0, -90 * KB, IPCC_NONE},
		{100 * KB, 0, 0, IPCC_FEW_SHRINKING},
		{100 * KB, 0, -1, IPCC_FEW_SHRINKING},
		{UINT32_MAX, 0, -1, IPCC_FEW_SHRINKING},
		{UINT32_MAX, 0, UINT32_MAX, IPCC_MANY},
		// The larger of the two occupancies counts.
		{6 * KB, HALF - 1, 1, IPCC_FEW_GROWING},
		{6 * KB, HALF, 1, IPCC_MANY},
		{6 * KB, 2 * HALF, 1, IPCC_MANY},
		{6 * KB, HALF - 1, -1, IPCC_NONE},
		{6 * KB, HALF, -1, IPCC_FEW_SHRINKING},
		{100 * KB, HALF - 1, 1, IPCC_MANY},
		{1ull << 32, 0, 1, IPCC_MANY}, // and not 0
		{64ull << 30, 0, 1, IPCC_MANY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_row(i, ipcc_quadrant(&params, t[i].len, t[i].share_q16, t[i].trend),
			   t[i].want);
}

static void every_quadrant_has_a_name(void **state)
{
	(void)state;
	for (unsigned q = 0; q < N_QUADRANTS; q++)
		assert_true(ipcc_quadrant_name[q] != NULL && ipcc_quadrant_name[q][0] != 0);
}

static void deep_may_be_anywhere_in_the_queue(void **state)
{
	static const struct {
		uint32_t deep_q16, len;
		enum ipcc_quadrant want;
	} t[] = {
		{0, 5001, IPCC_MANY}, // always
		{1 << 16, 199999, IPCC_FEW_GROWING},
		{1 << 16, 200000, IPCC_MANY},
		{3 << 14, 149999, IPCC_FEW_GROWING},
		{3 << 14, 150000, IPCC_MANY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct ipcc_params p = params;

		p.deep_q16 = t[i].deep_q16;
		assert_row(i, ipcc_quadrant(&p, t[i].len, 0, 1), t[i].want);
	}
}

static void the_excess_is_what_comes_in_too_much_and_what_stands_there(void **state)
{
	static const struct {
		uint32_t len;
		int64_t trend;
		uint64_t dt_ns, want_bps;
	} t[] = {
		// 5 KB in 5 us are 8 Gb/s, 5 KB above kmin in 50 us 0.8 Gb/s
		{10 * KB, 5 * KB, 5 * US, 8800000000},
		{10 * KB, 5 * KB, 10 * US, 4800000000},
		{10 * KB, 0, 5 * US, 800000000},
		{5 * KB, 5 * KB, 5 * US, 8000000000},
		// what drains by itself
		{55 * KB, -4 * KB, 5 * US, 1600000000},
		{55 * KB, -5 * KB, 5 * US, 0},
		{55 * KB, -50 * KB, 5 * US, 0}, // never negative
		{5 * KB, 0, 5 * US, 0},
		{4 * KB, 0, 5 * US, 0}, // below kmin
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_row(i, ipcc_excess_bps(&params, t[i].len, t[i].trend, t[i].dt_ns),
			   t[i].want_bps);
	assert_int_equal(ipcc_excess_bps(&params, UINT32_MAX, UINT32_MAX, 1), INT64_MAX);
	// 64 GB: 8 * (2^36 B in a second, and as much above kmin in 50 us)
	assert_true(ipcc_excess_bps(&params, (64ull << 30) + 5 * KB, 64ll << 30, G) ==
		    8 * ((64ull << 30) + (64ull << 30) * 20000));
	assert_int_equal(ipcc_excess_bps(&params, 64ull << 30, -(64ll << 30), 5 * US), 0);
}

// ---- to whom

enum { MOST = 8, NOW = 1000 * US };

enum { TOLD = CNP_SILENT_NONE, UNPAIRED = CNP_SILENT_UNPAIRED, GAP = CNP_SILENT_GAP,
       COVERED = CNP_SILENT_COVERED, QUOTA = CNP_SILENT_QUOTA, DATAGRAM = CNP_SILENT_DATAGRAM };

// G bits per second, and what is odd about it.
struct candidate {
	unsigned gbps;
	char odd; // 'u' unpaired, 'd' datagram, 'g' told just now, 'e' a gap ago, 'l' learnt 1/4
};

struct choice {
	enum ipcc_quadrant q;
	uint64_t excess_gbps;
	struct candidate in[MOST];
	uint8_t want[MOST];
};

static struct ipcc_flow flow_of(const struct candidate *c)
{
	struct ipcc_flow f = {.bps = c->gbps * G, .paired = c->odd != 'u' && c->odd != 'd',
			      .datagram = c->odd == 'd', .verdict = 0xff};

	if (c->odd == 'g')
		f.notified_ns = NOW - params.min_gap_ns + 1;
	if (c->odd == 'e')
		f.notified_ns = NOW - params.min_gap_ns;
	if (c->odd == 'l')
		f.cut_q16 = HALF / 2;
	return f;
}

static void check_choices(const struct ipcc_params *p, const struct choice *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ipcc_flow flows[MOST];
		unsigned k = 0, told = 0;

		for (; k < MOST && t[i].in[k].gbps != 0; k++) {
			flows[k] = flow_of(&t[i].in[k]);
			told += t[i].want[k] == TOLD;
		}
		assert_row(i, ipcc_choose(p, t[i].q, t[i].excess_gbps * G, flows, k, NOW), told);
		for (unsigned f = 0; f < k; f++)
			assert_row(10 * i + f, flows[f].verdict, t[i].want[f]);
	}
}

static void the_largest_are_told_until_they_cover_the_excess(void **state)
{
	static const struct choice t[] = {
		{IPCC_MANY, 0, {{0}}, {0}},
		// each is expected to halve
		{IPCC_MANY, 4, {{10}, {8}, {6}}, {TOLD, COVERED, COVERED}},
		{IPCC_MANY, 5, {{10}, {8}, {6}}, {TOLD, COVERED, COVERED}},
		{IPCC_MANY, 6, {{10}, {8}, {6}}, {TOLD, TOLD, COVERED}},
		{IPCC_MANY, 9, {{10}, {8}, {6}}, {TOLD, TOLD, COVERED}},
		{IPCC_MANY, 10, {{10}, {8}, {6}}, {TOLD, TOLD, TOLD}},
		{IPCC_MANY, 99, {{10}, {8}, {6}}, {TOLD, TOLD, TOLD}},
		// up to the quadrant's limit
		{IPCC_MANY, 99, {{7}, {6}, {5}, {4}, {3}, {2}, {1}},
		 {TOLD, TOLD, TOLD, TOLD, TOLD, QUOTA, QUOTA}},
		{IPCC_FEW_GROWING, 99, {{7}, {6}, {5}}, {TOLD, TOLD, QUOTA}},
		{IPCC_FEW_SHRINKING, 99, {{7}, {6}, {5}}, {TOLD, TOLD, QUOTA}},
		{IPCC_FEW_GROWING, 3, {{7}, {6}, {5}}, {TOLD, COVERED, COVERED}},
		{IPCC_NONE, 99, {{7}, {6}}, {QUOTA, QUOTA}},
		// no excess: MANY tells none, FEW tells one
		{IPCC_MANY, 0, {{7}, {6}}, {COVERED, COVERED}},
		{IPCC_FEW_GROWING, 0, {{7}, {6}}, {TOLD, COVERED}},
		{IPCC_FEW_SHRINKING, 0, {{7}, {6}}, {TOLD, COVERED}},
	};

	(void)state;
	check_choices(&params, t, ARRAY_SIZE(t));
}

static void flows_that_cannot_be_told_cover_nothing(void **state)
{
	static const struct choice t[] = {
		{IPCC_MANY, 4, {{10, 'u'}, {8}, {6}}, {UNPAIRED, TOLD, COVERED}},
		{IPCC_MANY, 4, {{10, 'd'}, {8}, {6}}, {DATAGRAM, TOLD, COVERED}},
		{IPCC_MANY, 99, {{9, 'u'}, {8, 'd'}, {7, 'u'}}, {UNPAIRED, DATAGRAM, UNPAIRED}},
		// they take no place of the limit, and say why also behind it
		{IPCC_FEW_GROWING, 99, {{9, 'u'}, {8}, {7, 'd'}, {6}, {5}, {4, 'u'}},
		 {UNPAIRED, TOLD, DATAGRAM, TOLD, QUOTA, UNPAIRED}},
		{IPCC_FEW_GROWING, 0, {{9, 'u'}, {8}, {7}}, {UNPAIRED, TOLD, COVERED}},
	};

	(void)state;
	check_choices(&params, t, ARRAY_SIZE(t));
}

static void a_flow_told_lately_has_its_cut_under_way(void **state)
{
	static const struct choice t[] = {
		{IPCC_MANY, 5, {{10, 'g'}, {8}}, {GAP, COVERED}},
		{IPCC_MANY, 6, {{10, 'g'}, {8}, {6}}, {GAP, TOLD, COVERED}},
		{IPCC_MANY, 6, {{10, 'e'}, {8}}, {TOLD, TOLD}}, // a whole gap ago
		// not one of the few
		{IPCC_FEW_GROWING, 99, {{9, 'g'}, {8}, {7}, {6}}, {GAP, TOLD, TOLD, QUOTA}},
		// without excess it is the one
		{IPCC_FEW_GROWING, 0, {{9, 'g'}, {8}}, {GAP, COVERED}},
		{IPCC_FEW_GROWING, 0, {{9}, {8, 'g'}}, {TOLD, GAP}},
	};

	(void)state;
	check_choices(&params, t, ARRAY_SIZE(t));
}

static void the_clock_of_the_one_who_told_may_be_ahead(void **state)
{
	struct ipcc_flow f = {.bps = G, .paired = true, .notified_ns = NOW + 3};

	(void)state;
	assert_int_equal(ipcc_choose(&params, IPCC_MANY, G, &f, 1, NOW), 0);
	assert_int_equal(f.verdict, GAP);
}

static void a_learnt_cut_counts_where_the_policy_wants_it(void **state)
{
	static const struct choice learnt[] = {
		{IPCC_MANY, 6, {{20, 'l'}, {8}, {6}}, {TOLD, TOLD, COVERED}},
		{IPCC_MANY, 5, {{20, 'l'}, {8}}, {TOLD, COVERED}},
		{IPCC_MANY, 6, {{20}, {8}}, {TOLD, COVERED}}, // nothing learnt yet
	}, fixed[] = {
		{IPCC_MANY, 6, {{20, 'l'}, {8}}, {TOLD, COVERED}},
	};
	struct ipcc_params p = params;

	(void)state;
	check_choices(&p, fixed, ARRAY_SIZE(fixed));
	p.cut_learnt = true;
	check_choices(&p, learnt, ARRAY_SIZE(learnt));
}

static void large_rates_do_not_overflow(void **state)
{
	struct ipcc_flow f[2] = {{.bps = UINT64_MAX / 2, .paired = true},
				 {.bps = 800 * G, .paired = true}};

	(void)state;
	assert_int_equal(ipcc_choose(&params, IPCC_MANY, UINT64_MAX / 4 - 1, f, 2, NOW), 1);
	assert_int_equal(ipcc_choose(&params, IPCC_MANY, UINT64_MAX / 4 + 2, f, 2, NOW), 2);
}

static void a_cut_is_learnt_by_quarters(void **state)
{
	static const struct {
		uint16_t cut_q16;
		uint64_t before, after;
		uint16_t want, tolerance;
	} t[] = {
		{0, 40 * 1000000000ull, 20 * 1000000000ull, HALF, 4}, // as was assumed
		{0, 40 * 1000000000ull, 40 * 1000000000ull, HALF * 3 / 4, 0}, // nothing was cut
		{0, 40 * 1000000000ull, 50 * 1000000000ull, HALF * 3 / 4, 0}, // it grew
		{0, 40 * 1000000000ull, 0, HALF + HALF / 4, 4}, // all
		{HALF / 2, 40 * 1000000000ull, 20 * 1000000000ull, HALF * 5 / 8, 4},
		{1 << 10, 40, 40, 1 << 10, 0}, // never nothing
		{1, 0, 0, 1 << 10, 0},
		{UINT16_MAX, 1ull << 60, 0, UINT16_MAX, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int got = ipcc_learn_cut(t[i].cut_q16, t[i].before, t[i].after);

		if (got < t[i].want - t[i].tolerance || got > t[i].want + t[i].tolerance)
			fail_msg("row %zu: learnt %d, not %d", i, got, t[i].want);
	}
}

// ---- when

struct moment {
	uint64_t t_us;
	uint32_t len;
	bool paused;
	enum ipcc_due want;
	uint64_t next_us; // 0: not before it has changed
};

static void check_moments(const struct moment *t, size_t n)
{
	struct ipcc_state s = {0};

	for (size_t i = 0; i < n; i++) {
		uint64_t next_ns = t[i].next_us == 0 ? UINT64_MAX : t[i].next_us * US;

		assert_row(i, ipcc_look_due(&params, &s, t[i].len, t[i].paused, t[i].t_us * US),
			   t[i].want);
		assert_row(i, ipcc_next(&params, &s, t[i].len), next_ns);
	}
}

static void a_queue_is_looked_at_when_it_crosses_kmin_and_each_interval_above(void **state)
{
	static const struct moment t[] = {
		{100, 0, false, IPCC_NOT_DUE, 0},
		{101, 5000, false, IPCC_NOT_DUE, 0}, // kmin is not above kmin
		{102, 5001, false, IPCC_DUE, 107},
		{102, 6000, false, IPCC_NOT_DUE, 107}, // asked twice
		{106, 9000, false, IPCC_NOT_DUE, 107},
		{107, 9000, false, IPCC_DUE, 112},
		{113, 9000, false, IPCC_DUE, 118}, // late: by the look, not by the grid
		{114, 4000, false, IPCC_NOT_DUE, 0},
		{120, 4000, false, IPCC_NOT_DUE, 0},
		{121, 6000, false, IPCC_DUE, 126},
		// To and fro around kmin does not bring looks nearer together.
		{122, 5000, false, IPCC_NOT_DUE, 0},
		{123, 6000, false, IPCC_NOT_DUE, 126},
		{126, 6000, false, IPCC_DUE, 131},
	};

	(void)state;
	check_moments(t, ARRAY_SIZE(t));
}

static void a_paused_queue_is_muted_and_so_is_the_interval_after(void **state)
{
	static const struct moment t[] = {
		{100, 6000, false, IPCC_DUE, 105},
		{103, 6000, true, IPCC_NOT_DUE, 105}, // the pause begins
		{105, 9000, true, IPCC_MUTED, 110},
		{110, 9000, true, IPCC_MUTED, 115},
		{113, 9000, false, IPCC_FREED, 118}, // it ends
		{115, 9000, false, IPCC_NOT_DUE, 118},
		{118, 9000, false, IPCC_DUE, 123},
		// within one interval
		{119, 9000, true, IPCC_NOT_DUE, 123},
		{120, 9000, false, IPCC_FREED, 125},
		{123, 9000, false, IPCC_NOT_DUE, 125},
		{125, 9000, false, IPCC_DUE, 130},
		// It ends at the moment at which a look would be due.
		{126, 9000, true, IPCC_NOT_DUE, 130},
		{130, 9000, false, IPCC_FREED, 135},
		{135, 9000, false, IPCC_DUE, 140},
		// below kmin too
		{136, 100, true, IPCC_NOT_DUE, 0},
		{150, 100, false, IPCC_FREED, 0},
		{151, 6000, false, IPCC_NOT_DUE, 155},
		{155, 6000, false, IPCC_DUE, 160},
	};

	(void)state;
	check_moments(t, ARRAY_SIZE(t));
}

// Nobody is woken for the end of a pause that nothing waits for; so it must not matter.
static void a_pause_of_an_empty_queue_leaves_no_trace(void **state)
{
	static const struct moment t[] = {
		{100, 0, true, IPCC_NOT_DUE, 0},
		{110, 6000, false, IPCC_DUE, 115},
		// what stood there was flushed
		{111, 6000, true, IPCC_NOT_DUE, 115},
		{112, 0, true, IPCC_FREED, 0},
		{113, 0, true, IPCC_NOT_DUE, 0},
		{130, 6000, false, IPCC_DUE, 135},
	};

	(void)state;
	check_moments(t, ARRAY_SIZE(t));
}

// ---- the bucket of a port

static void a_bucket_gives_its_burst_and_then_its_rate(void **state)
{
	static const struct cnp_params p = {.max_per_ms = 1000, .burst = 3};
	struct cnp_bucket b = {0};
	static const struct {
		uint64_t t_ns;
		bool want;
	} t[] = {
		{5000, true}, {5000, true}, {5000, true}, {5000, false}, {5999, false},
		{6001, true}, {6002, false}, {7002, true},
		{7502, false}, {8003, true}, // asking takes nothing
		// no more than full
		{100000, true}, {100000, true}, {100000, true}, {100000, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_row(i, cnp_bucket_take(&p, &b, t[i].t_ns), t[i].want);
}

// However often it is asked: never more than burst and rate, and no less by more than rounding.
static void a_bucket_keeps_its_rate(void **state)
{
	static const struct {
		uint32_t per_ms, burst, every_ns;
	} t[] = {{1, 1, 777}, {1000, 64, 10}, {333, 7, 1}, {100000, 2, 3}, {1, 1000000, 50}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		const struct cnp_params p = {.max_per_ms = t[i].per_ms, .burst = t[i].burst};
		struct cnp_bucket b = {0};
		uint64_t n = 0, asked = 0, most, span_ns = 2000000;

		for (uint64_t now_ns = 1; now_ns <= span_ns; now_ns += t[i].every_ns, asked++)
			n += cnp_bucket_take(&p, &b, now_ns);
		most = p.burst + span_ns * p.max_per_ms / 1000000;
		most = most < asked ? most : asked;
		assert_row(i, n <= most, true);
		assert_row(i, n + 2 + most / 500 >= most, true);
	}
}

static void a_bucket_without_rate_or_burst_ends(void **state)
{
	static const struct cnp_params none = {.max_per_ms = 1000}, once = {.burst = 2};
	struct cnp_bucket a = {0}, b = {0};

	(void)state;
	assert_false(cnp_bucket_take(&none, &a, 1000));
	assert_true(cnp_bucket_take(&once, &b, 1000));
	assert_true(cnp_bucket_take(&once, &b, 1000));
	assert_false(cnp_bucket_take(&once, &b, UINT64_MAX / 2));
}

static void a_new_rate_finds_no_more_than_its_own_burst(void **state)
{
	static const struct cnp_params wide = {.max_per_ms = 1000, .burst = 64},
				       narrow = {.max_per_ms = 1000, .burst = 1};
	struct cnp_bucket b = {0};

	(void)state;
	assert_true(cnp_bucket_take(&wide, &b, 1000));
	assert_true(cnp_bucket_take(&narrow, &b, 1000));
	assert_false(cnp_bucket_take(&narrow, &b, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quadrant_follows_depth_and_trend),
		cmocka_unit_test(every_quadrant_has_a_name),
		cmocka_unit_test(deep_may_be_anywhere_in_the_queue),
		cmocka_unit_test(the_excess_is_what_comes_in_too_much_and_what_stands_there),
		cmocka_unit_test(the_largest_are_told_until_they_cover_the_excess),
		cmocka_unit_test(flows_that_cannot_be_told_cover_nothing),
		cmocka_unit_test(a_flow_told_lately_has_its_cut_under_way),
		cmocka_unit_test(the_clock_of_the_one_who_told_may_be_ahead),
		cmocka_unit_test(a_learnt_cut_counts_where_the_policy_wants_it),
		cmocka_unit_test(large_rates_do_not_overflow),
		cmocka_unit_test(a_cut_is_learnt_by_quarters),
		cmocka_unit_test(a_queue_is_looked_at_when_it_crosses_kmin_and_each_interval_above),
		cmocka_unit_test(a_paused_queue_is_muted_and_so_is_the_interval_after),
		cmocka_unit_test(a_pause_of_an_empty_queue_leaves_no_trace),
		cmocka_unit_test(a_bucket_gives_its_burst_and_then_its_rate),
		cmocka_unit_test(a_bucket_keeps_its_rate),
		cmocka_unit_test(a_bucket_without_rate_or_burst_ends),
		cmocka_unit_test(a_new_rate_finds_no_more_than_its_own_burst),
	};

	return cmocka_run_group_tests_name("ipcc", tests, NULL, NULL);
}
