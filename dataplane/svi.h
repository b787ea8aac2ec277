// SPDX-License-Identifier: Apache-2.0
// SVIs: VLANs that the bridge carries and in which the switch has addresses (policy_svi). An SVI is
// an interface of the router like a routed port (iface.h), with the number IFACE_SVI + i.
//
//   to the router      the address table says FDB_ROUTER for the MAC address of the SVI in its
//                      VLAN, so bridging hands the frame to routing (bridging.c, routing_of_svi)
//   from the router    the next hop's adjacency has the number of the SVI; the address table of
//                      the VLAN has the port (bridging_from_router)
//   ARP and ND         frames to groups are flooded as all others, and control gets a copy of
//                      those that it needs (svi_snoop)
//
// A policy without SVIs has no such address and no such adjacency: nothing looks for them.
// Called by the worker that owns the port of arrival, but for the functions of control.
#pragma once

#include "dataplane/switch_impl.h"

struct policy;

// Copies a frame to a group to control if it concerns the SVI: ARP or neighbour discovery for its
// addresses, or news of a neighbour. svi: the interface number.
void svi_snoop(struct worker *w, struct port *p, const struct frame *f, const struct pkt_info *pkt,
	       port_no_t svi);

// Control: the SVIs of a policy that is to be published get the numbers that their VLANs have in
// the running one. Workers and control know neighbours by number: they stay known.
void svis_keep_numbers(const struct policy *running, struct policy *next);
// Control: an SVI is down while no port of its VLAN is up.
void svis_links(struct weir_switch *sw);
// Control: sends a frame of control into the VLAN: by the port of its destination, or by all ports
// of the VLAN. Each copy has the tag that its port wants. False: some copy found no room.
bool svi_send(struct weir_switch *sw, const struct control_frame *f, enum send_kind kind);
