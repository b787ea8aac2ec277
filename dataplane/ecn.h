// SPDX-License-Identifier: Apache-2.0
// The worker's side of thresholds that control changes (switch_ecn.h). The port's owner alone
// writes and reads the marking of its queues, so every frame meets one whole curve. Called by the
// worker's loop.
#pragma once

#include "dataplane/switch_impl.h"

// All colours get the same curve. An order for another policy is left out: the policy that the
// worker has now brings thresholds of its own.
static inline void ecn_take_orders(const struct worker *w, struct port *p)
{
	const struct curve_order *o =
		atomic_load_explicit(&w->sw->want.curves[p->no], memory_order_acquire);
	uint64_t n;

	if (o == NULL)
		return;
	n = atomic_load_explicit(&o->n, memory_order_acquire);
	if (n == p->curves_seen)
		return;
	p->curves_seen = n;
	if (o->policy_version != w->policy_version)
		return;
	for (unsigned color = 0; color < N_COLORS; color++)
		p->marking[o->queue].wred.curve[color] = o->curve;
}
