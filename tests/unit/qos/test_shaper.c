// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/shaper.h"
#include "tests/unit/qos/test.h"

enum { FRAMES = 20000 };

static const uint64_t rates[] = {
	1000000,     10000000,	  100000000,   333333333,    1000000000,
	2500000000,  10000000000, 25000000000, 40000000000,  50000000000,
	99999999977, 100000000000, 200000000000,
	400000000000,
};
static const uint32_t lengths[] = {84, 88, 1024, 1542, 9262}; // with link overhead

// Sends FRAMES frames, each at the first nanosecond allowed; returns when the next may go.
static uint64_t send_back_to_back(const struct shaper_params *p, uint32_t len, uint64_t start_ns)
{
	struct shaper_state s = {.last_ns = start_ns};
	uint64_t now = start_ns;

	for (int i = 0; i < FRAMES; i++) {
		shaper_update(p, &s, now);
		if (!shaper_ready(p, &s))
			fail_msg("frame %d: not ready at the time that ready_at told", i);
		shaper_charge(p, &s, len);
		now = shaper_ready_at(&s, now);
	}
	return now;
}

static void back_to_back_frames_take_exactly_the_link_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lengths); j++) {
			struct shaper_params p = shaper_of(rates[i], 0);
			uint64_t took = send_back_to_back(&p, lengths[j], 1000) - 1000;
			uint64_t exact = (uint64_t)((__uint128_t)FRAMES * lengths[j] * 8000000000u /
						    rates[i]);

			// Never slower than the link; faster by the rounding of a byte's cost.
			if (took > exact + 1 || took + 1 + exact / 300000 < exact)
				fail_msg("%llu b/s, %u B: %llu ns, not %llu",
					 (unsigned long long)rates[i], lengths[j],
					 (unsigned long long)took, (unsigned long long)exact);
		}
}

static void ready_at_is_the_first_nanosecond_that_is_ready(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lengths); j++) {
			struct shaper_params p = shaper_of(rates[i], 0);
			struct shaper_state s = {0}, early;
			uint64_t at;

			shaper_charge(&p, &s, lengths[j]);
			assert_false(shaper_ready(&p, &s));
			at = shaper_ready_at(&s, 0);
			early = s;
			shaper_update(&p, &early, at - 1);
			assert_false(shaper_ready(&p, &early));
			shaper_update(&p, &s, at);
			assert_true(shaper_ready(&p, &s));
			assert_int_equal(shaper_ready_at(&s, at), at);
		}
}

static void splitting_the_wait_changes_nothing(void **state)
{
	struct shaper_params p = shaper_of(333333333, 0);
	struct shaper_state once = {0}, often = {0};
	uint64_t at;

	(void)state;
	shaper_charge(&p, &once, 1542);
	shaper_charge(&p, &often, 1542);
	at = shaper_ready_at(&once, 0);
	shaper_update(&p, &once, at);
	for (uint64_t t = 1; t <= at; t++) {
		assert_int_equal(shaper_ready_at(&often, t - 1), at);
		shaper_update(&p, &often, t);
	}
	assert_int_equal(once.credit_q24, often.credit_q24);
}

// How many frames of 1,000 B leave at one instant after a long silence.
static unsigned burst_after_idle(uint64_t rate, uint64_t burst_ns, uint64_t idle_ns)
{
	struct shaper_params p = shaper_of(rate, burst_ns);
	struct shaper_state s = {0};
	unsigned n = 0;

	shaper_update(&p, &s, idle_ns);
	while (shaper_ready(&p, &s)) {
		shaper_charge(&p, &s, 1000);
		n++;
	}
	return n;
}

static void idle_time_is_saved_up_to_the_burst_only(void **state)
{
	static const struct {
		uint64_t burst_ns, idle_ns;
		unsigned frames;
	} rows[] = {
		// A frame takes 8,000 ns; one may always start, the last one goes into debt.
		{0, 1000000000, 1},	     {0, UINT64_MAX / 2, 1},	{7990, 1000000000, 1},
		{8000, 1000000000, 2},	     {80000, 1000000000, 11},	{80000, 16000, 3},
		{80000, UINT64_MAX / 2, 11},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(i, burst_after_idle(1000000000, rows[i].burst_ns, rows[i].idle_ns),
			   rows[i].frames);
}

static void a_late_poll_loop_loses_no_rate_within_the_burst(void **state)
{
	struct shaper_params p = shaper_of(1000000000, 50000);
	struct shaper_state s = {0};
	uint64_t bytes = 0;

	(void)state;
	// Polled every 40 us only, for 100 ms at 1 Gb/s: 12.5 MB.
	for (uint64_t now = 0; now <= 100000000; now += 40000) {
		shaper_update(&p, &s, now);
		while (shaper_ready(&p, &s)) {
			shaper_charge(&p, &s, 1000);
			bytes += 1000;
		}
	}
	assert_in_range(bytes, 12500000, 12500000 + 6250 + 1000);
}

static void debt_delays_what_comes_next(void **state)
{
	struct shaper_params p = shaper_of(1000000000, 0);
	struct shaper_state s = {0};

	(void)state;
	// MAC control frames go without asking and are paid for later.
	shaper_charge(&p, &s, 84);
	shaper_charge(&p, &s, 84);
	assert_int_equal(shaper_ready_at(&s, 0), 2 * 84 * 8);
}

static void no_rate_is_no_limit(void **state)
{
	struct shaper_params p = shaper_of(0, 0);
	struct shaper_state s = {0};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_true(shaper_ready(&p, &s));
		shaper_charge(&p, &s, 9262);
	}
}

// A rate written without its unit, `max_rate: 35`, must be slow and not stuck or unlimited.
static void the_slowest_rates_neither_overflow_nor_stand_still(void **state)
{
	(void)state;
	for (uint64_t rate = 1; rate < 2000; rate++) {
		struct shaper_params p = shaper_of(rate, 3044 * 8000000000ull / rate);
		struct shaper_state s = {0};

		assert_true(p.burst_q24 >= 0);
		shaper_update(&p, &s, 1);
		assert_true(shaper_ready(&p, &s));
		shaper_charge(&p, &s, UINT16_MAX);
		assert_false(shaper_ready(&p, &s));
		for (uint64_t now = 1, i = 0; i < 100 && !shaper_ready(&p, &s); i++) {
			now = shaper_ready_at(&s, now);
			shaper_update(&p, &s, now);
		}
		assert_true(shaper_ready(&p, &s));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(back_to_back_frames_take_exactly_the_link_time),
		cmocka_unit_test(ready_at_is_the_first_nanosecond_that_is_ready),
		cmocka_unit_test(splitting_the_wait_changes_nothing),
		cmocka_unit_test(idle_time_is_saved_up_to_the_burst_only),
		cmocka_unit_test(a_late_poll_loop_loses_no_rate_within_the_burst),
		cmocka_unit_test(debt_delays_what_comes_next),
		cmocka_unit_test(no_rate_is_no_limit),
		cmocka_unit_test(the_slowest_rates_neither_overflow_nor_stand_still),
	};

	return cmocka_run_group_tests_name("shaper", tests, NULL, NULL);
}
