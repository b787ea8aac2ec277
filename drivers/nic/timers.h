// SPDX-License-Identifier: Apache-2.0
// The next due time of each of n things: a binary heap over ids 0..n-1. All ids are always in the
// heap; UINT64_MAX means never. One owner. Only timers_init allocates.
#pragma once

#include <stdint.h>

struct timers {
	uint64_t *due_ns; // by id
	uint32_t *heap; // ids
	uint32_t *pos; // by id: its place in the heap
	uint32_t n;
};

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int timers_init(struct timers *t, uint32_t n);
void timers_fini(struct timers *t);

void timers_set(struct timers *t, uint32_t id, uint64_t due_ns);

// The earliest: its id and time. n must not be 0.
static inline uint32_t timers_first(const struct timers *t)
{
	return t->heap[0];
}

static inline uint64_t timers_next(const struct timers *t)
{
	return t->due_ns[t->heap[0]];
}

// The time of the one behind the earliest; UINT64_MAX: there is no other.
static inline uint64_t timers_second(const struct timers *t)
{
	uint64_t left = t->n > 1 ? t->due_ns[t->heap[1]] : UINT64_MAX;
	uint64_t right = t->n > 2 ? t->due_ns[t->heap[2]] : UINT64_MAX;

	return left < right ? left : right;
}
