// SPDX-License-Identifier: Apache-2.0
#include "control/neighbours/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/neighbours/neighbour_table.h"
#include "dataplane/base/units.h"
#include "dataplane/event.h"
#include "dataplane/forward/route.h"
#include "dataplane/iface.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_routes.h"

// Frames and questions that one look of control takes in; what comes faster waits, or is lost and
// counted by the workers.
enum { TAKEN_A_LOOK = 512, CHANGED_EVERY_NS = SECOND_NS };

struct resolver {
	struct weir_switch *sw;
	struct neighbour_table *table;
	uint64_t now_ns; // of the last poll
	bool gave; // the workers something, in this poll
	struct resolver_listener listener;
	struct resolver_counts n;
	uint64_t changed_ns[N_IFACES]; // last report of a changed MAC address; 0: never
};

// ---- addresses of the switch

// The interface, or one without addresses.
static struct iface iface_of(const struct resolver *r, port_no_t no)
{
	struct iface i = {0};

	(void)iface_get(switch_policy(r->sw), no, &i);
	return i;
}

static bool iface_owns_address(const struct iface *i, const struct policy_addr *a)
{
	return iface_has_addr(i, a->family, a->ip);
}

// The interface's address in the subnet of a, the longest; NULL: none.
static const struct policy_addr *own_beside(const struct iface *i, const struct policy_addr *a)
{
	const struct policy_addr *best = NULL;

	for (unsigned k = 0; k < i->n_addrs; k++)
		if (addr_holds(&i->addrs[k], a) && (best == NULL || i->addrs[k].len > best->len))
			best = &i->addrs[k];
	return best;
}

// ---- frames out

// False: there is no room. A question is asked again soon, an answer when the station asks again.
static bool transmit(struct resolver *r, port_no_t port, const struct neighbour_msg *m)
{
	struct control_frame f = {.port = port};
	bool sent;

	f.len = neighbour_build(f.bytes, m);
	sent = switch_send(r->sw, &f, m->request ? SEND_PROBE : SEND_ANSWER);
	r->gave = true;
	r->n.unsent += !sent;
	return sent;
}

static bool on_probe(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct resolver *r = arg;
	const struct iface in = iface_of(r, port);
	const struct policy_addr *own = own_beside(&in, a);
	struct neighbour_msg m = {.family = a->family, .request = true};

	// A next hop in no subnet of the interface: any address of the family.
	for (unsigned i = 0; own == NULL && i < in.n_addrs; i++)
		if (in.addrs[i].family == a->family)
			own = &in.addrs[i];
	if (own == NULL)
		return true; // without an own address there is no question to send
	memcpy(m.sender_mac, in.mac, sizeof(m.sender_mac));
	memcpy(m.sender, own->ip, sizeof(m.sender));
	memcpy(m.target, a->ip, sizeof(m.target));
	if (mac != NULL)
		memcpy(m.to_mac, mac, sizeof(m.to_mac));
	return transmit(r, port, &m);
}

static void on_set(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct resolver *r = arg;

	r->gave = true;
	if (switch_set_neighbour(r->sw, port, a, mac) != 0)
		r->n.no_room++;
}

static void on_changed(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac,
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

static void on_next_hop(void *arg, port_no_t port, const struct policy_addr *a, bool answers)
{
	const struct resolver *r = arg;
	const struct event e = {.t_ns = r->now_ns, .port = port, .cls = CLASS_NONE,
				.type = answers ? EVENT_NEXT_HOP_BACK : EVENT_NEXT_HOP_LOST};
	char text[ADDR_TEXT_LEN];

	if (r->listener.notify != NULL)
		r->listener.notify(r->listener.arg, &e, addr_text(a, text));
}

// ---- frames in

static void take_in(struct resolver *r, const struct control_frame *f, uint64_t now_ns)
{
	const struct iface in = iface_of(r, f->port);
	struct neighbour_msg m, reply;
	struct policy_addr sender = {0}, target = {0};
	enum neighbour_rx how = NEIGHBOUR_RX_CLAIM;
	bool for_us;

	if (in.name == NULL || !neighbour_parse(f->bytes, f->len, &m)) {
		r->n.malformed++;
		return;
	}
	sender.family = target.family = m.family;
	memcpy(sender.ip, m.sender, sizeof(sender.ip));
	memcpy(target.ip, m.target, sizeof(target.ip));
	for_us = m.request && iface_owns_address(&in, &target);
	if (for_us) {
		reply = (struct neighbour_msg){.family = m.family};
		memcpy(reply.sender_mac, in.mac, sizeof(reply.sender_mac));
		memcpy(reply.sender, m.target, sizeof(reply.sender));
		memcpy(reply.target, m.sender, sizeof(reply.target));
		memcpy(reply.to_mac, m.has_mac ? m.sender_mac : m.from_mac, sizeof(reply.to_mac));
		(void)transmit(r, f->port, &reply);
	}
	// Only a station of the interface's own subnets becomes, or changes, a neighbour; and a
	// next hop that a route names, wherever its address is.
	if (iface_owns_address(&in, &sender) ||
	    (own_beside(&in, &sender) == NULL &&
	     neighbour_find(r->table, f->port, &sender) == NULL))
		return;
	if (for_us)
		how = NEIGHBOUR_RX_REQUEST;
	else if (!m.request && m.solicited)
		how = NEIGHBOUR_RX_ANSWER;
	neighbour_receive(r->table, f->port, &sender, m.has_mac ? m.sender_mac : NULL, how,
			m.request || m.overrides, now_ns);
}

bool resolver_poll(struct resolver *r, bool all, uint64_t now_ns)
{
	struct control_frame f;
	struct neighbour_request ask;

	if (r == NULL || !switch_policy(r->sw)->routes.any)
		return false;
	r->now_ns = now_ns;
	r->gave = false;
	for (unsigned i = 0; (all || i < TAKEN_A_LOOK) &&
			     switch_next_punt(r->sw, NEIGHBOUR_REASONS, &f); i++)
		take_in(r, &f, now_ns);
	for (unsigned i = 0; (all || i < TAKEN_A_LOOK) &&
			     switch_next_neighbour_request(r->sw, &ask); i++)
		if (iface_of(r, ask.port).name != NULL)
			neighbour_want(r->table, ask.port, &ask.addr, false, now_ns);
	neighbour_tick(r->table, now_ns);
	return r->gave;
}

// ---- policies

// Whether frames to the address go out by the port to the address itself.
static bool is_on_link(const struct resolver *r, port_no_t port, const struct policy_addr *a)
{
	const struct policy *p = switch_policy(r->sw);
	uint32_t group = p->table == NULL	? 0
			 : a->family == FAMILY_V4 ? route_lookup_v4(p->table, be32_get(a->ip))
						  : route_lookup_v6(p->table, a->ip);
	const struct policy_group *g = group == 0 ? NULL : &p->routes.groups[group - 1];

	for (uint32_t i = 0; g != NULL && i < g->n; i++) {
		const struct policy_nexthop *h = &p->routes.nexthops[g->first + i];

		if (h->kind == NEXTHOP_LINK && h->port == port)
			return true;
	}
	return false;
}

static bool may_stay(void *arg, port_no_t port, const struct policy_addr *a)
{
	const struct resolver *r = arg;
	const struct iface in = iface_of(r, port);

	return !iface_owns_address(&in, a) &&
	       (own_beside(&in, a) != NULL || is_on_link(r, port, a));
}

void resolver_new_policy(struct resolver *r, uint64_t now_ns)
{
	const struct policy_routes *routes;

	if (r == NULL)
		return;
	r->now_ns = now_ns;
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

const struct neighbour_table *resolver_table(const struct resolver *r)
{
	return r->table;
}

struct resolver_counts resolver_counts(const struct resolver *r)
{
	return r->n;
}
