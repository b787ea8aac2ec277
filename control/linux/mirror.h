// SPDX-License-Identifier: Apache-2.0
// The kernel's routing state as the switch knows it: links, routes, next-hop objects and
// neighbours of one network namespace, kept by the messages of the kernel (message.h). The mirror
// makes the routes of a policy of it. Pure but for memory: no socket. Control thread only.
//
// The kernel removes IPv4 routes without a message when a link goes down or an address goes. After
// such a message mirror_apply() returns MIRROR_STALE: the caller dumps the routes again.
//
// Rules of `ip rule` are not known: of the tables local, main and default, the longest prefix
// counts; of one prefix the table local, then the lowest metric. Routes with a TOS or a source
// prefix are not taken, and none by a router advertisement or a redirect, which any host can send.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/linux/message.h"
#include "dataplane/base/compiler.h"
#include "dataplane/forward/route_params.h"

struct mirror;

// Called for each neighbour on an interface of the switch that has another MAC address, or none any
// more (mac NULL).
struct mirror_ops {
	void (*neighbour)(void *arg, port_no_t iface, const struct policy_addr *a,
			  const uint8_t *mac);
	void (*stale)(void *arg, port_no_t iface, const struct policy_addr *a); // state NUD_STALE
};

enum { MIRROR_PREFIXES = 131072 };

// max_prefixes: of the routes that mirror_routes() makes, MIRROR_PREFIXES unless a test wants less.
must_check int mirror_create(const struct mirror_ops *ops, void *arg, uint32_t max_prefixes,
			     struct mirror **out);
void mirror_destroy(struct mirror *m); // NULL is fine

// The device of an interface number (adj_port() of an adjacency): of a port or an SVI. The
// neighbours of the device before are forgotten. Messages about the neighbours of other devices are
// ignored. ifindex 0: the interface has no device.
void mirror_bind(struct mirror *m, port_no_t iface, uint32_t ifindex);
port_no_t mirror_iface(const struct mirror *m, uint32_t ifindex); // PORT_NONE: not of the switch
uint32_t mirror_ifindex(const struct mirror *m, port_no_t iface); // 0: none

enum {
	MIRROR_ROUTES = 1, // the routes of the switch may differ
	MIRROR_STALE = 2, // routes may have gone without a message
};
// A message of the kernel. A bitmap of the above.
unsigned mirror_apply(struct mirror *m, const struct kernel_msg *msg, uint64_t now_ns);

// A dump of everything: rows that no message names between the two go at the end. Returns as
// mirror_apply().
void mirror_begin_dump(struct mirror *m);
unsigned mirror_end_dump(struct mirror *m);

struct mirror_census {
	uint32_t routes, nexthops; // known
	uint32_t taken; // prefixes that the switch uses
	uint32_t foreign; // not taken: no next hop by an interface of the switch
	uint32_t no_room; // not taken: beyond max_prefixes
	uint32_t unsupported; // not taken: TOS, source prefix, multicast
	uint32_t from_hosts; // prefixes with a route by a router advertisement or a redirect
	uint32_t hops_left_out; // next hops beyond MAX_NEXTHOPS of a route
};

// Makes the prefixes, groups and next hops of *out. The caller frees them, also those of a failure.
// A prefix whose next hops are not the switch's, or dead, drops its frames as no-route. 0 or
// -ENOMEM.
must_check int mirror_routes(struct mirror *m, struct policy_routes *out,
			     struct mirror_census *census);

// ---- for show

struct mirror_route {
	struct policy_addr to;
	uint8_t type; // enum kernel_route_type
	uint8_t protocol;
	port_no_t iface; // PORT_NONE: not of the switch
	bool no_room; // the last mirror_routes() left the prefix out
	bool refused; // by a router advertisement or a redirect
	bool dead;
	uint16_t weight;
	uint32_t metric;
	const struct policy_addr *via; // NULL: on the link
	const char *device; // the name of the kernel; "" where the route has none
};
uint32_t mirror_n_neighbours(const struct mirror *m);
// Each next hop of each prefix's best route, in the order in which the kernel named the prefixes.
void mirror_walk_routes(const struct mirror *m,
			void (*fn)(void *arg, const struct mirror_route *r), void *arg);

struct mirror_neighbour {
	port_no_t iface;
	struct policy_addr addr;
	const uint8_t *mac; // NULL: not known
	uint16_t state; // NUD_REACHABLE and others
	bool managed;
	uint64_t since_ns;
};
void mirror_walk_neighbours(const struct mirror *m,
			    void (*fn)(void *arg, const struct mirror_neighbour *n), void *arg);
// False: not known.
bool mirror_find_neighbour(const struct mirror *m, port_no_t iface, const struct policy_addr *a,
			   struct mirror_neighbour *out);
