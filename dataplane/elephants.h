// SPDX-License-Identifier: Apache-2.0
// Elephants and mice (qos/elephant.h) among the flows of the table. On arrival, each frame of a
// flow is counted as one of a mouse, of an elephant or of neither, and gets the colour, the class
// and the DSCP that the policy names for frames of its class. The frame's account stays that of the
// class in which it arrived. The worker that owns the flow's port of arrival calls this.
//
// Frames of a flow must not overtake each other where its size changes. So class and DSCP are those
// of the size that the flow had (its acting size), until no frame of the flow is in the queue that
// it leaves. No frame of it is there if one of these holds:
//
//   the queue of the latest frame's port    evidence, written by the owner of that port
//   a later frame left it                   departed_ns of the port of arrival
//   it holds no frame of the account        held_cells, once hand-overs up to the frame are queued
//
// Both are true of a frame only if all earlier frames of its port of arrival have left, since
// hand-overs and queues are first in, first out. A flow that went astray (some of its frames were
// flooded, waited for a neighbour, or went another way than others) turns when no frame of its port
// of arrival is in the switch. A frame does not turn its flow if the flow had another frame in the
// same burst. A flow of which some frame always waits keeps its class.
//
// The state is in the entry's first line, in the upper bits of `bytes`. So a frame that changes
// nothing costs no cache line. A worker follows at most ELEPHANTS_MAX elephants. A further flow
// stays what it was, and is counted.
#pragma once

#include "dataplane/packet/edit.h"
#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

#define FLOW_MICE_FIELD ((uint64_t)ELEPHANT_MICE_MAX << FLOW_MICE_BIT)
#define FLOW_ACTING_FIELD ((uint64_t)3 << FLOW_ACTING_BIT)
#define FLOW_ELEPHANT ((uint64_t)1 << FLOW_ELEPHANT_BIT)

static_assert(FLOW_MICE_FIELD >> FLOW_ACTING_BIT == 0 && N_SIZES <= 4 &&
		      FLOW_ACTING_FIELD >> FLOW_ELEPHANT_BIT == 0,
	      "the fields lie side by side");

// Frames of a burst by enum flow_size: their bytes, and SIZES_FRAME for each frame.
#define SIZES_FRAME ((uint64_t)1 << 32)
struct sizes {
	uint64_t sum[N_SIZES];
};

static inline bool elephants_are_on(const struct worker *w)
{
	return w->flows->elephants.params.enabled;
}

// The flow sends again after a pause of `age` at least, which ends its flowlet.
void elephants_paused(struct worker *w, struct flow *fl, uint64_t ns);
// The flow is due for a look.
void elephants_look(struct worker *w, struct flow *fl);
// The first frame of the entry was counted, but by elephants_count.
void elephants_begun(struct worker *w, struct flow *fl);
// The entry is about to be freed, or to begin anew.
void elephants_gone(struct worker_flows *wf, const struct flow *fl);
// The size of the flow's next frame, if the flow does not pause. Any thread.
static inline enum flow_size elephants_size(const struct flow *fl)
{
	return flow_is_elephant(fl)			    ? SIZE_ELEPHANT
	       : ctr_get(&fl->bytes) & FLOW_MICE_FIELD ? SIZE_MOUSE
							: SIZE_PLAIN;
}

// The frames of a burst, which arrived at the port.
void elephants_add(struct worker_flows *wf, unsigned port, const struct sizes *s);
// Once per loop: looks at elephants that are due, a bounded number, and events.
void elephants_tick(struct worker *w);
// The worker has taken another policy.
void elephants_new_policy(struct worker *w);

// When the worker must do the next look.
static inline uint64_t elephants_wake(const struct worker *w)
{
	const struct worker_elephants *e = &w->flows->elephants;

	return gauge_get(&e->now) != 0 ? e->look_ns : UINT64_MAX;
}

// Counts the bytes of the frame. Returns the size of the frame. look_mask: the worker's.
static force_inline enum flow_size elephants_count(struct worker *w, struct flow *fl,
						   uint64_t look_mask, uint16_t len)
{
	uint64_t before = gauge_get(&fl->bytes);
	bool mouse = (before & FLOW_MICE_FIELD) != 0;
	uint64_t after = before + len - ((uint64_t)mouse << FLOW_MICE_BIT);

	gauge_set(&fl->bytes, after);
	if (unlikely(((before ^ after) & look_mask) != 0)) {
		elephants_look(w, fl);
		after = gauge_get(&fl->bytes);
	}
	return after >> FLOW_ELEPHANT_BIT ? SIZE_ELEPHANT : mouse ? SIZE_MOUSE : SIZE_PLAIN;
}

static inline enum flow_size elephants_acting_size(const struct flow *fl)
{
	return (gauge_get(&fl->bytes) & FLOW_ACTING_FIELD) >> FLOW_ACTING_BIT;
}

// The acting size of a frame that was counted, and is of another size. before_ns: no frame of the
// flow but this one arrived later.
enum flow_size elephants_turn(struct worker *w, struct flow *fl, const struct frame *f,
			      enum flow_size size, uint64_t before_ns);
// Frames of this frame's flow may be elsewhere than in the queue of its latest frame.
void elephants_astray(const struct worker *w, const struct frame *f);

// Frames such as f have left their queue, which is of a port of the worker's.
static inline void elephants_departed(struct port *p, const struct frame *f, uint64_t arrival_ns)
{
	if (!f->own)
		gauge_set(&p->departed_ns[f->in_port][f->queue], arrival_ns);
}

// Gives the frame what the policy names.
static force_inline void elephants_act(const struct policy_port *pp, struct frame *f,
				       enum flow_size size, enum flow_size acting)
{
	const struct elephant_action *a = &pp->sized[acting][f->cls];
	uint8_t color = pp->sized[size][f->cls].color;

	if (color != ELEPHANT_KEEP)
		f->color = color & 0xfu;
	if (a->cls != ELEPHANT_KEEP)
		f->out_cls = a->cls;
	if (unlikely(a->dscp != ELEPHANT_KEEP))
		edit_dscp(rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off, f->kind, a->dscp);
}
