// SPDX-License-Identifier: Apache-2.0
#include "control/base/stop.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

enum { ECHO_NS = 200 * MS_NS };

// Written by the handler only.
static volatile sig_atomic_t n;
static uint64_t last_ns; // of the request counted last
static void (*on_next)(int n);

// Handlers of two signals that nest count twice at worst.
static void on_signal(int sig)
{
	uint64_t now_ns = monotonic_ns();

	(void)sig;
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

void stop_catch_also(int sig)
{
	const struct sigaction sa = {.sa_handler = on_signal};

	sigaction(sig, &sa, NULL);
}

int stop_requests(void)
{
	return n;
}
