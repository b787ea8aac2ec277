// SPDX-License-Identifier: Apache-2.0
// The parts of a report, shared by table, JSON, files and page (report*.c).
#pragma once

#include "control/lab/report.h"
#include "control/lab/report_grid.h"

struct json_object;

// Numbers of one host or flow item over the whole run.
struct host_row {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, goodput_bytes, ce_marked;
	uint64_t tx_pause, rx_pause, rx_pause_duration_us, tx_pause_duration_us;
	double tx_bps, goodput_bps; // tx: of the line
};
struct host_row report_host(const struct run *r, uint32_t host);

struct lab_flow_row {
	uint32_t n_conns;
	uint64_t n_done, bytes; // operations finished; payload acknowledged
	double goodput_bps;
	double ideal_bps; // of endless streams (fair.h); NaN: not known
	double done_ns; // its last message; NaN: not done
	struct traffic_counts tcp; // sums, of TCP
	double cwnd_bytes; // of TCP at the end, the mean over open connections; NaN: none
	double fct_p50, fct_p99, fct_max, slowdown_p50, slowdown_p99; // NaN: none finished
};
struct lab_flow_row report_flow(const struct run *r, uint32_t flow);

// Sorted values of function "fct" or "slowdown" of the operations of a flow, for the caller to
// free. NULL: no memory.
double *report_operations(const struct run *r, uint32_t flow, const char *function, uint64_t *n);
int report_ascending(const void *a, const void *b); // of doubles, for qsort

// Frames of lossless classes that were dropped for one reason; for want of buffer.
uint64_t report_lossless_dropped(const struct run *r, unsigned reason);
uint64_t report_lossless_drops(const struct run *r);

// "PASS", "FAIL", or "open" when the run ended before it could be said.
const char *report_word(const struct measure_verdict *v);

// ---- text
void report_put_count(struct grid *g, uint64_t n); // 0: an empty cell
void report_head(const struct run *r, FILE *out); // what ran, and how far
void report_foot(const struct run *r, FILE *out); // losses, balance, verdict
// The text of head or foot, for the caller to free. NULL: no memory.
char *report_part(const struct run *r, void (*part)(const struct run *r, FILE *out));
void report_grids(const struct run *r, grid_emit_fn *emit, FILE *out);

// ---- why
void report_why(const struct run *r, grid_emit_fn *emit, FILE *out);
void report_why_line(const struct run *r, FILE *out); // of the foot, where nothing was found
void report_why_json(const struct run *r, struct json_object *out);

// ---- auto ECN
void report_thresholds(const struct run *r, grid_emit_fn *emit, FILE *out);
void report_thresholds_json(const struct run *r, struct json_object *out);

// ---- warnings
uint64_t report_rto_ns(const struct run *r, uint32_t host);
// Of the foot: timers that were too short, a run in which nothing arrived.
void report_warnings(const struct run *r, FILE *out);
void report_warnings_json(const struct run *r, struct json_object *out);

// ---- notifications
// CNPs of switches that were wrong, that hosts refused, or that could not be checked.
uint64_t report_wrong_cnps(const struct run *r);
void report_cnps(const struct run *r, grid_emit_fn *emit, FILE *out);
void report_cnps_line(const struct run *r, FILE *out); // of the foot, where any were sent
void report_cnps_json(const struct run *r, struct json_object *out);
