// SPDX-License-Identifier: Apache-2.0
// The numbers of a switch, as control reads them: the balance, counters and states of ports, pools,
// the address table, causes of PAUSE. A reader changes nothing, and workers go on meanwhile.
#include "dataplane/policy.h"
#include "dataplane/switch.h"

#include "dataplane/microbursts.h"
#include "dataplane/pause.h"
#include "dataplane/switch_impl.h"

static uint64_t dropped_at(const struct port *p)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < N_CLASSES; c++)
		for (unsigned r = 0; r < N_DROP_REASONS; r++)
			n += ctr_get(&p->drops[c][r].packets);
	return n;
}

// The writers count a frame out of one place before they count it into the next. Read against its
// way, the last place of all ports first, a frame may be missed but is never seen twice: while
// frames move, the ends never exceed the beginnings.
struct balance switch_balance(const struct weir_switch *sw)
{
	struct balance b = {0};

	for (unsigned i = 0; i < sw->n_ports; i++) {
		const struct port *p = sw->port[i];

		b.transmitted += ctr_get(&p->c.transmitted);
		b.consumed += ctr_get(&p->c.consumed);
		b.dropped += dropped_at(p);
	}
	atomic_thread_fence(memory_order_acquire);
	for (unsigned i = 0; i < sw->n_ports; i++)
		b.queued += gauge_get(&sw->port[i]->c.queued);
	atomic_thread_fence(memory_order_acquire);
	for (unsigned from = 0; from < sw->n_workers; from++)
		for (unsigned to = 0; to < sw->n_workers; to++)
			if (from != to)
				b.queued += handoff_waiting(sw->workers[from]->out[to]);
	atomic_thread_fence(memory_order_acquire);
	for (unsigned i = 0; i < sw->n_ports; i++)
		b.queued += gauge_get(&sw->port[i]->c.waiting_in);
	atomic_thread_fence(memory_order_acquire);
	for (unsigned i = 0; i < sw->n_ports; i++) {
		const struct port *p = sw->port[i];

		b.received += ctr_get(&p->c.received);
		b.generated += ctr_get(&p->c.generated);
		b.replicated += ctr_get(&p->c.replicated);
	}
	return b;
}

unsigned switch_port_owner(const struct weir_switch *sw, unsigned port)
{
	return sw->owner[port];
}

const struct worker_counters *switch_worker_counters(const struct weir_switch *sw, unsigned worker)
{
	return &sw->workers[worker]->c;
}

const struct port_counters *switch_port_counters(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port]->c;
}

const struct queue_counters *switch_queue_counters(const struct weir_switch *sw, unsigned port,
						   unsigned queue)
{
	return &sw->port[port]->queue[queue].c;
}

const struct pg_counters *switch_pg_counters(const struct weir_switch *sw, unsigned port,
					     unsigned pg)
{
	return &sw->port[port]->pg[pg].c;
}

const struct pg_state *switch_pg_state(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return &sw->port[port]->pg[pg].state;
}

uint64_t switch_skid_used(const struct weir_switch *sw, unsigned port)
{
	return gauge_get(&sw->port[port]->skid_used);
}

const struct drop_counters *switch_drops(const struct weir_switch *sw, unsigned port, unsigned cls,
					 enum drop_reason reason)
{
	return &sw->port[port]->drops[cls][reason];
}

const struct pfc_rx_state *switch_pfc_rx(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port]->pfc_rx;
}

const struct pfc_tx_state *switch_pfc_tx(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port]->pfc_tx;
}

// Asked of the gauges, which are safe to read from another thread.
bool switch_queue_paused(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	const struct classify_params *c = &sw->policy_mem->ports[port].classify;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (c->class_to_queue[cls] == queue &&
		    gauge_get(&sw->port[port]->pfc_rx.stats[cls].until_ns) != 0)
			return true;
	return false;
}

static struct pool_use use_of(const struct weir_switch *sw, enum pool_id pool)
{
	const struct buffer_params *b = &sw->policy_mem->buffer;
	const uint32_t size[N_POOLS] = {
		[POOL_INGRESS] = b->ingress_pool_cells,
		[POOL_HEADROOM] = b->headroom_pool_cells,
		[POOL_EGRESS_LOSSY] = b->egress_lossy_cells,
		[POOL_EGRESS_LOSSLESS] = b->total_cells,
	};
	struct pool_use u = {.size = size[pool]};

	for (unsigned i = 0; i < sw->n_workers; i++) {
		u.used += gauge_get(&sw->workers[i]->slots[pool].used);
		u.max += microbursts_pool_max(sw->workers[i], pool);
	}
	return u;
}

struct pool_use switch_pool(const struct weir_switch *sw, enum pool_id pool)
{
	struct pool_use u = use_of(sw, pool);

	if (sw->n_workers > 1)
		u.max = min_u64(u.max, sw->pool_most[pool]);
	return u;
}

void numbers_pools(struct weir_switch *sw, bool anew)
{
	for (unsigned pool = 0; pool < N_POOLS; pool++) {
		struct pool_use u = use_of(sw, pool);

		// After a reload the pool may still hold more than its size.
		sw->pool_most[pool] = max_u64(u.size, anew ? u.used : sw->pool_most[pool]);
	}
}

static void mac_of_key(uint64_t key, uint8_t mac[6])
{
	for (unsigned b = 0; b < 6; b++)
		mac[b] = (uint8_t)(key >> (56 - 8 * b));
}

static void walk_groups(const struct policy *p, void (*fn)(void *arg, const struct fdb_row *row),
			void *arg)
{
	for (uint32_t i = 0; i < p->n_multicast; i++)
		for (unsigned port = 0; port < p->n_ports; port++) {
			const struct policy_multicast *g = &p->multicast[i];
			struct fdb_row row = {.vid = (uint16_t)g->key, .port = (port_no_t)port,
					      .is_static = true};

			if (!(g->ports[port / 64] >> port % 64 & 1))
				continue;
			mac_of_key(g->key, row.mac);
			fn(arg, &row);
		}
}

void switch_fdb_walk(struct weir_switch *sw, uint64_t now_ns,
		     void (*fn)(void *arg, const struct fdb_row *row), void *arg)
{
	for (uint32_t i = 0; i < sw->fdb.capacity; i++) {
		const struct fdb_entry *e = &sw->fdb.entries[i];
		uint64_t seen = gauge_get(&e->seen_ns);
		struct fdb_row row = {
			.vid = (uint16_t)e->key,
			.port = e->port,
			.is_static = e->is_static,
			.is_stale = e->is_stale,
			.age_ns = now_ns > seen ? now_ns - seen : 0,
		};

		if (!e->used)
			continue;
		mac_of_key(e->key, row.mac);
		fn(arg, &row);
	}
	walk_groups(switch_policy(sw), fn, arg);
}

const struct fdb_port *switch_fdb_port(const struct weir_switch *sw, unsigned port)
{
	static const struct fdb_port none; // only where there was no memory
	const struct fdb_port *p = fdb_port_at(&sw->fdb, port);

	return p != NULL ? p : &none;
}

uint64_t switch_events_lost(const struct weir_switch *sw)
{
	uint64_t n = sw->storms.own_lost;

	for (unsigned i = 0; i < sw->n_workers; i++)
		n += ctr_get(&sw->workers[i]->events_lost);
	return n;
}

uint64_t switch_guard_remapped(const struct weir_switch *sw, unsigned port, unsigned rule)
{
	return ctr_get(&sw->port[port]->remapped[rule]);
}

struct pause_cause switch_pause_cause(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	const struct cause_record *r = &sw->port[port]->pg[pg].cause;

	return cause_unpack(gauge_get(&r->t_ns), gauge_get(&r->packed));
}

struct pause_cause switch_cause_now(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return pause_cause_search(sw, sw->policy_mem, 0, account_index(port, pg), NULL);
}

uint32_t switch_copies(const struct weir_switch *sw)
{
	return atomic_load_explicit(&sw->copies, memory_order_relaxed);
}

uint32_t switch_copy_frames(const struct weir_switch *sw)
{
	return sw->copy_frames;
}

uint32_t switch_held_cells(const struct weir_switch *sw, unsigned port, unsigned q,
			   unsigned in_port, unsigned pg)
{
	return atomic_load_explicit(&sw->port[port]->held_cells[account_index(in_port, pg)][q],
				    memory_order_relaxed);
}
