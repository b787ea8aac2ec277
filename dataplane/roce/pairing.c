// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/base/units.h"
#include "dataplane/roce/pairing_impl.h"

enum {
	STAMPS_MIN = 256,
	FEW_PSNS = 64, // first packets of a connection that may be missing
	UNANSWERED_AGES = 20,
};

// ---- memory

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

// Takes the next part of the memory; base NULL: only adds up.
static void *take_memory_part(uint8_t *base, size_t *at, size_t bytes)
{
	void *here = base == NULL ? NULL : base + *at;

	*at += (bytes + 63) / 64 * 64;
	return here;
}

// Returns the elements.
static void *pool_part(struct pool *pool, uint8_t *base, size_t *at, uint32_t n, uint32_t stride)
{
	pool->n = n;
	pool->free = take_memory_part(base, at, n * sizeof(pool->free[0]));
	return take_memory_part(base, at, (size_t)n * stride);
}

static void *table_part(struct table *t, uint8_t *base, size_t *at, uint32_t n, uint32_t stride,
			uint32_t seed)
{
	void *buckets;

	t->entries = pool_part(&t->pool, base, at, n, stride);
	t->map.seed = seed;
	buckets = take_memory_part(base, at, flow_map_bytes(n));
	if (base != NULL)
		flow_map_init(&t->map, buckets, n, t->entries, stride);
	return t->entries;
}

// Divides the memory. Returns the bytes.
static size_t lay_out(struct pairing *p, void *mem, uint32_t n, uint32_t seed)
{
	uint32_t n_stamps = STAMPS_MIN;
	size_t at = 0;

	static_assert(FLOW_MAX / 32 + 320 <= UINT16_MAX, "slot_block.more");
	while (n_stamps < n / 4)
		n_stamps *= 2;
	take_memory_part(mem, &at, sizeof(*p));
	p->address = table_part(&p->addresses, mem, &at, at_most(n, n / 4 + 1024),
				sizeof(p->address[0]), seed);
	p->reverse = table_part(&p->reverses, mem, &at, n, sizeof(p->reverse[0]), seed);
	table_part(&p->knowns, mem, &at, at_most(2 * n, n / 2 + 1024), sizeof(struct known), seed);
	table_part(&p->handshakes, mem, &at, at_most(n, n / 16 + 256), sizeof(struct handshake),
		   seed);
	table_part(&p->pending_reads, mem, &at, at_most(2 * n, n / 4 + 2048),
		   sizeof(struct pending_read), seed);
	p->block = pool_part(&p->blocks, mem, &at, at_most(n / FEW_SLOTS + 1, n / 32 + 320),
			     sizeof(p->block[0]));
	p->out = pool_part(&p->outs, mem, &at, at_most(n, n / 8 + 1024), sizeof(p->out[0]));
	p->stamps = take_memory_part(mem, &at, n_stamps * sizeof(p->stamps[0]));
	p->stamp_mask = n_stamps - 1;
	return at;
}

size_t pairing_bytes(uint32_t n_flows)
{
	struct pairing p;

	return lay_out(&p, NULL, n_flows, 0);
}

struct pairing *pairing_init(void *mem, struct flow_table *flows, uint32_t seed)
{
	struct pairing *p = mem;

	lay_out(p, mem, flows->n, seed);
	p->flows = flows;
	pairing_set_params(p, &(const struct pair_params){0});
	return p;
}

// FLOW_NONE: none is free.
static uint32_t pool_take(struct pool *pool)
{
	if (pool->n_free != 0)
		return pool->free[--pool->n_free];
	return pool->n_used < pool->n ? pool->n_used++ : FLOW_NONE;
}

static void pool_give(struct pool *pool, uint32_t index)
{
	pool->free[pool->n_free++] = index;
}

// ---- tables

static void *entry_at(const struct table *t, uint32_t index)
{
	return t->entries + (size_t)index * t->map.stride;
}

uint32_t table_find(const struct table *t, const struct flow_key *k)
{
	return flow_map_find(&t->map, k, flow_hash_of(&t->map, k));
}

void *table_entry(const struct table *t, const struct flow_key *k)
{
	uint32_t index = table_find(t, k);

	return index == FLOW_NONE ? NULL : entry_at(t, index);
}

// The key is not there. Only the key of the new entry is set.
static uint32_t table_add(struct table *t, const struct flow_key *k)
{
	uint32_t index = pool_take(&t->pool);

	if (index == FLOW_NONE)
		return FLOW_NONE;
	if (!flow_map_add(&t->map, flow_hash_of(&t->map, k), index)) {
		pool_give(&t->pool, index);
		return FLOW_NONE;
	}
	memcpy(entry_at(t, index), k, sizeof(*k));
	return index;
}

void *table_take(struct table *t, const struct flow_key *k)
{
	uint32_t index = table_find(t, k);
	uint8_t *entry;

	if (index != FLOW_NONE)
		return entry_at(t, index);
	index = table_add(t, k);
	if (index == FLOW_NONE)
		return NULL;
	entry = entry_at(t, index);
	memset(entry + sizeof(*k), 0, t->map.stride - sizeof(*k));
	return entry;
}

void table_free(struct table *t, void *entry)
{
	uint32_t index = (uint32_t)((size_t)((uint8_t *)entry - t->entries) / t->map.stride);
	struct flow_key *k = entry;

	flow_map_remove(&t->map, flow_hash_of(&t->map, k), index);
	k->w[4] = 0;
	pool_give(&t->pool, index);
}

// ---- stamps

static struct stamp *stamp_of(const struct pairing *p, struct flow_key k)
{
	return &p->stamps[flow_hash_of(&p->addresses.map, &k) >> 8 & p->stamp_mask];
}

struct stamp *addresses_stamp(const struct pairing *p, const struct flow_key *k)
{
	return stamp_of(p, flow_key_with(*k, 0, KEY_ADDRESSES));
}

static struct stamp *flow_stamp(const struct pairing *p, const struct flow_key *k)
{
	// Without the seal of a flow's entry.
	return stamp_of(p, flow_key_with(*k, flow_key_qp(k), KEY_FLOW));
}

void set_incomplete(struct pairing *p, const struct flow_key *k)
{
	addresses_stamp(p, k)->incomplete_until = p->now_ns + relaxed_get(&p->flows->age_ns);
}

// ---- slots of two addresses

// Adds a block. The first block takes over the few slots. False: no room.
static bool grow(struct pairing *p, struct addresses *a)
{
	uint32_t block = a->n_slots < PAIR_MAX_BETWEEN ? pool_take(&p->blocks) : FLOW_NONE;
	struct slot_block *b = &p->block[block];

	if (block == FLOW_NONE)
		return false;
	if (a->n_slots != FEW_SLOTS) {
		b->bits = (struct slot_bits){0};
		p->block[a->block].more[a->n_slots / WORD_SLOTS - 1] = (uint16_t)block;
		a->n_slots += WORD_SLOTS;
		return true;
	}
	b->bits = a->bits;
	memcpy(b->ids, a->ids, sizeof(a->ids));
	for (unsigned i = 0; i < FEW_SLOTS; i++)
		b->sent[i] = flow_with_id(p, a->ids[i])->oldest;
	a->block = block;
	a->n_slots = WORD_SLOTS;
	return true;
}

// A free slot, or NO_SLOT. The search begins behind the slot assigned last, so that no slot is
// assigned again at once.
static unsigned free_slot(const struct pairing *p, struct addresses *a)
{
	unsigned words = slot_words(a);
	uint64_t all = a->n_slots < WORD_SLOTS ? (1ull << a->n_slots) - 1 : UINT64_MAX;

	for (unsigned i = 0; i <= words; i++) {
		unsigned w = (a->at / WORD_SLOTS + i) % words;
		uint64_t free = ~slot_word_at(p, a, w).bits->used & all;

		if (i == 0)
			free &= UINT64_MAX << a->at % WORD_SLOTS;
		if (free != 0)
			return w * WORD_SLOTS + (unsigned)__builtin_ctzll(free);
	}
	return NO_SLOT;
}

static void slot_assign(struct pairing *p, struct addresses *a, uint32_t id)
{
	struct flow *f = flow_with_id(p, id);
	unsigned slot = free_slot(p, a);
	uint32_t seq = relaxed_get(&a->seq);
	struct word word;

	if (slot == NO_SLOT && grow(p, a))
		slot = free_slot(p, a);
	relaxed_set(&f->slot, (uint16_t)slot);
	if (slot == NO_SLOT) {
		a->n_slotless++;
		ctr_inc(&p->count.crowded);
		why(f, WHY_CROWDED);
		return;
	}
	word = slot_word_at(p, a, slot / WORD_SLOTS);
	word.bits->used |= 1ull << slot % WORD_SLOTS;
	word.bits->open |= 1ull << slot % WORD_SLOTS;
	word.ids[slot % WORD_SLOTS] = id;
	if (word.sent != NULL)
		word.sent[slot % WORD_SLOTS] = f->oldest;
	a->at = (uint16_t)((slot + 1) % a->n_slots);
	relaxed_set(&a->assigned[seq % ASSIGNED], (uint16_t)slot);
	relaxed_set(&a->seq, seq + 1);
}

static void slot_give_back(struct pairing *p, struct addresses *a, struct flow *f)
{
	unsigned slot = relaxed_get(&f->slot);
	struct slot_bits *bits;

	if (slot == NO_SLOT) {
		a->n_slotless--;
		return;
	}
	bits = slot_word_at(p, a, slot / WORD_SLOTS).bits;
	bits->used &= ~(1ull << slot % WORD_SLOTS);
	bits->open &= ~(1ull << slot % WORD_SLOTS);
	relaxed_set(&f->slot, NO_SLOT);
}

// Whether the flow may be paired by elimination.
static void slot_open(struct pairing *p, const struct flow *f, bool open)
{
	unsigned slot = relaxed_get(&f->slot);
	struct slot_bits *bits;

	if (slot >= DATAGRAM_SLOT)
		return;
	bits = slot_word_at(p, &p->address[relaxed_get(&f->addresses)], slot / WORD_SLOTS).bits;
	bits->open &= ~(1ull << slot % WORD_SLOTS);
	bits->open |= (uint64_t)open << slot % WORD_SLOTS;
}

// ---- addresses

uint32_t addresses_find(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);

	return table_find(&p->addresses, &key);
}

static uint32_t addresses_take(struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);
	uint32_t index = table_find(&p->addresses, &key);
	struct addresses *a;

	if (index != FLOW_NONE || (index = table_add(&p->addresses, &key)) == FLOW_NONE)
		return index;
	a = &p->address[index];
	relaxed_set(&a->first, FLOW_NONE);
	memset(&a->bits, 0, sizeof(*a) - offsetof(struct addresses, bits));
	a->n_slots = FEW_SLOTS;
	a->out_port = FLOW_NO_PORT;
	return index;
}

static void addresses_drop(struct pairing *p, struct addresses *a)
{
	if (a->n_flows != 0)
		return;
	if (a->n_slots != FEW_SLOTS) {
		for (unsigned w = 1; w < slot_words(a); w++)
			pool_give(&p->blocks, p->block[a->block].more[w - 1]);
		pool_give(&p->blocks, a->block);
	}
	a->n_slots = FEW_SLOTS;
	a->bits = (struct slot_bits){0};
	if (a->n_reverses == 0)
		table_free(&p->addresses, a);
}

// A flow begins, or ends, or another life of it begins: what was ruled out for it no longer holds.
static void addresses_join(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_with_id(p, id);
	uint32_t index = addresses_take(p, &f->key);
	struct addresses *a = &p->address[index];
	uint8_t kind = way_of_flow(f).kind;

	relaxed_set(&f->addresses, index);
	relaxed_set(&f->slot, NO_SLOT);
	if (index == FLOW_NONE) {
		addresses_stamp(p, &f->key)->n_untracked++;
		ctr_inc(&p->count.crowded);
		why(f, WHY_NO_ROOM);
		return;
	}
	a->n_flows++;
	if (kind == FLOW_DATAGRAM || kind == FLOW_UNRELIABLE) {
		a->n_datagrams++;
		relaxed_set(&f->slot, DATAGRAM_SLOT);
		why(f, WHY_DATAGRAM);
		return;
	}
	note_sport(&a->flows, relaxed_get(&f->udp_sport), flow_key_qp(&f->key));
	slot_assign(p, a, id);
}

static void addresses_leave(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_with_id(p, id);
	uint32_t index = relaxed_get(&f->addresses);
	struct addresses *a = &p->address[index];

	if (index == FLOW_NONE) {
		addresses_stamp(p, &f->key)->n_untracked--;
		return;
	}
	if (relaxed_get(&f->slot) == DATAGRAM_SLOT)
		a->n_datagrams--;
	else
		slot_give_back(p, a, f);
	a->n_flows--;
	addresses_drop(p, a);
	relaxed_set(&f->addresses, FLOW_NONE);
}

static void addresses_anew(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_with_id(p, id);
	struct addresses *a = &p->address[relaxed_get(&f->addresses)];

	if (relaxed_get(&f->addresses) == FLOW_NONE || relaxed_get(&f->slot) == DATAGRAM_SLOT)
		return;
	slot_give_back(p, a, f);
	slot_assign(p, a, id);
}

// ---- reverse queue pairs

static void out_clear(struct pairing *p, struct reverse *r)
{
	if (relaxed_get(&r->block) != FLOW_NONE)
		pool_give(&p->outs, relaxed_get(&r->block));
	relaxed_set(&r->block, FLOW_NONE);
	relaxed_set(&r->out, 0);
}

void reverse_renew(struct pairing *p, struct reverse *r)
{
	out_clear(p, r);
	relaxed_set(&r->seq, relaxed_get(&addresses_of(p, r)->seq));
	r->matches = r->cnps = r->behind = 0;
	r->has_last = false;
	r->cursor = 0;
}

uint32_t reverse_take(struct pairing *p, const struct flow_key *k, uint32_t addresses)
{
	uint32_t index = table_find(&p->reverses, k), next;
	struct addresses *a = &p->address[addresses];
	struct reverse *r;

	if (index != FLOW_NONE)
		return index;
	if (a->n_reverses < PAIR_MAX_BETWEEN)
		index = table_add(&p->reverses, k);
	if (index == FLOW_NONE) {
		ctr_inc(&p->count.crowded);
		return FLOW_NONE;
	}
	r = &p->reverse[index];
	next = relaxed_get(&a->first);
	relaxed_set(&r->addresses, addresses);
	relaxed_set(&r->block, FLOW_NONE);
	relaxed_set(&r->flow, FLOW_NONE);
	reverse_renew(p, r);
	r->seen_ns = p->now_ns;
	r->prev = FLOW_NONE;
	relaxed_set(&r->next, next);
	if (next != FLOW_NONE)
		p->reverse[next].prev = index;
	relaxed_set(&a->first, index);
	a->n_reverses++;
	return index;
}

static void reverse_drop(struct pairing *p, struct reverse *r)
{
	struct addresses *a = addresses_of(p, r);
	uint32_t next = relaxed_get(&r->next);

	out_clear(p, r);
	relaxed_set(r->prev != FLOW_NONE ? &p->reverse[r->prev].next : &a->first, next);
	if (next != FLOW_NONE)
		p->reverse[next].prev = r->prev;
	a->n_reverses--;
	addresses_drop(p, a);
	table_free(&p->reverses, r);
}

void reverse_sync(struct pairing *p, struct reverse *r)
{
	const struct addresses *a = addresses_of(p, r);
	uint32_t seq = relaxed_get(&a->seq), from = relaxed_get(&r->seq), n = seq - from;

	if (n == 0)
		return;
	if (n > ASSIGNED)
		out_clear(p, r);
	for (uint32_t i = from; n <= ASSIGNED && i != seq; i++) {
		unsigned slot = relaxed_get(&a->assigned[i % ASSIGNED]);
		_Atomic uint64_t *out = out_at(p, r, slot / WORD_SLOTS);

		if (out != NULL)
			relaxed_set(out, relaxed_get(out) & ~(1ull << slot % WORD_SLOTS));
	}
	// An answer that matched all flows left at that time need not match flows that came since.
	r->matches = r->cnps = 0;
	relaxed_set(&r->seq, seq);
}

void rule_out(struct pairing *p, struct reverse *r, unsigned slot)
{
	_Atomic uint64_t *out = out_at(p, r, slot / WORD_SLOTS);

	if (out == NULL) {
		uint32_t block = pool_take(&p->outs);

		if (block == FLOW_NONE)
			return;
		for (unsigned w = 1; w < SLOT_WORDS; w++)
			relaxed_set(&p->out[block].out[w - 1], 0);
		relaxed_set(&r->block, block);
		out = out_at(p, r, slot / WORD_SLOTS);
	}
	relaxed_set(out, relaxed_get(out) | 1ull << slot % WORD_SLOTS);
	ctr_inc(&p->count.eliminations);
}

// Control calls it: whether the bit of the slot is set, and the slot was not assigned since.
static bool is_ruled_out(const struct pairing *p, struct reverse *r, unsigned slot)
{
	const struct addresses *a = addresses_of(p, r);
	uint32_t seq = relaxed_get(&r->seq), n = relaxed_get(&a->seq) - seq;
	const _Atomic uint64_t *out = out_at(p, r, slot / WORD_SLOTS);

	if (n > ASSIGNED || out == NULL)
		return false;
	for (; n != 0; n--, seq++)
		if (relaxed_get(&a->assigned[seq % ASSIGNED]) == slot)
			return false;
	return relaxed_get(out) >> slot % WORD_SLOTS & 1;
}

uint32_t pairing_candidates(const struct pairing *p, uint32_t id)
{
	const struct flow *f = flow_with_id(p, id);
	uint32_t index = relaxed_get(&f->addresses), n = 0, at;
	unsigned slot = relaxed_get(&f->slot);

	if (index == FLOW_NONE || slot >= DATAGRAM_SLOT)
		return 0;
	at = relaxed_get(&p->address[index].first);
	for (unsigned i = 0; i < PAIR_MAX_BETWEEN && at != FLOW_NONE; i++) {
		struct reverse *r = &p->reverse[at];

		n += relaxed_get(&r->flow) == FLOW_NONE && !is_ruled_out(p, r, slot);
		at = relaxed_get(&r->next);
	}
	return n;
}

// ---- age

// What an entry of a table that ages begins with.
struct dated {
	struct flow_key key;
	uint64_t seen_ns;
};
static_assert(offsetof(struct reverse, seen_ns) == offsetof(struct dated, seen_ns), "dated");
static_assert(offsetof(struct known, seen_ns) == offsetof(struct dated, seen_ns), "dated");
static_assert(offsetof(struct handshake, seen_ns) == offsetof(struct dated, seen_ns), "dated");
static_assert(offsetof(struct pending_read, seen_ns) == offsetof(struct dated, seen_ns), "dated");

// Moves the cursor to the next entry, and returns the entry if it is in use and that old.
static void *next_old(const struct pairing *p, struct table *t, uint64_t age_ns)
{
	struct dated *e;

	if (t->pool.n_used == 0)
		return NULL;
	t->cursor = t->cursor + 1 < t->pool.n_used ? t->cursor + 1 : 0;
	e = entry_at(t, t->cursor);
	return e->key.w[4] != 0 && p->now_ns - e->seen_ns >= age_ns ? e : NULL;
}

void pairing_age(struct pairing *p)
{
	uint64_t flow_ns = relaxed_get(&p->flows->age_ns);
	uint64_t known_ns = PAIR_KNOWN_AGE_S * (uint64_t)SECOND_NS;
	struct reverse *r = next_old(p, &p->reverses, flow_ns);
	struct known *k = next_old(p, &p->knowns, known_ns);
	struct handshake *h = next_old(p, &p->handshakes, known_ns);
	struct pending_read *read = next_old(p, &p->pending_reads, flow_ns);

	if (r != NULL && relaxed_get(&r->flow) == FLOW_NONE)
		reverse_drop(p, r);
	if (k != NULL && k->source != PAIR_STATIC)
		table_free(&p->knowns, k);
	if (h != NULL)
		table_free(&p->handshakes, h);
	if (read == NULL)
		return;
	// A response may still come, for which no request is known then.
	addresses_stamp(p, &read->key)->reads_incomplete_until = p->now_ns + flow_ns;
	table_free(&p->pending_reads, read);
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

const char *pairing_reason(const struct pairing *p, uint32_t id)
{
	static const char *const text[] = {
#define X(id, words) [WHY_##id] = words,
		PAIR_REASONS(X)
#undef X
	};
	uint8_t reason = relaxed_get(&flow_with_id(p, id)->peer_hint) & HINT_REASON;
	uint8_t kind = way_of_flow(flow_with_id(p, id)).kind;

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
	count_unpaired(p, f, flow_needs_pair(way_of_flow(f).kind));
}

void pair_drop(struct pairing *p, uint32_t id, ctr_t *counter, enum pair_reason reason)
{
	struct flow *f = flow_with_id(p, id);

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
	uint8_t mine = pair_of(flow_with_id(p, id)).source, its = PAIR_NONE;
	uint32_t other = FLOW_NONE;

	if (reverse != FLOW_NONE)
		other = relaxed_get(&p->reverse[reverse].flow);
	if (other != FLOW_NONE)
		its = pair_of(flow_with_id(p, other)).source;
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
	struct flow *f = flow_with_id(p, id);
	const struct flow_key key = flow_key_with(f->key, qp, KEY_REVERSE);
	struct flow_pair pair = pair_of(f);
	uint32_t reverse = FLOW_NONE, addresses = relaxed_get(&f->addresses);

	if (way_of_flow(f).kind == FLOW_DATAGRAM)
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
	return way_of_flow(f).kind == FLOW_READ_RESPONSES ? &k->responses : &k->requests;
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
	struct flow *f = flow_with_id(p, id);
	struct known *k = known_of(p, f);
	uint32_t *start;

	if (k == NULL || !(p->params.sources >> k->source & 1))
		return;
	if (k->source == PAIR_STATIC) {
		pair_set(p, id, k->qp, PAIR_STATIC);
		return;
	}
	if (way_of_flow(f).out_port == FLOW_NO_PORT)
		return;
	start = start_of(k, f);
	if (!same_way(k, way_of_flow(f)) || !starts_at(*start, psn)) {
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
	pair = pair_of(flow_with_id(p, id));
	if (pair.source == PAIR_NONE || (qp != FLOW_NONE && pair.qp != qp) ||
	    (pair.source == PAIR_STATIC && reason != WHY_FORGOTTEN))
		return;
	pair_drop(p, id, counter, reason);
}

void pair_contradicted(struct pairing *p, uint32_t id, ctr_t *counter)
{
	const struct flow_key key = known_key(flow_with_id(p, id));
	struct flow_pair pair = pair_of(flow_with_id(p, id));

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
	if (f != NULL && way_of_flow(f).out_port != FLOW_NO_PORT)
		return same_way(k, way_of_flow(f));
	return is == NULL || (is->in_port == k->in_port && is->out_port == k->out_port);
}

bool known_set(struct pairing *p, const struct known *k)
{
	struct known *known = table_entry(&p->knowns, &k->key);
	uint32_t id = flow_of(p, &k->key);
	struct flow *f = id == FLOW_NONE ? NULL : flow_with_id(p, id);

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
	    (k->source == PAIR_CM && way_of_flow(f).out_port == FLOW_NO_PORT))
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
	struct flow *f = flow_with_id(p, id);

	p->now_ns = now_ns;
	relaxed_set(&f->peer_hint, 0);
	count_unpaired(p, f, flow_needs_pair(way_of_flow(f).kind));
	f->reverse = f->acked = FLOW_NONE;
	f->turn_ns = 0;
	addresses_join(p, id);
	if (flow_stamp(p, &f->key)->unanswered_until > now_ns)
		set_hint(f, HINT_UNANSWERED, true);
	known_apply(p, id, f->oldest);
}

void pairing_flow_way(struct pairing *p, uint32_t id, uint64_t now_ns)
{
	struct flow *f = flow_with_id(p, id);

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
	struct flow *f = flow_with_id(p, id);

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
	struct flow *f = flow_with_id(p, id);
	bool all_answered = f->acked != FLOW_NONE && f->acked == flow_highest(f);
	uint8_t kind = way_of_flow(f).kind, source = pair_of(f).source;

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
	struct flow *f = flow_with_id(p, id);

	count_unpaired(p, f,
		       flow_needs_pair(way_of_flow(f).kind) && pair_of(f).source == PAIR_NONE);
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
	struct flow *f = flow_with_id(p, id);
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
