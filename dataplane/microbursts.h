// SPDX-License-Identifier: Apache-2.0
// Microbursts (qos/microburst.h), the worker's side: at the end of each window a worker takes the
// watermarks of its queues and groups, and leaves a record for control of each part that was not
// empty. The watermarks are raised by each frame anyway (fate_queued, pg_charge), so a frame costs
// nothing more, and a peak is exact to the frame. A window costs one look at each queue and group
// of the worker, and nothing if no frame has moved and nothing waits.
//
// What `show watermarks` must know beyond the window is kept in struct microburst_marks.
//
// A worker that is late for longer than a window makes one record of several windows. `clear
// watermarks` in a window hides what came before it in this window. The worker's loop calls this.
//
//   marks     writer: the worker that owns the port. Reader: control (switch_watermark), which
//             reads the watermark of the window first (acquire; the worker releases it), so that a
//             peak that has left the window is in the marks.
#pragma once

#include "dataplane/switch_impl.h"

// A window is over.
void microbursts_close(struct worker *w);
// The worker has taken another policy.
void microbursts_new_policy(struct worker *w);
// `clear watermarks`.
void microbursts_forget(struct worker *w);

static inline void microbursts_tick(struct worker *w)
{
	if (w->now_ns >= w->microbursts->end_ns)
		microbursts_close(w);
}

// When the window must be closed; a window without a frame may be closed late.
static inline uint64_t microbursts_wake(const struct worker *w)
{
	const struct worker_microbursts *m = w->microbursts;
	bool moved = w->busy || ctr_get(&w->c.busy_loops) != m->busy_seen;

	return m->holds || moved ? m->end_ns : UINT64_MAX;
}
