// SPDX-License-Identifier: Apache-2.0
// The part of the plan about storms and deadlocks: watchdogs, early warnings, chains of the guards.
// Control thread only.
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "dataplane/policy.h"

// Nothing where the policy has none of them.
void plan_storm_text(const struct policy *p, FILE *out);

// "watchdog" and "pfc_warning" of one port.
void plan_storm_port_json(const struct policy_port *p, struct json_object *port);
struct json_object *plan_guards_json(const struct policy *p);
