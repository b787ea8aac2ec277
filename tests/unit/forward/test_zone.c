// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/forward/zone.h"

enum { LEN = 60, V4 = PKT_IPV4, V6 = PKT_IPV6, RAW = PKT_OTHER };
enum { I = ZONE_INITIATOR, T = ZONE_TARGET };

// ---- tables and frames

static struct zone_table *table_of(const struct zone_station *s, uint32_t n)
{
	struct zone_table *t = calloc(1, zone_table_bytes(s, n));

	assert_non_null(t);
	zone_table_fill(t, s, n, 7);
	return t;
}

// Host h has the MAC address 02:00:00:00:00:h and the IP addresses 10.0.0.h and fd00::h.
static struct zone_station station(uint8_t kind, unsigned h, uint8_t roles, const uint16_t *zones,
				   uint32_t n_zones)
{
	struct zone_station s = {.roles = roles, .zones = zones, .n_zones = n_zones};

	if (kind == RAW)
		memcpy(s.mac, (uint8_t[]){2, 0, 0, 0, (uint8_t)(h >> 8), (uint8_t)h}, 6);
	else if (kind == V4)
		s.addr = (struct policy_addr){FAMILY_V4, 32,
					      {10, 0, (uint8_t)(h >> 8), (uint8_t)h}};
	else
		s.addr = (struct policy_addr){FAMILY_V6, 128,
					      {[0] = 0xfd, [14] = (uint8_t)(h >> 8),
					       [15] = (uint8_t)h}};
	return s;
}

// mac_from, mac_to: hosts of the MAC addresses; from, to: of the IP addresses.
static bool forbids(const struct zone_table *t, uint8_t kind, unsigned mac_from, unsigned mac_to,
		    unsigned from, unsigned to)
{
	uint8_t f[LEN] = {2, 0, 0, 0, (uint8_t)(mac_to >> 8), (uint8_t)mac_to,
			  2, 0, 0, 0, (uint8_t)(mac_from >> 8), (uint8_t)mac_from};
	struct zone_station a = station(kind, from, 0, NULL, 0), b = station(kind, to, 0, NULL, 0);

	memcpy(f + ETH_HLEN_ + (kind == V4 ? 12 : 8), a.addr.ip, kind == V4 ? 4 : 16);
	memcpy(f + ETH_HLEN_ + (kind == V4 ? 16 : 24), b.addr.ip, kind == V4 ? 4 : 16);
	return zone_forbids(t, f, kind, ETH_HLEN_);
}

// ---- who may talk to whom

static void zones_and_roles_decide(void **state)
{
	static const uint16_t none[1], one[] = {1}, two[] = {2}, both[] = {1, 2};
	static const struct {
		const uint16_t *a, *b;
		uint32_t n_a, n_b;
		uint8_t role_a, role_b;
		bool forbidden;
	} rows[] = {
		{one, one, 1, 1, I, T, false},	   {one, two, 1, 1, I, T, true},
		{one, both, 1, 2, I, T, false},	   {none, one, 0, 1, I, T, true},
		{none, none, 0, 0, I, T, true},	   {one, one, 1, 1, I, I, true},
		{one, one, 1, 1, T, T, true},	   {one, one, 1, 1, I | T, I, false},
		{one, one, 1, 1, I | T, T, false}, {one, one, 1, 1, I | T, I | T, false},
		{one, one, 1, 1, 0, I, false},	   {one, one, 1, 1, 0, 0, false},
		{one, two, 1, 1, I | T, I, true},
	};
	static const uint8_t kinds[] = {V4, V6, RAW};

	(void)state;
	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct zone_station s[] = {
				station(kinds[k], 1, rows[i].role_a, rows[i].a, rows[i].n_a),
				station(kinds[k], 2, rows[i].role_b, rows[i].b, rows[i].n_b),
			};
			struct zone_table *t = table_of(s, 2);

			assert_int_equal(forbids(t, kinds[k], 1, 2, 1, 2), rows[i].forbidden);
			assert_int_equal(forbids(t, kinds[k], 2, 1, 2, 1), rows[i].forbidden);
			free(t);
		}
}

static void frames_from_or_to_an_unknown_host_are_not_forbidden(void **state)
{
	static const uint16_t one[] = {1};
	static const uint8_t kinds[] = {V4, V6, RAW};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		const struct zone_station s = station(kinds[k], 1, I, one, 1);
		struct zone_table *t = table_of(&s, 1);

		assert_false(forbids(t, kinds[k], 1, 9, 1, 9));
		assert_false(forbids(t, kinds[k], 9, 1, 9, 1));
		assert_false(forbids(t, kinds[k], 8, 9, 8, 9));
		free(t);
	}
}

static void addresses_of_zeros_and_of_ones_are_no_stations(void **state)
{
	static const uint16_t one[] = {1};
	const struct zone_station s[] = {station(V4, 1, I, one, 1), station(V6, 1, I, one, 1)};
	struct zone_table *t = table_of(s, 2);

	(void)state;
	for (int byte = 0; byte <= 0xff; byte += 0xff) {
		uint8_t f[LEN];

		memset(f, byte, sizeof(f));
		memcpy(f + ETH_HLEN_ + 16, s[0].addr.ip, 4);
		assert_false(zone_forbids(t, f, V4, ETH_HLEN_));
		memset(f, byte, sizeof(f));
		memcpy(f + ETH_HLEN_ + 24, s[1].addr.ip, 16);
		assert_false(zone_forbids(t, f, V6, ETH_HLEN_));
	}
	free(t);
}

// MAC addresses are among the IPv6 addresses, where no host can be.
static void an_ipv6_address_that_looks_like_a_mac_address_is_another(void **state)
{
	static const uint16_t one[] = {1};
	const struct zone_station s[] = {station(RAW, 1, I, one, 1), station(RAW, 2, I, one, 1)};
	struct zone_table *t = table_of(s, 2);
	uint8_t f[LEN] = {2, 0, 0, 0, 0, 2};

	(void)state;
	memcpy(f + ETH_HLEN_ + 8 + 10, s[0].mac, 6); // from ::200:0:1, by another card
	assert_false(zone_forbids(t, f, V6, ETH_HLEN_));
	free(t);
}

// A host that adds an IP address of its own to its card stays in its zone.
static void an_ip_address_of_no_station_is_judged_by_its_mac_address(void **state)
{
	static const uint16_t one[] = {1}, two[] = {2};
	struct zone_station s[] = {station(V4, 1, I, one, 1), station(V4, 2, T, two, 1)};
	struct zone_table *t;

	(void)state;
	memcpy(s[0].mac, (uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
	memcpy(s[1].mac, (uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
	t = table_of(s, 2);
	assert_true(forbids(t, V4, 1, 2, 77, 2));
	assert_true(forbids(t, V4, 1, 2, 1, 77));
	assert_true(forbids(t, V4, 1, 2, 77, 78));
	assert_true(forbids(t, V6, 1, 2, 77, 78));
	assert_false(forbids(t, V4, 1, 9, 77, 78));
	free(t);
}

// A card may have an address in each of two zones. The address decides, and not the card.
static void two_ip_addresses_of_a_card_have_zones_of_their_own(void **state)
{
	static const uint16_t one[] = {1}, two[] = {2};
	struct zone_station s[] = {station(V4, 1, I, one, 1), station(V4, 2, I, two, 1),
				   station(V4, 3, T, one, 1), station(RAW, 4, T, two, 1),
				   station(RAW, 5, T, one, 1)};
	struct zone_table *t;

	(void)state;
	memcpy(s[0].mac, (uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
	memcpy(s[1].mac, s[0].mac, 6);
	t = table_of(s, 5);
	assert_false(forbids(t, V4, 1, 3, 1, 3));
	assert_true(forbids(t, V4, 1, 3, 2, 3));
	assert_false(forbids(t, RAW, 1, 4, 0, 0)); // the card itself has both zones
	assert_false(forbids(t, RAW, 1, 5, 0, 0));
	free(t);
}

static void zones_that_share_a_bit_of_the_sum_are_kept_apart(void **state)
{
	static const uint16_t low[] = {3}, same_bit[] = {3 + ZONE_SUM_BITS},
			      last[] = {ZONES_MAX - 1, 3}, too_large[] = {ZONES_MAX};
	const struct zone_station s[] = {station(V4, 1, I, low, 1), station(V4, 2, T, same_bit, 1),
					 station(V4, 3, T, last, 2)};
	const struct zone_station bad = station(V4, 1, I, too_large, 1);
	struct zone_table *t = table_of(s, 3);

	(void)state;
	assert_true(forbids(t, V4, 1, 2, 1, 2));
	assert_false(forbids(t, V4, 1, 3, 1, 3));
	assert_int_equal(zone_table_bytes(&bad, 1), 0);
	free(t);
}

static void groups_arp_lldp_and_neighbour_discovery_are_exempt(void **state)
{
	static const struct {
		uint16_t type;
		uint8_t dst, next, hops, icmp;
		bool exempt;
	} rows[] = {
		{ETYPE_ARP, 2, 0, 0, 0, true},
		{ETYPE_LLDP, 2, 0, 0, 0, true},
		{0x8915, 2, 0, 0, 0, false},
		{ETYPE_IPV4, 2, 0, 0, 0, false},
		{ETYPE_IPV4, 1, 0, 0, 0, true},
		{ETYPE_IPV6, 2, IP_PROTO_ICMPV6, 255, 133, true},
		{ETYPE_IPV6, 2, IP_PROTO_ICMPV6, 255, 136, true},
		{ETYPE_IPV6, 2, IP_PROTO_ICMPV6, 255, 138, false},
		{ETYPE_IPV6, 2, IP_PROTO_ICMPV6, 64, 135, false}, // came across a router
		{ETYPE_IPV6, 2, IP_PROTO_UDP, 255, 135, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t f[ETH_HLEN_ + IPV6_HLEN_ + 24] = {rows[i].dst, [6] = 2, [11] = 1};
		uint8_t *ip = f + ETH_HLEN_;
		struct pkt_info pkt;

		be16_put(f + 12, rows[i].type);
		ip[0] = rows[i].type == ETYPE_IPV4 ? 0x45 : 0x60;
		be16_put(ip + (rows[i].type == ETYPE_IPV4 ? 2 : 4), 24);
		if (rows[i].type == ETYPE_IPV6)
			memcpy(ip + 6, (uint8_t[]){rows[i].next, rows[i].hops}, 2);
		ip[IPV6_HLEN_] = rows[i].type == ETYPE_IPV6 ? rows[i].icmp : 0;
		assert_true(parse(f, sizeof(f), &pkt));
		assert_int_equal(zone_is_exempt(f, sizeof(f), &pkt), rows[i].exempt);
	}
}

// 4,000 hosts with any of 1,000 zones, against the rule as it is written.
enum { HOSTS = 4000, ZONES = 1000, MOST = 5, PAIRS = 100000 };

static bool share(const struct zone_station *a, const struct zone_station *b)
{
	for (uint32_t i = 0; i < a->n_zones; i++)
		for (uint32_t k = 0; k < b->n_zones; k++)
			if (a->zones[i] == b->zones[k])
				return true;
	return false;
}

static void a_thousand_zones_and_random_pairs_follow_the_rule(void **state)
{
	static const uint8_t kinds[] = {V4, V6, RAW};
	static uint16_t zones[HOSTS][MOST];
	static struct zone_station s[HOSTS];
	struct rng rng;
	unsigned forbidden = 0;

	(void)state;
	rng_init(&rng, 20);
	for (unsigned k = 0; k < 3; k++) {
		struct zone_table *t;

		for (unsigned h = 0; h < HOSTS; h++) {
			uint32_t n = rng_next(&rng) % (MOST + 1);

			for (uint32_t i = 0; i < n; i++)
				zones[h][i] = (uint16_t)(rng_next(&rng) % (h % 2 ? 9 : ZONES));
			s[h] = station(kinds[k], h + 1, rng_next(&rng) % 4, zones[h], n);
		}
		t = table_of(s, HOSTS);
		for (unsigned i = 0; i < PAIRS; i++) {
			unsigned a = rng_next(&rng) % (HOSTS + 100), b = rng_next(&rng) % HOSTS;
			bool rule = a < HOSTS &&
				    (!share(&s[a], &s[b]) ||
				     (s[a].roles == s[b].roles &&
				      (s[a].roles == I || s[a].roles == T)));

			assert_int_equal(forbids(t, kinds[k], a + 1, b + 1, a + 1, b + 1), rule);
			forbidden += rule;
		}
		free(t);
	}
	assert_in_range(forbidden, PAIRS, 3 * PAIRS - PAIRS / 5);
}

// Otherwise a worker mispredicts a branch.
static void addresses_that_follow_each_other_are_where_their_search_begins(void **state)
{
	enum { N_HOSTS = 1000, SEEDS = 20 };
	static const uint16_t one[] = {1};
	static struct zone_station s[N_HOSTS];
	uint32_t displaced = 0;

	(void)state;
	for (unsigned i = 0; i < N_HOSTS; i++)
		s[i] = station(V4, i + 1, I, one, 1);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct zone_table *t = calloc(1, zone_table_bytes(s, N_HOSTS));

		assert_non_null(t);
		zone_table_fill(t, s, N_HOSTS, seed);
		for (unsigned i = 0; i < N_HOSTS; i++) {
			struct ip_key key = zone_key_v4(s[i].addr.ip);

			displaced += zone_find(&t->v4, key, true) != zone_home(&t->v4, key, true);
		}
		free(t);
	}
	if (displaced > SEEDS * N_HOSTS / 50)
		fail_msg("%u of %u are elsewhere", displaced, SEEDS * N_HOSTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_and_roles_decide),
		cmocka_unit_test(frames_from_or_to_an_unknown_host_are_not_forbidden),
		cmocka_unit_test(addresses_of_zeros_and_of_ones_are_no_stations),
		cmocka_unit_test(an_ipv6_address_that_looks_like_a_mac_address_is_another),
		cmocka_unit_test(an_ip_address_of_no_station_is_judged_by_its_mac_address),
		cmocka_unit_test(two_ip_addresses_of_a_card_have_zones_of_their_own),
		cmocka_unit_test(zones_that_share_a_bit_of_the_sum_are_kept_apart),
		cmocka_unit_test(groups_arp_lldp_and_neighbour_discovery_are_exempt),
		cmocka_unit_test(a_thousand_zones_and_random_pairs_follow_the_rule),
		cmocka_unit_test(addresses_that_follow_each_other_are_where_their_search_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
