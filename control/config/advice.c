// SPDX-License-Identifier: Apache-2.0
#include "control/config/advice.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "control/config/check.h"
#include "dataplane/units.h"

// A burst of a round trip in a data centre: a smaller shared pool absorbs none.
enum { LEAST_POOL_US = 100, LIST_LEN = 32 };

struct advice {
	const struct config *c;
	const struct port_facts *facts;
	const struct policy *p;
	struct diag_sink *s;
};

// 0: only the link knows, and the link is not open.
static uint64_t speed_of(const struct advice *a, unsigned port)
{
	int64_t given = a->c->ports[port].item->speed.n;

	if (given != 0)
		return (uint64_t)given;
	return a->facts != NULL ? a->facts[port].speed_bps : 0;
}

// ---- one profile
// "class 3" or "classes 3, 4"; false where no class is lossless.
static bool list_lossless(const struct cfg_profile *p, char out[LIST_LEN])
{
	unsigned n = 0;
	size_t len = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		n += p->classes[cls].lossless.n != 0;
	len += (size_t)snprintf(out, LIST_LEN, n == 1 ? "class" : "classes");
	for (unsigned cls = 0, k = 0; cls < N_CLASSES; cls++)
		if (p->classes[cls].lossless.n)
			len += (size_t)snprintf(out + len, LIST_LEN - len, "%s %u",
						k++ > 0 ? "," : "", cls);
	return n > 0;
}

static void lossless_classes_have_pfc(const struct advice *a, const struct cfg_profile *p)
{
	char list[LIST_LEN];

	if (!list_lossless(p, list))
		return;
	if (!p->pfc.tx.n)
		WARN(a->s, &p->pfc.tx,
		     "the switch does not pause the senders of lossless %s, and drops frames "
		     "when the headroom is full" CURE "set tx: on, or remove lossless",
		     list);
	if (!p->pfc.rx.n)
		WARN(a->s, &p->pfc.rx,
		     "the switch ignores a PAUSE for lossless %s, and the peer drops frames" CURE
		     "set "
		     "rx: on, or remove lossless",
		     list);
}

// Classes that a frame can get on some port of the profile.
static unsigned reached_classes(const struct advice *a, const struct cfg_profile *p)
{
	bool by_dscp = p->trust.n == TRUST_DSCP;
	bool by_pcp = p->trust.n == TRUST_PCP || (by_dscp && p->pcp_to_class.map.given);
	unsigned classes = 0;

	for (unsigned i = 0; i < a->c->n_ports; i++)
		if (a->c->ports[i].profile == p)
			classes |= 1u << a->c->ports[i].item->default_class.n;
	for (unsigned dscp = 0; by_dscp && dscp < 64; dscp++)
		classes |= 1u << cfg_dscp_class(p, dscp);
	for (unsigned pcp = 0; by_pcp && pcp < 8; pcp++)
		classes |= 1u << cfg_mapped(&p->pcp_to_class, pcp);
	return classes;
}

static void lossless_classes_are_reached(const struct advice *a, const struct cfg_profile *p)
{
	static const struct {
		const char *by, *map;
	} trust[] = {
		[TRUST_DSCP] = {"DSCP", "dscp_to_class"},
		[TRUST_PCP] = {"PCP", "pcp_to_class"},
		[TRUST_PORT] = {"port", "default_class of a port"},
	};
	unsigned reached = reached_classes(a, p);

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (p->classes[cls].lossless.n && !(reached >> cls & 1))
			WARN(a->s, &p->classes[cls].lossless,
			     "no %s leads to class %u: no frame uses the class and its "
			     "headroom" CURE "name the class in %s, or remove lossless",
			     trust[p->trust.n].by, cls, trust[p->trust.n].map);
}

static void max_rates_limit_something(const struct advice *a, const struct cfg_profile *p)
{
	uint64_t fastest = 0;

	for (unsigned i = 0; i < a->c->n_ports; i++) {
		if (a->c->ports[i].profile != p)
			continue;
		if (speed_of(a, i) == 0)
			return;
		if (speed_of(a, i) > fastest)
			fastest = speed_of(a, i);
	}
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_val *rate = &p->classes[cls].max_rate;

		if ((uint64_t)rate->n > fastest)
			WARN(a->s, rate,
			     "%s is above %s, the speed of the fastest port of the profile: the "
			     "rate"
			     " limits nothing" CURE "lower or remove it",
			     UNIT_TEXT(UNIT_RATE, rate->n), UNIT_TEXT(UNIT_RATE, (int64_t)fastest));
	}
}

static void advise_profile(const struct advice *a, const struct cfg_profile *p)
{
	if (!cfg_profile_runs(a->c, p)) {
		WARN(a->s, &p->map,
		     "no port uses this profile" CURE
		     "name it at a port as profile: %s, or remove it",
		     p->map.name);
		return;
	}
	lossless_classes_have_pfc(a, p);
	lossless_classes_are_reached(a, p);
	max_rates_limit_something(a, p);
}

// ---- one port
static void pcp_is_in_a_tag(const struct advice *a, const struct config_port *port)
{
	const struct cfg_port *item = port->item;

	if (port->profile->trust.n == TRUST_PCP &&
	    (port->routed || (cfg_vlan_aware(a->c) && item->vlan.tagged.n == 0)))
		check_report(a->s, DIAG_WARNING, &item->profile, &item->map, "profile",
			     "profile %s trusts PCP, and the untagged frames of this port have"
			     " none: they all get class %u" CURE "%s",
			     port->profile->map.name, (unsigned)item->default_class.n,
			     port->routed ? "set trust: dscp"
					  : "set trust: dscp, or give vlan.tagged");
}

static void port_is_in_a_vlan(const struct advice *a, const struct config_port *port)
{
	const struct cfg_port_vlan *v = &port->item->vlan;

	if (cfg_untagged(port->item) == 0 && v->tagged.n == 0)
		WARN(a->s, &v->untagged,
		     "the port is in no VLAN and forwards no frame" CURE
		     "give a VLAN in untagged or tagged");
}

// ---- the switch
static void workers_have_processors(const struct advice *a, unsigned n_processors)
{
	const struct cfg_workers *w = &a->c->root.sw.workers;
	unsigned n = config_n_workers(a->c);

	if (n > n_processors)
		diag_add(a->s, DIAG_WARNING, w->cores.n != 0 ? w->cores.map.at : w->count.at,
			 "switch.workers",
			 "%u workers need a processor each, and this machine has %u" CURE
			 "use at most %u",
			 n, n_processors, n_processors);
}

static void shared_pool_absorbs_a_burst(const struct advice *a)
{
	const struct cfg_buffer *b = &a->c->root.sw.buffer;
	uint64_t pool = a->p->buffer.ingress_pool_cells * (uint64_t)a->p->cell.bytes, us;
	unsigned port = 0;

	for (unsigned i = 1; i < a->c->n_ports; i++)
		if (speed_of(a, i) > speed_of(a, port))
			port = i;
	if (speed_of(a, port) == 0)
		return;
	us = pool * 8 * SECOND_US / speed_of(a, port);
	if (us >= LEAST_POOL_US)
		return;
	diag_add(a->s, DIAG_WARNING,
		 b->size.given	? b->size.at
		 : b->map.given ? b->map.at
				: a->c->root.ports.map.at,
		 "switch.buffer.size",
		 "the shared pool of %" PRIu64 " B holds %" PRIu64 " us at %s, the speed of port"
		 " %s, less than %d us" CURE
		 "enlarge size, shorten the cables, or raise oversubscription",
		 pool, us, UNIT_TEXT(UNIT_RATE, (int64_t)speed_of(a, port)), a->c->ports[port].name,
		 LEAST_POOL_US);
}

void advice_add(const struct config *c, const struct port_facts *facts, const struct policy *p,
		unsigned n_processors, struct diags *d)
{
	struct diag_sink s = {.file = c->file};
	const struct advice a = {c, facts, p, &s};
	const struct cfg_profile *profiles = c->root.profiles.items;

	for (unsigned i = 0; i < c->root.profiles.n; i++)
		advise_profile(&a, &profiles[i]);
	for (unsigned i = 0; i < c->n_ports; i++) {
		pcp_is_in_a_tag(&a, &c->ports[i]);
		port_is_in_a_vlan(&a, &c->ports[i]);
	}
	workers_have_processors(&a, n_processors);
	shared_pool_absorbs_a_burst(&a);
	diag_finish(&s, d);
}

unsigned advice_processors(void)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	// A machine with more processors than the set holds has enough of them.
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return CPU_SETSIZE;
	return (unsigned)CPU_COUNT(&allowed);
}
