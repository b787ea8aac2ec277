// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/roce/pairing_impl.h"

size_t pairing_bytes(uint32_t n_flows)
{
	struct pairing p;

	return pairing_tables(&p, NULL, n_flows, 0);
}

struct pairing *pairing_init(void *mem, struct flow_table *flows, uint32_t seed)
{
	struct pairing *p = mem;

	pairing_tables(p, mem, flows->n, seed);
	p->flows = flows;
	pairing_set_params(p, &(const struct pair_params){0});
	return p;
}

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

// ---- pairs

static void attach(struct pairing *p, uint32_t id, uint32_t reverse)
{
	struct reverse *r = &p->reverse[reverse];

	put32(&r->flow, id);
	flow_at(p, id)->reverse = reverse;
	r->seen_ns = p->now_ns;
}

static void count_unpaired(struct pairing *p, struct flow *f, bool unpaired)
{
	bool counted = f->peer_hint & HINT_UNPAIRED;

	if (unpaired == counted)
		return;
	__atomic_store_n(&f->peer_hint, f->peer_hint ^ HINT_UNPAIRED, __ATOMIC_RELAXED);
	gauge_set(&p->count.n_unpaired, gauge_get(&p->count.n_unpaired) + unpaired - counted);
}

static void detach(struct pairing *p, struct flow *f)
{
	struct reverse *r = &p->reverse[f->reverse];

	if (f->reverse == FLOW_NONE)
		return;
	put32(&r->flow, FLOW_NONE);
	r->seen_ns = p->now_ns;
	reverse_renew(p, r);
	f->reverse = FLOW_NONE;
}

static void unpair(struct pairing *p, struct flow *f)
{
	detach(p, f);
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

// Where an answer was seen that is what it acknowledged; else nothing of this life.
static uint32_t acked_by(const struct pairing *p, const struct flow *f, enum pair_source source)
{
	const struct reverse *r = &p->reverse[f->reverse];

	if (source == PAIR_STATIC)
		return FLOW_NONE;
	if (source == PAIR_ACK && f->reverse != FLOW_NONE && r->has_last)
		return r->last;
	return psn_add(f->oldest, PSN_MASK);
}

static void pair_up(struct pairing *p, uint32_t id, struct flow_pair pair)
{
	struct flow *f = flow_at(p, id);

	f->acked = acked_by(p, f, pair.source);
	gauge_set(&f->pair, flow_pack_pair(pair));
	ctr_inc(&p->count.paired[pair.source]);
	gauge_set(&p->count.n_paired, gauge_get(&p->count.n_paired) + 1);
	count_unpaired(p, f, false);
	// An operator may be mistaken: others must rule the flow out by themselves.
	if (f->addresses != FLOW_NONE)
		slot_open(p, f, pair.source == PAIR_STATIC || f->reverse == FLOW_NONE);
}

// Both ends are free, or were held on weaker grounds.
static bool make_way(struct pairing *p, uint32_t id, uint32_t reverse, enum pair_source source)
{
	struct flow *f = flow_at(p, id);
	uint8_t mine = pair_of(f).source, its = PAIR_NONE;
	uint32_t other = reverse == FLOW_NONE ? FLOW_NONE : p->reverse[reverse].flow;

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
	uint32_t reverse = FLOW_NONE;

	if (way_of(f).kind == FLOW_DATAGRAM)
		return false;
	if (pair.source != PAIR_NONE && pair.source <= source && pair.qp == qp)
		return true;
	if (f->addresses != FLOW_NONE)
		reverse = reverse_take(p, &key, f->addresses);
	// Whose answers are not followed, his end is not seen.
	if (reverse == FLOW_NONE && source != PAIR_STATIC)
		return false;
	if (pair.source != PAIR_NONE && pair.qp == qp)
		unpair(p, f);
	if (!make_way(p, id, reverse, source))
		return false;
	if (reverse != FLOW_NONE)
		attach(p, id, reverse);
	pair_up(p, id, (struct flow_pair){.source = (uint8_t)source, .qp = qp});
	return true;
}

// ---- what is known beforehand

static uint32_t flow_of(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, flow_key_qp(k), KEY_FLOW);

	return flow_map_find(&p->flows->map, &key, flow_hash_of(&p->flows->map, &key));
}

// The first packets may be missing.
static bool begins_at(uint32_t psn, uint32_t announced)
{
	int32_t d = psn_diff(psn, announced);

	return d >= 0 && d < FEW_PSNS;
}

// READ responses have the PSNs of the other side's requests.
static uint32_t *start_of(struct known *k, const struct flow *f)
{
	return way_of(f).kind == FLOW_READ_RESPONSES ? &k->responses : &k->requests;
}

static bool starts_at(uint32_t start, uint32_t psn)
{
	return start & START_FRESH ? begins_at(psn, start & PSN_MASK) : psn == start;
}

// Whether the messages of CM came the way that the flow and its answers go.
static bool same_way(const struct known *k, struct flow_way way)
{
	return k->in_port == way.in_port && k->out_port == way.out_port;
}

// A flow begins, or another life of it, with the PSN: that of a connection that is new, or the next
// of one that was idle.
static void known_apply(struct pairing *p, uint32_t id, uint32_t psn)
{
	struct flow *f = flow_at(p, id);
	const struct flow_key key = flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);
	uint32_t index = known_find(p, &key);
	struct known *k = &p->known[index];
	uint32_t *start = start_of(k, f);

	if (index == FLOW_NONE || !(p->params.sources >> k->source & 1))
		return;
	if (k->source == PAIR_STATIC) {
		pair_set(p, id, k->qp, PAIR_STATIC);
		return;
	}
	if (way_of(f).out_port == FLOW_NO_PORT)
		return;
	if (!same_way(k, way_of(f)) || !starts_at(*start, psn)) {
		ctr_inc(&p->count.cm_refused);
		return;
	}
	*start &= PSN_MASK;
	k->seen_ns = p->now_ns;
	pair_set(p, id, k->qp, PAIR_CM);
}

// The flow lives: what comes next of it is of another connection.
static void known_apply_now(struct pairing *p, uint32_t id, const struct known *k)
{
	struct flow *f = flow_at(p, id);

	if (!(p->params.sources >> k->source & 1) ||
	    (k->source == PAIR_CM && way_of(f).out_port == FLOW_NO_PORT))
		return;
	if (pair_set(p, id, k->qp, k->source) && k->source == PAIR_CM)
		f->acked = flow_highest(f);
}

void known_forget(struct pairing *p, const struct flow_key *k, uint32_t qp, ctr_t *counter,
		  enum pair_reason reason)
{
	uint32_t index = known_find(p, k), id = flow_of(p, k);
	struct flow_pair pair;

	if (index != FLOW_NONE && (qp == FLOW_NONE || p->known[index].qp == qp) &&
	    (p->known[index].source != PAIR_STATIC || reason == WHY_TOLD))
		known_free(p, index);
	if (id == FLOW_NONE)
		return;
	pair = pair_of(flow_at(p, id));
	if (pair.source == PAIR_NONE || (qp != FLOW_NONE && pair.qp != qp) ||
	    (pair.source == PAIR_STATIC && reason != WHY_TOLD))
		return;
	pair_drop(p, id, counter, reason);
}

void pair_contradicted(struct pairing *p, uint32_t id, ctr_t *counter)
{
	const struct flow *f = flow_at(p, id);
	const struct flow_key key = flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);
	struct flow_pair pair = pair_of(f);

	if (pair.source == PAIR_CM)
		known_forget(p, &key, pair.qp, counter, WHY_CONTRADICTION);
	else if (pair.source > PAIR_STATIC)
		pair_drop(p, id, counter, WHY_CONTRADICTION);
}

// What was heard elsewhere does not replace what is known: messages are easily made up, and hosts
// seldom move.
static bool contradicts(const struct known *is, const struct known *k)
{
	return is->in_port != k->in_port || is->out_port != k->out_port;
}

// is: what is known, or NULL. f: the flow, or NULL; if there is one its way decides.
static bool may_replace(const struct known *is, const struct known *k, const struct flow *f)
{
	if (is != NULL && is->source < k->source)
		return false;
	if (k->source == PAIR_STATIC)
		return true;
	if (f != NULL && way_of(f).out_port != FLOW_NO_PORT)
		return same_way(k, way_of(f));
	return is == NULL || !contradicts(is, k);
}

bool known_set(struct pairing *p, const struct known *k)
{
	uint32_t index = known_find(p, &k->key), id = flow_of(p, &k->key);
	uint32_t old = index == FLOW_NONE ? FLOW_NONE : p->known[index].qp;
	struct flow_key mirror;

	if (!may_replace(index != FLOW_NONE ? &p->known[index] : NULL, k,
			 id != FLOW_NONE ? flow_at(p, id) : NULL))
		return false;
	if (index != FLOW_NONE && old != k->qp) {
		mirror = flow_key_back(k->key, old, KEY_KNOWN);
		known_forget(p, &k->key, old, &p->count.dropped_rival, WHY_CONTRADICTION);
		known_forget(p, &mirror, flow_key_qp(&k->key), &p->count.dropped_rival,
			     WHY_CONTRADICTION);
	}
	if (id != FLOW_NONE && pair_of(flow_at(p, id)).qp != k->qp)
		pair_contradicted(p, id, &p->count.dropped_rival);
	index = known_take(p, &k->key);
	if (index == FLOW_NONE)
		return false;
	p->known[index] = *k;
	p->known[index].requests |= START_FRESH;
	p->known[index].responses |= START_FRESH;
	p->known[index].live = true;
	p->known[index].seen_ns = p->now_ns;
	if (id != FLOW_NONE)
		known_apply_now(p, id, k);
	return true;
}

bool pairing_tell(struct pairing *p, const struct known_pair *k, uint64_t now_ns)
{
	const struct flow_key key = flow_key_with(k->key, flow_key_qp(&k->key), KEY_KNOWN);
	const struct known told = {.key = key, .qp = k->qp, .source = k->source,
				   .in_port = FLOW_NO_PORT, .out_port = FLOW_NO_PORT};

	p->now_ns = now_ns;
	if (k->qp == FLOW_NONE) {
		bool found = known_find(p, &key) != FLOW_NONE || flow_of(p, &key) != FLOW_NONE;

		known_forget(p, &key, FLOW_NONE, &p->count.dropped_static, WHY_TOLD);
		return found;
	}
	return known_set(p, &told);
}

// ---- flows come and go

void pairing_flow_begun(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	__atomic_store_n(&f->peer_hint, 0, __ATOMIC_RELAXED);
	count_unpaired(p, f, flow_needs_pair(way_of(f).kind));
	f->reverse = f->acked = FLOW_NONE;
	f->turn_ns = 0;
	addresses_join(p, id);
	if (has_past(p, &f->key))
		__atomic_store_n(&f->peer_hint, f->peer_hint | HINT_PAST, __ATOMIC_RELAXED);
	known_apply(p, id, f->oldest);
}

void pairing_flow_way(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	if (pair_of(f).source == PAIR_NONE)
		known_apply(p, id, f->oldest);
	if (!(f->peer_hint & HINT_READ_WAITS))
		return;
	__atomic_store_n(&f->peer_hint, f->peer_hint & ~HINT_READ_WAITS, __ATOMIC_RELAXED);
	read_answered(p, id, f->psn_now);
}

void pairing_flow_turned(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	blind(p, &f->key);
	if (pair_of(f).source == PAIR_NONE)
		addresses_anew(p, id);
}

void pairing_flow_refused(struct pairing *p, const struct flow_key *k, uint64_t now_ns)
{
	p->now_ns = now_ns;
	blind(p, k);
}

void pairing_flow_elsewhere(struct pairing *p, const struct flow_key *k, uint64_t now_ns)
{
	pairing_flow_refused(p, k, now_ns);
	ctr_inc(&p->count.wrong_port);
}

// Where it stops, a connection that CM told of goes on.
static void keep_known(struct pairing *p, const struct flow *f)
{
	const struct flow_key key = flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);
	uint32_t index = known_find(p, &key), *start;

	if (index == FLOW_NONE)
		return;
	start = start_of(&p->known[index], f);
	if (!(*start & START_FRESH))
		*start = flow_expected(gauge_get(&f->last));
	p->known[index].seen_ns = p->now_ns;
}

void pairing_flow_gone(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	bool all_answered = f->acked != FLOW_NONE && f->acked == flow_highest(f);
	uint8_t kind = way_of(f).kind;

	if (pair_of(f).source == PAIR_CM)
		keep_known(p, f);
	if (pair_of(f).source != PAIR_NONE) {
		unpair(p, f);
		ctr_inc(&p->count.dropped_age);
	}
	if (!all_answered && (kind == FLOW_DATA || kind == FLOW_READ_REQUESTS)) {
		blind(p, &f->key);
		set_past(p, &f->key);
	}
	count_unpaired(p, f, false);
	addresses_leave(p, id);
}

void pairing_flow_kind(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);

	count_unpaired(p, f, flow_needs_pair(way_of(f).kind) && pair_of(f).source == PAIR_NONE);
}

// Connection management said that it would begin there.
static bool was_announced(struct pairing *p, const struct flow *f, uint32_t psn)
{
	const struct flow_key key = flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);
	uint32_t index = known_find(p, &key);
	uint32_t *start = start_of(&p->known[index], f);

	if (index == FLOW_NONE || p->known[index].qp != pair_of(f).qp ||
	    !(*start & START_FRESH) || !starts_at(*start, psn))
		return false;
	*start &= PSN_MASK;
	return true;
}

// True: the pair stands all the same.
static bool outlives_jump(struct pairing *p, struct flow *f, uint32_t psn, bool another_life)
{
	uint8_t source = pair_of(f).source;

	if (source != PAIR_CM)
		return source == PAIR_STATIC;
	if (!was_announced(p, f, psn))
		return !another_life;
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
	const struct flow_key key = flow_key_with(f->key, flow_key_qp(&f->key), KEY_KNOWN);

	p->now_ns = now_ns;
	if (psn_diff(psn, f->oldest) < 0)
		f->oldest = psn;
	f->turn_ns = 0;
	if (pair_of(f).source == PAIR_NONE)
		addresses_anew(p, id);
	else if (outlives_jump(p, f, psn, another_life))
		return;
	else if (pair_of(f).source == PAIR_CM)
		known_forget(p, &key, pair_of(f).qp, &p->count.dropped_jump, WHY_LIFE);
	else
		pair_drop(p, id, &p->count.dropped_jump, WHY_LIFE);
	known_apply(p, id, psn);
}

// ---- what passes

void pairing_read_response(struct pairing *p, uint32_t id, const struct roce_msg *m,
			   uint64_t now_ns)
{
	struct flow *f = flow_at(p, id);

	p->now_ns = now_ns;
	if (way_of(f).out_port != FLOW_NO_PORT) {
		read_answered(p, id, m->psn);
		return;
	}
	// Its way will be known in a moment.
	f->psn_now = m->psn;
	__atomic_store_n(&f->peer_hint, f->peer_hint | HINT_READ_WAITS, __ATOMIC_RELAXED);
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
		hear_ack(p, a, &back);
		break;
	case ROCE_ROLE_CNP:
		hear_cnp(p, a, &back);
		break;
	case ROCE_ROLE_READ_REQUEST:
		hear_read_request(p, a, &back);
		break;
	default:
		break;
	}
}

void pairing_management(struct pairing *p, const struct pair_answer *a, bool arrives,
			uint64_t now_ns)
{
	p->now_ns = now_ns;
	pairing_age(p);
	hear_management(p, a, arrives);
}

// ---- for those who look

uint32_t pairing_candidates(const struct pairing *p, uint32_t id)
{
	const struct flow *f = flow_at(p, id);
	uint32_t index = look32(&f->addresses), n = 0, at;
	unsigned slot = __atomic_load_n(&f->slot, __ATOMIC_RELAXED);

	if (index == FLOW_NONE || slot >= DATAGRAM_SLOT)
		return 0;
	at = look32(&p->address[index].first);
	for (unsigned i = 0; i < PAIR_MAX_BETWEEN && at != FLOW_NONE; i++) {
		const struct reverse *r = &p->reverse[at];

		n += look32(&r->flow) == FLOW_NONE && !is_ruled_out(p, r, slot);
		at = look32(&r->next);
	}
	return n;
}

const char *pairing_reason(const struct pairing *p, uint32_t id)
{
	static const char *const text[] = {
#define X(id, words) [WHY_##id] = words,
		PAIR_REASONS(X)
#undef X
	};
	uint8_t hint = __atomic_load_n(&flow_at(p, id)->peer_hint, __ATOMIC_RELAXED);
	uint8_t kind = way_of(flow_at(p, id)).kind;

	if (kind == FLOW_READ_REQUESTS || kind == FLOW_UNRELIABLE)
		return text[kind == FLOW_UNRELIABLE ? WHY_UNRELIABLE : WHY_REQUESTS];
	hint &= HINT_REASON;
	return hint < N_PAIR_REASONS ? text[hint] : text[WHY_NO_ANSWER];
}
