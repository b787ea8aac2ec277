// SPDX-License-Identifier: Apache-2.0
// Streams, messages and rounds of standing connections: who posts what when. On 10G a message of
// 1000 B is on the wire for 878.4 ns, an ACK for 68.8, and a cable of 5 m takes 26.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

static const char *root;

static void make(struct world *w, const char *flows)
{
	char yaml[4096];

	snprintf(yaml, sizeof(yaml), "topology: {star: {hosts: 4, speed: 10G}}\nflows:\n%s", flows);
	world_create(w, root, yaml);
}

static void logs(const char *flows, uint64_t until_ns, const char *want)
{
	struct world w;
	char *got;

	make(&w, flows);
	world_run(&w, until_ns);
	got = world_log(&w);
	assert_string_equal(got, want);
	assert_int_equal(traffic_n_open(w.t), 0);
	free(got);
	world_destroy(&w);
}

// ---- each

static void each_sender_sends_to_each_receiver_but_itself(void **state)
{
	(void)state;
	logs("  - {from: \"h[1-2]\", to: \"h[2-3]\", size: 1000, count: 1}\n", 100000,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h2 > h3 1000 B: posted 0, done 2000\n"
	     "h1 > h3 1000 B: posted 0, done 2878\n");
}

static void pairs_join_the_first_with_the_first(void **state)
{
	(void)state;
	logs("  - {from: \"h[1-2]\", to: \"h[3-4]\", pairs: on, size: 1000, count: 1}\n", 100000,
	     "h1 > h3 1000 B: posted 0, done 2000\n"
	     "h2 > h4 1000 B: posted 0, done 2000\n");
}

static void a_closed_loop_posts_when_a_message_is_done(void **state)
{
	(void)state;
	logs("  - {from: h1, to: h2, size: 1000, count: 3}\n", 100000,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 2000, done 4000\n"
	     "h1 > h2 1000 B: posted 4000, done 6000\n");
	logs("  - {from: h1, to: h2, size: 1000, count: 4, depth: 2, start: 1us}\n", 100000,
	     "h1 > h2 1000 B: posted 1000, done 3000\n"
	     "h1 > h2 1000 B: posted 1000, done 3878\n"
	     "h1 > h2 1000 B: posted 3000, done 5000\n"
	     "h1 > h2 1000 B: posted 3878, done 5878\n");
}

static void an_interval_posts_whether_done_or_not(void **state)
{
	(void)state;
	// A message of 2000 B is 1756.8 - 12.8 ns on each link: longer than the interval.
	logs("  - {from: h1, to: h2, size: 1000, count: 3, interval: 500ns}\n", 100000,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 500, done 2878\n"
	     "h1 > h2 1000 B: posted 1000, done 3757\n");
}

static void nothing_is_posted_from_stop_on(void **state)
{
	(void)state;
	logs("  - {from: h1, to: h2, size: 1000, interval: 5us, stop: 10us}\n", 100000,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 5000, done 7000\n");
	logs("  - {from: h1, to: h2, size: 1000, stop: 3us}\n", 100000,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 2000, done 4000\n");
}

// More than a queue pair takes: what waits in the host keeps its order and its time of posting.
static void messages_beyond_the_queue_pair_wait_in_order(void **state)
{
	enum { N = 400 };
	struct world w;

	(void)state;
	make(&w, "  - {from: h1, to: h2, size: 4000, count: 400, interval: 100ns}\n");
	world_run(&w, 5000000);
	assert_int_equal(traffic_n_done(w.t), N);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(traffic_done(w.t, i)->posted_ns, i * 100);
	world_destroy(&w);
}

static void every_queue_pair_has_a_row_and_its_bytes(void **state)
{
	struct world w;

	(void)state;
	make(&w, "  - {from: h1, to: [h2, h3], size: 5000, count: 2, qps: 2}\n"
		 "  - {name: back, from: h4, to: h1, size: 70, count: 1, class: 0}\n");
	assert_int_equal(traffic_n_conns(w.t), 5);
	world_run(&w, 1000000);
	for (uint32_t i = 0; i < 5; i++) {
		const struct traffic_conn *c = traffic_conn(w.t, i);

		assert_int_equal(c->flow, i / 4);
		assert_int_equal(c->src, i < 4 ? 0 : 3);
		assert_int_equal(c->dst, i < 2 ? 1 : i < 4 ? 2 : 0);
		assert_int_equal(c->cls, i < 4 ? 3 : 0);
		assert_int_equal(traffic_conn_counts(w.t, i).acked_bytes, i < 4 ? 10000 : 70);
	}
	assert_string_equal(w.sc->flows[0].label, "f1");
	assert_string_equal(w.sc->flows[1].label, "back");
	world_destroy(&w);
}

static void a_start_is_spread_over_its_jitter(void **state)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct world w;

	(void)state;
	make(&w, "  - {from: \"h[1-3]\", to: h4, qps: 40, size: 64, count: 1, jitter: 100us, "
		 "start: 7us}\n");
	world_run(&w, 1000000);
	assert_int_equal(traffic_n_done(w.t), 120);
	for (uint64_t i = 0; i < 120; i++) {
		uint64_t t = traffic_done(w.t, i)->posted_ns;

		first = t < first ? t : first;
		last = t > last ? t : last;
	}
	// Of 120 even draws the first is below 5 % and the last above 95 % but once in 470.
	assert_in_range(first, 7000, 12000);
	assert_in_range(last, 102000, 106999);
	world_destroy(&w);
}

static void a_packet_has_as_much_payload_as_asked(void **state)
{
	static const struct {
		const char *mtu;
		uint64_t packets;
	} rows[] = {{"auto", 10}, {"1000", 10}, {"1024", 10},
		    {"999", 11},  {"100", 100}, {"1440", 7}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nic_stats s;
		struct world w;
		char flow[256];

		snprintf(flow, sizeof(flow),
			 "  - {from: h1, to: h2, size: 10000, count: 1, mtu: %s}\n", rows[i].mtu);
		make(&w, flow);
		world_run(&w, 100000);
		s = *nic_stats_now(w.f->hosts[0].nic);
		assert_int_equal(s.cls[3].tx_packets, rows[i].packets);
		assert_int_equal(traffic_n_done(w.t), 1);
		world_destroy(&w);
	}
}

// ---- streams

static void a_stream_fills_the_line_until_it_is_stopped(void **state)
{
	struct nic_stats s;
	struct world w;
	uint64_t bytes;

	(void)state;
	make(&w, "  - {from: h1, to: h2, start: 100us, stop: 1100us, mtu: 1024, op: send}\n");
	world_run(&w, 99000);
	s = *nic_stats_now(w.f->hosts[0].nic);
	assert_int_equal(s.tx_frames, 0);
	world_run(&w, 1100000);
	// 1106 B of 10G for each 1024 B of payload; every 16 packets are acknowledged.
	bytes = traffic_conn_counts(w.t, 0).acked_bytes;
	assert_in_range(bytes, 1000000 * 1024 / (1106 * 8 / 10) - 2 * 16 * 1024,
			1000000 * 1024 / (1106 * 8 / 10));
	world_run(&w, 2000000);
	// The message under way is finished: 128 packets at most.
	assert_in_range(traffic_conn_counts(w.t, 0).acked_bytes, bytes, bytes + 140 * 1024);
	assert_int_equal(traffic_conn_counts(w.t, 0).acked_bytes % (128 * 1024), 0);
	assert_int_equal(traffic_n_done(w.t), 0);
	world_destroy(&w);
}

static void a_paced_stream_keeps_its_rate(void **state)
{
	struct world w;

	(void)state;
	make(&w, "  - {from: h1, to: h2, rate: 2G, mtu: 1024, op: send}\n");
	world_run(&w, 10000000);
	// 20 Mb in packets of 1106 B.
	assert_in_range(traffic_conn_counts(w.t, 0).acked_bytes, 2250000,
			2500000ull * 1024 / 1106 + 4096);
	world_destroy(&w);
}

static void cc_off_ignores_cnps_and_cc_on_does_not(void **state)
{
	struct nic_flow_status s[2];
	struct world w;

	(void)state;
	world_create(&w, root,
		     "topology: {star: {hosts: 4, speed: 10G}}\n"
		     "hosts: {\"h[1-4]\": {nic: {cc: paper}}}\n"
		     "flows:\n  - {from: h1, to: h4, cc: off}\n  - {from: \"h[2-3]\", to: h4}\n");
	world_run(&w, 3000000);
	for (uint32_t i = 0; i < 2; i++)
		s[i] = nic_flow_status(w.f->hosts[i].nic, traffic_conn(w.t, i)->id);
	assert_int_equal(s[0].rate_bps, 0);
	assert_true(s[0].cnps > 0);
	assert_true(s[1].rate_bps > 0 && s[1].rate_bps < 9000000000);
	world_destroy(&w);
}

static void connections_made_on_the_wire_carry_the_same(void **state)
{
	struct world w;
	char *got;

	(void)state;
	world_create(
		&w, root,
		"connect: cm\ntopology: {star: {hosts: 4, speed: 10G}}\nflows:\n"
		"  - {from: h1, to: h2, size: 1000, count: 2, class: 0}\n"
		"  - {from: h3, to: h4, op: send}\n"
		"  - {pattern: poisson, from: h2, to: h1, size: 3000, load: 10%, stop: 1ms}\n");
	world_run(&w, 3000000);
	got = world_log(&w);
	// What waits for a connection is posted, and counted, from the start.
	assert_non_null(strstr(got, "h1 > h2 1000 B: posted 0, done "));
	assert_true(traffic_n_done(w.t) > 20);
	assert_int_equal(traffic_n_open(w.t), 0);
	assert_true(traffic_conn_counts(w.t, 1).acked_bytes > 2000000);
	free(got);
	world_destroy(&w);
}

// ---- rounds

static void the_ends_of_a_flow_may_have_tags_of_their_own(void **state)
{
	static const char yaml[] =
		"topology: {star: {hosts: 2, speed: 10G}}\n"
		"override: {vlans: [{id: 100}], ports: [{name: p1, vlan: {tagged: [100]}}, "
		"{name: p2, vlan: {untagged: 100}}]}\n"
		"hosts: {h1: {vlan: 100}}\n"
		"flows:\n  - {from: \"h[1-2]\", to: \"h[1-2]\", size: 5000, count: 9}\n";
	struct world w;

	(void)state;
	world_create(&w, root, yaml);
	world_run(&w, 1000000);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nic_stats *s = nic_stats_now(w.f->hosts[i].nic);

		assert_int_equal(traffic_conn_counts(w.t, i).acked_bytes, 9 * 5000);
		assert_int_equal(s->ignored + s->unknown_qp + s->timeouts, 0);
	}
	world_destroy(&w);
}

static void an_incast_posts_at_one_instant_and_again_when_all_are_done(void **state)
{
	(void)state;
	logs("  - {pattern: incast, from: \"h[1-3]\", to: h4, size: 1000, count: 2}\n", 100000,
	     "h1 > h4 1000 B: posted 0, done 2000\n"
	     "h2 > h4 1000 B: posted 0, done 2878\n"
	     "h3 > h4 1000 B: posted 0, done 3757\n"
	     "h1 > h4 1000 B: posted 3757, done 5757\n"
	     "h2 > h4 1000 B: posted 3757, done 6635\n"
	     "h3 > h4 1000 B: posted 3757, done 7514\n");
}

static void rounds_take_one_receiver_after_the_other(void **state)
{
	(void)state;
	logs("  - {pattern: incast, from: \"h[1-4]\", to: \"h[3-4]\", size: 1000, count: 3, "
	     "interval: 20us}\n",
	     100000,
	     "h1 > h3 1000 B: posted 0, done 2000\n"
	     "h2 > h3 1000 B: posted 0, done 2878\n"
	     "h4 > h3 1000 B: posted 0, done 3757\n"
	     "h1 > h4 1000 B: posted 20000, done 22000\n"
	     "h2 > h4 1000 B: posted 20000, done 22878\n"
	     "h3 > h4 1000 B: posted 20000, done 23757\n"
	     "h1 > h3 1000 B: posted 40000, done 42000\n"
	     "h2 > h3 1000 B: posted 40000, done 42878\n"
	     "h4 > h3 1000 B: posted 40000, done 43757\n");
}

// 600 rounds of 2 out of 3: each sender 400 times, with a deviation of 12.
static void fan_draws_as_many_senders_for_each_round(void **state)
{
	uint32_t by_sender[3] = {0}, same = 0;
	struct world w;

	(void)state;
	make(&w,
	     "  - {pattern: incast, from: \"h[1-3]\", to: h4, size: 100, count: 600, fan: 2}\n");
	world_run(&w, 20000000);
	assert_int_equal(traffic_n_done(w.t), 1200);
	for (uint64_t i = 0; i < 1200; i += 2) {
		const struct traffic_done *a = traffic_done(w.t, i), *b = traffic_done(w.t, i + 1);

		assert_int_equal(a->posted_ns, b->posted_ns);
		same += a->src == b->src;
		by_sender[a->src]++;
		by_sender[b->src]++;
	}
	assert_int_equal(same, 0);
	for (int i = 0; i < 3; i++)
		assert_in_range(by_sender[i], 360, 440);
	world_destroy(&w);
}

static void all_to_all_begins_each_round_when_the_last_is_over(void **state)
{
	uint32_t met[4][4] = {{0}};
	struct world w;
	uint64_t round = 0, end = 0;

	(void)state;
	make(&w, "  - {pattern: all-to-all, from: \"h*\", size: 1000, count: 3}\n");
	world_run(&w, 100000);
	assert_int_equal(traffic_n_done(w.t), 36);
	for (uint64_t i = 0; i < 36; i++) {
		const struct traffic_done *d = traffic_done(w.t, i);

		if (i % 12 == 0)
			round = end;
		assert_int_equal(d->posted_ns, round);
		met[d->src][d->dst]++;
		end = d->done_ns;
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
			assert_int_equal(met[i][k], i == k ? 0 : 3);
	// Shifted, no receiver has two senders at once: a round takes three messages, not nine.
	assert_true(end < 3 * 6000);
	world_destroy(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sender_sends_to_each_receiver_but_itself),
		cmocka_unit_test(pairs_join_the_first_with_the_first),
		cmocka_unit_test(a_closed_loop_posts_when_a_message_is_done),
		cmocka_unit_test(an_interval_posts_whether_done_or_not),
		cmocka_unit_test(nothing_is_posted_from_stop_on),
		cmocka_unit_test(messages_beyond_the_queue_pair_wait_in_order),
		cmocka_unit_test(every_queue_pair_has_a_row_and_its_bytes),
		cmocka_unit_test(a_start_is_spread_over_its_jitter),
		cmocka_unit_test(a_packet_has_as_much_payload_as_asked),
		cmocka_unit_test(a_stream_fills_the_line_until_it_is_stopped),
		cmocka_unit_test(a_paced_stream_keeps_its_rate),
		cmocka_unit_test(cc_off_ignores_cnps_and_cc_on_does_not),
		cmocka_unit_test(connections_made_on_the_wire_carry_the_same),
		cmocka_unit_test(the_ends_of_a_flow_may_have_tags_of_their_own),
		cmocka_unit_test(an_incast_posts_at_one_instant_and_again_when_all_are_done),
		cmocka_unit_test(rounds_take_one_receiver_after_the_other),
		cmocka_unit_test(fan_draws_as_many_senders_for_each_round),
		cmocka_unit_test(all_to_all_begins_each_round_when_the_last_is_over),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
