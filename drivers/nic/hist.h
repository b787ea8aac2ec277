// SPDX-License-Identifier: Apache-2.0
// Histogram of times with 64 buckets per power of two: a quantile read from it is at most 1.6 %
// too high. Pure.
#pragma once

#include <stdint.h>

enum { HIST_SUB_LOG2 = 6, HIST_BUCKETS = (64 - HIST_SUB_LOG2 + 1) << HIST_SUB_LOG2 };

struct hist {
	uint64_t n, max_ns;
	uint64_t bucket[HIST_BUCKETS];
};

static inline unsigned hist_bucket(uint64_t ns)
{
	unsigned shift;

	if (ns >> HIST_SUB_LOG2 == 0)
		return (unsigned)ns;
	shift = 63 - HIST_SUB_LOG2 - (unsigned)__builtin_clzll(ns);
	return (shift << HIST_SUB_LOG2) + (unsigned)(ns >> shift);
}

// Largest time of a bucket.
static inline uint64_t hist_bucket_max(unsigned b)
{
	unsigned shift = b >> HIST_SUB_LOG2;

	if (shift <= 1)
		return b;
	shift--;
	return (((uint64_t)(b - (shift << HIST_SUB_LOG2)) + 1) << shift) - 1;
}

static inline void hist_add(struct hist *h, uint64_t ns)
{
	h->n++;
	h->bucket[hist_bucket(ns)]++;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

// The time that `permille` thousandths of all samples do not exceed; 0 without samples.
static inline uint64_t hist_quantile(const struct hist *h, unsigned permille)
{
	uint64_t rank = (h->n * permille + 999) / 1000, seen = 0;

	if (h->n == 0)
		return 0;
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen >= rank && seen != 0)
			return hist_bucket_max(b) < h->max_ns ? hist_bucket_max(b) : h->max_ns;
	}
	return h->max_ns;
}
