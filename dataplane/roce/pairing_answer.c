// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/pairing_impl.h"

// ---- ports

bool on_its_way(struct pairing *p, const struct pair_answer *a, const struct flow *f)
{
	struct flow_way way = way_of(f);

	if (way.out_port == a->in_port && way.in_port == a->left_by)
		return true;
	if (way.out_port != FLOW_NO_PORT)
		ctr_inc(&p->count.wrong_port);
	return false;
}

// Whether any flow between the two leaves by the port; looked up again where the last one did not.
static bool any_leaves_by(struct pairing *p, struct addresses *a, uint8_t port)
{
	for (unsigned w = 0; a->out_port != port && w < slot_words(a); w++) {
		uint64_t used = used_word(p, a, w);
		unsigned slot = w * 64 + (unsigned)__builtin_ctzll(used | 1ull << 63);

		if (used != 0)
			a->out_port = way_of(flow_at(p, slot_flow(p, a, slot))).out_port;
	}
	return a->out_port == port;
}

// A NIC with one port for all would in time have one that fits a queue pair by chance.
static void note_sport(struct addresses *between, const struct pair_answer *a)
{
	if (between->sport == a->udp_sport && between->sport_qp != a->msg->dest_qp)
		between->shared_sport = a->udp_sport;
	between->sport = a->udp_sport;
	between->sport_qp = a->msg->dest_qp;
}

struct reverse *reverse_heard(struct pairing *p, const struct pair_answer *a,
			      const struct flow_key *back)
{
	uint32_t index = reverse_find(p, back), addresses;

	if (index == FLOW_NONE) {
		addresses = addresses_find(p, back);
		if (addresses == FLOW_NONE)
			return NULL;
		if (!any_leaves_by(p, &p->address[addresses], a->in_port)) {
			ctr_inc(&p->count.wrong_port);
			return NULL;
		}
		index = reverse_take(p, back, addresses);
	}
	if (index == FLOW_NONE)
		return NULL;
	p->reverse[index].seen_ns = p->now_ns;
	if (!a->one_way)
		note_sport(&p->address[p->reverse[index].addresses], a);
	return &p->reverse[index];
}

// Linux derives it from both queue pairs, or from the flow label that CM states: either way both
// directions of a connection have the same one, and other connections seldom have it.
static bool sport_tells(const struct addresses *between, const struct flow *f, uint16_t sport)
{
	return sport > SPORT_FIRST && sport == f->udp_sport && sport != between->shared_sport &&
	       sport != between->shared_flow_sport;
}

bool may_pair(struct pairing *p, const struct pair_answer *a, struct flow *f,
	      enum pair_source source)
{
	const struct addresses *between = &p->address[f->addresses];

	if (!(p->params.sources >> source & 1))
		why(f, WHY_SOURCE_OFF);
	else if (between->n_homeless != 0)
		why(f, WHY_CROWDED);
	else if (is_blind(p, &f->key))
		why(f, WHY_BLIND);
	else if (!a->one_way && !sport_tells(between, f, a->udp_sport))
		why(f, WHY_OTHER_WAY);
	else
		return true;
	return false;
}

// ---- candidates

// Flows in a word of slots that the queue pair may be of. paired: those that have a pair, not
// those that have none.
static uint64_t candidates(const struct pairing *p, const struct reverse *r, unsigned w,
			   bool paired)
{
	const struct addresses *a = &p->address[r->addresses];
	uint64_t open = open_word(p, a, w);

	return (paired ? used_word(p, a, w) & ~open : open) & ~out_word(p, r, w);
}

struct look {
	const struct question *q;
	bool paired;
	unsigned left; // flows that may still be asked
	unsigned skips; // and those that may be passed by; 0: none, for all can be asked
	unsigned n_matched;
};

// It had sent that much when it was last asked: the answer does not rule it out. As to PSNs long
// before, it is asked.
static bool surely_may_be(const struct pairing *p, const struct addresses *a, const struct look *l,
			  unsigned slot)
{
	const uint32_t *sent = slot_sent(p, a, slot);
	int32_t behind = sent == NULL ? -1 : psn_diff(*sent, l->q->psn);

	return behind >= 0 && behind < FLOW_JUMP / 2;
}

static void ask_one(struct pairing *p, struct reverse *r, struct look *l, unsigned slot)
{
	const struct addresses *a = &p->address[r->addresses];
	struct flow *f = flow_at(p, slot_flow(p, a, slot));
	enum verdict verdict = l->q->ask(p, l->q, f);

	l->left--;
	if (slot_sent(p, a, slot) != NULL)
		*slot_sent(p, a, slot) = flow_surely_sent(f);
	if (verdict == RULES_OUT)
		rule_out(p, r, slot);
	else
		l->n_matched += verdict == MATCHES;
}

// Asks the flows of a word; stops, with the cursor there, when enough were asked.
static void ask_word(struct pairing *p, struct reverse *r, struct look *l, unsigned w,
		     uint64_t mask)
{
	uint64_t bits = candidates(p, r, w, l->paired) & mask;

	for (; bits != 0 && l->left != 0; bits &= bits - 1) {
		unsigned slot = w * 64 + (unsigned)__builtin_ctzll(bits);

		if (l->skips > 1 && surely_may_be(p, &p->address[r->addresses], l, slot))
			l->skips--;
		else
			ask_one(p, r, l, slot);
		r->cursor = (uint16_t)(slot + 1);
	}
}

static struct findings sum_up(const struct pairing *p, const struct reverse *r,
			      const struct look *l)
{
	struct findings found = {.n_matched = l->n_matched};

	for (unsigned w = 0; w < slot_words(&p->address[r->addresses]); w++) {
		uint64_t bits = candidates(p, r, w, l->paired);

		if (bits != 0)
			found.slot = w * 64 + (unsigned)__builtin_ctzll(bits);
		found.n += (unsigned)__builtin_popcountll(bits);
	}
	return found;
}

static struct findings look_at(struct pairing *p, struct reverse *r, struct look *l)
{
	unsigned words = slot_words(&p->address[r->addresses]);
	unsigned at = r->cursor < words * 64 ? r->cursor : 0;

	// Where there are more than can be asked, first those that may be ruled out.
	l->skips = sum_up(p, r, l).n > l->left ? PAIR_SKIPS : 0;
	// The first word twice: from the cursor on, and in the end up to it.
	for (unsigned i = 0; i <= words && l->left != 0; i++) {
		uint64_t behind = UINT64_MAX << at % 64;

		ask_word(p, r, l, (at / 64 + i) % words,
			 i == 0 ? behind : i == words ? ~behind : UINT64_MAX);
	}
	return sum_up(p, r, l);
}

struct findings weigh(struct pairing *p, struct reverse *r, const struct question *q)
{
	struct look l = {.q = q, .left = PAIR_TESTS};

	return look_at(p, r, &l);
}

// ---- ACK and NAK

// An acknowledged frame has just left the queue.
static uint64_t lately_ns(const struct pair_answer *a, uint8_t queue)
{
	uint64_t ns = PAIR_LATELY_NS;

	if (a->stay_ns != NULL)
		ns += 2 * a->stay_ns(a->port, queue);
	return ns < PAIR_LATELY_MOST_NS ? ns : PAIR_LATELY_MOST_NS;
}

// PSNs that were sent in the last while: those since the turn before.
static void turn(struct pairing *p, struct flow *f, uint64_t period_ns)
{
	uint64_t age_ns = p->now_ns - f->turn_ns;

	if (f->turn_ns == 0)
		f->psn_before = f->psn_now = psn_add(f->oldest, PSN_MASK);
	else if (age_ns < period_ns)
		return;
	// Serial numbers of long ago mean something else by now.
	if (f->turn_ns != 0 && age_ns > 10 * PAIR_LATELY_NS &&
	    flow_packets(f) + ctr_get(&f->gap_packets) > PSN_SPAN)
		f->oldest = psn_add(flow_highest(f), (uint64_t)-PSN_SPAN);
	if (psn_diff(flow_highest(f), f->oldest) > PSN_SPAN)
		f->oldest = psn_add(flow_highest(f), (uint64_t)-PSN_SPAN);
	f->psn_before = f->psn_now;
	f->psn_now = flow_highest(f);
	f->turn_ns = p->now_ns;
}

// An old one may have sent more than was seen of it.
static bool is_past(struct flow *f)
{
	if (!(f->peer_hint & HINT_PAST))
		return false;
	if (psn_diff(flow_surely_sent(f), psn_add(f->oldest, PAST_SPAN)) < 0)
		return true;
	__atomic_store_n(&f->peer_hint, f->peer_hint & ~HINT_PAST, __ATOMIC_RELAXED);
	return false;
}

static bool is_beyond(const struct flow *f, uint32_t psn)
{
	return psn_diff(psn, flow_surely_sent(f)) > 0 && psn_diff(psn, flow_highest(f)) > 0;
}

static bool is_before(const struct flow *f, uint32_t psn)
{
	return psn_diff(psn, f->oldest) < -FLOW_JUMP && psn_diff(psn, flow_surely_sent(f)) < 0;
}

static enum verdict ask_ack(struct pairing *p, const struct question *q, struct flow *f)
{
	uint8_t kind = way_of(f).kind;

	if (!on_its_way(p, q->answer, f)) {
		why(f, WHY_WRONG_PORT);
		return SAYS_NOTHING;
	}
	if (kind != FLOW_DATA && kind != FLOW_READ_REQUESTS)
		return SAYS_NOTHING;
	turn(p, f, lately_ns(q->answer, way_of(f).queue));
	if (is_beyond(f, q->psn) || is_before(f, q->psn))
		return is_past(f) ? SAYS_NOTHING : RULES_OUT;
	if (!q->fresh || psn_diff(q->psn, f->psn_before) <= 0) {
		why(f, WHY_NOT_LATELY);
		return SAYS_NOTHING;
	}
	ctr_inc(&p->count.matches);
	why(f, WHY_SEVERAL);
	return MATCHES;
}

// How an acknowledged PSN stands to those before.
enum order { FIRST, NEWER, SAME, OLDER, BEHIND };

// Behind: one of several in a row that are old, but grow. Nobody acknowledges like that in one life
// of a queue pair.
static enum order order_of(const struct pairing *p, struct reverse *r, uint32_t psn)
{
	unsigned enough = p->params.matches > BEHIND_MIN ? p->params.matches : BEHIND_MIN;
	int32_t d = r->has_last ? psn_diff(psn, r->last) : 0;

	if (!r->has_last || d > 0) {
		enum order order = r->has_last && d < FLOW_JUMP ? NEWER : FIRST;

		r->last = psn;
		r->has_last = true;
		r->behind = 0;
		return order;
	}
	if (d == 0)
		return SAME;
	r->behind = r->behind != 0 && psn_diff(psn, r->back) <= 0 ? 1 : (uint8_t)(r->behind + 1);
	r->back = psn;
	return r->behind >= enough ? BEHIND : OLDER;
}

static void ack_of_pair(struct pairing *p, struct reverse *r, const struct pair_answer *a,
			uint32_t psn)
{
	struct flow *f = flow_at(p, r->flow);
	bool is_static = pair_of(f).source == PAIR_STATIC;
	enum order order;

	if (!on_its_way(p, a, f))
		return;
	if (a->msg->role == ROCE_ROLE_NAK)
		ctr_inc(&f->naks);
	if (is_beyond(f, psn)) {
		if (!is_past(f))
			pair_contradicted(p, r->flow, &p->count.dropped_ack);
		return;
	}
	order = order_of(p, r, psn);
	if (order == BEHIND) {
		pair_contradicted(p, r->flow, &p->count.dropped_ack);
		return;
	}
	if (!is_static && order <= NEWER && psn_diff(psn, f->acked) > 0)
		f->acked = psn;
}

static void count_match(uint8_t *matches)
{
	*matches = (uint8_t)(*matches + (*matches != UINT8_MAX));
}

// No flow without a pair is left: it is of one that has another, or not all is seen.
static void nobody_is_left(struct pairing *p, struct reverse *r, const struct question *q)
{
	const struct addresses *a = &p->address[r->addresses];
	struct look l = {.q = q, .paired = true, .left = PAIR_TESTS};
	struct findings found = look_at(p, r, &l);
	uint32_t id;

	if (found.n == 0) {
		blind(p, &a->key);
		reverse_renew(p, r);
		return;
	}
	if (found.n != 1 || found.n_matched != 1)
		return;
	count_match(&r->matches);
	if (r->matches < p->params.matches)
		return;
	id = slot_flow(p, a, found.slot);
	pair_contradicted(p, id, &p->count.dropped_rival);
	reverse_renew(p, r);
}

static void ack_of_nobody(struct pairing *p, struct reverse *r, const struct pair_answer *a,
			  uint32_t psn)
{
	struct question q = {.answer = a, .psn = psn, .ask = ask_ack};
	enum order order = order_of(p, r, psn);
	struct findings found;
	struct flow *f;

	reverse_sync(p, r);
	if (order == BEHIND || order == FIRST) {
		reverse_renew(p, r);
		order_of(p, r, psn);
	}
	if (order >= OLDER)
		return;
	q.fresh = order != SAME;
	found = weigh(p, r, &q);
	if (found.n == 0) {
		nobody_is_left(p, r, &q);
		return;
	}
	if (q.fresh && found.n_matched == found.n)
		count_match(&r->matches);
	if (found.n != 1)
		return;
	f = flow_at(p, slot_flow(p, &p->address[r->addresses], found.slot));
	if (found.n_matched != 0)
		why(f, WHY_MATCHING);
	if (r->matches >= p->params.matches && may_pair(p, a, f, PAIR_ACK))
		pair_set(p, (uint32_t)(f - p->flows->flows), a->msg->dest_qp, PAIR_ACK);
}

void hear_ack(struct pairing *p, const struct pair_answer *a, const struct flow_key *back)
{
	struct reverse *r = reverse_heard(p, a, back);
	// A NAK names what it misses; what is before that has come.
	uint32_t psn = a->msg->role == ROCE_ROLE_NAK ? psn_add(a->msg->psn, PSN_MASK) : a->msg->psn;

	if (r == NULL)
		return;
	if (r->flow != FLOW_NONE)
		ack_of_pair(p, r, a, psn);
	else
		ack_of_nobody(p, r, a, psn);
}

// ---- CNP

static bool was_marked(const struct pairing *p, const struct flow *f)
{
	uint64_t marked = gauge_get(&f->marked_ns);

	if (marked != 0 && p->now_ns - marked <= CE_NS)
		return true;
	return ctr_get(&f->ce) != 0 && p->now_ns - flow_seen_ns(f, p->now_ns) <= CE_NS;
}

void hear_cnp(struct pairing *p, const struct pair_answer *a, const struct flow_key *back)
{
	struct reverse *r = reverse_heard(p, a, back);
	const struct look none = {0};
	struct findings found;
	struct flow *f;

	if (r == NULL)
		return;
	if (r->flow != FLOW_NONE) {
		f = flow_at(p, r->flow);
		if (on_its_way(p, a, f))
			ctr_inc(&f->cnps_seen);
		return;
	}
	reverse_sync(p, r);
	found = sum_up(p, r, &none);
	if (found.n != 1 || p->address[r->addresses].n_datagrams != 0)
		return;
	f = flow_at(p, slot_flow(p, &p->address[r->addresses], found.slot));
	if (!on_its_way(p, a, f) || !was_marked(p, f))
		return;
	count_match(&r->cnps);
	if (r->cnps + r->matches >= p->params.matches && may_pair(p, a, f, PAIR_CNP))
		pair_set(p, (uint32_t)(f - p->flows->flows), a->msg->dest_qp, PAIR_CNP);
}
