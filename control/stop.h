// SPDX-License-Identifier: Apache-2.0
// How often the operator has asked a program to stop: the first request ends its work in order, a
// later one cuts that short. timeout(1), sudo and shells may send one and the same request to
// the process and to its group; what follows within STOP_ECHO_NS is an echo, not a request.
// Called by signal handlers only; the program reads n.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <time.h>

enum { STOP_ECHO_NS = 200000000 };

struct stop_requests {
	volatile sig_atomic_t n;
	uint64_t last_ns; // of the request counted last
};

// clock_gettime is async-signal-safe. Handlers of two signals that nest count twice at worst.
static inline int stop_asked(struct stop_requests *s)
{
	struct timespec t;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (s->n == 0 || now_ns - s->last_ns >= STOP_ECHO_NS) {
		s->last_ns = now_ns;
		s->n = s->n + 1;
	}
	return s->n;
}
