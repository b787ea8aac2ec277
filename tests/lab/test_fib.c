// SPDX-License-Identifier: Apache-2.0
// The route tables of both kinds against a search through the list of prefixes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/forward/route.h"
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

enum { FEW = 300, MANY = ROUTE_FLAT_FROM + 500, LOOKUPS = 3000, GROUPS = 40 };

static void cut(struct policy_addr *a)
{
	for (unsigned i = a->len; i < 128; i++)
		a->ip[i / 8] &= (uint8_t)~(0x80u >> i % 8);
}

static bool same(const struct policy_prefix *a, const struct policy_prefix *b)
{
	return memcmp(&a->to, &b->to, sizeof(a->to)) == 0;
}

// Addresses crowd, so that prefixes lie within each other.
static void draw(struct rng *rng, uint8_t family, uint8_t *ip)
{
	uint32_t r = rng_next(rng);

	memset(ip, 0, 16);
	ip[0] = family == FAMILY_V6 ? 0xfd : 10;
	ip[1] = (uint8_t)(r & 1);
	ip[2] = (uint8_t)(r >> 8 & 15);
	ip[3] = (uint8_t)(r >> 16);
	if (family == FAMILY_V6)
		for (unsigned i = 4; i < 16; i++)
			ip[i] = (uint8_t)(rng_next(rng) >> 16 & (i % 3 ? 0x81u : 0));
}

static unsigned fill(struct policy_routes *r, uint8_t family, unsigned n, struct rng *rng)
{
	unsigned max = family == FAMILY_V4 ? 32 : 128, made = 0;

	for (unsigned i = 0; i < 20 * n && made < n; i++) {
		struct policy_prefix p = {.group = (rng_next(rng) >> 8) % GROUPS};
		bool known = false;

		p.to.family = family;
		p.to.len = (uint8_t)((rng_next(rng) >> 9) % (max + 1));
		if (i % 2)
			p.to.len = (uint8_t)(max - p.to.len % 9);
		draw(rng, family, p.to.ip);
		cut(&p.to);
		for (unsigned k = 0; k < made && !known; k++)
			known = same(&p, &r->prefixes[k]);
		if (!known)
			r->prefixes[made++] = p;
	}
	r->n_prefixes = made;
	return made;
}

static bool holds(const struct policy_addr *to, const uint8_t *ip)
{
	for (unsigned i = 0; i < to->len; i++)
		if ((to->ip[i / 8] ^ ip[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static uint32_t expected(const struct policy_routes *r, const uint8_t *ip)
{
	uint32_t group = 0;
	int best = -1;

	for (uint32_t i = 0; i < r->n_prefixes; i++)
		if ((int)r->prefixes[i].to.len > best && holds(&r->prefixes[i].to, ip)) {
			best = r->prefixes[i].to.len;
			group = r->prefixes[i].group + 1;
		}
	return group;
}

static uint32_t found(const struct route_table *t, uint8_t family, const uint8_t *ip)
{
	return family == FAMILY_V4 ? route_lookup_v4(t, be32_get(ip)) : route_lookup_v6(t, ip);
}

static void compare(uint8_t family, unsigned n, bool compact, bool flat, uint64_t seed)
{
	static struct policy_prefix prefixes[MANY];
	static struct policy_group groups[GROUPS];
	static struct policy_nexthop hops[1];
	struct policy *p = calloc(1, sizeof(*p));
	struct route_table *t = NULL;
	struct rng rng;

	assert_non_null(p);
	rng_init(&rng, seed);
	p->routes = (struct policy_routes){.any = true, .compact = compact, .prefixes = prefixes,
					   .groups = groups, .n_groups = GROUPS, .nexthops = hops};
	fill(&p->routes, family, n, &rng);
	assert_int_equal(route_table_create("test", p, &t), 0);
	assert_int_equal(family == FAMILY_V4 ? t->flat_v4 : t->flat_v6, flat);
	for (unsigned i = 0; i < LOOKUPS; i++) {
		uint8_t ip[16];

		draw(&rng, family, ip);
		if (i % 4 == 0) // the first or last address of a prefix
			memcpy(ip, prefixes[i % p->routes.n_prefixes].to.ip, sizeof(ip));
		if (i % 7 == 0)
			ip[0] ^= 0x80;
		assert_int_equal(found(t, family, ip), expected(&p->routes, ip));
	}
	route_table_destroy(t);
	free(p);
}

static void small_tables_find_the_longest_prefix(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		compare(FAMILY_V4, FEW, false, false, seed);
		compare(FAMILY_V6, FEW, false, false, seed);
	}
}

static void one_prefix_is_enough(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		compare(FAMILY_V4, 1, false, false, seed);
		compare(FAMILY_V6, 1, false, false, seed);
	}
}

static void large_tables_are_flat_and_find_the_same(void **state)
{
	(void)state;
	compare(FAMILY_V4, MANY, false, true, 1);
	compare(FAMILY_V6, MANY, false, true, 2);
}

static void large_tables_stay_small_where_the_policy_says_so(void **state)
{
	(void)state;
	compare(FAMILY_V4, MANY, true, false, 3);
	compare(FAMILY_V6, MANY, true, false, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_tables_find_the_longest_prefix),
		cmocka_unit_test(one_prefix_is_enough),
		cmocka_unit_test(large_tables_are_flat_and_find_the_same),
		cmocka_unit_test(large_tables_stay_small_where_the_policy_says_so),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
