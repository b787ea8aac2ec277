// SPDX-License-Identifier: Apache-2.0
// What a new policy does to a running switch besides its thresholds: static addresses follow the
// file. That no frame is lost and the books stay right under any sequence of policies is the
// business of test_random.c; of pauses, test_pfc.c.
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

#define PORTS(more)                                                                                \
	"switch: {name: rl}\n"                                                                     \
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, mtu: 1500}\n" more
#define FDB(mac, port) "{mac: \"02:00:00:00:00:" mac "\", port: " port "}"

static const char none[] = PORTS("");
static const char two_on_p2[] = PORTS("fdb: [" FDB("02", "p2") ", " FDB("03", "p3") "]\n");
static const char two_on_p4[] = PORTS("fdb: [" FDB("02", "p4") "]\n");
static const char with_vlans[] =
	PORTS("vlans: [{id: 1}]\nfdb: [" FDB("02", "p2") ", " FDB("03", "p3") "]\n");

struct seen {
	unsigned n_static, n_learnt;
	unsigned port_of_2; // of the static entry; 99: none
};

static void see(void *arg, const struct fdb_row *row)
{
	struct seen *s = arg;

	s->n_static += row->is_static;
	s->n_learnt += !row->is_static;
	if (row->is_static && row->mac[5] == 2)
		s->port_of_2 = row->port;
}

static struct seen look(struct bench *b)
{
	struct seen s = {.port_of_2 = 99};

	switch_fdb_walk(b->sw, 0, see, &s);
	return s;
}

static void settle(struct bench *b)
{
	bench_run(b, 10000);
	bench_control(b);
	b->n_events = 0;
}

// One frame from host 1 to host 2; how many frames each of the hosts 2 to 4 has got since.
static void expect_frame_at(struct bench *b, unsigned at2, unsigned at3, unsigned at4)
{
	const struct bench_frame f = {.to = 1, .len = 200};
	const unsigned want[3] = {at2, at3, at4};
	unsigned before[3];

	for (unsigned i = 0; i < 3; i++)
		before[i] = b->host[i + 1].n_rx;
	bench_inject(b, 0, &f, 1);
	settle(b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b->host[i + 1].n_rx - before[i], want[i]);
}

static void static_addresses_come_move_and_go_with_the_policy(void **state)
{
	struct bench *b = bench_open(none, 0);

	(void)state;
	expect_frame_at(b, 1, 1, 1);
	bench_publish(b, two_on_p2);
	assert_int_equal(look(b).n_static, 2);
	expect_frame_at(b, 1, 0, 0);
	bench_publish(b, two_on_p4);
	expect_frame_at(b, 0, 0, 1);
	assert_int_equal(look(b).n_static, 1);
	assert_int_equal(look(b).port_of_2, 3);
	bench_publish(b, none);
	settle(b);
	assert_int_equal(look(b).n_static, 0);
	expect_frame_at(b, 1, 1, 1);
	bench_close(b);
}

// Static entries of VLAN 1 are not those of a bridge without VLANs.
static void a_frame_finds_the_addresses_of_its_own_policy(void **state)
{
	struct bench *b = bench_open(two_on_p2, 0);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		expect_frame_at(b, 1, 0, 0);
		bench_publish(b, i % 2 == 0 ? with_vlans : two_on_p2);
	}
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->replicated), 0);
	settle(b);
	assert_int_equal(look(b).n_static, 2);
	bench_close(b);
}

// What a worker may still look up goes when its loop is over, not before.
static void addresses_of_the_policy_before_go_after_its_grace(void **state)
{
	struct bench *b = bench_open(two_on_p2, 0);

	(void)state;
	bench_publish(b, none);
	assert_int_equal(look(b).n_static, 2);
	bench_control(b);
	assert_int_equal(look(b).n_static, 0);
	bench_close(b);
}

static void a_learnt_address_becomes_static_where_the_policy_says(void **state)
{
	const struct bench_frame from_2 = {.to = 0, .len = 100};
	struct bench *b = bench_open(none, 0);

	(void)state;
	bench_inject(b, 1, &from_2, 1);
	settle(b);
	assert_int_equal(look(b).n_learnt, 1);
	bench_publish(b, two_on_p4);
	bench_inject(b, 1, &from_2, 1); // it speaks from port 2 all the same
	settle(b);
	assert_int_equal(look(b).port_of_2, 3);
	expect_frame_at(b, 0, 0, 1);
	bench_close(b);
}

static void fill_table(struct bench *b)
{
	uint8_t data[64];
	uint16_t len = bench_build(data, 3, &(struct bench_frame){.to = 0, .len = 64});
	unsigned known = 0;

	for (unsigned i = 0;; i++) {
		unsigned before = known;

		for (unsigned k = 0; k < 1000; k++) {
			const unsigned n = i * 1000 + k;

			data[8] = (uint8_t)(n >> 16);
			data[9] = (uint8_t)(n >> 8);
			data[10] = (uint8_t)n;
			bench_send_raw(b, 3, data, len);
		}
		bench_run(b, 100000);
		bench_control(b);
		b->n_events = 0;
		known = look(b).n_learnt;
		if (known == before)
			return;
	}
}

enum { MANY_STATIC = 3000 }; // more than the table has spare places

static const char *many_on_p2(void)
{
	static char text[200000];
	size_t n = (size_t)snprintf(text, sizeof(text), "%sfdb:\n", none);

	for (unsigned i = 0; i < MANY_STATIC; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "  - {mac: \"02:00:00:01:%02x:%02x\", port: p2}\n", i >> 8,
				      i & 0xff);
	return text;
}

static void a_full_table_makes_room_for_static_addresses(void **state)
{
	struct bench *b = bench_open(none, 0);
	unsigned learnt;

	(void)state;
	fill_table(b);
	learnt = look(b).n_learnt;
	assert_int_equal(learnt, 16384);
	bench_publish(b, two_on_p2);
	assert_int_equal(look(b).n_static, 2);
	assert_int_equal(look(b).n_learnt, learnt - 2);
	expect_frame_at(b, 1, 0, 0);
	bench_publish(b, many_on_p2());
	for (unsigned i = 0; i < 4; i++)
		settle(b);
	assert_int_equal(look(b).n_static, MANY_STATIC);
	// Two made room for the static addresses of the policy before, which are gone.
	assert_int_equal(look(b).n_learnt, learnt - MANY_STATIC - 2);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(static_addresses_come_move_and_go_with_the_policy),
		cmocka_unit_test(a_frame_finds_the_addresses_of_its_own_policy),
		cmocka_unit_test(addresses_of_the_policy_before_go_after_its_grace),
		cmocka_unit_test(a_learnt_address_becomes_static_where_the_policy_says),
		cmocka_unit_test(a_full_table_makes_room_for_static_addresses),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
