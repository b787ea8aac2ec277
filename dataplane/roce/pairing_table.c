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

uint32_t pool_take(struct pool *pool)
{
	if (pool->n_free != 0)
		return pool->free[--pool->n_free];
	return pool->n_used < pool->n ? pool->n_used++ : FLOW_NONE;
}

void pool_give(struct pool *pool, uint32_t index)
{
	pool->free[pool->n_free++] = index;
}

uint32_t table_find(const struct pool *pool, const struct flow_key *k)
{
	return flow_map_find(&pool->map, k, flow_hash_of(&pool->map, k));
}

uint32_t table_add(struct pool *pool, const struct flow_key *k)
{
	uint32_t index = pool_take(pool);

	if (index == FLOW_NONE)
		return FLOW_NONE;
	if (flow_map_add(&pool->map, flow_hash_of(&pool->map, k), index))
		return index;
	pool_give(pool, index);
	return FLOW_NONE;
}

void table_remove(struct pool *pool, const struct flow_key *k, uint32_t index)
{
	flow_map_remove(&pool->map, flow_hash_of(&pool->map, k), index);
	pool_give(pool, index);
}

// ---- stamps

static uint32_t stamp_of(const struct pairing *p, const struct flow_key *k)
{
	return flow_hash_of(&p->addresses.map, k) >> 8 & p->stamp_mask;
}

uint32_t addresses_stamp(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, 0, KEY_ADDRESSES);

	return stamp_of(p, &key);
}

void blind(struct pairing *p, const struct flow_key *k)
{
	p->blind_until[addresses_stamp(p, k)] = p->now_ns + p->flows->age_ns;
}

bool is_blind(const struct pairing *p, const struct flow_key *k)
{
	uint32_t at = addresses_stamp(p, k);

	return p->blind_until[at] > p->now_ns || p->outside[at] != 0;
}

void reads_blind(struct pairing *p, const struct flow_key *k)
{
	p->reads_until[addresses_stamp(p, k)] = p->now_ns + p->flows->age_ns;
}

bool is_reads_blind(const struct pairing *p, const struct flow_key *k)
{
	return p->reads_until[addresses_stamp(p, k)] > p->now_ns;
}

// Of a flow, whose entry may be sealed.
static uint32_t past_stamp(const struct pairing *p, const struct flow_key *k)
{
	const struct flow_key key = flow_key_with(*k, flow_key_qp(k), KEY_FLOW);

	return stamp_of(p, &key);
}

void set_past(struct pairing *p, const struct flow_key *k)
{
	p->past_until[past_stamp(p, k)] = p->now_ns + PAST_AGES * p->flows->age_ns;
}

bool has_past(const struct pairing *p, const struct flow_key *k)
{
	return p->past_until[past_stamp(p, k)] > p->now_ns;
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
	reads_blind(p, &p->ask[i].key);
	ask_free(p, &p->ask[i]);
}

void pairing_age(struct pairing *p)
{
	age_reverse(p);
	age_known(p);
	age_talk(p);
	age_ask(p);
}
