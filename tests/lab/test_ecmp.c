// SPDX-License-Identifier: Apache-2.0
// How a router spreads flows, judged against the distribution of a fair choice, and how a reload
// changes its routes while frames pass.
#include "tests/lab/router.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/packet/wire.h"

// ---- ECMP

enum { FLOWS = 4000 };

static void send_flow(struct bench *b, unsigned flow, bool v6)
{
	router_send(b, P1,
		    &(struct router_packet){.src = v6 ? "fd00:1::2" : "10.0.1.2",
					    .dst = v6 ? "fd00:8::1" : "10.8.0.1",
					    .sport = (uint16_t)(1000 + flow),
					    .dport = 80,
					    .len = 80});
}

// Flows of a host, by the port at which they arrive.
static unsigned ports_of(const struct bench_host *h, unsigned off, uint8_t *seen)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < h->n_rx; i++) {
		unsigned flow = be16_get(h->rx[i].data + off) - 1000u;

		assert_true(flow < FLOWS);
		n += !seen[flow];
		seen[flow] = 1;
	}
	return n;
}

// n of `of` flows on one of k ways: within four and a half standard deviations of its share, which
// a fair hash misses once in 150,000.
static void expect_share(unsigned n, unsigned of, unsigned k)
{
	double mean = (double)of / k, off = n - mean;

	if (off * off > 4.5 * 4.5 * mean * (1 - 1.0 / k))
		fail_msg("%u of %u flows on one of %u ways", n, of, k);
}

static void flows_spread_evenly_and_each_keeps_its_way(void **state)
{
	struct bench *b = router_open(router_routes);
	unsigned total = 0;

	(void)state;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < FLOWS; i++)
			send_flow(b, i, false);
	bench_run(b, 3 * FLOWS * 100ull);
	assert_int_equal(router_received(b), 3 * FLOWS);
	for (unsigned p = P3; p <= P6; p++) {
		uint8_t seen[FLOWS] = {0};
		unsigned n = ports_of(&b->host[p], 34, seen);

		expect_share(n, FLOWS, 4);
		assert_int_equal(b->host[p].n_rx, 3 * n); // all frames of its flows, and no other
		total += n;
	}
	assert_int_equal(total, FLOWS);
	bench_close(b);
}

static void flows_of_ipv6_spread_too(void **state)
{
	struct bench *b = router_open(router_routes);
	uint8_t seen[FLOWS] = {0};
	unsigned n;

	(void)state;
	for (unsigned i = 0; i < FLOWS; i++)
		send_flow(b, i, true);
	bench_run(b, FLOWS * 100ull);
	n = ports_of(&b->host[P3], 54, seen);
	expect_share(n, FLOWS, 2);
	assert_int_equal(n + ports_of(&b->host[P4], 54, seen), FLOWS);
	bench_close(b);
}

static void qps_are_flows_only_where_the_policy_says_so(void **state)
{
	(void)state;
	for (unsigned by_qp = 0; by_qp < 2; by_qp++) {
		struct bench *b = bench_open(
			router_policy(by_qp ? ", hash: 5tuple+qp" : "", router_routes), 0);
		unsigned used = 0;

		for (unsigned qp = 1; qp <= 200; qp++)
			router_send(b, P1,
				    &(struct router_packet){.src = "10.0.1.2",
							    .dst = "10.8.0.1",
							    .sport = 50000,
							    .qp = qp});
		router_settle(b);
		for (unsigned p = P3; p <= P6; p++) {
			used += b->host[p].n_rx != 0;
			if (by_qp)
				expect_share(b->host[p].n_rx, 200, 4);
		}
		assert_int_equal(used, by_qp ? 4 : 1);
		bench_close(b);
	}
}

static void fragments_of_a_datagram_stay_together(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		struct router_packet p = {.src = "10.0.1.2",
					  .dst = "10.8.0.1",
					  .sport = (uint16_t)(i * 7),
					  .frag = i % 2 ? 0x2000 : 100};

		router_send(b, P1, &p);
	}
	router_settle(b);
	for (unsigned p = P3; p <= P6; p++)
		assert_true(b->host[p].n_rx == 0 || b->host[p].n_rx == 64);
	bench_close(b);
}

static void neighbour_of_p5(struct bench *b, bool there)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 5};

	router_neighbour(b, P5, "10.0.5.2", there ? mac : NULL);
}

static void link_of_p5(struct bench *b, bool there)
{
	wire_set_up(b->host[P5].wire, there);
	switch_links_changed(b->sw);
	bench_control(b);
}

// It takes its flows elsewhere, and no other; they come back with it.
static void expect_flows_leave_p5(void (*set)(struct bench *b, bool there))
{
	uint8_t before[N_PORTS][FLOWS] = {{0}}, after[N_PORTS][FLOWS] = {{0}};
	struct bench *b = router_open(router_routes);
	unsigned moved;

	for (unsigned i = 0; i < FLOWS; i++)
		send_flow(b, i, false);
	bench_run(b, FLOWS * 100ull);
	for (unsigned p = P3; p <= P6; p++)
		ports_of(&b->host[p], 34, before[p]);
	moved = b->host[P5].n_rx;
	set(b, false);
	for (unsigned p = P3; p <= P6; p++)
		b->host[p].n_rx = 0;
	for (unsigned i = 0; i < FLOWS; i++)
		send_flow(b, i, false);
	bench_run(b, FLOWS * 100ull);
	assert_int_equal(b->host[P5].n_rx, 0);
	for (unsigned p = P3; p <= P6; p++) {
		unsigned came = ports_of(&b->host[p], 34, after[p]);

		for (unsigned i = 0; p != P5 && i < FLOWS; i++)
			assert_true(!before[p][i] || after[p][i]);
		if (p != P5) {
			unsigned more = came;

			for (unsigned i = 0; i < FLOWS; i++)
				more -= before[p][i];
			expect_share(more, moved, 3);
		}
	}
	set(b, true);
	for (unsigned i = 0; i < FLOWS; i++)
		send_flow(b, i, false);
	bench_run(b, FLOWS * 100ull);
	assert_int_equal(b->host[P5].n_rx, moved);
	bench_close(b);
}

static void a_next_hop_that_is_gone_leaves_the_flows_of_others_alone(void **state)
{
	(void)state;
	expect_flows_leave_p5(neighbour_of_p5);
}

static void a_link_that_is_down_takes_its_next_hop_out_of_the_route(void **state)
{
	(void)state;
	expect_flows_leave_p5(link_of_p5);
}

// Two tiers: what a switch sends one way must spread over all ways of the next one, if its seed is
// another. With the same seed it would not, which shows that the test can see it.
static void tiers_with_different_seeds_do_not_polarise(void **state)
{
	(void)state;
	for (unsigned same = 0; same < 2; same++) {
		struct bench *up = router_open(router_routes), *down;
		char text[8192], *seed;
		unsigned n;

		snprintf(text, sizeof(text), "%s", router_policy("", router_routes));
		seed = strstr(text, "seed: 7");
		seed[6] = same ? '7' : '8';
		down = bench_open(text, 0);
		for (unsigned i = 0; i < FLOWS; i++)
			send_flow(up, i, false);
		bench_run(up, FLOWS * 100ull);
		n = up->host[P3].n_rx;
		for (uint32_t i = 0; i < n; i++)
			send_flow(down, be16_get(up->host[P3].rx[i].data + 34) - 1000u, false);
		bench_run(down, FLOWS * 100ull);
		for (unsigned p = P3; p <= P6 && !same; p++)
			expect_share(down->host[p].n_rx, n, 4);
		if (same)
			assert_int_equal(down->host[P3].n_rx, n);
		bench_close(up);
		bench_close(down);
	}
}

// ---- reload

static void a_reload_changes_routes_between_two_frames(void **state)
{
	static const char before[] = "routes: [{to: 10.9.0.0/16, via: 10.0.3.2}]\n";
	static const char after[] = "routes: [{to: 10.9.0.0/16, via: 10.0.4.2}]\n";
	struct bench *b = router_open(before);
	unsigned n[2] = {0};

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.9.0.1"});
		router_settle(b);
		assert_int_equal(b->host[P3 + i % 2].n_rx, ++n[i % 2]);
		bench_publish(b, router_policy("", i % 2 ? before : after));
		bench_control(b);
	}
	assert_int_equal(router_received(b), 200);
	bench_close(b);
}

static void a_reload_under_traffic_loses_nothing(void **state)
{
	static const char before[] = "routes: [{to: 10.8.0.0/16, via: [10.0.3.2, 10.0.4.2]}]\n";
	static const char after[] = "routes: [{to: 10.8.0.0/16, via: [10.0.5.2, 10.0.6.2]}]\n";
	struct bench *b = router_open(before);

	(void)state;
	for (unsigned i = 0; i < FLOWS; i++)
		send_flow(b, i, false);
	for (unsigned i = 0; i < 20; i++) {
		bench_run(b, FLOWS * 4);
		bench_publish(b, router_policy("", i % 2 ? before : after));
		bench_control(b);
	}
	bench_run(b, FLOWS * 100ull);
	assert_int_equal(router_received(b), FLOWS);
	for (unsigned p = P3; p <= P6; p++)
		assert_true(b->host[p].n_rx > FLOWS / 10);
	bench_close(b);
}

static void a_port_may_become_a_routed_one_and_bridge_again(void **state)
{
	static const char bridge[] = "switch: {name: r}\n"
				     "ports:\n"
				     "  - {name: p1, device: \"wire:1\", speed: 10G}\n"
				     "  - {name: p2, device: \"wire:2\", speed: 10G}\n"
				     "  - {name: p3, device: \"wire:3\", speed: 10G}\n";
	static const char router[] =
		"switch: {name: r}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G}\n"
		"  - {name: p2, device: \"wire:2\", speed: 10G, ip: 10.0.2.1/24}\n"
		"  - {name: p3, device: \"wire:3\", speed: 10G}\n";
	struct bench *b = bench_open(bridge, 0);
	struct bench_frame to_p2 = {.to = P2, .len = 100};

	(void)state;
	bench_send(b, P2, &(struct bench_frame){.to = P1, .len = 100}); // p2 is learnt, and flooded
	router_settle(b);
	bench_control(b);
	bench_inject(b, P1, &to_p2, 1);
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 1);
	bench_publish(b, router);
	bench_inject(b, P1, &to_p2, 1);
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 1); // flooded to p3 only
	assert_int_equal(b->host[P3].n_rx, 2);
	bench_send(b, P2, &(struct bench_frame){.to = P1, .len = 100});
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_NOT_FOR_ROUTER), 1);
	bench_publish(b, bridge);
	bench_inject(b, P1, &to_p2, 1);
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 2); // flooded again
	bench_close(b);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(flows_spread_evenly_and_each_keeps_its_way),
		T(flows_of_ipv6_spread_too),
		T(qps_are_flows_only_where_the_policy_says_so),
		T(fragments_of_a_datagram_stay_together),
		T(a_next_hop_that_is_gone_leaves_the_flows_of_others_alone),
		T(a_link_that_is_down_takes_its_next_hop_out_of_the_route),
		T(tiers_with_different_seeds_do_not_polarise),
		T(a_reload_changes_routes_between_two_frames),
		T(a_reload_under_traffic_loses_nothing),
		T(a_port_may_become_a_routed_one_and_bridge_again),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
