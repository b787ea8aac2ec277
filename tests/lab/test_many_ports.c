// SPDX-License-Identifier: Apache-2.0
// A switch of 512 ports: what a number of a port says from 256 on, where 8 bits do not hold it.
// Most cases use p45 and p301. Their numbers are 44 and 300: cut to 8 bits, both would be 44.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/event.h"
#include "dataplane/forward/route.h"
#include "dataplane/packet/loop_frame.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "dataplane/switch_routes.h"
#include "dataplane/switch_vxlan.h"
#include "tests/lab/router.h"

enum {
	N = 512,
	LOW = 44,
	HIGH = LOW + 256,
	FAR = 500,
	LAST = N - 1,
	LOSSLESS = 24, // DSCP
	LEN = 200,
	MS = 1000000,
};

#define SWITCH                                                                                     \
	"switch: {name: many, buffer: {size: 8MB, cell: 256B, oversubscription: 8}, "              \
	"ecmp: {seed: 7}}\n"
#define PROFILE                                                                                    \
	"profiles: {x: {trust: dscp, dscp_to_class: {default: 0, 24-31: 3}, "                      \
	"classes: {3: {lossless: on}}}}\n"
#define ALIKE(a, b, keys)                                                                          \
	"  - {name: \"p[" #a "-" #b "]\", device: \"wire:[" #a "-" #b "]\", speed: 10G, "        \
	"profile: x" keys "}\n"

static const char bridge[] = SWITCH PROFILE "ports:\n" ALIKE(1, 512, "");
static const char sticky[] = SWITCH PROFILE
	"ports:\n" ALIKE(1, 44, "") ALIKE(45, 45, ", sticky: true") ALIKE(46, 512, "");
static const char routed_301[] = SWITCH PROFILE
	"ports:\n" ALIKE(1, 300, "") ALIKE(301, 301, ", ip: [10.0.3.1/24]") ALIKE(302, 512, "");
static const char one_group[] = SWITCH PROFILE
	"ports:\n" ALIKE(1, 512, "")
	"multicast: [{mac: \"01:00:5e:00:00:05\", ports: [p45, p302, p512]}]\n";
// p1 to p500 are in VLAN 100. p501 to p512 are routed.
#define WITH_VLAN(keys, neighbour)                                                                 \
	SWITCH PROFILE                                                                             \
	"vlans: [{id: 100" keys "}]\n"                                                             \
	"ports:\n" ALIKE(1, 500, ", vlan: {untagged: 100}")                                        \
	ALIKE(501, 511, ", ip: [\"10.1.[1-11].1/24\"]") \
	ALIKE(512, 512, ", mtu: 1550, ip: [10.0.3.1/24]")                                          \
	"fdb:\n  - {mac: \"02:00:00:01:00:2d\", port: p301, vlan: 100}\n"                          \
	"neighbours:\n" neighbour                                                                  \
	"  - {ip: 10.0.3.2, mac: \"02:00:00:02:00:00\"}\n"
static const char routed[] =
	WITH_VLAN(", ip: [10.0.100.1/24], mac: \"02:00:00:00:01:64\"",
		  "  - {ip: 10.0.100.2, mac: \"02:00:00:01:00:2d\"}\n");
static const char bridged[] = WITH_VLAN("", "");
static const char tunnels[] =
	"vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, peers: [10.0.3.2]}}}\n";

static unsigned received(const struct bench *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_ports; i++)
		n += b->host[i].n_rx;
	return n;
}

static void forget_received(struct bench *b)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		b->host[i].n_rx = 0;
	b->n_events = 0;
}

static void let_switch_settle(struct bench *b)
{
	bench_run(b, MS);
	bench_control(b);
	bench_run(b, MS);
}

static void send(struct bench *b, unsigned from, unsigned to, uint8_t dscp)
{
	bench_send(b, from, &(struct bench_frame){.to = to, .dscp = dscp, .len = LEN});
	let_switch_settle(b);
}

// The host speaks to all, so that its address is learnt. as: the last byte of its address, or 0.
static void speak(struct bench *b, unsigned from, uint8_t as)
{
	bench_send(b, from, &(struct bench_frame){.broadcast = true, .as = as, .len = 100});
	let_switch_settle(b);
	forget_received(b);
}

static struct bench *opened(const char *yaml)
{
	struct bench *b = bench_open(yaml, 0);

	assert_int_equal(b->n_ports, N);
	let_switch_settle(b);
	return b;
}

static const struct event *event_of(const struct bench *b, enum event_type type)
{
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type)
			return &b->events[i];
	return NULL;
}

static void a_frame_leaves_by_its_port_alone(void **state)
{
	static const unsigned ways[][2] = {{0, HIGH}, {HIGH, LOW}, {LOW, HIGH}, {HIGH, LAST},
					   {LAST, 255}, {255, 256}, {256, 0}, {FAR, LAST}};
	struct bench *b = opened(bridge);

	(void)state;
	for (unsigned i = 0; i < N; i++)
		bench_send(b, i, &(struct bench_frame){.to = i == 0 ? 1 : 0, .len = 100});
	for (unsigned i = 0; i < 8; i++)
		let_switch_settle(b);
	forget_received(b);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		send(b, ways[i][0], ways[i][1], i % 2 == 0 ? 0 : LOSSLESS);
		assert_int_equal(b->host[ways[i][1]].n_rx, 1);
		assert_int_equal(received(b), 1);
		forget_received(b);
	}
	bench_close(b);
}

static void a_flood_reaches_each_other_port_once(void **state)
{
	struct bench *b = opened(bridge);

	(void)state;
	bench_send(b, HIGH, &(struct bench_frame){.broadcast = true, .len = 100});
	let_switch_settle(b);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(b->host[i].n_rx, i != HIGH);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, HIGH)->replicated), N - 2);
	bench_close(b);
}

static void a_group_of_the_policy_has_its_ports(void **state)
{
	static const uint8_t to[6] = {1, 0, 0x5e, 0, 0, 5};
	struct bench *b = opened(one_group);
	uint8_t frame[LEN];

	(void)state;
	bench_build(frame, FAR, &(struct bench_frame){.dscp = LOSSLESS, .len = LEN});
	memcpy(frame, to, sizeof(to));
	bench_send(b, FAR, &(struct bench_frame){.raw = frame, .len = LEN});
	let_switch_settle(b);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(b->host[i].n_rx, i == LOW || i == HIGH + 1 || i == LAST);
	bench_close(b);
}

// The host at port 500 pauses class 3: that port alone stands still. The groups of the ports that
// send to it enter XOFF, the hosts there are paused, and the cause is queue 3 of port 500.
static void a_pause_stops_one_port_and_the_cause_names_it(void **state)
{
	struct bench_frame f = {.to = FAR, .dscp = LOSSLESS, .len = 1500};
	struct bench *b = opened(bridge);
	struct pause_cause c;

	(void)state;
	speak(b, FAR, 0);
	speak(b, LOW, 0);
	bench_pause(b, FAR, 1 << 3, UINT16_MAX);
	bench_run(b, 1000);
	bench_send(b, HIGH, &f);
	send(b, HIGH, LOW, LOSSLESS);
	assert_int_equal(b->host[FAR].n_rx, 0);
	assert_int_equal(b->host[LOW].n_rx, 1);
	for (unsigned i = 0; i < 4000 && b->host[HIGH].n_pfc == 0; i++) {
		if (i % 100 == 0)
			bench_pause(b, FAR, 1 << 3, UINT16_MAX);
		bench_inject(b, HIGH, &f, 1);
	}
	assert_true(b->host[HIGH].n_pfc > 0);
	assert_int_equal(b->host[LOW].n_pfc, 0);
	assert_true(pg_in_xoff(switch_pg_state(b->sw, HIGH, 3)));
	assert_false(pg_in_xoff(switch_pg_state(b->sw, LOW, 3)));
	c = switch_pause_cause(b->sw, HIGH, 3);
	assert_int_equal(c.kind, CAUSE_QUEUE);
	assert_int_equal(c.out_port, FAR);
	assert_int_equal(c.queue, 3);
	assert_int_equal(c.cls, 3);
	assert_true(c.paused);
	assert_int_equal(c.held_cells, switch_cause_now(b->sw, HIGH, 3).held_cells);
	bench_control(b);
	assert_non_null(event_of(b, EVENT_XOFF));
	assert_int_equal(event_of(b, EVENT_XOFF)->port, HIGH);
	assert_int_equal(cause_unpack(0, event_of(b, EVENT_XOFF)->b).out_port, FAR);
	bench_pause(b, FAR, 1 << 3, 0);
	let_switch_settle(b);
	assert_false(pg_in_xoff(switch_pg_state(b->sw, HIGH, 3)));
	bench_close(b);
}

static void a_record_of_an_address_names_both_ports(void **state)
{
	struct bench *b = opened(bridge);
	const struct event *e;

	(void)state;
	speak(b, LAST, 9);
	bench_send(b, HIGH, &(struct bench_frame){.broadcast = true, .as = 9, .len = 100});
	let_switch_settle(b);
	e = event_of(b, EVENT_MAC_MOVED);
	assert_non_null(e);
	assert_int_equal(e->port, HIGH);
	assert_int_equal(event_mac_other(e->a), LAST);
	assert_int_equal(event_mac_vid(e->a), 0);
	bench_close(b);
}

static void an_address_is_sticky_at_its_port_alone(void **state)
{
	struct bench *b = opened(sticky);

	(void)state;
	speak(b, HIGH, 9);
	speak(b, FAR, 9); // it may move: p301 is not sticky
	assert_int_equal(bench_drops(b, DROP_STICKY), 0);
	speak(b, LOW, 8);
	speak(b, FAR, 8);
	assert_int_equal(bench_drops(b, DROP_STICKY), 1);
	bench_close(b);
}

static uint64_t learnt_at(const struct bench *b, unsigned port)
{
	return gauge_get(&switch_fdb_port(b->sw, port)->c.learnt);
}

// The addresses of a port that becomes a routed one are forgotten, and no others.
static void a_reload_forgets_the_addresses_of_its_port_alone(void **state)
{
	struct bench *b = opened(bridge);

	(void)state;
	speak(b, LOW, 0);
	speak(b, HIGH, 0);
	bench_publish(b, routed_301);
	let_switch_settle(b);
	assert_int_equal(learnt_at(b, LOW), 1);
	assert_int_equal(learnt_at(b, HIGH), 0);
	forget_received(b);
	send(b, LAST, LOW, 0);
	assert_int_equal(received(b), 1);
	bench_close(b);
}

// The link of one port goes down: its addresses become stale, and no others.
static void a_link_is_down_at_its_port_alone(void **state)
{
	struct bench *b = opened(bridge);

	(void)state;
	speak(b, LOW, 0);
	speak(b, HIGH, 0);
	wire_set_up(b->host[HIGH].wire, false);
	bench_run(b, 200ull * MS);
	bench_control(b);
	bench_run(b, MS);
	bench_control(b);
	assert_non_null(event_of(b, EVENT_LINK_DOWN));
	assert_int_equal(event_of(b, EVENT_LINK_DOWN)->port, HIGH);
	forget_received(b);
	assert_true(switch_link_up(b->sw, LOW));
	assert_false(switch_link_up(b->sw, HIGH));
	assert_int_equal(learnt_at(b, LOW), 1);
	assert_int_equal(learnt_at(b, HIGH), 0);
	send(b, LAST, LOW, 0);
	assert_int_equal(b->host[LOW].n_rx, 1);
	assert_int_equal(received(b), 1);
	bench_close(b);
}

// ---- numbers beyond the ports: the router and tunnels

static const struct router_packet to_vlan = {.src = "10.0.3.2", .dst = "10.0.100.2"},
				  from_vlan = {.src = "10.0.100.2", .dst = "10.0.3.2"};

static void send_routed(struct bench *b, unsigned from, const struct router_packet *k,
			const uint8_t to[6], const uint8_t src[6])
{
	uint8_t frame[FRAME_MAX];
	uint16_t len = router_build(frame, 0, k);

	memcpy(frame, to, 6);
	memcpy(frame + 6, src, 6);
	bench_send(b, from, &(struct bench_frame){.raw = frame, .len = len});
	let_switch_settle(b);
}

static const uint8_t station[6] = {2, 0, 0, 1, 0, 0x2d}, next_hop[6] = {2, 0, 0, 2, 0, 0},
		     svi[6] = {2, 0, 0, 0, 1, 0x64}, p512[6] = {2, 0, 0, 2, 1, 0};

static void a_routed_vlan_is_an_interface_beyond_the_ports(void **state)
{
	struct bench *b = opened(routed);

	(void)state;
	assert_int_equal(policy_svi_of(b->policy, 100), IFACE_SVI);
	send_routed(b, LAST, &to_vlan, p512, next_hop);
	assert_int_equal(b->host[HIGH].n_rx, 1);
	assert_int_equal(received(b), 1);
	assert_memory_equal(b->host[HIGH].rx[0].data, station, 6);
	assert_memory_equal(b->host[HIGH].rx[0].data + 6, svi, 6);
	forget_received(b);
	send_routed(b, HIGH, &from_vlan, svi, station);
	assert_int_equal(b->host[LAST].n_rx, 1);
	assert_int_equal(received(b), 1);
	assert_memory_equal(b->host[LAST].rx[0].data, next_hop, 6);
	assert_memory_equal(b->host[LAST].rx[0].data + 6, p512, 6);
	bench_close(b);
}

// A frame from the station 02:00:00:00:00:NN behind the peer.
static void send_through_tunnel(struct bench *b, const uint8_t to[6], uint8_t from)
{
	uint8_t out[VXLAN_V4_LEN + LEN], src[4], dst[4];
	struct vxlan_outer o = {.src = src, .dst = dst, .ttl = 64, .sport = 50000,
				.dport = VXLAN_UDP_PORT, .vni = 7, .inner_len = LEN};

	router_ip("10.0.3.2", src);
	router_ip("10.0.3.1", dst);
	vxlan_write(out, &o);
	memcpy(out, p512, 6);
	memcpy(out + 6, next_hop, 6);
	bench_build(out + VXLAN_V4_LEN, from - 1u, &(struct bench_frame){.len = LEN});
	memcpy(out + VXLAN_V4_LEN, to, 6);
	bench_send(b, LAST, &(struct bench_frame){.raw = out, .len = sizeof(out)});
	let_switch_settle(b);
}

static void a_peer_of_a_tunnel_is_no_port(void **state)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	char yaml[sizeof(bridged) + sizeof(tunnels)];
	struct vxlan_peer_counters c;
	const struct event *e;
	struct bench *b;

	(void)state;
	snprintf(yaml, sizeof(yaml), "%s%s", bridged, tunnels);
	b = opened(yaml);
	forget_received(b);
	send_through_tunnel(b, all, 0x77);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(b->host[i].n_rx, i < 500);
	e = event_of(b, EVENT_MAC_LEARNED);
	assert_non_null(e);
	assert_int_equal(e->port, VTEP_FIRST);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, VTEP_FIRST)->c.learnt), 1);
	forget_received(b);
	send(b, HIGH, 0x77 - 1, 0); // to the station behind the peer
	assert_int_equal(b->host[LAST].n_rx, 1);
	assert_int_equal(received(b), 1);
	assert_memory_equal(b->host[LAST].rx[0].data, next_hop, 6);
	switch_vxlan_peer(b->sw, 0, &c);
	assert_int_equal(ctr_get(&c.tx_packets), 1);
	assert_int_equal(ctr_get(&c.rx_packets), 1);
	bench_publish(b, bridged); // without tunnels the address is forgotten
	let_switch_settle(b);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, VTEP_FIRST)->c.learnt), 0);
	bench_close(b);
}

// ---- what is made of a number

static void a_probe_of_a_loop_names_its_port(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	const struct loop_probe sent = {.id = 1, .nonce = 2, .round = 3, .port = HIGH};
	uint8_t frame[LOOP_FRAME_TAGGED_LEN];
	struct loop_probe got;

	(void)state;
	assert_true(loop_frame_parse(frame, loop_frame_build(frame, mac, &sent), 14,
				     ETYPE_LOOPBACK, &got));
	assert_int_equal(got.port, HIGH);
}

// A route to the switch itself has no port.
static void an_adjacency_keeps_its_state_beside_any_port(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	uint64_t last = adj_known(N_IFACES - 1, mac);

	(void)state;
	assert_int_equal(adj_state(adj_of(ADJ_SELF, PORT_NONE, NULL)), ADJ_SELF);
	assert_int_equal(adj_state(last), ADJ_VLAN);
	assert_int_equal(adj_port(last), N_IFACES - 1);
	assert_int_equal(last >> 16, 0x020000000001);
	assert_int_equal(adj_state(adj_known(LAST, mac)), ADJ_KNOWN);
	assert_int_equal(adj_port(adj_known(LAST, mac)), LAST);
}

static void ports_may_be_in_256_guard_groups(void **state)
{
	char *yaml = malloc(65536);
	int n = sprintf(yaml, SWITCH "profiles: {x: {trust: dscp, "
			      "dscp_to_class: {default: 0, 16: 2, 24-31: 3}, "
			      "classes: {3: {lossless: on}}}}\nports:\n");
	struct bench *b;

	(void)state;
	for (unsigned i = 1; i < N; i += 2)
		n += sprintf(yaml + n,
			     "  - {name: \"p[%u-%u]\", device: \"wire:[%u-%u]\", speed: 10G, "
			     "profile: x, guard: {group: g%u, "
			     "remap: [{dscp: 26, to_class: 2, to_dscp: 16}]}}\n",
			     i, i + 1, i, i + 1, i / 2 + 1);
	b = opened(yaml);
	assert_int_equal(b->policy->ports[LAST].guard.group, N / 2);
	assert_int_equal(b->policy->ports[0].guard.group, 1);
	bench_close(b);
	free(yaml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_leaves_by_its_port_alone),
		cmocka_unit_test(a_flood_reaches_each_other_port_once),
		cmocka_unit_test(a_group_of_the_policy_has_its_ports),
		cmocka_unit_test(a_pause_stops_one_port_and_the_cause_names_it),
		cmocka_unit_test(a_record_of_an_address_names_both_ports),
		cmocka_unit_test(an_address_is_sticky_at_its_port_alone),
		cmocka_unit_test(a_reload_forgets_the_addresses_of_its_port_alone),
		cmocka_unit_test(a_link_is_down_at_its_port_alone),
		cmocka_unit_test(a_routed_vlan_is_an_interface_beyond_the_ports),
		cmocka_unit_test(a_peer_of_a_tunnel_is_no_port),
		cmocka_unit_test(a_probe_of_a_loop_names_its_port),
		cmocka_unit_test(an_adjacency_keeps_its_state_beside_any_port),
		cmocka_unit_test(ports_may_be_in_256_guard_groups),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
