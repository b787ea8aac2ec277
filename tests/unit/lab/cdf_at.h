// SPDX-License-Identifier: Apache-2.0
// What tests compare draws with.
#pragma once

#include "control/lab/cdf.h"

// P(size <= n_bytes) in 2^-32.
static inline uint64_t cdf_at(const struct cdf *c, uint32_t n_bytes)
{
	uint32_t i = 0;
	const struct cdf_point *from, *to;

	while (i < c->n && c->points[i].n_bytes <= n_bytes)
		i++;
	if (i == 0)
		return 0;
	from = &c->points[i - 1];
	if (i == c->n)
		return 1ull << 32;
	to = &c->points[i];
	return from->p +
	       (to->p - from->p) * (n_bytes - from->n_bytes) / (to->n_bytes - from->n_bytes);
}
