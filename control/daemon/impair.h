// SPDX-License-Identifier: Apache-2.0
// Requests of `weirctl impair`: a rule from texts into the switch. Control thread only.
#pragma once

#include <stdint.h>

struct json_object;
struct weir_switch;

enum { IMPAIR_ERROR_LEN = 256 };

// NULL with *data, or the error, which may be in `text`.
const char *impair_request(struct weir_switch *sw, unsigned port, struct json_object *req,
			   uint64_t now_ns, struct json_object **data,
			   char text[IMPAIR_ERROR_LEN]);
const char *impair_request_stop(struct weir_switch *sw, struct json_object *req,
				struct json_object **data);
