// SPDX-License-Identifier: Apache-2.0
// Rules between the keys of a policy that no row of the schema can see, as a table of named
// functions. Those that need cells and pools are in compile.c. Control thread only.
#pragma once

#include "control/config/model.h"

// Applies every rule; all of them speak, whatever the others said.
void config_check(const struct config *c, struct diag_sink *s);

// A message about `key` of a map ("" for the map itself).
__attribute__((format(printf, 6, 7))) void check_report(struct diag_sink *s, enum diag_level level,
							const struct cfg_map *m, const char *key,
							struct cfg_pos at, const char *fmt, ...);

// The class whose settings a group or a queue takes: the one that gives any, else the lowest that
// maps to it; -1 where no class does.
int check_class_of_pg(const struct cfg_profile *p, unsigned pg);
int check_class_of_queue(const struct cfg_profile *p, unsigned queue);
bool check_gives_queue(const struct cfg_class *c); // schedule, rates, egress, wred, ipcc
