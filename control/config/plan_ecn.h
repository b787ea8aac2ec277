// SPDX-License-Identifier: Apache-2.0
// Whether ECN marks before PFC pauses: the marks that are expected before a group enters XOFF
// (DCQCN, section 4, with the average and the chance of WRED). `check` warns by the verdict, and
// `plan` prints the sum. Control thread only.
//
// The sum is taken over this traffic:
//
//   One port sends frames of full size at line rate, from an empty switch. The frames go to the
//   outputs in turn, and to one class of each lossless group of the port in turn. The sender obeys
//   neither CNP nor PAUSE. Other traffic takes a part of each output:
//
//   outputs                                     each sends, at most
//   all other ports with ECN in the class       half of the bytes that arrive for the output
//   all of them that share one WRED setting     the same
//   the slowest port of one WRED setting        speed / sum of the speeds of all other ports
//
//   The outputs with the smallest sum count. So `yes` also holds for an incast of all other ports.
//   Not covered: outputs that are paused, where marks at dequeue come late, and frames much
//   shorter than a cell, with which a queue has few bytes at XOFF.
//
//   marks = sum of p(average) over the frames that the queues decide about before XOFF
//
// The accounts are kept by pg.h, average and chance by wred.h, frame by frame. A pool of more than
// 2^20 frames is filled in steps of several frames, so that XOFF is exact to a step. The other
// lossless groups of the port are taken to be as full as the group.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy.h"

enum ecn_before_pfc {
	ECN_BEFORE_PFC_NO, // fewer than 0.1 marks, or no other port
	ECN_BEFORE_PFC_MARGINAL,
	ECN_BEFORE_PFC_YES, // more than 10 marks
};

struct plan_ecn {
	uint64_t kmin_bytes; // the lowest of the outputs
	unsigned n_outputs; // 0: no other port has ECN in the class
	bool output[POLICY_MAX_PORTS]; // the ports that the frames go to
	uint64_t n_frames; // of the class, before the one that enters XOFF
	uint64_t queue_bytes, average_bytes; // of the longest queue at XOFF; as WRED sees it
	uint64_t marks_q32;
	enum ecn_before_pfc verdict;
};

struct plan_ecn plan_ecn(const struct policy *p, unsigned port, unsigned cls);

// Whether the verdict is `no` and some output has ECN; *out is then the plan. Stops at 0.1 marks.
bool plan_ecn_is_no(const struct policy *p, unsigned port, unsigned cls, struct plan_ecn *out);

// Arrivals at `in` in the time in which `out`, one of n outputs, sends a frame; in Q20.
uint64_t plan_ecn_period_q20(const struct policy *p, unsigned in, unsigned out, unsigned n);

double plan_ecn_marks(const struct plan_ecn *e);
const char *plan_ecn_word(enum ecn_before_pfc verdict);
