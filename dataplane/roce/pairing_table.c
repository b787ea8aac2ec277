// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/roce/pairing_impl.h"
#include "dataplane/units.h"

enum { STAMPS_MIN = 256 };

// ---- memory

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

// Takes the next part of the memory; base NULL: only adds up.
static void *part(uint8_t *base, size_t *at, size_t bytes)
{
	void *here = base == NULL ? NULL : base + *at;

	*at += (bytes + 63) / 64 * 64;
	return here;
}

// Returns the elements.
static void *pool_part(struct pool *pool, uint8_t *base, size_t *at, uint32_t n, uint32_t stride)
{
	pool->n = n;
	pool->free = part(base, at, n * sizeof(pool->free[0]));
	return part(base, at, (size_t)n * stride);
}

static void *table_part(struct table *t, uint8_t *base, size_t *at, uint32_t n, uint32_t stride,
			uint32_t seed)
{
	void *buckets;

	t->entries = pool_part(&t->pool, base, at, n, stride);
	t->map.seed = seed;
	buckets = part(base, at, flow_map_bytes(n));
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
	part(mem, &at, sizeof(*p));
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
	p->stamps = part(mem, &at, n_stamps * sizeof(p->stamps[0]));
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

struct stamp *flow_stamp(const struct pairing *p, const struct flow_key *k)
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
		b->sent[i] = flow_at(p, a->ids[i])->oldest;
	a->block = block;
	a->n_slots = WORD_SLOTS;
	return true;
}

static void give_blocks(struct pairing *p, struct addresses *a)
{
	if (a->n_slots != FEW_SLOTS) {
		for (unsigned w = 1; w < slot_words(a); w++)
			pool_give(&p->blocks, p->block[a->block].more[w - 1]);
		pool_give(&p->blocks, a->block);
	}
	a->n_slots = FEW_SLOTS;
	a->bits = (struct slot_bits){0};
}

// A free slot, or NO_SLOT. The search begins behind the slot assigned last, so that no slot is
// assigned again at once.
static unsigned free_slot(const struct pairing *p, struct addresses *a)
{
	unsigned words = slot_words(a);
	uint64_t all = a->n_slots < WORD_SLOTS ? (1ull << a->n_slots) - 1 : UINT64_MAX;

	for (unsigned i = 0; i <= words; i++) {
		unsigned w = (a->at / WORD_SLOTS + i) % words;
		uint64_t free = ~word_at(p, a, w).bits->used & all;

		if (i == 0)
			free &= UINT64_MAX << a->at % WORD_SLOTS;
		if (free != 0)
			return w * WORD_SLOTS + (unsigned)__builtin_ctzll(free);
	}
	return NO_SLOT;
}

static void slot_assign(struct pairing *p, struct addresses *a, uint32_t id)
{
	struct flow *f = flow_at(p, id);
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
	word = word_at(p, a, slot / WORD_SLOTS);
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
	bits = word_at(p, a, slot / WORD_SLOTS).bits;
	bits->used &= ~(1ull << slot % WORD_SLOTS);
	bits->open &= ~(1ull << slot % WORD_SLOTS);
	relaxed_set(&f->slot, NO_SLOT);
}

void slot_open(struct pairing *p, const struct flow *f, bool open)
{
	unsigned slot = relaxed_get(&f->slot);
	struct slot_bits *bits;

	if (slot >= DATAGRAM_SLOT)
		return;
	bits = word_at(p, &p->address[relaxed_get(&f->addresses)], slot / WORD_SLOTS).bits;
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

	if (index != FLOW_NONE)
		return index;
	index = table_add(&p->addresses, &key);
	if (index == FLOW_NONE)
		return FLOW_NONE;
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
	give_blocks(p, a);
	if (a->n_reverses == 0)
		table_free(&p->addresses, a);
}

void addresses_join(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	uint32_t index = addresses_take(p, &f->key);
	struct addresses *a = &p->address[index];
	uint8_t kind = way_of(f).kind;

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

void addresses_leave(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
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

void addresses_anew(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
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
	const struct flow *f = flow_at(p, id);
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
