// SPDX-License-Identifier: Apache-2.0
// A NIC's own guard against pause storms (Guo et al., SIGCOMM 2016, section 4.3: the watchdog on
// the NIC): a NIC that has paused its peer without a break for too long is broken, and gives up
// pausing for good. It says no more, not even XON: the last PAUSE runs out by itself. Pure; time is
// an argument. Called by the owner of the NIC for each PFC frame that it is about to send.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/pfc_frame.h"

struct guard {
	uint64_t since_ns[8], until_ns[8]; // of each class's pauses that have no break between them
	bool tripped;
};

// Whether a PFC frame may leave now. limit_ns 0: always. speed_bps: of the link.
bool guard_allows(struct guard *g, uint64_t limit_ns, uint64_t speed_bps,
		  const struct pfc_times *f, uint64_t now_ns);
