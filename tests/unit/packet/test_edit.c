// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/edit.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static uint8_t tos_of(uint8_t dscp, unsigned old_tos)
{
	return (uint8_t)(dscp << 2 | (int)(old_tos & 3));
}

// A header of random bytes, 20 to 60 long, with its right checksum.
static uint32_t random_ipv4(struct rng *rng, uint8_t l3[60], uint8_t tos)
{
	uint32_t hlen = 20 + rng_next(rng) % 11 * 4;

	for (unsigned i = 0; i < 60; i += 4)
		be32_put(l3 + i, rng_next(rng));
	l3[0] = (uint8_t)(0x40 | hlen / 4);
	l3[1] = tos;
	be16_put(l3 + 10, ipv4_csum(l3));
	return hlen;
}

// Only the ToS and the checksum may differ, and the checksum is the right one.
static void check_ipv4(const uint8_t *was, const uint8_t *now, uint8_t want_tos)
{
	assert_int_equal(now[1], want_tos);
	assert_int_equal(be16_get(now + 10), ipv4_csum(now));
	assert_int_equal(now[0], was[0]);
	assert_memory_equal(now + 2, was + 2, 8);
	assert_memory_equal(now + 12, was + 12, 48);
}

static void an_edited_checksum_equals_a_whole_recomputation(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1624);
	for (unsigned tos = 0; tos < 256; tos++) {
		for (uint8_t dscp = 0; dscp < 64; dscp++) {
			uint8_t was[60], now[60];

			random_ipv4(&rng, was, (uint8_t)tos);
			memcpy(now, was, sizeof(now));
			edit_ecn_ce(now, PKT_IPV4);
			check_ipv4(was, now, (uint8_t)(tos | 3));

			memcpy(now, was, sizeof(now));
			edit_dscp(now, PKT_IPV4, dscp);
			check_ipv4(was, now, tos_of(dscp, tos));
		}
	}
}

// Headers whose words sum to all ones before or after the edit: the checksum is 0x0000 then, where
// naive increments give 0xffff.
static void a_checksum_of_zero_stays_zero(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < 4096; i++) {
		uint8_t was[60], now[60];
		uint8_t tos = (uint8_t)i, dscp = (uint8_t)(rng_next(&rng) % 64);
		bool zero_after = i & 1;
		uint16_t id;

		random_ipv4(&rng, was, zero_after ? tos_of(dscp, tos) : tos);
		// The id takes up what the sum lacks to all ones.
		be16_put(was + 4, 0);
		id = ipv4_csum(was);
		be16_put(was + 4, id);
		assert_int_equal(ipv4_csum(was), 0);
		was[1] = tos;
		be16_put(was + 10, ipv4_csum(was));

		memcpy(now, was, sizeof(now));
		edit_dscp(now, PKT_IPV4, dscp);
		check_ipv4(was, now, tos_of(dscp, tos));
		if (zero_after)
			assert_int_equal(be16_get(now + 10), 0);
	}
}

static void the_increment_follows_rfc_1624(void **state)
{
	static const struct {
		uint16_t csum, from, to, want;
	} rows[] = {
		{0xdd2f, 0x5555, 0x3285, 0x0000}, // the RFC's own example
		{0x0000, 0x4500, 0x4500, 0x0000},
		{0x0000, 0x4500, 0x4503, 0xfffc},
		{0xffff, 0x4500, 0x4500, 0x0000}, // minus zero comes in, plus zero goes out
		{0x1234, 0x45ff, 0x45ff, 0x1234},
		{0x0003, 0x4500, 0x4503, 0x0000},
		{0x0002, 0x4500, 0x4503, 0xfffe},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		assert_int_equal(csum_update(rows[i].csum, rows[i].from, rows[i].to),
				 rows[i].want);
}

static void the_ipv6_traffic_class_changes_and_nothing_else(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 2460);
	for (unsigned tc = 0; tc < 256; tc++) {
		for (uint8_t dscp = 0; dscp < 64; dscp++) {
			uint32_t flow = rng_next(&rng) & 0xfffff;
			uint8_t h[8];

			be32_put(h, 6u << 28 | tc << 20 | flow);
			be32_put(h + 4, 0xdeadbeef);
			edit_ecn_ce(h, PKT_IPV6);
			assert_int_equal(be32_get(h), 6u << 28 | (tc | 3) << 20 | flow);

			be32_put(h, 6u << 28 | tc << 20 | flow);
			edit_dscp(h, PKT_IPV6, dscp);
			assert_int_equal(be32_get(h),
					 6u << 28 | (uint32_t)tos_of(dscp, tc) << 20 | flow);
			assert_int_equal(be32_get(h + 4), 0xdeadbeef);
		}
	}
}

static void the_pcp_of_the_outer_tag_changes_and_nothing_else(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 16 * 8; i++) {
		const struct frame_spec s = {
			.n_tags = (uint8_t)(1 + (i >> 7)),
			.tci = {(uint16_t)((i >> 3 & 15) << 12 | 0xabc), 0x3fff},
		};
		uint8_t was[FRAME_MAX], now[FRAME_MAX], pcp = i & 7;
		uint32_t len = frame_roce(was, &s);

		memcpy(now, was, len);
		edit_pcp(now, pcp);
		assert_int_equal(be16_get(now + 14), (s.tci[0] & 0x1fff) | pcp << 13);
		be16_put(now + 14, s.tci[0]);
		assert_memory_equal(now, was, len);
	}
}

static void frames_without_ip_are_left_alone(void **state)
{
	uint8_t f[40];

	(void)state;
	memset(f, 0x5a, sizeof(f));
	edit_ecn_ce(f, PKT_OTHER);
	edit_dscp(f, PKT_OTHER, 63);
	edit_ecn_ce(f, PKT_MAC_CONTROL);
	edit_dscp(f, PKT_LLDP, 63);
	for (size_t i = 0; i < sizeof(f); i++)
		assert_int_equal(f[i], 0x5a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_edited_checksum_equals_a_whole_recomputation),
		cmocka_unit_test(a_checksum_of_zero_stays_zero),
		cmocka_unit_test(the_increment_follows_rfc_1624),
		cmocka_unit_test(the_ipv6_traffic_class_changes_and_nothing_else),
		cmocka_unit_test(the_pcp_of_the_outer_tag_changes_and_nothing_else),
		cmocka_unit_test(frames_without_ip_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
