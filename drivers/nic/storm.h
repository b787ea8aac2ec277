// SPDX-License-Identifier: Apache-2.0
// A pause storm: the PFC frames of a NIC gone wrong (IEEE 802.1Qbb), at exact instants, for
// testing what a switch does against it. Pure: it says which frame is due when; the NIC sends
// it.
//
//   PAUSE at start, start + every, start + 2 every, ... before start + for; XON at start + for
//
// In bursts it does so from start on for `burst`, again from start + period on, and so forth until
// start + for. A storm of XON is one whose quanta are 0.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/pfc_frame.h"

struct storm_params {
	uint8_t classes; // bitmap
	uint16_t quanta;
	uint64_t start_ns;
	uint64_t every_ns; // not 0
	uint64_t for_ns; // UINT64_MAX: for ever
	uint64_t burst_ns, period_ns; // burst < period; 0: without a break
	bool silent_end; // no XON: the last PAUSE runs out by itself
};

struct storm {
	struct storm_params p;
	uint64_t from_ns; // when the present burst began
	uint64_t next_ns; // UINT64_MAX: over
};

void storm_start(struct storm *s, const struct storm_params *p);

// Brings the end forward to now_ns.
void storm_stop(struct storm *s, uint64_t now_ns);

// The frame due now; false: none. Instants that were missed are not made up for.
bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f);

// That frame has left. Returns how many PAUSE frames were due meanwhile and are left out.
uint64_t storm_sent(struct storm *s, uint64_t now_ns);
