// SPDX-License-Identifier: Apache-2.0
// Scales of the units that names carry (_ns, _ppm, _bytes), and what is done with times everywhere.
#pragma once

#include <stdint.h>

enum {
	US_NS = 1000,
	MS_NS = 1000000,
	SECOND_NS = 1000000000,
	SECOND_US = 1000000,
	PPM = 1000000, // parts of a whole
	BITS_PER_BYTE = 8,
};

// Alpha of a dynamic threshold is a power of two.
enum { ALPHA_LOG2_MIN = -8, ALPHA_LOG2_MAX = 7 };

// The earlier of two times; UINT64_MAX stands for never.
static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
