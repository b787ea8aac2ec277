// SPDX-License-Identifier: Apache-2.0
// PFC of the peer: MAC control frames that arrive, and the words of a driver that sees PFC before
// the frame is received (port_ops.pause), so that a PAUSE does not wait behind a full receive ring.
// Where a driver has such words, the words alone pause, and the frame that follows is only counted
// where it says nothing to a lossless class. What a PAUSE means is decided by pfc_rx_frame
// (qos/pfc.h). Called by the worker that owns the port.
#pragma once

#include "dataplane/switch_impl.h"

// A MAC control frame has arrived.
void peer_pause_on_frame(struct worker *w, struct port *p, const struct rte_mbuf *m);

// The port has a driver. Its words of today are old news.
void peer_pause_init(struct port *p);
// Obeys words that have changed since the last look.
void peer_pause_look(struct worker *w, struct port *p);
static inline void peer_pause_poll(struct worker *w, struct port *p)
{
	if (p->early_pause && p->up)
		peer_pause_look(w, p);
}
// The link went down or came up: words from before mean nothing any more.
void peer_pause_forget(struct port *p);
// Words of classes that a new policy makes lossless are old news too.
void peer_pause_new_policy(struct port *p);
