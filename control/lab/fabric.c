// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fabric.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/chain.h"
#include "control/lab/discovery.h"
#include "control/lab/ideal.h"
#include "control/lab/inof.h"
#include "control/lab/lab_capture.h"
#include "control/lab/operator.h"
#include "control/observe/observe.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/switch_impair.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_routes.h"
#include "dataplane/worker.h"

enum { CONTROL_EVERY_NS = 1000000, PASSES = 3, ERR_LEN = 256 };
enum { LINKS_EVERY_NS = 4 * MS_NS }; // as a live switch with iNOF looks at its links

// ---- derived routes
// Derived routes follow the ports that are up: a next hop is left out on every switch while no
// link behind it leads on to the host. All switches know of a port at once, as with a routing
// protocol that needs no time. A longer way is not taken.

struct looker {
	const struct fabric *f;
	uint32_t sw;
};

static bool leads(void *arg, const struct policy_nexthop *h)
{
	const struct looker *l = arg;
	const struct scenario *sc = l->f->sc;
	const struct sc_port *p = &sc->switches[l->sw].ports[h->port];
	uint32_t next = sc->links[p->link].end[1 - p->side].node;

	return l->f->ends_down[p->link] == 0 && routes_reach(&l->f->routes, next, h->track - 1u);
}

// The routes of one switch follow all ports, as after a publish.
static void fabric_track(struct fabric *f, uint32_t sw)
{
	struct looker l = {f, sw};

	switch_track_nexthops(f->switches[sw].in.sw, leads, &l);
}

// All routes follow the ports of a switch, as control sees them.
static void fabric_withdraw(struct fabric *f, uint32_t sw)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	bool changed = false;

	for (uint32_t p = 0; p < s->n_ports; p++) {
		uint32_t link = s->ports[p].link;
		uint8_t bit = (uint8_t)(1u << s->ports[p].side);
		bool down = !switch_link_up(f->switches[sw].in.sw, p);

		if (link == SC_NO_LINK || down == ((f->ends_down[link] & bit) != 0))
			continue;
		f->ends_down[link] ^= bit;
		changed = true;
	}
	if (!changed)
		return;
	routes_follow(&f->routes, f->ends_down);
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		fabric_track(f, i);
}

// ---- reloads, as of a live switch (control/instance/instance.h), on the virtual clock

enum { LOOK_NS = 500 };

static void reload_now(struct fabric_switch *s);

// Before the policy is published, follow_reload() alone looks.
static void look_at_reload(struct fabric_switch *s)
{
	if (s->in.next == NULL)
		instance_step(&s->in, s->fabric->clock.now_ns);
}

// The hosts know the DSCPs of frames that the policy trims.
static void tell_trimmed_dscps(struct fabric *f, const struct policy *p)
{
	uint64_t dscps = 0;

	for (uint32_t i = 0; i < p->n_ports; i++)
		dscps |= (uint64_t)(p->ports[i].trim.queues != 0) << p->ports[i].trim.dscp;
	for (uint32_t i = 0; i < f->sc->n_hosts && dscps != 0; i++)
		nic_add_trimmed_dscps(f->hosts[i].nic, dscps);
}

// Goes on with a reload. A class is paused no longer than it must be.
static void follow_reload(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;

	instance_step(&s->in, now_ns);
	if (s->in.next == NULL && (s->in.retired == NULL || s->in.change.classes == 0))
		return;
	actor_poke(&s->actor);
	vtimer_set(&s->look, now_ns + LOOK_NS);
}

static void tell_new_policy(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	struct fabric *f = s->fabric;

	(void)now_ns;
	tell_trimmed_dscps(f, s->in.policy);
	fabric_track(f, (uint32_t)(s - f->switches));
	operator_new_policy(f->operator, (uint32_t)(s - f->switches));
	actor_poke(&s->actor);
}

static void settled(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;

	(void)now_ns;
	actor_poke(&s->actor);
	if (s->wants_policy)
		reload_now(s);
}

// Each reload is laid over what the switch started with, so the last one counts.
static void reload_now(struct fabric_switch *s)
{
	struct fabric *f = s->fabric;
	struct config *config = NULL;
	struct policy *policy = NULL;
	struct diags d = {0};

	look_at_reload(s);
	if (instance_reloads(&s->in) || !s->wants_policy)
		return;
	s->wants_policy = false;
	// It compiled before the run; only memory can be short now.
	if (fabric_policy(f, (uint32_t)(s - f->switches), s->reload, &config, &policy, &d) != 0 ||
	    instance_prepare(&s->in, policy) != 0) {
		f->out_of_memory = true;
		policy_destroy(policy);
		config_destroy(config);
	} else {
		instance_reload(&s->in, config, policy, f->clock.now_ns, CHANGE_LATE_NS);
		follow_reload(s, f->clock.now_ns);
	}
	diags_fini(&d);
}

// The policy of the switch once more, as its services want it now.
static int renew_policy(void *arg, uint64_t now_ns, char *err, size_t err_len)
{
	struct fabric_switch *s = arg;

	(void)now_ns, (void)err, (void)err_len;
	s->wants_policy = true;
	reload_now(s);
	return 0;
}

// ---- what else a switch asks of the fabric

static void hear_event(void *arg, const struct event *e, const char *about, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	struct fabric *f = s->fabric;
	uint32_t i = (uint32_t)(s - f->switches);
	struct fabric_loss *l = &f->first_loss;

	(void)about, (void)now_ns;
	storm_log_event(&f->storms, i, e);
	if (e->type == EVENT_DCBX_MISMATCH)
		s->mismatches[e->port]++;
	if (e->type != EVENT_LOSSLESS_DROP)
		return;
	f->n_events++;
	if (!l->seen || e->t_ns < l->t_ns)
		*l = (struct fabric_loss){true, i, e->port, e->cls, e->t_ns, l->count};
	l->count++;
}

// The run began with policies that are right. So the only trouble is a lack of memory.
static void stop_short_of_memory(void *arg, enum trouble_severity severity, const char *text)
{
	struct fabric_switch *s = arg;

	(void)severity, (void)text;
	s->fabric->out_of_memory = true;
}

static void poke_workers(void *arg)
{
	struct fabric_switch *s = arg;

	actor_poke(&s->actor);
}

static void choose_inof_seeds(void *arg, uint32_t *seq, uint64_t *hash)
{
	const struct fabric_switch *s = arg;
	uint32_t i = (uint32_t)(s - s->fabric->switches);

	*seq = (uint32_t)scenario_seed(s->fabric->sc, "inof", i);
	*hash = i;
}

static const struct instance_ops instance_ops = {
	.new_policy = tell_new_policy,
	.settled = settled,
	.event = hear_event,
	.trouble = stop_short_of_memory,
	.renew_policy = renew_policy,
	.wake = poke_workers,
	.inof_seeds = choose_inof_seeds,
};

// ---- actors
// In fixed order. The second pass takes over and settles what the first handed and released between
// workers; the third lets groups leave XOFF for which that made room.
static uint64_t step_workers(struct weir_switch *sw, uint64_t now_ns)
{
	uint64_t wake = UINT64_MAX;

	for (unsigned pass = 0; pass < PASSES; pass++) {
		wake = UINT64_MAX;
		for (unsigned i = 0; i < switch_n_workers(sw); i++)
			wake = min_u64(wake, worker_step(switch_worker(sw, i), now_ns));
	}
	return wake;
}

static uint64_t switch_actor(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	uint64_t wake = s->worker != NULL ? worker_step(s->worker, now_ns)
					  : step_workers(s->in.sw, now_ns);
	uint32_t i = (uint32_t)(s - s->fabric->switches);

	if ((s->fabric->has_inof || s->fabric->has_lldp || s->fabric->sc->learn_neighbours) &&
	    switch_sends_wait(s->in.sw))
		wake = min_u64(wake, now_ns + LOOK_NS);
	// Looked at while everything is as it was when it happened.
	if (s->in.policy->flows.max != 0)
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
// Does what control has to do for a switch, now.
static void fabric_control(struct fabric *f, uint32_t i)
{
	struct fabric_switch *s = &f->switches[i];

	instance_collect(&s->in, f->clock.now_ns);
	if (s->events_lost != switch_events_lost(s->in.sw))
		storm_log_catch_up(&f->storms, i, s->in.sw);
	s->events_lost = switch_events_lost(s->in.sw);
	f->out_of_memory |= f->storms.short_of_memory;
	fabric_withdraw(f, i);
	if (!switch_requests_done(s->in.sw))
		actor_poke(&s->actor);
	look_at_reload(s);
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
	operator_look(f->operator, now_ns);
	discovery_look(f->discovery, now_ns);
	lab_inof_look(f->inof, now_ns);
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		instance_hear(&f->switches[i].in, now_ns);
	lab_inof_exchange(f->inof, now_ns);
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		instance_act(&f->switches[i].in, now_ns);
	if (vclock_at(&f->clock, now_ns + CONTROL_EVERY_NS, control, f) != 0)
		f->out_of_memory = true;
}

// ---- faults of a scenario at their instants, and their ends

struct fabric_fault {
	struct fabric *f;
	const struct sc_fault *sc;
	bool on;
	uint32_t turn; // of those that have begun
};

static bool same_end(const struct sc_end *a, const struct sc_end *b)
{
	return a->is_switch == b->is_switch && a->node == b->node && a->port == b->port;
}

static void pause_storm(struct fabric *f, const struct sc_fault *sc, bool on)
{
	if (on)
		nic_storm_start(f->hosts[sc->target.node].nic, &sc->storm);
	fabric_poke_host(f, sc->target.node);
}

// Both ends see it at once, as a PHY does.
static void link_down(struct fabric *f, const struct sc_fault *sc, bool on)
{
	const struct sc_link *l = &f->sc->links[sc->link];

	wire_set_up(f->links[sc->link].wire, !on);
	for (unsigned i = 0; i < 2; i++)
		if (l->end[i].is_switch) {
			switch_links_changed(f->switches[l->end[i].node].in.sw);
			fabric_control(f, l->end[i].node);
			actor_poke(&f->switches[l->end[i].node].actor);
		}
}

static void link_lossy(struct fabric *f, const struct sc_fault *sc, bool on)
{
	const struct sc_link *l = &f->sc->links[sc->link];
	struct wire_loss other = sc->loss;

	other.seed = ~other.seed; // the directions lose different frames
	for (unsigned side = 0; side < 2; side++)
		if (!sc->one_way || same_end(&l->end[side], &sc->target))
			wire_set_loss(wire_end(f->links[sc->link].wire, side),
				      !on			 ? NULL
				      : side == 0 || sc->one_way ? &sc->loss
								 : &other);
}

static void link_slow(struct fabric *f, const struct sc_fault *sc, bool on)
{
	const struct sc_link *l = &f->sc->links[sc->link];
	struct wire *w = f->links[sc->link].wire;

	if (sc->rate_bps != 0)
		wire_set_speed(w, on ? sc->rate_bps : l->speed_bps);
	if (sc->delay_ns >= 0)
		wire_set_delay(w, on ? (uint64_t)sc->delay_ns : l->delay_ns);
}

static void slow_receiver(struct fabric *f, const struct sc_fault *sc, bool on)
{
	const struct nic_config *c = &f->sc->hosts[sc->target.node].nic;
	struct nic_faults faults = c->faults;

	if (on) {
		faults.rx_rate_bps = sc->rate_bps;
		faults.loopback_bps = sc->loopback_bps;
	}
	if (nic_set_faults(f->hosts[sc->target.node].nic, &faults) == -ENOMEM)
		f->out_of_memory = true;
	fabric_poke_host(f, sc->target.node);
}

static void deaf(struct fabric *f, const struct sc_fault *sc, bool on)
{
	nic_ignore_pause(f->hosts[sc->target.node].nic,
			 on || f->sc->hosts[sc->target.node].nic.ignore_pause);
	fabric_poke_host(f, sc->target.node);
}

static void tx_off(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];

	(void)switch_set_tx(s->in.sw, sc->target.port, sc->cls, !on);
	actor_poke(&s->actor);
}

// Another policy, live. It stays: what a reload brings is not taken back.
static void reload(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];

	if (!on)
		return;
	s->reload = sc;
	s->wants_policy = true;
	reload_now(s);
}

static void drop_all(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];

	(void)switch_watchdog_drop_all(s->in.sw, on);
	actor_poke(&s->actor);
}

// Without a storm to recover an operator gets an error. Here nothing changes.
static void recover(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];
	int err = 0;

	if (!on)
		return;
	(void)switch_watchdog_recover(s->in.sw, sc->target.port, (unsigned)sc->cls, &err);
	actor_poke(&s->actor);
}

// It ends by itself. A port that has too many rules already gets no other one.
static void impair(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];
	uint32_t id;

	if (on && switch_impair_add(s->in.sw, sc->target.port, sc->impair, &id) == -ENOMEM)
		f->out_of_memory = true;
	actor_poke(&s->actor);
}

// A command has no end.
static void weirctl(struct fabric *f, const struct sc_fault *sc, bool on)
{
	if (!on)
		return;
	if (operator_types(f->operator, sc, f->clock.now_ns)) {
		// Before another command.
		(void)switch_actor(&f->switches[sc->target.node], f->clock.now_ns);
		operator_look(f->operator, f->clock.now_ns);
	}
	fabric_control(f, sc->target.node);
	actor_poke(&f->switches[sc->target.node].actor);
}

static void cut_off(struct fabric *f, const struct sc_fault *sc, bool on)
{
	lab_inof_cut_off(f->inof, sc->target.node, on);
}

static void (*const act[N_SC_FAULTS])(struct fabric *f, const struct sc_fault *sc, bool on) = {
#define X(id, key, ...) [SC_##id] = key,
	SC_FAULTS(X)
#undef X
};

// ---- faults over faults

// Whether two faults change the same thing.
static bool meet(const struct sc_fault *a, const struct sc_fault *b)
{
	if (a->kind != b->kind || a->kind == SC_IMPAIR)
		return false;
	if (a->kind == SC_LINK_DOWN || a->kind == SC_LINK_LOSSY || a->kind == SC_LINK_SLOW)
		return a->link == b->link &&
		       (!a->one_way || !b->one_way || same_end(&a->target, &b->target));
	return same_end(&a->target, &b->target) && a->cls == b->cls;
}

// Of the faults that still stand over what x changed, the next in order of their beginnings.
static struct fabric_fault *next_under(struct fabric_fault *x, uint32_t after)
{
	struct fabric *f = x->f;
	struct fabric_fault *next = NULL;

	for (uint32_t i = 0; i < f->sc->n_faults; i++) {
		struct fabric_fault *y = &f->faults[i];

		if (y->on && y->turn > after && meet(x->sc, y->sc) &&
		    (next == NULL || y->turn < next->turn))
			next = y;
	}
	return next;
}

static void begin_fault(void *arg, uint64_t now_ns)
{
	struct fabric_fault *x = arg;

	(void)now_ns;
	x->on = true;
	x->turn = ++x->f->n_faults_begun;
	act[x->sc->kind](x->f, x->sc, true);
}

// The latest of those that are left counts again: a link that was cut twice is up when both cuts
// are over.
static void end_fault(void *arg, uint64_t now_ns)
{
	struct fabric_fault *x = arg, *y;

	(void)now_ns;
	x->on = false;
	y = next_under(x, 0);
	if (x->sc->kind == SC_LINK_DOWN && y != NULL)
		return;
	act[x->sc->kind](x->f, x->sc, false);
	for (; y != NULL; y = next_under(x, y->turn))
		act[y->sc->kind](y->f, y->sc, true);
}

// Schedules every fault and its end. 0 or -ENOMEM.
static int fabric_faults(struct fabric *f)
{
	const struct scenario *sc = f->sc;
	int err = 0;

	f->faults = calloc(sc->n_faults + 1, sizeof(f->faults[0]));
	if (f->faults == NULL)
		return -ENOMEM;
	// At one instant ends come before beginnings.
	for (uint32_t i = 0; i < sc->n_faults && err == 0; i++) {
		const struct sc_fault *x = &sc->faults[i];

		f->faults[i] = (struct fabric_fault){.f = f, .sc = x};
		if (x->for_ns < UINT64_MAX - x->at_ns)
			err = vclock_at(&f->clock, x->at_ns + x->for_ns, end_fault, &f->faults[i]);
	}
	for (uint32_t i = 0; i < sc->n_faults && err == 0; i++)
		err = vclock_at(&f->clock, sc->faults[i].at_ns, begin_fault, &f->faults[i]);
	return err;
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

	for (uint32_t p = 0; p < s->in.policy->n_ports; p++)
		ports[p] = fabric_port(f, i, p);
	err = switch_create(s->in.policy, ports, f->pool, scenario_seed(f->sc, "switch", i),
			    &s->in.sw);
	if (err != 0)
		return err;
	s->worker = switch_n_workers(s->in.sw) == 1 ? switch_worker(s->in.sw, 0) : NULL;
	actor_init(&s->actor, &f->clock, switch_actor, s);
	actor_poke(&s->actor);
	for (uint32_t p = 0; p < s->in.policy->n_ports; p++) {
		wire_end_attach(ports[p].drv, &s->actor);
		fabric_fetch_port(s, p, ports[p].drv);
	}
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

static void hook_lldp(void *arg, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	const struct fabric_host *h = arg;

	discovery_received(h->fabric->discovery, (uint32_t)(h - h->fabric->hosts), frame, len,
			   now_ns);
}

static void hook_other(void *arg, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	const struct fabric_host *h = arg;

	lab_inof_received(h->fabric->inof, (uint32_t)(h - h->fabric->hosts), frame, len, now_ns);
}

struct wire_end *fabric_host_end(const struct fabric *f, uint32_t host)
{
	uint32_t link = f->sc->hosts[host].link;
	const struct sc_end *first = &f->sc->links[link].end[0];

	return wire_end(f->links[link].wire, !first->is_switch && first->node == host ? 0 : 1);
}

static int make_host(struct fabric *f, uint32_t i)
{
	const struct sc_host *sc = &f->sc->hosts[i];
	struct fabric_host *h = &f->hosts[i];
	struct nic_config c = sc->nic;
	struct wire_end *end;

	end = fabric_host_end(f, i);
	c.ops = &wire_ops;
	c.drv = end;
	c.pool = f->pool;
	c.facts = wire_facts(end, sc->mac);
	if (c.rto_ns == 0)
		c.rto_ns = f->rto_ns;
	c.snap = f->sc->whole_frames ? 0 : FABRIC_SNAP;
	c.verify = f->sc->whole_frames;
	c.hooks = (struct nic_hooks){f->hooks.done != NULL ? hook_done : NULL,
				     f->hooks.served != NULL ? hook_served : NULL, hook_cut,
				     sc->lldp.on ? hook_lldp : NULL,
				     sc->inof.role != 0 ? hook_other : NULL, h};
	h->sc = sc;
	h->fabric = f;
	if (nic_create(&c, &h->nic) != 0)
		return -ENOMEM;
	actor_init(&h->actor, &f->clock, nic_actor, h->nic);
	wire_end_attach(end, &h->actor);
	fabric_fetch_nic(h, end);
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
		f->switches[i].in = (struct instance){.ops = &instance_ops,
						      .arg = &f->switches[i],
						      .links_every_ns = LINKS_EVERY_NS,
						      .takes_all = true};
		vtimer_init(&f->switches[i].look, &f->clock, follow_reload, &f->switches[i]);
		TAILQ_INIT(&f->switches[i].crossings);
		TAILQ_INIT(&f->switches[i].levels);
	}
	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		f->has_lldp |= sc->hosts[i].lldp.on;
		f->has_inof |= sc->hosts[i].inof.role != 0;
	}
	routes_derive(sc, &f->routes);
	routes_follow(&f->routes, f->ends_down);
	return f;
}

int fabric_create(const struct scenario *sc, const struct fabric_hooks *hooks, struct fabric **out,
		  struct diags *d)
{
	struct fabric *f = fabric_new(sc);
	char why[ERR_LEN]; // what is wrong with a policy has been said
	int err;

	if (f == NULL)
		return -ENOMEM;
	if (hooks != NULL)
		f->hooks = *hooks;
	err = make_wires(f);
	if (err == 0)
		err = fabric_policies(f, d);
	if (err == 0)
		err = ideal_rto(f, &f->rto_ns);
	if (err == 0)
		err = fabric_memory(f);
	for (uint32_t i = 0; err == 0 && i < sc->n_switches; i++)
		err = make_switch(f, i);
	for (uint32_t i = 0; err == 0 && i < sc->n_hosts; i++)
		err = make_host(f, i);
	for (uint32_t i = 0; err == 0 && i < sc->n_switches; i++)
		tell_trimmed_dscps(f, f->switches[i].in.policy);
	if (err == 0)
		err = fabric_faults(f);
	if (err == 0)
		err = discovery_create(f, &f->discovery);
	if (err == 0)
		err = lab_inof_create(f, &f->inof);
	for (uint32_t i = 0; err == 0 && i < sc->n_switches; i++)
		err = instance_open(&f->switches[i].in, why, sizeof(why));
	if (err == 0)
		err = operator_create(f, &f->operator);
	if (err == 0)
		err = vclock_at(&f->clock, 0, control, f);
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

void fabric_destroy(struct fabric *f)
{
	if (f == NULL)
		return;
	for (uint32_t i = 0; f->switches != NULL && i < f->sc->n_switches; i++) {
		struct fabric_switch *s = &f->switches[i];

		instance_close(&s->in);
		switch_destroy(s->in.sw);
		instance_fini(&s->in);
		flow_book_fini(&s->book);
	}
	for (uint32_t i = 0; f->hosts != NULL && i < f->sc->n_hosts; i++)
		nic_destroy(f->hosts[i].nic);
	for (uint32_t i = 0; f->links != NULL && i < f->sc->n_links; i++)
		wire_destroy(f->links[i].wire);
	for (uint32_t i = 0; f->loose != NULL && i < f->sc->n_ports; i++)
		wire_destroy(f->loose[i]);
	discovery_destroy(f->discovery);
	lab_inof_destroy(f->inof);
	chain_fabric_destroy(f->chain);
	cnp_judge_destroy(f->cnps);
	storm_log_fini(&f->storms);
	fabric_memory_free(f);
	vclock_fini(&f->clock);
	operator_destroy(f->operator);
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

int fabric_introduce(struct fabric *f, uint32_t a, uint32_t b, bool by_ip6)
{
	const uint32_t pair[2] = {a, b};

	for (unsigned i = 0; i < 2; i++) {
		const struct sc_host *to = &f->sc->hosts[pair[1 - i]];
		uint8_t mac[6];
		int err;

		routes_first_hop_mac(f->sc, pair[i], pair[1 - i], mac);
		err = nic_peer_set(f->hosts[pair[i]].nic,
				   by_ip6 ? sc_host_ip6(to) : ip_key_v4(to->ip), mac);
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
		const struct balance b = switch_balance(f->switches[i].in.sw);
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
