// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and cables of a scenario, from what the rows hold to arrays with indices.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/expand.h"
#include "control/lab/scenario_int.h"

// Light in a cable: wire_delay_ns, the other way round.
enum { LIGHT_CM_PER_10NS = 198 };

void sc_report(struct sc_builder *b, struct cfg_pos at, const char *path, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(b->r.sink, DIAG_ERROR, at, path, "%s", text);
}

const char *sc_relative(struct sc_builder *b, const char *path)
{
	return *path == '/' ? path : arena_printf(b->r.arena, "%s%s", b->folder, path);
}

// ---- names
static bool is_name(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n != 0 && n <= SC_NAME_LEN && text[n] == '\0';
}

static bool may_add(struct sc_builder *b, const struct sc_text_at *v, uint32_t n, uint32_t max)
{
	const struct scenario *sc = b->sc;

	if (!is_name(v->text))
		sc_report(b, v->at, v->path, "\"%s\": a name has 1 to %d letters, digits, _ and -",
			  schema_shown(b->r.arena, v->text), SC_NAME_LEN);
	else if (scenario_host(sc, v->text) >= 0 || scenario_switch(sc, v->text) >= 0)
		sc_report(b, v->at, v->path, "there is another of the name %s", v->text);
	else if (n < max)
		return true;
	else
		sc_report(b, v->at, v->path, "there are more than %u of them", max);
	b->too_many = n == max;
	return false;
}

int sc_add_switch(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path)
{
	struct scenario *sc = b->sc;
	const struct sc_text_at v = {name, at, path};
	struct sc_switch *sw = &sc->switches[sc->n_switches];

	if (!may_add(b, &v, sc->n_switches, SC_MAX_SWITCHES))
		return -1;
	*sw = (struct sc_switch){.name = name, .at = at};
	sw->ports = arena_alloc(b->r.arena, POLICY_MAX_PORTS * sizeof(sw->ports[0]));
	for (unsigned p = 0; p < POLICY_MAX_PORTS; p++)
		sw->ports[p].link = SC_NO_LINK;
	return (int)sc->n_switches++;
}

int sc_add_host(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path)
{
	struct scenario *sc = b->sc;
	const struct sc_text_at v = {name, at, path};
	uint32_t i = sc->n_hosts;

	if (!may_add(b, &v, i, SC_MAX_HOSTS))
		return -1;
	sc->hosts[i] = (struct sc_host){
		.name = name,
		.at = at,
		.ip = 0x0a000001 + i,
		.mac = {2, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i},
		.link = SC_NO_LINK,
	};
	return (int)sc->n_hosts++;
}

// ---- ends and cables
const char *sc_end_name(struct sc_builder *b, const struct sc_end *e)
{
	if (!e->is_switch)
		return b->sc->hosts[e->node].name;
	return arena_printf(b->r.arena, "%s.p%u", b->sc->switches[e->node].name, e->port + 1);
}

bool sc_parse_end(struct sc_builder *b, const struct sc_text_at *v, struct sc_end *out)
{
	const struct scenario *sc = b->sc;
	const char *dot = strchr(v->text, '.'), *shown = schema_shown(b->r.arena, v->text);
	int node, port;

	if (dot == NULL) {
		node = scenario_host(sc, v->text);
		*out = (struct sc_end){false, (uint32_t)node, 0};
		if (node < 0 && scenario_switch(sc, v->text) >= 0)
			sc_report(b, v->at, v->path, "%s is a switch: name its port, as in %s.p1",
				  shown, shown);
		else if (node < 0)
			sc_report(b, v->at, v->path, "there is no host %s: %s", shown,
				  sc_known_hosts(sc, b->r.arena, v->text));
		return node >= 0;
	}
	node = scenario_switch(sc, arena_text(b->r.arena, v->text, (size_t)(dot - v->text)));
	if (node < 0) {
		sc_report(b, v->at, v->path, "there is no switch %.*s: %s", (int)(dot - v->text),
			  v->text,
			  sc_known_switches(
				  sc, b->r.arena,
				  arena_text(b->r.arena, v->text, (size_t)(dot - v->text))));
		return false;
	}
	port = sc_port_number(dot + 1);
	if (port < 0)
		sc_report(b, v->at, v->path, "%s: ports are p1 to p%d", shown, POLICY_MAX_PORTS);
	*out = (struct sc_end){true, (uint32_t)node, (uint32_t)port - 1};
	return port >= 0;
}

// The link that already uses an end, or SC_NO_LINK.
static uint32_t used_by(const struct scenario *sc, const struct sc_end *e)
{
	return e->is_switch ? sc->switches[e->node].ports[e->port].link : sc->hosts[e->node].link;
}

static bool is_free(struct sc_builder *b, const struct sc_end *e, const struct sc_text_at *where)
{
	const struct scenario *sc = b->sc;
	const struct cfg_val *ports = NULL;
	uint32_t other;

	if (e->is_switch && b->switch_keys != NULL)
		ports = &b->switch_keys[e->node].ports;
	if (e->is_switch && e->port >= POLICY_MAX_PORTS) {
		sc_report(b, where->at, where->path, "%s would need more than %d ports",
			  sc->switches[e->node].name, POLICY_MAX_PORTS);
		return false;
	}
	if (ports != NULL && ports->given && !ports->bad && e->port >= ports->n) {
		sc_report(b, where->at, where->path, "%s: the switch has %u port%s",
			  sc_end_name(b, e), (unsigned)ports->n, ports->n == 1 ? "" : "s");
		return false;
	}
	other = used_by(sc, e);
	if (other == SC_NO_LINK)
		return true;
	sc_report(b, where->at, where->path, "%s is linked already, by %s%s", sc_end_name(b, e),
		  sc->links[other].name, e->is_switch ? "" : ": a host has one link");
	return false;
}

static void plug_in(struct scenario *sc, uint32_t link, unsigned side)
{
	const struct sc_end *e = &sc->links[link].end[side];

	if (!e->is_switch) {
		sc->hosts[e->node].link = link;
		return;
	}
	sc->switches[e->node].ports[e->port] = (struct sc_port){link, (uint8_t)side};
	if (sc->switches[e->node].n_ports <= e->port)
		sc->switches[e->node].n_ports = e->port + 1;
}

void sc_add_link(struct sc_builder *b, const struct sc_end end[2], const struct sc_cable *c,
		 const struct sc_text_at *where)
{
	struct scenario *sc = b->sc;
	struct sc_link *l = &sc->links[sc->n_links];
	bool ok = is_free(b, &end[0], where);

	if (!is_free(b, &end[1], where) || !ok)
		return;
	if (sc->n_links == SC_MAX_LINKS) {
		sc_report(b, where->at, where->path, "there are more than %d links", SC_MAX_LINKS);
		return;
	}
	if (memcmp(&end[0], &end[1], sizeof(end[0])) == 0) {
		sc_report(b, where->at, where->path, "%s is linked to itself",
			  sc_end_name(b, &end[0]));
		return;
	}
	*l = (struct sc_link){.end = {end[0], end[1]},
			      .at = where->at,
			      .speed_bps = c->speed_bps,
			      .profile = c->profile};
	l->name =
		arena_printf(b->r.arena, "%s-%s", sc_end_name(b, &end[0]), sc_end_name(b, &end[1]));
	l->cable_cm =
		c->delay_ns < 0 ? c->cable_cm : (uint64_t)c->delay_ns * LIGHT_CM_PER_10NS / 10;
	l->delay_ns = c->delay_ns < 0 ? wire_delay_ns(c->cable_cm) : (uint64_t)c->delay_ns;
	for (unsigned side = 0; side < 2; side++)
		plug_in(sc, sc->n_links, side);
	sc->n_links++;
}

void sc_read_cable(struct sc_builder *b, const struct sc_cable_keys *k, const char *path,
		   struct sc_cable *c)
{
	struct node *n;

	if (k->delay.given && k->length.given)
		sc_report(b, k->delay.at, path,
			  "the length gives the delay: leave one of them out");
	if (k->speed.given)
		c->speed_bps = (uint64_t)k->speed.n;
	if (k->length.given) {
		c->cable_cm = (uint64_t)k->length.n;
		c->delay_ns = -1;
	}
	if (k->delay.given)
		c->delay_ns = k->delay.n;
	if (k->profile.text == NULL)
		return;
	n = arena_alloc(b->r.arena, 2 * sizeof(*n));
	n[0] = (struct node){
		.kind = NODE_SCALAR, .at = k->profile.at, .text = k->profile.text, .key = &n[1]};
	n[1] = (struct node){.kind = NODE_SCALAR, .at = k->profile.at, .text = "profile"};
	c->profile = n;
}

static bool expand_ends(struct sc_builder *b, const struct sc_link_keys *k,
			struct expansion ends[2])
{
	const char *why, *path = arena_printf(b->r.arena, "%s.between", k->map.path);
	bool ok = true;

	if (!k->between.map.given)
		return false;
	if (k->between.n != 2) {
		sc_report(b, k->between.map.at, path, "a link is between two ends, [h1, s1.p1]");
		return false;
	}
	for (unsigned i = 0; i < 2; i++)
		if (!expand(k->between.items[i].text, &ends[i], &why)) {
			sc_report(b, k->between.items[i].at, path, "\"%s\": %s",
				  schema_shown(b->r.arena, k->between.items[i].text), why);
			ok = false;
		}
	if (ok && ends[0].n != ends[1].n) {
		sc_report(b, k->between.map.at, path, "%s makes %u ends, but %s makes %u",
			  k->between.items[0].text, ends[0].n, k->between.items[1].text, ends[1].n);
		ok = false;
	}
	return ok;
}

static void add_links(struct sc_builder *b, const struct sc_link_keys *k)
{
	struct sc_cable c = SC_DEFAULT_CABLE;
	const char *path = arena_printf(b->r.arena, "%s.between", k->map.path);
	struct expansion ends[2];

	if (!expand_ends(b, k, ends))
		return;
	sc_read_cable(b, &k->cable, arena_printf(b->r.arena, "%s.delay", k->map.path), &c);
	for (unsigned i = 0; i < ends[0].n && !diag_is_full(b->r.sink); i++) {
		const struct cfg_val *items = k->between.items;
		const struct sc_text_at v[2] = {{ends[0].items[i], items[0].at, path},
						{ends[1].items[i], items[1].at, path}};
		struct sc_end end[2] = {{0}};
		bool ok = sc_parse_end(b, &v[0], &end[0]);

		if (sc_parse_end(b, &v[1], &end[1]) && ok)
			sc_add_link(b, end, &c, &(struct sc_text_at){NULL, items[0].at, path});
	}
}

void sc_build_links(struct sc_builder *b)
{
	const struct sc_link_keys *items = b->k.links.items;

	for (unsigned i = 0; i < b->k.links.n && !diag_is_full(b->r.sink); i++)
		add_links(b, &items[i]);
}

// ---- switches and hosts by their maps
static bool is_map(struct sc_builder *b, const struct node *n, const char *path)
{
	if (n == NULL ||
	    (n->kind == NODE_SCALAR && (*n->text == '\0' || strcmp(n->text, "~") == 0)))
		return false;
	if (n->kind == NODE_MAP)
		return true;
	sc_report(b, n->at, path, "expected a map");
	return false;
}

typedef int find_fn(const struct scenario *sc, const char *name);
typedef int add_fn(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path);

// The names of one key. The first name that cannot be used ends the key.
static void define_each(struct sc_builder *b, const struct expansion *e, struct cfg_pos at,
			const char *path, find_fn *find, add_fn *add)
{
	for (unsigned i = 0; i < e->n; i++)
		// Those that are there already get further settings.
		if (find(b->sc, e->items[i]) < 0 &&
		    add(b, arena_printf(b->r.arena, "%s", e->items[i]), at, path) < 0)
			return;
}

// False when the map names more than there can be, or has more mistakes than are shown.
static bool define(struct sc_builder *b, const struct node *map, const char *path, find_fn *find,
		   add_fn *add)
{
	if (map->n > SC_MAX_ENTRIES) {
		sc_report(b, map->at, path, "%u entries: at most %d are possible", map->n,
			  SC_MAX_ENTRIES);
		return false;
	}
	b->too_many = false;
	for (const struct node *v = map->first; v != NULL; v = v->next) {
		const char *why, *p = arena_printf(b->r.arena, "%s.%s", path,
						   schema_shown(b->r.arena, v->key->text));
		struct expansion e;

		if (strchr(v->key->text, '*') != NULL)
			continue;
		if (expand(v->key->text, &e, &why))
			define_each(b, &e, v->key->at, p, find, add);
		else
			sc_report(b, v->key->at, p, "%s", why);
		if (b->too_many || diag_is_full(b->r.sink))
			return false;
	}
	return true;
}

void sc_define_nodes(struct sc_builder *b)
{
	if (is_map(b, b->k.switches, "switches") &&
	    !define(b, b->k.switches, "switches", scenario_switch, sc_add_switch))
		b->k.switches = NULL; // no settings are read
	if (is_map(b, b->k.hosts, "hosts") &&
	    !define(b, b->k.hosts, "hosts", scenario_host, sc_add_host))
		b->k.hosts = NULL;
}

static const struct node nothing = {.kind = NODE_MAP};

// An entry may say nothing of the hosts it names.
static const struct node *settings(const struct node *v)
{
	return v->kind == NODE_SCALAR && *v->text == '\0' ? &nothing : v;
}

static void add_override(struct sc_builder *b, struct sc_switch *sw, const struct node *over)
{
	const struct node **all =
		arena_alloc(b->r.arena, (sw->n_overrides + 1) * sizeof(sw->overrides[0]));

	for (uint32_t i = 0; i < sw->n_overrides; i++)
		all[i] = sw->overrides[i];
	all[sw->n_overrides++] = over;
	sw->overrides = all;
}

static void fill_switch(struct sc_builder *b, uint32_t i, const struct node *v, const char *path)
{
	struct sc_switch_keys *k = &b->switch_keys[i];
	struct sc_switch *sw = &b->sc->switches[i];

	k->override = NULL;
	schema_fill(&b->r, &sc_switch_schema, settings(v), k, path);
	if (is_map(b, k->override, arena_printf(b->r.arena, "%s.override", path)))
		add_override(b, sw, k->override);
	if (!k->ports.given || k->ports.bad)
		return;
	if (k->ports.n < sw->n_ports)
		sc_report(b, k->ports.at, arena_printf(b->r.arena, "%s.ports", path),
			  "the topology uses %u ports of %s", sw->n_ports, sw->name);
	else
		sw->n_ports = (uint32_t)k->ports.n;
}

static void fill_host(struct sc_builder *b, uint32_t i, const struct node *v, const char *path)
{
	schema_fill(&b->r, &sc_host_schema, settings(v), &b->host_keys[i], path);
}

static void fill_matching(struct sc_builder *b, const struct node *map, bool switches,
			  void (*fill)(struct sc_builder *, uint32_t, const struct node *,
				       const char *))
{
	const struct scenario *sc = b->sc;
	uint32_t n = switches ? sc->n_switches : sc->n_hosts;

	for (const struct node *v = map->first; v != NULL; v = v->next) {
		const char *path =
			arena_printf(b->r.arena, "%s.%s", switches ? "switches" : "hosts",
				     schema_shown(b->r.arena, v->key->text));
		bool any = false;

		for (uint32_t i = 0; i < n; i++)
			if (scenario_matches(v->key->text,
					     switches ? sc->switches[i].name : sc->hosts[i].name)) {
				fill(b, i, v, path);
				any = true;
			}
		if (!any && strchr(v->key->text, '*') != NULL)
			sc_report(b, v->key->at, path, "no %s has such a name",
				  switches ? "switch" : "host");
	}
}

void sc_fill_nodes(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	b->switch_keys = arena_alloc(b->r.arena, sc->n_switches * sizeof(b->switch_keys[0]));
	b->host_keys = arena_alloc(b->r.arena, sc->n_hosts * sizeof(b->host_keys[0]));
	for (uint32_t i = 0; i < sc->n_switches; i++)
		schema_defaults(&sc_switch_schema, &b->switch_keys[i]);
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		schema_defaults(&sc_host_schema, &b->host_keys[i]);
	if (b->k.switches != NULL && b->k.switches->kind == NODE_MAP)
		fill_matching(b, b->k.switches, true, fill_switch);
	if (b->k.hosts != NULL && b->k.hosts->kind == NODE_MAP)
		fill_matching(b, b->k.hosts, false, fill_host);
	if (is_map(b, b->k.override, "override"))
		sc->override = b->k.override;
}
