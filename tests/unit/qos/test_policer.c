// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/policer.h"

#include "tests/unit/qos/test.h"

enum { MS = 1000000, START_NS = 5 * MS };

static unsigned taken(const struct policer_params *p, struct policer *s, uint64_t now_ns,
		      unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		k += policer_take(p, s, now_ns);
	return k;
}

static void a_burst_passes_and_then_the_rate(void **state)
{
	struct policer_params p = policer_of(1000, 250);
	struct policer s = {0};

	(void)state;
	assert_int_equal(taken(&p, &s, START_NS, 1000), 250);
	assert_int_equal(taken(&p, &s, START_NS + MS - 1, 10), 0);
	assert_int_equal(taken(&p, &s, START_NS + MS, 10), 1);
	assert_int_equal(taken(&p, &s, START_NS + 8 * MS, 10), 7);
}

static void a_calm_time_fills_the_bucket_and_no_more(void **state)
{
	struct policer_params p = policer_of(1000, 250);
	struct policer s = {0};

	(void)state;
	assert_int_equal(taken(&p, &s, START_NS, 250), 250);
	assert_int_equal(taken(&p, &s, START_NS + 100 * MS, 1000), 100);
	assert_int_equal(taken(&p, &s, START_NS + 100000ull * MS, 1000), 250);
}

static void no_rate_is_exceeded_over_a_long_time(void **state)
{
	static const uint32_t rates[] = {1, 3, 7, 999, 1000, 333333, 10000000};

	(void)state;
	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct policer_params p = policer_of(rates[r], 1);
		struct policer s = {0};
		uint64_t n = 0, step_ns = p.interval_ns / 3 + 1, end_ns = 2000 * p.interval_ns;

		for (uint64_t t = 0; t < end_ns; t += step_ns)
			n += policer_take(&p, &s, START_NS + t);
		assert_true(n <= 1 + end_ns * rates[r] / 1000000000u);
		assert_true(n > 1000);
	}
}

static void without_a_rate_everything_passes(void **state)
{
	struct policer_params p = policer_of(0, 0);
	struct policer s = {0};

	(void)state;
	assert_int_equal(taken(&p, &s, START_NS, 1000), 1000);
	assert_int_equal(s.full_ns, 0);
}

// A reload that lowers the rate leaves a debt of at most the old bucket.
static void a_new_rate_takes_the_old_state(void **state)
{
	struct policer_params fast = policer_of(1000000, 100), slow = policer_of(1000, 2);
	struct policer s = {0};

	(void)state;
	assert_int_equal(taken(&fast, &s, START_NS, 1000), 100);
	assert_int_equal(taken(&slow, &s, START_NS, 1000), 1);
	assert_int_equal(taken(&slow, &s, START_NS + 10 * MS, 1000), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_and_then_the_rate),
		cmocka_unit_test(a_calm_time_fills_the_bucket_and_no_more),
		cmocka_unit_test(no_rate_is_exceeded_over_a_long_time),
		cmocka_unit_test(without_a_rate_everything_passes),
		cmocka_unit_test(a_new_rate_takes_the_old_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
