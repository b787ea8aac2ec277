// SPDX-License-Identifier: Apache-2.0
// A token bucket in frames: whether a frame may pass. The bucket is one time, as in the virtual
// scheduling algorithm of ITU-T I.371 (GCRA): the time at which the bucket is full again. Pure and
// without division. The caller owns the state.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/units.h"

// A port has a rate limit for each kind of frame that can cost other ports.
enum limit_kind {
	LIMIT_COPP, // of each kind of frame that it hands to control
	LIMIT_BROADCAST, // storm control
	LIMIT_UNKNOWN_UNICAST,
	LIMIT_MULTICAST,
	N_LIMIT_KINDS,
};

struct policer_params {
	uint64_t interval_ns; // a token takes this long; 0: every frame passes
	uint64_t burst_ns; // a full bucket is worth this time
};

struct policer {
	uint64_t full_ns; // the bucket is full from this time on
};

// The rate is never exceeded: the time of a token rounds up to whole nanoseconds.
static inline struct policer_params policer_of(uint32_t frames_per_s, uint32_t burst)
{
	uint64_t interval_ns =
		frames_per_s == 0 ? 0 : (SECOND_NS + frames_per_s - 1) / frames_per_s;

	return (struct policer_params){interval_ns, interval_ns * (burst == 0 ? 1 : burst)};
}

// True: the frame passes and has taken a token.
static inline bool policer_take(const struct policer_params *p, struct policer *s, uint64_t now_ns)
{
	uint64_t full_ns = (s->full_ns > now_ns ? s->full_ns : now_ns) + p->interval_ns;

	if (p->interval_ns == 0)
		return true;
	if (full_ns - now_ns > p->burst_ns)
		return false;
	s->full_ns = full_ns;
	return true;
}
