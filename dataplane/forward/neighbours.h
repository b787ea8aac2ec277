// SPDX-License-Identifier: Apache-2.0
// Which MAC address an IP address on a port's link has (RFC 826, RFC 4861), as the workers look it
// up. The states of resolution live in control; here is only what holds now.
//
// Writer: the control thread only. Readers: workers, without locks (rte_hash, lock-free readers;
// freed slots wait for QSBR). The answer is one word and travels in the hash's data pointer.
// `version` grows with every change and validates what workers remember. The hash is keyed with a
// seed that no neighbour knows, and chains what does not fit into a bucket.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/l3.h"
#include "dataplane/policy.h"

struct rte_hash;
struct rte_rcu_qsbr;

enum {
	NEIGHBOURS_MAX = 16384,
	NEIGHBOURS_COMPACT = 256, // where the policy asks for small tables
};

// Where a frame goes, in one word, so that it is replaced at once:
//
//   63            16 15      8 7     0
//   | MAC, or group | state   | port |
enum adj_state {
	ADJ_NO_ROUTE,
	ADJ_SELF, // the switch itself
	ADJ_LINK, // on the port's link: to be looked up here
	ADJ_UNKNOWN, // its MAC address is not known
	ADJ_KNOWN,
	ADJ_MANY, // one of a group, by flow
};

static inline uint64_t adj_of(enum adj_state state, uint8_t port, const uint8_t *mac)
{
	uint64_t word = (uint64_t)state << 8 | port;

	for (unsigned i = 0; mac != NULL && i < 6; i++)
		word |= (uint64_t)mac[i] << (56 - 8 * i);
	return word;
}

static inline uint64_t adj_many(uint32_t group)
{
	return (uint64_t)group << 16 | ADJ_MANY << 8;
}

static inline enum adj_state adj_state(uint64_t adj)
{
	return adj >> 8 & 0xff;
}

static inline uint8_t adj_port(uint64_t adj)
{
	return (uint8_t)adj;
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
int neighbours_set(struct neighbours *n, uint8_t port, const struct policy_addr *a,
		   const uint8_t *mac);
// What was set, changed at other places too: workers must look again.
void neighbours_changed(struct neighbours *n);

// Both: the adjacency, ADJ_KNOWN or ADJ_UNKNOWN.
uint64_t neighbours_lookup(const struct neighbours *n, uint8_t port, struct ip_key ip);
