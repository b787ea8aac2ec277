// SPDX-License-Identifier: Apache-2.0
// Control's side of the flow tables: their memory, their contents, and an operator's orders about
// pairs.
#include "dataplane/switch_flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/elephants.h"
#include "dataplane/roce/pairing.h"
#include "dataplane/switch_impl.h"

enum {
	READ_TRIES = 4, // of an entry that changes while it is read
	FLOW_ALIGN = 256, // an entry's first two lines are then one pair of lines
};

// ---- create and destroy

static int shard_rings(struct weir_switch *sw, struct worker *w)
{
	struct worker_flows *wf = w->flows;

	wf->orders = switch_ring(sizeof(struct known_pair), PAIR_ORDERS);
	wf->records = switch_ring(sizeof(struct cnp_record), CNP_RECORDS);
	if (wf->orders == NULL || wf->records == NULL)
		return -ENOMEM;
	for (unsigned to = 0; to < sw->n_workers; to++) {
		if (to == w->id)
			continue;
		w->notes[to] = switch_ring(sizeof(struct ipcc_note), NOTE_RING);
		if (w->notes[to] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int shard_create(struct weir_switch *sw, struct worker *w, uint32_t n)
{
	struct rng luck = w->rng; // a copy: what else is drawn does not depend on the table
	uint32_t seed = (uint32_t)rng_next(&luck);
	struct worker_flows *wf = rte_zmalloc("flows", sizeof(*wf), 64);

	w->flows = wf;
	if (wf == NULL)
		return -ENOMEM;
	wf->table_mem = rte_zmalloc("flow_table", flow_table_bytes(n), FLOW_ALIGN);
	wf->pairing_mem = rte_zmalloc("pairing", pairing_bytes(n), 64);
	if (wf->table_mem == NULL || wf->pairing_mem == NULL)
		return -ENOMEM;
	flow_table_init(&wf->table, wf->table_mem, n, sw->policy_mem->flows.age_ns, seed);
	flow_table_set_ports(&wf->table, w->n_owned);
	wf->pairing = pairing_init(wf->pairing_mem, &wf->table, seed ^ 0x5bd1e995);
	return shard_rings(sw, w);
}

int flows_create(struct weir_switch *sw)
{
	uint32_t max = sw->policy_mem->flows.max;
	int err = 0;

	max = max < FLOW_MAX ? max : FLOW_MAX;
	for (unsigned i = 0; err == 0 && max != 0 && i < sw->n_workers; i++)
		err = shard_create(sw, sw->workers[i],
				   (max + sw->n_workers - 1 - i) / sw->n_workers);
	return err;
}

void flows_destroy(struct weir_switch *sw)
{
	free(sw->orders.pairs);
	sw->orders.pairs = NULL;
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		struct worker *w = sw->workers[i];

		for (unsigned to = 0; to < sw->n_workers; to++)
			rte_free(w->notes[to]);
		if (w->flows == NULL)
			continue;
		rte_free(w->flows->orders);
		rte_free(w->flows->records);
		rte_free(w->flows->pairing_mem);
		rte_free(w->flows->table_mem);
		rte_free(w->flows);
		w->flows = NULL;
	}
}

static bool has_table(const struct weir_switch *sw)
{
	return sw->workers[0]->flows != NULL;
}

// ---- pairs by hand

static bool room_for_orders(const struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers; i++) {
		const struct worker_flows *wf = sw->workers[i]->flows;

		if (wf->orders_put - ctr_get(&wf->orders_taken) >= PAIR_ORDERS)
			return false;
	}
	return true;
}

// Every worker gets the order: any of them may own a flow's port.
static void order(struct weir_switch *sw, const struct known_pair *k)
{
	for (unsigned i = 0; i < sw->n_workers; i++) {
		struct worker_flows *wf = sw->workers[i]->flows;

		wf->orders_put += rte_ring_sp_enqueue_elem(wf->orders, (void *)(uintptr_t)k,
							   sizeof(*k)) == 0;
	}
}

void flows_control(struct weir_switch *sw)
{
	struct pair_orders *o = &sw->orders;

	while (o->next < o->n && room_for_orders(sw))
		order(sw, &o->pairs[o->next++]);
}

int switch_order_pair(struct weir_switch *sw, const struct known_pair *k)
{
	if (!has_table(sw))
		return -ENOTSUP;
	flows_control(sw);
	if (sw->orders.next < sw->orders.n || !room_for_orders(sw))
		return -EAGAIN;
	order(sw, k);
	return 0;
}

bool switch_pair_orders_done(const struct weir_switch *sw, uint64_t *found)
{
	bool all = true;

	*found = 0;
	for (unsigned i = 0; has_table(sw) && i < sw->n_workers; i++) {
		const struct worker_flows *wf = sw->workers[i]->flows;

		all = all && ctr_get(&wf->orders_taken) == wf->orders_put;
		atomic_thread_fence(memory_order_acquire);
		*found += ctr_get(&wf->orders_found);
	}
	return all;
}

static bool names(const struct policy *p, const struct flow_key *key)
{
	for (uint32_t i = 0; i < p->n_pairs; i++)
		if (flow_key_same(&p->pairs[i].key, key))
			return true;
	return false;
}

// Orders of an earlier policy go first, unless there is no memory for them.
static bool make_room_for_orders(struct pair_orders *o, uint32_t n)
{
	struct known_pair *grown;

	if (o->next != 0) {
		memmove(o->pairs, o->pairs + o->next, (o->n - o->next) * sizeof(o->pairs[0]));
		o->n -= o->next;
		o->next = 0;
	}
	grown = realloc(o->pairs, (o->n + n + 1) * sizeof(o->pairs[0]));
	if (grown != NULL)
		o->pairs = grown;
	return grown != NULL;
}

void flows_published(struct weir_switch *sw, const struct policy *old)
{
	const struct policy *now = sw->policy_mem;
	struct pair_orders *o = &sw->orders;
	uint32_t n_old = old != NULL ? old->n_pairs : 0;

	if (!has_table(sw) || n_old + now->n_pairs == 0 ||
	    !make_room_for_orders(o, n_old + now->n_pairs))
		return;
	for (uint32_t i = 0; i < n_old; i++) {
		if (names(now, &old->pairs[i].key))
			continue;
		o->pairs[o->n] = old->pairs[i];
		o->pairs[o->n++].qp = FLOW_NONE;
	}
	for (uint32_t i = 0; i < now->n_pairs; i++)
		o->pairs[o->n++] = now->pairs[i];
	flows_control(sw);
}

// ---- what is in the tables

// Copies the numbers of an entry. False: the entry is free.
static bool copy_flow_row(const struct flow *f, uint64_t now_ns, struct flow_row *out)
{
	uint64_t last = gauge_get(&f->last);

	for (unsigned i = 0; i < sizeof(f->key.w) / sizeof(f->key.w[0]); i++)
		out->key.w[i] = relaxed_get(&f->key_words[i]);
	out->key.w[4] = flow_key_last(&out->key); // without the seal
	out->way = flow_way_of(gauge_get(&f->way));
	out->pair = flow_pair_of(gauge_get(&f->pair));
	out->packets = flow_packets(f);
	out->bytes = flow_frame_bytes(f);
	out->gaps = ctr_get(&f->gaps);
	out->gap_packets = ctr_get(&f->gap_packets);
	out->rewinds = ctr_get(&f->rewinds);
	out->ce = ctr_get(&f->ce);
	out->naks = ctr_get(&f->naks);
	out->cnps_seen = ctr_get(&f->cnps_seen);
	out->cnps_sent = ctr_get(&f->cnps_sent);
	out->silences = ctr_get(&f->silences);
	out->silence = (uint8_t)gauge_get(&f->silence);
	out->first_ns = gauge_get(&f->first_ns);
	out->seen_ns = flow_seen_ns(f, now_ns);
	out->cnp_ns = gauge_get(&f->cnp_ns);
	out->elephant_ns = gauge_get(&f->elephant_ns);
	out->size = (uint8_t)elephants_size(f);
	out->psn = flow_expected(last);
	out->udp_sport = relaxed_get(&f->udp_sport);
	// Seen while now_ns was read.
	out->seen_ns = out->seen_ns > out->first_ns ? out->seen_ns : out->first_ns;
	return out->key.w[4] != 0 && out->packets != 0;
}

// The entry as one flow's. False: there is none, or it changes all the time.
static bool read_entry(const struct flow *f, uint64_t now_ns, struct flow_row *out)
{
	for (unsigned i = 0; i < READ_TRIES; i++) {
		uint32_t before = flow_generation(f);
		bool lives;

		*out = (struct flow_row){.reason = ""};
		lives = copy_flow_row(f, now_ns, out);
		atomic_thread_fence(memory_order_acquire);
		if (before == relaxed_get(&f->generation) && before % 2 == 0)
			return lives;
	}
	return false;
}

static bool read_flow_row(const struct worker_flows *wf, uint32_t id, uint64_t now_ns, bool why,
			  struct flow_row *out)
{
	if (!read_entry(&wf->table.flows[id], now_ns, out))
		return false;
	if (now_ns > out->seen_ns &&
	    now_ns - out->seen_ns >= relaxed_get(&wf->table.age_ns))
		return false;
	if (!why || out->pair.source != PAIR_NONE)
		return true;
	if (out->way.kind == FLOW_DATAGRAM || !flow_is_roce(out->way.kind)) {
		out->reason = flow_is_roce(out->way.kind) ? "datagram" : "no RoCEv2";
		return true;
	}
	out->candidates = pairing_candidates(wf->pairing, id);
	out->reason = pairing_reason(wf->pairing, id);
	return true;
}

// Places of a shard that were ever used.
static uint32_t used_places(const struct worker_flows *wf)
{
	return relaxed_get(&wf->table.n_used);
}

void switch_flows_walk(struct weir_switch *sw, uint64_t now_ns, bool why,
		       bool (*fn)(void *arg, const struct flow_row *row), void *arg)
{
	struct flow_row row;

	for (unsigned i = 0; i < sw->n_workers; i++) {
		const struct worker_flows *wf = sw->workers[i]->flows;

		for (uint32_t id = 0; wf != NULL && id < used_places(wf); id++)
			if (read_flow_row(wf, id, now_ns, why, &row) && !fn(arg, &row))
				return;
	}
}

uint32_t switch_flows_places(const struct weir_switch *sw)
{
	uint32_t n = 0;

	for (unsigned i = 0; has_table(sw) && i < sw->n_workers; i++)
		n += sw->workers[i]->flows->table.n;
	return n;
}

void switch_flows_look(struct weir_switch *sw, const struct flows_look *look)
{
	uint32_t base = 0, end = look->first + look->n;
	struct flow_row row;

	for (unsigned i = 0; has_table(sw) && i < sw->n_workers; i++) {
		const struct worker_flows *wf = sw->workers[i]->flows;
		uint32_t used = used_places(wf);
		uint32_t id = look->first > base ? look->first - base : 0;

		for (; id < used && base + id < end; id++)
			if (read_flow_row(wf, id, look->now_ns, look->why, &row))
				look->fn(look->arg, base + id, &row);
		base += wf->table.n;
	}
}

static void add_pairing(struct flow_totals *out, const struct pairing_counters *c)
{
	for (unsigned s = 0; s < N_PAIR_SOURCES; s++)
		out->pairing.paired[s] += ctr_get(&c->paired[s]);
	out->pairing.dropped_jump += ctr_get(&c->dropped_jump);
	out->pairing.dropped_ack += ctr_get(&c->dropped_ack);
	out->pairing.dropped_rival += ctr_get(&c->dropped_rival);
	out->pairing.dropped_dreq += ctr_get(&c->dropped_dreq);
	out->pairing.dropped_age += ctr_get(&c->dropped_age);
	out->pairing.dropped_static += ctr_get(&c->dropped_static);
	out->pairing.wrong_port += ctr_get(&c->wrong_port);
	out->pairing.eliminations += ctr_get(&c->eliminations);
	out->pairing.matches += ctr_get(&c->matches);
	out->pairing.crowded += ctr_get(&c->crowded);
	out->pairing.cm_seen += ctr_get(&c->cm_seen);
	out->pairing.cm_refused += ctr_get(&c->cm_refused);
	out->pairing.n_paired += gauge_get(&c->n_paired);
	out->pairing.n_unpaired += gauge_get(&c->n_unpaired);
}

static void add_elephants(struct flow_totals *out, const struct worker_elephants *e)
{
	out->elephants.now += gauge_get(&e->now);
	out->elephants.began += ctr_get(&e->began);
	out->elephants.ended += ctr_get(&e->ended);
	out->elephants.refused += ctr_get(&e->refused);
	for (unsigned size = 0; size < N_SIZES; size++) {
		out->elephants.packets[size] += ctr_get(&e->packets[size]);
		out->elephants.bytes[size] += ctr_get(&e->bytes[size]);
	}
}

void switch_flow_totals(const struct weir_switch *sw, struct flow_totals *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; has_table(sw) && i < sw->n_workers; i++) {
		const struct worker_flows *wf = sw->workers[i]->flows;

		out->max += wf->table.n;
		out->used += gauge_get(&wf->table.used);
		out->made += ctr_get(&wf->table.made);
		out->aged += ctr_get(&wf->table.aged);
		out->refused += ctr_get(&wf->table.refused);
		out->evicted += ctr_get(&wf->table.evicted);
		add_pairing(out, pairing_counters(wf->pairing));
		add_elephants(out, &wf->elephants);
	}
}

const struct flow_port *switch_flow_port(const struct weir_switch *sw, unsigned port)
{
	static const struct flow_port none;
	const struct worker_flows *wf = flows_of_port(sw, port);

	return wf != NULL ? &wf->table.ports[port] : &none;
}

const struct port_flow_counters *switch_port_flows(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port]->flows;
}

// ---- notifications: memory for the queues that send them, and their numbers

// A worker may read the pointer as soon as it is there; it uses it with the policy that asks for
// it.
static int prepare_queue(struct port *p, unsigned q)
{
	struct ipcc_rt *rt;

	if (atomic_load_explicit(&p->queue[q].ipcc, memory_order_relaxed) != NULL)
		return 0;
	rt = rte_zmalloc("ipcc", sizeof(*rt), RTE_CACHE_LINE_SIZE);
	if (rt == NULL)
		return -ENOMEM;
	atomic_store_explicit(&p->queue[q].ipcc, rt, memory_order_release);
	return 0;
}

int flows_prepare(struct weir_switch *sw, const struct policy *p)
{
	int err = 0;

	for (unsigned port = 0; port < sw->n_ports; port++)
		for (unsigned q = 0; err == 0 && q < N_QUEUES; q++)
			if (p->ports[port].queue[q].ipcc.enabled)
				err = prepare_queue(sw->port[port], q);
	return err;
}

void flows_free_ipcc(struct port *p)
{
	for (unsigned q = 0; q < N_QUEUES; q++)
		rte_free(atomic_load_explicit(&p->queue[q].ipcc, memory_order_relaxed));
}

const struct ipcc_counters *switch_ipcc(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	const struct ipcc_rt *rt =
		atomic_load_explicit(&sw->port[port]->queue[queue].ipcc, memory_order_relaxed);

	return rt == NULL ? NULL : &rt->c;
}

unsigned switch_cnp_records(struct weir_switch *sw, struct cnp_record *out, unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < sw->n_workers && k < n; i++) {
		const struct worker_flows *flows = sw->workers[i]->flows;

		if (flows != NULL)
			k += rte_ring_sc_dequeue_burst_elem(flows->records, out + k, sizeof(*out),
							    n - k, NULL);
	}
	return k;
}

uint64_t switch_cnp_records_lost(const struct weir_switch *sw)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < sw->n_workers; i++)
		if (sw->workers[i]->flows != NULL)
			lost += ctr_get(&sw->workers[i]->flows->records_lost);
	return lost;
}
