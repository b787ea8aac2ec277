// SPDX-License-Identifier: Apache-2.0
// The PFC watchdog's decisions, each edge by hand: conformance row W1.
#include "tests/unit/qos/test.h"

#include "dataplane/qos/watchdog.h"

enum { DETECT = 100, RESTORE = 40 };
#define NEVER UINT64_MAX

static struct watchdog_params params(enum watchdog_mode mode)
{
	return (struct watchdog_params){.classes = 0x08, .mode = (uint8_t)mode,
					.action = WATCHDOG_DROP, .detect_ns = DETECT,
					.restore_ns = RESTORE};
}

// A watched class: what it and its queue look like, when it is due, and so what is said one
// nanosecond before and at that time.
struct row {
	uint64_t armed;
	struct watchdog_look look; // paused since, waiting since, sent at
	uint64_t due;
};

static void check_rows(enum watchdog_mode mode, const struct row *rows, size_t n)
{
	struct watchdog_params p = params(mode);

	for (size_t i = 0; i < n; i++) {
		struct watchdog_class c = {0};
		const struct watchdog_look *look = &rows[i].look;

		watchdog_arm(&c, rows[i].armed);
		assert_row(i, watchdog_next(&p, &c, look), rows[i].due);
		if (rows[i].due == NEVER) {
			assert_row(i, watchdog_decide(&p, &c, look, NEVER - 1), WATCHDOG_NOTHING);
			continue;
		}
		assert_row(i, watchdog_decide(&p, &c, look, rows[i].due - 1), WATCHDOG_NOTHING);
		assert_row(i, watchdog_decide(&p, &c, look, rows[i].due), WATCHDOG_DETECTED);
		assert_row(i, watchdog_decide(&p, &c, look, rows[i].due + 1000), WATCHDOG_DETECTED);
		assert_row(i, ctr_get(&c.detected), 0); // a decision changes nothing
	}
}

static void xoff_counts_from_the_pause_or_the_arming_whatever_the_queue_does(void **state)
{
	static const struct row rows[] = {
		{0, {0, 0, 0}, NEVER}, // runs
		{0, {0, 500, 0}, NEVER}, // waits, but for another queue
		{0, {0, 500, 700}, NEVER},
		{0, {1000, 0, 0}, 1100}, // the queue is empty
		{0, {1000, 1050, 0}, 1100},
		{0, {1000, 500, 0}, 1100},
		{0, {1000, 500, 1090}, 1100}, // a frame left meanwhile
		{999, {1000, 0, 0}, 1100},
		{1000, {1000, 0, 0}, 1100},
		{1001, {1000, 0, 0}, 1101},
		{5000, {1000, 2000, 3000}, 5100},
	};

	(void)state;
	check_rows(WATCHDOG_XOFF, rows, ARRAY_SIZE(rows));
}

static void progress_counts_from_the_latest_of_four_times(void **state)
{
	static const struct row rows[] = {
		{0, {0, 0, 0}, NEVER},
		{0, {0, 500, 0}, NEVER}, // not paused
		{0, {1000, 0, 0}, NEVER}, // nothing waits
		{0, {1000, 0, 1500}, NEVER},
		{0, {1000, 900, 0}, 1100},
		{0, {1000, 1000, 0}, 1100},
		{0, {1000, 1001, 0}, 1101}, // waits since
		{0, {1000, 900, 1000}, 1100},
		{0, {1000, 900, 1001}, 1101}, // one left
		{0, {1000, 1200, 1300}, 1400},
		{0, {1000, 1300, 1200}, 1400},
		{1000, {1000, 900, 0}, 1100},
		{1001, {1000, 900, 0}, 1101}, // armed since
		{2000, {1000, 1200, 1300}, 2100},
		{2000, {3000, 1200, 1300}, 3100},
	};

	(void)state;
	check_rows(WATCHDOG_PROGRESS, rows, ARRAY_SIZE(rows));
}

static struct watchdog_class stormed(const struct watchdog_params *p, uint64_t clock,
				     uint64_t now_ns)
{
	const struct watchdog_look look = {.paused_ns = clock, .waiting_ns = 1};
	struct watchdog_class c = {0};

	watchdog_arm(&c, 1);
	watchdog_enter(p, &c, &look, now_ns);
	return c;
}

static void a_storm_is_restored_by_the_rule_of_its_mode(void **state)
{
	static const struct {
		enum watchdog_mode mode;
		uint64_t heard; // PAUSE frames; 0: none
		uint64_t paused, waiting, sent; // what the port looks like meanwhile
		uint64_t due; // after detection at 1100
	} rows[] = {
		{WATCHDOG_XOFF, 0, 0, 0, 0, 1140},
		{WATCHDOG_XOFF, 1101, 0, 0, 0, 1140},
		{WATCHDOG_XOFF, 1139, 0, 0, 0, 1140},
		{WATCHDOG_XOFF, 0, 1000, 500, 1120, 1140}, // as with action alert
		{WATCHDOG_PROGRESS, 0, 0, 0, 0, 1140},
		{WATCHDOG_PROGRESS, 1100, 0, 0, 0, 1140},
		{WATCHDOG_PROGRESS, 1101, 0, 0, 0, 1141},
		{WATCHDOG_PROGRESS, 1139, 0, 0, 0, 1179},
		{WATCHDOG_PROGRESS, 9000, 0, 0, 0, 9040},
		{WATCHDOG_PROGRESS, 0, 1000, 500, 1120, 1140},
		{WATCHDOG_PROGRESS, 1110, 1000, 500, 1120, 1150},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct watchdog_params p = params(rows[i].mode);
		struct watchdog_class c = stormed(&p, 1000, 1100);
		struct watchdog_look look = {rows[i].paused, rows[i].waiting, rows[i].sent};

		if (rows[i].heard != 0)
			watchdog_on_pause(&c, rows[i].heard);
		assert_row(i, watchdog_next(&p, &c, &look), rows[i].due);
		assert_row(i, watchdog_decide(&p, &c, &look, rows[i].due - 1), WATCHDOG_NOTHING);
		assert_row(i, watchdog_decide(&p, &c, &look, rows[i].due), WATCHDOG_RESTORED);
		assert_row(i, watchdog_stormed(&c), true); // until it is left
	}
}

static void entering_and_leaving_keep_the_books(void **state)
{
	struct watchdog_params p = params(WATCHDOG_PROGRESS);
	const struct watchdog_look look = {.paused_ns = 1000, .waiting_ns = 1030, .sent_ns = 0};
	struct watchdog_class c = {0};

	(void)state;
	watchdog_arm(&c, 7);
	assert_int_equal(gauge_get(&c.state), WATCHDOG_WATCHING);
	assert_int_equal(gauge_get(&c.since_ns), 7);
	ctr_add(&c.last.tx_ok, 5);
	ctr_add(&c.last.tx_dropped, 5);
	ctr_add(&c.last.rx_ok, 5);
	ctr_add(&c.last.rx_dropped, 5);
	ctr_add(&c.total.tx_ok, 5);
	watchdog_on_pause(&c, 900);
	watchdog_enter(&p, &c, &look, 1135); // five late
	assert_true(watchdog_stormed(&c));
	assert_int_equal(gauge_get(&c.since_ns), 1135);
	assert_int_equal(gauge_get(&c.measured_ns), 105);
	assert_int_equal(gauge_get(&c.last_pause_ns), 0); // none was heard in this recovery
	assert_int_equal(ctr_get(&c.detected), 1);
	assert_int_equal(ctr_get(&c.restored), 0);
	assert_int_equal(ctr_get(&c.last.tx_ok) + ctr_get(&c.last.tx_dropped) +
				 ctr_get(&c.last.rx_ok) + ctr_get(&c.last.rx_dropped), 0);
	assert_int_equal(ctr_get(&c.total.tx_ok), 5);

	watchdog_leave(&c, 1200);
	assert_false(watchdog_stormed(&c));
	assert_int_equal(gauge_get(&c.since_ns), 1200);
	assert_int_equal(ctr_get(&c.restored), 1);
	assert_int_equal(gauge_get(&c.storm_longest_ns), 65);
	assert_int_equal(gauge_get(&c.measured_ns), 105);
	// No pause counts from before: neither the one that stands nor a queue that waited on.
	assert_int_equal(watchdog_next(&p, &c, &look), 1300);

	watchdog_enter(&p, &c, &look, 1300);
	assert_int_equal(gauge_get(&c.measured_ns), 100);
	watchdog_leave(&c, 1340);
	assert_int_equal(gauge_get(&c.storm_longest_ns), 65); // the longest, not the last
	assert_int_equal(ctr_get(&c.detected), 2);
	assert_int_equal(ctr_get(&c.restored), 2);
}

static void a_new_word_of_the_policy_counts_from_the_old_clock(void **state)
{
	struct watchdog_params p = params(WATCHDOG_XOFF);
	const struct watchdog_look look = {.paused_ns = 1000};
	struct watchdog_class c = {0};

	(void)state;
	watchdog_arm(&c, 1);
	p.detect_ns = 50;
	assert_int_equal(watchdog_next(&p, &c, &look), 1050);
	p.detect_ns = 300;
	assert_int_equal(watchdog_next(&p, &c, &look), 1300);
	watchdog_enter(&p, &c, &look, 1300);
	p.restore_ns = 10;
	assert_int_equal(watchdog_decide(&p, &c, &look, 1310), WATCHDOG_RESTORED);
	watchdog_on_pause(&c, 1305);
	p.mode = WATCHDOG_PROGRESS;
	assert_int_equal(watchdog_decide(&p, &c, &look, 1310), WATCHDOG_NOTHING);
	assert_int_equal(watchdog_next(&p, &c, &look), 1315);
}

static void a_class_goes_by_times_of_its_own(void **state)
{
	struct watchdog_params p = params(WATCHDOG_XOFF);
	struct watchdog_look look = {.cls = 4, .paused_ns = 1000};
	struct watchdog_class c = {0};

	(void)state;
	p.own[4] = (struct watchdog_times){.detect_ns = 7};
	watchdog_arm(&c, 1);
	assert_int_equal(watchdog_decide(&p, &c, &look, 1006), WATCHDOG_NOTHING);
	assert_int_equal(watchdog_decide(&p, &c, &look, 1007), WATCHDOG_DETECTED);
	watchdog_enter(&p, &c, &look, 1007);
	assert_int_equal(watchdog_next(&p, &c, &look), 1007 + RESTORE);
	p.own[4].restore_ns = 3;
	assert_int_equal(watchdog_next(&p, &c, &look), 1010);
	watchdog_leave(&c, 1010);
	look.cls = 3; // without times of its own
	assert_int_equal(watchdog_next(&p, &c, &look), 1010 + DETECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xoff_counts_from_the_pause_or_the_arming_whatever_the_queue_does),
		cmocka_unit_test(progress_counts_from_the_latest_of_four_times),
		cmocka_unit_test(a_storm_is_restored_by_the_rule_of_its_mode),
		cmocka_unit_test(entering_and_leaving_keep_the_books),
		cmocka_unit_test(a_new_word_of_the_policy_counts_from_the_old_clock),
		cmocka_unit_test(a_class_goes_by_times_of_its_own),
	};

	return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
