// SPDX-License-Identifier: Apache-2.0
// Which hosts a change of zones parts: pairs that shared a zone before and share none now. A sight
// is what zones say at one time. Take one before the change and one after it. Only hosts that are
// online count. Control thread.
#pragma once

#include "control/inof/registry.h"

struct inof_sight;

struct inof_pair {
	struct ip_key initiator, target;
};

// NULL: out of memory. free() ends it.
struct inof_sight *inof_sight_take(const struct inof_registry *r);
// Writes the pairs, `most` at most, in order of initiators. Returns how many.
unsigned inof_parted(const struct inof_registry *r, const struct inof_sight *before,
		     const struct inof_sight *after, struct inof_pair *out, unsigned most);
