// SPDX-License-Identifier: Apache-2.0
// All slots of one bucket of a flow map at once. Apart from flow_map.h, which a third of all files
// read: the compiler's header of vectors is longer than all of ours.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "dataplane/roce/flow_map.h"

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
