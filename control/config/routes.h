// SPDX-License-Identifier: Apache-2.0
// Routing of a configuration: addresses of ports, static routes, static neighbours, ECMP. A policy
// file fills it (`ports[].ip`, `routes`, `neighbours`, `switch.ecmp`), or a program that derives
// routes does, after the file was loaded and before config_compile. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/compiler.h"
#include "dataplane/forward/route_params.h"

struct config;

// Lists of prefixes, groups and next hops on their way into a policy. Equal groups are one, so many
// prefixes share few of them.
struct routes_builder {
	struct policy_routes *r;
	uint32_t *slot; // group + 1 by what the group holds; 0: free
	uint32_t mask;
};
// Memory for so many. False: there is none; the lists that there are belong to *r all the same.
must_check bool routes_builder_init(struct routes_builder *b, struct policy_routes *r,
				    size_t n_prefixes, size_t n_nexthops);
// No two prefixes may be equal. hops: n of them, 1 to MAX_NEXTHOPS.
void routes_builder_add(struct routes_builder *b, const struct policy_addr *to,
			const struct policy_nexthop *hops, unsigned n);
void routes_builder_fini(struct routes_builder *b);

// Not NEXTHOP_SELF. All next hops of a route are of its family, none is given twice.
struct config_route {
	struct policy_addr to; // bits beyond len are 0
	uint16_t n_nexthops; // 1 to MAX_NEXTHOPS
	const struct policy_nexthop *nexthops;
};

// The port routes, or bridges, in place of the setting of the file.
void config_set_routed(struct config *c, unsigned port, bool routed);

// The port has these addresses and no other, in place of those of the file.
void config_set_addresses(struct config *c, unsigned port, const struct policy_addr *a,
			  unsigned n);

// The tunnels, in place of VNIs and addresses of the file; its other keys of `vxlan` hold. The
// source is an address of a port. v is copied.
struct vtep;
void config_set_tunnels(struct config *c, const struct vtep *v);

// Replaces the routes of the file, and asks for compact tables. The routes are copied; those that
// follow each other with the same `nexthops` share one copy. 0, or -EINVAL where a route is none: a
// port that does not exist or does not route, a prefix twice, stray bits, too many next hops.
must_check int config_set_routes(struct config *c, const struct config_route *routes, unsigned n);
