// SPDX-License-Identifier: Apache-2.0
// The forwarding of bridged ports: VLAN, learning, the address table, and the changes that a frame
// needs to leave by its port: tag, PCP and DSCP. A source address that the table does not know is
// reported to control (switch_learn.c), or the frame is refused. A frame whose destination is a
// group or is not known is flooded, or dropped: beyond the port's rate of storm control, or in a
// class that is not flooded. A frame to a group that the policy names goes to the group's ports, in
// any class. Called by the worker that owns the port of arrival.
#pragma once

#include "dataplane/ingress.h"

// Whether the frame may leave by a port of the switch, or to a peer.
bool bridging_may_leave(const struct worker *w, unsigned port, const struct frame *f, unsigned vid);

// Forwards the frames of a burst. Frames that know their way move together, in order: b->n_out.
void bridging_burst(struct worker *w, struct port *p, struct burst *b);

// Learns the source of a frame that arrived and will not be forwarded (802.1Q 8.7). N_DROP_REASONS,
// or the reason for which the bridge itself refuses the frame.
enum drop_reason bridging_learn(struct worker *w, struct port *p, const struct frame *f,
				const struct pkt_info *pkt);

// A frame of the router that goes into a VLAN: its MAC addresses are those of the next hop and of
// the SVI, and it has no tag. It leaves by the port of its address, or is flooded where its class
// may be. pkt: without tags. b: the burst that the frame belongs to; NULL: none. dst: its
// destination and the VLAN, as fdb_key. True: the frame knows its way.
bool bridging_from_router(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			  const struct pkt_info *pkt, uint64_t dst);
// The same of an answer, which leaves by the port where its question came in.
bool bridging_turned_round(struct worker *w, struct port *p, struct frame *f,
			   const struct pkt_info *pkt, unsigned vid);
// Forwards a frame that came out of a tunnel: its source is learnt at the peer. True: it knows its
// way. Else it has ended, or was flooded to ports; frames of b that came before were admitted.
bool bridging_from_tunnel(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			  const struct pkt_info *pkt, uint16_t vid, port_no_t peer);
