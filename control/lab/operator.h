// SPDX-License-Identifier: Apache-2.0
// The commands of weirctl in a scenario, as a live switch takes them (control/orders/).
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "control/orders/orders.h"

struct run;

// Puts it in force at once. The answer, which is empty if the command has none, or NULL with the
// reason in why.
struct json_object *operator_types(struct instance *in, const char *words, uint64_t now_ns,
				   char why[ORDER_TEXT_LEN]);

// The list `weirctl` of the report, if the scenario has commands.
void report_commands_json(const struct run *r, struct json_object *out);
