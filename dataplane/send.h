// SPDX-License-Identifier: Apache-2.0
// Frames that the switch itself makes, other than PFC: what control sends (ARP, neighbour
// discovery, loop probes) and notifications. They go through the queue of their class like all
// others, and are charged as if they had arrived on the port that they leave by. Called by the
// worker that owns the port.
#pragma once

#include "dataplane/switch_impl.h"

// Sends a frame with these bytes and f's class, kind, ECN, length and offset. NULL: the bytes could
// not be made. False: the frame was dropped, and is counted as that.
bool send_own(struct worker *w, struct port *p, struct frame *f, const uint8_t *bytes);
// Sends what control wants sent by the worker's ports; only where the policy says control_sends.
void send_for_control(struct worker *w);
