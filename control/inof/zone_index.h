// SPDX-License-Identifier: Apache-2.0
// Finds the zones of a host among the members of all zones, without a look at each member:
//
//	addresses, prefixes, ranges   a tree of ranges: logarithmic, and each zone that has the host
//	names and patterns            a hash table, by the text before the first * and behind the
//	                              last one; by the end of the longest piece where both are empty
//	ports                         a set of zones for each port
//
// Pure; any thread. It is made once for each change of zones.
#pragma once

#include <stdint.h>

#include "control/inof/zone.h"

enum {
	ZONE_SLOTS = 1 + INOF_ZONES, // the default zone is the first
	ZONE_WORDS = (ZONE_SLOTS + 63) / 64,
};

struct zone_index;

// zones: by slot; NULL: none, or a hidden one. The zones must live as long as the index. NULL: out
// of memory.
struct zone_index *zone_index_create(const struct inof_zone *const zones[ZONE_SLOTS]);
void zone_index_destroy(struct zone_index *x); // NULL is fine

// Adds the zones of a host to the set. port: -1 for a host of another switch. Returns how many
// members and keys it looked at.
unsigned zone_index_find(const struct zone_index *x, struct ip_key ip, const struct inof_nqn *nqn,
			 int port, uint64_t set[ZONE_WORDS]);
