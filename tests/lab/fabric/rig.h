// SPDX-License-Identifier: Apache-2.0
// A scenario of this folder made into a fabric with traffic, for tests that look inside.
#pragma once

#include "control/lab/fabric.h"
#include "control/lab/traffic.h"

struct rig {
	struct scenario *sc;
	struct traffic *traffic;
	struct fabric *f;
};

// Fails the test when it cannot be made. sets end with a NULL path; NULL: none.
void rig_make(struct rig *r, const char *file, const struct sc_set *sets);
void rig_run(struct rig *r, uint64_t t_ns); // and checks the books
void rig_free(struct rig *r);

// Sum over everything that is counted: equal for equal runs.
uint64_t rig_digest(const struct rig *r);
uint64_t rig_drops(const struct rig *r, uint32_t sw, enum drop_reason reason);
