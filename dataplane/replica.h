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

#include "dataplane/fifo.h"

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
