// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/flow.h"

#include <stddef.h>
#include <string.h>

#include "dataplane/base/compiler.h"
#include "dataplane/base/units.h"

enum {
	DEFAULT_AGE_S = 3,
	FEW_MISSING = 64,
	AGE_WHEN_FULL = 256, // entries that a flow without room may cost
	EVICT_LOOKS = 32, // and those among which the idlest is looked for
};

static_assert(sizeof(struct flow) == 320, "five cache lines");
static_assert(offsetof(struct flow, way) == 64, "the next packet needs no more than the first");
static_assert(offsetof(struct flow, gaps) == 128, "what it may change besides is in the second");
static_assert(offsetof(struct flow, src_mac) == offsetof(struct flow, dst_mac) + 6,
	      "as in a frame, and compared so");

size_t flow_table_bytes(uint32_t n)
{
	return n * sizeof(struct flow) + flow_map_bytes(n);
}

void flow_table_init(struct flow_table *t, void *mem, uint32_t n, uint64_t age_ns, uint32_t seed)
{
	memset(t, 0, sizeof(*t));
	t->flows = mem;
	t->n = n;
	t->free = FLOW_NONE;
	t->share = n;
	t->map.seed = seed;
	t->map.spare = UINT64_MAX << FLOW_KEY_BITS;
	flow_map_init(&t->map, t->flows + n, n, t->flows, sizeof(t->flows[0]));
	flow_table_set_age(t, age_ns, 0);
}

void flow_table_set_ports(struct flow_table *t, uint32_t n_ports)
{
	t->share = n_ports > 1 ? t->n / n_ports : t->n;
}

void flow_table_set_age(struct flow_table *t, uint64_t age_ns, uint64_t now_ns)
{
	age_ns = age_ns != 0 ? age_ns : DEFAULT_AGE_S * (uint64_t)SECOND_NS;
	if (age_ns == gauge_get(&t->age_ns))
		return;
	gauge_set(&t->age_ns, age_ns);
	if (t->sweep_ns == 0)
		return;
	// The cursor stays: what it has passed was looked at in this sweep.
	t->sweep_ns = now_ns - t->age_cursor * age_ns / t->n;
	t->look_ns = now_ns;
}

// ---- entries begin and end

// Readers on other threads see an odd generation from here to change_ends.
static void change_begins(struct flow *f)
{
	relaxed_set(&f->generation, relaxed_get(&f->generation) + 1);
	atomic_thread_fence(memory_order_release);
}

static void change_ends(struct flow *f)
{
	atomic_store_explicit(&f->generation, relaxed_get(&f->generation) + 1,
			      memory_order_release);
}

static struct flow_port *in_port_of_entry(struct flow_table *t, const struct flow *f)
{
	return &t->ports[flow_way_of(gauge_get(&f->way)).in_port % FLOW_PORTS];
}

// Sets the key, without a seal, and clears everything else. Control may be reading, so what it
// reads is written a word at a time.
static void clear(struct flow *f, const struct flow_key *k)
{
	ctr_t *const counters[] = {&f->packets, &f->bytes, &f->last, &f->way, &f->pair, &f->cnp_ns,
				   &f->marked_ns, &f->ce, &f->gaps, &f->gap_packets, &f->rewinds,
				   &f->naks, &f->cnps_seen, &f->cnps_sent, &f->first_ns,
				   &f->silence, &f->silences, &f->elephant_ns};

	for (unsigned i = 0; i < 4; i++)
		relaxed_set(&f->key_words[i], k->w[i]);
	relaxed_set(&f->key_words[4], flow_key_last(k));
	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		gauge_set(counters[i], 0);
	memset(f->src_mac, 0, sizeof(f->src_mac));
	memset(f->dst_mac, 0, sizeof(f->dst_mac));
	f->tci = f->pkey = f->inner_tci = 0;
	f->tags = 0;
	f->highest = f->opened = f->oldest = f->psn_before = f->psn_now = 0;
	f->turn_ns = f->notified_bps = 0;
	f->stretch = (struct elephant_stretch){0, 0};
	f->kept.packets = 0;
	f->astray = false;
	f->reverse = f->acked = FLOW_NONE;
	relaxed_set(&f->udp_sport, 0);
	relaxed_set(&f->peer_hint, 0);
	relaxed_set(&f->slot, 0);
	relaxed_set(&f->cut_q16, 0);
	relaxed_set(&f->addresses, FLOW_NONE);
}

static void begin_entry(struct flow_table *t, uint32_t id, const struct flow_key *k,
			struct flow_arrival at)
{
	struct flow_way way = {.in_port = at.port, .out_port = FLOW_NO_PORT, .kind = at.kind};
	struct flow *f = &t->flows[id];
	struct flow_port *p;

	change_begins(f);
	clear(f, k);
	gauge_set(&f->way, flow_pack_way(way));
	gauge_set(&f->first_ns, at.now_ns);
	gauge_set(&f->last, flow_pack_last(0, FLOW_APART, at.now_ns)); // `highest` is 0
	change_ends(f);
	p = in_port_of_entry(t, f);
	gauge_set(&p->used, gauge_get(&p->used) + 1);
	ctr_inc(&t->made);
}

static void is_gone(struct flow_table *t, uint32_t id, const struct flow_hooks *hooks)
{
	struct flow_port *p = in_port_of_entry(t, &t->flows[id]);

	if (hooks != NULL && hooks->gone != NULL)
		hooks->gone(hooks->arg, id);
	gauge_set(&p->used, gauge_get(&p->used) - 1);
}

static void free_entry(struct flow_table *t, uint32_t id, const struct flow_hooks *hooks)
{
	const struct flow_key none = {{0}};
	struct flow *f = &t->flows[id];

	is_gone(t, id, hooks);
	flow_map_remove(&t->map, flow_hash_of(&t->map, &f->key), id);
	change_begins(f);
	clear(f, &none);
	change_ends(f);
	f->next = t->free;
	t->free = id;
	gauge_set(&t->used, gauge_get(&t->used) - 1);
}

// A free place, or FLOW_NONE. Places that were never used come last, so that a table that is
// mostly empty stays in few pages.
static uint32_t free_place(const struct flow_table *t)
{
	if (t->free != FLOW_NONE)
		return t->free;
	return relaxed_get(&t->n_used) < t->n ? relaxed_get(&t->n_used) : FLOW_NONE;
}

// Makes room for a flow of a port below its share. Of the next few entries the idlest that is of a
// port above its share loses its place. All places are taken.
static void evict(struct flow_table *t, struct flow_arrival at, const struct flow_hooks *hooks)
{
	uint32_t id = FLOW_NONE;
	uint64_t id_ns = UINT64_MAX;
	struct flow_key k;

	if (gauge_get(&t->ports[at.port % FLOW_PORTS].used) >= t->share)
		return;
	for (unsigned i = 0; i < EVICT_LOOKS; i++) {
		const struct flow *f = &t->flows[t->evict_cursor];
		uint64_t seen_ns = flow_seen_ns(f, at.now_ns);

		if (gauge_get(&in_port_of_entry(t, f)->used) > t->share && seen_ns < id_ns) {
			id = t->evict_cursor;
			id_ns = seen_ns;
		}
		if (++t->evict_cursor == t->n)
			t->evict_cursor = 0;
	}
	if (id == FLOW_NONE)
		return;
	k = t->flows[id].key;
	ctr_inc(&t->evicted);
	ctr_inc(&in_port_of_entry(t, &t->flows[id])->evicted);
	free_entry(t, id, hooks);
	if (hooks != NULL && hooks->evicted != NULL)
		hooks->evicted(hooks->arg, &k, at.now_ns);
}

// The key is not in the table.
static uint32_t make_entry(struct flow_table *t, const struct flow_key *k, uint32_t hash,
			   struct flow_arrival at, const struct flow_hooks *hooks)
{
	uint32_t id = free_place(t);

	// Before a flow is refused, entries that are old by now make room; a bounded number of
	// entries is looked at.
	if (id == FLOW_NONE) {
		flow_age(t, at.now_ns, AGE_WHEN_FULL, hooks);
		if (free_place(t) == FLOW_NONE)
			evict(t, at, hooks);
		id = free_place(t);
	}
	// The map reads no key of an entry that is added.
	if (id == FLOW_NONE || !flow_map_add(&t->map, hash, id)) {
		ctr_inc(&t->refused);
		ctr_inc(&t->ports[at.port % FLOW_PORTS].refused);
		return FLOW_NONE;
	}
	if (id == t->free)
		t->free = t->flows[id].next;
	else
		relaxed_set(&t->n_used, relaxed_get(&t->n_used) + 1);
	gauge_set(&t->used, gauge_get(&t->used) + 1);
	begin_entry(t, id, k, at);
	return id;
}

void flow_begin_anew(struct flow_table *t, uint32_t id, struct flow_arrival at,
		     const struct flow_hooks *hooks)
{
	const struct flow_key k = t->flows[id].key;

	is_gone(t, id, hooks);
	ctr_inc(&t->aged);
	begin_entry(t, id, &k, at);
}

uint32_t flow_take(struct flow_table *t, const struct flow_key *k, uint32_t hash,
		   struct flow_arrival at, const struct flow_hooks *hooks, enum flow_news *news)
{
	uint32_t id = flow_map_find(&t->map, k, hash);

	*news = FLOW_AS_BEFORE;
	if (id != FLOW_NONE && flow_lives(t, &t->flows[id], at.now_ns))
		return id;
	*news = FLOW_BEGUN;
	if (id == FLOW_NONE)
		return make_entry(t, k, hash, at, hooks);
	flow_begin_anew(t, id, at, hooks);
	return id;
}

uint32_t flow_find(const struct flow_table *t, const struct flow_key *k, uint64_t now_ns)
{
	uint32_t id = flow_map_find(&t->map, k, flow_hash_of(&t->map, k));

	return id != FLOW_NONE && flow_lives(t, &t->flows[id], now_ns) ? id : FLOW_NONE;
}

// ---- packets

// `highest` is the newest PSN that the queue pair has sent. The answer to a READ request uses up
// PSNs, and only the next request says how many; until then all possible ones count as sent.
static uint32_t at_front(struct flow *f, const struct flow_packet *p)
{
	f->highest = psn_add(p->psn, p->n_psns - 1);
	if (likely(p->n_psns == 1))
		return 0;
	f->opened = p->psn;
	return FLOW_OPEN | FLOW_SKIPS;
}

// Expects the PSN after this one.
static void expect_next(struct flow *f, const struct flow_packet *p, uint32_t flags,
			uint64_t now_ns)
{
	if (f->highest != p->psn)
		flags |= FLOW_APART;
	gauge_set(&f->last, flow_pack_last(psn_add(p->psn, 1), flags, now_ns));
}

void flow_restart(struct flow *f, const struct flow_packet *p, uint64_t now_ns)
{
	f->oldest = p->psn;
	expect_next(f, p, at_front(f, p), now_ns);
}

// Another life of the queue pair: not even 64 K lost packets lie between.
static bool is_far(int32_t ahead)
{
	return ahead >= FLOW_JUMP || ahead <= -FLOW_JUMP;
}

bool flow_sends_again(const struct flow *f, uint32_t psn)
{
	return psn_diff(flow_highest(f), psn) < FLOW_AGAIN &&
	       psn_diff(psn, f->oldest) >= FEW_MISSING;
}

// Whether a PSN close by may belong to another life of the queue pair: no packet is under way that
// could be missing or asked for again, or more than a few are missing.
static bool may_be_another(const struct flow *f, uint32_t psn, int32_t ahead)
{
	if (ahead < 0 && flow_sends_again(f, psn))
		return false;
	if (f->acked == FLOW_NONE || ahead > FEW_MISSING)
		return true;
	return ahead > 0 && psn_diff(psn, f->acked) == ahead + 1;
}

// A PSN that is not the expected one. PSNs between them are not missing if READ requests used them
// up, or requests of the other side.
static enum flow_news out_of_order(struct flow *f, const struct flow_packet *p, int32_t ahead)
{
	bool skips = gauge_get(&f->last) & FLOW_SKIPS;
	int32_t beyond = psn_diff(p->psn, f->highest);

	if (is_far(ahead))
		return FLOW_JUMPED;
	if (ahead > 0 && (p->may_skip || (skips && beyond <= 1)))
		return FLOW_AS_BEFORE;
	if (ahead < 0) {
		ctr_inc(&f->rewinds);
	} else if (beyond > 1) {
		// After a rewind a late ACK lets the sender go on where it was, so that PSNs up to
		// `highest` are not missing.
		ctr_inc(&f->gaps);
		ctr_add(&f->gap_packets, (uint64_t)(beyond - 1));
	}
	// A requester does not go back behind what it knows as delivered. But answers may be lost
	// on their way to it, or be late, so `highest` stays.
	if (ahead < 0 && f->acked != FLOW_NONE && psn_diff(p->psn, f->acked) <= 0 &&
	    !flow_sends_again(f, p->psn))
		return FLOW_JUMPED;
	return may_be_another(f, p->psn, ahead) ? FLOW_BROKEN : FLOW_AS_BEFORE;
}

enum flow_news flow_count(struct flow *f, const struct flow_packet *p, uint64_t now_ns)
{
	uint64_t last = gauge_get(&f->last), before = flow_packets(f);
	int32_t ahead = psn_diff(p->psn, flow_expected(last));
	enum flow_news news = FLOW_AS_BEFORE;
	uint32_t flags = last & FLOW_OPEN;

	ctr_inc(&f->packets);
	ctr_add(&f->bytes, p->len);
	f->highest = flow_highest(f);
	if (unlikely(p->ce))
		ctr_inc(&f->ce);
	if (unlikely(p->n_psns == 0)) {
		gauge_set(&f->last,
			  flow_pack_last((uint32_t)last & ((1u << FLOW_TIME_BIT) - 1), 0, now_ns));
		return FLOW_AS_BEFORE;
	}
	if (unlikely(before == 0)) {
		flow_restart(f, p, now_ns);
		return FLOW_AS_BEFORE;
	}
	if (unlikely(ahead != 0))
		news = out_of_order(f, p, ahead);
	if (unlikely(news == FLOW_JUMPED && is_far(ahead))) {
		flow_restart(f, p, now_ns);
		return FLOW_JUMPED;
	}
	if (likely(psn_diff(p->psn, flags != 0 ? f->opened : f->highest) > 0))
		flags = at_front(f, p);
	else if (p->n_psns > 1)
		flags |= FLOW_SKIPS;
	expect_next(f, p, flags, now_ns);
	return news;
}

// ---- age

// Frees the entry under the cursor if it was old when its look was due. Frames since do not count.
static void look_at_cursor(struct flow_table *t, uint64_t now_ns, const struct flow_hooks *hooks)
{
	struct flow *f = &t->flows[t->age_cursor];
	uint64_t seen_ns = flow_seen_ns(f, now_ns), age_ns = gauge_get(&t->age_ns);

	if (f->key.w[4] != 0 && seen_ns <= t->look_ns && t->look_ns - seen_ns >= age_ns) {
		free_entry(t, t->age_cursor, hooks);
		ctr_inc(&t->aged);
	}
	if (++t->age_cursor == t->n) {
		t->age_cursor = 0;
		t->sweep_ns += age_ns;
	}
	t->look_ns = t->sweep_ns + t->age_cursor * age_ns / t->n;
	__builtin_prefetch(&t->flows[t->age_cursor]);
}

void flow_age(struct flow_table *t, uint64_t now_ns, unsigned n, const struct flow_hooks *hooks)
{
	uint64_t age_ns, sweeps;

	if (likely(t->sweep_ns != 0 && now_ns < t->look_ns))
		return;
	if (t->sweep_ns == 0)
		t->sweep_ns = t->look_ns = now_ns;
	// If several sweeps are due, the last whole one finds all that the others would.
	age_ns = gauge_get(&t->age_ns);
	sweeps = (now_ns - t->sweep_ns) / age_ns;
	if (sweeps > 2) {
		t->sweep_ns += (sweeps - 2) * age_ns;
		t->look_ns += (sweeps - 2) * age_ns;
	}
	for (; n != 0 && t->look_ns <= now_ns; n--)
		look_at_cursor(t, now_ns, hooks);
}
