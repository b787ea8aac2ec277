// SPDX-License-Identifier: Apache-2.0
// Index of things by flow key: a hash table of 64-byte buckets, eight slots each, a key in one of
// two buckets. Whatever is indexed lies in an array whose elements begin with their key, so a
// lookup touches one bucket and one element. One thread reads and writes it: the worker that owns
// the shard. Memory is the caller's; nothing is allocated, an add can only fail when both buckets
// are full, and then it says so. Pure.
//
// Why not rte_hash: one writer that is also the only reader needs no locks, no versions and no
// copy of the key, which at a million keys halves the cache lines touched.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Addresses and queue pair of one direction.
//   IPv4: w[0] = source << 32 | destination (host order), w[1..3] = 0
//   IPv6: w[0..1] source, w[2..3] destination, as be64_get reads them
//   w[4]: queue pair | family (4 or 6) << 24 | kind << 32
struct flow_key {
	uint64_t w[5];
};

// What is kept under a key; the tables are apart, the kind only keeps their hashes apart.
enum flow_key_kind {
	KEY_FLOW, // queue pair: the receiver's, as in the data frame
	KEY_ADDRESSES, // queue pair 0: two addresses
	KEY_REVERSE, // queue pair: the sender's; addresses as in the data frame
	KEY_KNOWN, // queue pair: the receiver's; pairs told by CM or an operator
};

#define FLOW_NONE UINT32_MAX // no such element

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
	uint64_t seed; // so that nobody outside can choose keys of one bucket
	uint64_t spare; // bits of w[4] that are no key: an element keeps there what it likes
};

// Bytes of buckets for up to n keys.
size_t flow_map_bytes(uint32_t n);
// buckets: zeroed, on a cache line of their own. `seed` and `spare` are the caller's to set: they
// are not touched.
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

// A bit for each slot with the tag. No branch: where a key is cannot be foreseen.
static inline unsigned flow_bucket_slots(const struct flow_bucket *b, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i t = _mm_set1_epi32((int)tag);
	const __m128i *at = (const void *)b->tag;
	__m128i low = _mm_cmpeq_epi32(_mm_load_si128(at), t);
	__m128i high = _mm_cmpeq_epi32(_mm_load_si128(at + 1), t);
	__m128i both = _mm_packs_epi32(low, high);

	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(both, both)) & 0xff;
#else
	unsigned found = 0;

	for (unsigned i = 0; i < FLOW_BUCKET_SLOTS; i++)
		found |= (unsigned)(b->tag[i] == tag) << i;
	return found;
#endif
}

// The element that a find will nearly always compare first, so that it can be fetched ahead.
static inline uint32_t flow_map_guess(const struct flow_map *m, uint32_t hash)
{
	const struct flow_bucket *b = &m->buckets[hash & m->mask];
	unsigned found = flow_bucket_slots(b, hash);

	return found != 0 ? b->index[__builtin_ctz(found)] : FLOW_NONE;
}

// Both halves of the product of two words: each bit of either moves half of the result.
static inline uint64_t flow_mixed(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

// spare: bits of w[4] that do not count.
static inline bool flow_key_alike(const struct flow_key *a, const struct flow_key *b,
				  uint64_t spare)
{
	return ((a->w[0] ^ b->w[0]) | (a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) |
		(a->w[3] ^ b->w[3]) | ((a->w[4] ^ b->w[4]) & ~spare)) == 0;
}

static inline bool flow_key_same(const struct flow_key *a, const struct flow_key *b)
{
	return flow_key_alike(a, b, 0);
}

static inline struct flow_key flow_key_v4(uint32_t src, uint32_t dst, uint32_t qp,
					  enum flow_key_kind kind)
{
	return (struct flow_key){{(uint64_t)src << 32 | dst, 0, 0, 0,
				  qp | 4ull << 24 | (uint64_t)kind << 32}};
}

// From 16-byte addresses in network order (IPv4 in the first four bytes). v6: family.
struct flow_key flow_key_of(bool v6, const uint8_t src[16], const uint8_t dst[16], uint32_t qp,
			    enum flow_key_kind kind);
// And back. Returns the family, 4 or 6.
unsigned flow_key_addresses(const struct flow_key *k, uint8_t src[16], uint8_t dst[16]);

static inline uint32_t flow_key_qp(const struct flow_key *k)
{
	return (uint32_t)k->w[4] & 0xffffff;
}

static inline bool flow_key_is_v6(const struct flow_key *k)
{
	return (k->w[4] >> 24 & 0xff) == 6;
}

// Never 0.
static inline uint32_t flow_hash_of(const struct flow_map *m, const struct flow_key *k)
{
	const uint64_t odd1 = 0x9e3779b97f4a7c15, odd2 = 0xd1b54a32d192ed03;
	uint64_t seed = m->seed, last = k->w[4] & ~m->spare;
	uint64_t h = flow_mixed(k->w[0] ^ seed ^ odd2, last ^ odd1);
	uint32_t hash;

	if (__builtin_expect(flow_key_is_v6(k), false))
		h ^= flow_mixed(k->w[1] ^ seed, k->w[2] ^ odd1) +
		     flow_mixed(k->w[3] ^ seed, h ^ odd2);
	hash = (uint32_t)(flow_mixed(h ^ seed, odd2) >> 16);
	return hash != 0 ? hash : 1;
}

// The same addresses under another queue pair and kind.
static inline struct flow_key flow_key_with(struct flow_key k, uint32_t qp, enum flow_key_kind kind)
{
	k.w[4] = qp | (k.w[4] & 0xff000000) | (uint64_t)kind << 32;
	return k;
}

// Addresses swapped: the key of the other direction.
static inline struct flow_key flow_key_back(struct flow_key k, uint32_t qp, enum flow_key_kind kind)
{
	struct flow_key b = {{k.w[2], k.w[3], k.w[0], k.w[1], 0}};

	if (!flow_key_is_v6(&k))
		b = (struct flow_key){{k.w[0] << 32 | k.w[0] >> 32, 0, 0, 0, 0}};
	b.w[4] = qp | (k.w[4] & 0xff000000) | (uint64_t)kind << 32;
	return b;
}
