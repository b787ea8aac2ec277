// SPDX-License-Identifier: Apache-2.0
// The layer 3 interfaces of a policy, ports and SVIs alike: what a router, a resolver or a mirror
// in Linux needs of them. A routed port has the number of the port. An SVI (a VLAN that bridges and
// routes) has the number IFACE_SVI + its place in policy.svis. A VLAN keeps its number in the next
// policies. Pure; any thread that holds the policy.
//
// Frames: struct control_frame names an interface in `port`, both ways (switch_punt.h). Of an SVI
// the frame has no tag; switch_send() gives each copy the tag that its port of the VLAN wants.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/policy.h"

struct iface {
	port_no_t no;
	uint16_t vid; // of an SVI; 0: a routed port
	const char *name; // the port's, or "vlan100"
	const uint8_t *mac; // the router's there
	uint32_t mtu; // IP MTU
	unsigned n_addrs;
	const struct policy_addr *addrs;
};

// The interface of this number. False: there is none. All of them:
//
//   for (unsigned no = 0; no < N_IFACES; no++)
//           if (iface_get(policy, no, &i))
//
// switch_link_up(sw, no) says whether it is up; an SVI is up when a port of its VLAN is.
static inline bool iface_get(const struct policy *p, unsigned no, struct iface *out)
{
	if (no < p->n_ports && p->ports[no].routed) {
		const struct policy_port *port = &p->ports[no];

		*out = (struct iface){.no = (port_no_t)no, .name = port->name, .mac = port->mac,
				      .mtu = port->mtu, .n_addrs = port->n_addrs,
				      .addrs = port->addrs};
		return true;
	}
	if (policy_svi(p, no) != NULL) {
		const struct policy_svi *svi = policy_svi(p, no);

		*out = (struct iface){.no = (port_no_t)no, .vid = svi->vid, .name = svi->name,
				      .mac = svi->mac, .mtu = svi->mtu, .n_addrs = svi->n_addrs,
				      .addrs = svi->addrs};
		return true;
	}
	return false;
}

static inline bool iface_has_addr(const struct iface *i, uint8_t family, const uint8_t *ip)
{
	for (unsigned k = 0; k < i->n_addrs; k++)
		if (i->addrs[k].family == family &&
		    memcmp(i->addrs[k].ip, ip, family == FAMILY_V4 ? 4 : 16) == 0)
			return true;
	return false;
}

// The name of a port, routed or not, or of an SVI; NULL: there is none.
static inline const char *iface_name(const struct policy *p, unsigned no)
{
	if (no < p->n_ports)
		return p->ports[no].name;
	return policy_svi(p, no) == NULL ? NULL : policy_svi(p, no)->name;
}
