// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry.h"
#include "control/lab/tunnels.h"
#include "control/lab/without.h"
#include "dataplane/policy.h"

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
		uint32_t linked = s->ports[p].link != SC_NO_LINK ? p : 0;
		const struct sc_link *l;

		// A port without a link is like the first port that has one.
		while (s->ports[linked].link == SC_NO_LINK)
			linked++;
		l = &sc->links[s->ports[linked].link];
		ports[p] = (struct config_overlay_port){l->speed_bps, l->cable_cm, l->profile};
	}
	return config_load_overlay(file, &o, out, d);
}

enum { NO_HOST = UINT32_MAX };

// A port with a host behind it has addresses of its own, from which the switch asks: of no host,
// and not link-local, because a router takes no link-local address of a station as an answer.
static void give_addresses(const struct scenario *sc, uint32_t sw, uint32_t port, struct config *c)
{
	uint32_t no = sc->switches[sw].first_port + port + 1;
	const uint8_t hi = (uint8_t)(no >> 8), lo = (uint8_t)no;
	const struct policy_addr own[] = {
		{FAMILY_V4, 32, {169, 254, hi, lo}},
		{FAMILY_V6, 128, {0xfd, 0xff, [14] = hi, lo}}};

	config_set_addresses(c, port, own, 2);
}

static uint32_t host_at_port(const struct scenario *sc, uint32_t sw, uint32_t port)
{
	const struct sc_port *p = &sc->switches[sw].ports[port];
	const struct sc_end *end =
		p->link == SC_NO_LINK ? NULL : &sc->links[p->link].end[1 - p->side];

	return end == NULL || end->is_switch ? NO_HOST : end->node;
}

// A route to each host. Hosts behind the same switch are reached the same way, unless the file says
// otherwise: they share next hops.
static int route(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		 struct config *c)
{
	const struct scenario *sc = f->sc;
	struct arena arena = {0};
	struct config_route *routes = arena_alloc(&arena, 2 * sc->n_hosts * sizeof(*routes));
	struct policy_nexthop *next =
		arena_alloc(&arena, (size_t)sc->n_hosts * MAX_NEXTHOPS * sizeof(*next));
	struct way last = {0};
	uint16_t last_track = 0;
	uint32_t n = 0;
	int err;

	for (uint32_t p = 0; p < sc->switches[sw].n_ports; p++) {
		config_set_routed(c, p, !sc->tunnelled || tunnels_port(sc, sw, p));
		if (sc->learn_neighbours && host_at_port(sc, sw, p) != NO_HOST)
			give_addresses(sc, sw, p, c);
	}
	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		struct way w = routes_way(&f->routes, sw, h, reload != NULL ? reload->routes : NULL,
					  reload != NULL ? reload->n_routes : 0);
		uint16_t track = sc->withdraw ? routes_track(&f->routes, sw, h) : 0;
		uint32_t ip = sc->hosts[h].ip;
		struct config_route *r = &routes[n];

		if (w.n == 0 || (sc->tunnelled && !tunnels_vtep_of(sc, sw, h, &ip)))
			continue;
		*r = (struct config_route){.to = {FAMILY_V4,
						  32,
						  {(uint8_t)(ip >> 24), (uint8_t)(ip >> 16),
						   (uint8_t)(ip >> 8), (uint8_t)ip}},
					   .n_nexthops = (uint16_t)w.n,
					   .nexthops = next};
		if (n++ != 0 && track == last_track && w.n == last.n &&
		    memcmp(w.ports, last.ports, w.n * sizeof(*w.ports)) == 0) {
			r->nexthops = r[-1].nexthops;
			continue;
		}
		last = w;
		last_track = track;
		for (unsigned i = 0; i < w.n; i++, next++) {
			*next = (struct policy_nexthop){.port = w.ports[i], .track = track};
			if (sc->learn_neighbours && host_at_port(sc, sw, w.ports[i]) == h) {
				next->kind = NEXTHOP_LINK;
				continue;
			}
			next->kind = NEXTHOP_GIVEN;
			routes_peer_mac(sc, sw, w.ports[i], next->mac);
		}
	}
	// Over IPv6 by the same next hops.
	for (uint32_t i = 0, v4 = n; i < v4 && sc->has_ip6 && !sc->tunnelled; i++) {
		const struct config_route *r = &routes[i];
		const struct sc_host host = {.ip = be32_get(r->to.ip)};

		routes[n] = *r;
		routes[n].to.family = FAMILY_V6;
		routes[n].to.len = 128;
		ip_key_put(routes[n++].to.ip, sc_host_ip6(&host));
	}
	err = config_set_routes(c, routes, n);
	arena_fini(&arena);
	return err;
}

static void note_model(const struct scenario *sc, const char *file)
{
	struct sc_model *m = sc->models;

	while (m->next != NULL) {
		m = m->next;
		if (strcmp(m->file, file) == 0)
			return;
	}
	m->next = arena_alloc(sc->arena, sizeof(*m));
	m->next->file = arena_text(sc->arena, file, strlen(file));
}

static void note_models(const struct scenario *sc, const struct policy *p)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct auto_ecn_params *a = &p->ports[i].auto_ecn[q];

			if (a->on && a->model == ECN_MODEL_FILE)
				note_model(sc, a->model_file);
		}
}

static bool has_auto_ecn(const struct policy *p)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (p->ports[i].auto_ecn[q].on)
				return true;
	return false;
}

// A switch that starts with auto ECN has a flow table, as it has outside the lab.
static void small_flows(const struct config *c, struct policy *p, bool starts)
{
	bool table = starts && p->flows.max != 0 && has_auto_ecn(p);

	config_small_flows(c, p);
	if (table && p->flows.max == 0)
		p->flows.max = CONFIG_FEW_FLOWS;
}

// Frames. Before the switch runs, what the first policy asks for.
static uint32_t copies_at_start(const struct instance *in)
{
	return in->sw != NULL ? switch_copy_frames(in->sw) : in->policy->copy_frames;
}

// A switch gets its memory when it starts. Returns true, with a message, if the policy needs more.
static bool lacks_memory(const struct fabric_switch *s, const struct policy *p,
			 struct diag_sink *sink, struct cfg_pos at, const char *path)
{
	// A policy without the key `flows` has a flow table where IPCC needs one.
	bool flows = p->flows.max > s->in.policy->flows.max;
	bool copies = p->copy_frames > copies_at_start(&s->in);

	if (flows)
		diag_add(sink, DIAG_ERROR, at, path,
			 "needs a flow table, and %s starts without one: give `switch: {flows: "
			 "on}` from the start",
			 s->sc->name);
	if (copies)
		diag_add(sink, DIAG_ERROR, at, path,
			 "needs memory for more copies of frames than %s starts with: give "
			 "`flood: on` of a lossless class, or `multicast`, from the start",
			 s->sc->name);
	return flows || copies;
}

int fabric_policy(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
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
		err = config_check_reload(f->switches[sw].in.config, c, d);
	if (err == 0 && f->sc->routed)
		err = route(f, sw, reload, c);
	if (err == 0 && f->sc->tunnelled)
		err = tunnels_set(f->sc, sw, c);
	for (uint32_t i = 0; i < s->n_ports; i++)
		facts[i] = fabric_port(f, sw, i).facts;
	if (err == 0)
		err = config_compile(c, facts, &p, d);
	if (err == 0) {
		mechanisms_off_in_policy(f->sc, p);
		note_models(f->sc, p);
		small_flows(c, p, reload == NULL);
	}
	if (err == 0 && (!f->sc->routed || f->sc->tunnelled))
		err = tunnels_addresses(&f->routes, sw, p);
	if (reload != NULL)
		snprintf(path, sizeof(path), "faults[%u].reload",
			 (unsigned)(reload - f->sc->faults));
	else
		snprintf(path, sizeof(path), "switches.%s", s->name);
	if (err == 0 && reload != NULL && lacks_memory(&f->switches[sw], p, &sink, at, path))
		err = -EINVAL;
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
		p->flows.max = f->switches[sw].in.policy->flows.max;
	instance_carry(&f->switches[sw].in, p);
	*config = c;
	*policy = p;
	return 0;
}

// A switch, and the end of its lines in the list. They follow those of the owner before.
struct owner {
	uint32_t sw;
	unsigned end;
};

// Switches share files, and so their mistakes. A warning names its switches: "s1", "s1, s2, s3, s4,
// ... 20 switches". A mistake is followed by a line for each switch that cannot run.
static void join_repeated(const struct fabric *f, struct arena *a, const struct owner *owners,
			  unsigned first, struct diags *d)
{
	unsigned kept = first;

	for (unsigned i = first; i < d->n; i++) {
		bool seen[SC_MAX_SWITCHES] = {false}; // a file is read twice, and by reloads
		const struct owner *o = owners;
		const char *names = "";
		char *line = d->lines[i], *both;
		unsigned n = 0;

		if (line == NULL)
			continue;
		for (unsigned k = i; k < d->n; k++) {
			while (o->end <= k)
				o++;
			if (d->lines[k] == NULL || strcmp(d->lines[k], line) != 0)
				continue;
			if (!seen[o->sw] && n++ < SHOWN_NAMES)
				names = arena_printf(a, "%s%s%s", names, n == 1 ? "" : ", ",
						     f->sc->switches[o->sw].name);
			seen[o->sw] = true;
			if (k == i)
				continue;
			d->n_errors -= d->is_error[k];
			free(d->lines[k]);
			d->lines[k] = NULL;
		}
		if (n > SHOWN_NAMES)
			names = arena_printf(a, "%s, ... %u switches", names, n);
		if (!d->is_error[i] && asprintf(&both, "%s (on %s)", line, names) >= 0) {
			free(line);
			line = both;
		}
		d->is_error[kept] = d->is_error[i];
		d->lines[kept++] = line;
	}
	d->n = kept;
}

// Frames of LLDP and iNOF are stored whole, and a switch that has some to send steps soon.
static void note_services(struct fabric *f, const struct config *c, const struct policy *p)
{
	const struct inof_zone *zones;
	struct inof_conf conf;
	unsigned n;

	if (c == NULL || p == NULL)
		return;
	for (uint32_t i = 0; i < p->n_ports; i++)
		f->has_lldp |= p->ports[i].lldp.on;
	f->has_inof |= config_inof(c, &conf, &zones, &n);
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
		int e = fabric_policy(f, i, NULL, &s->in.config, &s->in.policy, d);

		note_services(f, s->in.config, s->in.policy);
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
		note_services(f, c, p);
		policy_destroy(p);
		config_destroy(c);
		*o++ = (struct owner){fault->target.node, d->n};
		err = err != 0 ? err : e;
	}
	join_repeated(f, &arena, owners, first, d);
	arena_fini(&arena);
	return err != 0 ? err : mechanisms_check(sc, d);
}

