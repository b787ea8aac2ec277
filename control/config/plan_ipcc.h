// SPDX-License-Identifier: Apache-2.0
// The part of `weirctl plan` about the flow table and the queues that send notifications. Control
// thread only.
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "dataplane/policy.h"

// Bytes of a queue at most, when its memory has reached `share_q16` of the threshold: of a lossless
// queue each of the priority groups that fill it, from an empty switch.
struct ipcc_depth {
	uint64_t one; // one port sends; of all ports the least
	uint64_t all; // all other ports send alike; 0: there is none
};
struct ipcc_depth plan_ipcc_depth(const struct policy *p, unsigned port, unsigned queue,
				  uint32_t share_q16);

void plan_ipcc_text(const struct policy *p, FILE *out);

struct json_object *plan_flows_json(const struct policy *p);
struct json_object *plan_ipcc_json(const struct policy *p); // a list of queues
void plan_ipcc_port_json(const struct policy_port *p, struct json_object *port); // its CNPs
