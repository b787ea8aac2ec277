// SPDX-License-Identifier: Apache-2.0
// An account of a pause storm that this endpoint has sent, from its PFC frames: figures on which a
// tester of a switch can rely. A PAUSE of q quanta pauses the peer for q * 512 bit times (IEEE
// 802.3 Annex 31D). If the next frame comes later, the peer may send meanwhile: the storm has a
// hole.
//
//   before[i] .. after[i]     frame i was handed to the driver at some instant in between
//   gap                       after[i + 1] - before[i], the longest that it can have been
//   hole                      gap - lifetime, where that is positive
//
// So a hole that is there is always seen, and a hole that is reported is too long by at most
// the times of the two calls (stamp_max_ns). Time between two bursts is no hole. Pure: time is an
// argument, in nanoseconds.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct storm_tally {
	// The plan.
	uint64_t lifetime_ns; // of one PAUSE; 0: a storm of XON
	uint64_t start_ns;
	uint64_t period_ns; // from burst to burst; 0: one burst
	// What has been sent.
	uint64_t pauses, xons; // PFC frames
	uint64_t first_ns, last_ns; // of the PAUSE frames, their `before`; 0: none
	uint64_t gap_max_ns; // between two PFC frames of a burst, the first one a PAUSE
	uint64_t holes, hole_sum_ns, hole_max_ns;
	uint64_t stamp_max_ns; // after - before
	uint64_t burst; // of the last PAUSE
	bool standing; // the last frame was a PAUSE
};

void storm_tally_init(struct storm_tally *t, uint64_t lifetime_ns, uint64_t start_ns,
		      uint64_t period_ns);

// A PFC frame has left: PAUSE, or XON.
void storm_tally_sent(struct storm_tally *t, bool pause, uint64_t before_ns, uint64_t after_ns);
