// SPDX-License-Identifier: Apache-2.0
// Routing as a policy says it: addresses, next hops, routes, neighbours, and routed VLANs. Compiled
// by control (control/config), read by who makes tables of it (forward/route.h) and by control's
// resolver and mirror. Pure data.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

enum {
	POLICY_MAX_SVIS = 126,
	// Numbers of layer 3 interfaces (iface.h): routed ports have their own, SVIs follow.
	IFACE_SVI = POLICY_MAX_PORTS,
	N_IFACES = IFACE_SVI + POLICY_MAX_SVIS,
	MAX_PORT_ADDRS = 16,
	MAX_NEXTHOPS = 64, // of one route
};

enum ip_family { FAMILY_V4 = 4, FAMILY_V6 = 6 };

// Network order; an IPv4 address is the first four bytes, the others are 0.
struct policy_addr {
	uint8_t family; // enum ip_family
	uint8_t len; // of the prefix it is given with
	uint8_t ip[16];
};

enum nexthop_kind {
	NEXTHOP_GIVEN, // by port and mac
	NEXTHOP_GATEWAY, // addr, on the port's link; its MAC is found by ARP or ND
	NEXTHOP_LINK, // the destination itself is on the port's link
	NEXTHOP_SELF, // an address of the switch
	NEXTHOP_NONE, // leads nowhere: frames are dropped as no-route
	NEXTHOP_BLACKHOLE, // frames are dropped as blackhole
};

struct policy_nexthop {
	uint16_t kind; // enum nexthop_kind; as wide as the port, so that no byte is without a value
	port_no_t port; // or the number of an SVI
	uint8_t mac[6]; // NEXTHOP_GIVEN
	struct policy_addr addr; // NEXTHOP_GATEWAY
	uint16_t track; // NEXTHOP_GIVEN: what lies behind it, for switch_track_nexthops; 0: none
};

static_assert(sizeof(struct policy_nexthop) == 30, "it is compared as bytes, so it has no gap");

// Whether a next hop leads on to what its `track` names.
typedef bool nexthop_leads_fn(void *arg, const struct policy_nexthop *h);

// Frames of one flow take one of n equal next hops.
struct policy_group {
	uint32_t first; // in nexthops
	uint32_t n; // 1 to MAX_NEXTHOPS
};

struct policy_prefix {
	struct policy_addr to; // bits beyond len are 0
	uint32_t group;
};

struct policy_neighbour {
	struct policy_addr addr;
	port_no_t port; // or the number of an SVI
	uint8_t mac[6];
};

enum ecmp_by { ECMP_5TUPLE, ECMP_5TUPLE_QP };

struct policy_routes {
	bool any; // some port is routed, or some VLAN
	bool compact; // many switches in one process: small tables rather than the fastest
	uint8_t ecmp_by; // enum ecmp_by
	uint64_t ecmp_seed;
	uint32_t n_prefixes, n_groups, n_nexthops, n_neighbours;
	struct policy_prefix *prefixes; // also connected ones and the switch's own; no two equal
	struct policy_group *groups;
	struct policy_nexthop *nexthops;
	struct policy_neighbour *neighbours; // static ones
};

// A routed VLAN: the bridge carries it, and the switch has addresses in it.
struct policy_svi {
	char name[POLICY_NAME_LEN]; // "vlan100"
	uint16_t vid; // 0: a free place
	uint8_t mac[6]; // the router's there
	uint8_t n_addrs;
	uint32_t mtu; // IP MTU
	struct policy_addr addrs[MAX_PORT_ADDRS];
};
