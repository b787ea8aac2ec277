// SPDX-License-Identifier: Apache-2.0
// Storms: acts on the verdicts of the PFC watchdog (qos/watchdog.h). A class in recovery neither
// obeys nor sends PFC at its port, and its frames are discarded where the policy says so. The state
// of each class follows in one place, storm_recompute, from its storm, the policy's action and
// control's wishes, so that storms, reloads, links and operators may come in any order. Called by
// the worker that owns the port. Control's side is switch_watchdog.c.
#pragma once

#include "dataplane/switch_impl.h"

// Works out what follows for the port from its classes in a storm, the policy's action and
// control's wishes (p->pfc_off, p->drop_all, p->up). To be called after any of them has changed.
void storm_recompute(struct worker *w, struct port *p);
// Takes over what control wants of the port.
void storm_take_orders(struct worker *w, struct port *p);
// Admission was held, and is so no more.
void storm_after_hold(struct worker *w, struct port *p);
// Finds storms and their ends; pauses that have run out must have ended.
void storm_look(struct worker *w, struct port *p);
static inline void storm_poll(struct worker *w, struct port *p)
{
	if (unlikely((p->pfc_rx.paused | p->stormed) != 0) && !w->hold)
		storm_look(w, p);
}
// When a loop must look at the port because of a storm.
uint64_t storm_wake_ns(const struct worker *w, const struct port *p);
static inline uint64_t storm_wake(const struct worker *w, const struct port *p)
{
	if ((p->pfc_rx.paused | p->stormed | p->purging) == 0)
		return UINT64_MAX;
	return storm_wake_ns(w, p);
}
// A PFC frame was received; only while the port has a storm.
void storm_on_pause(struct worker *w, struct port *p, const struct pfc_times *times);

// Counts frames of the port's stormed classes; only while it has a storm.
void storm_count_sent(struct port *p, const struct frame *frames, unsigned n);
void storm_count_not_sent(struct port *p, const struct frame *f);
void storm_count_admitted(struct port *p, const struct run *r);
void storm_count_not_admitted(struct port *p, const struct frame *f);

// The excuse ends when group and receive ring have both had room.
static inline void storm_excuse_ends(struct port *p)
{
	if (!p->rx_guarded)
		p->excused_pgs &= p->xoff_pgs;
}
// Why a lossless frame that found no headroom is dropped: by the watchdog's order, or for want of
// headroom.
static inline enum drop_reason storm_drop_reason(const struct port *p, const struct frame *f)
{
	bool ordered = (p->unprotected >> f->cls | p->excused_pgs >> f->pg) & 1;

	return ordered ? DROP_WATCHDOG : DROP_HEADROOM;
}
