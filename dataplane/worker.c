// SPDX-License-Identifier: Apache-2.0
#include "dataplane/worker.h"

#include "dataplane/switch_impl.h"

enum { LATE_LOOP_NS = 1000000 };

// A quarter of the ring is for rare records: a burst of drops, XOFF and XON leaves it free.
static bool event_has_room(const struct worker *w, enum event_type type)
{
	bool frequent = type == EVENT_LOSSLESS_DROP || type == EVENT_XOFF || type == EVENT_XON;

	return !frequent || ring_waiting(w->events) < EVENT_RING - EVENT_RING / 4;
}

void worker_event(struct worker *w, enum event_type type, unsigned port, unsigned cls, uint32_t a,
		  uint64_t b)
{
	struct event e = {.t_ns = w->now_ns, .type = (uint16_t)type, .port = (uint8_t)port,
			  .cls = (uint8_t)cls, .a = a, .b = b};

	if (!event_has_room(w, type) ||
	    rte_ring_sp_enqueue_elem(w->events, &e, sizeof(e)) != 0)
		ctr_inc(&w->events_lost);
}

void worker_tap(struct worker *w, enum tap_direction direction, unsigned port,
		const struct frame *f, enum drop_reason reason)
{
	bool queued = direction == TAP_OUT || (direction == TAP_DROP && f->at_egress);
	struct tap_meta meta = {.port = (uint8_t)port, .direction = (uint8_t)direction,
				.cls = queued ? f->out_cls : f->cls, .queue = f->queue,
				.has_queue = queued,
				.marked = f->marked, .reason = (uint8_t)reason};

	if (!tap_wants(w->tap, port) || f->m == NULL)
		return;
	if (queued)
		meta.queue_bytes = (uint32_t)gauge_get(
			&worker_port(w, port)->queue[f->queue].length_bytes);
	if (f->m->nb_segs == 1)
		meta.not_stored = f->m->pkt_len - f->m->data_len;
	tap_bytes(w->tap, w->id, w->now_ns, rte_pktmbuf_mtod(f->m, const void *), f->m->data_len,
		  &meta);
}

void worker_drop(struct worker *w, unsigned port, const struct frame *f, enum drop_reason reason)
{
	unsigned cls = f->at_egress ? f->out_cls : f->cls;
	struct port_rt *p = worker_port(w, port);
	struct drop_counters *d = &p->drops[cls][reason];
	bool lossless = w->pol->ports[port].classify.lossless >> cls & 1;

	ctr_inc(&d->packets);
	ctr_add(&d->bytes, f->len);
	if (unlikely(p->stormed != 0) && !f->at_egress)
		watchdog_not_admitted(p, f);
	if (lossless && drop_info[reason].loss)
		worker_event(w, EVENT_LOSSLESS_DROP, port, cls, reason, f->len);
	if (unlikely(w->tap != NULL))
		worker_tap(w, TAP_DROP, port, f, reason);
	rte_pktmbuf_free(f->m); // NULL where a copy could not be made
}

// ---- requests of the control thread

static void reset_watermarks(struct worker *w)
{
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		gauge_set(&w->slots[pool].max, gauge_get(&w->slots[pool].used));
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port_rt *p = worker_port(w, w->owned[i]);

		for (unsigned g = 0; g < N_PGS; g++) {
			gauge_set(&p->pg[g].max_shared, gauge_get(&p->pg[g].shared));
			gauge_set(&p->pg[g].max_headroom, gauge_get(&p->pg[g].headroom));
		}
		for (unsigned q = 0; q < N_QUEUES; q++) {
			gauge_set(&p->queue[q].max_bytes, gauge_get(&p->queue[q].length_bytes));
			gauge_set(&p->queue[q].residence_max_ns, 0);
		}
		for (unsigned c = 0; c < N_CLASSES; c++) {
			gauge_set(&p->pfc_rx.stats[c].longest_ns, 0);
			gauge_set(&p->pfc_tx.stats[c].longest_ns, 0);
		}
	}
	gauge_set(&w->c.gap_max_ns, 0);
}

static void link_change(struct worker *w, unsigned port, bool up)
{
	struct port_rt *p = worker_port(w, port);

	if (up == p->up)
		return;
	p->up = up;
	early_pause_forget(p);
	if (!up) {
		// The peer is gone: neither its pauses nor ours mean anything any more.
		egress_flush(w, port, DROP_PORT_DOWN);
		pfc_rx_clear(&p->pfc_rx, 0, w->now_ns);
		pfc_tx_clear(&p->pfc_tx, w->now_ns);
	}
	watchdog_recompute(w, port);
	worker_event(w, up ? EVENT_LINK_UP : EVENT_LINK_DOWN, port, 0xff, 0, 0);
}

// What control wants of the port's watchdog.
static void take_storm_orders(struct worker *w, unsigned port)
{
	const struct wanted *want = &w->sw->want;
	struct port_rt *p = worker_port(w, port);
	uint8_t pfc_off = atomic_load_explicit(&want->pfc_off[port], memory_order_relaxed);
	bool drop_all = atomic_load_explicit(&want->drop_all, memory_order_relaxed);
	uint64_t recover = atomic_load_explicit(&want->recover[port], memory_order_relaxed);
	uint64_t asked = recover ^ p->recover_seen; // by byte, one a class

	p->recover_seen = recover;
	for (unsigned cls = 0; asked != 0; cls++, asked >>= 8)
		if ((asked & 0xff) != 0)
			watchdog_recover(w, port, cls);
	if (pfc_off == p->pfc_off && drop_all == p->drop_all)
		return;
	p->pfc_off = pfc_off;
	p->drop_all = drop_all;
	watchdog_recompute(w, port);
}

// Takes over what control wants since the last loop. Returns the request to acknowledge.
static uint64_t take_requests(struct worker *w)
{
	struct wanted *want = &w->sw->want;
	uint64_t seq = atomic_load_explicit(&want->seq, memory_order_acquire);
	bool held = w->hold;
	uint32_t epoch;

	if (seq == w->request_seen)
		return seq;
	w->request_seen = seq;
	w->due = w->every;
	w->hold = atomic_load_explicit(&want->hold, memory_order_relaxed);
	w->tap = atomic_load_explicit(&want->tap, memory_order_acquire);
	epoch = atomic_load_explicit(&want->watermark_epoch, memory_order_relaxed);
	if (epoch != w->watermark_epoch) {
		w->watermark_epoch = epoch;
		reset_watermarks(w);
	}
	for (unsigned i = 0; i < w->n_owned; i++) {
		unsigned port = w->owned[i];

		worker_port(w, port)->tx_off =
			atomic_load_explicit(&want->tx_off[port], memory_order_relaxed);
		if (unlikely(device_waits(w, port))) {
			link_change(w, port, false);
			device_take(w, port);
		}
		link_change(w, port,
			    !atomic_load_explicit(&want->down[port], memory_order_relaxed));
		take_storm_orders(w, port);
		worker_port(w, port)->pfc_tx.asked =
			atomic_load_explicit(&want->pause[port], memory_order_relaxed);
		if (held && !w->hold)
			watchdog_after_hold(w, port);
	}
	return seq;
}

// ---- the loop

// Only lossy queues share a pool with those of other workers.
static bool shares_a_pool(const struct worker *w, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!w->pol->ports[frames[i].out_port].queue[frames[i].queue].egress.lossless)
			return true;
	return false;
}

static void hear_answers(struct worker *w, const struct frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (frames[i].answer)
			flows_hear(w, &frames[i]);
}

static uint64_t take_over(struct worker *w)
{
	struct frame frames[BURST];
	bool more = false;

	for (unsigned from = 0; from < w->sw->n_workers; from++) {
		struct rte_ring *in = from == w->id ? NULL : w->sw->workers[from]->out[w->id];
		unsigned n;

		if (in == NULL)
			continue;
		n = rte_ring_sc_dequeue_burst_elem(in, frames, sizeof(frames[0]), BURST, NULL);
		if (n == 0)
			continue;
		more |= n == BURST;
		w->busy = true;
		if (shares_a_pool(w, frames, n))
			account_claim(w, n);
		// Out of one account before into the next: a reader must not see a frame in both.
		ctr_add(&w->taken, n);
		atomic_thread_fence(memory_order_release);
		if (w->flows != NULL)
			hear_answers(w, frames, n);
		egress_enqueue(w, frames, n);
		account_done(w);
	}
	return more ? w->now_ns : UINT64_MAX;
}

// The policy of this loop. A pause that a new one no longer obeys ends with it: the XON of a class
// that is not obeyed would be ignored.
static void take_policy(struct worker *w)
{
	const struct policy *pol = atomic_load_explicit(&w->sw->policy, memory_order_acquire);

	if (pol->version == w->policy_version)
		return;
	w->policy_version = pol->version;
	w->pol = pol;
	w->due = w->every;
	account_new_policy(w);
	for (unsigned i = 0; i < w->n_owned; i++) {
		unsigned port = w->owned[i];
		struct port_rt *p = worker_port(w, port);

		pfc_rx_clear(&p->pfc_rx, pol->ports[port].pfc.rx, w->now_ns);
		pfc_tx_new_params(&pol->ports[port].pfc, &p->pfc_tx, w->now_ns);
		watchdog_recompute(w, port);
		early_pause_new_policy(p, pol->ports[port].pfc.lossless);
	}
	ipcc_new_policy(w);
}

static uint64_t receive_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->due);
	uint64_t wake = UINT64_MAX;
	unsigned port;

	while (port_walk_next(&due, &port)) {
		if (ingress_poll(w, port)) {
			port_set_add(&w->called, port);
			wake = w->now_ns;
		}
		// A PAUSE leaves before this loop sends data. When it is due again is asked below.
		account_pfc(w, port);
	}
	return wake;
}

static void serve_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->due);
	unsigned port;

	while (port_walk_next(&due, &port))
		w->serve_ns[port] = egress_serve(w, port);
}

static void publish_driver_gauges(struct worker *w, unsigned port)
{
	struct port_rt *p = worker_port(w, port);
	uint32_t bytes = p->ops->tx_pending(p->drv);

	// Frames that the driver refused will still leave, unless the whole port is off.
	for (uint16_t i = 0; i < p->n_held && !(p->tx_off & TX_OFF_PORT); i++)
		bytes += p->held[i].len;
	gauge_set(&p->c.tx_pending_bytes, bytes);
}

// A pause that nothing waits for ends in the first loop after it, and so does the guard once the
// ring is empty.
static bool must_look_again(const struct port_rt *p)
{
	return p->pfc_rx.paused != 0 || p->guard;
}

// What is left to do at the ports once all has moved: PFC, and when each is to be looked at again.
static void finish_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->due);
	unsigned port;

	while (port_walk_next(&due, &port)) {
		w->wake_ns[port] = min_u64(w->serve_ns[port], account_pfc(w, port));
		w->wake_ns[port] = min_u64(w->wake_ns[port], watchdog_wake(w, port));
		w->wake_ns[port] = min_u64(w->wake_ns[port], ipcc_wake(w, port));
		if (w->wake_ns[port] != UINT64_MAX)
			port_set_add(&w->timed, port);
		else
			port_set_remove(&w->timed, port);
		if (must_look_again(worker_port(w, port)))
			port_set_add(&w->called, port);
		publish_driver_gauges(w, port);
	}
}

static uint64_t next_wake(const struct worker *w)
{
	struct port_walk timed = port_set_walk(&w->timed);
	uint64_t wake = UINT64_MAX;
	unsigned port;

	while (port_walk_next(&timed, &port))
		wake = min_u64(wake, w->wake_ns[port]);
	return wake;
}

// A port must be looked at when its driver cannot tell whether it must, when something happened to
// it, and when its time has come. On the virtual clock, where each loop is about one frame, the
// others would be most of the work. A new policy and requests of control concern all ports, and
// frames that are queued in this loop their port of departure.
static void find_due(struct worker *w)
{
	struct port_walk timed = port_set_walk(&w->timed);
	unsigned port;

	w->due = w->polled;
	port_set_join(&w->due, &w->called);
	w->called = (struct port_set){{0}};
	while (port_walk_next(&timed, &port))
		if (w->wake_ns[port] <= w->now_ns)
			port_set_add(&w->due, port);
}

// A late loop is what a receive ring must hold: the longest one is kept.
static void begin_loop(struct worker *w, uint64_t now_ns)
{
	uint64_t gap_ns = w->now_ns == 0 ? 0 : now_ns - w->now_ns;

	w->now_ns = now_ns;
	w->busy = false;
	ctr_inc(&w->c.loops);
	if (gap_ns > LATE_LOOP_NS)
		ctr_inc(&w->c.gaps_over_1ms);
	gauge_max(&w->c.gap_max_ns, gap_ns);
}

uint64_t worker_step(struct worker *w, uint64_t now_ns)
{
	uint64_t request, wake;

	begin_loop(w, now_ns);
	w->refreshed = false;
	find_due(w);
	take_policy(w);
	request = take_requests(w);
	if (w->flows != NULL)
		flows_tick(w);
	// Before what arrives now: frames of a flow stay in order.
	if (w->l3 != NULL && w->l3->waiting.n != 0)
		waiting_step(w);
	wake = receive_all(w);
	wake = min_u64(wake, take_over(w));
	if (w->pol->control_sends && !w->hold)
		control_frames_send(w);
	ipcc_run(w);
	serve_all(w);
	account_settle(w);
	finish_all(w);
	wake = min_u64(wake, next_wake(w));
	if (w->l3 != NULL)
		wake = min_u64(wake, waiting_wake(&w->l3->waiting));
	ctr_add(&w->c.busy_loops, w->busy);
	rte_rcu_qsbr_quiescent(w->sw->qsbr, w->id);
	if (request != ctr_get(&w->request_done))
		atomic_store_explicit(&w->request_done, request, memory_order_release);
	return wake;
}
