// SPDX-License-Identifier: Apache-2.0
// What ports hand to control: frames, for the reasons that the policy of the port names
// (switch_punt.h), addresses that frames want, and loop probes of this switch that have come back.
// Each reason has a token bucket and a ring at each port (control-plane policing), so a flood on
// one port reaches control at the port's own rate and takes no room of another port. Answers to
// the switch's probes are a reason of their own: requests cannot push them out. Called by the
// worker that owns the port of arrival.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

// Whether frames of the port go to control for this reason.
static inline bool punts(const struct port *p, enum punt_reason reason)
{
	return p->pol->punts >> reason & 1;
}

// The reason of a frame to an address of the switch.
enum punt_reason punt_reason_of(const struct frame *f, const struct pkt_info *pkt);
// Whether control takes a frame to a group that the switch may be in: a frame for another reason
// than the named ones is one of its link.
bool punt_for_group(const struct port *p, const struct frame *f, enum punt_reason reason);
// Copies a frame for control. iface: the interface where it came in, the port or an SVI. False: it
// is beyond the port's rate.
bool punt_copy(struct worker *w, struct port *p, const struct frame *f, const struct pkt_info *pkt,
	       enum punt_reason reason, port_no_t iface);
// The same for a frame that ends with it.
void punt_frame(struct worker *w, struct port *p, const struct frame *f,
		const struct pkt_info *pkt, enum punt_reason reason, port_no_t iface);
// A frame to a link-local group, which the caller ends.
void punt_link_local(struct worker *w, struct port *p, const struct frame *f,
		     const struct pkt_info *pkt);
// Whether the port may give control another destination.
bool punt_may_request(struct worker *w, const struct port *p);
// Gives control an address that a frame from the port wants. False: the port's ring is full.
bool punt_request(const struct port *p, const struct neighbour_request *ask);
// A frame to the group of the Configuration Testing Protocol. True: it is a probe of this switch
// and ends here. Control knows whether the switch really sent it (switch_loop.c). Probes of other
// switches go on: a loop may lead through this one. vid: its VLAN, by its port or by its tunnel;
// negative: none.
bool punt_loop_probe(struct worker *w, const struct port *p, const struct frame *f,
		     const struct pkt_info *pkt, int vid);

// ---- frames that the switch itself makes, other than PFC: what control sends (ARP, neighbour
// discovery, loop probes) and notifications. They go through the queue of their class like all
// others, and are charged as if they had arrived on the port that they leave by. Called by the
// worker that owns the port.

// Sends a frame with these bytes and f's class, kind, ECN, length and offset. NULL: the bytes could
// not be made. False: the frame was dropped, and is counted as that.
bool send_own(struct worker *w, struct port *p, struct frame *f, const uint8_t *bytes);
// Sends what control wants sent by the worker's ports; only where some wait.
void send_for_control(struct worker *w);
