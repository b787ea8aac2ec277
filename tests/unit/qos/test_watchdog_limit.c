// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/watchdog.h"
#include "tests/unit/qos/test.h"

static const uint64_t s = 1000000000;

static struct watchdog_params params(uint32_t count, uint64_t window_ns)
{
	return (struct watchdog_params){.limit_count = count, .limit_window_ns = window_ns};
}

static void the_storm_that_fills_the_window_escalates(void **state)
{
	static const struct {
		uint32_t count;
		uint64_t window_ns;
		uint64_t at_ns[5]; // storms; 0: no more
		unsigned want; // bitmap of those that escalate
	} rows[] = {
		{3, 20 * s, {1 * s, 2 * s, 3 * s}, 0x4},
		{3, 20 * s, {1 * s, 2 * s}, 0},
		// The window ends with the third one. Both ends are in it, one more ns is not.
		{3, 20 * s, {1 * s, 2 * s, 21 * s}, 0x4},
		{3, 20 * s, {1 * s, 2 * s, 21 * s + 1}, 0},
		// The oldest is forgotten, one later storm fills the window of the others.
		{3, 20 * s, {1 * s, 2 * s, 21 * s + 1, 22 * s}, 0x8},
		{3, 20 * s, {1 * s, 2 * s, 21 * s + 1, 22 * s + 1, 23 * s}, 0x10},
		{3, 20 * s, {1 * s, 22 * s, 43 * s, 64 * s, 85 * s}, 0},
		{1, 20 * s, {1 * s, 2 * s, 100 * s}, 0x7},
		{2, 20 * s, {1 * s, 2 * s, 3 * s, 4 * s}, 0xa}, // counted anew after each
		{2, 0, {1 * s, 1 * s + 1, 1 * s + 1}, 0x4},
		{0, 20 * s, {1 * s, 1 * s, 1 * s, 1 * s}, 0}, // never
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct watchdog_params p = params(rows[i].count, rows[i].window_ns);
		struct watchdog_limit l = {.n = 0};
		unsigned got = 0;

		for (unsigned k = 0; k < 5 && rows[i].at_ns[k] != 0; k++)
			got |= (unsigned)watchdog_limit_storm(&p, &l, rows[i].at_ns[k]) << k;
		assert_row(i, got, rows[i].want);
	}
}

// The ring of instants goes round many times before the window is full.
static void as_many_storms_as_can_be_counted_escalate_at_the_last_of_them(void **state)
{
	struct watchdog_params p = params(WATCHDOG_LIMIT_MAX, 255);
	struct watchdog_limit l = {.n = 0};
	uint64_t t = 1;

	(void)state;
	for (unsigned i = 0; i < 1000; i++, t += 2)
		assert_false(watchdog_limit_storm(&p, &l, t)); // 128 in a window
	for (unsigned i = 0; i < WATCHDOG_LIMIT_MAX - 1; i++, t++)
		assert_false(watchdog_limit_storm(&p, &l, t));
	assert_true(watchdog_limit_storm(&p, &l, t));
	assert_int_equal(l.n, 0);
}

// A reload may change how many are too many; what was counted stays counted.
static void a_smaller_limit_looks_at_the_latest_storms(void **state)
{
	struct watchdog_params p = params(10, 5 * s);
	struct watchdog_limit l = {.n = 0};

	(void)state;
	for (uint64_t t = 1; t <= 8; t++)
		assert_false(watchdog_limit_storm(&p, &l, t * s));
	p = params(7, 5 * s);
	assert_false(watchdog_limit_storm(&p, &l, 9 * s)); // 4 to 9 are six
	p = params(6, 5 * s);
	assert_true(watchdog_limit_storm(&p, &l, 10 * s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_storm_that_fills_the_window_escalates),
		cmocka_unit_test(as_many_storms_as_can_be_counted_escalate_at_the_last_of_them),
		cmocka_unit_test(a_smaller_limit_looks_at_the_latest_storms),
	};

	return cmocka_run_group_tests_name("watchdog_limit", tests, NULL, NULL);
}
