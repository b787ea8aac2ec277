// SPDX-License-Identifier: Apache-2.0
// The orders of `weirctl flow`: which queue pair sends a flow.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct weir_switch;

// add: the flow {"from", "to", "qp"} is paired with "sender_qp" from now on. Else its pair is
// forgotten, however it was learnt. NULL, or what is wrong.
const char *flow_pair_change(struct weir_switch *sw, struct json_object *request, bool add);

// Whether all workers have taken the end of a pair. found_before: from switch_pair_orders_done()
// before the order. After true *wrong is NULL, or the sentence that the flow is unknown.
bool flow_pair_deleted(const struct weir_switch *sw, uint64_t found_before, const char **wrong);
