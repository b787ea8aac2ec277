// SPDX-License-Identifier: Apache-2.0
// What a new policy does to a running switch besides its thresholds: static addresses follow the
// file, and classes that move are paused before. That no frame is lost and the books stay right
// under any sequence of policies is the business of test_random.c; of pauses, test_pfc.c.
#include "dataplane/policy.h"
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
	s->n_learnt += !row->is_static && !row->is_stale;
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

// ---- classes that move

#define CLASSES                                                                                    \
	"    classes:\n"                                                                           \
	"      3: {lossless: true, ingress: {static: 9KB, headroom: 12KB}}\n"                      \
	"      5: {lossless: true, ingress: {static: 9KB, headroom: 12KB}}\n"
#define MOVE(more)                                                                                 \
	"switch: {name: rl, buffer: {size: 1MB}}\n" \
	"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, mtu: 1500}\n" \
	"fdb: [" FDB("01", "p1") ", " FDB("02", "p2") ", " FDB("03", "p3") "]\n" \
	"profiles:\n  default:\n" more CLASSES

enum { WIRE_NS = 1500, BIT3 = 1 << 3, BIT5 = 1 << 5 };

static const char still[] = MOVE("");
static const char swapped[] = MOVE("    class_to_pg: {3: 5, 5: 3}\n");

// Group 3 of port 1 in XOFF with its headroom full, as a PAUSE may leave it. The frames go to port
// 3, which sends nothing.
static void fill_group_3(struct bench *b)
{
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	uint8_t data[1500];
	const struct bench_frame f = {.to = 2, .dscp = 24, .len = 1500};
	uint16_t len = bench_build(data, 0, &f);

	bench_tx(b, 2, -1, false);
	while (gauge_get(&pg->headroom) + 6 <= b->policy->ports[0].pg[3].xoff_cells) {
		bench_send_raw(b, 0, data, len);
		bench_run(b, 10000);
	}
	assert_true(pg_in_xoff(pg));
}

static bool full_rate_to_host_2(struct bench_host *h, struct bench_frame *out)
{
	const uint8_t *dscp = h->source_arg;

	*out = (struct bench_frame){.to = 1, .dscp = *dscp, .len = 1500};
	return true;
}

// Frames of a DSCP arrive at full rate while group 3 is full, and the policy changes.
static struct bench *change_under_way(const char *next, uint8_t *dscp)
{
	struct bench *b = bench_open(still, WIRE_NS);

	fill_group_3(b);
	b->host[0].source = full_rate_to_host_2;
	b->host[0].source_arg = dscp;
	actor_poke(&b->host[0].actor);
	bench_run(b, 50000);
	bench_publish(b, next);
	bench_run(b, 50000);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		assert_int_equal(bench_drops(b, r), 0);
	return b;
}

static void frames_flow_again_and_nothing_is_lost(struct bench *b)
{
	uint32_t n_rx = b->host[1].n_rx;

	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	assert_true(b->host[1].n_rx > n_rx + 500);
	b->host[0].source = NULL;
	bench_run(b, 1000000);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		assert_int_equal(bench_drops(b, r), 0);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

static void a_class_that_moves_into_a_full_group_is_paused_before(void **state)
{
	uint8_t dscp = 40;
	struct bench *b = change_under_way(swapped, &dscp);

	(void)state;
	assert_int_equal(b->change.classes, BIT3 | BIT5);
	assert_int_equal(b->change.n_ports, 3);
	// As long as 12 KB take at 10 Gb/s, and not much longer.
	assert_in_range(b->change.lasted_ns, 9600, 14000);
	// Group 3 is still full, so class 5 stays paused; class 3 was let go.
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, BIT5);
	assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, 1)->stats[3].transitions), 1);
	assert_int_equal(switch_pfc_tx(b->sw, 1)->paused, 0);
	frames_flow_again_and_nothing_is_lost(b);
}

static const char quiet_p1[] =
	"switch: {name: rl, buffer: {size: 1MB}}\n"
	"ports:\n  - {name: p1, device: \"wire:w1\", speed: 10G, mtu: 1500, profile: quiet}\n"
	"  - {name: \"p[2-3]\", device: \"wire:w[2-3]\", speed: 10G, mtu: 1500}\n"
	"fdb: [" FDB("01", "p1") ", " FDB("02", "p2") ", " FDB("03", "p3") "]\n"
	"profiles:\n  quiet:\n    pfc: {tx: off}\n" CLASSES "  default:\n" CLASSES;

// As DCBX changes PFC of one port, off and on again. The other ports go on receiving.
static void a_port_whose_pfc_changes_is_paused_alone(void **state)
{
	uint8_t dscp = 24;
	struct bench *b = bench_open(still, WIRE_NS);

	(void)state;
	b->host[0].source = full_rate_to_host_2;
	b->host[0].source_arg = &dscp;
	actor_poke(&b->host[0].actor);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t paused[3];

		for (unsigned port = 0; port < 3; port++)
			paused[port] = ctr_get(&switch_pfc_tx(b->sw, port)->stats[5].transitions);
		bench_publish(b, i == 0 ? quiet_p1 : still);
		assert_int_equal(b->change.classes, BIT3 | BIT5);
		assert_int_equal(b->change.n_ports, 1);
		assert_in_range(b->change.lasted_ns, 9600, 14000);
		for (unsigned port = 0; port < 3; port++)
			assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, port)->stats[5].transitions),
					 paused[port] + (port == 0));
		bench_run(b, 50000);
	}
	frames_flow_again_and_nothing_is_lost(b);
}

// Its frames under way were sent in a lossy class, which no PAUSE stops.
static void a_dscp_that_turns_lossless_finds_empty_headroom(void **state)
{
	uint8_t dscp = 8;
	struct bench *b = change_under_way(MOVE("    dscp_to_class: {8: 3}\n"), &dscp);

	(void)state;
	assert_int_equal(b->change.classes, BIT3);
	assert_int_equal(b->policy->ports[0].unpaused_pgs, BIT3);
	frames_flow_again_and_nothing_is_lost(b);
}

static void a_reload_that_moves_no_class_is_immediate(void **state)
{
	struct bench *b = bench_open(still, WIRE_NS);

	(void)state;
	fill_group_3(b);
	bench_publish(b, MOVE("    pfc: {quanta: 30000}\n"));
	assert_int_equal(b->change.classes, 0);
	assert_int_equal(b->change.lasted_ns, 0);
	assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, 1)->stats[3].transitions), 0);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	bench_close(b);
}

// A port without a link cannot be paused, and nothing arrives by it.
static void a_port_that_is_down_does_not_keep_the_others_waiting(void **state)
{
	struct bench *b = bench_open(still, WIRE_NS);

	(void)state;
	wire_set_up(b->host[1].wire, false);
	switch_links_changed(b->sw);
	bench_control(b);
	bench_run(b, 1000);
	bench_publish(b, swapped);
	assert_false(b->change.late);
	assert_in_range(b->change.lasted_ns, 9600, 14000);
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
		cmocka_unit_test(a_class_that_moves_into_a_full_group_is_paused_before),
		cmocka_unit_test(a_port_whose_pfc_changes_is_paused_alone),
		cmocka_unit_test(a_dscp_that_turns_lossless_finds_empty_headroom),
		cmocka_unit_test(a_reload_that_moves_no_class_is_immediate),
		cmocka_unit_test(a_port_that_is_down_does_not_keep_the_others_waiting),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
