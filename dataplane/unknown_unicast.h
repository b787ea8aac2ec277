// SPDX-License-Identifier: Apache-2.0
// Frames to one station that the address table does not know, where they may not be flooded: in a
// class that is not flooded, which is the default of lossless classes, or in a VLAN that is not.
// Without more such a station would get nothing until it speaks, and a RoCEv2 receiver speaks only
// when it receives. Three things find it:
//
// - a worker has just reported the address, and control has not entered it yet (half a second);
// - a stale address: the station was there before its link went down, or before the switch was
//   started;
// - a probe: one of the frames is flooded in the highest lossy class. A station that answers it is
//   known from then on. At most ten probes a second go to one address, and a hundred a second come
//   from one port. A VLAN that is not flooded has none.
//
// All other frames of such a class are dropped as lossless-unknown.
#pragma once

#include "dataplane/ingress.h"

enum {
	PROBES_A_SECOND = 100, // of a port
	PROBE_EVERY_NS = 100000000, // to one address
	UNREACHABLE_NS = 1000000000, // an address that gets nothing for so long is an alarm
};

// The worker has reported an address of p, or of a peer whose frames arrive by p, to control.
void unknown_note_report(struct worker *w, const struct port *p, uint64_t key, port_no_t at);
// Whether somebody knows the way to the address all the same: it is f->out_port then.
bool unknown_finds_way(const struct worker *w, struct frame *f, uint64_t key, unsigned vid);
// A frame of a class that is not flooded. True: it is a probe, in a class that is flooded. Else the
// frame was dropped.
bool unknown_probes(struct worker *w, struct port *p, struct frame *f, uint64_t key, bool group);
