// SPDX-License-Identifier: Apache-2.0
// A clock of the system in nanoseconds, for code that waits for people and processes. No worker and
// nothing of the lab reads it. Async-signal-safe.
#pragma once

#include <stdint.h>
#include <time.h>

#include "dataplane/base/units.h"

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}
