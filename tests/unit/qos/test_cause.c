// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/cause.h"
#include "tests/unit/qos/test.h"

static void what_is_packed_comes_out_again(void **state)
{
	static const struct pause_cause rows[] = {
		{.kind = CAUSE_NONE},
		{.kind = CAUSE_RX_RING, .cls = 3},
		{.kind = CAUSE_QUEUE, .out_port = 511, .queue = 7, .cls = 7, .paused = true,
		 .held_cells = UINT32_MAX},
		{.kind = CAUSE_QUEUE, .out_port = 1, .held_cells = 1},
		{.kind = CAUSE_QUEUE, .out_port = 256, .held_cells = 1},
		{.kind = CAUSE_QUEUE, .queue = 1},
		{.kind = CAUSE_QUEUE, .cls = 1},
		{.kind = CAUSE_QUEUE, .paused = true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pause_cause c = cause_unpack(5, cause_pack(&rows[i]));

		assert_int_equal(c.t_ns, 5);
		assert_row(i, c.kind, rows[i].kind);
		assert_row(i, c.out_port, rows[i].out_port);
		assert_row(i, c.queue, rows[i].queue);
		assert_row(i, c.cls, rows[i].cls);
		assert_row(i, c.paused, rows[i].paused);
		assert_row(i, c.held_cells, rows[i].held_cells);
	}
}

static void no_cause_is_all_zero(void **state)
{
	struct pause_cause none = {.kind = CAUSE_NONE};

	(void)state;
	assert_int_equal(cause_pack(&none), 0);
	assert_int_equal(cause_unpack(0, 0).kind, CAUSE_NONE);
}

enum { PORTS = 3 };

static void the_queue_that_holds_most_is_named_and_of_equals_the_first(void **state)
{
	static const struct {
		uint32_t held[PORTS][N_QUEUES];
		int port; // -1: nobody holds anything
		unsigned queue, cells;
	} rows[] = {
		{{{0}}, -1, 0, 0},
		{{{1}}, 0, 0, 1},
		{{{0}, {0}, {[7] = 4}}, 2, 7, 4},
		{{{[3] = 4}, {[3] = 5}, {[3] = 4}}, 1, 3, 5},
		{{{[3] = 4}, {[3] = 3}, {[3] = 2}}, 0, 3, 4},
		{{{0}, {[2] = 9}, {[1] = 9}}, 1, 2, 9}, // the lower port, whatever the queues
		{{{0}, {[2] = 9, [5] = 9}}, 1, 2, 9}, // then the lower queue
		{{{[2] = UINT32_MAX - 1}, {[5] = UINT32_MAX}}, 1, 5, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pause_cause c = {.kind = CAUSE_NONE};

		for (unsigned port = 0; port < PORTS; port++)
			cause_offer(&c, port, rows[i].held[port]);
		if (rows[i].port < 0) {
			assert_row(i, c.kind, CAUSE_NONE);
			continue;
		}
		assert_row(i, c.kind, CAUSE_QUEUE);
		assert_row(i, c.out_port, rows[i].port);
		assert_row(i, c.queue, rows[i].queue);
		assert_row(i, c.held_cells, rows[i].cells);
	}
}

static void the_class_named_is_paused_else_lossless_else_the_lowest_of_the_queue(void **state)
{
	static const uint8_t queue_of[N_CLASSES] = {0, 1, 1, 3, 3, 3, 6, 6};
	static const struct {
		uint8_t queue, paused, lossless; // bitmaps of classes
		uint8_t cls;
		bool is_paused;
	} rows[] = {
		{3, 0, 0, 3, false},
		{3, 0, 1 << 4, 4, false},
		{3, 0, 1 << 4 | 1 << 5, 4, false},
		{3, 1 << 5, 1 << 4 | 1 << 5, 5, true},
		{3, 1 << 5 | 1 << 4, 0xff, 4, true},
		{3, 1 << 0 | 1 << 1, 1 << 1, 3, false}, // those of other queues say nothing
		{1, 1 << 2, 0xff, 2, true},
		{0, 1, 1, 0, true},
		{6, 0x0f, 1 << 7, 7, false},
		{5, 0xff, 0xff, 5, false}, // no class leads there any more
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pause_cause c = {.kind = CAUSE_QUEUE, .queue = rows[i].queue, .cls = 99};

		cause_name_class(&c, queue_of, rows[i].paused, rows[i].lossless);
		assert_row(i, c.cls, rows[i].cls);
		assert_row(i, c.paused, rows[i].is_paused);
		assert_row(i, c.queue, rows[i].queue);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_comes_out_again),
		cmocka_unit_test(no_cause_is_all_zero),
		cmocka_unit_test(the_queue_that_holds_most_is_named_and_of_equals_the_first),
		cmocka_unit_test(
			the_class_named_is_paused_else_lossless_else_the_lowest_of_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
