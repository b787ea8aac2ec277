// SPDX-License-Identifier: Apache-2.0
// The measures of weir-probe, one row each: how a number of the device is found by trials
// (probe.h). docs/probe.md explains each. A measure changes nothing of the device but what its
// frames and PAUSE frames do, and leaves the egress released. One thread.
#pragma once

#include "control/probe/probe.h"

struct probe_measure {
	const char *name, *help;
	enum probe_verdict (*run)(struct probe *p);
	enum probe_value_id first, last; // what it finds
	bool obeys; // the device must obey PAUSE, however the egress is held
	bool congestion; // it knows PROBE_HOLD_CONGESTION
};

enum { PROBE_N_MEASURES = 10 };
extern const struct probe_measure probe_measures[PROBE_N_MEASURES];

// Index of a measure, -1: there is none of that name.
int probe_measure_find(const char *name);

// Runs the measures of the bits in `which`, and fills verdicts and reasons (PROBE_WHY_LEN each).
// Returns how many were not done.
struct probe_result {
	enum probe_verdict verdict;
	char why[PROBE_WHY_LEN];
};
unsigned probe_measure_all(struct probe *p, unsigned which,
			   struct probe_result results[PROBE_N_MEASURES]);

// ---- one file each

// buffer.c
enum probe_verdict probe_cell(struct probe *p);
enum probe_verdict probe_xoff(struct probe *p);
enum probe_verdict probe_xon(struct probe *p);
enum probe_verdict probe_headroom(struct probe *p);
enum probe_verdict probe_limit(struct probe *p);
enum probe_verdict probe_shared(struct probe *p);
// marking.c
enum probe_verdict probe_ecn(struct probe *p);
// timing.c
enum probe_verdict probe_dwrr(struct probe *p);
enum probe_verdict probe_reaction(struct probe *p);
enum probe_verdict probe_watchdog(struct probe *p);

// If all trials agree on a count, low == n == high. Else low and high contain each answer.
struct probe_count {
	uint32_t n, low, high;
};

// For other measures: the XOFF threshold in frames of len bytes. PROBE_DONE: n frames do not bring
// PAUSE, and one more does.
enum probe_verdict probe_find_xoff(struct probe *p, uint16_t len, struct probe_count *n);
// Frames that the device accepts until it loses one, which come after `from` at least.
enum probe_verdict probe_find_loss(struct probe *p, uint16_t len, uint32_t from,
				   struct probe_count *n);
// A frame that takes one cell and fills it where the size of a cell is known.
uint16_t probe_cell_len(const struct probe *p);
