// SPDX-License-Identifier: Apache-2.0
#include "dataplane/storm.h"

#include "dataplane/pause.h"
#include "dataplane/policy.h"

// ---- storms

static struct watchdog_look watchdog_look_of(const struct port *p, unsigned cls)
{
	const struct queue *q = &p->queue[p->pol->classify.class_to_queue[cls]];
	bool paused = p->pfc_rx.paused >> cls & 1;

	return (struct watchdog_look){
		.paused_ns = paused ? gauge_get(&p->pfc_rx.stats[cls].since_ns) : 0,
		.waiting_ns = q->fifo.n != 0 ? q->waiting_ns : 0,
		.sent_ns = q->sent_ns,
		.cls = cls,
	};
}

static void enter_storm(struct worker *w, struct port *p, unsigned cls,
			const struct watchdog_look *look)
{
	const struct watchdog_params *params = &p->pol->watchdog;
	struct watchdog_class *c = &p->watchdog[cls];

	watchdog_enter(params, c, look, w->now_ns);
	ctr_inc(&p->storms);
	p->stormed |= (uint8_t)(1u << cls);
	worker_event(w, EVENT_STORM, p->no, cls, params->action, gauge_get(&c->measured_ns));
}

static uint8_t watched_classes(const struct port *p)
{
	const struct policy_port *pp = p->pol;
	uint8_t obey = pp->pfc.lossless & pp->pfc.rx & (uint8_t)~p->pfc_off;

	return p->up && !p->drop_all ? pp->watchdog.classes & obey : 0;
}

static void leave_storm(struct worker *w, struct port *p, unsigned cls)
{
	struct watchdog_class *c = &p->watchdog[cls];
	uint64_t lasted_ns = w->now_ns - gauge_get(&c->since_ns);

	watchdog_leave(c, w->now_ns);
	p->stormed &= (uint8_t)~(1u << cls);
	worker_event(w, EVENT_STORM_OVER, p->no, cls, watched_classes(p) >> cls & 1, lasted_ns);
}

void storm_look(struct worker *w, struct port *p)
{
	uint8_t before = p->stormed;

	for_each_bit (cls, (p->pfc_rx.paused & p->watched) | p->stormed) {
		struct watchdog_look look = watchdog_look_of(p, cls);

		switch (watchdog_decide(&p->pol->watchdog, &p->watchdog[cls], &look, w->now_ns)) {
		case WATCHDOG_DETECTED:
			enter_storm(w, p, cls, &look);
			break;
		case WATCHDOG_RESTORED:
			leave_storm(w, p, cls);
			break;
		case WATCHDOG_NOTHING:
			break;
		}
	}
	if (p->stormed == before)
		return;
	storm_recompute(w, p);
	pause_send(w, p); // before this loop sends data
}

uint64_t storm_wake_ns(const struct worker *w, const struct port *p)
{
	uint64_t wake = UINT64_MAX;

	if (p->purging != 0)
		return w->now_ns;
	if (w->hold)
		return wake;
	for_each_bit (cls, (p->pfc_rx.paused & p->watched) | p->stormed) {
		struct watchdog_look look = watchdog_look_of(p, cls);

		wake = min_u64(wake, watchdog_next(&p->pol->watchdog, &p->watchdog[cls], &look));
	}
	return wake;
}

// While admission was held no refresh and no XON could arrive: how long a pause that stood has
// truly lasted is not known.
void storm_after_hold(struct worker *w, struct port *p)
{
	for_each_bit (c, p->watched)
		gauge_set(&p->watchdog[c].armed_ns, w->now_ns);
}

void storm_on_pause(struct worker *w, struct port *p, const struct pfc_times *times)
{
	for_each_bit (cls, times->enable & p->stormed) {
		if (times->quanta[cls] != 0)
			watchdog_on_pause(&p->watchdog[cls], w->now_ns);
	}
}

// ---- what follows

// Classes that are watched from now on, and those that no longer are: their storms are over.
static void set_watched_classes(struct worker *w, struct port *p, uint8_t watched)
{
	for_each_bit (c, p->stormed & (uint8_t)~watched)
		leave_storm(w, p, c);
	for_each_bit (c, watched & (uint8_t)~p->watched)
		watchdog_arm(&p->watchdog[c], w->now_ns);
	p->watched = watched;
}

// Frames of the classes are to be taken out of their queues.
static void begin_purge(struct port *p, uint8_t classes)
{
	uint8_t queues = 0;

	for_each_bit (c, classes)
		queues |= (uint8_t)(1u << p->pol->classify.class_to_queue[c]);
	p->purging |= queues & p->backlog;
	p->purge_again |= queues & p->purge_begun;
}

// Groups that are in XOFF while their class begins to obey PFC again, or all of them while the
// receive ring is full: their peer was allowed to send meanwhile, so what finds no room before ring
// and group have had some is lost for the storm's sake. Not where its PAUSE stands: then all of it
// happened in one loop.
static void excuse(struct port *p, uint8_t classes)
{
	uint8_t full = p->rx_guarded ? 0xff : p->xoff_pgs;

	for_each_bit (c, classes & (uint8_t)~p->pfc_tx.paused)
		p->excused_pgs |= (uint8_t)(full & 1u << p->pol->classify.class_to_pg[c]);
}

void storm_recompute(struct worker *w, struct port *p)
{
	const struct policy_port *pp = p->pol;
	uint8_t lossless = pp->pfc.lossless, unprotected, discarded;

	set_watched_classes(w, p, watched_classes(p));
	unprotected = p->pfc_off & lossless;
	if (pp->watchdog.action != WATCHDOG_ALERT)
		unprotected |= p->stormed;
	discarded = pp->watchdog.action == WATCHDOG_DROP ? p->stormed : 0;
	if (p->drop_all)
		discarded = unprotected = lossless;
	begin_purge(p, discarded & (uint8_t)~p->discarded);
	excuse(p, p->unprotected & (uint8_t)~unprotected);
	p->unprotected = unprotected;
	p->discarded = discarded;
	if (p->pfc_rx.ignore_pause != unprotected)
		pfc_rx_ignore(&p->pfc_rx, unprotected, w->now_ns);
	port_set_add(&w->sets, PORTS_DUE, p->no);
}

// Ends a storm of the class at once, if there is one.
static void recover(struct worker *w, struct port *p, unsigned cls)
{
	if (!(p->stormed >> cls & 1))
		return;
	leave_storm(w, p, cls);
	storm_recompute(w, p);
}

void storm_take_orders(struct worker *w, struct port *p)
{
	const struct wanted *want = &w->sw->want;
	uint8_t pfc_off = atomic_load_explicit(&want->pfc_off[p->no], memory_order_relaxed);
	bool drop_all = atomic_load_explicit(&want->drop_all, memory_order_relaxed);
	uint64_t seen = atomic_load_explicit(&want->recover[p->no], memory_order_relaxed);
	uint64_t changed = seen ^ p->recover_seen; // by byte, one a class

	p->recover_seen = seen;
	for (unsigned cls = 0; changed != 0; cls++, changed >>= 8)
		if ((changed & 0xff) != 0)
			recover(w, p, cls);
	if (pfc_off == p->pfc_off && drop_all == p->drop_all)
		return;
	p->pfc_off = pfc_off;
	p->drop_all = drop_all;
	storm_recompute(w, p);
}

// ---- counts

static void count_in_storm(struct port *p, unsigned cls, ctr_t *total, ctr_t *last)
{
	if (!(p->stormed >> cls & 1))
		return;
	ctr_inc(total);
	ctr_inc(last);
}

void storm_count_sent(struct port *p, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct watchdog_class *c = &p->watchdog[frames[i].out_cls];

		count_in_storm(p, frames[i].out_cls, &c->total.tx_ok, &c->last.tx_ok);
	}
}

void storm_count_not_sent(struct port *p, const struct frame *f)
{
	struct watchdog_class *c = &p->watchdog[f->out_cls];

	count_in_storm(p, f->out_cls, &c->total.tx_dropped, &c->last.tx_dropped);
}

void storm_count_admitted(struct port *p, const struct run *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct watchdog_class *c = &p->watchdog[r->frames[i].cls];

		count_in_storm(p, r->frames[i].cls, &c->total.rx_ok, &c->last.rx_ok);
	}
}

void storm_count_not_admitted(struct port *p, const struct frame *f)
{
	struct watchdog_class *c = &p->watchdog[f->cls];

	count_in_storm(p, f->cls, &c->total.rx_dropped, &c->last.rx_dropped);
}
