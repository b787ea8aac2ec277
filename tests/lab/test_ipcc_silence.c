// SPDX-License-Identifier: Apache-2.0
// When a switch sends no notifications, and what they have to do with pauses, WRED, reloads, and
// the times at which a worker is woken.
#include "tests/lab/ipcc_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"

enum { US = 1000 };

static struct ipcc_seen seen; // of the test at hand

static struct bench *open_policy(const struct ipcc_policy *p)
{
	memset(&seen, 0, sizeof(seen));
	return ipcc_open(p);
}

static struct bench *open_with(const char *ipcc)
{
	return open_policy(&(struct ipcc_policy){.ipcc = ipcc});
}

// ---- silence

static void victims_of_a_pause_are_not_told(void **state)
{
	struct bench *b = open_with("on");
	uint64_t freed_ns;

	(void)state;
	bench_pause(b, IPCC_TO, 1 << IPCC_QUEUE, 0xffff);
	bench_run(b, 1000);
	ipcc_incast(b, 2, 60);
	bench_run(b, 70 * US);
	assert_true(ipcc_length(b) > 2 * IPCC_KMAX);
	assert_int_equal(switch_cnp_records(b->sw, seen.records, 1), 0);
	assert_true(ctr_get(&ipcc_counters(b)->muted) >= 5);
	bench_pause(b, IPCC_TO, 1 << IPCC_QUEUE, 0);
	freed_ns = b->clock.now_ns + bench_wire_ns(b, IPCC_TO, PFC_FRAME_LEN);
	ipcc_incast(b, 2, 60);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	// Not before a whole interval without a pause has been seen.
	assert_true(seen.n > 0);
	assert_int_equal(seen.records[0].t_ns, freed_ns + 5 * US);
	bench_close(b);
}

static void a_pause_that_runs_out_ends_the_silence_an_interval_later(void **state)
{
	struct bench *b = open_with("on");
	uint64_t paused_ns = b->clock.now_ns + bench_wire_ns(b, IPCC_TO, PFC_FRAME_LEN);

	(void)state;
	bench_pause(b, IPCC_TO, 1 << IPCC_QUEUE, 1000); // 51.2 us
	ipcc_incast(b, 2, 200);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(seen.n > 0);
	assert_int_equal(seen.records[0].t_ns, paused_ns + 51200 + 5 * US);
	bench_close(b);
}

static void a_queue_that_an_operator_stopped_is_silent(void **state)
{
	(void)state;
	for (int queue = -1; queue <= IPCC_QUEUE; queue += IPCC_QUEUE + 1) {
		struct bench *b = open_with("on");

		bench_tx(b, IPCC_TO, queue, false);
		ipcc_incast(b, 2, 60);
		ipcc_settle(b);
		assert_int_equal(switch_cnp_records(b->sw, seen.records, 1), 0);
		assert_true(ctr_get(&ipcc_counters(b)->muted) > 100);
		bench_tx(b, IPCC_TO, queue, true);
		ipcc_settle(b);
		ipcc_explain(b, &seen);
		bench_close(b);
	}
}

static void what_a_link_that_goes_down_flushes_is_forgotten(void **state)
{
	struct bench *b = open_with("on");

	(void)state;
	bench_pause(b, IPCC_TO, 1 << IPCC_QUEUE, 0xffff);
	bench_run(b, 1000);
	ipcc_incast(b, 2, 30);
	bench_run(b, 50 * US);
	wire_set_up(b->host[IPCC_TO].wire, false);
	switch_links_changed(b->sw);
	bench_control(b);
	bench_run(b, 1);
	assert_int_equal(ipcc_length(b), 0);
	wire_set_up(b->host[IPCC_TO].wire, true);
	switch_links_changed(b->sw);
	bench_control(b);
	bench_run(b, 20 * US);
	ipcc_incast(b, 2, 40);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(seen.n > 0);
	assert_int_equal(seen.records[0].len_bytes, IPCC_KMIN + IPCC_FRAME);
	bench_close(b);
}

// The watchdog lets the queue go in spite of the pause that never ends: still its flows are not the
// cause.
static void a_queue_in_a_storm_is_silent(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){
		.ipcc = "on",
		.keys = "    watchdog: {action: forward, detect: 100ms, restore: 100ms}\n"});
	uint64_t sent;

	(void)state;
	bench_storm(b, IPCC_TO, 1 << IPCC_QUEUE, 0xffff, 1000 * US);
	ipcc_incast(b, 2, 20);
	bench_run(b, 120000 * US);
	sent = ctr_get(&switch_queue_counters(b->sw, IPCC_TO, IPCC_QUEUE)->tx_packets);
	assert_true(sent >= 40);
	ipcc_incast(b, 2, 60);
	bench_run(b, 49 * US);
	assert_true(ipcc_length(b) > IPCC_KMAX);
	assert_true(ctr_get(&switch_queue_counters(b->sw, IPCC_TO, IPCC_QUEUE)->tx_packets) > sent);
	bench_run(b, 1000 * US);
	bench_storm(b, IPCC_TO, 0, 0, 0);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_int_equal(seen.n, 0);
	bench_close(b);
}

// ---- its own frames

static void cnps_are_no_flows(void **state)
{
	struct bench *b = open_with("on");
	struct flow_totals t;

	(void)state;
	ipcc_incast(b, 2, 60);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	switch_flow_totals(b->sw, &t);
	assert_int_equal(t.made, 2);
	assert_int_equal(t.pairing.matches + t.pairing.wrong_port, 0);
	for (unsigned port = 0; port < IPCC_PORTS; port++)
		assert_int_equal(ctr_get(&switch_port_flows(b->sw, port)->cnps_seen), 0);
	bench_close(b);
}

// Their queue is full of what WRED marks and drops; theirs it leaves alone. PFC does not stop them
// either.
static void cnps_are_neither_marked_nor_dropped_nor_paused(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){
		.ipcc = "on",
		.classes = "      6: {schedule: strict, wred: {ecn: on, kmin: 1KB, kmax: 1KB, "
			   "pmax: 100%, mark_at: enqueue}}\n"});
	struct bench_frame busy = {.to = 0, .dscp = 48, .ecn = ECN_ECT0, .len = 1000};
	struct ipcc_cnp c;

	(void)state;
	bench_pause(b, 0, 0xff, 0xffff);
	for (unsigned i = 0; i < 200; i++) {
		busy.ecn = i % 2 ? ECN_ECT0 : ECN_NOT_ECT;
		bench_send(b, 3, &busy);
		bench_send(b, IPCC_TO, &busy);
	}
	ipcc_incast(b, 2, 100);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(ctr_get(&switch_queue_counters(b->sw, 0, 6)->ecn_marked) > 50);
	assert_true(bench_drops(b, DROP_WRED) > 50);
	assert_true(ipcc_cnps(b, 0) > 0);
	for (unsigned i = 0; ipcc_cnp(b, 0, i, &c); i++)
		assert_int_equal(c.info.ecn, ECN_ECT0);
	bench_close(b);
}

// ---- WRED in the same queue

static unsigned marked(const struct bench *b)
{
	return (unsigned)ctr_get(&switch_queue_counters(b->sw, IPCC_TO, IPCC_QUEUE)->ecn_marked);
}

// The notifications are the same whatever WRED does: both go by the length.
static void marking_changes_nothing_about_notifications(void **state)
{
	static const char *const wred[] = {NULL, ", ecn: on, mark_at: enqueue",
					   ", ecn: on, mark_at: dequeue"};
	static struct ipcc_seen first;

	(void)state;
	for (size_t i = 0; i < sizeof(wred) / sizeof(wred[0]); i++) {
		struct bench *b = open_policy(&(struct ipcc_policy){.ipcc = "on", .wred = wred[i]});

		ipcc_incast(b, 3, 100);
		ipcc_settle(b);
		ipcc_explain(b, &seen);
		assert_true(seen.n > 5);
		if (i == 0)
			first = seen;
		assert_memory_equal(&seen, &first, sizeof(seen));
		assert_true(i == 0 ? marked(b) == 0 : marked(b) > 50);
		bench_close(b);
	}
}

static void frames_of_a_flow_just_told_are_spared(void **state)
{
	static const char *const wred[] = {", ecn: on, mark_at: enqueue",
					   ", ecn: on, mark_at: dequeue"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bench *b = open_policy(&(struct ipcc_policy){
			.ipcc = "{spare: 10ms, min_gap: 100ms}", .wred = wred[i]});
		uint64_t told_ns;

		// Two that are told, and one that is not, since nobody knows its pair.
		ipcc_incast(b, 2, 100);
		ipcc_send(b, &(struct ipcc_data){.from = 3, .to = IPCC_TO, .qp = 77}, 100);
		ipcc_settle(b);
		ipcc_explain(b, &seen);
		assert_int_equal(seen.n, 2);
		assert_true(ctr_get(&ipcc_counters(b)->spared) > 50);
		assert_true(marked(b) > 50 && marked(b) <= 110);
		told_ns = seen.records[1].t_ns;
		for (uint32_t k = 0; k < b->host[IPCC_TO].n_rx; k++) {
			const struct bench_rx *rx = &b->host[IPCC_TO].rx[k];

			// Those that stood in the queue before have left by then.
			if ((rx->data[15] & 3) == ECN_CE && rx->t_ns > told_ns + 200 * US)
				assert_int_equal(rx->data[11], 4);
		}
		bench_close(b);
	}
}

// ---- reload

static void ipcc_comes_and_goes_with_the_policy_under_load(void **state)
{
	char *on = strdup(ipcc_yaml(&(struct ipcc_policy){.ipcc = "on"}));
	char *off = strdup(ipcc_yaml(&(struct ipcc_policy){.ipcc = "off"}));
	struct bench *b = bench_open(off, 0);
	unsigned n[4];

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_null(ipcc_counters(b));
	ipcc_incast(b, 2, 800);
	bench_run(b, 100 * US);
	n[0] = ipcc_cnps(b, 0) + ipcc_cnps(b, 1);
	bench_publish(b, on);
	bench_run(b, 100 * US);
	n[1] = ipcc_cnps(b, 0) + ipcc_cnps(b, 1);
	bench_publish(b, off);
	bench_run(b, 5 * US); // what is on its way
	n[2] = ipcc_cnps(b, 0) + ipcc_cnps(b, 1);
	bench_run(b, 100 * US);
	assert_int_equal(ipcc_cnps(b, 0) + ipcc_cnps(b, 1), n[2]);
	bench_publish(b, on);
	bench_run(b, 100 * US);
	n[3] = ipcc_cnps(b, 0) + ipcc_cnps(b, 1);
	assert_int_equal(n[0], 0);
	assert_true(n[1] >= 10 && n[2] - n[1] <= 2 && n[3] >= n[2] + 10);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	bench_close(b);
	free(on);
	free(off);
}

// By what may pair no more nobody is told, though it is known from before.
static void pairs_of_a_source_that_was_turned_off_are_not_used(void **state)
{
	static const char from[] = "switch: {name: lab,", to[] = "pairing: {sources: [cm]},";
	char *on = strdup(ipcc_yaml(&(struct ipcc_policy){.ipcc = "on"}));
	char *off = malloc(strlen(on) + sizeof(to));
	struct bench *b = bench_open(on, 0);
	unsigned n;

	(void)state;
	assert_int_equal(strncmp(on, from, strlen(from)), 0);
	sprintf(off, "%s%s%s", from, to, on + strlen(from));
	ipcc_incast(b, 2, 800);
	bench_run(b, 100 * US);
	assert_true(ipcc_cnps(b, 0) + ipcc_cnps(b, 1) >= 10);
	bench_publish(b, off);
	bench_run(b, 5 * US); // what is on its way
	n = ipcc_cnps(b, 0) + ipcc_cnps(b, 1);
	bench_run(b, 100 * US);
	assert_int_equal(ipcc_cnps(b, 0) + ipcc_cnps(b, 1), n);
	assert_true(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_UNPAIRED]) > 10);
	bench_close(b);
	free(on);
	free(off);
}

// ---- wake-ups

static void run_world(bool polled, struct ipcc_seen *out)
{
	const struct bench_opts o = {.delay_ns = 77, .seed = 1, .polled = polled};
	const struct ipcc_policy p = {.ipcc = "{min_gap: 7us, interval: 3us}",
				      .wred = ", ecn: on, mark_at: dequeue"};
	struct bench *b = bench_open_with(ipcc_yaml(&p), &o);

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned from = 0; from < IPCC_PORTS; from++)
			if (from != IPCC_TO)
				ipcc_send(b,
					  &(struct ipcc_data){.from = from,
							      .to = IPCC_TO,
							      .qp = IPCC_QP + round % 4,
							      .len = (uint16_t)(300 + 311 * from)},
					  10 + 7 * round % 40);
		bench_run(b, 20 * US + 1234 * round);
		if (round % 3 == 0)
			bench_pause(b, IPCC_TO, 1 << IPCC_QUEUE, (uint16_t)(40 * round));
		if (round % 7 == 3)
			bench_tx(b, IPCC_TO, -1, false);
		bench_run(b, 9 * US);
		bench_tx(b, IPCC_TO, -1, true);
	}
	ipcc_settle(b);
	memset(out, 0, sizeof(*out));
	ipcc_explain(b, out);
	bench_close(b);
}

// A worker that is woken for what it has asked for sees what one sees that looks all the time.
static void looking_where_something_happened_equals_looking_everywhere(void **state)
{
	static struct ipcc_seen a, b;

	(void)state;
	run_world(false, &a);
	run_world(true, &b);
	assert_true(a.n > 50);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.records, b.records, a.n * sizeof(a.records[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(victims_of_a_pause_are_not_told),
		cmocka_unit_test(a_pause_that_runs_out_ends_the_silence_an_interval_later),
		cmocka_unit_test(a_queue_that_an_operator_stopped_is_silent),
		cmocka_unit_test(what_a_link_that_goes_down_flushes_is_forgotten),
		cmocka_unit_test(a_queue_in_a_storm_is_silent),
		cmocka_unit_test(cnps_are_no_flows),
		cmocka_unit_test(cnps_are_neither_marked_nor_dropped_nor_paused),
		cmocka_unit_test(marking_changes_nothing_about_notifications),
		cmocka_unit_test(frames_of_a_flow_just_told_are_spared),
		cmocka_unit_test(ipcc_comes_and_goes_with_the_policy_under_load),
		cmocka_unit_test(pairs_of_a_source_that_was_turned_off_are_not_used),
		cmocka_unit_test(looking_where_something_happened_equals_looking_everywhere),
	};

	return cmocka_run_group_tests_name("ipcc_silence", tests, bench_eal, NULL);
}
