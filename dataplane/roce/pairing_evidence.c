// SPDX-License-Identifier: Apache-2.0
// What passes the switch and says whose queue pair is whose: ACKs and NAKs, CNPs, READ requests and
// their responses, messages of connection management.
#include "dataplane/base/units.h"
#include "dataplane/packet/cm.h"
#include "dataplane/roce/pairing_impl.h"

enum {
	BEHIND_MIN = 3, // answers in a row that are older than what was answered before
	PSN_SPAN = 1 << 22, // PSNs behind the highest that an old flow may have sent
	UNANSWERED_SPAN = 1 << 12, // PSNs after the first that an entry before may have sent
	PAIR_SKIPS = 256, // flows that one ACK passes by without a look at their entries
	CE_NS = MS_NS, // a CNP follows a mark within this
	SPORT_FIRST = 0xc000, // of the range that Linux uses; NICs with one port for all have it
};

// ---- ports

// Whether the answer came by the ports of the flow, as far as they are known. Counts those that
// did not.
static bool on_its_way(struct pairing *p, const struct pair_answer *a, const struct flow *f)
{
	struct flow_way way = way_of_flow(f);

	if (way.out_port == a->in_port && way.in_port == a->left_by)
		return true;
	if (way.out_port != FLOW_NO_PORT)
		ctr_inc(&p->count.wrong_port);
	return false;
}

// Whether any flow between the two leaves by the port. The first flow of each word is looked at,
// and only if the latest one looked at left by another port.
static bool any_leaves_by(struct pairing *p, struct addresses *a, port_no_t port)
{
	for (unsigned w = 0; a->out_port != port && w < slot_words(a); w++) {
		struct word word = slot_word_at(p, a, w);

		uint64_t used = word.bits->used;

		if (used != 0)
			a->out_port = way_of_flow(flow_with_id(p, word.ids[__builtin_ctzll(used)]))
					      .out_port;
	}
	return a->out_port == port;
}

// The queue pair that an answer goes to. NULL: no flow between its addresses is known, none leaves
// by the port, or there is no room.
static struct reverse *reverse_observed(struct pairing *p, const struct pair_answer *a,
					const struct flow_key *back)
{
	uint32_t index = table_find(&p->reverses, back), addresses;
	struct reverse *r;

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
	r = &p->reverse[index];
	r->seen_ns = p->now_ns;
	// A NIC with one port for all would in time have one that fits a queue pair by chance.
	if (!a->one_way)
		note_sport(&addresses_of(p, r)->answers, a->udp_sport, a->msg->dest_qp);
	return r;
}

// Whether the UDP source port says that data and answers are of one connection. Linux derives it
// from both queue pairs, or from the flow label that CM states. Both directions of a connection
// then have the same port, and other connections seldom have it.
static bool sport_tells(const struct addresses *between, const struct flow *f, uint16_t sport)
{
	return sport > SPORT_FIRST && sport == relaxed_get(&f->udp_sport) &&
	       sport != between->answers.shared && sport != between->flows.shared;
}

// Whether evidence of this source may pair the flow, which has an entry of addresses. Notes the
// reason if not.
static bool may_pair(struct pairing *p, bool one_way, uint16_t sport, struct flow *f,
		     enum pair_source source)
{
	const struct addresses *between = &p->address[relaxed_get(&f->addresses)];
	const struct stamp *stamp = addresses_stamp(p, &f->key);

	if (!(p->params.sources >> source & 1))
		why(f, WHY_SOURCE_OFF);
	else if (between->n_slotless != 0)
		why(f, WHY_CROWDED);
	else if (stamp->incomplete_until > p->now_ns || stamp->n_untracked != 0)
		why(f, WHY_INCOMPLETE);
	else if (!one_way && !sport_tells(between, f, sport))
		why(f, WHY_OTHER_WAY);
	else
		return true;
	return false;
}

// ---- ACK and NAK: does the answer rule the flow out?

// An answer as it is compared with flows.
struct ack {
	const struct pair_answer *answer;
	uint32_t psn; // acknowledged
	bool fresh; // newer than all that the queue pair was answered before
};

enum verdict { SAYS_NOTHING, RULES_OUT, MATCHES };

// An acknowledged frame has just left the queue.
static uint64_t lately_ns(const struct pair_answer *a, uint8_t queue)
{
	uint64_t ns = PAIR_LATELY_NS;

	if (a->stay_ns != NULL)
		ns += 2 * a->stay_ns(a->port, queue);
	return min_u64(ns, PAIR_LATELY_MOST_NS);
}

// Keeps the PSNs that were sent in the last while: those since the turn before.
static void turn(struct pairing *p, struct flow *f, uint64_t period_ns)
{
	uint64_t age_ns = p->now_ns - f->turn_ns;
	uint32_t highest = flow_highest(f);

	if (f->turn_ns == 0)
		f->psn_before = f->psn_now = psn_add(f->oldest, PSN_MASK);
	else if (age_ns < period_ns)
		return;
	// Serial numbers of long ago have wrapped.
	if (psn_diff(highest, f->oldest) > PSN_SPAN ||
	    (f->turn_ns != 0 && age_ns > 10 * (uint64_t)PAIR_LATELY_NS &&
	     flow_packets(f) + ctr_get(&f->gap_packets) > PSN_SPAN))
		f->oldest = psn_add(highest, (uint64_t)-PSN_SPAN);
	f->psn_before = f->psn_now;
	f->psn_now = highest;
	f->turn_ns = p->now_ns;
}

// Whether an entry before may have sent more than this one did. No longer, once the flow has sent
// enough PSNs of its own.
static bool may_have_sent_more(struct flow *f)
{
	if (!has_hint(f, HINT_UNANSWERED))
		return false;
	if (psn_diff(flow_surely_sent(f), psn_add(f->oldest, UNANSWERED_SPAN)) < 0)
		return true;
	set_hint(f, HINT_UNANSWERED, false);
	return false;
}

static bool is_beyond(const struct flow *f, uint32_t psn)
{
	return psn_diff(psn, flow_surely_sent(f)) > 0 && psn_diff(psn, flow_highest(f)) > 0;
}

static enum verdict judge_ack(struct pairing *p, const struct ack *ack, struct flow *f)
{
	struct flow_way way = way_of_flow(f);
	bool before;

	if (!on_its_way(p, ack->answer, f)) {
		why(f, WHY_WRONG_PORT);
		return SAYS_NOTHING;
	}
	if (way.kind != FLOW_DATA && way.kind != FLOW_READ_REQUESTS)
		return SAYS_NOTHING;
	turn(p, f, lately_ns(ack->answer, way.queue));
	before = psn_diff(ack->psn, f->oldest) < -FLOW_JUMP &&
		 psn_diff(ack->psn, flow_surely_sent(f)) < 0;
	if (before || is_beyond(f, ack->psn))
		return may_have_sent_more(f) ? SAYS_NOTHING : RULES_OUT;
	if (!ack->fresh || psn_diff(ack->psn, f->psn_before) <= 0) {
		why(f, WHY_NOT_LATELY);
		return SAYS_NOTHING;
	}
	ctr_inc(&p->count.matches);
	why(f, WHY_SEVERAL);
	return MATCHES;
}

// ---- candidates of a reverse queue pair

struct findings {
	unsigned n; // candidates left
	unsigned slot; // of one of them
	unsigned n_matched; // flows that matched the answer
};

// The flows of a word that the queue pair may be of. paired: those that have a pair; else those
// that may be paired.
static uint64_t candidates(const struct pairing *p, struct reverse *r, unsigned w, bool paired)
{
	const struct slot_bits *bits = slot_word_at(p, addresses_of(p, r), w).bits;
	const _Atomic uint64_t *out = out_at(p, r, w);

	return (paired ? bits->used & ~bits->open : bits->open) &
	       ~(out != NULL ? relaxed_get(out) : 0);
}

static struct findings candidates_left(const struct pairing *p, struct reverse *r, bool paired)
{
	unsigned words = slot_words(addresses_of(p, r));
	struct findings found = {0};

	for (unsigned w = 0; w < words; w++) {
		uint64_t bits = candidates(p, r, w, paired);

		if (bits != 0)
			found.slot = w * WORD_SLOTS + (unsigned)__builtin_ctzll(bits);
		found.n += (unsigned)__builtin_popcountll(bits);
	}
	return found;
}

// A look at candidates.
struct look {
	const struct ack *ack;
	bool paired;
	unsigned left; // flows that may still be judged
	unsigned skips; // flows that may be passed by; 0: none, for all can be judged
	unsigned n_matched;
};

// Judges the flows of a word, by a mask. Stops when enough were judged; the cursor is where the
// next look goes on.
static void judge_word(struct pairing *p, struct reverse *r, struct look *l, unsigned w,
		       uint64_t mask)
{
	struct word word = slot_word_at(p, addresses_of(p, r), w);
	uint64_t bits = candidates(p, r, w, l->paired) & mask;

	for (; bits != 0 && l->left != 0; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);
		int32_t behind = word.sent == NULL ? -1 : psn_diff(word.sent[i], l->ack->psn);
		struct flow *f;
		enum verdict verdict;

		r->cursor = (uint16_t)(w * WORD_SLOTS + i + 1);
		// It had sent that much at the latest look, so the answer does not rule it out.
		if (l->skips > 1 && behind >= 0 && behind < FLOW_JUMP / 2) {
			l->skips--;
			continue;
		}
		l->left--;
		f = flow_with_id(p, word.ids[i]);
		verdict = judge_ack(p, l->ack, f);
		if (word.sent != NULL)
			word.sent[i] = flow_surely_sent(f);
		if (verdict == RULES_OUT)
			rule_out(p, r, w * WORD_SLOTS + i);
		l->n_matched += verdict == MATCHES;
	}
}

// Judges up to PAIR_TESTS candidates by the answer. Returns the candidates left after it.
static struct findings judge_candidates(struct pairing *p, struct reverse *r,
					const struct ack *ack, bool paired)
{
	unsigned words = slot_words(addresses_of(p, r));
	unsigned at = r->cursor < words * WORD_SLOTS ? r->cursor : 0;
	struct look l = {.ack = ack, .paired = paired, .left = PAIR_TESTS};
	struct findings found;

	// If there are more than can be judged, those that may be ruled out come first.
	if (candidates_left(p, r, paired).n > PAIR_TESTS)
		l.skips = PAIR_SKIPS;
	// The first word twice: from the cursor on, and in the end up to it.
	for (unsigned i = 0; i <= words && l.left != 0; i++) {
		uint64_t behind = UINT64_MAX << at % WORD_SLOTS;

		judge_word(p, r, &l, (at / WORD_SLOTS + i) % words,
			   i == 0 ? behind : i == words ? ~behind : UINT64_MAX);
	}
	found = candidates_left(p, r, paired);
	found.n_matched = l.n_matched;
	return found;
}

static void count_match(uint8_t *matches)
{
	*matches = (uint8_t)(*matches + (*matches != UINT8_MAX));
}

// Pairs the flow in the slot with the queue pair that the answer goes to, if it may.
static void pair_slot(struct pairing *p, struct reverse *r, unsigned slot,
		      const struct pair_answer *a, enum pair_source source)
{
	uint32_t id = slot_flow(p, addresses_of(p, r), slot);

	if (may_pair(p, a->one_way, a->udp_sport, flow_with_id(p, id), source))
		pair_set(p, id, a->msg->dest_qp, source);
}

// ---- ACK and NAK: of a pair, or of a candidate

// How an acknowledged PSN stands to those before.
enum order { FIRST, NEWER, SAME, OLDER, BEHIND };

// BEHIND: one of several in a row that are old, but grow. No receiver acknowledges like that in one
// life of a queue pair.
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
	uint32_t id = relaxed_get(&r->flow);
	struct flow *f = flow_with_id(p, id);
	bool is_static = pair_of(f).source == PAIR_STATIC;
	enum order order;

	if (!on_its_way(p, a, f))
		return;
	if (a->msg->role == ROCE_ROLE_NAK)
		ctr_inc(&f->naks);
	if (is_beyond(f, psn)) {
		if (!may_have_sent_more(f))
			pair_contradicted(p, id, &p->count.dropped_ack);
		return;
	}
	order = order_of(p, r, psn);
	if (order == BEHIND)
		pair_contradicted(p, id, &p->count.dropped_ack);
	else if (!is_static && order <= NEWER && psn_diff(psn, f->acked) > 0)
		f->acked = psn;
}

// No flow without a pair is left. The answer is of one that has another pair, or not all flows are
// known.
static void no_candidate_left(struct pairing *p, struct reverse *r, const struct ack *ack)
{
	struct addresses *a = addresses_of(p, r);
	struct findings found = judge_candidates(p, r, ack, true);

	if (found.n == 0) {
		set_incomplete(p, &a->key);
		reverse_renew(p, r);
		return;
	}
	if (found.n != 1 || found.n_matched != 1)
		return;
	count_match(&r->matches);
	if (r->matches < p->params.matches)
		return;
	pair_contradicted(p, slot_flow(p, a, found.slot), &p->count.dropped_rival);
	reverse_renew(p, r);
}

static void ack_of_unpaired(struct pairing *p, struct reverse *r, const struct pair_answer *a,
			    uint32_t psn)
{
	struct ack ack = {.answer = a, .psn = psn};
	enum order order = order_of(p, r, psn);
	struct findings found;

	reverse_sync(p, r);
	if (order == BEHIND || order == FIRST) {
		reverse_renew(p, r);
		order_of(p, r, psn);
	}
	if (order >= OLDER)
		return;
	ack.fresh = order != SAME;
	found = judge_candidates(p, r, &ack, false);
	if (found.n == 0) {
		no_candidate_left(p, r, &ack);
		return;
	}
	if (ack.fresh && found.n_matched == found.n)
		count_match(&r->matches);
	if (found.n != 1)
		return;
	if (found.n_matched != 0)
		why(flow_with_id(p, slot_flow(p, addresses_of(p, r), found.slot)), WHY_MATCHING);
	if (r->matches >= p->params.matches)
		pair_slot(p, r, found.slot, a, PAIR_ACK);
}

static void ack_observed(struct pairing *p, const struct pair_answer *a,
			 const struct flow_key *back)
{
	struct reverse *r = reverse_observed(p, a, back);
	// A NAK names the PSN that is missing; those before it have arrived.
	uint32_t psn = a->msg->role == ROCE_ROLE_NAK ? psn_add(a->msg->psn, PSN_MASK) : a->msg->psn;

	if (r == NULL)
		return;
	if (relaxed_get(&r->flow) != FLOW_NONE)
		ack_of_pair(p, r, a, psn);
	else
		ack_of_unpaired(p, r, a, psn);
}

// ---- CNP

static bool was_marked(const struct pairing *p, const struct flow *f)
{
	uint64_t marked = gauge_get(&f->marked_ns);

	if (marked != 0 && p->now_ns - marked <= CE_NS)
		return true;
	return ctr_get(&f->ce) != 0 && p->now_ns - flow_seen_ns(f, p->now_ns) <= CE_NS;
}

static void cnp_observed(struct pairing *p, const struct pair_answer *a,
			 const struct flow_key *back)
{
	struct reverse *r = reverse_observed(p, a, back);
	struct addresses *between;
	struct findings found;
	struct flow *f;

	if (r == NULL)
		return;
	if (relaxed_get(&r->flow) != FLOW_NONE) {
		f = flow_with_id(p, relaxed_get(&r->flow));
		if (on_its_way(p, a, f))
			ctr_inc(&f->cnps_seen);
		return;
	}
	between = addresses_of(p, r);
	reverse_sync(p, r);
	found = candidates_left(p, r, false);
	if (found.n != 1 || between->n_datagrams != 0)
		return;
	f = flow_with_id(p, slot_flow(p, between, found.slot));
	if (!on_its_way(p, a, f) || !was_marked(p, f))
		return;
	count_match(&r->cnps);
	if (r->cnps + r->matches >= p->params.matches)
		pair_slot(p, r, found.slot, a, PAIR_CNP);
}

// ---- READ: the first response has the PSN of the request
//
// If several queue pairs asked for one PSN, it pairs no flow. That a flow has answered more than a
// request asks for proves nothing: the request may be repeated from its middle.

// An entry for each port by which requests come in, so that other ports cannot confuse them.
static struct flow_key read_key(const struct flow_key *addresses, uint32_t psn, port_no_t port)
{
	struct flow_key k = flow_key_with(*addresses, psn, KEY_REVERSE);

	k.w[4] |= (uint64_t)port << 40;
	return k;
}

static void read_requested(struct pairing *p, const struct pair_answer *a,
			   const struct flow_key *back)
{
	const struct flow_key key = read_key(back, a->msg->psn, a->in_port);
	struct pending_read *read = table_take(&p->pending_reads, &key);

	if (read == NULL) {
		addresses_stamp(p, back)->reads_incomplete_until =
			p->now_ns + relaxed_get(&p->flows->age_ns);
		return;
	}
	if (read->n == 0) {
		read->qp = a->msg->dest_qp;
		read->udp_sport = a->udp_sport;
		read->left_by = a->left_by;
		read->one_way = a->one_way;
	}
	read->several = read->several || read->qp != a->msg->dest_qp;
	read->n++;
	read->seen_ns = p->now_ns;
}

// The one queue pair that asked for the PSN belongs to the flow, which has no pair.
static void read_pairs(struct pairing *p, uint32_t id, const struct pending_read *read,
		       bool incomplete)
{
	struct flow *f = flow_with_id(p, id);
	const struct flow_key key = flow_key_with(f->key, read->qp, KEY_REVERSE);
	uint32_t reverse = table_find(&p->reverses, &key), other = FLOW_NONE;

	if (relaxed_get(&f->addresses) == FLOW_NONE || incomplete ||
	    !may_pair(p, read->one_way, read->udp_sport, f, PAIR_READ))
		return;
	if (reverse != FLOW_NONE)
		other = relaxed_get(&p->reverse[reverse].flow);
	if (other != FLOW_NONE)
		pair_contradicted(p, other, &p->count.dropped_rival);
	else
		pair_set(p, id, read->qp, PAIR_READ);
}

void read_answered(struct pairing *p, uint32_t id, uint32_t psn)
{
	struct flow *f = flow_with_id(p, id);
	struct flow_way way = way_of_flow(f);
	struct flow_pair pair = pair_of(f);
	const struct flow_key key = read_key(&f->key, psn, way.out_port);
	struct pending_read *read = table_entry(&p->pending_reads, &key);
	bool incomplete = addresses_stamp(p, &f->key)->reads_incomplete_until > p->now_ns;

	if (read == NULL) {
		// The request found no room. PSNs of responses among a flow's own requests prove
		// nothing, so its queue pair may belong to another connection by now.
		if (way.kind != FLOW_READ_RESPONSES && incomplete && pair.source > PAIR_STATIC)
			pair_contradicted(p, id, &p->count.dropped_rival);
		return;
	}
	if (!read->several && read->left_by == way.in_port) {
		if (pair.source == PAIR_NONE && way.kind == FLOW_READ_RESPONSES)
			read_pairs(p, id, read, incomplete);
		else if (pair.source > PAIR_STATIC && pair.qp == read->qp)
			f->acked = psn_add(psn, PSN_MASK);
		else if (pair.source > PAIR_STATIC)
			pair_contradicted(p, id, &p->count.dropped_rival);
	}
	if (--read->n == 0)
		table_free(&p->pending_reads, read);
}

void pairing_read_response(struct pairing *p, uint32_t id, const struct roce_msg *m,
			   uint64_t now_ns)
{
	struct flow *f = flow_with_id(p, id);

	p->now_ns = now_ns;
	if (way_of_flow(f).out_port != FLOW_NO_PORT) {
		read_answered(p, id, m->psn);
		return;
	}
	// pairing_flow_way goes on when the way is known.
	f->psn_now = m->psn;
	set_hint(f, HINT_READ_WAITS, true);
}

void pairing_answer(struct pairing *p, const struct pair_answer *a, uint64_t now_ns)
{
	uint8_t src[16], dst[16];
	struct flow_key back;

	p->now_ns = now_ns;
	pairing_age(p);
	roce_addresses(a->l3, a->kind, src, dst);
	back = flow_key_of(a->kind == PKT_IPV6, dst, src, a->msg->dest_qp, KEY_REVERSE);
	switch (a->msg->role) {
	case ROCE_ROLE_ACK:
	case ROCE_ROLE_NAK:
		ack_observed(p, a, &back);
		break;
	case ROCE_ROLE_CNP:
		cnp_observed(p, a, &back);
		break;
	case ROCE_ROLE_READ_REQUEST:
		read_requested(p, a, &back);
		break;
	default:
		break;
	}
}

// ---- connection management, as a bystander reads it
//
// Side 0 asked for the connection (REQ), side 1 agreed (REP). A message that comes twice, or before
// the message that it answers, changes nothing or adds what was missing. A message that contradicts
// is counted. `addresses`, below: from the sender of the message to the other side.

static struct flow_key handshake_key(const struct flow_key *from_0_to_1, uint32_t id)
{
	struct flow_key k = *from_0_to_1;

	k.w[4] = (k.w[4] & 0xff000000) | (uint64_t)id << 32;
	return k;
}

// What the data of one side has, by the ports that the messages of both sides came in by.
static struct known known_of_side(const struct handshake *h, unsigned side)
{
	unsigned other = 1 - side;
	const struct flow_key k = side == 0 ? flow_key_with(h->key, h->qp[1], KEY_KNOWN)
					    : flow_key_back(h->key, h->qp[0], KEY_KNOWN);

	return (struct known){.key = k, .qp = h->qp[side], .requests = h->psn[other],
			      .responses = h->psn[side], .source = PAIR_CM,
			      .in_port = h->port[side], .out_port = h->port[other]};
}

static void connection_ended(struct pairing *p, const struct handshake *h)
{
	for (unsigned side = 0; side < 2 && h->has[0] && h->has[1]; side++) {
		const struct known k = known_of_side(h, side);

		known_forget(p, &k.key, k.qp, &p->count.dropped_dreq, WHY_CLOSED);
	}
}

// The sender of a message uses its queue pair for a new connection. What was known of data to it,
// or from it, is of an old connection. port: by which the message came in.
static void supersede(struct pairing *p, const struct flow_key *addresses, uint32_t qp,
		      port_no_t port)
{
	const struct flow_key key = flow_key_back(*addresses, qp, KEY_KNOWN);
	uint32_t id = flow_of(p, &key), other;
	struct known *known;
	struct flow_key mirror;

	// The flow's pair is dropped whatever its source was.
	if (id != FLOW_NONE && way_of_flow(flow_with_id(p, id)).out_port == port &&
	    pair_of(flow_with_id(p, id)).source > PAIR_STATIC)
		pair_drop(p, id, &p->count.dropped_rival, WHY_LIFE);
	known = table_entry(&p->knowns, &key);
	if (known == NULL || known->source != PAIR_CM || known->out_port != port)
		return;
	other = known->qp;
	mirror = flow_key_back(key, other, KEY_KNOWN);
	known_forget(p, &key, other, &p->count.dropped_rival, WHY_LIFE);
	known_forget(p, &mirror, qp, &p->count.dropped_rival, WHY_LIFE);
}

// A REQ or REP.
static void offered(struct pairing *p, const struct flow_key *addresses, const struct cm_msg *m,
		    port_no_t port)
{
	const struct flow_key back = flow_key_back(*addresses, 0, KEY_KNOWN);
	const struct flow_key key = m->attr == CM_REQ ? handshake_key(addresses, m->local_id)
						      : handshake_key(&back, m->remote_id);
	struct handshake *h = table_take(&p->handshakes, &key);
	unsigned side = m->attr == CM_REP;

	if (h == NULL) {
		ctr_inc(&p->count.cm_refused);
		supersede(p, addresses, m->qpn, port);
		return;
	}
	if (h->has[side] && h->port[side] != port) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	// The same side states something else: the communication id is used anew.
	if (h->has[side] && (h->qp[side] != m->qpn || h->id[side] != m->local_id)) {
		connection_ended(p, h);
		h->has[1 - side] = h->has[1 - side] && side == 1;
	}
	h->seen_ns = p->now_ns;
	if (h->has[side] && h->qp[side] == m->qpn && h->psn[side] == m->psn)
		return; // a repetition
	h->qp[side] = m->qpn;
	h->psn[side] = m->psn;
	h->id[side] = m->local_id;
	h->port[side] = port;
	h->has[side] = true;
	if (!h->has[1 - side]) {
		supersede(p, addresses, m->qpn, port);
		return;
	}
	for (unsigned s = 0; s < 2; s++) {
		const struct known k = known_of_side(h, s);

		if (!(p->params.sources >> PAIR_CM & 1) || !known_set(p, &k))
			ctr_inc(&p->count.cm_refused);
	}
}

// The handshake that a message of either side belongs to, and that side.
static struct handshake *handshake_of(struct pairing *p, const struct flow_key *addresses,
				      const struct cm_msg *m, unsigned *side)
{
	const struct flow_key back = flow_key_back(*addresses, 0, KEY_KNOWN);
	struct flow_key key = handshake_key(addresses, m->local_id);
	struct handshake *h = table_entry(&p->handshakes, &key);

	*side = 0;
	if (h != NULL && h->has[1] && h->id[1] == m->remote_id)
		return h;
	key = handshake_key(&back, m->remote_id);
	h = table_entry(&p->handshakes, &key);
	*side = 1;
	return h != NULL && (!h->has[1] || h->id[1] == m->local_id) ? h : NULL;
}

// A message that ends a connection. It counts if it came in by the port of its side.
static void closed(struct pairing *p, const struct flow_key *addresses, const struct cm_msg *m,
		   port_no_t port)
{
	unsigned side;
	struct handshake *h = handshake_of(p, addresses, m, &side);
	const struct flow_key key = flow_key_with(*addresses, m->qpn, KEY_KNOWN);
	uint32_t id;

	if (h != NULL && h->has[side] && h->port[side] != port) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	if (h != NULL) {
		connection_ended(p, h);
		h->has[0] = h->has[1] = false;
		return;
	}
	// Its beginning was not seen. DREQ names the queue pair of the other side.
	id = m->attr == CM_DREQ ? flow_of(p, &key) : FLOW_NONE;
	if (id != FLOW_NONE && way_of_flow(flow_with_id(p, id)).in_port == port)
		known_forget(p, &key, FLOW_NONE, &p->count.dropped_dreq, WHY_CLOSED);
}

void pairing_management(struct pairing *p, const struct pair_answer *a, bool arrives,
			uint64_t now_ns)
{
	uint8_t src[16], dst[16];
	struct flow_key addresses;
	struct cm_msg m;

	p->now_ns = now_ns;
	pairing_age(p);
	if (a->msg->mad == NULL || !cm_read(a->msg->mad, a->msg->mad_len, &m))
		return;
	if (arrives)
		ctr_inc(&p->count.cm_seen);
	roce_addresses(a->l3, a->kind, src, dst);
	addresses = flow_key_of(a->kind == PKT_IPV6, src, dst, 0, KEY_KNOWN);
	if (m.attr == CM_REQ || m.attr == CM_REP)
		offered(p, &addresses, &m, a->in_port);
	else if (m.attr != CM_RTU)
		closed(p, &addresses, &m, a->in_port);
}
