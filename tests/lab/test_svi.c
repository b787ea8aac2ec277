// SPDX-License-Identifier: Apache-2.0
// VLANs that bridge and route, on the virtual clock: which way a frame goes, what is changed in it,
// which tag it gets, and what control sees. Every frame is compared byte by byte.
#include "tests/lab/router.h"

#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/neighbours/resolver.h"
#include "dataplane/base/rng.h"
#include "dataplane/iface.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_routes.h"

enum { V100 = 100, V200 = 200, LOOP_NS = 3000000, ECHO = ICMP_ECHO << 8, ICMP = 1, TCI = 1 };
enum { VLAN100 = IFACE_SVI, VLAN200 };

// p1 and p2 are access ports, p3 is a trunk, p4 routes, p5 has both VLANs, one of them untagged.
// The host at port i has the MAC address 02:00:00:00:00:0i in each VLAN.
static const char ports[] =
	"switch: {name: s, buffer: {size: 4MB, cell: 256B}, ecmp: {seed: 7}}\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: 100}}\n"
	"  - {name: p2, device: \"wire:2\", speed: 10G, vlan: {untagged: 200}}\n"
	"  - {name: p3, device: \"wire:3\", speed: 10G, vlan: {untagged: none, "
	"tagged: [100, 200]}, profile: q}\n"
	"  - {name: p4, device: \"wire:4\", speed: 10G, ip: [10.0.4.1/24, \"fd00:4::1/64\"], "
	"profile: q}\n"
	"  - {name: p5, device: \"wire:5\", speed: 10G, vlan: {untagged: 100, tagged: [200]}}\n"
	"  - {name: p6, device: \"wire:6\", speed: 10G, vlan: {untagged: 300}}\n"
	"profiles: {q: {trust: dscp, classes: {3: {lossless: on}}}}\n"
	"fdb:\n"
	"  - {mac: \"02:00:00:00:00:01\", port: p1}\n"
	"  - {mac: \"02:00:00:00:00:02\", port: p2}\n"
	"  - {mac: \"02:00:00:00:00:03\", port: p3, vlan: 100}\n"
	"  - {mac: \"02:00:00:00:00:03\", port: p3, vlan: 200}\n"
	"  - {mac: \"02:00:00:00:00:05\", port: p5, vlan: 100}\n"
	"  - {mac: \"02:00:00:00:00:05\", port: p5, vlan: 200}\n"
	"neighbours:\n"
	"  - {ip: 10.0.4.2, mac: \"02:00:00:00:00:04\"}\n"
	"  - {ip: \"fd00:4::2\", mac: \"02:00:00:00:00:04\"}\n";
static const char stations[] =
	"  - {ip: 10.0.100.11, mac: \"02:00:00:00:00:01\"}\n"
	"  - {ip: 10.0.100.13, mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: 10.0.100.15, mac: \"02:00:00:00:00:05\"}\n"
	"  - {ip: 10.0.100.99, mac: \"02:00:00:00:00:99\"}\n"
	"  - {ip: 10.0.200.12, mac: \"02:00:00:00:00:02\"}\n"
	"  - {ip: 10.0.200.13, mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: 10.0.200.15, mac: \"02:00:00:00:00:05\"}\n"
	"  - {ip: \"fd00:100::11\", mac: \"02:00:00:00:00:01\"}\n"
	"  - {ip: \"fd00:200::12\", mac: \"02:00:00:00:00:02\"}\n"
	"  - {ip: \"fd00:200::13\", mac: \"02:00:00:00:00:03\"}\n"
	"routes:\n"
	"  - {to: 10.8.0.0/16, via: [10.0.4.2, 10.0.200.12]}\n";
static const char svi100[] = "vlans:\n"
			     "  - {id: 300}\n"
			     "  - {id: 100, ip: [10.0.100.1/24, \"fd00:100::1/64\"], "
			     "mac: \"02:00:00:00:01:64\"}\n";
static const char svi200[] = "  - {id: 200, ip: [10.0.200.1/24, \"fd00:200::1/64\"], "
			     "mac: \"02:00:00:00:01:c8\", mtu: 1400}\n";

static const char *policy(const char *hosts, const char *vlan200)
{
	static char text[8192];

	snprintf(text, sizeof(text), "%s%s%s%s", ports, hosts, svi100, vlan200);
	return text;
}

static struct bench *open_svis(void)
{
	return bench_open(policy(stations, svi200), 0);
}

// ---- frames

static void put_mac(uint8_t *out, unsigned last)
{
	memcpy(out, (uint8_t[]){2, 0, 0, 0, (uint8_t)(last > 8 ? 1 : 0), (uint8_t)last}, 6);
}

// Of the interface with this VLAN; 0: of p4.
static void put_router(uint8_t *out, unsigned vid)
{
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(vid != 0 ? vid : 4)}, 6);
}

static uint16_t tagged(uint8_t *frame, uint16_t len, uint16_t tci)
{
	memmove(frame + 16, frame + 12, len - 12u);
	be16_put(frame + 12, 0x8100);
	be16_put(frame + 14, tci);
	return (uint16_t)(len + 4);
}

struct hop {
	unsigned from, in_vid; // port, VLAN of the frame
	uint16_t in_tag; // TCI; 0: untagged
	const char *src, *dst;
	unsigned to, out_vid; // 0: by a routed port
	uint16_t out_tag;
	uint8_t dscp;
};

// An untagged frame from the host at the port to the router.
static uint16_t build(uint8_t *out, const struct hop *h, const struct router_packet *k)
{
	uint16_t len = router_build(out, h->from, k);

	put_router(out, h->in_vid);
	if (h->dscp != 0 && out[12] == 0x08) {
		out[15] = (uint8_t)(h->dscp << 2);
		be16_put(out + 24, 0);
		be16_put(out + 24, router_csum(out + 14, 20));
	}
	return len;
}

static uint16_t sent(struct bench *b, uint8_t *out, const struct hop *h,
		     const struct router_packet *k)
{
	uint16_t len = build(out, h, k);
	uint8_t frame[FRAME_MAX + 4];

	memcpy(frame, out, len);
	bench_send_raw(b, h->from, frame, h->in_tag != 0 ? tagged(frame, len, h->in_tag) : len);
	return len;
}

static void is_frame(const struct bench_rx *rx, const uint8_t *want, uint16_t len)
{
	assert_int_equal(rx->len, len);
	assert_memory_equal(rx->data, want, len < BENCH_KEEP ? len : BENCH_KEEP);
}

// The frame as it must leave. Returns its length.
static uint16_t routed(uint8_t *frame, uint16_t len, const struct hop *h)
{
	bool v6 = frame[12] == 0x86;

	put_mac(frame, h->to + 1);
	put_router(frame + 6, h->out_vid);
	frame[14 + (v6 ? 7 : 8)]--;
	if (!v6) {
		be16_put(frame + 24, 0);
		be16_put(frame + 24, router_csum(frame + 14, 20));
	}
	return h->out_tag != 0 ? tagged(frame, len, h->out_tag) : len;
}

static uint16_t tci(unsigned pcp, unsigned vid)
{
	return (uint16_t)(pcp << 13 | vid);
}

// ---- which way, and what is changed

static void frames_between_vlans_get_the_addresses_and_the_tag_of_their_way(void **state)
{
	const struct hop rows[] = {
		{P1, V100, 0, "10.0.100.11", "10.0.200.12", P2, V200, 0, 0},
		{P1, V100, 0, "fd00:100::11", "fd00:200::12", P2, V200, 0, 0},
		{P1, V100, 0, "10.0.100.11", "10.0.200.13", P3, V200, V200, 0},
		{P1, V100, 0, "fd00:100::11", "fd00:200::13", P3, V200, V200, 0},
		// The PCP of a new tag is the class of the frame.
		{P1, V100, 0, "10.0.100.11", "10.0.200.13", P3, V200, tci(5, V200), 40},
		{P3, V100, V100, "10.0.100.13", "10.0.200.12", P2, V200, 0, 0},
		// The tag of arrival ends at the router, PCP and all.
		{P3, V100, tci(7, V100), "10.0.100.13", "10.0.200.15", P5, V200, V200, 0},
		{P5, V200, tci(6, V200), "10.0.200.15", "10.0.4.2", P4, 0, 0, 0},
		{P1, V100, 0, "10.0.100.11", "10.0.4.2", P4, 0, 0, 0},
		{P4, 0, 0, "10.0.4.2", "10.0.100.11", P1, V100, 0, 0},
		{P4, 0, 0, "10.0.4.2", "10.0.100.13", P3, V100, V100, 0},
		{P4, 0, 0, "fd00:4::2", "fd00:200::13", P3, V200, V200, 0},
		// Out by the port of arrival: into the other VLAN, and into the same one.
		{P3, V100, V100, "10.0.100.13", "10.0.200.13", P3, V200, V200, 0},
		{P5, V100, 0, "10.0.100.15", "10.0.200.15", P5, V200, V200, 0},
		{P5, V200, V200, "10.0.200.15", "10.0.100.15", P5, V100, 0, 0},
		{P3, V100, V100, "10.9.9.9", "10.0.100.13", P3, V100, V100, 0},
	};
	static const uint16_t lens[] = {64, 100, 1400};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]) * 3; i++) {
		const struct hop *h = &rows[i / 3];
		struct router_packet k = {.src = h->src, .dst = h->dst, .len = lens[i % 3]};
		struct bench_host *host = &b->host[h->to];
		uint32_t before = host->n_rx, all = router_received(b);
		uint16_t len = sent(b, frame, h, &k);

		router_settle(b);
		if (host->n_rx != before + 1 || router_received(b) != all + 1)
			fail_msg("row %u: %s does not go to port %u", i / 3, h->dst, h->to + 1);
		len = routed(frame, len, h);
		is_frame(&host->rx[before], frame, len);
	}
	bench_close(b);
}

static void frames_to_other_stations_of_the_vlan_are_bridged(void **state)
{
	struct bench *b = open_svis();
	const struct hop h = {.from = P1, .in_vid = V100};
	uint8_t frame[FRAME_MAX];
	uint16_t len = build(frame, &h,
			     &(struct router_packet){.src = "10.0.100.11", .dst = "10.0.200.12"});

	(void)state;
	put_mac(frame, 3);
	bench_send_raw(b, P1, frame, len);
	router_settle(b);
	assert_int_equal(router_received(b), 1);
	len = tagged(frame, len, V100);
	is_frame(&b->host[P3].rx[0], frame, len);
	bench_close(b);
}

// By every port of the VLAN, each with the tag that it wants; also by the port of arrival.
static void a_next_hop_that_the_bridge_does_not_know_is_flooded_for(void **state)
{
	const struct hop h = {P3, V200, V200, "10.0.200.13", "10.0.100.99", 0x98, V100, 0, 0};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];
	uint16_t len = sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});

	(void)state;
	router_settle(b);
	assert_int_equal(router_received(b), 3);
	len = routed(frame, len, &h);
	memcpy(frame, (uint8_t[]){2, 0, 0, 0, 0, 0x99}, 6);
	is_frame(&b->host[P1].rx[0], frame, len);
	is_frame(&b->host[P5].rx[0], frame, len);
	len = tagged(frame, len, V100);
	is_frame(&b->host[P3].rx[0], frame, len);
	bench_close(b);
}

static void a_lossless_frame_is_not_flooded(void **state)
{
	const struct hop h = {P4, 0, 0, "10.0.4.2", "10.0.100.99", 0, 0, 0, 24};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
	router_settle(b);
	assert_int_equal(router_received(b), 3); // the probe
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 1);
	bench_close(b);
}

static void frames_that_cannot_be_routed_are_dropped_with_their_reason(void **state)
{
	static const struct {
		struct hop h;
		struct router_packet k;
		enum drop_reason why;
	} rows[] = {
		{{P1, V100, 0}, {.src = "10.0.100.11", .dst = "10.0.200.12", .len = 1415,
			       .frag = 1},
		 DROP_EGRESS_MTU},
		{{P1, V100, 0}, {.src = "10.0.100.11", .dst = "192.0.2.1"}, DROP_NO_ROUTE},
		{{P1, V100, 0}, {.src = "127.0.0.1", .dst = "10.0.200.12"}, DROP_MARTIAN},
		{{P1, V100, 0}, {.src = "10.0.100.11", .dst = "224.1.1.1"}, DROP_MARTIAN},
		{{P1, V100, 0}, {.src = "10.0.100.11", .dst = "10.0.200.1"}, DROP_TO_ROUTER},
		{{P1, V100, 0}, {.src = "10.0.100.11", .dst = "10.0.200.255"}, DROP_TO_ROUTER},
		{{P3, V100, V100}, {.src = "10.0.100.13", .dst = "10.0.4.2", .tag = 5},
		 DROP_VLAN_INGRESS},
	};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = bench_drops(b, rows[i].why);

		sent(b, frame, &rows[i].h, &rows[i].k);
		router_settle(b);
		if (bench_drops(b, rows[i].why) != before + 1)
			fail_msg("row %u is not dropped as %s", i, drop_info[rows[i].why].name);
	}
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

// The class, its account and its PAUSE are those of a bridged frame.
static void a_lossless_frame_is_charged_where_it_came_in(void **state)
{
	const struct hop h = {P3, V100, V100, "10.0.100.13", "10.0.4.2", P4, 0, 0, 24};
	const struct hop back = {P4, 0, 0, "10.0.4.2", "10.0.100.13", P3, V100, tci(3, V100), 24};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];
	uint16_t len;

	(void)state;
	bench_tx(b, P4, -1, false);
	for (unsigned i = 0; i < 5; i++)
		sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst, .len = 500});
	router_settle(b);
	assert_int_equal(switch_held_cells(b->sw, P4, 3, P3, 3), 5 * 2);
	bench_tx(b, P4, -1, true);
	router_settle(b);
	assert_int_equal(b->host[P4].n_rx, 5);
	len = sent(b, frame, &back, &(struct router_packet){.src = back.src, .dst = back.dst});
	router_settle(b);
	len = routed(frame, len, &back);
	is_frame(&b->host[P3].rx[0], frame, len);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	bench_close(b);
}

// ---- answers

static void the_router_answers_ping_with_the_tag_of_the_port(void **state)
{
	static const struct hop rows[] = {
		{P1, V100, 0, "10.0.100.11", "10.0.100.1", P1, V100, 0, 0},
		{P1, V100, 0, "10.0.100.11", "10.0.200.1", P1, V100, 0, 0},
		{P3, V200, V200, "10.0.200.13", "10.0.200.1", P3, V200, V200, 0},
		{P5, V100, 0, "10.0.100.15", "10.0.4.1", P5, V100, 0, 0},
		{P5, V200, V200, "10.0.200.15", "10.0.200.1", P5, V200, V200, 0},
		{P4, 0, 0, "10.0.4.2", "10.0.100.1", P4, 0, 0, 0},
	};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct hop *h = &rows[i];
		struct bench_host *host = &b->host[h->from];
		uint32_t before = host->n_rx;
		uint16_t len = sent(b, frame, h, &(struct router_packet){
			.src = h->src, .dst = h->dst, .proto = ICMP, .sport = ECHO, .ttl = 9});
		uint8_t mac[6], ip[4];

		router_settle(b);
		assert_int_equal(host->n_rx, before + 1);
		memcpy(mac, frame, 6);
		memcpy(frame, frame + 6, 6);
		memcpy(frame + 6, mac, 6);
		memcpy(ip, frame + 26, 4);
		memcpy(frame + 26, frame + 30, 4);
		memcpy(frame + 30, ip, 4);
		frame[22] = 64;
		be16_put(frame + 24, 0);
		be16_put(frame + 24, router_csum(frame + 14, 20));
		frame[34] = ICMP_ECHOREPLY;
		be16_put(frame + 36, (uint16_t)(be16_get(frame + 36) + ECHO));
		if (h->out_tag != 0)
			len = tagged(frame, len, h->out_tag);
		is_frame(&host->rx[before], frame, len);
	}
	bench_close(b);
}

static void an_expired_ttl_is_answered_from_the_address_in_the_vlan(void **state)
{
	static const struct hop h = {P3, V200, V200, "10.0.200.13", "10.0.100.11", 0, 0, 0, 0};
	static const uint8_t head[] = {2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 1, 200, 0x81, 0, 0, V200,
				       8, 0, 0x45};
	struct bench *b = open_svis();
	const struct bench_rx *rx;
	uint8_t frame[FRAME_MAX], own[4];

	(void)state;
	sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst, .ttl = 1});
	router_settle(b);
	assert_int_equal(b->host[P3].n_rx, 1);
	rx = &b->host[P3].rx[0];
	assert_int_equal(rx->len, 100 + 4 + 28);
	assert_memory_equal(rx->data, head, sizeof(head));
	router_ip("10.0.200.1", own);
	assert_memory_equal(rx->data + 30, own, 4);
	assert_int_equal(rx->data[38], ICMP_TIME_EXCEEDED);
	bench_close(b);
}

// ---- policies and links

static void a_vlan_without_addresses_bridges_again(void **state)
{
	const struct hop h = {P2, V200, 0, "10.0.200.12", "10.0.100.11", 0, 0, 0, 0};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	bench_publish(b, policy("", "  - {id: 200}\n"));
	bench_control(b);
	router_settle(b);
	bench_control(b);
	sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
	router_settle(b);
	assert_int_equal(b->host[P3].n_rx, 1); // flooded: nobody has the address
	assert_int_equal(b->host[P5].n_rx, 1);
	assert_int_equal(b->host[P1].n_rx, 0);

	bench_publish(b, policy(stations, svi200));
	router_settle(b);
	sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
	router_settle(b);
	assert_int_equal(b->host[P1].n_rx, 1);
	assert_int_equal(b->host[P3].n_rx, 1);
	bench_close(b);
}

// A VLAN that is named before the others would take their numbers.
static void neighbours_stay_known_when_a_policy_has_other_vlans(void **state)
{
	static const char *const vlan200[] = {
		"  - {id: 200, ip: [10.0.200.1/24]}\n  - {id: 50, ip: 10.0.50.1/24}\n",
		"  - {id: 200, ip: [10.0.200.1/24]}\n  - {id: 20, ip: 10.0.20.1/24}\n",
		"  - {id: 200, ip: [10.0.200.1/24]}\n",
	};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	const struct hop h = {P1, V100, 0, "10.0.100.11", "10.0.200.12", 0, 0, 0, 0};
	struct bench *b = bench_open(policy("", svi200), 0);
	uint8_t frame[FRAME_MAX];

	(void)state;
	router_neighbour(b, VLAN200, "10.0.200.12", mac);
	for (unsigned i = 0; i < 3; i++) {
		bench_publish(b, policy("", vlan200[i]));
		router_settle(b);
		assert_int_equal(policy_svi_of(b->policy, V200), VLAN200);
		assert_int_equal(policy_svi_of(b->policy, 50), i == 0 ? VLAN200 + 1 : 0);
		assert_int_equal(policy_svi_of(b->policy, 20), i == 1 ? VLAN200 + 2 : 0);
		sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
		router_settle(b);
		assert_int_equal(b->host[P2].n_rx, i + 1);
	}
	bench_close(b);
}

static void set_links(struct bench *b, const unsigned *at, unsigned n, bool up)
{
	for (unsigned i = 0; i < n; i++)
		wire_set_up(b->host[at[i]].wire, up);
	switch_links_changed(b->sw);
	bench_control(b);
	router_settle(b);
}

static void an_svi_is_up_while_a_port_of_its_vlan_is(void **state)
{
	static const unsigned of_200[] = {P2, P3, P5};
	const struct hop h = {P1, V100, 0, "10.0.100.11", "10.8.0.1", 0, 0, 0, 0};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];

	(void)state;
	assert_true(switch_link_up(b->sw, VLAN200));
	for (unsigned i = 0; i < 64; i++)
		sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst,
							    .sport = (uint16_t)i});
	router_settle(b);
	assert_true(b->host[P2].n_rx > 0 && b->host[P4].n_rx > 0);
	assert_int_equal(b->host[P2].n_rx + b->host[P4].n_rx, 64);

	set_links(b, of_200, 2, false);
	assert_true(switch_link_up(b->sw, VLAN200));
	set_links(b, of_200, 3, false);
	assert_false(switch_link_up(b->sw, VLAN200));
	b->host[P4].n_rx = 0;
	for (unsigned i = 0; i < 64; i++)
		sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst,
							    .sport = (uint16_t)i});
	router_settle(b);
	assert_int_equal(b->host[P4].n_rx, 64); // the other next hop has all flows
	set_links(b, of_200, 1, true);
	assert_true(switch_link_up(b->sw, VLAN200));
	bench_close(b);
}

// A station that claims the router's address neither gets it, nor is learnt.
static void the_address_of_the_router_stays(void **state)
{
	const struct hop h = {P2, V200, 0, "10.0.200.12", "10.0.100.11", 0, 0, 0, 0};
	struct bench *b = open_svis();
	uint8_t frame[FRAME_MAX];
	uint16_t len = build(frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});

	(void)state;
	put_mac(frame, 5);
	put_router(frame + 6, V200);
	for (unsigned i = 0; i < 3; i++) {
		bench_send_raw(b, P3, frame, tagged(frame, len, V200));
		memmove(frame + 12, frame + 16, len - 12u);
		router_settle(b);
		bench_control(b);
	}
	assert_int_equal(b->host[P5].n_rx, 3);
	sent(b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
	router_settle(b);
	assert_int_equal(b->host[P1].n_rx, 1);
	bench_close(b);
}

static void interfaces_are_ports_and_vlans_alike(void **state)
{
	struct bench *b = open_svis();
	unsigned n = 0, seen[4] = {0};
	struct iface i;

	(void)state;
	for (unsigned no = 0; no < N_IFACES; no++)
		if (iface_get(b->policy, no, &i))
			seen[n++] = no;
	assert_int_equal(n, 3);
	assert_int_equal(seen[0], P4);
	assert_int_equal(seen[1], VLAN100);
	assert_true(iface_get(b->policy, VLAN200, &i));
	assert_string_equal(i.name, "vlan200");
	assert_int_equal(i.mtu, 1400);
	assert_int_equal(i.n_addrs, 2);
	assert_true(iface_get(b->policy, VLAN100, &i));
	assert_int_equal(i.mtu, 1500);
	bench_close(b);
}

// ---- what control sees and sends

struct world {
	struct bench *b;
	struct resolver *r;
};

static void turn(struct world *w, unsigned loops)
{
	for (unsigned i = 0; i < loops; i++) {
		bench_control(w->b);
		(void)resolver_poll(w->r, false, w->b->clock.now_ns);
		actor_poke(&w->b->actor);
		bench_run(w->b, LOOP_NS);
	}
}

static struct world begin(void)
{
	struct world w = {.b = bench_open(policy("", svi200), 0)};

	assert_int_equal(resolver_create(w.b->sw, w.b->clock.now_ns, &w.r), 0);
	turn(&w, 1);
	return w;
}

static void end(struct world *w)
{
	resolver_destroy(w->r);
	bench_close(w->b);
}

static struct neighbour_msg msg(unsigned from, bool request, const char *sender,
				const char *target)
{
	struct neighbour_msg m = {.request = request};

	m.family = strchr(sender, ':') != NULL ? 6 : 4;
	put_mac(m.sender_mac, from + 1);
	router_ip(sender, m.sender);
	router_ip(target, m.target);
	return m;
}

static void say(struct world *w, unsigned from, uint16_t tag, const struct neighbour_msg *m)
{
	uint8_t frame[NEIGHBOUR_MSG_MAX + 4];
	uint16_t len = neighbour_build(frame, m);

	bench_send_raw(w->b, from, frame, tag != 0 ? tagged(frame, len, tag) : len);
	turn(w, 2);
}

// The host has got this message, with this tag, as its n-th frame.
static void got(const struct world *w, unsigned port, unsigned n, uint16_t tag,
		const struct neighbour_msg *m)
{
	uint8_t frame[NEIGHBOUR_MSG_MAX + 4];
	uint16_t len = neighbour_build(frame, m);

	assert_true(w->b->host[port].n_rx > n);
	if (tag != 0)
		len = tagged(frame, len, tag);
	is_frame(&w->b->host[port].rx[n], frame, len);
}

static uint64_t punted(const struct world *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < w->b->n_ports; i++)
		for (unsigned r = 0; r < N_PUNT_REASONS; r++)
			n += ctr_get(&switch_port_counters(w->b->sw, i)->punt[r].frames);
	return n;
}

static void a_request_for_the_router_is_answered_and_flooded(void **state)
{
	static const struct {
		const char *asks, *target;
		unsigned from;
		uint16_t tag;
	} rows[] = {
		{"10.0.100.15", "10.0.100.1", P5, 0},	 {"10.0.200.15", "10.0.200.1", P5, V200},
		{"fd00:100::15", "fd00:100::1", P5, 0},	 {"fd00:200::15", "fd00:200::1", P5, V200},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned vid = rows[i].tag != 0 ? V200 : V100, other = rows[i].tag != 0 ? P2 : P1;
		struct world w = begin();
		struct neighbour_msg m = msg(rows[i].from, true, rows[i].asks, rows[i].target);
		struct neighbour_msg reply = msg(0, false, rows[i].target, rows[i].asks);

		say(&w, rows[i].from, rows[i].tag, &m);
		put_router(reply.sender_mac, vid);
		put_mac(reply.to_mac, rows[i].from + 1);
		got(&w, other, 0, 0, &m);
		got(&w, P3, 0, (uint16_t)vid, &m);
		got(&w, rows[i].from, 0, rows[i].tag, &reply);
		assert_int_equal(router_received(w.b), 3); // the answer goes to the station alone
		assert_int_equal(punted(&w), 1);
		end(&w);
	}
}

static void a_request_for_another_station_is_no_business_of_control(void **state)
{
	struct world w = begin();
	struct neighbour_msg m = msg(P1, true, "10.0.100.11", "10.0.100.13");
	struct neighbour_msg v6 = msg(P1, true, "fd00:100::11", "fd00:100::13");

	(void)state;
	say(&w, P1, 0, &m);
	say(&w, P1, 0, &v6);
	got(&w, P3, 0, V100, &m);
	got(&w, P3, 1, V100, &v6);
	assert_int_equal(punted(&w), 0);
	end(&w);
}

// The first frame waits; the request goes to every port of the VLAN, tagged as the port wants.
static void the_router_asks_in_the_whole_vlan(void **state)
{
	const struct hop h = {P1, V100, 0, "10.0.100.11", "10.0.200.13", P3, V200, V200, 0};
	struct neighbour_msg ask = msg(0, true, "10.0.200.1", "10.0.200.13");
	struct neighbour_msg answer = msg(P3, false, "10.0.200.13", "10.0.200.1");
	struct world w = begin();
	uint8_t frame[FRAME_MAX];
	uint16_t len = sent(w.b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});

	(void)state;
	turn(&w, 2);
	put_router(ask.sender_mac, V200);
	got(&w, P2, 0, 0, &ask);
	got(&w, P3, 0, V200, &ask);
	got(&w, P5, 0, V200, &ask);
	assert_int_equal(router_received(w.b), 3);
	put_router(answer.to_mac, V200);
	say(&w, P3, V200, &answer);
	len = routed(frame, len, &h);
	assert_int_equal(w.b->host[P3].n_rx, 2);
	is_frame(&w.b->host[P3].rx[1], frame, len);
	assert_int_equal(router_received(w.b), 4);
	end(&w);
}

// ---- frames that are broken somewhere

static unsigned one_of(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

enum { B_SEEDS = 200, B_FRAMES = 20, B_FLIPS = 4 };

static uint16_t draw_frame(uint8_t *out, const struct hop *h, struct rng *rng)
{
	static const char *const from[] = {"10.0.100.11", "fd00:100::11"};
	static const char *const to[][3] = {{"10.0.200.12", "10.0.200.99", "10.0.100.1"},
					    {"fd00:200::12", "fd00:200::99", "fd00:100::1"}};
	unsigned v6 = one_of(rng, 2);
	struct neighbour_msg m = msg(h->from, one_of(rng, 2), from[v6], to[v6][2]);

	if (one_of(rng, 3) == 0)
		return neighbour_build(out, &m);
	return build(out, h, &(struct router_packet){
		.src = from[v6], .dst = to[v6][one_of(rng, 3)],
		.ttl = (uint8_t)(1 + one_of(rng, 2)), .sport = v6 ? 0x8000 : ECHO,
		.proto = one_of(rng, 2) ? 0 : v6 ? 58 : ICMP,
		.len = (uint16_t)(64 + one_of(rng, 1450)), .tag = one_of(rng, 4) == 0 ? V100 : 0});
}

// bench_close checks that each frame has found an end and that its memory is back.
static void broken_frames_leave_nothing_behind(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= B_SEEDS; seed++) {
		struct world w = begin();
		struct rng rng;

		rng_init(&rng, seed);
		for (unsigned i = 0; i < B_FRAMES; i++) {
			const struct hop h = {.from = one_of(&rng, 5),
					      .in_vid = one_of(&rng, 2) ? V100 : V200};
			uint8_t frame[FRAME_MAX];
			uint16_t len = draw_frame(frame, &h, &rng);

			for (unsigned k = one_of(&rng, B_FLIPS); k > 0; k--)
				frame[12 + one_of(&rng, 60)] = (uint8_t)rng_next(&rng);
			if (one_of(&rng, 4) == 0)
				len = (uint16_t)(14 + one_of(&rng, len - 14u));
			if (h.from == P3 && one_of(&rng, 8) != 0)
				len = tagged(frame, len, (uint16_t)h.in_vid);
			bench_send_raw(w.b, h.from, frame, len);
		}
		turn(&w, 2);
		end(&w);
	}
}

// ---- random networks, and a model of what must arrive

enum { R_PORTS = 6, R_VLANS = 3, R_SEEDS = 40, R_FRAMES = 50 };

// VLANs 10, 20 and 30. The host at a port has a station in each VLAN of the port. A routed port i
// has the subnet 10.0.(40 + i).0/24.
struct net {
	bool routed[R_PORTS], member[R_PORTS][R_VLANS], known[R_PORTS][R_VLANS], svi[R_VLANS];
	unsigned untagged[R_PORTS]; // VLAN; R_VLANS: none
};

static unsigned vid_of(unsigned vlan)
{
	return 10 * (vlan + 1);
}

static void draw_port(FILE *f, struct net *n, unsigned p, struct rng *rng)
{
	n->routed[p] = one_of(rng, 5) == 0;
	n->untagged[p] = one_of(rng, R_VLANS + 1);
	fprintf(f, "  - {name: p%u, device: \"wire:%u\", speed: 10G, ", p + 1, p + 1);
	if (n->routed[p]) {
		fprintf(f, "ip: 10.0.%u.1/24}\n", 40 + p);
		return;
	}
	if (n->untagged[p] < R_VLANS)
		fprintf(f, "vlan: {untagged: %u, tagged: [", vid_of(n->untagged[p]));
	else
		fprintf(f, "vlan: {untagged: none, tagged: [");
	for (unsigned v = 0; v < R_VLANS; v++) {
		n->member[p][v] = v == n->untagged[p] || one_of(rng, 2) == 0;
		if (n->member[p][v] && v != n->untagged[p])
			fprintf(f, "%u, ", vid_of(v));
	}
	fprintf(f, "99]}}\n");
}

static char *draw_net(struct net *n, struct rng *rng)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*n = (struct net){0};
	fprintf(f, "switch: {name: s, buffer: {size: 4MB}}\nports:\n");
	for (unsigned p = 0; p < R_PORTS; p++)
		draw_port(f, n, p, rng);
	fprintf(f, "vlans:\n  - {id: 99}\n");
	for (unsigned v = 0; v < R_VLANS; v++) {
		n->svi[v] = one_of(rng, 4) != 0;
		fprintf(f, "  - {id: %u", vid_of(v));
		if (n->svi[v])
			fprintf(f, ", ip: 10.0.%u.1/24, mac: \"02:00:00:00:01:%02x\"", vid_of(v),
				vid_of(v));
		fprintf(f, "}\n");
	}
	fprintf(f, "fdb: [");
	for (unsigned p = 0; p < R_PORTS; p++)
		for (unsigned v = 0; v < R_VLANS; v++) {
			n->known[p][v] = n->member[p][v] && one_of(rng, 4) != 0;
			if (n->known[p][v])
				fprintf(f, "{mac: \"02:00:00:00:00:%02x\", port: p%u, "
					"vlan: %u}, ", p + 1, p + 1, vid_of(v));
		}
	fprintf(f, "]\nneighbours: [");
	for (unsigned p = 0; p < R_PORTS; p++)
		for (unsigned v = 0; v < R_VLANS; v++)
			if (n->routed[p] ? v == 0 : n->member[p][v] && n->svi[v])
				fprintf(f, "{ip: 10.0.%u.%u, mac: \"02:00:00:00:00:%02x\"}, ",
					n->routed[p] ? 40 + p : vid_of(v), 10 + p, p + 1);
	fprintf(f, "]\n");
	fclose(f);
	return text;
}

// A station: a port, and a VLAN of it; R_VLANS at a routed port.
struct station {
	unsigned port, vlan;
};

static struct station draw_station(const struct net *n, struct rng *rng)
{
	struct station s;

	do {
		s = (struct station){one_of(rng, R_PORTS), one_of(rng, R_VLANS)};
	} while (!n->routed[s.port] && !n->member[s.port][s.vlan]);
	if (n->routed[s.port])
		s.vlan = R_VLANS;
	return s;
}

static void ip_of(char out[16], const struct station *s)
{
	snprintf(out, 16, "10.0.%u.%u", s->vlan == R_VLANS ? 40 + s->port : vid_of(s->vlan),
		 10 + s->port);
}

static uint16_t tag_at(const struct net *n, unsigned port, unsigned vlan)
{
	return (uint16_t)(vlan == R_VLANS || n->untagged[port] == vlan ? 0 : vid_of(vlan));
}

// The ports that get the frame in a VLAN where the station `to` is; in: the port of arrival, by
// which a bridged frame does not leave.
static unsigned arrives_at(const struct net *n, const struct station *to, unsigned vlan, int in,
			   bool station_known)
{
	unsigned ways = 0;

	if (station_known)
		return (int)to->port == in ? 0 : 1u << to->port;
	for (unsigned p = 0; p < R_PORTS; p++)
		if (n->member[p][vlan] && (int)p != in)
			ways |= 1u << p;
	return ways;
}

static void check_frame(struct bench *b, const struct net *n, struct rng *rng)
{
	struct station from = draw_station(n, rng), to = draw_station(n, rng);
	bool bridged = from.vlan == to.vlan && from.vlan < R_VLANS && one_of(rng, 2) == 0;
	bool from_routes = from.vlan == R_VLANS || n->svi[from.vlan];
	bool to_routes = to.vlan == R_VLANS || n->svi[to.vlan];
	struct hop h = {.from = from.port, .to = to.port};
	uint8_t frame[FRAME_MAX], want[FRAME_MAX];
	uint32_t before[R_PORTS];
	char src[16], dst[16];
	unsigned ways = 0;
	uint16_t len;

	h.in_tag = tag_at(n, from.port, from.vlan);
	ip_of(src, &from);
	ip_of(dst, &to);
	len = router_build(frame, from.port, &(struct router_packet){
		.src = src, .dst = dst, .len = (uint16_t)(64 + one_of(rng, 500))});
	h.out_vid = to.vlan == R_VLANS ? 0 : vid_of(to.vlan);
	if (bridged)
		put_mac(frame, to.port + 1);
	else if (from.vlan < R_VLANS)
		put_router(frame, vid_of(from.vlan));
	for (unsigned p = 0; p < R_PORTS; p++)
		before[p] = b->host[p].n_rx;
	memcpy(want, frame, len);
	bench_send_raw(b, from.port, want, h.in_tag != 0 ? tagged(want, len, h.in_tag) : len);
	router_settle(b);

	memcpy(want, frame, len);
	if (bridged) {
		ways = arrives_at(n, &to, from.vlan, (int)from.port, n->known[to.port][to.vlan]);
	} else if (!from_routes) { // nobody has the address
		ways = arrives_at(n, &to, from.vlan, (int)from.port, false);
		to.vlan = from.vlan;
	} else if (to_routes) {
		ways = to.vlan == R_VLANS ? 1u << to.port
					   : arrives_at(n, &to, to.vlan, -1,
							n->known[to.port][to.vlan]);
		routed(want, len, &h);
		if (to.vlan == R_VLANS)
			want[11] = (uint8_t)(to.port + 1);
	}
	for (unsigned p = 0; p < R_PORTS; p++) {
		uint16_t tag = tag_at(n, p, to.vlan);
		uint8_t out[FRAME_MAX + 4];

		if (b->host[p].n_rx != before[p] + (ways >> p & 1))
			fail_msg("%s to %s: port p%u", src, dst, p + 1);
		memcpy(out, want, len);
		if (ways >> p & 1)
			is_frame(&b->host[p].rx[before[p]], out,
				 tag != 0 ? tagged(out, len, tag) : len);
	}
}

static void random_networks_bridge_and_route_as_the_model_says(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= R_SEEDS; seed++) {
		struct rng rng;
		struct bench *b;
		struct net n;
		char *text;

		rng_init(&rng, seed);
		text = draw_net(&n, &rng);
		b = bench_open(text, 0);
		for (unsigned i = 0; i < R_FRAMES; i++)
			check_frame(b, &n, &rng);
		bench_close(b);
		free(text);
	}
}

// The number of VLAN 200 is not used for VLAN 300 while there are neighbours with it.
static void a_new_vlan_knows_no_neighbour_of_another(void **state)
{
	static char next[8192];
	struct world w = begin();
	struct neighbour_msg m = msg(P2, true, "10.0.200.12", "10.0.200.1");
	const struct hop h = {P1, V100, 0, "10.0.100.11", "10.0.200.12", P6, 300, 0, 0};
	uint8_t frame[FRAME_MAX];

	(void)state;
	say(&w, P2, 0, &m);
	snprintf(next, sizeof(next),
		 "%svlans:\n  - {id: 200}\n"
		 "  - {id: 100, ip: [10.0.100.1/24], mac: \"02:00:00:00:01:64\"}\n"
		 "  - {id: 300, ip: [10.0.200.1/24], mac: \"02:00:00:00:01:c8\"}\n", ports);
	bench_publish(w.b, next);
	resolver_new_policy(w.r, w.b->clock.now_ns);
	turn(&w, 2);
	w.b->host[P6].n_rx = 0;
	sent(w.b, frame, &h, &(struct router_packet){.src = h.src, .dst = h.dst});
	turn(&w, 2);
	assert_int_equal(w.b->host[P6].n_rx, 1);
	assert_int_equal(be16_get(w.b->host[P6].rx[0].data + 12), ETYPE_ARP);
	end(&w);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_between_vlans_get_the_addresses_and_the_tag_of_their_way),
		T(frames_to_other_stations_of_the_vlan_are_bridged),
		T(a_new_vlan_knows_no_neighbour_of_another),
		T(a_next_hop_that_the_bridge_does_not_know_is_flooded_for),
		T(a_lossless_frame_is_not_flooded),
		T(a_lossless_frame_is_charged_where_it_came_in),
		T(frames_that_cannot_be_routed_are_dropped_with_their_reason),
		T(the_router_answers_ping_with_the_tag_of_the_port),
		T(an_expired_ttl_is_answered_from_the_address_in_the_vlan),
		T(a_vlan_without_addresses_bridges_again),
		T(neighbours_stay_known_when_a_policy_has_other_vlans),
		T(an_svi_is_up_while_a_port_of_its_vlan_is),
		T(the_address_of_the_router_stays),
		T(interfaces_are_ports_and_vlans_alike),
		T(a_request_for_the_router_is_answered_and_flooded),
		T(a_request_for_another_station_is_no_business_of_control),
		T(the_router_asks_in_the_whole_vlan),
		T(broken_frames_leave_nothing_behind),
		T(random_networks_bridge_and_route_as_the_model_says),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
