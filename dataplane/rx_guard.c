// SPDX-License-Identifier: Apache-2.0
#include "dataplane/rx_guard.h"

static void begin_rx_guard(struct worker *w, struct port *p, uint32_t depth)
{
	p->rx_guarded = true;
	p->guards_unsaid++;
	if (p->guard_said_ns != 0 && w->now_ns - p->guard_said_ns < SECOND_NS)
		return;
	worker_event(w, EVENT_RX_GUARD, p->no, CLASS_NONE, depth, p->guards_unsaid);
	p->guard_said_ns = w->now_ns;
	p->guards_unsaid = 0;
}

void rx_guard_look(struct worker *w, struct port *p)
{
	const struct policy_port *pp = p->pol;
	int32_t depth = p->ops->rx_depth(p->drv);

	if (depth < 0)
		return;
	gauge_set(&p->c.rx_depth, (uint64_t)depth);
	if (!p->rx_guarded && (uint32_t)depth > pp->rx_guard_on)
		begin_rx_guard(w, p, (uint32_t)depth);
	else if (p->rx_guarded && (uint32_t)depth < pp->rx_guard_off)
		p->rx_guarded = false;
	storm_excuse_ends(p);
	gauge_set(&p->c.rx_guard, p->rx_guarded);
}
