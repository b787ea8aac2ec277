// SPDX-License-Identifier: Apache-2.0
// Deadlock guard: a frame that leaves by a port of the group it came in by turns back at this
// switch, and such turns close cyclic buffer dependencies (as Clos fabrics with "bounced" routes
// know them; Microsoft's Tagger, CoNEXT'17, breaks them the same way). Its rule gives it another
// class and DSCP from here on, and a chain of rules over hops ends in a lossy class, where no PAUSE
// follows. Only the way out changes: the frame stays in the account of the class it arrived in, or
// its sender's PAUSE would name the wrong class. Pure; called by the ingress owner once the port of
// departure is known.
#pragma once

#include <stdint.h>

enum { GUARD_MAX_RULES = 16, GUARD_NO_RULE = 0xff };

struct guard_rule {
	uint8_t dscp; // of frames that turn back
	uint8_t to_class, to_dscp;
};

// Of one port.
struct guard_params {
	uint16_t group; // 1.. of the switch; 0: in none
	uint8_t n_rules;
	uint8_t rule_of_dscp[64]; // index, or GUARD_NO_RULE
	struct guard_rule rules[GUARD_MAX_RULES];
};

// The rule for an IP frame with this DSCP that came in by the port `in` and leaves by `out`, or
// NULL: it stays as it is.
static inline const struct guard_rule *guard_match(const struct guard_params *in,
						   const struct guard_params *out, uint8_t dscp)
{
	unsigned i;

	if (in->group == 0 || in->group != out->group)
		return 0;
	i = in->rule_of_dscp[dscp & 63];
	return i == GUARD_NO_RULE ? 0 : &in->rules[i];
}
