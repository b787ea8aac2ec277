// SPDX-License-Identifier: Apache-2.0
// The accounts of arrival: what the priority groups of a port are charged and given back, and when
// a group enters and leaves XOFF. Where a frame is charged, and whether its group enters XOFF, is
// decided by pg_decide (qos/pg.h). What follows from XOFF for the peer is pause.h. Called by the
// worker that owns the port of arrival, the sole accountant of its groups.
#pragma once

#include "dataplane/switch_impl.h"

// Settles what other workers released, and reads what they hold; where there are others.
void admission_refresh(struct worker *w);
// The same before a burst of n frames, as far as the burst needs it. Claims their cells until
// admission_done.
void admission_claim(struct worker *w, unsigned n);
void admission_done(struct worker *w);

// For a decision that finds no room. True: it saw more than what others hold, and is to be made
// again.
void admission_be_exact(struct worker *w);
static inline bool admission_looks_again(struct worker *w)
{
	if (likely(w->exact || w->sw->n_workers == 1))
		return false;
	admission_be_exact(w);
	return true;
}

enum admission {
	ADMITTED,
	REFUSED, // dropped
	ADMIT_SPLIT, // nothing was done: frames of the run do not share their fate; never of one
};

// Charges frames that arrived by p.
enum admission admission_charge(struct worker *w, struct port *p, struct run *r);
static inline bool admission_of_one(struct worker *w, struct port *p, struct frame *f)
{
	struct run r = run_of_one(f);

	return admission_charge(w, p, &r) == ADMITTED;
}
// The same for a frame that is replicated: n frames of the pool for its copies are counted already.
bool admission_replicated(struct worker *w, struct port *p, struct frame *f, unsigned n);

// Gives back cells of frames that left, or were dropped at egress. Called by any worker.
void admission_release(struct worker *w, unsigned in_port, unsigned pg, uint32_t cells);
// Settles the accounts. Then the groups that may leave XOFF leave it. Once per loop.
void admission_settle(struct worker *w);
// The worker has taken a new policy.
void admission_new_policy(struct worker *w);

// Cells free in a pool: its size less all slots, those of others as read at the last refresh, with
// what they claimed.
static inline uint64_t pool_free(const struct worker *w, enum pool_id pool, uint64_t size)
{
	uint64_t used = w->others_used[pool] + gauge_get(&w->slots[pool].used);

	return size > used ? size - used : 0;
}

static inline void pool_add(struct worker *w, enum pool_id pool, int64_t cells)
{
	struct pool_slot *s = &w->slots[pool];

	if (cells == 0)
		return;
	gauge_set(&s->used, (uint64_t)((int64_t)gauge_get(&s->used) + cells));
	gauge_max(&s->max, gauge_get(&s->used));
}
