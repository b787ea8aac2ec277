// SPDX-License-Identifier: Apache-2.0
// Switches, hosts, cables and routes of a scenario, from what the rows hold to arrays with indices;
// their names, patterns of names, and seeds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/base/rows.h"
#include "control/base/units.h"
#include "control/lab/lab.h"
#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"
#include "dataplane/base/rng.h"

enum { SHOWN_NAMES = 4 };

int scenario_host(const struct scenario *sc, const char *name)
{
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		if (strcmp(sc->hosts[i].name, name) == 0)
			return (int)i;
	return -1;
}

int scenario_switch(const struct scenario *sc, const char *name)
{
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (strcmp(sc->switches[i].name, name) == 0)
			return (int)i;
	return -1;
}

// the N of "pN", or -1
static int port_number(const char *name)
{
	char *end;
	long n;

	if (name[0] != 'p' || name[1] < '1' || name[1] > '9')
		return -1;
	n = strtol(name + 1, &end, 10);
	return *end != '\0' || n > POLICY_MAX_PORTS ? -1 : (int)n;
}

// ---- patterns

// The numbers of a range whose text inside the brackets has len characters. False: it is none.
static bool read_range(const char *inside, size_t len, struct cfg_set *set)
{
	char range[256];
	const char *why;

	if (len >= sizeof(range))
		return false;
	memcpy(range, inside, len);
	range[len] = '\0';
	return schema_parse_ranges(range, 0, CFG_SET_BITS - 1, set, &why);
}

// The number at the head of a name and the numbers in brackets at the head of a pattern.
static bool range_holds(const char *inside, size_t len, const char *digits, size_t n_digits)
{
	unsigned long v = strtoul(digits, NULL, 10);
	struct cfg_set set = {0};

	// "h[1-8]" names h1, not h01; "h[01-08]" the other way round.
	return n_digits != 0 && n_digits < 8 && v < CFG_SET_BITS && read_range(inside, len, &set) &&
	       (*digits != '0' || n_digits == 1 || *inside == '0') &&
	       cfg_set_has(&set, (unsigned)v) &&
	       (*inside != '0' || strspn(inside, "0123456789") == n_digits);
}

// Compares the pattern, up to its next star or end, with the head of the name. Returns the rest of
// the name, or NULL. A range takes all digits there are.
static const char *piece_fits(const char *pattern, const char *name)
{
	for (; *pattern != '\0' && *pattern != '*'; pattern++) {
		const char *end = *pattern == '[' ? strchr(pattern, ']') : NULL;
		size_t digits = strspn(name, "0123456789");

		if (end == NULL) {
			if (*pattern != *name++)
				return NULL;
			continue;
		}
		if (!range_holds(pattern + 1, (size_t)(end - pattern) - 1, name, digits))
			return NULL;
		name += digits;
		pattern = end;
	}
	return name;
}

// Behind a star the first place where the next piece fits leaves the most for those after it, so
// no place is tried twice. The last piece must reach the end.
bool scenario_matches(const char *pattern, const char *name)
{
	const char *rest = piece_fits(pattern, name);

	for (pattern += strcspn(pattern, "*"); rest != NULL && *pattern == '*';) {
		bool last;

		pattern++;
		last = pattern[strcspn(pattern, "*")] == '\0';
		for (name = rest;; name++) {
			rest = piece_fits(pattern, name);
			if ((rest != NULL && (!last || *rest == '\0')) || *name == '\0')
				break;
		}
		pattern += strcspn(pattern, "*");
	}
	return rest != NULL && *rest == '\0';
}

// ---- suggestions
static const char *host_at(const void *sc, unsigned i)
{
	return ((const struct scenario *)sc)->hosts[i].name;
}

static const char *switch_at(const void *sc, unsigned i)
{
	return ((const struct scenario *)sc)->switches[i].name;
}

// "h1, h2, h3 ... h8"
static const char *some_names(struct arena *a, const void *sc, unsigned n,
			      const char *(*get)(const void *, unsigned))
{
	const char *all = "";

	for (unsigned i = 0; i < n; i++) {
		if (n > SHOWN_NAMES && i == SHOWN_NAMES - 1) {
			all = arena_printf(a, "%s ... ", all);
			i = n - 1;
		} else if (i != 0) {
			all = arena_printf(a, "%s, ", all);
		}
		all = arena_printf(a, "%s%s", all, get(sc, i));
	}
	return all;
}

static const char *hint(struct arena *a, const struct scenario *sc, const char *text, unsigned n,
			const char *(*get)(const void *, unsigned))
{
	const char *near = schema_closest(text, n, get, sc);

	if (near != NULL)
		return arena_printf(a, "did you mean %s?", near);
	if (n == 0)
		return "there is none";
	return arena_printf(a, "there %s %s", n == 1 ? "is" : "are", some_names(a, sc, n, get));
}

static const char *known_hosts(const struct scenario *sc, struct arena *a, const char *text)
{
	return hint(a, sc, text, sc->n_hosts, host_at);
}

const char *sc_known_switches(const struct scenario *sc, struct arena *a, const char *text)
{
	return hint(a, sc, text, sc->n_switches, switch_at);
}

// ---- hosts of a value
// A range must be there as a whole: each of its numbers.
static unsigned range_size(const char *text)
{
	const char *open = strchr(text, '['), *end = open == NULL ? NULL : strchr(open, ']');
	struct cfg_set set = {0};

	if (end == NULL || strchr(text, '*') != NULL || strchr(end, '[') != NULL)
		return 0;
	return read_range(open + 1, (size_t)(end - open) - 1, &set) ? set.n : 0;
}

// The hosts of one range, all there, in the order in which it is written: "h[2-16,1]".
static void put_in_order(const struct scenario *sc, const char *text, uint32_t *idx, unsigned n)
{
	size_t prefix = strcspn(text, "[");
	uint32_t *found = arena_alloc(sc->arena, n * sizeof(*found));

	memcpy(found, idx, n * sizeof(*found));
	for (unsigned i = 0; i < n; i++) {
		unsigned long number = strtoul(sc->hosts[found[i]].name + prefix, NULL, 10),
			      place = 0;

		for (const char *inside = text + prefix + 1;;) {
			char *end;
			unsigned long from = strtoul(inside, &end, 10);
			unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;

			if (number >= from && number <= to) {
				idx[place + number - from] = found[i];
				break;
			}
			place += to - from + 1;
			inside = end + 1;
		}
	}
}

unsigned scenario_pick_hosts(const struct scenario *sc, struct diag_sink *s,
			     const struct sc_text *v, uint32_t *idx)
{
	const char *shown = schema_shown(sc->arena, v->text);
	unsigned n = 0;

	for (uint32_t i = 0; i < sc->n_hosts; i++)
		if (scenario_matches(v->text, sc->hosts[i].name))
			idx[n++] = i;
	if (n == 0 && !(strpbrk(v->text, "*[") != NULL)) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "there is no host %s: %s", shown,
			 known_hosts(sc, sc->arena, v->text));
	} else if (n == 0) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "no host is named %s: %s", shown,
			 known_hosts(sc, sc->arena, ""));
	} else if (n < range_size(v->text)) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "%s names %u hosts, of which %u are there",
			 shown, range_size(v->text), n);
		return 0;
	} else if (range_size(v->text) == n) {
		put_in_order(sc, v->text, idx, n);
	}
	return n;
}

// ---- seeds
uint64_t scenario_seed(const struct scenario *sc, const char *consumer, uint32_t index)
{
	struct rng r;

	rng_init(&r, sc->seed);
	for (const char *c = consumer; *c != '\0'; c++)
		r.state = rng_next64(&r) ^ (uint8_t)*c;
	r.state = rng_next64(&r) ^ index;
	return rng_next64(&r);
}

// Light in a cable: wire_delay_ns, the other way round.
enum { LIGHT_CM_PER_10NS = 198 };

const char *sc_relative(struct sc_builder *b, const char *path)
{
	return *path == '/' ? path : arena_printf(b->r.arena, "%s%s", b->folder, path);
}

// A name with a dot or a slash is a file's.
const char *sc_policy_path(struct sc_builder *b, const char *name)
{
	const char *path = sc_relative(b, name), *bundled;

	if (strpbrk(name, "./") != NULL || access(path, F_OK) == 0)
		return path;
	bundled = arena_printf(b->r.arena, "%s/../%s.yaml", bundle_dir(), name);
	return access(bundled, R_OK) == 0 ? bundled : path;
}

// ---- names
static bool may_add(struct sc_builder *b, const struct sc_text *v, uint32_t n, uint32_t max)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const struct scenario *sc = b->sc;
	size_t len = strspn(v->text, letters);

	if (len == 0 || len > SC_NAME_LEN || v->text[len] != '\0')
		REFUSE(b->r.sink, v, "\"%s\": a name has 1 to %d letters, digits, _ and -",
		       schema_shown(b->r.arena, v->text), SC_NAME_LEN);
	else if (scenario_host(sc, v->text) >= 0 || scenario_switch(sc, v->text) >= 0)
		REFUSE(b->r.sink, v, "there is another of the name %s", v->text);
	else if (n < max)
		return true;
	else
		REFUSE(b->r.sink, v, "there are more than %u of them", max);
	b->too_many = n == max;
	return false;
}

static int add_switch(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path)
{
	struct scenario *sc = b->sc;
	const struct sc_text v = {name, at, path};
	struct sc_switch *sw = &sc->switches[sc->n_switches];

	if (!may_add(b, &v, sc->n_switches, SC_MAX_SWITCHES))
		return -1;
	*sw = (struct sc_switch){.name = name, .at = at};
	sw->ports = arena_alloc(b->r.arena, POLICY_MAX_PORTS * sizeof(sw->ports[0]));
	for (unsigned p = 0; p < POLICY_MAX_PORTS; p++)
		sw->ports[p].link = SC_NO_LINK;
	return (int)sc->n_switches++;
}

static int add_host(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path)
{
	struct scenario *sc = b->sc;
	const struct sc_text v = {name, at, path};
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
static const char *end_name(struct sc_builder *b, const struct sc_end *e)
{
	if (!e->is_switch)
		return b->sc->hosts[e->node].name;
	return arena_printf(b->r.arena, "%s.p%u", b->sc->switches[e->node].name, e->port + 1);
}

bool sc_parse_end(struct sc_builder *b, const struct sc_text *v, struct sc_end *out)
{
	const struct scenario *sc = b->sc;
	const char *dot = strchr(v->text, '.'), *shown = schema_shown(b->r.arena, v->text);
	int node, port;

	if (dot == NULL) {
		node = scenario_host(sc, v->text);
		*out = (struct sc_end){false, (uint32_t)node, 0};
		if (node < 0 && scenario_switch(sc, v->text) >= 0)
			REFUSE(b->r.sink, v, "%s is a switch: name its port, as in %s.p1", shown,
			       shown);
		else if (node < 0)
			REFUSE(b->r.sink, v, "there is no host %s: %s", shown,
			       known_hosts(sc, b->r.arena, v->text));
		return node >= 0;
	}
	node = scenario_switch(sc, arena_text(b->r.arena, v->text, (size_t)(dot - v->text)));
	if (node < 0)
		return REFUSE(b->r.sink, v, "there is no switch %.*s: %s", (int)(dot - v->text),
			      v->text,
			      sc_known_switches(
				      sc, b->r.arena,
				      arena_text(b->r.arena, v->text, (size_t)(dot - v->text))));
	port = port_number(dot + 1);
	if (port < 0)
		REFUSE(b->r.sink, v, "%s: ports are p1 to p%d", shown, POLICY_MAX_PORTS);
	*out = (struct sc_end){true, (uint32_t)node, (uint32_t)port - 1};
	return port >= 0;
}

struct sc_cable {
	uint64_t speed_bps, cable_cm;
	int64_t delay_ns; // negative: from the length
	const struct node *profile; // as of struct sc_link
};

static bool is_free(struct sc_builder *b, const struct sc_end *e, const struct sc_text *where)
{
	const struct scenario *sc = b->sc;
	const struct cfg_val *ports = NULL;
	uint32_t other;

	if (e->is_switch && b->switch_keys != NULL)
		ports = &b->switch_keys[e->node].ports;
	if (e->is_switch && e->port >= POLICY_MAX_PORTS)
		return REFUSE(b->r.sink, where, "%s would need more than %d ports",
			      sc->switches[e->node].name, POLICY_MAX_PORTS);
	if (ports != NULL && ports->given && !ports->bad && e->port >= ports->n)
		return REFUSE(b->r.sink, where, "%s: the switch has %u port%s", end_name(b, e),
			      (unsigned)ports->n, ports->n == 1 ? "" : "s");
	other = e->is_switch ? sc->switches[e->node].ports[e->port].link : sc->hosts[e->node].link;
	if (other == SC_NO_LINK)
		return true;
	return REFUSE(b->r.sink, where, "%s is linked already, by %s%s", end_name(b, e),
		      sc->links[other].name, e->is_switch ? "" : ": a host has one link");
}

// Both ends must be free. Reports an end that is not.
static void add_link(struct sc_builder *b, const struct sc_end end[2], const struct sc_cable *c,
		     const struct sc_text *where)
{
	struct scenario *sc = b->sc;
	struct sc_link *l = &sc->links[sc->n_links];
	bool ok = is_free(b, &end[0], where);

	if (!is_free(b, &end[1], where) || !ok)
		return;
	if (sc->n_links == SC_MAX_LINKS) {
		REFUSE(b->r.sink, where, "there are more than %d links", SC_MAX_LINKS);
		return;
	}
	if (memcmp(&end[0], &end[1], sizeof(end[0])) == 0) {
		REFUSE(b->r.sink, where, "%s is linked to itself", end_name(b, &end[0]));
		return;
	}
	*l = (struct sc_link){.end = {end[0], end[1]},
			      .at = where->at,
			      .speed_bps = c->speed_bps,
			      .profile = c->profile};
	l->name = arena_printf(b->r.arena, "%s-%s", end_name(b, &end[0]), end_name(b, &end[1]));
	l->cable_cm =
		c->delay_ns < 0 ? c->cable_cm : (uint64_t)c->delay_ns * LIGHT_CM_PER_10NS / 10;
	l->delay_ns = c->delay_ns < 0 ? wire_delay_ns(c->cable_cm) : (uint64_t)c->delay_ns;
	for (unsigned side = 0; side < 2; side++) {
		struct sc_switch *sw = &sc->switches[end[side].node];
		uint32_t port = end[side].port;

		if (!end[side].is_switch) {
			sc->hosts[end[side].node].link = sc->n_links;
			continue;
		}
		sw->ports[port] = (struct sc_port){sc->n_links, (uint8_t)side};
		if (sw->n_ports <= port)
			sw->n_ports = port + 1;
	}
	sc->n_links++;
}

// Lays the keys of a cable over *c.
static void read_cable(struct sc_builder *b, const struct sc_cable_keys *k, struct sc_cable *c)
{
	struct node *n;

	if (k->delay.given && k->length.given)
		REFUSE(b->r.sink, &k->delay, "the length gives the delay: leave one of them out");
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

static void add_links(struct sc_builder *b, const struct sc_link_keys *k)
{
	struct sc_cable c = SC_DEFAULT_CABLE;
	const struct cfg_val *items = k->between.items;
	const struct cfg_map *m = &k->between.map;
	struct expansion ends[2];
	bool ok = m->given && k->between.n == 2;
	const char *why;

	if (m->given && k->between.n != 2)
		REFUSE(b->r.sink, m, "a link is between two ends, [h1, s1.p1]");
	for (unsigned i = 0; i < 2 && m->given && k->between.n == 2; i++)
		if (!expand(items[i].text, &ends[i], &why))
			ok = diag_add(b->r.sink, DIAG_ERROR, items[i].at, m->path, "\"%s\": %s",
				      schema_shown(b->r.arena, items[i].text), why);
	if (ok && ends[0].n != ends[1].n)
		ok = REFUSE(b->r.sink, m, "%s makes %u ends, but %s makes %u", items[0].text,
			    ends[0].n, items[1].text, ends[1].n);
	if (!ok)
		return;
	read_cable(b, &k->cable, &c);
	for (unsigned i = 0; i < ends[0].n && !diag_is_full(b->r.sink); i++) {
		const struct sc_text v[2] = {{ends[0].items[i], items[0].at, m->path},
					     {ends[1].items[i], items[1].at, m->path}};
		struct sc_end end[2] = {{0}};

		ok = sc_parse_end(b, &v[0], &end[0]);
		if (sc_parse_end(b, &v[1], &end[1]) && ok)
			add_link(b, end, &c, &(struct sc_text){NULL, items[0].at, m->path});
	}
}

// ---- switches and hosts by their maps
static bool is_map(struct sc_builder *b, const struct node *n, const char *path)
{
	if (n == NULL ||
	    (n->kind == NODE_SCALAR && (*n->text == '\0' || strcmp(n->text, "~") == 0)))
		return false;
	if (n->kind == NODE_MAP)
		return true;
	return diag_add(b->r.sink, DIAG_ERROR, n->at, path, "expected a map");
}

typedef int find_fn(const struct scenario *sc, const char *name);
typedef int add_fn(struct sc_builder *b, const char *name, struct cfg_pos at, const char *path);

// False when the map names more than there can be, or has more mistakes than are shown.
static bool define(struct sc_builder *b, const struct node *map, const char *path, find_fn *find,
		   add_fn *add)
{
	if (map->n > SC_MAX_ENTRIES)
		return diag_add(b->r.sink, DIAG_ERROR, map->at, path,
				"%u entries: at most %d are possible", map->n, SC_MAX_ENTRIES);
	b->too_many = false;
	for (const struct node *v = map->first; v != NULL; v = v->next) {
		const char *why, *p = arena_printf(b->r.arena, "%s.%s", path,
						   schema_shown(b->r.arena, v->key->text));
		struct expansion e;

		if (strchr(v->key->text, '*') != NULL)
			continue;
		if (!expand(v->key->text, &e, &why)) {
			diag_add(b->r.sink, DIAG_ERROR, v->key->at, p, "%s", why);
			e.n = 0;
		}
		// A name that is there already gets further settings. The first name that cannot be
		// used ends the key.
		for (unsigned i = 0; i < e.n; i++)
			if (find(b->sc, e.items[i]) < 0 &&
			    add(b, arena_printf(b->r.arena, "%s", e.items[i]), v->key->at, p) < 0)
				break;
		if (b->too_many || diag_is_full(b->r.sink))
			return false;
	}
	return true;
}

static void fill_switch(struct sc_builder *b, uint32_t i, const struct node *v, const char *path)
{
	struct sc_switch_keys *k = &b->switch_keys[i];
	struct sc_switch *sw = &b->sc->switches[i];

	k->override = NULL;
	schema_fill(&b->r, &sc_switch_schema, v, k, path);
	if (is_map(b, k->override, arena_printf(b->r.arena, "%s.override", path))) {
		const struct node **all =
			arena_alloc(b->r.arena, (sw->n_overrides + 1) * sizeof(sw->overrides[0]));

		for (uint32_t n = 0; n < sw->n_overrides; n++)
			all[n] = sw->overrides[n];
		all[sw->n_overrides++] = k->override;
		sw->overrides = all;
	}
	if (!k->ports.given || k->ports.bad)
		return;
	if (k->ports.n < sw->n_ports)
		diag_add(b->r.sink, DIAG_ERROR, k->ports.at,
			 arena_printf(b->r.arena, "%s.ports", path),
			 "the topology uses %u ports of %s", sw->n_ports, sw->name);
	else
		sw->n_ports = (uint32_t)k->ports.n;
}

static void fill_matching(struct sc_builder *b, const struct node *map, bool switches)
{
	static const struct node nothing = {.kind = NODE_MAP};
	const struct scenario *sc = b->sc;
	uint32_t n = switches ? sc->n_switches : sc->n_hosts;

	for (const struct node *v = map->first; v != NULL; v = v->next) {
		const char *path =
			arena_printf(b->r.arena, "%s.%s", switches ? "switches" : "hosts",
				     schema_shown(b->r.arena, v->key->text));
		// An entry may say nothing of what it names.
		const struct node *keys = v->kind == NODE_SCALAR && *v->text == '\0' ? &nothing : v;
		bool any = false;

		for (uint32_t i = 0; i < n; i++) {
			if (!scenario_matches(v->key->text,
					      switches ? sc->switches[i].name : sc->hosts[i].name))
				continue;
			any = true;
			if (switches)
				fill_switch(b, i, keys, path);
			else
				schema_fill(&b->r, &sc_host_schema, keys, &b->host_keys[i], path);
		}
		if (!any && strchr(v->key->text, '*') != NULL)
			diag_add(b->r.sink, DIAG_ERROR, v->key->at, path, "no %s has such a name",
				 switches ? "switch" : "host");
	}
}

static void fill_nodes(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	b->switch_keys = arena_alloc(b->r.arena, sc->n_switches * sizeof(b->switch_keys[0]));
	b->host_keys = arena_alloc(b->r.arena, sc->n_hosts * sizeof(b->host_keys[0]));
	for (uint32_t i = 0; i < sc->n_switches; i++)
		schema_defaults(&sc_switch_schema, &b->switch_keys[i]);
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		schema_defaults(&sc_host_schema, &b->host_keys[i]);
	if (b->k.switches != NULL && b->k.switches->kind == NODE_MAP)
		fill_matching(b, b->k.switches, true);
	if (b->k.hosts != NULL && b->k.hosts->kind == NODE_MAP)
		fill_matching(b, b->k.hosts, false);
	if (is_map(b, b->k.override, "override"))
		sc->override = b->k.override;
}

// ---- `routes:` of a switch, and of a reload: ways to hosts in place of those that are derived

static const struct cfg_row route_rows[] = {
	{FIELD(CFG_TEXT, sc_route_keys, to), .required = true, .max = SC_MAX_TEXT,
	 .help = "hosts: a name, a range h[1-8], or a pattern"},
	{FIELD(CFG_WORDS, sc_route_keys, via), .required = true, .max = SC_MAX_TEXT,
	 .help = "ports of the switch, [p1, p2]; flows spread over several"},
};
SCHEMA(sc_route_schema, route_rows, sc_route_keys);

uint32_t sc_read_routes(struct sc_builder *b, uint32_t sw, const struct cfg_list *list,
			const struct sc_route **out)
{
	const struct sc_switch *s = &b->sc->switches[sw];
	const struct sc_route_keys *k = list->items;
	uint32_t hosts[SC_MAX_HOSTS];
	uint32_t n_out = 0;

	for (unsigned r = 0; r < list->n; r++, k++) {
		const struct sc_text to = {k->to.text, k->to.at,
					   arena_printf(b->r.arena, "%s.to", k->map.path)};
		port_no_t *ports = arena_alloc(b->r.arena, k->via.n * sizeof(*ports));
		bool ok = k->via.n != 0;
		struct sc_route *all;
		unsigned n;

		if (k->via.n > MAX_NEXTHOPS)
			ok = REFUSE(b->r.sink, &k->via.map, "at most %d ports are possible",
				    MAX_NEXTHOPS);
		for (unsigned i = 0; i < k->via.n && k->via.n <= MAX_NEXTHOPS; i++) {
			const struct cfg_val *v = &k->via.items[i];
			int p = port_number(v->text) - 1;

			ports[i] = (port_no_t)p;
			if (p < 0 || (uint32_t)p >= s->n_ports || s->ports[p].link == SC_NO_LINK)
				ok = diag_add(b->r.sink, DIAG_ERROR, v->at, k->via.map.path,
					      "%s has no linked port %s", s->name,
					      schema_shown(b->r.arena, v->text));
		}
		n = k->to.text == NULL ? 0 : scenario_pick_hosts(b->sc, b->r.sink, &to, hosts);
		if (!ok || n == 0)
			continue;
		all = arena_alloc(b->r.arena, (n_out + n) * sizeof(*all));
		if (n_out != 0)
			memcpy(all, *out, n_out * sizeof(*all));
		for (unsigned i = 0; i < n; i++)
			all[n_out++] = (struct sc_route){k->map.at, hosts[i], k->via.n, ports};
		*out = all;
	}
	return n_out;
}

void sc_build_routes(struct sc_builder *b)
{
	for (uint32_t i = 0; i < b->sc->n_switches; i++) {
		const struct sc_switch_keys *k = &b->switch_keys[i];
		struct sc_switch *sw = &b->sc->switches[i];

		sw->n_routes = sc_read_routes(b, i, &k->routes, &sw->routes);
		if (k->routes.n != 0 && b->k.forwarding.n == FORWARD_BRIDGE)
			REFUSE(b->r.sink, &k->routes.map,
			       "the switches bridge, and routes need `forwarding: route`");
		b->sc->routed |= k->routes.n != 0;
	}
}

// ---- topologies
// Known topologies by their numbers. Names count from 1 over the whole fabric; the ports of a
// switch are, in order: its hosts, then the tier below, then the tier above.
//
//   star        s1; h1.. on p1..
//   leaf-spine  leaves l1.., spines s1..; every leaf to every spine
//   clos        per pod ToRs t1.. and leaves l1.., spines s1..; in a pod every ToR to every leaf,
//               and every leaf to every spine
//   ring        s1..; the last two ports of each go to the next switch and to the one before
#define COUNT(key, f, most, text)                                                                  \
	key, CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_shape, f), .min = 1, .max = most,               \
			 .required = true, .help = text
#define SPEED(key, f, otherwise, text)                                                             \
	key, CFG_NUMBER, .unit = UNIT_RATE, AT(sc_shape, f), .min = 1000000, .max = GIGA(800),     \
			 .required = (otherwise) == NULL, .dflt_text = otherwise, .help = text
#define LENGTH(key, f, otherwise, text)                                                            \
	key, CFG_NUMBER, .unit = UNIT_LENGTH, AT(sc_shape, f), .max = SC_MAX_CABLE_CM,             \
			 .dflt_text = otherwise, .help = text
#define DELAY(key, f, otherwise, text)                                                             \
	key, CFG_NUMBER, .unit = UNIT_TIME, AT(sc_shape, f), .max = SC_MAX_DELAY_NS,               \
			 .dflt_text = otherwise, .help = text ", in place of the length"
#define PROFILE(key, f, otherwise, text)                                                           \
	key, CFG_NAME, AT(sc_shape, f), .max = POLICY_NAME_LEN - 1, .dflt_text = otherwise,        \
					.help = text

// The rows of the cables of a tier. Their defaults but the profile are those of the tier `below`.
#define CABLES(tier, below, profile_, ends)                                                        \
	{SPEED(#tier "_speed", tier.speed, below "_speed", ends)},                                 \
		{LENGTH(#tier "_length", tier.length, below "_length", ends)},                     \
		{DELAY(#tier "_delay", tier.delay, below "_delay", ends)},                         \
	{                                                                                          \
		PROFILE(#tier "_profile", tier.profile, profile_, "of the ports " ends)            \
	}
#define HOST_CABLES(ends)                                                                          \
	{SPEED("host_speed", host.speed, NULL, ends)},                                             \
		{LENGTH("host_length", host.length, "5m", ends)},                                  \
		{DELAY("host_delay", host.delay, "of the length", ends)},                          \
	{                                                                                          \
		PROFILE("host_profile", host.profile, "the policy's", "of the ports " ends)        \
	}

static const struct cfg_row star_rows[] = {
	{COUNT("hosts", hosts, POLICY_MAX_PORTS, "h1, h2, ... on s1")},
	{SPEED("speed", host.speed, NULL, "of every link")},
	{LENGTH("length", host.length, "5m", "of every cable")},
	{DELAY("delay", host.delay, "of the length", "propagation of every cable, one way")},
	{PROFILE("profile", host.profile, "the policy's", "profile of every linked port")},
};
static SCHEMA(star_schema, star_rows, sc_shape);

static const struct cfg_row leaf_spine_rows[] = {
	{COUNT("leaves", leaves, SC_MAX_SWITCHES, "l1, l2, ...")},
	{COUNT("spines", spines, POLICY_MAX_PORTS, "s1, s2, ..., each linked to every leaf")},
	{COUNT("hosts_per_leaf", hosts_each, POLICY_MAX_PORTS, "h1, h2, ... in order of leaves")},
	HOST_CABLES("host to leaf"),
	CABLES(fabric, "host", "the policy's", "leaf to spine"),
};
static SCHEMA(leaf_spine_schema, leaf_spine_rows, sc_shape);

static const struct cfg_row clos_rows[] = {
	{COUNT("pods", pods, SC_MAX_SWITCHES, "groups of ToRs and leaves")},
	{COUNT("tors_per_pod", tors, POLICY_MAX_PORTS, "t1, t2, ... in order of pods")},
	{COUNT("leaves_per_pod", leaves, POLICY_MAX_PORTS,
	       "l1, l2, ..., each linked to every ToR of its pod")},
	{COUNT("spines", spines, POLICY_MAX_PORTS, "s1, s2, ..., each linked to every leaf")},
	{COUNT("hosts_per_tor", hosts_each, POLICY_MAX_PORTS, "h1, h2, ... in order of ToRs")},
	HOST_CABLES("host to ToR"),
	CABLES(fabric, "host", "the policy's", "ToR to leaf"),
	CABLES(spine, "fabric", "fabric_profile", "leaf to spine"),
};
static SCHEMA(clos_schema, clos_rows, sc_shape);

static const struct cfg_row ring_rows[] = {
	{NUMBER(COUNT, sc_shape, switches), .min = 3, .max = SC_MAX_SWITCHES, .required = true,
	 .help = "s1, s2, ..."},
	{COUNT("hosts_per_switch", hosts_each, POLICY_MAX_PORTS,
	       "h1, h2, ... in order of switches")},
	HOST_CABLES("host to switch"),
	CABLES(fabric, "host", "the policy's", "switch to switch"),
};
static SCHEMA(ring_schema, ring_rows, sc_shape);

#define SHAPE(key, id, schema, text)                                                               \
	key, CFG_MAP, .sub = &(schema), AT(sc_topology_keys, shape[id]), .dflt_text = "none",      \
		      .help = text
static const struct cfg_row topology_rows[] = {
	{SHAPE("star", TOPOLOGY_STAR, star_schema, "one switch and its hosts")},
	{SHAPE("leaf-spine", TOPOLOGY_LEAF_SPINE, leaf_spine_schema, "two tiers")},
	{SHAPE("clos", TOPOLOGY_CLOS, clos_schema, "three tiers")},
	{SHAPE("ring", TOPOLOGY_RING, ring_schema, "switches in a circle")},
};
static_assert(N(topology_rows) == N_TOPOLOGIES, "a row per topology");
SCHEMA(sc_topology_schema, topology_rows, sc_topology_keys);

// ---- growing
struct tier {
	uint32_t first, n; // switches
};

struct shape {
	struct sc_builder *b;
	const struct sc_shape *k;
	struct sc_text where;
	struct sc_cable host, fabric, spine;
	uint32_t n_plugged[SC_MAX_SWITCHES]; // ports of a switch that are taken
};

static struct tier add_tier(struct shape *s, const char *letter, uint32_t n)
{
	struct scenario *sc = s->b->sc;
	struct tier t = {sc->n_switches, n};

	for (uint32_t i = 0; i < n; i++)
		if (add_switch(s->b, arena_printf(s->b->r.arena, "%s%u", letter, i + 1),
			       s->where.at, s->where.path) < 0)
			return (struct tier){t.first, i};
	return t;
}

static struct sc_end plug(struct shape *s, uint32_t sw)
{
	return (struct sc_end){true, sw, s->n_plugged[sw]++};
}

static void add_hosts(struct shape *s, struct tier t, uint32_t each)
{
	for (uint32_t i = 0; i < t.n; i++)
		for (uint32_t k = 0; k < each; k++) {
			const char *name = arena_printf(s->b->r.arena, "h%u", i * each + k + 1);
			int host = add_host(s->b, name, s->where.at, s->where.path);
			struct sc_end end[2];

			if (host < 0)
				return;
			end[0] = (struct sc_end){false, (uint32_t)host, 0};
			end[1] = plug(s, t.first + i);
			add_link(s->b, end, &s->host, &s->where);
		}
}

// Every switch of one tier to every one of the other, in order of the lower.
static void mesh(struct shape *s, struct tier low, struct tier high, const struct sc_cable *c)
{
	for (uint32_t i = 0; i < low.n; i++)
		for (uint32_t k = 0; k < high.n; k++) {
			const struct sc_end end[2] = {plug(s, low.first + i),
						      plug(s, high.first + k)};

			add_link(s->b, end, c, &s->where);
		}
}

static void grow_star(struct shape *s)
{
	add_hosts(s, add_tier(s, "s", 1), (uint32_t)s->k->hosts.n);
}

static void grow_leaf_spine(struct shape *s)
{
	struct tier leaves = add_tier(s, "l", (uint32_t)s->k->leaves.n);
	struct tier spines = add_tier(s, "s", (uint32_t)s->k->spines.n);

	add_hosts(s, leaves, (uint32_t)s->k->hosts_each.n);
	mesh(s, leaves, spines, &s->fabric);
}

static void grow_clos(struct shape *s)
{
	uint32_t pods = (uint32_t)s->k->pods.n;
	uint32_t tors_each = (uint32_t)s->k->tors.n, leaves_each = (uint32_t)s->k->leaves.n;
	struct tier tors = add_tier(s, "t", pods * tors_each);
	struct tier leaves = add_tier(s, "l", pods * leaves_each);
	struct tier spines = add_tier(s, "s", (uint32_t)s->k->spines.n);

	if (s->b->r.sink->n_errors != 0)
		return; // too many of them: a part makes no fabric
	add_hosts(s, tors, (uint32_t)s->k->hosts_each.n);
	for (uint32_t p = 0; p < pods; p++)
		mesh(s, (struct tier){tors.first + p * tors_each, tors_each},
		     (struct tier){leaves.first + p * leaves_each, leaves_each}, &s->fabric);
	mesh(s, leaves, spines, &s->spine);
}

static void grow_ring(struct shape *s)
{
	struct tier t = add_tier(s, "s", (uint32_t)s->k->switches.n);
	uint32_t next = (uint32_t)s->k->hosts_each.n, before = next + 1;

	add_hosts(s, t, next);
	for (uint32_t i = 0; i < t.n; i++) {
		const struct sc_end end[2] = {{true, t.first + i, next},
					      {true, t.first + (i + 1) % t.n, before}};

		add_link(s->b, end, &s->fabric, &s->where);
	}
}

static void (*const grow[N_TOPOLOGIES])(struct shape *s) = {
	[TOPOLOGY_STAR] = grow_star,
	[TOPOLOGY_LEAF_SPINE] = grow_leaf_spine,
	[TOPOLOGY_CLOS] = grow_clos,
	[TOPOLOGY_RING] = grow_ring,
};

// Numbers that were refused hold their defaults, which make no fabric.
static bool has_required_keys(const struct sc_shape *k, const struct cfg_schema *schema)
{
	for (unsigned i = 0; i < schema->n; i++) {
		const struct cfg_row *row = &schema->rows[i];
		const struct cfg_val *v = (const void *)((const char *)k + row->off);

		if (v->bad || (row->required && !v->given))
			return false;
	}
	return true;
}

static void build_topology(struct sc_builder *b)
{
	const struct sc_shape *k = NULL, *shapes = b->k.topology.shape;
	struct shape s = {.b = b, .host = SC_DEFAULT_CABLE};
	unsigned kind = 0;

	for (unsigned i = 0; i < N_TOPOLOGIES; i++) {
		if (!shapes[i].map.given)
			continue;
		if (k != NULL) {
			REFUSE(b->r.sink, &shapes[i].map, "there is a topology already: %s",
			       k->map.path);
			return;
		}
		k = &shapes[i];
		kind = i;
	}
	if (k == NULL && b->k.topology.map.given)
		diag_add(b->r.sink, DIAG_ERROR, b->k.topology.map.at, "topology",
			 "is empty: give one of star, leaf-spine, clos, ring");
	if (k == NULL || !has_required_keys(k, topology_rows[kind].sub))
		return;
	s.k = k;
	s.where = (struct sc_text){.at = k->map.at, .path = k->map.path};
	read_cable(b, &k->host, &s.host);
	s.fabric = s.host;
	s.fabric.profile = NULL;
	read_cable(b, &k->fabric, &s.fabric);
	s.spine = s.fabric;
	read_cable(b, &k->spine, &s.spine);
	grow[kind](&s);
}

void sc_build_nodes(struct sc_builder *b)
{
	const struct sc_link_keys *links = b->k.links.items;

	build_topology(b);
	if (is_map(b, b->k.switches, "switches") &&
	    !define(b, b->k.switches, "switches", scenario_switch, add_switch))
		b->k.switches = NULL; // no settings are read
	if (is_map(b, b->k.hosts, "hosts") &&
	    !define(b, b->k.hosts, "hosts", scenario_host, add_host))
		b->k.hosts = NULL;
	fill_nodes(b);
	for (unsigned i = 0; i < b->k.links.n && !diag_is_full(b->r.sink); i++)
		add_links(b, &links[i]);
}
