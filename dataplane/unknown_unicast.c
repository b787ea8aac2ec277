// SPDX-License-Identifier: Apache-2.0
#include "dataplane/unknown_unicast.h"

#include <rte_hash_crc.h>

#include "dataplane/base/units.h"
#include "dataplane/bridging.h"
#include "dataplane/fate.h"

// ---- reports

static struct reported *reported_set(const struct weir_switch *sw, uint64_t key)
{
	return &sw->reported[rte_hash_crc_8byte(key, 0) % REPORTED_SETS * sw->n_ports];
}

void unknown_note_report(struct worker *w, const struct port *p, uint64_t key, port_no_t at)
{
	struct reported *h = &reported_set(w->sw, key)[p->no];

	atomic_store_explicit(&h->key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&h->t_ns, w->now_ns, memory_order_relaxed);
	atomic_store_explicit(&h->at, at, memory_order_relaxed);
	atomic_store_explicit(&h->key, key, memory_order_release);
}

// When the port reported the address, and where it is. 0: it did not, or the slot changes
// meanwhile.
static uint64_t reported_ns(const struct reported *h, uint64_t key, port_no_t *at)
{
	uint64_t t_ns;

	if (atomic_load_explicit(&h->key, memory_order_acquire) != key)
		return 0;
	t_ns = atomic_load_explicit(&h->t_ns, memory_order_relaxed);
	*at = atomic_load_explicit(&h->at, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&h->key, memory_order_relaxed) == key ? t_ns : 0;
}

// Control enters an address milliseconds after a station has spoken, and an answer to ARP is
// followed at once by the first lossless frame. Of several ports the latest counts.
static bool is_reported(const struct worker *w, struct frame *f, uint64_t key, unsigned vid)
{
	const struct reported *set = reported_set(w->sw, key);
	uint64_t latest_ns = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++) {
		port_no_t at = 0;
		uint64_t t_ns = reported_ns(&set[port], key, &at);

		if (t_ns > latest_ns && w->now_ns < t_ns + REPORTED_NS &&
		    bridging_may_leave(w, at, f, vid)) {
			latest_ns = t_ns;
			f->out_port = at;
		}
	}
	return latest_ns != 0;
}

// ---- stale addresses

static bool has_stale(const struct worker *w, struct frame *f, uint64_t key, unsigned vid)
{
	port_no_t at = fdb_stale_port(&w->sw->fdb, key);

	if (at == FDB_NO_PORT || !bridging_may_leave(w, at, f, vid))
		return false;
	f->out_port = at;
	return true;
}

bool unknown_finds_way(const struct worker *w, struct frame *f, uint64_t key, unsigned vid)
{
	return is_reported(w, f, key, vid) || has_stale(w, f, key, vid);
}

// ---- probes

static const struct policer_params probes = {
	.interval_ns = SECOND_NS / PROBES_A_SECOND, .burst_ns = SECOND_NS};

static struct unknown_station *asked_slot(const struct worker *w, struct port *p, uint64_t key)
{
	return &p->unknown[rte_hash_crc_8byte(key, w->sw->hash_seed) % UNKNOWN_STATIONS];
}

// Remembers that a frame went to the address. An address that nobody asked for during a second
// begins anew.
static struct unknown_station *asked_for(const struct worker *w, struct port *p, uint64_t key)
{
	struct unknown_station *u = asked_slot(w, p, key);
	uint64_t now_ns = w->now_ns;

	if (u->key != key || now_ns - u->asked_ns >= UNREACHABLE_NS)
		*u = (struct unknown_station){.key = key, .since_ns = now_ns};
	u->asked_ns = now_ns;
	return u;
}

// The highest lossy class of the port, if frames of it are flooded.
static bool to_lossy_class(struct port *p, struct frame *f)
{
	const struct classify_params *c = &p->pol->classify;
	uint8_t lossy = c->control_class;

	if ((c->lossless | p->pol->no_flood) >> lossy & 1)
		return false;
	if (unlikely(p->stormed != 0)) // the group of its class has counted its arrival
		storm_count_not_admitted(p, f);
	f->cls = f->out_cls = lossy;
	f->pg = c->class_to_pg[lossy];
	return true;
}

static bool probe_is_due(struct port *p, struct unknown_station *u, uint64_t now_ns)
{
	if (u->probed_ns != 0 && now_ns - u->probed_ns < PROBE_EVERY_NS)
		return false;
	if (!policer_take(&probes, &p->probes, now_ns))
		return false;
	u->probed_ns = now_ns;
	return true;
}

static void say_unknown(struct worker *w, struct port *p, const struct frame *f, uint64_t key,
		struct unknown_station *u)
{
	unsigned vid = key & 0xffff;

	if (p->unknown_said_ns == 0 || w->now_ns - p->unknown_said_ns >= SECOND_NS) {
		p->unknown_said_ns = w->now_ns;
		worker_event(w, EVENT_LOSSLESS_UNKNOWN, f->in_port, f->cls, vid, key >> 16);
	}
	if (u == NULL || u->said || w->now_ns - u->since_ns < UNREACHABLE_NS)
		return;
	u->said = true;
	worker_event(w, EVENT_LOSSLESS_UNREACHABLE, f->in_port, f->cls, vid, key >> 16);
}

bool unknown_probes(struct worker *w, struct port *p, struct frame *f, uint64_t key, bool group)
{
	struct unknown_station *u = group ? NULL : asked_for(w, p, key);

	if (u != NULL && probe_is_due(p, u, w->now_ns) && to_lossy_class(p, f)) {
		ctr_inc(&p->c.unknown_probes);
		return true;
	}
	ctr_inc(&p->c.lossless_unknown);
	say_unknown(w, p, f, key, u);
	fate_dropped(w, p, f, DROP_LOSSLESS_UNKNOWN);
	return false;
}
