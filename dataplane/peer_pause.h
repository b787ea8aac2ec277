// SPDX-License-Identifier: Apache-2.0
// PFC of the peer: MAC control frames that arrive, and the early records of a driver that sees PFC
// before the frame is received (port_ops.pause). So a PAUSE does not wait behind a full receive
// ring. On the port of such a driver only the early records pause. The frame that follows is only
// counted, if its classes are empty or lossy. What a PAUSE means is decided by pfc_rx_frame
// (qos/pfc.h). Called by the worker that owns the port.
#pragma once

#include "dataplane/switch_impl.h"

// A MAC control frame has arrived.
void peer_pause_on_frame(struct worker *w, struct port *p, const struct rte_mbuf *m);

// The port has a driver. Its present records are from before, and are ignored.
void peer_pause_init(struct port *p);
// Obeys the records that have changed since the last look.
void peer_pause_look(struct worker *w, struct port *p);
static inline void peer_pause_poll(struct worker *w, struct port *p)
{
	if (p->early_pause && p->up)
		peer_pause_look(w, p);
}
// The link went down or came up: records from before are ignored.
void peer_pause_forget(struct port *p);
// A new policy: the present records of classes that it makes lossless are ignored.
void peer_pause_new_policy(struct port *p);
