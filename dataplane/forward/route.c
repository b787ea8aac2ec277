// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_hash.h>
#include <rte_malloc.h>

#include "dataplane/forward/fdb.h"
#include "dataplane/policy.h"

static_assert(ROUTE_CACHE_SLOTS == 1 << 10, "route_slot takes ten bits");

enum { NAME_LEN = 32, TBL8_OF_V6 = 13, NH_2B_MAX = (1 << 15) - 1, TBL8_MAX = 1 << 18 };

// How many prefixes a family has without the default route, and how many of them are longer than
// the 24 bits that the first table of the FIB covers.
struct census {
	uint32_t n, beyond_24;
};

static struct census census_of(const struct policy_routes *r, uint8_t family)
{
	struct census c = {0};

	for (uint32_t i = 0; i < r->n_prefixes; i++) {
		const struct policy_addr *to = &r->prefixes[i].to;

		if (to->family != family || to->len == 0)
			continue;
		c.n++;
		c.beyond_24 += to->len > 24;
	}
	return c;
}

static bool small_numbers(const struct policy_routes *r, uint32_t n_tbl8)
{
	return r->n_groups < NH_2B_MAX && n_tbl8 < NH_2B_MAX;
}

// ---- neighbours

struct ip_key ip_key_of(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? ip_key_v4(be32_get(a->ip)) : ip_key_v6(a->ip);
}

int neighbours_init(struct neighbours *n, const char *name, uint32_t max, uint32_t seed,
		    struct rte_rcu_qsbr *qsbr)
{
	n->hash = fdb_hash_create(name, max, sizeof(struct neighbour_key), seed, qsbr);
	return n->hash != NULL ? 0 : -ENOMEM;
}

void neighbours_fini(struct neighbours *n)
{
	rte_hash_free(n->hash);
	n->hash = NULL;
}

void neighbours_changed(struct neighbours *n)
{
	atomic_fetch_add_explicit(&n->version, 1, memory_order_release);
}

int neighbours_set(struct neighbours *n, port_no_t port, const struct policy_addr *a,
		   const uint8_t *mac)
{
	const struct neighbour_key key = {ip_key_of(a), port};
	int err = 0;

	if (mac == NULL)
		rte_hash_del_key(n->hash, &key);
	else
		err = rte_hash_add_key_data(n->hash, &key,
					    (void *)(uintptr_t)adj_known(port, mac));
	return err == 0 ? 0 : -ENOSPC;
}

uint64_t neighbours_lookup(const struct neighbours *n, port_no_t port, struct ip_key ip)
{
	const struct neighbour_key key = {ip, port};
	void *data;

	if (rte_hash_lookup_data(n->hash, &key, &data) < 0)
		return adj_of(ADJ_UNKNOWN, port, NULL);
	return (uint64_t)(uintptr_t)data;
}

// ---- IPv4

static struct rte_fib *fib4_make(const char *name, const struct policy_routes *r,
				 struct census c, bool flat)
{
	struct rte_fib_conf conf = {.type = flat ? RTE_FIB_DIR24_8 : RTE_FIB_DUMMY,
				    .max_routes = (int)c.n + 1};
	uint32_t n_tbl8 = c.beyond_24 + 1 < TBL8_MAX ? c.beyond_24 + 1 : TBL8_MAX;
	struct rte_fib *fib;

	if (flat) {
		conf.dir24_8.nh_sz = small_numbers(r, n_tbl8) ? RTE_FIB_DIR24_8_2B
							      : RTE_FIB_DIR24_8_4B;
		conf.dir24_8.num_tbl8 = n_tbl8;
	}
	fib = rte_fib_create(name, SOCKET_ID_ANY, &conf);
	for (uint32_t i = 0; fib != NULL && i < r->n_prefixes; i++) {
		const struct policy_prefix *p = &r->prefixes[i];

		if (p->to.family != FAMILY_V4 || p->to.len == 0)
			continue;
		if (rte_fib_add(fib, be32_get(p->to.ip), p->to.len, p->group + 1) != 0) {
			rte_fib_free(fib);
			fib = NULL;
		}
	}
	return fib;
}

// ---- IPv6

static struct rte_fib6 *fib6_make(const char *name, const struct policy_routes *r,
				  struct census c, bool flat)
{
	struct rte_fib6_conf conf = {.type = flat ? RTE_FIB6_TRIE : RTE_FIB6_DUMMY,
				     .max_routes = (int)c.n + 1};
	uint64_t n_tbl8 = (uint64_t)c.beyond_24 * TBL8_OF_V6 + 1;
	struct rte_fib6 *fib;

	if (flat) {
		conf.trie.num_tbl8 = (uint32_t)(n_tbl8 < TBL8_MAX ? n_tbl8 : TBL8_MAX);
		conf.trie.nh_sz = small_numbers(r, conf.trie.num_tbl8) ? RTE_FIB6_TRIE_2B
								       : RTE_FIB6_TRIE_4B;
	}
	fib = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	for (uint32_t i = 0; fib != NULL && i < r->n_prefixes; i++) {
		const struct policy_prefix *p = &r->prefixes[i];

		if (p->to.family != FAMILY_V6 || p->to.len == 0)
			continue;
		if (rte_fib6_add(fib, p->to.ip, p->to.len, p->group + 1) != 0) {
			rte_fib6_free(fib);
			fib = NULL;
		}
	}
	return fib;
}

// ---- the table

// A flat one for many prefixes. A tree where there are few, or no memory for a flat one.
static int make_fib(struct route_table *t, uint8_t family, const char *name,
		    const struct policy_routes *r)
{
	struct census c = census_of(r, family);
	bool flat = c.n >= ROUTE_FLAT_FROM && !r->compact;
	char fib_name[NAME_LEN];

	if (c.n == 0)
		return 0;
	snprintf(fib_name, sizeof(fib_name), "%.24s-r%u", name, family);
	for (;; flat = false) {
		if (family == FAMILY_V4)
			t->v4 = fib4_make(fib_name, r, c, t->flat_v4 = flat);
		else
			t->v6 = fib6_make(fib_name, r, c, t->flat_v6 = flat);
		if (family == FAMILY_V4 ? t->v4 != NULL : t->v6 != NULL)
			return 0;
		if (!flat)
			return -ENOMEM;
	}
}

// Before any neighbour is known.
static uint64_t first_adj(const struct policy_nexthop *h)
{
	switch ((enum nexthop_kind)h->kind) {
	case NEXTHOP_GIVEN: return adj_known(h->port, h->mac);
	case NEXTHOP_GATEWAY: return adj_of(ADJ_UNKNOWN, h->port, NULL);
	case NEXTHOP_LINK: return adj_of(ADJ_LINK, h->port, NULL);
	case NEXTHOP_SELF: return adj_of(ADJ_SELF, h->port, NULL);
	case NEXTHOP_BLACKHOLE: return adj_of(ADJ_BLACKHOLE, 0, NULL);
	case NEXTHOP_NONE: break;
	}
	return adj_of(ADJ_NO_ROUTE, 0, NULL);
}

static void find_defaults(struct route_table *t, const struct policy_routes *r)
{
	for (uint32_t i = 0; i < r->n_prefixes; i++) {
		if (r->prefixes[i].to.len != 0)
			continue;
		if (r->prefixes[i].to.family == FAMILY_V4)
			t->default_v4 = r->prefixes[i].group + 1;
		else
			t->default_v6 = r->prefixes[i].group + 1;
	}
}

int route_table_create(const char *name, const struct policy *pol, struct route_table **out)
{
	const struct policy_routes *r = &pol->routes;
	struct route_table *t =
		rte_zmalloc("routes", sizeof(*t) + r->n_nexthops * sizeof(t->adj[0]), 64);

	if (t == NULL)
		return -ENOMEM;
	t->groups = r->groups;
	t->flow_seed = flow_seed(r->ecmp_seed);
	t->flow_qp = r->ecmp_by == ECMP_5TUPLE_QP;
	t->n_adj = r->n_nexthops;
	for (uint32_t i = 0; i < r->n_nexthops; i++)
		atomic_init(&t->adj[i], first_adj(&r->nexthops[i]));
	find_defaults(t, r);
	if (make_fib(t, FAMILY_V4, name, r) != 0 || make_fib(t, FAMILY_V6, name, r) != 0) {
		route_table_destroy(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void route_table_destroy(struct route_table *t)
{
	if (t == NULL)
		return;
	rte_fib_free(t->v4);
	rte_fib6_free(t->v6);
	rte_free(t);
}

bool route_table_update(struct route_table *t, const struct policy *pol,
			const struct neighbours *n, const struct policy_addr *a)
{
	bool changed = false;

	for (uint32_t i = 0; i < t->n_adj; i++) {
		const struct policy_nexthop *h = &pol->routes.nexthops[i];
		uint64_t adj;

		if (h->kind != NEXTHOP_GATEWAY ||
		    (a != NULL && !ip_key_same(ip_key_of(a), ip_key_of(&h->addr))))
			continue;
		adj = neighbours_lookup(n, h->port, ip_key_of(&h->addr));
		changed |= adj != route_adj(t, i);
		atomic_store_explicit(&t->adj[i], adj, memory_order_relaxed);
	}
	return changed;
}

bool route_table_track(struct route_table *t, const struct policy *pol, nexthop_leads_fn *leads,
		       void *arg)
{
	bool changed = false;

	for (uint32_t i = 0; i < t->n_adj; i++) {
		const struct policy_nexthop *h = &pol->routes.nexthops[i];
		uint64_t adj;

		if (h->kind != NEXTHOP_GIVEN || h->track == 0)
			continue;
		adj = leads(arg, h) ? first_adj(h) : adj_of(ADJ_NO_ROUTE, h->port, NULL);
		changed |= adj != route_adj(t, i);
		atomic_store_explicit(&t->adj[i], adj, memory_order_relaxed);
	}
	return changed;
}

uint32_t route_lookup_v4(const struct route_table *t, uint32_t ip)
{
	uint64_t group = 0;

	if (t->v4 != NULL)
		rte_fib_lookup_bulk(t->v4, &ip, &group, 1);
	return group != 0 ? (uint32_t)group : t->default_v4;
}

uint32_t route_lookup_v6(const struct route_table *t, const uint8_t *ip)
{
	uint8_t ips[1][RTE_FIB6_IPV6_ADDR_SIZE];
	uint64_t group = 0;

	memcpy(ips[0], ip, sizeof(ips[0]));
	if (t->v6 != NULL)
		rte_fib6_lookup_bulk(t->v6, ips, &group, 1);
	return group != 0 ? (uint32_t)group : t->default_v6;
}

uint64_t route_resolve(const struct route_table *t, const struct neighbours *n, uint32_t group,
		       struct ip_key dst)
{
	uint64_t adj;

	if (group == 0)
		return adj_of(ADJ_NO_ROUTE, 0, NULL);
	if (t->groups[group - 1].n > 1)
		return adj_many(group - 1);
	adj = route_adj(t, t->groups[group - 1].first);
	return adj_state(adj) == ADJ_LINK ? neighbours_lookup(n, adj_port(adj), dst) : adj;
}

void route_cache_renew(struct route_cache *c, uint64_t policy_version, uint32_t neighbours_version)
{
	if (c->policy_version == policy_version && c->neighbours_version == neighbours_version &&
	    c->epoch != 0)
		return;
	c->policy_version = policy_version;
	c->neighbours_version = neighbours_version;
	if (++c->epoch != 0)
		return;
	memset(c->slots, 0, sizeof(c->slots)); // four thousand million changes later
	c->epoch = 1;
}
