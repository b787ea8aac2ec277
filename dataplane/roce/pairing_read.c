// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/pairing_impl.h"

// ---- PSNs that were asked for

// One for each port by which requests come: nobody else can confuse what is asked for there.
static struct flow_key ask_key(const struct flow_key *addresses, uint32_t psn, uint8_t port)
{
	struct flow_key k = flow_key_with(*addresses, psn, KEY_REVERSE);

	k.w[4] |= (uint64_t)port << 40;
	return k;
}

static void remember(struct pairing *p, const struct pair_answer *a, const struct flow_key *back)
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

// ---- elimination: a flow that has answered further than to what is asked for only now

static enum verdict ask_read(struct pairing *p, const struct question *q, struct flow *f)
{
	if (!on_its_way(p, q->answer, f) || way_of(f).kind != FLOW_READ_RESPONSES || !q->fresh)
		return SAYS_NOTHING;
	if (psn_diff(f->highest, q->psn) >= 0 && psn_diff(f->highest, q->psn) < FLOW_JUMP)
		return RULES_OUT;
	if (psn_diff(f->highest, q->before) < 0)
		return SAYS_NOTHING;
	ctr_inc(&p->count.matches);
	return MATCHES;
}

static void eliminate(struct pairing *p, struct reverse *r, const struct pair_answer *a)
{
	const uint32_t psn = a->msg->psn;
	const struct question q = {
		.answer = a,
		.psn = psn,
		.before = r->asked,
		.fresh = r->has_asked && psn_diff(psn, r->asked) > 0,
		.ask = ask_read,
	};
	struct findings found;
	struct flow *f;

	reverse_sync(p, r);
	r->asked = psn;
	r->has_asked = true;
	if (!q.fresh)
		return;
	found = weigh(p, r, &q);
	if (found.n != 1 || found.n_matched != 1)
		return;
	r->asked_matches = (uint8_t)(r->asked_matches + (r->asked_matches != UINT8_MAX));
	f = flow_at(p, slot_flow(p, &p->address[r->addresses], found.slot));
	if (r->asked_matches >= READ_MATCHES && may_pair(p, a, f, PAIR_READ))
		pair_set(p, (uint32_t)(f - p->flows->flows), a->msg->dest_qp, PAIR_READ);
}

void hear_read_request(struct pairing *p, const struct pair_answer *a, const struct flow_key *back)
{
	struct reverse *r;

	remember(p, a, back);
	if (addresses_find(p, back) == FLOW_NONE)
		return;
	r = reverse_heard(p, a, back);
	if (r != NULL && r->flow == FLOW_NONE)
		eliminate(p, r, a);
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

void read_answered(struct pairing *p, uint32_t id, uint32_t psn)
{
	struct flow *f = flow_at(p, id);
	struct flow_way way = way_of(f);
	const struct flow_key key = ask_key(&f->key, psn, way.out_port);
	struct ask *ask = ask_find(p, &key);

	if (ask == NULL)
		return;
	if (!ask->several && ask->left_by == way.in_port) {
		if (pair_of(f).source != PAIR_NONE)
			read_confirms(p, id, ask, psn);
		else if (way.kind == FLOW_READ_RESPONSES)
			read_pairs(p, id, ask);
	}
	if (--ask->n == 0)
		ask_free(p, ask);
}
