// SPDX-License-Identifier: Apache-2.0
// VLAN-aware bridging of a whole switch: learning, ageing, flooding, tags, and what is never
// forwarded.
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/qos/pg.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

static const char transparent[] =
	"switch: {name: br, mac_age: 2s}\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, mtu: 1500}\n";

static const char vlans[] =
	"switch: {name: br}\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:a\", speed: 10G, vlan: {untagged: 10}}\n"
	"  - {name: p2, device: \"wire:b\", speed: 10G, vlan: {untagged: 10}}\n"
	"  - {name: p3, device: \"wire:c\", speed: 10G, vlan: {tagged: [10, 20-21]}}\n"
	"  - {name: p4, device: \"wire:d\", speed: 10G, vlan: {untagged: 20, tagged: [30]}}\n"
	"vlans: [{id: 10}, {id: 20}, {id: 21}, {id: 30, flood: off}]\n";

static struct bench_frame to(unsigned port)
{
	return (struct bench_frame){.to = port, .len = 200};
}

static void settle(struct bench *b)
{
	bench_run(b, 10000);
	bench_control(b);
}

static void inject(struct bench *b, unsigned from, const struct bench_frame *f)
{
	bench_inject(b, from, f, 1);
	settle(b);
}

static void expect_rx(const struct bench *b, unsigned a, unsigned c, unsigned d, unsigned e)
{
	const unsigned want[4] = {a, c, d, e};

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(b->host[i].n_rx, want[i]);
}

static void unknown_addresses_flood_and_known_ones_do_not(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = to(1), back = to(0);

	(void)state;
	inject(b, 0, &f);
	expect_rx(b, 0, 1, 1, 1);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->replicated), 2);
	inject(b, 1, &back);
	expect_rx(b, 1, 1, 1, 1);
	inject(b, 0, &f);
	expect_rx(b, 1, 2, 1, 1);
	f.broadcast = true;
	inject(b, 0, &f);
	expect_rx(b, 1, 3, 2, 2);
	bench_close(b);
}

static void an_address_that_moves_is_followed(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = to(1);
	uint8_t moved[256];
	uint16_t len;

	(void)state;
	inject(b, 1, &f); // host 2 speaks from its port (to itself: filtered or flooded)
	len = bench_build(moved, 1, &(struct bench_frame){.to = 0, .len = 100});
	bench_send_raw(b, 3, moved, len); // the same source address, now on port 4
	settle(b);
	settle(b);
	f = to(1);
	b->host[3].n_rx = 0;
	inject(b, 0, &f);
	assert_int_equal(b->host[3].n_rx, 1);
	bench_close(b);
}

static void addresses_age_and_static_ones_do_not(void **state)
{
	char yaml[512];
	struct bench *b;
	struct bench_frame f = to(1), g = to(3), back = to(0);

	(void)state;
	snprintf(yaml, sizeof(yaml), "%sfdb: [{mac: \"02:00:00:00:00:04\", port: p4}]\n",
		 transparent);
	b = bench_open(yaml, 0);
	inject(b, 1, &back);
	for (unsigned i = 0; i < 4; i++)
		b->host[i].n_rx = 0;
	inject(b, 0, &f);
	expect_rx(b, 0, 1, 0, 0);
	bench_run(b, 2500000000);
	for (unsigned i = 0; i < 200; i++)
		bench_control(b);
	inject(b, 0, &f);
	expect_rx(b, 0, 2, 1, 1);
	inject(b, 0, &g);
	expect_rx(b, 0, 2, 1, 2);
	bench_close(b);
}

static void expect_no_event(const struct bench *b, unsigned from, enum event_type type)
{
	for (unsigned i = from; i < b->n_events; i++)
		assert_int_not_equal(b->events[i].type, type);
}

// A worker reads its clock after control has read its own.
static void an_address_seen_after_controls_clock_is_not_old(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = to(1);

	(void)state;
	inject(b, 0, &f);
	bench_run(b, 200000000);
	bench_inject(b, 0, &f, 1);
	for (unsigned i = 0; i < 100; i++)
		b->n_events += switch_control_step(b->sw, b->clock.now_ns - 1000000,
						   b->events + b->n_events, 64);
	expect_no_event(b, 0, EVENT_MAC_AGED);
	bench_close(b);
}

static void nothing_is_learned_on_a_port_that_has_gone_down(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = to(1);

	(void)state;
	bench_inject(b, 0, &f, 1); // control has not heard of the address yet
	wire_set_up(b->host[0].wire, false);
	bench_run(b, 200000000);
	bench_control(b);
	expect_no_event(b, 0, EVENT_MAC_LEARNED);
	bench_close(b);
}

static void a_frame_never_leaves_by_the_port_it_came_from(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = to(0), self = to(0);

	(void)state;
	inject(b, 0, &f); // learns host 1 on port 1
	inject(b, 0, &self);
	assert_int_equal(b->host[0].n_rx, 0);
	assert_true(bench_drops(b, DROP_HAIRPIN) >= 1);
	bench_close(b);
}

static void link_local_frames_are_consumed_and_counted(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	uint8_t f[128] = {0};

	(void)state;
	for (unsigned last = 1; last < 16; last++) {
		memcpy(f, (uint8_t[]){0x01, 0x80, 0xc2, 0, 0, (uint8_t)last, 2, 0, 0, 0, 0, 1, 0x88,
				      last == 14 ? 0xcc : 0x09},
		       14);
		bench_send_raw(b, 0, f, 100);
	}
	settle(b);
	expect_rx(b, 0, 0, 0, 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->lldp), 1);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->other_control), 14);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->consumed), 15);
	f[5] = 0x10; // the next group address is an ordinary one
	bench_send_raw(b, 0, f, 100);
	settle(b);
	expect_rx(b, 0, 1, 1, 1);
	bench_close(b);
}

static void garbage_is_dropped_by_reason(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	uint8_t f[2000] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};

	(void)state;
	bench_send_raw(b, 0, f, 13);
	bench_send_raw(b, 0, f, 1522);
	bench_send_raw(b, 0, f, 1523);
	settle(b);
	assert_int_equal(bench_drops(b, DROP_RX_RUNT), 1);
	assert_int_equal(bench_drops(b, DROP_RX_OVERSIZE), 1);
	expect_rx(b, 0, 1, 1, 1);
	f[6] = 3; // group source
	bench_send_raw(b, 0, f, 100);
	memset(f + 6, 0, 6);
	bench_send_raw(b, 0, f, 100);
	settle(b);
	assert_int_equal(bench_drops(b, DROP_BAD_SOURCE), 2);
	bench_close(b);
}

static void vlans_are_kept_apart_and_tags_follow_the_port(void **state)
{
	struct bench *b = bench_open(vlans, 0);
	struct bench_frame f = {.to = 9, .len = 200, .dscp = 26};
	const uint8_t *d;

	(void)state;
	inject(b, 0, &f); // VLAN 10: p2 untagged, p3 tagged
	expect_rx(b, 0, 1, 1, 0);
	assert_int_equal(b->host[1].rx[0].len, 200);
	assert_int_equal(b->host[2].rx[0].len, 204);
	d = b->host[2].rx[0].data;
	assert_memory_equal(d + 12, ((uint8_t[]){0x81, 0x00, 3 << 5, 10, 0x08, 0x00}), 6);
	// Tagged 20 from the trunk leaves untagged at p4.
	f.tagged = true;
	f.vid = 20;
	f.pcp = 5;
	inject(b, 2, &f);
	expect_rx(b, 0, 1, 1, 1);
	assert_int_equal(b->host[3].rx[0].len, 196);
	assert_memory_equal(b->host[3].rx[0].data + 12, ((uint8_t[]){0x08, 0x00}), 2);
	// A VLAN that the port is no member of.
	f.vid = 30;
	inject(b, 2, &f);
	assert_int_equal(bench_drops(b, DROP_VLAN_INGRESS), 1);
	// The trunk has no untagged VLAN? It keeps the default, which no other port carries.
	f.vid = 21;
	inject(b, 2, &f);
	assert_int_equal(bench_drops(b, DROP_NO_EGRESS), 1);
	expect_rx(b, 0, 1, 1, 1);
	bench_close(b);
}

// A frame of `from` to everybody, with these tags in front of an EtherType and its payload.
static void send_tagged(struct bench *b, unsigned from, const uint16_t *tags, unsigned n,
			uint16_t type)
{
	static const struct pfc_times times = {.enable = 0xff, .quanta = {[3] = 0xffff}};
	uint8_t f[128] = {0}, pfc[PFC_FRAME_LEN];
	uint8_t *p = f + 12;

	pfc_frame_build(pfc, (uint8_t[]){2, 0, 0, 0, 0, 1}, &times);
	memset(f, 0xff, 6);
	memcpy(f + 6, pfc + 6, 6);
	for (unsigned i = 0; i < n; i++, p += 4)
		memcpy(p, (uint8_t[]){0x81, 0, (uint8_t)(tags[i] >> 8), (uint8_t)tags[i]}, 4);
	memcpy(p, pfc + 12, sizeof(pfc) - 12);
	p[0] = (uint8_t)(type >> 8);
	p[1] = (uint8_t)type;
	bench_send_raw(b, from, f, (uint16_t)(p - f + (int)sizeof(pfc) - 12));
	settle(b);
}

// The port that takes the tag off would send a valid PFC frame with the times of a stranger.
static void pfc_behind_a_tag_ends_here(void **state)
{
	static const uint16_t priority[] = {3 << 13, 3 << 13, 3 << 13, 3 << 13};
	static const uint16_t own[] = {20};
	struct bench *b = bench_open(vlans, 0), *plain = bench_open(transparent, 0);

	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		send_tagged(b, 0, priority, n, 0x8808);
		send_tagged(plain, 0, priority, n, 0x8808);
	}
	send_tagged(b, 2, own, 1, 0x8808);
	expect_rx(b, 0, 0, 0, 0);
	expect_rx(plain, 0, 0, 0, 0);
	assert_int_equal(bench_drops(b, DROP_TAGGED_CONTROL), 5);
	assert_int_equal(bench_drops(plain, DROP_TAGGED_CONTROL), 4);
	bench_close(b);
	bench_close(plain);
}

// Outer tag of the own VLAN, inner tag of another one: without the outer tag the next switch would
// take the frame for one of the other VLAN.
static void two_tags_are_no_way_into_another_vlan(void **state)
{
	static const uint16_t own[] = {10, 20}, priority[] = {0, 20}, trunk[] = {20, 30};
	struct bench *b = bench_open(vlans, 0);

	(void)state;
	send_tagged(b, 0, own, 2, 0x88b5); // an access port takes no frame with a VID
	send_tagged(b, 0, own, 1, 0x88b5);
	assert_int_equal(bench_drops(b, DROP_VLAN_INGRESS), 2);
	expect_rx(b, 0, 0, 0, 0);
	send_tagged(b, 0, priority, 1, 0x88b5);
	expect_rx(b, 0, 1, 1, 0);
	send_tagged(b, 0, priority, 2, 0x88b5); // p2 would take the tag off, p3 sets its VID
	expect_rx(b, 0, 1, 2, 0);
	assert_int_equal(bench_drops(b, DROP_VLAN_EGRESS), 1);
	send_tagged(b, 2, trunk, 2, 0x88b5);
	expect_rx(b, 0, 1, 2, 0);
	assert_int_equal(bench_drops(b, DROP_VLAN_EGRESS), 2);
	bench_close(b);
}

static void a_tag_that_goes_uncovers_no_protocol_of_the_link(void **state)
{
	static const uint16_t types[] = {0x88cc, 0x8809, 0x888e};
	static const uint16_t vid[] = {20};
	struct bench *b = bench_open(vlans, 0);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		send_tagged(b, 2, vid, 1, types[i]);
		expect_rx(b, 0, 0, 0, 0);
		assert_int_equal(bench_drops(b, DROP_VLAN_EGRESS), i + 1);
	}
	send_tagged(b, 2, vid, 1, 0x88b5);
	expect_rx(b, 0, 0, 0, 1);
	bench_close(b);
}

// From the host at port 0 to an address, behind so many priority tags.
static void send_type(struct bench *b, const uint8_t dst[6], unsigned n_tags, uint16_t type)
{
	uint8_t f[80] = {0}, *p = f + 12;

	memcpy(f, dst, 6);
	memcpy(f + 6, (uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
	for (unsigned i = 0; i < n_tags; i++, p += 4)
		memcpy(p, (uint8_t[]){0x81, 0, 0, 0}, 4);
	memcpy(p, (uint8_t[]){(uint8_t)(type >> 8), (uint8_t)type}, 2);
	bench_send_raw(b, 0, f, (uint16_t)(60 + 4 * n_tags));
	settle(b);
}

// A host that takes such a frame for one of the switch believes a forged notice, or LLDP with other
// PFC classes.
static void protocols_of_the_link_go_to_no_other_host(void **state)
{
	static const uint8_t host2[] = {2, 0, 0, 0, 0, 2}, all[] = {255, 255, 255, 255, 255, 255},
			     group[] = {1, 0, 0x5e, 1, 2, 3}, bridges[] = {1, 0x80, 0xc2, 0, 0, 0},
			     link[] = {1, 0x80, 0xc2, 0, 0, 0x0d};
	// A bit each: with inof; without it.
	static const struct {
		uint16_t type;
		const uint8_t *dst;
		uint8_t dropped;
	} rows[] = {{0x88a7, host2, 1},	 {0x88a7, all, 1},    {0x88a7, group, 1},
		    {0x88a7, bridges, 1}, {0x88cc, host2, 3},  {0x8809, host2, 3},
		    {0x88cc, all, 0},	 {0x8809, group, 0},  {0x88cc, bridges, 0},
		    {0x88b5, host2, 0},	 {0x88a7, link, 0}};
	static const char hosts[] =
		"switch: {name: br, lldp: on}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:w1\", speed: 10G, inof: off}\n"
		"  - {name: \"p[2-4]\", device: \"wire:w[2-4]\", speed: 10G}\n";
	char with[512];

	(void)state;
	snprintf(with, sizeof(with), "%sinof: on\n", hosts);
	for (unsigned on = 0; on < 2; on++) {
		struct bench *b = bench_open(on ? with : hosts, 0);

		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			for (unsigned n_tags = 0; n_tags <= 2; n_tags++) {
				bool dropped = rows[i].dropped >> (on ? 0 : 1) & 1;
				uint64_t before = bench_drops(b, DROP_LINK_PROTOCOL);
				uint32_t n_rx = b->host[1].n_rx;

				send_type(b, rows[i].dst, n_tags, rows[i].type);
				assert_int_equal(bench_drops(b, DROP_LINK_PROTOCOL),
						 before + dropped);
				assert_int_equal(b->host[1].n_rx,
						 n_rx + (!dropped && rows[i].dst != link));
			}
		bench_close(b);
	}
}

static void a_shortest_frame_is_padded_when_its_tag_goes(void **state)
{
	struct bench *b = bench_open(vlans, 0);
	struct bench_frame f = {.to = 9, .len = 60, .tagged = true, .vid = 20};

	(void)state;
	inject(b, 2, &f);
	assert_int_equal(b->host[3].rx[0].len, 60);
	for (unsigned i = 56; i < 60; i++)
		assert_int_equal(b->host[3].rx[0].data[i], 0);
	f.len = 61;
	inject(b, 2, &f);
	assert_int_equal(b->host[3].rx[1].len, 60);
	f.len = 80;
	inject(b, 2, &f);
	assert_int_equal(b->host[3].rx[2].len, 76);
	bench_close(b);
}

static void filtering_is_no_loss_of_a_lossless_class(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\n"
		"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: x}\n"
		"fdb: [{mac: \"02:00:00:00:00:01\", port: p1}]\n"
		"profiles: {x: {classes: {3: {lossless: true}}}}\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame self = {.to = 0, .dscp = 24, .len = 100};

	(void)state;
	inject(b, 0, &self);
	assert_int_equal(bench_drops(b, DROP_HAIRPIN), 1);
	for (unsigned i = 0; i < b->n_events; i++)
		assert_int_not_equal(b->events[i].type, EVENT_LOSSLESS_DROP);
	bench_close(b);
}

static void the_same_address_may_live_in_two_vlans(void **state)
{
	struct bench *b = bench_open(vlans, 0);
	struct bench_frame t10 = {.to = 0, .len = 100, .tagged = true, .vid = 10};
	uint8_t raw[128];
	uint16_t len;

	(void)state;
	// Host 1's address speaks in VLAN 10 on p1, and in VLAN 20 on p4.
	inject(b, 0, &(struct bench_frame){.to = 8, .len = 100});
	len = bench_build(raw, 0, &(struct bench_frame){.to = 8, .len = 100});
	bench_send_raw(b, 3, raw, len);
	settle(b);
	for (unsigned i = 0; i < 4; i++)
		b->host[i].n_rx = 0;
	inject(b, 2, &t10);
	expect_rx(b, 1, 0, 0, 0);
	t10.vid = 20;
	inject(b, 2, &t10);
	expect_rx(b, 1, 0, 0, 1);
	bench_close(b);
}

static void flood_off_drops_unknown_unicast_only(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\n"
		"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G}\n"
		"vlans: [{id: 1, flood: off}]\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = to(1);

	(void)state;
	inject(b, 0, &f);
	expect_rx(b, 0, 0, 0, 0);
	assert_int_equal(bench_drops(b, DROP_NO_EGRESS), 1);
	f.broadcast = true;
	inject(b, 0, &f);
	expect_rx(b, 0, 1, 1, 1);
	bench_close(b);
}

static void a_flooded_frame_is_charged_once(void **state)
{
	struct bench *b = bench_open(transparent, 0);
	struct bench_frame f = {.broadcast = true, .len = 256};

	(void)state;
	for (unsigned p = 1; p < 4; p++)
		bench_tx(b, p, -1, false);
	bench_inject(b, 0, &f, 10);
	assert_int_equal(pg_used(switch_pg_state(b->sw, 0, 0)), 10);
	assert_int_equal(switch_balance(b->sw).replicated, 20);
	assert_int_equal(switch_balance(b->sw).queued, 30);
	bench_close(b);
}

static void a_smaller_mtu_at_egress_drops_there(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:a\", speed: 10G, mtu: 3000}\n"
		"  - {name: p2, device: \"wire:b\", speed: 10G, mtu: 1500}\n"
		"  - {name: p3, device: \"wire:c\", speed: 10G, mtu: 3000}\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = {.to = 8, .len = 3022};

	(void)state;
	inject(b, 0, &f);
	assert_int_equal(b->host[2].n_rx, 1);
	assert_int_equal(b->host[1].n_rx, 0);
	assert_int_equal(bench_drops(b, DROP_EGRESS_MTU), 1);
	bench_close(b);
}

static void a_port_that_goes_down_flushes_without_an_alarm(void **state)
{
	static const char yaml[] =
		"switch: {name: br}\n"
		"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: x}\n"
		"fdb: [{mac: \"02:00:00:00:00:03\", port: p3}]\n"
		"profiles: {x: {classes: {3: {lossless: true}}}}\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 256};

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 50);
	wire_set_up(b->host[2].wire, false);
	bench_run(b, 200000000);
	bench_control(b);
	actor_poke(&b->actor);
	bench_run(b, 1000);
	bench_control(b);
	assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 50);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	assert_int_equal(pg_used(switch_pg_state(b->sw, 0, 3)), 0);
	for (unsigned i = 0; i < b->n_events; i++)
		assert_int_not_equal(b->events[i].type, EVENT_LOSSLESS_DROP);
	bench_tx(b, 2, -1, true);
	wire_set_up(b->host[2].wire, true);
	bench_run(b, 200000000);
	bench_control(b);
	actor_poke(&b->actor);
	bench_run(b, 1000);
	bench_inject(b, 0, &f, 1);
	bench_run(b, 1000);
	assert_int_equal(b->host[2].n_rx, 1);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_addresses_flood_and_known_ones_do_not),
		cmocka_unit_test(an_address_that_moves_is_followed),
		cmocka_unit_test(addresses_age_and_static_ones_do_not),
		cmocka_unit_test(an_address_seen_after_controls_clock_is_not_old),
		cmocka_unit_test(nothing_is_learned_on_a_port_that_has_gone_down),
		cmocka_unit_test(a_frame_never_leaves_by_the_port_it_came_from),
		cmocka_unit_test(link_local_frames_are_consumed_and_counted),
		cmocka_unit_test(garbage_is_dropped_by_reason),
		cmocka_unit_test(vlans_are_kept_apart_and_tags_follow_the_port),
		cmocka_unit_test(pfc_behind_a_tag_ends_here),
		cmocka_unit_test(two_tags_are_no_way_into_another_vlan),
		cmocka_unit_test(a_tag_that_goes_uncovers_no_protocol_of_the_link),
		cmocka_unit_test(protocols_of_the_link_go_to_no_other_host),
		cmocka_unit_test(a_shortest_frame_is_padded_when_its_tag_goes),
		cmocka_unit_test(filtering_is_no_loss_of_a_lossless_class),
		cmocka_unit_test(the_same_address_may_live_in_two_vlans),
		cmocka_unit_test(flood_off_drops_unknown_unicast_only),
		cmocka_unit_test(a_flooded_frame_is_charged_once),
		cmocka_unit_test(a_smaller_mtu_at_egress_drops_there),
		cmocka_unit_test(a_port_that_goes_down_flushes_without_an_alarm),
	};

	return cmocka_run_group_tests_name("bridge", tests, bench_eal, NULL);
}
