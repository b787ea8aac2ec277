// SPDX-License-Identifier: Apache-2.0
// Faults of a scenario at their instants, and their ends.
#include <errno.h>
#include <stdlib.h>

#include "control/lab/fabric_int.h"

struct fabric_fault {
	struct fabric *f;
	const struct sc_fault *sc;
	bool on;
	uint32_t turn; // of those that have begun
};

static struct wire_end *leaving_by(const struct fabric *f, const struct sc_fault *sc)
{
	const struct sc_link *l = &f->sc->links[sc->link];
	bool first = l->end[0].is_switch == sc->target.is_switch &&
		     l->end[0].node == sc->target.node && l->end[0].port == sc->target.port;

	return wire_end(f->links[sc->link].wire, first ? 0 : 1);
}

static void storm(struct fabric *f, const struct sc_fault *sc, bool on)
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
			switch_links_changed(f->switches[l->end[i].node].sw);
			fabric_control(f, l->end[i].node);
			actor_poke(&f->switches[l->end[i].node].actor);
		}
}

static void link_lossy(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct wire_loss other = sc->loss;

	if (sc->one_way) {
		wire_set_loss(leaving_by(f, sc), on ? &sc->loss : NULL);
		return;
	}
	other.seed = ~other.seed; // the directions lose different frames
	wire_set_loss(wire_end(f->links[sc->link].wire, 0), on ? &sc->loss : NULL);
	wire_set_loss(wire_end(f->links[sc->link].wire, 1), on ? &other : NULL);
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

	(void)switch_set_tx(s->sw, sc->target.port, sc->cls, !on);
	actor_poke(&s->actor);
}

// Another policy, live. It stays: what a reload brings is not taken back.
static void reload(struct fabric *f, const struct sc_fault *sc, bool on)
{
	if (on)
		fabric_reload(f, sc);
}

static void drop_all(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];

	(void)switch_watchdog_drop_all(s->sw, on);
	actor_poke(&s->actor);
}

// Where there is nothing to recover, an operator is told so; here it changes nothing.
static void recover(struct fabric *f, const struct sc_fault *sc, bool on)
{
	struct fabric_switch *s = &f->switches[sc->target.node];
	int err = 0;

	if (!on)
		return;
	(void)switch_watchdog_recover(s->sw, sc->target.port, (unsigned)sc->cls, &err);
	actor_poke(&s->actor);
}

static void (*const act[N_SC_FAULTS])(struct fabric *f, const struct sc_fault *sc, bool on) = {
	[SC_PAUSE_STORM] = storm,
	[SC_LINK_DOWN] = link_down,
	[SC_LINK_LOSSY] = link_lossy,
	[SC_LINK_SLOW] = link_slow,
	[SC_SLOW_RECEIVER] = slow_receiver,
	[SC_DEAF] = deaf,
	[SC_TX_OFF] = tx_off,
	[SC_RELOAD] = reload,
	[SC_DROP_ALL] = drop_all,
	[SC_RECOVER] = recover,
};

// ---- faults over faults

static bool same_end(const struct sc_end *a, const struct sc_end *b)
{
	return a->is_switch == b->is_switch && a->node == b->node && a->port == b->port;
}

// Whether two faults change the same thing.
static bool meet(const struct sc_fault *a, const struct sc_fault *b)
{
	if (a->kind != b->kind)
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

static void begin(void *arg, uint64_t now_ns)
{
	struct fabric_fault *x = arg;

	(void)now_ns;
	x->on = true;
	x->turn = ++x->f->n_faults_begun;
	act[x->sc->kind](x->f, x->sc, true);
}

// The latest of those that are left counts again: a link that was cut twice is up when both cuts
// are over.
static void end(void *arg, uint64_t now_ns)
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

int fabric_faults(struct fabric *f)
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
			err = vclock_at(&f->clock, x->at_ns + x->for_ns, end, &f->faults[i]);
	}
	for (uint32_t i = 0; i < sc->n_faults && err == 0; i++)
		err = vclock_at(&f->clock, sc->faults[i].at_ns, begin, &f->faults[i]);
	return err;
}
