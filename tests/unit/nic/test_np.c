// SPDX-License-Identifier: Apache-2.0
// The notification point: which marks make a CNP, and when.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/nic/dcqcn.h"

enum { US = 1000, MOST = 64, DONE = -1 };

// Marks at these times; CNPs leave as soon as they are due. Ends with DONE.
static void check_cnps(enum np_mode mode, uint64_t gap_ns, const int64_t *marks,
		       const int64_t *want)
{
	const struct cc_config p = {.np = (uint8_t)mode, .np_gap_ns = gap_ns};
	struct np_state s = {0};
	int64_t got[MOST];
	unsigned n = 0;

	for (int64_t now = 0; now < 1000 * US; now++) {
		np_on_timer(&p, &s, (uint64_t)now);
		for (const int64_t *m = marks; *m != DONE; m++)
			if (*m == now)
				np_on_ce(&p, &s, (uint64_t)now);
		while (s.due != 0) {
			got[n++] = now;
			np_sent(&s, (uint64_t)now);
		}
	}
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
	assert_int_equal(want[n], DONE);
}

static void a_window_tells_the_first_mark_at_once_and_the_others_at_its_end(void **state)
{
	static const int64_t marks[] = {1000, 1001, 30000, 50999, 52000, 200000, DONE};
	// 51000: the end of the first window. 101000: of the second, because of 52000.
	static const int64_t cnps[] = {1000, 51000, 101000, 200000, DONE};

	(void)state;
	check_cnps(NP_WINDOW, 50 * US, marks, cnps);
}

static void a_mark_at_the_windows_end_is_told_at_once(void **state)
{
	static const int64_t at_end[] = {1000, 51000, DONE}, told[] = {1000, 51000, DONE};
	static const int64_t before[] = {1000, 50999, DONE}, waits[] = {1000, 51000, DONE};
	static const int64_t both[] = {1000, 2000, 51000, DONE}, once[] = {1000, 51000, DONE};
	static const int64_t after[] = {1000, 51001, DONE}, later[] = {1000, 51001, DONE};

	(void)state;
	check_cnps(NP_WINDOW, 50 * US, at_end, told);
	check_cnps(NP_WINDOW, 50 * US, before, waits);
	check_cnps(NP_WINDOW, 50 * US, both, once);
	check_cnps(NP_WINDOW, 50 * US, after, later);
}

static void a_window_without_marks_ends_silently(void **state)
{
	static const int64_t marks[] = {0, 500000, DONE};

	(void)state;
	check_cnps(NP_WINDOW, 50 * US, marks, marks);
}

static void a_gap_leaves_out_marks_that_come_too_soon(void **state)
{
	static const int64_t marks[] = {0, 1000, 3999, 4000, 7999, 9000, DONE};
	static const int64_t cnps[] = {0, 4000, 9000, DONE};

	(void)state;
	check_cnps(NP_GAP, 4 * US, marks, cnps);
}

static void without_a_gap_every_mark_has_its_cnp(void **state)
{
	static const int64_t marks[] = {5, 6, 7, 7, 100, DONE}, cnps[] = {5, 6, 7, 7, 100, DONE};

	(void)state;
	check_cnps(NP_GAP, 0, marks, cnps);
}

static void no_mode_makes_no_cnp(void **state)
{
	static const int64_t marks[] = {0, 1000, DONE}, none[] = {DONE};

	(void)state;
	check_cnps(NP_NONE, 0, marks, none);
}

// The CNP waits, for capacity or for a paused class.
static void marks_are_told_by_the_cnp_that_waits(void **state)
{
	static const struct {
		struct cc_config p;
		uint32_t due;
	} rows[] = {{{.np = NP_WINDOW, .np_gap_ns = 50 * US}, 1},
		    {{.np = NP_GAP, .np_gap_ns = 4 * US}, 1},
		    {{.np = NP_GAP}, 3}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_config p = rows[i].p;
		struct np_state s = {0};

		for (uint64_t t = 0; t < 300 * US; t += 100 * US)
			np_on_ce(&p, &s, t);
		assert_int_equal(s.due, rows[i].due);
		while (s.due != 0)
			np_sent(&s, 300 * US);
		// The window counts from when it left.
		np_on_ce(&p, &s, 301 * US);
		assert_int_equal(s.due, i == 2);
		assert_int_equal(np_next(&p, &s), i == 0 ? 350 * US : UINT64_MAX);
	}
}

static void a_nic_makes_one_cnp_per_its_time(void **state)
{
	struct np_gate g = {.every_ns = 3 * US};

	(void)state;
	assert_true(np_gate_open(&g, 0));
	np_gate_pass(&g, 10);
	assert_false(np_gate_open(&g, 3009));
	assert_true(np_gate_open(&g, 3010));
	g = (struct np_gate){0};
	np_gate_pass(&g, 10);
	assert_true(np_gate_open(&g, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_window_tells_the_first_mark_at_once_and_the_others_at_its_end),
		cmocka_unit_test(a_mark_at_the_windows_end_is_told_at_once),
		cmocka_unit_test(a_window_without_marks_ends_silently),
		cmocka_unit_test(a_gap_leaves_out_marks_that_come_too_soon),
		cmocka_unit_test(without_a_gap_every_mark_has_its_cnp),
		cmocka_unit_test(no_mode_makes_no_cnp),
		cmocka_unit_test(marks_are_told_by_the_cnp_that_waits),
		cmocka_unit_test(a_nic_makes_one_cnp_per_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
