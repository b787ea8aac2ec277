// SPDX-License-Identifier: Apache-2.0
#include "control/inof/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/units.h"

const char *inof_end_text(uint8_t why)
{
	if (why == INOF_END_SILENT)
		return "no-answer";
	return why == INOF_END_OWN_LINK ? "own-link-down" : inof_reason_name[why];
}

struct inof_endpoint {
	struct inof_endpoint_conf conf;
	const struct inof_endpoint_ops *ops;
	void *arg;
	bool up, query_due;
	bool ends, said_goodbye;
	uint64_t register_ns; // when the next registration is due
	unsigned n, room;
	struct inof_path *paths; // in the order in which they are tried
	struct inof_endpoint_stats stats;
};

int inof_endpoint_create(const struct inof_endpoint_conf *c, const struct inof_endpoint_ops *ops,
			 void *arg, struct inof_endpoint **out)
{
	struct inof_endpoint *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return -ENOMEM;
	*e = (struct inof_endpoint){.conf = *c, .ops = ops, .arg = arg};
	*out = e;
	return 0;
}

void inof_endpoint_destroy(struct inof_endpoint *e)
{
	if (e == NULL)
		return;
	free(e->paths);
	free(e);
}

const struct inof_endpoint_stats *inof_endpoint_stats(const struct inof_endpoint *e)
{
	return &e->stats;
}

// ---- paths

static bool same_subsystem(const struct inof_path *a, const struct inof_path *b)
{
	const struct inof_nqn *x = &a->service.nqn, *y = &b->service.nqn;

	return x->len != 0 && x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

static unsigned find_path(const struct inof_endpoint *e, struct ip_key ip)
{
	unsigned i = 0;

	while (i < e->n && !ip_key_same(e->paths[i].ip, ip))
		i++;
	return i;
}

// Uses the first path of the subsystem of `like`, unless one is in use.
static void choose(struct inof_endpoint *e, const struct inof_path *like)
{
	struct inof_path *best = NULL;

	for (unsigned i = 0; i < e->n; i++) {
		struct inof_path *p = &e->paths[i];

		if (!same_subsystem(p, like) && !ip_key_same(p->ip, like->ip))
			continue;
		if (p->in_use)
			return;
		if (best == NULL)
			best = p;
	}
	if (best == NULL)
		return;
	best->in_use = true;
	e->stats.begins++;
	e->ops->begin(e->arg, best);
}

static void remove_at(struct inof_endpoint *e, unsigned i)
{
	memmove(&e->paths[i], &e->paths[i + 1], (--e->n - i) * sizeof(e->paths[0]));
}

static void end_path(struct inof_endpoint *e, const struct inof_path *p, uint8_t why)
{
	bool forced = why == INOF_ZONE_CHANGE || why == INOF_ADDRESS_CHANGE || why == INOF_AGED_OUT;

	if (!p->in_use)
		return;
	e->stats.ends++;
	e->ops->end(e->arg, p, why, forced);
}

static void goes(struct inof_endpoint *e, struct ip_key ip, uint8_t why)
{
	unsigned i = find_path(e, ip);
	struct inof_path gone;

	if (i == e->n)
		return;
	gone = e->paths[i];
	remove_at(e, i);
	end_path(e, &gone, why);
	choose(e, &gone);
}

static void comes(struct inof_endpoint *e, struct ip_key ip, const struct inof_service *s)
{
	enum { FIRST = 16 };
	unsigned room = e->room == 0 ? FIRST : 2 * e->room;
	struct inof_path *more;

	if (find_path(e, ip) < e->n)
		return;
	if (e->n == e->room) {
		more = e->n < INOF_PATHS ? realloc(e->paths, room * sizeof(*more)) : NULL;
		if (more == NULL) {
			e->stats.no_room++;
			return;
		}
		e->paths = more;
		e->room = room;
	}
	e->paths[e->n] = (struct inof_path){.ip = ip, .service = *s};
	choose(e, &e->paths[e->n++]);
}

void inof_endpoint_offer(struct inof_endpoint *e, struct ip_key ip, const struct inof_service *s)
{
	comes(e, ip, s);
}

void inof_endpoint_silent(struct inof_endpoint *e, struct ip_key ip)
{
	unsigned i = find_path(e, ip), spare = 0;
	struct inof_path p;

	if (i == e->n || !e->paths[i].in_use)
		return;
	p = e->paths[i];
	for (unsigned k = 0; k < e->n; k++)
		spare += k != i && same_subsystem(&e->paths[k], &p);
	if (spare == 0)
		return;
	remove_at(e, i);
	end_path(e, &p, INOF_END_SILENT);
	choose(e, &p);
	p.in_use = false;
	e->paths[e->n++] = p; // there is room: the path was here before
}

void inof_endpoint_link(struct inof_endpoint *e, bool up, uint64_t now_ns)
{
	if (up == e->up)
		return;
	e->up = e->query_due = up;
	e->register_ns = now_ns;
	while (!up && e->n > 0)
		end_path(e, &e->paths[--e->n], INOF_END_OWN_LINK);
}

// ---- frames

static bool is_initiator(const struct inof_endpoint *e)
{
	return (e->conf.registration.service.role & INOF_INITIATOR) != 0;
}

static void on_notice(struct inof_endpoint *e, const struct inof_message *m)
{
	e->stats.notices++;
	if (e->ops->notice != NULL)
		e->ops->notice(e->arg, m);
	if (!m->online)
		goes(e, m->src, m->reason);
	else if (is_initiator(e) && m->service.role & INOF_TARGET &&
		 m->service.protocol == e->conf.registration.service.protocol)
		comes(e, m->src, &m->service);
}

void inof_endpoint_receive(struct inof_endpoint *e, const uint8_t *frame, uint32_t len)
{
	const struct eth_hdr *eth = (const void *)frame;
	enum inof_read read;
	struct inof_reader r;
	struct inof_message m;
	struct inof_frame acks;
	unsigned n_acks = 0;

	if (len < sizeof(*eth) || be16_get(&eth->type) != ETYPE_INOF || !inof_open(frame, len, &r))
		return;
	inof_begin(&acks, e->conf.mac, INOF_VERSION);
	while ((read = inof_next(&r, &m)) != INOF_END) {
		if (read != INOF_MESSAGE || m.kind != INOF_NOTICE ||
		    !ip_key_same(m.dst, e->conf.registration.ip)) {
			e->stats.ignored++;
			continue;
		}
		on_notice(e, &m);
		m.kind = INOF_ACK;
		n_acks += inof_append(&acks, &m); // shorter than its notice, so there is room
	}
	if (n_acks == 0)
		return;
	inof_end(&acks);
	if (e->ops->send(e->arg, acks.bytes, acks.len)) // else the switch repeats the notices
		e->stats.acks += n_acks;
}

// One TLV beside those that each LLDPDU has, or none.
static bool send_lldp(struct inof_endpoint *e, uint64_t ttl_s, struct lldp_text tlv)
{
	const struct inof_endpoint_conf *c = &e->conf;
	struct lldp_pdu pdu = {
		.chassis = {LLDP_CHASSIS_MAC, {c->mac, sizeof(c->mac)}},
		.port = {LLDP_PORT_NAME,
			 {(const uint8_t *)c->port_id, (uint16_t)strlen(c->port_id)}},
		.ttl_s = (uint16_t)min_u64(ttl_s, UINT16_MAX),
	};
	uint8_t frame[LLDP_MAX_LEN];

	memcpy(pdu.mac, c->mac, sizeof(pdu.mac));
	return e->ops->send(e->arg, frame, lldp_build(frame, &pdu, tlv));
}

static bool send_registration(struct inof_endpoint *e)
{
	const struct inof_endpoint_conf *c = &e->conf;
	uint64_t ttl_s = (c->register_ns * INOF_TTL_INTERVALS + SECOND_NS - 1) / SECOND_NS;
	uint8_t tlv[INOF_TLV_MAX];
	uint16_t len = inof_build_registration(tlv, &c->registration);

	if (!send_lldp(e, ttl_s, (struct lldp_text){tlv, len}))
		return false;
	e->stats.registrations++;
	return true;
}

static bool send_query(struct inof_endpoint *e)
{
	const struct inof_message m = {.kind = INOF_QUERY, .dst = e->conf.registration.ip};
	struct inof_frame f;

	inof_begin(&f, e->conf.mac, INOF_VERSION);
	(void)!inof_append(&f, &m);
	inof_end(&f);
	if (!e->ops->send(e->arg, f.bytes, f.len))
		return false;
	e->stats.queries++;
	return true;
}

uint64_t inof_endpoint_poll(struct inof_endpoint *e, uint64_t now_ns)
{
	enum { AGAIN_NS = MS_NS };

	if (!e->up || e->said_goodbye)
		return UINT64_MAX;
	if (e->ends) {
		e->said_goodbye = e->stats.registrations == 0 ||
				  send_lldp(e, 0, (struct lldp_text){0});
		return e->said_goodbye ? UINT64_MAX : now_ns + AGAIN_NS;
	}
	if (now_ns >= e->register_ns) {
		if (!send_registration(e))
			return now_ns + AGAIN_NS;
		e->register_ns = now_ns + e->conf.register_ns;
	}
	if (e->query_due && !send_query(e))
		return now_ns + AGAIN_NS;
	e->query_due = false;
	return e->register_ns;
}

void inof_endpoint_end(struct inof_endpoint *e)
{
	e->ends = true;
}

bool inof_endpoint_ended(const struct inof_endpoint *e)
{
	return e->said_goodbye || !e->up;
}
