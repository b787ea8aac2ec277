// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/policy.h"
#include "dataplane/svi.h"

enum { NAME_LEN = 64 };

// ---- what routing needs beside the policy: made with the first policy that routes

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
	for (unsigned i = 0; err == 0 && i < sw->n_workers; i++) {
		struct worker_l3 *l = rte_zmalloc("l3", sizeof(*l), 64);

		err = l != NULL ? 0 : -ENOMEM;
		if (l != NULL)
			l->neighbours = &sw->neighbours;
		atomic_store_explicit(&sw->workers[i]->l3_made, l, memory_order_release);
	}
	if (err != 0)
		routes_destroy(sw);
	return err == 0 ? 0 : -ENOMEM;
}

void routes_destroy(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		rte_free(atomic_load(&sw->workers[i]->l3_made));
		atomic_store(&sw->workers[i]->l3_made, NULL);
	}
	neighbours_fini(&sw->neighbours);
}

// ---- tables

int switch_prepare(struct weir_switch *sw, struct policy *p)
{
	const struct policy *running = atomic_load(&sw->policy);
	char name[NAME_LEN];
	int err;

	if (p != running)
		svis_keep_numbers(running, p);
	err = flows_prepare(sw, p);
	if (err == 0)
		err = loops_prepare(sw, p);
	if (err == 0)
		err = punts_prepare(sw, p);
	if (err == 0)
		err = microbursts_prepare(sw, p);
	if (err == 0)
		err = vxlan_prepare(sw, p);
	if (err != 0 || !p->routes.any || p->table != NULL)
		return err;
	err = begin_routing(sw, p->routes.compact);
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
	const struct policy *before = atomic_load_explicit(&sw->policy, memory_order_relaxed);

	p->settings = p->only_routes ? before->settings : p->version;
	for (unsigned i = 0; i < sw->n_ports; i++)
		if (p->ports[i].routed)
			fdb_flush_port(&sw->fdb, (port_no_t)i);
	if (p->table == NULL && switch_prepare(sw, p) != 0)
		return;
	vxlan_before_publish(sw, p->vtep);
	if (p->table == NULL)
		return;
	svis_links(sw);
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

int switch_set_neighbour(struct weir_switch *sw, port_no_t port, const struct policy_addr *a,
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
