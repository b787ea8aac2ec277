// SPDX-License-Identifier: Apache-2.0
// Rates from two recorded snapshots, the trouble of a port, and the order of ports.
#include <math.h>

#include "control/observe/fact.h"
#include "tests/unit/top/recorded.h"

static const struct recorded idle = {.n_ports = 6, .n_workers = 1};

// The rows of `now` a second of real time after `before`.
static struct top_rows *rows_of(const struct recorded *before, const struct recorded *now,
				enum top_sort sort, struct top_snapshot *s[2])
{
	s[0] = before != NULL ? snapshot(before) : NULL;
	s[1] = snapshot(now);
	return top_rows_create(s[0], s[1], 1, "", sort);
}

static void end(struct top_rows *rows, struct top_snapshot *s[2])
{
	free(rows);
	top_snapshot_destroy(s[0]);
	top_snapshot_destroy(s[1]);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6 * (1 + fabs(b));
}

static void rates_are_per_second_and_the_line_carries_preamble_and_gap(void **state)
{
	struct recorded now = idle;
	struct top_snapshot *s[2];
	struct top_rows *rows;

	(void)state;
	now.port[1] = (struct recorded_port){.rx_bytes = 61000000, .tx_bytes = 1000000,
					     .rx_pause = 7, .tx_pause = 9, .paused_us = 250000,
					     .marks = 11, .drops = 13};
	rows = rows_of(&idle, &now, TOP_SORT_PORT, s);
	assert_true(near(rows->row[1].per_s[TOP_RX_BYTES], 61e6));
	assert_true(near(rows->row[1].rx_percent, 100 * 61e3 * 8 * 1024 / 1e9));
	assert_true(near(rows->row[1].per_s[TOP_PAUSE_RX], 7));
	assert_true(near(rows->row[1].per_s[TOP_PAUSE_TX], 9));
	assert_true(near(rows->row[1].per_s[TOP_PAUSED_US], 250000));
	assert_true(near(rows->row[1].per_s[TOP_MARKS], 11));
	assert_true(near(rows->row[1].per_s[TOP_DROPS], 13));
	assert_true(near(rows->row[1].cls_per_s[3][TOP_TX_BYTES], 1e6));
	end(rows, s);
	now.port[1].paused_us = 1580000; // the second answer came late
	rows = rows_of(&idle, &now, TOP_SORT_PORT, s);
	assert_true(near(rows->row[1].per_s[TOP_PAUSED_US], 1e6));
	end(rows, s);
	now.time_scale = 10; // a second of real time is a tenth of the model's
	rows = rows_of(&idle, &now, TOP_SORT_PORT, s);
	assert_true(near(rows->row[1].per_s[TOP_RX_BYTES], 61e7));
	end(rows, s);
}

static void counters_that_were_cleared_count_from_the_clear(void **state)
{
	struct recorded before = idle, now = idle;
	struct top_snapshot *s[2];
	struct top_rows *rows;

	(void)state;
	before.port[0] = (struct recorded_port){.rx_bytes = 5000000, .tx_pause = 500,
						.marks = 500, .drops = 500, .lossless_drops = 50,
						.missed = 50, .paused_us = 5000};
	now.port[0] = (struct recorded_port){.rx_bytes = 20000, .marks = 3};
	rows = rows_of(&before, &now, TOP_SORT_PORT, s);
	for (unsigned k = 0; k < N_TOP_COUNTS; k++)
		assert_true(rows->row[0].per_s[k] >= 0);
	assert_true(near(rows->row[0].per_s[TOP_RX_BYTES], 20000));
	assert_true(near(rows->row[0].per_s[TOP_MARKS], 3));
	assert_true(near(rows->row[0].per_s[TOP_DROPS], 0));
	assert_int_equal(rows->row[0].trouble, TROUBLE_MARKS);
	end(rows, s);
}

static void without_an_earlier_snapshot_no_rate_is_known(void **state)
{
	struct recorded now = idle;
	struct top_snapshot *s[2];
	struct top_rows *rows;

	(void)state;
	now.port[0].drops = 1000000;
	rows = rows_of(NULL, &now, TOP_SORT_TROUBLE, s);
	assert_false(rows->row[0].known);
	assert_true(near(rows->row[0].per_s[TOP_DROPS], 0));
	assert_int_equal(rows->row[0].trouble, TROUBLE_NONE);
	end(rows, s);
}

static void the_worst_trouble_of_a_port_is_its_state(void **state)
{
	static const struct {
		struct recorded_port now;
		enum top_trouble want;
	} cases[] = {
		{{.down = true}, TROUBLE_DOWN},
		{{.down = true, .no_device = true}, TROUBLE_NO_DEVICE},
		{{.rx_bytes = 1000}, TROUBLE_NONE},
		{{.marks = 1}, TROUBLE_MARKS},
		{{.marks = 1, .drops = 1}, TROUBLE_DROPS},
		{{.drops = 1, .tx_pause = 1}, TROUBLE_PAUSING},
		{{.xoff = true}, TROUBLE_PAUSING},
		{{.tx_pause = 1, .rx_pause = 1}, TROUBLE_PAUSED},
		{{.paused = true}, TROUBLE_PAUSED},
		{{.paused = true, .lossless_drops = 1}, TROUBLE_LOSS},
		{{.missed = 1}, TROUBLE_LOSS},
		{{.unknown = 50, .group_frames = 101}, TROUBLE_DROPS},
		{{.unknown = 50, .group_frames = 100}, TROUBLE_LOSS},
		{{.unknown_4 = 1, .group_frames = 100}, TROUBLE_DROPS}, // frames of the group
		{{.unknown = 25, .unknown_4 = 25, .group_frames = 100}, TROUBLE_LOSS},
		{{.unknown = 1, .group_frames = 100, .no_group = true}, TROUBLE_DROPS},
		{{.lossless_drops = 1, .status = "drop-all"}, TROUBLE_DROP_ALL},
		{{.status = "pfc-off"}, TROUBLE_PFC_OFF},
		{{.status = "port-down", .down = true}, TROUBLE_PORT_DOWN},
		{{.paused = true, .lossless_drops = 1, .status = "stormed"}, TROUBLE_STORM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recorded now = idle;
		struct top_snapshot *s[2];
		struct top_rows *rows;

		now.port[2] = cases[i].now;
		rows = rows_of(&idle, &now, TOP_SORT_PORT, s);
		if (rows->row[2].trouble != cases[i].want)
			fail_msg("case %zu: %s", i, top_trouble_word[rows->row[2].trouble]);
		end(rows, s);
	}
}

static void want_order(const struct recorded *now, enum top_sort sort, const char *want)
{
	struct top_snapshot *s[2];
	struct top_rows *rows = rows_of(&idle, now, sort, s);
	char got[64] = "";

	for (unsigned i = 0; i < rows->n; i++)
		strcat(got, rows->row[i].port->name);
	assert_string_equal(got, want);
	end(rows, s);
}

static void ports_are_sorted_by_trouble_then_by_its_extent_then_by_throughput(void **state)
{
	struct recorded now = idle;

	(void)state;
	now.port[0].rx_bytes = 1000000;
	now.port[1] = (struct recorded_port){.drops = 5, .tx_bytes = 9000000};
	now.port[2].drops = 6;
	now.port[3].rx_bytes = 2000000;
	now.port[4].status = "stormed";
	now.port[5].down = true;
	want_order(&now, TOP_SORT_TROUBLE, "p5p3p2p4p1p6");
	want_order(&now, TOP_SORT_THROUGHPUT, "p2p4p1p5p3p6");
	want_order(&now, TOP_SORT_DROPS, "p3p2p5p4p1p6");
	want_order(&now, TOP_SORT_PORT, "p1p2p3p4p5p6");
}

// The screen shows every counter of `show hints`.
static void each_hint_of_the_switch_has_a_cure(void **state)
{
	const struct fact_list *l = &fact_lists[FACTS_HINTS];
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < l->n; i++)
		for (unsigned k = 0; l->rows[i].kind == FACT_COUNTER && k < TOP_HINTS; k++)
			found += &l->rows[i] == &fact_rows[top_hints[k].fact];
	assert_int_equal(found, TOP_HINTS);
	assert_int_equal(l->n, 1 + TOP_HINTS); // and the port
}

static void the_filter_is_a_part_of_the_name(void **state)
{
	struct recorded now = {.n_ports = 12};
	struct top_snapshot *s[2];
	struct top_rows *rows;

	(void)state;
	free(rows_of(NULL, &now, TOP_SORT_PORT, s));
	rows = top_rows_create(NULL, s[1], 0, "p1", TOP_SORT_PORT);
	assert_int_equal(rows->n, 4); // p1 p10 p11 p12
	end(rows, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_per_second_and_the_line_carries_preamble_and_gap),
		cmocka_unit_test(counters_that_were_cleared_count_from_the_clear),
		cmocka_unit_test(without_an_earlier_snapshot_no_rate_is_known),
		cmocka_unit_test(the_worst_trouble_of_a_port_is_its_state),
		cmocka_unit_test(ports_are_sorted_by_trouble_then_by_its_extent_then_by_throughput),
		cmocka_unit_test(each_hint_of_the_switch_has_a_cure),
		cmocka_unit_test(the_filter_is_a_part_of_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
