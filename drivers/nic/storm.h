// SPDX-License-Identifier: Apache-2.0
// A pause storm: the PFC frames of a NIC gone wrong (IEEE 802.1Qbb), at exact instants, for
// testing what a switch does against it. Pure: it says which frame is due when; the NIC sends
// it.
//
//   PAUSE at start, start + every, start + 2 every, ... before start + for; XON at start + for
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
	bool silent_end; // no XON: the last PAUSE runs out by itself
};

struct storm {
	struct storm_params p;
	uint64_t next_ns; // UINT64_MAX: over
};

void storm_start(struct storm *s, const struct storm_params *p);

// Brings the end forward to now_ns.
void storm_stop(struct storm *s, uint64_t now_ns);

// The frame due now; false: none. Instants that were missed are not made up for.
bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f);

// That frame has left.
void storm_sent(struct storm *s, uint64_t now_ns);
