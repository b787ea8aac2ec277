// SPDX-License-Identifier: Apache-2.0
// Storms that end otherwise than by their time: links, reloads and other actions in the middle of
// one leave nothing behind. Conformance row W3.
#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"
#include "tests/lab/recovery.h"

static void expect_over(struct bench *b, unsigned nth, uint64_t t_ns, uint64_t lasted_ns)
{
	bench_control(b);
	assert_non_null(event(b, EVENT_STORM_OVER, nth));
	assert_int_equal(event(b, EVENT_STORM_OVER, nth)->t_ns, t_ns);
	assert_int_equal(event(b, EVENT_STORM_OVER, nth)->b, lasted_ns);
	assert_int_equal(n_of(b, EVENT_STORM_OVER), nth + 1);
}

enum { MID_NS = 150 * US };

// Up to some time after detection, with a group in XOFF.
static uint64_t in_mid_storm(struct bench *b)
{
	uint64_t found;

	stand_in_xoff(b, FULL + 5);
	found = storm_comes(b);
	run_until(b, found + MID_NS);
	return found;
}

static void set_link(struct bench *b, bool up)
{
	wire_set_up(b->host[2].wire, up);
	switch_links_changed(b->sw);
	control(b);
}

static void w3_a_port_that_goes_down_in_mid_storm_begins_anew_when_it_comes_up(void **state)
{
	(void)state;
	for (unsigned action = WATCHDOG_DROP; action <= WATCHDOG_ALERT; action++) {
		struct storm_setup s = recovery_setup(action);
		struct bench *b = storm_open(&s);
		uint64_t found = in_mid_storm(b), began;

		set_link(b, false);
		expect_over(b, 0, found + MID_NS, MID_NS);
		bench_run(b, 5 * MS);
		assert_int_equal(ctr_get(&class_3(b)->detected), 1);
		assert_false(switch_queue_paused(b->sw, 2, 3));
		bench_storm(b, 2, 0, 0, 0);
		bench_run(b, MS);
		set_link(b, true);
		bench_run(b, US);
		assert_false(switch_queue_paused(b->sw, 2, 3));
		began = pause_ns(b);
		bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
		run_until(b, began + DETECT_NS - 1);
		assert_int_equal(ctr_get(&class_3(b)->detected), 1);
		bench_run(b, 1);
		assert_int_equal(ctr_get(&class_3(b)->detected), 2);
		expect_at_rest(b);
		bench_close(b);
	}
}

// What the policy says no longer watches the class.
static void w3_a_policy_that_does_not_watch_ends_the_storm_as_restored(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct storm_setup s = recovery_setup(i % 2 ? WATCHDOG_DROP : WATCHDOG_FORWARD);
		struct bench *b = storm_open(&s);
		uint64_t found = in_mid_storm(b), now;
		uint64_t until = found - DETECT_NS + 3 * REFRESH_NS + 3355392;
		bool obeys = i / 2 == 0;

		if (obeys)
			s.watchdog.classes = 0;
		bench_publish(b, obeys	    ? storm_yaml()
				 : i / 2 == 1 ? storm_yaml_of(BIT5)
					      : lab_yaml(3, "10G", "", "    pfc: {rx: off}\n",
							 "      3: {lossless: true}\n"
							 "      5: {lossless: true}\n"));
		now = b->change.began_ns + b->change.lasted_ns;
		expect_over(b, 0, now, now - found);
		// What is left of the peer's last word is obeyed, unless nothing is.
		assert_int_equal(gauge_get(&switch_pfc_rx(b->sw, 2)->stats[3].since_ns),
				 obeys ? now : 0);
		assert_int_equal(gauge_get(&switch_pfc_rx(b->sw, 2)->stats[3].until_ns),
				 obeys ? until : 0);
		bench_run(b, 5 * DETECT_NS);
		assert_int_equal(ctr_get(&class_3(b)->detected), 1);
		bench_storm(b, 2, BIT3, 0, MS);
		bench_storm(b, 2, 0, 0, 0);
		s = recovery_setup(WATCHDOG_DROP);
		bench_publish(b, storm_yaml());
		bench_tx(b, 0, 3, true);
		bench_run(b, 10 * MS);
		found = pause_ns(b) + DETECT_NS;
		bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
		run_until(b, found);
		assert_int_equal(ctr_get(&class_3(b)->detected), 2);
		expect_at_rest(b);
		bench_close(b);
	}
}

// What waits for host 2 before and after a change in mid-storm, where 5 more arrive after it.
static void expect_new_action(struct bench *b, enum watchdog_action from, enum watchdog_action to)
{
	const struct watchdog_frames *f = &class_3(b)->last;
	unsigned waits = from == WATCHDOG_ALERT ? 20 : 0;

	assert_true(watchdog_stormed(class_3(b)));
	assert_int_equal(switch_queue_paused(b->sw, 2, 3), to == WATCHDOG_ALERT);
	send(b, 0, 2, 3, 5);
	bench_run(b, waits * bench_wire_ns(b, 2, 1000));
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets),
			 to == WATCHDOG_ALERT ? waits + 5 : 0);
	expect_frames(f,
		      (from == WATCHDOG_FORWARD ? 20 : 0) +
			      (to == WATCHDOG_FORWARD ? waits + 5 : 0),
		      (from == WATCHDOG_DROP ? 20 : 0) + (to == WATCHDOG_DROP ? waits + 5 : 0), 0,
		      0);
}

static void w3_another_action_in_mid_storm_takes_effect_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		enum watchdog_action from = i / 3, to = i % 3;
		struct storm_setup s = recovery_setup(from);
		struct bench *b = storm_open(&s);
		uint64_t found = in_mid_storm(b), now = b->clock.now_ns;
		uint32_t n_pfc = b->host[2].n_pfc;

		s.watchdog.action = (uint8_t)to;
		bench_publish(b, storm_yaml());
		bench_run(b, US);
		assert_int_equal(b->host[2].n_pfc - n_pfc,
				 (from == WATCHDOG_ALERT) != (to == WATCHDOG_ALERT));
		if (b->host[2].n_pfc != n_pfc)
			expect_pfc(b, now, BIT3, to == WATCHDOG_ALERT ? 65535 : 0);
		expect_new_action(b, from, to);
		run_until(b, found + RESTORE_NS);
		expect_over(b, 0, found + RESTORE_NS, RESTORE_NS);
		assert_int_equal(n_of(b, EVENT_STORM), 1);
		expect_at_rest(b);
		bench_close(b);
	}
}

static void w3_new_times_in_mid_storm_count_from_the_old_clock(void **state)
{
	static const struct {
		uint64_t detect_ns, restore_ns; // from 200 us after the pause, or after detection
		uint64_t found_ns, over_ns; // after the pause; after detection
	} rows[] = {
		{DETECT_NS, RESTORE_NS, DETECT_NS, RESTORE_NS},
		{3 * DETECT_NS, RESTORE_NS, 3 * DETECT_NS, RESTORE_NS},
		{250 * US, RESTORE_NS, 250 * US, RESTORE_NS},
		{100 * US, RESTORE_NS, 200 * US, RESTORE_NS}, // at once
		{DETECT_NS, 2 * RESTORE_NS, DETECT_NS, 2 * RESTORE_NS},
		{DETECT_NS, 250 * US, DETECT_NS, 250 * US},
		{DETECT_NS, 100 * US, DETECT_NS, 200 * US}, // at once
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storm_setup s = recovery_setup(WATCHDOG_DROP);
		struct bench *b = storm_open(&s);
		uint64_t began = pause_ns(b), found = began + rows[i].found_ns;

		bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
		run_until(b, began + 200 * US);
		s.watchdog.detect_ns = rows[i].detect_ns;
		bench_publish(b, storm_yaml());
		run_until(b, found + 200 * US);
		s.watchdog.restore_ns = rows[i].restore_ns;
		bench_publish(b, storm_yaml());
		run_until(b, found + rows[i].over_ns + 1);
		expect_over(b, 0, found + rows[i].over_ns, rows[i].over_ns);
		assert_int_equal(event(b, EVENT_STORM, 0)->t_ns, found);
		assert_int_equal(gauge_get(&class_3(b)->measured_ns), rows[i].found_ns);
		expect_at_rest(b);
		bench_close(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			w3_a_port_that_goes_down_in_mid_storm_begins_anew_when_it_comes_up),
		cmocka_unit_test(w3_a_policy_that_does_not_watch_ends_the_storm_as_restored),
		cmocka_unit_test(w3_another_action_in_mid_storm_takes_effect_at_once),
		cmocka_unit_test(w3_new_times_in_mid_storm_count_from_the_old_clock),
	};

	return cmocka_run_group_tests_name("residue", tests, bench_eal, NULL);
}
