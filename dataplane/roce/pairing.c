// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/pairing_impl.h"

enum {
	FEW_PSNS = 64, // first packets of a connection that may be missing
	UNANSWERED_AGES = 20,
};

void pairing_set_params(struct pairing *p, const struct pair_params *params)
{
	p->params = *params;
	if (p->params.matches == 0)
		p->params.matches = PAIR_MATCHES;
	if (p->params.sources == 0)
		p->params.sources = (1 << N_PAIR_SOURCES) - 1;
}

const struct pairing_counters *pairing_counters(const struct pairing *p)
{
	return &p->count;
}

const char *pairing_reason(const struct pairing *p, uint32_t id)
{
	static const char *const text[] = {
#define X(id, words) [WHY_##id] = words,
		PAIR_REASONS(X)
#undef X
	};
	uint8_t reason = relaxed_get(&flow_at(p, id)->peer_hint) & HINT_REASON;
	uint8_t kind = way_of(flow_at(p, id)).kind;

	if (kind == FLOW_READ_REQUESTS || kind == FLOW_UNRELIABLE)
		return text[kind == FLOW_UNRELIABLE ? WHY_UNRELIABLE : WHY_REQUESTS];
	return reason < N_PAIR_REASONS ? text[reason] : text[WHY_NO_ANSWER];
}

// ---- pairs

static void count_unpaired(struct pairing *p, struct flow *f, bool unpaired)
{
	bool counted = has_hint(f, HINT_UNPAIRED);

	if (unpaired == counted)
		return;
	set_hint(f, HINT_UNPAIRED, unpaired);
	gauge_set(&p->count.n_unpaired, gauge_get(&p->count.n_unpaired) + unpaired - counted);
}

static void unpair(struct pairing *p, struct flow *f)
{
	struct reverse *r = &p->reverse[f->reverse];

	if (f->reverse != FLOW_NONE) {
		relaxed_set(&r->flow, FLOW_NONE);
		r->seen_ns = p->now_ns;
		reverse_renew(p, r);
		f->reverse = FLOW_NONE;
	}
	gauge_set(&f->pair, 0);
	f->acked = FLOW_NONE;
	gauge_set(&p->count.n_paired, gauge_get(&p->count.n_paired) - 1);
	count_unpaired(p, f, flow_needs_pair(way_of(f).kind));
}

void pair_drop(struct pairing *p, uint32_t id, ctr_t *counter, enum pair_reason reason)
{
	struct flow *f = flow_at(p, id);

	unpair(p, f);
	ctr_inc(counter);
	addresses_anew(p, id);
	why(f, reason);
}

static void pair_up(struct pairing *p, struct flow *f, struct flow_pair pair)
{
	const struct reverse *r = f->reverse == FLOW_NONE ? NULL : &p->reverse[f->reverse];

	// If an answer was seen, its PSN is acknowledged; else nothing of this life.
	if (pair.source == PAIR_STATIC)
		f->acked = FLOW_NONE;
	else if (pair.source == PAIR_ACK && r != NULL && r->has_last)
		f->acked = r->last;
	else
		f->acked = psn_add(f->oldest, PSN_MASK);
	gauge_set(&f->pair, flow_pack_pair(pair));
	ctr_inc(&p->count.paired[pair.source]);
	gauge_set(&p->count.n_paired, gauge_get(&p->count.n_paired) + 1);
	count_unpaired(p, f, false);
	// An operator may be mistaken, so other queue pairs must rule the flow out by themselves.
	if (relaxed_get(&f->addresses) != FLOW_NONE)
		slot_open(p, f, pair.source == PAIR_STATIC || r == NULL);
}

// Drops the pairs that the flow and the reverse queue pair (or FLOW_NONE) have. False, and nothing
// is dropped: one of them is from a more trusted source.
static bool make_way(struct pairing *p, uint32_t id, uint32_t reverse, enum pair_source source)
{
	uint8_t mine = pair_of(flow_at(p, id)).source, its = PAIR_NONE;
	uint32_t other = FLOW_NONE;

	if (reverse != FLOW_NONE)
		other = relaxed_get(&p->reverse[reverse].flow);
	if (other != FLOW_NONE)
		its = pair_of(flow_at(p, other)).source;
	if ((mine != PAIR_NONE && mine < source) || (its != PAIR_NONE && its < source))
		return false;
	if (mine != PAIR_NONE)
		pair_drop(p, id, &p->count.dropped_rival, WHY_CONTRADICTION);
	if (other != FLOW_NONE)
		pair_drop(p, other, &p->count.dropped_rival, WHY_CONTRADICTION);
	return true;
}

bool pair_set(struct pairing *p, uint32_t id, uint32_t qp, enum pair_source source)
{
	struct flow *f = flow_at(p, id);
	const struct flow_key key = flow_key_with(f->key, qp, KEY_REVERSE);
	struct flow_pair pair = pair_of(f);
	uint32_t reverse = FLOW_NONE, addresses = relaxed_get(&f->addresses);

	if (way_of(f).kind == FLOW_DATAGRAM)
		return false;
	if (pair.source != PAIR_NONE && pair.source <= source && pair.qp == qp)
		return true;
	if (addresses != FLOW_NONE)
		reverse = reverse_take(p, &key, addresses);
	// Without a reverse queue pair no answer would end the pair; an operator ends his own.
	if (reverse == FLOW_NONE && source != PAIR_STATIC)
		return false;
	if (pair.source != PAIR_NONE && pair.qp == qp)
		unpair(p, f);
	if (!make_way(p, id, reverse, source))
		return false;
	if (reverse != FLOW_NONE) {
		relaxed_set(&p->reverse[reverse].flow, id);
		p->reverse[reverse].seen_ns = p->now_ns;
		f->reverse = reverse;
	}
	pair_up(p, f, (struct flow_pair){.source = (uint8_t)source, .qp = qp});
	return true;
}

// ---- what is known beforehand

uint32_t flow_of(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, flow_key_qp(k), KEY_FLOW);

	return flow_map_find(&p->flows->map, &key, flow_hash_of(&p->flows->map, &key));
}

static struct flow_key known_key(const struct flow *f)
{
	return flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);
}

static struct known *known_of(const struct pairing *p, const struct flow *f)
{
	const struct flow_key key = known_key(f);

	return table_entry(&p->knowns, &key);
}

// READ responses have the PSNs of the other side's requests.
static uint32_t *start_of(struct known *k, const struct flow *f)
{
	return way_of(f).kind == FLOW_READ_RESPONSES ? &k->responses : &k->requests;
}

// Whether a connection of this start can begin, or go on, with the PSN.
static bool starts_at(uint32_t start, uint32_t psn)
{
	int32_t missing = psn_diff(psn, start & PSN_MASK);

	return start & START_FRESH ? missing >= 0 && missing < FEW_PSNS : missing == 0;
}

// Whether the messages of CM came the way that the flow and its answers go.
static bool same_way(const struct known *k, struct flow_way way)
{
	return k->in_port == way.in_port && k->out_port == way.out_port;
}

// A flow, or another life of it, begins with the PSN. It gets the pair known of a connection that
// begins there, or that goes on there after it was idle.
static void known_apply(struct pairing *p, uint32_t id, uint32_t psn)
{
	struct flow *f = flow_at(p, id);
	struct known *k = known_of(p, f);
	uint32_t *start;

	if (k == NULL || !(p->params.sources >> k->source & 1))
		return;
	if (k->source == PAIR_STATIC) {
		pair_set(p, id, k->qp, PAIR_STATIC);
		return;
	}
	if (way_of(f).out_port == FLOW_NO_PORT)
		return;
	start = start_of(k, f);
	if (!same_way(k, way_of(f)) || !starts_at(*start, psn)) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	*start &= PSN_MASK;
	k->seen_ns = p->now_ns;
	pair_set(p, id, k->qp, PAIR_CM);
}

void known_forget(struct pairing *p, const struct flow_key *k, uint32_t qp, ctr_t *counter,
		  enum pair_reason reason)
{
	struct known *known = table_entry(&p->knowns, k);
	uint32_t id = flow_of(p, k);
	struct flow_pair pair;

	if (known != NULL && (qp == FLOW_NONE || known->qp == qp) &&
	    (known->source != PAIR_STATIC || reason == WHY_FORGOTTEN))
		table_free(&p->knowns, known);
	if (id == FLOW_NONE)
		return;
	pair = pair_of(flow_at(p, id));
	if (pair.source == PAIR_NONE || (qp != FLOW_NONE && pair.qp != qp) ||
	    (pair.source == PAIR_STATIC && reason != WHY_FORGOTTEN))
		return;
	pair_drop(p, id, counter, reason);
}

void pair_contradicted(struct pairing *p, uint32_t id, ctr_t *counter)
{
	const struct flow_key key = known_key(flow_at(p, id));
	struct flow_pair pair = pair_of(flow_at(p, id));

	if (pair.source == PAIR_CM)
		known_forget(p, &key, pair.qp, counter, WHY_CONTRADICTION);
	else if (pair.source > PAIR_STATIC)
		pair_drop(p, id, counter, WHY_CONTRADICTION);
}

// is: what is known, or NULL. f: the flow, or NULL. If there is a flow, its way decides. Messages
// that came by other ports replace nothing: they are easily made up, and hosts seldom move.
static bool may_replace(const struct known *is, const struct known *k, const struct flow *f)
{
	if (is != NULL && is->source < k->source)
		return false;
	if (k->source == PAIR_STATIC)
		return true;
	if (f != NULL && way_of(f).out_port != FLOW_NO_PORT)
		return same_way(k, way_of(f));
	return is == NULL || (is->in_port == k->in_port && is->out_port == k->out_port);
}

bool known_set(struct pairing *p, const struct known *k)
{
	struct known *known = table_entry(&p->knowns, &k->key);
	uint32_t id = flow_of(p, &k->key);
	struct flow *f = id == FLOW_NONE ? NULL : flow_at(p, id);

	if (!may_replace(known, k, f))
		return false;
	if (known != NULL && known->qp != k->qp) {
		uint32_t old = known->qp;
		const struct flow_key mirror = flow_key_back(k->key, old, KEY_KNOWN);

		known_forget(p, &k->key, old, &p->count.dropped_rival, WHY_CONTRADICTION);
		known_forget(p, &mirror, flow_key_qp(&k->key), &p->count.dropped_rival,
			     WHY_CONTRADICTION);
	}
	if (f != NULL && pair_of(f).qp != k->qp)
		pair_contradicted(p, id, &p->count.dropped_rival);
	known = table_take(&p->knowns, &k->key);
	if (known == NULL)
		return false;
	*known = *k;
	known->requests |= START_FRESH;
	known->responses |= START_FRESH;
	known->seen_ns = p->now_ns;
	if (f == NULL || !(p->params.sources >> k->source & 1) ||
	    (k->source == PAIR_CM && way_of(f).out_port == FLOW_NO_PORT))
		return true;
	// The flow lives: its next packet is of another connection.
	if (pair_set(p, id, k->qp, k->source) && k->source == PAIR_CM)
		f->acked = flow_highest(f);
	return true;
}

bool pairing_order(struct pairing *p, const struct known_pair *k, uint64_t now_ns)
{
	const struct flow_key key = flow_key_with(k->key, flow_key_qp(&k->key), KEY_KNOWN);
	const struct known known = {.key = key, .qp = k->qp, .source = k->source,
				    .in_port = FLOW_NO_PORT, .out_port = FLOW_NO_PORT};
	bool found;

	p->now_ns = now_ns;
	if (k->qp != FLOW_NONE)
		return known_set(p, &known);
	found = table_entry(&p->knowns, &key) != NULL || flow_of(p, &key) != FLOW_NONE;
	known_forget(p, &key, FLOW_NONE, &p->count.dropped_static, WHY_FORGOTTEN);
	return found;
}

// ---- flows begin and end

void pairing_flow_begun(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	relaxed_set(&f->peer_hint, 0);
	count_unpaired(p, f, flow_needs_pair(way_of(f).kind));
	f->reverse = f->acked = FLOW_NONE;
	f->turn_ns = 0;
	addresses_join(p, id);
	if (flow_stamp(p, &f->key)->unanswered_until > now_ns)
		set_hint(f, HINT_UNANSWERED, true);
	known_apply(p, id, f->oldest);
}

void pairing_flow_way(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	if (pair_of(f).source == PAIR_NONE)
		known_apply(p, id, f->oldest);
	if (!has_hint(f, HINT_READ_WAITS))
		return;
	set_hint(f, HINT_READ_WAITS, false);
	read_answered(p, id, f->psn_now);
}

void pairing_flow_turned(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	set_incomplete(p, &f->key);
	if (pair_of(f).source == PAIR_NONE)
		addresses_anew(p, id);
}

void pairing_flow_refused(struct pairing *p, const struct flow_key *k, uint64_t now_ns)
{
	p->now_ns = now_ns;
	set_incomplete(p, k);
}

void pairing_flow_elsewhere(struct pairing *p, const struct flow_key *k, uint64_t now_ns)
{
	pairing_flow_refused(p, k, now_ns);
	ctr_inc(&p->count.wrong_port);
}

// A connection that CM stated goes on where the flow ends.
static void keep_known(struct pairing *p, const struct flow *f)
{
	struct known *k = known_of(p, f);
	uint32_t *start;

	if (k == NULL)
		return;
	start = start_of(k, f);
	if (!(*start & START_FRESH))
		*start = flow_expected(gauge_get(&f->last));
	k->seen_ns = p->now_ns;
}

void pairing_flow_gone(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	bool all_answered = f->acked != FLOW_NONE && f->acked == flow_highest(f);
	uint8_t kind = way_of(f).kind, source = pair_of(f).source;

	if (source == PAIR_CM)
		keep_known(p, f);
	if (source != PAIR_NONE) {
		unpair(p, f);
		ctr_inc(&p->count.dropped_age);
	}
	if (!all_answered && (kind == FLOW_DATA || kind == FLOW_READ_REQUESTS)) {
		set_incomplete(p, &f->key);
		flow_stamp(p, &f->key)->unanswered_until =
			p->now_ns + UNANSWERED_AGES * relaxed_get(&p->flows->age_ns);
	}
	count_unpaired(p, f, false);
	addresses_leave(p, id);
}

void pairing_flow_kind(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);

	count_unpaired(p, f, flow_needs_pair(way_of(f).kind) && pair_of(f).source == PAIR_NONE);
}

// The PSN of a flow with a pair jumped. True: the pair holds all the same.
static bool outlives_jump(struct pairing *p, struct flow *f, uint32_t psn, bool another_life)
{
	struct known *k = known_of(p, f);
	struct flow_pair pair = pair_of(f);
	uint32_t *start;

	if (pair.source != PAIR_CM)
		return pair.source == PAIR_STATIC;
	if (k == NULL || k->qp != pair.qp)
		return !another_life;
	start = start_of(k, f);
	if (!(*start & START_FRESH) || !starts_at(*start, psn))
		return !another_life;
	// CM stated that the connection would begin there.
	*start &= PSN_MASK;
	f->acked = psn_add(psn, PSN_MASK);
	if (f->reverse != FLOW_NONE)
		reverse_renew(p, &p->reverse[f->reverse]);
	return true;
}

void pairing_flow_jumped(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);
	uint32_t psn = psn_add(flow_expected(gauge_get(&f->last)), PSN_MASK);
	bool another_life = f->oldest == psn ||
			    (f->acked != FLOW_NONE && psn_diff(psn, f->acked) <= 0);
	const struct flow_key key = known_key(f);
	struct flow_pair pair = pair_of(f);

	p->now_ns = now_ns;
	if (psn_diff(psn, f->oldest) < 0)
		f->oldest = psn;
	f->turn_ns = 0;
	if (pair.source == PAIR_NONE)
		addresses_anew(p, id);
	else if (outlives_jump(p, f, psn, another_life))
		return;
	else if (pair.source == PAIR_CM)
		known_forget(p, &key, pair.qp, &p->count.dropped_jump, WHY_LIFE);
	else
		pair_drop(p, id, &p->count.dropped_jump, WHY_LIFE);
	known_apply(p, id, psn);
}
