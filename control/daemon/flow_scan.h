// SPDX-License-Identifier: Apache-2.0
// The flows of a switch by their rate, for one `show flows`. A rate needs two looks at the bytes of
// every flow, and a million flows are too many for one turn of the control loop: each look goes on
// a few thousand places a turn, the second begins a tenth of a second after the first. Only the
// largest flows become rows; the others are counted. Called by the control thread only.
//
//   [first look, in steps] -> [SCAN_GAP_NS since its beginning] -> [second look] -> rows
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

struct json_object;
struct weir_switch;

enum {
	SCAN_STEP = 8192, // places a turn: a millisecond or less where all hold a flow
	SCAN_GAP_NS = 100 * MS_NS, // of real time
	SCAN_LIMIT = 50, // rows where nobody says how many
	SCAN_LIMIT_MAX = 1000,
};

struct flow_wish {
	int port; // flows that enter or leave by it; -1: all
	bool unpaired; // only those that need a pair and have none
	uint32_t limit; // 1 to SCAN_LIMIT_MAX
};

struct scan_place { // what the first look saw
	uint64_t bytes, first_ns; // 0, 0: no flow
};

struct scan_top {
	uint64_t rate_bps, bytes, first_ns;
	uint32_t place;
};

// Zeroed: at rest.
struct flow_scan {
	struct flow_wish wish;
	uint32_t n_places, at; // at: the next place to look at
	bool second;
	uint64_t began_ns; // the first look, in real time
	struct scan_place *places; // n_places
	uint64_t *step_ns; // model time of each step of the first look
	struct scan_top *top; // a heap, the smallest on top
	uint32_t n_top;
	uint64_t n_matching, n_unpaired, n_all; // flows of the second look
	// Of the step at hand.
	uint64_t now_ns, dt_ns;
};

struct scan_time {
	uint64_t real_ns, model_ns;
};

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int flow_scan_start(struct flow_scan *s,
							const struct weir_switch *sw,
							const struct flow_wish *wish);
void flow_scan_fini(struct flow_scan *s); // at any time; at rest again

// A turn of it. True: both looks are done.
bool flow_scan_step(struct flow_scan *s, struct weir_switch *sw, struct scan_time now);

// Adds "flows", the largest first, and how many there are: "all", "unpaired" of those, "matching"
// the wish, and "left_out" of those.
void flow_scan_emit(const struct flow_scan *s, struct weir_switch *sw, uint64_t model_ns,
		    struct json_object *out);
