// SPDX-License-Identifier: Apache-2.0
// Counts each step of a frame. Each stage of a worker calls this once, in the order of a frame's
// life: received, forwarded, admitted, queued, marked, sent, dropped. The numbers of port, queue
// and group are counted here, and the features that follow frames are called: capture, flows,
// storms, notifications, trimming, impairment. A feature that is off costs one test. A new feature
// that follows frames adds its calls here, and the stages stay as they are.
#pragma once

#include "dataplane/elephants.h"
#include "dataplane/flows.h"
#include "dataplane/impair.h"
#include "dataplane/notify.h"
#include "dataplane/replica.h"
#include "dataplane/storm.h"
#include "dataplane/trim.h"
#include "dataplane/vxlan.h"
#include "dataplane/zones.h"

// ---- arrival, by the owner of the port of arrival

// Whether a feature stands between the driver of the port and the switch. Then fate_poll receives
// in place of the stage, and gives ingress_receive the frames that come through.
static inline bool fate_is_intercepted(const struct port *p)
{
	return unlikely(p->impaired & 1u << IMPAIR_IN);
}
static inline bool fate_poll(struct worker *w, struct port *p)
{
	return impair_poll(w, p);
}

// Whether a capture runs. What only a capture wants to know is worked out behind this.
static inline bool fate_is_watched(const struct worker *w)
{
	return unlikely(w->tap != NULL);
}

// A frame was received. pkt: NULL where it could not be parsed.
void fate_received_watched(struct worker *w, const struct port *p, const struct frame *f,
			   const struct pkt_info *pkt);
static inline void fate_received(struct worker *w, const struct port *p, const struct frame *f,
				 const struct pkt_info *pkt)
{
	if (fate_is_watched(w))
		fate_received_watched(w, p, f, pkt);
}

// Frames of a burst have a class. Some of them may end here.
static inline void fate_classified(struct worker *w, struct burst *b)
{
	if (w->flows != NULL)
		flows_burst(w, b);
	if (w->zones != NULL)
		zones_burst(w, b);
}

// A frame came out of a tunnel: its addresses are others now. False: it has ended.
static inline bool fate_left_tunnel(struct worker *w, struct port *p, struct frame *f,
				    const struct pkt_info *pkt, port_no_t peer)
{
	return w->zones == NULL || zones_pass(w, p, f, pkt, peer);
}

// Frames of a burst know their way.
static inline void fate_forwarded(struct worker *w, const struct frame *frames, unsigned n)
{
	if (w->flows != NULL)
		flows_forwarded(w, frames, n);
}

// One frame knows its way; for frames that leave their burst.
static inline void fate_forwarded_alone(struct worker *w, const struct frame *f)
{
	if (unlikely(f->answer) && w->sw->owner[f->out_port] == w->id)
		flows_on_answer(w, f);
}

static inline void fate_admitted(struct port *p, const struct run *r)
{
	if (unlikely(p->stormed != 0))
		storm_count_admitted(p, r);
}

// ---- departure, by the owner of the port of departure

// Frames of other workers were taken out of a hand-off.
static inline void fate_taken_over(struct worker *w, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; w->flows != NULL && i < n; i++)
		if (frames[i].answer)
			flows_on_answer(w, &frames[i]);
}

// The frame found no room in its queue. True: it is for another queue of the port now. False: it is
// dropped.
static inline bool fate_finds_other_queue(struct worker *w, struct port *p, struct frame *f)
{
	return trim_applies(p, f) && trim_requeue(w, p, f);
}

static inline void fate_queued(struct worker *w, struct port *p, const struct run *r)
{
	unsigned no = r->frames->queue;
	struct queue *q = &p->queue[no];

	gauge_set(&q->c.length_packets, q->fifo.n);
	gauge_set(&q->c.length_bytes, gauge_get(&q->c.length_bytes) + r->bytes);
	gauge_max(&q->c.max_bytes, gauge_get(&q->c.length_bytes));
	gauge_set(&p->c.queued, gauge_get(&p->c.queued) + r->n);
	if (unlikely(p->ipcc_queues >> no & 1))
		notify_fed(w, p, r);
}

// CE was set in the frame.
static inline void fate_marked(struct worker *w, struct queue *q, struct frame *f)
{
	f->marked = true;
	ctr_inc(&q->c.ecn_marked);
	if (unlikely(w->pol->vtep != NULL))
		vxlan_marked(w, f);
	if (w->flows != NULL)
		flows_marked(w, f);
}

// The frame leaves its queue, which keeps len bytes; only where fate_is_watched.
void fate_leaves_watched(struct worker *w, struct port *p, const struct frame *f, uint64_t len);

// n frames are out of their queues. Returns how many leave now: those in frames[]. A feature may
// hold the others back.
static inline uint16_t fate_departs(struct worker *w, struct port *p, struct frame *frames,
				    uint16_t n)
{
	return unlikely(p->impaired & 1u << IMPAIR_OUT) ? impair_depart(w, p, frames, n) : n;
}
// Whether a feature may hold frames of the port back. fate_due writes those that leave now, n at
// most and of no more than `room` bytes, and returns how many.
static inline bool fate_holds_back(const struct port *p)
{
	return unlikely(p->impaired & 1u << IMPAIR_OUT);
}
static inline uint16_t fate_due(struct worker *w, struct port *p, struct frame *frames, uint16_t n,
				int64_t room)
{
	return impair_due(w, p, frames, n, room);
}

// n frames of the port are about to end. They are not counted as queued any more: a reader of the
// balance must not see one in both places.
static inline void fate_unqueued(struct port *p, unsigned n)
{
	gauge_set(&p->c.queued, gauge_get(&p->c.queued) - n);
	atomic_thread_fence(memory_order_release);
}

// The driver has taken n frames of the port. fate_sent follows for each run of them.
static inline void fate_transmitted(struct port *p, const struct frame *frames, unsigned n)
{
	ctr_add(&p->c.transmitted, n);
	if (unlikely(gauge_get(&p->c.trims) != 0))
		trim_count_sent(p, frames, n);
	if (unlikely(p->stormed != 0))
		storm_count_sent(p, frames, n);
}

static inline void fate_sent(struct worker *w, struct port *p, const struct run *r)
{
	struct queue_counters *c = &p->queue[r->frames->queue].c;
	uint64_t arrival_ns = replica_arrival_ns(r->frames), residence_ns;

	// The ingress owner may have read its clock after this loop began.
	residence_ns = w->now_ns > arrival_ns ? w->now_ns - arrival_ns : 0;
	ctr_add(&c->tx_packets, r->n);
	ctr_add(&c->tx_bytes, r->bytes);
	ctr_add(&c->residence[residence_bucket(residence_ns)], r->n);
	gauge_max(&c->residence_max_ns, residence_ns);
	gauge_set(&c->residence_ns, residence_ns);
	if (unlikely(w->elephants))
		elephants_departed(p, r->frames, arrival_ns);
}

// ---- ends

// Counts a dropped frame at p, where it was dropped, and frees it; w owns p. Every drop ends here.
// Two other ends are no drops: fate_consumed, and switch_destroy, which frees the frames in
// hand-offs.
void fate_dropped(struct worker *w, struct port *p, const struct frame *f, enum drop_reason reason);
// The same for a frame that was not admitted.
void fate_refused(struct worker *w, struct port *p, const struct frame *f, enum drop_reason reason);
// The same beyond the hand-over, for a frame that did not enter its queue or was taken out of it.
void fate_not_sent(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason);
// A control frame was taken in.
void fate_consumed(struct port *p, struct rte_mbuf *m);

// The driver has taken a PFC or PAUSE frame that was made here. frame: its PFC_FRAME_LEN bytes.
void fate_pfc_sent(struct worker *w, struct port *p, const uint8_t *frame);
