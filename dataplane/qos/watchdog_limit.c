// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/watchdog.h"

// The window is closed at both ends: storms exactly limit_window_ns apart fall into one.
bool watchdog_limit_storm(const struct watchdog_params *p, struct watchdog_limit *l, uint64_t t_ns)
{
	uint64_t first_ns;

	l->at_ns[l->n++ % WATCHDOG_LIMIT_MAX] = t_ns;
	if (p->limit_count == 0 || l->n < p->limit_count)
		return false;
	first_ns = l->at_ns[(l->n - p->limit_count) % WATCHDOG_LIMIT_MAX];
	if (t_ns - first_ns > p->limit_window_ns)
		return false;
	l->n = 0;
	return true;
}
