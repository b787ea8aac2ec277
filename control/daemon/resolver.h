// SPDX-License-Identifier: Apache-2.0
// Neighbour resolution of a running switch. The resolver gives the table of neighbours the ARP and
// neighbour discovery frames of routed ports, and the addresses that workers need. It sends the
// probes of the table. It answers requests for the addresses of the policy and for no others.
// The workers answer ping and expired TTLs (routing.h). Called by the control thread only.
#pragma once

#include <stdint.h>

#include "dataplane/switch.h"

struct json_object;
struct resolver;

// For a switch whose policy runs. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int resolver_create(struct weir_switch *sw, uint64_t now_ns,
							struct resolver **out);
void resolver_destroy(struct resolver *r); // NULL is fine

// Called when a next hop of a route is lost or back; ip: its address.
struct resolver_listener {
	void (*notify)(void *arg, const struct event *e, const char *ip);
	void *arg;
};
void resolver_listen(struct resolver *r, const struct resolver_listener *listener);

// The switch has another policy.
void resolver_new_policy(struct resolver *r, uint64_t now_ns); // NULL is fine
// Once per control loop.
void resolver_poll(struct resolver *r, uint64_t now_ns);

// {"routes": [...]}, {"neighbours": [...], "totals": {...}}; their keys are rows of fact.h. port:
// an index, or -1: all. r NULL: as of a switch that does not route.
struct json_object *resolver_routes(const struct resolver *r, const struct weir_switch *sw,
				    int port);
struct json_object *resolver_neighbours(const struct resolver *r, const struct weir_switch *sw,
					int port, uint64_t now_ns);
