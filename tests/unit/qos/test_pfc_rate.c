// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pfc.h"
#include "tests/unit/qos/test.h"

static const uint64_t ms = 1000000, start_ns = 5000000000;

// A counter that is looked at every so often.
struct counter {
	struct pfc_rate r;
	uint64_t now_ns, frames, pps;
};

static struct counter begin(void)
{
	struct counter c = {.now_ns = start_ns};

	assert_int_equal(pfc_rate_look(&c.r, 100, 0, c.now_ns, &c.pps), PFC_RATE_SAME);
	return c;
}

static enum pfc_rate_verdict look(struct counter *c, uint32_t threshold, uint64_t after_ms,
				  uint64_t frames)
{
	c->now_ns += after_ms * ms;
	c->frames += frames;
	return pfc_rate_look(&c->r, threshold, c->frames, c->now_ns, &c->pps);
}

static void the_rate_is_what_came_in_the_last_second(void **state)
{
	// Looked at every tenth of a second; frames since the look before, and the rate then.
	static const struct {
		uint64_t frames, want_pps;
	} rows[] = {
		{10, 10}, {10, 20}, {0, 20}, {30, 50}, {10, 60}, {0, 60}, {0, 60}, {0, 60},
		{0, 60}, {0, 60}, {0, 50}, {5, 45}, {0, 45}, {0, 15}, {0, 5}, {1, 6},
	};
	struct counter c = begin();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		look(&c, 0, 100, rows[i].frames);
		assert_row(i, c.pps, rows[i].want_pps);
	}
}

// After some seconds of a frame each millisecond the rate is that, give or take what one look
// brings: tenths end with the first look after them. Whole seconds are exact.
static void the_rate_does_not_depend_on_how_often_it_is_looked_at(void **state)
{
	static const uint64_t ticks[] = {1, 7, 30, 100, 250, 1000, 3000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
		struct counter c = begin();

		while (c.now_ns < start_ns + 6000 * ms)
			look(&c, 0, ticks[i], ticks[i]);
		if (c.pps < 1000 - ticks[i] % 1000 || c.pps > 1000 + ticks[i] % 1000)
			fail_msg("ticks of %lu ms: %lu/s", ticks[i], c.pps);
	}
}

static void what_came_while_nobody_looked_is_shared_out(void **state)
{
	struct counter c = begin();

	(void)state;
	look(&c, 0, 2000, 41); // 2 a tenth, one more in the last: 21 of the last second
	assert_int_equal(c.pps, 21);
	look(&c, 0, 900, 0);
	assert_int_equal(c.pps, 3);
	look(&c, 0, 100, 0);
	assert_int_equal(c.pps, 0);
	look(&c, 0, 3600000, 36000007); // an hour at 10,000 a second
	assert_int_equal(c.pps, 10000 + 7);
}

static void one_warning_above_the_threshold_and_one_below_seven_eighths(void **state)
{
	struct counter c = begin();

	(void)state;
	// 10 a tenth are 100 a second after the tenth look: at the threshold, not above it.
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&c, 100, 100, 10), PFC_RATE_SAME);
	assert_int_equal(c.pps, 100);
	assert_int_equal(look(&c, 100, 100, 11), PFC_RATE_UP);
	assert_int_equal(c.pps, 101);
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&c, 100, 100, i % 2 ? 8 : 12), PFC_RATE_SAME);
	// Down to 88 of a limit of 87.5: nothing. 87 is below.
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(look(&c, 100, 100, 9), PFC_RATE_SAME);
	assert_int_equal(look(&c, 100, 100, 8), PFC_RATE_SAME);
	assert_int_equal(look(&c, 100, 100, 8), PFC_RATE_SAME);
	assert_int_equal(c.pps, 88);
	assert_int_equal(look(&c, 100, 100, 8), PFC_RATE_DOWN);
	assert_int_equal(c.pps, 87);
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&c, 100, 100, i % 2 ? 8 : 10), PFC_RATE_SAME);
}

static void warnings_are_a_second_apart(void **state)
{
	struct counter c = begin();
	uint64_t up_ns;

	(void)state;
	assert_int_equal(look(&c, 100, 100, 101), PFC_RATE_UP);
	up_ns = c.now_ns;
	// The burst leaves the rate after a second, and is told no earlier.
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(look(&c, 100, 100, 0), PFC_RATE_SAME);
	assert_int_equal(c.pps, 101);
	assert_int_equal(look(&c, 100, 100, 0), PFC_RATE_DOWN);
	assert_int_equal(c.now_ns, up_ns + 1000 * ms);
	assert_int_equal(look(&c, 100, 100, 500), PFC_RATE_SAME);
	assert_int_equal(look(&c, 100, 899, 0), PFC_RATE_SAME);
	assert_int_equal(look(&c, 100, 1, 0), PFC_RATE_UP);
	assert_int_equal(c.pps, 500);
}

static void what_was_counted_before_the_first_look_is_no_rate(void **state)
{
	struct pfc_rate r = {.begun = false};
	uint64_t pps = 99;

	(void)state;
	assert_int_equal(pfc_rate_look(&r, 1, 1000000, start_ns, &pps), PFC_RATE_SAME);
	assert_int_equal(pps, 0);
	assert_int_equal(pfc_rate_look(&r, 1, 1000002, start_ns + 100 * ms, &pps), PFC_RATE_UP);
	assert_int_equal(pps, 2);
}

static void without_a_threshold_there_is_no_warning_and_one_that_stands_ends(void **state)
{
	struct counter c = begin();

	(void)state;
	assert_int_equal(look(&c, 0, 100, 1000), PFC_RATE_SAME);
	assert_int_equal(look(&c, 500, 100, 0), PFC_RATE_UP);
	assert_int_equal(look(&c, 0, 900, 900), PFC_RATE_SAME); // held off
	assert_int_equal(look(&c, 0, 100, 1000), PFC_RATE_DOWN);
	assert_int_equal(look(&c, 0, 5000, 50000), PFC_RATE_SAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_what_came_in_the_last_second),
		cmocka_unit_test(the_rate_does_not_depend_on_how_often_it_is_looked_at),
		cmocka_unit_test(what_came_while_nobody_looked_is_shared_out),
		cmocka_unit_test(one_warning_above_the_threshold_and_one_below_seven_eighths),
		cmocka_unit_test(warnings_are_a_second_apart),
		cmocka_unit_test(what_was_counted_before_the_first_look_is_no_rate),
		cmocka_unit_test(without_a_threshold_there_is_no_warning_and_one_that_stands_ends),
	};

	return cmocka_run_group_tests_name("pfc_rate", tests, NULL, NULL);
}
