// SPDX-License-Identifier: Apache-2.0
// Routing as control sees it: route tables are made before a policy is published and go at the end
// of its grace; neighbours are set one by one. ARP and neighbour discovery come and go as whole
// frames (switch_punt.h). Who is asked when is control's business (control/neighbours/resolver.h).
// Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/route_params.h"

struct policy;
struct weir_switch;

// Makes the route table of a policy that is to be published, if it needs one. -ENOMEM: there is no
// memory for it; the policy cannot run.
__attribute__((warn_unused_result)) int switch_prepare(struct weir_switch *sw, struct policy *p);
// Undoes that for a policy that will not be published after all.
void switch_unprepare(struct policy *p);

// An address on a port's link that a frame wanted to go to and that is not known.
struct __attribute__((aligned(4))) neighbour_request {
	struct policy_addr addr;
	port_no_t port;
	port_no_t from; // the port of the frame, as control reads it
};
static_assert(sizeof(struct neighbour_request) % 4 == 0, "as rings want their elements");

// The next such address; false: none. The ports take turns.
bool switch_next_neighbour_request(struct weir_switch *sw, struct neighbour_request *out);

// From now on frames to this address of the port's link have this MAC address; NULL: are dropped.
// 0, or -ENOSPC.
int switch_set_neighbour(struct weir_switch *sw, port_no_t port, const struct policy_addr *a,
			 const uint8_t *mac);

// Asks of each next hop of the running policy that has a `track` whether it leads on. Frames take
// the other next hops of the route meanwhile; where none is left, there is no route. A publish
// forgets the answers: call it again.
void switch_track_nexthops(struct weir_switch *sw, nexthop_leads_fn *leads, void *arg);
