// SPDX-License-Identifier: Apache-2.0
#include "dataplane/admission.h"

#include "dataplane/fate.h"
#include "dataplane/pause.h"

// ---- pools

// Several workers share the pools, and each looks at the others' use once per burst. What a burst
// may charge is claimed before that look, and a claim counts as use in the eyes of the others: of
// two workers that begin a burst at the same time at least one sees the other's claim, however long
// either is interrupted. So no pool is ever exceeded, and a frame that is alone in the switch finds
// exactly the thresholds that one worker has. The price: while others are in a burst, their claims
// make a pool look fuller by up to a burst each. A headroom pool that covers every group's share
// needs no claims: the groups' own limits keep it, and no claim may cost a lossless frame.
//
// The use of the others changes with each of their bursts, and each read of it moves cache lines
// between cores. So each worker shows a ceiling, no less than its cells and claims, that changes
// rarely. A burst that finds room below the ceilings of all finds room below what they hold. A
// decision that finds no room is made again with what they hold. So no frame has another end for
// it.
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
	w->exact = true;
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

static inline void account(struct worker *w, struct port *p, struct pg_delta d)
{
	pool_add(w, POOL_INGRESS, d.ingress);
	pool_add(w, POOL_HEADROOM, d.headroom);
	if (d.skid != 0)
		gauge_set(&p->skid_used, (uint64_t)((int64_t)gauge_get(&p->skid_used) + d.skid));
}

void admission_release(struct worker *w, unsigned in_port, unsigned pg, uint32_t cells)
{
	if (w->sw->owner[in_port] == w->id) {
		struct port *p = worker_port(w, in_port);

		account(w, p, pg_release(&p->pg[pg].state, cells));
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
		struct port *p = worker_port(w, w->owned[i]);

		for (unsigned pg = 0; pg < N_PGS; pg++) {
			uint64_t total = ctr_get(&r->cells[account_index(p->no, pg)]);
			uint64_t cells = total - p->pg[pg].seen_released[other];

			p->pg[pg].seen_released[other] = total;
			if (cells != 0)
				account(w, p, pg_release(&p->pg[pg].state, (uint32_t)cells));
		}
	}
}

static void settle_releases(struct worker *w)
{
	for (unsigned other = 0; other < w->sw->n_workers; other++)
		if (other != w->id)
			settle_from(w, other);
}

// Headroom has no ceiling: only a frame that finds no room below the thresholds is charged there.
static const uint8_t ceiling_of[N_CEILINGS] = {POOL_INGRESS, POOL_EGRESS_LOSSY};

static uint64_t ceiling_step(const struct worker *w)
{
	return 8ull * BURST * w->sw->frame_cells;
}

// The worker's cells and claims stay below its ceilings.
static void keep_ceilings(struct worker *w)
{
	uint64_t step = ceiling_step(w);

	for (unsigned i = 0; i < N_CEILINGS; i++) {
		uint64_t held = gauge_get(&w->slots[ceiling_of[i]].used) + gauge_get(&w->claimed);
		uint64_t ceiling = gauge_get(&w->ceiling[i]);

		if (unlikely(held > ceiling || ceiling > held + 4 * step))
			gauge_set(&w->ceiling[i], held + step);
	}
}

void admission_refresh(struct worker *w)
{
	settle_releases(w);
	keep_ceilings(w); // a reload may have moved cells from one pool to another
	read_others(w);
}

static void read_ceilings(struct worker *w)
{
	uint64_t sum[N_CEILINGS] = {0};

	for (unsigned i = 0; i < w->sw->n_workers; i++)
		for (unsigned k = 0; i != w->id && k < N_CEILINGS; k++)
			sum[k] += gauge_get(&w->sw->workers[i]->ceiling[k]);
	for (unsigned k = 0; k < N_CEILINGS; k++)
		w->others_used[ceiling_of[k]] = sum[k];
	w->others_used[POOL_INGRESS] += atomic_load_explicit(&w->sw->copies, memory_order_relaxed);
	w->exact = false;
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

// Groups in XOFF, and notifications, go by what others have released and hold.
static bool must_be_exact(const struct worker *w)
{
	return w->ipcc || !port_set_empty(&w->sets, PORTS_XOFF);
}

void admission_claim(struct worker *w, unsigned n)
{
	if (w->sw->n_workers == 1)
		return;
	gauge_set(&w->claimed, gauge_get(&w->claimed) + n * w->sw->frame_cells);
	keep_ceilings(w);
	settle_releases(w);
	w->settled = true;
	if (QUICK_WAYS && !must_be_exact(w)) {
		read_ceilings(w);
		if (plenty(w))
			return;
	}
	read_others(w);
	if (plenty(w))
		return;
	atomic_thread_fence(memory_order_seq_cst); // the claim is out before the others' are read
	read_others(w);
}

void admission_be_exact(struct worker *w)
{
	atomic_thread_fence(memory_order_seq_cst);
	read_others(w);
}

// A flooded frame may have charged more than was claimed.
void admission_done(struct worker *w)
{
	if (w->sw->n_workers == 1)
		return;
	keep_ceilings(w);
	atomic_store_explicit(&w->claimed, 0, memory_order_release);
}

// ---- out of XOFF

static void leave_xoff(struct worker *w, struct port *p, unsigned pg)
{
	struct pg_state *s = &p->pg[pg].state;

	atomic_store_explicit(&s->xoff, false, memory_order_relaxed);
	p->xoff_pgs &= (uint8_t)~(1u << pg);
	storm_excuse_ends(p);
	if (p->xoff_pgs == 0)
		port_set_remove(&w->sets, PORTS_XOFF, p->no);
	port_set_add(&w->sets, PORTS_DUE, p->no); // its XON is
	worker_event(w, EVENT_XON, p->no, pg, (uint32_t)gauge_get(&s->shared), 0);
}

void admission_settle(struct worker *w)
{
	struct port_walk xoff = port_set_walk(&w->sets, PORTS_XOFF);
	bool any = !port_set_empty(&w->sets, PORTS_XOFF);
	struct pg_pools pools;
	unsigned port;

	if (w->sw->n_workers > 1 && (any || !w->settled))
		admission_refresh(w);
	if (!any)
		return;
	pools = pools_now(w);
	// The memory for copies that arrive after a PAUSE is measured for one PAUSE.
	if (pools.ingress_free == 0 && w->sw->copy_frames != 0 &&
	    atomic_load_explicit(&w->sw->copies, memory_order_relaxed) != 0)
		return;
	while (port_walk_next(&xoff, &port)) {
		struct port *p = worker_port(w, port);

		for_each_bit (pg, p->xoff_pgs) {
			if (pg_may_xon(&p->pol->pg[pg], &p->pg[pg].state, pools.ingress_free))
				leave_xoff(w, p, pg);
		}
	}
}

// ---- a new policy

// XOFF is a lossless group's state. One that a new policy made lossy takes arrivals again at once,
// and its XON goes out with this loop, as the class is none that may stay paused.
static void leave_xoff_where_lossy(struct worker *w, struct port *p)
{
	for_each_bit (pg, p->xoff_pgs) {
		if (!p->pol->pg[pg].lossless)
			leave_xoff(w, p, pg);
	}
}

// Headroom is for one response time. A group that gets frames which nothing has stopped begins with
// empty headroom, and no group keeps more than the new policy gives it.
static void keep_headroom(struct worker *w, struct port *p)
{
	const struct policy_port *pp = p->pol;

	for (unsigned pg = 0; pg < N_PGS; pg++) {
		uint32_t keep = pp->unpaused_pgs >> pg & 1 ? 0 : pp->pg[pg].xoff_cells;

		account(w, p, pg_keep_headroom(&p->pg[pg].state, keep));
	}
}

void admission_new_policy(struct worker *w)
{
	uint64_t headroom = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			headroom += w->pol->ports[port].pg[pg].xoff_cells;
	w->headroom_covered = headroom <= w->pol->buffer.headroom_pool_cells;
	for (unsigned i = 0; i < w->n_owned; i++) {
		leave_xoff_where_lossy(w, worker_port(w, w->owned[i]));
		keep_headroom(w, worker_port(w, w->owned[i]));
	}
}

// ---- admission

// Cells for a frame in the port's skid, 0 when it is full. There a frame counts as one of full
// size, so that the skid bounds frames too, as the receive ring does: memory is held for that many.
static uint32_t skid_cells(const struct port *p)
{
	uint64_t used = gauge_get(&p->skid_used);

	return used + p->pol->skid_frame_cells <= p->pol->skid_cells ? p->pol->skid_frame_cells : 0;
}

static void enter_xoff(struct worker *w, struct port *p, const struct frame *f)
{
	uint64_t shared = gauge_get(&p->pg[f->pg].state.shared);

	p->xoff_pgs |= (uint8_t)(1u << f->pg);
	port_set_add(&w->sets, PORTS_XOFF, p->no);
	worker_event(w, EVENT_XOFF, p->no, f->pg, (uint32_t)shared, pause_cause_of_xoff(w, p, f));
}

// Headroom is for what still arrives after PAUSE. A class whose peer is sent none would fill it,
// and so take it from the other classes of its group, and from itself for when PAUSE is sent again.
static void no_headroom(struct pg_decision *d)
{
	if (d->verdict == PG_HEADROOM || d->verdict == PG_SKID)
		d->verdict = PG_DROP_HEADROOM;
}

// One frame that finds no room below the thresholds, or is replicated. memory: false where the pool
// has no frame left for its copies.
static enum admission charge_closely(struct worker *w, struct port *p, struct run *r,
				     const struct pg_pools *pools, bool memory)
{
	struct frame *f = r->frames;
	struct pg_state *s = &p->pg[f->pg].state;
	uint32_t skid = skid_cells(p);
	struct pg_decision d =
		pg_decide(&p->pol->pg[f->pg], s, pools, skid != 0 ? f->cells : 0, f->cells);

	if (unlikely(p->unprotected >> f->cls & 1))
		no_headroom(&d);
	if (!memory && d.verdict != PG_DROP_POOL)
		d.verdict = PG_DROP_HEADROOM;
	if (d.verdict == PG_SKID)
		r->cells = f->cells = (uint16_t)skid;
	account(w, p, pg_charge(s, d, f->cells));
	if (d.enter_xoff)
		enter_xoff(w, p, f);
	if (d.verdict != PG_DROP_POOL && d.verdict != PG_DROP_HEADROOM) {
		fate_admitted(p, r);
		return ADMITTED;
	}
	if (d.verdict == PG_DROP_POOL)
		fate_refused(w, p, f, DROP_INGRESS_POOL);
	else if (!memory)
		fate_refused(w, p, f, DROP_NO_MBUF);
	else
		fate_refused(w, p, f, storm_drop_reason(p, f));
	return REFUSED;
}

enum admission admission_charge(struct worker *w, struct port *p, struct run *r)
{
	unsigned g = r->frames->pg;
	struct pg_pools pools = pools_now(w);
	struct pg_decision d = {
		.verdict = pg_room(&p->pol->pg[g], &p->pg[g].state, &pools, r->cells, r->least)};

	if (d.verdict == PG_NO_ROOM && admission_looks_again(w))
		return admission_charge(w, p, r);
	if (d.verdict == PG_NO_ROOM)
		return r->n != 1 ? ADMIT_SPLIT : charge_closely(w, p, r, &pools, true);
	account(w, p, pg_charge(&p->pg[g].state, d, r->cells));
	fate_admitted(p, r);
	return ADMITTED;
}

// The copies lie in cells that are free. Lossy copies leave as many free as all copies take, so
// that a port that does not drain has no more than a third of the pool full of them. Where too few
// are free, a lossy frame is dropped, and a lossless group enters XOFF; then the copies lie in
// memory beyond the buffer.
bool admission_replicated(struct worker *w, struct port *p, struct frame *f, unsigned n)
{
	const struct buffer_params *b = &w->pol->buffer;
	struct pg_pools pools = pools_now(w);
	uint64_t used = w->others_used[POOL_INGRESS] + gauge_get(&w->slots[POOL_INGRESS].used);
	struct run r = run_of_one(f);
	bool memory = true;

	if (!p->pol->pg[f->pg].lossless &&
	    atomic_load_explicit(&w->sw->copies, memory_order_relaxed) > pools.ingress_free) {
		fate_refused(w, p, f, DROP_INGRESS_POOL);
		return false;
	}
	if (f->cells <= pools.ingress_free) {
		pools.ingress_free += n; // its own copies do not lower its threshold
	} else {
		pools.ingress_free = 0;
		pools.overfull = true;
		memory = used <= b->ingress_pool_cells + w->sw->copy_frames;
	}
	return charge_closely(w, p, &r, &pools, memory) == ADMITTED;
}
