// SPDX-License-Identifier: Apache-2.0
// The kernel's drivers by name: which of them pass PFC, have a real speed, or leave checksums open.
#pragma once

#include <stdbool.h>

#include "drivers/device.h"
#include "drivers/xdp/netdev.h"

struct xdp_traits {
	const char *driver; // "": one that is not listed
	bool has_rate; // its link speed is real
	bool pfc_rx, pfc_tx; // PFC frames to and from software pass it
	bool wants_no_flow_control; // for pfc_rx
	bool unfinished; // the kernel behind it hands frames over as they lie in memory
};

const struct xdp_traits *xdp_traits_of(const char *driver);
// Received PFC frames reach software.
bool xdp_passes_pfc(const struct xdp_traits *t, const struct netdev *d);
// Appends what the user must know where PFC cannot work.
void xdp_note_pfc(const struct netdev *d, bool pfc_rx, struct live_text *text);
