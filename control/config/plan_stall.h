// SPDX-License-Identifier: Apache-2.0
// The part of the plan about workers that stand still. The receive ring of each port must hold all
// frames until the PAUSE of the stand-in acts (drivers/standin). Control thread only.
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "control/config/model.h"

// The frames of a port from the last loop of its worker until the peer has stopped.
struct plan_stall {
	bool interface; // the stand-in can send by the port
	uint64_t bytes; // on the wire, with gaps and preambles
	uint64_t ring; // frames
	uint64_t least_frame; // mean frame bytes from which the ring suffices
	uint64_t ring_needed; // for frames of full size; a power of two
	// What pause_after can be with frames of full size: with this ring, and with the longest.
	uint64_t age_ns, longest_age_ns;
	bool holds; // frames of full size
};

// False: the port has no PFC to send, or the policy has no `pause_after`.
bool plan_stall(const struct config *c, const struct policy *p, unsigned port,
		struct plan_stall *out);

// Nothing where no port has one.
void plan_stall_text(const struct config *c, const struct policy *p, FILE *out);
void plan_stall_port_json(const struct config *c, const struct policy *p, unsigned port,
			  struct json_object *o);
