// SPDX-License-Identifier: Apache-2.0
#include "control/lab/routes.h"

#include <string.h>

enum { UNREACHED = UINT16_MAX };

// ---- the graph
static const struct sc_end *other_end(const struct scenario *sc, const struct sc_port *p)
{
	return p->link == SC_NO_LINK ? NULL : &sc->links[p->link].end[1 - p->side];
}

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

// Switches first, hosts behind them.
static uint32_t vertex(const struct scenario *sc, const struct sc_end *e)
{
	return e->is_switch ? e->node : sc->n_switches + e->node;
}

uint32_t routes_islands(struct scenario *sc)
{
	uint32_t n = sc->n_switches + sc->n_hosts, closes = SC_NO_LINK;
	uint32_t *parent = arena_alloc(sc->arena, n * sizeof(*parent));

	for (uint32_t i = 0; i < n; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < sc->n_links; i++) {
		const struct sc_link *l = &sc->links[i];
		uint32_t a = root_of(parent, vertex(sc, &l->end[0]));
		uint32_t b = root_of(parent, vertex(sc, &l->end[1]));

		if (a == b && closes == SC_NO_LINK)
			closes = i;
		parent[a] = b;
	}
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		sc->hosts[i].island = root_of(parent, sc->n_switches + i);
	return closes;
}

// Hops of every switch to one of them, breadth first. ends_down: as of routes_follow, or NULL.
static void measure_hops(const struct scenario *sc, uint32_t to, const uint8_t *ends_down,
			 uint16_t *hops)
{
	uint32_t queue[SC_MAX_SWITCHES], head = 0, tail = 0;

	for (uint32_t i = 0; i < sc->n_switches; i++)
		hops[i] = UNREACHED;
	hops[to] = 0;
	queue[tail++] = to;
	for (; head != tail; head++) {
		const struct sc_switch *sw = &sc->switches[queue[head]];

		for (uint32_t p = 0; p < sw->n_ports; p++) {
			const struct sc_end *e = other_end(sc, &sw->ports[p]);

			if (e == NULL || !e->is_switch || hops[e->node] != UNREACHED ||
			    (ends_down != NULL && ends_down[sw->ports[p].link] != 0))
				continue;
			hops[e->node] = (uint16_t)(hops[queue[head]] + 1);
			queue[tail++] = e->node;
		}
	}
}

void routes_follow(struct routes *r, const uint8_t *ends_down)
{
	uint32_t n = r->sc->n_switches;

	for (uint32_t to = 0; to < n; to++)
		measure_hops(r->sc, to, ends_down, &r->hops_up[(size_t)to * n]);
}

bool routes_reach(const struct routes *r, uint32_t from, uint32_t to)
{
	size_t i = (size_t)to * r->sc->n_switches + from;

	return r->hops_up[i] != UNREACHED && r->hops_up[i] == r->hops[i];
}

static void note_hosts(bool *by_file, const struct sc_route *routes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		by_file[routes[i].host] = true;
}

void routes_derive(const struct scenario *sc, struct routes *out)
{
	uint32_t n = sc->n_switches;

	out->sc = sc;
	out->hops = arena_alloc(sc->arena, (size_t)n * n * sizeof(out->hops[0]));
	out->hops_up = arena_alloc(sc->arena, (size_t)n * n * sizeof(out->hops_up[0]));
	out->by_file = arena_alloc(sc->arena, sc->n_hosts * sizeof(out->by_file[0]));
	for (uint32_t to = 0; to < n; to++)
		measure_hops(sc, to, NULL, &out->hops[(size_t)to * n]);
	for (uint32_t i = 0; i < n; i++)
		note_hosts(out->by_file, sc->switches[i].routes, sc->switches[i].n_routes);
	for (uint32_t i = 0; i < sc->n_faults; i++)
		note_hosts(out->by_file, sc->faults[i].routes, sc->faults[i].n_routes);
}

int routes_edge(const struct scenario *sc, uint32_t host)
{
	const struct sc_link *l = &sc->links[sc->hosts[host].link];

	for (unsigned i = 0; i < 2; i++)
		if (l->end[i].is_switch)
			return (int)l->end[i].node;
	return -1;
}

// The last one that names the host counts.
static const struct sc_route *given(const struct sc_route *routes, uint32_t n, uint32_t host)
{
	for (uint32_t r = n; r-- > 0;)
		if (routes[r].host == host)
			return &routes[r];
	return NULL;
}

struct way routes_way(const struct routes *r, uint32_t sw, uint32_t host,
		      const struct sc_route *more, uint32_t n)
{
	const struct sc_switch *s = &r->sc->switches[sw];
	const struct sc_link *l = &r->sc->links[r->sc->hosts[host].link];
	const struct sc_route *route = given(more, n, host);
	int edge = routes_edge(r->sc, host);
	struct way w = {0};

	if (route == NULL)
		route = given(s->routes, s->n_routes, host);
	if (route != NULL) {
		w.n = route->n_ports;
		memcpy(w.ports, route->ports, route->n_ports * sizeof(*w.ports));
	} else if (edge == (int)sw) {
		w.n = 1;
		w.ports[0] = (port_no_t)l->end[l->end[0].is_switch ? 0 : 1].port;
	} else if (edge >= 0) {
		const uint16_t *hops = &r->hops[(size_t)edge * r->sc->n_switches];

		for (uint32_t p = 0; p < s->n_ports && w.n < MAX_NEXTHOPS; p++) {
			const struct sc_end *e = other_end(r->sc, &s->ports[p]);

			if (e != NULL && e->is_switch && hops[sw] != UNREACHED &&
			    hops[e->node] + 1 == hops[sw])
				w.ports[w.n++] = (port_no_t)p;
		}
	}
	return w;
}

uint16_t routes_track(const struct routes *r, uint32_t sw, uint32_t host)
{
	int edge = routes_edge(r->sc, host);

	return edge < 0 || edge == (int)sw || r->by_file[host] ? 0 : (uint16_t)(edge + 1);
}

// ---- addresses
void routes_port_mac(uint32_t sw, uint32_t port, uint8_t mac[6])
{
	const uint8_t m[6] = {2, 1, (uint8_t)(sw >> 8), (uint8_t)sw, (uint8_t)(port >> 8),
			      (uint8_t)port};

	memcpy(mac, m, sizeof(m));
}

static void end_mac(const struct scenario *sc, const struct sc_end *e, uint8_t mac[6])
{
	if (e->is_switch)
		routes_port_mac(e->node, e->port, mac);
	else
		memcpy(mac, sc->hosts[e->node].mac, 6);
}

void routes_peer_mac(const struct scenario *sc, uint32_t sw, uint32_t port, uint8_t mac[6])
{
	end_mac(sc, other_end(sc, &sc->switches[sw].ports[port]), mac);
}

void routes_first_hop_mac(const struct scenario *sc, uint32_t from, uint32_t to, uint8_t mac[6])
{
	const struct sc_link *l = &sc->links[sc->hosts[from].link];
	unsigned side = !l->end[0].is_switch && l->end[0].node == from ? 0 : 1;

	if (sc->routed && !sc->tunnelled && l->end[1 - side].is_switch)
		end_mac(sc, &l->end[1 - side], mac);
	else
		memcpy(mac, sc->hosts[to].mac, 6);
}
