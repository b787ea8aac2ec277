// SPDX-License-Identifier: Apache-2.0
// All flows of the table of a bench's switch, at once.
#pragma once

#include "dataplane/switch_flows.h"
#include "tests/lab/bench.h"

enum { KEPT = 64 }; // flows, at most

struct rows {
	unsigned n;
	struct flow_row row[KEPT];
};

static inline bool keep(void *arg, const struct flow_row *row)
{
	struct rows *all = arg;

	assert_true(all->n < KEPT);
	all->row[all->n++] = *row;
	return true;
}

static inline struct rows walk(struct bench *b)
{
	struct rows all = {0};

	switch_flows_walk(b->sw, b->clock.now_ns, true, keep, &all);
	return all;
}
