// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/zone.h"

#include <assert.h>
#include <string.h>

// The places begin at a cache line, as the memory of the table does.
enum { WORD_BITS = 64, SLOTS_A_STATION = 4, HEAD_BYTES = 128 };
// As few displaced addresses as one in FEW are good enough.
enum { SEEDS = 4, FEW = 64 };
// The first word of a row.
enum { ROLES = ZONE_TARGET | ZONE_INITIATOR, AT_SHIFT = 8 };

static_assert(sizeof(struct zone_table) <= HEAD_BYTES, "the head is before the places");
static_assert(sizeof(struct zone_entry) == 8 && sizeof(struct zone_slot) == 32, "see mask");

// ---- making a table

static uint32_t slots_for(uint32_t n)
{
	uint32_t slots = SLOTS_A_STATION;

	while (slots < SLOTS_A_STATION * n)
		slots *= 2;
	return slots;
}

// The least number that is above those of all zones.
static uint32_t zones_end(const struct zone_station *s, uint32_t n)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s[i].n_zones; k++)
			if (s[i].zones[k] >= end)
				end = s[i].zones[k] + 1u;
	return end;
}

// A word of roles and the words of the zones.
static uint32_t row_words(uint32_t end)
{
	return 1 + (end + WORD_BITS - 1) / WORD_BITS;
}

size_t zone_table_bytes(const struct zone_station *s, uint32_t n)
{
	uint32_t end = zones_end(s, n);

	if (end > ZONES_MAX)
		return 0;
	return HEAD_BYTES +
	       slots_for(n) * (zone_step(true) + zone_step(false) + sizeof(uint32_t)) +
	       2 * (size_t)n * row_words(end) * sizeof(uint64_t);
}

static uint32_t own_bits(uint32_t end)
{
	uint32_t shared = end <= ZONE_SUM_BITS ? 0 : end - ZONE_SUM_BITS;

	if (shared >= ZONE_SUM_BITS)
		return 0;
	return ((1u << ZONE_SUM_BITS) - 1) & ~((1u << shared) - 1);
}

static uint32_t role_bit(uint64_t roles)
{
	return roles == ZONE_INITIATOR || roles == ZONE_TARGET ? (uint32_t)roles << ZONE_SUM_BITS
								: 0;
}

static void set_key(struct zone_entry *e, bool v4, struct ip_key key)
{
	if (v4)
		e->v4 = (uint32_t)key.lo;
	else
		((struct zone_slot *)e)->key = key;
}

static size_t slot_of_entry(const struct zone_index *x, const struct zone_entry *e)
{
	return (size_t)(e - (const struct zone_entry *)x->slots);
}

static uint64_t *row_of_entry(const struct zone_table *t, const struct zone_entry *e, bool v4)
{
	uint32_t no = v4 ? t->v4_row[slot_of_entry(&t->v4, e)] : e->row;

	return &t->rows[(size_t)no * t->row_words];
}

static struct zone_entry *entry_of(struct zone_table *t, bool v4, struct ip_key key)
{
	struct zone_index *x = v4 ? &t->v4 : &t->others;
	struct zone_entry *e = zone_home(x, key, v4);

	while (!zone_is_free(e, v4) && !ip_key_same(zone_key(e, v4), key))
		e = zone_next(x, e, v4);
	if (!zone_is_free(e, v4))
		return e;
	set_key(e, v4, key);
	if (v4)
		t->v4_row[slot_of_entry(x, e)] = t->n_rows++;
	else
		e->row = t->n_rows++;
	return e;
}

static void add_zone_entry(struct zone_table *t, bool v4, struct ip_key key,
			   const struct zone_station *s)
{
	struct zone_entry *e = entry_of(t, v4, key);
	uint64_t *row = row_of_entry(t, e, v4);

	row[0] = (row[0] & ROLES) | s->roles | (uint64_t)s->at << AT_SHIFT;
	e->sum &= (1u << ZONE_SUM_BITS) - 1;
	e->sum |= role_bit(row[0] & ROLES);
	for (uint32_t i = 0; i < s->n_zones; i++) {
		row[1 + s->zones[i] / WORD_BITS] |= 1ull << s->zones[i] % WORD_BITS;
		e->sum |= 1u << s->zones[i] % ZONE_SUM_BITS;
	}
}

static void add_station(struct zone_table *t, const struct zone_station *s)
{
	static const uint8_t none[6];

	if (memcmp(s->mac, none, sizeof(none)) != 0)
		add_zone_entry(t, false, zone_key_mac(s->mac), s);
	if (s->addr.family == FAMILY_V4)
		add_zone_entry(t, true, zone_key_v4(s->addr.ip), s);
	else if (s->addr.family == FAMILY_V6)
		add_zone_entry(t, false, ip_key_v6(s->addr.ip), s);
}

static void index_init(struct zone_index *x, void *slots, bool v4, uint32_t n, uint64_t seed)
{
	struct zone_entry *e = slots;

	*x = (struct zone_index){.slots = slots,
				 .by_hi = flow_seed(seed) | 1,
				 .by_lo = flow_seed(seed + 1) | 1,
				 .mask = (n - 1) * zone_step(v4)};
	for (uint32_t i = 0; i < n; i++, e = zone_next(x, e, v4))
		set_key(e, v4, zone_key_free);
}

// How many IPv4 addresses are not at the place where the search for them begins.
static uint32_t displaced(struct zone_table *t, const struct zone_station *s, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		if (s[i].addr.family == FAMILY_V4) {
			struct ip_key key = zone_key_v4(s[i].addr.ip);

			found += entry_of(t, true, key) != zone_home(&t->v4, key, true);
		}
	t->n_rows = 0;
	return found;
}

// Addresses of hosts mostly follow each other. One number spreads them without any collision,
// another one is unlucky. A worker pays for a displaced address with a mispredicted branch.
static uint64_t best_seed(struct zone_table *t, const struct zone_station *s, uint32_t n,
			  uint32_t slots, uint64_t seed)
{
	uint64_t best = seed;
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < SEEDS && least > n / FEW; i++, seed += 2) {
		uint32_t found;

		index_init(&t->v4, t->v4.slots, true, slots, seed);
		found = displaced(t, s, n);
		if (found < least) {
			least = found;
			best = seed;
		}
	}
	return best;
}

void zone_table_fill(struct zone_table *t, const struct zone_station *s, uint32_t n, uint64_t seed)
{
	uint32_t slots = slots_for(n), end = zones_end(s, n);
	uint8_t *v4 = (uint8_t *)t + HEAD_BYTES, *others = v4 + slots * zone_step(true);

	t->v4.slots = v4;
	t->rows = (void *)(others + slots * zone_step(false));
	t->v4_row = (void *)(t->rows + 2 * (size_t)n * row_words(end));
	index_init(&t->v4, v4, true, slots, best_seed(t, s, n, slots, seed));
	index_init(&t->others, others, false, slots, seed);
	t->row_words = row_words(end);
	t->own_bits = own_bits(end);
	for (uint32_t i = 0; i < n; i++)
		add_station(t, &s[i]);
}

const struct zone_entry *zone_search(const struct zone_index *x, const struct zone_entry *e,
				     struct ip_key key, bool v4)
{
	while (!ip_key_same(zone_key(e, v4), key) && !zone_is_free(e, v4))
		e = zone_next(x, e, v4);
	return e;
}

static const uint64_t *set_of(const struct zone_table *t, const struct zone_entry *e)
{
	const uint8_t *first = t->v4.slots, *at = (const uint8_t *)e;
	bool v4 = at >= first && at <= first + t->v4.mask;

	return row_of_entry(t, e, v4);
}

bool zone_share(const struct zone_table *t, const struct zone_entry *a, const struct zone_entry *b)
{
	const uint64_t *of_a = set_of(t, a), *of_b = set_of(t, b);

	for (uint32_t i = 1; i < t->row_words; i++)
		if ((of_a[i] & of_b[i]) != 0)
			return true;
	return false;
}

bool zone_parts_stations(const struct zone_table *t, const uint8_t *frame, bool v4,
			 const struct zone_entry *from, const struct zone_entry *to)
{
	bool free_from = zone_is_free(from, v4), free_to = zone_is_free(to, v4);

	if (free_from) {
		from = zone_find(&t->others, zone_key_mac(frame + ETH_ALEN_), false);
		free_from = zone_is_free(from, false);
	}
	if (free_to) {
		to = zone_find(&t->others, zone_key_mac(frame), false);
		free_to = zone_is_free(to, false);
	}
	return !free_from && !free_to && zone_parts(t, from, to);
}

// The station of an entry, if the port is the one where it registered. NULL: there is none.
static const struct zone_entry *station_at(const struct zone_table *t, const struct zone_entry *e,
					   bool v4, port_no_t port, port_no_t *stray)
{
	uint64_t at;

	if (zone_is_free(e, v4))
		return NULL;
	at = row_of_entry(t, e, v4)[0] >> AT_SHIFT;
	if (at == 0 || at == port + 1u)
		return e;
	*stray = (port_no_t)at;
	return NULL;
}

// By the IP address at l3, where the frame has one, or by the MAC address.
static const struct zone_entry *find_station(const struct zone_table *t, const uint8_t *mac,
					     uint8_t kind, const uint8_t *l3, port_no_t port,
					     port_no_t *stray)
{
	const struct zone_entry *e = NULL;

	if (kind == PKT_IPV4)
		e = station_at(t, zone_find(&t->v4, zone_key_v4(l3), true), true, port, stray);
	else if (kind == PKT_IPV6)
		e = station_at(t, zone_find(&t->others, ip_key_v6(l3), false), false, port, stray);
	if (e == NULL)
		e = station_at(t, zone_find(&t->others, zone_key_mac(mac), false), false, port,
			       stray);
	return e;
}

bool zone_forbids_on(const struct zone_table *t, const uint8_t *frame, uint8_t kind, uint8_t l3_off,
		     struct zone_way way, struct zone_stray *stray)
{
	const uint8_t *src = frame + l3_off + (kind == PKT_IPV4 ? 12 : 8);
	const uint8_t *dst = src + (kind == PKT_IPV4 ? 4 : 16);
	const struct zone_entry *from, *to;
	port_no_t ignored;

	*stray = (struct zone_stray){0};
	from = find_station(t, frame + ETH_ALEN_, kind, src, way.in, &stray->at);
	stray->is_source = stray->at != 0;
	to = find_station(t, frame, kind, dst, way.out, stray->is_source ? &ignored : &stray->at);
	return from != NULL && to != NULL && zone_parts(t, from, to);
}

bool zone_is_exempt(const uint8_t *frame, uint32_t len, const struct pkt_info *pkt)
{
	return pkt->group_dst || pkt->ether_type == ETYPE_ARP || pkt->ether_type == ETYPE_LLDP ||
	       nd_type(frame, len, pkt) != 0;
}
