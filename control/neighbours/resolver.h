// SPDX-License-Identifier: Apache-2.0
// Neighbour resolution of a running switch. The resolver gives the table of neighbours the ARP and
// neighbour discovery frames of routed ports, and the addresses that workers need. It sends the
// probes of the table. It answers requests for the addresses of the policy and for no others.
// The workers answer ping and expired TTLs (routing.h). On any clock. Called by the control thread
// only; a switch has it as a service (control/instance/neighbours.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/switch.h"

struct neighbour_table;
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
// Once in a look of control. all: takes in whatever there is, without a limit. True: the workers
// have got a frame or a neighbour.
bool resolver_poll(struct resolver *r, bool all, uint64_t now_ns);

// For readers.
const struct neighbour_table *resolver_table(const struct resolver *r);

struct resolver_counts {
	uint64_t malformed; // frames that are no ARP and no neighbour discovery after all
	uint64_t unsent; // frames that found no room on their way to a worker
	uint64_t no_room; // neighbours that the workers' table had no room for
};
struct resolver_counts resolver_counts(const struct resolver *r);
