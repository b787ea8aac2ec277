// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/units.h"
#include "dataplane/roce/flow.h"

enum { START_NS = 5000000, WRAP = PSN_MASK + 1, KEPT = 64 };

struct fixture {
	struct flow_table t;
	void *mem;
	uint32_t gone[KEPT];
	unsigned n_gone, n_evicted;
	struct flow_hooks hooks;
};

static void on_gone(void *arg, uint32_t id)
{
	struct fixture *x = arg;

	assert_true(x->t.flows[id].key.w[4] != 0); // still what it was
	if (x->n_gone < KEPT)
		x->gone[x->n_gone] = id;
	x->n_gone++;
}

static struct fixture *open_table(uint32_t n, uint64_t age_ns)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->mem = aligned_alloc(64, flow_table_bytes(n));
	assert_non_null(x->mem);
	memset(x->mem, 0, flow_table_bytes(n));
	flow_table_init(&x->t, x->mem, n, age_ns, 1);
	x->hooks = (struct flow_hooks){.gone = on_gone, .arg = x};
	return x;
}

static void close_table(struct fixture *x)
{
	free(x->mem);
	free(x);
}

static uint32_t take_at(struct fixture *x, uint32_t qp, struct flow_arrival at,
			enum flow_news *news)
{
	struct flow_key k = flow_key_v4(0x0a000001, 0x0a000002, qp, KEY_FLOW);

	return flow_take(&x->t, &k, flow_hash_of(&x->t.map, &k), at, &x->hooks, news);
}

static uint32_t take(struct fixture *x, uint32_t qp, uint64_t now_ns, enum flow_news *news)
{
	return take_at(x, qp, (struct flow_arrival){now_ns, 0}, news);
}

static void hear_at(struct fixture *x, uint32_t qp, port_no_t port, uint64_t now_ns)
{
	const struct flow_packet p = {.psn = 1, .n_psns = 1, .len = 100};
	enum flow_news news;
	uint32_t id = take_at(x, qp, (struct flow_arrival){now_ns, port}, &news);

	if (id != FLOW_NONE)
		flow_count(&x->t.flows[id], &p, now_ns);
}

static void hear(struct fixture *x, uint32_t qp, uint64_t now_ns)
{
	hear_at(x, qp, 0, now_ns);
}

static bool lives(const struct fixture *x, uint32_t qp, uint64_t now_ns)
{
	struct flow_key k = flow_key_v4(0x0a000001, 0x0a000002, qp, KEY_FLOW);

	return flow_find(&x->t, &k, now_ns) != FLOW_NONE;
}

// ---- PSNs

struct step {
	uint32_t psn, n; // n PSNs
	bool may_skip;
};

static const struct {
	const char *what;
	struct step steps[8]; // up to n = 0
	uint64_t gaps, gap_packets, rewinds;
	uint32_t expected, highest, surely;
	unsigned jumps;
} psn_rows[] = {
	{"one after the other", {{7, 1}, {8, 1}, {9, 1}}, 0, 0, 0, 10, 9, 9, 0},
	{"over the wrap", {{WRAP - 1, 1}, {0, 1}, {1, 1}}, 0, 0, 0, 2, 1, 1, 0},
	{"one is missing", {{7, 1}, {9, 1}}, 1, 1, 0, 10, 9, 9, 0},
	{"five are missing, twice", {{7, 1}, {13, 1}, {19, 1}}, 2, 10, 0, 20, 19, 19, 0},
	{"missing over the wrap", {{WRAP - 2, 1}, {1, 1}}, 1, 2, 0, 2, 1, 1, 0},
	{"the first says nothing", {{WRAP / 2, 1}}, 0, 0, 0, WRAP / 2 + 1, WRAP / 2,
	 WRAP / 2, 0},
	{"go-back-N", {{7, 1}, {8, 1}, {9, 1}, {7, 1}, {8, 1}}, 0, 0, 1, 9, 9, 9, 0},
	{"and on", {{7, 1}, {8, 1}, {7, 1}, {8, 1}, {9, 1}}, 0, 0, 1, 10, 9, 9, 0},
	{"back over the wrap", {{WRAP - 1, 1}, {0, 1}, {WRAP - 1, 1}}, 0, 0, 1, 0, 0, 0, 0},
	{"the same again", {{7, 1}, {7, 1}, {7, 1}}, 0, 0, 2, 8, 7, 7, 0},
	{"a late ACK after a rewind", {{7, 1}, {8, 1}, {9, 1}, {7, 1}, {10, 1}}, 0, 0, 1, 11, 10,
	 10, 0},
	{"and a loss beyond it", {{7, 1}, {8, 1}, {9, 1}, {7, 1}, {12, 1}}, 1, 2, 1, 13, 12, 12, 0},
	{"a jump is another life", {{7, 1}, {8 + FLOW_JUMP, 1}}, 0, 0, 0, 9 + FLOW_JUMP,
	 8 + FLOW_JUMP, 8 + FLOW_JUMP, 1},
	{"nearly a jump", {{7, 1}, {7 + FLOW_JUMP, 1}}, 1, FLOW_JUMP - 1, 0, 8 + FLOW_JUMP,
	 7 + FLOW_JUMP, 7 + FLOW_JUMP, 0},
	{"a jump back", {{FLOW_JUMP + 100, 1}, {101, 1}}, 0, 0, 0, 102, 101, 101, 1},
	{"nearly a jump back", {{FLOW_JUMP + 100, 1}, {102, 1}}, 0, 0, 1, 103,
	 FLOW_JUMP + 100, FLOW_JUMP + 100, 0},
	{"READ opens what may be sent", {{7, 1}, {8, 16}}, 0, 0, 0, 9, 23, 8, 0},
	{"the next request closes it", {{8, 16}, {12, 1}}, 0, 0, 0, 13, 12, 12, 0},
	{"at the end of it", {{8, 16}, {24, 1}}, 0, 0, 0, 25, 24, 24, 0},
	{"beyond it is a gap", {{8, 16}, {25, 1}}, 1, 1, 0, 26, 25, 25, 0},
	{"READ after READ", {{8, 16}, {12, 4}, {13, 4}}, 0, 0, 0, 14, 16, 13, 0},
	{"READ again adds nothing", {{8, 4}, {12, 1}, {8, 4}, {12, 1}}, 0, 0, 1, 13, 12, 12,
	 0},
	{"what is sent again before it leaves it open", {{8, 1}, {9, 16}, {8, 1}, {9, 16}},
	 0, 0, 1, 10, 24, 9, 0},
	{"and closes with a new one", {{8, 1}, {9, 16}, {8, 1}, {9, 16}, {11, 1}}, 0, 0, 1,
	 12, 11, 11, 0},
	{"responses may skip", {{7, 1, true}, {8, 1}, {20, 1, true}, {21, 1}}, 0, 0, 0, 22,
	 21, 21, 0},
	{"but not within", {{7, 1, true}, {9, 1}}, 1, 1, 0, 10, 9, 9, 0},
};

static void psns_are_followed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(psn_rows) / sizeof(psn_rows[0]); i++) {
		struct fixture *x = open_table(4, 0);
		enum flow_news news;
		struct flow *f = &x->t.flows[take(x, 5, START_NS, &news)];
		unsigned jumps = 0, n = 0;

		print_message("%s\n", psn_rows[i].what);
		for (; n < 8 && psn_rows[i].steps[n].n != 0; n++) {
			const struct step *s = &psn_rows[i].steps[n];
			const struct flow_packet p = {.psn = s->psn, .n_psns = s->n, .len = 100,
						      .may_skip = s->may_skip};

			jumps += flow_count(f, &p, START_NS + n) == FLOW_JUMPED;
		}
		assert_int_equal(flow_packets(f), n);
		assert_int_equal(ctr_get(&f->bytes), 100 * n);
		assert_int_equal(ctr_get(&f->gaps), psn_rows[i].gaps);
		assert_int_equal(ctr_get(&f->gap_packets), psn_rows[i].gap_packets);
		assert_int_equal(ctr_get(&f->rewinds), psn_rows[i].rewinds);
		assert_int_equal(flow_expected(gauge_get(&f->last)), psn_rows[i].expected);
		assert_int_equal(flow_highest(f), psn_rows[i].highest);
		assert_int_equal(flow_surely_sent(f), psn_rows[i].surely);
		assert_int_equal(jumps, psn_rows[i].jumps);
		close_table(x);
	}
}

static void a_rewind_behind_what_is_acknowledged_is_another_life(void **state)
{
	struct fixture *x = open_table(4, 0);
	enum flow_news news;
	struct flow *f = &x->t.flows[take(x, 5, START_NS, &news)];
	struct flow_packet p = {.n_psns = 1, .len = 100};

	(void)state;
	for (p.psn = 10; p.psn < 20; p.psn++)
		assert_int_equal(flow_count(f, &p, START_NS), FLOW_AS_BEFORE);
	f->acked = 14;
	p.psn = 15;
	assert_int_equal(flow_count(f, &p, START_NS), FLOW_AS_BEFORE);
	p.psn = 14;
	assert_int_equal(flow_count(f, &p, START_NS), FLOW_JUMPED);
	assert_int_equal(flow_highest(f), 19); // or was the answer lost?
	assert_int_equal(ctr_get(&f->rewinds), 2);
	close_table(x);
}

static void a_frame_whose_psn_is_of_another_space_is_only_counted(void **state)
{
	struct fixture *x = open_table(4, 0);
	enum flow_news news;
	struct flow *f = &x->t.flows[take(x, 5, START_NS, &news)];
	struct flow_packet p = {.psn = 10, .n_psns = 1, .len = 100};

	(void)state;
	flow_count(f, &p, START_NS);
	p = (struct flow_packet){.psn = 7000000, .n_psns = 0, .len = 50, .ce = true};
	assert_int_equal(flow_count(f, &p, START_NS + SECOND_NS), FLOW_AS_BEFORE);
	assert_int_equal(flow_expected(gauge_get(&f->last)), 11);
	assert_int_equal(flow_highest(f), 10);
	assert_int_equal(flow_packets(f), 2);
	assert_int_equal(ctr_get(&f->bytes), 150);
	assert_int_equal(ctr_get(&f->ce), 1);
	assert_int_equal(ctr_get(&f->gaps), 0);
	assert_in_range(flow_seen_ns(f, START_NS + SECOND_NS), START_NS + SECOND_NS - 4096,
			START_NS + SECOND_NS);
	close_table(x);
}

// One comparison decides it: each of its parts alone makes it false.
static void a_quick_count_needs_psn_flags_and_a_flow_that_was_not_silent(void **state)
{
	const uint64_t then_ns = START_NS / 4096 * 4096;
	static const struct {
		uint32_t psn, flags, expected;
		uint64_t idle_ns, age_ns;
		bool next;
	} rows[] = {
		{11, 0, 11, 0, SECOND_NS, true},
		{11, 0, 11, 5 * 4096, 10 * 4096, true},
		{11, 0, 11, 9 * 4096 - 1, 10 * 4096, true},
		{11, 0, 11, 9 * 4096, 10 * 4096, false}, // nearly the age: the exact count decides
		{11, 0, 11, 10 * 4096, 10 * 4096, false},
		{11, 0, 11, 0, 4095, false}, // an age below the unit of time
		{10, 0, 11, 0, SECOND_NS, false}, // rewind
		{10, 0, 11, 4096, SECOND_NS, false},
		{12, 0, 11, 0, SECOND_NS, false}, // gap
		{0, 0, PSN_MASK, 0, SECOND_NS, false},
		{PSN_MASK, 0, 0, 0, SECOND_NS, false},
		{PSN_MASK, 0, PSN_MASK, 0, SECOND_NS, true},
		{11, FLOW_SKIPS, 11, 0, SECOND_NS, false},
		{11, FLOW_OPEN, 11, 0, SECOND_NS, false},
		{11, FLOW_APART, 11, 0, SECOND_NS, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct flow_clock c = flow_clock(then_ns + rows[i].idle_ns, rows[i].age_ns);
		struct flow f = {0};

		gauge_set(&f.last, flow_pack_last(rows[i].expected, rows[i].flags, then_ns));
		assert_int_equal(flow_is_next(&f, rows[i].psn, &c), rows[i].next);
	}
}

// ---- entries

static void a_flow_lives_until_it_was_idle_for_its_age(void **state)
{
	struct fixture *x = open_table(16, SECOND_NS);
	// The time that is kept is up to 4 us old.
	const uint64_t then_ns = START_NS / 4096 * 4096;
	enum flow_news news;
	uint32_t id, again, generation;

	(void)state;
	id = take(x, 5, then_ns, &news);
	assert_int_equal(news, FLOW_BEGUN);
	generation = flow_generation(&x->t.flows[id]);
	hear(x, 5, then_ns);
	assert_true(lives(x, 5, then_ns + SECOND_NS - 1));
	assert_false(lives(x, 5, then_ns + SECOND_NS));
	assert_int_equal(take(x, 5, then_ns + SECOND_NS - 1, &news), id);
	assert_int_equal(news, FLOW_AS_BEFORE);
	assert_int_equal(x->n_gone, 0);
	// Dead when it is found: begun anew where it was.
	again = take(x, 5, then_ns + SECOND_NS, &news);
	assert_int_equal(again, id);
	assert_int_equal(news, FLOW_BEGUN);
	assert_int_equal(x->n_gone, 1);
	assert_int_equal(x->gone[0], id);
	assert_int_equal(ctr_get(&x->t.flows[id].packets), 0);
	assert_int_equal(flow_generation(&x->t.flows[id]), generation + 2);
	assert_int_equal(ctr_get(&x->t.made), 2);
	assert_int_equal(ctr_get(&x->t.aged), 1);
	assert_int_equal(gauge_get(&x->t.used), 1);
	close_table(x);
}

static void a_flow_without_room_costs_no_sweep_of_a_large_table(void **state)
{
	enum { N = 4096 };
	struct fixture *x = open_table(N, SECOND_NS);

	(void)state;
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (uint32_t qp = 0; qp < N; qp++)
		hear(x, qp, START_NS);
	hear(x, N, START_NS + 10 * (uint64_t)SECOND_NS);
	assert_in_range(x->n_gone, 1, 256);
	assert_int_equal(ctr_get(&x->t.refused), 0);
	close_table(x);
}

static void a_full_table_refuses_new_flows_and_keeps_those_that_live(void **state)
{
	enum { N = 64 };
	struct fixture *x = open_table(N, SECOND_NS);

	(void)state;
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (uint32_t qp = 0; qp < N + 100; qp++)
		hear(x, qp, START_NS);
	assert_int_equal(gauge_get(&x->t.used), N);
	assert_int_equal(ctr_get(&x->t.refused), 100);
	assert_int_equal(x->n_gone, 0);
	for (uint32_t qp = 0; qp < N + 100; qp++)
		assert_int_equal(lives(x, qp, START_NS), qp < N);
	// Half of them go on; the others make room as they are found to be old, not before.
	for (uint32_t qp = 0; qp < N; qp += 2)
		hear(x, qp, START_NS + SECOND_NS);
	hear(x, 1000, START_NS + SECOND_NS - 1);
	assert_int_equal(ctr_get(&x->t.refused), 101);
	for (uint32_t qp = 2000; qp < 2000 + N; qp++)
		hear(x, qp, START_NS + 2 * (uint64_t)SECOND_NS - 5000);
	assert_int_equal(gauge_get(&x->t.used), N);
	for (uint32_t qp = 0; qp < N; qp++)
		assert_int_equal(lives(x, qp, START_NS + 2 * (uint64_t)SECOND_NS - 5000),
				 qp % 2 == 0);
	close_table(x);
}

// ---- shares

static uint64_t used(const struct fixture *x, unsigned port)
{
	return gauge_get(&x->t.ports[port].used);
}

static void on_evicted(void *arg, const struct flow_key *k, uint64_t now_ns)
{
	struct fixture *x = arg;

	assert_int_equal(flow_map_find(&x->t.map, k, flow_hash_of(&x->t.map, k)), FLOW_NONE);
	assert_true(now_ns >= START_NS);
	x->n_evicted++;
}

// A flood of port 0, and flows of port 1 that begin before and after.
static void a_flood_of_one_port_leaves_the_others_their_share(void **state)
{
	enum { N = 64, SHARE = N / 4, BEFORE = 5, FLOOD = 1000 };
	struct fixture *x = open_table(N, SECOND_NS);
	uint64_t now_ns = START_NS;

	(void)state;
	flow_table_set_ports(&x->t, 4);
	x->hooks.evicted = on_evicted;
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (uint32_t qp = 0; qp < BEFORE; qp++)
		hear_at(x, qp, 1, now_ns);
	for (uint32_t qp = 0; qp < FLOOD; qp++)
		hear_at(x, 10000 + qp, 0, now_ns += 5000);
	assert_int_equal(used(x, 0), N - BEFORE); // free room is anybody's
	assert_int_equal(ctr_get(&x->t.ports[0].refused), FLOOD - (N - BEFORE));
	assert_int_equal(x->n_evicted, 0);
	for (uint32_t qp = BEFORE; qp < SHARE + 10; qp++)
		hear_at(x, qp, 1, now_ns += 5000);
	assert_int_equal(used(x, 1), SHARE);
	assert_int_equal(used(x, 0), N - SHARE);
	for (uint32_t qp = 0; qp < SHARE + 10; qp++)
		assert_int_equal(lives(x, qp, now_ns), qp < SHARE);
	assert_int_equal(ctr_get(&x->t.ports[0].evicted), SHARE - BEFORE);
	assert_int_equal(x->n_evicted, SHARE - BEFORE);
	assert_int_equal(ctr_get(&x->t.ports[1].refused), 10);
	assert_int_equal(ctr_get(&x->t.ports[1].evicted), 0);
	// Still no flow of the flood takes a place of port 1.
	for (uint32_t qp = 0; qp < FLOOD; qp++)
		hear_at(x, 20000 + qp, 0, now_ns += 500);
	assert_int_equal(used(x, 1), SHARE);
	assert_int_equal(gauge_get(&x->t.used), N);
	assert_int_equal(x->t.map.n, N);
	assert_int_equal(ctr_get(&x->t.made) - ctr_get(&x->t.aged) - x->n_evicted, N);
	close_table(x);
}

static void ports_that_differ_by_256_have_shares_of_their_own(void **state)
{
	struct fixture *x = open_table(64, SECOND_NS);

	(void)state;
	flow_table_set_ports(&x->t, 512);
	for (uint32_t qp = 0; qp < 7; qp++)
		hear_at(x, qp, qp < 3 ? 44 : 300, START_NS);
	assert_int_equal(used(x, 44), 3);
	assert_int_equal(used(x, 300), 4);
	close_table(x);
}

static void a_way_is_packed_and_comes_out_again(void **state)
{
	static const struct flow_way ways[] = {
		{.in_port = 300, .out_port = 511, .queue = 7, .cls = 6, .kind = FLOW_UDP},
		{.in_port = 44, .out_port = FLOW_NO_PORT, .queue = 1, .cls = 0, .kind = FLOW_DATA},
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct flow_way w = flow_way_of(flow_pack_way(ways[i]));

		assert_int_equal(w.in_port, ways[i].in_port);
		assert_int_equal(w.out_port, ways[i].out_port);
		assert_int_equal(w.queue, ways[i].queue);
		assert_int_equal(w.cls, ways[i].cls);
		assert_int_equal(w.kind, ways[i].kind);
	}
}

// The idlest of those looked at goes; here all are.
static void the_idlest_flow_of_the_flood_loses_its_place(void **state)
{
	enum { N = 16 };
	struct fixture *x = open_table(N, SECOND_NS);

	(void)state;
	flow_table_set_ports(&x->t, 2);
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (uint32_t qp = 0; qp < N; qp++)
		hear_at(x, qp, 0, START_NS + 10000 * (qp == 7 ? 0 : 1 + qp));
	hear_at(x, 100, 1, START_NS + 1000000);
	for (uint32_t qp = 0; qp < N; qp++)
		assert_int_equal(lives(x, qp, START_NS + 1000000), qp != 7);
	assert_true(lives(x, 100, START_NS + 1000000));
	close_table(x);
}

// A place is its port's whatever became of the flow: aged, begun anew, moved.
static void the_use_of_ports_sums_up_to_the_tables(void **state)
{
	enum { N = 64, FLOWS = 90, STEPS = 5000 };
	struct fixture *x = open_table(N, SECOND_NS / 10);
	uint64_t now_ns = START_NS;

	(void)state;
	flow_table_set_ports(&x->t, 3);
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (unsigned s = 0; s < STEPS; s++) {
		uint32_t qp = s * s % FLOWS;

		hear_at(x, qp, (uint8_t)(qp % 3 + (s / 1000) % 2), now_ns += 1000000);
		flow_age(&x->t, now_ns, 8, &x->hooks);
		assert_int_equal(used(x, 0) + used(x, 1) + used(x, 2) + used(x, 3),
				 gauge_get(&x->t.used));
	}
	flow_age(&x->t, now_ns + 10ull * SECOND_NS, 10 * N, &x->hooks);
	for (unsigned p = 0; p < 4; p++)
		assert_int_equal(used(x, p), 0);
	close_table(x);
}

// However often it is called, and with whatever bound, once it has caught up the same flows are
// left and the same are gone.
static void ageing_does_not_depend_on_how_often_it_is_called(void **state)
{
	enum { N = 37, FLOWS = 30, STEPS = 400 };
	static const uint64_t every_ns[] = {1, 7, 50, STEPS};
	uint64_t aged[4], used[4], made[4];

	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		const uint64_t unit_ns = 1000003; // some 1 ms, of an age of 100
		struct fixture *x = open_table(N, 100 * unit_ns);

		flow_age(&x->t, START_NS, 1, &x->hooks);
		for (uint64_t s = 1; s <= STEPS; s++) {
			uint64_t now_ns = START_NS + s * unit_ns;
			bool heard = s % 11 == 0;

			if (s % every_ns[v] == 0 || heard)
				flow_age(&x->t, now_ns, v == 1 ? 3 : 1000, &x->hooks);
			if (heard && s < STEPS - 60)
				hear(x, (uint32_t)(s * s) % FLOWS, now_ns);
		}
		for (unsigned i = 0; i < N; i++)
			flow_age(&x->t, START_NS + STEPS * unit_ns, 3, &x->hooks);
		aged[v] = ctr_get(&x->t.aged);
		used[v] = gauge_get(&x->t.used);
		made[v] = ctr_get(&x->t.made);
		assert_int_equal(made[v] - aged[v], used[v]);
		close_table(x);
	}
	assert_true(aged[0] > 0);
	for (unsigned v = 1; v < 4; v++) {
		assert_int_equal(aged[v], aged[0]);
		assert_int_equal(used[v], used[0]);
		assert_int_equal(made[v], made[0]);
	}
}

static void one_call_of_ageing_looks_at_no_more_entries_than_it_may(void **state)
{
	enum { N = 100 };
	struct fixture *x = open_table(N, SECOND_NS);

	(void)state;
	flow_age(&x->t, START_NS, N, &x->hooks);
	for (uint32_t qp = 0; qp < N; qp++)
		hear(x, qp, START_NS);
	for (unsigned i = 1; i <= 2 * N / 5; i++) {
		flow_age(&x->t, START_NS + 60ull * SECOND_NS, 5, &x->hooks);
		assert_in_range(x->n_gone, 0, 5 * i);
	}
	assert_int_equal(x->n_gone, N);
	assert_int_equal(gauge_get(&x->t.used), 0);
	assert_int_equal(x->t.map.n, 0);
	// All places can be had again.
	for (uint32_t qp = 0; qp < N; qp++)
		hear(x, qp, START_NS + 60ull * SECOND_NS);
	assert_int_equal(gauge_get(&x->t.used), N);
	assert_int_equal(ctr_get(&x->t.refused), 0);
	close_table(x);
}

static void another_age_holds_at_once(void **state)
{
	struct fixture *x = open_table(16, 0);

	(void)state;
	flow_age(&x->t, START_NS, 16, &x->hooks);
	hear(x, 5, START_NS);
	assert_true(lives(x, 5, START_NS + 3ull * SECOND_NS - 5000)); // the default
	flow_table_set_age(&x->t, SECOND_NS / 2, START_NS);
	assert_true(lives(x, 5, START_NS + SECOND_NS / 2 - 5000));
	assert_false(lives(x, 5, START_NS + SECOND_NS / 2));
	flow_age(&x->t, START_NS + SECOND_NS, 64, &x->hooks);
	assert_int_equal(gauge_get(&x->t.used), 0);
	close_table(x);
}

// Its time has 37 bits of 4 us: it wraps after 6.5 days.
static void time_may_wrap(void **state)
{
	struct fixture *x = open_table(16, SECOND_NS);
	const uint64_t wrap_ns = 1ull << (64 - FLOW_TIME_BIT + FLOW_TIME_SHIFT);
	const uint64_t times[] = {wrap_ns - 1, wrap_ns, 5 * wrap_ns + 12345678, UINT64_MAX / 2};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t qp = 5 + i;

		hear(x, qp, times[i]);
		assert_true(lives(x, qp, times[i] + SECOND_NS - 5000));
		assert_false(lives(x, qp, times[i] + SECOND_NS));
	}
	close_table(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psns_are_followed),
		cmocka_unit_test(a_rewind_behind_what_is_acknowledged_is_another_life),
		cmocka_unit_test(a_frame_whose_psn_is_of_another_space_is_only_counted),
		cmocka_unit_test(a_quick_count_needs_psn_flags_and_a_flow_that_was_not_silent),
		cmocka_unit_test(a_flow_lives_until_it_was_idle_for_its_age),
		cmocka_unit_test(a_full_table_refuses_new_flows_and_keeps_those_that_live),
		cmocka_unit_test(a_flood_of_one_port_leaves_the_others_their_share),
		cmocka_unit_test(ports_that_differ_by_256_have_shares_of_their_own),
		cmocka_unit_test(a_way_is_packed_and_comes_out_again),
		cmocka_unit_test(the_idlest_flow_of_the_flood_loses_its_place),
		cmocka_unit_test(the_use_of_ports_sums_up_to_the_tables),
		cmocka_unit_test(a_flow_without_room_costs_no_sweep_of_a_large_table),
		cmocka_unit_test(ageing_does_not_depend_on_how_often_it_is_called),
		cmocka_unit_test(one_call_of_ageing_looks_at_no_more_entries_than_it_may),
		cmocka_unit_test(another_age_holds_at_once),
		cmocka_unit_test(time_may_wrap),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
