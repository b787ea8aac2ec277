// SPDX-License-Identifier: Apache-2.0
// The orders of `weirctl impair`: a rule from texts into the switch.
#pragma once

#include <stdint.h>

#include "control/orders/orders.h"

struct json_object;
struct weir_switch;

// NULL with *data, or the error, which may be in `text`.
const char *impair_request(struct weir_switch *sw, unsigned port, struct json_object *req,
			   uint64_t now_ns, struct json_object **data,
			   char text[ORDER_TEXT_LEN]);
const char *impair_request_stop(struct weir_switch *sw, struct json_object *req,
				struct json_object **data);
