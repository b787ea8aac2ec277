// SPDX-License-Identifier: Apache-2.0
// The watchdog of ports that give and take bursts and see PFC early, loop by loop: what one loop
// discards, what comes between, and which PAUSE is heard.
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "dataplane/qos/watchdog.h"
#include "tests/lab/rig.h"

enum { MS = 1000000, DETECT_NS = 100 * MS, RESTORE_NS = 150 * MS, QUANTA = 65535, LOOP = 256 };

static struct rig *open_rig(const char *mode, const char *action)
{
	// Time stands still over many loops; it is not to be the shaper that holds frames back.
	static const struct port_facts facts = {.shaper_burst_ns = 2 * MS};
	static char profile[256];

	snprintf(profile, sizeof(profile),
		 "    class_to_queue: {5: 3}\n    class_to_pg: {5: 3}\n"
		 "    watchdog: {mode: %s, action: %s, detect: 100ms, restore: 150ms}\n",
		 mode, action);
	return rig_open(lab_yaml(PORTS, "10G", "", profile,
				 "      3: {lossless: true, ingress: {headroom: 20KB}}\n"
				 "      5: {lossless: true}\n"),
			&facts, true);
}

static const struct watchdog_class *class_3(const struct rig *r)
{
	return switch_watchdog(r->sw, OUT, 3);
}

static uint64_t waiting(const struct rig *r)
{
	return gauge_get(&switch_queue_counters(r->sw, OUT, 3)->length_packets);
}

static void word(struct rig *r, unsigned cls, uint16_t quanta)
{
	r->port[OUT].word[cls].seq++;
	r->port[OUT].word[cls].quanta = quanta;
	rig_step(r);
}

// The class is kept paused over this time.
static void paused_for(struct rig *r, unsigned cls, uint64_t ns)
{
	for (uint64_t end_ns = r->now_ns + ns; r->now_ns != end_ns;) {
		word(r, cls, QUANTA);
		r->now_ns = r->now_ns + MS < end_ns ? r->now_ns + MS : end_ns;
	}
}

// n frames of class 3, on demand each with one of class 5 behind it, wait in the queue. Class 3 is
// paused, and the next loop will find a storm.
static struct rig *about_to_storm(unsigned n, bool both)
{
	struct rig *r = open_rig("xoff", "drop");

	word(r, 3, QUANTA);
	for (unsigned i = 0; i < n; i++) {
		rig_stand(r, 3, 200, 1);
		if (both)
			rig_stand(r, 5, 200, 1);
	}
	paused_for(r, 3, DETECT_NS);
	assert_int_equal(ctr_get(&class_3(r)->detected), 0);
	assert_int_equal(waiting(r), both ? 2 * n : n);
	return r;
}

static void one_loop_discards_a_bounded_number_and_serves_the_other_ports(void **state)
{
	struct rig *r = about_to_storm(1000, false);
	const struct bench_frame f = {.to = 1, .dscp = 24, .len = 100};

	(void)state;
	for (unsigned left = 1000; left != 0;) {
		rig_arrive(r, 0, &f);
		rig_step(r);
		left -= left < LOOP ? left : LOOP;
		assert_int_equal(waiting(r), left);
		assert_int_equal(ctr_get(&class_3(r)->last.tx_dropped), 1000 - left);
	}
	assert_int_equal(r->port[1].n_sent, 4); // one a loop
	assert_int_equal(r->port[OUT].n_sent, 0);
	rig_close(r);
}

// The first n frames that OUT got were those of class 5.
static void expect_class_5_first(const struct rig *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(r->port[OUT].sent[i].seq, 1 + 2 * i);
}

static void frames_of_other_classes_wait_until_all_were_looked_at_and_keep_their_order(void **state)
{
	struct rig *r = about_to_storm(300, true);

	(void)state;
	rig_step(r);
	assert_int_equal(waiting(r), 600 - LOOP / 2);
	rig_stand(r, 5, 200, 1); // behind all others, in the second loop
	rig_arrive(r, 0, &(struct bench_frame){.to = OUT, .dscp = 24, .len = 200});
	assert_int_equal(r->port[OUT].n_sent, 0);
	rig_step(r); // the third ends it
	assert_int_equal(ctr_get(&class_3(r)->last.tx_dropped), 301);
	assert_int_equal(ctr_get(&class_3(r)->last.tx_ok), 0);
	for (unsigned i = 0; i < 12; i++)
		rig_step(r);
	assert_int_equal(r->port[OUT].n_sent, 301);
	expect_class_5_first(r, 300);
	assert_int_equal(r->port[OUT].sent[300].seq, 600);
	rig_close(r);
}

static void what_was_not_discarded_when_the_storm_ends_is_sent_in_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rig *r = about_to_storm(300, true);
		int err;

		rig_step(r);
		assert_int_equal(ctr_get(&class_3(r)->last.tx_dropped), LOOP / 2);
		word(r, 3, 0); // else the class waits on
		if (i == 0)
			switch_watchdog_recover(r->sw, OUT, 3, &err);
		else
			r->now_ns += RESTORE_NS;
		for (unsigned k = 0; k < 30; k++)
			rig_step(r);
		// In the second case the word's loop went on discarding.
		assert_int_equal(ctr_get(&class_3(r)->total.tx_dropped), LOOP);
		assert_int_equal(ctr_get(&class_3(r)->restored), 1);
		expect_class_5_first(r, LOOP);
		assert_int_equal(r->port[OUT].n_sent, 600 - LOOP);
		for (unsigned k = LOOP; k < 600 - LOOP; k++)
			assert_int_equal(r->port[OUT].sent[k].seq, LOOP + k); // both
		rig_close(r);
	}
}

static void a_link_that_goes_down_in_the_middle_of_discarding_takes_all(void **state)
{
	struct rig *r = about_to_storm(300, true);
	struct event events[4096];

	(void)state;
	rig_step(r);
	r->port[OUT].down = true;
	switch_links_changed(r->sw);
	switch_control_step(r->sw, r->now_ns, events, 4096);
	rig_step(r);
	assert_int_equal(waiting(r), 0);
	assert_int_equal(ctr_get(&switch_drops(r->sw, OUT, 3, DROP_WATCHDOG)->packets), LOOP / 2);
	assert_int_equal(ctr_get(&switch_drops(r->sw, OUT, 3, DROP_PORT_DOWN)->packets),
			 300 - LOOP / 2);
	assert_int_equal(ctr_get(&switch_drops(r->sw, OUT, 5, DROP_PORT_DOWN)->packets), 300);
	assert_int_equal(ctr_get(&class_3(r)->restored), 1);
	r->port[OUT].down = false;
	switch_links_changed(r->sw);
	switch_control_step(r->sw, r->now_ns, events, 4096);
	rig_step(r);
	rig_stand(r, 3, 200, 5);
	rig_step(r);
	assert_int_equal(r->port[OUT].n_sent, 5);
	rig_close(r);
}

// A second class whose storm comes while the first one's frames are still looked for.
static void a_second_class_of_the_queue_is_discarded_from_its_beginning(void **state)
{
	struct rig *r = open_rig("xoff", "drop");

	(void)state;
	word(r, 3, QUANTA);
	r->now_ns++;
	word(r, 5, QUANTA);
	for (unsigned i = 0; i < 300; i++) {
		rig_stand(r, 3, 200, 1);
		rig_stand(r, 5, 200, 1);
	}
	r->now_ns--;
	for (unsigned i = 0; i < 100; i++) {
		word(r, 3, QUANTA);
		word(r, 5, QUANTA);
		r->now_ns += MS;
	}
	rig_step(r); // of class 3
	r->now_ns++;
	rig_step(r); // of class 5: the first 256 have been looked at
	for (unsigned i = 0; i < 6; i++)
		rig_step(r);
	assert_int_equal(waiting(r), 0);
	assert_int_equal(ctr_get(&switch_watchdog(r->sw, OUT, 3)->last.tx_dropped), 300);
	assert_int_equal(ctr_get(&switch_watchdog(r->sw, OUT, 5)->last.tx_dropped), 300);
	assert_int_equal(r->port[OUT].n_sent, 0);
	rig_close(r);
}

// ---- a driver that refuses

static uint64_t pfc_sent(const struct rig *r)
{
	return ctr_get(&switch_pfc_tx(r->sw, OUT)->stats[3].frames);
}

// Frames of class 3 that came in by OUT wait for port 0 until their group is in XOFF.
static void fill_group(struct rig *r)
{
	const struct bench_frame f = {.to = 0, .dscp = 24, .len = 1400};

	r->port[0].room = 0;
	while (!pg_in_xoff(switch_pg_state(r->sw, OUT, 3))) {
		rig_arrive(r, OUT, &f);
		rig_step(r);
	}
}

static void an_xon_that_the_driver_refuses_leaves_once_as_soon_as_it_is_taken(void **state)
{
	struct rig *r = open_rig("xoff", "forward");
	struct rig_port *out = &r->port[OUT];

	(void)state;
	word(r, 3, QUANTA);
	rig_stand(r, 3, 200, 3);
	fill_group(r);
	assert_int_equal(out->n_pfc, 1);
	paused_for(r, 3, DETECT_NS);
	out->n_pfc = 0;
	out->refuses = true;
	for (unsigned i = 0; i < 5; i++)
		rig_step(r);
	assert_true(watchdog_stormed(class_3(r)));
	assert_true(ctr_get(&switch_pfc_tx(r->sw, OUT)->retries) >= 5);
	assert_int_equal(ctr_get(&class_3(r)->last.tx_ok), 0);
	out->refuses = false;
	for (unsigned i = 0; i < 5; i++)
		rig_step(r);
	assert_int_equal(out->n_pfc, 1); // the class's, and nobody else's
	assert_int_equal(switch_pfc_tx(r->sw, OUT)->paused, 1 << 5);
	assert_int_equal(ctr_get(&class_3(r)->last.tx_ok), 3);
	r->port[0].room = AMPLE;
	rig_close(r);
}

// The end comes first: the peer is paused as it was, and hears nothing of it.
static void an_xon_that_was_refused_until_the_storm_was_over_does_not_leave(void **state)
{
	struct rig *r = open_rig("xoff", "forward");
	uint64_t sent;

	(void)state;
	word(r, 3, QUANTA);
	rig_stand(r, 3, 200, 3);
	fill_group(r);
	paused_for(r, 3, DETECT_NS);
	sent = pfc_sent(r);
	r->port[OUT].refuses = true;
	rig_step(r);
	assert_true(watchdog_stormed(class_3(r)));
	r->now_ns += RESTORE_NS;
	rig_step(r);
	assert_false(watchdog_stormed(class_3(r)));
	r->port[OUT].refuses = false;
	rig_step(r);
	rig_step(r);
	assert_int_equal(pfc_sent(r), sent + 1); // a refresh
	assert_true(switch_pfc_tx(r->sw, OUT)->paused & 1 << 3);
	rig_close(r);
}

// ---- PFC that is seen early

static void words_make_and_prolong_a_storm_and_the_frames_behind_them_do_not(void **state)
{
	struct rig *r = open_rig("progress", "forward");
	uint64_t heard;

	(void)state;
	word(r, 3, QUANTA);
	rig_stand(r, 3, 100, 3);
	paused_for(r, 3, DETECT_NS - 1);
	rig_step(r);
	assert_int_equal(ctr_get(&class_3(r)->detected), 0);
	r->now_ns++;
	rig_step(r);
	assert_int_equal(ctr_get(&class_3(r)->detected), 1);
	rig_step(r);
	assert_int_equal(r->port[OUT].n_sent, 3);
	r->now_ns += 5 * MS;
	word(r, 3, QUANTA);
	heard = r->now_ns;
	r->now_ns += 5 * MS;
	word(r, 3, 0); // says nothing of a pause
	assert_int_equal(gauge_get(&class_3(r)->last_pause_ns), heard);
	r->now_ns = heard + RESTORE_NS - 1;
	rig_step(r);
	assert_true(watchdog_stormed(class_3(r)));
	r->now_ns++;
	rig_step(r);
	assert_false(watchdog_stormed(class_3(r)));
	assert_int_equal(ctr_get(&switch_pfc_rx(r->sw, OUT)->stats[3].frames),
			 r->port[OUT].word[3].seq - 7); // all counted
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_loop_discards_a_bounded_number_and_serves_the_other_ports),
		cmocka_unit_test(
			frames_of_other_classes_wait_until_all_were_looked_at_and_keep_their_order),
		cmocka_unit_test(what_was_not_discarded_when_the_storm_ends_is_sent_in_order),
		cmocka_unit_test(a_link_that_goes_down_in_the_middle_of_discarding_takes_all),
		cmocka_unit_test(a_second_class_of_the_queue_is_discarded_from_its_beginning),
		cmocka_unit_test(
			an_xon_that_the_driver_refuses_leaves_once_as_soon_as_it_is_taken),
		cmocka_unit_test(
			an_xon_that_was_refused_until_the_storm_was_over_does_not_leave),
		cmocka_unit_test(
			words_make_and_prolong_a_storm_and_the_frames_behind_them_do_not),
	};

	return cmocka_run_group_tests_name("watchdog_loops", tests, bench_eal, NULL);
}
