// SPDX-License-Identifier: Apache-2.0
// Routes by longest prefix (rte_fib, rte_fib6), made of a policy's list before it is published.
//
// Prefixes and groups never change; the adjacency of a next hop is one word that control replaces
// when its neighbour comes, moves or goes. Writer: control. Readers: workers, through the policy
// they hold. A table is freed after the grace of its policy (switch_routes.c).
//
// Large tables are flat (DIR-24-8, 2 to 3 memory accesses, 32 MB and more each); small ones, those
// of a policy that asks for compact ones, and where memory does not reach, are trees of a few
// kilobytes. Workers remember recent answers (route_cache), so a lookup is rare.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/neighbours.h"
#include "dataplane/policy.h"

struct rte_fib;
struct rte_fib6;

enum {
	ROUTE_CACHE_SLOTS = 1024,
	ROUTE_FLAT_FROM = 4096, // prefixes of a family
};

struct route_table {
	struct rte_fib *v4; // NULL: no route but the default
	struct rte_fib6 *v6;
	uint32_t default_v4, default_v6; // group + 1 of the prefix of length 0; 0: none
	const struct policy_group *groups; // of the policy
	uint64_t flow_seed;
	bool flow_qp;
	bool flat_v4, flat_v6;
	struct route_table *next; // retired ones; control's
	uint64_t token; // of their grace
	uint32_t n_adj;
	_Atomic uint64_t adj[]; // by next hop
};

// name: unique in the process, short. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int route_table_create(const char *name,
							   const struct policy *pol,
							   struct route_table **out);
void route_table_destroy(struct route_table *t); // NULL is fine

// Control: the adjacencies of gateways, as the neighbours now say. a: of this one; NULL: all.
// True: something has changed.
bool route_table_update(struct route_table *t, const struct policy *pol,
			const struct neighbours *n, const struct policy_addr *a);

// Control: asks of each given next hop with a `track` whether it leads on. A next hop that does not
// is none until it does. True: something has changed.
bool route_table_track(struct route_table *t, const struct policy *pol, nexthop_leads_fn *leads,
		       void *arg);

// Group of a destination + 1; 0: no route.
uint32_t route_lookup_v4(const struct route_table *t, uint32_t ip);
uint32_t route_lookup_v6(const struct route_table *t, const uint8_t *ip);

static inline uint64_t route_adj(const struct route_table *t, uint32_t nexthop)
{
	return atomic_load_explicit(&t->adj[nexthop], memory_order_relaxed);
}

// A worker's own memory of recent answers. A slot holds while its epoch is the cache's, which moves
// on with every policy and every change of a neighbour.
struct route_slot {
	struct ip_key dst;
	uint64_t adj;
	uint32_t epoch;
	uint32_t spare;
};

struct route_cache {
	uint32_t epoch; // never 0
	uint32_t neighbours_version;
	uint64_t policy_version;
	struct route_slot slots[ROUTE_CACHE_SLOTS];
};

static inline struct route_slot *route_slot(struct route_cache *c, struct ip_key dst)
{
	uint64_t h = (dst.lo ^ dst.hi * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;

	return &c->slots[h >> 54];
}

// Lets go of all answers if anything changed since.
void route_cache_renew(struct route_cache *c, uint64_t policy_version, uint32_t neighbours_version);
