// SPDX-License-Identifier: Apache-2.0
// Routes as the dataplane takes them: one list of prefixes, each with a group of next hops; equal
// groups are one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/resolve_routes.h"

// Groups by what they hold, so that a fabric's many host routes share few of them.
struct group_index {
	uint32_t *slot; // group + 1, 0: free
	uint32_t mask;
};

static uint64_t hash_of(const void *data, size_t len)
{
	const uint8_t *b = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

static bool same_group(const struct policy_routes *r, uint32_t group,
		       const struct policy_nexthop *hops, unsigned n)
{
	const struct policy_group *g = &r->groups[group];

	return g->n == n && memcmp(&r->nexthops[g->first], hops, n * sizeof(*hops)) == 0;
}

// The number of a group with these next hops, which is made when there is none yet.
static uint32_t group_of(struct policy_routes *r, struct group_index *index,
			 const struct policy_nexthop *hops, unsigned n)
{
	uint32_t at = (uint32_t)hash_of(hops, n * sizeof(*hops)) & index->mask;

	for (; index->slot[at] != 0; at = (at + 1) & index->mask)
		if (same_group(r, index->slot[at] - 1, hops, n))
			return index->slot[at] - 1;
	r->groups[r->n_groups] = (struct policy_group){.first = r->n_nexthops, .n = n};
	memcpy(&r->nexthops[r->n_nexthops], hops, n * sizeof(*hops));
	r->n_nexthops += n;
	index->slot[at] = ++r->n_groups;
	return r->n_groups - 1;
}

static void add(struct policy_routes *r, struct group_index *index, const struct policy_addr *to,
		const struct policy_nexthop *hops, unsigned n)
{
	r->prefixes[r->n_prefixes++] =
		(struct policy_prefix){.to = *to, .group = group_of(r, index, hops, n)};
}

// Memory for as many as there can be. False: there is none.
static bool reserve(struct policy_routes *r, struct group_index *index, const struct config *c,
		    unsigned n_own)
{
	size_t n = c->routes.n + n_own, hops = n_own;

	for (unsigned i = 0; i < c->routes.n; i++)
		hops += c->routes.items[i].n_nexthops;
	for (index->mask = 1; index->mask < 2 * n; index->mask = 2 * index->mask + 1)
		;
	index->slot = calloc((size_t)index->mask + 1, sizeof(*index->slot));
	r->prefixes = calloc(n + 1, sizeof(*r->prefixes));
	r->groups = calloc(n + 1, sizeof(*r->groups));
	r->nexthops = calloc(hops + 1, sizeof(*r->nexthops));
	r->neighbours = calloc(c->routes.n_neighbours + 1u, sizeof(*r->neighbours));
	return index->slot != NULL && r->prefixes != NULL && r->groups != NULL &&
	       r->nexthops != NULL && r->neighbours != NULL;
}

static void fill(struct policy_routes *r, struct group_index *index, const struct config *c,
		 const struct own_prefix *own, unsigned n_own)
{
	for (unsigned i = 0; i < n_own; i++) {
		const struct policy_nexthop hop = {.kind = own[i].kind, .port = own[i].port};

		add(r, index, &own[i].to, &hop, 1);
	}
	for (unsigned i = 0; i < c->routes.n; i++) {
		const struct config_route *route = &c->routes.items[i];

		add(r, index, &route->to, route->nexthops, route->n_nexthops);
	}
	r->n_neighbours = c->routes.n_neighbours;
	for (unsigned i = 0; i < r->n_neighbours; i++)
		r->neighbours[i] = c->routes.neighbours[i];
}

static void compile_routed_port(const struct compiler *k, unsigned i)
{
	const struct config_port *port = &k->c->ports[i];
	struct policy_port *out = &k->p->ports[i];

	out->routed = port->routed;
	if (!port->routed)
		return;
	k->p->routes.any = true;
	if (k->facts != NULL)
		memcpy(out->mac, k->facts[i].mac, sizeof(out->mac));
	out->n_addrs = (uint8_t)port->n_addrs;
	for (unsigned a = 0; a < port->n_addrs; a++)
		out->addrs[a] = port->addrs[a];
	out->vlan = (struct policy_vlan){.untagged = 0}; // of no VLAN of the bridge
}

void compile_routes(struct compiler *k)
{
	struct policy_routes *r = &k->p->routes;
	struct group_index index = {0};
	struct own_prefix *own = NULL;
	unsigned n_own;

	for (unsigned i = 0; i < k->c->n_ports; i++)
		compile_routed_port(k, i);
	if (!r->any)
		return;
	r->compact = k->c->routes.compact;
	r->ecmp_by = (uint8_t)k->c->routes.ecmp_by;
	r->ecmp_seed = k->c->routes.ecmp_seed;
	n_own = routes_own(k->c, &own);
	if (reserve(r, &index, k->c, n_own)) {
		fill(r, &index, k->c, own, n_own);
	} else {
		diag_add(k->s, DIAG_ERROR, k->c->root.routes.map.at, "routes", "out of memory");
		compile_routes_free(r);
	}
	free(index.slot);
	free(own);
}

void compile_routes_free(struct policy_routes *r)
{
	free(r->prefixes);
	free(r->groups);
	free(r->nexthops);
	free(r->neighbours);
	r->prefixes = NULL;
	r->groups = NULL;
	r->nexthops = NULL;
	r->neighbours = NULL;
}
