// SPDX-License-Identifier: Apache-2.0
#include "dataplane/worker.h"

#include <string.h>

#include "dataplane/admission.h"
#include "dataplane/egress.h"
#include "dataplane/fate.h"
#include "dataplane/ingress.h"
#include "dataplane/loop_features.h"
#include "dataplane/pause.h"
#include "dataplane/peer_pause.h"

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
	struct event e = {.t_ns = w->now_ns, .type = (uint8_t)type, .port = (port_no_t)port,
			  .cls = (uint8_t)cls, .a = a, .b = b};

	if (!event_has_room(w, type) ||
	    rte_ring_sp_enqueue_elem(w->events, &e, sizeof(e)) != 0)
		ctr_inc(&w->events_lost);
}

// ---- the device of a port

void device_bind(struct port *p, const struct switch_port *device)
{
	p->ops = device->ops;
	p->drv = device->drv;
	p->driver_wakes = device->facts.wakes;
	p->tx_burst = device->facts.tx_burst;
	if (p->tx_burst == 0 || p->tx_burst > BURST)
		p->tx_burst = BURST;
	memcpy(p->mac, device->facts.mac, sizeof(p->mac));
	peer_pause_init(p);
}

// Control wants another device for the port (switch_replace_device).
static bool device_waits(const struct worker *w, const struct port *p)
{
	return atomic_load_explicit(&w->sw->want.device[p->no], memory_order_relaxed) != p->device;
}

// Takes the device over. The port is down, so no frame waits for the device before. Early PFC
// records from before are ignored when the port comes up.
static void device_take(struct worker *w, struct port *p)
{
	p->device = atomic_load_explicit(&w->sw->want.device[p->no], memory_order_acquire);
	device_bind(p, p->device);
	w->n_devices_taken++;
}

uint32_t worker_n_devices_taken(const struct worker *w)
{
	return w->n_devices_taken;
}

int worker_wait_fds(const struct worker *w, int *fds)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_owned; i++) {
		const struct port *p = worker_port(w, w->owned[i]);

		if (p->ops->wait_fds == NULL)
			return -1;
		n += p->ops->wait_fds(p->drv, fds + n);
	}
	return (int)n;
}

// ---- requests of the control thread

static void reset_watermarks(struct worker *w)
{
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		gauge_set(&w->slots[pool].max, gauge_get(&w->slots[pool].used));
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		for (unsigned g = 0; g < N_PGS; g++) {
			struct pg_state *pg = &p->pg[g].state;

			gauge_set(&pg->max_shared, gauge_get(&pg->shared));
			gauge_set(&pg->max_headroom, gauge_get(&pg->headroom));
		}
		for (unsigned q = 0; q < N_QUEUES; q++) {
			struct queue_counters *qc = &p->queue[q].c;

			gauge_set(&qc->max_bytes, gauge_get(&qc->length_bytes));
			gauge_set(&qc->residence_max_ns, 0);
		}
		for (unsigned c = 0; c < N_CLASSES; c++) {
			gauge_set(&p->pfc_rx.stats[c].longest_ns, 0);
			gauge_set(&p->pfc_tx.stats[c].longest_ns, 0);
		}
	}
	gauge_set(&w->c.gap_max_ns, 0);
	features_watermarks_cleared(w);
}

static void link_change(struct worker *w, struct port *p, bool up)
{
	if (up == p->up)
		return;
	p->up = up;
	peer_pause_forget(p);
	if (!up) {
		// The peer is gone: neither its pauses nor ours mean anything any more.
		egress_flush(w, p, DROP_PORT_DOWN);
		pfc_rx_clear(&p->pfc_rx, 0, w->now_ns);
		pfc_tx_clear(&p->pfc_tx, w->now_ns);
	}
	features_link_changed(w, p);
	worker_event(w, up ? EVENT_LINK_UP : EVENT_LINK_DOWN, p->no, CLASS_NONE, 0, 0);
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
	port_set_copy(&w->sets, PORTS_DUE, PORTS_EVERY);
	w->hold = atomic_load_explicit(&want->hold, memory_order_relaxed);
	features_take_requests(w);
	epoch = atomic_load_explicit(&want->watermark_epoch, memory_order_relaxed);
	if (epoch != w->watermark_epoch) {
		w->watermark_epoch = epoch;
		reset_watermarks(w);
	}
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		p->tx_off = atomic_load_explicit(&want->tx_off[p->no], memory_order_relaxed);
		if (unlikely(device_waits(w, p))) {
			link_change(w, p, false);
			device_take(w, p);
		}
		link_change(w, p, !atomic_load_explicit(&want->down[p->no], memory_order_relaxed));
		p->pfc_tx.by_control =
			atomic_load_explicit(&want->pause[p->no], memory_order_relaxed);
		features_take_port_requests(w, p, held);
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

// Takes frames out of the hand-offs of others, for take_over. What this loop receives is dealt with
// in between, while the mbufs are on their way from the other cores.
static void take_handed(struct worker *w)
{
	w->n_taken = w->n_fetched = 0;
	for (unsigned from = 0; w->sw->n_workers > 1 && from < w->sw->n_workers; from++) {
		if (from == w->id)
			continue;
		w->n_from[from] = (uint16_t)handoff_take(w->sw->workers[from]->out[w->id],
							 &w->taken[w->n_taken], BURST);
		w->n_taken = (uint16_t)(w->n_taken + w->n_from[from]);
	}
}

// Fetches the lines that the next take_handed reads.
static void fetch_handed(const struct worker *w)
{
	for (unsigned from = 0; w->sw->n_workers > 1 && from < w->sw->n_workers; from++)
		if (from != w->id)
			handoff_fetch(w->sw->workers[from]->out[w->id]);
}
static void expect_handed(const struct worker *w)
{
	for (unsigned from = 0; w->sw->n_workers > 1 && from < w->sw->n_workers; from++)
		if (from != w->id)
			handoff_expect(w->sw->workers[from]->out[w->id]);
}

static uint64_t take_over(struct worker *w)
{
	struct frame *frames = w->taken;
	bool more = false;
	struct run r;

	for (unsigned from = 0; w->n_taken != 0 && from < w->sw->n_workers; from++) {
		unsigned n = from == w->id ? 0 : w->n_from[from];
		struct handoff *h = w->sw->workers[from]->out[w->id];
		uint64_t arrival_ns;

		if (n == 0)
			continue;
		while (w->n_fetched < w->n_taken)
			fetch_taken(w);
		more |= n == BURST;
		w->busy = true;
		if (shares_a_pool(w, frames, n))
			admission_claim(w, n);
		// Out of one account before into the next: a reader must not see a frame in both.
		handoff_count_taken(h, n);
		atomic_thread_fence(memory_order_release);
		fate_taken_over(w, frames, n);
		arrival_ns = unlikely(w->elephants) ? replica_arrival_ns(&frames[n - 1]) : 0;
		for (unsigned i = 0; i < n; i += r.n) {
			r = run_of(&frames[i], n - i, UINT32_MAX);
			egress_enqueue(w, &r);
		}
		if (unlikely(w->elephants))
			handoff_entered(h, arrival_ns);
		admission_done(w);
		frames += n;
	}
	return more ? w->now_ns : UINT64_MAX;
}

void worker_use_policy(struct worker *w, const struct policy *pol)
{
	w->pol = pol;
	w->elephants = pol->elephants.enabled;
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		p->pol = &pol->ports[w->owned[i]];
		for (unsigned q = 0; q < N_QUEUES; q++)
			p->marking[q].wred = p->pol->queue[q].wred;
	}
}

// The policy of this loop. A pause that a new one no longer obeys ends with it: the XON of a class
// that is not obeyed would be ignored.
static void take_new_policy(struct worker *w)
{
	const struct policy *pol = atomic_load_explicit(&w->sw->policy, memory_order_acquire);

	if (pol->version == w->policy_version)
		return;
	w->policy_version = pol->version;
	worker_use_policy(w, pol);
	port_set_copy(&w->sets, PORTS_DUE, PORTS_EVERY);
	admission_new_policy(w);
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		pfc_rx_clear(&p->pfc_rx, p->pol->pfc.rx, w->now_ns);
		pfc_tx_new_params(&p->pol->pfc, &p->pfc_tx, w->now_ns);
		peer_pause_new_policy(p);
	}
	features_new_policy(w);
}

static uint64_t receive_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->sets, PORTS_DUE);
	uint64_t wake = UINT64_MAX;
	unsigned port;

	while (port_walk_next(&due, &port)) {
		struct port *p = worker_port(w, port);

		if (ingress_poll(w, p)) {
			port_set_add(&w->sets, PORTS_CALLED, port);
			wake = w->now_ns;
		}
		// A PAUSE leaves before this loop sends data. When it is due again is asked below.
		pause_send(w, p);
	}
	return wake;
}

static void serve_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->sets, PORTS_DUE);
	unsigned port;

	while (port_walk_next(&due, &port))
		w->serve_ns[port] = egress_serve(w, worker_port(w, port));
}

static void publish_driver_gauges(struct port *p)
{
	uint32_t bytes = p->ops->tx_pending(p->drv);

	// Frames that the driver refused will still leave, unless the whole port is off.
	for (uint16_t i = 0; i < p->n_held && !(p->tx_off & TX_OFF_PORT); i++)
		bytes += p->held[i].len;
	gauge_set(&p->c.tx_pending_bytes, bytes);
}

// A pause that nothing waits for ends in the first loop after it, and so does the guard once the
// ring is empty.
static bool must_look_again(const struct port *p)
{
	return p->pfc_rx.paused != 0 || p->rx_guarded;
}

// What is left to do at the ports once all has moved: PFC, and when each is to be looked at again.
static void finish_all(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->sets, PORTS_DUE);
	unsigned port;

	while (port_walk_next(&due, &port)) {
		struct port *p = worker_port(w, port);
		uint64_t wake = min_u64(w->serve_ns[port], pause_send(w, p));

		wake = min_u64(wake, features_port_wake(w, p));
		w->wake_ns[port] = wake;
		if (wake != UINT64_MAX)
			port_set_add(&w->sets, PORTS_TIMED, port);
		else
			port_set_remove(&w->sets, PORTS_TIMED, port);
		if (must_look_again(p))
			port_set_add(&w->sets, PORTS_CALLED, port);
		publish_driver_gauges(p);
	}
}

static uint64_t next_wake(const struct worker *w)
{
	struct port_walk timed = port_set_walk(&w->sets, PORTS_TIMED);
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
	struct port_walk timed = port_set_walk(&w->sets, PORTS_TIMED);
	unsigned port;

	for (unsigned i = 0; i < w->sets.n_words; i++) {
		uint64_t *set = w->sets.word[i].set;

		set[PORTS_DUE] = set[PORTS_POLLED] | set[PORTS_CALLED];
		set[PORTS_CALLED] = 0;
	}
	while (port_walk_next(&timed, &port))
		if (w->wake_ns[port] <= w->now_ns)
			port_set_add(&w->sets, PORTS_DUE, port);
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
	w->settled = false;
	find_due(w);
	take_new_policy(w);
	request = take_requests(w);
	features_before_ingress(w);
	take_handed(w);
	wake = receive_all(w);
	wake = min_u64(wake, take_over(w));
	features_before_egress(w);
	expect_handed(w);
	serve_all(w);
	admission_settle(w);
	fetch_handed(w);
	finish_all(w);
	wake = min_u64(wake, next_wake(w));
	wake = min_u64(wake, features_wake(w));
	ctr_add(&w->c.busy_loops, w->busy);
	rte_rcu_qsbr_quiescent(w->sw->qsbr, w->id);
	if (request != ctr_get(&w->request_done))
		atomic_store_explicit(&w->request_done, request, memory_order_release);
	return wake;
}
