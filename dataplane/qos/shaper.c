// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/shaper.h"

struct shaper_params shaper_of(uint64_t rate_bps, uint64_t burst_ns)
{
	// Plus what is less than a nanosecond: a caller comes at whole ones, and the remainder is
	// the next frame's. Without it every frame would round up, which is 12 % for 64 B at 400
	// Gb/s.
	struct shaper_params p = {.burst_q24 = (int64_t)((burst_ns + 1) << SHAPER_Q) - 1};

	if (rate_bps != 0)
		p.q24_per_byte = (8000000000ull << SHAPER_Q) / rate_bps;
	return p;
}
