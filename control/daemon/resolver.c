// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/daemon/neighbour_table.h"
#include "control/daemon/resolver_impl.h"
#include "dataplane/event.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_routes.h"

// Frames and questions that one control loop takes in; what comes faster waits, or is lost and
// counted by the workers.
enum { TAKEN_A_LOOP = 512, CHANGED_EVERY_NS = 1000000000 };

// ---- addresses of the switch

static const struct policy_port *port_of(const struct resolver *r, uint8_t port)
{
	return &switch_policy(r->sw)->ports[port];
}

static unsigned ip_bytes(uint8_t family)
{
	return family == FAMILY_V4 ? 4 : 16;
}

static bool is_own(const struct policy_port *p, uint8_t family, const uint8_t *ip)
{
	for (unsigned i = 0; i < p->n_addrs; i++)
		if (p->addrs[i].family == family &&
		    memcmp(p->addrs[i].ip, ip, ip_bytes(family)) == 0)
			return true;
	return false;
}

static bool in_subnet(const struct policy_addr *net, const uint8_t *ip)
{
	for (unsigned i = 0; i < net->len; i++)
		if ((net->ip[i / 8] ^ ip[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

// The port's address in the subnet of ip, the longest; NULL: none.
static const struct policy_addr *own_beside(const struct policy_port *p, uint8_t family,
					    const uint8_t *ip)
{
	const struct policy_addr *best = NULL;

	for (unsigned i = 0; i < p->n_addrs; i++)
		if (p->addrs[i].family == family && in_subnet(&p->addrs[i], ip) &&
		    (best == NULL || p->addrs[i].len > best->len))
			best = &p->addrs[i];
	return best;
}

// Any address of the family, to ask for a next hop that is in no subnet of the port.
static const struct policy_addr *own_any(const struct policy_port *p, uint8_t family)
{
	for (unsigned i = 0; i < p->n_addrs; i++)
		if (p->addrs[i].family == family)
			return &p->addrs[i];
	return NULL;
}

// ---- frames out

static void transmit(struct resolver *r, uint8_t port, const struct neighbour_msg *m)
{
	struct neighbour_frame f = {.port = port};

	f.len = neighbour_build(f.bytes, m);
	if (!switch_send(r->sw, &f, m->request ? SEND_PROBE : SEND_ANSWER))
		r->unsent++; // asked again by a timer, or by who wanted the answer
}

static void on_probe(void *arg, uint8_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct resolver *r = arg;
	const struct policy_port *p = port_of(r, port);
	const struct policy_addr *own = own_beside(p, a->family, a->ip);
	struct neighbour_msg m = {.family = a->family, .request = true};

	if (own == NULL)
		own = own_any(p, a->family);
	if (own == NULL)
		return;
	memcpy(m.sender_mac, p->mac, sizeof(m.sender_mac));
	memcpy(m.sender, own->ip, sizeof(m.sender));
	memcpy(m.target, a->ip, sizeof(m.target));
	if (mac != NULL)
		memcpy(m.to_mac, mac, sizeof(m.to_mac));
	transmit(r, port, &m);
}

static void on_set(void *arg, uint8_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct resolver *r = arg;

	if (switch_set_neighbour(r->sw, port, a, mac) != 0)
		r->no_room++;
}

static void on_changed(void *arg, uint8_t port, const struct policy_addr *a, const uint8_t *mac,
		       uint64_t now_ns)
{
	struct resolver *r = arg;
	bool v6 = a->family == FAMILY_V6;
	uint64_t b = v6 ? 1ull << 48 : 0;

	if (r->changed_ns[port] != 0 && now_ns - r->changed_ns[port] < CHANGED_EVERY_NS)
		return;
	r->changed_ns[port] = now_ns;
	for (unsigned i = 0; i < 6; i++)
		b |= (uint64_t)mac[i] << (40 - 8 * i);
	switch_say(r->sw, EVENT_NEIGHBOUR_MAC, port, be32_get(a->ip + (v6 ? 12 : 0)), b);
}

static void on_next_hop(void *arg, uint8_t port, const struct policy_addr *a, bool answers)
{
	const struct resolver *r = arg;
	const struct event e = {.t_ns = r->now_ns, .port = port, .cls = 0xff,
				.type = answers ? EVENT_NEXT_HOP_BACK : EVENT_NEXT_HOP_LOST};
	char text[ADDR_TEXT_LEN];

	if (r->listener.say != NULL)
		r->listener.say(r->listener.arg, &e, addr_text(a, text));
}

static void answer(struct resolver *r, uint8_t port, const struct neighbour_msg *q)
{
	const struct policy_port *p = port_of(r, port);
	struct neighbour_msg m = {.family = q->family};

	memcpy(m.sender_mac, p->mac, sizeof(m.sender_mac));
	memcpy(m.sender, q->target, sizeof(m.sender));
	memcpy(m.target, q->sender, sizeof(m.target));
	memcpy(m.to_mac, q->has_mac ? q->sender_mac : q->from_mac, sizeof(m.to_mac));
	transmit(r, port, &m);
}

// ---- frames in

// Only a station of the port's own subnets becomes, or changes, a neighbour; and a next hop that a
// route names, wherever its address is.
static bool may_hear(const struct resolver *r, uint8_t port, const struct policy_addr *a)
{
	const struct policy_port *p = port_of(r, port);

	if (is_own(p, a->family, a->ip))
		return false;
	return own_beside(p, a->family, a->ip) != NULL ||
	       neighbour_find(r->table, port, a) != NULL;
}

static void take_in(struct resolver *r, const struct neighbour_frame *f, uint64_t now_ns)
{
	const struct policy_port *p = port_of(r, f->port);
	struct neighbour_msg m;
	struct policy_addr sender = {0};
	enum neighbour_heard how = HEARD_CLAIM;
	bool asks_us;

	if (!p->routed || !neighbour_parse(f->bytes, f->len, &m)) {
		r->malformed++;
		return;
	}
	asks_us = m.request && is_own(p, m.family, m.target);
	if (asks_us)
		answer(r, f->port, &m);
	sender.family = m.family;
	memcpy(sender.ip, m.sender, sizeof(sender.ip));
	if (!may_hear(r, f->port, &sender))
		return;
	if (asks_us)
		how = HEARD_ASKING_US;
	else if (!m.request && m.solicited)
		how = HEARD_ANSWER;
	neighbour_heard(r->table, f->port, &sender, m.has_mac ? m.sender_mac : NULL, how,
			m.request || m.overrides, now_ns);
}

void resolver_poll(struct resolver *r, uint64_t now_ns)
{
	struct neighbour_frame f;
	struct neighbour_ask ask;

	if (r == NULL || !switch_policy(r->sw)->routes.any)
		return;
	r->now_ns = now_ns;
	for (unsigned i = 0; i < TAKEN_A_LOOP && switch_next_neighbour_frame(r->sw, &f); i++)
		take_in(r, &f, now_ns);
	for (unsigned i = 0; i < TAKEN_A_LOOP && switch_next_ask(r->sw, &ask); i++)
		if (port_of(r, ask.port)->routed)
			neighbour_want(r->table, ask.port, &ask.addr, false, now_ns);
	neighbour_tick(r->table, now_ns);
}

// ---- policies

static bool may_stay(void *arg, uint8_t port, const struct policy_addr *a)
{
	const struct resolver *r = arg;
	const struct policy_port *p = port_of(r, port);

	return p->routed && !is_own(p, a->family, a->ip) && own_beside(p, a->family, a->ip) != NULL;
}

void resolver_new_policy(struct resolver *r, uint64_t now_ns)
{
	const struct policy_routes *routes;

	if (r == NULL)
		return;
	routes = &switch_policy(r->sw)->routes;
	neighbour_begin_policy(r->table);
	for (uint32_t i = 0; i < routes->n_neighbours; i++)
		neighbour_set_static(r->table, routes->neighbours[i].port,
				     &routes->neighbours[i].addr, routes->neighbours[i].mac,
				     now_ns);
	for (uint32_t i = 0; i < routes->n_nexthops; i++)
		if (routes->nexthops[i].kind == NEXTHOP_GATEWAY)
			neighbour_want(r->table, routes->nexthops[i].port,
				       &routes->nexthops[i].addr, true, now_ns);
	neighbour_end_policy(r->table, may_stay, now_ns);
}

int resolver_create(struct weir_switch *sw, uint64_t now_ns, struct resolver **out)
{
	static const struct neighbour_ops ops = {.probe = on_probe, .set = on_set,
						 .changed = on_changed,
						 .next_hop = on_next_hop};
	struct resolver *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->sw = sw;
	if (neighbour_table_create(&ops, r, &r->table) != 0) {
		free(r);
		return -ENOMEM;
	}
	resolver_new_policy(r, now_ns);
	*out = r;
	return 0;
}

void resolver_listen(struct resolver *r, const struct resolver_listener *listener)
{
	r->listener = *listener;
}

void resolver_destroy(struct resolver *r)
{
	if (r == NULL)
		return;
	neighbour_table_destroy(r->table);
	free(r);
}
