// SPDX-License-Identifier: Apache-2.0
// What `weirctl check` and `weirctl plan` print: needs no daemon and opens no device. Every number
// comes from the compiled policy, so the plan is what would run. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "control/config/config.h"

// Mistakes and warnings to stderr (with json: all in one object on out), or "FILE: ok (3 ports,
// ...)". 0: the policy can be loaded; 2: it cannot, or with strict it has a warning.
int check_print(const char *path, bool json, bool strict, FILE *out);

// Every derived number and whether it holds. 0, or 2 where the policy cannot be compiled: then
// the reasons are on stderr.
int plan_print(const struct config *c, bool json, FILE *out);

// Bytes of a queue at most, when its memory has reached `share_q16` of the threshold: of a lossless
// queue each of the priority groups that fill it, from an empty switch.
struct ipcc_depth {
	uint64_t one; // one port sends; of all ports the least
	uint64_t all; // all other ports send alike; 0: there is none
};
struct ipcc_depth plan_ipcc_depth(const struct policy *p, unsigned port, unsigned queue,
				  uint32_t share_q16);
