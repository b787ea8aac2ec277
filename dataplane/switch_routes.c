// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/switch_impl.h"

enum { NAME_LEN = 64, RING_PUNTS = 256, RING_SENDS = 512, RING_COMPACT = 32 };

static_assert(sizeof(struct neighbour_frame) % 4 == 0, "a ring element is whole words");
static_assert(sizeof(struct neighbour_request) % 4 == 0, "a ring element is whole words");

// ---- what routing needs beside the policy: made with the first policy that routes

static void punt_free(struct punt_port *p)
{
	for (unsigned k = 0; p != NULL && k < N_PUNT_KINDS; k++)
		rte_free(p->ring[k]);
	rte_free(p);
}

// A ring outside DPDK's list of named memory, which has 2560 places for a process: a fabric has
// thousands of ports.
static struct rte_ring *unnamed_ring(unsigned elem, unsigned n)
{
	struct rte_ring *r = rte_zmalloc("ring", (size_t)rte_ring_get_memsize_elem(elem, n),
					 RTE_CACHE_LINE_SIZE);

	if (r != NULL && rte_ring_init(r, "punt", n, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return NULL;
	}
	return r;
}

static int punt_create(bool compact, struct punt_port **out)
{
	struct punt_port *p = rte_zmalloc("punt", sizeof(*p), 64);
	unsigned n = compact ? RING_COMPACT : RING_PUNTS;
	bool all = p != NULL;

	for (unsigned k = 0; p != NULL && k < N_PUNT_KINDS; k++) {
		p->ring[k] = unnamed_ring(k == PUNT_HOP_REQUEST ? sizeof(struct neighbour_request)
							: sizeof(struct neighbour_frame), n);
		all &= p->ring[k] != NULL;
	}
	if (!all) {
		punt_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

static void l3_free(struct worker_l3 *l)
{
	if (l == NULL)
		return;
	for (unsigned k = 0; k < N_SEND_KINDS; k++)
		rte_ring_free(l->sends[k]);
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		punt_free(l->punt[i]);
	rte_free(l);
}

static int l3_create(const struct weir_switch *sw, unsigned worker, bool compact,
		     struct worker_l3 **out)
{
	struct worker_l3 *l = rte_zmalloc("l3", sizeof(*l), 64);

	if (l == NULL)
		return -ENOMEM;
	l->neighbours = &sw->neighbours;
	for (unsigned k = 0; k < N_SEND_KINDS; k++) {
		l->sends[k] = switch_ring(sw, "se", worker, k, sizeof(struct neighbour_frame),
					  (compact ? RING_COMPACT : RING_SENDS) - 1);
		if (l->sends[k] == NULL) {
			l3_free(l);
			return -ENOMEM;
		}
	}
	*out = l;
	return 0;
}

static int begin_routing(struct weir_switch *sw, bool compact)
{
	char name[NAME_LEN];
	int err = 0;

	if (sw->neighbours.hash != NULL)
		return 0;
	snprintf(name, sizeof(name), "%.20s-nb", sw->policy_mem->name);
	err = neighbours_init(&sw->neighbours, name,
			      compact ? NEIGHBOURS_COMPACT : NEIGHBOURS_MAX, sw->hash_seed,
			      sw->qsbr);
	// A worker looks at it once it has a policy that routes.
	for (unsigned i = 0; err == 0 && i < sw->n_workers; i++)
		err = l3_create(sw, i, compact, &sw->workers[i]->l3);
	if (err != 0)
		routes_destroy(sw);
	return err == 0 ? 0 : -ENOMEM;
}

// A worker looks at a port's rings once it has a policy that routes by the port.
static int begin_punting(struct weir_switch *sw, const struct policy *p)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < sw->n_ports; i++) {
		struct punt_port **punt = &sw->workers[sw->owner[i]]->l3->punt[i];

		if (p->ports[i].routed && *punt == NULL)
			err = punt_create(p->routes.compact, punt);
	}
	return err;
}

void routes_destroy(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		l3_free(sw->workers[i]->l3);
		sw->workers[i]->l3 = NULL;
	}
	neighbours_fini(&sw->neighbours);
}

// ---- tables

int switch_prepare(struct weir_switch *sw, struct policy *p)
{
	char name[NAME_LEN];
	int err;

	err = flows_prepare(sw, p);
	if (err == 0)
		err = loops_prepare(sw, p);
	if (err != 0 || !p->routes.any || p->table != NULL)
		return err;
	err = begin_routing(sw, p->routes.compact);
	if (err == 0)
		err = begin_punting(sw, p);
	if (err != 0)
		return err;
	snprintf(name, sizeof(name), "%.12s%u", p->name, sw->n_tables++);
	return route_table_create(name, p, &p->table);
}

void switch_unprepare(struct policy *p)
{
	route_table_destroy(p->table);
	p->table = NULL;
}

static void learn_static(struct weir_switch *sw, const struct policy *p)
{
	const struct policy_routes *r = &p->routes;

	for (uint32_t i = 0; i < r->n_neighbours; i++)
		// Refused only where the table is full; the frames are then dropped and counted.
		(void)neighbours_set(&sw->neighbours, r->neighbours[i].port, &r->neighbours[i].addr,
				     r->neighbours[i].mac);
}

void routes_before_publish(struct weir_switch *sw, struct policy *p)
{
	for (unsigned i = 0; i < sw->n_ports; i++)
		if (p->ports[i].routed)
			fdb_flush_port(&sw->fdb, (uint8_t)i);
	if (p->table == NULL && switch_prepare(sw, p) != 0)
		return;
	if (p->table == NULL)
		return;
	learn_static(sw, p);
	(void)route_table_update(p->table, p, &sw->neighbours, NULL);
	neighbours_changed(&sw->neighbours);
}

void routes_retire(struct weir_switch *sw, struct policy *old, uint64_t token)
{
	if (old->table == NULL)
		return;
	old->table->token = token;
	old->table->next = sw->retired_tables;
	sw->retired_tables = old->table;
}

void routes_control(struct weir_switch *sw)
{
	struct route_table **at = &sw->retired_tables;

	while (*at != NULL) {
		struct route_table *t = *at;

		if (!switch_grace_over(sw, t->token)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		route_table_destroy(t);
	}
}

void routes_free_retired(struct weir_switch *sw)
{
	while (sw->retired_tables != NULL) {
		struct route_table *t = sw->retired_tables;

		sw->retired_tables = t->next;
		route_table_destroy(t);
	}
}

// ---- neighbours

int switch_set_neighbour(struct weir_switch *sw, uint8_t port, const struct policy_addr *a,
			 const uint8_t *mac)
{
	const struct policy *p = sw->policy_mem;
	int err;

	if (sw->neighbours.hash == NULL)
		return -ENOSPC;
	err = neighbours_set(&sw->neighbours, port, a, mac);
	if (p->table != NULL)
		(void)route_table_update(p->table, p, &sw->neighbours, a);
	neighbours_changed(&sw->neighbours);
	return err;
}

void switch_track_nexthops(struct weir_switch *sw, nexthop_leads_fn *leads, void *arg)
{
	const struct policy *p = sw->policy_mem;

	if (p->table != NULL && route_table_track(p->table, p, leads, arg))
		neighbours_changed(&sw->neighbours);
}

// One record of this kind. The port after the one that had something is the first to be asked next.
static bool next_punt(struct weir_switch *sw, enum punt_kind kind, void *out, unsigned elem)
{
	for (unsigned i = 0; i < sw->n_ports; i++) {
		unsigned port = (sw->punt_next[kind] + i) % sw->n_ports;
		struct worker_l3 *l = sw->workers[sw->owner[port]]->l3;

		if (l == NULL || l->punt[port] == NULL ||
		    rte_ring_sc_dequeue_elem(l->punt[port]->ring[kind], out, elem) != 0)
			continue;
		sw->punt_next[kind] = (uint8_t)((port + 1) % sw->n_ports);
		return true;
	}
	return false;
}

bool switch_next_neighbour_frame(struct weir_switch *sw, struct neighbour_frame *out)
{
	return next_punt(sw, PUNT_ANSWER, out, sizeof(*out)) ||
	       next_punt(sw, PUNT_REQUEST, out, sizeof(*out));
}

bool switch_next_neighbour_request(struct weir_switch *sw, struct neighbour_request *out)
{
	return next_punt(sw, PUNT_HOP_REQUEST, out, sizeof(*out));
}

bool switch_send(struct weir_switch *sw, const struct neighbour_frame *f, enum send_kind kind)
{
	struct worker_l3 *l = sw->workers[sw->owner[f->port]]->l3;

	return l != NULL && rte_ring_sp_enqueue_elem(l->sends[kind], (void *)(uintptr_t)f,
						     sizeof(*f)) == 0;
}
