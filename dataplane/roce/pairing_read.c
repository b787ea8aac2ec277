// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/pairing_impl.h"

// ---- PSNs that were asked for
//
// Where several queue pairs asked for one PSN nobody is paired by it. That a flow has answered
// further than to what somebody asks for only now proves nothing: the request may be repeated from
// its middle.

// One for each port by which requests come: nobody else can confuse what is asked for there.
static struct flow_key ask_key(const struct flow_key *addresses, uint32_t psn, uint8_t port)
{
	struct flow_key k = flow_key_with(*addresses, psn, KEY_REVERSE);

	k.w[4] |= (uint64_t)port << 40;
	return k;
}

void hear_read_request(struct pairing *p, const struct pair_answer *a, const struct flow_key *back)
{
	const struct flow_key key = ask_key(back, a->msg->psn, a->in_port);
	struct ask *ask = ask_take(p, &key);

	if (ask == NULL) {
		reads_blind(p, back);
		return;
	}
	if (ask->n == 0) {
		ask->qp = a->msg->dest_qp;
		ask->udp_sport = a->udp_sport;
		ask->left_by = a->left_by;
		ask->one_way = a->one_way;
	}
	ask->several = ask->several || ask->qp != a->msg->dest_qp;
	ask->n++;
	ask->seen_ns = p->now_ns;
}

// ---- the first response carries the PSN of the request

static void read_confirms(struct pairing *p, uint32_t id, const struct ask *ask, uint32_t psn)
{
	struct flow *f = flow_at(p, id);
	struct flow_pair pair = pair_of(f);

	if (pair.source == PAIR_STATIC)
		return;
	if (pair.qp == ask->qp)
		f->acked = psn_add(psn, PSN_MASK);
	else
		pair_contradicted(p, id, &p->count.dropped_rival);
}

static void read_pairs(struct pairing *p, uint32_t id, const struct ask *ask)
{
	struct flow *f = flow_at(p, id);
	const struct flow_key key = flow_key_with(f->key, ask->qp, KEY_REVERSE);
	uint32_t reverse = reverse_find(p, &key);
	const struct roce_msg msg = {.dest_qp = ask->qp};
	const struct pair_answer a = {.msg = &msg, .udp_sport = ask->udp_sport,
				      .one_way = ask->one_way};

	if (f->addresses == FLOW_NONE || is_reads_blind(p, &f->key) ||
	    !may_pair(p, &a, f, PAIR_READ))
		return;
	if (reverse != FLOW_NONE && p->reverse[reverse].flow != FLOW_NONE) {
		pair_contradicted(p, p->reverse[reverse].flow, &p->count.dropped_rival);
		return;
	}
	pair_set(p, id, ask->qp, PAIR_READ);
}

// The request found no room. PSNs of responses among a flow's own requests tell nothing, so nobody
// would notice that its queue pair is another connection's by now.
static void may_be_anothers(struct pairing *p, uint32_t id)
{
	if (pair_of(flow_at(p, id)).source > PAIR_STATIC)
		pair_contradicted(p, id, &p->count.dropped_rival);
}

void read_answered(struct pairing *p, uint32_t id, uint32_t psn)
{
	struct flow *f = flow_at(p, id);
	struct flow_way way = way_of(f);
	const struct flow_key key = ask_key(&f->key, psn, way.out_port);
	struct ask *ask = ask_find(p, &key);

	if (ask == NULL) {
		if (way.kind != FLOW_READ_RESPONSES && is_reads_blind(p, &f->key))
			may_be_anothers(p, id);
		return;
	}
	if (!ask->several && ask->left_by == way.in_port) {
		if (pair_of(f).source != PAIR_NONE)
			read_confirms(p, id, ask, psn);
		else if (way.kind == FLOW_READ_RESPONSES)
			read_pairs(p, id, ask);
	}
	if (--ask->n == 0)
		ask_free(p, ask);
}
