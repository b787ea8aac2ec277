// SPDX-License-Identifier: Apache-2.0
#include "dataplane/microbursts.h"

#include "dataplane/policy.h"

// The highest value of the window. The next window begins with what is there now.
static uint64_t take_peak(gauge_t *max, gauge_t *before, uint64_t now)
{
	uint64_t peak = gauge_get(max);

	gauge_max(before, peak);
	if (peak != now)
		atomic_store_explicit(max, now, memory_order_release);
	return peak;
}

static void put_burst_record(struct worker *w, struct microburst_record *r)
{
	struct worker_microbursts *m = w->microbursts;

	if (rte_ring_sp_enqueue_elem(m->records, r, sizeof(*r)) != 0)
		ctr_inc(&m->lost);
}

// Bytes; 0: no limit. A frame of a lossy queue takes whole cells, so short frames reach the limit
// with fewer bytes.
static uint64_t queue_limit(const struct worker *w, const struct port *p, unsigned q)
{
	const struct wred_params *wred = &p->marking[q].wred;
	const struct egress_params *e = &p->pol->queue[q].egress;
	uint64_t size = w->pol->buffer.egress_lossy_cells, used = 0;

	if (wred->enabled)
		return wred->curve[GREEN].kmax_bytes;
	if (e->lossless)
		return 0;
	for (unsigned i = 0; i < w->sw->n_workers; i++)
		used += gauge_get(&w->sw->workers[i]->slots[POOL_EGRESS_LOSSY].used);
	return (e->min_cells + threshold_cells(&e->shared, size > used ? size - used : 0)) *
	       w->pol->cell.bytes;
}

static void close_queues(struct worker *w, struct port *p, struct microburst_record *r)
{
	struct worker_microbursts *m = w->microbursts;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		struct queue_counters *c = &p->queue[q].c;
		uint64_t length = gauge_get(&c->length_bytes);

		r->peak_bytes = take_peak(&c->max_bytes, &m->marks[p->no].queue[q], length);
		m->holds |= length != 0;
		if (r->peak_bytes == 0 || r->windows == 0)
			continue;
		r->part = q & 0xfu;
		r->share = microburst_share(r->peak_bytes, queue_limit(w, p, q));
		put_burst_record(w, r);
	}
}

// free_least: cells of the ingress pool that were free when it was fullest.
static void close_groups(struct worker *w, struct port *p, uint64_t free_least,
			 struct microburst_record *r)
{
	struct worker_microbursts *m = w->microbursts;
	struct microburst_marks *marks = &m->marks[p->no];
	uint8_t was_in_xoff = marks->xoff | p->xoff_pgs;

	marks->xoff = p->xoff_pgs;
	for (unsigned g = 0; g < N_PGS; g++) {
		const struct pg_params *params = &p->pol->pg[g];
		struct pg_state *s = &p->pg[g].state;
		uint64_t used = gauge_get(&s->shared), headroom = gauge_get(&s->headroom), limit;
		uint64_t peak = take_peak(&s->max_shared, &marks->shared[g], used);
		bool xoff = was_in_xoff >> g & 1;

		headroom = take_peak(&s->max_headroom, &marks->headroom[g], headroom);
		xoff |= headroom != 0;
		m->holds |= used != 0 || xoff;
		if ((peak == 0 && !xoff) || r->windows == 0)
			continue;
		limit = params->min_cells + threshold_cells(&params->shared, free_least);
		r->part = (MICROBURST_GROUPS + g) & 0xfu;
		r->peak_bytes = (params->min_cells + peak) * w->pol->cell.bytes;
		r->headroom_bytes = headroom * w->pol->cell.bytes;
		r->share = microburst_group_share(params->min_cells + peak, limit,
						  params->lossless, xoff);
		put_burst_record(w, r);
	}
	r->headroom_bytes = 0;
}

// Cells that were free when the worker's part of the pool was fullest. What others hold is taken as
// it is now.
static uint64_t ingress_free_least(struct worker *w)
{
	struct pool_slot *slot = &w->slots[POOL_INGRESS];
	uint64_t size = w->pol->buffer.ingress_pool_cells;
	uint64_t used = take_peak(&slot->max, &w->microbursts->ingress, gauge_get(&slot->used));

	for (unsigned i = 0; i < w->sw->n_workers; i++)
		if (i != w->id)
			used += gauge_get(&w->sw->workers[i]->slots[POOL_INGRESS].used);
	return size > used ? size - used : 0;
}

// windows 0: no records are made.
static void close_windows(struct worker *w, uint32_t windows)
{
	uint32_t n = RTE_MIN(windows, (uint32_t)MICROBURST_WINDOWS_MAX);
	struct microburst_record r = {.t_ns = w->microbursts->begun_ns,
				      .windows = n & MICROBURST_WINDOWS_MAX};
	uint64_t free_least = ingress_free_least(w);

	w->microbursts->holds = false;
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		r.port = p->no;
		close_queues(w, p, &r);
		close_groups(w, p, free_least, &r);
	}
}

void microbursts_close(struct worker *w)
{
	struct worker_microbursts *m = w->microbursts;
	uint64_t n = (w->now_ns - m->begun_ns) / m->window_ns, busy = ctr_get(&w->c.busy_loops);

	if (m->holds || busy != m->busy_seen)
		close_windows(w, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
	m->busy_seen = busy;
	m->begun_ns += n * m->window_ns;
	m->end_ns = m->begun_ns + m->window_ns;
}

// The first window ends early, and what is in the watermarks is older.
void microbursts_new_policy(struct worker *w)
{
	struct worker_microbursts *m =
		atomic_load_explicit(&w->microbursts_made, memory_order_acquire);
	uint64_t window_ns = w->pol->microbursts.window_ns;

	w->microbursts = m;
	if (m == NULL || window_ns == m->window_ns)
		return;
	m->window_ns = window_ns;
	m->end_ns = UINT64_MAX;
	if (window_ns == 0)
		return;
	m->begun_ns = w->now_ns - w->now_ns % window_ns;
	m->end_ns = m->begun_ns + window_ns;
	close_windows(w, 0);
	m->busy_seen = ctr_get(&w->c.busy_loops);
}

void microbursts_forget(struct worker *w)
{
	struct worker_microbursts *m = w->microbursts;

	if (m == NULL)
		return;
	gauge_set(&m->ingress, 0);
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct microburst_marks *marks = &m->marks[w->owned[i]];

		for (unsigned k = 0; k < N_QUEUES; k++) {
			gauge_set(&marks->queue[k], 0);
			gauge_set(&marks->shared[k], 0);
			gauge_set(&marks->headroom[k], 0);
		}
	}
}
