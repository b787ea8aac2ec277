// SPDX-License-Identifier: Apache-2.0
// Connection management as a bystander reads it. Side 0 asked for the connection (REQ), side 1
// agreed (REP). Whatever comes twice, or before what it answers, changes nothing or what was
// missing; what contradicts is counted.
#include "dataplane/packet/cm.h"
#include "dataplane/roce/pairing_impl.h"

// Addresses from side 0 to side 1, and side 0's communication id.
static struct flow_key talk_key(const struct flow_key *addresses, uint32_t id)
{
	struct flow_key k = flow_key_with(*addresses, 0, KEY_KNOWN);

	k.w[4] = (k.w[4] & 0xff000000) | (uint64_t)id << 32;
	return k;
}

// What data of one side goes under, by the ports that the messages of both came in by.
static struct known known_of(const struct talk *t, unsigned side)
{
	unsigned other = 1 - side;
	struct flow_key k = side == 0 ? flow_key_with(t->key, t->qp[1], KEY_KNOWN)
				      : flow_key_back(t->key, t->qp[0], KEY_KNOWN);

	k.w[4] = t->qp[other] | (t->key.w[4] & 0xff000000) | (uint64_t)KEY_KNOWN << 32;
	return (struct known){.key = k, .qp = t->qp[side], .requests = t->psn[other],
			      .responses = t->psn[side], .source = PAIR_CM,
			      .in_port = t->port[side], .out_port = t->port[other]};
}

static void agreed(struct pairing *p, const struct talk *t)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct known k = known_of(t, side);

		if (!(p->params.sources >> PAIR_CM & 1) || !known_set(p, &k))
			ctr_inc(&p->count.cm_refused);
	}
}

static void ended(struct pairing *p, const struct talk *t)
{
	for (unsigned side = 0; side < 2 && t->has[0] && t->has[1]; side++) {
		const struct known k = known_of(t, side);

		known_forget(p, &k.key, k.qp, &p->count.dropped_dreq, WHY_CLOSED);
	}
}

// Another word of the same side that says something else: the connection id is used anew.
static bool says_other(const struct talk *t, unsigned side, const struct cm_msg *m)
{
	return t->has[side] && (t->qp[side] != m->qpn || t->id[side] != m->local_id);
}

// However it was learnt.
static void drop_flow(struct pairing *p, const struct flow_key *k, uint8_t out_port)
{
	const struct flow_key key = flow_key_with(*k, flow_key_qp(k), KEY_FLOW);
	uint32_t id = flow_map_find(&p->flows->map, &key, flow_hash_of(&p->flows->map, &key));

	if (id != FLOW_NONE && way_of(flow_at(p, id)).out_port == out_port &&
	    pair_of(flow_at(p, id)).source > PAIR_STATIC)
		pair_drop(p, id, &p->count.dropped_rival, WHY_LIFE);
}

// The sender of a message uses his queue pair for a new connection: what was known of data to it,
// or from it, is of an old one. port: where the message came in.
static void supersede(struct pairing *p, const struct flow_key *addresses, uint32_t qp,
		      uint8_t port)
{
	const struct flow_key key = flow_key_back(*addresses, qp, KEY_KNOWN);
	uint32_t index = known_find(p, &key), other;
	struct flow_key mirror;

	drop_flow(p, &key, port);
	if (index == FLOW_NONE || p->known[index].source != PAIR_CM ||
	    p->known[index].out_port != port)
		return;
	other = p->known[index].qp;
	mirror = flow_key_back(key, other, KEY_KNOWN);
	known_forget(p, &key, other, &p->count.dropped_rival, WHY_LIFE);
	known_forget(p, &mirror, qp, &p->count.dropped_rival, WHY_LIFE);
}

// addresses: from this side to the other.
static void offered(struct pairing *p, const struct flow_key *addresses, struct talk *t,
		    const struct cm_msg *m, uint8_t port)
{
	unsigned side = m->attr == CM_REP;

	if (t->has[side] && t->port[side] != port) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	if (says_other(t, side, m)) {
		ended(p, t);
		t->has[1 - side] = t->has[1 - side] && side == 1;
	}
	t->seen_ns = p->now_ns;
	if (t->has[side] && t->qp[side] == m->qpn && t->psn[side] == m->psn)
		return; // again
	t->qp[side] = m->qpn;
	t->psn[side] = m->psn;
	t->id[side] = m->local_id;
	t->port[side] = port;
	t->has[side] = true;
	if (t->has[0] && t->has[1])
		agreed(p, t);
	else
		supersede(p, addresses, m->qpn, port);
}

// The talk that a message of either side belongs to, and that side.
static struct talk *talk_of(struct pairing *p, const struct flow_key *addresses,
			    const struct cm_msg *m, unsigned *side)
{
	const struct flow_key back = flow_key_back(*addresses, 0, KEY_KNOWN);
	struct flow_key key = talk_key(addresses, m->local_id);
	struct talk *t = talk_find(p, &key);

	*side = 0;
	if (t != NULL && t->has[1] && t->id[1] == m->remote_id)
		return t;
	key = talk_key(&back, m->remote_id);
	t = talk_find(p, &key);
	*side = 1;
	return t != NULL && (!t->has[1] || t->id[1] == m->local_id) ? t : NULL;
}

// The end of a connection, by who may say so: he whose messages come in there.
static void closed(struct pairing *p, const struct flow_key *addresses, const struct cm_msg *m,
		   uint8_t port)
{
	unsigned side;
	struct talk *t = talk_of(p, addresses, m, &side);
	const struct flow_key key = flow_key_with(*addresses, m->qpn, KEY_KNOWN);
	const struct flow_key fkey = flow_key_with(*addresses, m->qpn, KEY_FLOW);
	uint32_t id;

	if (t != NULL && t->has[side] && t->port[side] != port) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	if (t != NULL) {
		ended(p, t);
		t->has[0] = t->has[1] = false;
		return;
	}
	// Its beginning was not seen. DREQ names the queue pair of the other side.
	if (m->attr != CM_DREQ)
		return;
	id = flow_map_find(&p->flows->map, &fkey, flow_hash_of(&p->flows->map, &fkey));
	if (id == FLOW_NONE || way_of(flow_at(p, id)).in_port != port)
		return;
	known_forget(p, &key, FLOW_NONE, &p->count.dropped_dreq, WHY_CLOSED);
}

static void hear_offer(struct pairing *p, const struct flow_key *addresses, const struct cm_msg *m,
		       uint8_t port)
{
	const struct flow_key back = flow_key_back(*addresses, 0, KEY_KNOWN);
	const struct flow_key key = m->attr == CM_REQ ? talk_key(addresses, m->local_id)
						      : talk_key(&back, m->remote_id);
	struct talk *t = talk_take(p, &key);

	if (t != NULL) {
		offered(p, addresses, t, m, port);
		return;
	}
	ctr_inc(&p->count.cm_refused);
	supersede(p, addresses, m->qpn, port);
}

void hear_management(struct pairing *p, const struct pair_answer *a, bool arrives)
{
	uint8_t src[16], dst[16];
	struct flow_key addresses;
	struct cm_msg m;

	if (a->msg->mad == NULL || !cm_read(a->msg->mad, a->msg->mad_len, &m))
		return;
	if (arrives)
		ctr_inc(&p->count.cm_seen);
	roce_addresses(a->l3, a->kind, src, dst);
	addresses = flow_key_of(a->kind == PKT_IPV6, src, dst, 0, KEY_KNOWN);
	if (m.attr == CM_REQ || m.attr == CM_REP)
		hear_offer(p, &addresses, &m, a->in_port);
	else if (m.attr != CM_RTU)
		closed(p, &addresses, &m, a->in_port);
}
