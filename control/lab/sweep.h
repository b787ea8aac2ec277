// SPDX-License-Identifier: Apache-2.0
// `weir-lab sweep`: one scenario with every combination of some values, each in a process of its
// own, several at a time; then one table, one CSV and one plot of what each run measured. A run
// that fails is shown as such and stops nobody else. Each run is what `weir-lab run --set ...`
// would do.
#pragma once

#include <stdio.h>

#include "control/lab/expr_func.h"
#include "control/lab/lab.h"

// A value of one dimension as it was given, "kmin=100KB,200KB".
struct sweep_vary {
	const char *key;
	const char **values;
	uint32_t n;
};

struct sweep {
	const struct lab_args *args;
	struct arena *arena;
	struct sweep_vary *varies;
	uint32_t n_varies, n_points; // combinations
	struct sweep_point *points;
	// Why runs could not report, each once, in the order of the points.
	const char **reasons;
	uint32_t n_reasons;
};

// What a run said of one expectation or metric.
struct sweep_value {
	const char *name, *unit; // of report_json
	const char *text; // as the run prints the value; empty: the value is one of a list
	double value; // NaN: none
	bool judged, passed; // judged: an expectation
};

enum sweep_state { SWEEP_WAITS, SWEEP_RUNS, SWEEP_DONE };

struct sweep_point {
	uint8_t state; // enum sweep_state
	int code; // of the process: LAB_*, or 128 + signal
	bool passed;
	struct sweep_value *values;
	uint32_t n_values;
	const char *error; // of a run that could not report: what standard error says, or NULL
	uint32_t reason; // which of the sweep's it is, from 1; 0: none
};

// "key=a,b,c"; commas inside [] {} and quotes do not part. False: the complaint is printed.
bool sweep_parse_vary(struct arena *a, const char *text, struct sweep_vary *out);
// Which value of dimension d the point has.
uint32_t sweep_index(const struct sweep *s, uint32_t point, uint32_t d);
// "100KB" is 100000: where the values of a dimension are quantities, a plot has them on its axis.
bool sweep_quantity(const char *text, double *v, enum expr_unit *unit);
// What the JSON of a run says.
void sweep_take(struct sweep *s, struct sweep_point *p, const char *json);

// sweep_report.c
void sweep_table(const struct sweep *s, FILE *out);
void sweep_json(const struct sweep *s, FILE *out);
// sweep.csv, sweep-*.svg, sweep.html. 0, -errno.
__attribute__((warn_unused_result)) int sweep_files(const struct sweep *s, const char *dir);

int lab_sweep(const struct lab_args *a);
