// SPDX-License-Identifier: Apache-2.0
// Packet sequence numbers of the reliable connection service: serial numbers of 24 bits
// (InfiniBand Architecture volume 1, 9.7.2). Everywhere else a requester counts packets in 64
// bits from 0 and only these functions know that the wire wraps. Pure.
#pragma once

#include <stdint.h>

enum { PSN_BITS = 24, PSN_MASK = 0xffffff };

static inline uint32_t psn_add(uint32_t psn, uint64_t n)
{
	return (uint32_t)(psn + n) & PSN_MASK;
}

// How far a lies after b: -2^23 .. 2^23 - 1.
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	uint32_t up = (a - b) << (32 - PSN_BITS);

	// Arithmetic shift of a negative number: what gcc and clang both do.
	return (int32_t)up >> (32 - PSN_BITS);
}
