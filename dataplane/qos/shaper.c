// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/shaper.h"

// Longest burst, and dearest byte: with them nothing passes 2^63, whatever rate a policy asks for.
static const uint64_t max_burst_ns = 1ull << 36;
static const uint64_t max_q24_per_byte = 1ull << 46; // 1907 b/s

static uint64_t at_most(uint64_t v, uint64_t max)
{
	return v < max ? v : max;
}

struct shaper_params shaper_of(uint64_t rate_bps, uint64_t burst_ns)
{
	struct shaper_params p = {0};

	// Plus what is less than a nanosecond: a caller comes at whole ones, and the remainder is
	// the next frame's. Without it every frame would round up, which is 12 % for 64 B at 400
	// Gb/s.
	p.burst_q24 = (int64_t)((at_most(burst_ns, max_burst_ns) + 1) << SHAPER_Q) - 1;
	if (rate_bps != 0)
		p.q24_per_byte =
			at_most((8000000000ull << SHAPER_Q) / rate_bps, max_q24_per_byte);
	return p;
}
