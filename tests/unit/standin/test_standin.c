// SPDX-License-Identifier: Apache-2.0
// What the stand-in decides, each edge by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/qos/pfc.h"
#include "drivers/standin/standin.h"

#define MS 1000000ull
enum { AGE_MS = 10, CLASSES = 0x08 };

static enum standin_verdict look(struct standin_watch *w, uint64_t beats, uint64_t at_ns)
{
	return standin_look(w, beats, AGE_MS * MS, at_ns);
}

static void a_worker_stands_still_when_its_word_is_as_old_as_the_age(void **state)
{
	struct standin_watch w = {0};

	(void)state;
	assert_int_equal(look(&w, 7, 5 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 7, 15 * MS - 1), STANDIN_MOVES);
	assert_int_equal(look(&w, 7, 15 * MS), STANDIN_SEND);
	assert_int_equal(look(&w, 7, 16 * MS), STANDIN_SEND);
	assert_int_equal(look(&w, 8, 17 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 8, 27 * MS - 1), STANDIN_MOVES);
	assert_int_equal(look(&w, 8, 27 * MS), STANDIN_SEND);
}

static void a_stand_in_that_slept_itself_accuses_nobody(void **state)
{
	struct standin_watch w = {0};

	(void)state;
	assert_int_equal(look(&w, 7, 5 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 8, 5000 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 8, 5001 * MS), STANDIN_MOVES);
}

static void it_gives_up_after_ten_seconds_until_the_worker_moves(void **state)
{
	struct standin_watch w = {0};
	uint64_t end_ns = AGE_MS * MS + STANDIN_LIMIT_NS;

	(void)state;
	assert_int_equal(look(&w, 7, 0), STANDIN_MOVES);
	assert_int_equal(look(&w, 7, end_ns - 1), STANDIN_SEND);
	assert_int_equal(look(&w, 7, end_ns), STANDIN_GIVE_UP);
	assert_int_equal(look(&w, 7, 10 * end_ns), STANDIN_GIVE_UP);
	assert_int_equal(look(&w, 8, 10 * end_ns), STANDIN_MOVES);
	assert_int_equal(look(&w, 8, 10 * end_ns + AGE_MS * MS), STANDIN_SEND);
}

static void a_worker_that_has_not_begun_and_one_without_an_age_are_left_alone(void **state)
{
	struct standin_watch w = {0};

	(void)state;
	assert_int_equal(look(&w, 0, 0), STANDIN_MOVES);
	assert_int_equal(look(&w, 0, 1000 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 1, 1001 * MS), STANDIN_MOVES);
	assert_int_equal(standin_look(&w, 1, 0, 2000 * MS), STANDIN_MOVES);
	// The age counts from the moment that it is set.
	assert_int_equal(look(&w, 1, 2009 * MS), STANDIN_MOVES);
	assert_int_equal(look(&w, 1, 2010 * MS), STANDIN_SEND);
}

static void orders_survive_their_word(void **state)
{
	struct standin_order o = {0xa5, 0xfedc, 0x89abcdef}, back = standin_unpack(standin_pack(o));

	(void)state;
	assert_int_equal(back.classes, o.classes);
	assert_int_equal(back.quanta, o.quanta);
	assert_int_equal(back.refresh_ns, o.refresh_ns);
	assert_int_equal(standin_order(0, 1000000000, MS, 1).refresh_ns, 0);
}

// At every speed and scale: refreshed three times before it runs out, and never shorter than what
// the worker itself takes between two PAUSEs, unless no PAUSE can be longer.
static void a_pause_outlives_its_refresh_and_the_workers(void **state)
{
	static const uint64_t speed[] = {80000000, 1000000000, 10000000000, 25000000000,
					 100000000000, 400000000000};
	static const uint32_t scale[] = {1, 100};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(speed) / sizeof(speed[0]); i++) {
		uint64_t bps = speed[i / 2];
		uint32_t s = scale[i % 2];
		uint64_t worker_ns = pfc_quanta_ns(bps, 8192) / 2;
		struct standin_order o = standin_order(CLASSES, bps, worker_ns, s);
		uint64_t pause_ns = standin_pause_ns(o, bps, s);

		assert_int_equal(o.classes, CLASSES);
		assert_true(o.quanta > 0 && o.refresh_ns > 0);
		assert_true(pause_ns >= 4ull * o.refresh_ns);
		assert_true(pause_ns >= worker_ns * s || o.quanta == UINT16_MAX);
		assert_true(pause_ns >= 4 * MS || o.quanta == UINT16_MAX);
		assert_true(o.refresh_ns <= MS);
	}
}

static void orders_by_hand(void **state)
{
	struct standin_order o;

	(void)state;
	o = standin_order(CLASSES, 10000000000, 1677696, 1);
	assert_int_equal(o.quanta, 65535); // 3.355 ms
	assert_int_equal(o.refresh_ns, 838848);
	o = standin_order(CLASSES, 1000000000, 16776960, 1);
	assert_int_equal(o.quanta, 17776960 / 512 + 1);
	assert_int_equal(o.refresh_ns, 1000000);
	o = standin_order(CLASSES, 400000000000, 41942, 1);
	assert_int_equal(o.quanta, 65535);
	assert_int_equal(o.refresh_ns, 20971);
}

static void a_gap_is_late_and_a_stall_from_its_limit_on(void **state)
{
	struct heartbeat h = {0};
	struct heartbeat_limits l = {0};

	(void)state;
	gauge_set(&l.late_ns, 10);
	gauge_set(&l.stall_ns, 100);
	heartbeat_gap(&h, &l, 9);
	assert_int_equal(ctr_get(&h.late), 0);
	heartbeat_gap(&h, &l, 10);
	heartbeat_gap(&h, &l, 99);
	assert_int_equal(ctr_get(&h.late), 2);
	assert_int_equal(ctr_get(&h.stalls), 0);
	heartbeat_gap(&h, &l, 100);
	heartbeat_gap(&h, &l, 250);
	assert_int_equal(ctr_get(&h.stalls), 2);
	assert_int_equal(ctr_get(&h.stalled_ns), 350);
	assert_int_equal(gauge_get(&h.last_stall_ns), 250);
	gauge_set(&l.late_ns, UINT64_MAX); // the stand-in is off, the alarm is not
	heartbeat_gap(&h, &l, 100);
	assert_int_equal(ctr_get(&h.late), 4);
	assert_int_equal(ctr_get(&h.stalls), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_stands_still_when_its_word_is_as_old_as_the_age),
		cmocka_unit_test(a_stand_in_that_slept_itself_accuses_nobody),
		cmocka_unit_test(it_gives_up_after_ten_seconds_until_the_worker_moves),
		cmocka_unit_test(a_worker_that_has_not_begun_and_one_without_an_age_are_left_alone),
		cmocka_unit_test(orders_survive_their_word),
		cmocka_unit_test(a_pause_outlives_its_refresh_and_the_workers),
		cmocka_unit_test(orders_by_hand),
		cmocka_unit_test(a_gap_is_late_and_a_stall_from_its_limit_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
