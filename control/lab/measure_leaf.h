// SPDX-License-Identifier: Apache-2.0
// One function of a text while it is measured: opened at the beginning of its window, sampled,
// closed at the end, then asked for its values. Used by measure.c for expectations, which have one
// window, and records, which have one after the other. Single thread.
//
//   measure_leaf_open -> measure_leaf_sample ... -> measure_leaf_close -> values
//         ^                                                    |
//         +------------- records: the next row ----------------+
#pragma once

#include "control/lab/metric.h"

// The same value several times in a row is kept once: queues are often empty.
struct sample_run {
	double v;
	uint64_t n;
};

struct sample_set {
	uint64_t n;
	double sum, min, max, last;
	struct sample_run *runs; // for quantiles
	uint32_t n_runs, cap;
};

struct measure_leaf {
	const struct expr_leaf *leaf;
	struct expr_object *objects; // those that it is about, now that all are known
	uint32_t n; // values: one for each object, or one for all of them
	uint32_t n_objects;
	bool open, closed;
	uint64_t from_ns, to_ns; // of the window at hand
	double *first, *first_per; // counters at from_ns
	struct sample_set *samples;
	struct watch *watches; // BY_WATCH
	struct level *levels; // BY_LEVEL
	uint64_t first_done; // operations that had finished before
	double *values; // of each object, after close
};

// Finds the objects: hosts that * means, connections of flows. 0, -ENOMEM.
__attribute__((warn_unused_result)) int measure_leaf_bind(struct measure_leaf *l,
							  const struct expr_leaf *leaf,
							  const struct metric_world *w);
void measure_leaf_fini(struct measure_leaf *l);

void measure_leaf_open(struct measure_leaf *l, const struct metric_world *w, uint64_t now_ns);
// 0, -ENOMEM.
__attribute__((warn_unused_result)) int measure_leaf_sample(struct measure_leaf *l,
							    const struct metric_world *w);
__attribute__((warn_unused_result)) int
measure_leaf_close(struct measure_leaf *l, const struct metric_world *w, uint64_t now_ns);

// Once more at the end of the run: control hears of storms a little later than they happen.
void measure_leaf_settle(struct measure_leaf *l, const struct metric_world *w);

static inline bool measure_leaf_samples(const struct measure_leaf *l)
{
	// What a flow carried while it was paired is counted from sample to sample.
	if (l->leaf->fn->metric == METRIC_PAIRED_BYTES)
		return true;
	return l->leaf->fn->method == BY_SAMPLE && l->leaf->stat.kind != STAT_NOW;
}

// ---- of samples
// 0, -ENOMEM. keep: for a quantile.
__attribute__((warn_unused_result)) int sample_set_add(struct sample_set *s, double v, bool keep);
// NaN: none. Sorts the runs.
double sample_set_stat(struct sample_set *s, struct expr_stat stat);
void sample_set_clear(struct sample_set *s);
