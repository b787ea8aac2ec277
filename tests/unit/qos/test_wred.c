// SPDX-License-Identifier: Apache-2.0
#include "dataplane/base/rng.h"
#include "dataplane/qos/wred.h"
#include "tests/unit/qos/test.h"

enum { KMIN = 500000, KMAX = 2000000 };

// One random number from the middle of each of 2^16 equal strata: the count of a verdict is its
// probability times 2^16, exact to one.
enum { STRATA = 65536 };

static uint32_t count(const struct wred_params *p, uint64_t len, unsigned color, enum ecn ecn,
		      enum wred_verdict v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < STRATA; i++)
		n += wred_decide(p, len, color, ecn, i << 16 | 0x8000) == v;
	return n;
}

static struct wred_params params(uint64_t kmin, uint64_t kmax, uint32_t pmax_ppm)
{
	struct wred_params p = {
		.enabled = true, .ecn = true, .above_kmax_all = true, .not_ect_drop = true};

	for (unsigned c = 0; c < N_COLORS; c++)
		p.curve[c] = wred_curve_of(kmin, kmax, pmax_ppm);
	return p;
}

// The verdict for the luckiest and the unluckiest random number tells never, sometimes and always.
enum outcome { PASS, SOMETIMES_MARK, SOMETIMES_DROP, MARK, DROP };

static enum outcome outcome_of(const struct wred_params *p, uint32_t len, enum ecn ecn)
{
	enum wred_verdict low = wred_decide(p, len, GREEN, ecn, 0);
	enum wred_verdict high = wred_decide(p, len, GREEN, ecn, UINT32_MAX);

	if (low == high)
		return low == WRED_PASS ? PASS : low == WRED_MARK ? MARK : DROP;
	assert_int_equal(high, WRED_PASS);
	return low == WRED_MARK ? SOMETIMES_MARK : SOMETIMES_DROP;
}

static void every_cell_of_the_table_holds(void **state)
{
	static const struct {
		bool ecn, all, not_ect_drop;
		enum ecn codepoint;
		enum outcome at_kmin, at_kmin_plus_1, at_middle, at_kmax, above;
	} rows[] = {
		{1, 1, 1, ECN_NOT_ECT, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{1, 1, 1, ECN_ECT0, PASS, SOMETIMES_MARK, SOMETIMES_MARK, SOMETIMES_MARK, MARK},
		{1, 1, 1, ECN_ECT1, PASS, SOMETIMES_MARK, SOMETIMES_MARK, SOMETIMES_MARK, MARK},
		{1, 1, 1, ECN_CE, PASS, PASS, PASS, PASS, PASS},
		// above_kmax: pmax keeps the probability for ECT, not for Not-ECT
		{1, 0, 1, ECN_NOT_ECT, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{1, 0, 1, ECN_ECT0, PASS, SOMETIMES_MARK, SOMETIMES_MARK, SOMETIMES_MARK,
		 SOMETIMES_MARK},
		{1, 0, 1, ECN_ECT1, PASS, SOMETIMES_MARK, SOMETIMES_MARK, SOMETIMES_MARK,
		 SOMETIMES_MARK},
		{1, 0, 1, ECN_CE, PASS, PASS, PASS, PASS, PASS},
		// not_ect: pass
		{1, 1, 0, ECN_NOT_ECT, PASS, PASS, PASS, PASS, PASS},
		{1, 1, 0, ECN_ECT0, PASS, SOMETIMES_MARK, SOMETIMES_MARK, SOMETIMES_MARK, MARK},
		// ecn: off treats every frame as Not-ECT
		{0, 1, 1, ECN_NOT_ECT, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{0, 1, 1, ECN_ECT0, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{0, 1, 1, ECN_ECT1, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{0, 1, 1, ECN_CE, PASS, SOMETIMES_DROP, SOMETIMES_DROP, SOMETIMES_DROP, DROP},
		{0, 1, 0, ECN_ECT0, PASS, PASS, PASS, PASS, PASS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wred_params p = params(KMIN, KMAX, 50000);

		p.ecn = rows[i].ecn;
		p.above_kmax_all = rows[i].all;
		p.not_ect_drop = rows[i].not_ect_drop;
		assert_row(i, outcome_of(&p, 0, rows[i].codepoint), PASS);
		assert_row(i, outcome_of(&p, KMIN, rows[i].codepoint), rows[i].at_kmin);
		assert_row(i, outcome_of(&p, KMIN + 1, rows[i].codepoint), rows[i].at_kmin_plus_1);
		assert_row(i, outcome_of(&p, (KMIN + KMAX) / 2, rows[i].codepoint),
			   rows[i].at_middle);
		assert_row(i, outcome_of(&p, KMAX, rows[i].codepoint), rows[i].at_kmax);
		assert_row(i, outcome_of(&p, KMAX + 1, rows[i].codepoint), rows[i].above);
		assert_row(i, outcome_of(&p, UINT32_MAX, rows[i].codepoint), rows[i].above);
	}
}

static void probability_follows_the_line(void **state)
{
	static const struct {
		uint32_t kmin, kmax, pmax_ppm;
	} rows[] = {
		{KMIN, KMAX, 50000},   {KMIN, KMAX, 1000000},	  {KMIN, KMAX, 1},
		{0, 100000000, 10000}, {150000, 1500000, 1000000}, {5000, 200000, 10000},
		{1000, 1001, 500000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct wred_params p = params(rows[i].kmin, rows[i].kmax, rows[i].pmax_ppm);
		uint64_t span = rows[i].kmax - rows[i].kmin;

		for (uint64_t k = 0; k <= 20; k++) {
			uint32_t above = (uint32_t)(span * k / 20);
			int64_t want = (int64_t)((__uint128_t)STRATA * rows[i].pmax_ppm * above /
						 (1000000 * span));
			int64_t got = count(&p, rows[i].kmin + above, GREEN, ECN_ECT0, WRED_MARK);

			if (got < want - 1 || got > want + 1)
				fail_msg("row %zu, step %u: %lld of %d marked, not %lld", i,
					 (unsigned)k, (long long)got, STRATA, (long long)want);
		}
	}
}

// The marked share of a seeded random run, per queue length, against the line.
static void random_marking_passes_a_chi_square_test(void **state)
{
	enum { BINS = 30, PER_BIN = 20000 };
	const struct wred_params p = params(KMIN, KMAX, 50000);
	struct rng r;
	double chi2 = 0;

	(void)state;
	rng_init(&r, 1);
	for (int i = 1; i <= BINS; i++) {
		uint32_t len = KMIN + (KMAX - KMIN) / BINS * (uint32_t)i;
		double prob = 0.05 * i / BINS, expect = PER_BIN * prob, marked = 0;

		for (int k = 0; k < PER_BIN; k++)
			marked += wred_decide(&p, len, GREEN, ECN_ECT1, rng_next(&r)) == WRED_MARK;
		chi2 += (marked - expect) * (marked - expect) / (expect * (1 - prob));
	}
	assert_true(chi2 < 59.7); // 30 degrees of freedom, one in a thousand
	assert_true(chi2 > 11.6); // and not suspiciously good either
}

static void not_ect_is_dropped_with_the_same_probability(void **state)
{
	const struct wred_params p = params(KMIN, KMAX, 50000);

	(void)state;
	for (uint32_t len = KMIN; len <= KMAX; len += 100000) {
		uint32_t marked = count(&p, len, GREEN, ECN_ECT0, WRED_MARK);

		assert_int_equal(count(&p, len, GREEN, ECN_NOT_ECT, WRED_DROP), marked);
		assert_int_equal(count(&p, len, GREEN, ECN_NOT_ECT, WRED_MARK), 0);
		assert_int_equal(count(&p, len, GREEN, ECN_ECT0, WRED_DROP), 0);
	}
}

static void equal_thresholds_make_a_step(void **state)
{
	const struct wred_params p = params(1000, 1000, 10000);

	(void)state;
	assert_int_equal(outcome_of(&p, 999, ECN_ECT0), PASS);
	assert_int_equal(outcome_of(&p, 1000, ECN_ECT0), PASS);
	assert_int_equal(outcome_of(&p, 1001, ECN_ECT0), MARK);
	assert_int_equal(outcome_of(&p, 1000, ECN_NOT_ECT), PASS);
	assert_int_equal(outcome_of(&p, 1001, ECN_NOT_ECT), DROP);
}

static void pmax_of_one_hundred_percent_is_certain_above_kmax(void **state)
{
	struct wred_params p = params(1000, 2000, 1000000);

	(void)state;
	p.above_kmax_all = false;
	assert_int_equal(outcome_of(&p, 2001, ECN_ECT0), MARK);
	assert_int_equal(count(&p, 2000, GREEN, ECN_ECT0, WRED_MARK), STRATA);
	assert_int_equal(count(&p, 1500, GREEN, ECN_ECT0, WRED_MARK), STRATA / 2);
}

static void above_kmax_pmax_stays_at_pmax(void **state)
{
	struct wred_params p = params(KMIN, KMAX, 250000);

	(void)state;
	p.above_kmax_all = false;
	assert_int_equal(count(&p, KMAX + 1, GREEN, ECN_ECT0, WRED_MARK), STRATA / 4);
	assert_int_equal(count(&p, UINT32_MAX, GREEN, ECN_ECT0, WRED_MARK), STRATA / 4);
}

static void each_color_has_its_own_curve(void **state)
{
	struct wred_params p = params(3000, 4000, 1000000);

	(void)state;
	p.curve[YELLOW] = wred_curve_of(2000, 3000, 1000000);
	p.curve[RED] = wred_curve_of(0, 1000, 500000);
	assert_int_equal(count(&p, 500, GREEN, ECN_ECT0, WRED_MARK), 0);
	assert_int_equal(count(&p, 500, YELLOW, ECN_ECT0, WRED_MARK), 0);
	assert_int_equal(count(&p, 500, RED, ECN_ECT0, WRED_MARK), STRATA / 4);
	assert_int_equal(count(&p, 2500, GREEN, ECN_ECT0, WRED_MARK), 0);
	assert_int_equal(count(&p, 2500, YELLOW, ECN_ECT0, WRED_MARK), STRATA / 2);
	assert_int_equal(count(&p, 2500, RED, ECN_ECT0, WRED_MARK), STRATA);
}

static void average_follows_its_definition(void **state)
{
	(void)state;
	for (uint8_t w = 1; w <= 10; w++) {
		const struct wred_params p = {.weight = w};
		struct wred_state s = {0};
		double avg = 0;

		for (int i = 0; i < 20000; i++) {
			uint32_t len = i < 10000 ? 1000000 : 3000;
			uint64_t got = wred_average(&p, &s, len);

			avg += (len - avg) / (1 << w);
			// Each step rounds down by less than 2^-16; the loss decays with time.
			assert_true((double)got <= avg + 1e-6);
			assert_true((double)got > avg - 1.1);
		}
	}
}

// 64 GB of buffer: lengths that take more than 32 bits.
static void queues_of_many_gigabytes_are_marked_by_the_same_line(void **state)
{
	const uint64_t kmin = 6ull << 30, kmax = 38ull << 30, all = 64ull << 30;
	struct wred_params p = params(kmin, kmax, 100000), small = params(1000, 2000, 1000000);
	struct wred_state full = {.avg_q16 = all << 16}, empty = {0};

	(void)state;
	assert_int_equal(wred_decide(&p, kmin, GREEN, ECN_ECT0, 0), WRED_PASS);
	assert_int_equal(wred_decide(&p, all, GREEN, ECN_ECT0, UINT32_MAX), WRED_MARK);
	// Half of the way, and all of it: 5 % and 10 % of 2^16, less what the slope lacks.
	assert_in_range(count(&p, 22ull << 30, GREEN, ECN_ECT0, WRED_MARK), 3274, 3277);
	assert_in_range(count(&p, kmax, GREEN, ECN_ECT0, WRED_MARK), 6550, 6554);
	// 2^32 and 1 byte are not 1 byte.
	assert_int_equal(count(&small, (1ull << 32) + 1, GREEN, ECN_ECT0, WRED_MARK), STRATA);
	p.weight = 3;
	assert_true(wred_average(&p, &full, 0) == all - all / 8);
	assert_true(wred_average(&p, &empty, all) == all / 8);
}

static void weight_zero_is_instantaneous(void **state)
{
	const struct wred_params p = {.weight = 0};
	struct wred_state s = {0};

	(void)state;
	assert_int_equal(wred_average(&p, &s, 12345), 12345);
	assert_int_equal(wred_average(&p, &s, 0), 0);
	assert_int_equal(wred_average(&p, &s, UINT32_MAX), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_of_the_table_holds),
		cmocka_unit_test(probability_follows_the_line),
		cmocka_unit_test(random_marking_passes_a_chi_square_test),
		cmocka_unit_test(not_ect_is_dropped_with_the_same_probability),
		cmocka_unit_test(equal_thresholds_make_a_step),
		cmocka_unit_test(pmax_of_one_hundred_percent_is_certain_above_kmax),
		cmocka_unit_test(above_kmax_pmax_stays_at_pmax),
		cmocka_unit_test(each_color_has_its_own_curve),
		cmocka_unit_test(average_follows_its_definition),
		cmocka_unit_test(queues_of_many_gigabytes_are_marked_by_the_same_line),
		cmocka_unit_test(weight_zero_is_instantaneous),
	};

	return cmocka_run_group_tests_name("wred", tests, NULL, NULL);
}
