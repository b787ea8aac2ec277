// SPDX-License-Identifier: Apache-2.0
// Impairments as control sees them (impair.h). Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/impair_rule.h"

struct weir_switch;

enum { IMPAIR_SLOTS = 8, IMPAIR_HELD_MAX = 1024 };

enum impair_state { IMPAIR_FREE, IMPAIR_ORDERED, IMPAIR_ON, IMPAIR_OVER };

// Impairs frames of a port with the rule, from the owner's next loop on. *id names it from now on,
// and is never used again. 0; -ENOSPC: the port has IMPAIR_SLOTS rules that have not ended;
// -ENOMEM.
__attribute__((warn_unused_result)) int switch_impair_add(struct weir_switch *sw, unsigned port,
							  const struct impair_rule *rule,
							  uint32_t *id);
// Ends a rule, or all with id 0; frames that it holds arrive at once. Returns how many rules.
unsigned switch_impair_stop(struct weir_switch *sw, uint32_t id);

// Rule i of all that are known, in order of ports; the rules that ended last are among them.
struct impair_view {
	const struct impair_rule *rule;
	uint32_t id;
	unsigned port;
	uint8_t state, why; // enums of those names; why: of IMPAIR_OVER
	uint64_t hits; // frames that matched
	uint64_t changed;
	uint64_t unable; // that matched and could not be changed
	uint64_t end_ns; // IMPAIR_ON
	uint64_t held; // by this rule, now
};
bool switch_impair_get(const struct weir_switch *sw, unsigned i, struct impair_view *out);
