// SPDX-License-Identifier: Apache-2.0
// The forwarding of routed ports: longest prefix, ECMP, next hop, TTL, MAC addresses
// (forward/route.h). ARP and neighbour discovery go to control (punt.h). Called by the worker that
// owns the port of arrival; the frames go on as bridged ones do.
#pragma once

#include "dataplane/ingress.h"

// Forwards the frames of a burst. Frames that know their way move together, in order: b->n_out.
void routing_burst(struct worker *w, struct port *p, struct burst *b);
// Forwards a frame that waited (waiting.h). ROUTE_ENDED: it was dropped.
enum route_outcome { ROUTE_GOES, ROUTE_ENDED, ROUTE_WAITS };
enum route_outcome routing_again(struct worker *w, struct frame *f, const struct pkt_info *pkt);
