// SPDX-License-Identifier: Apache-2.0
// Warnings about a policy that loads and compiles but cannot mean what it says: a lossless class
// without PAUSE, a profile without a port, a shared pool of a few microseconds. The programs that
// face a user call it. The lab does not: a scenario may want such a policy. Control thread only.
#pragma once

#include "control/config/config.h"

// facts: as in config_compile, which made *p. n_processors: of the machine that runs the policy.
// Appends warnings to *d.
void advice_add(const struct config *c, const struct port_facts *facts, const struct policy *p,
		unsigned n_processors, struct diags *d);

// The processors that this process may use.
unsigned advice_processors(void);
