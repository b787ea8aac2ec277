// SPDX-License-Identifier: Apache-2.0
// Whether each notification that a switch sent was for the queue pair it should be for: the fabric
// knows what a switch can only infer. Every record of a CNP is held, at the instant of the step in
// which it was sent, against the NIC of the flow's source. Single thread; changes nothing there.
//
//   right   the queue pair named is the one whose peer is the flow's receiver
//   late    it was, and its number is nobody's since: nobody is hurt
//   wrong   anything else: an innocent would be slowed down. It must not happen.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/switch_flows.h"

struct fabric;
struct scenario;

struct cnp_counts {
	uint64_t sent, late, wrong; // late and wrong are of those sent
	uint64_t by_source[N_PAIR_SOURCES]; // of those sent: how the pair was learnt
};

struct cnp_judge {
	const struct scenario *sc;
	struct cnp_counts *queues; // by port of the scenario and queue: the congested one
	struct cnp_counts all;
	uint64_t lost; // records that no longer could be looked at
	bool seen; // the first wrong one
	uint32_t first_sw;
	struct cnp_record first;
};

__attribute__((warn_unused_result)) struct cnp_judge *
cnp_judge_create(const struct scenario *sc); // NULL: no memory
void cnp_judge_destroy(struct cnp_judge *j); // NULL is fine

// After a step of the switch.
void cnp_judge_look(struct fabric *f, uint32_t sw);

// Of the congested queues of a switch (UINT32_MAX: of all). port, queue: -1: all.
struct cnp_counts cnp_judge_counts(const struct cnp_judge *j, uint32_t sw, int port, int queue);
