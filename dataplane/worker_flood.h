// SPDX-License-Identifier: Apache-2.0
// What the other parts of a worker ask of flooding (worker_flood.c).
#pragma once

#include "dataplane/switch_impl.h"

// An address that a port's owner has just reported to control. The hash of the address selects a
// set, and each port has one slot in each set. So a flood of addresses at one port overwrites slots
// of that port only.
enum { HEARD_SETS = 64, HEARD_NS = 50000000 };
struct heard {
	_Atomic uint64_t key; // 0 while the slot changes
	_Atomic uint64_t t_ns;
};

// Sends a frame to every other port that may carry it. The frame ends in queues or as a drop.
void flood(struct worker *w, struct frame *f, unsigned vid, bool tagged,
	   const struct pkt_info *pkt);
// The worker has reported an address to control.
void flood_note_heard(struct worker *w, uint64_t key, unsigned port);
// A frame whose class is not flooded, to an address that is not in the table. False: some worker
// has just reported the address, and the frame goes to its port, f->out_port. Else it was dropped.
bool flood_refused(struct worker *w, struct frame *f, unsigned vid, bool group);
// One of several copies has left or was dropped. The last one gives the frame's cells back.
void flood_copy_gone(struct worker *w, const struct frame *f);
// When the frame of a copy arrived.
uint64_t flood_arrival_ns(const struct frame *f);
// Cells of frames such as f, which left or were dropped after they were charged, are free.
static inline void flood_release(struct worker *w, const struct frame *f, uint32_t cells)
{
	if (unlikely(frame_replicated(f)))
		flood_copy_gone(w, f);
	else
		account_release(w, f->in_port, f->pg, cells);
}

// ---- worker_learn.c
// A source address that the table does not know at the port; lives_at: as fdb_source said. False:
// the address may not be used there, and the frame is to be dropped.
bool learn_report(struct worker *w, unsigned port, uint64_t key, uint8_t lives_at);
