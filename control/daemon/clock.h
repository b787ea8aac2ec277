// SPDX-License-Identifier: Apache-2.0
// The daemon's clock from the time-stamp counter: nanoseconds since it started, beginning at one
// second so that no valid time is 0. Read by each worker once per loop and by control; both see the
// same clock, up to what the cores' counters differ (callers keep their own time from falling).
// It is real time; what is handed to the dataplane is model time (control/base/model_time.h).
#pragma once

#include <stdint.h>

#include <rte_cycles.h>

#include "control/base/model_time.h"
#include "drivers/system_clock.h"

struct tsc_clock {
	uint64_t start_tsc;
	uint64_t ns_per_tsc_q32;
};

enum { CLOCK_START_NS = TIME_START_NS };

static inline void clock_start(struct tsc_clock *c)
{
	c->start_tsc = rte_rdtsc();
	c->ns_per_tsc_q32 = (1000000000ull << 32) / rte_get_tsc_hz();
}

// Rate error from the rounding of the factor: below 1e-9 for counters slower than 4 GHz.
static inline uint64_t clock_now_ns(const struct tsc_clock *c)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t t = rte_rdtsc();
	uint64_t elapsed = t > c->start_tsc ? t - c->start_tsc : 0;

	return CLOCK_START_NS + (uint64_t)(((wide)elapsed * c->ns_per_tsc_q32) >> 32);
}

// The time of day, since 1970.
static inline uint64_t wall_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}
