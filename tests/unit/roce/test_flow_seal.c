// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/roce/flow_seal.h"
#include "tests/unit/roce/pairing_bench.h"

enum { SEED = 7, QP = 0x123456, START_NS = 5000000 };

static const struct seal_facts facts = {
	.eth = {0x0102030405060708, 0x1112131415161718},
	.inner_tag = 0x81006123,
	.udp_sport = 50000,
	.tci = 3 << 13 | 77,
	.pkey = 0xffff,
	.in_port = 5,
};

static void check_each_bit(void *fact, size_t n, struct seal_facts *f)
{
	uint8_t *p = fact;

	for (size_t i = 0; i < 8 * n; i++) {
		p[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_not_equal(seal_of(SEED, f), seal_of(SEED, &facts));
		p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(seal_of(SEED, f), seal_of(SEED, &facts));
}

static void every_bit_of_every_fact_is_sealed(void **state)
{
	struct seal_facts f = facts;

	(void)state;
	check_each_bit(f.eth, sizeof(f.eth), &f);
	check_each_bit(&f.inner_tag, sizeof(f.inner_tag), &f);
	check_each_bit(&f.udp_sport, sizeof(f.udp_sport), &f);
	check_each_bit(&f.tci, sizeof(f.tci), &f);
	check_each_bit(&f.pkey, sizeof(f.pkey), &f);
	for (f.kind = 1; f.kind < 4; f.kind++)
		assert_int_not_equal(seal_of(SEED, &f), seal_of(SEED, &facts));
	assert_int_not_equal(seal_of(SEED + 1, &facts), seal_of(SEED, &facts));
}

// Whatever the rest is.
static void the_port_of_arrival_is_whole_in_a_seal(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct seal_facts f = facts;
		uint32_t seal;

		f.eth[0] += i;
		f.in_port = (port_no_t)(i % 512);
		seal = seal_of(SEED, &f);
		assert_int_equal(seal >> SEAL_HASH_BITS, 512 + i % 512);
		assert_int_equal(seal_of_port(f.in_port) >> SEAL_HASH_BITS, 512 + i % 512);
		assert_int_equal(seal >> (64 - FLOW_KEY_BITS), 0);
		assert_int_not_equal(seal, SEAL_NEVER);
	}
}

static void a_seal_closes_on_the_frames_it_was_made_of_and_no_others(void **state)
{
	const struct flow_key key = flow_key_v4(0x0a000001, 0x0a000002, QP, KEY_FLOW);
	struct seal_facts changed = facts;
	struct flow f = {.key = key};
	uint32_t seal = seal_of(SEED, &facts);
	struct flow_key good = seal_key(key, seal), never = seal_key(key, SEAL_NEVER);
	struct flow_key other, neighbour;

	(void)state;
	changed.udp_sport++;
	other = seal_key(key, seal_of(SEED, &changed));
	neighbour = seal_key(flow_key_v4(0x0a000001, 0x0a000002, QP + 1, KEY_FLOW), seal);
	assert_false(seal_unbroken(&f, &good)); // open yet
	assert_false(seal_unbroken(&f, &never));
	seal_close(&f, seal);
	assert_true(seal_unbroken(&f, &good));
	assert_false(seal_unbroken(&f, &other));
	assert_false(seal_unbroken(&f, &neighbour));
	assert_false(seal_unbroken(&f, &never));
	seal_close(&f, key_seal(&other));
	assert_true(seal_unbroken(&f, &other));
	assert_false(seal_unbroken(&f, &good));
	seal_open(&f);
	assert_false(seal_unbroken(&f, &other));
	assert_true(flow_key_same(&f.key, &key));
}

static void a_departure_is_sealed_apart_from_the_arrival_and_the_count(void **state)
{
	const struct flow_key key = flow_key_v4(0x0a000001, 0x0a000002, QP, KEY_FLOW);
	uint64_t way = seal_departure(0, 0, 0), last = seal_departure(511, 7, 7);
	struct flow f = {.key = key, .packets = 41};

	(void)state;
	assert_false(seal_departed(&f, way));
	seal_close_departure(&f, way);
	assert_true(seal_departed(&f, way));
	assert_false(seal_departed(&f, seal_departure(1, 0, 0)));
	assert_false(seal_departed(&f, seal_departure(256, 0, 0)));
	assert_false(seal_departed(&f, seal_departure(0, 1, 0)));
	assert_false(seal_departed(&f, seal_departure(0, 0, 1)));
	seal_close(&f, 1000);
	assert_true(seal_departed(&f, way));
	seal_close_departure(&f, last);
	assert_true(seal_departed(&f, last));
	assert_false(seal_departed(&f, way));
	assert_int_equal(key_seal(&f.key), 1000);
	assert_int_equal(flow_packets(&f), 41);
}

static void a_sealed_entry_is_found_by_its_key_and_begins_anew_without_a_seal(void **state)
{
	const struct flow_key key = flow_key_v4(0x0a000001, 0x0a000002, QP, KEY_FLOW);
	struct flow_packet p = {.psn = 9, .n_psns = 1, .len = 100};
	struct flow_key sealed;
	enum flow_news news;
	const struct flow_clock clock = flow_clock(START_NS, 1000000);
	struct flow_table t;
	uint32_t id;
	void *mem = aligned_alloc(64, flow_table_bytes(8));

	(void)state;
	assert_non_null(mem);
	memset(mem, 0, flow_table_bytes(8));
	flow_table_init(&t, mem, 8, 0, SEED);
	id = flow_take(&t, &key, flow_hash_of(&t.map, &key),
		       (struct flow_arrival){START_NS, 0}, NULL, &news);
	assert_int_equal(news, FLOW_BEGUN);
	flow_count(&t.flows[id], &p, START_NS);
	seal_close(&t.flows[id], seal_of(SEED, &facts));
	seal_close_departure(&t.flows[id], seal_departure(3, 4, 4));
	sealed = t.flows[id].key;
	assert_false(flow_key_same(&sealed, &key));
	assert_int_equal(flow_hash_of(&t.map, &sealed), flow_hash_of(&t.map, &key));
	assert_int_equal(flow_find(&t, &key, START_NS), id);
	assert_int_equal(flow_find(&t, &sealed, START_NS), id);
	// The departure's seal is no packets.
	assert_true(flow_is_next(&t.flows[id], 10, &clock));
	flow_count_next(&t.flows[id], 10, 1, &clock);
	assert_int_equal(flow_packets(&t.flows[id]), 2);
	assert_true(seal_departed(&t.flows[id], seal_departure(3, 4, 4)));
	assert_int_equal(flow_highest(&t.flows[id]), 10);
	flow_begin_anew(&t, id, (struct flow_arrival){START_NS, 0}, NULL);
	assert_true(flow_key_same(&t.flows[id].key, &key));
	assert_false(seal_departed(&t.flows[id], seal_departure(3, 4, 4)));
	assert_int_equal(flow_packets(&t.flows[id]), 0);
	free(mem);
}

// It comes back to send again what nobody had answered. An answer to more than was seen of this
// life may be to its former one. The entry was sealed when it left, and is not when it comes back.
static void a_flow_that_left_unanswered_is_not_ruled_out_when_it_comes_back(void **state)
{
	static const struct {
		uint32_t answered; // of ten packets
		uint64_t ruled_out;
	} rows[] = {{9, 0}, {10, 1}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bench b;
		uint32_t id;

		bench_open(&b, 64, 0, 1);
		talk(&b, Q, SENDER, 0, rows[i].answered);
		for (uint32_t psn = rows[i].answered; psn < 10; psn++)
			data(&b, Q, psn);
		b.now_ns += 4000 * (uint64_t)MS; // older than it gets
		id = data(&b, Q, 9);
		assert_pair(&b, id, PAIR_NONE, 0);
		ack(&b, OTHER_SENDER, 12);
		assert_int_equal(count_of(&b, eliminations), rows[i].ruled_out);
		bench_close(&b);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_of_every_fact_is_sealed),
		cmocka_unit_test(the_port_of_arrival_is_whole_in_a_seal),
		cmocka_unit_test(a_seal_closes_on_the_frames_it_was_made_of_and_no_others),
		cmocka_unit_test(a_departure_is_sealed_apart_from_the_arrival_and_the_count),
		cmocka_unit_test(a_sealed_entry_is_found_by_its_key_and_begins_anew_without_a_seal),
		cmocka_unit_test(a_flow_that_left_unanswered_is_not_ruled_out_when_it_comes_back),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
