// SPDX-License-Identifier: Apache-2.0
#include "control/lldp/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/units.h"

static const uint64_t SECOND = SECOND_NS;

const char *const dcbx_state_name[N_DCBX_STATES] = {
	[DCBX_OFF] = "off",	      [DCBX_SILENT] = "silent",	    [DCBX_OLD] = "cee",
	[DCBX_SEVERAL] = "several",   [DCBX_MISMATCH] = "mismatch", [DCBX_AGREED] = "agreed",
};

// What follows from the peer's TLVs: an event, and the classes that may have PFC.
struct effect {
	enum dcbx_state state;
	unsigned differences;
	uint8_t peer_pfc; // 0: it has said nothing
	bool follows; // dcbx_follows()
	int peer_roce;
};

struct agent_port {
	bool on, up;
	bool due; // a frame shall be sent
	uint8_t fast, credit;
	uint64_t timer_ns, credit_ns;
	uint16_t len; // of the frame that the port sends
	uint8_t frame[LLDP_MAX_LEN];
	unsigned n;
	struct lldp_neighbour *neighbour[LLDP_NEIGHBOURS]; // n of them, in the order of arrival
	struct effect seen, said; // as the peer is now, and as it has taken effect
	uint64_t seen_ns, said_ns; // when they changed
	bool damped; // said_ns counts
	uint32_t rules; // of the policy, see rules_of()
	struct lldp_counters c;
};

struct lldp_agent {
	const struct lldp_agent_ops *ops;
	void *arg;
	unsigned n_ports;
	struct agent_port port[];
};

int lldp_agent_create(unsigned n_ports, const struct lldp_agent_ops *ops, void *arg,
		      struct lldp_agent **out)
{
	struct lldp_agent *a = calloc(1, sizeof(*a) + n_ports * sizeof(a->port[0]));

	if (a == NULL)
		return -ENOMEM;
	a->ops = ops;
	a->arg = arg;
	a->n_ports = n_ports;
	*out = a;
	return 0;
}

static void forget_lldp_neighbour(struct agent_port *p, unsigned i)
{
	free(p->neighbour[i]);
	p->n--;
	for (; i < p->n; i++)
		p->neighbour[i] = p->neighbour[i + 1];
}

void lldp_agent_destroy(struct lldp_agent *a)
{
	for (unsigned i = 0; a != NULL && i < a->n_ports; i++)
		while (a->port[i].n > 0)
			forget_lldp_neighbour(&a->port[i], a->port[i].n - 1);
	free(a);
}

// ---- texts

void lldp_text_print(struct lldp_text t, char out[LLDP_ABOUT_LEN])
{
	unsigned n = t.len < LLDP_ABOUT_LEN - 1 ? t.len : LLDP_ABOUT_LEN - 1;

	for (unsigned i = 0; i < n; i++)
		out[i] = (char)(t.at[i] >= ' ' && t.at[i] < 127 ? t.at[i] : '?');
	out[n] = '\0';
}

void lldp_address_print(struct lldp_text address, char out[LLDP_ABOUT_LEN])
{
	enum { IANA_IPV4 = 1, IANA_IPV6 = 2, V4_LEN = 5, V6_LEN = 17 };

	out[0] = '\0';
	if (address.len == V4_LEN && address.at[0] == IANA_IPV4)
		(void)!inet_ntop(AF_INET, address.at + 1, out, LLDP_ABOUT_LEN);
	else if (address.len == V6_LEN && address.at[0] == IANA_IPV6)
		(void)!inet_ntop(AF_INET6, address.at + 1, out, LLDP_ABOUT_LEN);
}

void lldp_id_print(const struct lldp_id *id, bool chassis, char out[LLDP_ABOUT_LEN])
{
	const uint8_t *b = id->id.at;

	if (id->kind == (chassis ? LLDP_CHASSIS_MAC : LLDP_PORT_MAC) && id->id.len == 6) {
		snprintf(out, LLDP_ABOUT_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2],
			 b[3], b[4], b[5]);
		return;
	}
	if (id->kind == (chassis ? LLDP_CHASSIS_ADDRESS : LLDP_PORT_ADDRESS)) {
		lldp_address_print(id->id, out);
		if (out[0] != '\0')
			return;
	}
	lldp_text_print(id->id, out);
}

static void event(const struct lldp_agent *a, const struct agent_port *p, enum event_type type,
		  struct event e, const struct lldp_neighbour *n)
{
	char about[LLDP_ABOUT_LEN] = "";

	e.type = (uint8_t)type;
	e.port = (port_no_t)(p - a->port);
	e.cls = CLASS_NONE;
	if (n != NULL && n->pdu.system_name.len > 0)
		lldp_text_print(n->pdu.system_name, about);
	else if (n != NULL)
		lldp_id_print(&n->pdu.chassis, true, about);
	a->ops->event(a->arg, &e, about);
}

// ---- DCBX

static bool speaks_dcbx(const struct dcbx_pdu *d)
{
	return d->ets.given || d->ets_recommended.given || d->pfc.given || d->app_given;
}

static const struct lldp_neighbour *peer_of(const struct agent_port *p, enum dcbx_state *state)
{
	const struct lldp_neighbour *peer = NULL;

	*state = DCBX_SILENT;
	for (unsigned i = 0; i < p->n; i++) {
		if (speaks_dcbx(&p->neighbour[i]->pdu.dcbx)) {
			*state = peer == NULL ? DCBX_AGREED : DCBX_SEVERAL;
			peer = p->neighbour[i];
		} else if (p->neighbour[i]->pdu.cee && *state == DCBX_SILENT) {
			*state = DCBX_OLD;
		}
	}
	return *state == DCBX_AGREED ? peer : NULL;
}

static void view_of(const struct agent_port *p, const struct lldp_local *local,
		    struct dcbx_view *out)
{
	struct dcbx_link l = {.local = &out->local, .possible = local->pfc_possible};

	*out = (struct dcbx_view){.local = local->pdu.dcbx, .pfc_auto = local->pfc_auto};
	out->peer = peer_of(p, &out->state);
	memcpy(l.local_mac, local->pdu.mac, sizeof(l.local_mac));
	if (out->peer != NULL) {
		l.peer = &out->peer->pdu.dcbx;
		memcpy(l.peer_mac, out->peer->pdu.mac, sizeof(l.peer_mac));
	}
	out->differences = dcbx_differences(&l);
	if (out->differences & DCBX_FAULTS)
		out->state = DCBX_MISMATCH;
	out->oper = dcbx_pfc_oper(&l);
	out->follows = dcbx_follows(&l);
}

static uint8_t allowed_by(const struct effect *e, bool pfc_auto)
{
	return pfc_auto || e->follows ? e->peer_pfc : UINT8_MAX;
}

static uint8_t active_by(const struct effect *e, const struct lldp_local *local)
{
	uint8_t own = e->follows ? local->pfc_possible : local->pdu.dcbx.pfc.enable;

	return own & allowed_by(e, local->pfc_auto);
}

void lldp_dcbx(const struct lldp_agent *a, unsigned port, struct dcbx_view *out)
{
	struct lldp_local local = {0};

	if (a->ops->local(a->arg, port, &local)) {
		view_of(&a->port[port], &local, out);
	} else {
		*out = (struct dcbx_view){.state = DCBX_OFF, .local = local.pdu.dcbx,
					  .pfc_auto = local.pfc_auto};
		out->oper = out->local.pfc.enable;
	}
	out->active = active_by(&a->port[port].said, &local);
}

static bool is_same_effect(const struct effect *a, const struct effect *b)
{
	return a->state == b->state && a->differences == b->differences &&
	       a->peer_pfc == b->peer_pfc && a->follows == b->follows &&
	       a->peer_roce == b->peer_roce;
}

static uint64_t effect_due_ns(const struct agent_port *p)
{
	bool settles = p->seen.state == DCBX_MISMATCH ||
		       (p->damped && p->seen.state == DCBX_SILENT);
	uint64_t settled = p->seen_ns + (settles ? LLDP_SETTLE_S * SECOND : 0);
	uint64_t damped = p->damped ? p->said_ns + LLDP_DAMP_S * SECOND : 0;

	if (is_same_effect(&p->seen, &p->said) || (p->damped && !p->up))
		return UINT64_MAX;
	return settled > damped ? settled : damped;
}

static void take_effect(struct lldp_agent *a, struct agent_port *p, uint64_t now_ns)
{
	const enum dcbx_state before = p->said.state;
	const bool followed = p->said.follows;
	struct event e = {.t_ns = now_ns};
	struct dcbx_view was, v;

	if (now_ns < effect_due_ns(p))
		return;
	lldp_dcbx(a, (unsigned)(p - a->port), &was);
	p->said = p->seen;
	lldp_dcbx(a, (unsigned)(p - a->port), &v);
	p->said_ns = now_ns;
	p->damped |= v.peer != NULL; // a port that has never had a peer takes the first one at once
	e.a = (uint32_t)(p->said.peer_pfc | v.oper << 8);
	e.b = (uint64_t)(p->said.peer_roce + 1) | (uint64_t)(dcbx_roce_class(&v.local) + 1) << 8;
	if (p->said.state == DCBX_MISMATCH)
		event(a, p, EVENT_DCBX_MISMATCH, e, v.peer);
	else if (p->said.state == DCBX_AGREED && before != DCBX_AGREED)
		event(a, p, EVENT_DCBX_AGREED, e, v.peer);
	if (v.active == was.active)
		return;
	e.a = (uint32_t)(v.active | v.local.pfc.enable << 8);
	e.b = followed || p->said.follows ? DCBX_PFC_BY_WILLING : DCBX_PFC_BY_AUTO;
	event(a, p, EVENT_DCBX_PFC, e, v.peer);
}

// What the policy says of DCBX on a port, in one number.
static uint32_t rules_of(const struct lldp_local *l, bool on)
{
	const struct dcbx_pfc *pfc = &l->pdu.dcbx.pfc;
	uint8_t roce = (uint8_t)(dcbx_roce_class(&l->pdu.dcbx) + 1);

	return (uint32_t)(on | l->pfc_auto << 1 | pfc->willing << 2 | pfc->given << 3 | roce << 4 |
			  pfc->enable << 8 | l->pfc_possible << 16);
}

// ---- what the port says

// The shutdown LLDPDU (9.2.7.3), with the IDs of the last frame.
static void say_goodbye(const struct lldp_agent *a, struct agent_port *p)
{
	uint8_t frame[LLDP_MAX_LEN];
	struct lldp_pdu last, bye;

	if (p->len == 0 || !p->up || lldp_parse(p->frame, p->len, &last) != LLDP_OK)
		return;
	bye = (struct lldp_pdu){.chassis = last.chassis, .port = last.port};
	memcpy(bye.mac, last.mac, sizeof(bye.mac));
	p->c.sent += a->ops->send(a->arg, (unsigned)(p - a->port), frame,
				  lldp_build(frame, &bye, (struct lldp_text){0}));
}

// Builds the frame anew. It is sent soon if it differs from the one before.
static void refresh(struct lldp_agent *a, struct agent_port *p, uint64_t now_ns)
{
	struct lldp_local local = {0};
	uint8_t frame[LLDP_MAX_LEN];
	struct effect seen;
	struct dcbx_view v;
	uint16_t len = 0;
	uint32_t rules;

	p->on = a->ops->local(a->arg, (unsigned)(p - a->port), &local);
	rules = rules_of(&local, p->on);
	p->damped &= rules == p->rules; // what the operator changes is not damped
	p->rules = rules;
	if (!p->on)
		say_goodbye(a, p);
	while (!p->on && p->n > 0)
		forget_lldp_neighbour(p, p->n - 1);
	view_of(p, &local, &v);
	if (!p->on)
		v.state = DCBX_OFF;
	seen = (struct effect){.state = v.state, .differences = v.differences & DCBX_FAULTS,
			       .follows = v.follows, .peer_roce = -1};
	if (v.peer != NULL) {
		seen.peer_pfc = v.peer->pdu.dcbx.pfc.enable;
		seen.peer_roce = dcbx_roce_class(&v.peer->pdu.dcbx);
	}
	if (!is_same_effect(&seen, &p->seen)) {
		p->c.dcbx_changes += p->seen.state != DCBX_OFF;
		p->seen = seen;
		p->seen_ns = now_ns;
	}
	if (p->on) {
		local.pdu.ttl_s = LLDP_TTL_S;
		local.pdu.dcbx.pfc.enable = v.oper;
		len = lldp_build(frame, &local.pdu, local.extra);
	}
	if (len == p->len && memcmp(frame, p->frame, len) == 0)
		return;
	memcpy(p->frame, frame, len);
	p->len = len;
	p->due = len > 0;
}

// 9.2.5.19: a frame within a second, or in 30 s.
static void send_due(struct lldp_agent *a, struct agent_port *p, uint64_t now_ns)
{
	while (p->credit < LLDP_CREDIT && now_ns >= p->credit_ns + SECOND) {
		p->credit++;
		p->credit_ns += SECOND;
	}
	if (p->credit == LLDP_CREDIT)
		p->credit_ns = now_ns;
	if (p->len == 0 || !p->up)
		return;
	if (now_ns >= p->timer_ns) {
		p->due = true;
		if (p->fast > 0)
			p->fast--;
		p->timer_ns = now_ns + (p->fast > 0 ? 1 : LLDP_INTERVAL_S) * SECOND;
	}
	if (!p->due || p->credit == 0 ||
	    !a->ops->send(a->arg, (unsigned)(p - a->port), p->frame, p->len))
		return;
	p->due = false;
	p->credit--;
	p->c.sent++;
}

static void settle_agent_port(struct lldp_agent *a, struct agent_port *p, uint64_t now_ns)
{
	refresh(a, p, now_ns);
	take_effect(a, p, now_ns);
	send_due(a, p, now_ns);
}

void lldp_local_changed(struct lldp_agent *a, uint64_t now_ns)
{
	for (unsigned i = 0; i < a->n_ports; i++)
		settle_agent_port(a, &a->port[i], now_ns);
}

void lldp_link(struct lldp_agent *a, unsigned port, bool up, uint64_t now_ns)
{
	const struct event now = {.t_ns = now_ns};
	struct agent_port *p = &a->port[port];

	if (p->up == up)
		return;
	p->up = up;
	p->seen_ns = now_ns; // the host of a link that is new has time to speak
	p->timer_ns = now_ns;
	p->fast = 0;
	p->credit = LLDP_CREDIT;
	p->credit_ns = now_ns;
	while (!up && p->n > 0) {
		event(a, p, EVENT_LLDP_GONE, now, p->neighbour[p->n - 1]);
		forget_lldp_neighbour(p, p->n - 1);
	}
	settle_agent_port(a, p, now_ns);
}

void lldp_shutdown(struct lldp_agent *a)
{
	for (unsigned i = 0; i < a->n_ports; i++)
		say_goodbye(a, &a->port[i]);
}

// ---- neighbours

static bool same_id(const struct lldp_id *a, const struct lldp_id *b)
{
	return a->kind == b->kind && a->id.len == b->id.len &&
	       memcmp(a->id.at, b->id.at, a->id.len) == 0;
}

// Its place, or p->n.
static unsigned find_lldp_neighbour(const struct agent_port *p, const struct lldp_pdu *pdu)
{
	unsigned i = 0;

	while (i < p->n && !(same_id(&p->neighbour[i]->pdu.chassis, &pdu->chassis) &&
			     same_id(&p->neighbour[i]->pdu.port, &pdu->port)))
		i++;
	return i;
}

// NULL: there is no room, or no memory.
static struct lldp_neighbour *add_lldp_neighbour(struct agent_port *p, uint64_t now_ns)
{
	struct lldp_neighbour *n = p->n < LLDP_NEIGHBOURS ? calloc(1, sizeof(*n)) : NULL;

	if (n == NULL) {
		p->c.too_many++;
		return NULL;
	}
	n->since_ns = now_ns;
	p->neighbour[p->n++] = n;
	return n;
}

static void keep_neighbour_pdu(struct lldp_neighbour *n, const uint8_t *bytes, uint32_t len,
			       uint64_t now_ns)
{
	memcpy(n->bytes, bytes, len);
	n->len = (uint16_t)len;
	(void)lldp_parse(n->bytes, len, &n->pdu);
	n->end_ns = now_ns + n->pdu.ttl_s * SECOND;
}

static void take_in(struct lldp_agent *a, struct agent_port *p, const struct lldp_pdu *pdu,
		    const uint8_t *bytes, uint32_t len, uint64_t now_ns)
{
	const struct event now = {.t_ns = now_ns};
	unsigned i = find_lldp_neighbour(p, pdu);
	struct lldp_neighbour *n = i < p->n ? p->neighbour[i] : NULL;

	if (pdu->ttl_s == 0) {
		if (n != NULL) {
			event(a, p, EVENT_LLDP_GONE, now, n);
			forget_lldp_neighbour(p, i);
		}
		return;
	}
	if (n != NULL) {
		keep_neighbour_pdu(n, bytes, len, now_ns);
		return;
	}
	n = add_lldp_neighbour(p, now_ns);
	if (n == NULL)
		return;
	keep_neighbour_pdu(n, bytes, len, now_ns);
	event(a, p, EVENT_LLDP_NEW, now, n);
	if (p->fast == 0) {
		p->fast = LLDP_FAST;
		p->timer_ns = now_ns;
	}
}

void lldp_receive(struct lldp_agent *a, unsigned port, const uint8_t *bytes, uint32_t len,
		  uint64_t now_ns)
{
	struct agent_port *p = &a->port[port];
	struct lldp_pdu pdu;

	if (!p->on)
		return;
	p->c.received++;
	if (lldp_parse(bytes, len, &pdu) != LLDP_OK) {
		p->c.malformed++;
		return;
	}
	if (len == p->len && memcmp(bytes, p->frame, len) == 0) {
		p->c.own++;
		return;
	}
	p->c.unknown_tlvs += pdu.n_unknown;
	p->c.bad_tlvs += pdu.n_bad;
	p->c.cee += pdu.cee;
	take_in(a, p, &pdu, bytes, len, now_ns);
	settle_agent_port(a, p, now_ns);
}

static void age(struct lldp_agent *a, struct agent_port *p, uint64_t now_ns)
{
	bool any = false;

	for (unsigned i = p->n; i-- > 0;) {
		if (now_ns < p->neighbour[i]->end_ns)
			continue;
		event(a, p, EVENT_LLDP_GONE, (struct event){.t_ns = now_ns}, p->neighbour[i]);
		forget_lldp_neighbour(p, i);
		p->c.aged++;
		any = true;
	}
	if (any)
		refresh(a, p, now_ns);
}

void lldp_poll(struct lldp_agent *a, uint64_t now_ns)
{
	for (unsigned i = 0; i < a->n_ports; i++) {
		struct agent_port *p = &a->port[i];

		age(a, p, now_ns);
		take_effect(a, p, now_ns);
		send_due(a, p, now_ns);
	}
}

static uint64_t port_next_ns(const struct agent_port *p)
{
	uint64_t next_ns = effect_due_ns(p);

	for (unsigned i = 0; i < p->n; i++)
		next_ns = min_u64(next_ns, p->neighbour[i]->end_ns);
	if (p->len == 0 || !p->up)
		return next_ns;
	next_ns = min_u64(next_ns, p->timer_ns);
	return p->due ? min_u64(next_ns, p->credit > 0 ? 0 : p->credit_ns + SECOND) : next_ns;
}

uint64_t lldp_next_ns(const struct lldp_agent *a)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned i = 0; i < a->n_ports; i++)
		next_ns = min_u64(next_ns, port_next_ns(&a->port[i]));
	return next_ns;
}

// ---- readers

uint8_t lldp_pfc_allowed(const struct lldp_agent *a, unsigned port, bool pfc_auto)
{
	return allowed_by(&a->port[port].said, pfc_auto);
}

bool lldp_is_on(const struct lldp_agent *a, unsigned port)
{
	return a->port[port].on;
}

const struct lldp_counters *lldp_counters(const struct lldp_agent *a, unsigned port)
{
	return &a->port[port].c;
}

const struct lldp_neighbour *lldp_neighbour(const struct lldp_agent *a, unsigned port, unsigned i)
{
	return i < a->port[port].n ? a->port[port].neighbour[i] : NULL;
}
