// SPDX-License-Identifier: Apache-2.0
// The part of `weirctl plan` about the flow table and the queues that send notifications. Control
// thread only.
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "dataplane/policy.h"

void plan_ipcc_text(const struct policy *p, FILE *out);

struct json_object *plan_flows_json(const struct policy *p);
struct json_object *plan_ipcc_json(const struct policy *p); // a list of queues
void plan_ipcc_port_json(const struct policy_port *p, struct json_object *port); // its CNPs
