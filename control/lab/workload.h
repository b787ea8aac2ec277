// SPDX-License-Identifier: Apache-2.0
// Luck of the traffic: seeds split by flow and host, exponential gaps of a Poisson process,
// uniform choices. Integers throughout, no library of mathematics, so that a seed gives the same
// arrivals on every compiler and machine. Pure.
//
// The gap of a Poisson process is mean * -ln(U), U uniform in (0, 1]. -ln is had from the binary
// logarithm: its whole part is a count of leading zeros, its fraction comes bit by bit, by
// squaring.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/rng.h"

// Each host of a flow has a generator of its own, from the flow's seed.
static inline struct rng workload_rng(uint64_t seed, uint32_t member)
{
	struct rng r = {seed};

	r.state = rng_next64(&r) ^ member;
	r.state = rng_next64(&r);
	return r;
}

// Uniform over 0..n-1, n not 0.
static inline uint32_t workload_pick(struct rng *r, uint32_t n)
{
	return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

// Uniform over 0..span-1; 0 for a span of 0.
static inline uint64_t workload_within(struct rng *r, uint64_t span)
{
	return (uint64_t)((unsigned __int128)rng_next64(r) * span >> 64);
}

// -ln(u / 2^64) in 2^-32; u 0 counts as 1. The error is below 2^-30.
uint64_t workload_neg_ln(uint64_t u);

// Arrivals of a Poisson process. Times are kept in 2^-16 ns, so that the rate is right for gaps
// of a few nanoseconds too.
struct arrivals {
	uint64_t mean_q16; // between two
	uint64_t next_q16;
};

// So many wire bytes a message (in 2^-16) at `load` millionths of speed_bps. The process begins at
// start_ns: its first arrival is a gap later.
struct arrivals arrivals_of(uint64_t bytes_q16, uint64_t load, uint64_t speed_bps,
			    uint64_t start_ns);

// Moves to the next arrival and returns its time in whole ns.
uint64_t arrivals_next(struct arrivals *a, struct rng *r);

// Bytes that a message of n_bytes occupies on the wire in packets of `mtu` payload bytes, link
// overhead included.
uint64_t workload_wire_bytes(uint8_t op, uint32_t mtu, uint32_t n_bytes);
