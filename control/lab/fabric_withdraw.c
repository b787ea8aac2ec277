// SPDX-License-Identifier: Apache-2.0
// Derived routes follow the ports that are up: a next hop is left out on every switch while no
// link behind it leads on to the host. All switches know of a port at once, as with a routing
// protocol that needs no time. A longer way is not taken.
#include "control/lab/fabric_int.h"
#include "dataplane/switch_routes.h"

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

void fabric_track(struct fabric *f, uint32_t sw)
{
	struct looker l = {f, sw};

	switch_track_nexthops(f->switches[sw].sw, leads, &l);
}

// Whether a port has gone down or come up since the last look.
static bool ports_changed(struct fabric *f, uint32_t sw)
{
	const struct sc_switch *s = &f->sc->switches[sw];
	bool changed = false;

	for (uint32_t p = 0; p < s->n_ports; p++) {
		uint32_t link = s->ports[p].link;
		uint8_t bit = (uint8_t)(1u << s->ports[p].side);
		bool down = !switch_link_up(f->switches[sw].sw, p);

		if (link == SC_NO_LINK || down == ((f->ends_down[link] & bit) != 0))
			continue;
		f->ends_down[link] ^= bit;
		changed = true;
	}
	return changed;
}

void fabric_withdraw(struct fabric *f, uint32_t sw)
{
	if (!ports_changed(f, sw))
		return;
	routes_follow(&f->routes, f->ends_down);
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		fabric_track(f, i);
}
