// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_errno.h>

#include "dataplane/device.h"
#include "dataplane/egress.h"
#include "dataplane/flood.h"
#include "dataplane/policy_change.h"
#include "dataplane/replica.h"

static_assert((int)POLICY_PORT_FRAMES == BURST + MAX_CONTROL_FRAMES,
	      "policy_max_frames counts what a worker holds");

enum { LINK_POLL_NS = 100000000, NAME_LEN = 64 };

const char *const pool_name[N_POOLS] = {
	[POOL_INGRESS] = "ingress",
	[POOL_HEADROOM] = "headroom",
	[POOL_EGRESS_LOSSY] = "egress_lossy",
	[POOL_EGRESS_LOSSLESS] = "egress_lossless",
};

uint64_t residence_bucket_max(unsigned b)
{
	unsigned log2 = b / RESIDENCE_SUB + 1;

	if (b < RESIDENCE_SUB)
		return b;
	return ((uint64_t)(b % RESIDENCE_SUB + RESIDENCE_SUB + 1) << (log2 - 2)) - 1;
}

uint32_t switch_max_frames(const struct policy *policy)
{
	return policy_max_frames(policy);
}

// ---- create and destroy

struct rte_ring *switch_ring(const struct weir_switch *sw, const char *kind, unsigned from,
			     unsigned to, unsigned elem, uint32_t n)
{
	char name[NAME_LEN];

	snprintf(name, sizeof(name), "%.12s-%s%u-%u", sw->policy_mem->name, kind, from, to);
	return rte_ring_create_elem(name, elem, n, SOCKET_ID_ANY,
				    RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

static int worker_rings(struct weir_switch *sw, struct worker *w)
{
	w->events = switch_ring(sw, "ev", w->id, 0, sizeof(struct event), EVENT_RING);
	w->learn = switch_ring(sw, "ln", w->id, 0, sizeof(struct learn_record), LEARN_RING);
	if (w->events == NULL || w->learn == NULL)
		return -ENOMEM;
	for (unsigned to = 0; to < sw->n_workers; to++) {
		if (to == w->id)
			continue;
		w->out[to] = switch_ring(sw, "ho", w->id, to, sizeof(struct frame),
					 switch_max_frames(sw->policy_mem));
		if (w->out[to] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void worker_destroy(struct worker *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i < MAX_WORKERS; i++)
		rte_ring_free(w->out[i]);
	rte_ring_free(w->events);
	rte_ring_free(w->learn);
	rte_free(w->released);
	rte_free(w->fdb_cache);
	fifo_pool_fini(&w->chunks);
	rte_free(w);
}

static void own(struct worker *w, unsigned port)
{
	const struct port *p = worker_port(w, port);

	w->owned[w->n_owned++] = (uint8_t)port;
	port_set_add(&w->every, port);
	if (p->ops->watch == NULL || p->early_pause)
		port_set_add(&w->polled, port);
	else
		p->ops->watch(p->drv, &w->called.word[port / 64], 1ull << port % 64);
}

static int worker_create(struct weir_switch *sw, unsigned id, uint64_t seed)
{
	struct worker *w = rte_zmalloc("worker", sizeof(*w), 64);
	uint32_t n_owned;

	sw->workers[id] = w;
	if (w == NULL)
		return -ENOMEM;
	w->sw = sw;
	w->id = (uint8_t)id;
	rng_init(&w->rng, seed + id);
	for (unsigned port = 0; port < sw->n_ports; port++)
		if (sw->owner[port] == id)
			own(w, port);
	n_owned = w->n_owned;
	w->fdb_cache = rte_zmalloc("fdb_cache", sizeof(*w->fdb_cache), 64);
	w->released = rte_zmalloc("released",
				  sizeof(*w->released) + sw->n_ports * N_PGS * sizeof(ctr_t), 64);
	if (w->fdb_cache == NULL || w->released == NULL)
		return -ENOMEM;
	if (fifo_pool_init(&w->chunks, switch_max_frames(sw->policy_mem), n_owned * N_QUEUES) != 0)
		return -ENOMEM;
	return worker_rings(sw, w);
}

void switch_touch(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		fifo_pool_touch(&sw->workers[i]->chunks);
}

static int port_create(struct weir_switch *sw, unsigned port)
{
	struct port *p = rte_zmalloc("port", sizeof(*p), 64);

	sw->port[port] = p;
	if (p == NULL)
		return -ENOMEM;
	p->no = (uint8_t)port;
	p->up = true;
	device_bind(p, &sw->ports[port]);
	p->held_cells = rte_zmalloc("held_cells",
				    sw->n_ports * N_PGS * sizeof(p->held_cells[0]), 64);
	return p->held_cells != NULL ? 0 : -ENOMEM;
}

static void port_destroy(struct port *p)
{
	if (p != NULL) {
		flows_free_ipcc(p);
		rte_free(p->held_cells);
	}
	rte_free(p);
}

// The addresses of a policy enter the table before its first frame is looked up. In a full table
// learnt addresses make room. The places of more than FDB_SPARE of them are free only when no
// worker reads them any more: false, to be called again.
static bool learn_static(struct weir_switch *sw, const struct policy *pol)
{
	bool all = true;

	fdb_begin_static(&sw->fdb);
	for (unsigned i = 0; i < pol->n_fdb; i++) {
		const struct policy_fdb_entry *e = &pol->fdb[i];

		if (!pol->ports[e->port].routed)
			all &= fdb_learn(&sw->fdb, fdb_key(e->mac, e->vid), e->port, true, 0,
					 NULL) >= 0;
	}
	return all;
}

// Those that it does not name any more serve the last frames of the policy before.
static void control_static(struct weir_switch *sw)
{
	if (sw->static_due)
		sw->static_due = !learn_static(sw, sw->policy_mem);
	if (!sw->static_stale || !switch_grace_over(sw, sw->static_token))
		return;
	fdb_end_static(&sw->fdb);
	sw->static_stale = false;
}

static int tables_create(struct weir_switch *sw)
{
	const struct policy *pol = sw->policy_mem;
	size_t size = rte_rcu_qsbr_get_memsize(sw->n_workers);
	char name[NAME_LEN];
	int err;

	sw->qsbr = rte_zmalloc("qsbr", size, 64);
	if (sw->qsbr == NULL || rte_rcu_qsbr_init(sw->qsbr, sw->n_workers) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < sw->n_workers; i++) {
		if (rte_rcu_qsbr_thread_register(sw->qsbr, i) != 0)
			return -EINVAL;
		rte_rcu_qsbr_thread_online(sw->qsbr, i);
	}
	snprintf(name, sizeof(name), "%.20s-fdb", pol->name);
	err = fdb_init(&sw->fdb, name, FDB_MAX, sw->hash_seed, sw->qsbr);
	if (err == 0)
		learn_new_policy(sw);
	if (err == 0 && !learn_static(sw, pol))
		err = -ENOSPC;
	if (err == 0)
		err = switch_prepare(sw, sw->policy_mem);
	if (err == 0)
		routes_before_publish(sw, sw->policy_mem);
	return err;
}

static int arrays_create(struct weir_switch *sw, const struct switch_port *ports)
{
	const struct policy *pol = sw->policy_mem;
	uint32_t max_frame = 0;

	sw->ports = rte_zmalloc("ports", sw->n_ports * sizeof(sw->ports[0]), 64);
	sw->port = rte_zmalloc("rt", sw->n_ports * sizeof(sw->port[0]), 64);
	sw->owner = rte_zmalloc("owner", sw->n_ports, 64);
	sw->limits = rte_zmalloc("limits", sw->n_ports * sizeof(sw->limits[0]), 64);
	sw->reported = rte_zmalloc("reported",
				   REPORTED_SETS * sw->n_ports * sizeof(sw->reported[0]), 64);
	if (sw->ports == NULL || sw->port == NULL || sw->owner == NULL || sw->limits == NULL ||
	    sw->reported == NULL)
		return -ENOMEM;
	memcpy(sw->ports, ports, sw->n_ports * sizeof(sw->ports[0]));
	for (unsigned i = 0; i < sw->n_ports; i++) {
		sw->owner[i] = (uint8_t)(i % sw->n_workers);
		sw->port_gone[i] = device_is_gone(&ports[i]);
		if (pol->ports[i].max_frame > max_frame)
			max_frame = pol->ports[i].max_frame;
	}
	sw->frame_cells = cells_of(&pol->cell, max_frame);
	return 0;
}

// Of the tables whose keys neighbours choose. The workers' generators start at seed, seed + 1, ...
static uint32_t hash_seed(uint64_t seed)
{
	struct rng rng;

	rng_init(&rng, ~seed);
	return rng_next(&rng);
}

int switch_create(struct policy *policy, const struct switch_port *ports, struct rte_mempool *pool,
		  uint64_t seed, struct weir_switch **out)
{
	struct weir_switch *sw = rte_zmalloc("switch", sizeof(*sw), 64);
	int err;

	if (sw == NULL)
		return -ENOMEM;
	policy->version = 1;
	atomic_store(&sw->policy, policy);
	sw->policy_mem = policy;
	sw->pool = pool;
	sw->seed = seed;
	sw->n_ports = policy->n_ports;
	sw->link_poll_ns = LINK_POLL_NS;
	sw->copy_frames = policy->copy_frames;
	sw->n_workers = policy->n_workers;
	sw->hash_seed = hash_seed(seed);
	err = arrays_create(sw, ports);
	for (unsigned i = 0; err == 0 && i < sw->n_ports; i++)
		err = port_create(sw, i);
	for (unsigned i = 0; err == 0 && i < sw->n_workers; i++)
		err = worker_create(sw, i, seed);
	if (err == 0)
		err = tables_create(sw);
	if (err == 0)
		err = flows_create(sw);
	if (err != 0) {
		switch_destroy(sw);
		return err;
	}
	flows_published(sw, NULL);
	*out = sw;
	return 0;
}

static void drain_handoff(struct worker *w)
{
	struct frame f;

	for (unsigned to = 0; to < w->sw->n_workers; to++)
		while (w->out[to] != NULL &&
		       rte_ring_sc_dequeue_elem(w->out[to], &f, sizeof(f)) == 0) {
			replica_release(w, &f, f.cells);
			rte_pktmbuf_free(f.m);
		}
}

static void unwatch(const struct worker *w)
{
	for (unsigned i = 0; i < w->n_owned; i++) {
		const struct port *p = worker_port(w, w->owned[i]);

		if (p->ops->watch != NULL)
			p->ops->watch(p->drv, NULL, 0);
	}
}

void switch_destroy(struct weir_switch *sw)
{
	if (sw == NULL)
		return;
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		struct worker *w = sw->workers[i];

		drain_handoff(w);
		// Flushing settles accounts, which reads the policy.
		worker_use_policy(w, sw->policy_mem);
		unwatch(w);
		w->tap = NULL;
		waiting_end(w);
		for (unsigned k = 0; k < w->n_owned; k++)
			egress_flush(w, worker_port(w, w->owned[k]), DROP_SHUTDOWN);
	}
	switch_unprepare(sw->policy_mem);
	routes_free_retired(sw);
	routes_destroy(sw);
	loops_free(sw);
	flows_destroy(sw);
	for (unsigned i = 0; i < sw->n_workers; i++)
		worker_destroy(sw->workers[i]);
	for (unsigned i = 0; sw->port != NULL && i < sw->n_ports; i++)
		port_destroy(sw->port[i]);
	fdb_fini(&sw->fdb);
	storms_free(sw);
	devices_free(sw);
	rte_free(sw->qsbr);
	rte_free(sw->reported);
	rte_free(sw->limits);
	rte_free(sw->owner);
	rte_free(sw->port);
	rte_free(sw->ports);
	rte_free(sw);
}

void switch_publish(struct weir_switch *sw, struct policy *policy, struct policy **old,
		    uint64_t *token)
{
	*old = sw->policy_mem;
	sw->policy_mem = policy;
	policy->version = (*old)->version + 1;
	learn_new_policy(sw);
	for (unsigned i = 0; i < sw->n_ports; i++)
		policy->ports[i].unpaused_pgs =
			policy_change_unpaused(&(*old)->ports[i], &policy->ports[i]);
	sw->static_due = !learn_static(sw, policy);
	routes_before_publish(sw, policy);
	atomic_store_explicit(&sw->policy, policy, memory_order_release);
	*token = rte_rcu_qsbr_start(sw->qsbr);
	routes_retire(sw, *old, *token);
	sw->static_token = *token;
	sw->static_stale = true;
	storms_new_policy(sw);
	flows_published(sw, *old);
}

bool switch_grace_over(const struct weir_switch *sw, uint64_t token)
{
	return rte_rcu_qsbr_check(sw->qsbr, token, false) == 1;
}

// ---- control's side

void control_request(struct weir_switch *sw)
{
	atomic_fetch_add_explicit(&sw->want.seq, 1, memory_order_release);
}

// Says once that the device of a port is gone. Only a port without a link is asked.
static void control_gone(struct weir_switch *sw, unsigned port)
{
	bool gone = sw->storms.link_down[port] && device_is_gone(&sw->ports[port]);

	if (gone && !sw->port_gone[port])
		switch_say(sw, EVENT_PORT_GONE, port, 0, 0);
	sw->port_gone[port] = gone;
}

static void control_links(struct weir_switch *sw, uint64_t now_ns)
{
	if (sw->link_polled_ns != 0 && now_ns - sw->link_polled_ns < sw->link_poll_ns)
		return;
	sw->link_polled_ns = now_ns;
	for (unsigned i = 0; i < sw->n_ports; i++) {
		sw->storms.link_down[i] = !sw->ports[i].ops->link_up(sw->ports[i].drv);
		control_port_down(sw, i);
		control_gone(sw, i);
	}
}

static unsigned control_rx_missed(struct weir_switch *sw, uint64_t now_ns, struct event *events,
				  unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < sw->n_ports && k < n; i++) {
		struct port_drv_stats st = {0};

		switch_drv_stats(sw, i, &st);
		if (st.rx_missed == sw->rx_missed[i])
			continue;
		if (sw->policy_mem->ports[i].classify.lossless != 0)
			events[k++] = (struct event){.t_ns = now_ns, .type = EVENT_RX_MISSED,
						     .port = (uint8_t)i, .cls = CLASS_NONE,
						     .b = st.rx_missed - sw->rx_missed[i]};
		sw->rx_missed[i] = st.rx_missed;
	}
	return k;
}

// The workers share the room there is, each from what those before it left.
static unsigned control_events(struct weir_switch *sw, struct event *events, unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < sw->n_workers; i++) {
		unsigned left = sw->n_workers - i, share = (n - k + left - 1) / left;

		k += rte_ring_sc_dequeue_burst_elem(sw->workers[i]->events, events + k,
						    sizeof(events[0]), share, NULL);
	}
	return k;
}

// Each source of records has a share of the room, and what the sources before it have left. So no
// flood of one kind silences another.
unsigned switch_control_step(struct weir_switch *sw, uint64_t now_ns, struct event *events,
			     unsigned n)
{
	bool poll_drivers =
		sw->link_polled_ns == 0 || now_ns - sw->link_polled_ns >= sw->link_poll_ns;
	unsigned share = n / 8, k;

	control_static(sw);
	routes_control(sw);
	flows_control(sw);
	control_links(sw, now_ns);
	// First: these are few, and a loop floods the records of addresses.
	k = loops_control(sw, now_ns, events, n - 4 * share);
	k += limits_look(sw, now_ns, events + k, n - 4 * share - k);
	k += control_events(sw, events + k, n - 4 * share - k);
	storms_pass(sw);
	storms_rates(sw, now_ns);
	k += storms_say(sw, now_ns, events + k, n - 3 * share - k);
	if (poll_drivers)
		k += control_rx_missed(sw, now_ns, events + k, n - 2 * share - k);
	k += learn_control(sw, now_ns, events + k, n - share - k);
	return k + learn_age(sw, now_ns, events + k, n - k);
}

void switch_say(struct weir_switch *sw, enum event_type type, unsigned port, uint32_t a, uint64_t b)
{
	control_say(sw, type, port, CLASS_NONE, a, b);
}

void switch_poll_drivers_every(struct weir_switch *sw, uint64_t every_ns)
{
	sw->link_poll_ns = every_ns;
}

void switch_links_changed(struct weir_switch *sw)
{
	sw->link_polled_ns = 0;
}

uint64_t switch_set_tx(struct weir_switch *sw, unsigned port, int queue, bool on)
{
	uint16_t bit = (uint16_t)(queue < 0 ? TX_OFF_PORT : 1u << queue);
	uint16_t off = atomic_load(&sw->want.tx_off[port]);

	atomic_store(&sw->want.tx_off[port], (uint16_t)(on ? off & (uint16_t)~bit : off | bit));
	control_request(sw);
	return atomic_load(&sw->want.seq);
}

bool switch_admission_held(const struct weir_switch *sw)
{
	return atomic_load(&sw->want.hold);
}

uint64_t switch_hold_admission(struct weir_switch *sw, bool hold)
{
	atomic_store(&sw->want.hold, hold);
	control_request(sw);
	return atomic_load(&sw->want.seq);
}

uint64_t switch_set_tap(struct weir_switch *sw, struct tap *tap)
{
	atomic_store(&sw->want.tap, tap);
	control_request(sw);
	return atomic_load(&sw->want.seq);
}

uint64_t switch_clear_watermarks(struct weir_switch *sw)
{
	atomic_fetch_add(&sw->want.watermark_epoch, 1);
	control_request(sw);
	return atomic_load(&sw->want.seq);
}

bool switch_request_done(const struct weir_switch *sw, uint64_t request_seq)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (atomic_load_explicit(&sw->workers[i]->request_done, memory_order_acquire) <
		    request_seq)
			return false;
	return true;
}

bool switch_requests_done(const struct weir_switch *sw)
{
	return switch_request_done(sw, atomic_load(&sw->want.seq));
}
