// SPDX-License-Identifier: Apache-2.0
// What operators do about storms: they end one, or discard all lossless classes; and they are
// warned of high PFC rates.
#include "tests/lab/lab_yaml.h"
#include "tests/lab/storm_bench.h"

// ---- operators

static void recover_ends_a_storm_at_once(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;
	uint64_t detected_ns;

	(void)state;
	s.watchdog.restore_ns = 1000 * MS;
	b = storm_open(&s);
	expect_nothing_to_recover(b, 2, 3);
	expect_nothing_to_recover(b, 3, 3);
	expect_nothing_to_recover(b, 2, 8);
	detected_ns = pause_ns(b) + DETECT_NS;
	bench_pause(b, 2, BIT3 | BIT5, SHORT_QUANTA);
	run_until(b, detected_ns);
	expect_status(b, 2, 3, WATCHDOG_IN_STORM);
	bench_run(b, 50 * MS);
	recover(b, 3);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	expect_status(b, 2, 5, WATCHDOG_IN_STORM);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_OVER), 1);
	assert_int_equal(event(b, EVENT_STORM_OVER, 0)->b, 50 * MS);
	assert_int_equal(n_of(b, EVENT_STORM_RECOVERED), 1);
	expect_delivered(b, 1, 2, 3, 5, 5);
	expect_delivered(b, 1, 2, 5, 5, 0);
	expect_nothing_to_recover(b, 2, 3);
	bench_close(b);
}

// Each request is one byte's growth: the neighbour's byte must not feel it.
static void a_class_can_be_recovered_any_number_of_times(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.restore_ns = 10000ull * MS;
	s.watchdog.limit_count = 0;
	s.watchdog.classes = BIT3 | BIT4;
	b = storm_open(&s);
	bench_publish(b, storm_yaml_of(BIT3 | BIT4));
	bench_pause(b, 2, BIT4, SHORT_QUANTA);
	bench_run(b, 2 * MS);
	expect_status(b, 2, 4, WATCHDOG_IN_STORM);
	for (unsigned i = 0; i < 600; i++) {
		bench_pause(b, 2, BIT3, SHORT_QUANTA);
		bench_run(b, 2 * MS);
		expect_status(b, 2, 3, WATCHDOG_IN_STORM);
		recover(b, 3);
		expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
		expect_status(b, 2, 4, WATCHDOG_IN_STORM);
	}
	bench_close(b);
}

static void drop_all(struct bench *b, bool on)
{
	uint64_t request = switch_watchdog_drop_all(b->sw, on);

	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_true(switch_request_done(b->sw, request));
	assert_int_equal(switch_watchdog_drops_all(b->sw), on);
}

static void drop_all_discards_what_is_lossless_and_only_that(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);

	(void)state;
	bench_pause(b, 0, BIT3, 65535);
	send(b, 1, 0, 3, 10);
	assert_int_equal(b->host[0].n_rx, 0);
	drop_all(b, true);
	expect_status(b, 0, 3, WATCHDOG_DROPS_ALL);
	expect_status(b, 0, 0, WATCHDOG_OFF);
	bench_run(b, 1000);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 0, 3, DROP_WATCHDOG)->packets), 10);
	expect_delivered(b, 1, 0, 3, 5, 0);
	expect_delivered(b, 1, 2, 5, 5, 0);
	expect_delivered(b, 1, 0, 0, 5, 5);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 20);
	bench_run(b, 20 * MS);
	drop_all(b, true); // says nothing new
	drop_all(b, false);
	expect_status(b, 0, 3, WATCHDOG_OPERATIONAL);
	expect_delivered(b, 1, 0, 3, 5, 5);
	expect_delivered(b, 1, 2, 5, 5, 5);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 20);
	control(b);
	assert_int_equal(n_of(b, EVENT_DROP_ALL), 2);
	assert_int_equal(event(b, EVENT_DROP_ALL, 0)->a, 1);
	assert_int_equal(event(b, EVENT_DROP_ALL, 1)->a, 0);
	assert_int_equal(n_of(b, EVENT_STORM), 0);
	bench_close(b);
}

static void drop_all_leaves_nobody_paused(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;
	const struct bench_host *h;

	(void)state;
	s.watchdog.detect_ns = 1000 * MS;
	b = storm_open(&s);
	h = &b->host[2];
	bench_pause(b, 0, BIT3, 65535);
	send(b, 2, 0, 3, 40); // beyond the group's limit: host 2 is paused
	assert_int_equal(h->n_pfc, 1);
	assert_int_equal(switch_pfc_tx(b->sw, 2)->paused, BIT3);
	drop_all(b, true);
	bench_run(b, 1000);
	assert_int_equal(h->n_pfc, 2);
	assert_int_equal(bench_pfc_times(&h->pfc[1]).enable, BIT3);
	assert_int_equal(bench_pfc_times(&h->pfc[1]).quanta[3], 0);
	assert_int_equal(switch_pfc_tx(b->sw, 2)->paused, 0);
	assert_false(switch_queue_paused(b->sw, 0, 3));
	// A storm by all: nobody obeys, none is found.
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned port = 0; port < 3; port++)
			bench_pause(b, port, 0xff, 65535);
		bench_run(b, MS);
	}
	assert_int_equal(switch_pfc_rx(b->sw, 0)->paused, 0);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), 40);
	drop_all(b, false);
	bench_run(b, 5 * MS); // the last PAUSE runs out
	control(b);
	for (unsigned port = 0; port < 3; port++) {
		assert_int_equal(switch_pfc_rx(b->sw, port)->paused, 0);
		assert_int_equal(switch_pfc_tx(b->sw, port)->paused, 0);
		assert_int_equal(pg_used(switch_pg_state(b->sw, port, 3)), 0);
		assert_false(pg_in_xoff(switch_pg_state(b->sw, port, 3)));
	}
	assert_int_equal(h->n_pfc, 2);
	expect_delivered(b, 2, 0, 3, 5, 5);
	bench_close(b);
}

static void an_escalation_under_drop_all_can_be_recovered(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open_escalated(&s);

	(void)state;
	drop_all(b, true);
	expect_status(b, 2, 3, WATCHDOG_DROPS_ALL);
	expect_nothing_to_recover(b, 2, 5);
	recover(b, 3);
	expect_delivered(b, 1, 2, 3, 5, 0);
	drop_all(b, false);
	expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
	expect_delivered(b, 1, 2, 3, 5, 5);
	bench_close(b);
}

static void hold(struct bench *b, bool on)
{
	(void)switch_hold_admission(b->sw, on);
	actor_poke(&b->actor);
	bench_run(b, 1);
}

// Nobody told the sender to stop while the ring filled, so what does not fit afterwards is the
// order's doing. What a sender without PFC loses later is an alarm again.
static void what_filled_the_ring_under_drop_all_is_no_alarm(void **state)
{
	const struct bench_opts o = {.seed = 1, .rx_ring = 64};
	struct bench *b = bench_open_with(storm_yaml(), &o);
	uint64_t given_up;

	(void)state;
	bench_tx(b, 0, -1, false);
	hold(b, true);
	drop_all(b, true);
	send(b, 2, 0, 3, 600);
	assert_int_equal(b->host[2].n_pfc, 0);
	drop_all(b, false);
	assert_int_equal(gauge_get(&switch_port_counters(b->sw, 2)->rx_guard), 1);
	hold(b, false);
	bench_run(b, 10000);
	given_up = bench_drops(b, DROP_WATCHDOG);
	assert_true(given_up > 400);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	bench_tx(b, 0, -1, true);
	bench_run(b, 5 * MS);
	assert_int_equal(b->host[0].n_rx, 600 - given_up);
	control(b);
	assert_int_equal(n_of(b, EVENT_LOSSLESS_DROP), 0);

	b->host[2].obey_after_ns = UINT64_MAX;
	bench_tx(b, 0, -1, false);
	send(b, 2, 0, 3, 600);
	assert_int_equal(bench_drops(b, DROP_WATCHDOG), given_up);
	assert_true(bench_drops(b, DROP_HEADROOM) > 0);
	bench_close(b);
}

// ---- early warning

// To the next tenth of a second since the bench opened, where control looks.
static void next_tenth(struct bench *b)
{
	uint64_t tenths = (b->clock.now_ns - START_NS) / (100 * MS);

	run_until(b, START_NS + (tenths + 1) * 100 * MS);
	bench_control(b);
}

static void tenth_with_pauses(struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bench_pause(b, 2, BIT3, i % 2 ? 100 : 0);
	next_tenth(b);
}

static void expect_warning(const struct bench *b, enum event_type type, bool out, uint64_t pps)
{
	const struct event *e = event(b, type, 0);

	assert_int_equal(n_of(b, type), 1);
	assert_int_equal(e->t_ns, b->clock.now_ns);
	assert_int_equal(e->port, 2);
	assert_int_equal(e->cls, 3);
	assert_int_equal(e->a, out);
	assert_int_equal(e->b, pps);
}

static void high_rates_of_received_pfc_are_told_once_and_so_is_their_end(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.warning.in_pps = 50;
	b = storm_open(&s);
	for (unsigned i = 0; i < 20; i++)
		tenth_with_pauses(b, 5);
	assert_int_equal(n_of(b, EVENT_PFC_RATE_UP), 0); // 50 a second are not above 50
	tenth_with_pauses(b, 6);
	expect_warning(b, EVENT_PFC_RATE_UP, false, 51);
	for (unsigned i = 0; i < 20; i++)
		tenth_with_pauses(b, 5);
	for (unsigned i = 0; i < 6; i++)
		tenth_with_pauses(b, 4); // 44 after the sixth: not below 43.75
	assert_int_equal(n_of(b, EVENT_PFC_RATE_DOWN), 0);
	tenth_with_pauses(b, 4);
	expect_warning(b, EVENT_PFC_RATE_DOWN, false, 43);
	assert_int_equal(n_of(b, EVENT_PFC_RATE_UP), 1);
	bench_close(b);
}

static void high_rates_of_sent_pfc_are_told(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;
	const struct pfc_class_stats *tx;
	uint64_t sent[32] = {0};
	unsigned i = 0;

	(void)state;
	s.warning.out_pps = 500;
	b = storm_open(&s);
	tx = &switch_pfc_tx(b->sw, 2)->stats[3];
	bench_tx(b, 0, -1, false);
	send(b, 2, 0, 3, 40);
	// A PAUSE of 3,355,392 ns is refreshed at half its life: 596 a second.
	do {
		next_tenth(b);
		sent[++i] = ctr_get(&tx->frames);
		assert_int_equal(n_of(b, EVENT_PFC_RATE_UP), sent[i] > 500);
	} while (n_of(b, EVENT_PFC_RATE_UP) == 0 && i < 20);
	assert_int_equal(sent[i], 9 * 100 * MS / 1677696 + 1);
	expect_warning(b, EVENT_PFC_RATE_UP, true, sent[i]);
	for (unsigned k = 0; k < 10; k++) {
		next_tenth(b);
		sent[++i] = ctr_get(&tx->frames);
	}
	bench_tx(b, 0, -1, true);
	do {
		next_tenth(b);
		sent[++i] = ctr_get(&tx->frames);
		assert_int_equal(n_of(b, EVENT_PFC_RATE_DOWN),
				 (sent[i] - sent[i - 10]) * 8 < 500 * 7);
	} while (n_of(b, EVENT_PFC_RATE_DOWN) == 0 && i < 30);
	expect_warning(b, EVENT_PFC_RATE_DOWN, true, sent[i] - sent[i - 10]);
	bench_close(b);
}

// The peer pauses for this time, a multiple of 3 ms, and ends the pause.
static void peer_pauses_for(struct bench *b, unsigned total_ms)
{
	uint64_t from_ns = b->clock.now_ns;

	for (unsigned ms = 0; ms < total_ms; ms += 3) { // a PAUSE lasts 3.36 ms
		bench_pause(b, 2, BIT3, 65535);
		run_until(b, from_ns + (ms + 3) * MS);
	}
	bench_pause(b, 2, BIT3, 0);
}

// Pauses all but a thousandth of each tenth of a second: no storm, and few frames.
static void pauses_that_are_no_storm_are_told_by_their_share(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	const struct event *e;
	struct bench *b;

	(void)state;
	s.watchdog.detect_ns = s.watchdog.restore_ns = 100 * MS;
	s.warning.paused_us = 950000;
	b = storm_open(&s);
	for (unsigned i = 0; i < 25; i++) {
		peer_pauses_for(b, 99);
		next_tenth(b);
		assert_int_equal(n_of(b, EVENT_PFC_PAUSED), i >= 9);
	}
	assert_int_equal(n_of(b, EVENT_STORM), 0);
	e = event(b, EVENT_PFC_PAUSED, 0);
	assert_int_equal(e->port, 2);
	assert_int_equal(e->cls, 3);
	assert_in_range(e->b, 989000, 991000);
	for (unsigned i = 0; i < 12; i++)
		next_tenth(b);
	assert_int_equal(n_of(b, EVENT_PFC_PAUSED), 1);
	assert_int_equal(n_of(b, EVENT_PFC_PAUSED_OVER), 1);
	bench_close(b);
}

// Port 2 does not send, so the groups of the others fill up, and their hosts are paused. Host 1
// obeys.
static void send_at_rate(struct bench *b, unsigned per_tenth, unsigned tenths)
{
	for (unsigned i = 0; i < tenths; i++) {
		send(b, 0, 2, 3, per_tenth);
		send(b, 1, 2, 3, per_tenth);
		next_tenth(b);
	}
}

// Host 0 does not obey, and its port has just paused class 3.
static struct bench *open_paused_deaf(struct storm_setup *s)
{
	struct bench *b = storm_open(s);

	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	while (switch_pfc_tx(b->sw, 0)->stats[3].since_ns == 0)
		send(b, 0, 2, 3, 100);
	next_tenth(b);
	return b;
}

static void a_peer_that_sends_on_while_it_is_paused_is_named(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	const struct event *e;
	struct bench *b;

	(void)state;
	b = open_paused_deaf(&s);
	send_at_rate(b, 9, 11); // fewer than 100 in a second: they may have been on their way
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 0);
	assert_int_equal(switch_pause_ignored(b->sw, 0), 0);
	send_at_rate(b, 20, 20);
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 1); // in ten seconds
	e = event(b, EVENT_PAUSE_IGNORED, 0);
	assert_int_equal(e->port, 0);
	assert_int_equal(e->cls, 3);
	assert_in_range(e->b, 100, 200);
	assert_in_range(switch_pause_ignored(b->sw, 0), 300, 400);
	send_at_rate(b, 0, 11);
	send_at_rate(b, 0, 11); // the last second with frames is over
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 1);
	assert_in_range(switch_pause_ignored(b->sw, 0), 300, 400);
	assert_int_equal(switch_pause_ignored(b->sw, 1), 0);
	bench_close(b);
}

// As a PAUSE that is refreshed late may let pass.
static void a_burst_within_a_pause_is_no_disobedience(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	b = open_paused_deaf(&s);
	for (unsigned i = 0; i < 3; i++) {
		send_at_rate(b, 150, 1);
		send_at_rate(b, 0, 11);
	}
	send_at_rate(b, 20, 9); // a tenth of a second is missing
	send_at_rate(b, 0, 11);
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 0);
	assert_int_equal(switch_pause_ignored(b->sw, 0), 0);
	bench_close(b);
}

// Class 5 of port 2 is in a storm, so its sender is not paused, and its arrivals are those of the
// group.
static void a_group_is_judged_while_all_of_its_classes_are_paused(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.classes = BIT5;
	s.watchdog.action = WATCHDOG_FORWARD;
	s.watchdog.restore_ns = 10000ull * MS;
	b = storm_open_with(lab_yaml(3, "10G", "", "    class_to_pg: {5: 3}\n",
				     "      3: {lossless: true, ingress: {min: 0, static: 25600, "
				     "headroom: 30KB}}\n"
				     "      5: {lossless: true}\n"),
			    &s);
	b->host[2].obey_after_ns = UINT64_MAX;
	bench_tx(b, 0, -1, false);
	bench_pause(b, 2, BIT5, SHORT_QUANTA);
	bench_run(b, 2 * MS);
	expect_status(b, 2, 5, WATCHDOG_IN_STORM);
	while (switch_pfc_tx(b->sw, 2)->stats[3].since_ns == 0)
		send(b, 2, 0, 3, 10);
	for (unsigned i = 0; i < 25; i++) {
		send(b, 2, 0, 5, 20);
		next_tenth(b);
	}
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 0);
	recover(b, 5);
	for (unsigned i = 0; i < 25; i++) {
		send(b, 2, 0, 5, 20);
		next_tenth(b);
	}
	assert_int_equal(n_of(b, EVENT_PAUSE_IGNORED), 1);
	assert_int_equal(event(b, EVENT_PAUSE_IGNORED, 0)->port, 2);
	bench_close(b);
}

static void a_late_look_finds_no_more_than_a_second_a_second(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.watchdog.detect_ns = s.watchdog.restore_ns = 100 * MS;
	s.warning.paused_us = 950000;
	b = storm_open(&s);
	for (unsigned i = 0; i < 9; i++) {
		peer_pauses_for(b, 99);
		next_tenth(b);
	}
	peer_pauses_for(b, 99);
	peer_pauses_for(b, 21);
	bench_control(b);
	assert_int_equal(n_of(b, EVENT_PFC_PAUSED), 1);
	assert_int_equal(event(b, EVENT_PFC_PAUSED, 0)->b, 1000000);
	bench_close(b);
}

static void a_warning_ends_with_the_policy_that_wanted_it(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b;

	(void)state;
	s.warning.in_pps = 10;
	b = storm_open(&s);
	tenth_with_pauses(b, 20);
	expect_warning(b, EVENT_PFC_RATE_UP, false, 20);
	s.warning.in_pps = 0;
	bench_publish(b, storm_yaml());
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(n_of(b, EVENT_PFC_RATE_DOWN), 0);
		tenth_with_pauses(b, 20);
	}
	expect_warning(b, EVENT_PFC_RATE_DOWN, false, 200);
	tenth_with_pauses(b, 20);
	assert_int_equal(n_of(b, EVENT_PFC_RATE_UP), 1);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recover_ends_a_storm_at_once),
		cmocka_unit_test(a_class_can_be_recovered_any_number_of_times),
		cmocka_unit_test(drop_all_discards_what_is_lossless_and_only_that),
		cmocka_unit_test(drop_all_leaves_nobody_paused),
		cmocka_unit_test(an_escalation_under_drop_all_can_be_recovered),
		cmocka_unit_test(what_filled_the_ring_under_drop_all_is_no_alarm),
		cmocka_unit_test(high_rates_of_received_pfc_are_told_once_and_so_is_their_end),
		cmocka_unit_test(high_rates_of_sent_pfc_are_told),
		cmocka_unit_test(pauses_that_are_no_storm_are_told_by_their_share),
		cmocka_unit_test(a_peer_that_sends_on_while_it_is_paused_is_named),
		cmocka_unit_test(a_burst_within_a_pause_is_no_disobedience),
		cmocka_unit_test(a_group_is_judged_while_all_of_its_classes_are_paused),
		cmocka_unit_test(a_late_look_finds_no_more_than_a_second_a_second),
		cmocka_unit_test(a_warning_ends_with_the_policy_that_wanted_it),
	};

	return cmocka_run_group_tests_name("storm_orders", tests, bench_eal, NULL);
}
