// SPDX-License-Identifier: Apache-2.0
// What ports hand to control. A routed port: ARP, neighbour discovery, and addresses that frames
// want. Each such port has a token bucket and a ring for each kind (control-plane policing), so a
// flood on one port reaches control at the port's own rate and takes no room of another port.
// Answers have a bucket and a ring of their own: requests cannot push out the answers to the
// switch's probes. Any port: loop probes of this switch that have come back. Called by the worker
// that owns the port of arrival.
#pragma once

#include "dataplane/switch_impl.h"

// Hands ARP or neighbour discovery of a routed port to control. The frame has ended.
void punt_frame(struct worker *w, struct port *p, const struct frame *f,
		const struct pkt_info *pkt);
// Whether the port may give control another destination.
bool punt_may_request(struct worker *w, const struct port *p);
// Gives control an address that a frame from the port wants. False: the port's ring is full.
bool punt_request(struct worker *w, const struct port *p, const struct neighbour_request *ask);
// A frame to the group of the Configuration Testing Protocol. True: it is a probe of this switch
// and ends here. Control knows whether the switch really sent it (switch_loop.c). Probes of other
// switches go on: a loop may lead through this one.
bool punt_loop_probe(struct worker *w, const struct port *p, const struct frame *f,
		     const struct pkt_info *pkt);

// ---- frames that the switch itself makes, other than PFC: what control sends (ARP, neighbour
// discovery, loop probes) and notifications. They go through the queue of their class like all
// others, and are charged as if they had arrived on the port that they leave by. Called by the
// worker that owns the port.

// Sends a frame with these bytes and f's class, kind, ECN, length and offset. NULL: the bytes could
// not be made. False: the frame was dropped, and is counted as that.
bool send_own(struct worker *w, struct port *p, struct frame *f, const uint8_t *bytes);
// Sends what control wants sent by the worker's ports; only where the policy says control_sends.
void send_for_control(struct worker *w);
