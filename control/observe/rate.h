// SPDX-License-Identifier: Apache-2.0
// Rates over the last second, from samples of growing counters every quarter of a second. Pure:
// time is an argument. Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RATE_SAMPLES = 5, RATE_EVERY_NS = 250000000 };

// When a set of counters was sampled; the values live in the caller's struct rate_series.
struct rate_clock {
	uint64_t t_ns[RATE_SAMPLES];
	unsigned n, next; // samples held, place of the next one
};

struct rate_series {
	uint64_t v[RATE_SAMPLES];
};

// True when a sample is due: the caller then stores each series at clock->next and calls
// rate_clock_advance.
static inline bool rate_due(const struct rate_clock *c, uint64_t now_ns)
{
	unsigned last = (c->next + RATE_SAMPLES - 1) % RATE_SAMPLES;

	return c->n == 0 || now_ns - c->t_ns[last] >= RATE_EVERY_NS;
}

static inline void rate_clock_advance(struct rate_clock *c, uint64_t now_ns)
{
	c->t_ns[c->next] = now_ns;
	c->next = (c->next + 1) % RATE_SAMPLES;
	if (c->n < RATE_SAMPLES)
		c->n++;
}

// Per second, since the oldest sample held. Doubles are fine: nothing is decided by it.
static inline uint64_t rate_per_s(const struct rate_clock *c, const struct rate_series *s,
				  uint64_t now, uint64_t now_ns)
{
	unsigned oldest = c->n < RATE_SAMPLES ? 0 : c->next;

	if (c->n == 0 || now_ns <= c->t_ns[oldest] || now < s->v[oldest])
		return 0;
	return (uint64_t)((double)(now - s->v[oldest]) * 1e9 / (double)(now_ns - c->t_ns[oldest]));
}
