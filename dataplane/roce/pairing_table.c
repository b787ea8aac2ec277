// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/roce/pairing_impl.h"

// ---- memory

struct sizes {
	uint32_t addresses, reverses, knowns, talks, asks, some, many, blocks, stamps;
};

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

static struct sizes sizes_for(uint32_t n)
{
	uint32_t stamps = STAMPS_MIN;

	while (stamps < n / 4)
		stamps *= 2;
	return (struct sizes){
		.addresses = at_most(n, n / 4 + 1024),
		.reverses = n,
		.knowns = at_most(2 * n, n / 2 + 1024),
		.talks = at_most(n, n / 16 + 256),
		.asks = at_most(2 * n, n / 4 + 2048),
		.some = at_most(n / FEW_SLOTS + 1, n / 64 + 64),
		.many = at_most(n / SOME_SLOTS + 1, n / 1024 + 16),
		.blocks = at_most(n, n / 8 + 1024),
		.stamps = stamps,
	};
}

// Takes the next part of the memory; base NULL: only adds up.
static void *part(uint8_t *base, size_t *at, size_t bytes)
{
	void *here = base == NULL ? NULL : base + *at;

	*at += (bytes + 63) / 64 * 64;
	return here;
}

static void pool_part(struct pool *pool, uint8_t *base, size_t *at, uint32_t n)
{
	pool->n = n;
	pool->free = part(base, at, n * sizeof(pool->free[0]));
}

// Elements and their map. Returns the elements.
static void *table_part(struct pool *pool, uint8_t *base, size_t *at, uint32_t n, uint32_t stride)
{
	void *elements, *buckets;

	pool_part(pool, base, at, n);
	elements = part(base, at, (size_t)n * stride);
	buckets = part(base, at, flow_map_bytes(n));
	if (base != NULL)
		flow_map_init(&pool->map, buckets, n, elements, stride);
	return elements;
}

size_t pairing_tables(struct pairing *p, void *mem, uint32_t n_flows, uint32_t seed)
{
	const struct sizes n = sizes_for(n_flows);
	size_t at = 0, stamps = n.stamps * sizeof(p->blind_until[0]);

	p->addresses.map.seed = p->reverses.map.seed = p->knowns.map.seed = p->talks.map.seed =
		p->asks.map.seed = seed;
	part(mem, &at, sizeof(*p));
	p->address = table_part(&p->addresses, mem, &at, n.addresses, sizeof(p->address[0]));
	p->reverse = table_part(&p->reverses, mem, &at, n.reverses, sizeof(p->reverse[0]));
	p->known = table_part(&p->knowns, mem, &at, n.knowns, sizeof(p->known[0]));
	p->talk = table_part(&p->talks, mem, &at, n.talks, sizeof(p->talk[0]));
	p->ask = table_part(&p->asks, mem, &at, n.asks, sizeof(p->ask[0]));
	pool_part(&p->somes, mem, &at, n.some);
	p->some = part(mem, &at, n.some * sizeof(p->some[0]));
	pool_part(&p->manys, mem, &at, n.many);
	p->many = part(mem, &at, n.many * sizeof(p->many[0]));
	pool_part(&p->blocks, mem, &at, n.blocks);
	p->block = part(mem, &at, n.blocks * sizeof(p->block[0]));
	p->blind_until = part(mem, &at, stamps);
	p->reads_until = part(mem, &at, stamps);
	p->past_until = part(mem, &at, stamps);
	p->outside = part(mem, &at, stamps);
	p->stamp_mask = n.stamps - 1;
	return at;
}

// ---- pools

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

static uint32_t table_find(const struct pool *pool, const struct flow_key *k)
{
	return flow_map_find(&pool->map, k, flow_hash_of(&pool->map, k));
}

static uint32_t table_add(struct pool *pool, const struct flow_key *k)
{
	uint32_t index = pool_take(pool);

	if (index == FLOW_NONE)
		return FLOW_NONE;
	if (flow_map_add(&pool->map, flow_hash_of(&pool->map, k), index))
		return index;
	pool_give(pool, index);
	return FLOW_NONE;
}

static void table_remove(struct pool *pool, const struct flow_key *k, uint32_t index)
{
	flow_map_remove(&pool->map, flow_hash_of(&pool->map, k), index);
	pool_give(pool, index);
}

// ---- stamps

// By addresses alone, except where the queue pair is what matters.
static uint32_t stamp_of(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);

	return flow_hash_of(&p->addresses.map, &key) >> 8 & p->stamp_mask;
}

void stamp(struct pairing *p, uint64_t *stamps, const struct flow_key *k, uint64_t for_ns)
{
	stamps[stamp_of(p, k)] = p->now_ns + for_ns;
}

bool is_blind(const struct pairing *p, const struct addresses *a)
{
	uint32_t at = stamp_of(p, &a->key);

	return p->blind_until[at] > p->now_ns || p->outside[at] != 0;
}

bool is_stamped(const struct pairing *p, const uint64_t *stamps, const struct flow_key *k)
{
	return stamps[stamp_of(p, k)] > p->now_ns;
}

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

static bool grow_some(struct pairing *p, struct addresses *a)
{
	uint32_t block = pool_take(&p->somes);

	if (block == FLOW_NONE)
		return false;
	memcpy(p->some[block].ids, a->ids, sizeof(a->ids));
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

void addresses_join(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	uint32_t index = addresses_take(p, &f->key);

	put32(&f->addresses, index);
	__atomic_store_n(&f->slot, NO_SLOT, __ATOMIC_RELAXED);
	if (index == FLOW_NONE) {
		p->outside[stamp_of(p, &f->key)]++;
		ctr_inc(&p->count.crowded);
		why(f, WHY_NO_ROOM);
		return;
	}
	p->address[index].n_flows++;
	if (way_of(f).kind == FLOW_DATAGRAM) {
		p->address[index].n_datagrams++;
		__atomic_store_n(&f->slot, DATAGRAM_SLOT, __ATOMIC_RELAXED);
		why(f, WHY_DATAGRAM);
		return;
	}
	slot_give(p, &p->address[index], id);
}

void addresses_leave(struct pairing *p, uint32_t id)
{
	struct flow *f = flow_at(p, id);
	struct addresses *a;

	if (f->addresses == FLOW_NONE) {
		p->outside[stamp_of(p, &f->key)]--;
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
	r->matches = r->cnps = r->behind = r->asked_matches = 0;
	r->has_last = r->has_asked = false;
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

static void reverse_drop(struct pairing *p, uint32_t index)
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
	r->matches = r->cnps = r->asked_matches = 0;
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

// ---- what was told, being told, and asked for

uint32_t known_find(const struct pairing *p, const struct flow_key *k)
{
	return table_find(&p->knowns, k);
}

uint32_t known_take(struct pairing *p, const struct flow_key *k)
{
	uint32_t index = known_find(p, k);

	if (index != FLOW_NONE)
		return index;
	index = table_add(&p->knowns, k);
	if (index != FLOW_NONE)
		p->known[index] = (struct known){.key = *k, .live = true};
	return index;
}

void known_free(struct pairing *p, uint32_t index)
{
	p->known[index].live = false;
	table_remove(&p->knowns, &p->known[index].key, index);
}

struct talk *talk_find(struct pairing *p, const struct flow_key *k)
{
	uint32_t index = table_find(&p->talks, k);

	return index == FLOW_NONE ? NULL : &p->talk[index];
}

struct talk *talk_take(struct pairing *p, const struct flow_key *k)
{
	struct talk *t = talk_find(p, k);
	uint32_t index;

	if (t != NULL)
		return t;
	index = table_add(&p->talks, k);
	if (index == FLOW_NONE)
		return NULL;
	p->talk[index] = (struct talk){.key = *k, .live = true};
	return &p->talk[index];
}

struct ask *ask_find(struct pairing *p, const struct flow_key *k)
{
	uint32_t index = table_find(&p->asks, k);

	return index == FLOW_NONE ? NULL : &p->ask[index];
}

struct ask *ask_take(struct pairing *p, const struct flow_key *k)
{
	struct ask *ask = ask_find(p, k);
	uint32_t index;

	if (ask != NULL)
		return ask;
	index = table_add(&p->asks, k);
	if (index == FLOW_NONE)
		return NULL;
	p->ask[index] = (struct ask){.key = *k, .live = true};
	return &p->ask[index];
}

void ask_free(struct pairing *p, struct ask *ask)
{
	ask->live = false;
	table_remove(&p->asks, &ask->key, (uint32_t)(ask - p->ask));
}

// ---- age

static bool older(const struct pairing *p, uint64_t seen_ns, uint64_t age_ns)
{
	return p->now_ns - seen_ns >= age_ns;
}

// The element under the cursor, which moves on.
static uint32_t next_of(struct pool *pool)
{
	if (pool->n_used == 0)
		return FLOW_NONE;
	pool->cursor = pool->cursor + 1 < pool->n_used ? pool->cursor + 1 : 0;
	return pool->cursor;
}

static void age_reverse(struct pairing *p)
{
	uint32_t i = next_of(&p->reverses);

	if (i != FLOW_NONE && p->reverse[i].live && p->reverse[i].flow == FLOW_NONE &&
	    older(p, p->reverse[i].seen_ns, p->flows->age_ns))
		reverse_drop(p, i);
}

static void age_known(struct pairing *p)
{
	uint32_t i = next_of(&p->knowns);

	if (i != FLOW_NONE && p->known[i].live && p->known[i].source != PAIR_STATIC &&
	    older(p, p->known[i].seen_ns, PAIR_KNOWN_AGE_S * 1000000000ull))
		known_free(p, i);
}

static void age_talk(struct pairing *p)
{
	uint32_t i = next_of(&p->talks);

	if (i == FLOW_NONE || !p->talk[i].live ||
	    !older(p, p->talk[i].seen_ns, PAIR_KNOWN_AGE_S * 1000000000ull))
		return;
	p->talk[i].live = false;
	table_remove(&p->talks, &p->talk[i].key, i);
}

// A request that nobody answered may still be.
static void age_ask(struct pairing *p)
{
	uint32_t i = next_of(&p->asks);

	if (i == FLOW_NONE || !p->ask[i].live ||
	    !older(p, p->ask[i].seen_ns, p->flows->age_ns))
		return;
	stamp(p, p->reads_until, &p->ask[i].key, p->flows->age_ns);
	ask_free(p, &p->ask[i]);
}

void pairing_age(struct pairing *p)
{
	age_reverse(p);
	age_known(p);
	age_talk(p);
	age_ask(p);
}
