// SPDX-License-Identifier: Apache-2.0
// The facts of iNOF, from the registry of the switch. What hosts say is printable, as the codec
// refuses all else.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

enum { LOG_ROWS = 1000 };

static struct json_object *inof_ip(struct ip_key ip)
{
	char text[INOF_IP_TEXT];

	inof_ip_print(ip, text);
	return json_object_new_string(text);
}

static struct json_object *inof_nqn_json(const struct inof_nqn *n)
{
	return json_object_new_string_len(n->text, n->len);
}

static const char *inof_place(const struct at *a)
{
	return a->host->origin == INOF_AT_PORT ? a->pol->ports[a->host->port].name : "peer";
}

static struct json_object *inof_peer(const struct inof_host_view *h)
{
	return h->origin == INOF_AT_PEER ? inof_ip(ip_key_v4(h->peer)) : json_object_new_string("");
}

static const char *inof_source_name(int source)
{
	static const char *const name[N_INOF_SOURCES] = {[INOF_ZONES_POLICY] = "policy",
							 [INOF_ZONES_RUNTIME] = "weirctl",
							 [INOF_ZONES_PEER] = "reflector"};

	return source < 0 ? "switch" : name[source];
}

static struct json_object *inof_zones_of(const struct inof_registry *r,
					 const struct inof_host_view *h)
{
	struct json_object *list = json_object_new_array();

	for (unsigned w = 0; json_object_array_length(list) < h->n_zones; w++)
		for (uint64_t left = h->zones[w]; left != 0; left &= left - 1)
			json_object_array_add(list, json_object_new_string(inof_zone_name(
				r, 64 * w + (unsigned)__builtin_ctzll(left))));
	return list;
}

static struct json_object *inof_members(const struct at *a)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; a->zone->zone != NULL && i < a->zone->zone->n; i++)
		json_object_array_add(list,
				      json_object_new_string(a->zone->zone->members[i].text));
	return list;
}

static struct json_object *inof_hosts_of(const struct at *a)
{
	struct json_object *list = json_object_new_array();
	struct inof_host_view h;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_in_zone(instance_inof(a->o->in), a->zone, i) &&
		    inof_host(instance_inof(a->o->in), i, a->s->real_ns, &h))
			json_object_array_add(list, inof_ip(h.ip));
	return list;
}

static unsigned inof_n_in_zone(const struct at *a)
{
	struct inof_host_view h;
	unsigned n = 0;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		n += inof_in_zone(instance_inof(a->o->in), a->zone, i) &&
		     inof_host(instance_inof(a->o->in), i, a->s->real_ns, &h);
	return n;
}

#define SINCE_INOF(member)                                                                         \
	(inof_counters(instance_inof(a->o->in), a->port)->member - a->base->inof.member)
#define FACTS_OF "control/observe/inof.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

void show_inof_hosts(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_INOF_HOSTS);
	bool all = s->first == 0 && s->last == policy_of(s->o)->n_ports;
	const struct inof_registry *r = instance_inof(s->o->in);
	struct inof_host_view h;

	for (unsigned i = 0; r != NULL && i < INOF_HOSTS; i++) {
		struct at a;

		if (!inof_host(r, i, s->real_ns, &h) ||
		    (!all && (h.origin != INOF_AT_PORT || h.port < s->first || h.port >= s->last)))
			continue;
		a = at_port(s, h.port, i);
		a.host = &h;
		emit(row_in(rows), FACTS_INOF_HOSTS, &a);
	}
}

void show_inof_zones(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_INOF_ZONES);
	const struct inof_registry *r = instance_inof(s->o->in);
	struct inof_zone_view z;

	for (unsigned i = 0; r != NULL && inof_zone_at(r, i, &z); i++) {
		struct at a = at_port(s, 0, i);

		a.zone = &z;
		emit(row_in(rows), FACTS_INOF_ZONES, &a);
	}
}

void show_inof_log(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_INOF_LOG);
	const struct inof_registry *r = instance_inof(s->o->in);
	uint64_t last = r == NULL ? 0 : inof_last_told(r);

	for (uint64_t no = last < LOG_ROWS ? 1 : last - LOG_ROWS + 1; no <= last; no++) {
		struct at a = at_port(s, 0, 0);

		a.told = inof_told(r, no);
		if (a.told != NULL && a.told->port >= s->first && a.told->port < s->last)
			emit(row_in(rows), FACTS_INOF_LOG, &a);
	}
}

void show_inof_ports(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_INOF_PORTS);

	for (unsigned port = s->first; instance_inof(s->o->in) != NULL && port < s->last; port++) {
		const struct at a = at_port(s, port, 0);

		emit(row_in(rows), FACTS_INOF_PORTS, &a);
	}
}

void show_inof_peers(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_INOF_PEERS);
	const struct inof_reflector *list;
	const struct inof_registry *r = instance_inof(s->o->in);
	unsigned n = r == NULL ? 0 : inof_reflectors(r, &list);

	for (unsigned i = 0; i < n; i++) {
		struct at a = at_port(s, 0, i);

		a.reflector = &list[i];
		emit(row_in(rows), FACTS_INOF_PEERS, &a);
	}
}
