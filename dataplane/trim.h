// SPDX-License-Identifier: Apache-2.0
// Packet trimming (packet/trim.h) in the loop: a frame that found no room in its lossy queue is cut
// and goes to another queue of the same port. It is admitted there as any frame. It is trimmed once
// at most, because the checks of a policy refuse a trim queue that trims. Called by the worker that
// owns the port of departure.
//
// Trimmed frames of a port take no more of its line than their share; one beyond is dropped whole.
//
// A trimmed frame is no drop: it ends where it leaves, or where its new queue refuses it. All its
// numbers are those of the queue that it was for, as SAI counts them:
//
//   trimmed = trim_sent + trim_dropped + frames that wait
#pragma once

#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

// frame.trim_from: class and queue that a trimmed frame was for.
enum { TRIM_FROM_SHIFT = 3, TRIM_FROM_CLASS = (1 << TRIM_FROM_SHIFT) - 1 };

static_assert(N_CLASSES <= 1 << TRIM_FROM_SHIFT && N_QUEUES <= 8, "both fit into six bits");

static inline uint8_t trim_from_queue(const struct frame *f)
{
	return (uint8_t)(f->trim_from >> TRIM_FROM_SHIFT);
}

static inline bool trim_applies(const struct port *p, const struct frame *f)
{
	return unlikely(p->pol->trim.queues >> f->queue & 1);
}
// Cuts the frame, which trim_applies to, and gives it its new queue, class and cells. False: it is
// not trimmed, and nothing was done.
__attribute__((cold)) bool trim_requeue(struct worker *w, struct port *p, struct frame *f);

// Trimmed frames end: the driver has taken them, or one was dropped. The dropped one gets back the
// queue and the class that it was for.
void trim_count_sent(struct port *p, const struct frame *frames, unsigned n);
void trim_count_dropped(struct port *p, struct frame *f);
