// SPDX-License-Identifier: Apache-2.0
// The seeded generator behind every decision of chance (WRED, jitter): splitmix64 (Steele, Lea and
// Flood, OOPSLA 2014). One per worker or NIC, always passed in; the same seed gives the same
// frames.
#pragma once

#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline void rng_init(struct rng *r, uint64_t seed)
{
	r->state = seed;
}

// Each bit of z changes half the bits of the result.
static inline uint64_t rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline uint64_t rng_next64(struct rng *r)
{
	return rng_mix(r->state += 0x9e3779b97f4a7c15u);
}

// Uniform over the 32-bit range.
static inline uint32_t rng_next(struct rng *r)
{
	return (uint32_t)(rng_next64(r) >> 32);
}

// The state is the same as after n calls of rng_next().
static inline void rng_skip(struct rng *r, unsigned n)
{
	r->state += n * 0x9e3779b97f4a7c15u;
}
