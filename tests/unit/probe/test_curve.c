// SPDX-License-Identifier: Apache-2.0
// The marking curve that weir-probe finds in samples of known curves. Links no DPDK.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "control/probe/curve.h"
#include "dataplane/base/rng.h"

enum { LENGTHS = 4000 };

struct truth {
	uint32_t kmin, kmax;
	double pmax;
	bool above_all;
	uint32_t n, passes;
};

static struct curve_sample samples[LENGTHS];

static double chance(const struct truth *t, uint32_t len)
{
	if (len <= t->kmin)
		return 0;
	if (len > t->kmax)
		return t->above_all ? 1 : t->pmax;
	return t->pmax * (len - t->kmin) / (t->kmax - t->kmin);
}

static void draw(const struct truth *t, uint64_t seed)
{
	struct rng rng;

	rng_init(&rng, seed);
	for (uint32_t i = 0; i < t->n; i++) {
		samples[i] = (struct curve_sample){.total = t->passes};
		for (uint32_t k = 0; k < t->passes; k++)
			samples[i].marked += rng_next(&rng) < chance(t, i) * 4294967296.0;
	}
}

static void within(const struct curve_bounds *b, double want, double slack)
{
	if (b->low - slack > want || b->high + slack < want || fabs(b->value - want) > slack)
		fail_msg("%g is not %g (%g..%g)", b->value, want, b->low, b->high);
}

static void a_steep_curve_is_found_to_the_step(void **state)
{
	static const struct truth rows[] = {
		{100, 120, 1.0, true, 400, 400},  {100, 120, 0.5, true, 400, 400},
		{100, 100, 1.0, true, 400, 10},	  {1, 5, 0.25, true, 40, 1000},
		{1000, 1020, 1.0, true, 2000, 800},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct curve c;

		draw(&rows[i], i + 1);
		assert_true(curve_fit(samples, rows[i].n, &c));
		assert_true(c.above_all && c.kmax_seen);
		within(&c.kmin, rows[i].kmin, 0);
		within(&c.kmax, rows[i].kmax, 0);
		within(&c.pmax, rows[i].pmax, 0.02);
	}
}

static void a_flat_curve_is_found_within_its_bounds(void **state)
{
	static const struct truth rows[] = {
		{586, 2000, 1.0, true, 4000, 30}, {586, 2000, 0.2, true, 4000, 100},
		{100, 3000, 0.1, true, 4000, 100}, {100, 1000, 0.5, false, 4000, 100},
		{10, 200, 0.05, false, 1000, 300},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct curve c;

		draw(&rows[i], i + 1);
		assert_true(curve_fit(samples, rows[i].n, &c));
		assert_int_equal(c.above_all, rows[i].above_all);
		within(&c.kmin, rows[i].kmin, 12);
		within(&c.kmax, rows[i].kmax, 24);
		within(&c.pmax, rows[i].pmax, 0.02);
	}
}

static void samples_that_end_before_kmax_say_so(void **state)
{
	static const struct truth t = {100, 3000, 1.0, true, 400, 200};
	struct curve c;

	(void)state;
	draw(&t, 1);
	assert_true(curve_fit(samples, t.n, &c));
	assert_false(c.kmax_seen);
	within(&c.kmin, 100, 6);
}

static void no_mark_is_no_curve(void **state)
{
	struct curve c;

	(void)state;
	draw(&(struct truth){500, 600, 1.0, true, 400, 10}, 1);
	assert_false(curve_fit(samples, 400, &c));
}

// One curve in 20 would end by chance.
static void an_end_that_no_sample_lies_behind_is_not_seen(void **state)
{
	static const struct truth rows[] = {{20, 380, 0.1, false, 390, 100},
					    {50, 500, 0.2, true, 390, 100}};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned seed = 1; seed <= 40; seed++) {
			struct curve c;

			draw(&rows[i], seed);
			assert_true(curve_fit(samples, rows[i].n, &c));
			assert_false(c.kmax_seen);
		}
}

static bool contains(const struct curve_bounds *b, double n)
{
	return b->low <= n && n <= b->high;
}

// 95 % of them at least; nine of ten are certain with these seeds.
static void intervals_contain_the_curve(void **state)
{
	enum { SEEDS = 40 };
	static const struct truth rows[] = {{50, 200, 0.2, true, 390, 20},
					    {50, 200, 0.2, false, 390, 20},
					    {5, 300, 1.0, true, 390, 20}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		unsigned kmin = 0, kmax = 0, pmax = 0;

		for (unsigned seed = 1; seed <= SEEDS; seed++) {
			struct curve c;

			draw(&rows[i], seed);
			assert_true(curve_fit(samples, rows[i].n, &c) && c.kmax_seen);
			kmin += contains(&c.kmin, rows[i].kmin);
			kmax += contains(&c.kmax, rows[i].kmax);
			pmax += contains(&c.pmax, rows[i].pmax);
		}
		assert_in_range(kmin, SEEDS * 85 / 100, SEEDS);
		assert_in_range(kmax, SEEDS * 85 / 100, SEEDS);
		assert_in_range(pmax, SEEDS * 85 / 100, SEEDS);
	}
}

// Each fill by itself. In every `bare`-th one no frame is marked; 0: there is none.
static struct curve_fills draw_fills(const struct truth *t, unsigned bare)
{
	struct curve_fills fills = {0};
	struct rng rng;

	rng_init(&rng, 1);
	memset(samples, 0, sizeof(samples));
	for (fills.n = 0; fills.n < t->passes; fills.n++) {
		double marks = 0;

		for (uint32_t i = 0; i < t->n; i++) {
			bool marked = rng_next(&rng) < chance(t, i) * 4294967296.0 &&
				      (bare == 0 || fills.n % bare != 0);

			samples[i].total++;
			samples[i].marked += marked;
			marks += marked;
		}
		fills.marked += marks;
		fills.marked_squared += marks * marks;
	}
	return fills;
}

// The mean of fills that a late device has not queued whole looks like a curve.
static void fills_that_differ_are_no_curve(void **state)
{
	static const struct truth rows[] = {{50, 200, 0.2, true, 390, 20},
					    {50, 200, 0.2, false, 390, 20},
					    {56, 56, 1.0, true, 390, 20}};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned bare = 0; bare <= 10; bare += 5) {
			struct curve_fills fills = draw_fills(&rows[i], bare);
			struct curve c;

			assert_true(curve_fit(samples, rows[i].n, &c));
			assert_int_equal(curve_explains(&c, samples, rows[i].n, &fills), bare == 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steep_curve_is_found_to_the_step),
		cmocka_unit_test(a_flat_curve_is_found_within_its_bounds),
		cmocka_unit_test(samples_that_end_before_kmax_say_so),
		cmocka_unit_test(no_mark_is_no_curve),
		cmocka_unit_test(an_end_that_no_sample_lies_behind_is_not_seen),
		cmocka_unit_test(intervals_contain_the_curve),
		cmocka_unit_test(fills_that_differ_are_no_curve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
