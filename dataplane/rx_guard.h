// SPDX-License-Identifier: Apache-2.0
// The receive-ring guard. The receive ring is part of the ingress path: when a worker is late and
// frames wait in the ring of a port, the port's senders are paused (p->rx_guarded, pause.h). Called
// by the worker that owns the port.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/storm.h"

void rx_guard_look(struct worker *w, struct port *p);
// Looks at the ring before it is emptied. Also while admission is held: frames that wait in the
// ring then pause their senders.
static inline void rx_guard_poll(struct worker *w, struct port *p)
{
	if (p->pol->rx_guard_on != 0) {
		rx_guard_look(w, p);
		return;
	}
	p->rx_guarded = false; // also what an earlier policy set
	storm_excuse_ends(p);
	gauge_set(&p->c.rx_guard, 0);
}
