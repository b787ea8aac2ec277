// SPDX-License-Identifier: Apache-2.0
// The numbers of a run that `record:` and `expect:` name. Expressions (expr.h) are parsed before
// the run, and mistakes have their place. During the run counters
// are read at the edges of windows and queue lengths at every sample; afterwards expressions are
// evaluated. Single thread; a run repeats to the byte.
//
// What is read at an instant is read before anything else happens there, so a window has its
// beginning in it and not its end; only at the end of the run is it after everything.
#pragma once

#include "control/lab/expr.h"
#include "control/lab/fabric.h"
#include "control/lab/traffic.h"

struct measure;

// Parses all records and expectations. 0, -EINVAL with the sink filled.
__attribute__((warn_unused_result)) int measure_create(const struct scenario *sc,
						       struct measure **out, struct diag_sink *s);
// Digits of the texts of verdicts, at least; EXPR_DIGITS at first.
void measure_set_digits(struct measure *m, unsigned digits);
// One more expression, of `--metric`, whose value the report gives. 0, -EINVAL with the sink
// filled.
__attribute__((warn_unused_result)) int measure_add_metric(struct measure *m, const char *text,
						    struct diag_sink *s);
// Schedules the reading of counters on the fabric's clock; after traffic_start. 0, -ENOMEM.
__attribute__((warn_unused_result)) int measure_start(struct measure *m, struct fabric *f,
						      struct traffic *t);
// At the end, also of a run that was broken off: end_ns is as far as it came. 0, -ENOMEM (also
// when memory ran out on the way: then numbers are missing).
__attribute__((warn_unused_result)) int measure_finish(struct measure *m, uint64_t end_ns);
void measure_destroy(struct measure *m); // NULL is fine

struct measure_verdict {
	struct sc_text source;
	bool pass, known; // known false: the run ended before its window
	enum expr_unit unit;
	double value; // what was measured; of several the one that decided. NaN: nothing
	char measured[EXPR_VALUE_LEN], expected[EXPR_VALUE_LEN], tolerance[EXPR_VALUE_LEN];
};
struct measure_verdict measure_expect(const struct measure *m, uint32_t i);

// Of measure_add_metric: only source, known, unit, value and measured are set.
uint32_t measure_n_metrics(const struct measure *m);
struct measure_verdict measure_metric(const struct measure *m, uint32_t i);

// Histograms of `record:`, one for each object.
uint32_t measure_n_histograms(const struct measure *m);
const struct level *measure_histogram(const struct measure *m, uint32_t i, const char **name);

// Series of `record:`: one column per recorded object, one row per instant, each over the time
// since the row before. The columns are known once started.
struct measure_series {
	struct measure_column {
		const char *name; // "rate(h1)"
		enum expr_unit unit;
		uint32_t record, element; // of the record's list
	} * columns;
	uint32_t n_columns;
	uint64_t n_rows, *row_ns;
	double *values; // n_columns a row; NaN: nothing
};
const struct measure_series *measure_series(const struct measure *m);

// ---- samples of one value
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

// 0, -ENOMEM. keep: for a quantile.
__attribute__((warn_unused_result)) int sample_set_add(struct sample_set *s, double v, bool keep);
// NaN: none. Sorts the runs.
double sample_set_stat(struct sample_set *s, struct expr_stat stat);
void sample_set_clear(struct sample_set *s);
