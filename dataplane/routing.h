// SPDX-License-Identifier: Apache-2.0
// The forwarding of routed ports: longest prefix, ECMP, next hop, TTL, MAC addresses
// (forward/route.h). ARP and neighbour discovery go to control (punt.h). Called by the worker that
// owns the port of arrival; the frames go on as bridged ones do.
//
// ICMP, so that ping and traceroute see the router, and hosts find the MTU of their path: echo
// replies for its own addresses (RFC 792, RFC 4443 4.2), Time Exceeded (RFC 1812 5.3.1, RFC 4443
// 3.3), Fragmentation Needed (RFC 1191 4) and Packet Too Big (RFC 4443 3.2). The router fragments
// nothing, so an IPv4 frame without DF has the same answer. The frame itself turns round: it leaves
// by the port where it came in, to the station that sent it, in the class in which it came. So an
// answer takes no memory, and is buffered as any frame is.
//
// Frames whose next hop is being requested wait until its MAC address is known, so that the first
// frame to a station is not lost. They are not charged to the buffer, so their number is small, and
// each port has a share. A frame that has waited too long is dropped, and so are all when the
// policy changes.
#pragma once

#include "dataplane/ingress.h"

// Forwards the frames of a burst. Frames that know their way move together, in order: b->n_out.
void routing_burst(struct worker *w, struct port *p, struct burst *b);
// Forwards a frame of a bridged port that is addressed to the SVI of its VLAN, whose interface
// number it gives. True: the frame knows its way.
bool routing_of_svi(struct worker *w, struct port *p, struct burst *b, struct frame *f,
		    const struct pkt_info *pkt, port_no_t iface);
// Finds the way of a frame that the switch has put into a tunnel: pkt is of the outer header, whose
// MAC addresses are set, and TTL or hop limit go down by one. Any port of arrival. False: it was
// dropped.
bool routing_send(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt);
// The worker has taken another policy. What routing needs was made before it was published.
static inline void routing_new_policy(struct worker *w)
{
	w->l3 = atomic_load_explicit(&w->l3_made, memory_order_acquire);
}
// Sends on the waiting frames whose next hop is known by now, and drops those that have waited too
// long.
void waiting_step(struct worker *w);
// Drops all of them; the worker has stopped.
void waiting_end(struct worker *w);

// When the oldest one waits no longer.
static inline uint64_t waiting_wake(const struct waiting_room *r)
{
	return r->n == 0 ? UINT64_MAX : r->all[0].end_ns;
}
