// SPDX-License-Identifier: Apache-2.0
// The policy file of each switch, compiled for the ports it has in the scenario, with addresses or
// routes for every host.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/fabric_int.h"
#include "dataplane/switch_routes.h"

enum { MAX_MAPS = 64 };

// ---- ports
// What is plugged into a port; a port without a link is as the first one that has any.
static const struct sc_link *cable_of(const struct scenario *sc, const struct sc_switch *sw,
				      uint32_t port)
{
	if (sw->ports[port].link != SC_NO_LINK)
		return &sc->links[sw->ports[port].link];
	for (uint32_t p = 0; p < sw->n_ports; p++)
		if (sw->ports[p].link != SC_NO_LINK)
			return &sc->links[sw->ports[p].link];
	return NULL;
}

static struct wire_end *end_of(const struct fabric *f, uint32_t sw, uint32_t port)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	const struct sc_port *p = &s->ports[port];

	if (p->link == SC_NO_LINK)
		return wire_end(f->loose[s->first_port + port], 0);
	return wire_end(f->links[p->link].wire, p->side);
}

struct switch_port fabric_port(const struct fabric *f, uint32_t sw, uint32_t port)
{
	struct wire_end *end = end_of(f, sw, port);
	uint8_t mac[6];

	routes_port_mac(sw, port, mac);
	return (struct switch_port){&wire_ops, end, wire_facts(end, mac)};
}

// ---- the file and what lies over it
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

// ---- ways to the hosts
struct route_maker {
	const struct fabric *f;
	uint32_t sw;
	const struct sc_fault *reload; // NULL: as the switch starts
	struct config_route *routes;
	struct policy_nexthop *nexthops;
	uint32_t n_nexthops;
};

// Hosts behind the same switch are reached the same way, unless the file says otherwise.
static bool same_way(const struct config_route *before, const struct way *w, uint16_t track)
{
	if (before->n_nexthops != w->n || before->nexthops[0].track != track)
		return false;
	for (unsigned i = 0; i < w->n; i++)
		if (before->nexthops[i].port != w->ports[i])
			return false;
	return true;
}

static const struct policy_nexthop *make_nexthops(struct route_maker *m, const struct way *w,
						  uint16_t track)
{
	struct policy_nexthop *first = &m->nexthops[m->n_nexthops];

	for (unsigned i = 0; i < w->n; i++) {
		struct policy_nexthop *n = &m->nexthops[m->n_nexthops++];

		*n = (struct policy_nexthop){
			.kind = NEXTHOP_GIVEN, .port = w->ports[i], .track = track};
		routes_peer_mac(m->f->sc, m->sw, w->ports[i], n->mac);
	}
	return first;
}

static struct policy_addr host_route(uint32_t ip)
{
	return (struct policy_addr){
		FAMILY_V4,
		32,
		{(uint8_t)(ip >> 24), (uint8_t)(ip >> 16), (uint8_t)(ip >> 8), (uint8_t)ip}};
}

static struct way way_to(const struct route_maker *m, uint32_t host)
{
	if (m->reload == NULL)
		return routes_way(&m->f->routes, m->sw, host);
	return routes_way_with(&m->f->routes, m->sw, host, m->reload->routes, m->reload->n_routes);
}

static uint32_t make_routes(struct route_maker *m)
{
	const struct scenario *sc = m->f->sc;
	uint32_t n = 0;

	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		struct way w = way_to(m, h);
		struct config_route *r = &m->routes[n];
		uint16_t track = sc->withdraw ? routes_track(&m->f->routes, m->sw, h) : 0;

		if (w.n == 0)
			continue;
		*r = (struct config_route){.to = host_route(sc->hosts[h].ip),
					   .n_nexthops = (uint16_t)w.n};
		r->nexthops = n != 0 && same_way(r - 1, &w, track) ? r[-1].nexthops
								   : make_nexthops(m, &w, track);
		n++;
	}
	return n;
}

static int route(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		 struct config *c)
{
	const struct scenario *sc = f->sc;
	struct route_maker m = {.f = f, .sw = sw, .reload = reload};
	int err = -ENOMEM;

	for (uint32_t p = 0; p < sc->switches[sw].n_ports; p++)
		config_set_routed(c, p, true);
	m.routes = calloc(sc->n_hosts, sizeof(m.routes[0]));
	m.nexthops = calloc((size_t)sc->n_hosts * MAX_NEXTHOPS, sizeof(m.nexthops[0]));
	if (m.routes != NULL && m.nexthops != NULL)
		err = config_set_routes(c, m.routes, make_routes(&m));
	free(m.routes);
	free(m.nexthops);
	return err;
}

// The VLAN in which a host's frames travel: that of untagged frames where it is plugged in.
static uint16_t host_vlan(const struct fabric *f, const struct policy *p, uint32_t host)
{
	const struct sc_link *l = &f->sc->links[f->sc->hosts[host].link];
	const struct sc_end *e = &l->end[l->end[0].is_switch ? 0 : 1];

	if (!p->vlan_aware || !e->is_switch || e->port >= p->n_ports)
		return 0;
	return p->ports[e->port].vlan.untagged;
}

// Every host's address, so that nothing is flooded. The policy frees them.
static int bridge(const struct fabric *f, uint32_t sw, struct policy *p)
{
	const struct scenario *sc = f->sc;

	p->fdb = calloc(sc->n_hosts, sizeof(p->fdb[0]));
	if (p->fdb == NULL)
		return -ENOMEM;
	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		struct way w = routes_way(&f->routes, sw, h);
		struct policy_fdb_entry *e = &p->fdb[p->n_fdb];

		if (w.n == 0)
			continue;
		memcpy(e->mac, sc->hosts[h].mac, sizeof(e->mac));
		e->vid = host_vlan(f, p, h);
		e->port = w.ports[0];
		p->n_fdb++;
	}
	return 0;
}

// ---- one switch
static int compile(const struct fabric *f, uint32_t sw, struct config *c, struct policy **out,
		   struct diags *d)
{
	struct port_facts facts[POLICY_MAX_PORTS];
	int err;

	for (uint32_t p = 0; p < f->sc->switches[sw].n_ports; p++)
		facts[p] = fabric_port(f, sw, p).facts;
	err = config_compile(c, facts, out, d);
	if (err == 0)
		config_small_flows(c, *out);
	if (err == 0 && !f->sc->routed)
		err = bridge(f, sw, *out);
	return err;
}

// What a policy does not say of the flow table follows from what it says of IPCC, and a table is
// made when the switch starts.
static int same_table(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		      struct policy *p, struct diags *d)
{
	struct diag_sink sink = {.file = f->sc->file, .document = "scenario"};
	const struct policy *running = f->switches[sw].policy;
	char path[64];

	if (reload == NULL || p->flows.max <= running->flows.max) {
		p->flows.max = reload == NULL ? p->flows.max : running->flows.max;
		return 0;
	}
	snprintf(path, sizeof(path), "faults[%u].reload", (unsigned)(reload - f->sc->faults));
	diag_add(&sink, DIAG_ERROR, reload->at, path,
		 "needs a flow table, and %s starts without one: give `switch: {flows: on}` from "
		 "the start",
		 f->sc->switches[sw].name);
	diag_finish(&sink, d);
	return -EINVAL;
}

static void told_for(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		     struct diags *d)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	struct diag_sink sink = {.file = f->sc->file, .document = "scenario"};
	char path[64];

	if (reload != NULL) {
		snprintf(path, sizeof(path), "faults[%u].reload",
			 (unsigned)(reload - f->sc->faults));
		diag_add(&sink, DIAG_ERROR, reload->at, path,
			 "%s cannot take this policy over while it runs", s->name);
	} else {
		snprintf(path, sizeof(path), "switches.%s", s->name);
		diag_add(&sink, DIAG_ERROR, s->at, path,
			 "%s cannot run on this policy with its %u ports", s->name, s->n_ports);
	}
	diag_finish(&sink, d);
}

// The policy of a switch as it starts, or with the keys of a reload over it. *config owns what
// messages of later reloads compare with. 0 or -EINVAL.
static int fabric_policy(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		  struct config **config, struct policy **policy, struct diags *d)
{
	struct config *c = NULL;
	int err = load(f, sw, reload, &c, d);

	if (err == 0 && reload != NULL)
		err = config_check_reload(f->switches[sw].config, c, d);
	if (err == 0 && f->sc->routed)
		err = route(f, sw, reload, c);
	if (err == 0)
		err = compile(f, sw, c, policy, d);
	if (err == 0 && same_table(f, sw, reload, *policy, d) != 0) {
		policy_destroy(*policy);
		*policy = NULL;
		err = -EINVAL;
	}
	if (err != 0) {
		config_destroy(c);
		told_for(f, sw, reload, d);
		return err;
	}
	*config = c;
	return 0;
}

// ---- all of them
// Which switch the lines were about.
struct owners {
	unsigned first, n; // lines of the list, from the first
	uint32_t *sw;
};

static int note_owner(struct owners *o, const struct diags *d, uint32_t sw)
{
	uint32_t *more = realloc(o->sw, (d->n - o->first + 1) * sizeof(*more));

	if (more == NULL)
		return -ENOMEM;
	o->sw = more;
	while (o->n < d->n - o->first)
		o->sw[o->n++] = sw;
	return 0;
}

// Removes the repeats of a line and returns the names of its switches: "s1", "s1, s2, s3, s4, ...
// 20 switches". The caller frees them. NULL: no memory.
static char *take_repeats(const struct fabric *f, const struct owners *o, struct diags *d,
			  unsigned i)
{
	enum { SHOWN = 4 };
	const char *line = d->lines[o->first + i];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool seen[SC_MAX_SWITCHES] = {false}; // a file is read twice, and by reloads
	unsigned n = 0;

	for (unsigned k = i; k < o->n; k++) {
		char **other = &d->lines[o->first + k];

		if (*other == NULL || strcmp(*other, line) != 0)
			continue;
		if (out != NULL && !seen[o->sw[k]] && n++ < SHOWN)
			fprintf(out, "%s%s", n == 1 ? "" : ", ", f->sc->switches[o->sw[k]].name);
		seen[o->sw[k]] = true;
		if (k == i)
			continue;
		d->n_errors -= d->is_error[o->first + k];
		free(*other);
		*other = NULL;
	}
	if (out == NULL)
		return NULL;
	if (n > SHOWN)
		fprintf(out, ", ... %u switches", n);
	fclose(out);
	return text;
}

// Switches share files, and so their mistakes. A warning names its switches; a mistake is followed
// by a line for each switch that cannot run.
static void join_repeated(const struct fabric *f, const struct owners *o, struct diags *d)
{
	unsigned kept = o->first;

	for (unsigned i = 0; i < o->n; i++) {
		char *line = d->lines[o->first + i], *whose, *both;
		bool is_error = d->is_error[o->first + i];

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

static int check_reloads(const struct fabric *f, struct owners *o, struct diags *d)
{
	int err = 0;

	for (uint32_t i = 0; i < f->sc->n_faults; i++) {
		const struct sc_fault *fault = &f->sc->faults[i];
		struct config *c = NULL;
		struct policy *p = NULL;
		int e;

		if (fault->kind != SC_RELOAD)
			continue;
		e = fabric_policy(f, fault->target.node, fault, &c, &p, d);
		policy_destroy(p);
		config_destroy(c);
		if (note_owner(o, d, fault->target.node) != 0)
			e = -ENOMEM;
		err = err != 0 ? err : e;
	}
	return err;
}

int fabric_policies(struct fabric *f, struct diags *d)
{
	const struct scenario *sc = f->sc;
	struct owners o = {.first = d->n};
	int err = 0;

	for (uint32_t i = 0; i < sc->n_switches; i++) {
		struct fabric_switch *s = &f->switches[i];
		int e = fabric_policy(f, i, NULL, &s->config, &s->policy, d);

		if (note_owner(&o, d, i) != 0)
			e = -ENOMEM;
		err = err != 0 ? err : e;
	}
	if (err == 0)
		err = check_reloads(f, &o, d);
	join_repeated(f, &o, d);
	free(o.sw);
	return err;
}

// ---- Reloads of a scenario: as a live switch does it (dataplane/switch_change.h), on the virtual
// clock.

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
