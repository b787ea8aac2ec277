// SPDX-License-Identifier: Apache-2.0
// What a router asks of a header: checksum, addresses, the flow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/forward/l3.h"
#include "dataplane/packet/edit.h"

enum { LEN = 74, L3 = ETH_HLEN_ };

// UDP over IPv4 or IPv6.
static struct pkt_info make(uint8_t *f, bool v6, uint32_t src, uint32_t dst, uint32_t ports)
{
	uint8_t *l3 = f + L3, *l4 = l3 + (v6 ? 40 : 20);
	struct pkt_info pkt;

	memset(f, 0, LEN);
	be16_put(f + 12, v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	if (v6) {
		l3[0] = 0x60;
		be16_put(l3 + 4, LEN - L3 - 40);
		l3[6] = 17;
		l3[7] = 64;
		l3[8] = l3[24] = 0xfd;
		be32_put(l3 + 20, src);
		be32_put(l3 + 36, dst);
	} else {
		l3[0] = 0x45;
		be16_put(l3 + 2, LEN - L3);
		l3[8] = 64;
		l3[9] = 17;
		be32_put(l3 + 12, src);
		be32_put(l3 + 16, dst);
	}
	be32_put(l4, ports);
	be16_put(l4 + 4, (uint16_t)(f + LEN - l4));
	assert_true(parse(f, LEN, &pkt));
	return pkt;
}

static uint16_t plain_csum(const uint8_t *p, unsigned n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i += 2)
		sum += be16_get(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// Random headers of every length, right and with one bit wrong.
static void the_header_checksum_is_judged_as_the_plain_sum_does(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < 200000; i++) {
		unsigned hlen = 20 + 4 * (i % 11);
		uint8_t h[60];

		for (unsigned k = 0; k < sizeof(h); k += 4)
			be32_put(h + k, (uint32_t)rng_next(&rng) | (i % 3 == 0 ? 0xffff0000 : 0));
		h[0] = (uint8_t)(0x40 | hlen / 4);
		be16_put(h + 10, 0);
		be16_put(h + 10, plain_csum(h, hlen));
		assert_true(ipv4_csum_holds(h));
		h[i % hlen] ^= (uint8_t)(1u << i % 8);
		h[0] = (uint8_t)(0x40 | hlen / 4);
		assert_int_equal(ipv4_csum_holds(h), plain_csum(h, hlen) == 0);
	}
}

static void one_hop_less_keeps_every_checksum_right(void **state)
{
	(void)state;
	for (unsigned ttl = 2; ttl < 256; ttl++)
		for (unsigned id = 0; id < 65536; id += 251) {
			uint8_t f[LEN];

			make(f, false, 0x0a000001, 0x0a000002, 0);
			be16_put(f + L3 + 4, (uint16_t)id);
			f[L3 + 8] = (uint8_t)ttl;
			be16_put(f + L3 + 10, plain_csum(f + L3, 20));
			edit_hop(f + L3, PKT_IPV4);
			assert_int_equal(f[L3 + 8], ttl - 1);
			assert_int_equal(plain_csum(f + L3, 20), 0);
		}
}

static void addresses_that_no_router_forwards(void **state)
{
	static const struct {
		uint32_t ip;
		bool routable;
	} v4[] = {
		{0x00000000, false}, {0x00ffffff, false}, {0x01000000, true},
		{0x7effffff, true},  {0x7f000000, false}, {0x7fffffff, false},
		{0x80000000, true},  {0xdfffffff, true},  {0xe0000000, false},
		{0xefffffff, false}, {0xf0000000, false}, {0xffffffff, false},
	};
	static const struct {
		uint64_t hi, lo;
		bool routable;
	} v6[] = {
		{0, 0, false},
		{0, 1, false},
		{0, 0xffff0a000001, false},
		{0, 0x1000000000000, true},
		{0x20010db800000000, 1, true},
		{0xfd00000100000000, 1, true},
		{0xfe7fffffffffffff, 1, true},
		{0xfe80000000000000, 1, false},
		{0xfebfffffffffffff, 1, false},
		{0xfec0000000000000, 1, true},
		{0xfeffffffffffffff, 1, true},
		{0xff02000000000000, 1, false},
		{0xffffffffffffffff, 1, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		assert_int_equal(ipv4_routable(v4[i].ip), v4[i].routable);
	for (unsigned i = 0; i < sizeof(v6) / sizeof(v6[0]); i++)
		assert_int_equal(ipv6_routable((struct ip_key){v6[i].hi, v6[i].lo}),
				 v6[i].routable);
}

static uint64_t hash(uint64_t seed, bool v6, uint32_t src, uint32_t dst, uint32_t ports)
{
	uint8_t f[LEN];
	struct pkt_info pkt = make(f, v6, src, dst, ports);

	return flow_hash(flow_seed(seed), f, LEN, &pkt, false);
}

// Each field of the 5-tuple matters, and nothing else does.
static void a_flow_is_its_five_tuple(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const uint64_t h = hash(1, v6, 1, 2, 3);
		uint8_t f[LEN];
		struct pkt_info pkt = make(f, v6, 1, 2, 3);

		assert_true(h != hash(1, v6, 4, 2, 3));
		assert_true(h != hash(1, v6, 1, 4, 3));
		assert_true(h != hash(1, v6, 1, 2, 4));
		assert_true(h != hash(1, v6, 1, 2, 3u << 16));
		assert_true(h != hash(1, v6, 2, 1, 3)); // the way back is another flow
		assert_true(h != hash(2, v6, 1, 2, 3));
		f[L3 + (v6 ? 1 : 1)] ^= 0x10; // traffic class
		f[L3 + (v6 ? 7 : 8)] = 3; // hops
		f[LEN - 1] = 1;
		assert_true(h == flow_hash(flow_seed(1), f, LEN, &pkt, false));
		f[L3 + (v6 ? 6 : 9)] = 6;
		assert_true(parse(f, LEN, &pkt));
		assert_true(h != flow_hash(flow_seed(1), f, LEN, &pkt, false));
	}
}

static void a_qp_counts_where_it_shall(void **state)
{
	uint8_t a[LEN], b[LEN];
	struct pkt_info pa = make(a, false, 1, 2, 0xc0000000 | ROCE_UDP_PORT);
	struct pkt_info pb;

	(void)state;
	memcpy(b, a, LEN);
	be24_put(b + L3 + 20 + 8 + 5, 0x123456);
	assert_true(parse(b, LEN, &pb));
	assert_true(pa.roce && pb.roce);
	assert_true(flow_hash(1, a, LEN, &pa, false) == flow_hash(1, b, LEN, &pb, false));
	assert_true(flow_hash(1, a, LEN, &pa, true) != flow_hash(1, b, LEN, &pb, true));
}

// Chi-square over n parts of `keys` neighbouring flows; the mean is n - 1, the deviation
// sqrt(2 (n - 1)). Below 5 deviations for every field that counts up and every n.
static void neighbouring_flows_spread_evenly(void **state)
{
	enum { KEYS = 20000 };

	(void)state;
	for (unsigned field = 0; field < 8; field++)
		for (unsigned n = 2; n <= 64; n += n < 8 ? 1 : 7) {
			unsigned part[64] = {0};
			double chi = 0;

			for (uint32_t k = 0; k < KEYS; k++) {
				uint32_t src = field % 4 == 0 ? k : 1, dst = field % 4 == 1 ? k : 2;
				uint32_t ports = field % 4 == 2 ? k << 16 : field % 4 == 3 ? k : 80;

				part[flow_pick(hash(7, field / 4, src, dst, ports), n)]++;
			}
			for (unsigned i = 0; i < n; i++)
				chi += (part[i] - (double)KEYS / n) * (part[i] - (double)KEYS / n) /
				       ((double)KEYS / n);
			chi -= n - 1;
			if (chi * chi > 25.0 * 2 * (n - 1))
				fail_msg("field %u, %u parts: chi-square is off by %g", field, n,
					 chi);
		}
}

// Flows that one switch puts on its first way of four are put on all ways by another one whose seed
// differs in a single step.
static void seeds_next_to_each_other_choose_independently(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 64; seed++) {
		unsigned part[4] = {0}, n = 0;

		for (uint32_t k = 0; k < 8000; k++) {
			if (flow_pick(hash(seed, false, 1, 2, k), 4) != 0)
				continue;
			part[flow_pick(hash(seed + 1, false, 1, 2, k), 4)]++;
			n++;
		}
		for (unsigned i = 0; i < 4; i++) {
			double off = part[i] - n / 4.0;

			assert_true(off * off < 25.0 * n * 3 / 16);
		}
	}
}

static void discovery_is_told_from_other_frames(void **state)
{
	static const struct {
		uint8_t next, hops, type;
		bool nd;
	} rows[] = {
		{58, 255, 135, true},  {58, 255, 136, true},  {58, 254, 135, false},
		{58, 255, 134, false}, {58, 255, 128, false}, {17, 255, 135, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t f[LEN];
		struct pkt_info pkt;

		make(f, true, 1, 2, 0);
		f[L3 + 6] = rows[i].next;
		f[L3 + 7] = rows[i].hops;
		f[L3 + 40] = rows[i].type;
		assert_true(parse(f, LEN, &pkt));
		assert_int_equal(is_nd(f, LEN, &pkt), rows[i].nd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_checksum_is_judged_as_the_plain_sum_does),
		cmocka_unit_test(one_hop_less_keeps_every_checksum_right),
		cmocka_unit_test(addresses_that_no_router_forwards),
		cmocka_unit_test(a_flow_is_its_five_tuple),
		cmocka_unit_test(a_qp_counts_where_it_shall),
		cmocka_unit_test(neighbouring_flows_spread_evenly),
		cmocka_unit_test(seeds_next_to_each_other_choose_independently),
		cmocka_unit_test(discovery_is_told_from_other_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
