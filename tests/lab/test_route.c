// SPDX-License-Identifier: Apache-2.0
// Routed ports on the virtual clock: which way a frame goes, what is changed in it, why it is
// dropped, what is asked of control. Every number is exact.
#include "dataplane/policy.h"
#include "tests/lab/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_jhash.h>
#include <rte_rcu_qsbr.h>

#include "control/config/config.h"
#include "dataplane/forward/route.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_routes.h"

enum { SETTLE_NS = 1000000, WAIT_NS = 401000000 };

// ---- which way

static void the_longest_prefix_decides(void **state)
{
	static const struct {
		const char *src, *dst;
		unsigned port;
	} rows[] = {
		{"10.0.1.2", "10.9.0.1", P3},	    {"10.0.1.2", "10.9.6.255", P3},
		{"10.0.1.2", "10.9.7.0", P4},	    {"10.0.1.2", "10.9.7.8", P4},
		{"10.0.1.2", "10.9.7.9", P5},	    {"10.0.1.2", "10.0.2.2", P2},
		{"10.0.1.2", "10.0.1.2", P1},	    {"fd00:1::2", "fd00:9::1", P3},
		{"fd00:1::2", "fd00:9:0:7::1", P4}, {"fd00:1::2", "fd00:9:0:8::1", P3},
		{"fd00:1::2", "fd00:2::2", P2},
	};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned port = rows[i].port;
		uint32_t before = b->host[port].n_rx, all = router_received(b);

		router_send(b, P1, &(struct router_packet){.src = rows[i].src, .dst = rows[i].dst});
		router_settle(b);
		if (b->host[port].n_rx != before + 1 || router_received(b) != all + 1)
			fail_msg("%s does not go to port %u", rows[i].dst, port + 1);
	}
	bench_close(b);
}

// ---- what is changed

// All but MAC addresses, TTL and checksum is as it came; those are as they must be.
static void expect_routed(const struct bench_rx *rx, unsigned out, const uint8_t *sent,
			  uint16_t len)
{
	bool v6 = sent[12] == 0x86;
	uint8_t want[FRAME_MAX];

	memcpy(want, sent, len);
	memcpy(want, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(out + 1)}, 6);
	memcpy(want + 6, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(out + 1)}, 6);
	want[14 + (v6 ? 7 : 8)]--;
	if (!v6) {
		unsigned hlen = (want[14] & 0xfu) * 4;

		be16_put(want + 24, 0);
		be16_put(want + 24, router_csum(want + 14, hlen)); // anew, not step by step
	}
	assert_int_equal(rx->len, len);
	assert_memory_equal(rx->data, want, len < BENCH_KEEP ? len : BENCH_KEEP);
}

static void addresses_ttl_and_checksum_change_and_nothing_else(void **state)
{
	static const struct router_packet rows[] = {
		{.src = "10.0.1.2", .dst = "10.9.0.1"},
		{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 2},
		{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 255, .len = 1514},
		{.src = "10.0.1.2", .dst = "10.9.0.1", .options = true},
		{.src = "10.0.1.2", .dst = "10.9.0.1", .len = 60, .frag = 0x2000},
		{.src = "fd00:1::2", .dst = "fd00:9::1"},
		{.src = "fd00:1::2", .dst = "fd00:9::1", .ttl = 2, .len = 1514},
	};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t frame[FRAME_MAX];
		uint16_t len = router_build(frame, P1, &rows[i]);

		bench_send_raw(b, P1, frame, len);
		router_settle(b);
		assert_int_equal(b->host[P3].n_rx, i + 1);
		expect_routed(&b->host[P3].rx[i], P3, frame, len);
	}
	bench_close(b);
}

// The sum goes through all its values as the identification does: among them are those where a
// wrong carry shows.
static void the_checksum_is_right_for_every_sum(void **state)
{
	struct bench *b = router_open(router_routes);
	unsigned n = 0;

	(void)state;
	for (unsigned id = 0; id < 65536; id += 13, n++) {
		uint8_t frame[FRAME_MAX];
		uint16_t len = router_build(
			frame, P1,
			&(struct router_packet){.src = "10.0.1.2", .dst = "10.9.0.1", .len = 64});

		be16_put(frame + 18, (uint16_t)id);
		be16_put(frame + 24, 0);
		be16_put(frame + 24, router_csum(frame + 14, 20));
		bench_send_raw(b, P1, frame, len);
	}
	bench_run(b, n * 100ull);
	assert_int_equal(b->host[P3].n_rx, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(router_csum(b->host[P3].rx[i].data + 14, 20), 0);
	bench_close(b);
}

static void the_icrc_of_a_roce_frame_still_holds(void **state)
{
	static const char *const dst[] = {"10.9.0.1", "fd00:9::1"};
	static const char *const src[] = {"10.0.1.2", "fd00:1::2"};
	static const enum pkt_kind kind[] = {PKT_IPV4, PKT_IPV6};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t frame[FRAME_MAX];
		uint16_t len = router_build(
			frame, P1,
			&(struct router_packet){.src = src[i], .dst = dst[i], .qp = 5, .len = 110});
		uint32_t after, before = icrc(frame + 14, len - 14u - ROCE_ICRC_LEN, kind[i]);

		bench_send_raw(b, P1, frame, len);
		router_settle(b);
		assert_int_equal(b->host[P3].n_rx, i + 1);
		after = icrc(b->host[P3].rx[i].data + 14, len - 14u - ROCE_ICRC_LEN, kind[i]);
		assert_int_equal(before, after);
	}
	bench_close(b);
}

static void a_priority_tag_ends_at_the_router(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	router_send(b, P1,
		    &(struct router_packet){
			    .src = "10.0.1.2", .dst = "10.9.0.1", .tag = 3 << 13, .len = 104});
	router_settle(b);
	assert_int_equal(b->host[P3].n_rx, 1);
	assert_int_equal(b->host[P3].rx[0].len, 100);
	assert_int_equal(b->host[P3].rx[0].data[12], 8);
	assert_int_equal(router_csum(b->host[P3].rx[0].data + 14, 20), 0);
	bench_close(b);
}

// ---- why not

static void every_reason_to_drop_is_counted_as_such(void **state)
{
	static const struct {
		struct router_packet p;
		enum drop_reason reason;
	} rows[] = {
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1, .frag = 1}, DROP_TTL_EXPIRED},
		{{.src = "10.0.1.2", .dst = "11.0.0.1"}, DROP_NO_ROUTE},
		{{.src = "fd00:1::2", .dst = "fd01::1"}, DROP_NO_ROUTE},
		{{.src = "10.0.1.2", .dst = "10.7.0.1"}, DROP_NO_NEIGHBOUR},
		{{.src = "10.0.1.2", .dst = "10.0.2.99"}, DROP_NO_NEIGHBOUR},
		{{.src = "10.0.1.2", .dst = "10.6.0.1"}, DROP_NO_NEIGHBOUR},
		{{.src = "10.0.1.2", .dst = "10.0.1.1"}, DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.6.1", .ttl = 1}, DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.2.255"}, DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.2.0"}, DROP_TO_ROUTER},
		{{.src = "fd00:1::2", .dst = "fd00:2::1"}, DROP_TO_ROUTER},
		{{.src = "fd00:1::2", .dst = "fd00:2::"}, DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "224.0.0.5"}, DROP_MARTIAN},
		{{.src = "10.0.1.2", .dst = "127.0.0.1"}, DROP_MARTIAN},
		{{.src = "10.0.1.2", .dst = "0.0.0.1"}, DROP_MARTIAN},
		{{.src = "127.0.0.1", .dst = "10.9.0.1"}, DROP_MARTIAN},
		{{.src = "255.255.255.255", .dst = "10.9.0.1"}, DROP_MARTIAN},
		{{.src = "fe80::2", .dst = "fd00:9::1"}, DROP_MARTIAN},
		{{.src = "fd00:1::2", .dst = "ff02::1"}, DROP_MARTIAN},
		{{.src = "fd00:1::2", .dst = "fe80::1"}, DROP_MARTIAN},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .frag = 1}, DROP_EGRESS_MTU},
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .tag = 5}, DROP_VLAN_INGRESS},
	};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = bench_drops(b, rows[i].reason);

		router_send(b, P1, &rows[i].p);
		bench_run(b, rows[i].reason == DROP_NO_NEIGHBOUR ? WAIT_NS : SETTLE_NS);
		if (bench_drops(b, rows[i].reason) != before + 1)
			fail_msg("%s to %s is not counted as %s", rows[i].p.src, rows[i].p.dst,
				 drop_info[rows[i].reason].name);
	}
	assert_int_equal(router_received(b), 0);
	// The longest that fits does pass.
	router_send(b, P1,
		    &(struct router_packet){.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1414});
	router_settle(b);
	assert_int_equal(router_received(b), 1);
	bench_close(b);
}

static void a_broken_header_is_dropped(void **state)
{
	struct bench *b = router_open(router_routes);
	uint8_t frame[FRAME_MAX];
	uint16_t len;

	(void)state;
	for (unsigned bit = 0; bit < 8; bit++) {
		len = router_build(frame, P1,
				   &(struct router_packet){.src = "10.0.1.2", .dst = "10.9.0.1"});
		frame[24 + bit % 2] ^= (uint8_t)(1u << bit);
		bench_send_raw(b, P1, frame, len);
	}
	len = router_build(frame, P1,
			   &(struct router_packet){.src = "10.0.1.2", .dst = "10.9.0.1"});
	frame[14] = 0x44; // a header shorter than any
	bench_send_raw(b, P1, frame, len);
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_BAD_L3), 9);
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

static void nothing_is_bridged_to_or_from_a_routed_port(void **state)
{
	// p1 to p3 bridge, p4 to p6 route.
	static const char yaml[] = "switch: {name: r}\n"
				   "ports:\n"
				   "  - {name: \"p[1-3]\", device: \"wire:[1-3]\", speed: 10G}\n"
				   "  - {name: \"p[4-6]\", device: \"wire:[4-6]\", speed: 10G, ip: "
				   "\"10.0.[4-6].1/24\"}\n";
	struct bench *b = bench_open(yaml, 0);

	(void)state;
	bench_send(b, P1, &(struct bench_frame){.broadcast = true, .len = 100});
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 1);
	assert_int_equal(b->host[P3].n_rx, 1);
	assert_int_equal(router_received(b), 2);
	// A broadcast, another station, another protocol.
	bench_send(b, P4, &(struct bench_frame){.broadcast = true, .len = 100});
	bench_send(b, P4, &(struct bench_frame){.to = P1, .len = 100});
	bench_send(b, P4, &(struct bench_frame){.to = P5, .len = 100, .ether_type = 0x88b5});
	router_settle(b);
	assert_int_equal(router_received(b), 2);
	assert_int_equal(bench_drops(b, DROP_NOT_FOR_ROUTER), 3);
	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++)
		assert_false(b->events[i].type == EVENT_MAC_LEARNED && b->events[i].port >= P4);
	bench_close(b);
}

// ---- neighbours

static void an_unknown_next_hop_is_asked_for_once_and_used_when_it_is_known(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 6};
	struct bench *b = router_open(router_routes);
	struct neighbour_request ask;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.7.0.1"});
	router_settle(b);
	assert_true(switch_next_neighbour_request(b->sw, &ask));
	assert_int_equal(ask.port, P6);
	assert_memory_equal(ask.addr.ip, ((uint8_t[]){10, 0, 6, 77}), 4);
	assert_false(switch_next_neighbour_request(b->sw, &ask));
	// A tenth of a second later it is worth a question again.
	bench_run(b, 100000000);
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.7.0.1"});
	router_settle(b);
	assert_true(switch_next_neighbour_request(b->sw, &ask));
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 11 - POLICY_PORT_WAITING);

	router_neighbour(b, P6, "10.0.6.77", mac);
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.7.0.1"});
	router_settle(b);
	assert_int_equal(b->host[P6].n_rx, POLICY_PORT_WAITING + 1);
	assert_memory_equal(b->host[P6].rx[0].data, mac, 6);
	router_neighbour(b, P6, "10.0.6.77", NULL);
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.7.0.1"});
	bench_run(b, WAIT_NS);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 12 - POLICY_PORT_WAITING);
	bench_close(b);
}

static void a_host_on_the_link_is_asked_for_by_its_own_address(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x99};
	struct bench *b = router_open(router_routes);
	struct neighbour_request ask;

	(void)state;
	router_send(b, P1, &(struct router_packet){.src = "fd00:1::2", .dst = "fd00:2::99"});
	router_settle(b);
	assert_true(switch_next_neighbour_request(b->sw, &ask));
	assert_int_equal(ask.port, P2);
	assert_int_equal(ask.addr.family, FAMILY_V6);
	assert_int_equal(ask.addr.ip[15], 0x99);
	router_neighbour(b, P2, "fd00:2::99", mac);
	router_send(b, P1, &(struct router_packet){.src = "fd00:1::2", .dst = "fd00:2::99"});
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 2);
	assert_memory_equal(b->host[P2].rx[0].data, mac, 6);
	bench_close(b);
}

static void arp_is_taken_in_and_what_control_sends_leaves(void **state)
{
	struct bench *b = router_open(router_routes);
	struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = ETYPE_ARP};
	struct control_frame got, out = {.port = P5, .len = 60};
	uint8_t frame[FRAME_MAX];

	(void)state;
	bench_send(b, P2, &arp);
	router_settle(b);
	assert_true(switch_next_punt(b->sw, NEIGHBOUR_REASONS, &got));
	assert_int_equal(got.port, P2);
	assert_int_equal(got.len, 60);
	assert_memory_equal(got.bytes, frame, bench_build(frame, P2, &arp));
	assert_int_equal(router_received(b), 0);

	memcpy(out.bytes, frame, 60);
	assert_true(switch_send(b->sw, &out, SEND_ANSWER));
	actor_poke(&b->actor);
	router_settle(b);
	assert_int_equal(b->host[P5].n_rx, 1);
	assert_memory_equal(b->host[P5].rx[0].data, frame, 60);
	assert_int_equal(switch_balance(b->sw).generated, 1);
	assert_int_equal(switch_balance(b->sw).consumed, 1);
	bench_close(b);
}

// Control-plane policing: a burst of 250, then 1,000 a second; the excess is a drop of that port.
static void more_arp_than_the_port_may_hand_to_control_is_dropped(void **state)
{
	struct bench *b = router_open(router_routes);
	const struct punt_counters *c;
	struct control_frame got;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 400; i++)
		bench_send(b, P2,
			   &(struct bench_frame){
				   .broadcast = true, .len = 60, .ether_type = ETYPE_ARP});
	bench_run(b, 50000);
	while (switch_next_punt(b->sw, NEIGHBOUR_REASONS, &got))
		n++;
	assert_int_equal(n, 250);
	c = &switch_port_counters(b->sw, P2)->punt[PUNT_NEIGHBOUR];
	assert_int_equal(ctr_get(&c->frames), 400);
	assert_int_equal(ctr_get(&c->limited), 150);
	assert_int_equal(ctr_get(&c->lost), 0);
	assert_int_equal(bench_drops(b, DROP_COPP), 150);
	assert_int_equal(switch_balance(b->sw).consumed, 250);
	bench_close(b);
}

static void expect_copp_event(struct bench *b, enum event_type type, uint64_t dropped)
{
	unsigned n = 0;

	b->n_events = 0;
	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++) {
		const struct event *e = &b->events[i];

		if (e->type != EVENT_COPP && e->type != EVENT_COPP_OVER)
			continue;
		n++;
		assert_int_equal(e->type, type);
		assert_int_equal(e->port, P2);
		assert_int_equal(e->b, dropped);
	}
	assert_int_equal(n, type == N_EVENT_TYPES ? 0 : 1);
}

static void a_port_beyond_its_copp_rate_is_told_of_once_and_when_it_is_over(void **state)
{
	struct bench *b = router_open(router_routes);
	const struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = ETYPE_ARP};

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		bench_send(b, P2, &arp);
	bench_run(b, 150000000);
	expect_copp_event(b, EVENT_COPP, 50);
	for (unsigned i = 0; i < 1000; i++)
		bench_send(b, P2, &arp);
	bench_run(b, 4900000000);
	expect_copp_event(b, N_EVENT_TYPES, 0);
	bench_run(b, 4900000000);
	expect_copp_event(b, N_EVENT_TYPES, 0);
	bench_run(b, 200000000);
	expect_copp_event(b, EVENT_COPP_OVER, bench_drops(b, DROP_COPP));
	for (unsigned i = 0; i < 251; i++)
		bench_send(b, P2, &arp);
	bench_run(b, 200000000);
	expect_copp_event(b, EVENT_COPP, 1);
	bench_close(b);
}

// Requests come first on the wire and fill their ring; answers are read before them. Two ports
// take turns.
static void answers_come_before_requests_and_ports_take_turns(void **state)
{
	struct bench *b = router_open(router_routes);
	struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = ETYPE_ARP};
	uint8_t frame[FRAME_MAX];
	struct control_frame got;
	unsigned by_port[N_PORTS] = {0};

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		for (unsigned port = P2; port <= P3; port++) {
			bench_build(frame, port, &arp);
			be16_put(frame + 20, i < 180 ? ARP_REQUEST : ARP_REPLY);
			bench_send_raw(b, port, frame, 60);
		}
	router_settle(b);
	for (unsigned i = 0; i < 40; i++) {
		assert_true(switch_next_punt(b->sw, NEIGHBOUR_REASONS, &got));
		assert_int_equal(be16_get(got.bytes + 20), ARP_REPLY);
	}
	for (unsigned i = 0; i < 100; i++) {
		assert_true(switch_next_punt(b->sw, NEIGHBOUR_REASONS, &got));
		assert_int_equal(be16_get(got.bytes + 20), ARP_REQUEST);
		by_port[got.port]++;
	}
	assert_int_equal(by_port[P2], 50);
	assert_int_equal(by_port[P3], 50);
	bench_close(b);
}

static void probes_leave_before_answers(void **state)
{
	struct bench *b = router_open(router_routes);
	struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = ETYPE_ARP};
	struct control_frame out = {.port = P5, .len = 60};

	(void)state;
	bench_build(out.bytes, P5, &arp);
	for (unsigned i = 0; i < 40; i++) {
		out.bytes[21] = i < 20 ? ARP_REPLY : ARP_REQUEST;
		assert_true(switch_send(b->sw, &out, i < 20 ? SEND_ANSWER : SEND_PROBE));
	}
	for (unsigned i = 0; i < 10; i++) { // a few in each loop
		actor_poke(&b->actor);
		router_settle(b);
	}
	assert_int_equal(b->host[P5].n_rx, 40);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(b->host[P5].rx[i].data[21], i < 20 ? ARP_REQUEST : ARP_REPLY);
	bench_close(b);
}

// Frames from one port to made-up stations of another make at most as many questions.
static void a_scan_asks_no_faster_than_the_port_may(void **state)
{
	struct bench *b = router_open(router_routes);
	struct neighbour_request ask;
	unsigned n = 0;
	char dst[32];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(dst, sizeof(dst), "10.6.%u.%u", i / 250, i % 250);
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = dst});
	}
	bench_run(b, 200000);
	while (switch_next_neighbour_request(b->sw, &ask))
		n++;
	assert_int_equal(n, 250);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 1000 - POLICY_PORT_WAITING);
	bench_close(b);
}

static unsigned asks_of_10_6_255_1(struct bench *b)
{
	struct neighbour_request ask;
	unsigned n = 0;

	while (switch_next_neighbour_request(b->sw, &ask))
		n += memcmp(ask.addr.ip, (uint8_t[]){10, 6, 255, 1}, 4) == 0;
	return n;
}

// One port sends to a station, then another port does. Control is told for the second port's sake.
static void expect_told_by_the_second_port(struct bench *b)
{
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.6.255.1"});
	bench_run(b, 10000);
	assert_int_equal(asks_of_10_6_255_1(b), 0);
	router_send(b, P3, &(struct router_packet){.src = "10.0.3.2", .dst = "10.6.255.1"});
	bench_run(b, 10000);
	assert_int_equal(asks_of_10_6_255_1(b), 1);
}

static void a_port_beyond_its_rate_does_not_silence_another(void **state)
{
	struct bench *b = router_open(router_routes);
	char dst[32];

	(void)state;
	for (unsigned i = 0; i < 260; i++) {
		snprintf(dst, sizeof(dst), "10.6.%u.%u", i / 250, i % 250);
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = dst});
	}
	bench_run(b, 30000);
	expect_told_by_the_second_port(b);
	bench_close(b);
}

// 64 destinations with four unknown next hops each fill the ring of the port.
static void a_port_whose_ring_is_full_does_not_silence_another(void **state)
{
	struct bench *b = router_open("routes:\n"
				      "  - {to: 10.6.0.0/16, via: p2}\n"
				      "  - {to: 10.8.0.0/16, via: [10.0.3.77, 10.0.4.77, "
				      "10.0.5.77, 10.0.6.77]}\n");
	char dst[32];

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		snprintf(dst, sizeof(dst), "10.8.0.%u", i);
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = dst});
	}
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.6.255.1"});
	bench_run(b, 30000);
	router_send(b, P3, &(struct router_packet){.src = "10.0.3.2", .dst = "10.6.255.1"});
	bench_run(b, 10000);
	assert_int_equal(asks_of_10_6_255_1(b), 1);
	bench_close(b);
}

// ---- addresses that collide

enum { COLLIDING = 40, COLLISION_SEED = 77, PLACES = 256, BUCKETS = 32 };

// Two words of the hash choose the two buckets of a key. A bucket has eight places.
static bool shares_both_buckets(const struct neighbour_key *a, const struct neighbour_key *b)
{
	uint32_t x = rte_jhash(a, sizeof(*a), COLLISION_SEED);
	uint32_t y = rte_jhash(b, sizeof(*b), COLLISION_SEED);

	return ((x ^ y) & (BUCKETS - 1)) == 0 && ((x ^ y) >> 16 & (BUCKETS - 1)) == 0;
}

static void addresses_that_share_a_bucket_are_all_known(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	struct rte_rcu_qsbr *qsbr = calloc(1, rte_rcu_qsbr_get_memsize(1));
	struct policy_addr known[COLLIDING];
	struct neighbours n = {0};
	struct neighbour_key first;
	unsigned count = 0;

	(void)state;
	assert_non_null(qsbr);
	assert_int_equal(rte_rcu_qsbr_init(qsbr, 1), 0);
	assert_int_equal(neighbours_init(&n, "collisions", PLACES, COLLISION_SEED, qsbr), 0);
	for (uint32_t i = 1; count < COLLIDING; i++) {
		struct policy_addr a = {FAMILY_V4, 32, {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
							(uint8_t)i}};
		const struct neighbour_key key = {ip_key_of(&a), P2};

		if (count == 0)
			first = key;
		if (!shares_both_buckets(&first, &key))
			continue;
		assert_int_equal(neighbours_set(&n, P2, &a, mac), 0);
		known[count++] = a;
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(neighbours_lookup(&n, P2, ip_key_of(&known[i])),
				 adj_of(ADJ_KNOWN, P2, mac));
	neighbours_fini(&n);
	free(qsbr);
}

#define T(f) cmocka_unit_test(f)

// Routes of the kernel that lead nowhere (control/linux).
static void frames_to_a_route_that_leads_nowhere_are_dropped(void **state)
{
	static const struct {
		enum nexthop_kind kind;
		enum drop_reason reason;
	} rows[] = {{NEXTHOP_NONE, DROP_NO_ROUTE}, {NEXTHOP_BLACKHOLE, DROP_BLACKHOLE}};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct policy *next = bench_compile(b, router_policy("", router_routes));
		const struct policy_routes *r = &next->routes;

		for (uint32_t k = 0; k < r->n_prefixes; k++)
			if (r->prefixes[k].to.len == 16 && r->prefixes[k].to.ip[1] == 9)
				r->nexthops[r->groups[r->prefixes[k].group].first].kind =
					(uint8_t)rows[i].kind;
		policy_destroy(bench_publish_compiled(b, next));
		router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.9.0.1"});
		router_settle(b);
		assert_int_equal(bench_drops(b, rows[i].reason), 1);
	}
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_longest_prefix_decides),
		T(addresses_ttl_and_checksum_change_and_nothing_else),
		T(the_checksum_is_right_for_every_sum),
		T(the_icrc_of_a_roce_frame_still_holds),
		T(a_priority_tag_ends_at_the_router),
		T(every_reason_to_drop_is_counted_as_such),
		T(frames_to_a_route_that_leads_nowhere_are_dropped),
		T(a_broken_header_is_dropped),
		T(nothing_is_bridged_to_or_from_a_routed_port),
		T(an_unknown_next_hop_is_asked_for_once_and_used_when_it_is_known),
		T(a_host_on_the_link_is_asked_for_by_its_own_address),
		T(arp_is_taken_in_and_what_control_sends_leaves),
		T(more_arp_than_the_port_may_hand_to_control_is_dropped),
		T(a_port_beyond_its_copp_rate_is_told_of_once_and_when_it_is_over),
		T(answers_come_before_requests_and_ports_take_turns),
		T(probes_leave_before_answers),
		T(a_scan_asks_no_faster_than_the_port_may),
		T(a_port_beyond_its_rate_does_not_silence_another),
		T(a_port_whose_ring_is_full_does_not_silence_another),
		T(addresses_that_share_a_bucket_are_all_known),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
