// SPDX-License-Identifier: Apache-2.0
// The watchdog of a port: its own keys over those of its profile, one by one. Whether one is on,
// what it says, and the rules between its keys and those of PFC. Control thread only. It needs no
// rule about polls: the worker looks at its ports in every loop, so every time can be met.
#pragma once

#include "control/config/compile.h"

// Where a value is said: for messages.
struct watchdog_key {
	const struct cfg_val *v;
	const struct cfg_map *owner; // the port or the profile that says it
	struct cfg_pos at;
};

struct watchdog_view {
	bool on;
	const struct cfg_map *owner; // the port or the profile that says so
	struct cfg_pos at;
	struct watchdog_key mode, action, detect, restore, count, window, then;
};

// port NULL: the profile's alone.
struct watchdog_view watchdog_view(const struct cfg_profile *profile, const struct cfg_port *port);

void watchdogs_check(const struct config *c, struct diag_sink *s);

// Those of every port, and the warnings that need its speed.
void compile_watchdogs(struct compiler *k);
