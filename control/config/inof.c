// SPDX-License-Identifier: Apache-2.0
// iNOF of a policy: its zones, and which ports take part.
#include <string.h>

#include "control/config/compile.h"
#include "control/config/config.h"
#include "control/inof/registry.h"

static bool is_on(const struct config *c)
{
	return cfg_is_on(&c->root.inof.on, &c->root.inof.map);
}

bool cfg_inof(const struct config *c, const struct cfg_port *p)
{
	return is_on(c) && p->inof.n != 0 && cfg_lldp(c, p);
}

// ---- zones
static int port_of(const void *arg, const char *name)
{
	return cfg_find_port(arg, name);
}

static void read_members(const struct config *c, const struct cfg_inof_zone *from,
			 struct inof_zone *to, struct diag_sink *s)
{
	for (unsigned i = 0; i < from->members.n; i++) {
		const struct cfg_val *v = &from->members.items[i];
		const char *why = inof_member_parse(v->text, port_of, c, &to->members[to->n]);

		if (why == NULL)
			to->members[to->n++].text = (char *)(uintptr_t)v->text;
		else
			REFUSE(s, v, "\"%s\" %s", v->text, why);
	}
}

static void read_zone(struct config *c, const struct cfg_inof_zone *from, struct inof_zone *to,
		      struct diag_sink *s)
{
	if (strlen(from->map.name) >= sizeof(to->name) || strcmp(from->map.name, "default") == 0) {
		diag_add(s, DIAG_ERROR, from->map.at, from->map.path,
			 "a zone has a name of at most %d characters, and not \"default\"",
			 INOF_ZONE_NAME - 1);
		return;
	}
	if (from->members.n > INOF_MEMBERS) {
		diag_add(s, DIAG_ERROR, from->members.map.at, from->members.map.path,
			 "%u members are more than %d" CURE "use prefixes, ranges or patterns",
			 from->members.n, INOF_MEMBERS);
		return;
	}
	strcpy(to->name, from->map.name);
	to->members = arena_alloc(&c->arena, from->members.n * sizeof(*to->members));
	read_members(c, from, to, s);
}

void inof_resolve(struct config *c, struct diag_sink *s)
{
	const struct cfg_list *zones = &c->root.inof.zones;

	c->inof_zones = arena_alloc(&c->arena, zones->n * sizeof(*c->inof_zones));
	c->n_inof_zones = zones->n;
	for (unsigned i = 0; i < zones->n; i++)
		read_zone(c, (const struct cfg_inof_zone *)zones->items + i, &c->inof_zones[i], s);
}

bool config_inof(const struct config *c, struct inof_conf *out, const struct inof_zone **zones,
		 unsigned *n_zones)
{
	const struct cfg_inof *f = &c->root.inof;

	*out = (struct inof_conf){.default_zone = f->default_zone.n != 0,
				  .hard_zoning = f->hard_zoning.n != 0,
				  .unique_nqn = f->unique_nqn.n != 0};
	for (unsigned i = 0; i < c->n_ports; i++)
		if (cfg_inof(c, c->ports[i].item))
			out->ports[i / 64] |= 1ull << i % 64;
	*zones = c->inof_zones;
	*n_zones = c->n_inof_zones;
	return is_on(c);
}

int config_port_named(const struct config *c, const char *name)
{
	return cfg_find_port(c, name);
}

// ---- rules
static void inof_has_lldp(const struct subject *x)
{
	if (is_on(x->c) && x->item->inof.n != 0 && !cfg_lldp(x->c, x->item))
		diag_add(x->s, DIAG_WARNING, x->item->map.at, x->item->map.path,
			 "no host can register here with inof, because the port does not speak "
			 "LLDP" CURE "give the port lldp: on without keep: [lldp], or inof: off");
}

void inof_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {{OF_ITEM, inof_has_lldp}};

	CHECK_RULES(rules, .c = c, .s = s);
}
