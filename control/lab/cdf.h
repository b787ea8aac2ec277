// SPDX-License-Identifier: Apache-2.0
// A distribution of message sizes, read from lines of "bytes probability" that give the
// cumulative distribution at some points; between two points it is linear. Sizes are drawn by
// inverse transform in integers, so that the same random word is the same size on every machine.
// Control thread only; pure but for the reading of the file.
//
//   # a comment
//   1000   0.5      half of the messages have at most 1000 bytes
//   1000   0.7      a fifth has exactly 1000: a step
//   9000   1        the rest lies evenly between 1000 and 9000
//
// If the last line has 100, all lines are per cent.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "control/base/arena.h"
#include "control/base/diag.h"

enum { CDF_MAX_POINTS = 1024, CDF_MAX_FILE = 1 << 16, CDF_STRATA = 1 << 16 };

struct cdf_point {
	uint32_t n_bytes;
	uint64_t p; // of at most n_bytes, in 2^-32
};

struct cdf {
	const struct cdf_point *points; // both members rise; the last p is 2^32
	uint32_t n;
};

// The whole text of a file, with a NUL behind its X
__attribute__((warn_unused_result)) int cdf_parse(const char *file, const char *text, size_t len,
						  struct arena *a, struct cdf *out,
						  struct diag_sink *s);

// Reads the file: -ENOENT and the like when it cannot be read (nothing is reported then).
__attribute__((warn_unused_result)) int cdf_load(const char *path, struct arena *a, struct cdf *out,
						 struct diag_sink *s);

// The size whose probability to be reached is u / 2^32; at least 1 byte.
uint32_t cdf_sample(const struct cdf *c, uint32_t u);

// The mean of what `cost` makes of a size, in 2^-16: over CDF_STRATA sizes of equal probability.
typedef uint64_t cdf_cost_fn(const void *arg, uint32_t n_bytes);
uint64_t cdf_mean_q16(const struct cdf *c, cdf_cost_fn *cost, const void *arg);
