// SPDX-License-Identifier: Apache-2.0
// Routes of a configuration. From the words of a policy file: addresses of ports, prefixes, next
// hops and their ports, static neighbours; with reports of mistakes. Then as the dataplane takes
// them: one list of prefixes, each with a group of next hops; equal groups are one.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/compile.h"
#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/switch_punt.h"

// ---- addresses of ports
bool routes_parse_addr(const struct cfg_val *v, const char *text, struct policy_addr *out,
		       struct diag_sink *s)
{
	const char *why = NULL;

	if (strchr(text, '/') == NULL || !addr_parse(text, out) || out->len == 0)
		why = ": expected an address with the length of its prefix, such as 10.0.1.1/24";
	else if (!addr_is_station(out))
		why = " is not the address of one station";
	else if (addr_is_edge(out))
		why = " means the whole subnet" CURE "give the switch an address inside it";
	if (why != NULL)
		REFUSE(s, v, "\"%s\"%s", text, why);
	return why == NULL;
}

static bool port_addr(const struct cfg_val *v, unsigned i, unsigned n, struct policy_addr *out,
		      struct diag_sink *s)
{
	struct expansion texts;
	const char *why;

	if (!expand(v->text, &texts, &why)) {
		REFUSE(s, v, "\"%s\": %s", v->text, why);
		return false;
	}
	if (texts.n != n) {
		REFUSE(s, v,
		       "%s does not give each of %u ports an address" CURE
		       "use a range such as in name",
		       v->text, n);
		return false;
	}
	return routes_parse_addr(v, texts.items[i], out, s);
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
		REFUSE(s, &item->ip.map, "%u addresses: at most %d are possible", item->ip.n,
		       MAX_PORT_ADDRS);
		return;
	}
	addrs = arena_alloc(&c->arena, item->ip.n * sizeof(*addrs));
	for (unsigned k = 0; k < item->ip.n; k++)
		port->n_addrs += port_addr(&item->ip.items[k], i, n, &addrs[port->n_addrs], s);
	port->addrs = addrs;
}

// ---- prefixes of the switch itself
// A prefix that the switch has by itself: an interface's subnet (NEXTHOP_LINK), or an address that
// means the switch (NEXTHOP_SELF): its own, and those that mean all stations or any router of a
// subnet.
struct own_prefix {
	struct policy_addr to;
	uint8_t kind; // enum nexthop_kind
	port_no_t port;
};

static unsigned own_of(const struct policy_addr *a, unsigned port, struct own_prefix *out)
{
	uint8_t whole = (uint8_t)addr_bits(a);
	struct own_prefix self = {.to = *a, .kind = NEXTHOP_SELF, .port = (port_no_t)port};
	unsigned n = 0;

	self.to.len = whole;
	out[n++] = self;
	if (a->len == whole)
		return n;
	out[n++] = (struct own_prefix){
		.to = addr_masked(*a, a->len, false),
		.kind = NEXTHOP_LINK,
		.port = (port_no_t)port};
	if (a->len + 1 == whole) // both addresses are stations (RFC 3021, RFC 6164)
		return n;
	for (unsigned ones = 0; ones < (a->family == FAMILY_V4 ? 2 : 1); ones++) {
		self.to = addr_masked(*a, a->len, ones != 0);
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

// All of them, sorted, each once; of two interfaces with one subnet the first has it. The caller
// frees *out. 0 without memory or without addresses.
static unsigned own_prefixes(const struct config *c, struct own_prefix **out)
{
	struct own_prefix *all;
	unsigned n = 0, kept = 0;
	struct config_iface f;

	*out = NULL;
	for (unsigned i = 0; i < N_IFACES; i++)
		n += cfg_iface(c, i, &f) ? 4 * f.n_addrs : 0;
	all = n == 0 ? NULL : calloc(n, sizeof(*all));
	if (all == NULL)
		return 0;
	n = 0;
	for (unsigned i = 0; i < N_IFACES; i++)
		for (unsigned k = 0; cfg_iface(c, i, &f) && k < f.n_addrs; k++)
			n += own_of(&f.addrs[k], i, &all[n]);
	qsort(all, n, sizeof(*all), own_cmp);
	for (unsigned i = 0; i < n; i++)
		if (kept == 0 || addr_cmp(&all[i].to, &all[kept - 1].to) != 0)
			all[kept++] = all[i];
	*out = all;
	return kept;
}

// Subnets of two interfaces may lie within each other, but not be the same.
static void subnets_differ(const struct config *c, const struct config_iface *of, unsigned k,
			   struct diag_sink *s)
{
	const struct policy_addr *a = &of->addrs[k];
	char text[ADDR_TEXT_LEN];
	struct config_iface other;

	for (unsigned i = 0; i <= of->no; i++)
		for (unsigned j = 0; cfg_iface(c, i, &other) &&
				     j < (i == of->no ? k : other.n_addrs); j++) {
			const struct policy_addr *b = &other.addrs[j];
			bool same = addr_same(a, b);

			if (!same && (i == of->no || a->len != b->len || !addr_holds(b, a)))
				continue;
			REFUSE(s, &of->ip->items[k < of->ip->n ? k : 0], "%s %s %s%s already has",
			       addr_text(a, text),
			       same ? "is an address that" : "is in the subnet that", other.kind,
			       other.name);
			return;
		}
}

static void subnets_make_sense(const struct subject *x)
{
	struct config_iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		for (unsigned k = 0; cfg_iface(x->c, no, &i) && k < i.n_addrs; k++)
			subnets_differ(x->c, &i, k, x->s);
}

static void routed_port_makes_sense(const struct subject *x)
{
	const struct cfg_port *item = x->item;
	const struct cfg_fdb *f = x->c->root.fdb.items;

	if (!x->port->routed)
		return;
	// Frames are kept by the MAC address, and all frames to be routed have that address.
	for (unsigned i = 0; i < item->keep.n; i++) {
		const struct cfg_val *v = &item->keep.items[i];

		if (strcmp(v->text, "lldp") != 0 && strcmp(v->text, "lacp") != 0)
			REFUSE(x->s, v,
			       "a port with ip routes these frames and cannot keep %s" CURE
			       "keep only lldp and lacp",
			       v->text);
	}
	if (item->vlan.map.given)
		REFUSE(x->s, &item->vlan.map,
		       "a port with ip is in no VLAN" CURE "remove ip or vlan");
	for (unsigned i = 0; i < x->c->root.fdb.n; i++)
		if (f[i].port.text != NULL && strcmp(f[i].port.text, x->port->name) == 0)
			REFUSE(x->s, &f[i].port,
			       "port %s has ip and does not bridge" CURE
			       "name the address under neighbours",
			       x->port->name);
}

// ---- where an address is
// Finds the interface whose subnet holds the address. False: there is none.
static bool iface_of(const struct config *c, const struct policy_addr *a, struct config_iface *out)
{
	struct config_iface i;
	int best_len = -1;

	for (unsigned no = 0; no < N_IFACES; no++)
		for (unsigned k = 0; cfg_iface(c, no, &i) && k < i.n_addrs; k++) {
			const struct policy_addr *net = &i.addrs[k];

			if (net->family != a->family || (int)net->len <= best_len ||
			    !addr_holds(net, a))
				continue;
			*out = i;
			best_len = net->len;
		}
	return best_len >= 0;
}

static bool is_switch_address(const struct config *c, const struct policy_addr *a)
{
	struct config_iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		for (unsigned k = 0; cfg_iface(c, no, &i) && k < i.n_addrs; k++)
			if (addr_same(&i.addrs[k], a))
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
// The interface of a neighbour by name and by subnet, which must agree; -1 after a report.
static int neighbour_port(const struct config *c, const struct cfg_neighbour *n,
			  const struct policy_addr *a, struct diag_sink *s)
{
	struct config_iface subnet, named;
	bool in_subnet = iface_of(c, a, &subnet);

	if (n->port.text == NULL) {
		if (in_subnet)
			return subnet.no;
		REFUSE(s, &n->ip, "%s is in no subnet of a port" CURE "name its port", n->ip.text);
		return -1;
	}
	if (!cfg_find_iface(c, n->port.text, &named)) {
		REFUSE(s, &n->port,
		       cfg_find_port(c, n->port.text) < 0 ? "there is no port %s"
							  : "port %s has no ip and does not route",
		       n->port.text);
		return -1;
	}
	if (!in_subnet || named.no == subnet.no)
		return named.no;
	REFUSE(s, &n->port, "%s is in the subnet of %s%s", n->ip.text, subnet.kind, subnet.name);
	return -1;
}

static bool neighbour(const struct config *c, const struct cfg_neighbour *n,
		      struct policy_neighbour *out, struct diag_sink *s)
{
	int port;

	if (n->ip.text == NULL || n->mac.text == NULL)
		return false;
	if (!cfg_parse_mac(n->mac.text, out->mac) || (out->mac[0] & 1)) {
		REFUSE(s, &n->mac, "\"%s\": expected a unicast address such as 02:00:00:00:00:01",
		       n->mac.text);
		return false;
	}
	if (strchr(n->ip.text, '/') != NULL || !addr_parse(n->ip.text, &out->addr) ||
	    !addr_is_station(&out->addr)) {
		REFUSE(s, &n->ip, "\"%s\": expected the address of one station, such as 10.0.1.2",
		       n->ip.text);
		return false;
	}
	if (is_switch_address(c, &out->addr) || neighbour_of(c, &out->addr) != NULL) {
		REFUSE(s, &n->ip,
		       is_switch_address(c, &out->addr) ? "%s is an address of the switch itself"
							: "%s is given twice",
		       n->ip.text);
		return false;
	}
	port = neighbour_port(c, n, &out->addr, s);
	out->port = (port_no_t)port;
	return port >= 0;
}

static void resolve_neighbours(struct config *c, struct diag_sink *s)
{
	const struct cfg_neighbour *items = c->root.neighbours.items;
	unsigned n = c->root.neighbours.n;
	struct policy_neighbour *out = n == 0 ? NULL : arena_alloc(&c->arena, n * sizeof(*out));

	c->routes.neighbours = out;
	for (unsigned i = 0; i < n; i++)
		c->routes.n_neighbours += neighbour(c, &items[i], &out[c->routes.n_neighbours], s);
}

// ---- routes
static bool refuse_via(const struct cfg_val *v, const char *what, struct diag_sink *s)
{
	REFUSE(s, v, "%s %s", v->text, what);
	return false;
}

static bool via(const struct config *c, const struct cfg_val *v, const struct policy_addr *to,
		struct policy_nexthop *out, struct diag_sink *s)
{
	const struct policy_neighbour *known;
	struct config_iface i = {0};
	struct policy_addr a;

	if (!addr_parse(v->text, &a)) {
		if (!cfg_find_iface(c, v->text, &i))
			return refuse_via(v,
					  cfg_find_port(c, v->text) < 0
						  ? "is neither an address nor the name of a port"
						  : "has no ip and does not route",
					  s);
		*out = (struct policy_nexthop){.kind = NEXTHOP_LINK, .port = i.no};
		return true;
	}
	if (a.family != to->family)
		return refuse_via(v, "is of another IP version than the route", s);
	if (strchr(v->text, '/') != NULL || !addr_is_station(&a))
		return refuse_via(v, "is not the address of one station", s);
	if (is_switch_address(c, &a))
		return refuse_via(v, "is an address of the switch itself", s);
	known = neighbour_of(c, &a);
	if (known != NULL)
		i.no = known->port;
	else if (!iface_of(c, &a, &i))
		return refuse_via(v,
				  "is in no subnet of a port" CURE
				  "give a port an ip in its subnet, or name it under neighbours",
				  s);
	*out = (struct policy_nexthop){.kind = NEXTHOP_GATEWAY, .port = i.no, .addr = a};
	return true;
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
		REFUSE(s, &r->to, "\"%s\": expected a prefix such as 10.9.0.0/16, or default",
		       r->to.text);
		return false;
	}
	base = addr_masked(*to, to->len, false);
	if (addr_same(&base, to))
		return true;
	REFUSE(s, &r->to, "%s has bits beyond its length" CURE "did you mean %s?", r->to.text,
	       addr_text(&base, text));
	return false;
}

static bool route(struct config *c, const struct cfg_route *r, struct config_route *out,
		  struct diag_sink *s)
{
	struct policy_nexthop *hops;
	unsigned n = 0;

	if (r->to.text == NULL || r->via.n == 0 || !parse_to(r, &out->to, s))
		return false;
	if (r->via.n > MAX_NEXTHOPS) {
		REFUSE(s, &r->via.map, "%u next hops: at most %d are possible", r->via.n,
		       MAX_NEXTHOPS);
		return false;
	}
	hops = arena_alloc(&c->arena, r->via.n * sizeof(*hops));
	for (unsigned i = 0; i < r->via.n; i++) {
		if (!via(c, &r->via.items[i], &out->to, &hops[n], s))
			return false;
		for (unsigned k = 0; k < n; k++)
			if (memcmp(&hops[k], &hops[n], sizeof(*hops)) == 0)
				return refuse_via(&r->via.items[i], "is given twice", s);
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
	unsigned n_own = own_prefixes(c, &own), k = 0;
	struct config_iface of;

	qsort(all, n, sizeof(*all), written_cmp);
	for (unsigned i = 0; i < n; i++) {
		const struct cfg_route *item = all[i].item;
		const struct policy_addr *to = &all[i].route->to;
		char text[ADDR_TEXT_LEN];

		if (i > 0 && addr_cmp(&all[i - 1].route->to, to) == 0)
			REFUSE(s, &item->to,
			       "there are two routes to %s" CURE "give all next hops in one via",
			       addr_text(to, text));
		while (k < n_own && addr_cmp(&own[k].to, to) < 0)
			k++;
		if (k < n_own && addr_cmp(&own[k].to, to) == 0 &&
		    cfg_iface(c, own[k].port, &of))
			REFUSE(s, &item->to,
			       own[k].kind == NEXTHOP_LINK
				       ? "%s is the subnet of %s%s"
				       : "%s is an address of the switch itself, on %s%s",
			       addr_text(to, text), of.kind, of.name);
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

// FNV-1a.
static uint64_t hash_of(const void *data, size_t len)
{
	const uint8_t *b = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3u;
	return h;
}

void routes_resolve(struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_POLICY, subnets_make_sense},
		{OF_PORT, routed_port_makes_sense},
	};
	const struct cfg_ecmp *e = &c->root.sw.ecmp;
	const char *name = config_name(c);

	c->routes.ecmp_by = (enum ecmp_by)e->hash.n;
	c->routes.ecmp_seed = e->seed.given ? (uint64_t)e->seed.n : hash_of(name, strlen(name));
	CHECK_RULES(rules, .c = c, .s = s);
	resolve_neighbours(c, s);
	resolve_routes(c, s);
}

// ---- routes of a program
void config_set_routed(struct config *c, unsigned port, bool routed)
{
	if (port < c->n_ports)
		c->ports[port].routed = routed;
}

void config_set_addresses(struct config *c, unsigned port, const struct policy_addr *a,
			  unsigned n)
{
	struct policy_addr *own = arena_alloc(&c->arena, n * sizeof(*own));

	memcpy(own, a, n * sizeof(*own));
	c->ports[port].addrs = own;
	c->ports[port].n_addrs = n;
}

static bool is_route(const struct config *c, const struct config_route *r)
{
	struct config_iface of;
	struct policy_addr base;

	if ((r->to.family != FAMILY_V4 && r->to.family != FAMILY_V6) ||
	    r->to.len > addr_bits(&r->to) || r->n_nexthops == 0 || r->n_nexthops > MAX_NEXTHOPS)
		return false;
	base = addr_masked(r->to, r->to.len, false);
	if (!addr_same(&base, &r->to))
		return false;
	for (unsigned i = 0; i < r->n_nexthops; i++) {
		const struct policy_nexthop *h = &r->nexthops[i];

		if (!cfg_iface(c, h->port, &of) || h->kind == NEXTHOP_SELF ||
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
			out[i].nexthops =
				memcpy(arena_alloc(&c->arena, size), routes[i].nexthops, size);
	}
	c->routes.items = out;
	c->routes.n = n;
	c->routes.compact = true;
	return 0;
}

// ---- compile
// The number of a group with these next hops, which is made when there is none yet.
static uint32_t find_or_add_group(struct routes_builder *b, const struct policy_nexthop *hops,
				  unsigned n)
{
	uint64_t hash = hash_of(hops, n * sizeof(*hops));
	uint32_t at = (uint32_t)(hash ^ hash >> 32) & b->mask;
	struct policy_routes *r = b->r;

	for (; b->slot[at] != 0; at = (at + 1) & b->mask) {
		const struct policy_group *g = &r->groups[b->slot[at] - 1];

		if (g->n == n && memcmp(&r->nexthops[g->first], hops, n * sizeof(*hops)) == 0)
			return b->slot[at] - 1;
	}
	r->groups[r->n_groups] = (struct policy_group){.first = r->n_nexthops, .n = n};
	memcpy(&r->nexthops[r->n_nexthops], hops, n * sizeof(*hops));
	r->n_nexthops += n;
	b->slot[at] = ++r->n_groups;
	return r->n_groups - 1;
}

void routes_builder_add(struct routes_builder *b, const struct policy_addr *to,
			const struct policy_nexthop *hops, unsigned n)
{
	b->r->prefixes[b->r->n_prefixes++] =
		(struct policy_prefix){.to = *to, .group = find_or_add_group(b, hops, n)};
}

bool routes_builder_init(struct routes_builder *b, struct policy_routes *r, size_t n_prefixes,
			 size_t n_nexthops)
{
	*b = (struct routes_builder){.r = r, .mask = 1};
	while (b->mask < 2 * n_prefixes)
		b->mask = 2 * b->mask + 1;
	b->slot = calloc((size_t)b->mask + 1, sizeof(*b->slot));
	r->prefixes = calloc(n_prefixes + 1, sizeof(*r->prefixes));
	r->groups = calloc(n_prefixes + 1, sizeof(*r->groups));
	r->nexthops = calloc(n_nexthops + 1, sizeof(*r->nexthops));
	r->n_prefixes = r->n_groups = r->n_nexthops = 0;
	return b->slot != NULL && r->prefixes != NULL && r->groups != NULL && r->nexthops != NULL;
}

void routes_builder_fini(struct routes_builder *b)
{
	free(b->slot);
}

// The port of the address's longest prefix, if the address is on the link of that port. -1: the
// address is behind a gateway, or has a route of its own.
static int link_of(const struct policy_routes *r, const struct policy_addr *a)
{
	const struct policy_prefix *best = NULL;
	const struct policy_nexthop *h;

	for (uint32_t i = 0; i < r->n_prefixes; i++)
		if (addr_holds(&r->prefixes[i].to, a) &&
		    (best == NULL || r->prefixes[i].to.len > best->to.len))
			best = &r->prefixes[i];
	if (best == NULL || best->to.len == addr_bits(a))
		return -1;
	h = &r->nexthops[r->groups[best->group].first];
	return h->kind == NEXTHOP_LINK ? h->port : -1;
}

// A tunnel's peer on a link becomes the next hop of a route of its own: so the switch asks for its
// MAC address at once, and keeps it.
static void add_peers(struct routes_builder *b, const struct vtep *v)
{
	for (unsigned i = 0; v != NULL && i < v->n_peers; i++) {
		struct policy_addr a = {.family = v->v6 ? FAMILY_V6 : FAMILY_V4};
		struct policy_nexthop h = {.kind = NEXTHOP_GATEWAY};
		int port;

		a.len = (uint8_t)addr_bits(&a);
		memcpy(a.ip, v->peers[i], sizeof(a.ip));
		h.addr = a;
		port = link_of(b->r, &a);
		h.port = (port_no_t)port;
		if (port >= 0)
			routes_builder_add(b, &a, &h, 1);
	}
}

// Memory for as many as there can be. False: there is none.
static bool reserve(struct routes_builder *b, struct policy_routes *r, const struct config *c,
		    unsigned n_own)
{
	size_t peers = c->vtep != NULL ? c->vtep->n_peers : 0, hops = n_own + peers;

	for (unsigned i = 0; i < c->routes.n; i++)
		hops += c->routes.items[i].n_nexthops;
	r->neighbours = calloc(c->routes.n_neighbours + 1u, sizeof(*r->neighbours));
	return routes_builder_init(b, r, c->routes.n + n_own + peers, hops) &&
	       r->neighbours != NULL;
}

void compile_routes(struct compiler *k)
{
	struct policy_routes *r = &k->p->routes;
	struct routes_builder b = {0};
	const struct config_routes *from = &k->c->routes;
	struct own_prefix *own = NULL;
	unsigned n_own;

	r->any = k->c->n_svis != 0;
	for (unsigned i = 0; i < k->c->n_ports; i++) {
		const struct config_port *port = &k->c->ports[i];
		struct policy_port *out = &k->p->ports[i];

		out->routed = port->routed;
		if (!port->routed)
			continue;
		r->any = true;
		out->punts |= cfg_punts(k->c, true);
		if (k->facts != NULL)
			memcpy(out->mac, k->facts[i].mac, sizeof(out->mac));
		out->n_addrs = (uint8_t)port->n_addrs;
		for (unsigned a = 0; a < port->n_addrs; a++)
			out->addrs[a] = port->addrs[a];
		out->vlan = (struct policy_vlan){.untagged = 0}; // of no VLAN of the bridge
	}
	if (!r->any)
		return;
	r->compact = from->compact;
	r->ecmp_by = (uint8_t)from->ecmp_by;
	r->ecmp_seed = from->ecmp_seed;
	n_own = own_prefixes(k->c, &own);
	if (reserve(&b, r, k->c, n_own)) {
		for (unsigned i = 0; i < n_own; i++)
			routes_builder_add(&b, &own[i].to,
					   &(struct policy_nexthop){.kind = own[i].kind,
								    .port = own[i].port},
					   1);
		for (unsigned i = 0; i < from->n; i++)
			routes_builder_add(&b, &from->items[i].to, from->items[i].nexthops,
					   from->items[i].n_nexthops);
		add_peers(&b, k->c->vtep);
		r->n_neighbours = from->n_neighbours;
		for (unsigned i = 0; i < r->n_neighbours; i++)
			r->neighbours[i] = from->neighbours[i];
	} else {
		diag_add(k->s, DIAG_ERROR, k->c->root.routes.map.at, "routes", "out of memory");
	}
	routes_builder_fini(&b);
	free(own);
}
