// SPDX-License-Identifier: Apache-2.0
// The marking curve of a queue from samples: which kmin, kmax and pmax explain best how many frames
// were marked at each queue length. Maximum likelihood; the bounds are the 95 % profile likelihood
// intervals. Pure.
//
//   p(len) = 0                                      len <= kmin
//            pmax * (len - kmin) / (kmax - kmin)    kmin < len <= kmax
//            1, or pmax                             kmax < len
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Of one queue length: index * step bytes.
struct curve_sample {
	uint32_t marked, total;
};

struct curve_bounds {
	double value, low, high;
};

struct curve {
	struct curve_bounds kmin, kmax; // in steps
	struct curve_bounds pmax; // 0..1
	bool above_all; // every frame is marked above kmax
	bool kmax_seen; // else a curve that goes on beyond the samples fits nearly as well
};

// False: no sample is marked. n: lengths 0..n - 1.
bool curve_fit(const struct curve_sample *s, uint32_t n, struct curve *out);

// The marks of all fills. Each fill has one sample of each length.
struct curve_fills {
	uint32_t n;
	double marked, marked_squared; // sums of the marks of one fill and of their squares
};
// Whether the marks of the lengths, and the marks of the fills, differ from the curve by no more
// than chance allows.
bool curve_explains(const struct curve *c, const struct curve_sample *s, uint32_t n,
		    const struct curve_fills *fills);
