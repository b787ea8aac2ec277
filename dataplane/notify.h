// SPDX-License-Identifier: Apache-2.0
// Notifications by the switch (roce/ipcc.h): who feeds a queue, when the queue is looked at, whose
// sender gets a CNP. The owner of the queue looks and chooses. The owner of the flow, to whom its
// pair, its gap and the port that the CNP leaves by belong, decides again and sends.
//
// What a queue's owner reads of another worker's flow (pair, last CNP, learnt cut) is one word
// each, perhaps a moment old. A note that it sends names the generation of the entry, and the
// flow's owner ignores a note for another generation.
#pragma once

#include "dataplane/switch_impl.h"

// The frames of a run have entered a queue that sends notifications.
void notify_fed(struct worker *w, const struct port *p, const struct run *r);
// Sends the CNPs that other workers ask for, and looks at the queues of the ports that are due;
// between what enters the queues and what leaves them.
void notify_run_now(struct worker *w);
static inline void notify_run(struct worker *w)
{
	if (unlikely(w->ipcc))
		notify_run_now(w);
}
// When a loop must look at the port because of a notification.
uint64_t notify_wake_ns(const struct port *p);
static inline uint64_t notify_wake(const struct port *p)
{
	return p->ipcc_queues == 0 ? UINT64_MAX : notify_wake_ns(p);
}
void notify_new_policy(struct worker *w);
// A CNP for the frame's flow has just been sent: the frame is not to be marked as well.
bool notify_spares_flow(const struct worker *w, const struct frame *f);
static inline bool notify_spares(const struct worker *w, const struct frame *f)
{
	return w->flows != NULL && notify_spares_flow(w, f);
}
