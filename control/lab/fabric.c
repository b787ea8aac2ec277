// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fabric.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/chain_fabric.h"
#include "control/lab/fabric_int.h"
#include "control/lab/lab_capture.h"
#include "control/observe/observe.h"
#include "dataplane/worker.h"

enum { CONTROL_EVERY_NS = 1000000, EVENTS_A_CALL = 64, PASSES = 3 };

// ---- actors
// In fixed order. The second pass takes over and settles what the first handed and released between
// workers; the third lets groups leave XOFF for which that made room.
static uint64_t step_workers(struct weir_switch *sw, uint64_t now_ns)
{
	uint64_t wake = UINT64_MAX;

	for (unsigned pass = 0; pass < PASSES; pass++) {
		wake = UINT64_MAX;
		for (unsigned i = 0; i < switch_n_workers(sw); i++) {
			uint64_t t = worker_step(switch_worker(sw, i), now_ns);

			wake = t < wake ? t : wake;
		}
	}
	return wake;
}

static uint64_t switch_actor(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	uint64_t wake = switch_n_workers(s->sw) == 1 ? worker_step(switch_worker(s->sw, 0), now_ns)
						     : step_workers(s->sw, now_ns);
	uint32_t i = (uint32_t)(s - s->fabric->switches);

	// Looked at while everything is as it was when it happened.
	if (s->policy->flows.max != 0)
		cnp_judge_look(s->fabric, i);
	if (!TAILQ_EMPTY(&s->crossings))
		watch_switch_stepped(s->fabric, i);
	if (s->captured)
		lab_capture_stepped(s->fabric->capture, i);
	if (!TAILQ_EMPTY(&s->levels))
		level_switch_stepped(s->fabric, i);
	return wake;
}

static uint64_t nic_actor(void *arg, uint64_t now_ns)
{
	return nic_step(arg, now_ns);
}

// ---- control: what the daemon's control thread does, at fixed instants
static void note_loss(struct fabric *f, uint32_t sw, const struct event *e)
{
	struct fabric_loss *l = &f->first_loss;

	if (e->type != EVENT_LOSSLESS_DROP)
		return;
	f->n_events++;
	if (!l->seen || e->t_ns < l->t_ns)
		*l = (struct fabric_loss){true, sw, e->port, e->cls, e->t_ns, l->count};
	l->count++;
}

static void note_storms(struct fabric *f, uint32_t sw)
{
	struct fabric_switch *s = &f->switches[sw];
	uint64_t lost = switch_events_lost(s->sw);

	if (s->events_lost != lost)
		storm_log_catch_up(&f->storms, sw, s->sw);
	s->events_lost = lost;
	if (f->storms.short_of_memory)
		f->out_of_memory = true;
}

void fabric_control(struct fabric *f, uint32_t i)
{
	struct fabric_switch *s = &f->switches[i];
	struct event events[EVENTS_A_CALL];
	unsigned n;

	do {
		n = switch_control_step(s->sw, f->clock.now_ns, events, EVENTS_A_CALL);
		for (unsigned k = 0; k < n; k++) {
			note_loss(f, i, &events[k]);
			storm_log_event(&f->storms, i, &events[k]);
		}
	} while (n == EVENTS_A_CALL);
	note_storms(f, i);
	fabric_withdraw(f, i);
	if (!switch_requests_done(s->sw))
		actor_poke(&s->actor);
	fabric_retire(s);
}

void fabric_look(struct fabric *f)
{
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		fabric_control(f, i);
}

static void control(void *arg, uint64_t now_ns)
{
	struct fabric *f = arg;

	fabric_look(f);
	chain_fabric_look(f);
	if (vclock_at(&f->clock, now_ns + CONTROL_EVERY_NS, control, f) != 0)
		f->out_of_memory = true;
}

// ---- making
static int make_wires(struct fabric *f)
{
	const struct scenario *sc = f->sc;
	int err = 0;

	for (uint32_t i = 0; i < sc->n_links && err == 0; i++) {
		const struct wire_conf conf = {sc->links[i].speed_bps, sc->links[i].delay_ns};

		f->links[i].sc = &sc->links[i];
		err = wire_create(&f->clock, &conf, &f->links[i].wire);
	}
	for (uint32_t i = 0; i < sc->n_switches; i++) {
		const struct sc_switch *s = &sc->switches[i];

		for (uint32_t p = 0; p < s->n_ports && err == 0; p++) {
			const struct wire_conf conf = {.speed_bps = 1000000000};

			if (s->ports[p].link != SC_NO_LINK)
				continue;
			err = wire_create(&f->clock, &conf, &f->loose[s->first_port + p]);
			if (err == 0)
				wire_set_up(f->loose[s->first_port + p], false);
		}
	}
	return err;
}

static int make_switch(struct fabric *f, uint32_t i)
{
	struct fabric_switch *s = &f->switches[i];
	struct switch_port ports[POLICY_MAX_PORTS];
	int err;

	for (uint32_t p = 0; p < s->policy->n_ports; p++)
		ports[p] = fabric_port(f, i, p);
	err = switch_create(s->policy, ports, f->pool, scenario_seed(f->sc, "switch", i), &s->sw);
	if (err != 0)
		return err;
	actor_init(&s->actor, &f->clock, switch_actor, s);
	actor_poke(&s->actor);
	for (uint32_t p = 0; p < s->policy->n_ports; p++)
		wire_end_attach(ports[p].drv, &s->actor);
	return 0;
}

static void hook_done(void *arg, const struct nic_done *d)
{
	const struct fabric_host *h = arg;

	h->fabric->hooks.done(h->fabric->hooks.arg, (uint32_t)(h - h->fabric->hosts), d);
}

static void hook_served(void *arg, const struct nic_served *s)
{
	const struct fabric_host *h = arg;

	h->fabric->hooks.served(h->fabric->hooks.arg, (uint32_t)(h - h->fabric->hosts), s);
}

static void hook_cut(void *arg, uint64_t now_ns)
{
	const struct fabric_host *h = arg;

	watch_host_cut(h->fabric, (uint32_t)(h - h->fabric->hosts), now_ns);
}

static int make_host(struct fabric *f, uint32_t i)
{
	const struct sc_host *sc = &f->sc->hosts[i];
	const struct sc_link *l = &f->sc->links[sc->link];
	struct fabric_host *h = &f->hosts[i];
	struct nic_config c = sc->nic;
	struct wire_end *end;

	end = wire_end(f->links[sc->link].wire,
		       !l->end[0].is_switch && l->end[0].node == i ? 0 : 1);
	c.ops = &wire_ops;
	c.drv = end;
	c.pool = f->pool;
	c.facts = wire_facts(end, sc->mac);
	if (c.rto_ns == 0)
		c.rto_ns = f->rto_ns;
	c.snap = f->sc->whole_frames ? 0 : FABRIC_SNAP;
	c.verify = f->sc->whole_frames;
	c.hooks = (struct nic_hooks){f->hooks.done != NULL ? hook_done : NULL,
				     f->hooks.served != NULL ? hook_served : NULL, hook_cut, h};
	h->sc = sc;
	h->fabric = f;
	if (nic_create(&c, &h->nic) != 0)
		return -ENOMEM;
	actor_init(&h->actor, &f->clock, nic_actor, h->nic);
	wire_end_attach(end, &h->actor);
	actor_poke(&h->actor);
	return 0;
}

static struct fabric *fabric_new(const struct scenario *sc)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->sc = sc;
	vclock_init(&f->clock);
	f->switches = calloc(sc->n_switches + 1, sizeof(f->switches[0]));
	f->hosts = calloc(sc->n_hosts + 1, sizeof(f->hosts[0]));
	f->links = calloc(sc->n_links + 1, sizeof(f->links[0]));
	f->ends_down = calloc(sc->n_links + 1, sizeof(f->ends_down[0]));
	f->loose = calloc(sc->n_ports + 1, sizeof(f->loose[0]));
	f->chain = chain_fabric_create(sc);
	f->cnps = cnp_judge_create(sc);
	TAILQ_INIT(&f->cuts);
	if (f->switches == NULL || f->hosts == NULL || f->links == NULL || f->ends_down == NULL ||
	    f->loose == NULL || f->chain == NULL || f->cnps == NULL) {
		fabric_destroy(f);
		return NULL;
	}
	for (uint32_t i = 0; i < sc->n_switches; i++) {
		f->switches[i].sc = &sc->switches[i];
		f->switches[i].fabric = f;
		TAILQ_INIT(&f->switches[i].crossings);
		TAILQ_INIT(&f->switches[i].levels);
	}
	routes_derive(sc, &f->routes);
	routes_follow(&f->routes, f->ends_down);
	return f;
}

static int make_all(struct fabric *f, struct diags *d)
{
	int err = make_wires(f);

	if (err == 0)
		err = fabric_policies(f, d);
	if (err == 0)
		err = fabric_rto(f);
	if (err == 0)
		err = fabric_memory(f);
	for (uint32_t i = 0; err == 0 && i < f->sc->n_switches; i++)
		err = make_switch(f, i);
	for (uint32_t i = 0; err == 0 && i < f->sc->n_hosts; i++)
		err = make_host(f, i);
	if (err == 0)
		err = fabric_faults(f);
	if (err == 0)
		err = vclock_at(&f->clock, 0, control, f);
	return err;
}

int fabric_create(const struct scenario *sc, const struct fabric_hooks *hooks, struct fabric **out,
		  struct diags *d)
{
	struct fabric *f = fabric_new(sc);
	int err;

	if (f == NULL)
		return -ENOMEM;
	if (hooks != NULL)
		f->hooks = *hooks;
	err = make_all(f, d);
	if (err != 0) {
		fabric_destroy(f);
		return err;
	}
	*out = f;
	return 0;
}

int fabric_check(const struct scenario *sc, struct diags *d)
{
	struct fabric *f = fabric_new(sc);
	int err = f == NULL ? -ENOMEM : make_wires(f);

	if (err == 0)
		err = fabric_policies(f, d);
	fabric_destroy(f);
	return err;
}

static void destroy_switch(struct fabric_switch *s)
{
	fabric_reload_free(s); // the switch frees the tables of what it runs
	switch_destroy(s->sw);
	policy_destroy(s->policy);
	config_destroy(s->config);
	flow_book_fini(&s->book);
}

void fabric_destroy(struct fabric *f)
{
	if (f == NULL)
		return;
	for (uint32_t i = 0; f->switches != NULL && i < f->sc->n_switches; i++)
		destroy_switch(&f->switches[i]);
	for (uint32_t i = 0; f->hosts != NULL && i < f->sc->n_hosts; i++)
		nic_destroy(f->hosts[i].nic);
	for (uint32_t i = 0; f->links != NULL && i < f->sc->n_links; i++)
		wire_destroy(f->links[i].wire);
	for (uint32_t i = 0; f->loose != NULL && i < f->sc->n_ports; i++)
		wire_destroy(f->loose[i]);
	chain_fabric_destroy(f->chain);
	cnp_judge_destroy(f->cnps);
	storm_log_fini(&f->storms);
	fabric_memory_free(f);
	vclock_fini(&f->clock);
	free(f->faults);
	free(f->switches);
	free(f->hosts);
	free(f->links);
	free(f->ends_down);
	free(f->loose);
	free(f);
}

// ---- running
int fabric_run_until(struct fabric *f, uint64_t t_ns)
{
	int err = vclock_run_until(&f->clock, t_ns);

	if (fabric_memory_short(f))
		f->out_of_memory = true;
	return err != 0 || f->out_of_memory ? -ENOMEM : 0;
}

int fabric_introduce(struct fabric *f, uint32_t a, uint32_t b)
{
	const uint32_t pair[2] = {a, b};

	for (unsigned i = 0; i < 2; i++) {
		uint8_t mac[6];
		int err;

		routes_first_hop_mac(f->sc, pair[i], pair[1 - i], mac);
		err = nic_peer_set(f->hosts[pair[i]].nic, f->sc->hosts[pair[1 - i]].ip, mac);
		if (err != 0)
			return err;
	}
	return 0;
}

void fabric_poke_host(struct fabric *f, uint32_t host)
{
	actor_poke(&f->hosts[host].actor);
}

uint64_t fabric_hops(const struct fabric *f)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++)
			n += wire_counts(wire_end(f->links[i].wire, side)).delivered;
	return n;
}

bool fabric_balanced(const struct fabric *f, char *text, size_t len)
{
	for (uint32_t i = 0; i < f->sc->n_switches; i++) {
		const struct balance b = switch_balance(f->switches[i].sw);
		uint64_t begun = balance_begun(&b), ended = balance_ended(&b);

		if (begun == ended)
			continue;
		snprintf(text, len,
			 "switch %s: %" PRIu64 " frames began, %" PRIu64 " ended or wait",
			 f->sc->switches[i].name, begun, ended);
		return false;
	}
	for (uint32_t i = 0; i < f->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++) {
			const struct wire_counts c = wire_counts(wire_end(f->links[i].wire, side));

			if (wire_balanced(&c))
				continue;
			snprintf(text, len,
				 "link %s: %" PRIu64 " frames sent, %" PRIu64 " delivered, %" PRIu64
				 " under way",
				 f->sc->links[i].name, c.frames, c.delivered, c.in_flight);
			return false;
		}
	return true;
}
