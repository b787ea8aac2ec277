// SPDX-License-Identifier: Apache-2.0
#include "control/config/resolve_routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/check.h"
#include "control/config/expand.h"

// ---- addresses of ports

static const char *what_is_wrong(const char *text, struct policy_addr *a)
{
	if (strchr(text, '/') == NULL || !addr_parse(text, a) || a->len == 0)
		return "expected an address with the length of its prefix, such as 10.0.1.1/24";
	if (!addr_is_station(a))
		return "is no address that one station can have";
	if (addr_is_edge(a))
		return "means the whole subnet" CURE "give the switch an address inside it";
	return NULL;
}

static bool port_addr(const struct cfg_port *item, const struct cfg_val *v, unsigned i, unsigned n,
		      struct policy_addr *out, struct diag_sink *s)
{
	struct expansion texts;
	const char *why, *text;

	if (!expand(v->text, &texts, &why)) {
		check_report(s, DIAG_ERROR, &item->map, "ip", v->at, "\"%s\": %s", v->text, why);
		return false;
	}
	if (texts.n != n) {
		check_report(s, DIAG_ERROR, &item->map, "ip", v->at,
			     "%s cannot be the addresses of %u ports"
			     CURE "use a range such as in name",
			     v->text, n);
		return false;
	}
	text = texts.items[i];
	why = what_is_wrong(text, out);
	if (why == NULL)
		return true;
	check_report(s, DIAG_ERROR, &item->map, "ip", v->at, "\"%s\"%s %s", text,
		     strncmp(why, "expected", 8) == 0 ? ":" : "", why);
	return false;
}

void routes_port_addrs(struct config *c, struct config_port *port, unsigned i, unsigned n,
		       struct diag_sink *s)
{
	const struct cfg_port *item = port->item;
	struct policy_addr *addrs;

	port->routed = item->ip.map.given;
	port->addrs = NULL;
	port->n_addrs = 0;
	if (item->ip.n == 0)
		return;
	if (item->ip.n > MAX_PORT_ADDRS) {
		check_report(s, DIAG_ERROR, &item->map, "ip", item->ip.map.at,
			     "%u addresses: at most %d are possible", item->ip.n, MAX_PORT_ADDRS);
		return;
	}
	addrs = arena_alloc(&c->arena, item->ip.n * sizeof(*addrs));
	for (unsigned k = 0; k < item->ip.n; k++)
		port->n_addrs += port_addr(item, &item->ip.items[k], i, n,
					   &addrs[port->n_addrs], s);
	port->addrs = addrs;
}

// ---- what the switch has by itself

static unsigned own_of(const struct policy_addr *a, unsigned port, struct own_prefix *out)
{
	uint8_t whole = (uint8_t)addr_bits(a);
	struct own_prefix self = {.to = *a, .kind = NEXTHOP_SELF, .port = (uint8_t)port};
	unsigned n = 0;

	self.to.len = whole;
	out[n++] = self;
	if (a->len == whole)
		return n;
	out[n] = (struct own_prefix){.to = addr_masked(*a, a->len, false), .kind = NEXTHOP_LINK,
				     .port = (uint8_t)port};
	n++;
	if (a->len + 1 == whole) // both addresses are stations (RFC 3021, RFC 6164)
		return n;
	self.to = addr_masked(*a, a->len, false);
	self.to.len = whole;
	out[n++] = self;
	if (a->family == FAMILY_V4) {
		self.to = addr_masked(*a, a->len, true);
		self.to.len = whole;
		out[n++] = self;
	}
	return n;
}

static int own_cmp(const void *x, const void *y)
{
	const struct own_prefix *a = x, *b = y;
	int d = addr_cmp(&a->to, &b->to);

	return d != 0 ? d : (int)a->port - (int)b->port;
}

unsigned routes_own(const struct config *c, struct own_prefix **out)
{
	struct own_prefix *all;
	unsigned n = 0, kept = 0;

	*out = NULL;
	for (unsigned i = 0; i < c->n_ports; i++)
		n += c->ports[i].routed ? 4 * c->ports[i].n_addrs : 0;
	all = n == 0 ? NULL : calloc(n, sizeof(*all));
	if (all == NULL)
		return 0;
	n = 0;
	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned k = 0; c->ports[i].routed && k < c->ports[i].n_addrs; k++)
			n += own_of(&c->ports[i].addrs[k], i, &all[n]);
	qsort(all, n, sizeof(*all), own_cmp);
	for (unsigned i = 0; i < n; i++)
		if (kept == 0 || addr_cmp(&all[i].to, &all[kept - 1].to) != 0)
			all[kept++] = all[i];
	*out = all;
	return kept;
}

static const struct cfg_val *ip_of(const struct config *c, unsigned port, unsigned k)
{
	const struct cfg_words *ip = &c->ports[port].item->ip;

	return &ip->items[k < ip->n ? k : 0];
}

// Subnets of two ports may lie within each other, but not be the same.
static void subnets_differ(const struct config *c, unsigned port, unsigned k, struct diag_sink *s)
{
	const struct policy_addr *a = &c->ports[port].addrs[k];
	char text[ADDR_TEXT_LEN];

	for (unsigned i = 0; i <= port; i++)
		for (unsigned j = 0; j < (i == port ? k : c->ports[i].n_addrs); j++) {
			const struct policy_addr *b = &c->ports[i].addrs[j];
			bool same = addr_same(a, b);

			if (!same && (i == port || a->len != b->len || !addr_holds(b, a)))
				continue;
			check_report(s, DIAG_ERROR, &c->ports[port].item->map, "ip",
				     ip_of(c, port, k)->at, "%s %s port %s already has",
				     addr_text(a, text),
				     same ? "is an address that" : "is in the subnet that",
				     c->ports[i].name);
			return;
		}
}

// What is kept is kept by the MAC address, and that is what all frames to be routed have.
static void keeps_nothing_to_route(const struct cfg_port *item, struct diag_sink *s)
{
	for (unsigned i = 0; i < item->keep.n; i++) {
		const struct cfg_val *v = &item->keep.items[i];

		if (strcmp(v->text, "lldp") != 0 && strcmp(v->text, "lacp") != 0)
			check_report(s, DIAG_ERROR, &item->map, "keep", v->at,
				     "%s would take frames from those that a port with ip routes: "
				     "only lldp and lacp can be kept there",
				     v->text);
	}
}

static void routed_port_makes_sense(const struct config *c, unsigned port, struct diag_sink *s)
{
	const struct cfg_port *item = c->ports[port].item;
	const struct cfg_fdb *f = c->root.fdb.items;

	for (unsigned k = 0; k < c->ports[port].n_addrs; k++)
		subnets_differ(c, port, k, s);
	keeps_nothing_to_route(item, s);
	if (item->vlan.map.given)
		check_report(s, DIAG_ERROR, &item->map, "vlan", item->vlan.map.at,
			     "a port with ip routes and is in no VLAN" CURE "remove one of them");
	for (unsigned i = 0; i < c->root.fdb.n; i++)
		if (f[i].port.text != NULL && strcmp(f[i].port.text, c->ports[port].name) == 0)
			check_report(s, DIAG_ERROR, &f[i].map, "port", f[i].port.at,
				     "port %s has ip and does not bridge"
				     CURE "name the address under neighbours",
				     c->ports[port].name);
}

// ---- where an address is

// The port whose subnet addr_holds a; -1: none.
static int port_of(const struct config *c, const struct policy_addr *a)
{
	int best = -1, best_len = -1;

	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned k = 0; k < c->ports[i].n_addrs; k++) {
			const struct policy_addr *net = &c->ports[i].addrs[k];

			if (net->family != a->family || (int)net->len <= best_len ||
			    !addr_holds(net, a))
				continue;
			best = (int)i;
			best_len = net->len;
		}
	return best;
}

static bool is_own(const struct config *c, const struct policy_addr *a)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned k = 0; k < c->ports[i].n_addrs; k++)
			if (addr_same(&c->ports[i].addrs[k], a))
				return true;
	return false;
}

static const struct policy_neighbour *neighbour_of(const struct config *c,
						   const struct policy_addr *a)
{
	for (unsigned i = 0; i < c->routes.n_neighbours; i++)
		if (addr_same(&c->routes.neighbours[i].addr, a))
			return &c->routes.neighbours[i];
	return NULL;
}

// ---- neighbours

// The port of a neighbour by name and by subnet, which must agree; -1 after a report.
static int neighbour_port(const struct config *c, const struct cfg_neighbour *n,
			  const struct policy_addr *a, struct diag_sink *s)
{
	int subnet = port_of(c, a), named = -1;

	if (n->port.text != NULL) {
		named = cfg_find_port(c, n->port.text);
		if (named < 0 || !c->ports[named].routed) {
			check_report(s, DIAG_ERROR, &n->map, "port", n->port.at,
				     named < 0 ? "there is no port %s"
					       : "port %s has no ip and does not route",
				     n->port.text);
			return -1;
		}
	}
	if (named < 0 && subnet < 0)
		check_report(s, DIAG_ERROR, &n->map, "ip", n->ip.at,
			     "%s is in no subnet of a port" CURE "name its port", n->ip.text);
	else if (named >= 0 && subnet >= 0 && named != subnet)
		check_report(s, DIAG_ERROR, &n->map, "port", n->port.at,
			     "%s is in the subnet of port %s", n->ip.text, c->ports[subnet].name);
	else
		return named >= 0 ? named : subnet;
	return -1;
}

static bool neighbour(const struct config *c, const struct cfg_neighbour *n,
		      struct policy_neighbour *out, struct diag_sink *s)
{
	int port;

	if (n->ip.text == NULL || n->mac.text == NULL)
		return false;
	if (!cfg_parse_mac(n->mac.text, out->mac) || (out->mac[0] & 1)) {
		check_report(s, DIAG_ERROR, &n->map, "mac", n->mac.at,
			     "\"%s\": expected a unicast address such as 02:00:00:00:00:01",
			     n->mac.text);
		return false;
	}
	if (strchr(n->ip.text, '/') != NULL || !addr_parse(n->ip.text, &out->addr) ||
	    !addr_is_station(&out->addr)) {
		check_report(s, DIAG_ERROR, &n->map, "ip", n->ip.at,
			     "\"%s\": expected the address of one station, such as 10.0.1.2",
			     n->ip.text);
		return false;
	}
	if (is_own(c, &out->addr) || neighbour_of(c, &out->addr) != NULL) {
		check_report(s, DIAG_ERROR, &n->map, "ip", n->ip.at,
			     is_own(c, &out->addr) ? "%s is an address of the switch itself"
						   : "%s is given twice",
			     n->ip.text);
		return false;
	}
	port = neighbour_port(c, n, &out->addr, s);
	out->port = (uint8_t)port;
	return port >= 0;
}

static void resolve_neighbours(struct config *c, struct diag_sink *s)
{
	const struct cfg_neighbour *items = c->root.neighbours.items;
	unsigned n = c->root.neighbours.n;
	struct policy_neighbour *out = n == 0 ? NULL : arena_alloc(&c->arena, n * sizeof(*out));

	c->routes.neighbours = out;
	for (unsigned i = 0; i < n; i++)
		c->routes.n_neighbours +=
			neighbour(c, &items[i], &out[c->routes.n_neighbours], s);
}

// ---- routes

static bool refuse_via(const struct cfg_route *r, const struct cfg_val *v, const char *what,
		       struct diag_sink *s)
{
	check_report(s, DIAG_ERROR, &r->map, "via", v->at, "%s %s", v->text, what);
	return false;
}

static bool via_port(const struct config *c, const struct cfg_route *r, const struct cfg_val *v,
		     struct policy_nexthop *out, struct diag_sink *s)
{
	int port = cfg_find_port(c, v->text);

	if (port < 0)
		return refuse_via(r, v, "is neither an address nor the name of a port", s);
	if (!c->ports[port].routed)
		return refuse_via(r, v, "has no ip and does not route", s);
	*out = (struct policy_nexthop){.kind = NEXTHOP_LINK, .port = (uint8_t)port};
	return true;
}

static bool via_addr(const struct config *c, const struct cfg_route *r, const struct cfg_val *v,
		     const struct policy_addr *a, struct policy_nexthop *out, struct diag_sink *s)
{
	const struct policy_neighbour *known = neighbour_of(c, a);
	int port = known != NULL ? known->port : port_of(c, a);

	if (strchr(v->text, '/') != NULL || !addr_is_station(a))
		return refuse_via(r, v, "is not the address of one station", s);
	if (is_own(c, a))
		return refuse_via(r, v, "is an address of the switch itself", s);
	if (port < 0)
		return refuse_via(r, v,
				  "is in no subnet of a port"
				  CURE "give a port an ip in its subnet, or "
				  "name it under neighbours",
				  s);
	*out = (struct policy_nexthop){.kind = NEXTHOP_GATEWAY, .port = (uint8_t)port, .addr = *a};
	return true;
}

static bool via(const struct config *c, const struct cfg_route *r, const struct cfg_val *v,
		const struct policy_addr *to, struct policy_nexthop *out, struct diag_sink *s)
{
	struct policy_addr a;

	if (!addr_parse(v->text, &a))
		return via_port(c, r, v, out, s);
	if (a.family != to->family)
		return refuse_via(r, v, "is of another IP version than the route", s);
	return via_addr(c, r, v, &a, out, s);
}

// `default` takes the IP version of its next hop.
static bool parse_to(const struct cfg_route *r, struct policy_addr *to, struct diag_sink *s)
{
	struct policy_addr base;
	char text[ADDR_TEXT_LEN];

	if (strcmp(r->to.text, "default") == 0) {
		bool v6 = r->via.n > 0 && strchr(r->via.items[0].text, ':') != NULL;

		*to = (struct policy_addr){.family = v6 ? FAMILY_V6 : FAMILY_V4};
		return true;
	}
	if (!addr_parse(r->to.text, to)) {
		check_report(s, DIAG_ERROR, &r->map, "to", r->to.at,
			     "\"%s\": expected a prefix such as 10.9.0.0/16, or default",
			     r->to.text);
		return false;
	}
	base = addr_masked(*to, to->len, false);
	if (addr_same(&base, to))
		return true;
	check_report(s, DIAG_ERROR, &r->map, "to", r->to.at,
		     "%s has bits beyond its length" CURE "did you mean %s?", r->to.text,
		     addr_text(&base, text));
	return false;
}

static bool same_hop(const struct policy_nexthop *a, const struct policy_nexthop *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool route(struct config *c, const struct cfg_route *r, struct config_route *out,
		  struct diag_sink *s)
{
	struct policy_nexthop *hops;
	unsigned n = 0;

	if (r->to.text == NULL || r->via.n == 0 || !parse_to(r, &out->to, s))
		return false;
	if (r->via.n > MAX_NEXTHOPS) {
		check_report(s, DIAG_ERROR, &r->map, "via", r->via.map.at,
			     "%u next hops: at most %d are possible", r->via.n, MAX_NEXTHOPS);
		return false;
	}
	hops = arena_alloc(&c->arena, r->via.n * sizeof(*hops));
	for (unsigned i = 0; i < r->via.n; i++) {
		if (!via(c, r, &r->via.items[i], &out->to, &hops[n], s))
			return false;
		for (unsigned k = 0; k < n; k++)
			if (same_hop(&hops[k], &hops[n]))
				return refuse_via(r, &r->via.items[i], "is given twice", s);
		n++;
	}
	out->nexthops = hops;
	out->n_nexthops = (uint16_t)n;
	return true;
}

// For finding equal prefixes: a route beside where it was written.
struct written {
	const struct config_route *route;
	const struct cfg_route *item; // NULL: set by a program
};

static int written_cmp(const void *x, const void *y)
{
	const struct written *a = x, *b = y;
	int d = addr_cmp(&a->route->to, &b->route->to);

	if (d != 0)
		return d;
	return (a->route > b->route) - (a->route < b->route);
}

static void prefixes_differ(const struct config *c, struct written *all, unsigned n,
			    struct diag_sink *s)
{
	struct own_prefix *own;
	unsigned n_own = routes_own(c, &own), k = 0;

	qsort(all, n, sizeof(*all), written_cmp);
	for (unsigned i = 0; i < n; i++) {
		const struct cfg_route *item = all[i].item;
		const struct policy_addr *to = &all[i].route->to;
		char text[ADDR_TEXT_LEN];

		if (i > 0 && addr_cmp(&all[i - 1].route->to, to) == 0)
			check_report(s, DIAG_ERROR, &item->map, "to", item->to.at,
				     "there are two routes to %s"
				     CURE "give all next hops in one via",
				     addr_text(to, text));
		while (k < n_own && addr_cmp(&own[k].to, to) < 0)
			k++;
		if (k < n_own && addr_cmp(&own[k].to, to) == 0)
			check_report(s, DIAG_ERROR, &item->map, "to", item->to.at,
				     own[k].kind == NEXTHOP_LINK
					     ? "%s is the subnet of port %s"
					     : "%s is an address of the switch itself, on port %s",
				     addr_text(to, text), c->ports[own[k].port].name);
	}
	free(own);
}

static void resolve_routes(struct config *c, struct diag_sink *s)
{
	const struct cfg_route *items = c->root.routes.items;
	unsigned n = c->root.routes.n, k = 0;
	struct config_route *out;
	struct written *all;

	if (n == 0)
		return;
	out = arena_alloc(&c->arena, n * sizeof(*out));
	all = arena_alloc(&c->arena, n * sizeof(*all));
	for (unsigned i = 0; i < n; i++) {
		if (!route(c, &items[i], &out[k], s))
			continue;
		all[k] = (struct written){&out[k], &items[i]};
		k++;
	}
	c->routes.items = out;
	c->routes.n = k;
	prefixes_differ(c, all, k, s);
}

// A switch that nobody gave a seed has one of its own name (FNV-1a).
static uint64_t seed_of_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return h;
}

void routes_resolve(struct config *c, struct diag_sink *s)
{
	const struct cfg_ecmp *e = &c->root.sw.ecmp;

	c->routes.ecmp_by = (enum ecmp_by)e->hash.n;
	c->routes.ecmp_seed = e->seed.given ? (uint64_t)e->seed.n : seed_of_name(config_name(c));
	for (unsigned i = 0; i < c->n_ports; i++)
		if (c->ports[i].routed)
			routed_port_makes_sense(c, i, s);
	resolve_neighbours(c, s);
	resolve_routes(c, s);
}

// ---- routes of a program

void config_set_routed(struct config *c, unsigned port, bool routed)
{
	if (port < c->n_ports)
		c->ports[port].routed = routed;
}

void config_set_ecmp(struct config *c, uint64_t seed, enum ecmp_by by)
{
	c->routes.ecmp_seed = seed;
	c->routes.ecmp_by = by;
}

static bool is_route(const struct config *c, const struct config_route *r)
{
	struct policy_addr base;

	if ((r->to.family != FAMILY_V4 && r->to.family != FAMILY_V6) ||
	    r->to.len > addr_bits(&r->to) || r->n_nexthops == 0 || r->n_nexthops > MAX_NEXTHOPS)
		return false;
	base = addr_masked(r->to, r->to.len, false);
	if (!addr_same(&base, &r->to))
		return false;
	for (unsigned i = 0; i < r->n_nexthops; i++) {
		const struct policy_nexthop *h = &r->nexthops[i];

		if (h->port >= c->n_ports || !c->ports[h->port].routed || h->kind == NEXTHOP_SELF ||
		    (h->kind == NEXTHOP_GATEWAY && h->addr.family != r->to.family))
			return false;
	}
	return true;
}

static bool all_differ(const struct config *c, const struct config_route *routes, unsigned n)
{
	struct diag_sink s = {0};
	struct diags d = {0};
	struct cfg_route none = {.map = {.path = "routes"}};
	struct written *all = calloc(n + 1, sizeof(*all));
	bool ok;

	if (all == NULL)
		return false;
	for (unsigned i = 0; i < n; i++)
		all[i] = (struct written){&routes[i], &none};
	prefixes_differ(c, all, n, &s);
	ok = s.n_errors == 0;
	diag_finish(&s, &d);
	diags_fini(&d);
	free(all);
	return ok;
}

int config_set_routes(struct config *c, const struct config_route *routes, unsigned n)
{
	struct config_route *out;

	for (unsigned i = 0; i < n; i++)
		if (!is_route(c, &routes[i]))
			return -EINVAL;
	if (!all_differ(c, routes, n))
		return -EINVAL;
	out = arena_alloc(&c->arena, n * sizeof(*out) + 1);
	for (unsigned i = 0; i < n; i++) {
		size_t size = routes[i].n_nexthops * sizeof(*routes[i].nexthops);

		out[i] = routes[i];
		if (i > 0 && routes[i].nexthops == routes[i - 1].nexthops &&
		    routes[i].n_nexthops == routes[i - 1].n_nexthops)
			out[i].nexthops = out[i - 1].nexthops;
		else
			out[i].nexthops = memcpy(arena_alloc(&c->arena, size), routes[i].nexthops,
						 size);
	}
	c->routes.items = out;
	c->routes.n = n;
	c->routes.compact = true;
	return 0;
}
