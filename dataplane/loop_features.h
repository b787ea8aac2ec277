// SPDX-License-Identifier: Apache-2.0
// What features do in a worker's loop, beside the frames (fate.h): calls at fixed points of the
// loop, and the time at which the loop must look again. One line a feature and point; a feature
// that is off costs one test. Called by the worker's loop only.
#pragma once

#include "dataplane/ecn.h"
#include "dataplane/elephants.h"
#include "dataplane/flows.h"
#include "dataplane/impair.h"
#include "dataplane/microbursts.h"
#include "dataplane/notify.h"
#include "dataplane/peer_pause.h"
#include "dataplane/punt.h"
#include "dataplane/routing.h"
#include "dataplane/storm.h"
#include "dataplane/zones.h"

// Before the ports receive.
static inline void features_before_ingress(struct worker *w)
{
	if (w->flows != NULL)
		flows_tick(w);
	if (unlikely(w->microbursts != NULL))
		microbursts_tick(w);
	// Before what arrives now: frames of a flow stay in order.
	if (w->l3 != NULL && w->l3->waiting.n != 0)
		waiting_step(w);
}

// Between what enters the queues and what leaves them.
static inline void features_before_egress(struct worker *w)
{
	if (unlikely(ctr_get(&w->sends_put) != ctr_get(&w->sends_taken)) && !w->hold)
		send_for_control(w);
	notify_run(w);
}

// When the port, or the worker, must be looked at again.
static inline uint64_t features_port_wake(struct worker *w, struct port *p)
{
	return min_u64(min_u64(storm_wake(w, p), notify_wake(p)), impair_wake(w, p));
}
static inline uint64_t features_wake(const struct worker *w)
{
	uint64_t wake = min_u64(w->l3 != NULL ? waiting_wake(&w->l3->waiting) : UINT64_MAX,
				w->flows != NULL ? elephants_wake(w) : UINT64_MAX);

	return w->microbursts != NULL ? min_u64(wake, microbursts_wake(w)) : wake;
}

// Control wants something. was_held: admission was stopped before.
static inline void features_take_requests(struct worker *w)
{
	w->tap = atomic_load_explicit(&w->sw->want.tap, memory_order_acquire);
	zones_take(w);
}
static inline void features_take_port_requests(struct worker *w, struct port *p, bool was_held)
{
	ecn_take_orders(w, p);
	storm_take_orders(w, p);
	impair_take(w, p);
	if (was_held && !w->hold)
		storm_after_hold(w, p);
}

// `clear watermarks`: those of frames are cleared.
static inline void features_watermarks_cleared(struct worker *w)
{
	microbursts_forget(w);
}

// The switch ends: what workers hold outside of queues.
static inline void features_end(struct worker *w)
{
	waiting_end(w);
	impair_end(w);
}

// The link of a port came up or went down, or the worker has taken a new policy.
static inline void features_link_changed(struct worker *w, struct port *p)
{
	impair_link_changed(w, p);
	storm_recompute(w, p);
}
static inline void features_new_policy(struct worker *w)
{
	for (unsigned i = 0; i < w->n_owned; i++)
		storm_recompute(w, worker_port(w, w->owned[i]));
	routing_new_policy(w);
	notify_new_policy(w);
	microbursts_new_policy(w);
}
