// SPDX-License-Identifier: Apache-2.0
// The egress half of the loop: lossy admission, WRED, queue; then schedule, mark, transmit,
// release. Runs on the worker that owns the port of departure.
#include <string.h>

#include "dataplane/packet/edit.h"
#include "dataplane/switch_impl.h"
#include "dataplane/worker_flood.h"

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

// ---- what the queues hold of each account

static inline void pools_add(struct worker *w, struct egress_delta d)
{
	if (d.lossless != 0)
		slot_add(w, POOL_EGRESS_LOSSLESS, d.lossless);
	if (d.lossy != 0)
		slot_add(w, POOL_EGRESS_LOSSY, d.lossy);
}

// Cells of the frame's queue are free: those of the frame, or of a run of frames.
static inline void release_cells(struct worker *w, struct port_rt *p, const struct frame *f,
				 uint32_t cells)
{
	const struct egress_params *e = &w->pol->ports[f->out_port].queue[f->queue].egress;

	pools_add(w, egress_release(e, &p->egress[f->queue], cells));
}

static inline void held_add(struct port_rt *p, const struct frame *f, uint32_t cells)
{
	_Atomic uint32_t *held = &p->held_cells[account_index(f->in_port, f->pg)][f->queue];

	atomic_store_explicit(held,
			      atomic_load_explicit(held, memory_order_relaxed) + cells,
			      memory_order_relaxed);
}

// Cells of frames such as f are free.
static inline void let_go(struct worker *w, struct port_rt *p, const struct frame *f,
			  uint32_t cells)
{
	held_add(p, f, 0u - cells);
	flood_release(w, f, cells);
}

// ---- into the queue

// Not what the switch itself sends, and not what its own notification has just said.
static bool may_mark(const struct worker *w, const struct frame *f)
{
	return !f->own && (w->flows == NULL || !ipcc_spares(w, f));
}

static void mark_ce(struct worker *w, struct frame *f)
{
	edit_ecn_ce(rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off, f->kind);
	f->ecn = ECN_CE;
	f->marked = true;
	if (w->flows != NULL && frame_flow(f) != FLOW_NONE) {
		struct worker_flows *flows = flows_of_port(w->sw, f->in_port);

		gauge_set(&flows->table.flows[frame_flow(f)].marked_ns, w->now_ns);
	}
}

static void queue_drop(struct worker *w, struct frame *f, enum drop_reason reason)
{
	struct port_rt *p = worker_port(w, f->out_port);
	struct queue_counters *qc = &p->queue[f->queue];

	f->at_egress = true;
	ctr_inc(&qc->dropped_packets);
	ctr_add(&qc->dropped_bytes, f->len);
	if (unlikely(p->stormed != 0))
		watchdog_not_sent(p, f);
	let_go(w, p, f, f->cells);
	worker_drop(w, f->out_port, f, reason);
}

// False: WRED drops the frame.
static bool wred_enqueue(struct worker *w, struct frame *f)
{
	const struct wred_params *params = &w->pol->ports[f->out_port].queue[f->queue].wred;
	struct port_rt *p = worker_port(w, f->out_port);
	struct queue_counters *qc = &p->queue[f->queue];
	uint64_t len;

	if (!wred_decides_at_enqueue(params, f->ecn))
		return true;
	len = wred_average(params, &p->wred[f->queue], gauge_get(&qc->length_bytes));
	switch (wred_decide(params, len, f->color, f->ecn, rng_next(&w->rng))) {
	case WRED_DROP:
		return f->own;
	case WRED_MARK:
		if (may_mark(w, f)) {
			mark_ce(w, f);
			ctr_inc(&qc->ecn_marked);
		}
		break;
	case WRED_PASS:
		break;
	}
	return true;
}

// The queue has grown by n frames such as f.
static void grown(struct worker *w, const struct frame *f, unsigned n, uint32_t bytes)
{
	unsigned port = f->out_port, q = f->queue;
	struct port_rt *p = worker_port(w, port);
	struct queue_counters *qc = &p->queue[q];

	port_set_add(&w->due, port);
	if (p->fifo[q].n == n) {
		p->head_len[q] = fifo_head(&p->fifo[q])->len;
		p->backlog |= (uint8_t)(1u << q);
		p->waiting_ns[q] = w->now_ns;
	}
	gauge_set(&qc->length_packets, p->fifo[q].n);
	gauge_set(&qc->length_bytes, gauge_get(&qc->length_bytes) + bytes);
	gauge_max(&qc->max_bytes, gauge_get(&qc->length_bytes));
	gauge_set(&p->c.queued, gauge_get(&p->c.queued) + n);
	if (unlikely(p->ipcc_queues >> q & 1))
		ipcc_fed(w, f, n);
}

static void enqueue_one(struct worker *w, struct frame *f)
{
	struct port_rt *p = worker_port(w, f->out_port);
	const struct policy_queue *pq = &w->pol->ports[f->out_port].queue[f->queue];
	enum egress_verdict v;

	if (!p->up) {
		queue_drop(w, f, DROP_PORT_DOWN);
		return;
	}
	if (unlikely(p->discarded >> f->out_cls & 1)) {
		queue_drop(w, f, DROP_WATCHDOG);
		return;
	}
	v = egress_decide(&pq->egress, &p->egress[f->queue],
			  pool_free(w, POOL_EGRESS_LOSSY, w->pol->buffer.egress_lossy_cells),
			  f->cells);
	if (v == EGRESS_DROP) {
		queue_drop(w, f, DROP_EGRESS_TAIL);
	} else if (pq->wred.enabled && !wred_enqueue(w, f)) {
		queue_drop(w, f, DROP_WRED);
	} else if (!fifo_push(&w->chunks, &p->fifo[f->queue], f)) {
		queue_drop(w, f, DROP_NO_MBUF);
	} else {
		pools_add(w, egress_charge(&p->egress[f->queue], v, f->cells));
		grown(w, f, 1, f->len);
	}
}

// A frame that was charged, but has no chunk to wait in. There is one for every cell of the buffer,
// so a reload must have left more in the buffer than it allows.
static void unqueue(struct worker *w, struct frame *f)
{
	release_cells(w, worker_port(w, f->out_port), f, f->cells);
	queue_drop(w, f, DROP_NO_MBUF);
}

// n frames for one queue, cells in all: at once, when nothing can befall one and not another.
static bool enqueue_alike(struct worker *w, struct frame *frames, unsigned n, uint32_t cells)
{
	struct port_rt *p = worker_port(w, frames->out_port);
	unsigned q = frames->queue;
	const struct policy_queue *pq = &w->pol->ports[frames->out_port].queue[q];
	uint64_t pool = pool_free(w, POOL_EGRESS_LOSSY, w->pol->buffer.egress_lossy_cells);
	enum egress_verdict v;
	uint32_t bytes = 0;
	unsigned pushed;

	if (!p->up || p->discarded != 0 || wred_acts_at_enqueue(&pq->wred) ||
	    !egress_decide_alike(&pq->egress, &p->egress[q], pool, cells, &v))
		return false;
	pools_add(w, egress_charge(&p->egress[q], v, cells));
	pushed = fifo_push_all(&w->chunks, &p->fifo[q], frames, n);
	for (unsigned i = 0; i < pushed; i++)
		bytes += frames[i].len;
	if (pushed != 0)
		grown(w, frames, pushed, bytes);
	for (unsigned i = pushed; unlikely(i < n); i++)
		unqueue(w, &frames[i]);
	return true;
}

// Of one account, and bound for one queue.
static bool alike(const struct frame *a, const struct frame *b)
{
	return a->out_port == b->out_port && a->queue == b->queue && a->pg == b->pg &&
	       a->in_port == b->in_port;
}

void egress_enqueue_alike(struct worker *w, struct frame *frames, unsigned n, uint32_t cells)
{
	held_add(worker_port(w, frames->out_port), frames, cells);
	if (enqueue_alike(w, frames, n, cells))
		return;
	for (unsigned i = 0; i < n; i++)
		enqueue_one(w, &frames[i]);
}

void egress_enqueue(struct worker *w, struct frame *frames, unsigned n)
{
	unsigned next;

	for (unsigned i = 0; i < n; i = next) {
		uint32_t cells = 0;

		for (next = i; next < n && alike(&frames[next], &frames[i]); next++)
			cells += frames[next].cells;
		egress_enqueue_alike(w, &frames[i], next - i, cells);
	}
}

// ---- out of the queue

static uint8_t queues_of(const struct policy_port *pp, uint8_t classes)
{
	uint8_t queues = 0;

	for_each_bit (c, classes)
		queues |= (uint8_t)(1u << pp->classify.class_to_queue[c]);
	return queues;
}

// n frames have left queue q; len bytes stay.
static void shrunk(struct port_rt *p, unsigned q, uint64_t len)
{
	struct queue_counters *qc = &p->queue[q];

	gauge_set(&qc->length_packets, p->fifo[q].n);
	gauge_set(&qc->length_bytes, len);
	if (p->fifo[q].n != 0) {
		p->head_len[q] = fifo_head(&p->fifo[q])->len;
		return;
	}
	p->backlog &= (uint8_t)~(1u << q);
	sched_emptied(&p->sched, q);
}

// len: bytes of the queue that the frame leaves behind.
static void mark_at_dequeue(struct worker *w, const struct policy_queue *pq, struct port_rt *p,
			    struct frame *f, uint64_t len)
{
	if (wred_drops(&pq->wred, f->ecn))
		return;
	len = wred_average(&pq->wred, &p->wred[f->queue], len);
	if (wred_decide(&pq->wred, len, f->color, f->ecn, rng_next(&w->rng)) != WRED_MARK ||
	    !may_mark(w, f))
		return;
	mark_ce(w, f);
	ctr_inc(&p->queue[f->queue].ecn_marked);
}

// Frames of one burst that share queue, account and arrival, as most do that leave together.
struct run {
	const struct frame *first;
	uint16_t n;
	uint32_t bytes, cells;
};

static bool continues(const struct frame *a, const struct frame *b)
{
	return a->queue == b->queue && a->in_port == b->in_port && a->pg == b->pg &&
	       a->arrival_ns == b->arrival_ns;
}

// The frames are the driver's now: their cells are free.
static void sent(struct worker *w, struct port_rt *p, const struct run *r)
{
	const struct frame *f = r->first;
	struct queue_counters *qc = &p->queue[f->queue];
	uint64_t arrival_ns = f->arrival_ns, residence;

	if (unlikely(frame_replicated(f)))
		arrival_ns = flood_arrival_ns(f);
	// The ingress owner may have read its clock after this loop began.
	residence = w->now_ns > arrival_ns ? w->now_ns - arrival_ns : 0;
	ctr_add(&qc->tx_packets, r->n);
	ctr_add(&qc->tx_bytes, r->bytes);
	ctr_add(&qc->residence[residence_bucket(residence)], r->n);
	gauge_max(&qc->residence_max_ns, residence);
	gauge_set(&qc->residence_ns, residence);
	release_cells(w, p, f, r->cells);
	let_go(w, p, f, r->cells);
}

static void sent_all(struct worker *w, struct port_rt *p, const struct frame *frames, uint16_t n)
{
	struct run r = {.first = frames};
	uint64_t bytes = 0;

	ctr_add(&p->c.transmitted, n);
	if (unlikely(p->stormed != 0))
		watchdog_sent(p, frames, n);
	for (uint16_t i = 0; i < n; i++) {
		const struct frame *f = &frames[i];

		if (!continues(r.first, f)) {
			sent(w, p, &r);
			r = (struct run){.first = f};
		}
		r.n++;
		r.bytes += f->len;
		r.cells += f->cells;
		bytes += f->len;
	}
	if (r.n != 0)
		sent(w, p, &r);
	ctr_add(&p->c.tx_packets, n);
	ctr_add(&p->c.tx_bytes, bytes);
}

// n frames of the port are about to be counted as ended: a reader of the balance must not see one
// in both places.
static void no_longer_queued(struct port_rt *p, uint16_t n)
{
	gauge_set(&p->c.queued, gauge_get(&p->c.queued) - n);
	atomic_thread_fence(memory_order_release);
}

// Hands the batch to the driver; what it refuses is held and goes first next time.
static void send_batch(struct worker *w, struct port_rt *p, struct tx_batch *b)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	if (b->n == 0)
		return;
	for (uint16_t i = 0; i < b->n; i++)
		pkts[i] = b->frames[i].m;
	n = p->ops->tx(p->drv, pkts, b->n);
	w->busy |= n != 0;
	no_longer_queued(p, n);
	sent_all(w, p, b->frames, n);
	p->n_held = (uint16_t)(b->n - n);
	memcpy(p->held, b->frames + n, p->n_held * sizeof(p->held[0]));
	b->n = 0;
}

// The same with more to come.
static void flush(struct worker *w, struct port_rt *p, struct tx_batch *b)
{
	send_batch(w, p, b);
	b->room = p->n_held == 0 ? p->ops->tx_room(p->drv) : 0;
}

// Retries what the driver refused. False while it still refuses.
static bool retry_held(struct worker *w, struct port_rt *p)
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
		p->sent_ns[b.frames[i].queue] = w->now_ns;
	return p->n_held == 0;
}

static void tap_out(struct worker *w, struct port_rt *p, const struct frame *f, uint64_t len)
{
	gauge_set(&p->queue[f->queue].length_bytes, len); // as the tap shows it
	worker_tap(w, TAP_OUT, f->out_port, f, 0);
}

// Prefetches the mbuf for the driver, and the headers for a mark. A frame that was given a tag
// begins 4 bytes earlier, and loses some of the gain.
static inline void fetch(const struct rte_mbuf *m, bool headers)
{
	rte_prefetch0(m);
	if (headers)
		rte_prefetch0((const uint8_t *)m + sizeof(*m) + RTE_PKTMBUF_HEADROOM);
}

// Copies the frames of queue q that leave as one run behind the batch; returns how many, and their
// bytes in all. The first may leave. The next ones may while a DWRR turn lasts in which no other
// queue has priority. Charges the shaper.
static unsigned run_of(const struct policy_port *pp, struct port_rt *p, unsigned q, uint8_t ready,
		       struct tx_batch *b, uint32_t *bytes)
{
	const struct frame *head = fifo_head(&p->fifo[q]);
	int64_t left = RTE_MIN(p->sched.deficit[q], (int64_t)b->room);
	unsigned there = fifo_side_by_side(&p->fifo[q]), most = there, n = 0;
	bool marks = wred_acts_at_dequeue(&pp->queue[q].wred);
	struct shaper_state shaper = p->shaper;
	uint32_t sum = 0;

	most = RTE_MIN(most, (unsigned)(BURST - b->n_committed));
	most = RTE_MIN(most, (unsigned)(p->tx_burst - b->n));
	if (p->sched.turn != q || !sched_turn_lasts(&pp->sched, &p->sched, ready, head->len))
		most = 1;
	do {
		if (n + LOOK_AHEAD < there)
			fetch(head[n + LOOK_AHEAD].m, marks);
		b->frames[b->n + n] = head[n];
		sum += head[n].len;
		shaper_charge(&pp->shaper, &shaper, head[n].len + LINK_OVERHEAD_BYTES);
		n++;
	} while (n < most && sum + head[n].len <= left && shaper_ready(&pp->shaper, &shaper));
	p->shaper = shaper;
	*bytes = sum;
	return n;
}

// Moves the first frame of queue q, and those that may follow at once, into the batch.
static void commit(struct worker *w, unsigned port, unsigned q, uint8_t ready, struct tx_batch *b)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	const struct wred_params *wred = &pp->queue[q].wred;
	uint64_t len = gauge_get(&p->queue[q].length_bytes);
	struct frame *f = &b->frames[b->n];
	bool marks = wred_acts_at_dequeue(wred);
	uint32_t bytes;
	unsigned n = run_of(pp, p, q, ready, b, &bytes);

	fifo_advance(&w->chunks, &p->fifo[q], n);
	b->n = (uint16_t)(b->n + n);
	b->n_committed = (uint16_t)(b->n_committed + n);
	b->room -= (int32_t)bytes;
	// Spent before the queue is seen empty: that resets the deficit.
	sched_commit(&pp->sched, &p->sched, q, bytes);
	shrunk(p, q, len - bytes);
	if (marks && wred_passes_all(wred, len)) {
		rng_skip(&w->rng, n); // one for each frame, whether or not a mark is possible
		marks = false;
	}
	if (!marks && w->tap == NULL)
		return;
	for (unsigned i = 0; i < n; i++, f++) {
		len -= f->len;
		if (marks)
			mark_at_dequeue(w, &pp->queue[q], p, f, len);
		if (unlikely(w->tap != NULL))
			tap_out(w, p, f, len);
	}
}

static uint64_t room_retry(const struct worker *w, const struct port_rt *p)
{
	return p->driver_wakes ? UINT64_MAX : w->now_ns + ROOM_RETRY_NS;
}

// Serves the ready queues. Returns when the port next has something to do.
static uint64_t serve_ready(struct worker *w, unsigned port, struct tx_batch *b)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	uint8_t blocked = queues_of(pp, p->pfc_rx.paused) | (uint8_t)p->tx_off | p->sifting;
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
			flush(w, p, b);
		if ((int32_t)p->head_len[q] > b->room)
			return room_retry(w, p);
		commit(w, port, (unsigned)q, ready, b);
	}
	return UINT64_MAX;
}

// ---- frames of classes that are discarded

// Frames that one loop looks at to discard them: other ports want to be served too.
enum { SIFT_FRAMES = 256 };

static bool sift_over(const struct port_rt *p, unsigned q)
{
	return fifo_sift_over(&p->fifo[q], &p->sift);
}

static void sift_end(struct worker *w, struct port_rt *p, unsigned q)
{
	uint8_t bit = (uint8_t)(1u << q);

	fifo_sift_end(&w->chunks, &p->fifo[q], &p->sift);
	p->sift_begun = 0;
	if (!(p->sift_again & bit))
		p->sifting &= (uint8_t)~bit;
	p->sift_again &= (uint8_t)~bit;
	shrunk(p, q, gauge_get(&p->queue[q].length_bytes));
}

// The frame that is looked at leaves queue q.
static void sift_out(struct worker *w, struct port_rt *p, unsigned q)
{
	struct queue_counters *qc = &p->queue[q];
	struct frame f;

	fifo_sift_take(&p->fifo[q], &p->sift, &f);
	gauge_set(&qc->length_packets, p->fifo[q].n);
	gauge_set(&qc->length_bytes, gauge_get(&qc->length_bytes) - f.len);
	no_longer_queued(p, 1);
	release_cells(w, p, &f, f.cells);
	queue_drop(w, &f, DROP_WATCHDOG);
}

// Takes frames of discarded classes out of the queues that are to be sifted, one queue at a time;
// the others stay, in order. While it goes on nothing is taken from the queue's head.
static void discard_queued(struct worker *w, struct port_rt *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->sift_begun != 0 ? p->sift_begun : p->sifting);
	struct fifo *fifo = &p->fifo[q];

	if (p->sift_begun == 0)
		fifo_sift_begin(fifo, &p->sift);
	p->sift_begun = (uint8_t)(1u << q);
	w->busy = true;
	for (unsigned n = 0; n < SIFT_FRAMES && !sift_over(p, q); n++) {
		const struct frame *f = fifo_sift_look(&w->chunks, &p->sift);

		if (p->discarded >> f->out_cls & 1)
			sift_out(w, p, q);
		else
			fifo_sift_keep(&p->sift);
	}
	if (sift_over(p, q))
		sift_end(w, p, q);
}

// What was not yet looked at stays.
static void stop_sifting(struct worker *w, struct port_rt *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->sift_begun | 1u << N_QUEUES);

	p->sifting = p->sift_again = 0;
	if (q == N_QUEUES)
		return;
	while (!sift_over(p, q)) {
		fifo_sift_look(&w->chunks, &p->sift);
		fifo_sift_keep(&p->sift);
	}
	sift_end(w, p, q);
}

// When the first pause of a port where frames wait runs out. Also where they wait for something
// else too: who asks why is not to be told of a pause that is over.
static uint64_t pause_end(const struct worker *w, const struct port_rt *p)
{
	return p->backlog == 0 || w->hold ? UINT64_MAX : pfc_rx_next(&p->pfc_rx);
}

// What of the peer's pauses and of storms holds now.
static void look_at_pauses(struct worker *w, unsigned port)
{
	early_pause_poll(w, port);
	// While admission is held no refresh of a PAUSE can be heard: those that stand stay.
	if (!w->hold)
		pfc_rx_expire(&worker_port(w, port)->pfc_rx, w->now_ns);
	watchdog_poll(w, port);
}

uint8_t egress_still(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	const struct port_rt *p = worker_port(w, port);

	look_at_pauses(w, port);
	if (!p->up || (p->tx_off & TX_OFF_PORT))
		return UINT8_MAX;
	return queues_of(pp, p->pfc_rx.paused | p->stormed) | (uint8_t)p->tx_off | p->sifting;
}

uint64_t egress_serve(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	struct tx_batch b;
	uint64_t wake;

	look_at_pauses(w, port);
	if (unlikely(p->sifting != 0))
		discard_queued(w, p);
	if ((p->tx_off & TX_OFF_PORT) || (p->backlog == 0 && p->n_held == 0))
		return pause_end(w, p);
	if (!retry_held(w, p))
		return min_u64(room_retry(w, p), pause_end(w, p));
	shaper_update(&pp->shaper, &p->shaper, w->now_ns);
	b.n = b.n_committed = 0; // not the frames, which would cost more than sending one
	b.room = p->ops->tx_room(p->drv);
	wake = serve_ready(w, port, &b);
	send_batch(w, p, &b);
	return min_u64(wake, pause_end(w, p));
}

void egress_flush(struct worker *w, unsigned port, enum drop_reason reason)
{
	struct port_rt *p = worker_port(w, port);
	struct frame f;

	stop_sifting(w, p);
	for (uint16_t i = 0; i < p->n_held; i++) {
		f = p->held[i];
		no_longer_queued(p, 1);
		release_cells(w, p, &f, f.cells);
		queue_drop(w, &f, reason);
	}
	p->n_held = 0;
	for (unsigned q = 0; q < N_QUEUES; q++) {
		while (p->fifo[q].n != 0) {
			fifo_pop(&w->chunks, &p->fifo[q], &f);
			shrunk(p, q, gauge_get(&p->queue[q].length_bytes) - f.len);
			no_longer_queued(p, 1);
			release_cells(w, p, &f, f.cells);
			queue_drop(w, &f, reason);
		}
	}
}
