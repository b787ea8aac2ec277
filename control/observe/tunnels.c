// SPDX-License-Identifier: Apache-2.0
// The facts of VXLAN tunnels: this end, its VNIs and its peers.
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

static const char *const ecn_name[] = {
	[TUNNEL_ECN_RFC6040] = "rfc6040", [TUNNEL_ECN_COPY] = "copy", [TUNNEL_ECN_OFF] = "off"};

static struct json_object *address_json(const struct vtep *v, const uint8_t *ip)
{
	return json_object_new_string(vtep_text(v, ip, (char[VTEP_TEXT_LEN]){""}));
}

static struct json_object *source_json(const struct vtep *v)
{
	return address_json(v, v->source);
}

struct json_object *peer_json(const struct vtep *v, unsigned peer)
{
	return address_json(v, v->peers[peer]);
}

static struct json_object *dscp_json(const struct vtep *v)
{
	char text[8];

	if (v->dscp == VTEP_DSCP_UNIFORM)
		return json_object_new_string("uniform");
	snprintf(text, sizeof(text), "%u", v->dscp);
	return json_object_new_string(text);
}

static struct json_object *peers_of(const struct at *a)
{
	struct json_object *peers = json_object_new_array();

	for (unsigned i = 0; i < a->pol->vtep->n_peers; i++)
		if (vtep_has_peer(a->vni, i))
			json_object_array_add(peers, peer_json(a->pol->vtep, i));
	return peers;
}

struct counting {
	unsigned vid;
	uint64_t n;
};

static void count_address(void *arg, const struct fdb_row *r)
{
	struct counting *c = arg;

	c->n += r->vid == c->vid && r->port >= VTEP_FIRST && r->port < FDB_MAX_PORTS;
}

static uint64_t learnt_in(const struct at *a)
{
	struct counting c = {.vid = a->vni->vid};

	switch_fdb_walk(a->o->sw, a->s->now_ns, count_address, &c);
	return c.n;
}

// The counts of a peer begin anew when its place in the table gets another address.
static uint64_t since(uint64_t now, uint64_t base)
{
	return now >= base ? now - base : now;
}

#define PEER(m) since(ctr_get(&a->tunnel->m), ctr_get(&a->tunnel_base->m))
#define TOTAL(m) (ctr_get(&a->tunnels->m) - ctr_get(&a->tunnels_base->m))
#define ECN(inner, outer) TOTAL(ecn[ECN_##inner][ECN_##outer])

#define FACTS_OF "control/observe/tunnels.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

static void peer_rows(const struct show *s, const struct vtep *v, struct json_object *out)
{
	static const struct vxlan_peer_counters zero;
	struct json_object *rows = rows_in(out, FACTS_TUNNEL_PEERS);

	for (unsigned i = 0; v != NULL && i < v->n_peers; i++) {
		struct vxlan_peer_counters now;
		struct at a = {.s = s, .o = s->o, .pol = policy_of(s->o), .i = i, .tunnel = &now,
			       .fdb = switch_fdb_port(s->o->sw, VTEP_FIRST + i)};

		a.tunnel_base = s->flags & OBSERVE_RAW ? &zero : &s->o->tunnel_base[i];
		switch_vxlan_peer(s->o->sw, i, &now);
		emit(row_in(rows), FACTS_TUNNEL_PEERS, &a);
	}
}

void show_vxlan(const struct show *s, struct json_object *out)
{
	static const struct vxlan_counters zero;
	const struct vtep *v = policy_of(s->o)->vtep;
	struct json_object *rows = rows_in(out, FACTS_VNIS);
	struct at a = {.s = s, .o = s->o, .pol = policy_of(s->o)};
	struct vxlan_counters now;

	for (unsigned i = 0; v != NULL && i < v->n_vnis; i++) {
		a.vni = &v->vnis[i];
		emit(row_in(rows), FACTS_VNIS, &a);
	}
	peer_rows(s, v, out);
	if (v == NULL)
		return;
	switch_vxlan_totals(s->o->sw, &now);
	a.tunnels = &now;
	a.tunnels_base = s->flags & OBSERVE_RAW ? &zero : &s->o->tunnels_base;
	emit(single_in(out, FACTS_VXLAN), FACTS_VXLAN, &a);
}

void tunnels_clear(struct observe *o)
{
	for (unsigned i = 0; i < VTEP_MAX_PEERS; i++)
		switch_vxlan_peer(o->sw, i, &o->tunnel_base[i]);
	switch_vxlan_totals(o->sw, &o->tunnels_base);
}
