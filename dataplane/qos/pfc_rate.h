// SPDX-License-Identifier: Apache-2.0
// Early warning: PFC frames per second of one class of one port, in one direction, above a
// threshold, or the microseconds of each second for which the peer pauses the class. One verdict on
// the way up and one on the way down, never two within a second (hold-off), and the way down needs
// the rate below seven eighths of the threshold (hysteresis), so that a rate at the threshold does
// not chatter. As H3C's "priority-flow-control early-warning". Pure; control feeds it the counter
// it reads anyway, from every few milliseconds to once a second.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pfc_warning_params {
	uint32_t in_pps, out_pps; // PFC frames per second; 0: no warning
	uint32_t paused_us; // of each second, by the peer; 0: no warning
};

enum { PFC_RATE_SLOTS = 10 };

// The rate is over the last second, in tenths.
struct pfc_rate {
	uint64_t slot_start_ns;
	uint64_t at_start; // the counter when the present slot began
	uint64_t slots[PFC_RATE_SLOTS]; // frames of the latest full slots
	uint32_t slot; // next to be overwritten
	bool begun, above;
	uint64_t changed_ns; // the last verdict
};

enum pfc_rate_verdict { PFC_RATE_SAME, PFC_RATE_UP, PFC_RATE_DOWN };

// The counter stands at `frames` at now_ns. *pps: the rate now.
enum pfc_rate_verdict pfc_rate_look(struct pfc_rate *r, uint32_t threshold_pps, uint64_t frames,
				    uint64_t now_ns, uint64_t *pps);
