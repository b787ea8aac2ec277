// SPDX-License-Identifier: Apache-2.0
// The switch as a VXLAN tunnel endpoint (RFC 7348). A bridged frame to an address behind a peer is
// encapsulated and then routed by the route table. A routed frame to the VTEP's address and UDP
// port is decapsulated, and the frame in it is bridged in the VLAN of its VNI. Formats are in
// packet/vxlan.h, ECN by RFC 6040 in packet/tunnel_ecn.h, the tables in forward/vtep.h. Called by
// the worker that owns the port of arrival.
//
// A frame keeps the class and the cells with which it arrived, whether headers are added or taken
// off: so it stays lossless, and one PAUSE of its class stops its sender. A frame that came out of
// a tunnel goes into none: every VTEP floods to all others itself.
//
// Flows are followed by the inner headers, and only those whose sender is on this side: the switch
// sends no notification into a tunnel.
#pragma once

#include "dataplane/ingress.h"
#include "dataplane/switch_vxlan.h"

// Of one worker; its only writer.
struct worker_vxlan {
	struct vxlan_peer_counters peer[VTEP_MAX_PEERS];
	struct vxlan_counters all;
};

// The frame leaves to the peer f->out_port, a number from VTEP_FIRST on: adds the outer headers and
// finds the way. vid, tagged, pkt: of the bridged frame. False: it was dropped.
bool vxlan_encapsulate(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		       const struct pkt_info *pkt);

// The numbers of the peers to which the frame is flooded; returns how many.
unsigned vxlan_flood_to(const struct worker *w, const struct frame *f, unsigned vid,
			port_no_t peers[VTEP_MAX_PEERS]);

// Whether a frame may leave to the peer.
bool vxlan_may_go(const struct worker *w, const struct frame *f, unsigned peer, unsigned vid);

// A frame to an address of the switch is for its VTEP.
bool vxlan_is_for_vtep(const struct vtep *v, const struct frame *f, const struct pkt_info *pkt);
// Takes the outer headers off and bridges the frame. As bridging: true if it knows its way, else it
// has found an end.
bool vxlan_decapsulate(struct worker *w, struct port *p, struct burst *b, struct frame *f,
		       const struct pkt_info *pkt);

// CE was set in the frame, at its departure or before. The frame it holds gets CE, too, where the
// policy wants that.
void vxlan_marked(struct worker *w, const struct frame *f);
