// SPDX-License-Identifier: Apache-2.0
// The deadlock guard of a policy: the ports and the rules of each group, and whether the rules
// break every cycle of pauses.
//
// A frame that turns back moves from its class to that of its rule, so a rule is an edge between
// classes. A cycle of pauses needs a cycle of lossless classes (or a class that follows itself);
// therefore the edges between lossless classes must have no cycle, and every chain of rules must
// end in a lossy class, after which no PAUSE follows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "dataplane/policy.h"

// ---- groups
// The port's guard or its profile's, whichever names the group; NULL: the port is in none.
static const struct cfg_guard *named_by(const struct config_port *p)
{
	const struct cfg_guard *own = &p->item->guard;

	if (own->off.given)
		return NULL;
	if (own->group.given)
		return own;
	return p->profile->guard.group.given ? &p->profile->guard : NULL;
}

static const struct cfg_list *remap_of(const struct config_port *p)
{
	if (p->item->guard.remap.map.given)
		return &p->item->guard.remap;
	return p->profile->guard.remap.map.given ? &p->profile->guard.remap : NULL;
}

static struct config_group *group_named(struct config *c, const char *name)
{
	unsigned g = 0;

	while (g < c->n_groups && strcmp(c->groups[g].name, name) != 0)
		g++;
	if (g == c->n_groups)
		c->groups[c->n_groups++] = (struct config_group){
			.name = name,
			.kinds = arena_alloc(&c->arena, c->n_ports * sizeof(*c->groups[g].kinds)),
		};
	return &c->groups[g];
}

static bool readable(const struct cfg_val *v)
{
	return v->given && !v->bad;
}

static void find_groups(struct config *c)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct config_port *p = &c->ports[i];
		const struct cfg_guard *by = named_by(p);
		const struct cfg_list *remap = remap_of(p);
		const struct cfg_guard_rule *items;
		struct cfg_guard_rule *out;
		struct config_group *g;
		unsigned kind = 0;

		if (by == NULL || by->group.bad)
			continue;
		g = group_named(c, by->group.text);
		p->group = (unsigned)(g - c->groups) + 1;
		while (kind < g->n_kinds && g->kinds[kind]->profile != p->profile)
			kind++;
		if (kind == g->n_kinds)
			g->kinds[g->n_kinds++] = p;
		if (remap == NULL || g->remap != NULL)
			continue;
		items = remap->items;
		g->remap = remap;
		g->remap_port = i;
		g->rules = out = arena_alloc(&c->arena, (remap->n + 1) * sizeof(*out));
		for (unsigned n = 0; n < remap->n; n++)
			if (readable(&items[n].dscp) && readable(&items[n].to_class) &&
			    readable(&items[n].to_dscp))
				out[g->n_rules++] = items[n];
	}
}

// ---- rules about ports
static bool same_rules(const struct cfg_list *a, const struct cfg_list *b)
{
	const struct cfg_guard_rule *x = a->items, *y = b->items;

	for (unsigned i = 0; i < a->n; i++) {
		unsigned k = 0;

		while (k < b->n &&
		       (x[i].dscp.n != y[k].dscp.n || x[i].to_class.n != y[k].to_class.n ||
			x[i].to_dscp.n != y[k].to_dscp.n))
			k++;
		if (k == b->n)
			return false;
	}
	return a->n == b->n;
}

static void port_has_the_groups_rules(const struct subject *x)
{
	const struct config_group *g = &x->c->groups[x->port->group == 0 ? 0 : x->port->group - 1];
	const struct cfg_list *own = remap_of(x->port);

	if (x->port->group != 0 && own != NULL && !same_rules(own, g->remap))
		REFUSE(x->s, &own->map,
		       "port %s has other rules than port %s (line %u), and both are in group "
		       "%s" CURE "give all ports of the group the same rules",
		       x->port->name, x->c->ports[g->remap_port].name, g->remap->map.at.line,
		       g->name);
}

static void group_has_rules(const struct subject *x)
{
	static const struct cfg_val absent;
	const struct cfg_guard *by = named_by(x->port);
	const struct cfg_list *remap;

	if (x->port->group == 0)
		return;
	remap = x->c->groups[x->port->group - 1].remap;
	if (remap == NULL || remap->n == 0)
		check_report(x->s, DIAG_ERROR, &absent, &by->map, "remap",
			     "no port of group %s has rules" CURE "give remap to one of its ports",
			     by->group.text);
}

static unsigned ports_in(const struct config *c, unsigned group, const struct cfg_profile *profile)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_ports; i++)
		n += (group == 0 ? c->ports[i].group != 0 : c->ports[i].group == group) &&
		     (profile == NULL || c->ports[i].profile == profile);
	return n;
}

static void group_has_ports(const struct subject *x)
{
	const struct cfg_guard *by = named_by(x->port);

	if (x->port->group != 0 && ports_in(x->c, x->port->group, NULL) == 1)
		WARN(x->s, &by->group,
		     "%s has only port %s: a frame turns back only if it leaves by the port by "
		     "which it arrived",
		     by->group.text, x->port->name);
}

static void guard_names_a_group(const struct subject *x)
{
	const struct cfg_guard *own = &x->item->guard, *profiles = &x->profile->guard;

	if (named_by(x->port) != NULL || own->off.given)
		return;
	if (own->map.given)
		check_report(x->s, DIAG_ERROR, &own->group, &own->map, "group",
			     "is required: frames turn back between the ports of a group");
	else if (profiles->map.given && ports_in(x->c, 0, x->profile) == 0)
		WARN(x->s, &profiles->map, "has no effect: no port of profile %s is in a group",
		     x->profile->map.name);
}

static void guarded_port_trusts_dscp(const struct subject *x)
{
	const struct cfg_val *trust = &x->profile->trust;

	if (x->port->group != 0 && !trust->bad && trust->n != TRUST_DSCP)
		REFUSE(x->s, &named_by(x->port)->group,
		       "a guard needs the DSCP, and profile %s of port %s trusts %s" CURE
		       "set trust: dscp in the profile",
		       x->profile->map.name, x->port->name, cfg_trust_words[trust->n]);
}

// ---- rules about rules
static const struct cfg_guard_rule *rule_for(const struct config_group *g, int64_t dscp)
{
	for (unsigned i = 0; i < g->n_rules; i++)
		if (g->rules[i].dscp.n == dscp)
			return &g->rules[i];
	return NULL;
}

static void a_dscp_has_one_rule(const struct config_group *g, struct diag_sink *s)
{
	for (unsigned i = 0; i < g->n_rules; i++) {
		const struct cfg_guard_rule *r = &g->rules[i], *first = rule_for(g, r->dscp.n);

		if (first != r)
			REFUSE(s, &r->dscp,
			       "DSCP %u has a rule already, on line %u" CURE "keep one",
			       (unsigned)r->dscp.n, first->dscp.at.line);
	}
}

// The first port of the group where the class is lossless, or NULL.
static const struct config_port *lossless_on(const struct config_group *g, unsigned cls)
{
	for (unsigned i = 0; i < g->n_kinds; i++)
		if (cfg_lossless(g->kinds[i]->profile) >> cls & 1)
			return g->kinds[i];
	return NULL;
}

static bool dscps_are_of_their_classes(const struct config_group *g, struct diag_sink *s)
{
	bool ok = true;

	for (unsigned i = 0; i < g->n_kinds; i++)
		for (unsigned n = 0; n < g->n_rules; n++) {
			const struct config_port *p = g->kinds[i];
			const struct cfg_guard_rule *r = &g->rules[n];
			unsigned cls = cfg_dscp_class(p->profile, (unsigned)r->to_dscp.n);

			if (cls == r->to_class.n)
				continue;
			ok = false;
			REFUSE(s, &r->to_dscp,
			       "DSCP %u is class %u on port %s (profile %s), not class %u: the "
			       "next switch would give the frame the wrong class" CURE "use a "
			       "DSCP of class %u",
			       (unsigned)r->to_dscp.n, cls, p->name, p->profile->map.name,
			       (unsigned)r->to_class.n, (unsigned)r->to_class.n);
		}
	return ok;
}

static bool is_dscp_lossless(const struct cfg_profile *p, unsigned dscp)
{
	return p->classes[cfg_dscp_class(p, dscp)].lossless.n != 0;
}

static void rules_are_for_lossless_classes(const struct config_group *g, struct diag_sink *s)
{
	for (unsigned n = 0; n < g->n_rules; n++) {
		unsigned dscp = (unsigned)g->rules[n].dscp.n;
		bool needed = false;

		for (unsigned i = 0; i < g->n_kinds; i++)
			needed |= is_dscp_lossless(g->kinds[i]->profile, dscp);
		if (!needed)
			WARN(s, &g->rules[n].dscp,
			     "DSCP %u is class %u, which is lossy: the class sends no PAUSE, "
			     "and the rule is not needed",
			     dscp, cfg_dscp_class(g->kinds[0]->profile, dscp));
	}
}

static void chains_end_lossy(const struct config_group *g, struct diag_sink *s)
{
	for (unsigned n = 0; n < g->n_rules; n++) {
		const struct cfg_guard_rule *r = &g->rules[n];
		const struct config_port *p = lossless_on(g, (unsigned)r->to_class.n);

		if (p != NULL && rule_for(g, r->to_dscp.n) == NULL)
			REFUSE(s, &r->to_class,
			       "the chain ends in class %u, which is lossless on port %s" CURE
			       "end it in a lossy class, or give DSCP %u a rule too",
			       (unsigned)r->to_class.n, p->name, (unsigned)r->to_dscp.n);
	}
}

// The cycle that r's DSCP is on, as "26 -> 34 -> 26", where r is its first rule of the file.
static const char *cycle_from(struct config *c, const struct config_group *g,
			       const struct cfg_guard_rule *r)
{
	const char *text = arena_printf(&c->arena, "%u", (unsigned)r->dscp.n);
	const struct cfg_guard_rule *at = r;

	for (unsigned n = 0; n < g->n_rules && at != NULL && at >= r; n++) {
		text = arena_printf(&c->arena, "%s -> %u", text, (unsigned)at->to_dscp.n);
		if (at->to_dscp.n == r->dscp.n)
			return text;
		at = rule_for(g, at->to_dscp.n);
	}
	return NULL;
}

static bool chains_end(struct config *c, const struct config_group *g, struct diag_sink *s)
{
	bool ok = true;

	for (unsigned n = 0; n < g->n_rules; n++) {
		const struct cfg_guard_rule *r = &g->rules[n];
		const char *cycle = rule_for(g, r->dscp.n) == r ? cycle_from(c, g, r) : NULL;

		if (cycle == NULL)
			continue;
		ok = false;
		REFUSE(s, &r->dscp, "the guard rules form a cycle: DSCP %s", cycle);
	}
	return ok;
}

// The classes on a way between two, as " -> 4 -> 3"; NULL: there is none. Classes of `seen` are not
// passed again.
static const char *way(struct config *c, const uint8_t to[N_CLASSES], unsigned from, unsigned end,
		       uint8_t *seen)
{
	*seen |= (uint8_t)(1u << from);
	if (to[from] >> end & 1)
		return arena_printf(&c->arena, " -> %u", end);
	for (unsigned next = 0; next < N_CLASSES; next++) {
		const char *rest;

		if (!(to[from] >> next & 1) || (*seen >> next & 1))
			continue;
		rest = way(c, to, next, end, seen);
		if (rest != NULL)
			return arena_printf(&c->arena, " -> %u%s", next, rest);
	}
	return NULL;
}

// Chains that end can still lead round: 26 (class 3) to 34 (class 4), and 35 (class 4) to 27 (3).
static void classes_do_not_return(struct config *c, const struct config_group *g,
				  struct diag_sink *s)
{
	uint8_t to[N_CLASSES] = {0}; // the edges, where both classes are lossless

	for (unsigned n = 0; n < g->n_rules; n++)
		for (unsigned i = 0; i < g->n_kinds; i++) {
			const struct cfg_guard_rule *r = &g->rules[n];
			const struct cfg_profile *p = g->kinds[i]->profile;

			if (is_dscp_lossless(p, (unsigned)r->dscp.n) &&
			    lossless_on(g, (unsigned)r->to_class.n) != NULL)
				to[cfg_dscp_class(p, (unsigned)r->dscp.n)] |=
					(uint8_t)(1u << r->to_class.n);
		}
	for (unsigned n = 0; n < g->n_rules; n++)
		for (unsigned i = 0; i < g->n_kinds; i++) {
			const struct cfg_guard_rule *r = &g->rules[n];
			unsigned cls = cfg_dscp_class(g->kinds[i]->profile, (unsigned)r->dscp.n);
			uint8_t seen = 0;
			const char *round = way(c, to, cls, cls, &seen);

			if (round == NULL)
				continue;
			REFUSE(s, &r->to_class,
			       "the rules lead back to lossless class %u (%u%s), so pauses can "
			       "still form a cycle" CURE "let each rule lead to a class that "
			       "the chain has not used",
			       cls, cls, round);
			return; // once is enough
		}
}

void guards_resolve(struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_PORT, guard_names_a_group},	      {OF_PORT, guarded_port_trusts_dscp},
		{OF_PORT, group_has_rules},	      {OF_PORT, group_has_ports},
		{OF_PORT, port_has_the_groups_rules},
	};

	find_groups(c);
	CHECK_RULES(rules, .c = c, .s = s);
	for (const struct config_group *g = c->groups; g < c->groups + c->n_groups; g++) {
		bool ends = chains_end(c, g, s);
		bool fits = dscps_are_of_their_classes(g, s);

		a_dscp_has_one_rule(g, s);
		rules_are_for_lossless_classes(g, s);
		chains_end_lossy(g, s);
		if (ends && fits)
			classes_do_not_return(c, g, s);
	}
}

// ---- compile
void compile_guards(struct compiler *k)
{
	struct policy *p = k->p;

	for (unsigned i = 0; i < p->n_ports; i++) {
		unsigned group = k->c->ports[i].group;
		const struct config_group *g = &k->c->groups[group == 0 ? 0 : group - 1];
		struct guard_params *out = &p->ports[i].guard;

		memset(out->rule_of_dscp, GUARD_NO_RULE, sizeof(out->rule_of_dscp));
		out->group = (uint16_t)group;
		p->ports[i].edits |= group != 0;
		out->n_rules = group == 0 ? 0 : (uint8_t)g->n_rules;
		for (unsigned n = 0; n < out->n_rules; n++) {
			const struct cfg_guard_rule *r = &g->rules[n];

			out->rule_of_dscp[r->dscp.n] = (uint8_t)n;
			out->rules[n] = (struct guard_rule){
				(uint8_t)r->dscp.n, (uint8_t)r->to_class.n, (uint8_t)r->to_dscp.n};
		}
	}
	if (k->c->n_groups == 0)
		return;
	p->guard_groups = calloc(k->c->n_groups, sizeof(p->guard_groups[0]));
	if (p->guard_groups == NULL)
		return;
	for (unsigned g = 0; g < k->c->n_groups; g++)
		snprintf(p->guard_groups[g], POLICY_NAME_LEN, "%s", k->c->groups[g].name);
	p->n_guard_groups = k->c->n_groups;
}

unsigned guard_chain(const struct guard_params *g, uint8_t dscp, uint8_t out[GUARD_CHAIN_MAX])
{
	unsigned n = 0;

	out[n++] = dscp;
	while (n < GUARD_CHAIN_MAX && g->rule_of_dscp[dscp & 63] != GUARD_NO_RULE) {
		dscp = g->rules[g->rule_of_dscp[dscp & 63]].to_dscp;
		out[n++] = dscp;
	}
	return n;
}
