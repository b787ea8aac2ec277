// SPDX-License-Identifier: Apache-2.0
// Too many storms within a window turn PFC of the class off or take the port down, until an
// operator recovers it.
#include "dataplane/policy.h"
#include "tests/lab/storm_bench.h"

// ---- when

static struct bench *three_storms(struct storm_setup *s, uint64_t third_after_ns,
				  uint64_t at_ns[LIMIT])
{
	const uint64_t after_ns[LIMIT] = {0, 5 * MS, third_after_ns};
	struct bench *b = storm_open(s);
	uint64_t begin_ns = b->clock.now_ns;

	for (unsigned i = 0; i < LIMIT; i++) {
		run_until(b, begin_ns + after_ns[i]);
		at_ns[i] = pause_ns(b) + DETECT_NS;
		bench_pause(b, 2, BIT3, SHORT_QUANTA);
	}
	bench_run(b, 3 * MS);
	return b;
}

static void the_storm_that_fills_the_window_turns_pfc_off(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	uint64_t at_ns[LIMIT];
	struct bench *b = three_storms(&s, WINDOW_NS, at_ns);
	const struct event *e;

	(void)state;
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL); // until control looks
	control(b);
	for (unsigned i = 0; i < LIMIT; i++)
		assert_int_equal(event(b, EVENT_STORM, i)->t_ns, at_ns[i]);
	assert_int_equal(n_of(b, EVENT_STORM), LIMIT);
	e = event(b, EVENT_STORM_LIMIT, 0);
	assert_non_null(e);
	assert_true(e > event(b, EVENT_STORM, LIMIT - 1));
	assert_int_equal(e->t_ns, b->clock.now_ns - 1);
	assert_int_equal(e->port, 2);
	assert_int_equal(e->cls, 3);
	assert_int_equal(e->a, WATCHDOG_PFC_OFF);
	assert_int_equal(e->b, LIMIT);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	expect_status(b, 2, 5, WATCHDOG_OPERATIONAL);
	expect_status(b, 1, 3, WATCHDOG_OPERATIONAL);
	expect_status(b, 2, 0, WATCHDOG_OFF);
	bench_close(b);
}

static void the_end_of_a_storm_says_whether_the_class_obeys_pfc(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);

	(void)state;
	storms(b, BIT3, LIMIT - 1);
	bench_pause(b, 2, BIT3, UINT16_MAX); // stands while the limit takes PFC away
	bench_run(b, DETECT_NS + MS);
	control(b);
	bench_run(b, MS);
	control(b); // takes the events of the workers
	assert_int_equal(n_of(b, EVENT_STORM), LIMIT);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	assert_int_equal(n_of(b, EVENT_STORM_OVER), LIMIT);
	for (unsigned i = 0; i < LIMIT; i++)
		assert_int_equal(event(b, EVENT_STORM_OVER, i)->a, i < LIMIT - 1);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

static void a_storm_that_comes_a_nanosecond_later_does_not(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	uint64_t at_ns[LIMIT];
	struct bench *b = three_storms(&s, WINDOW_NS + 1, at_ns);

	(void)state;
	control(b);
	assert_int_equal(event(b, EVENT_STORM, 2)->t_ns, at_ns[2]);
	assert_int_equal(at_ns[2] - at_ns[0], WINDOW_NS + 1);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 0);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	// With the next one three fall into one window again.
	storms(b, BIT3, 1);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

static void each_class_is_counted_for_itself_and_one_storm_less_is_no_reason(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);

	(void)state;
	storms(b, BIT3 | BIT5, LIMIT - 1);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM), 2 * (LIMIT - 1));
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 0);
	storms(b, BIT5, 1);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	expect_status(b, 2, 5, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

static void a_limit_of_zero_never_escalates(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.limit_count = 0;
	b = storm_open(&s);
	storms(b, BIT3, 40);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM), 40);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 0);
	bench_close(b);
}

// The latest 63 storms have a time. The window is too short for two.
static void a_storm_whose_time_is_no_longer_kept_does_not_count(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.limit_count = 2;
	s.watchdog.limit_window_ns = DETECT_NS;
	b = storm_open(&s);
	storms(b, BIT3, WATCHDOG_RECENT + 2);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM), WATCHDOG_RECENT + 2);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 0);
	bench_close(b);
}

static void the_storms_whose_times_are_kept_count(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.limit_window_ns = 1000 * MS;
	for (unsigned more = 0; more < 2; more++) {
		s.watchdog.limit_count = WATCHDOG_RECENT - 1 + more;
		b = storm_open(&s);
		storms(b, BIT3, WATCHDOG_RECENT);
		control(b);
		assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1 - more);
		bench_close(b);
	}
}

static bool lossless_5(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 0, .dscp = 40, .len = 64};
	return h->sent < 8000;
}

// Host 2 ignores PAUSE, and its drops fill the ring of the worker that owns its port.
static void fill_the_event_ring(struct bench *b)
{
	struct bench_host *h = &b->host[2];

	bench_tx(b, 0, -1, false);
	h->obey_after_ns = UINT64_MAX;
	h->source = lossless_5;
	actor_poke(&h->actor);
	bench_run(b, 2 * MS);
	h->source = NULL;
	assert_true(switch_events_lost(b->sw) > 0);
}

// A burst of drops fills the ring of the worker, but not the part that is for storms.
static void a_burst_of_drops_leaves_room_for_the_records_of_storms(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);

	(void)state;
	b->n_events = 0;
	fill_the_event_ring(b);
	storms(b, BIT3, LIMIT);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	for (unsigned i = 0; i < 4 && n_of(b, EVENT_STORM) == 0; i++) {
		b->n_events = 0;
		control(b); // the drops are before them in the ring
	}
	assert_int_equal(n_of(b, EVENT_STORM), LIMIT);
	bench_close(b);
}

// Control has room for one record a turn, and that is of something before the storms.
static void storms_whose_records_nobody_has_seen_count(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);
	struct event one;

	(void)state;
	fill_the_event_ring(b);
	storms(b, BIT3, LIMIT - 1);
	assert_int_equal(switch_control_step(b->sw, b->clock.now_ns, &one, 1), 1);
	assert_int_not_equal(one.type, EVENT_STORM);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	storms(b, BIT3, 1);
	assert_int_equal(switch_control_step(b->sw, b->clock.now_ns, &one, 1), 1);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

// Records of storms pass after the storms were counted.
static void no_storm_is_counted_twice(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.limit_count = 2 * LIMIT;
	s.watchdog.limit_window_ns = 1000 * MS;
	b = storm_open(&s);
	storms(b, BIT3, LIMIT);
	fill_the_event_ring(b);
	assert_int_equal(switch_control_step(b->sw, b->clock.now_ns, b->events, 1), 1);
	for (unsigned i = 0; i < 4; i++) {
		b->n_events = 0;
		control(b);
	}
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	storms(b, BIT3, LIMIT - 1);
	control(b);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	storms(b, BIT3, 1);
	control(b);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

// ---- what

// Frames of 1000 bytes that a group of port 2 holds while nothing leaves. Headroom is for those
// whose neighbour is told to stop.
static unsigned group_holds(const struct bench *b)
{
	const struct policy_port *pp = &b->policy->ports[2];
	const struct pg_params *pg = &pp->pg[pp->classify.class_to_pg[3]];

	return pg->shared.static_cells / cells_of(&b->policy->cell, 1000);
}

static void with_pfc_off_a_class_neither_obeys_nor_sends(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open_escalated(&s);
	unsigned holds = group_holds(b);
	const struct pfc_class_stats *rx = &switch_pfc_rx(b->sw, 2)->stats[3];
	uint64_t heard = ctr_get(&rx->frames);

	(void)state;
	bench_pause(b, 2, BIT3, 65535);
	bench_run(b, 2 * MS);
	expect_delivered(b, 1, 2, 3, 20, 20);
	assert_int_equal(ctr_get(&rx->frames), heard + 1);
	assert_int_equal(n_of(b, EVENT_STORM), 0);

	bench_tx(b, 0, -1, false);
	send(b, 2, 0, 3, holds + 10);
	assert_int_equal(b->host[2].n_pfc, 0);
	assert_true(pg_in_xoff(switch_pg_state(b->sw, 2, 3)));
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 10);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 2, 3, DROP_WATCHDOG)->packets), 10);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	// Class 5 of the same port has its PFC.
	send(b, 2, 0, 5, 30);
	assert_int_equal(b->host[2].n_pfc, 1);
	assert_int_equal(bench_pfc_times(&b->host[2].pfc[0]).enable, BIT5);
	bench_tx(b, 0, -1, true);
	bench_run(b, MS);
	assert_int_equal(b->host[0].n_rx, holds + 30);
	bench_close(b);
}

static void a_class_that_is_recovered_obeys_and_sends_again(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open_escalated(&s);
	uint64_t heard_ns = pause_ns(b), lasts_ns = pfc_quanta_ns(10000000000, 65535);

	(void)state;
	bench_pause(b, 2, BIT3, 65535);
	bench_tx(b, 0, -1, false);
	send(b, 2, 0, 3, group_holds(b) + 1);
	assert_int_equal(b->host[2].n_pfc, 0);
	run_until(b, heard_ns + lasts_ns - MS / 2);
	recover(b, 3);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	// What is left of the neighbour's last word is obeyed, and the group's XOFF is told again.
	assert_true(switch_queue_paused(b->sw, 2, 3));
	bench_run(b, 1000);
	assert_int_equal(b->host[2].n_pfc, 1);
	assert_int_equal(bench_pfc_times(&b->host[2].pfc[0]).enable, BIT3);
	assert_int_equal(bench_pfc_times(&b->host[2].pfc[0]).quanta[3], 65535);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_RECOVERED), 1);
	assert_int_equal(event(b, EVENT_STORM_RECOVERED, 0)->port, 2);
	assert_int_equal(event(b, EVENT_STORM_RECOVERED, 0)->cls, 3);
	bench_tx(b, 0, -1, true);
	run_until(b, heard_ns + lasts_ns - 1);
	control(b);
	assert_true(switch_queue_paused(b->sw, 2, 3));
	control(b);
	assert_false(switch_queue_paused(b->sw, 2, 3));
	expect_delivered(b, 1, 2, 3, 5, 5);
	assert_int_equal(switch_pfc_tx(b->sw, 2)->paused, 0);
	bench_close(b);
}

static void after_recovery_storms_are_counted_anew(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open_escalated(&s);

	(void)state;
	recover(b, 3);
	storms(b, BIT3, LIMIT - 1);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 0);
	storms(b, BIT3, 1);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	bench_close(b);
}

static void an_escalation_may_take_the_port_down(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PORT_DOWN);
	struct bench *b = storm_open_escalated(&s);

	(void)state;
	assert_int_equal(switch_watchdog_status(b->sw, 2, 3), WATCHDOG_IS_PORT_DOWN);
	assert_false(switch_link_up(b->sw, 2));
	send(b, 1, 2, 0, 3);
	send(b, 2, 0, 0, 4);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 2, 0, DROP_PORT_DOWN)->packets), 7);
	// The link itself is up, and polled, and changes nothing.
	bench_run(b, 150 * MS);
	control(b);
	assert_int_equal(n_of(b, EVENT_LINK_DOWN), 1);
	assert_int_equal(n_of(b, EVENT_LINK_UP), 0);
	assert_false(switch_link_up(b->sw, 2));
	recover(b, 3);
	expect_delivered(b, 1, 2, 3, 3, 3);
	expect_delivered(b, 2, 0, 3, 4, 4);
	control(b);
	assert_int_equal(n_of(b, EVENT_LINK_UP), 1);
	assert_int_equal(n_of(b, EVENT_STORM_RECOVERED), 1);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	bench_close(b);
}

static void a_port_that_two_classes_took_down_needs_both_recovered(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PORT_DOWN);
	struct bench *b = storm_open(&s);

	(void)state;
	storms(b, BIT3 | BIT5, LIMIT);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 2);
	recover(b, 5);
	assert_false(switch_link_up(b->sw, 2));
	expect_status(b, 2, 3, WATCHDOG_IS_PORT_DOWN);
	expect_nothing_to_recover(b, 2, 5);
	recover(b, 3);
	assert_true(switch_link_up(b->sw, 2));
	bench_close(b);
}

static void set_link(struct bench *b, bool up)
{
	wire_set_up(b->host[2].wire, up);
	switch_links_changed(b->sw);
	control(b);
}

static void a_recovered_port_without_link_stays_down_until_the_link_is_up(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PORT_DOWN);
	struct bench *b = storm_open_escalated(&s);

	(void)state;
	set_link(b, false);
	recover(b, 3);
	assert_false(switch_link_up(b->sw, 2));
	set_link(b, true);
	assert_true(switch_link_up(b->sw, 2));
	// And the other way round: the link comes and goes while the port is kept down.
	storms(b, BIT3, LIMIT);
	control(b);
	set_link(b, false);
	set_link(b, true);
	assert_false(switch_link_up(b->sw, 2));
	recover(b, 3);
	assert_true(switch_link_up(b->sw, 2));
	expect_delivered(b, 1, 2, 3, 3, 3);
	bench_close(b);
}

// ---- reloads

static void an_escalation_outlasts_a_policy_without_watchdog(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open_escalated(&s);

	(void)state;
	s.watchdog = (struct watchdog_params){0};
	bench_publish(b, storm_yaml());
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	expect_status(b, 2, 5, WATCHDOG_OFF);
	bench_pause(b, 2, BIT3 | BIT5, 65535);
	bench_run(b, 1000);
	assert_false(switch_queue_paused(b->sw, 2, 3));
	assert_true(switch_queue_paused(b->sw, 2, 5));
	recover(b, 3);
	expect_status(b, 2, 3, WATCHDOG_OFF);
	assert_true(switch_queue_paused(b->sw, 2, 3));
	bench_close(b);
}

static void a_class_that_turns_lossy_leaves_its_escalation(void **state)
{
	static const enum watchdog_then thens[] = {WATCHDOG_PFC_OFF, WATCHDOG_PORT_DOWN};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct storm_setup s = storm_setup(thens[i]);
		struct bench *b = storm_open_escalated(&s);

		bench_publish(b, storm_yaml_of(BIT5));
		control(b);
		expect_status(b, 2, 3, WATCHDOG_OFF);
		expect_nothing_to_recover(b, 2, 3);
		assert_int_equal(n_of(b, EVENT_STORM_RECOVERED), 1);
		assert_true(switch_link_up(b->sw, 2));
		bench_publish(b, storm_yaml());
		control(b);
		expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
		assert_int_equal(n_of(b, EVENT_STORM_RECOVERED), 1);
		bench_pause(b, 2, BIT3, 65535);
		bench_run(b, 1000);
		assert_true(switch_queue_paused(b->sw, 2, 3));
		bench_close(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_storm_that_fills_the_window_turns_pfc_off),
		cmocka_unit_test(the_end_of_a_storm_says_whether_the_class_obeys_pfc),
		cmocka_unit_test(a_storm_that_comes_a_nanosecond_later_does_not),
		cmocka_unit_test(each_class_is_counted_for_itself_and_one_storm_less_is_no_reason),
		cmocka_unit_test(a_limit_of_zero_never_escalates),
		cmocka_unit_test(a_storm_whose_time_is_no_longer_kept_does_not_count),
		cmocka_unit_test(the_storms_whose_times_are_kept_count),
		cmocka_unit_test(a_burst_of_drops_leaves_room_for_the_records_of_storms),
		cmocka_unit_test(storms_whose_records_nobody_has_seen_count),
		cmocka_unit_test(no_storm_is_counted_twice),
		cmocka_unit_test(with_pfc_off_a_class_neither_obeys_nor_sends),
		cmocka_unit_test(a_class_that_is_recovered_obeys_and_sends_again),
		cmocka_unit_test(after_recovery_storms_are_counted_anew),
		cmocka_unit_test(an_escalation_may_take_the_port_down),
		cmocka_unit_test(a_port_that_two_classes_took_down_needs_both_recovered),
		cmocka_unit_test(a_recovered_port_without_link_stays_down_until_the_link_is_up),
		cmocka_unit_test(an_escalation_outlasts_a_policy_without_watchdog),
		cmocka_unit_test(a_class_that_turns_lossy_leaves_its_escalation),
	};

	return cmocka_run_group_tests_name("escalation", tests, bench_eal, NULL);
}
