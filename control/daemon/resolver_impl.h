// SPDX-License-Identifier: Apache-2.0
// The inside of the resolver, shared with resolver_show.c, which makes rows of it.
#pragma once

#include <stdint.h>

#include "dataplane/policy.h"
#include "control/daemon/resolver.h"

struct neighbour_table;
struct weir_switch;

struct resolver {
	struct weir_switch *sw;
	struct neighbour_table *table;
	uint64_t now_ns; // of the last poll
	struct resolver_listener listener;
	uint64_t malformed; // frames that are no ARP and no neighbour discovery after all
	uint64_t unsent; // frames that found no room on their way to a worker
	uint64_t changed_ns[POLICY_MAX_PORTS]; // when a changed MAC address was last said; 0: never
	uint64_t no_room; // neighbours that the workers' table had no room for
};
