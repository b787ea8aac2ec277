// SPDX-License-Identifier: Apache-2.0
// A scenario from its file: YAML, --set edits, rows, then the parts in the order in which they name
// each other. Every part reports its mistakes, also if another part has some.
#include "control/lab/scenario.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"
#include "control/lab/measure.h"
#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic.h"
#include "dataplane/tap.h"

enum { NAME_LEN = 63, TITLE_LEN = 80, TEXT_LEN = 8000, PATH_LEN = 255, MAX_ITEMS = 4096 };

static const char *const forwarding_words[] = {"auto", "bridge", "route", NULL};
static const char *const until_words[] = {"done", NULL};
static const char *const connect_words[] = {"direct", "cm", NULL};
static const char *const frames_words[] = {"headers", "whole", NULL};

// ---- switches and hosts
static const struct cfg_row switch_rows[] = {
	{NUMBER(COUNT, sc_switch_keys, ports), .min = 1, .max = POLICY_MAX_PORTS,
	 .dflt_text = "as linked",
	 .help = "number of ports; those without a link are down, but their reserves count"},
	{KEYED(LINE, sc_switch_keys, policy), .max = PATH_LEN, .dflt_text = "the scenario's",
	 .help = "policy file of this switch"},
	{KEYED(NODE, sc_switch_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for this switch; `~` removes a key"},
	{NUMBER(COUNT, sc_switch_keys, ecmp_seed), .max = UINT32_MAX,
	 .dflt_text = "from seed and name",
	 .help = "what its hash of flows over equal ways starts with"},
	{KEYED(LIST, sc_switch_keys, routes), .sub = &sc_route_schema, .max = MAX_ITEMS,
	 .dflt_text = "shortest paths",
	 .help = "routes in place of those that are derived, for the hosts named"},
};
SCHEMA(sc_switch_schema, switch_rows, sc_switch_keys);

static const struct cfg_row host_rows[] = {
	{KEYED(MAP, sc_host_keys, nic), .sub = &nic_keys_schema, .dflt_text = "defaults",
	 .help = "its network card"},
};
SCHEMA(sc_host_schema, host_rows, sc_host_keys);

static const struct cfg_row link_rows[] = {
	{KEYED(WORDS, sc_link_keys, between), .required = true, .max = PATH_LEN,
	 .help = "two ends, [h1, s1.p1]; ranges make several links, end by end"},
	{"speed", CFG_NUMBER, .unit = UNIT_RATE, AT(sc_link_keys, cable.speed), .min = 1000000,
	 .max = GIGA(800), .required = true, .help = "line rate"},
	{"length", CFG_NUMBER, .unit = UNIT_LENGTH, AT(sc_link_keys, cable.length),
	 .max = SC_MAX_CABLE_CM, .dflt = SC_DEFAULT_CABLE_CM,
	 .help = "of the cable, for delay and headroom"},
	{"delay", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_link_keys, cable.delay),
	 .max = SC_MAX_DELAY_NS, .dflt = -1, .dflt_text = "of the length",
	 .help = "propagation, one way; headroom then follows from it, not from the length"},
	{"profile", CFG_NAME, AT(sc_link_keys, cable.profile), .max = POLICY_NAME_LEN - 1,
	 .dflt_text = "the policy's", .help = "profile of the switch ports at its ends"},
};
static SCHEMA(link_schema, link_rows, sc_link_keys);

// ---- the whole
static const struct cfg_row record_rows[] = {
	{NUMBER(TIME, sc_record_keys, every), .min = 100, .max = SECONDS(1), .dflt = 10000,
	 .help = "from row to row"},
	{KEYED(LINES, sc_record_keys, what), .max = PATH_LEN, .dflt_text = "nothing",
	 .help = "columns: rate(h1), queue(s1.p3.3), pauses(s1), ..."},
	{KEYED(WORDS, sc_record_keys, histogram), .max = PATH_LEN, .dflt_text = "none",
	 .help = "queues s1.p3.3, or ports and switches: the time that each had each length, "
		 "exact, in report.json"},
	{NUMBER(BYTES, sc_record_keys, bin), .min = 1, .max = GIGA(64), .dflt_text = "a cell",
	 .help = "of a histogram"},
	{KEYED(WORDS, sc_record_keys, capture), .max = PATH_LEN, .dflt_text = "none",
	 .help = "switch ports `s1.p3` whose frames, both ways and dropped ones, `--out` gets as "
		 "capture.pcapng"},
	{NUMBER(COUNT, sc_record_keys, snaplen), .min = 1, .max = TAP_MAX_SNAPLEN, .dflt = 128,
	 .help = "of a capture: bytes kept of a frame"},
	{NUMBER(COUNT, sc_record_keys, capture_class), .max = 7, .dflt = CFG_WORD_VALUE,
	 .word = "all", .help = "of a capture: frames of one class, and PFC"},
	{NUMBER(BYTES, sc_record_keys, capture_size), .min = 1000, .max = GIGA(64),
	 .dflt = 64000000,
	 .help = "of a capture: the most that the file holds; later frames are counted"},
};
static SCHEMA(record_schema, record_rows, sc_record_keys);

static const struct cfg_row root_rows[] = {
	{"scenario", CFG_NAME, AT(sc_keys, name), .required = true, .max = NAME_LEN,
	 .help = "its name"},
	{KEYED(LINE, sc_keys, title), .max = TITLE_LEN,
	 .dflt_text = "the first sentence of the description",
	 .help = "its line in `weir-lab list` and in the report"},
	{KEYED(LINE, sc_keys, description), .max = TEXT_LEN, .dflt_text = "none",
	 .help = "what it shows, and where its figures come from; goes into the report"},
	{KEYED(NODE, sc_keys, params), .dflt_text = "none",
	 .help = "values by name, {n: 8, kmin: 100KB}: `$n` stands for 8 in any key and value"},
	{NUMBER(TIME, sc_keys, duration), .min = 1, .max = SECONDS(3600),
	 .dflt_text = "required without `until`", .help = "virtual time that is run"},
	{KEYED(WORD, sc_keys, until), .words = until_words, .dflt_text = "the duration",
	 .help = "done: in place of `duration`; the run, its rates and its means end when the "
		 "last message of all flows that end is acknowledged"},
	{NUMBER(TIME, sc_keys, at_most), .min = 1, .max = SECONDS(3600),
	 .dflt_text = "required with `until`",
	 .help = "virtual time by which the flows must be done; later the run ends and fails"},
	{NUMBER(COUNT, sc_keys, seed), .max = INT64_MAX, .dflt = 1,
	 .help = "of all chance; the same seed gives the same bytes"},
	{NUMBER(TIME, sc_keys, sample), .min = 100, .max = SECONDS(1), .dflt = 10000,
	 .help = "how often queue lengths are read for means and quantiles"},
	{"stuck_after", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, stuck), .min = 1000000,
	 .max = SECONDS(3600), .dflt_text = "twice the longest PAUSE",
	 .help = "a cycle of paused queues is a deadlock when none of them has sent anything for "
		 "so "
		 "long; looked at once a millisecond"},
	{KEYED(LINE, sc_keys, policy), .max = PATH_LEN, .dflt_text = "the switches'",
	 .help = "policy file of all switches, the very file that runs live; seen from this file"},
	{KEYED(NODE, sc_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for all switches; `~` removes a key"},
	{KEYED(MAP, sc_keys, topology), .sub = &sc_topology_schema, .dflt_text = "none",
	 .help = "a known one, by its numbers"},
	{KEYED(NODE, sc_keys, switches), .dflt_text = "the topology's",
	 .help = "switches by name or range; a pattern such as \"*\" adds to those there are"},
	{KEYED(NODE, sc_keys, hosts), .dflt_text = "the topology's",
	 .help = "hosts by name or range; a pattern such as \"h*\" adds to those there are"},
	{KEYED(LIST, sc_keys, links), .sub = &link_schema, .max = MAX_ITEMS,
	 .dflt_text = "the topology's", .help = "cables"},
	{KEYED(WORD, sc_keys, forwarding), .words = forwarding_words,
	 .help = "bridge: by address, a tree only; route: by shortest paths, flows spread over "
		 "equal "
		 "ones; auto: bridge a tree, route anything else"},
	{KEYED(SWITCH, sc_keys, withdraw), .dflt = 1,
	 .help = "derived routes: a switch uses a next hop only while a shortest way behind it "
		 "to the host's switch is up. off: routes stay as they are"},
	{KEYED(WORD, sc_keys, connect), .words = connect_words,
	 .help = "cm: connections are made by frames on the wire; direct: they are there"},
	{KEYED(WORD, sc_keys, frames), .words = frames_words,
	 .help = "whole: payload is there, and checked where it arrives, as is the iCRC; headers: "
		 "the rest of a frame is only counted"},
	{KEYED(LIST, sc_keys, flows), .sub = &lab_flow_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "who sends what to whom"},
	{KEYED(LIST, sc_keys, faults), .sub = &sc_fault_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "what goes wrong, and when"},
	{KEYED(MAP, sc_keys, record), .sub = &record_schema, .dflt_text = "nothing",
	 .help = "time series"},
	{KEYED(LINES, sc_keys, expect), .max = TEXT_LEN, .dflt_text = "nothing",
	 .help = "what must hold; the run fails where it does not"},
};
SCHEMA(sc_root_schema, root_rows, sc_keys);

// ---- --set
// `--set a.b[2].c=value`: one edit of a scenario's tree before any row reads it. The value is YAML.
//
// A key is written plainly up to the next `.` or `[`, or in quotes: hosts."h[1-3]".nic. A key that
// is there already is found without quotes, too. `policy.X` means `override.X`.

struct edit {
	struct arena *a;
	struct diag_sink *s;
	const struct sc_set *set;
	struct cfg_pos at;
};

__attribute__((format(printf, 2, 3))) static struct node *fail(struct edit *e, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(e->s, DIAG_ERROR, e->at, NULL, "%s", text);
	return NULL;
}

static void place(struct node *n, struct cfg_pos at)
{
	n->at = at;
	if (n->key != NULL)
		n->key->at = at;
	for (struct node *v = n->first; v != NULL; v = v->next)
		place(v, at);
}

static struct node *new_node(struct edit *e, enum node_kind kind, const char *text)
{
	struct node *n = arena_alloc(e->a, sizeof(*n));

	*n = (struct node){.kind = kind, .at = e->at, .text = text};
	return n;
}

static struct node *value_of(struct edit *e)
{
	const char *text = e->set->value;
	struct diag_sink inner = {.file = "value", .document = "value"};
	struct diags d = {0};
	struct node *n;

	if (*text == '\0')
		return new_node(e, NODE_SCALAR, "");
	n = node_parse(e->a, text, strlen(text), &inner);
	diag_finish(&inner, &d);
	diags_fini(&d);
	if (n == NULL)
		return fail(e, "the value is no YAML: quote it as in a file");
	place(n, e->at);
	return n;
}

// ---- the path
// The longest key of the map with which the path goes on.
static struct node *existing(const struct node *map, const char *path, size_t *len)
{
	struct node *found = NULL;

	*len = 0;
	for (struct node *v = map->first; v != NULL; v = v->next) {
		size_t n = strlen(v->key->text);

		if (n > *len && strncmp(path, v->key->text, n) == 0 &&
		    (*(path + n) == '\0' || *(path + n) == '.' || *(path + n) == '[')) {
			*len = n;
			found = v;
		}
	}
	return found;
}

static void append(struct node *parent, struct node *n)
{
	struct node **end = &parent->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = n;
	parent->n++;
}

// The value under a key of the map; made where there is none. A new key is quoted or plain.
static struct node *enter_key(struct edit *e, struct node *map, const char **path)
{
	size_t len;
	struct node *v = existing(map, *path, &len);
	const char *end, *key;

	if (v == NULL && **path == '"') {
		end = strchr(*path + 1, '"');
		if (end == NULL)
			return fail(e, "the quote in the key is not closed");
		len = (size_t)(end - *path) + 1;
		key = arena_text(e->a, *path + 1, len - 2);
	} else if (v == NULL) {
		len = strcspn(*path, ".[");
		if (len == 0)
			return fail(e, "a key is missing: write a.b[2].c=value");
		key = arena_text(e->a, *path, len);
	}
	for (struct node *n = map->first; v == NULL && n != NULL; n = n->next)
		if (strcmp(n->key->text, key) == 0)
			v = n;
	if (v == NULL) {
		v = new_node(e, NODE_MAP, NULL);
		v->key = new_node(e, NODE_SCALAR, key);
		append(map, v);
	}
	*path += len;
	return v;
}

static struct node *enter_index(struct edit *e, struct node *list, const char **path)
{
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);
	struct node *v;

	if (end == *path + 1 || *end != ']')
		return fail(e, "an index is written [0]");
	*path = end + 1;
	if (list->kind == NODE_MAP && list->n == 0)
		list->kind = NODE_LIST; // just made
	if (list->kind != NODE_LIST)
		return fail(e, "there is no list to take [%lu] of", i);
	if (i > list->n)
		return fail(e, "the list has %u entries: the next is [%u]", list->n, list->n);
	for (v = list->first; v != NULL && i != 0; i--)
		v = v->next;
	if (v != NULL)
		return v;
	v = new_node(e, NODE_MAP, NULL);
	append(list, v);
	return v;
}

// One --set edit of the tree. Mistakes are reported as of the option.
static bool apply_set(struct arena *a, struct diag_sink *s, struct node *root,
		      const struct sc_set *set)
{
	struct edit e = {
		a, s, set, {1, 0, arena_printf(a, "--set '%s=%s'", set->path, set->value)}};
	const char *path = strncmp(set->path, "policy.", 7) != 0
				   ? set->path
				   : arena_printf(a, "override.%s", set->path + 7);
	const char *whole = path;
	struct node *value = value_of(&e), *n = root;
	const struct node *params = params_map(root);
	size_t len;

	if (params != NULL && params->kind != NODE_MAP)
		params = NULL;
	// A param that the file does not have would change nothing.
	if (strncmp(path, "params.", 7) == 0 &&
	    (params == NULL || existing(params, path + 7, &len) == NULL))
		return fail(&e, "there is no param %s" CURE "%s", schema_shown(a, path + 7),
			    params_known(a, params, path + 7)) != NULL;
	while (value != NULL && n != NULL && *path != '\0') {
		if (*path == '[') {
			n = enter_index(&e, n, &path);
			continue;
		}
		if (n->kind == NODE_SCALAR && *n->text == '\0')
			n->kind = NODE_MAP;
		if (n->kind != NODE_MAP)
			return fail(&e, "%.*s is %s and has no keys", (int)(path - whole), whole,
				    n->kind == NODE_LIST ? "a list" : "a single value") != NULL;
		path += *path == '.';
		n = enter_key(&e, n, &path);
	}
	if (value == NULL || n == NULL)
		return false;
	if (n == root)
		return fail(&e, "a key is missing: write a.b[2].c=value") != NULL;
	value->key = n->key;
	value->next = n->next;
	*n = *value;
	return true;
}

// ---- the file

const char *sc_time(struct arena *a, uint64_t ns)
{
	char text[32];

	unit_print(UNIT_TIME, (int64_t)ns, text, sizeof(text));
	return arena_printf(a, "%s", text);
}

// ---- values of the whole
static void take_values(struct sc_builder *b)
{
	const struct sc_keys *k = &b->k;
	struct scenario *sc = b->sc;

	sc->name = k->name.text != NULL ? k->name.text : "";
	sc->title = k->title.text != NULL ? k->title.text : "";
	sc->description = k->description.text != NULL ? k->description.text : "";
	sc->until_done = k->until.given;
	sc->duration_ns = (uint64_t)(sc->until_done ? k->at_most.n : k->duration.n);
	sc->sample_ns = (uint64_t)k->sample.n;
	sc->stuck_ns = (uint64_t)k->stuck.n;
	sc->seed = (uint64_t)k->seed.n;
	sc->withdraw = k->withdraw.n != 0;
	sc->connect_by_cm = k->connect.n != 0;
	sc->whole_frames = k->frames.n != 0;
	sc->bin_bytes = (uint64_t)k->record.bin.n;
	sc->capture_snaplen = (uint32_t)k->record.snaplen.n;
	sc->capture_class = (int)k->record.capture_class.n;
	sc->capture_bytes = (uint64_t)k->record.capture_size.n;
	sc->record_every_ns = k->record.map.given ? (uint64_t)k->record.every.n : 0;
}

static void check_end(struct sc_builder *b)
{
	const struct sc_keys *k = &b->k;
	bool endless = true;

	for (uint32_t i = 0; i < b->sc->n_flows; i++)
		endless = endless && lab_flow_endless(lab_flow_of(b->sc, i));
	if (k->map.given && !k->until.given && !k->duration.given && !k->at_most.given)
		sc_report(b, k->map.at, "duration", "is required");
	if (k->until.given && k->duration.given)
		sc_report(b, k->duration.at, "duration",
			  "the run ends when flows are done: leave out `duration` or `until`");
	if (k->until.given && !k->at_most.given)
		sc_report(b, k->until.at, "until",
			  "needs `at_most`, the time by which the flows must be done");
	if (k->at_most.given && !k->until.given)
		sc_report(b, k->at_most.at, "at_most", "needs `until: done` beside it");
	if (k->until.given && endless && b->sc->n_flows == b->k.flows.n)
		sc_report(b, k->until.at, "until",
			  "no flow ends: give one a `size`, and a `count` or a `stop`");
}

static void take_lines(struct sc_builder *b, const struct cfg_words *w, struct sc_text **out,
		       uint32_t *n)
{
	*out = arena_alloc(b->r.arena, w->n * sizeof(**out));
	for (unsigned i = 0; i < w->n; i++)
		(*out)[i] = (struct sc_text){w->items[i].text, w->items[i].at,
					     arena_printf(b->r.arena, "%s[%u]", w->map.path, i)};
	*n = w->n;
}

static void add_captured(struct scenario *sc, const struct sc_end *e)
{
	for (uint32_t i = 0; i < sc->n_captured; i++)
		if (sc->captured[i].node == e->node && sc->captured[i].port == e->port)
			return;
	sc->captured[sc->n_captured++] = *e;
}

static void take_captured(struct sc_builder *b)
{
	const struct cfg_words *w = &b->k.record.capture;
	struct scenario *sc = b->sc;

	sc->captured = arena_alloc(b->r.arena, (w->n + 1) * sizeof(*sc->captured));
	for (unsigned i = 0; i < w->n; i++) {
		struct sc_text at = {w->items[i].text, w->items[i].at,
				     arena_printf(b->r.arena, "%s[%u]", w->map.path, i)};
		struct sc_end e;

		if (!b->sound || !sc_parse_end(b, &at, &e))
			continue;
		if (!e.is_switch)
			sc_report(b, at.at, at.path, "%s is a host: capture the port of its switch",
				  at.text);
		else if (e.port >= sc->switches[e.node].n_ports)
			sc_report(b, at.at, at.path, "there is no port %s: %s has p1 to p%u",
				  at.text, sc->switches[e.node].name, sc->switches[e.node].n_ports);
		else
			add_captured(sc, &e);
	}
}

// ---- switches and hosts
static void finish_switches(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_switches; i++) {
		struct sc_switch *sw = &sc->switches[i];
		const struct sc_switch_keys *k = &b->switch_keys[i];
		const struct cfg_val *policy = k->policy.given ? &k->policy : &b->k.policy;
		const char *seed_of = arena_printf(b->r.arena, "ecmp.%s", sw->name);
		uint32_t p = 0;

		if (policy->text != NULL)
			sw->policy_file = sc_relative(b, policy->text);
		else if (!policy->given)
			sc_report(b, b->k.map.at, "policy",
				  "is required: the policy file that the switches run");
		sw->ecmp_seed = (uint32_t)(k->ecmp_seed.given ? (uint64_t)k->ecmp_seed.n
							      : scenario_seed(sc, seed_of, 0));
		while (p < sw->n_ports && sw->ports[p].link == SC_NO_LINK)
			p++;
		if (p == sw->n_ports && b->sound)
			sc_report(b, sw->at, arena_printf(b->r.arena, "switches.%s", sw->name),
				  "has no link");
		sw->first_port = sc->n_ports;
		sc->n_ports += sw->n_ports;
	}
}

static void choose_forwarding(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	uint32_t link = 0;
	bool tree = routes_is_tree(sc, &link);

	if (b->k.forwarding.n == FORWARD_BRIDGE && !tree)
		sc_report(b, b->k.forwarding.at, "forwarding",
			  "the link %s closes a loop, in which bridged frames would circle: use "
			  "forwarding: route",
			  sc->links[link].name);
	sc->routed = sc->routed || b->k.forwarding.n == FORWARD_ROUTE ||
		     (b->k.forwarding.n == FORWARD_AUTO && !tree);
}

static void finish_hosts(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		struct sc_host *h = &sc->hosts[i];

		nic_config_default(&h->nic);
		h->nic.rto_ns = 0; // of the fabric, if none is given
		if (h->link == SC_NO_LINK) {
			// Where a link could not be made, it may have been this one's.
			if (b->sound)
				sc_report(b, h->at, arena_printf(b->r.arena, "hosts.%s", h->name),
					  "has no link: a host needs one");
			b->unlinked = true;
			continue;
		}
		h->nic.speed_bps = sc->links[h->link].speed_bps;
		nic_keys_apply(&b->host_keys[i].nic, &h->nic, b->r.sink);
		h->nic.ip = h->ip;
		h->nic.seed = scenario_seed(sc, "nic", i);
		h->nic.listen = true;
	}
	if (sc->n_hosts == 0 && b->r.sink->n_errors == 0)
		sc_report(b, b->k.map.at, "hosts", "is required: there is nobody to talk");
}

// ---- the whole
static void build(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	unsigned mistakes = b->r.sink->n_errors;

	take_values(b);
	sc->switches = arena_alloc(b->r.arena, SC_MAX_SWITCHES * sizeof(sc->switches[0]));
	sc->hosts = arena_alloc(b->r.arena, SC_MAX_HOSTS * sizeof(sc->hosts[0]));
	sc->links = arena_alloc(b->r.arena, SC_MAX_LINKS * sizeof(sc->links[0]));
	sc_build_topology(b);
	sc_define_nodes(b);
	sc_fill_nodes(b);
	sc_build_links(b);
	b->sound = b->r.sink->n_errors == mistakes;
	finish_switches(b);
	sc_build_routes(b);
	choose_forwarding(b);
	routes_islands(sc);
	b->sound = b->r.sink->n_errors == mistakes;
	finish_hosts(b);
	sc->flows = b->k.flows.items;
	sc->n_flows = b->k.flows.n;
	if (traffic_resolve(sc, b->r.sink) != 0)
		sc->n_flows = 0;
	check_end(b);
	sc_build_faults(b);
	take_lines(b, &b->k.record.what, &sc->records, &sc->n_records);
	take_lines(b, &b->k.record.histogram, &sc->histograms, &sc->n_histograms);
	const struct sc_record_keys *k = &b->k.record;
	const struct cfg_val *of_capture[] = {&k->snaplen, &k->capture_class, &k->capture_size};
	static const char *const capture_key[] = {"snaplen", "capture_class", "capture_size"};

	if (k->map.given && !k->what.map.given && k->histogram.n + k->capture.n == 0)
		sc_report(b, k->map.at, "record.what", "is required, or `histogram`, or `capture`");
	if (k->bin.given && k->histogram.n == 0)
		sc_report(b, k->bin.at, "record.bin", "is of `histogram`: name a queue");
	for (unsigned i = 0; i < 3; i++)
		if (of_capture[i]->given && k->capture.n == 0)
			sc_report(b, of_capture[i]->at,
				  arena_printf(b->r.arena, "record.%s", capture_key[i]),
				  "is of `capture`: name a port");
	take_captured(b);
	take_lines(b, &b->k.expect, &sc->expects, &sc->n_expects);
}

static void read_tree(struct sc_builder *b, const struct sc_input *in)
{
	struct node *root = node_parse(b->r.arena, in->text, in->len, b->r.sink);
	unsigned mistakes;

	if (root == NULL)
		return;
	for (unsigned i = 0; i < in->n_sets; i++)
		apply_set(b->r.arena, b->r.sink, root, &in->sets[i]);
	mistakes = b->r.sink->n_errors;
	b->sc->params = params_apply(b->r.arena, b->r.sink, root);
	if (b->r.sink->n_errors != mistakes)
		return; // the values are unknown
	schema_defaults(&sc_root_schema, &b->k);
	schema_fill(&b->r, &sc_root_schema, root, &b->k, "");
	build(b);
}

// What a fabric cannot be made without may be missing where there are mistakes: a key `policy` that
// holds no path, a link whose `speed` is misspelt.
static bool is_whole(const struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (sc->switches[i].policy_file == NULL)
			return false;
	for (uint32_t i = 0; i < sc->n_links; i++)
		if (sc->links[i].speed_bps == 0)
			return false;
	return true;
}

int scenario_parse(const struct sc_input *in, struct scenario **out, struct diags *d)
{
	struct arena *a = calloc(1, sizeof(*a));
	const char *slash = strrchr(in->path, '/');
	struct measure *m = NULL;
	struct scenario *sc;
	struct diag_sink s = {.document = "scenario"};
	struct sc_builder b = {.r = {a, &s}};
	int err;

	if (a == NULL)
		abort();
	sc = b.sc = arena_alloc(a, sizeof(*sc));
	sc->arena = a;
	sc->file = s.file = arena_text(a, in->path, strlen(in->path));
	b.folder = slash == NULL ? "" : arena_text(a, in->path, (size_t)(slash - in->path) + 1);
	read_tree(&b, in);
	// Expectations are parsed again when they are measured; here for their mistakes.
	if (measure_create(sc, &m, &s) == 0)
		measure_destroy(m);
	err = s.n_errors == 0 ? 0 : -EINVAL;
	diag_finish(&s, d);
	// Policies are compiled when the fabric is made. Where it is not made, their mistakes are
	// reported here.
	if (err != 0 && b.sound && !b.unlinked && is_whole(sc))
		err = fabric_check(sc, d) == 0 ? err : -EINVAL;
	if (err != 0)
		scenario_destroy(sc);
	else
		*out = sc;
	return err;
}

int scenario_load(const char *path, const struct sc_set *sets, unsigned n_sets,
		  struct scenario **out, struct diags *d)
{
	struct sc_input in = {.path = path, .sets = sets, .n_sets = n_sets};
	struct diag_sink s = {.file = path};
	char *text = NULL;
	int err = config_read_file(path, &text, &in.len);

	if (err != 0) {
		diag_add(&s, DIAG_ERROR, (struct cfg_pos){0}, NULL, "cannot open: %s",
			 strerror(-err));
		diag_finish(&s, d);
		return -EINVAL;
	}
	in.text = text;
	err = scenario_parse(&in, out, d);
	free(text);
	return err;
}

void scenario_destroy(struct scenario *sc)
{
	struct arena *a;

	if (sc == NULL)
		return;
	a = sc->arena;
	arena_fini(a);
	free(a);
}
