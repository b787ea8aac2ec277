// SPDX-License-Identifier: Apache-2.0
// Loops through a bridge: BPDUs that pass, storm control, and probes that come back.
#include "dataplane/packet/loop_frame.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

enum { LOOP_NS = 3000000, SECOND = 1000000000 };

static const char *policy(const char *port_keys, const char *tail)
{
	static char text[4096];

	snprintf(text, sizeof(text),
		 "switch: {name: br}\n"
		 "ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 1G, "
		 "profile: x%s}\n"
		 "%sprofiles:\n  x:\n    classes:\n      6: {lossless: true}\n"
		 "      7: {lossless: true}\n",
		 port_keys, tail);
	return text;
}

// A loop moves addresses without end: their events are left out.
static void forget_addresses(struct bench *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type != EVENT_MAC_MOVED && b->events[i].type != EVENT_MAC_LEARNED)
			b->events[n++] = b->events[i];
	b->n_events = n;
}

static void turn(struct bench *b, uint64_t for_ns)
{
	for (uint64_t end_ns = b->clock.now_ns + for_ns; b->clock.now_ns < end_ns;) {
		bench_control(b);
		forget_addresses(b);
		bench_run(b, LOOP_NS);
	}
}

static unsigned events(const struct bench *b, enum event_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_events; i++)
		n += b->events[i].type == type;
	return n;
}

static const struct event *event(const struct bench *b, enum event_type type)
{
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type)
			return &b->events[i];
	fail_msg("no such event");
	return NULL;
}

// ---- BPDUs

static void send_to_group(struct bench *b, unsigned from, const uint8_t *dst, unsigned n)
{
	uint8_t f[60] = {[6] = 2, [11] = (uint8_t)(from + 1), [13] = 39, 0x42, 0x42, 3};

	memcpy(f, dst, 6);
	for (unsigned i = 0; i < n; i++)
		bench_send_raw(b, from, f, sizeof(f));
	bench_run(b, 1000000);
}

static const uint8_t stp[6] = {0x01, 0x80, 0xc2, 0, 0, 0};

// In class 5, the highest that is lossy, though the port's default class is lossless.
static void bpdus_pass_unchanged_in_the_highest_lossy_class(void **state)
{
	static const char *const trust[] = {"dscp", "pcp", "port"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		char yaml[4200];
		struct bench *b;

		snprintf(yaml, sizeof(yaml), "%s    trust: %s\n",
			 policy(", default_class: 6", ""), trust[i]);
		b = bench_open(yaml, 0);
		send_to_group(b, 0, stp, 1);
		for (unsigned port = 1; port < 4; port++) {
			assert_int_equal(b->host[port].n_rx, 1);
			assert_memory_equal(b->host[port].rx[0].data, stp, 6);
			assert_int_equal(b->host[port].rx[0].data[14], 0x42);
		}
		assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 1, 5)->tx_packets), 1);
		assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->other_control), 0);
		bench_close(b);
	}
}

static void pvst_is_plain_multicast(void **state)
{
	static const uint8_t pvst[6] = {0x01, 0, 0x0c, 0xcc, 0xcc, 0xcd};
	struct bench *b = bench_open(policy("", ""), 0);

	(void)state;
	send_to_group(b, 0, pvst, 1);
	assert_int_equal(b->host[1].n_rx, 1);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 1, 0)->tx_packets), 1);
	bench_close(b);
}

static void bpdus_stay_in_their_vlan_and_end_at_a_router(void **state)
{
	struct bench *b = bench_open(policy(", vlan: {untagged: 10}", "vlans: [{id: 10}]\n"), 0);

	(void)state;
	send_to_group(b, 0, stp, 1);
	assert_int_equal(b->host[1].n_rx, 1);
	bench_close(b);
	b = bench_open(policy(", ip: \"10.0.[1-4].1/24\"", ""), 0);
	send_to_group(b, 0, stp, 1);
	assert_int_equal(b->host[1].n_rx, 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->other_control), 1);
	bench_close(b);
}

// ---- storm control

static void storm_control_limits_each_kind_on_its_own(void **state)
{
	static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
	struct bench_frame broadcast = {.broadcast = true, .len = 60};
	struct bench_frame unknown = {.to = 9, .len = 60};
	struct bench_frame known = {.to = 1, .len = 60}, back = {.to = 0, .len = 60};
	struct bench *b = bench_open(policy(", storm_control: {broadcast: 400, unknown_unicast: "
					    "800, multicast: 1200}", ""), 0);

	(void)state;
	bench_inject(b, 1, &back, 1); // the address of host 2 is known from now on: one copy to all
	bench_control(b);
	for (unsigned i = 0; i < 1000; i++) {
		bench_send(b, 0, &broadcast);
		bench_send(b, 0, &unknown);
		bench_send(b, 0, &known);
	}
	send_to_group(b, 0, group, 1000);
	send_to_group(b, 0, stp, 200);
	turn(b, 20000000);
	// A quarter of a second's worth at once, and some more in the three milliseconds it takes.
	assert_in_range(bench_drops(b, DROP_STORM_CONTROL), 3000 - 600 - 12, 3000 - 600);
	assert_int_equal(b->host[1].n_rx, 1000 + 4 * 1000 + 200 - 1000 -
					  bench_drops(b, DROP_STORM_CONTROL));
	assert_in_range(ctr_get(&switch_port_counters(b->sw, 0)->limited[LIMIT_BROADCAST]), 895,
			900);
	assert_in_range(ctr_get(&switch_port_counters(b->sw, 0)->limited[LIMIT_UNKNOWN_UNICAST]),
			790, 800);
	assert_in_range(ctr_get(&switch_port_counters(b->sw, 0)->limited[LIMIT_MULTICAST]), 690,
			700);
	turn(b, SECOND);
	assert_int_equal(events(b, EVENT_STORM_CONTROL), 3);
	assert_int_equal(event(b, EVENT_STORM_CONTROL)->a, LIMIT_BROADCAST);
	turn(b, 5ull * SECOND);
	assert_int_equal(events(b, EVENT_STORM_CONTROL_OVER), 3);
	for (unsigned i = 0; i < 100; i++)
		bench_send(b, 0, &broadcast);
	bench_run(b, 1000000);
	assert_in_range(ctr_get(&switch_port_counters(b->sw, 0)->limited[LIMIT_BROADCAST]), 895,
			900); // the bucket is full again
	bench_close(b);
}

// 1,000 BPDUs per second and port, 250 at once. The rate takes no other multicast.
static void bpdus_have_a_rate_where_multicast_has_none(void **state)
{
	static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
	struct bench *b = bench_open(policy("", ""), 0);

	(void)state;
	send_to_group(b, 0, stp, 1000);
	assert_in_range(b->host[1].n_rx, 250, 251);
	assert_in_range(ctr_get(&switch_port_counters(b->sw, 0)->limited[LIMIT_MULTICAST]), 749,
			750);
	assert_int_equal(bench_drops(b, DROP_STORM_CONTROL), 1000 - b->host[1].n_rx);
	send_to_group(b, 2, stp, 200);
	send_to_group(b, 0, group, 1000);
	assert_in_range(b->host[1].n_rx, 1450, 1451);
	b->host[1].n_rx = 0;
	bench_run(b, SECOND);
	send_to_group(b, 0, stp, 1000);
	assert_in_range(b->host[1].n_rx, 250, 251);
	bench_close(b);
}

// ---- loops

// A bridge with two cables to the switch: what leaves by p1 comes in at p2, and the other way.
static void cross(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	unsigned from = (unsigned)(h - h->bench->host);

	bench_send_raw(h->bench, from == 0 ? 1 : 0, frame, len);
}

static void plug(struct bench *b, bool in)
{
	b->host[0].on_rx = b->host[1].on_rx = in ? cross : NULL;
}

static void a_loop_is_an_alarm_that_names_both_ports(void **state)
{
	struct bench *b = bench_open(policy(", loop_detect: on", ""), 0);

	(void)state;
	turn(b, 3ull * SECOND);
	assert_int_equal(b->host[2].n_rx, 3);
	assert_int_equal(events(b, EVENT_LOOP), 0);
	assert_int_equal(switch_loop_state(b->sw, 0), LOOP_NONE);
	plug(b, true);
	turn(b, 3ull * SECOND);
	assert_int_equal(events(b, EVENT_LOOP), 1);
	assert_int_equal(event(b, EVENT_LOOP)->port + (event(b, EVENT_LOOP)->a & 0xff), 0 + 1);
	assert_int_equal(event(b, EVENT_LOOP)->b, 0);
	assert_int_equal(switch_loop_state(b->sw, 0), LOOP_FOUND);
	assert_int_equal(switch_loop_state(b->sw, 1), LOOP_FOUND);
	assert_int_equal(switch_loop_state(b->sw, 2), LOOP_NONE);
	assert_true(switch_link_up(b->sw, 0) && switch_link_up(b->sw, 1));
	plug(b, false);
	turn(b, 6ull * SECOND);
	assert_int_equal(events(b, EVENT_LOOP_OVER), 1);
	assert_int_equal(switch_loop_state(b->sw, 0), LOOP_NONE);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->loop_forged), 0);
	bench_close(b);
}

static void port_down_stops_the_storm_and_the_port_recovers(void **state)
{
	struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = 0x0806};
	struct bench *b = bench_open(policy(", loop_detect: {action: port_down, recover: 10s}",
					    ""), 0);
	uint64_t received;

	(void)state;
	turn(b, 100000000);
	plug(b, true);
	bench_send(b, 2, &arp);
	bench_run(b, 20000000);
	assert_true(ctr_get(&switch_port_counters(b->sw, 0)->received) > 1000);
	turn(b, SECOND);
	assert_int_equal(events(b, EVENT_LOOP), 1);
	assert_int_equal(event(b, EVENT_LOOP)->b, 1 + 1);
	assert_false(switch_link_up(b->sw, 1));
	assert_int_equal(switch_loop_state(b->sw, 1), LOOP_PORT_DOWN);
	assert_true(switch_link_up(b->sw, 0));
	received = ctr_get(&switch_port_counters(b->sw, 0)->received);
	turn(b, 20ull * SECOND); // twice the time to recover, but the loop is still there
	assert_false(switch_link_up(b->sw, 1));
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->received), received);
	plug(b, false);
	turn(b, 8ull * SECOND);
	assert_false(switch_link_up(b->sw, 1));
	turn(b, 3ull * SECOND);
	assert_true(switch_link_up(b->sw, 1));
	assert_int_equal(events(b, EVENT_LOOP_RECOVERED), 1);
	assert_int_equal(events(b, EVENT_LOOP), 1);
	bench_close(b);
}

// ---- a loop through the peer of a tunnel

enum { P1, P2, P3 };
static uint32_t peers_vni;

// The network of the peer has a cable to p1: what leaves by p1 goes into the tunnel to p3.
static void to_peer(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	static const uint8_t peer[] = {10, 0, 3, 2}, here[] = {10, 0, 3, 1};
	struct vxlan_outer o = {.src = peer, .dst = here, .ttl = 64, .sport = 50000,
				.dport = VXLAN_UDP_PORT, .vni = peers_vni, .inner_len = len};
	uint8_t out[VXLAN_V4_LEN + 1600];

	vxlan_write(out, &o);
	memcpy(out, h->bench->policy->ports[P3].mac, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, 3}, 6);
	memcpy(out + VXLAN_V4_LEN, frame, len);
	bench_send_raw(h->bench, P3, out, (uint16_t)(VXLAN_V4_LEN + len));
}

static void from_peer(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	bench_send_raw(h->bench, P1, frame + VXLAN_V4_LEN, (uint16_t)(len - VXLAN_V4_LEN));
}

static void a_probe_that_comes_back_through_a_peer_takes_a_port_down(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\nvlans: [{id: 100}, {id: 200}]\n"
		"ports:\n"
		"  - {name: \"p[1-2]\", device: \"wire:[1-2]\", speed: 1G, mtu: 1500, "
		"vlan: {untagged: 100}, loop_detect: {action: port_down, recover: 10s}}\n"
		"  - {name: p3, device: \"wire:3\", speed: 1G, mtu: 1550, ip: 10.0.3.1/24}\n"
		"neighbours: [{ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}]\n"
		"vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, peers: 10.0.3.2}, "
		"8: {vlan: 200, peers: 10.0.3.2}}}\n";
	static const struct {
		void (*way)(struct bench_host *, const uint8_t *, uint16_t);
		uint32_t vni;
		unsigned in, down; // down 0: it is no loop of the VLAN
	} rows[] = {
		{cross, 0, P2, P2 + 1}, // the network has a cable to p2 as well
		{to_peer, 7, P3, P1 + 1},
		{to_peer, 8, P3, 0},
	};
	struct bench_frame arp = {.broadcast = true, .len = 60, .ether_type = 0x0806};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bench *b = bench_open(yaml, 0);
		unsigned found = rows[i].down != 0;
		uint64_t probes;

		peers_vni = rows[i].vni;
		b->host[P1].on_rx = rows[i].way;
		b->host[P3].on_rx = rows[i].way == to_peer ? from_peer : NULL;
		turn(b, 3ull * SECOND);
		probes = ctr_get(&switch_port_counters(b->sw, rows[i].in)->other_control);
		assert_in_range(probes, 1, 4); // they end where they come back
		assert_int_equal(events(b, EVENT_LOOP), found);
		assert_true(switch_link_up(b->sw, P3));
		if (found) {
			assert_int_equal(event(b, EVENT_LOOP)->port, rows[i].in);
			assert_int_equal(event(b, EVENT_LOOP)->a, P1 | 100 << 16);
			assert_int_equal(event(b, EVENT_LOOP)->b, rows[i].down);
			assert_false(switch_link_up(b->sw, rows[i].down - 1));
			bench_send(b, P1 + P2 + 1 - rows[i].down, &arp); // by the other one
			turn(b, SECOND);
			assert_in_range(ctr_get(&switch_port_counters(b->sw, P3)->received), 0, 20);
			b->host[P1].on_rx = b->host[P3].on_rx = NULL;
			turn(b, 11ull * SECOND);
			assert_true(switch_link_up(b->sw, rows[i].down - 1));
		}
		bench_close(b);
	}
}

// ---- a port that is held down

static void a_reload_without_the_action_brings_the_port_up(void **state)
{
	struct bench *b = bench_open(policy(", loop_detect: {action: port_down}", ""), 0);

	(void)state;
	plug(b, true);
	turn(b, 2ull * SECOND);
	assert_false(switch_link_up(b->sw, 1));
	plug(b, false);
	bench_publish(b, policy("", ""));
	turn(b, LOOP_NS);
	assert_true(switch_link_up(b->sw, 1));
	assert_int_equal(switch_loop_state(b->sw, 1), LOOP_OFF);
	bench_close(b);
}

// The last probe that the host at a port has heard.
static struct loop_probe last_probe(const struct bench *b, unsigned port)
{
	const struct bench_host *h = &b->host[port];
	struct loop_probe p;

	assert_true(h->n_rx > 0);
	assert_true(loop_frame_parse(h->rx[h->n_rx - 1].data, h->rx[h->n_rx - 1].len, ETH_HLEN_,
				     ETYPE_LOOPBACK, &p));
	return p;
}

static void send_probe(struct bench *b, unsigned from, const struct loop_probe *p)
{
	uint8_t f[LOOP_FRAME_TAGGED_LEN];

	bench_send_raw(b, from, f, loop_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 9}, p));
	turn(b, 2 * LOOP_NS);
}

// The station on p3 has its own port's probes, and knows all but the nonces of the others.
static void a_stranger_takes_no_other_port_down(void **state)
{
	struct bench *b = bench_open(policy(", loop_detect: {action: port_down}", ""), 0);
	struct loop_probe own, forged;

	(void)state;
	turn(b, 3ull * SECOND);
	own = last_probe(b, 2);
	forged = own;
	forged.port = 3;
	send_probe(b, 2, &forged);
	forged.nonce++;
	send_probe(b, 2, &forged);
	forged = last_probe(b, 3);
	forged.round -= 2; // heard on p4 two rounds ago
	send_probe(b, 2, &forged);
	forged = (struct loop_probe){.id = own.id, .port = 3};
	send_probe(b, 2, &forged);
	forged.port = 200;
	send_probe(b, 2, &forged);
	forged = own;
	turn(b, 3ull * SECOND);
	send_probe(b, 1, &forged); // an old one, replayed elsewhere
	assert_int_equal(events(b, EVENT_LOOP), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 2)->loop_forged), 5);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 1)->loop_forged), 1);
	for (unsigned port = 0; port < 4; port++)
		assert_true(switch_link_up(b->sw, port));
	forged = last_probe(b, 2); // its own port it may take down, as with a cable
	send_probe(b, 2, &forged);
	assert_int_equal(switch_loop_state(b->sw, 2), LOOP_PORT_DOWN);
	bench_close(b);
}

static void probes_of_another_switch_pass(void **state)
{
	struct loop_probe other = {.id = 77, .nonce = 1, .round = 1};
	struct bench *b = bench_open(policy(", loop_detect: on", ""), 0);
	uint32_t before;

	(void)state;
	turn(b, 100000000);
	before = b->host[1].n_rx;
	send_probe(b, 0, &other);
	assert_int_equal(b->host[1].n_rx, before + 1);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->loop_forged), 0);
	bench_close(b);
}

// A cable between access ports of VLAN 10 and VLAN 20 joins VLANs and is no loop of either.
static void a_probe_counts_in_its_own_vlan_only(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:a\", speed: 1G, loop_detect: on, "
		"vlan: {untagged: 10, tagged: [30-60]}}\n"
		"  - {name: p2, device: \"wire:b\", speed: 1G, loop_detect: on, "
		"vlan: {untagged: 20, tagged: [55]}}\n"
		"vlans: [{id: 10}, {id: 20}]\n";
	struct bench *b = bench_open(yaml, 0);

	(void)state;
	turn(b, 3ull * SECOND);
	assert_int_equal(b->host[0].n_rx, 3 * (1 + 16));
	assert_int_equal(b->host[1].n_rx, 3 * (1 + 1));
	plug(b, true);
	turn(b, 4ull * SECOND);
	assert_int_equal(events(b, EVENT_LOOP), 1);
	assert_int_equal(event(b, EVENT_LOOP)->a >> 16, 55);
	bench_close(b);
}

static void without_the_key_nothing_is_sent(void **state)
{
	struct bench *b = bench_open(policy("", ""), 0);

	(void)state;
	turn(b, 3ull * SECOND);
	assert_int_equal(b->host[0].n_rx, 0);
	assert_int_equal(switch_balance(b->sw).generated, 0);
	bench_close(b);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bpdus_pass_unchanged_in_the_highest_lossy_class),
		T(pvst_is_plain_multicast),
		T(bpdus_stay_in_their_vlan_and_end_at_a_router),
		T(storm_control_limits_each_kind_on_its_own),
		T(bpdus_have_a_rate_where_multicast_has_none),
		T(a_loop_is_an_alarm_that_names_both_ports),
		T(port_down_stops_the_storm_and_the_port_recovers),
		T(a_probe_that_comes_back_through_a_peer_takes_a_port_down),
		T(a_reload_without_the_action_brings_the_port_up),
		T(a_stranger_takes_no_other_port_down),
		T(probes_of_another_switch_pass),
		T(a_probe_counts_in_its_own_vlan_only),
		T(without_the_key_nothing_is_sent),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
