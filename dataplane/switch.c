// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "dataplane/egress.h"
#include "dataplane/loop_features.h"
#include "dataplane/replica.h"
#include "dataplane/switch_change.h"

static_assert((int)POLICY_PORT_FRAMES == BURST + MAX_CONTROL_FRAMES,
	      "policy_max_frames counts what a worker holds");

static_assert(sizeof(struct port) + sizeof(struct punt_port) + sizeof(struct fdb_port) +
			      REPORTED_SETS * sizeof(struct reported) <=
		      POLICY_PORT_BYTES / 4 * 3,
	      "the rest of POLICY_PORT_BYTES is for rings");
static_assert(sizeof(*((struct port *)0)->held_cells) * N_PGS +
			      sizeof(*((struct port *)0)->departed_ns) ==
		      POLICY_PAIR_BYTES,
	      "what a port keeps of each other port");

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

// ---- the device of a port, and the numbers of earlier devices, which the port's numbers include

// Made when a port's device is first replaced.
struct device {
	struct switch_port port[2]; // in turn: the worker may still read the other one
	uint8_t turn;
	uint64_t request;
	struct port_drv_stats before; // of all drivers before the present one
	struct port_reason reasons[PORT_REASONS_MAX];
	unsigned n_reasons;
};

static bool device_is_gone(const struct switch_port *p)
{
	return p->ops->gone != NULL && p->ops->gone(p->drv);
}

static void devices_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		rte_free(sw->device[i]);
}

int switch_replace_device(struct weir_switch *sw, unsigned port, const struct switch_port *next)
{
	struct device *d = sw->device[port];

	if (d == NULL)
		d = rte_zmalloc("device", sizeof(*d), 64);
	if (d == NULL)
		return -ENOMEM;
	sw->device[port] = d;
	d->turn ^= 1;
	d->port[d->turn] = *next;
	atomic_store_explicit(&sw->want.device[port], &d->port[d->turn], memory_order_release);
	control_request(sw);
	d->request = atomic_load(&sw->want.seq);
	return 0;
}

// The worker does not use the driver any more, so the numbers of the driver are final.
static void keep_numbers(const struct weir_switch *sw, unsigned port)
{
	struct device *d = sw->device[port];
	struct port_reason reasons[PORT_REASONS_MAX];

	d->n_reasons = switch_drv_reasons(sw, port, reasons, PORT_REASONS_MAX);
	memcpy(d->reasons, reasons, sizeof(reasons));
	switch_drv_stats(sw, port, &d->before);
}

bool switch_device_replaced(struct weir_switch *sw, unsigned port)
{
	struct device *d = sw->device[port];

	if (d == NULL || !switch_request_done(sw, d->request))
		return false;
	keep_numbers(sw, port);
	sw->ports[port] = d->port[d->turn];
	sw->port_gone[port] = sw->port_gone[port] && device_is_gone(&sw->ports[port]);
	return true;
}

bool switch_device_gone(const struct weir_switch *sw, unsigned port)
{
	return sw->port_gone[port];
}

void switch_drv_stats(const struct weir_switch *sw, unsigned port, struct port_drv_stats *out)
{
	const struct device *d = sw->device[port];
	struct port_drv_stats now;

	sw->ports[port].ops->stats(sw->ports[port].drv, &now);
	if (d != NULL) {
		now.rx_missed += d->before.rx_missed;
		now.tx_errors += d->before.tx_errors;
		now.rx_to_kernel += d->before.rx_to_kernel;
	}
	*out = now;
}

unsigned switch_drv_reasons(const struct weir_switch *sw, unsigned port, struct port_reason *out,
			    unsigned n)
{
	const struct switch_port *p = &sw->ports[port];
	const struct device *d = sw->device[port];
	unsigned k = p->ops->reasons == NULL ? 0 : p->ops->reasons(p->drv, out, n);

	if (d == NULL)
		return k;
	for (unsigned i = 0; i < d->n_reasons && i < n; i++) {
		if (i < k) {
			out[i].frames += d->reasons[i].frames;
			continue;
		}
		out[i] = d->reasons[i];
		k = i + 1;
	}
	return k;
}

// ---- create and destroy

struct rte_ring *switch_ring(unsigned elem, uint32_t n)
{
	size_t size = (size_t)rte_ring_get_memsize_elem(elem, rte_align32pow2(n + 1));
	struct rte_ring *r = rte_zmalloc("ring", size, RTE_CACHE_LINE_SIZE);

	if (r == NULL ||
	    rte_ring_init(r, "ring", n, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ) == 0)
		return r;
	rte_free(r);
	return NULL;
}

static int worker_rings(struct weir_switch *sw, struct worker *w)
{
	w->events = switch_ring(sizeof(struct event), EVENT_RING);
	w->learn = switch_ring(sizeof(struct learn_record), LEARN_RING);
	if (w->events == NULL || w->learn == NULL)
		return -ENOMEM;
	for (unsigned to = 0; to < sw->n_workers; to++) {
		if (to == w->id)
			continue;
		w->out[to] = handoff_create(switch_max_frames(sw->policy_mem));
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
		handoff_destroy(w->out[i]);
	rte_free(w->events);
	rte_free(w->learn);
	rte_free(w->taken);
	rte_free(w->released);
	rte_free(w->fdb_cache);
	fifo_pool_fini(&w->chunks);
	rte_free(w);
}

static void own(struct worker *w, unsigned port)
{
	const struct port *p = worker_port(w, port);

	w->owned[w->n_owned++] = (port_no_t)port;
	port_set_add(&w->sets, PORTS_EVERY, port);
	if (p->ops->watch == NULL || p->early_pause)
		port_set_add(&w->sets, PORTS_POLLED, port);
	else
		p->ops->watch(p->drv, &w->sets.word[port / 64].set[PORTS_CALLED],
			      1ull << port % 64);
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
	port_sets_init(&w->sets, sw->n_ports);
	for (unsigned port = 0; port < sw->n_ports; port++)
		if (sw->owner[port] == id)
			own(w, port);
	n_owned = w->n_owned;
	w->fdb_cache = rte_zmalloc("fdb_cache", sizeof(*w->fdb_cache), 64);
	w->released = rte_zmalloc("released",
				  sizeof(*w->released) + sw->n_ports * N_PGS * sizeof(ctr_t), 64);
	w->taken = rte_zmalloc("taken", sw->n_workers * BURST * sizeof(w->taken[0]), 64);
	if (w->fdb_cache == NULL || w->released == NULL || w->taken == NULL)
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
	p->no = (port_no_t)port;
	p->up = true;
	device_bind(p, &sw->ports[port]);
	p->held_cells = rte_zmalloc("held_cells",
				    sw->n_ports * N_PGS * sizeof(p->held_cells[0]), 64);
	p->departed_ns = rte_zmalloc("departed_ns", sw->n_ports * sizeof(p->departed_ns[0]), 64);
	return p->held_cells != NULL && p->departed_ns != NULL ? 0 : -ENOMEM;
}

static void port_destroy(struct port *p)
{
	if (p != NULL) {
		flows_free_ipcc(p);
		rte_free(p->held_cells);
		rte_free(p->departed_ns);
	}
	rte_free(p);
}

// The addresses of a policy enter the table before its first frame is looked up. In a full table
// learnt addresses make room. False, to be called again: workers still read FDB_SPARE old places.
static bool learn_static(struct weir_switch *sw, const struct policy *pol)
{
	bool all = true;

	fdb_begin_static(&sw->fdb);
	for (unsigned i = 0; i < pol->n_fdb; i++) {
		const struct policy_fdb_entry *e = &pol->fdb[i];

		if (e->port >= POLICY_MAX_PORTS || !pol->ports[e->port].routed)
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
	sw->learning.notice = rte_zmalloc(
		"notice", learn_n_rows(sw) * sizeof(sw->learning.notice[0]), 64);
	if (sw->ports == NULL || sw->port == NULL || sw->owner == NULL || sw->limits == NULL ||
	    sw->reported == NULL || sw->learning.notice == NULL)
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

static void classify_all(struct policy *policy)
{
	for (unsigned i = 0; i < policy->n_ports; i++) {
		struct policy_port *pp = &policy->ports[i];
		struct classify_row rows[N_TOS];

		classify_rows(&pp->classify, rows);
		for (unsigned tos = 0; tos < N_TOS; tos++)
			pp->by_tos[tos] = (struct frame){
				.in_port = (port_no_t)i,
				.pg = rows[tos].pg,
				.cls = rows[tos].cls,
				.out_cls = rows[tos].cls,
				.color = rows[tos].color & 0xfu,
				.ecn = tos & 3,
				.l3_off = sizeof(struct eth_hdr),
				.hint = rows[tos].hint,
			};
	}
}

int switch_create(struct policy *policy, const struct switch_port *ports, struct rte_mempool *pool,
		  uint64_t seed, struct weir_switch **out)
{
	struct weir_switch *sw = rte_zmalloc("switch", sizeof(*sw), 64);
	int err;

	if (sw == NULL)
		return -ENOMEM;
	policy->version = 1;
	classify_all(policy);
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
	numbers_pools(sw, true);
	flows_published(sw, NULL);
	*out = sw;
	return 0;
}

static void drain_handoff(struct worker *w)
{
	struct frame f;

	for (unsigned to = 0; to < w->sw->n_workers; to++)
		while (w->out[to] != NULL && handoff_take(w->out[to], &f, 1) != 0) {
			replica_release(w, &f, f.cells, 1);
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
		features_end(w);
		for (unsigned k = 0; k < w->n_owned; k++)
			egress_flush(w, worker_port(w, w->owned[k]), DROP_SHUTDOWN);
	}
	switch_unprepare(sw->policy_mem);
	routes_free_retired(sw);
	routes_destroy(sw);
	punts_destroy(sw);
	loops_free(sw);
	microbursts_free(sw);
	vxlan_free(sw);
	ecn_free(sw);
	zones_free(sw);
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
	rte_free(sw->learning.notice);
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
	classify_all(policy);
	for (unsigned i = 0; i < sw->n_ports; i++)
		policy->ports[i].unpaused_pgs =
			change_unpaused_pgs(&(*old)->ports[i], &policy->ports[i]);
	sw->static_due = !learn_static(sw, policy);
	routes_before_publish(sw, policy);
	atomic_store_explicit(&sw->policy, policy, memory_order_release);
	*token = rte_rcu_qsbr_start(sw->qsbr);
	routes_retire(sw, *old, *token);
	sw->static_token = *token;
	sw->static_stale = true;
	storms_new_policy(sw);
	flows_published(sw, *old);
	numbers_pools(sw, false);
}

bool switch_grace_over(const struct weir_switch *sw, uint64_t token)
{
	// rte_rcu_qsbr_check() also takes what an earlier check saw, even one inside the tables of
	// DPDK, and reads no counter then: ThreadSanitizer would miss the order.
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (__atomic_load_n(&sw->qsbr->qsbr_cnt[i].cnt, __ATOMIC_ACQUIRE) < token)
			return false;
	return true;
}

// ---- rates that a port may exceed, and signs of a wrong configuration
//
// The owner counts, control reads the counters. A flood of frames makes no flood of events, and
// nothing depends on a worker's event ring.

enum { LOOK_EVERY_NS = 100 * MS_NS };
static const uint64_t CALM_NS = 5ull * SECOND_NS;

// True: *e is to be given out. An event that finds no room is given out at the next look.
static bool look_at_limit(struct limit_watch *l, uint64_t frames, uint64_t now_ns, bool *began)
{
	if (frames != l->seen) {
		*began = true;
		if (!l->exceeded)
			l->before = l->seen;
		l->seen = frames;
		l->last_ns = now_ns;
		if (l->exceeded)
			return false;
		return l->exceeded = true;
	}
	*began = false;
	if (!l->exceeded || now_ns - l->last_ns < CALM_NS)
		return false;
	l->exceeded = false;
	return true;
}

// A switch without lossless classes has RoCE in lossy ones on purpose.
static uint64_t counted(const struct weir_switch *sw, unsigned port, unsigned kind)
{
	const struct port_counters *c = &sw->port[port]->c;

	if (kind < N_LIMIT_KINDS)
		return ctr_get(&c->limited[kind]);
	return sw->policy_mem->ports[port].classify.lossless != 0 ? ctr_get(&c->roce_in_lossy_class)
								  : 0;
}

static struct event event_of(const struct weir_switch *sw, unsigned port, unsigned kind, bool began,
			     uint64_t now_ns)
{
	const struct limit_watch *l = &sw->limits[port][kind];
	struct event e = {.t_ns = now_ns, .port = (port_no_t)port, .cls = CLASS_NONE, .a = kind,
			  .b = l->seen - l->before};

	if (kind == WATCH_ROCE_LOSSY) {
		uint64_t latest = gauge_get(&sw->port[port]->c.roce_lossy_latest);

		e.type = began ? EVENT_ROCE_LOSSY : EVENT_ROCE_LOSSY_OVER;
		e.a = (uint32_t)(latest >> 8);
		e.cls = (uint8_t)latest;
	} else if (kind == LIMIT_COPP) {
		e.type = began ? EVENT_COPP : EVENT_COPP_OVER;
	} else {
		e.type = began ? EVENT_STORM_CONTROL : EVENT_STORM_CONTROL_OVER;
	}
	return e;
}

// Once a port begins to exceed a rate or to show a wrong configuration, and once this is over.
static unsigned limits_look(struct weir_switch *sw, uint64_t now_ns, struct event *events,
			    unsigned n)
{
	unsigned k = 0;

	if (sw->limits_ns != 0 && now_ns - sw->limits_ns < LOOK_EVERY_NS)
		return 0;
	sw->limits_ns = now_ns;
	for (unsigned i = 0; i < sw->n_ports * N_WATCHED && k < n; i++) {
		unsigned port = i / N_WATCHED, kind = i % N_WATCHED;
		bool began;

		if (look_at_limit(&sw->limits[port][kind], counted(sw, port, kind), now_ns, &began))
			events[k++] = event_of(sw, port, kind, began, now_ns);
	}
	return k;
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
						     .port = (port_no_t)i, .cls = CLASS_NONE,
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
	numbers_pools(sw, true);
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

// ---- parts of the switch, for control and for drivers

struct worker *switch_worker(struct weir_switch *sw, unsigned i)
{
	return sw->workers[i];
}

unsigned switch_n_workers(const struct weir_switch *sw)
{
	return sw->n_workers;
}

const struct policy *switch_policy(const struct weir_switch *sw)
{
	return sw->policy_mem;
}

const struct switch_port *switch_port(const struct weir_switch *sw, unsigned port)
{
	return &sw->ports[port];
}

bool switch_tx_enabled(const struct weir_switch *sw, unsigned port, int queue)
{
	uint16_t off = atomic_load_explicit(&sw->want.tx_off[port], memory_order_relaxed);

	return queue < 0 ? !(off & TX_OFF_PORT) : !(off >> queue & 1);
}

bool switch_link_up(const struct weir_switch *sw, unsigned port)
{
	return !atomic_load_explicit(&sw->want.down[port], memory_order_relaxed);
}

struct port_memory switch_port_memory(const struct weir_switch *sw, unsigned port)
{
	const struct policy_port *pol = &sw->policy_mem->ports[port];
	unsigned lossless = pol->pfc.lossless;

	return (struct port_memory){.port = sw->port[port], .policy = pol,
				    .cls = lossless == 0 ? 0 : (unsigned)__builtin_ctz(lossless)};
}

void port_memory_fetch_rx(const struct port_memory *m)
{
	const struct port *p = m->port;
	const struct policy_port *pol = m->policy;

	rte_prefetch0(&p->ops);
	rte_prefetch0(&p->c.received);
	rte_prefetch0(&p->pg[m->cls].c.rx_packets);
	rte_prefetch0(&pol->rx_guard_on);
	rte_prefetch0(&pol->pg[m->cls]);
	rte_prefetch0(&pol->pfc);
	rte_prefetch0(&pol->routed);
	rte_prefetch0(&pol->by_tos[m->cls * 32 + 2]);
}

void port_memory_fetch_tx(const struct port_memory *m)
{
	const struct port *p = m->port;
	const struct policy_port *pol = m->policy;
	const struct queue *q = &p->queue[m->cls];

	rte_prefetch0(&p->ops);
	rte_prefetch0(&p->n_held);
	rte_prefetch0(&p->sched);
	rte_prefetch0(&p->c.transmitted);
	rte_prefetch0(&q->fifo);
	rte_prefetch0(&q->c);
	rte_prefetch0(&pol->rx_guard_on);
	rte_prefetch0(&p->marking[m->cls]);
	rte_prefetch0(&pol->sched);
	rte_prefetch0(&pol->pfc);
}
