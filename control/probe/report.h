// SPDX-License-Identifier: Apache-2.0
// The output of weir-probe: a table, JSON, and a page in Markdown, all from the rows of values.def.
// Control thread only.
#pragma once

#include <stdio.h>

#include "control/probe/measure.h"

struct probe_report {
	const struct probe *probe;
	const struct probe_result *results; // PROBE_N_MEASURES
	const char *device; // what was measured, in words
	const char *const *ports; // PROBE_PORTS, NULL: not used
};

void probe_report_table(const struct probe_report *r, FILE *out);
void probe_report_json(const struct probe_report *r, FILE *out);
void probe_report_page(const struct probe_report *r, FILE *out);
void probe_report_values(FILE *out); // the rows, for the documentation
