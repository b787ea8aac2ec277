// SPDX-License-Identifier: Apache-2.0
// Token bucket in time: credit is nanoseconds of link time, in Q24, that may be spent now.
//
//   real numbers:  credit += elapsed; a frame of n bytes may start when credit >= 0, then
//                  credit -= n * 8e9 / rate
//   fixed point:   cost of a byte = floor(8e9 * 2^24 / rate): fast by at most 3e-6 at 400 Gb/s.
//                  Where a real or virtual link is slower, its own tx_room holds the frames.
//
// Credit may go below zero (a frame is never split) and up to burst_ns. One writer, the egress
// owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	SHAPER_Q = 24,
	LINK_OVERHEAD_BYTES = 24, // preamble 8, gap 12, FCS 4: what a frame costs beyond its length
};

struct shaper_params {
	uint64_t q24_per_byte; // 0: no limit
	int64_t burst_q24; // largest credit saved while idle
};

struct shaper_state {
	int64_t credit_q24;
	uint64_t last_ns;
};

// burst_ns: how long a poll-mode loop may be late without losing rate; 0 on the virtual clock.
struct shaper_params shaper_of(uint64_t rate_bps, uint64_t burst_ns);

static inline void shaper_update(const struct shaper_params *p, struct shaper_state *s,
				 uint64_t now_ns)
{
	// Capped before the shift so that years of idleness do not overflow.
	uint64_t elapsed = now_ns - s->last_ns;
	int64_t grown;

	if (elapsed > 1ull << 36)
		elapsed = 1ull << 36;
	grown = s->credit_q24 + (int64_t)(elapsed << SHAPER_Q);
	s->credit_q24 = grown < p->burst_q24 ? grown : p->burst_q24;
	s->last_ns = now_ns;
}

static inline bool shaper_ready(const struct shaper_params *p, const struct shaper_state *s)
{
	return p->q24_per_byte == 0 || s->credit_q24 >= 0;
}

static inline void shaper_charge(const struct shaper_params *p, struct shaper_state *s,
				 uint32_t bytes)
{
	s->credit_q24 -= (int64_t)(bytes * p->q24_per_byte);
}

// The first nanosecond at which shaper_ready will hold; s updated to now_ns.
static inline uint64_t shaper_ready_at(const struct shaper_state *s, uint64_t now_ns)
{
	if (s->credit_q24 >= 0)
		return now_ns;
	return now_ns + ((uint64_t)(-s->credit_q24) + (1u << SHAPER_Q) - 1) / (1u << SHAPER_Q);
}
