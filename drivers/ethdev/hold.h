// SPDX-License-Identifier: Apache-2.0
// Keeps a thread of DPDK that unmaps a peer's rings away from the worker that reads them.
//
// When a peer leaves, the drivers net_memif and net_vhost unmap its memory in threads of their own.
// Not all of their functions look whether a worker is inside, and such a worker faults. So the side
// that knows of the peer's end holds the port first:
//
//   worker:  hold_begin   call the driver   hold_end         a held port: the call is left out
//   other:   hold_set  (waits until the worker is outside)   the driver unmaps   hold_clear
//
// The owner worker begins and ends calls. One other thread sets and clears.
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <rte_branch_prediction.h>

struct hold {
	_Atomic bool held; // written by the other thread
	_Atomic bool busy; // written by the owner worker
};

// False: the worker must not call the driver. The fence orders `busy` before `held`, as hold_set()
// orders `held` before `busy`: one of the two threads sees the other.
static inline bool hold_begin(struct hold *h)
{
	atomic_store_explicit(&h->busy, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (likely(!atomic_load_explicit(&h->held, memory_order_acquire)))
		return true;
	atomic_store_explicit(&h->busy, false, memory_order_release);
	return false;
}

static inline void hold_end(struct hold *h)
{
	atomic_store_explicit(&h->busy, false, memory_order_release);
}

static inline void hold_set(struct hold *h)
{
	atomic_store_explicit(&h->held, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	while (atomic_load_explicit(&h->busy, memory_order_acquire))
		sched_yield();
}

static inline void hold_clear(struct hold *h)
{
	atomic_store_explicit(&h->held, false, memory_order_release);
}
