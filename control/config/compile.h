// SPDX-License-Identifier: Apache-2.0
// From human units to cells and fixed point: the parts of config_compile that the plan prints too.
// Control thread only; pure arithmetic on an immutable configuration.
#pragma once

#include "control/config/model.h"

struct compiler {
	const struct config *c;
	const struct port_facts *facts; // NULL: a plan without devices
	uint64_t assumed_speed_bps; // stands in where neither file nor link has a speed; 0: error
	struct policy *p;
	struct diag_sink *s;
};

// config_compile with an assumed speed for ports whose link decides.
__attribute__((warn_unused_result)) int compile_policy(const struct config *c,
						       const struct port_facts *facts,
						       uint64_t assumed_speed_bps,
						       struct policy **out, struct diags *d);

// The steps, in this order. Each reports into k->s and goes on.
void compile_ports(struct compiler *k); // all but groups, queues and VLANs
void compile_pools(struct compiler *k); // min and headroom of every group, then the pools
void compile_groups_and_queues(struct compiler *k); // thresholds, WRED
void compile_forwarding(struct compiler *k); // VLANs and static addresses
void compile_routes(struct compiler *k); // prefixes, groups, next hops, neighbours
void compile_limits(struct compiler *k); // rates of a port, loop detection
void compile_routes_free(struct policy_routes *r);

// Headroom of the group as configured or computed, in bytes; 0 for lossy groups.
uint64_t compile_xoff_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			    uint64_t speed_bps);

// What can be in flight towards the group after its PAUSE left: the headroom that `auto` gives,
// whatever is configured. 0 for lossy groups.
uint64_t compile_flight_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			      uint64_t speed_bps);

// A size of the file in bytes, a percentage taken of `whole`.
uint64_t compile_bytes(const struct cfg_val *v, uint64_t whole, bool round_up);
