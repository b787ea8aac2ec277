// SPDX-License-Identifier: Apache-2.0
// Microbursts: how full each queue and each priority group was at most in each short window of
// time, and what share of its limit that is. An average over a second hides a queue that was full
// for a millisecond. The limit of a queue is kmax, or its threshold in the lossy pool; the limit of
// a group is its XOFF threshold. Pure; which windows form a burst is decided by
// control/microbursts/burstlog.h.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

enum {
	MICROBURST_GROUPS = 8, // a part is a queue, or from here on a priority group
	MICROBURST_PARTS = 16, // of a port
	MICROBURST_NO_LIMIT = UINT16_MAX,
	MICROBURST_FULL = 1000, // per mille
	MICROBURST_WINDOWS_MAX = (1 << 28) - 1, // of one record
};

struct microburst_params {
	uint64_t window_ns; // 0: off
	uint32_t from; // share of the limit from which a window belongs to a burst, per mille
};

// One part in one window. Parts that were empty all the time have no record.
struct microburst_record {
	uint64_t t_ns; // switch time at which the window began: a multiple of window_ns
	uint64_t peak_bytes; // of a group: without its headroom
	uint64_t headroom_bytes; // the most that the group used; 0 of a queue
	uint32_t windows : 28; // so many at once where the worker was late, else 1
	uint32_t part : 4;
	uint16_t share; // of the limit, per mille, or MICROBURST_NO_LIMIT
	port_no_t port;
};
static_assert(sizeof(struct microburst_record) == 32, "two in a cache line");

// Per mille of the limit; a limit of 0 is no limit.
static inline uint16_t microburst_share(uint64_t peak, uint64_t limit)
{
	uint64_t share = limit == 0 ? MICROBURST_NO_LIMIT : peak * MICROBURST_FULL / limit;

	return share < MICROBURST_NO_LIMIT || limit == 0 ? (uint16_t)share
							  : MICROBURST_NO_LIMIT - 1;
}

// The same of a group: full is XOFF, and nothing else is. The threshold falls while others fill the
// pool, so a group may exceed the threshold for a moment without XOFF.
static inline uint16_t microburst_group_share(uint64_t peak, uint64_t limit, bool lossless,
					      bool was_in_xoff)
{
	uint16_t share = microburst_share(peak, limit);

	if (was_in_xoff)
		return MICROBURST_FULL;
	return lossless && share >= MICROBURST_FULL ? MICROBURST_FULL - 1 : share;
}
