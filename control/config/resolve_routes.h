// SPDX-License-Identifier: Apache-2.0
// From the words of a policy file to routes: addresses of ports, prefixes, next hops and the ports
// they are on, static neighbours. Part of config_parse, after the ports are expanded; reports what
// makes no sense. The compiler (compile_routes.c) shares the list of the switch's own prefixes.
// Control thread only. Whether a neighbour answers is not known here.
#pragma once

#include "control/config/model.h"

// The addresses of the i-th of n ports that an item of the file makes.
void routes_port_addrs(struct config *c, struct config_port *port, unsigned i, unsigned n,
		       struct diag_sink *s);

// Routes, neighbours and ECMP of the file.
void routes_resolve(struct config *c, struct diag_sink *s);

// A prefix that the switch has by itself: a port's subnet (NEXTHOP_LINK), or an address that means
// the switch (NEXTHOP_SELF): its own, and those that mean all stations or any router of a subnet.
struct own_prefix {
	struct policy_addr to;
	uint8_t kind; // enum nexthop_kind
	uint8_t port;
};

// All of them, sorted, each once; of two ports with one subnet the first has it. The caller frees
// *out. 0 without memory or without addresses.
unsigned routes_own(const struct config *c, struct own_prefix **out);
