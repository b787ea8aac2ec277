// SPDX-License-Identifier: Apache-2.0
// What is a storm, when it is found and when it is over, to the nanosecond: conformance rows W1 and
// W3. What a recovery does to frames is in test_recovery.c.
#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"
#include "tests/lab/storm_bench.h"

enum { REFRESH_NS = 300000, US = 1000 };

static struct storm_setup setup(enum watchdog_mode mode, enum watchdog_action action)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);

	s.watchdog.mode = (uint8_t)mode;
	s.watchdog.action = (uint8_t)action;
	s.watchdog.limit_count = 0;
	return s;
}

static const struct watchdog_class *of_class(const struct bench *b, unsigned cls)
{
	return switch_watchdog(b->sw, 2, cls);
}

static void expect_event(const struct bench *b, enum event_type type, unsigned nth, uint64_t t_ns,
			 uint64_t lasted_ns)
{
	const struct event *e = event(b, type, nth);

	assert_non_null(e);
	assert_int_equal(e->t_ns, t_ns);
	assert_int_equal(e->port, 2);
	assert_int_equal(e->cls, 3);
	assert_int_equal(e->b, lasted_ns);
}

static void w1_xoff_finds_and_restores_at_the_predicted_nanosecond(void **state)
{
	struct storm_setup s = setup(WATCHDOG_XOFF, WATCHDOG_DROP);
	struct bench *b;
	uint64_t t;

	(void)state;
	s.watchdog.restore_ns = 700001;
	b = storm_open(&s);
	bench_run(b, 12345);
	t = pause_ns(b) + DETECT_NS;
	bench_storm(b, 2, BIT3, 65535, REFRESH_NS); // nothing waits
	run_until(b, t - 1);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_WATCHING);
	run_until(b, t);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_STORMED);
	run_until(b, t + 700000);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_STORMED);
	run_until(b, t + 700001);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_WATCHING);
	bench_run(b, 10 * MS);
	bench_control(b);
	// The storm goes on: from each end the class is paused, and watched, anew.
	for (unsigned i = 0; i < 4; i++, t += DETECT_NS + 700001) {
		expect_event(b, EVENT_STORM, i, t, DETECT_NS);
		expect_event(b, EVENT_STORM_OVER, i, t + 700001, 700001);
		assert_int_equal(event(b, EVENT_STORM, i)->a, WATCHDOG_DROP);
	}
	assert_int_equal(gauge_get(&of_class(b, 3)->measured_ns), DETECT_NS);
	assert_int_equal(gauge_get(&of_class(b, 3)->storm_longest_ns), 700001);
	assert_int_equal(ctr_get(&of_class(b, 5)->detected), 0);
	bench_close(b);
}

static void w1_each_class_has_its_own_times(void **state)
{
	struct storm_setup s = setup(WATCHDOG_XOFF, WATCHDOG_DROP);
	struct bench *b;
	uint64_t t;

	(void)state;
	s.watchdog.own[5] = (struct watchdog_times){.detect_ns = 200 * US, .restore_ns = 300 * US};
	b = storm_open(&s);
	t = pause_ns(b);
	bench_storm(b, 2, BIT3 | BIT5, 65535, REFRESH_NS);
	run_until(b, t + 200 * US - 1);
	assert_int_equal(gauge_get(&of_class(b, 5)->state), WATCHDOG_WATCHING);
	run_until(b, t + 200 * US);
	assert_int_equal(gauge_get(&of_class(b, 5)->state), WATCHDOG_STORMED);
	run_until(b, t + 500 * US);
	assert_int_equal(gauge_get(&of_class(b, 5)->state), WATCHDOG_WATCHING);
	run_until(b, t + DETECT_NS - 1);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_WATCHING);
	run_until(b, t + DETECT_NS);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_STORMED);
	assert_int_equal(ctr_get(&of_class(b, 5)->detected), 2);
	bench_close(b);
}

static void w1_progress_counts_from_the_frame_that_waits_to_the_last_pause(void **state)
{
	struct storm_setup s = setup(WATCHDOG_PROGRESS, WATCHDOG_DROP);
	struct bench *b = storm_open(&s);
	const struct bench_frame f = {.to = 2, .dscp = 24, .len = 500};
	uint64_t began, found, heard;

	(void)state;
	began = b->clock.now_ns;
	bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
	bench_run(b, 2 * DETECT_NS + 777);
	assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0); // nothing waits
	found = b->clock.now_ns + bench_wire_ns(b, 0, f.len) + DETECT_NS;
	bench_send(b, 0, &f);
	run_until(b, began + 20 * REFRESH_NS + 1);
	bench_storm(b, 2, BIT3, 65535, 0);
	heard = began + 20 * REFRESH_NS + bench_wire_ns(b, 2, PFC_FRAME_LEN);
	bench_run(b, 100 * MS);
	bench_control(b);
	expect_event(b, EVENT_STORM, 0, found, DETECT_NS);
	expect_event(b, EVENT_STORM_OVER, 0, heard + RESTORE_NS, heard + RESTORE_NS - found);
	assert_int_equal(gauge_get(&of_class(b, 3)->last_pause_ns), heard);
	assert_int_equal(n_of(b, EVENT_STORM), 1);
	assert_int_equal(n_of(b, EVENT_STORM_OVER), 1);
	bench_close(b);
}

static void xon_frames_do_not_prolong_a_recovery(void **state)
{
	struct storm_setup s = setup(WATCHDOG_PROGRESS, WATCHDOG_FORWARD);
	struct bench *b = storm_open(&s);
	uint64_t found = pause_ns(b) + DETECT_NS;

	(void)state;
	bench_pause(b, 2, BIT3, 65535);
	bench_run(b, 1);
	found += bench_wire_ns(b, 0, 500) - bench_wire_ns(b, 2, PFC_FRAME_LEN) + 1;
	bench_send(b, 0, &(struct bench_frame){.to = 2, .dscp = 24, .len = 500});
	run_until(b, found + 100 * US);
	bench_storm(b, 2, BIT3, 0, 50 * US);
	bench_run(b, 10 * MS);
	bench_control(b);
	expect_event(b, EVENT_STORM, 0, found, DETECT_NS);
	expect_event(b, EVENT_STORM_OVER, 0, found + RESTORE_NS, RESTORE_NS);
	bench_storm(b, 2, BIT3, 0, 0);
	bench_close(b);
}

static void a_storm_of_802_3x_lasts_as_long_as_its_frames(void **state)
{
	struct storm_setup s = setup(WATCHDOG_PROGRESS, WATCHDOG_FORWARD);
	struct pfc_times t = {.enable = 1, .quanta = {65535}};
	uint8_t f[PFC_FRAME_LEN];
	struct bench *b;

	(void)state;
	b = storm_open_with(lab_yaml(3, "10G", "", "    pfc: {whole_link: on}\n",
				     "      3: {lossless: true}\n"), &s);
	pause_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 3}, &t);
	for (unsigned i = 0; i < 30; i++) {
		bench_send_raw(b, 2, f, sizeof(f));
		bench_run(b, REFRESH_NS);
		if (i == 0)
			bench_send(b, 0, &(struct bench_frame){.to = 2, .dscp = 24, .len = 500});
	}
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_STORMED);
	assert_int_equal(ctr_get(&of_class(b, 3)->detected), 1);
	bench_run(b, RESTORE_NS);
	assert_int_equal(gauge_get(&of_class(b, 3)->state), WATCHDOG_WATCHING);
	bench_close(b);
}

// ---- to the nanosecond: a pause lasts up to its end, that instant not included

// A frame of class 3 waits at port 2, and has since before the pause.
static void let_one_wait(struct bench *b)
{
	bench_tx(b, 2, 3, false);
	send(b, 0, 2, 3, 1);
}

static void w1_a_pause_that_ends_in_the_instant_of_detection_is_no_storm(void **state)
{
	static const struct {
		uint16_t quanta; // of the last word: 512,000 ns, or XON
		int off_ns; // its end, as seen from the time of detection
		unsigned storms;
	} rows[] = {{10000, -1, 0}, {10000, 0, 0}, {10000, 1, 1}, {0, -1, 0}, {0, 0, 0}, {0, 1, 1}};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		enum watchdog_mode mode = i % 2 ? WATCHDOG_XOFF : WATCHDOG_PROGRESS;
		struct storm_setup s = setup(mode, WATCHDOG_FORWARD);
		struct bench *b = storm_open(&s);
		uint64_t lasts = rows[i / 2].quanta == 0 ? 0 : 512000, began;

		let_one_wait(b);
		began = b->clock.now_ns;
		bench_pause(b, 2, BIT3, 65535);
		bench_run(b, US);
		bench_tx(b, 2, 3, true);
		run_until(b, began + DETECT_NS - lasts + (uint64_t)(int64_t)rows[i / 2].off_ns);
		bench_pause(b, 2, BIT3, rows[i / 2].quanta);
		bench_run(b, 10 * MS);
		expect_delivered(b, 0, 2, 0, 1, 1); // a loop in which what has ended ends
		assert_int_equal(ctr_get(&of_class(b, 3)->detected), rows[i / 2].storms);
		assert_int_equal(ctr_get(&of_class(b, 3)->restored), rows[i / 2].storms);
		assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].duration_ns),
				 DETECT_NS - (rows[i / 2].off_ns < 0));
		assert_int_equal(b->host[2].n_rx, 2);
		bench_close(b);
	}
}

static bool to_2(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){
		.to = 2, .dscp = (uint8_t)(h->sent % 2 ? 24 : 40), .len = 1000};
	return true;
}

static uint64_t all_drops(const struct bench *b)
{
	uint64_t n = 0;

	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		n += bench_drops(b, r);
	return n;
}

static void end_sources(struct bench *b)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		b->host[i].source = NULL;
}

static void w1_bursts_of_half_the_time_never_fire_and_lose_nothing(void **state)
{
	(void)state;
	for (unsigned mode = WATCHDOG_XOFF; mode <= WATCHDOG_PROGRESS; mode++) {
		struct storm_setup s = setup(mode, WATCHDOG_DROP);
		struct bench *b = storm_open(&s);

		for (unsigned i = 0; i < 2; i++) {
			b->host[i].source = to_2;
			actor_poke(&b->host[i].actor);
		}
		for (unsigned i = 0; i < 25; i++) {
			bench_storm(b, 2, BIT3, 65535, 100 * US);
			bench_run(b, DETECT_NS / 2);
			bench_storm(b, 2, BIT3, 0, MS);
			bench_storm(b, 2, BIT3, 0, 0);
			bench_run(b, 3 * DETECT_NS / 2);
		}
		end_sources(b);
		bench_run(b, 10 * MS);
		bench_control(b);
		assert_int_equal(n_of(b, EVENT_STORM), 0);
		assert_int_equal(all_drops(b), 0);
		assert_int_equal(b->host[2].n_rx, b->host[0].sent + b->host[1].sent);
		assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].transitions), 25);
		bench_close(b);
	}
}

// ---- what is no storm

static bool only_7(struct bench_host *h, struct bench_frame *out)
{
	(void)h;
	*out = (struct bench_frame){.to = 2, .dscp = 56, .len = 1000};
	return true;
}

static void w3_a_strict_class_that_takes_the_whole_line_is_no_storm(void **state)
{
	(void)state;
	for (unsigned mode = WATCHDOG_XOFF; mode <= WATCHDOG_PROGRESS; mode++) {
		struct storm_setup s = setup(mode, WATCHDOG_DROP);
		struct bench *b = storm_open_with(
			lab_yaml(3, "10G", "", "",
				 "      3: {lossless: true, ingress: {headroom: 30KB}}\n"
				 "      5: {lossless: true, ingress: {headroom: 30KB}}\n"
				 "      7: {schedule: strict}\n"),
			&s);

		b->host[1].source = only_7;
		actor_poke(&b->host[1].actor);
		bench_run(b, 10 * US);
		send(b, 0, 2, 3, 5);
		bench_run(b, 5 * DETECT_NS);
		assert_true(ctr_get(&switch_queue_counters(b->sw, 2, 3)->tx_packets) <= 1);
		assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0);
		end_sources(b);
		bench_run(b, MS);
		assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 3)->tx_packets), 5);
		bench_close(b);
	}
}

static void w3_a_queue_or_port_that_is_switched_off_is_no_storm(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct storm_setup s = setup(i % 2, WATCHDOG_DROP);
		struct bench *b = storm_open(&s);
		int queue = i / 2 ? 3 : -1;

		bench_tx(b, 2, queue, false);
		send(b, 0, 2, 3, 5);
		bench_run(b, 5 * DETECT_NS);
		assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0);
		bench_tx(b, 2, queue, true);
		bench_run(b, MS);
		assert_int_equal(b->host[2].n_rx, 5);
		bench_close(b);
	}
}

static void w3_a_storm_of_xon_is_none(void **state)
{
	(void)state;
	for (unsigned mode = WATCHDOG_XOFF; mode <= WATCHDOG_PROGRESS; mode++) {
		struct storm_setup s = setup(mode, WATCHDOG_DROP);
		struct bench *b = storm_open(&s);

		bench_storm(b, 2, BIT3 | BIT5, 0, US);
		for (unsigned i = 0; i < 10; i++)
			expect_delivered(b, 0, 2, 3, 100, 100);
		bench_run(b, 3 * DETECT_NS);
		bench_storm(b, 2, 0, 0, 0);
		assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0);
		assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].transitions), 0);
		assert_true(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].frames) > 3000);
		bench_close(b);
	}
}

static void w3_an_empty_queue_storms_with_xoff_and_not_with_progress(void **state)
{
	(void)state;
	for (unsigned mode = WATCHDOG_XOFF; mode <= WATCHDOG_PROGRESS; mode++) {
		struct storm_setup s = setup(mode, WATCHDOG_DROP);
		struct bench *b = storm_open(&s);

		bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
		bench_run(b, 3 * DETECT_NS / 2);
		assert_int_equal(ctr_get(&of_class(b, 3)->detected), mode == WATCHDOG_XOFF);
		bench_storm(b, 2, BIT3, 65535, 0);
		bench_close(b);
	}
}

static void classes_that_are_not_watched_have_no_storms(void **state)
{
	struct storm_setup s = setup(WATCHDOG_XOFF, WATCHDOG_DROP);
	struct bench *b;

	(void)state;
	s.watchdog.classes = BIT5;
	b = storm_open(&s);
	bench_storm(b, 2, 0xff, 65535, REFRESH_NS);
	bench_run(b, 3 * DETECT_NS / 2);
	for (unsigned c = 0; c < N_CLASSES; c++)
		assert_int_equal(ctr_get(&of_class(b, c)->detected), c == 5);
	assert_true(switch_queue_paused(b->sw, 2, 3)); // obeys
	assert_false(switch_queue_paused(b->sw, 2, 5));
	bench_storm(b, 2, 0, 0, 0);
	bench_close(b);
}

// ---- admission held

static void no_storm_is_found_while_admission_is_held_and_the_clock_starts_anew(void **state)
{
	struct storm_setup s = setup(WATCHDOG_XOFF, WATCHDOG_DROP);
	struct bench *b = storm_open(&s);
	uint64_t request, t;

	(void)state;
	bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
	bench_run(b, DETECT_NS / 2);
	request = switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	bench_run(b, 9 * DETECT_NS); // longer than what the switch could hear lasts
	assert_true(switch_request_done(b->sw, request));
	assert_true(switch_queue_paused(b->sw, 2, 3));
	assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0);
	t = b->clock.now_ns;
	switch_hold_admission(b->sw, false);
	actor_poke(&b->actor);
	run_until(b, t + DETECT_NS - 1);
	assert_int_equal(ctr_get(&of_class(b, 3)->detected), 0);
	bench_run(b, 1);
	assert_int_equal(ctr_get(&of_class(b, 3)->detected), 1);
	bench_storm(b, 2, 0, 0, 0);
	bench_close(b);
}

static void no_storm_ends_while_admission_is_held(void **state)
{
	(void)state;
	for (unsigned mode = WATCHDOG_XOFF; mode <= WATCHDOG_PROGRESS; mode++) {
		struct storm_setup s = setup(mode, WATCHDOG_DROP);
		struct bench *b = storm_open(&s);
		uint64_t found, freed;

		let_one_wait(b);
		found = pause_ns(b) + DETECT_NS;
		bench_pause(b, 2, BIT3, 65535);
		run_until(b, found + RESTORE_NS / 2);
		switch_hold_admission(b->sw, true);
		actor_poke(&b->actor);
		bench_run(b, 5 * RESTORE_NS);
		assert_true(watchdog_stormed(of_class(b, 3)));
		freed = b->clock.now_ns;
		switch_hold_admission(b->sw, false);
		actor_poke(&b->actor);
		bench_run(b, 10 * US);
		bench_control(b);
		expect_event(b, EVENT_STORM_OVER, 0, freed, freed - found);
		assert_int_equal(n_of(b, EVENT_STORM), 1);
		bench_close(b);
	}
}

// ---- everywhere

// n storms, from the time of the first.
static void expect_storms_of(const struct bench *b, unsigned port, unsigned cls, uint64_t t_ns,
			     unsigned n)
{
	const struct event *e;

	for (unsigned i = 0; n != 0 && (e = event(b, EVENT_STORM, i)) != NULL; i++) {
		if (e->port != port || e->cls != cls)
			continue;
		assert_int_equal(e->t_ns, t_ns);
		t_ns += DETECT_NS + RESTORE_NS;
		n--;
	}
	assert_int_equal(n, 0);
}

static void w3_where_all_ports_storm_each_is_found_and_restored_at_its_time(void **state)
{
	struct storm_setup s = setup(WATCHDOG_XOFF, WATCHDOG_DROP);
	struct bench *b = storm_open(&s);
	uint64_t began[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		bench_run(b, 17 * US);
		began[i] = b->clock.now_ns + bench_wire_ns(b, i, PFC_FRAME_LEN);
		bench_storm(b, i, BIT3 | BIT5, 65535, REFRESH_NS);
	}
	for (unsigned i = 0; i < 3; i++)
		send(b, i, (i + 1) % 3, 3, 20);
	run_until(b, began[0] + 10 * (DETECT_NS + RESTORE_NS) - 1);
	bench_control(b);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned c = 3; c <= 5; c += 2)
			expect_storms_of(b, i, c, began[i] + DETECT_NS, 10);
	assert_int_equal(n_of(b, EVENT_STORM), 6 * 10);
	assert_int_equal(n_of(b, EVENT_STORM_OVER), 6 * 10 - 6);
	for (unsigned i = 0; i < 3; i++)
		bench_storm(b, i, 0, 0, 0);
	bench_run(b, 10 * MS);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned c = 3; c <= 5; c++)
			expect_delivered(b, i, (i + 1) % 3, c, 10, 10);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			assert_false(switch_queue_paused(b->sw, i, q));
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(w1_xoff_finds_and_restores_at_the_predicted_nanosecond),
		cmocka_unit_test(w1_each_class_has_its_own_times),
		cmocka_unit_test(
			w1_progress_counts_from_the_frame_that_waits_to_the_last_pause),
		cmocka_unit_test(xon_frames_do_not_prolong_a_recovery),
		cmocka_unit_test(a_storm_of_802_3x_lasts_as_long_as_its_frames),
		cmocka_unit_test(w1_a_pause_that_ends_in_the_instant_of_detection_is_no_storm),
		cmocka_unit_test(w1_bursts_of_half_the_time_never_fire_and_lose_nothing),
		cmocka_unit_test(w3_a_strict_class_that_takes_the_whole_line_is_no_storm),
		cmocka_unit_test(w3_a_queue_or_port_that_is_switched_off_is_no_storm),
		cmocka_unit_test(w3_a_storm_of_xon_is_none),
		cmocka_unit_test(w3_an_empty_queue_storms_with_xoff_and_not_with_progress),
		cmocka_unit_test(classes_that_are_not_watched_have_no_storms),
		cmocka_unit_test(
			no_storm_is_found_while_admission_is_held_and_the_clock_starts_anew),
		cmocka_unit_test(no_storm_ends_while_admission_is_held),
		cmocka_unit_test(
			w3_where_all_ports_storm_each_is_found_and_restored_at_its_time),
	};

	return cmocka_run_group_tests_name("watchdog", tests, bench_eal, NULL);
}
