// SPDX-License-Identifier: Apache-2.0
// Connections that are closed after so many messages and opened anew on the same queue pair
// numbers, straight or crossed, and what else a flow says of its queue pairs: the first PSN, and
// how many packets share an ACK. On 10G a message of 1000 B is done after 2 us.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/switch_flows.h"
#include "world.h"

#define US 1000ull

enum { QPS = 2 };

static const char *root;

static void make(struct world *w, const char *flow)
{
	char yaml[4096];

	snprintf(yaml, sizeof(yaml),
		 "topology: {star: {hosts: 2, speed: 10G}}\n"
		 "override: {switch: {flows: {max: 64}}}\nflows:\n  - %s\n",
		 flow);
	world_create(w, root, yaml);
}

static void logs(const char *flow, uint64_t until_ns, const char *want)
{
	struct world w;
	char *got;

	make(&w, flow);
	world_run(&w, until_ns);
	got = world_log(&w);
	assert_string_equal(got, want);
	free(got);
	world_destroy(&w);
}

struct numbers {
	uint32_t qpn[QPS], peer_qpn[QPS];
};

static struct numbers numbers_of(const struct world *w)
{
	struct numbers n = {0};

	for (uint32_t i = 0; i < QPS; i++) {
		const struct traffic_conn *c = traffic_conn(w->t, i);
		struct nic_flow_status s;

		assert_int_not_equal(c->id, TRAFFIC_NOT_OPEN);
		s = nic_flow_status(w->f->hosts[c->src].nic, c->id);
		n.qpn[i] = s.qpn;
		n.peer_qpn[i] = s.peer_qpn;
	}
	return n;
}

static void messages_go_on_after_the_pause(void **state)
{
	(void)state;
	logs("{from: h1, to: h2, size: 1000, count: 5, reuse: {after: 2}}", 100 * US,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 2000, done 4000\n"
	     "h1 > h2 1000 B: posted 14000, done 16000\n"
	     "h1 > h2 1000 B: posted 16000, done 18000\n"
	     "h1 > h2 1000 B: posted 28000, done 30000\n");
	logs("{from: h1, to: h2, size: 1000, count: 3, reuse: {after: 1, pause: 1us}}", 100 * US,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 3000, done 5000\n"
	     "h1 > h2 1000 B: posted 6000, done 8000\n");
}

// One message each interval before and after, not two.
static void an_interval_goes_on_as_one(void **state)
{
	(void)state;
	logs("{from: h1, to: h2, size: 1000, count: 6, interval: 20us, reuse: 2}", 200 * US,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 20000, done 22000\n"
	     "h1 > h2 1000 B: posted 32000, done 34000\n"
	     "h1 > h2 1000 B: posted 52000, done 54000\n"
	     "h1 > h2 1000 B: posted 64000, done 66000\n"
	     "h1 > h2 1000 B: posted 84000, done 86000\n");
}

static void the_numbers_stay(void **state)
{
	struct numbers first, n;
	struct world w;

	(void)state;
	make(&w, "{from: h1, to: h2, size: 1000, qps: 2, reuse: 1}");
	world_run(&w, 1 * US);
	first = numbers_of(&w);
	for (unsigned i = 1; i <= 3; i++) {
		world_run(&w, i * 12 * US + 1500); // both are open
		n = numbers_of(&w);
		assert_memory_equal(&n, &first, sizeof(n));
		assert_true(nic_stats_now(w.f->hosts[1].nic)->connections_accepted > QPS * i);
	}
	world_destroy(&w);
}

static void crossed_they_change_places_at_the_receiver(void **state)
{
	struct numbers first, n;
	struct world w;

	(void)state;
	make(&w, "{from: h1, to: h2, size: 1000, qps: 2, first_psn: 0, "
		 "reuse: {after: 1, crossed: on}}");
	world_run(&w, 1 * US);
	first = numbers_of(&w);
	world_run(&w, 13500); // both were done at 2878, and are open again
	n = numbers_of(&w);
	assert_memory_equal(n.qpn, first.qpn, sizeof(n.qpn));
	assert_int_equal(n.peer_qpn[0], first.peer_qpn[1]);
	assert_int_equal(n.peer_qpn[1], first.peer_qpn[0]);
	world_run(&w, 26500);
	n = numbers_of(&w);
	assert_memory_equal(&n, &first, sizeof(n));
	world_run(&w, 1000 * US);
	assert_true(traffic_n_done(w.t) > 100);
	world_destroy(&w);
}

// Two of three change places; the third waits for a partner, but not for ever.
static void one_without_a_partner_goes_on_alone(void **state)
{
	(void)state;
	logs("{from: h1, to: h2, size: 1000, qps: 3, count: 2, "
	     "reuse: {after: 1, crossed: on, pause: 200us}}",
	     350 * US,
	     "h1 > h2 1000 B: posted 0, done 2000\n"
	     "h1 > h2 1000 B: posted 0, done 2878\n"
	     "h1 > h2 1000 B: posted 0, done 3757\n"
	     "h1 > h2 1000 B: posted 202878, done 204878\n"
	     "h1 > h2 1000 B: posted 202878, done 205756\n"
	     "h1 > h2 1000 B: posted 303757, done 305757\n");
}

static void next_psn(void *arg, uint32_t place, const struct flow_row *r)
{
	(void)place;
	*(uint32_t *)arg = r->psn;
}

static uint32_t psn_after(const char *flow, uint64_t until_ns)
{
	struct flows_look look = {.now_ns = until_ns, .n = 64, .fn = next_psn};
	uint32_t psn = UINT32_MAX;
	struct world w;

	look.arg = &psn;
	make(&w, flow);
	world_run(&w, until_ns);
	look.n = switch_flows_places(w.f->switches[0].in.sw);
	switch_flows_look(w.f->switches[0].in.sw, &look);
	world_destroy(&w);
	return psn;
}

static void the_first_psn_is_as_said_each_time(void **state)
{
	(void)state;
	assert_int_equal(
		psn_after("{from: h1, to: h2, size: 1000, count: 1, first_psn: 5}", 10 * US), 6);
	assert_int_equal(
		psn_after("{from: h1, to: h2, size: 1000, count: 3, first_psn: 16777215}", 10 * US),
		2);
	assert_int_equal(psn_after("{from: h1, to: h2, size: 1000, count: 7, first_psn: 40, "
				   "reuse: 3}",
				   100 * US),
			 41);
}

static void as_many_packets_share_an_ack_as_said(void **state)
{
	static const struct {
		const char *flow;
		uint64_t acks;
	} rows[] = {
		{"{from: h1, to: h2, size: 65536, mtu: 1024, count: 2}", 8},
		{"{from: h1, to: h2, size: 65536, mtu: 1024, count: 2, ack_every: 16}", 8},
		{"{from: h1, to: h2, size: 65536, mtu: 1024, count: 2, ack_every: 256}", 2},
		{"{from: h1, to: h2, size: 65536, mtu: 1024, count: 2, ack_every: 4}", 32},
		{"{from: h1, to: h2, size: 65536, mtu: 1024, count: 2, ack_every: 1}", 128},
		// An endless stream's messages are as long as that.
		{"{from: h1, to: h2, mtu: 1024, stop: 10us, ack_every: 256}", 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;

		make(&w, rows[i].flow);
		world_run(&w, 1000 * US);
		assert_int_equal(nic_stats_now(w.f->hosts[1].nic)->acks_sent, rows[i].acks);
		world_destroy(&w);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_on_after_the_pause),
		cmocka_unit_test(an_interval_goes_on_as_one),
		cmocka_unit_test(the_numbers_stay),
		cmocka_unit_test(crossed_they_change_places_at_the_receiver),
		cmocka_unit_test(one_without_a_partner_goes_on_alone),
		cmocka_unit_test(the_first_psn_is_as_said_each_time),
		cmocka_unit_test(as_many_packets_share_an_ack_as_said),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
