// SPDX-License-Identifier: Apache-2.0
#include "control/stop.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dataplane/units.h"

enum { ECHO_NS = 200 * MS_NS };

// Written by the handler only.
static volatile sig_atomic_t n;
static uint64_t last_ns; // of the request counted last
static void (*on_next)(int n);

// clock_gettime is async-signal-safe. Handlers of two signals that nest count twice at worst.
static void on_signal(int sig)
{
	struct timespec t;
	uint64_t now_ns;

	(void)sig;
	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ns = (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
	if (n == 0 || now_ns - last_ns >= ECHO_NS) {
		last_ns = now_ns;
		n = n + 1;
	}
	if (on_next != NULL)
		on_next(n);
}

void stop_catch(int sa_flags, void (*next)(int n))
{
	const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = sa_flags};

	on_next = next;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int stop_requests(void)
{
	return n;
}
