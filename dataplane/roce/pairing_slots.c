// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/roce/pairing_impl.h"

// ---- slots of two addresses

unsigned slot_words(const struct addresses *a)
{
	return a->n_slots > SOME_SLOTS ? SLOT_WORDS : 1;
}

static uint64_t *open_at(const struct pairing *p, struct addresses *a, unsigned w)
{
	return a->n_slots > SOME_SLOTS ? &p->many[a->block].open[w] : &a->open;
}

static uint64_t *used_at(const struct pairing *p, struct addresses *a, unsigned w)
{
	return a->n_slots > SOME_SLOTS ? &p->many[a->block].used[w] : &a->used;
}

static uint32_t *ids_of(const struct pairing *p, struct addresses *a)
{
	if (a->n_slots > SOME_SLOTS)
		return p->many[a->block].ids;
	return a->n_slots > FEW_SLOTS ? p->some[a->block].ids : a->ids;
}

uint64_t open_word(const struct pairing *p, const struct addresses *a, unsigned w)
{
	return a->n_slots > SOME_SLOTS ? p->many[a->block].open[w] : a->open;
}

uint64_t used_word(const struct pairing *p, const struct addresses *a, unsigned w)
{
	return a->n_slots > SOME_SLOTS ? p->many[a->block].used[w] : a->used;
}

uint32_t slot_flow(const struct pairing *p, const struct addresses *a, unsigned slot)
{
	if (a->n_slots > SOME_SLOTS)
		return p->many[a->block].ids[slot];
	return a->n_slots > FEW_SLOTS ? p->some[a->block].ids[slot] : a->ids[slot];
}

uint32_t *slot_sent(const struct pairing *p, const struct addresses *a, unsigned slot)
{
	if (a->n_slots > SOME_SLOTS)
		return &p->many[a->block].sent[slot];
	return a->n_slots > FEW_SLOTS ? &p->some[a->block].sent[slot] : NULL;
}

static bool grow_some(struct pairing *p, struct addresses *a)
{
	uint32_t block = pool_take(&p->somes);

	if (block == FLOW_NONE)
		return false;
	memcpy(p->some[block].ids, a->ids, sizeof(a->ids));
	for (unsigned i = 0; i < FEW_SLOTS; i++)
		p->some[block].sent[i] = flow_at(p, a->ids[i])->oldest;
	a->block = block;
	a->n_slots = SOME_SLOTS;
	return true;
}

static bool grow_many(struct pairing *p, struct addresses *a)
{
	uint32_t block = pool_take(&p->manys);
	struct many_slots *m = &p->many[block];

	if (block == FLOW_NONE)
		return false;
	memset(m->used, 0, sizeof(m->used));
	memset(m->open, 0, sizeof(m->open));
	memcpy(m->ids, p->some[a->block].ids, sizeof(p->some[0].ids));
	memcpy(m->sent, p->some[a->block].sent, sizeof(p->some[0].sent));
	m->used[0] = a->used;
	m->open[0] = a->open;
	pool_give(&p->somes, a->block);
	a->block = block;
	a->n_slots = PAIR_MAX_BETWEEN;
	return true;
}

static void give_block(struct pairing *p, struct addresses *a)
{
	if (a->n_slots > SOME_SLOTS)
		pool_give(&p->manys, a->block);
	else if (a->n_slots > FEW_SLOTS)
		pool_give(&p->somes, a->block);
	a->n_slots = FEW_SLOTS;
	a->used = a->open = 0;
}

// A free slot, the one behind the last first: so that a slot is not given again at once.
static unsigned free_slot(const struct pairing *p, const struct addresses *a)
{
	unsigned words = slot_words(a), bits = a->n_slots < 64 ? a->n_slots : 64;
	uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;

	for (unsigned i = 0; i <= words; i++) {
		unsigned w = (a->at / 64 + i) % words;
		uint64_t free = ~used_word(p, a, w) & all;

		if (i == 0)
			free &= UINT64_MAX << a->at % 64;
		if (free != 0)
			return w * 64 + (unsigned)__builtin_ctzll(free);
	}
	return NO_SLOT;
}

static unsigned find_slot(struct pairing *p, struct addresses *a)
{
	unsigned slot = free_slot(p, a);

	if (slot != NO_SLOT || a->n_slots > SOME_SLOTS)
		return slot;
	if (a->n_slots > FEW_SLOTS ? grow_many(p, a) : grow_some(p, a))
		return free_slot(p, a);
	return NO_SLOT;
}

static void slot_give(struct pairing *p, struct addresses *a, uint32_t id)
{
	unsigned slot = find_slot(p, a);
	struct flow *f = flow_at(p, id);
	uint64_t bit = 1ull << slot % 64;

	__atomic_store_n(&f->slot, (uint16_t)slot, __ATOMIC_RELAXED);
	if (slot == NO_SLOT) {
		a->n_homeless++;
		ctr_inc(&p->count.crowded);
		why(f, WHY_CROWDED);
		return;
	}
	*used_at(p, a, slot / 64) |= bit;
	*open_at(p, a, slot / 64) |= bit;
	ids_of(p, a)[slot] = id;
	if (slot_sent(p, a, slot) != NULL)
		*slot_sent(p, a, slot) = f->oldest;
	a->at = (uint16_t)((slot + 1) % a->n_slots);
	__atomic_store_n(&a->gift[a->seq % GIFTS], (uint16_t)slot, __ATOMIC_RELAXED);
	put32(&a->seq, a->seq + 1);
}

static void slot_take_back(struct pairing *p, struct addresses *a, struct flow *f)
{
	uint64_t bit = 1ull << f->slot % 64;

	if (f->slot == NO_SLOT) {
		a->n_homeless--;
	} else {
		*used_at(p, a, f->slot / 64) &= ~bit;
		*open_at(p, a, f->slot / 64) &= ~bit;
	}
	__atomic_store_n(&f->slot, NO_SLOT, __ATOMIC_RELAXED);
}

void slot_open(struct pairing *p, const struct flow *f, bool open)
{
	struct addresses *a = &p->address[f->addresses];
	uint64_t bit = 1ull << f->slot % 64;

	if (f->slot >= DATAGRAM_SLOT)
		return;
	*open_at(p, a, f->slot / 64) &= ~bit;
	if (open)
		*open_at(p, a, f->slot / 64) |= bit;
}

// ---- addresses

uint32_t addresses_find(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);

	return table_find(&p->addresses, &key);
}

static uint32_t addresses_take(struct pairing *p, const struct flow_key *k)
{
	uint32_t index = addresses_find(p, k);
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);

	if (index != FLOW_NONE)
		return index;
	index = table_add(&p->addresses, &key);
	if (index == FLOW_NONE)
		return FLOW_NONE;
	p->address[index].key = key;
	p->address[index].used = p->address[index].open = 0;
	p->address[index].n_slots = FEW_SLOTS;
	p->address[index].at = 0;
	p->address[index].n_flows = p->address[index].n_homeless = 0;
	p->address[index].n_datagrams = p->address[index].n_reverses = 0;
	p->address[index].out_port = FLOW_NO_PORT;
	p->address[index].sport = p->address[index].shared_sport = 0;
	p->address[index].flow_sport = p->address[index].shared_flow_sport = 0;
	put32(&p->address[index].first, FLOW_NONE);
	return index;
}

static void addresses_drop(struct pairing *p, uint32_t index)
{
	struct addresses *a = &p->address[index];

	if (a->n_flows != 0)
		return;
	give_block(p, a);
	if (a->n_reverses == 0)
		table_remove(&p->addresses, &a->key, index);
}

// As note_sport of answers.
static void note_flow_sport(struct addresses *a, const struct flow *f)
{
	uint32_t qp = flow_key_qp(&f->key);

	if (a->flow_sport == f->udp_sport && a->flow_sport_qp != qp)
		a->shared_flow_sport = f->udp_sport;
	a->flow_sport = f->udp_sport;
	a->flow_sport_qp = qp;
}

void addresses_join(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	uint32_t index = addresses_take(p, &f->key);

	put32(&f->addresses, index);
	__atomic_store_n(&f->slot, NO_SLOT, __ATOMIC_RELAXED);
	if (index == FLOW_NONE) {
		p->outside[addresses_stamp(p, &f->key)]++;
		ctr_inc(&p->count.crowded);
		why(f, WHY_NO_ROOM);
		return;
	}
	p->address[index].n_flows++;
	if (way_of(f).kind == FLOW_DATAGRAM || way_of(f).kind == FLOW_UNRELIABLE) {
		p->address[index].n_datagrams++;
		__atomic_store_n(&f->slot, DATAGRAM_SLOT, __ATOMIC_RELAXED);
		why(f, WHY_DATAGRAM);
		return;
	}
	note_flow_sport(&p->address[index], f);
	slot_give(p, &p->address[index], id);
}

void addresses_leave(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	struct addresses *a;

	if (f->addresses == FLOW_NONE) {
		p->outside[addresses_stamp(p, &f->key)]--;
		return;
	}
	a = &p->address[f->addresses];
	if (f->slot == DATAGRAM_SLOT)
		a->n_datagrams--;
	else
		slot_take_back(p, a, f);
	a->n_flows--;
	addresses_drop(p, f->addresses);
	put32(&f->addresses, FLOW_NONE);
}

void addresses_anew(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);

	if (f->addresses == FLOW_NONE || f->slot == DATAGRAM_SLOT)
		return;
	slot_take_back(p, &p->address[f->addresses], f);
	slot_give(p, &p->address[f->addresses], id);
}

// ---- reverse queue pairs

uint32_t reverse_find(const struct pairing *p, const struct flow_key *k)
{
	return table_find(&p->reverses, k);
}

static void block_give(struct pairing *p, struct reverse *r)
{
	if (r->block != FLOW_NONE)
		pool_give(&p->blocks, r->block);
	put32(&r->block, FLOW_NONE);
}

void reverse_renew(struct pairing *p, struct reverse *r)
{
	block_give(p, r);
	put64(&r->out, 0);
	put32(&r->seq, p->address[r->addresses].seq);
	r->matches = r->cnps = r->behind = 0;
	r->has_last = false;
	r->cursor = 0;
}

static void link_reverse(struct pairing *p, uint32_t index, struct addresses *a)
{
	struct reverse *r = &p->reverse[index];

	r->prev = FLOW_NONE;
	put32(&r->next, a->first);
	if (a->first != FLOW_NONE)
		p->reverse[a->first].prev = index;
	put32(&a->first, index);
	a->n_reverses++;
}

uint32_t reverse_take(struct pairing *p, const struct flow_key *k, uint32_t addresses)
{
	uint32_t index = reverse_find(p, k);
	struct addresses *a = &p->address[addresses];

	if (index != FLOW_NONE)
		return index;
	if (a->n_reverses < PAIR_MAX_BETWEEN)
		index = table_add(&p->reverses, k);
	if (index == FLOW_NONE) {
		ctr_inc(&p->count.crowded);
		return FLOW_NONE;
	}
	p->reverse[index].key = *k;
	put32(&p->reverse[index].addresses, addresses);
	put32(&p->reverse[index].block, FLOW_NONE);
	put32(&p->reverse[index].flow, FLOW_NONE);
	reverse_renew(p, &p->reverse[index]);
	p->reverse[index].seen_ns = p->now_ns;
	p->reverse[index].live = true;
	link_reverse(p, index, a);
	return index;
}

void reverse_drop(struct pairing *p, uint32_t index)
{
	struct reverse *r = &p->reverse[index];
	struct addresses *a = &p->address[r->addresses];

	block_give(p, r);
	if (r->prev != FLOW_NONE)
		put32(&p->reverse[r->prev].next, r->next);
	else
		put32(&a->first, r->next);
	if (r->next != FLOW_NONE)
		p->reverse[r->next].prev = r->prev;
	a->n_reverses--;
	addresses_drop(p, r->addresses);
	r->live = false;
	table_remove(&p->reverses, &r->key, index);
}

static uint64_t *out_at(const struct pairing *p, struct reverse *r, unsigned w)
{
	if (r->block != FLOW_NONE)
		return &p->block[r->block].out[w];
	return w == 0 ? &r->out : NULL;
}

uint64_t out_word(const struct pairing *p, const struct reverse *r, unsigned w)
{
	uint32_t block = look32(&r->block);

	if (block != FLOW_NONE)
		return look64(&p->block[block].out[w]);
	return w == 0 ? look64(&r->out) : 0;
}

bool is_ruled_out(const struct pairing *p, const struct reverse *r, unsigned slot)
{
	const struct addresses *a = &p->address[look32(&r->addresses)];
	uint32_t seq = look32(&r->seq), n = look32(&a->seq) - seq;

	if (n > GIFTS || slot >= DATAGRAM_SLOT)
		return false;
	for (; n != 0; n--, seq++)
		if (__atomic_load_n(&a->gift[seq % GIFTS], __ATOMIC_RELAXED) == slot)
			return false;
	return out_word(p, r, slot / 64) >> slot % 64 & 1;
}

static void forget_slot(struct pairing *p, struct reverse *r, unsigned slot)
{
	uint64_t *out = out_at(p, r, slot / 64);

	if (out != NULL)
		put64(out, *out & ~(1ull << slot % 64));
}

void reverse_sync(struct pairing *p, struct reverse *r)
{
	const struct addresses *a = &p->address[r->addresses];
	uint32_t n = a->seq - r->seq;

	if (n == 0)
		return;
	if (n > GIFTS) {
		block_give(p, r);
		put64(&r->out, 0);
	}
	for (uint32_t i = r->seq; n <= GIFTS && i != a->seq; i++)
		forget_slot(p, r, a->gift[i % GIFTS]);
	// What matched all flows that were left then need not match those that came since.
	r->matches = r->cnps = 0;
	put32(&r->seq, a->seq);
}

void rule_out(struct pairing *p, struct reverse *r, unsigned slot)
{
	uint64_t *out = out_at(p, r, slot / 64);

	if (out == NULL) {
		uint32_t block = pool_take(&p->blocks);

		if (block == FLOW_NONE)
			return;
		for (unsigned w = 0; w < SLOT_WORDS; w++)
			put64(&p->block[block].out[w], w == 0 ? r->out : 0);
		put32(&r->block, block);
		out = out_at(p, r, slot / 64);
	}
	put64(out, *out | 1ull << slot % 64);
	ctr_inc(&p->count.eliminations);
}
