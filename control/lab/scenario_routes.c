// SPDX-License-Identifier: Apache-2.0
// `routes:` of a switch, and of a reload: ways to hosts in place of those that are derived.
#include <string.h>

#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"

enum { NAME_LEN = 63 };

static const struct cfg_row route_rows[] = {
	{"to", CFG_TEXT, .off = offsetof(struct sc_route_keys, to), .required = true,
	 .max = NAME_LEN, .help = "hosts: a name, a range h[1-8], or a pattern"},
	{"via", CFG_WORDS, .off = offsetof(struct sc_route_keys, via), .required = true,
	 .max = NAME_LEN, .help = "ports of the switch, [p1, p2]; flows spread over several"},
};
const struct cfg_schema sc_route_schema = {route_rows, sizeof(route_rows) / sizeof(route_rows[0]),
					   sizeof(struct sc_route_keys)};

// Ports of a route's `via`, or none after a report.
static const uint8_t *route_ports(struct sc_builder *b, const struct sc_switch *sw,
				  const struct sc_route_keys *k)
{
	uint8_t *ports = arena_alloc(b->r.arena, k->via.n);
	bool ok = k->via.n != 0;

	if (k->via.n > MAX_NEXTHOPS) {
		sc_report(b, k->via.map.at, k->via.map.path, "at most %d ports are possible",
			  MAX_NEXTHOPS);
		return NULL;
	}
	for (unsigned i = 0; i < k->via.n; i++) {
		const struct cfg_val *v = &k->via.items[i];
		int p = sc_port_number(v->text) - 1;

		ports[i] = (uint8_t)p;
		if (p >= 0 && (uint32_t)p < sw->n_ports && sw->ports[p].link != SC_NO_LINK)
			continue;
		sc_report(b, v->at, k->via.map.path, "%s has no linked port %s", sw->name,
			  schema_shown(b->r.arena, v->text));
		ok = false;
	}
	return ok ? ports : NULL;
}

static void add_routes(struct sc_builder *b, const struct sc_switch *sw,
		       const struct sc_route_keys *k, struct sc_route_list *out)
{
	const struct sc_text_at to = {k->to.text, k->to.at,
				      arena_printf(b->r.arena, "%s.to", k->map.path)};
	const uint8_t *ports = route_ports(b, sw, k);
	uint32_t hosts[SC_MAX_HOSTS];
	unsigned n = k->to.text == NULL ? 0 : scenario_pick_hosts(b->sc, b->r.sink, &to, hosts);
	struct sc_route *all;

	if (ports == NULL || n == 0)
		return;
	all = arena_alloc(b->r.arena, (out->n + n) * sizeof(*all));
	if (out->n != 0)
		memcpy(all, out->routes, out->n * sizeof(*all));
	for (unsigned i = 0; i < n; i++)
		all[out->n++] = (struct sc_route){k->map.at, hosts[i], k->via.n, ports};
	out->routes = all;
}

struct sc_route_list sc_read_routes(struct sc_builder *b, uint32_t sw, const struct cfg_list *list)
{
	const struct sc_route_keys *items = list->items;
	struct sc_route_list out = {0};

	for (unsigned r = 0; r < list->n; r++)
		add_routes(b, &b->sc->switches[sw], &items[r], &out);
	return out;
}

void sc_build_routes(struct sc_builder *b)
{
	for (uint32_t i = 0; i < b->sc->n_switches; i++) {
		const struct sc_switch_keys *k = &b->switch_keys[i];
		struct sc_route_list l = sc_read_routes(b, i, &k->routes);

		b->sc->switches[i].routes = l.routes;
		b->sc->switches[i].n_routes = l.n;
		if (k->routes.n != 0 && b->k.forwarding.n == FORWARD_BRIDGE)
			sc_report(b, k->routes.map.at, k->routes.map.path,
				  "the switches bridge: routes need forwarding: route");
		b->sc->routed |= k->routes.n != 0;
	}
}
