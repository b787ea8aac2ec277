// SPDX-License-Identifier: Apache-2.0
#include "control/linux/mirror.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/routes.h"
#include "dataplane/packet/neighbour.h"

enum {
	FIRST_BUCKETS = 256,
	NUD_KNOWN = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP,
};

// ---- rows by a key of bytes

struct row {
	struct row *next; // of the bucket
	struct row *before, *after; // in the order of their arrival
	uint32_t hash;
	uint32_t dump; // the last one that named it
};

// The key of a row are the bytes behind its head.
struct table {
	struct row **buckets;
	struct row *first, *last;
	uint32_t n, mask;
	size_t key_size;
};

static void *table_row_key(struct row *r)
{
	return r + 1;
}

static uint32_t hash_of(const void *key, size_t len)
{
	const uint8_t *b = key;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static struct row *table_find(const struct table *t, const void *key)
{
	uint32_t hash = hash_of(key, t->key_size);
	struct row *r = t->buckets == NULL ? NULL : t->buckets[hash & t->mask];

	while (r != NULL && (r->hash != hash || memcmp(table_row_key(r), key, t->key_size) != 0))
		r = r->next;
	return r;
}

static bool table_grow(struct table *t)
{
	uint32_t n = t->buckets == NULL ? FIRST_BUCKETS : 2 * (t->mask + 1);
	struct row **buckets = calloc(n, sizeof(struct row *));

	if (buckets == NULL)
		return t->buckets != NULL;
	free(t->buckets);
	t->buckets = buckets;
	t->mask = n - 1;
	for (struct row *r = t->first; r != NULL; r = r->after) {
		r->next = buckets[r->hash & t->mask];
		buckets[r->hash & t->mask] = r;
	}
	return true;
}

// The row with the key, zeroed where it is new; NULL: there is no memory.
static void *table_row(struct table *t, const void *key, size_t size)
{
	struct row *r = table_find(t, key);

	if (r != NULL)
		return r;
	if ((t->buckets == NULL || t->n > t->mask) && !table_grow(t))
		return NULL;
	r = calloc(1, size);
	if (r == NULL)
		return NULL;
	memcpy(table_row_key(r), key, t->key_size);
	r->hash = hash_of(key, t->key_size);
	r->next = t->buckets[r->hash & t->mask];
	t->buckets[r->hash & t->mask] = r;
	r->before = t->last;
	*(t->last != NULL ? &t->last->after : &t->first) = r;
	t->last = r;
	t->n++;
	return r;
}

static void table_remove(struct table *t, struct row *r)
{
	struct row **at = &t->buckets[r->hash & t->mask];

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	*(r->before != NULL ? &r->before->after : &t->first) = r->after;
	*(r->after != NULL ? &r->after->before : &t->last) = r->before;
	t->n--;
	free(r);
}

// ---- the rows

struct link_row {
	struct row row;
	uint32_t ifindex;
	struct kernel_link link;
};

struct object_row {
	struct row row;
	uint32_t id;
	struct kernel_nexthop nexthop;
};

struct neighbour_key {
	uint32_t ifindex;
	struct policy_addr addr;
	uint8_t spare[2];
};

struct neighbour_row {
	struct row row;
	struct neighbour_key key;
	uint16_t state;
	bool has_mac; // and the switch may use it
	bool managed;
	uint8_t mac[6];
	uint64_t since_ns;
};

// Several routes of one prefix: the first one is used.
struct route {
	struct route *next;
	uint32_t table, metric, nexthop_id;
	uint8_t tos, type, protocol, n_hops;
	uint16_t n_left_out;
	struct kernel_hop hops[];
};

struct prefix_key {
	struct policy_addr to;
	uint8_t spare[2];
};

struct prefix_row {
	struct row row;
	struct prefix_key key;
	struct route *routes;
	bool no_room;
};

struct mirror {
	const struct mirror_ops *ops;
	void *arg;
	uint32_t ifindex[N_IFACES]; // 0: none
	uint32_t max_prefixes;
	struct table links, objects, neighbours, prefixes;
	uint32_t dump;
	bool dumping;
};

int mirror_create(const struct mirror_ops *ops, void *arg, uint32_t max_prefixes,
		  struct mirror **out)
{
	struct mirror *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	m->ops = ops;
	m->arg = arg;
	m->max_prefixes = max_prefixes;
	m->links.key_size = m->objects.key_size = sizeof(uint32_t);
	m->neighbours.key_size = sizeof(struct neighbour_key);
	m->prefixes.key_size = sizeof(struct prefix_key);
	*out = m;
	return 0;
}

static void prefix_remove(struct mirror *m, struct prefix_row *p)
{
	while (p->routes != NULL) {
		struct route *r = p->routes;

		p->routes = r->next;
		free(r);
	}
	table_remove(&m->prefixes, &p->row);
}

static void table_free(struct table *t)
{
	while (t->first != NULL)
		table_remove(t, t->first);
	free(t->buckets);
}

void mirror_destroy(struct mirror *m)
{
	if (m == NULL)
		return;
	while (m->prefixes.first != NULL)
		prefix_remove(m, (struct prefix_row *)m->prefixes.first);
	table_free(&m->prefixes);
	table_free(&m->links);
	table_free(&m->objects);
	table_free(&m->neighbours);
	free(m);
}

port_no_t mirror_iface(const struct mirror *m, uint32_t ifindex)
{
	for (unsigned i = 0; ifindex != 0 && i < N_IFACES; i++)
		if (m->ifindex[i] == ifindex)
			return (port_no_t)i;
	return PORT_NONE;
}

uint32_t mirror_ifindex(const struct mirror *m, port_no_t iface)
{
	return m->ifindex[iface];
}

// ---- links

static const struct kernel_link *link_of(const struct mirror *m, uint32_t ifindex)
{
	const struct link_row *l = (const void *)table_find(&m->links, &ifindex);

	return l == NULL ? NULL : &l->link;
}

static unsigned apply_link(struct mirror *m, const struct kernel_msg *msg)
{
	struct link_row *l = (void *)table_find(&m->links, &msg->link.ifindex);
	bool same = l != NULL && l->link.up == msg->link.up;

	if (msg->gone && l != NULL)
		table_remove(&m->links, &l->row);
	if (msg->gone)
		return l != NULL ? MIRROR_ROUTES | MIRROR_STALE : 0;
	l = table_row(&m->links, &msg->link.ifindex, sizeof(*l));
	if (l == NULL)
		return 0;
	l->link = msg->link;
	l->row.dump = m->dump;
	return same || m->dumping ? 0 : MIRROR_ROUTES | MIRROR_STALE;
}

// ---- next-hop objects

static bool hop_same(const struct kernel_hop *a, const struct kernel_hop *b)
{
	return a->ifindex == b->ifindex && addr_same(&a->via, &b->via);
}

// The kernel says nothing about the IPv4 routes that go with their object.
static void remove_routes_of(struct mirror *m, uint32_t id)
{
	struct row *next;

	for (struct row *r = m->prefixes.first; r != NULL; r = next) {
		struct prefix_row *p = (void *)r;
		struct route **at = &p->routes;

		next = r->after;
		while (*at != NULL) {
			struct route *x = *at;

			if (x->nexthop_id != id) {
				at = &x->next;
				continue;
			}
			*at = x->next;
			free(x);
		}
		if (p->routes == NULL)
			prefix_remove(m, p);
	}
}

static unsigned apply_nexthop(struct mirror *m, const struct kernel_msg *msg)
{
	struct object_row *o = (void *)table_find(&m->objects, &msg->nexthop.id);

	if (msg->gone) {
		if (o != NULL)
			table_remove(&m->objects, &o->row);
		remove_routes_of(m, msg->nexthop.id);
		return MIRROR_ROUTES;
	}
	o = table_row(&m->objects, &msg->nexthop.id, sizeof(*o));
	if (o == NULL)
		return 0;
	o->nexthop = msg->nexthop;
	o->row.dump = m->dump;
	return MIRROR_ROUTES;
}

// ---- routes

static bool is_taken_table(uint32_t table)
{
	return table == RT_TABLE_MAIN || table == RT_TABLE_LOCAL || table == RT_TABLE_DEFAULT;
}

static bool key_same(const struct route *r, const struct kernel_route *k)
{
	return r->table == k->table && r->metric == k->metric && r->tos == k->tos;
}

static bool hops_same(const struct route *r, const struct kernel_route *k)
{
	if (r->nexthop_id != k->nexthop_id || r->n_hops != k->n_hops || r->type != k->type)
		return false;
	for (unsigned i = 0; i < r->n_hops; i++)
		if (!hop_same(&r->hops[i], &k->hops[i]))
			return false;
	return true;
}

static bool has_gateway(uint8_t n_hops, const struct kernel_hop *hops)
{
	return n_hops > 0 && hops[0].via.family != 0;
}

// Whether the message replaces the route. The kernel names all next hops of an IPv6 route at once.
static bool replaces(const struct route *r, const struct kernel_msg *msg)
{
	const struct kernel_route *k = &msg->route;

	if (!key_same(r, k))
		return false;
	if (hops_same(r, k) || (msg->flags & NLM_F_REPLACE) != 0)
		return true;
	return k->to.family == FAMILY_V6 && k->nexthop_id == 0 && r->nexthop_id == 0 &&
	       has_gateway(r->n_hops, r->hops) && has_gateway(k->n_hops, k->hops);
}

static struct route *route_made(const struct kernel_route *k)
{
	struct route *r = calloc(1, sizeof(*r) + k->n_hops * sizeof(r->hops[0]));

	if (r == NULL)
		return NULL;
	*r = (struct route){.table = k->table, .metric = k->metric, .nexthop_id = k->nexthop_id,
			    .tos = k->tos, .type = k->type, .protocol = k->protocol,
			    .n_hops = k->n_hops, .n_left_out = k->n_left_out};
	memcpy(r->hops, k->hops, k->n_hops * sizeof(r->hops[0]));
	return r;
}

// Lower: used before the other.
static int order(const struct route *a, const struct route *b)
{
	bool a_local = a->table == RT_TABLE_LOCAL, b_local = b->table == RT_TABLE_LOCAL;

	if (a_local != b_local)
		return a_local ? -1 : 1;
	if (a->table != b->table) // main before default
		return a->table > b->table ? -1 : 1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

static void insert_route_in_order(struct prefix_row *p, struct route *r, bool last_of_equals)
{
	struct route **at = &p->routes;

	while (*at != NULL && (order(*at, r) < 0 || (last_of_equals && order(*at, r) == 0)))
		at = &(*at)->next;
	r->next = *at;
	*at = r;
}

static void add_kernel_route(struct mirror *m, const struct kernel_msg *msg)
{
	const struct prefix_key key = {.to = msg->route.to};
	struct prefix_row *p = table_row(&m->prefixes, &key, sizeof(*p));
	struct route *made = p == NULL ? NULL : route_made(&msg->route), **at;

	if (made == NULL)
		return;
	// The first message of a dump about a prefix: the dump knows all of its routes.
	while (m->dumping && p->row.dump != m->dump && p->routes != NULL) {
		struct route *r = p->routes;

		p->routes = r->next;
		free(r);
	}
	p->row.dump = m->dump;
	for (at = &p->routes; !m->dumping && *at != NULL; at = &(*at)->next)
		if (replaces(*at, msg)) {
			made->next = (*at)->next;
			free(*at);
			*at = made;
			return;
		}
	insert_route_in_order(p, made,
			      m->dumping || (msg->flags & NLM_F_APPEND) != 0 ||
				      msg->route.to.family == FAMILY_V6);
}

// A message about an IPv6 route that goes names some of its next hops. True: none is left.
static bool remove_hops(struct route *r, const struct kernel_route *k)
{
	uint8_t kept = 0;

	for (unsigned i = 0; i < r->n_hops; i++) {
		bool named = false;

		for (unsigned j = 0; j < k->n_hops; j++)
			named |= hop_same(&r->hops[i], &k->hops[j]);
		if (!named)
			r->hops[kept++] = r->hops[i];
	}
	r->n_hops = kept;
	return kept == 0;
}

static bool shares_hop(const struct route *r, const struct kernel_route *k)
{
	if (r->nexthop_id != k->nexthop_id)
		return false;
	for (unsigned i = 0; i < r->n_hops; i++)
		for (unsigned j = 0; j < k->n_hops; j++)
			if (hop_same(&r->hops[i], &k->hops[j]))
				return true;
	return r->n_hops == 0 && k->n_hops == 0;
}

// The route that a message about its end means, or NULL.
static struct route **gone_route(struct prefix_row *p, const struct kernel_route *k)
{
	for (struct route **at = &p->routes; *at != NULL; at = &(*at)->next)
		if (key_same(*at, k) && hops_same(*at, k))
			return at;
	for (struct route **at = &p->routes; *at != NULL; at = &(*at)->next)
		if (key_same(*at, k) &&
		    (k->to.family == FAMILY_V4 || shares_hop(*at, k)))
			return at;
	return NULL;
}

static void remove_route(struct mirror *m, const struct kernel_route *k)
{
	const struct prefix_key key = {.to = k->to};
	struct prefix_row *p = (void *)table_find(&m->prefixes, &key);
	struct route **at = p == NULL ? NULL : gone_route(p, k), *r;

	if (at == NULL)
		return;
	r = *at;
	if (k->to.family == FAMILY_V6 && r->n_hops > k->n_hops && !remove_hops(r, k))
		return;
	*at = r->next;
	free(r);
	if (p->routes == NULL)
		prefix_remove(m, p);
}

static unsigned apply_route(struct mirror *m, const struct kernel_msg *msg)
{
	if (!is_taken_table(msg->route.table))
		return 0;
	if (msg->gone)
		remove_route(m, &msg->route);
	else
		add_kernel_route(m, msg);
	return MIRROR_ROUTES;
}

// ---- neighbours

static bool is_group(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? a->ip[0] >= 224 : a->ip[0] == 0xff;
}

static void neighbour_remove(struct mirror *m, struct neighbour_row *n)
{
	port_no_t iface = mirror_iface(m, n->key.ifindex);

	if (n->has_mac && iface != PORT_NONE)
		m->ops->neighbour(m->arg, iface, &n->key.addr, NULL);
	table_remove(&m->neighbours, &n->row);
}

void mirror_bind(struct mirror *m, port_no_t iface, uint32_t ifindex)
{
	struct row *next;

	for (struct row *r = m->neighbours.first; r != NULL; r = next) {
		struct neighbour_row *n = (void *)r;

		next = r->after;
		if (m->ifindex[iface] != 0 && n->key.ifindex == m->ifindex[iface])
			neighbour_remove(m, n);
	}
	m->ifindex[iface] = ifindex;
}

static void apply_neighbour(struct mirror *m, const struct kernel_msg *msg, uint64_t now_ns)
{
	const struct kernel_neighbour *k = &msg->neighbour;
	const struct neighbour_key key = {.ifindex = k->ifindex, .addr = k->addr};
	struct neighbour_row *n = (void *)table_find(&m->neighbours, &key);
	port_no_t iface = mirror_iface(m, k->ifindex);
	// The kernel takes any MAC address, also one that would make groups of frames to a station.
	bool known = k->has_mac && (k->state & NUD_KNOWN) != 0 && is_station_mac(k->mac), changed;

	if (msg->gone && n != NULL)
		neighbour_remove(m, n);
	// Groups have entries too, which nobody resolves.
	if (msg->gone || iface == PORT_NONE || is_group(&k->addr))
		return;
	n = table_row(&m->neighbours, &key, sizeof(*n));
	if (n == NULL)
		return;
	changed = known != n->has_mac || (known && memcmp(n->mac, k->mac, sizeof(n->mac)) != 0);
	if (n->since_ns == 0 || n->state != k->state)
		n->since_ns = now_ns;
	n->state = k->state;
	n->managed = k->managed;
	n->has_mac = known;
	memcpy(n->mac, k->mac, sizeof(n->mac));
	n->row.dump = m->dump;
	if (changed)
		m->ops->neighbour(m->arg, iface, &k->addr, known ? n->mac : NULL);
	if (k->state & NUD_STALE)
		m->ops->stale(m->arg, iface, &k->addr);
}

// ---- messages and dumps

unsigned mirror_apply(struct mirror *m, const struct kernel_msg *msg, uint64_t now_ns)
{
	switch ((enum kernel_msg_kind)msg->kind) {
	case KERNEL_LINK: return apply_link(m, msg);
	case KERNEL_ADDR: return msg->gone ? MIRROR_STALE : 0;
	case KERNEL_ROUTE: return apply_route(m, msg);
	case KERNEL_NEXTHOP: return apply_nexthop(m, msg);
	case KERNEL_NEIGHBOUR: apply_neighbour(m, msg, now_ns); return 0;
	case KERNEL_MALFORMED:
	case KERNEL_OTHER: break;
	}
	return 0;
}

void mirror_begin_dump(struct mirror *m)
{
	m->dump++;
	m->dumping = true;
}

static void sweep(struct mirror *m, struct table *t)
{
	struct row *next;

	for (struct row *r = t->first; r != NULL; r = next) {
		next = r->after;
		if (r->dump == m->dump)
			continue;
		if (t == &m->neighbours)
			neighbour_remove(m, (struct neighbour_row *)r);
		else if (t == &m->prefixes)
			prefix_remove(m, (struct prefix_row *)r);
		else
			table_remove(t, r);
	}
}

unsigned mirror_end_dump(struct mirror *m)
{
	sweep(m, &m->links);
	sweep(m, &m->objects);
	sweep(m, &m->prefixes);
	sweep(m, &m->neighbours);
	m->dumping = false;
	return MIRROR_ROUTES;
}

// ---- the routes of a policy

// Prefixes that the dataplane never looks up: multicast, loopback and link-local.
static bool is_forwarded(const struct policy_addr *to)
{
	const uint8_t *ip = to->ip;

	if (to->family == FAMILY_V4)
		return !(to->len >= 4 && ip[0] >> 4 == 14) && !(to->len >= 8 && ip[0] == 127);
	return !(to->len >= 8 && ip[0] == 0xff) &&
	       !(to->len >= 10 && ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) &&
	       !(to->len == 128 && ip[15] == 1 && memcmp(ip, &(const uint8_t[15]){0}, 15) == 0);
}

static bool is_supported(const struct route *r)
{
	return r->tos == 0 && r->type != KERNEL_UNUSED;
}

// By a router advertisement or a redirect: any host can send these.
static bool is_word_of_a_host(const struct route *r)
{
	return r->protocol == RTPROT_RA || r->protocol == RTPROT_REDIRECT;
}

// The route that counts, or NULL.
static const struct route *best(const struct prefix_row *p)
{
	for (const struct route *r = p->routes; r != NULL; r = r->next)
		if (is_supported(r) && !is_word_of_a_host(r))
			return r;
	return NULL;
}

static const struct route *word_of_a_host(const struct prefix_row *p)
{
	const struct route *r = p->routes;

	while (r != NULL && !is_word_of_a_host(r))
		r = r->next;
	return r;
}

// The hops of a route, those of its objects included.
struct ways {
	bool blackhole;
	unsigned n, n_left_out;
	struct kernel_hop hops[KERNEL_HOPS];
};

static void add_way(struct ways *w, const struct kernel_hop *hop, uint16_t weight)
{
	if (w->n == KERNEL_HOPS) {
		w->n_left_out++;
		return;
	}
	w->hops[w->n] = *hop;
	w->hops[w->n++].weight = weight;
}

static const struct kernel_nexthop *object_of(const struct mirror *m, uint32_t id)
{
	const struct object_row *o = (const void *)table_find(&m->objects, &id);

	return o == NULL ? NULL : &o->nexthop;
}

static void add_object(const struct mirror *m, uint32_t id, uint16_t weight, struct ways *w)
{
	const struct kernel_nexthop *o = object_of(m, id);

	if (o == NULL || o->group)
		return;
	w->blackhole |= o->blackhole;
	if (!o->blackhole)
		add_way(w, &o->hop, weight);
}

static void find_ways(const struct mirror *m, const struct route *r, struct ways *w)
{
	const struct kernel_nexthop *o;

	w->blackhole = r->type == KERNEL_BLACKHOLE;
	w->n = 0;
	w->n_left_out = r->n_left_out;
	for (unsigned i = 0; i < r->n_hops; i++)
		add_way(w, &r->hops[i], r->hops[i].weight);
	o = r->nexthop_id == 0 ? NULL : object_of(m, r->nexthop_id);
	if (o == NULL)
		return;
	w->n_left_out += o->n_left_out;
	if (!o->group)
		add_object(m, r->nexthop_id, 1, w);
	for (unsigned i = 0; i < o->n_members; i++)
		add_object(m, o->members[i].id, o->members[i].weight, w);
}

static unsigned gcd(unsigned a, unsigned b)
{
	while (b != 0) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

// A next hop of weight w is w of the members of its group, in lowest terms. Beyond MAX_NEXTHOPS
// members the shares are rounded, and each next hop keeps one member at least.
static unsigned repeat(const struct policy_nexthop *hops, const uint16_t *weights, unsigned n,
		       struct policy_nexthop *out)
{
	unsigned common = 0, sum = 0, made = 0;

	for (unsigned i = 0; i < n; i++) {
		common = gcd(weights[i], common);
		sum += weights[i];
	}
	sum = common == 0 ? 0 : sum / common;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = weights[i] / common;

		if (sum > MAX_NEXTHOPS)
			k = k * (MAX_NEXTHOPS - n) / sum + 1;
		for (; k > 0 && made < MAX_NEXTHOPS; k--)
			out[made++] = hops[i];
	}
	return made;
}

// The next hops of the dataplane for a route. Returns how many; 0: not taken.
static unsigned nexthops_of(const struct mirror *m, const struct route *r, struct ways *w,
			    struct policy_nexthop out[MAX_NEXTHOPS])
{
	struct policy_nexthop hops[KERNEL_HOPS];
	uint16_t weights[KERNEL_HOPS];
	unsigned n = 0;

	find_ways(m, r, w);
	out[0] = (struct policy_nexthop){.kind = NEXTHOP_SELF, .port = PORT_NONE};
	if (r->type == KERNEL_SELF) {
		if (w->n > 0)
			out[0].port = mirror_iface(m, w->hops[0].ifindex);
		return 1;
	}
	for (unsigned i = 0; i < w->n; i++) {
		const struct kernel_hop *h = &w->hops[i];
		port_no_t iface = h->dead ? PORT_NONE : mirror_iface(m, h->ifindex);

		if (iface == PORT_NONE)
			continue;
		hops[n] = (struct policy_nexthop){
			.kind = h->via.family != 0 ? NEXTHOP_GATEWAY : NEXTHOP_LINK,
			.port = iface, .addr = h->via};
		weights[n++] = h->weight;
	}
	if (n > 0)
		return repeat(hops, weights, n, out);
	out[0].kind = w->blackhole ? NEXTHOP_BLACKHOLE : NEXTHOP_NONE;
	return 1;
}

struct fill {
	const struct mirror *m;
	struct routes_builder *b; // NULL: only counts
	struct mirror_census *census;
	uint32_t n_prefixes, n_nexthops;
};

static void take_prefix(struct fill *f, struct prefix_row *p)
{
	const struct route *r = best(p);
	struct policy_nexthop hops[MAX_NEXTHOPS];
	struct ways w;
	unsigned n;

	if (word_of_a_host(p) != NULL)
		f->census->from_hosts++;
	else if (r == NULL)
		f->census->unsupported++;
	if (r == NULL || !is_forwarded(&p->key.to))
		return;
	p->no_room = f->n_prefixes == f->m->max_prefixes;
	if (p->no_room) {
		f->census->no_room++;
		return;
	}
	n = nexthops_of(f->m, r, &w, hops);
	f->census->hops_left_out += w.n_left_out;
	f->census->foreign += hops[0].kind == NEXTHOP_NONE;
	f->n_prefixes++;
	f->n_nexthops += n;
	if (f->b != NULL)
		routes_builder_add(f->b, &p->key.to, hops, n);
}

// Addresses of the switch and its subnets come first, so a flood of routes does not push them out.
static void take_all_prefixes(struct fill *f)
{
	*f->census = (struct mirror_census){
		.routes = f->m->prefixes.n, .nexthops = f->m->objects.n};
	f->n_prefixes = f->n_nexthops = 0;
	for (unsigned kernel = 0; kernel < 2; kernel++)
		for (struct row *r = f->m->prefixes.first; r != NULL; r = r->after) {
			struct prefix_row *p = (void *)r;
			bool first = p->routes->protocol == RTPROT_KERNEL;

			if (first == (kernel == 0))
				take_prefix(f, p);
		}
	f->census->taken = f->n_prefixes - f->census->foreign;
}

int mirror_routes(struct mirror *m, struct policy_routes *out, struct mirror_census *census)
{
	struct fill f = {.m = m, .census = census};
	struct routes_builder b;

	take_all_prefixes(&f);
	if (!routes_builder_init(&b, out, f.n_prefixes, f.n_nexthops))
		return -ENOMEM;
	f.b = &b;
	take_all_prefixes(&f);
	routes_builder_fini(&b);
	return 0;
}

// ---- for show

static void walk_prefix(const struct mirror *m, const struct prefix_row *p,
			void (*fn)(void *arg, const struct mirror_route *r), void *arg)
{
	const struct route *r = best(p);
	struct mirror_route out;
	bool refused = r == NULL;
	struct ways w;

	if (refused)
		r = word_of_a_host(p);
	if (r == NULL || !is_forwarded(&p->key.to))
		return;
	find_ways(m, r, &w);
	out = (struct mirror_route){.to = p->key.to, .type = r->type, .protocol = r->protocol,
				    .iface = PORT_NONE, .weight = 1, .metric = r->metric,
				    .no_room = p->no_room, .refused = refused, .device = ""};
	if (w.blackhole)
		out.type = KERNEL_BLACKHOLE;
	if (w.n == 0 || out.type == KERNEL_BLACKHOLE) {
		fn(arg, &out);
		return;
	}
	for (unsigned i = 0; i < w.n; i++) {
		const struct kernel_link *l = link_of(m, w.hops[i].ifindex);

		out.iface = mirror_iface(m, w.hops[i].ifindex);
		out.dead = w.hops[i].dead;
		out.weight = w.hops[i].weight;
		out.via = w.hops[i].via.family != 0 ? &w.hops[i].via : NULL;
		out.device = l == NULL ? "" : l->name;
		fn(arg, &out);
	}
}

void mirror_walk_routes(const struct mirror *m,
			void (*fn)(void *arg, const struct mirror_route *r), void *arg)
{
	for (const struct row *r = m->prefixes.first; r != NULL; r = r->after)
		walk_prefix(m, (const struct prefix_row *)r, fn, arg);
}

static struct mirror_neighbour neighbour_of(const struct mirror *m, const struct neighbour_row *n)
{
	return (struct mirror_neighbour){.iface = mirror_iface(m, n->key.ifindex),
					 .addr = n->key.addr,
					 .mac = n->has_mac ? n->mac : NULL,
					 .state = n->state,
					 .managed = n->managed,
					 .since_ns = n->since_ns};
}

uint32_t mirror_n_neighbours(const struct mirror *m)
{
	return m->neighbours.n;
}

void mirror_walk_neighbours(const struct mirror *m,
			    void (*fn)(void *arg, const struct mirror_neighbour *n), void *arg)
{
	for (const struct row *r = m->neighbours.first; r != NULL; r = r->after) {
		const struct mirror_neighbour n = neighbour_of(m, (const struct neighbour_row *)r);

		if (n.iface != PORT_NONE)
			fn(arg, &n);
	}
}

bool mirror_find_neighbour(const struct mirror *m, port_no_t iface, const struct policy_addr *a,
			   struct mirror_neighbour *out)
{
	struct neighbour_key key = {.ifindex = m->ifindex[iface], .addr = *a};
	const struct neighbour_row *n;

	key.addr.len = (uint8_t)addr_bits(a);
	n = (const void *)table_find(&m->neighbours, &key);
	if (n != NULL)
		*out = neighbour_of(m, n);
	return n != NULL;
}
