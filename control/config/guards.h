// SPDX-License-Identifier: Apache-2.0
// The deadlock guard of a policy: which ports form a group, whose rules it has, and whether these
// break every loop of pauses they are meant to break. Part of config_parse, after the ports are
// expanded. Control thread only.
//
// A frame that turns back moves from its class to that of its rule, so a rule is an edge between
// classes. A loop of pauses needs a circle of lossless classes (or a class that follows itself);
// therefore the edges between lossless classes must have no circle, and every chain of rules must
// end in a lossy class, after which no PAUSE follows.
#pragma once

#include "control/config/compile.h"

// Finds the groups and their rules, and reports what makes no sense.
void guards_resolve(struct config *c, struct diag_sink *s);

void compile_guards(struct compiler *k);

// The DSCPs that a frame with `dscp` gets hop by hop, itself first, as far as the rules go. Returns
// how many there are; the policy's chains end.
enum { GUARD_CHAIN_MAX = GUARD_MAX_RULES + 1 };
unsigned guard_chain(const struct guard_params *g, uint8_t dscp, uint8_t out[GUARD_CHAIN_MAX]);
