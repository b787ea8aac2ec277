// SPDX-License-Identifier: Apache-2.0
// The egress half of the loop: lossy admission (qos/egress.h), WRED (qos/wred.h), the queue; then
// schedule (qos/sched.h), mark, transmit, release. Called by the worker that owns the port of
// departure.
#pragma once

#include "dataplane/switch_impl.h"

// Queues frames, or drops those that may not enter. The frames are spent.
void egress_enqueue(struct worker *w, const struct run *r);
// Serves a port until it is idle, paused, shaped or full. Returns when it next has something to do.
uint64_t egress_serve(struct worker *w, struct port *p);
// Queues, as a bitmap, that no frame may leave now, or that are in a storm. Ends pauses that have
// run out.
uint8_t egress_blocked(struct worker *w, struct port *p);
// A frame that is out of its queue is dropped; or its cells are free, and it stays a queued frame.
void egress_drop(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason);
void egress_uncharge(struct worker *w, struct port *p, struct frame *f);
// A frame that found no room in its queue becomes *to: the same frame for another queue, with fewer
// cells. The cells that it gives up are free on the side of arrival.
void egress_recharge(struct worker *w, struct port *p, struct frame *f, const struct frame *to);
// Drops all that waits for a port.
void egress_flush(struct worker *w, struct port *p, enum drop_reason reason);
