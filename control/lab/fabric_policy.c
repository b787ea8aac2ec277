// SPDX-License-Identifier: Apache-2.0
// The policy file of each switch, compiled for the ports it has in the scenario, with addresses or
// routes for every host.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/fabric_int.h"
#include "dataplane/switch_routes.h"

enum { MAX_MAPS = 64, SHOWN_NAMES = 4 };

struct switch_port fabric_port(const struct fabric *f, uint32_t sw, uint32_t port)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	const struct sc_port *p = &s->ports[port];
	struct wire_end *end = p->link == SC_NO_LINK ? wire_end(f->loose[s->first_port + port], 0)
						     : wire_end(f->links[p->link].wire, p->side);
	uint8_t mac[6];

	routes_port_mac(sw, port, mac);
	return (struct switch_port){&wire_ops, end, wire_facts(end, mac)};
}

// ---- one policy

// The cable in a port. A port without a link is like the first port that has one.
static const struct sc_link *cable_of(const struct scenario *sc, const struct sc_switch *sw,
				      uint32_t port)
{
	uint32_t p = sw->ports[port].link != SC_NO_LINK ? port : 0;

	while (p < sw->n_ports && sw->ports[p].link == SC_NO_LINK)
		p++;
	return p == sw->n_ports ? NULL : &sc->links[sw->ports[p].link];
}

// The file and what lies over it.
static int load(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		struct config **out, struct diags *d)
{
	const struct scenario *sc = f->sc;
	const struct sc_switch *s = &sc->switches[sw];
	struct config_overlay_port ports[POLICY_MAX_PORTS];
	const struct node *maps[MAX_MAPS];
	struct config_overlay o = {.maps = maps,
				   .file = sc->file,
				   .switch_name = s->name,
				   .ecmp_seed = s->ecmp_seed,
				   .ports = ports,
				   .n_ports = s->n_ports};
	const char *file = s->policy_file;

	if (sc->override != NULL)
		maps[o.n_maps++] = sc->override;
	for (uint32_t i = 0; i < s->n_overrides && o.n_maps < MAX_MAPS - 1; i++)
		maps[o.n_maps++] = s->overrides[i];
	if (reload != NULL && reload->override != NULL)
		maps[o.n_maps++] = reload->override;
	if (reload != NULL && reload->policy_file != NULL)
		file = reload->policy_file;
	for (uint32_t p = 0; p < s->n_ports; p++) {
		const struct sc_link *l = cable_of(sc, s, p);

		ports[p] = (struct config_overlay_port){l->speed_bps, l->cable_cm, l->profile};
	}
	return config_load_overlay(file, &o, out, d);
}

static bool same_way(const struct config_route *before, const struct way *w, uint16_t track)
{
	if (before->n_nexthops != w->n || before->nexthops[0].track != track)
		return false;
	for (unsigned i = 0; i < w->n; i++)
		if (before->nexthops[i].port != w->ports[i])
			return false;
	return true;
}

// A route to each host. Hosts behind the same switch are reached the same way, unless the file says
// otherwise: they share next hops.
static int route(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		 struct config *c)
{
	const struct scenario *sc = f->sc;
	struct arena arena = {0};
	struct config_route *routes = arena_alloc(&arena, sc->n_hosts * sizeof(*routes));
	struct policy_nexthop *next =
		arena_alloc(&arena, (size_t)sc->n_hosts * MAX_NEXTHOPS * sizeof(*next));
	uint32_t n = 0;
	int err;

	for (uint32_t p = 0; p < sc->switches[sw].n_ports; p++)
		config_set_routed(c, p, true);
	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		struct way w = reload == NULL ? routes_way(&f->routes, sw, h)
					      : routes_way_with(&f->routes, sw, h, reload->routes,
								reload->n_routes);
		uint16_t track = sc->withdraw ? routes_track(&f->routes, sw, h) : 0;
		uint32_t ip = sc->hosts[h].ip;
		struct config_route *r = &routes[n];

		if (w.n == 0)
			continue;
		*r = (struct config_route){.to = {FAMILY_V4,
						  32,
						  {(uint8_t)(ip >> 24), (uint8_t)(ip >> 16),
						   (uint8_t)(ip >> 8), (uint8_t)ip}},
					   .n_nexthops = (uint16_t)w.n,
					   .nexthops = next};
		if (n++ != 0 && same_way(r - 1, &w, track)) {
			r->nexthops = r[-1].nexthops;
			continue;
		}
		for (unsigned i = 0; i < w.n; i++, next++) {
			*next = (struct policy_nexthop){
				.kind = NEXTHOP_GIVEN, .port = w.ports[i], .track = track};
			routes_peer_mac(sc, sw, w.ports[i], next->mac);
		}
	}
	err = config_set_routes(c, routes, n);
	arena_fini(&arena);
	return err;
}

// Every host's address, so that nothing is flooded, in the VLAN of untagged frames where the host
// is plugged in. The policy frees them.
static int bridge(const struct fabric *f, uint32_t sw, struct policy *p)
{
	const struct scenario *sc = f->sc;

	p->fdb = calloc(sc->n_hosts, sizeof(p->fdb[0]));
	if (p->fdb == NULL)
		return -ENOMEM;
	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		const struct sc_link *l = &sc->links[sc->hosts[h].link];
		const struct sc_end *at = &l->end[l->end[0].is_switch ? 0 : 1];
		struct way w = routes_way(&f->routes, sw, h);
		struct policy_fdb_entry *e = &p->fdb[p->n_fdb];

		if (w.n == 0)
			continue;
		memcpy(e->mac, sc->hosts[h].mac, sizeof(e->mac));
		if (p->vlan_aware && at->is_switch && at->port < p->n_ports)
			e->vid = p->ports[at->port].vlan.untagged;
		e->port = w.ports[0];
		p->n_fdb++;
	}
	return 0;
}

// The policy of a switch as it starts, or with the keys of a reload over it. *config owns what
// messages of later reloads compare with. 0 or -EINVAL.
static int fabric_policy(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
			 struct config **config, struct policy **policy, struct diags *d)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	struct port_facts facts[POLICY_MAX_PORTS];
	struct diag_sink sink = {.file = f->sc->file, .document = "scenario"};
	struct cfg_pos at = reload != NULL ? reload->at : s->at;
	struct config *c = NULL;
	struct policy *p = NULL;
	char path[64];
	int err = load(f, sw, reload, &c, d);

	if (err == 0 && reload != NULL)
		err = config_check_reload(f->switches[sw].config, c, d);
	if (err == 0 && f->sc->routed)
		err = route(f, sw, reload, c);
	for (uint32_t i = 0; i < s->n_ports; i++)
		facts[i] = fabric_port(f, sw, i).facts;
	if (err == 0)
		err = config_compile(c, facts, &p, d);
	if (err == 0)
		config_small_flows(c, p);
	if (err == 0 && !f->sc->routed)
		err = bridge(f, sw, p);
	if (reload != NULL)
		snprintf(path, sizeof(path), "faults[%u].reload",
			 (unsigned)(reload - f->sc->faults));
	else
		snprintf(path, sizeof(path), "switches.%s", s->name);
	// What a policy does not say of the flow table follows from what it says of IPCC, and a
	// table is made when the switch starts.
	if (err == 0 && reload != NULL && p->flows.max > f->switches[sw].policy->flows.max) {
		diag_add(&sink, DIAG_ERROR, at, path,
			 "needs a flow table, and %s starts without one: give `switch: {flows: "
			 "on}` from the start",
			 s->name);
		err = -EINVAL;
	}
	if (err != 0) {
		policy_destroy(p);
		config_destroy(c);
		if (reload != NULL)
			diag_add(&sink, DIAG_ERROR, at, path,
				 "%s cannot take this policy over while it runs", s->name);
		else
			diag_add(&sink, DIAG_ERROR, at, path,
				 "%s cannot run on this policy with its %u ports", s->name,
				 s->n_ports);
		diag_finish(&sink, d);
		return err;
	}
	if (reload != NULL)
		p->flows.max = f->switches[sw].policy->flows.max;
	*config = c;
	*policy = p;
	return 0;
}

// ---- all of them

// A switch, and the end of its lines in the list. They follow those of the owner before.
struct owner {
	uint32_t sw;
	unsigned end;
};

// Removes the repeats of line i and returns the names of its switches: "s1", "s1, s2, s3, s4, ...
// 20 switches". The caller frees them. NULL: no memory.
static char *take_repeats(const struct fabric *f, const struct owner *o, struct diags *d,
			  unsigned i)
{
	const char *line = d->lines[i];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool seen[SC_MAX_SWITCHES] = {false}; // a file is read twice, and by reloads
	unsigned n = 0;

	for (unsigned k = i; k < d->n; k++) {
		while (o->end <= k)
			o++;
		if (d->lines[k] == NULL || strcmp(d->lines[k], line) != 0)
			continue;
		if (out != NULL && !seen[o->sw] && n++ < SHOWN_NAMES)
			fprintf(out, "%s%s", n == 1 ? "" : ", ", f->sc->switches[o->sw].name);
		seen[o->sw] = true;
		if (k == i)
			continue;
		d->n_errors -= d->is_error[k];
		free(d->lines[k]);
		d->lines[k] = NULL;
	}
	if (out == NULL)
		return NULL;
	if (n > SHOWN_NAMES)
		fprintf(out, ", ... %u switches", n);
	fclose(out);
	return text;
}

// Switches share files, and so their mistakes. A warning names its switches; a mistake is followed
// by a line for each switch that cannot run.
static void join_repeated(const struct fabric *f, const struct owner *o, unsigned first,
			  struct diags *d)
{
	unsigned kept = first;

	for (unsigned i = first; i < d->n; i++) {
		char *line = d->lines[i], *whose, *both;
		bool is_error = d->is_error[i];

		if (line == NULL)
			continue;
		whose = take_repeats(f, o, d, i);
		if (whose != NULL && !is_error && asprintf(&both, "%s (on %s)", line, whose) >= 0) {
			free(line);
			line = both;
		}
		free(whose);
		d->is_error[kept] = is_error;
		d->lines[kept++] = line;
	}
	d->n = kept;
}

int fabric_policies(struct fabric *f, struct diags *d)
{
	const struct scenario *sc = f->sc;
	struct arena arena = {0};
	struct owner *owners =
		arena_alloc(&arena, ((size_t)sc->n_switches + sc->n_faults + 1) * sizeof(*owners));
	struct owner *o = owners;
	unsigned first = d->n;
	int err = 0, of_switches;

	for (uint32_t i = 0; i < sc->n_switches; i++) {
		struct fabric_switch *s = &f->switches[i];
		int e = fabric_policy(f, i, NULL, &s->config, &s->policy, d);

		*o++ = (struct owner){i, d->n};
		err = err != 0 ? err : e;
	}
	of_switches = err;
	for (uint32_t i = 0; i < sc->n_faults && of_switches == 0; i++) {
		const struct sc_fault *fault = &sc->faults[i];
		struct config *c = NULL;
		struct policy *p = NULL;
		int e;

		if (fault->kind != SC_RELOAD)
			continue;
		e = fabric_policy(f, fault->target.node, fault, &c, &p, d);
		policy_destroy(p);
		config_destroy(c);
		*o++ = (struct owner){fault->target.node, d->n};
		err = err != 0 ? err : e;
	}
	join_repeated(f, owners, first, d);
	arena_fini(&arena);
	return err;
}

// ---- reloads, as of a live switch (dataplane/switch_change.h), on the virtual clock

enum { LOOK_NS = 500 };

static void look_again(struct fabric_switch *s, vclock_fn *fn)
{
	struct fabric *f = s->fabric;

	actor_poke(&s->actor);
	if (vclock_at(&f->clock, f->clock.now_ns + LOOK_NS, fn, s) != 0)
		f->out_of_memory = true;
}

void fabric_retire(struct fabric_switch *s)
{
	if (s->retired == NULL || !switch_grace_over(s->sw, s->grace_token))
		return;
	change_end(s->sw, &s->change);
	actor_poke(&s->actor);
	policy_destroy(s->retired);
	config_destroy(s->retired_config);
	s->retired = NULL;
	s->retired_config = NULL;
	if (s->waiting != NULL)
		fabric_reload(s->fabric, s->waiting);
}

// The pause before the change lasts no longer than it must.
static void end(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;

	(void)now_ns;
	fabric_retire(s);
	if (s->retired != NULL)
		look_again(s, end);
}

static void publish_when_ready(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	struct fabric *f = s->fabric;

	if (!change_ready(s->sw, &s->change, now_ns)) {
		look_again(s, publish_when_ready);
		return;
	}
	s->retired_config = s->config;
	s->config = s->next_config;
	s->policy = s->next;
	s->next_config = NULL;
	s->next = NULL;
	switch_publish(s->sw, s->policy, &s->retired, &s->grace_token);
	fabric_track(f, (uint32_t)(s - f->switches));
	actor_poke(&s->actor);
	if (s->change.classes != 0)
		look_again(s, end);
}

void fabric_reload(struct fabric *f, const struct sc_fault *sc)
{
	struct fabric_switch *s = &f->switches[sc->target.node];
	struct diags d = {0};

	// Each reload is laid over what the switch started with, so the last one counts.
	s->waiting = sc;
	fabric_retire(s);
	if (s->next != NULL || s->retired != NULL || s->waiting == NULL)
		return;
	s->waiting = NULL;
	// It compiled before the run; only memory can be short now.
	if (fabric_policy(f, sc->target.node, sc, &s->next_config, &s->next, &d) != 0 ||
	    switch_prepare(s->sw, s->next) != 0) {
		f->out_of_memory = true;
		diags_fini(&d);
		return;
	}
	diags_fini(&d);
	change_begin(s->sw, s->next, f->clock.now_ns, CHANGE_LATE_NS, &s->change);
	publish_when_ready(s, f->clock.now_ns);
}

void fabric_reload_free(struct fabric_switch *s)
{
	if (s->next != NULL)
		switch_unprepare(s->next);
	policy_destroy(s->next);
	policy_destroy(s->retired);
	config_destroy(s->next_config);
	config_destroy(s->retired_config);
}
