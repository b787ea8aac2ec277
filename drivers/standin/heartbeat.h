// SPDX-License-Identifier: Apache-2.0
// A worker's sign of life, in memory that the stand-in (standin.h) shares. The worker writes one
// word each loop, and the other words after a loop that came late. The stand-in and control read
// all of them. Each word has one writer. `beats` is released: whoever sees it sees the words of the
// loops before. Inline, so that the loop pays one store and one compare.
#pragma once

#include <stdint.h>

#include "dataplane/counter.h"

struct __attribute__((aligned(64))) heartbeat {
	gauge_t beats; // loops begun; 0: the worker has not begun
	ctr_t late; // gaps of `late_ns` or more: the stand-in may have paused the peers
	ctr_t stalls, stalled_ns; // gaps of `stall_ns` or more, and their sum
	gauge_t last_stall_ns; // the latest of those
	ctr_t waited_ns; // real time in which the worker waited for a frame
};

// Written by control, read by the workers. Real time; UINT64_MAX: none counts.
struct __attribute__((aligned(64))) heartbeat_limits {
	gauge_t late_ns, stall_ns;
};

static inline void heartbeat_begin(struct heartbeat *h)
{
	atomic_store_explicit(&h->beats, gauge_get(&h->beats) + 1, memory_order_release);
}

// gap_ns: from the beginning of the loop before to the beginning of this one.
static inline void heartbeat_gap(struct heartbeat *h, const struct heartbeat_limits *l,
				 uint64_t gap_ns)
{
	if (__builtin_expect(gap_ns < gauge_get(&l->late_ns) && gap_ns < gauge_get(&l->stall_ns),
			     1))
		return;
	if (gap_ns >= gauge_get(&l->late_ns))
		ctr_inc(&h->late);
	if (gap_ns < gauge_get(&l->stall_ns))
		return;
	gauge_set(&h->last_stall_ns, gap_ns);
	ctr_add(&h->stalled_ns, gap_ns);
	ctr_inc(&h->stalls);
}
