// SPDX-License-Identifier: Apache-2.0
// Policies for random schedules (test_random.c). What only a restart may change is fixed for a
// schedule; everything else is drawn anew for each reload. One thread; reads no clock.
//
// A schedule with a promise draws only policies under which a neighbour that obeys PFC loses
// nothing: one profile for all ports, PFC on, headroom for all that is on a wire of this length.
// Lossless classes are flooded, or are not. The others also draw headroom that is too small, PFC
// switched off, profiles that differ between ports, VLANs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/rng.h"

#ifndef SCHEDULE_N_PORTS
#define SCHEDULE_N_PORTS 5
#endif

enum { SCHEDULE_PORTS = SCHEDULE_N_PORTS, SCHEDULE_MIN_LEN = 80, SCHEDULE_MAX_LEN = 1514 };

// A daemon refuses a reload that needs more memory for copies (policy.h). Here all policies have
// the same: too little is a loss (no-mbuf), and fails a schedule with a promise.
enum { SCHEDULE_COPY_FRAMES = (SCHEDULE_PORTS > 5 ? 1500 : 6000) * SCHEDULE_PORTS };

struct schedule_conf {
	bool promise;
	bool moves_groups; // policies differ in the groups and queues of classes
	bool learned; // no static addresses
	bool full; // of learned: the table has no room
	bool flood; // lossless classes are flooded
	unsigned copies_one_in; // one frame in so many is flooded
	bool flows; // there is a flow table
	bool elephants; // of flows: some policies look for elephants
	// Not NULL: most queues have auto ECN with short windows, and some of them this model.
	const char *ecn_model;
	// Policies also draw VLANs that route or go through tunnels, and what else is in
	// feature_pairs.h (schedule_keys.c).
	bool together;
	bool whole_link; // policies differ in the form of PAUSE, 802.3x or PFC
	bool same_classes; // all policies have the same classes, groups and queues
	bool routed; // ports with the addresses 10.0.(port + 1).1/24, fd00:(port + 1)::1/64
	unsigned n_workers;
	uint64_t delay_ns; // of every wire
	uint32_t rx_ring; // of every port; 0: wires without one
	unsigned buffer_kb, cell_bytes;
	unsigned speed_mbps[SCHEDULE_PORTS]; // of the wires
};

void schedule_conf_draw(struct schedule_conf *c, struct rng *rng);

// The policy as YAML. `first`: every port runs at the speed of its wire.
const char *schedule_policy(const struct schedule_conf *c, struct rng *rng, bool first);
