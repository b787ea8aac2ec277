// SPDX-License-Identifier: Apache-2.0
// What the PFC watchdog's verdicts do: a class in recovery neither obeys nor sends PFC at its port,
// and its frames are discarded where the policy says so. What each class of a port is, follows in
// one place (watchdog_recompute) from its storm, the policy's action and control's wishes, so that
// storms, reloads, links and operators may come in any order. Runs on the worker that owns the
// port.
#include "dataplane/switch_impl.h"

// ---- storms

static struct watchdog_look look_at(const struct policy_port *pp, const struct port_rt *p,
				    unsigned cls)
{
	unsigned q = pp->classify.class_to_queue[cls];
	bool paused = p->pfc_rx.paused >> cls & 1;

	return (struct watchdog_look){
		.paused_ns = paused ? gauge_get(&p->pfc_rx.stats[cls].since_ns) : 0,
		.waiting_ns = p->fifo[q].n != 0 ? p->waiting_ns[q] : 0,
		.sent_ns = p->sent_ns[q],
	};
}

static void enter(struct worker *w, unsigned port, unsigned cls, const struct watchdog_look *look)
{
	const struct watchdog_params *params = &w->pol->ports[port].watchdog;
	struct port_rt *p = worker_port(w, port);
	struct watchdog_class *c = &p->watchdog[cls];

	watchdog_enter(params, c, look, w->now_ns);
	ctr_inc(&p->storms);
	p->stormed |= (uint8_t)(1u << cls);
	worker_event(w, EVENT_STORM, port, cls, params->action, gauge_get(&c->measured_ns));
}

static uint8_t watched_classes(const struct policy_port *pp, const struct port_rt *p)
{
	uint8_t obey = pp->pfc.lossless & pp->pfc.rx & (uint8_t)~p->pfc_off;

	return p->up && !p->drop_all ? pp->watchdog.classes & obey : 0;
}

static void leave(struct worker *w, unsigned port, unsigned cls)
{
	struct port_rt *p = worker_port(w, port);
	struct watchdog_class *c = &p->watchdog[cls];
	uint64_t lasted_ns = w->now_ns - gauge_get(&c->since_ns);

	watchdog_leave(c, w->now_ns);
	p->stormed &= (uint8_t)~(1u << cls);
	worker_event(w, EVENT_STORM_OVER, port, cls,
		     watched_classes(&w->pol->ports[port], p) >> cls & 1, lasted_ns);
}

void watchdog_look(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	uint8_t before = p->stormed, left = (p->pfc_rx.paused & p->watched) | p->stormed;

	for_each_bit (cls, left) {
		struct watchdog_look look = look_at(pp, p, cls);

		switch (watchdog_decide(&pp->watchdog, &p->watchdog[cls], &look, w->now_ns)) {
		case WATCHDOG_DETECTED:
			enter(w, port, cls, &look);
			break;
		case WATCHDOG_RESTORED:
			leave(w, port, cls);
			break;
		case WATCHDOG_NOTHING:
			break;
		}
	}
	if (p->stormed == before)
		return;
	watchdog_recompute(w, port);
	account_pfc(w, port); // before this loop sends data
}

uint64_t watchdog_wake_ns(const struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	const struct port_rt *p = worker_port(w, port);
	uint8_t left = (p->pfc_rx.paused & p->watched) | p->stormed;
	uint64_t wake = UINT64_MAX;

	if (p->sifting != 0)
		return w->now_ns;
	if (w->hold)
		return wake;
	for_each_bit (cls, left) {
		struct watchdog_look look = look_at(pp, p, cls);

		wake = min_u64(wake, watchdog_next(&pp->watchdog, &p->watchdog[cls], &look));
	}
	return wake;
}

void watchdog_recover(struct worker *w, unsigned port, unsigned cls)
{
	if (!(worker_port(w, port)->stormed >> cls & 1))
		return;
	leave(w, port, cls);
	watchdog_recompute(w, port);
}

// While admission was held no refresh and no XON could be heard: how long a pause that stood has
// truly lasted is not known.
void watchdog_after_hold(struct worker *w, unsigned port)
{
	struct port_rt *p = worker_port(w, port);

	for_each_bit (c, p->watched)
		gauge_set(&p->watchdog[c].armed_ns, w->now_ns);
}

void watchdog_hear(struct worker *w, unsigned port, const struct pfc_times *times)
{
	struct port_rt *p = worker_port(w, port);

	for_each_bit (cls, times->enable & p->stormed) {
		if (times->quanta[cls] != 0)
			watchdog_heard(&p->watchdog[cls], w->now_ns);
	}
}

// ---- what follows

// Classes that are watched from now on, and those that no longer are: their storms are over.
static void watch(struct worker *w, unsigned port, uint8_t watched)
{
	struct port_rt *p = worker_port(w, port);
	uint8_t gained = watched & (uint8_t)~p->watched, ended = p->stormed & (uint8_t)~watched;

	for_each_bit (c, ended)
		leave(w, port, c);
	for_each_bit (c, gained)
		watchdog_arm(&p->watchdog[c], w->now_ns);
	p->watched = watched;
}

// Frames of the classes are to be taken out of their queues.
static void sift(const struct policy_port *pp, struct port_rt *p, uint8_t classes)
{
	uint8_t queues = 0;

	for_each_bit (c, classes)
		queues |= (uint8_t)(1u << pp->classify.class_to_queue[c]);
	p->sifting |= queues & p->backlog;
	p->sift_again |= queues & p->sift_begun;
}

// Groups that are in XOFF while their class begins to obey PFC again, or all of them while the
// receive ring is full: their peer was told to go on meanwhile, so what finds no room before ring
// and group have had some is lost for the storm's sake. Not where its PAUSE stands: then all of it
// happened in one loop.
static void excuse(const struct policy_port *pp, struct port_rt *p, uint8_t classes)
{
	uint8_t full = p->guard ? 0xff : p->xoff_pgs;

	classes &= (uint8_t)~p->pfc_tx.paused;
	for_each_bit (c, classes)
		p->excused_pgs |= (uint8_t)(full & 1u << pp->classify.class_to_pg[c]);
}

void watchdog_recompute(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	uint8_t lossless = pp->pfc.lossless, unprotected, discarded;

	watch(w, port, watched_classes(pp, p));
	unprotected = p->pfc_off & lossless;
	if (pp->watchdog.action != WATCHDOG_ALERT)
		unprotected |= p->stormed;
	discarded = pp->watchdog.action == WATCHDOG_DROP ? p->stormed : 0;
	if (p->drop_all)
		discarded = unprotected = lossless;
	sift(pp, p, discarded & (uint8_t)~p->discarded);
	excuse(pp, p, p->unprotected & (uint8_t)~unprotected);
	p->unprotected = unprotected;
	p->discarded = discarded;
	if (p->pfc_rx.deaf != unprotected)
		pfc_rx_deafen(&p->pfc_rx, unprotected, w->now_ns);
	port_set_add(&w->due, port);
}

// ---- counts

static void count(ctr_t *total, ctr_t *last)
{
	ctr_inc(total);
	ctr_inc(last);
}

void watchdog_sent(struct port_rt *p, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct watchdog_class *c = &p->watchdog[frames[i].out_cls];

		if (p->stormed >> frames[i].out_cls & 1)
			count(&c->total.tx_ok, &c->last.tx_ok);
	}
}

void watchdog_not_sent(struct port_rt *p, const struct frame *f)
{
	struct watchdog_class *c = &p->watchdog[f->out_cls];

	if (p->stormed >> f->out_cls & 1)
		count(&c->total.tx_dropped, &c->last.tx_dropped);
}

void watchdog_admitted(struct port_rt *p, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct watchdog_class *c = &p->watchdog[frames[i].cls];

		if (p->stormed >> frames[i].cls & 1)
			count(&c->total.rx_ok, &c->last.rx_ok);
	}
}

void watchdog_not_admitted(struct port_rt *p, const struct frame *f)
{
	struct watchdog_class *c = &p->watchdog[f->cls];

	if (p->stormed >> f->cls & 1)
		count(&c->total.rx_dropped, &c->last.rx_dropped);
}
