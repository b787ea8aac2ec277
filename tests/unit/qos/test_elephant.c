// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/elephant.h"

#include "tests/unit/qos/test.h"

enum { MS = 1000000, US = 1000, START_NS = 5 * MS, MB = 1000000 };

// 1 Gb/s is 125 bytes in a microsecond.
static const struct elephant_params params = {
	.enabled = true, .bytes = MB, .rate_bps = 1000000000, .end_rate_bps = 500000000,
	.age_ns = MS / 2, .end_age_ns = MS, .mice_packets = 128,
};

static void a_flow_is_an_elephant_at_rate_and_bytes(void **state)
{
	static const struct {
		uint64_t bytes, ns;
		bool begins;
	} t[] = {
		{MB, 8 * MS, true}, // just the rate, just the bytes
		{MB, 8 * MS + 1, false}, // too slow by a nanosecond
		{MB - 1, 8 * MS - 8, false}, // fast enough, a byte is missing
		{100 * MB, 100 * 8 * MS + 1, false}, // much, and too slow
		{MB, 0, true}, // in no time
		{0, 0, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct elephant_stretch s = {START_NS, 7};

		assert_int_equal(elephant_begins(&params, &s, 7 + t[i].bytes, START_NS + t[i].ns),
				 t[i].begins);
	}
}

static void a_look_below_the_rate_begins_the_next_stretch(void **state)
{
	struct elephant_stretch s = {START_NS, 0};

	(void)state;
	assert_false(elephant_begins(&params, &s, MB, START_NS + 8 * MS + 1));
	assert_int_equal(s.ns, START_NS + 8 * MS + 1);
	assert_int_equal(s.bytes, MB);
	// What was sent before does not count.
	assert_false(elephant_begins(&params, &s, 2 * MB - 1, s.ns + MS));
	assert_true(elephant_begins(&params, &s, 2 * MB, START_NS + 8 * MS + 1 + 8 * MS));
}

static void a_look_at_the_rate_leaves_the_stretch(void **state)
{
	struct elephant_stretch s = {START_NS, 0};

	(void)state;
	assert_false(elephant_begins(&params, &s, MB / 2, START_NS + 4 * MS));
	assert_int_equal(s.ns, START_NS);
	assert_int_equal(s.bytes, 0);
}

static void an_elephant_ends_below_its_end_rate_over_the_age(void **state)
{
	static const struct {
		uint64_t bytes, ns;
		bool ends, next; // next: another stretch begins
	} t[] = {
		{0, MS - 1, false, false}, // the age is not over
		{62500, MS, false, true}, // just the end rate, half of the rate
		{62499, MS, true, true},
		{125000, 2 * MS, false, true}, // a late look
		{124999, 2 * MS, true, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct elephant_stretch s = {START_NS, 9};
		uint64_t now_ns = START_NS + t[i].ns;

		assert_int_equal(elephant_ends(&params, &s, 9 + t[i].bytes, now_ns), t[i].ends);
		assert_int_equal(s.ns, t[i].next ? now_ns : START_NS);
		assert_int_equal(s.bytes, t[i].next ? 9 + t[i].bytes : 9);
	}
}

// Between both rates a flow stays what it is.
static void between_the_rates_nothing_changes(void **state)
{
	struct elephant_stretch plain = {START_NS, 0}, elephant = {START_NS, 0};

	(void)state;
	for (unsigned ms = 1; ms <= 1000; ms++) { // 750 Mb/s
		uint64_t bytes = ms * 93750ull, now_ns = START_NS + (uint64_t)ms * MS;

		assert_false(elephant_begins(&params, &plain, bytes, now_ns));
		assert_false(elephant_ends(&params, &elephant, bytes, now_ns));
	}
}

static void the_numbers_of_fast_ports_and_long_times_do_not_overflow(void **state)
{
	struct elephant_params fast = params;
	struct elephant_stretch s = {0, 0};
	const uint64_t year_ns = 365ull * 86400 * 1000 * MS, most = ((uint64_t)1 << 53) - 1;

	(void)state;
	fast.rate_bps = 800000000000;
	assert_false(elephant_begins(&fast, &s, most, year_ns)); // 2.3 Gb/s
	s = (struct elephant_stretch){0, 0};
	assert_true(elephant_begins(&fast, &s, most, 90000ull * 1000 * MS)); // 800.6 Gb/s
}

static void looks_are_a_power_of_two_apart_and_at_most_an_eighth(void **state)
{
	static const struct {
		uint64_t bytes;
		uint8_t shift;
	} t[] = {{0, 10}, {1024, 10}, {16383, 10}, {16384, 11}, {MB, 16},
		 {1 << 20, 17}, {(1 << 20) - 1, 16}, {64ull << 30, 33}};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(elephant_look_shift(t[i].bytes), t[i].shift);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_is_an_elephant_at_rate_and_bytes),
		cmocka_unit_test(a_look_below_the_rate_begins_the_next_stretch),
		cmocka_unit_test(a_look_at_the_rate_leaves_the_stretch),
		cmocka_unit_test(an_elephant_ends_below_its_end_rate_over_the_age),
		cmocka_unit_test(between_the_rates_nothing_changes),
		cmocka_unit_test(the_numbers_of_fast_ports_and_long_times_do_not_overflow),
		cmocka_unit_test(looks_are_a_power_of_two_apart_and_at_most_an_eighth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
