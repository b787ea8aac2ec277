// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/host/storm_tally.h"

enum { PAUSE = true, XON = false, N_FRAMES = 5 };

struct frame {
	bool pause;
	uint64_t before, after; // 0: no further frame
};

static struct storm_tally tally_of(uint64_t period, const struct frame frames[N_FRAMES])
{
	struct storm_tally t;

	storm_tally_init(&t, 100, 1000, period);
	for (unsigned i = 0; i < N_FRAMES && frames[i].after != 0; i++)
		storm_tally_sent(&t, frames[i].pause, frames[i].before, frames[i].after);
	return t;
}

// A PAUSE lasts 100, and the storm begins at 1000.
static void holes_are_as_long_as_they_can_have_been(void **state)
{
	static const struct {
		uint64_t period;
		struct frame frames[N_FRAMES];
		uint64_t pauses, xons, first, last, gap, holes, sum, max, stamp;
	} rows[] = {
		{0, {{PAUSE, 1000, 1001}}, 1, 0, 1000, 1000, 0, 0, 0, 0, 1},
		// Refreshed in time, to the nanosecond; the time of the call counts.
		{0, {{PAUSE, 1000, 1001}, {PAUSE, 1095, 1100}}, 2, 0, 1000, 1095, 100, 0, 0, 0, 5},
		{0, {{PAUSE, 1000, 1001}, {PAUSE, 1096, 1101}}, 2, 0, 1000, 1096, 101, 1, 1, 1, 5},
		{0,
		 {{PAUSE, 1000, 1001},
		  {PAUSE, 1110, 1110},
		  {PAUSE, 1150, 1150},
		  {PAUSE, 1290, 1290}},
		 4, 0, 1000, 1290, 140, 2, 50, 40, 1},
		// The last PAUSE ran out before XON came; after XON nothing is left to close.
		{0, {{PAUSE, 1000, 1001}, {XON, 1130, 1130}, {XON, 1500, 1500}},
		 1, 2, 1000, 1000, 130, 1, 30, 30, 1},
		{0, {{PAUSE, 1000, 1001}, {XON, 1050, 1050}, {PAUSE, 1400, 1400}},
		 2, 1, 1000, 1400, 50, 0, 0, 0, 1},
		// Bursts 500 apart, without XON: the time between them is meant.
		{500, {{PAUSE, 1000, 1001}, {PAUSE, 1050, 1050}, {PAUSE, 1500, 1500}},
		 3, 0, 1000, 1500, 50, 0, 0, 0, 1},
		{500, {{PAUSE, 1000, 1001}, {PAUSE, 1499, 1499}},
		 2, 0, 1000, 1499, 499, 1, 399, 399, 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storm_tally t = tally_of(rows[i].period, rows[i].frames);

		assert_int_equal(t.pauses, rows[i].pauses);
		assert_int_equal(t.xons, rows[i].xons);
		assert_int_equal(t.first_ns, rows[i].first);
		assert_int_equal(t.last_ns, rows[i].last);
		assert_int_equal(t.gap_max_ns, rows[i].gap);
		assert_int_equal(t.holes, rows[i].holes);
		assert_int_equal(t.hole_sum_ns, rows[i].sum);
		assert_int_equal(t.hole_max_ns, rows[i].max);
		assert_int_equal(t.stamp_max_ns, rows[i].stamp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_are_as_long_as_they_can_have_been),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
