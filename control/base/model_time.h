// SPDX-License-Identifier: Apache-2.0
// Time dilation: a live switch or endpoint with `time_scale: S` lives in model time, which passes S
// times slower than the machine's. Rates, quanta and timers keep the values of the link they
// model (40G), and what moves on the wire of the machine is a S-th of it. docs/time-scale.md.
//
//   model = start + floor((real - start) / S)
//
// Both begin at `start`. It is computed from the whole real time at each reading, so nothing
// accumulates, it never goes back where real time does not, and S model nanoseconds are S*S real
// ones to the nanosecond. Pure; any thread. What people and other programs wait for (sockets,
// captures, the log) stays in real time: see the callers.
#pragma once

#include <stdint.h>

enum { TIME_START_NS = 1000000000, TIME_SCALE_MAX = 100000 };

static inline uint64_t model_time_ns(uint32_t scale, uint64_t real_ns)
{
	if (scale <= 1 || real_ns <= TIME_START_NS)
		return real_ns;
	return TIME_START_NS + (real_ns - TIME_START_NS) / scale;
}

// How long so much model time lasts. Never overflows: "for ever" stays that.
static inline uint64_t real_span_ns(uint32_t scale, uint64_t model_span_ns)
{
	uint64_t span_ns;

	if (scale <= 1)
		return model_span_ns;
	return __builtin_mul_overflow(model_span_ns, scale, &span_ns) ? UINT64_MAX : span_ns;
}

// How much model time passes meanwhile, rounded up: a time to wait for stays more than 0.
static inline uint64_t model_span_ns(uint32_t scale, uint64_t real_span_ns_)
{
	if (scale <= 1 || real_span_ns_ == 0)
		return real_span_ns_;
	return (real_span_ns_ - 1) / scale + 1;
}
