// SPDX-License-Identifier: Apache-2.0
// A hash table from flow keys to indices: 64-byte buckets of eight slots, and each key in one of
// two buckets. The elements are in an array of the caller and begin with their key, so a lookup
// touches one bucket and one element. One thread reads and writes it: the worker that owns the
// flows. Memory is the caller's. An add fails when both buckets are full. Pure.
//
// Why not rte_hash: one writer that is also the only reader needs no locks, no versions and no
// copy of the key, which at a million keys halves the cache lines touched.
#pragma once

#include <stddef.h>

#include "dataplane/roce/flow_key.h"

enum { FLOW_BUCKET_SLOTS = 8 };

struct flow_bucket {
	uint32_t tag[FLOW_BUCKET_SLOTS]; // hash; 0: free
	uint32_t index[FLOW_BUCKET_SLOTS];
};

struct flow_map {
	struct flow_bucket *buckets; // n_buckets, a power of two, 64-byte aligned
	uint32_t mask;
	uint32_t n; // keys in it
	uint32_t stride; // of the elements
	const uint8_t *elements; // each begins with its struct flow_key
	uint64_t seed; // keeps an attacker from choosing keys of one bucket
	uint64_t spare; // bits of w[4] that belong to the element, not to the key
};

// Bytes of buckets for up to n keys.
size_t flow_map_bytes(uint32_t n);
// buckets: zeroed, on a cache line. The caller sets `seed` and `spare`.
void flow_map_init(struct flow_map *m, void *buckets, uint32_t n, const void *elements,
		   uint32_t stride);

// The element's index, or FLOW_NONE.
uint32_t flow_map_find(const struct flow_map *m, const struct flow_key *k, uint32_t hash);
// The key must not be there; element `index` must hold it. False: no room.
bool flow_map_add(struct flow_map *m, uint32_t hash, uint32_t index);
void flow_map_remove(struct flow_map *m, uint32_t hash, uint32_t index);
// The line that a find will read first.
static inline void flow_map_prefetch(const struct flow_map *m, uint32_t hash)
{
	__builtin_prefetch(&m->buckets[hash & m->mask]);
}

// Both halves of the product of two words: each bit of either moves half of the result.
static inline uint64_t flow_mixed(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

// Never 0.
static inline uint32_t flow_hash_of(const struct flow_map *m, const struct flow_key *k)
{
	const uint64_t odd1 = 0x9e3779b97f4a7c15, odd2 = 0xd1b54a32d192ed03;
	uint64_t seed = m->seed, last = k->w[4] & ~m->spare;
	uint64_t h = flow_mixed(k->w[0] ^ seed ^ odd2, last ^ odd1);
	uint32_t hash;

	if (__builtin_expect(flow_key_is_wide(k), false))
		h ^= flow_mixed(k->w[1] ^ seed, k->w[2] ^ odd1) +
		     flow_mixed(k->w[3] ^ seed, h ^ odd2);
	hash = (uint32_t)(flow_mixed(h ^ seed, odd2) >> 16);
	return hash != 0 ? hash : 1;
}
