// SPDX-License-Identifier: Apache-2.0
// A frame that leaves by several ports has a record beside its copies. The ingress account is
// charged once for the frame, and the record counts the copies that still hold the charge.
//
// The record lies in a frame of the pool: the number of records has no other bound, and any worker
// may free a frame. A copy's descriptor has the record where other frames have their arrival time,
// so a frame that is alone costs nothing. Each record and each copy beyond the first takes a frame
// of the pool; each of those counts as one cell of the ingress pool that is not free.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission.h"

struct replica {
	_Atomic uint32_t left; // copies that have neither left nor been dropped
	uint32_t cells; // as charged on arrival
	uint64_t arrival_ns;
};

static const uint64_t FRAME_REPLICATED = 1ull << 63; // in frame.arrival_ns; no clock gets there

static inline bool frame_replicated(const struct frame *f)
{
	return (f->arrival_ns & FRAME_REPLICATED) != 0;
}

// n frames of the pool are taken for a frame's record and copies, or were not needed.
void replica_add(struct worker *w, unsigned n);
void replica_remove(struct worker *w, unsigned n);
// A copy of a frame, of no known flow. NULL: there is no memory.
struct rte_mbuf *replica_copy(const struct worker *w, const struct rte_mbuf *m);
// Gives a frame that was charged a record for n copies. False: there is no memory.
bool replica_make(struct worker *w, struct frame *f, unsigned n);
// n copies of one frame, of which f is one, have left or were dropped. The last copy releases the
// frame's cells.
void replicas_gone(struct worker *w, const struct frame *f, unsigned n);
static inline void replica_gone(struct worker *w, const struct frame *f)
{
	replicas_gone(w, f, 1);
}
uint64_t replica_arrival_of_record(const struct frame *f);

static inline uint64_t replica_arrival_ns(const struct frame *f)
{
	return unlikely(frame_replicated(f)) ? replica_arrival_of_record(f) : f->arrival_ns;
}

// Cells of n frames such as f, which left or were dropped after they were charged, are free. Copies
// of one frame are such frames where they leave by one port, to several peers of a tunnel.
static inline void replica_release(struct worker *w, const struct frame *f, uint32_t cells,
				   unsigned n)
{
	if (unlikely(frame_replicated(f)))
		replicas_gone(w, f, n);
	else
		admission_release(w, f->in_port, f->pg, cells);
}
