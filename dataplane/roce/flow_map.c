// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/flow_map.h"

#include "dataplane/base/bits.h"
#include "dataplane/roce/flow_bucket.h"

// Half full at most: a bucket then holds its eight keys with few exceptions, so that nearly every
// key is in the first of its two buckets.
enum { KEYS_PER_BUCKET = FLOW_BUCKET_SLOTS / 2 };

static uint32_t n_buckets(uint32_t n)
{
	uint32_t b = 2;

	while (b < (n + KEYS_PER_BUCKET - 1) / KEYS_PER_BUCKET)
		b *= 2;
	return b;
}

size_t flow_map_bytes(uint32_t n)
{
	static_assert(sizeof(struct flow_bucket) == 64, "one cache line");
	return n_buckets(n) * sizeof(struct flow_bucket);
}

void flow_map_init(struct flow_map *m, void *buckets, uint32_t n, const void *elements,
		   uint32_t stride)
{
	m->buckets = buckets;
	m->mask = n_buckets(n) - 1;
	m->n = 0;
	m->elements = elements;
	m->stride = stride;
}

// The other bucket of a hash. What it is added to is odd, so it is never the first one, and the
// same again leads back.
static inline uint32_t other(const struct flow_map *m, uint32_t hash, uint32_t bucket)
{
	return (bucket ^ (hash * 0x85ebca6bu >> 8 | 1)) & m->mask;
}

static inline const struct flow_key *key_at_index(const struct flow_map *m, uint32_t index)
{
	return (const void *)(m->elements + (size_t)index * m->stride);
}

static uint32_t find_in(const struct flow_map *m, const struct flow_bucket *b,
			const struct flow_key *k, uint32_t hash)
{
	for (unsigned found = flow_bucket_slots(b, hash); found != 0; found &= found - 1) {
		uint32_t index = b->index[__builtin_ctz(found)];

		if (flow_key_alike(key_at_index(m, index), k, m->spare))
			return index;
	}
	return FLOW_NONE;
}

uint32_t flow_map_find(const struct flow_map *m, const struct flow_key *k, uint32_t hash)
{
	uint32_t bucket = hash & m->mask;
	uint32_t index = find_in(m, &m->buckets[bucket], k, hash);

	if (index != FLOW_NONE)
		return index;
	return find_in(m, &m->buckets[other(m, hash, bucket)], k, hash);
}

static bool put_in_bucket(struct flow_bucket *b, uint32_t hash, uint32_t index)
{
	unsigned free = flow_bucket_slots(b, 0);
	unsigned at;

	if (free == 0)
		return false;
	at = (unsigned)__builtin_ctz(free);
	b->tag[at] = hash;
	b->index[at] = index;
	return true;
}

// Moves one key of a full bucket to its other one. False: none has room there.
static bool make_room_in_bucket(struct flow_map *m, uint32_t bucket)
{
	struct flow_bucket *b = &m->buckets[bucket];

	for (unsigned i = 0; i < FLOW_BUCKET_SLOTS; i++) {
		struct flow_bucket *to = &m->buckets[other(m, b->tag[i], bucket)];

		if (!put_in_bucket(to, b->tag[i], b->index[i]))
			continue;
		b->tag[i] = 0;
		return true;
	}
	return false;
}

bool flow_map_add(struct flow_map *m, uint32_t hash, uint32_t index)
{
	uint32_t first = hash & m->mask, second = other(m, hash, first);

	if (put_in_bucket(&m->buckets[first], hash, index) ||
	    put_in_bucket(&m->buckets[second], hash, index)) {
		m->n++;
		return true;
	}
	if (make_room_in_bucket(m, first))
		put_in_bucket(&m->buckets[first], hash, index);
	else if (make_room_in_bucket(m, second))
		put_in_bucket(&m->buckets[second], hash, index);
	else
		return false;
	m->n++;
	return true;
}

void flow_map_remove(struct flow_map *m, uint32_t hash, uint32_t index)
{
	uint32_t bucket = hash & m->mask;

	for (unsigned turn = 0; turn < 2; turn++, bucket = other(m, hash, bucket)) {
		struct flow_bucket *b = &m->buckets[bucket];

		for_each_bit (at, flow_bucket_slots(b, hash)) {
			if (b->index[at] != index)
				continue;
			b->tag[at] = 0;
			m->n--;
			return;
		}
	}
}
