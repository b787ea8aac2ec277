// SPDX-License-Identifier: Apache-2.0
// Flooding by class: which classes are flooded, and the memory that copies of lossless frames need.
// Control thread only.
#pragma once

#include "control/config/compile.h"

// A lossy class is flooded, a lossless one only where the file says so.
bool flood_is_on(const struct cfg_class *c);

void flood_check(const struct cfg_profile *p, struct diag_sink *s);

// After groups and routes.
void compile_flood(struct compiler *k);
