// SPDX-License-Identifier: Apache-2.0
// The orders of `weirctl flow`: which queue pair sends a flow.
#pragma once

#include <stdbool.h>

struct json_object;
struct weir_switch;

// add: the flow {"from", "to", "qp"} is paired with "sender_qp" from now on. Else its pair is
// forgotten, however it was learnt. NULL, or what is wrong.
const char *flow_pair_change(struct weir_switch *sw, struct json_object *request, bool add);
