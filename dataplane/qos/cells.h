// SPDX-License-Identifier: Apache-2.0
// Bytes to buffer cells. The shared memory is accounted in cells, as a merchant ASIC does:
// cells(len) = ceil(len / cell). A multiplication by a reciprocal replaces the division:
// exact for len + cell <= 65,536 and cell >= 32, see tests/unit/qos/test_cells.c.
#pragma once

#include <stdint.h>

struct cell_size {
	uint32_t bytes;
	uint64_t reciprocal_q40; // ceil(2^40 / bytes)
};

static inline struct cell_size cell_size_of(uint32_t bytes)
{
	return (struct cell_size){.bytes = bytes,
				  .reciprocal_q40 = ((1ull << 40) + bytes - 1) / bytes};
}

static inline uint32_t cells_of(const struct cell_size *cs, uint32_t len)
{
	return (uint32_t)(((len + cs->bytes - 1) * cs->reciprocal_q40) >> 40);
}
