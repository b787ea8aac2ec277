// SPDX-License-Identifier: Apache-2.0
// The accountant of a port's priority groups, and the PAUSE that follows from its books: what is
// charged and given back, when a group enters and leaves XOFF, and the PFC frames that tell the
// peer. Runs on the worker that owns the port of arrival.
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/switch_impl.h"

// ---- accounting

// Several workers share the pools, and each looks at the others' use once per burst. What a burst
// may charge is claimed before that look, and a claim counts as use in the eyes of the others: of
// two workers that begin a burst at the same time at least one sees the other's claim, however long
// either is interrupted. So no pool is ever exceeded, and a frame that is alone in the switch finds
// exactly the thresholds that one worker has. The price: while others are in a burst, their claims
// make a pool look fuller by up to a burst each. A headroom pool that covers every group's share
// needs no claims: the groups' own limits keep it, and no claim may cost a lossless frame.
//
// Ordering: slots are written before the claim on them is dropped (release, acquire).
static void read_others(struct worker *w)
{
	for (unsigned pool = 0; pool < N_LIMITED_POOLS; pool++) {
		uint64_t used = 0;

		for (unsigned i = 0; i < w->sw->n_workers; i++) {
			const struct worker *other = w->sw->workers[i];

			if (i == w->id)
				continue;
			if (pool != POOL_HEADROOM || !w->headroom_covered)
				used += atomic_load_explicit(&other->claimed, memory_order_acquire);
			used += gauge_get(&other->slots[pool].used);
		}
		w->others_used[pool] = used;
	}
	w->others_used[POOL_INGRESS] += atomic_load_explicit(&w->sw->copies, memory_order_relaxed);
}

static inline struct pg_pools pools_now(const struct worker *w)
{
	const struct buffer_params *b = &w->pol->buffer;

	// Claims of others are not yet use.
	uint64_t claims = (w->sw->n_workers - 1ull) * 2 * BURST * w->sw->frame_cells;
	uint64_t used = w->others_used[POOL_INGRESS] + gauge_get(&w->slots[POOL_INGRESS].used);

	return (struct pg_pools){
		.overfull = used > b->ingress_pool_cells + claims,
		.ingress_free = pool_free(w, POOL_INGRESS, b->ingress_pool_cells),
		// Where the pool covers every group, a group's own limit is enough. Another worker
		// may still run on the policy before.
		.headroom_free = w->headroom_covered
					 ? UINT64_MAX
					 : pool_free(w, POOL_HEADROOM, b->headroom_pool_cells),
	};
}

static inline void account(struct worker *w, struct port_rt *p, struct pg_delta d)
{
	slot_add(w, POOL_INGRESS, d.ingress);
	slot_add(w, POOL_HEADROOM, d.headroom);
	if (d.skid != 0)
		gauge_set(&p->skid_used, (uint64_t)((int64_t)gauge_get(&p->skid_used) + d.skid));
}

static void release_own(struct worker *w, unsigned port, unsigned pg, uint32_t cells)
{
	struct port_rt *p = worker_port(w, port);

	account(w, p, pg_release(&p->pg[pg], cells));
}

void account_release(struct worker *w, unsigned in_port, unsigned pg, uint32_t cells)
{
	if (w->sw->owner[in_port] == w->id) {
		release_own(w, in_port, pg, cells);
		return;
	}
	ctr_add(&w->released->cells[account_index(in_port, pg)], cells);
	// Readers that see `any` grow also see the cells.
	atomic_store_explicit(&w->released->any, ctr_get(&w->released->any) + cells,
			      memory_order_release);
}

static void settle_from(struct worker *w, unsigned other)
{
	const struct released *r = w->sw->workers[other]->released;
	uint64_t any = atomic_load_explicit(&r->any, memory_order_acquire);

	if (any == w->any_seen[other])
		return;
	w->any_seen[other] = any;
	for (unsigned i = 0; i < w->n_owned; i++) {
		unsigned port = w->owned[i];
		struct port_rt *p = worker_port(w, port);

		for (unsigned pg = 0; pg < N_PGS; pg++) {
			uint64_t total = ctr_get(&r->cells[account_index(port, pg)]);
			uint64_t cells = total - p->seen_released[other][pg];

			p->seen_released[other][pg] = total;
			if (cells != 0)
				release_own(w, port, pg, (uint32_t)cells);
		}
	}
}

void account_refresh(struct worker *w)
{
	if (w->sw->n_workers == 1)
		return;
	for (unsigned other = 0; other < w->sw->n_workers; other++)
		if (other != w->id)
			settle_from(w, other);
	read_others(w);
	w->refreshed = true;
}

// Without a fence a claim may reach the others late, by the time it takes to write it out: less
// than they need for a burst. Where a few bursts of everybody still fit, that is no harm.
static bool plenty(const struct worker *w)
{
	const struct buffer_params *b = &w->pol->buffer;
	uint64_t few = 4ull * w->sw->n_workers * BURST * w->sw->frame_cells;

	return pool_free(w, POOL_INGRESS, b->ingress_pool_cells) > few &&
	       (w->headroom_covered ||
		pool_free(w, POOL_HEADROOM, b->headroom_pool_cells) > few) &&
	       pool_free(w, POOL_EGRESS_LOSSY, b->egress_lossy_cells) > few;
}

void account_claim(struct worker *w, unsigned n)
{
	if (w->sw->n_workers == 1)
		return;
	gauge_set(&w->claimed, gauge_get(&w->claimed) + n * w->sw->frame_cells);
	account_refresh(w);
	if (plenty(w))
		return;
	atomic_thread_fence(memory_order_seq_cst); // the claim is out before the others' are read
	read_others(w);
}

void account_done(struct worker *w)
{
	atomic_store_explicit(&w->claimed, 0, memory_order_release);
}

static void leave_xoff(struct worker *w, unsigned port, unsigned pg)
{
	struct port_rt *p = worker_port(w, port);

	atomic_store_explicit(&p->pg[pg].xoff, false, memory_order_relaxed);
	p->xoff_pgs &= (uint8_t)~(1u << pg);
	watchdog_excuse_ends(p);
	if (p->xoff_pgs == 0)
		port_set_remove(&w->xoff, port);
	port_set_add(&w->due, port); // its XON is
	worker_event(w, EVENT_XON, port, pg, (uint32_t)gauge_get(&p->pg[pg].shared), 0);
}

static void leave_xoff_where_due(struct worker *w, unsigned port, uint64_t ingress_free)
{
	struct port_rt *p = worker_port(w, port);

	for_each_bit (pg, p->xoff_pgs) {
		if (pg_may_xon(&w->pol->ports[port].pg[pg], &p->pg[pg], ingress_free))
			leave_xoff(w, port, pg);
	}
}

void account_settle(struct worker *w)
{
	struct port_walk xoff = port_set_walk(&w->xoff);
	bool any = !port_set_empty(&w->xoff);
	struct pg_pools pools;
	unsigned port;

	// The books of others are another core's cache lines: not read twice in a loop but for XON.
	if (any || !w->refreshed)
		account_refresh(w);
	if (!any)
		return;
	pools = pools_now(w);
	// The memory for copies that arrive after a PAUSE is measured for one PAUSE.
	if (pools.ingress_free == 0 && w->sw->copy_frames != 0 &&
	    atomic_load_explicit(&w->sw->copies, memory_order_relaxed) != 0)
		return;
	while (port_walk_next(&xoff, &port))
		leave_xoff_where_due(w, port, pools.ingress_free);
}

// XOFF is a lossless group's state. One that a new policy made lossy takes arrivals again at once,
// and its XON goes out with this loop, as the class is none that may stay paused.
static void leave_xoff_where_lossy(struct worker *w, unsigned port)
{
	struct port_rt *p = worker_port(w, port);

	for_each_bit (pg, p->xoff_pgs) {
		if (!w->pol->ports[port].pg[pg].lossless)
			leave_xoff(w, port, pg);
	}
}

// Headroom is for one response time. A group that gets frames which nothing has stopped begins with
// empty headroom, and no group keeps more than the new policy gives it.
static void keep_headroom(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);

	for (unsigned pg = 0; pg < N_PGS; pg++) {
		uint32_t keep = pp->unpaused_pgs >> pg & 1 ? 0 : pp->pg[pg].xoff_cells;

		account(w, p, pg_keep_headroom(&p->pg[pg], keep));
	}
}

void account_new_policy(struct worker *w)
{
	uint64_t headroom = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			headroom += w->pol->ports[port].pg[pg].xoff_cells;
	w->headroom_covered = headroom <= w->pol->buffer.headroom_pool_cells;
	for (unsigned i = 0; i < w->n_owned; i++) {
		leave_xoff_where_lossy(w, w->owned[i]);
		keep_headroom(w, w->owned[i]);
	}
}

// Cells for a frame in the port's skid, 0 when it is full. There a frame counts as one of full
// size, so that the skid bounds frames too, as the receive ring does: memory is held for that many.
static uint32_t skid_cells(const struct policy_port *pp, const struct port_rt *p)
{
	uint64_t used = gauge_get(&p->skid_used);

	return used + pp->skid_frame_cells <= pp->skid_cells ? pp->skid_frame_cells : 0;
}

static void drop_arrival(struct worker *w, const struct frame *f, enum drop_reason reason)
{
	struct pg_counters *c = &worker_port(w, f->in_port)->pg_counters[f->pg];

	ctr_inc(&c->dropped_packets);
	ctr_add(&c->dropped_bytes, f->len);
	worker_drop(w, f->in_port, f, reason);
}

uint32_t account_min_left(const struct worker *w, const struct frame *f)
{
	return pg_min_left(&w->pol->ports[f->in_port].pg[f->pg],
			   &worker_port(w, f->in_port)->pg[f->pg]);
}

bool account_admit_alike(struct worker *w, const struct frame *first, uint32_t cells,
			 uint32_t least)
{
	struct port_rt *p = worker_port(w, first->in_port);
	struct pg_state *pg = &p->pg[first->pg];
	struct pg_pools pools = pools_now(w);
	struct pg_decision d;

	if (!pg_decide_alike(&w->pol->ports[first->in_port].pg[first->pg], pg, &pools, cells,
			     least, &d))
		return false;
	account(w, p, pg_charge(pg, d, cells));
	return true;
}

// Headroom is for what still arrives after PAUSE. A class whose peer is sent none would fill it,
// and so take it from the other classes of its group, and from itself for when PAUSE is sent again.
static void no_headroom(struct pg_decision *d)
{
	if (d->verdict == PG_HEADROOM || d->verdict == PG_SKID)
		d->verdict = PG_DROP_HEADROOM;
}

// memory: false where the pool has no frame left for the frame's copies.
static inline __attribute__((always_inline)) bool admit(struct worker *w, struct frame *f,
							struct pg_pools pools, bool memory)
{
	const struct policy_port *pp = &w->pol->ports[f->in_port];
	struct port_rt *p = worker_port(w, f->in_port);
	struct pg_state *pg = &p->pg[f->pg];
	uint32_t skid = skid_cells(pp, p);
	struct pg_decision d = pg_decide(&pp->pg[f->pg], pg, &pools, skid != 0 ? f->cells : 0,
					 f->cells);

	if (unlikely(p->unprotected >> f->cls & 1))
		no_headroom(&d);
	if (!memory && d.verdict != PG_DROP_POOL)
		d.verdict = PG_DROP_HEADROOM;
	if (d.verdict == PG_SKID)
		f->cells = (uint16_t)skid;
	account(w, p, pg_charge(pg, d, f->cells));
	if (d.enter_xoff) {
		p->xoff_pgs |= (uint8_t)(1u << f->pg);
		port_set_add(&w->xoff, f->in_port);
		worker_event(w, EVENT_XOFF, f->in_port, f->pg, (uint32_t)gauge_get(&pg->shared),
			     cause_of_xoff(w, f));
	}
	if (d.verdict == PG_DROP_POOL)
		drop_arrival(w, f, DROP_INGRESS_POOL);
	else if (!memory)
		drop_arrival(w, f, DROP_NO_MBUF);
	else if (d.verdict == PG_DROP_HEADROOM)
		drop_arrival(w, f, watchdog_ordered(p, f) ? DROP_WATCHDOG : DROP_HEADROOM);
	else if (unlikely(p->stormed != 0))
		watchdog_admitted(p, f, 1);
	return d.verdict != PG_DROP_POOL && d.verdict != PG_DROP_HEADROOM;
}

bool account_admit(struct worker *w, struct frame *f)
{
	return admit(w, f, pools_now(w), true);
}

// The copies lie in cells that are free. Lossy copies leave as many free as all copies take, so
// that a port that does not drain has no more than a third of the pool full of them. Where too few
// are free, a lossy frame is dropped, and a lossless group enters XOFF; then the copies lie in
// memory beyond the buffer.
bool account_admit_replicated(struct worker *w, struct frame *f, unsigned n)
{
	const struct buffer_params *b = &w->pol->buffer;
	struct pg_pools pools = pools_now(w);
	uint64_t used = w->others_used[POOL_INGRESS] + gauge_get(&w->slots[POOL_INGRESS].used);

	if (!w->pol->ports[f->in_port].pg[f->pg].lossless &&
	    atomic_load_explicit(&w->sw->copies, memory_order_relaxed) > pools.ingress_free) {
		drop_arrival(w, f, DROP_INGRESS_POOL);
		return false;
	}
	if (f->cells <= pools.ingress_free) {
		pools.ingress_free += n; // its own copies do not lower its threshold
		return admit(w, f, pools, true);
	}
	pools.ingress_free = 0;
	pools.overfull = true;
	return admit(w, f, pools, used <= b->ingress_pool_cells + w->sw->copy_frames);
}

// ---- PFC out

static uint8_t classes_to_pause(const struct policy_port *pp, const struct port_rt *p)
{
	uint8_t want = p->guard ? pp->pfc.lossless : 0;

	if (p->xoff_pgs != 0)
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (p->xoff_pgs >> pp->classify.class_to_pg[c] & 1)
				want |= (uint8_t)(1u << c);
	return ((want & pp->pfc.lossless) | p->pfc_tx.asked) & (uint8_t)~p->unprotected;
}

// The frame itself is the driver's already.
static void tap_pfc(struct worker *w, unsigned port, const struct pfc_times *times)
{
	uint8_t data[PFC_FRAME_LEN];
	struct tap_meta meta = {.port = (uint8_t)port, .direction = TAP_OUT, .cls = CLASS_NONE};

	if (!tap_wants(w->tap, port))
		return;
	pfc_frame_build(data, worker_port(w, port)->mac, times);
	tap_bytes(w->tap, w->id, w->now_ns, data, sizeof(data), &meta);
}

static bool send_pfc(struct worker *w, unsigned port, const struct pfc_times *times)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->sw->pool);

	if (m == NULL)
		return false;
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN), p->mac, times);
	if (p->ops->tx(p->drv, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	// MAC control goes ahead of every queue and puts the shaper into debt.
	shaper_update(&pp->shaper, &p->shaper, w->now_ns);
	shaper_charge(&pp->shaper, &p->shaper, PFC_FRAME_LEN + LINK_OVERHEAD_BYTES);
	ctr_inc(&p->c.generated);
	atomic_thread_fence(memory_order_release); // begun before it ends
	ctr_inc(&p->c.transmitted);
	if (unlikely(w->tap != NULL))
		tap_pfc(w, port, times);
	return true;
}

uint64_t account_pfc_now(struct worker *w, unsigned port)
{
	const struct pfc_params *params = &w->pol->ports[port].pfc;
	struct port_rt *p = worker_port(w, port);
	uint8_t want = classes_to_pause(&w->pol->ports[port], p);
	struct pfc_times times;

	if ((want | p->pfc_tx.paused) == 0 || !p->up)
		return UINT64_MAX;
	if (pfc_tx_due(params, &p->pfc_tx, want, w->now_ns, &times)) {
		if (!send_pfc(w, port, &times)) {
			ctr_inc(&p->pfc_tx.retries);
			port_set_add(&w->called, port);
			return p->driver_wakes ? UINT64_MAX : w->now_ns;
		}
		pfc_tx_sent(params, &p->pfc_tx, &times, w->now_ns);
		cause_of_pauses(w, port, &times);
	}
	return pfc_tx_next(&p->pfc_tx);
}
