// SPDX-License-Identifier: Apache-2.0
// From a file to struct scenario: YAML, --set edits, rows, then the parts in the order in which
// they name each other. Every part speaks of its mistakes, whatever the others said.
#include "control/lab/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"
#include "control/lab/measure.h"
#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic.h"

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

static bool is_captured(const struct scenario *sc, const struct sc_end *e)
{
	for (uint32_t i = 0; i < sc->n_captured; i++)
		if (sc->captured[i].node == e->node && sc->captured[i].port == e->port)
			return true;
	return false;
}

static void take_captured(struct sc_builder *b)
{
	const struct cfg_words *w = &b->k.record.capture;
	struct scenario *sc = b->sc;

	sc->captured = arena_alloc(b->r.arena, (w->n + 1) * sizeof(*sc->captured));
	for (unsigned i = 0; i < w->n; i++) {
		struct sc_text_at at = {w->items[i].text, w->items[i].at,
					arena_printf(b->r.arena, "%s[%u]", w->map.path, i)};
		struct sc_end e;

		if (!b->sound || !sc_parse_end(b, &at, &e))
			continue;
		if (!e.is_switch)
			sc_report(b, at.at, at.path, "%s is a host: capture the port of its switch",
				  at.text);
		else if (e.port >= sc->switches[e.node].n_ports)
			sc_report(b, at.at, at.path, "there is no port %s: %s has p1 to p%u",
				  at.text, sc->switches[e.node].name,
				  sc->switches[e.node].n_ports);
		else if (!is_captured(sc, &e))
			sc->captured[sc->n_captured++] = e;
	}
}

static void check_record(struct sc_builder *b)
{
	const struct sc_record_keys *k = &b->k.record;
	const struct cfg_val *of_capture[] = {&k->snaplen, &k->capture_class, &k->capture_size};
	static const char *const capture_key[] = {"snaplen", "capture_class", "capture_size"};

	if (k->map.given && !k->what.map.given && k->histogram.n + k->capture.n == 0)
		sc_report(b, k->map.at, "record.what",
			  "is required, or `histogram`, or `capture`");
	if (k->bin.given && k->histogram.n == 0)
		sc_report(b, k->bin.at, "record.bin", "is of `histogram`: name a queue");
	for (unsigned i = 0; i < 3; i++)
		if (of_capture[i]->given && k->capture.n == 0)
			sc_report(b, of_capture[i]->at,
				  arena_printf(b->r.arena, "record.%s", capture_key[i]),
				  "is of `capture`: name a port");
}

// ---- switches
static void check_policy(struct sc_builder *b, uint32_t i)
{
	const struct cfg_val *own = &b->switch_keys[i].policy, *all = &b->k.policy;
	const struct cfg_val *v = own->given ? own : all;
	struct sc_switch *sw = &b->sc->switches[i];

	if (v->text != NULL)
		sw->policy_file = sc_relative(b, v->text);
	else if (!v->given)
		sc_report(b, b->k.map.at, "policy",
			  "is required: the policy file that the switches run");
}

static void give_seed(struct sc_builder *b, uint32_t i)
{
	const struct cfg_val *given = &b->switch_keys[i].ecmp_seed;
	struct sc_switch *sw = &b->sc->switches[i];

	sw->ecmp_seed =
		(uint32_t)(given->given
				   ? (uint64_t)given->n
				   : scenario_seed(b->sc,
						   arena_printf(b->r.arena, "ecmp.%s", sw->name),
						   0));
}

static bool is_linked(const struct sc_switch *sw)
{
	for (uint32_t p = 0; p < sw->n_ports; p++)
		if (sw->ports[p].link != SC_NO_LINK)
			return true;
	return false;
}

static void finish_switches(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_switches; i++) {
		struct sc_switch *sw = &sc->switches[i];

		check_policy(b, i);
		give_seed(b, i);
		if (!is_linked(sw) && b->sound)
			sc_report(b, sw->at, arena_printf(b->r.arena, "switches.%s", sw->name),
				  "has no link");
		sw->first_port = sc->n_ports;
		sc->n_ports += sw->n_ports;
	}
}

// ---- forwarding
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

// ---- hosts
static void finish_host(struct sc_builder *b, uint32_t i)
{
	struct scenario *sc = b->sc;
	struct sc_host *h = &sc->hosts[i];
	const struct sc_host_keys *k = &b->host_keys[i];
	const char *path = arena_printf(b->r.arena, "hosts.%s", h->name);

	nic_config_default(&h->nic);
	h->nic.rto_ns = 0; // of the fabric, if none is given
	if (h->link == SC_NO_LINK) {
		// Where a link could not be made, it may have been this one's.
		if (b->sound)
			sc_report(b, h->at, path, "has no link: a host needs one");
		b->unlinked = true;
		return;
	}
	h->nic.speed_bps = sc->links[h->link].speed_bps;
	nic_keys_apply(&k->nic, &h->nic, b->r.sink);
	h->nic.ip = h->ip;
	h->nic.seed = scenario_seed(sc, "nic", i);
	h->nic.listen = true;
}

static void check_hosts(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_hosts; i++)
		finish_host(b, i);
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
	check_hosts(b);
	sc->flows = b->k.flows.items;
	sc->n_flows = b->k.flows.n;
	if (traffic_resolve(sc, b->r.sink) != 0)
		sc->n_flows = 0;
	check_end(b);
	sc_build_faults(b);
	take_lines(b, &b->k.record.what, &sc->records, &sc->n_records);
	take_lines(b, &b->k.record.histogram, &sc->histograms, &sc->n_histograms);
	check_record(b);
	take_captured(b);
	take_lines(b, &b->k.expect, &sc->expects, &sc->n_expects);
}

static const char *folder_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? "" : arena_text(a, path, (size_t)(slash - path) + 1);
}

static void read_tree(struct sc_builder *b, const struct sc_input *in)
{
	struct node *root = node_parse(b->r.arena, in->text, in->len, b->r.sink);

	unsigned mistakes;

	if (root == NULL)
		return;
	for (unsigned i = 0; i < in->n_sets; i++)
		sc_apply_set(b->r.arena, b->r.sink, root, &in->sets[i]);
	mistakes = b->r.sink->n_errors;
	b->sc->params = params_apply(b->r.arena, b->r.sink, root);
	if (b->r.sink->n_errors != mistakes)
		return; // the values are unknown
	schema_defaults(&sc_root_schema, &b->k);
	schema_fill(&b->r, &sc_root_schema, root, &b->k, "");
	build(b);
}

// Expectations are parsed again when they are measured; here for their mistakes.
static void check_measures(struct scenario *sc, struct diag_sink *s)
{
	struct measure *m = NULL;

	if (measure_create(sc, &m, s) == 0)
		measure_destroy(m);
}

static struct scenario *scenario_new(const char *path)
{
	struct arena *a = calloc(1, sizeof(*a));
	struct scenario *sc;

	if (a == NULL)
		abort();
	sc = arena_alloc(a, sizeof(*sc));
	sc->arena = a;
	sc->file = arena_text(a, path, strlen(path));
	return sc;
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
	struct scenario *sc = scenario_new(in->path);
	struct diag_sink s = {.file = sc->file, .document = "scenario"};
	struct sc_builder b = {
		.sc = sc, .r = {sc->arena, &s}, .folder = folder_of(sc->arena, in->path)};
	int err;

	read_tree(&b, in);
	check_measures(sc, &s);
	err = s.n_errors == 0 ? 0 : -EINVAL;
	diag_finish(&s, d);
	// Else they are compiled when the fabric is made; here so that their mistakes are told,
	// too.
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
