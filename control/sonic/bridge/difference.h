// SPDX-License-Identifier: Apache-2.0
// A counter that is the difference of two counters, which are read one after the other. When `part`
// is read later than `all`, the difference is too small by what was counted in between, and the
// next one may be smaller still. The highest of them is never above the true one, and never goes
// back.
// Pure; one thread.
#pragma once

#include <stdint.h>

// The caller zeroes it, and again when the counters may have begun at 0.
struct difference {
	uint64_t all, part; // of the last reading
	uint64_t shown;
};

// all - part; what was shown before, if that is more. Where one of the two went back, an operator
// has cleared the counters: the difference then begins anew.
static inline uint64_t difference_shown(struct difference *d, uint64_t all, uint64_t part)
{
	uint64_t now = all > part ? all - part : 0;

	if (all < d->all || part < d->part || now > d->shown)
		d->shown = now;
	d->all = all;
	d->part = part;
	return d->shown;
}
