// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/storm_schedule.h"

#include <string.h>

#include "dataplane/qos/shaper.h"

void storm_adjust(struct policy *p, void *arg)
{
	const struct storm_schedule *x = arg;

	p->copy_frames = SCHEDULE_COPY_FRAMES;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		struct policy_port *pp = &p->ports[port];

		pp->watchdog = x->watchdog[port];
		pp->watchdog.classes = x->watched[port] ? pp->pfc.lossless & pp->pfc.rx : 0;
		pp->pfc_warning = x->warning;
	}
}

// ---- escalation

static void forget(struct storm_class *c)
{
	c->n_storms = 0;
	c->escalated = false;
}

static bool too_many(const struct watchdog_params *wp, const struct storm_class *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_storms && i < STORM_LIMIT_MAX; i++)
		n += c->storm_ns[(c->n_storms - 1) % STORM_LIMIT_MAX] - c->storm_ns[i] <=
		     wp->limit_window_ns;
	return n >= wp->limit_count;
}

static void model_storm(struct storm_schedule *x, const struct event *e)
{
	const struct watchdog_params *wp = &x->s.b->policy->ports[e->port].watchdog;
	struct storm_class *c = &x->at[e->port][e->cls];
	uint64_t detected = ctr_get(&switch_watchdog(x->s.b->sw, e->port, e->cls)->detected);

	if (detected - c->n_records++ >= WATCHDOG_RECENT)
		return; // control looks too late for its time
	if (wp->limit_count == 0 || !(wp->classes >> e->cls & 1) || c->escalated)
		return;
	c->storm_ns[c->n_storms++ % STORM_LIMIT_MAX] = e->t_ns;
	if (!too_many(wp, c))
		return;
	forget(c);
	c->escalated = true;
	c->records_due++;
	x->totals->escalated++;
}

void storm_on_event(struct schedule *s, const struct event *e)
{
	struct storm_schedule *x = (struct storm_schedule *)s;
	struct storm_class *c = &x->at[e->port % SCHEDULE_PORTS][e->cls % N_CLASSES];

	x->storm_records += e->type == EVENT_STORM;
	x->over_records += e->type == EVENT_STORM_OVER;
	if (e->type == EVENT_STORM_LIMIT)
		x->disturbed_ns = s->b->clock.now_ns;
	x->lost_events = switch_events_lost(s->b->sw);
	if (x->lost_events != 0)
		return;
	if (e->type == EVENT_STORM)
		model_storm(x, e);
	if (e->type != EVENT_STORM_LIMIT)
		return;
	c->records_due--; // the records of the storms may come after it
}

static bool shows_escalation(const struct storm_schedule *x, unsigned port, unsigned cls)
{
	enum watchdog_status st = switch_watchdog_status(x->s.b->sw, port, cls);

	return st == WATCHDOG_IS_PFC_OFF || st == WATCHDOG_IS_PORT_DOWN;
}

void storm_check_escalations(struct storm_schedule *x)
{
	x->lost_events = switch_events_lost(x->s.b->sw);
	for (unsigned p = 0; p < SCHEDULE_PORTS && x->lost_events == 0; p++) {
		for (unsigned c = 0; c < N_CLASSES; c++) {
			assert_int_equal(x->at[p][c].records_due, 0);
			if (!x->drops_all)
				assert_int_equal(shows_escalation(x, p, c),
						 x->at[p][c].escalated);
		}
	}
}

void storm_new_policy(struct storm_schedule *x)
{
	x->disturbed_ns = x->s.b->clock.now_ns;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (!(x->s.b->policy->ports[p].classify.lossless >> c & 1))
				x->at[p][c].escalated = false;
}

void storm_recover(struct storm_schedule *x, unsigned port, unsigned cls)
{
	struct storm_class *c = &x->at[port][cls];
	bool stormed = watchdog_stormed(switch_watchdog(x->s.b->sw, port, cls));
	int err;

	(void)switch_watchdog_recover(x->s.b->sw, port, cls, &err);
	if (x->lost_events == 0)
		assert_int_equal(err == 0, stormed || c->escalated);
	if (err != 0)
		return;
	x->totals->recovered++;
	x->disturbed_ns = x->s.b->clock.now_ns;
	forget(c);
	schedule_settle(&x->s);
}

// ---- after each step

// The class neither obeys nor sends PFC.
static bool unprotected(const struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct policy_port *pp = &x->s.b->policy->ports[port];

	switch (switch_watchdog_status(x->s.b->sw, port, cls)) {
	case WATCHDOG_DROPS_ALL:
	case WATCHDOG_IS_PFC_OFF:
		return true;
	case WATCHDOG_IN_STORM:
		return pp->watchdog.action != WATCHDOG_ALERT;
	case WATCHDOG_IS_PORT_DOWN:
		return x->drops_all;
	default:
		return false;
	}
}

// Storms begin and end to the nanosecond, unless somebody intervened.
static void check_times(struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct watchdog_params *wp = &x->s.b->policy->ports[port].watchdog;
	const struct watchdog_class *w = switch_watchdog(x->s.b->sw, port, cls);
	struct storm_class *c = &x->at[port][cls];
	uint64_t now = x->s.b->clock.now_ns, from = c->began_ns;

	if (ctr_get(&w->restored) != c->restored && x->disturbed_ns <= c->began_ns) {
		if (wp->mode == WATCHDOG_PROGRESS && gauge_get(&w->last_pause_ns) > from)
			from = gauge_get(&w->last_pause_ns);
		assert_int_equal(now - from, wp->restore_ns);
		x->totals->exact++;
	}
	c->restored = ctr_get(&w->restored);
	if (ctr_get(&w->detected) == c->detected)
		return;
	assert_int_equal(ctr_get(&w->detected), c->detected + 1);
	assert_int_equal(gauge_get(&w->since_ns), now);
	assert_true(gauge_get(&w->measured_ns) >= wp->detect_ns);
	if (x->disturbed_ns <= now - gauge_get(&w->measured_ns))
		assert_int_equal(gauge_get(&w->measured_ns), wp->detect_ns);
	c->detected = ctr_get(&w->detected);
	c->began_ns = now;
	x->totals->storms++;
}

// An XON that is owed waits for the frame on the wire, and takes its time.
static void check_pfc(struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct bench *b = x->s.b;
	struct storm_class *c = &x->at[port][cls];
	const struct pfc_class_stats *tx = &switch_pfc_tx(b->sw, port)->stats[cls];
	uint64_t sent = ctr_get(&tx->frames), now = b->clock.now_ns;
	uint64_t soon = (SCHEDULE_MAX_LEN + 8 + PFC_FRAME_LEN + 2 * LINK_OVERHEAD_BYTES) * 8000ull /
				x->s.conf.speed_mbps[port] + 2;
	bool paused_by_us = gauge_get(&tx->since_ns) != 0;

	assert_int_equal(gauge_get(&switch_pfc_rx(b->sw, port)->stats[cls].since_ns), 0);
	if (!c->unprotected) {
		c->unprotected_ns = now;
		c->owes_xon = paused_by_us;
	} else if (sent != c->pfc_sent) {
		if (!c->owes_xon || paused_by_us || sent != c->pfc_sent + 1)
			fail_msg("PFC for unprotected class %u of port %u", cls, port + 1);
		c->owes_xon = false;
	}
	if (!paused_by_us)
		c->owes_xon = false;
	if (c->owes_xon && now > c->unprotected_ns + soon)
		fail_msg("no XON for class %u of port %u", cls, port + 1);
}

static void check_discarded(struct storm_schedule *x, unsigned port, unsigned cls, bool unprot)
{
	const struct watchdog_params *wp = &x->s.b->policy->ports[port].watchdog;
	struct storm_class *c = &x->at[port][cls];
	// Or in passing: a reload took `alert` from a storm that was over with it.
	bool was = c->unprotected || (c->stormed && !unprot && wp->action != WATCHDOG_ALERT);
	const struct drop_counters *d = switch_drops(x->s.b->sw, port, cls, DROP_WATCHDOG);
	uint64_t n = ctr_get(&d->packets) - c->discarded;
	bool full = pg_in_xoff(switch_pg_state(x->s.b->sw, port, cls)) ||
		    gauge_get(&switch_port_counters(x->s.b->sw, port)->rx_guard) != 0;

	if (n != 0 && !was && !unprot && !c->excused)
		fail_msg("port %u discards %lu frames of class %u, and nobody ordered it",
			 port + 1, n, cls);
	x->totals->excused += n != 0 && !was && !unprot;
	x->totals->discarded += n;
	c->discarded += n;
	c->excused = full && (c->excused || (was && !unprot));
}

static struct storm_frames by_storm(const struct watchdog_frames *f)
{
	return (struct storm_frames){ctr_get(&f->tx_ok), ctr_get(&f->tx_dropped),
				     ctr_get(&f->rx_ok), ctr_get(&f->rx_dropped)};
}

// Class, queue and group have the same number here. What arrived is not told from what was
// admitted: rx_ok has both.
static struct storm_frames by_queue(const struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct queue_counters *q = switch_queue_counters(x->s.b->sw, port, cls);
	const struct pg_counters *g = switch_pg_counters(x->s.b->sw, port, cls);

	return (struct storm_frames){ctr_get(&q->tx_packets), ctr_get(&q->dropped_packets),
				     ctr_get(&g->rx_packets), 0};
}

// Frames offered = ok + dropped, in every step of a storm. A flooded frame arrives once; without a
// promise its copies may be too long for a port, and are dropped each.
static void check_frames(struct storm_schedule *x, unsigned port, unsigned cls, bool same_storm)
{
	const struct watchdog_class *w = switch_watchdog(x->s.b->sw, port, cls);
	struct storm_class *c = &x->at[port][cls];
	struct storm_frames storm = by_storm(&w->total), last = by_storm(&w->last);
	struct storm_frames frames = by_queue(x, port, cls);

	if (same_storm) {
		assert_int_equal(storm.tx_ok - c->storm.tx_ok, frames.tx_ok - c->frames.tx_ok);
		assert_int_equal(storm.tx_dropped - c->storm.tx_dropped,
				 frames.tx_dropped - c->frames.tx_dropped);
		if (x->s.conf.promise)
			assert_int_equal(storm.rx_ok + storm.rx_dropped - c->storm.rx_ok -
						 c->storm.rx_dropped,
					 frames.rx_ok - c->frames.rx_ok);
	} else if (!c->stormed && !watchdog_stormed(w) && ctr_get(&w->detected) == c->detected) {
		assert_memory_equal(&storm, &c->storm, sizeof(storm));
	}
	assert_true(last.tx_ok <= storm.tx_ok && last.tx_dropped <= storm.tx_dropped &&
		    last.rx_ok <= storm.rx_ok && last.rx_dropped <= storm.rx_dropped);
	c->storm = storm;
	c->frames = frames;
}

// The neighbour's last PAUSE is obeyed as long as it lasts, also if it came during the storm.
static void check_obeys(const struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct pfc_rx_state *rx = switch_pfc_rx(x->s.b->sw, port);

	if (rx->until_ns[cls] > x->s.b->clock.now_ns)
		assert_true(rx->paused >> cls & 1);
}

// What is discarded is gone at once, and takes nothing that is kept for classes with PFC.
static void check_room(struct storm_schedule *x, unsigned port, unsigned cls, bool unprot)
{
	const struct weir_switch *sw = x->s.b->sw;
	const struct watchdog_params *wp = &x->s.b->policy->ports[port].watchdog;
	struct storm_class *c = &x->at[port][cls];
	uint64_t headroom = gauge_get(&switch_pg_state(sw, port, cls)->headroom);
	enum watchdog_status st = switch_watchdog_status(sw, port, cls);

	if (c->unprotected && unprot)
		assert_true(headroom <= c->headroom);
	c->headroom = headroom;
	if (st != WATCHDOG_DROPS_ALL &&
	    (st != WATCHDOG_IN_STORM || wp->action != WATCHDOG_DROP))
		c->discarded_ns = 0;
	else if (c->discarded_ns == 0)
		c->discarded_ns = x->s.b->clock.now_ns;
	else if (c->discarded_ns < x->s.b->clock.now_ns)
		assert_int_equal(
			gauge_get(&switch_queue_counters(sw, port, cls)->length_packets), 0);
}

static void check_class(struct storm_schedule *x, unsigned port, unsigned cls)
{
	const struct weir_switch *sw = x->s.b->sw;
	const struct policy_port *pp = &x->s.b->policy->ports[port];
	const struct watchdog_class *w = switch_watchdog(sw, port, cls);
	struct storm_class *c = &x->at[port][cls];
	bool stormed = watchdog_stormed(w), unprot = unprotected(x, port, cls);

	if (stormed)
		assert_true((pp->watchdog.classes >> cls & 1) && switch_link_up(sw, port) &&
			    !x->drops_all && !shows_escalation(x, port, cls));
	check_frames(x, port, cls,
		     stormed && c->stormed && ctr_get(&w->detected) == c->detected);
	check_times(x, port, cls);
	if (unprot)
		check_pfc(x, port, cls);
	else
		check_obeys(x, port, cls);
	check_room(x, port, cls, unprot);
	check_discarded(x, port, cls, unprot);
	c->pfc_sent = ctr_get(&switch_pfc_tx(sw, port)->stats[cls].frames);
	c->unprotected = unprot;
	c->stormed = stormed;
}

void storm_after_step(struct bench *b)
{
	struct storm_schedule *x = b->after_step_arg;

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		if (schedule_follow_link(&x->s, port))
			x->disturbed_ns = b->clock.now_ns;
	schedule_after_step(b);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			check_class(x, port, cls);
}
