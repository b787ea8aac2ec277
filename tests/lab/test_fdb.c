// SPDX-License-Identifier: Apache-2.0
// What a host can do to the addresses of other ports: take their places in the table, keep one of
// them out of it, and say that they are its own.
#include "dataplane/forward/fdb.h"
#include "dataplane/switch_impl.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

enum {
	TURN_NS = 100000, // of control
	TURN_EVENTS = 256,
	MS = 1000000,
	THIEF = 0, SENDER = 1, OWNER = 2, // ports
};

static const char *yaml(const char *switch_keys, const char *port_keys, const char *owner_keys)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "switch: {name: br%s}\n"
		 "ports:\n"
		 "  - {name: \"p[1-2]\", device: \"wire:w[1-2]\", speed: 10G%s}\n"
		 "  - {name: p3, device: \"wire:w3\", speed: 10G%s}\n"
		 "  - {name: p4, device: \"wire:w4\", speed: 10G}\n",
		 switch_keys, port_keys, owner_keys);
	return text;
}

static struct bench *opened(const char *switch_keys, const char *port_keys, const char *owner_keys)
{
	return bench_open(yaml(switch_keys, port_keys, owner_keys), 0);
}

// Of all that control said.
struct heard {
	unsigned n[N_EVENT_TYPES];
	struct event last[N_EVENT_TYPES];
};

static void turn(struct bench *b, struct heard *h)
{
	struct event events[TURN_EVENTS];
	unsigned n;

	bench_run(b, TURN_NS);
	n = switch_control_step(b->sw, b->clock.now_ns, events, TURN_EVENTS);
	for (unsigned i = 0; h != NULL && i < n; i++) {
		h->n[events[i].type]++;
		h->last[events[i].type] = events[i];
	}
	actor_poke(&b->actor);
	bench_run(b, 1);
}

static void turns(struct bench *b, unsigned n, struct heard *h)
{
	for (unsigned i = 0; i < n; i++)
		turn(b, h);
}

static void send_from(struct bench *b, unsigned host, uint64_t source, unsigned to)
{
	uint8_t f[64];

	bench_build(f, host, &(struct bench_frame){.to = to, .len = sizeof(f)});
	for (unsigned i = 0; i < 6; i++)
		f[6 + i] = (uint8_t)(source >> (40 - 8 * i));
	bench_send_raw(b, host, f, sizeof(f));
}

// The host at this port is heard, and learned.
static void speak(struct bench *b, unsigned host)
{
	send_from(b, host, 0x020000000001ull + host, 20);
	turn(b, NULL);
}

struct flood {
	uint8_t frame[64];
	uint32_t n;
	unsigned to;
};

static bool another_source(struct bench_host *h, struct bench_frame *out)
{
	struct flood *f = h->source_arg;
	uint32_t n = f->n++ * 2654435761u;

	bench_build(f->frame, 0, &(struct bench_frame){.to = f->to, .len = 64});
	memcpy(f->frame + 8, &n, sizeof(n));
	f->frame[7] = 0x77;
	*out = (struct bench_frame){.raw = f->frame, .len = 64};
	return true;
}

static void flood_from(struct bench *b, unsigned host, struct flood *f)
{
	b->host[host].source = another_source;
	b->host[host].source_arg = f;
	actor_poke(&b->host[host].actor);
}

static bool known_at(struct bench *b, uint64_t mac, unsigned port);

// n frames from one host to another reach it, and no other host.
static void expect_unicast(struct bench *b, unsigned from, unsigned to, unsigned n)
{
	uint32_t others = 0, before = b->host[to].n_rx;

	for (unsigned i = 0; i < b->n_ports; i++)
		others += i == to ? 0 : b->host[i].n_rx;
	for (unsigned i = 0; i < n; i++)
		send_from(b, from, 0x020000000001ull + from, to);
	bench_run(b, 2 * MS / 100);
	assert_int_equal(b->host[to].n_rx - before, n);
	for (unsigned i = 0; i < b->n_ports; i++)
		others -= i == to ? 0 : b->host[i].n_rx;
	assert_int_equal(others, 0);
}

static struct fdb *fdb_of(struct bench *b)
{
	return &b->sw->fdb;
}

// ---- a flood of addresses

static void a_flood_takes_no_place_of_a_station_of_another_port(void **state)
{
	struct bench *b = opened("", "", "");
	struct flood f = {.to = SENDER};
	const struct fdb_port *of = switch_fdb_port(b->sw, THIEF);

	(void)state;
	speak(b, SENDER);
	speak(b, OWNER);
	flood_from(b, THIEF, &f);
	turns(b, 60, NULL); // the table is full
	assert_int_equal(gauge_get(&of->c.learnt), 16384 - 2);
	speak(b, 3); // a newcomer
	b->host[THIEF].source = NULL;
	turns(b, 2, NULL);
	assert_true(known_at(b, 0x020000000004ull, 3));
	for (unsigned i = 0; i < 20; i++) {
		expect_unicast(b, SENDER, OWNER, 5);
		expect_unicast(b, OWNER, 3, 5);
		flood_from(b, THIEF, &f);
		turns(b, 3, NULL);
		b->host[THIEF].source = NULL;
		turn(b, NULL);
	}
	assert_int_equal(ctr_get(&switch_fdb_port(b->sw, OWNER)->c.evicted), 0);
	assert_int_equal(ctr_get(&switch_fdb_port(b->sw, 3)->c.evicted), 0);
	bench_close(b);
}

static void a_share_of_the_table_is_everybodys(void **state)
{
	struct bench *b = opened("", "", "");
	struct flood one = {.to = SENDER}, two = {.to = SENDER, .n = 1u << 20};

	(void)state;
	speak(b, SENDER);
	flood_from(b, THIEF, &one);
	turns(b, 40, NULL);
	assert_true(gauge_get(&switch_fdb_port(b->sw, THIEF)->c.learnt) > 16000);
	// The port that comes later gets as much, and no more.
	flood_from(b, 3, &two);
	turns(b, 200, NULL);
	assert_in_range(gauge_get(&switch_fdb_port(b->sw, THIEF)->c.learnt), 8100, 8300);
	assert_in_range(gauge_get(&switch_fdb_port(b->sw, 3)->c.learnt), 8100, 8300);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, SENDER)->c.learnt), 1);
	assert_int_equal(switch_fdb_port(b->sw, SENDER)->share, 16384 / 4);
	b->host[THIEF].source = b->host[3].source = NULL;
	bench_close(b);
}

// At its limit a port loses the address that nobody has used for longest.
static void a_port_at_its_limit_loses_its_own_oldest_address(void **state)
{
	struct bench *b = opened("", ", mac_limit: 4", "");
	struct heard h = {{0}, {{0}}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		send_from(b, THIEF, 0x0200000000a0ull + i, 20);
		turn(b, &h);
	}
	assert_int_equal(h.n[EVENT_MAC_EVICTED], 0);
	bench_run(b, 150 * MS);
	send_from(b, THIEF, 0x0200000000a0ull, 20); // in use
	turn(b, &h);
	for (unsigned i = 4; i < 6; i++) {
		send_from(b, THIEF, 0x0200000000a0ull + i, 20);
		turn(b, &h);
	}
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(known_at(b, 0x0200000000a0ull + i, THIEF), i != 1 && i != 2);
	assert_int_equal(h.n[EVENT_MAC_EVICTED], 1); // and no more in the same second
	assert_int_equal(h.last[EVENT_MAC_EVICTED].port, THIEF);
	assert_int_equal(h.last[EVENT_MAC_EVICTED].b, 0x0200000000a1ull);
	assert_int_equal(ctr_get(&switch_fdb_port(b->sw, THIEF)->c.evicted), 2);
	// A lower limit counts at once.
	bench_publish(b, yaml("", ", mac_limit: 2", ""));
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, THIEF)->c.learnt), 2);
	bench_close(b);
}

static void learn_many(struct bench *b, uint32_t n, uint16_t vlan, unsigned port)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = 0x0200ull << 48 | (uint64_t)vlan << 40 | (uint64_t)i << 16 | vlan;

		assert_in_range(
			fdb_learn(fdb_of(b), key, (port_no_t)port, false, 1000 + i, NULL), 0, 1);
		if (i % 1000 == 0)
			turn(b, NULL); // workers release forgotten places
	}
}

static uint32_t learnt(const struct fdb *f, unsigned port, uint16_t vlan)
{
	return fdb_port_at(f, port)->vlans[vlan / FDB_VLAN_BLOCK][vlan % FDB_VLAN_BLOCK].n;
}

// On a trunk a flood in one VLAN takes the places of its own addresses.
static void a_flood_in_one_vlan_takes_no_place_of_another(void **state)
{
	enum { LIMIT = 3000, FEW = 200, MANY = 20000 };
	struct bench *b = opened("", "", "");
	struct fdb *f = fdb_of(b);

	(void)state;
	fdb_set_port(f, THIEF, LIMIT, 4096);
	learn_many(b, FEW, 1, THIEF);
	learn_many(b, FEW, 4094, THIEF);
	learn_many(b, MANY, 70, THIEF);
	assert_int_equal(learnt(f, THIEF, 1), FEW);
	assert_int_equal(learnt(f, THIEF, 4094), FEW);
	assert_int_equal(learnt(f, THIEF, 70), LIMIT - 2 * FEW);
	// The same in a table that is full, and at the port that is furthest above its share.
	fdb_set_port(f, THIEF, f->max, 4096);
	learn_many(b, MANY, 70, THIEF);
	learn_many(b, MANY, 5, OWNER);
	assert_int_equal(learnt(f, THIEF, 1), FEW);
	assert_int_equal(learnt(f, THIEF, 4094), FEW);
	// Once all have about as many, all of them lose some.
	fdb_set_port(f, THIEF, 300, 4096);
	assert_in_range(learnt(f, THIEF, 1), 99, 101);
	assert_in_range(learnt(f, THIEF, 4094), 99, 101);
	assert_in_range(learnt(f, THIEF, 70), 99, 101);
	assert_int_equal(fdb_port_at(f, THIEF)->n_vlans, 3);
	fdb_flush_port(f, THIEF);
	assert_int_equal(fdb_port_at(f, THIEF)->n_vlans, 0);
	assert_int_equal(gauge_get(&fdb_port_at(f, THIEF)->c.learnt), 0);
	bench_close(b);
}

// They hold the places of their port as others do, but nobody is told of their end.
static void stale_addresses_count_in_the_share_of_their_port(void **state)
{
	enum { STALE = 12000, MANY = 10000 };
	struct bench *b = opened("", "", "");
	struct fdb *f = fdb_of(b);
	const struct fdb_port_counters *c = &fdb_port_at(f, THIEF)->c;
	uint32_t before;

	(void)state;
	learn_many(b, STALE, 70, THIEF);
	before = f->count;
	fdb_make_stale(f, THIEF);
	fdb_make_stale(f, THIEF);
	assert_int_equal(f->count, before);
	assert_int_equal(f->stale, STALE);
	assert_int_equal(gauge_get(&c->learnt), 0);
	learn_many(b, MANY, 5, OWNER);
	assert_int_equal(f->count, f->max);
	assert_in_range(f->stale, f->max / 2 - 10, f->max / 2);
	assert_in_range(gauge_get(&fdb_port_at(f, OWNER)->c.learnt), f->max / 2 - 10, f->max / 2);
	assert_int_equal(ctr_get(&c->evicted), 0);
	learn_many(b, 100, 70, THIEF); // those that are left or gone: learnt anew
	assert_int_equal(gauge_get(&c->learnt), 100);
	assert_int_equal(ctr_get(&c->moved), 0);
	fdb_flush_port(f, THIEF);
	assert_int_equal(f->stale, 0);
	assert_int_equal(fdb_port_at(f, THIEF)->n, 0);
	bench_close(b);
}

// Control cannot learn as fast as reports come. Those of another port do not wait behind them.
static void a_flood_of_reports_leaves_room_for_those_of_other_ports(void **state)
{
	struct bench *b = opened("", "", "");
	struct flood f = {.to = SENDER};

	(void)state;
	speak(b, SENDER);
	flood_from(b, THIEF, &f);
	bench_run(b, MS); // 14,880 frames, and control stands still
	send_from(b, OWNER, 0x020000000003ull, 20);
	bench_run(b, 1000);
	b->host[THIEF].source = NULL;
	turns(b, 4096 / 1024 + 1, NULL);
	assert_true(known_at(b, 0x020000000003ull, OWNER));
	bench_close(b);
}

// A worker keeps what it knows of others; that an address is not known is forgotten at once.
static void a_new_address_leaves_the_caches_of_others_valid(void **state)
{
	struct bench *b = opened("", "", "");
	struct fdb *f = fdb_of(b);
	uint64_t mine = fdb_key((uint8_t[]){2, 0, 0, 0, 0, 1}, 0), other = mine;
	uint32_t before;

	(void)state;
	while (fdb_slot(other) % FDB_VERSIONS == fdb_slot(mine) % FDB_VERSIONS)
		other += 1 << 16;
	before = fdb_version(f, fdb_slot(mine));
	send_from(b, 0, other >> 16, 20);
	turn(b, NULL);
	assert_true(known_at(b, other >> 16, 0));
	assert_int_equal(fdb_version(f, fdb_slot(mine)), before);
	expect_unicast(b, SENDER, 0, 0);
	speak(b, 0);
	assert_int_not_equal(fdb_version(f, fdb_slot(mine)), before);
	bench_close(b);
}

// Addresses whose answers a worker keeps in one cache line. One of them is asked for again with
// each frame, as it may not be used, or as there is no room to report it.
static void an_answer_that_is_forgotten_takes_no_place_of_others(void **state)
{
	struct bench *b = opened("", "", "");
	struct fdb *f = fdb_of(b);
	struct fdb_cache *c = calloc(1, sizeof(*c));
	uint64_t key[FDB_CACHE_WAYS], next = fdb_key((uint8_t[]){2, 0, 0, 0, 0, 1}, 0);
	port_no_t lives_at;

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < FDB_CACHE_WAYS; next += 1 << 16)
		if (i == 0 || fdb_slot(next) == fdb_slot(key[0]))
			key[i++] = next;
	for (unsigned i = 0; i < FDB_CACHE_WAYS; i++)
		assert_true(fdb_source(f, c, key[i], SENDER, 1000, &lives_at));
	for (unsigned i = 0; i < 10; i++) {
		fdb_source_forget(c, key[1]);
		assert_true(fdb_source(f, c, key[1], SENDER, 1000, &lives_at));
	}
	for (unsigned i = 0; i < FDB_CACHE_WAYS; i++)
		assert_false(fdb_source(f, c, key[i], SENDER, 1000, &lives_at));
	free(c);
	bench_close(b);
}

// ---- addresses that collide

struct seen {
	uint64_t mac;
	unsigned port;
	bool found;
};

static void see(void *arg, const struct fdb_row *row)
{
	struct seen *s = arg;
	uint64_t mac = 0;

	for (unsigned i = 0; i < 6; i++)
		mac = mac << 8 | row->mac[i];
	s->found |= mac == s->mac && row->port == s->port && !row->is_stale;
}

static bool known_at(struct bench *b, uint64_t mac, unsigned port)
{
	struct seen s = {.mac = mac, .port = port};

	switch_fdb_walk(b->sw, b->clock.now_ns, see, &s);
	return s.found;
}

// Differences of addresses that leave a CRC as it is, whatever its start: CRC is linear.
static unsigned kernel_of_crc(uint64_t *out, unsigned n)
{
	uint32_t value[40];
	uint64_t mask[40];
	unsigned rows = 40, found = 0;
	uint64_t zero = 0;

	for (unsigned i = 0; i < rows; i++) {
		uint64_t bit = 1ull << (16 + i);

		mask[i] = 1ull << i;
		value[i] = rte_hash_crc(&bit, 8, 0) ^ rte_hash_crc(&zero, 8, 0);
	}
	for (unsigned bit = 0; bit < 32; bit++) {
		unsigned pivot = 0;

		while (pivot < rows && !(value[pivot] >> bit & 1))
			pivot++;
		if (pivot == rows)
			continue;
		for (unsigned i = 0; i < rows; i++)
			if (i != pivot && value[i] >> bit & 1) {
				value[i] ^= value[pivot];
				mask[i] ^= mask[pivot];
			}
		rows--;
		value[pivot] = value[rows];
		mask[pivot] = mask[rows];
	}
	for (unsigned i = 1; i < 1u << rows && found < n; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < rows; k++)
			sum ^= i >> k & 1 ? mask[k] : 0;
		out[found++] = sum;
	}
	return found;
}

static void addresses_that_collide_by_crc_keep_nobody_out(void **state)
{
	const uint64_t victim = 0x020000000003ull;
	struct bench *b = opened("", "", "");
	uint64_t kernel[64];
	unsigned n = kernel_of_crc(kernel, 64);
	struct heard h = {{0}, {{0}}};

	(void)state;
	assert_int_equal(n, 64);
	for (unsigned i = 0; i < n; i++)
		send_from(b, THIEF, victim ^ kernel[i], 20);
	turns(b, 4, &h);
	speak(b, OWNER);
	assert_true(known_at(b, victim, OWNER));
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, THIEF)->c.learnt), n);
	assert_int_equal(h.n[EVENT_FDB_FULL], 0);
	assert_int_equal(ctr_get(&switch_fdb_port(b->sw, OWNER)->c.refused), 0);
	bench_close(b);
}

// ---- theft

struct theft {
	uint64_t owner_got, frames; // of the sender, to the owner
	struct heard h;
};

// The owner and the thief speak once a millisecond each, the sender ten times to the owner.
static void steal(struct bench *b, unsigned ms, struct theft *t)
{
	uint32_t before = b->host[OWNER].n_rx;

	for (unsigned i = 0; i < ms; i++) {
		send_from(b, OWNER, 0x020000000003ull, SENDER);
		for (unsigned k = 0; k < 10; k++) {
			if (k == 5)
				send_from(b, THIEF, 0x020000000003ull, 20);
			send_from(b, SENDER, 0x020000000002ull, OWNER);
			t->frames++;
			if (k % 3 == 2)
				turn(b, &t->h);
			else
				bench_run(b, TURN_NS);
		}
	}
	t->owner_got = b->host[OWNER].n_rx - before;
}

static void a_thief_gets_an_address_pinned_and_the_owner_keeps_its_traffic(void **state)
{
	struct bench *b = opened("", "", "");
	enum { THEFT_MS = 1000 };
	struct theft before = {0}, after = {0};

	(void)state;
	speak(b, SENDER);
	speak(b, OWNER);
	bench_run(b, 1000 * MS);
	steal(b, THEFT_MS, &before);
	assert_int_equal(before.h.n[EVENT_MAC_FLAPPING], 1);
	assert_int_equal(before.h.last[EVENT_MAC_FLAPPING].port, OWNER);
	assert_int_equal(event_mac_other(before.h.last[EVENT_MAC_FLAPPING].a), THIEF);
	assert_int_equal(before.h.last[EVENT_MAC_FLAPPING].b, 0x020000000003ull);
	assert_in_range(before.h.n[EVENT_MAC_MOVED], 5, 6);
	assert_true(known_at(b, 0x020000000003ull, OWNER));
	steal(b, THEFT_MS, &after);
	assert_int_equal(after.h.n[EVENT_MAC_MOVED], 0);
	assert_int_equal(after.h.n[EVENT_MAC_FLAPPING], 0);
	assert_int_equal(after.owner_got, after.frames + THEFT_MS); // the thief's are flooded
	assert_true(ctr_get(&switch_fdb_port(b->sw, THIEF)->c.held) > 0);
	bench_close(b);
}

// The station moves from the port of its longest stay to p4, and a thief speaks. Then the first
// port goes away. The address is pinned to p4, where it lived longer than at the thief's port.
static void an_address_is_not_pinned_to_a_port_that_is_gone(void **state)
{
	(void)state;
	for (unsigned routed = 0; routed < 2; routed++) {
		struct bench *b = opened("", "", "");
		struct heard h = {{0}, {{0}}};

		speak(b, OWNER);
		bench_run(b, 1000 * MS);
		send_from(b, 3, 0x020000000003ull, SENDER);
		turn(b, &h);
		bench_run(b, 500 * MS);
		if (routed) {
			bench_publish(b, yaml("", "", ", ip: 10.0.0.1/24"));
		} else {
			wire_set_up(b->host[OWNER].wire, false);
			switch_links_changed(b->sw);
		}
		turn(b, &h);
		for (unsigned i = 0; i < 8; i++) {
			send_from(b, i % 2 == 0 ? THIEF : 3, 0x020000000003ull, SENDER);
			turn(b, &h);
			bench_run(b, SOURCE_RECHECK_NS); // until its worker reports again
		}
		assert_int_equal(h.n[EVENT_MAC_FLAPPING], 1);
		assert_int_equal(h.last[EVENT_MAC_FLAPPING].port, 3);
		assert_true(known_at(b, 0x020000000003ull, 3));
		bench_close(b);
	}
}

static void a_pin_ends_after_its_time(void **state)
{
	struct bench *b = opened(", mac_move_hold: 2s", "", "");
	struct theft t = {0};
	struct heard h = {{0}, {{0}}};

	(void)state;
	speak(b, OWNER);
	bench_run(b, 1000 * MS);
	steal(b, 1000, &t);
	assert_int_equal(t.h.n[EVENT_MAC_FLAPPING], 1);
	bench_run(b, 2000 * (uint64_t)MS);
	turns(b, 2, &h); // what waited
	send_from(b, THIEF, 0x020000000003ull, 20);
	turns(b, 2, &h);
	assert_true(known_at(b, 0x020000000003ull, THIEF));
	bench_close(b);
}

// A worker reports a known source every SOURCE_RECHECK_NS. Where owner and thief have workers of
// their own, the address moves twice in that time.
static void a_limit_of_zero_lets_addresses_move(void **state)
{
	const unsigned ms = 5 * SOURCE_RECHECK_NS / MS;
	struct bench *b = opened(", mac_move_limit: 0", "", "");
	struct theft t = {0};

	(void)state;
	speak(b, OWNER);
	steal(b, ms, &t);
	assert_int_equal(t.h.n[EVENT_MAC_FLAPPING], 0);
	assert_true(t.h.n[EVENT_MAC_MOVED] > 6);
	bench_close(b);
}

static void an_address_of_a_sticky_port_does_not_move(void **state)
{
	struct bench *b = opened("", "", ", sticky: true");
	struct theft t = {0};

	(void)state;
	speak(b, SENDER);
	speak(b, OWNER);
	b->host[3].n_rx = 0;
	steal(b, 500, &t);
	assert_int_equal(t.owner_got, t.frames);
	assert_int_equal(t.h.n[EVENT_MAC_MOVED], 0);
	assert_in_range(t.h.n[EVENT_MAC_STICKY], 1, 2);
	assert_int_equal(t.h.last[EVENT_MAC_STICKY].port, THIEF);
	assert_int_equal(event_mac_other(t.h.last[EVENT_MAC_STICKY].a), OWNER);
	assert_int_equal(bench_drops(b, DROP_STICKY), 500);
	assert_int_equal(ctr_get(&switch_drops(b->sw, THIEF, 0, DROP_STICKY)->packets), 500);
	assert_int_equal(b->host[3].n_rx, 0); // no frame of the thief
	// Gone with the link, the address is anybody's.
	wire_set_up(b->host[OWNER].wire, false);
	switch_links_changed(b->sw);
	turn(b, NULL);
	send_from(b, THIEF, 0x020000000003ull, 20);
	turns(b, 2, NULL);
	assert_true(known_at(b, 0x020000000003ull, THIEF));
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_takes_no_place_of_a_station_of_another_port),
		cmocka_unit_test(a_share_of_the_table_is_everybodys),
		cmocka_unit_test(a_port_at_its_limit_loses_its_own_oldest_address),
		cmocka_unit_test(a_flood_in_one_vlan_takes_no_place_of_another),
		cmocka_unit_test(stale_addresses_count_in_the_share_of_their_port),
		cmocka_unit_test(a_flood_of_reports_leaves_room_for_those_of_other_ports),
		cmocka_unit_test(a_new_address_leaves_the_caches_of_others_valid),
		cmocka_unit_test(addresses_that_collide_by_crc_keep_nobody_out),
		cmocka_unit_test(a_thief_gets_an_address_pinned_and_the_owner_keeps_its_traffic),
		cmocka_unit_test(an_address_is_not_pinned_to_a_port_that_is_gone),
		cmocka_unit_test(a_pin_ends_after_its_time),
		cmocka_unit_test(a_limit_of_zero_lets_addresses_move),
		cmocka_unit_test(an_address_of_a_sticky_port_does_not_move),
		cmocka_unit_test(an_answer_that_is_forgotten_takes_no_place_of_others),
	};

	return cmocka_run_group_tests_name("fdb", tests, bench_eal, NULL);
}
