// SPDX-License-Identifier: Apache-2.0
// What a policy says about RoCEv2 flows, their pairs and notifications. Control compiles it; the
// workers only read it. The modules that use it: flow.h, pairing.h, ipcc.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/roce/flow_key.h"

enum { FLOW_MAX = 1 << 20 }; // entries

struct flow_params {
	uint32_t max; // entries of the switch, shared out over its workers; 0: no table
	uint64_t age_ns; // a flow that was idle this long is forgotten; 0: 3 s
};

// How the sender's queue pair of a flow became known, most trusted first.
enum pair_source { PAIR_NONE, PAIR_STATIC, PAIR_CM, PAIR_READ, PAIR_ACK, PAIR_CNP, N_PAIR_SOURCES };

enum { PAIR_MATCHES = 3 }; // the default of pair_params.matches

struct pair_params {
	uint8_t matches; // answers that must fit before they pair; 0: PAIR_MATCHES
	uint8_t sources; // bitmap of enum pair_source that may pair; 0: all, 1 << PAIR_NONE: none
};

// A pair stated by an operator: data goes under `key` (KEY_KNOWN), CNPs to queue pair `qp`.
struct known_pair {
	struct flow_key key;
	uint32_t qp;
	uint8_t source; // PAIR_STATIC, PAIR_CM
};

// Of an egress queue.
struct ipcc_params {
	bool enabled;
	bool cut_learnt; // else cut_q16 for every flow
	uint16_t cut_q16; // share of its rate that a CNP takes off; 2^16 is all
	uint16_t few, many; // the most flows that one look notifies, by quadrant
	uint32_t deep_q16; // an occupancy
	uint64_t interval_ns, drain_ns, min_gap_ns;
	uint64_t spare_ns; // a flow's frames are not marked this long after a CNP; 0: they are
	uint64_t kmin_bytes, kmax_bytes; // of the queue's WRED curve
};

// Of a profile: the contents of its CNPs, and how many may leave by one port.
struct cnp_params {
	uint8_t dscp, cls;
	uint32_t max_per_ms;
	uint32_t burst; // at once
};
