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

// Steps of a feature with a file of its own. Each reports into k->s and goes on.
void compile_routes(struct compiler *k); // prefixes, groups, next hops, neighbours
void compile_routes_free(struct policy_routes *r);
void compile_watchdogs(struct compiler *k); // and the warnings that need the speed of a port
void compile_guards(struct compiler *k);
void compile_ipcc(struct compiler *k); // after the queues: takes their kmin and kmax

// The DSCPs that a frame with `dscp` gets hop by hop, itself first, as far as the rules go. Returns
// how many there are; the policy's chains end.
enum { GUARD_CHAIN_MAX = GUARD_MAX_RULES + 1 };
unsigned guard_chain(const struct guard_params *g, uint8_t dscp, uint8_t out[GUARD_CHAIN_MAX]);

// Headroom of the group as configured or computed, in bytes; 0 for lossy groups.
uint64_t compile_xoff_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			    uint64_t speed_bps);

// What can be in flight towards the group after its PAUSE left: the headroom that `auto` gives,
// whatever is configured. 0 for lossy groups.
uint64_t compile_flight_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			      uint64_t speed_bps);
