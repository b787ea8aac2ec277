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

#include "dataplane/forward/l3.h"
#include "dataplane/forward/route_params.h"

struct policy;
struct rte_fib;
struct rte_fib6;
struct rte_hash;
struct rte_rcu_qsbr;

// ---- neighbours
//
// Which MAC address an IP address on a port's link has (RFC 826, RFC 4861), as the workers look it
// up. The states of resolution live in control; here is only what holds now.
//
// Writer: the control thread only. Readers: workers, without locks (rte_hash, lock-free readers;
// freed slots wait for QSBR). The answer is one word and travels in the hash's data pointer.
// `version` grows with every change and validates what workers remember. The hash is keyed with a
// seed that no neighbour knows, and chains what does not fit into a bucket.

enum {
	NEIGHBOURS_MAX = 16384,
	NEIGHBOURS_COMPACT = 256, // where the policy asks for small tables
};

// Where a frame goes, in one word, so that it is replaced at once:
//
//   63            16 15   12 11     0
//   | MAC, or group | state | port  |
//
// The port may be the number of an SVI.
enum adj_state {
	ADJ_NO_ROUTE,
	ADJ_SELF, // the switch itself
	ADJ_UNKNOWN, // its MAC address is not known
	ADJ_LINK, // on the port's link: to be looked up here
	ADJ_KNOWN, // on the link of a port
	ADJ_VLAN, // known, in the VLAN of an SVI
	ADJ_MANY, // one of a group, by flow
	ADJ_BLACKHOLE,
};
enum { ADJ_PORT_BITS = 12 };
static_assert((int)N_IFACES <= 1 << ADJ_PORT_BITS, "each number fits");

static inline uint64_t adj_of(enum adj_state state, port_no_t port, const uint8_t *mac)
{
	// Some destinations have no port: PORT_NONE.
	uint64_t word = (uint64_t)state << ADJ_PORT_BITS | (port & ((1u << ADJ_PORT_BITS) - 1));

	for (unsigned i = 0; mac != NULL && i < 6; i++)
		word |= (uint64_t)mac[i] << (56 - 8 * i);
	return word;
}

// Of a neighbour with this MAC address.
static inline uint64_t adj_known(port_no_t port, const uint8_t *mac)
{
	return adj_of(port < IFACE_SVI ? ADJ_KNOWN : ADJ_VLAN, port, mac);
}

static inline uint64_t adj_many(uint32_t group)
{
	return (uint64_t)group << 16 | ADJ_MANY << ADJ_PORT_BITS;
}

static inline enum adj_state adj_state(uint64_t adj)
{
	return adj >> ADJ_PORT_BITS & 0xf;
}

static inline port_no_t adj_port(uint64_t adj)
{
	return adj & ((1 << ADJ_PORT_BITS) - 1);
}

static inline uint32_t adj_group(uint64_t adj)
{
	return (uint32_t)(adj >> 16);
}

struct neighbour_key {
	struct ip_key ip;
	uint64_t port;
};

struct neighbours {
	struct rte_hash *hash;
	_Atomic uint32_t version;
};

struct ip_key ip_key_of(const struct policy_addr *a);

// name: unique in the process. seed: of the hash. 0 or -errno.
__attribute__((warn_unused_result)) int neighbours_init(struct neighbours *n, const char *name,
							uint32_t max, uint32_t seed,
							struct rte_rcu_qsbr *qsbr);
void neighbours_fini(struct neighbours *n);

// Control: mac NULL: the neighbour is not known any more. 0, or -ENOSPC.
int neighbours_set(struct neighbours *n, port_no_t port, const struct policy_addr *a,
		   const uint8_t *mac);
// What was set, changed at other places too: workers must look again.
void neighbours_changed(struct neighbours *n);

// Both: the adjacency, ADJ_KNOWN, ADJ_VLAN or ADJ_UNKNOWN.
uint64_t neighbours_lookup(const struct neighbours *n, port_no_t port, struct ip_key ip);

// ---- routes

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

// The adjacency of a destination; group: as the lookup said. ADJ_MANY: one of a group, by flow.
uint64_t route_resolve(const struct route_table *t, const struct neighbours *n, uint32_t group,
		       struct ip_key dst);

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

// Invalidates all answers if anything has changed since.
void route_cache_renew(struct route_cache *c, uint64_t policy_version, uint32_t neighbours_version);
