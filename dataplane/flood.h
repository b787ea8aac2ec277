// SPDX-License-Identifier: Apache-2.0
// Flooding: a frame whose destination is a group or is not known leaves by every other port that
// may carry it. Its priority group is charged once (replica.h). Which frames are dropped instead:
// those beyond the port's rate of storm control, and frames of classes that are not flooded. Called
// by the worker that owns the port of arrival; copies end on the workers that own their ports of
// departure.
#pragma once

#include "dataplane/switch_impl.h"

// An address that a port's owner has just reported to control. The hash of the address selects a
// set, and each port has one slot in each set. So a flood of addresses at one port overwrites slots
// of that port only.
enum { REPORTED_SETS = 64, REPORTED_NS = 50000000 };
struct reported {
	_Atomic uint64_t key; // 0 while the slot changes
	_Atomic uint64_t t_ns;
};

// Sends a frame to every other port that may carry it. The frame ends in queues or as a drop.
void flood(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
	   const struct pkt_info *pkt);
// Whether a frame that is about to be replicated is beyond its port's rate.
bool flood_is_limited(struct worker *w, struct port *p, const struct frame *f,
		      const struct pkt_info *pkt);
// A frame whose class is not flooded, to an address that is not in the table. False: some worker
// has just reported the address, and the frame goes to its port, f->out_port. Else it was dropped.
bool flood_refused(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool group);
// The worker has reported an address to control.
void flood_note_report(struct worker *w, uint64_t key, unsigned port);
