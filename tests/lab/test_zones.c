// SPDX-License-Identifier: Apache-2.0
// Hard zoning of a whole switch: which frames are dropped, bridged, routed and out of a tunnel,
// what passes all the same, and what a change of the zones does under traffic. Host i of these
// tests has the MAC address 02:00:00:00:00:0i and the IP addresses 10.0.0.i and fd00::i.
#include <errno.h>
#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/policy.h"
#include "dataplane/switch_zones.h"
#include "tests/lab/router.h"

enum {
	I = ZONE_INITIATOR, T = ZONE_TARGET, HOSTS = 4, LEN = 100, RAW = 0, GROUP = 0xff,
	ROCE_V1 = 0x8915, MILLISECOND = 1000000, DSCP_LOSSLESS = 26,
};

static const char bridge[] =
	"switch: {name: z}\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: q}\n"
	"profiles: {q: {trust: dscp, dscp_to_class: {default: 0, 24-31: 3}, "
	"classes: {3: {lossless: on}}}}\n";

// ---- zones

struct host {
	unsigned no;
	uint8_t roles;
	uint64_t zones; // bitmap
	uint8_t at; // 1 + the port where it registered; 0: at another switch
};

static struct zone_station station(const struct host *h, const uint16_t zones[64], uint8_t kind)
{
	struct zone_station s = {.roles = h->roles, .at = h->at, .zones = zones};

	s.n_zones = (uint32_t)__builtin_popcountll(h->zones);
	if (kind == RAW)
		memcpy(s.mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)h->no}, 6);
	else if (kind == PKT_IPV4)
		s.addr = (struct policy_addr){FAMILY_V4, 32, {10, 0, 0, (uint8_t)h->no}};
	else
		s.addr = (struct policy_addr){FAMILY_V6, 128,
					      {[0] = 0xfd, [15] = (uint8_t)h->no}};
	return s;
}

// Each host by its MAC address and both of its IP addresses.
static int set(struct bench *b, const struct host *hosts, unsigned n)
{
	static uint16_t zones[16][64];
	struct zone_station s[3 * 16];

	for (unsigned i = 0; i < n; i++) {
		unsigned k = 0;

		for (uint16_t z = 0; z < 64; z++)
			if (hosts[i].zones >> z & 1)
				zones[i][k++] = z;
		s[3 * i] = station(&hosts[i], zones[i], RAW);
		s[3 * i + 1] = station(&hosts[i], zones[i], PKT_IPV4);
		s[3 * i + 2] = station(&hosts[i], zones[i], PKT_IPV6);
	}
	return switch_set_zones(b->sw, s, 3 * n);
}

static void set_now(struct bench *b, const struct host *hosts, unsigned n)
{
	assert_int_equal(set(b, hosts, n), 0);
	bench_control(b);
}

static const struct host two_zones[HOSTS] = {{1, I, 1}, {2, T, 1}, {3, I, 2}, {4, T, 2}};

// ---- frames

// Of IPv4, IPv6 or without IP (RoCEv1). to GROUP: broadcast.
static uint16_t build(uint8_t *f, uint8_t kind, unsigned from, unsigned to, uint8_t dscp)
{
	uint8_t *ip = f + ETH_HLEN_;

	memset(f, 0, LEN);
	memcpy(f, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)to, 2, 0, 0, 0, 0, (uint8_t)from}, 12);
	if (to == GROUP)
		memset(f, 0xff, 6);
	be16_put(f + 12, kind == PKT_IPV4 ? ETYPE_IPV4 : kind == PKT_IPV6 ? ETYPE_IPV6 : ROCE_V1);
	if (kind == PKT_IPV4) {
		memcpy(ip, (uint8_t[]){0x45, (uint8_t)(dscp << 2), 0, LEN - 14}, 4);
		memcpy(ip + 8, (uint8_t[]){64, 17}, 2);
		memcpy(ip + 12, (uint8_t[]){10, 0, 0, (uint8_t)from, 10, 0, 0, (uint8_t)to}, 8);
		be16_put(ip + 10, router_csum(ip, 20));
	} else if (kind == PKT_IPV6) {
		memcpy(ip, (uint8_t[]){0x60, 0, 0, 0, 0, LEN - 54, 17, 64, 0xfd}, 9);
		ip[23] = (uint8_t)from;
		ip[24] = 0xfd;
		ip[39] = (uint8_t)to;
	}
	return LEN;
}

static void send(struct bench *b, uint8_t kind, unsigned from, unsigned to)
{
	uint8_t f[LEN];

	bench_send_raw(b, from - 1, f, build(f, kind, from, to, 0));
	bench_run(b, 10000);
}

static void send_lossless(struct bench *b, unsigned from, const uint8_t *f)
{
	const struct bench_frame frame = {.raw = f, .dscp = DSCP_LOSSLESS, .len = LEN};

	bench_send(b, from - 1, &frame);
}

// The bridge knows all hosts, and nothing has arrived yet.
static struct bench *open_bridge(void)
{
	struct bench *b = bench_open(bridge, 0);

	for (unsigned h = 1; h <= HOSTS; h++)
		send(b, RAW, h, GROUP);
	bench_control(b);
	for (unsigned h = 0; h < HOSTS; h++)
		b->host[h].n_rx = 0;
	return b;
}

// ---- bridged

static const uint8_t kinds[] = {RAW, PKT_IPV4, PKT_IPV6};

static void frames_between_zones_and_within_a_role_are_dropped(void **state)
{
	static const struct host roles[HOSTS] = {{1, I, 1}, {2, I, 1}, {3, T, 1}, {4, I | T, 1}};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct bench *b = open_bridge();

		set_now(b, two_zones, HOSTS);
		send(b, kinds[k], 1, 2);
		send(b, kinds[k], 2, 1);
		send(b, kinds[k], 1, 4); // of another zone
		send(b, kinds[k], 4, 1);
		assert_int_equal(b->host[0].n_rx, 1);
		assert_int_equal(b->host[1].n_rx, 1);
		assert_int_equal(bench_drops(b, DROP_ZONE), 2);
		set_now(b, roles, HOSTS);
		send(b, kinds[k], 1, 2); // initiators
		send(b, kinds[k], 1, 3);
		send(b, kinds[k], 4, 1); // both roles
		send(b, kinds[k], 4, 3);
		assert_int_equal(bench_drops(b, DROP_ZONE), 3);
		assert_int_equal(b->host[2].n_rx, 2);
		assert_int_equal(b->host[0].n_rx, 2);
		set_now(b, NULL, 0);
		send(b, kinds[k], 1, 2);
		assert_int_equal(b->host[1].n_rx, 2);
		bench_close(b);
	}
}

static void hosts_that_are_no_stations_are_not_restricted(void **state)
{
	struct bench *b = open_bridge();

	(void)state;
	set_now(b, two_zones, 2);
	for (unsigned k = 0; k < 3; k++) {
		send(b, kinds[k], 1, 3);
		send(b, kinds[k], 3, 4);
		send(b, kinds[k], 4, 2);
	}
	assert_int_equal(bench_drops(b, DROP_ZONE), 0);
	assert_int_equal(b->host[2].n_rx, 3);
	assert_int_equal(b->host[3].n_rx, 3);
	assert_int_equal(b->host[1].n_rx, 3);
	bench_close(b);
}

static void groups_and_arp_pass_between_zones(void **state)
{
	struct bench *b = open_bridge();
	uint8_t f[LEN];

	(void)state;
	set_now(b, two_zones, HOSTS);
	send(b, PKT_IPV4, 1, GROUP);
	build(f, RAW, 1, 4, 0);
	be16_put(f + 12, ETYPE_ARP);
	bench_send_raw(b, 0, f, LEN);
	bench_run(b, 10000);
	assert_int_equal(bench_drops(b, DROP_ZONE), 0);
	assert_int_equal(b->host[3].n_rx, 2);
	bench_close(b);
}

// The bridge refuses first what it would refuse without zones, and it learns.
static void a_forbidden_frame_is_learned_from_and_keeps_the_bridges_own_reasons(void **state)
{
	static const char vlans[] =
		"switch: {name: z}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: 10}}\n"
		"  - {name: \"p[2-4]\", device: \"wire:[2-4]\", speed: 10G, vlan: {untagged: 10}}\n"
		"vlans: [{id: 10}]\n";
	struct bench *b = bench_open(vlans, 0);
	uint8_t f[LEN + 4];

	(void)state;
	set_now(b, two_zones, HOSTS);
	send(b, PKT_IPV4, 1, 4);
	bench_control(b);
	assert_int_equal(bench_drops(b, DROP_ZONE), 1);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, 0)->c.learnt), 1);
	send(b, PKT_IPV4, 2, 1); // known: no other host gets it
	assert_int_equal(b->host[0].n_rx, 1);
	assert_int_equal(b->host[2].n_rx + b->host[3].n_rx, 0);
	build(f, PKT_IPV4, 1, 4, 0);
	memmove(f + 16, f + 12, LEN - 12);
	be32_put(f + 12, 0x81000000 | 20);
	bench_send_raw(b, 0, f, sizeof(f));
	bench_run(b, 10000);
	assert_int_equal(bench_drops(b, DROP_VLAN_INGRESS), 1);
	assert_int_equal(bench_drops(b, DROP_ZONE), 1);
	bench_close(b);
}

// A zone is no loss: the class is lossless, and no alarm is given. The buffer stays free.
static void a_lossless_frame_dropped_by_a_zone_is_no_alarm(void **state)
{
	struct bench *b = open_bridge();
	uint8_t f[LEN];

	(void)state;
	set_now(b, two_zones, HOSTS);
	switch_clear_watermarks(b->sw);
	build(f, PKT_IPV4, 1, 4, DSCP_LOSSLESS);
	for (unsigned i = 0; i < 50; i++)
		send_lossless(b, 1, f);
	bench_run(b, MILLISECOND);
	bench_control(b);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 0, 3, DROP_ZONE)->packets), 50);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 0, 3, DROP_ZONE)->bytes), 50 * LEN);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, 0);
	for (unsigned i = 0; i < b->n_events; i++)
		assert_int_not_equal(b->events[i].type, EVENT_LOSSLESS_DROP);
	bench_close(b);
}

// Host 3 is no host of iNOF. Host 4 has registered the addresses of host 3.
static void a_station_is_known_at_the_port_where_it_registered_alone(void **state)
{
	static const struct host hosts[] = {{1, I, 1, 1}, {2, T, 2, 2}, {3, I, 1, 4}};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct bench *b = open_bridge();

		set_now(b, hosts, 3);
		send(b, kinds[k], 1, 3);
		send(b, kinds[k], 3, 1);
		assert_int_equal(bench_drops(b, DROP_ZONE), 0);
		assert_int_equal(b->host[2].n_rx, 1);
		assert_int_equal(b->host[0].n_rx, 1);
		send(b, kinds[k], 1, 2);
		send(b, kinds[k], 2, 1);
		assert_int_equal(bench_drops(b, DROP_ZONE), 2);
		set_now(b, (struct host[]){{1, I, 1, 1}, {3, I, 1, 3}}, 2);
		send(b, kinds[k], 1, 3);
		send(b, kinds[k], 3, 1);
		assert_int_equal(bench_drops(b, DROP_ZONE), 4);
		bench_close(b);
	}
}

// A frame to an address that the bridge does not know goes to all ports.
static void a_frame_that_is_flooded_is_not_judged(void **state)
{
	struct bench *b = bench_open(bridge, 0);

	(void)state;
	set_now(b, (struct host[]){{1, I, 1, 1}, {3, I, 1, 3}}, 2);
	send(b, PKT_IPV4, 1, 3);
	assert_int_equal(bench_drops(b, DROP_ZONE), 0);
	assert_int_equal(b->host[2].n_rx, 1);
	bench_control(b);
	send(b, PKT_IPV4, 3, 1);
	bench_control(b); // the bridge knows both now
	send(b, PKT_IPV4, 1, 3);
	assert_int_equal(bench_drops(b, DROP_ZONE), 2);
	bench_close(b);
}

static void a_change_waits_until_the_workers_have_the_one_before(void **state)
{
	static const uint16_t far[] = {ZONES_MAX};
	const struct zone_station bad = {.zones = far, .n_zones = 1};
	struct bench *b = open_bridge();

	(void)state;
	assert_int_equal(set(b, two_zones, HOSTS), 0);
	assert_int_equal(set(b, NULL, 0), -EAGAIN);
	assert_int_equal(switch_set_zones(b->sw, &bad, 1), -EINVAL);
	send(b, PKT_IPV4, 1, 4);
	assert_int_equal(bench_drops(b, DROP_ZONE), 1);
	set_now(b, NULL, 0);
	send(b, PKT_IPV4, 1, 4);
	assert_int_equal(bench_drops(b, DROP_ZONE), 1);
	bench_close(b);
}

// ---- routed, and out of a tunnel

static void routed_frames_are_judged_by_their_ip_addresses(void **state)
{
	static const char *const pairs[][2] = {{"10.0.1.2", "10.0.2.2"},
					       {"fd00:1::2", "fd00:2::2"}};
	static const uint16_t zones[] = {0, 1};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct bench *b = router_open("");
		struct router_packet p = {.src = pairs[k][0], .dst = pairs[k][1]};
		struct zone_station s[2] = {{.roles = I, .zones = zones, .n_zones = 1},
					    {.roles = T, .zones = zones, .n_zones = 1}};

		for (unsigned i = 0; i < 2; i++) {
			s[i].addr.family = k == 0 ? FAMILY_V4 : FAMILY_V6;
			router_ip(pairs[k][i], s[i].addr.ip);
		}
		assert_int_equal(switch_set_zones(b->sw, s, 2), 0);
		router_settle(b);
		router_send(b, P1, &p);
		router_settle(b);
		assert_int_equal(b->host[P2].n_rx, 1);
		s[1].zones = &zones[1];
		assert_int_equal(switch_set_zones(b->sw, s, 2), 0);
		router_settle(b);
		router_send(b, P1, &p);
		p.src = k == 0 ? "10.0.1.77" : "fd00:1::77"; // no station
		router_send(b, P1, &p);
		router_settle(b);
		assert_int_equal(bench_drops(b, DROP_ZONE), 1);
		assert_int_equal(b->host[P2].n_rx, 2);
		bench_close(b);
	}
}

// A host that has registered the address of a station of another routed port restricts nobody.
static void a_routed_frame_is_judged_by_the_port_of_its_next_hop(void **state)
{
	static const uint16_t zones[] = {0, 1};
	static const struct {
		uint8_t from, to; // where they have registered
		bool dropped;
	} rows[] = {{1 + P1, 1 + P2, true}, {1 + P1, 1 + P3, false}, {1 + P3, 1 + P2, false},
		    {1 + P1, 0, true}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench *b = router_open("");
		const struct router_packet p = {.src = "10.0.1.2", .dst = "10.0.2.2"};
		struct zone_station s[2] = {
			{.roles = I, .zones = zones, .n_zones = 1, .at = rows[i].from},
			{.roles = T, .zones = zones + 1, .n_zones = 1, .at = rows[i].to}};

		for (unsigned k = 0; k < 2; k++) {
			s[k].addr.family = FAMILY_V4;
			router_ip(k == 0 ? p.src : p.dst, s[k].addr.ip);
		}
		assert_int_equal(switch_set_zones(b->sw, s, 2), 0);
		router_settle(b);
		router_send(b, P1, &p);
		router_settle(b);
		assert_int_equal(bench_drops(b, DROP_ZONE), rows[i].dropped);
		assert_int_equal(b->host[P2].n_rx, !rows[i].dropped);
		bench_close(b);
	}
}

// From a routed port into a VLAN, and from one VLAN into another: the address table has the port of
// the next hop.
static void a_frame_that_is_routed_into_a_vlan_is_judged_by_the_port_of_its_station(void **state)
{
	static const char svis[] =
		"switch: {name: z}\n"
		"vlans:\n"
		"  - {id: 100, ip: 10.0.100.1/24, mac: \"02:00:00:00:01:64\"}\n"
		"  - {id: 200, ip: 10.0.200.1/24, mac: \"02:00:00:00:01:c8\"}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G, ip: 10.0.1.1/24}\n"
		"  - {name: \"p[2-3]\", device: \"wire:[2-3]\", speed: 10G, "
		"vlan: {untagged: 100}}\n"
		"  - {name: p4, device: \"wire:4\", speed: 10G, vlan: {untagged: 200}}\n"
		"fdb:\n"
		"  - {mac: \"02:00:00:00:00:02\", port: p2}\n"
		"  - {mac: \"02:00:00:00:00:04\", port: p4}\n"
		"neighbours:\n"
		"  - {ip: 10.0.1.2, mac: \"02:00:00:00:00:01\"}\n"
		"  - {ip: 10.0.100.2, mac: \"02:00:00:00:00:02\"}\n"
		"  - {ip: 10.0.200.2, mac: \"02:00:00:00:00:04\"}\n";
	static const uint16_t zones[] = {0, 1};
	static const struct {
		const char *src;
		uint8_t from, to; // 1 + the port
		bool dropped;
	} rows[] = {{"10.0.1.2", 1, 2, true}, {"10.0.1.2", 1, 3, false},
		    {"10.0.200.2", 4, 2, true}, {"10.0.200.2", 4, 3, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench *b = bench_open(svis, 0);
		struct zone_station s[2] = {
			{.roles = I, .zones = zones, .n_zones = 1, .at = rows[i].from},
			{.roles = T, .zones = zones + 1, .n_zones = 1, .at = rows[i].to}};
		uint8_t f[LEN];
		uint16_t len = router_build(f, rows[i].from - 1u, &(struct router_packet){
			.src = rows[i].src, .dst = "10.0.100.2", .len = LEN});

		if (rows[i].from == 1)
			memcpy(f, b->policy->ports[0].mac, 6);
		else
			memcpy(f, (uint8_t[]){2, 0, 0, 0, 1, 0xc8}, 6);
		for (unsigned k = 0; k < 2; k++)
			s[k].addr.family = FAMILY_V4;
		router_ip(rows[i].src, s[0].addr.ip);
		router_ip("10.0.100.2", s[1].addr.ip);
		assert_int_equal(switch_set_zones(b->sw, s, 2), 0);
		router_settle(b);
		bench_send_raw(b, rows[i].from - 1u, f, len);
		router_settle(b);
		assert_int_equal(bench_drops(b, DROP_ZONE), rows[i].dropped);
		assert_int_equal(b->host[1].n_rx, !rows[i].dropped);
		bench_close(b);
	}
}

static void frames_out_of_a_tunnel_are_judged_by_their_own_addresses(void **state)
{
	static const char vtep[] =
		"switch: {name: v}\n"
		"vlans: [{id: 100}]\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: 100}}\n"
		"  - {name: p2, device: \"wire:2\", speed: 10G, mtu: 1550, ip: [10.0.3.1/24]}\n"
		"neighbours: [{ip: 10.0.3.2, mac: \"02:00:00:00:00:02\"}]\n"
		"vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, peers: 10.0.3.2}}}\n";
	const uint8_t src[] = {10, 0, 3, 2}, dst[] = {10, 0, 3, 1};
	struct vxlan_outer o = {.src = src, .dst = dst, .ttl = 64, .sport = 50000,
				.dport = VXLAN_UDP_PORT, .vni = 7, .inner_len = LEN};
	struct bench *b = bench_open(vtep, 0);
	uint8_t out[VXLAN_V4_LEN + LEN];

	(void)state;
	send(b, RAW, 1, GROUP);
	bench_control(b);
	vxlan_write(out, &o);
	memcpy(out, b->policy->ports[1].mac, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
	// 4 is a target of the zone of 1. Somebody at p1 has registered the address of 5.
	for (unsigned from = 3; from <= 5; from++) {
		set_now(b, (struct host[]){{1, I, 1, 1}, {3, T, 2}, {4, T, 1}, {5, T, 2, 1}}, 4);
		build(out + VXLAN_V4_LEN, PKT_IPV4, from, 1, 0);
		bench_send_raw(b, 1, out, sizeof(out));
		bench_run(b, MILLISECOND);
		assert_int_equal(b->host[0].n_rx, from - 3);
		assert_int_equal(bench_drops(b, DROP_ZONE), 1);
	}
	bench_close(b);
}

// ---- random

enum { ROUNDS = 400, FRAMES = 40 };

static bool may_talk(const struct host *hosts, unsigned n, unsigned from, unsigned to)
{
	const struct host *a = NULL, *b = NULL;

	for (unsigned i = 0; i < n; i++) {
		a = hosts[i].no == from ? &hosts[i] : a;
		b = hosts[i].no == to ? &hosts[i] : b;
	}
	if (a == NULL || b == NULL)
		return true;
	return (a->zones & b->zones) != 0 &&
	       !(a->roles == b->roles && (a->roles == I || a->roles == T));
}

// 16,000 frames in bursts, and 400 changes. Each frame is dropped or arrives, as the zones say.
static void random_frames_and_changes_follow_the_rule(void **state)
{
	struct bench *b = open_bridge();
	uint64_t want[HOSTS + 1] = {0}, dropped = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct host hosts[HOSTS];
		unsigned n = rng_next(&rng) % (HOSTS + 1), least = rng_next(&rng) % (HOSTS + 1 - n);

		for (unsigned i = 0; i < n; i++)
			hosts[i] = (struct host){least + i + 1, (uint8_t)(rng_next(&rng) % 4),
						 rng_next64(&rng) & rng_next64(&rng)};
		for (unsigned i = 0; i < n && round % 2 == 0; i++)
			hosts[i].zones &= 7;
		set_now(b, hosts, n);
		for (unsigned i = 0; i < FRAMES; i++) {
			unsigned from = 1 + rng_next(&rng) % HOSTS;
			unsigned to = 1 + (from + rng_next(&rng) % (HOSTS - 1)) % HOSTS;
			bool pass = may_talk(hosts, n, from, to);
			uint8_t f[LEN];

			build(f, kinds[rng_next(&rng) % 3], from, to, 0);
			bench_send_raw(b, from - 1, f, LEN);
			want[to] += pass;
			dropped += !pass;
		}
		bench_run(b, MILLISECOND);
		assert_int_equal(bench_drops(b, DROP_ZONE), dropped);
		for (unsigned h = 1; h <= HOSTS; h++)
			assert_int_equal(b->host[h - 1].n_rx, want[h]);
	}
	assert_in_range(dropped, ROUNDS * FRAMES / 10, ROUNDS * FRAMES / 2);
	bench_close(b);
}

// Frames of allowed pairs flow at full rate while other hosts' zones change. None of them is lost,
// and of the pair that loses its zone none arrives after the change.
static void a_change_under_traffic_stops_that_pair_and_loses_nothing_else(void **state)
{
	static const struct host joined[HOSTS] = {{1, I, 1}, {2, T, 1}, {3, I, 3}, {4, T, 3}},
				 split[HOSTS] = {{1, I, 1}, {2, T, 1}, {3, I, 3}, {4, T, 4}};
	struct bench *b = open_bridge();
	uint8_t f[LEN], g[LEN];
	uint32_t before;

	(void)state;
	build(f, PKT_IPV4, 1, 2, DSCP_LOSSLESS);
	build(g, PKT_IPV4, 3, 4, DSCP_LOSSLESS);
	set_now(b, joined, HOSTS);
	for (unsigned i = 0; i < 1000; i++) {
		send_lossless(b, 1, f);
		send_lossless(b, 3, g);
	}
	bench_run(b, 30000);
	assert_int_equal(set(b, split, HOSTS), 0);
	bench_run(b, 2000); // the frames in the switch leave
	before = b->host[3].n_rx;
	assert_in_range(before, 1, 999);
	bench_run(b, MILLISECOND);
	assert_int_equal(b->host[1].n_rx, 1000);
	assert_int_equal(b->host[3].n_rx, before);
	assert_int_equal(bench_drops(b, DROP_ZONE), 1000 - before);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_between_zones_and_within_a_role_are_dropped),
		cmocka_unit_test(hosts_that_are_no_stations_are_not_restricted),
		cmocka_unit_test(groups_and_arp_pass_between_zones),
		cmocka_unit_test(
			a_forbidden_frame_is_learned_from_and_keeps_the_bridges_own_reasons),
		cmocka_unit_test(a_lossless_frame_dropped_by_a_zone_is_no_alarm),
		cmocka_unit_test(a_station_is_known_at_the_port_where_it_registered_alone),
		cmocka_unit_test(a_frame_that_is_flooded_is_not_judged),
		cmocka_unit_test(a_change_waits_until_the_workers_have_the_one_before),
		cmocka_unit_test(routed_frames_are_judged_by_their_ip_addresses),
		cmocka_unit_test(a_routed_frame_is_judged_by_the_port_of_its_next_hop),
		cmocka_unit_test(
			a_frame_that_is_routed_into_a_vlan_is_judged_by_the_port_of_its_station),
		cmocka_unit_test(frames_out_of_a_tunnel_are_judged_by_their_own_addresses),
		cmocka_unit_test(random_frames_and_changes_follow_the_rule),
		cmocka_unit_test(a_change_under_traffic_stops_that_pair_and_loses_nothing_else),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
