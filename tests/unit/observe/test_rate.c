// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "control/observe/rate.h"

enum { SECOND = 1000000000 };

static void sample(struct rate_clock *c, struct rate_series *s, uint64_t v, uint64_t now_ns)
{
	assert_true(rate_due(c, now_ns));
	s->v[c->next] = v;
	rate_clock_advance(c, now_ns);
}

static void no_rate_before_two_points_in_time(void **state)
{
	struct rate_clock c = {0};
	struct rate_series s = {0};

	(void)state;
	assert_int_equal(rate_per_s(&c, &s, 100, SECOND), 0);
	sample(&c, &s, 100, SECOND);
	assert_int_equal(rate_per_s(&c, &s, 100, SECOND), 0);
	assert_int_equal(rate_per_s(&c, &s, 150, SECOND + SECOND / 2), 100);
}

static void the_rate_looks_back_one_second_only(void **state)
{
	struct rate_clock c = {0};
	struct rate_series s = {0};
	uint64_t now_ns = SECOND, v = 0;

	(void)state;
	for (int i = 0; i < 40; i++) { // 1000 a second for 10 s
		sample(&c, &s, v, now_ns);
		now_ns += RATE_EVERY_NS;
		v += 250;
	}
	assert_int_equal(rate_per_s(&c, &s, v, now_ns), 1000);
	for (int i = 0; i < RATE_SAMPLES; i++) { // then nothing
		sample(&c, &s, v, now_ns);
		now_ns += RATE_EVERY_NS;
	}
	assert_int_equal(rate_per_s(&c, &s, v, now_ns), 0);
}

static void samples_are_due_every_quarter_of_a_second(void **state)
{
	struct rate_clock c = {0};
	struct rate_series s = {0};

	(void)state;
	sample(&c, &s, 0, SECOND);
	assert_false(rate_due(&c, SECOND + RATE_EVERY_NS - 1));
	assert_true(rate_due(&c, SECOND + RATE_EVERY_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rate_before_two_points_in_time),
		cmocka_unit_test(the_rate_looks_back_one_second_only),
		cmocka_unit_test(samples_are_due_every_quarter_of_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
