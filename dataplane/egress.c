// SPDX-License-Identifier: Apache-2.0
#include "dataplane/egress.h"

#include <string.h>

#include "dataplane/admission.h"
#include "dataplane/fate.h"
#include "dataplane/packet/edit.h"
#include "dataplane/peer_pause.h"

enum {
	ROOM_RETRY_NS = 1000, // how soon to look again at a driver without room that will not call
	LOOK_AHEAD = 5, // a frame that leaves fetches the buffer of the fifth frame behind it
};

// Frames on their way from the queues to the driver.
struct tx_batch {
	uint16_t n;
	int32_t room; // bytes the driver still takes, less those in the batch
	// Frames that left in this loop. One burst at most, even where the driver sends as fast as
	// it is fed: a PAUSE that arrives meanwhile is seen in the next loop.
	uint16_t n_committed;
	struct frame frames[BURST];
};

// ---- cells

static inline void pools_add(struct worker *w, struct egress_delta d)
{
	if (d.lossless != 0)
		pool_add(w, POOL_EGRESS_LOSSLESS, d.lossless);
	if (d.lossy != 0)
		pool_add(w, POOL_EGRESS_LOSSY, d.lossy);
}

// Cells of a frame, or of a run of frames, leave the egress pools.
static inline void release_queue_cells(struct worker *w, struct port *p, const struct frame *f,
				       uint32_t cells)
{
	pools_add(w, egress_release(&p->pol->queue[f->queue].egress, &p->queue[f->queue].egress,
				    cells));
}

// What the port holds of the frame's account in its queue.
static inline void held_add(struct port *p, const struct frame *f, uint32_t cells)
{
	_Atomic uint32_t *held = &p->held_cells[account_index(f->in_port, f->pg)][f->queue];

	atomic_store_explicit(held,
			      atomic_load_explicit(held, memory_order_relaxed) + cells,
			      memory_order_relaxed);
}

// Cells of n frames such as f are free on the side of arrival.
static inline void release_cells(struct worker *w, struct port *p, const struct frame *f,
				 uint32_t cells, unsigned n)
{
	held_add(p, f, 0u - cells);
	replica_release(w, f, cells, n);
}

static void drop(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason)
{
	release_cells(w, p, f, f->cells, 1);
	fate_not_sent(w, p, f, reason);
}

// ---- into the queue

// Not what the switch itself sends, and not what its own notification has just said.
static bool may_mark(const struct worker *w, const struct frame *f)
{
	return !f->own && !notify_spares(w, f);
}

static void mark_ce(struct worker *w, struct queue *q, struct frame *f)
{
	edit_ecn_ce(rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off, f->kind);
	f->ecn = ECN_CE;
	fate_marked(w, q, f);
}

// False: WRED drops the frame.
static bool wred_enqueue(struct worker *w, struct port *p, struct frame *f)
{
	const struct wred_params *params = &p->marking[f->queue].wred;
	struct queue *q = &p->queue[f->queue];
	uint64_t len;

	if (!wred_decides_at_enqueue(params, f->ecn))
		return true;
	len = wred_average(params, &q->wred, gauge_get(&q->c.length_bytes));
	switch (wred_decide(params, len, f->color, f->ecn, rng_next(&w->rng))) {
	case WRED_DROP:
		return f->own;
	case WRED_MARK:
		if (may_mark(w, f))
			mark_ce(w, q, f);
		break;
	case WRED_PASS:
		break;
	}
	return true;
}

// The frames of the run are in their queue.
static void on_queue_grown(struct worker *w, struct port *p, const struct run *r)
{
	unsigned no = r->frames->queue;
	struct queue *q = &p->queue[no];

	port_set_add(&w->sets, PORTS_DUE, p->no);
	if (q->fifo.n == r->n) {
		p->head_len[no] = fifo_head(&q->fifo)->len;
		p->backlog |= (uint8_t)(1u << no);
		q->waiting_ns = w->now_ns;
	}
	fate_queued(w, p, r);
}

// Frames that were charged, but have no chunk to wait in. There is one for every cell of the
// buffer, so a reload must have left more in the buffer than it allows.
static __attribute__((noinline, cold)) void unqueue(struct worker *w, struct port *p,
						     struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		release_queue_cells(w, p, &frames[i], frames[i].cells);
		drop(w, p, &frames[i], DROP_NO_MBUF);
	}
}

void egress_recharge(struct worker *w, struct port *p, struct frame *f, const struct frame *to)
{
	held_add(p, f, 0u - f->cells);
	held_add(p, to, to->cells);
	admission_release(w, f->in_port, f->pg, f->cells - to->cells);
	*f = *to;
}

// False: the frames of the run do not share their fate. Never of one frame.
static bool enqueue(struct worker *w, struct port *p, struct run r)
{
	struct frame *f = r.frames;
	struct queue *q = &p->queue[f->queue];
	const struct policy_queue *pq = &p->pol->queue[f->queue];
	bool wred = wred_acts_at_enqueue(&p->marking[f->queue].wred);
	enum egress_verdict v;
	unsigned pushed;

	if (r.n != 1 && (!p->up || p->discarded != 0 || wred))
		return false;
	if (unlikely(!p->up)) {
		drop(w, p, f, DROP_PORT_DOWN);
		return true;
	}
	if (unlikely(p->discarded >> f->out_cls & 1)) {
		drop(w, p, f, DROP_WATCHDOG);
		return true;
	}
	v = egress_decide(&pq->egress, &q->egress,
			  pool_free(w, POOL_EGRESS_LOSSY, w->pol->buffer.egress_lossy_cells),
			  r.cells, r.least);
	if ((v == EGRESS_SPLIT || v == EGRESS_DROP) && admission_looks_again(w))
		return enqueue(w, p, r);
	if (v == EGRESS_SPLIT)
		return false;
	if (v == EGRESS_DROP) {
		if (fate_finds_other_queue(w, p, f))
			return enqueue(w, p, run_of_one(f));
		drop(w, p, f, DROP_EGRESS_TAIL);
		return true;
	}
	if (wred && !wred_enqueue(w, p, f)) {
		drop(w, p, f, DROP_WRED);
		return true;
	}
	pools_add(w, egress_charge(&q->egress, v, r.cells));
	pushed = fifo_push_all(&w->chunks, &q->fifo, f, r.n);
	if (unlikely(pushed != r.n)) {
		unsigned n = r.n - pushed;

		r = run_of(f, pushed, UINT32_MAX);
		if (pushed != 0)
			on_queue_grown(w, p, &r);
		unqueue(w, p, f + pushed, n);
		return true;
	}
	on_queue_grown(w, p, &r);
	return true;
}

void egress_enqueue(struct worker *w, const struct run *r)
{
	struct port *p = worker_port(w, r->frames->out_port);

	held_add(p, r->frames, r->cells);
	if (enqueue(w, p, *r))
		return;
	for (unsigned i = 0; i < r->n; i++)
		enqueue(w, p, run_of_one(&r->frames[i]));
}

// ---- out of the queue

static uint8_t queues_of_classes(const struct policy_port *pp, uint8_t classes)
{
	uint8_t queues = 0;

	for_each_bit (c, classes)
		queues |= (uint8_t)(1u << pp->classify.class_to_queue[c]);
	return queues;
}

// Frames have left queue no; len bytes stay.
static inline void shrunk(struct port *p, unsigned no, uint64_t len)
{
	struct queue *q = &p->queue[no];

	gauge_set(&q->c.length_packets, q->fifo.n);
	gauge_set(&q->c.length_bytes, len);
	if (q->fifo.n != 0) {
		p->head_len[no] = fifo_head(&q->fifo)->len;
		return;
	}
	p->backlog &= (uint8_t)~(1u << no);
	sched_emptied(&p->sched, no);
}

// len: bytes of the queue that the frame leaves behind.
static void mark_at_dequeue(struct worker *w, const struct wred_params *params, struct queue *q,
			    struct frame *f, uint64_t len)
{
	if (wred_drops(params, f->ecn))
		return;
	len = wred_average(params, &q->wred, len);
	if (wred_decide(params, len, f->color, f->ecn, rng_next(&w->rng)) == WRED_MARK &&
	    may_mark(w, f))
		mark_ce(w, q, f);
}

// The frames are the driver's now: their cells are free.
static void sent_all(struct worker *w, struct port *p, struct frame *frames, unsigned n)
{
	uint64_t bytes = 0;
	struct run r;

	fate_transmitted(p, frames, n);
	for (unsigned i = 0; i < n; i += r.n) {
		r = run_of(&frames[i], n - i, UINT32_MAX);
		fate_sent(w, p, &r);
		release_queue_cells(w, p, r.frames, r.cells);
		release_cells(w, p, r.frames, r.cells, r.n);
		bytes += r.bytes;
	}
	ctr_add(&p->c.tx_packets, n);
	ctr_add(&p->c.tx_bytes, bytes);
}

void egress_drop(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason)
{
	fate_unqueued(p, 1);
	release_queue_cells(w, p, f, f->cells);
	drop(w, p, f, reason);
}

void egress_uncharge(struct worker *w, struct port *p, struct frame *f)
{
	uint64_t arrival_ns = replica_arrival_ns(f);

	release_queue_cells(w, p, f, f->cells);
	release_cells(w, p, f, f->cells, 1);
	f->arrival_ns = arrival_ns;
	f->cells = 0;
}

// Hands the batch to the driver; what it refuses is held and goes first next time.
static void send_batch(struct worker *w, struct port *p, struct tx_batch *b)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	if (b->n == 0)
		return;
	for (uint16_t i = 0; i < b->n; i++)
		pkts[i] = b->frames[i].m;
	n = p->ops->tx(p->drv, pkts, b->n);
	w->busy |= n != 0;
	fate_unqueued(p, n);
	sent_all(w, p, b->frames, n);
	p->n_held = (uint16_t)(b->n - n);
	memcpy(p->held, b->frames + n, p->n_held * sizeof(p->held[0]));
	b->n = 0;
}

// The same of frames that have just left their queues.
static void send_queued(struct worker *w, struct port *p, struct tx_batch *b)
{
	b->n = fate_departs(w, p, b->frames, b->n);
	send_batch(w, p, b);
}

// The same with more to come.
static void flush_tx_batch(struct worker *w, struct port *p, struct tx_batch *b)
{
	send_queued(w, p, b);
	b->room = p->n_held == 0 ? p->ops->tx_room(p->drv) : 0;
}

// Retries what the driver refused. False while it still refuses.
static bool retry_held(struct worker *w, struct port *p)
{
	struct tx_batch b;
	uint16_t left;

	if (p->n_held == 0)
		return true;
	b.n = p->n_held;
	memcpy(b.frames, p->held, p->n_held * sizeof(p->held[0]));
	left = b.n;
	send_batch(w, p, &b);
	// Nothing else leaves a queue that is paused.
	left = (uint16_t)(left - p->n_held);
	for (uint16_t i = 0; unlikely(p->pfc_rx.paused != 0) && i < left; i++)
		p->queue[b.frames[i].queue].sent_ns = w->now_ns;
	return p->n_held == 0;
}

// Prefetches the mbuf for the driver, and the headers for a mark. A driver that frees the mbuf
// reads its second line as well.
static inline void fetch(const struct rte_mbuf *m, bool headers)
{
	rte_prefetch0(m);
	rte_prefetch0((const uint8_t *)m + RTE_CACHE_LINE_MIN_SIZE);
	if (headers)
		rte_prefetch0(frame_headers(m));
}

// Copies the frames of queue q that leave at once behind the batch; returns how many, and their
// bytes in all. sched_pick has chosen q among those that are ready. Charges the shaper.
static unsigned copy_run(struct port *p, unsigned q, uint8_t ready, struct tx_batch *b,
			 uint32_t *bytes)
{
	const struct policy_port *pp = p->pol;
	const struct frame *head = fifo_head(&p->queue[q].fifo);
	unsigned there = fifo_side_by_side(&p->queue[q].fifo), most = there, n = 0;
	struct sched_run run = sched_run_begin(&pp->sched, &p->sched, q, ready);
	bool marks = wred_acts_at_dequeue(&p->marking[q].wred);
	struct shaper_state shaper = p->shaper;
	uint32_t sum = 0;

	most = RTE_MIN(most, (unsigned)(BURST - b->n_committed));
	most = RTE_MIN(most, (unsigned)(p->tx_burst - b->n));
	if (!QUICK_WAYS)
		most = 1;
	do {
		uint32_t len = head[n].len;

		if (n + LOOK_AHEAD < there)
			fetch(head[n + LOOK_AHEAD].m, marks);
		b->frames[b->n + n] = head[n];
		sum += len;
		shaper_charge(&pp->shaper, &shaper, len + LINK_OVERHEAD_BYTES);
		sched_run_spend(&pp->sched, &run, q, len);
		n++;
	} while (n < most && shaper_ready(&pp->shaper, &shaper) &&
		 (int64_t)sum + head[n].len <= b->room &&
		 sched_run_lasts(&pp->sched, &run, q, head[n].len));
	p->shaper = shaper;
	sched_run_end(&pp->sched, &p->sched, &run, q);
	*bytes = sum;
	return n;
}

// Marks frames that leave queue q, which held len bytes with them.
static void mark_run(struct worker *w, const struct wred_params *wred, struct queue *q,
		     struct frame *f, unsigned n, uint64_t len)
{
	struct rng rng = w->rng;
	uint32_t marks = 0;

	if (wred->weight != 0 || wred->not_ect_drop) {
		for (unsigned i = 0; i < n; i++)
			mark_at_dequeue(w, wred, q, &f[i], len -= f[i].len);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		len -= f[i].len;
		marks |= (uint32_t)wred_marks(wred, len, f[i].color, f[i].ecn, rng_next(&rng)) << i;
	}
	w->rng = rng;
	for_each_bit (i, marks)
		if (may_mark(w, &f[i]))
			mark_ce(w, q, &f[i]);
}

// Moves the first frame of queue no, and those that may follow at once, into the batch.
static void commit(struct worker *w, struct port *p, unsigned no, uint8_t ready,
		   struct tx_batch *b)
{
	struct queue *q = &p->queue[no];
	const struct wred_params *wred = &p->marking[no].wred;
	uint64_t len = gauge_get(&q->c.length_bytes);
	struct frame *f = &b->frames[b->n];
	uint32_t bytes;
	// Spent before the queue is seen empty: that resets the deficit.
	unsigned n = copy_run(p, no, ready, b, &bytes);

	fifo_advance(&w->chunks, &q->fifo, n);
	b->n = (uint16_t)(b->n + n);
	b->n_committed = (uint16_t)(b->n_committed + n);
	b->room -= (int32_t)bytes;
	shrunk(p, no, len - bytes);
	if (wred_acts_at_dequeue(wred)) {
		if (wred_passes_all(wred, len))
			rng_skip(&w->rng, n); // one a frame, whether or not a mark is possible
		else
			mark_run(w, wred, q, f, n, len);
	}
	for (unsigned i = 0; fate_is_watched(w) && i < n; i++) {
		len -= f[i].len;
		fate_leaves_watched(w, p, &f[i], len);
	}
}

static uint64_t room_retry(const struct worker *w, const struct port *p)
{
	return p->driver_wakes ? UINT64_MAX : w->now_ns + ROOM_RETRY_NS;
}

// Serves the ready queues. Returns when the port next has something to do.
static uint64_t serve_ready(struct worker *w, struct port *p, struct tx_batch *b)
{
	const struct policy_port *pp = p->pol;
	uint8_t blocked = queues_of_classes(pp, p->pfc_rx.paused) | (uint8_t)p->tx_off | p->purging;
	uint8_t ready;

	while ((ready = p->backlog & (uint8_t)~blocked) != 0) {
		int q;

		if (!shaper_ready(&pp->shaper, &p->shaper))
			return shaper_ready_at(&p->shaper, w->now_ns);
		q = sched_pick(&pp->sched, &p->sched, ready, p->head_len, w->now_ns);
		if (b->n_committed == BURST)
			return w->now_ns;
		if (q < 0)
			return sched_ready_at(&pp->sched, &p->sched, ready, w->now_ns);
		if (b->n == p->tx_burst || (int32_t)p->head_len[q] > b->room)
			flush_tx_batch(w, p, b);
		if ((int32_t)p->head_len[q] > b->room)
			return room_retry(w, p);
		commit(w, p, (unsigned)q, ready, b);
	}
	return UINT64_MAX;
}

// ---- out of the middle of a queue

// Frames that one loop looks at to discard them: other ports want to be served too.
enum { PURGE_FRAMES = 256 };

static bool purge_over(const struct port *p, unsigned q)
{
	return fifo_purge_over(&p->queue[q].fifo, &p->purge);
}

static void end_purge(struct worker *w, struct port *p, unsigned q)
{
	uint8_t bit = (uint8_t)(1u << q);

	fifo_purge_end(&w->chunks, &p->queue[q].fifo, &p->purge);
	p->purge_begun = 0;
	if (!(p->purge_again & bit))
		p->purging &= (uint8_t)~bit;
	p->purge_again &= (uint8_t)~bit;
	shrunk(p, q, gauge_get(&p->queue[q].c.length_bytes));
}

// The frame that is looked at leaves the queue.
static void purge_frame(struct worker *w, struct port *p, struct queue *q)
{
	struct frame f;

	fifo_purge_take(&q->fifo, &p->purge, &f);
	gauge_set(&q->c.length_packets, q->fifo.n);
	gauge_set(&q->c.length_bytes, gauge_get(&q->c.length_bytes) - f.len);
	egress_drop(w, p, &f, DROP_WATCHDOG);
}

// Takes frames of discarded classes (p->discarded) out of the queues in p->purging, one queue at a
// time; the others stay, in order. Nothing is taken from the queue's head meanwhile.
static void purge(struct worker *w, struct port *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->purge_begun != 0 ? p->purge_begun : p->purging);

	if (p->purge_begun == 0)
		fifo_purge_begin(&p->queue[q].fifo, &p->purge);
	p->purge_begun = (uint8_t)(1u << q);
	w->busy = true;
	for (unsigned n = 0; n < PURGE_FRAMES && !purge_over(p, q); n++) {
		const struct frame *f = fifo_purge_look(&w->chunks, &p->purge);

		if (p->discarded >> f->out_cls & 1)
			purge_frame(w, p, &p->queue[q]);
		else
			fifo_purge_keep(&p->purge);
	}
	if (purge_over(p, q))
		end_purge(w, p, q);
}

// Frames that were not looked at stay.
static void stop_purge(struct worker *w, struct port *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->purge_begun | 1u << N_QUEUES);

	p->purging = p->purge_again = 0;
	if (q == N_QUEUES)
		return;
	while (!purge_over(p, q)) {
		fifo_purge_look(&w->chunks, &p->purge);
		fifo_purge_keep(&p->purge);
	}
	end_purge(w, p, q);
}

// ---- serve

// When the first pause of a port where frames wait runs out. Also where they wait for something
// else too: a reader must not be shown a pause that is over.
static uint64_t pause_end(const struct worker *w, const struct port *p)
{
	return p->backlog == 0 || w->hold ? UINT64_MAX : pfc_rx_next(&p->pfc_rx);
}

// What of the peer's pauses and of storms holds now.
static void look_at_pauses(struct worker *w, struct port *p)
{
	peer_pause_poll(w, p);
	// While admission is held no refresh of a PAUSE can arrive: those that stand stay.
	if (!w->hold)
		pfc_rx_expire(&p->pfc_rx, w->now_ns);
	storm_poll(w, p);
}

uint8_t egress_blocked(struct worker *w, struct port *p)
{
	look_at_pauses(w, p);
	if (!p->up || (p->tx_off & TX_OFF_PORT))
		return UINT8_MAX;
	return queues_of_classes(p->pol, p->pfc_rx.paused | p->stormed) | (uint8_t)p->tx_off |
	       p->purging;
}

// Frames that a feature held back go first, when they are due.
static __attribute__((noinline)) void serve_held_back(struct worker *w, struct port *p)
{
	struct tx_batch b;

	if ((p->tx_off & TX_OFF_PORT) || !retry_held(w, p))
		return;
	b.n = fate_due(w, p, b.frames, p->tx_burst, p->ops->tx_room(p->drv));
	send_batch(w, p, &b);
}

uint64_t egress_serve(struct worker *w, struct port *p)
{
	struct tx_batch b;
	uint64_t wake;

	look_at_pauses(w, p);
	if (unlikely(p->purging != 0))
		purge(w, p);
	if (fate_holds_back(p))
		serve_held_back(w, p);
	if ((p->tx_off & TX_OFF_PORT) || (p->backlog == 0 && p->n_held == 0))
		return pause_end(w, p);
	if (!retry_held(w, p))
		return min_u64(room_retry(w, p), pause_end(w, p));
	shaper_update(&p->pol->shaper, &p->shaper, w->now_ns);
	b.n = b.n_committed = 0; // not the frames, which would cost more than sending one
	b.room = p->ops->tx_room(p->drv);
	wake = serve_ready(w, p, &b);
	send_queued(w, p, &b);
	return min_u64(wake, pause_end(w, p));
}

void egress_flush(struct worker *w, struct port *p, enum drop_reason reason)
{
	struct frame f;

	stop_purge(w, p);
	for (uint16_t i = 0; i < p->n_held; i++) {
		f = p->held[i];
		egress_drop(w, p, &f, reason);
	}
	p->n_held = 0;
	for (unsigned no = 0; no < N_QUEUES; no++) {
		struct queue *q = &p->queue[no];

		while (q->fifo.n != 0) {
			f = *fifo_head(&q->fifo);
			fifo_advance(&w->chunks, &q->fifo, 1);
			shrunk(p, no, gauge_get(&q->c.length_bytes) - f.len);
			egress_drop(w, p, &f, reason);
		}
	}
}
