// SPDX-License-Identifier: Apache-2.0
// Hard zoning (forward/zone.h) on arrival: frames between hosts that may not exchange any are
// dropped before the switch looks for the way of the others, and no buffer is charged. The bridge
// learns their source addresses all the same (802.1Q 8.7). A frame is judged once, by the addresses
// with which it arrives; out of a tunnel it is judged once more. Only where these forbid it, its
// ports are looked up, because a host is known at its own port alone. Called by the worker that
// owns the port of arrival.
#pragma once

#include "dataplane/forward/zone.h"
#include "dataplane/switch_impl.h"

struct burst;

// Takes the forbidden frames out of a burst that was received. Not without w->zones.
void zones_burst(struct worker *w, struct burst *b);
// A frame that came out of a tunnel, from a peer. f->out_port: where its destination is. False: it
// was dropped.
bool zones_pass(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt,
		port_no_t peer);

static inline void zones_take(struct worker *w)
{
	w->zones = atomic_load_explicit(&w->sw->want.zones, memory_order_acquire);
}
