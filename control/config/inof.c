// SPDX-License-Identifier: Apache-2.0
// iNOF of a policy: its zones, where addresses register, and which ports take part.
#include <stdlib.h>
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
static int member_port_number(const void *arg, const char *name)
{
	return cfg_find_port(arg, name);
}

static void read_members(const struct config *c, const struct cfg_inof_zone *from,
			 struct inof_zone *to, struct diag_sink *s)
{
	for (unsigned i = 0; i < from->members.n; i++) {
		const struct cfg_val *v = &from->members.items[i];
		const char *why =
			inof_member_parse(v->text, member_port_number, c, &to->members[to->n]);

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

// ---- pins
static bool read_pin(const struct config *c, const struct cfg_inof_host *from,
		     struct inof_pin *to, struct diag_sink *s)
{
	struct inof_member m;

	if (inof_member_parse(from->map.name, NULL, NULL, &m) != NULL ||
	    m.kind != INOF_MEMBER_IP || strpbrk(from->map.name, "/-") != NULL) {
		diag_add(s, DIAG_ERROR, from->map.at, from->map.path,
			 "is no address" CURE "write 10.0.0.1: p1");
		return false;
	}
	*to = (struct inof_pin){.ip = m.first};
	for (unsigned i = 0; i < from->ports.n; i++) {
		const struct cfg_val *v = &from->ports.items[i];
		int port = cfg_find_port(c, v->text);

		if (port >= 0)
			to->ports[port / 64] |= 1ull << port % 64;
		else if (strcmp(v->text, "peer") == 0)
			to->peer = true;
		else
			REFUSE(s, v, "there is no port %s" CURE "for hosts of other switches write "
			       "peer", v->text);
	}
	return true;
}

static int order_pins(const void *a, const void *b)
{
	const struct inof_pin *x = a, *y = b;

	return (int)inof_ip_is_above(x->ip, y->ip) - (int)inof_ip_is_above(y->ip, x->ip);
}

static void resolve_pins(struct config *c, struct diag_sink *s)
{
	const struct cfg_list *hosts = &c->root.inof.hosts;
	const struct cfg_inof_host *items = hosts->items;
	char ip[INOF_IP_TEXT];

	c->inof_pins = arena_alloc(&c->arena, hosts->n * sizeof(*c->inof_pins));
	for (unsigned i = 0; i < hosts->n; i++)
		c->n_inof_pins += read_pin(c, &items[i], &c->inof_pins[c->n_inof_pins], s);
	if (c->n_inof_pins > 0)
		qsort(c->inof_pins, c->n_inof_pins, sizeof(*c->inof_pins), order_pins);
	for (unsigned i = 1; i < c->n_inof_pins; i++)
		if (ip_key_same(c->inof_pins[i - 1].ip, c->inof_pins[i].ip)) {
			inof_ip_print(c->inof_pins[i].ip, ip);
			REFUSE(s, &hosts->map, "%s is given twice", ip);
		}
}

void inof_resolve(struct config *c, struct diag_sink *s)
{
	const struct cfg_list *zones = &c->root.inof.zones;

	resolve_pins(c, s);
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
				  .unique_nqn = f->unique_nqn.n != 0,
				  .pins = c->inof_pins, .n_pins = c->n_inof_pins};
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
