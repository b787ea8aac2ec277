// SPDX-License-Identifier: Apache-2.0
// The numbers of a run over time, for its page: those of each switch (control/observe/columns.h),
// of the hosts, and the bytes of the flows. Read between two pieces of the run; changes nothing in
// it. Single thread.
#pragma once

#include <stdio.h>

#include "control/lab/report.h"

struct timeline;

// NULL: no memory.
struct timeline *timeline_create(const struct run *r);
void timeline_destroy(struct timeline *t); // NULL is fine

// The fabric has come to t_ns. end: the run is over.
void timeline_look(struct timeline *t, uint64_t t_ns, bool end);

// {"columns": [...], "frames": [...]}
void timeline_print(const struct timeline *t, FILE *out);
