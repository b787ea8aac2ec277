// SPDX-License-Identifier: Apache-2.0
// The report of a run: a table for people, JSON for programs, and into --out CSV, the numbers over
// time, and a self-contained page that shows them (web/). Everything but the table's speed line is
// the same byte for byte whenever the scenario and the seed are. Control thread only; after
// measure_finish.
#pragma once

#include <stdio.h>

#include "control/lab/fair.h"
#include "control/lab/measure.h"

struct run {
	const struct scenario *sc;
	struct fabric *fabric;
	struct traffic *traffic;
	struct measure *measure;
	struct fair *fair; // NULL: the run did not come to its end
	struct lab_capture *capture; // NULL: none
	struct timeline *timeline; // NULL: no report is written
	uint64_t end_ns; // virtual
	bool broken_off; // by a signal
	unsigned digits; // of figures in tables
	uint64_t wall_ns, busy_ns; // real and processor time it took: for the speed line only
};

// Every expectation, the balances, no lossless drop and no wrong CNP that no expectation names,
// memory enough.
bool report_passed(const struct run *r);
// It has flows, and no frame was sent.
bool report_idle(const struct run *r);
void report_table(const struct run *r, FILE *out);
void report_json_print(const struct run *r, FILE *out);
// Writes report.json, timeline.json, series.csv, flows.csv and report.html into dir (made if need
// be). 0, -errno.
__attribute__((warn_unused_result)) int report_files(const struct run *r, const char *dir);

// ---- files of a report in one folder, with the errors of writing them
// 0 when it is there, or was made, and files can be put into it; -errno.
__attribute__((warn_unused_result)) int report_folder(const char *dir);
// NULL with errno.
FILE *report_create(const char *dir, const char *file);
// Says on standard error where a file of a report is; "": the folder.
void report_say(const char *dir, const char *file);
// Closes it. 0, -errno: something of it could not be written.
__attribute__((warn_unused_result)) int report_finish(FILE *out);
