// SPDX-License-Identifier: Apache-2.0
// Counters and gauges with exactly one writing thread and any number of readers.
//
// Every number a worker shows to the control thread is one of these. The writer needs no atomic
// read-modify-write, because no other thread writes; the relaxed atomic only forbids torn values.
// Counters are never reset: a reader who wants "since" subtracts a baseline it took itself.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t ctr_t; // only grows
typedef _Atomic uint64_t gauge_t; // a current value or a watermark

static inline uint64_t ctr_get(const ctr_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void ctr_add(ctr_t *c, uint64_t n)
{
	atomic_store_explicit(c, ctr_get(c) + n, memory_order_relaxed);
}

static inline void ctr_inc(ctr_t *c)
{
	ctr_add(c, 1);
}

static inline uint64_t gauge_get(const gauge_t *g)
{
	return atomic_load_explicit(g, memory_order_relaxed);
}

static inline void gauge_set(gauge_t *g, uint64_t v)
{
	atomic_store_explicit(g, v, memory_order_relaxed);
}

// Other words that one thread writes and others read are members of an _Atomic type, and are
// accessed by these. The plain operators would cost a locked instruction.
#define relaxed_get(word) atomic_load_explicit(word, memory_order_relaxed)
#define relaxed_set(word, v) atomic_store_explicit(word, v, memory_order_relaxed)

// Raises a watermark.
static inline void gauge_max(gauge_t *g, uint64_t v)
{
	if (v > gauge_get(g))
		gauge_set(g, v);
}
