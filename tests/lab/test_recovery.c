// SPDX-License-Identifier: Apache-2.0
// What the recovery from a storm does to frames and to PFC: conformance row W2. When a storm is
// found is in test_watchdog.c, what is left of it in test_residue.c.
#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"
#include "tests/lab/recovery.h"

static void others_are_undisturbed(struct bench *b)
{
	expect_delivered(b, 0, 2, 5, 30, 30);
	expect_delivered(b, 2, 1, 5, 30, 30);
	expect_delivered(b, 0, 2, 0, 30, 30);
	expect_delivered(b, 0, 1, 3, 30, 30);
	expect_delivered(b, 1, 0, 5, 30, 30);
}

static void w2_drop_discards_what_waits_and_what_arrives_both_ways(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_DROP);
	struct bench *b = storm_open(&s);
	uint64_t found;

	(void)state;
	expect_delivered(b, 0, 2, 3, 7, 7);
	found = storm_comes(b);
	run_until(b, found);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets), 0);
	expect_frames(&class_3(b)->last, 0, 20, 0, 0);
	expect_delivered(b, 0, 2, 3, 15, 0);
	expect_delivered(b, 2, 0, 3, 11, 0);
	others_are_undisturbed(b);
	expect_frames(&class_3(b)->last, 0, 20 + 15, 0, 11);
	run_until(b, found + RESTORE_NS);
	bench_storm(b, 2, BIT3, 0, MS);
	expect_delivered(b, 0, 2, 3, 9, 9);
	expect_delivered(b, 2, 0, 3, 9, 9);
	expect_frames(&class_3(b)->total, 0, 20 + 15, 0, 11); // of storms only
	assert_int_equal(dropped(b, DROP_WATCHDOG), 20 + 15 + 11);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 20 + 15 + 11);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 3)->dropped_packets), 20 + 15);
	bench_control(b);
	assert_int_equal(n_of(b, EVENT_LOSSLESS_DROP), 0); // ordered, no accident
	expect_at_rest(b);
	bench_close(b);
}

static void w2_forward_sends_what_waits_and_what_arrives_both_ways(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint32_t before;
	uint64_t found;

	(void)state;
	found = storm_comes(b);
	before = b->host[2].n_rx;
	run_until(b, found + 20 * bench_wire_ns(b, 2, 1000));
	assert_int_equal(b->host[2].n_rx, before + 20);
	assert_int_equal(b->host[2].rx[before].t_ns, found + bench_wire_ns(b, 2, 1000));
	expect_delivered(b, 0, 2, 3, 15, 15);
	expect_delivered(b, 2, 0, 3, 11, 11);
	others_are_undisturbed(b);
	expect_frames(&class_3(b)->last, 20 + 15, 0, 11, 0);
	run_until(b, found + RESTORE_NS - 1);
	expect_delivered(b, 0, 2, 3, 4, 0); // arrive after it obeys again
	expect_frames(&class_3(b)->total, 20 + 15, 0, 11, 0);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 0);
	expect_at_rest(b);
	bench_close(b);
}

// Offered = ok + dropped, whatever the reason: here to the host they come from, and from
// an address that no station can have.
static void w2_what_arrives_and_finds_no_way_out_is_counted_as_dropped(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint8_t from_a_group[64];
	const struct bench_frame f = {.to = 0, .dscp = 24, .len = sizeof(from_a_group)};

	(void)state;
	run_until(b, storm_comes(b));
	send(b, 2, 0, 3, 5);
	send(b, 2, 2, 3, 3);
	bench_build(from_a_group, 2, &f);
	from_a_group[6] |= 1;
	bench_send_raw(b, 2, from_a_group, sizeof(from_a_group));
	bench_run(b, 10 * US);
	assert_int_equal(bench_drops(b, DROP_HAIRPIN), 3);
	assert_int_equal(bench_drops(b, DROP_BAD_SOURCE), 1);
	expect_frames(&class_3(b)->last, 20, 0, 5, 3 + 1);
	expect_at_rest(b);
	bench_close(b);
}

static void w2_alert_changes_nothing(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_ALERT);
	struct bench *b = storm_open(&s);
	uint32_t n_pfc, before;
	uint64_t found;

	(void)state;
	stand_in_xoff(b, FULL + 5);
	found = storm_comes(b);
	run_until(b, found);
	assert_true(watchdog_stormed(class_3(b)));
	assert_true(switch_queue_paused(b->sw, 2, 3));
	n_pfc = b->host[2].n_pfc;
	expect_delivered(b, 0, 2, 3, 3, 0);
	send(b, 2, 0, 3, 3); // in flight
	others_are_undisturbed(b);
	run_until(b, found + RESTORE_NS);
	assert_false(watchdog_stormed(class_3(b)));
	expect_frames(&class_3(b)->last, 0, 0, 3, 0);
	bench_run(b, DETECT_NS);
	assert_int_equal(ctr_get(&class_3(b)->detected), 2); // the pause still lasts
	assert_int_equal(b->host[2].n_pfc, n_pfc + 1); // refreshed as ever
	assert_int_equal(dropped(b, DROP_WATCHDOG), 0);
	before = b->host[2].n_rx;
	expect_at_rest(b);
	assert_int_equal(b->host[2].n_rx, before + 23 + 3 * 10);
	bench_close(b);
}

// ---- PFC of ours

static void w2_a_pause_of_ours_gets_one_xon_then_silence_then_pause_again(void **state)
{
	(void)state;
	for (unsigned action = WATCHDOG_DROP; action <= WATCHDOG_FORWARD; action++) {
		struct storm_setup s = recovery_setup(action);
		struct bench *b = storm_open(&s);
		uint32_t n_pfc;
		uint64_t found;

		stand_in_xoff(b, FULL + 5);
		found = storm_comes(b);
		n_pfc = b->host[2].n_pfc;
		run_until(b, found + 100 * US);
		assert_int_equal(b->host[2].n_pfc, n_pfc + 1);
		expect_pfc(b, found, BIT3, 0);
		// The group stays in XOFF: nothing more of the class is taken, and nobody is told.
		expect_delivered(b, 2, 1, 3, 40, 0);
		expect_frames(&class_3(b)->last, action == WATCHDOG_FORWARD ? 20 : 0,
			      action == WATCHDOG_FORWARD ? 0 : 20, 0, 40);
		run_until(b, found + RESTORE_NS - 1);
		assert_int_equal(b->host[2].n_pfc, n_pfc + 1);
		bench_run(b, 10 * US);
		assert_int_equal(b->host[2].n_pfc, n_pfc + 2);
		expect_pfc(b, found + RESTORE_NS, BIT3, 65535);
		assert_int_equal(dropped(b, DROP_HEADROOM), 0);
		expect_at_rest(b);
		bench_close(b);
	}
}

static void w2_a_group_that_fills_in_recovery_pauses_nobody_until_the_end(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint64_t found;

	(void)state;
	stand_in_xoff(b, 0);
	found = storm_comes(b);
	run_until(b, found);
	send(b, 2, 0, 3, FULL + 10);
	assert_true(pg_in_xoff(switch_pg_state(b->sw, 2, 3)));
	expect_frames(&class_3(b)->last, 20, 0, FULL, 10);
	assert_int_equal(b->host[2].n_pfc, 0);
	// Headroom was kept for what follows a PAUSE.
	assert_int_equal(gauge_get(&switch_pg_state(b->sw, 2, 3)->headroom), 0);
	run_until(b, found + RESTORE_NS + 10 * US);
	assert_int_equal(b->host[2].n_pfc, 1);
	expect_pfc(b, found + RESTORE_NS, BIT3, 65535);
	send(b, 2, 0, 3, HEADROOM);
	assert_int_equal(dropped(b, DROP_HEADROOM), 0);
	assert_int_equal(dropped(b, DROP_WATCHDOG), 10);
	expect_at_rest(b);
	bench_close(b);
}

// Headroom that was in use before the storm is not there after it: what overruns it then is the
// watchdog's doing, up to the next XON. Then it is an alarm again.
static void w2_what_overruns_a_group_that_was_told_to_go_on_is_no_alarm(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint64_t found;

	(void)state;
	stand_in_xoff(b, FULL + HEADROOM);
	found = storm_comes(b);
	run_until(b, found + RESTORE_NS + US);
	send(b, 2, 0, 3, 3);
	assert_int_equal(dropped(b, DROP_HEADROOM), 0);
	assert_int_equal(dropped(b, DROP_WATCHDOG), 3);
	bench_storm(b, 2, BIT3, 0, MS);
	bench_storm(b, 2, 0, 0, 0);
	bench_tx(b, 0, 3, true);
	bench_run(b, MS);
	stand_in_xoff(b, FULL + HEADROOM + 1);
	assert_int_equal(dropped(b, DROP_HEADROOM), 1);
	bench_close(b);
}

static void w2_the_guard_of_the_receive_ring_names_no_class_in_recovery(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint64_t found;

	(void)state;
	b->policy->ports[2].rx_guard_on = 4;
	b->policy->ports[2].rx_guard_off = 2;
	found = storm_comes(b);
	run_until(b, found);
	bench_storm(b, 2, 0, 0, 0);
	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	send(b, 2, 0, 0, 10);
	expect_pfc(b, b->host[2].pfc[0].t_ns - bench_wire_ns(b, 2, PFC_FRAME_LEN), BIT5, 0);
	switch_hold_admission(b->sw, false);
	actor_poke(&b->actor);
	bench_run(b, 10 * US);
	expect_at_rest(b);
	bench_close(b);
}

// ---- queues and groups of several classes

static const char *shared_yaml(void)
{
	return lab_yaml(3, "10G", "", "    class_to_queue: {5: 3}\n    class_to_pg: {5: 3}\n",
			"      3: {lossless: true, ingress: {static: 1MB, headroom: 30KB}}\n"
			"      5: {lossless: true}\n");
}

static void both_classes_by_turns(struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct bench_frame f = {.to = 2, .dscp = (uint8_t)(i % 2 ? 40 : 24),
					      .len = 500, .seq = i};

		bench_send(b, 0, &f);
	}
	bench_run(b, n * bench_wire_ns(b, 0, 500) + 5 * US);
}

// From host 2's nth frame on: odd numbers up to n, in order.
static void expect_odd(const struct bench *b, uint32_t from, unsigned n)
{
	assert_int_equal(b->host[2].n_rx, from + n / 2);
	for (uint32_t i = 0; i < n / 2; i++)
		assert_int_equal(bench_seq(&b->host[2].rx[from + i]), 2 * i + 1);
}

static void w2_of_a_shared_queue_only_the_class_is_dropped_and_order_stays(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_DROP);
	struct bench *b = storm_open_with(shared_yaml(), &s);
	uint64_t found = pause_ns(b) + DETECT_NS;

	(void)state;
	bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
	bench_run(b, US);
	both_classes_by_turns(b, 1500); // six loops' worth
	assert_int_equal(b->host[2].n_rx, 0); // class 5 waits with class 3
	run_until(b, found);
	expect_frames(&class_3(b)->last, 0, 750, 0, 0);
	assert_in_range(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets), 748, 750);
	bench_run(b, 750 * bench_wire_ns(b, 2, 500));
	expect_odd(b, 0, 1500);
	expect_frames(&class_3(b)->last, 0, 750, 0, 0);
	expect_at_rest(b);
	bench_close(b);
}

static void w2_a_shared_queue_stays_paused_while_another_class_of_it_is(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_DROP);
	struct bench *b;
	uint64_t found;

	(void)state;
	s.watchdog.classes = BIT3;
	b = storm_open_with(shared_yaml(), &s);
	found = pause_ns(b) + DETECT_NS;
	bench_storm(b, 2, BIT3 | BIT5, 65535, REFRESH_NS);
	bench_run(b, US);
	both_classes_by_turns(b, 1000);
	run_until(b, found);
	expect_frames(&class_3(b)->last, 0, 500, 0, 0);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets), 500);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_bytes), 500 * 500);
	both_classes_by_turns(b, 100);
	expect_frames(&class_3(b)->last, 0, 550, 0, 0);
	assert_int_equal(b->host[2].n_rx, 0);
	bench_storm(b, 2, BIT5, 0, MS);
	bench_run(b, 600 * bench_wire_ns(b, 2, 500));
	assert_int_equal(b->host[2].n_rx, 550);
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(bench_seq(&b->host[2].rx[i]), 2 * i + 1);
	expect_at_rest(b);
	bench_close(b);
}

static void w2_a_class_in_recovery_takes_no_headroom_from_its_group(void **state)
{
	struct storm_setup s = recovery_setup(WATCHDOG_FORWARD);
	struct bench *b;
	uint64_t found;

	(void)state;
	s.watchdog.classes = BIT3;
	b = storm_open_with(lab_yaml(3, "10G", "", "    class_to_pg: {5: 3}\n",
				     "      3: {lossless: true, ingress: {min: 0, static: 25600, "
				     "headroom: 30KB}}\n"
				     "      5: {lossless: true}\n"),
			    &s);
	stand_in_xoff(b, 0);
	bench_tx(b, 0, 5, false);
	found = storm_comes(b);
	run_until(b, found);
	send(b, 2, 0, 3, FULL + 15);
	assert_int_equal(b->host[2].n_pfc, 1);
	assert_int_equal(bench_pfc_times(&b->host[2].pfc[0]).enable, BIT5);
	send(b, 2, 0, 5, HEADROOM);
	assert_int_equal(dropped(b, DROP_WATCHDOG), 15);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	expect_at_rest(b);
	bench_close(b);
}

// ---- rates

static bool endless(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 2, .len = 1000,
				    .dscp = h == &h->bench->host[0] ? 24 : 40};
	return true;
}

static unsigned class_5_within(struct bench *b, uint64_t ns)
{
	uint32_t from = b->host[2].n_rx;
	unsigned n = 0;

	bench_run(b, ns);
	for (uint32_t i = from; i < b->host[2].n_rx; i++)
		n += b->host[2].rx[i].data[15] >> 5 == 5;
	return n;
}

static void w2_other_classes_of_a_busy_port_keep_their_rate(void **state)
{
	(void)state;
	for (unsigned action = WATCHDOG_DROP; action <= WATCHDOG_ALERT; action++) {
		struct storm_setup s = recovery_setup(action);
		struct bench *b = storm_open(&s);
		unsigned before;

		for (unsigned i = 0; i < 2; i++) {
			b->host[i].source = endless;
			actor_poke(&b->host[i].actor);
		}
		bench_run(b, MS);
		before = class_5_within(b, MS);
		bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
		for (unsigned i = 0; i < 8; i++)
			assert_true(class_5_within(b, MS) * 100 >= before * 95);
		b->host[0].source = b->host[1].source = NULL;
		expect_at_rest(b);
		bench_close(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(w2_drop_discards_what_waits_and_what_arrives_both_ways),
		cmocka_unit_test(w2_forward_sends_what_waits_and_what_arrives_both_ways),
		cmocka_unit_test(w2_what_arrives_and_finds_no_way_out_is_counted_as_dropped),
		cmocka_unit_test(w2_alert_changes_nothing),
		cmocka_unit_test(w2_a_pause_of_ours_gets_one_xon_then_silence_then_pause_again),
		cmocka_unit_test(w2_a_group_that_fills_in_recovery_pauses_nobody_until_the_end),
		cmocka_unit_test(w2_what_overruns_a_group_that_was_told_to_go_on_is_no_alarm),
		cmocka_unit_test(w2_the_guard_of_the_receive_ring_names_no_class_in_recovery),
		cmocka_unit_test(w2_of_a_shared_queue_only_the_class_is_dropped_and_order_stays),
		cmocka_unit_test(w2_a_shared_queue_stays_paused_while_another_class_of_it_is),
		cmocka_unit_test(w2_a_class_in_recovery_takes_no_headroom_from_its_group),
		cmocka_unit_test(w2_other_classes_of_a_busy_port_keep_their_rate),
	};

	return cmocka_run_group_tests_name("recovery", tests, bench_eal, NULL);
}
