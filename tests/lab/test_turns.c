// SPDX-License-Identifier: Apache-2.0
// Frames of a flow stay in order where the flow turns from mouse to elephant, to neither or back,
// and so from one queue to another (dataplane/elephants.h). Each frame has the number of its flow
// and its own number in it. Its DSCP shows the size by which it left.
#include "tests/lab/bench.h"

#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_flows.h"
#include "tests/lab/router.h"

enum { US = 1000, MS = 1000000, LEN = 1000, LINE_NS = 5 * US, AGE_NS = 200 * US };
enum { TO = 2, UNKNOWN = 0x99, FLOWS = 8, TOKEN_AT = 60, SEEDS = 60 };
enum { QUEUE_PLAIN = 0, QUEUE_ELEPHANTS = 1, QUEUE_MICE = 5 };

struct turns {
	struct bench *b;
	uint8_t to; // last byte of the address that frames are for
	uint8_t dscp; // with which they arrive
	uint32_t next[FLOWS];
};

static void open(struct turns *t)
{
	*t = (struct turns){.to = TO + 1, .b = bench_open(
		 "switch: {name: lab, buffer: {size: 4MB, cell: 256B}, flows: {max: 64},\n"
		 "  elephants: {rate: 100M, bytes: 10KB, age: 200us, end_age: 200us,\n"
		 "              mice_packets: 5}}\n"
		 "ports: [{name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x}]\n"
		 "fdb: [{mac: \"02:00:00:00:00:03\", port: p3},\n"
		 "      {mac: \"02:00:00:00:00:04\", port: p4}]\n"
		 "profiles:\n"
		 "  x:\n"
		 "    classes:\n"
		 "      0: {mice: {class: 5, dscp: 40}, elephants: {class: 1, dscp: 8},\n"
		 "          schedule: {dwrr: 20}}\n"
		 "      1: {schedule: {dwrr: 1}}\n"
		 "      2: {mice: {class: 5, dscp: 40}}\n"
		 "      5: {schedule: strict}\n", 0)};
}

static void send(struct turns *t, unsigned flow, unsigned n)
{
	const struct router_packet k = {.src = "10.0.0.1", .dst = "10.0.0.3",
					.sport = (uint16_t)(5000 + flow), .dport = 80,
					.proto = IP_PROTO_TCP, .len = LEN, .dscp = t->dscp};
	uint8_t frame[FRAME_MAX];
	unsigned from = flow % 2;

	for (unsigned i = 0; i < n; i++) {
		uint16_t len = router_build(frame, from, &k);

		memcpy(frame, (uint8_t[]){2, 0, 0, 0, 0, t->to}, 6);
		frame[TOKEN_AT] = (uint8_t)flow;
		be32_put(frame + TOKEN_AT + 1, ++t->next[flow]);
		bench_send_raw(t->b, from, frame, len);
	}
}

static uint64_t sent(const struct turns *t, unsigned queue)
{
	return ctr_get(&switch_queue_counters(t->b->sw, TO, queue)->tx_packets);
}

// Returns how often a flow turned.
static unsigned check_order(const struct turns *t, unsigned port)
{
	const struct bench_host *h = &t->b->host[port];
	uint32_t last[FLOWS] = {0};
	uint8_t dscp[FLOWS] = {0};
	unsigned turns = 0;

	for (uint32_t i = 0; i < h->n_rx; i++) {
		const uint8_t *d = h->rx[i].data;
		unsigned flow = d[TOKEN_AT];
		uint32_t seq = be32_get(d + TOKEN_AT + 1);

		if (seq <= last[flow])
			fail_msg("port %u, flow %u: frame %u after %u", port + 1, flow, seq,
				 last[flow]);
		turns += last[flow] != 0 && dscp[flow] != d[15] >> 2;
		last[flow] = seq;
		dscp[flow] = d[15] >> 2;
	}
	return turns;
}

// ---- one turn

// The mice wait in a queue that may not send. Later frames would overtake them by the other queue.
static void a_turn_waits_until_the_frames_of_the_flow_have_left(void **state)
{
	struct turns t;

	(void)state;
	open(&t);
	bench_tx(t.b, TO, QUEUE_MICE, false);
	send(&t, 0, 10);
	bench_run(t.b, 20 * US);
	send(&t, 0, 5);
	bench_run(t.b, 20 * US);
	assert_int_equal(t.b->host[TO].n_rx, 0);
	bench_tx(t.b, TO, QUEUE_MICE, true);
	bench_run(t.b, 20 * US);
	assert_int_equal(sent(&t, QUEUE_MICE), 15);
	send(&t, 0, 10);
	bench_run(t.b, 20 * US);
	assert_int_equal(sent(&t, QUEUE_MICE), 15);
	assert_int_equal(sent(&t, QUEUE_ELEPHANTS), 10);
	assert_int_equal(check_order(&t, TO), 1);
	bench_close(t.b);
}

// Class 3 does nothing by size, and the mice of class 2 leave by the same queue: a frame of them is
// no reason to turn.
static void a_frame_of_another_class_turns_nothing(void **state)
{
	static const uint8_t dscps[] = {24, 16};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct turns t;

		open(&t);
		bench_tx(t.b, TO, QUEUE_MICE, false);
		send(&t, 0, 5);
		bench_run(t.b, 20 * US);
		t.dscp = dscps[i];
		send(&t, 0, 1);
		bench_run(t.b, 20 * US);
		t.dscp = 0;
		send(&t, 0, 1);
		bench_run(t.b, 20 * US);
		assert_int_equal(sent(&t, QUEUE_PLAIN), 0);
		bench_tx(t.b, TO, QUEUE_MICE, true);
		bench_run(t.b, MS);
		assert_true(sent(&t, QUEUE_MICE) >= 6);
		bench_close(t.b);
	}
}

// Frames of another flow, of the same account, are still in the queue.
static void a_turn_waits_for_no_other_flow(void **state)
{
	struct turns t;

	(void)state;
	open(&t);
	bench_tx(t.b, TO, -1, false);
	send(&t, 0, 5);
	bench_run(t.b, 20 * US);
	send(&t, 2, 50);
	bench_run(t.b, 60 * US);
	bench_tx(t.b, TO, -1, true);
	bench_run(t.b, 12 * US); // some 15 frames leave
	assert_in_range(sent(&t, QUEUE_MICE), 6, 54);
	send(&t, 0, 1);
	bench_run(t.b, MS);
	assert_int_equal(sent(&t, QUEUE_PLAIN), 1);
	check_order(&t, TO);
	bench_close(t.b);
}

// A pause of the age lets the mice overtake, unless the elephant still waits.
static void a_flowlet_of_mice_does_not_overtake_the_elephant(void **state)
{
	struct turns t;

	(void)state;
	open(&t);
	for (unsigned i = 0; i < 20; i++) {
		send(&t, 0, 1);
		bench_run(t.b, LINE_NS);
	}
	bench_tx(t.b, TO, QUEUE_ELEPHANTS, false);
	send(&t, 0, 1);
	bench_run(t.b, 2 * AGE_NS);
	send(&t, 0, 2);
	bench_run(t.b, 20 * US);
	assert_int_equal(t.b->host[TO].n_rx, 20);
	bench_tx(t.b, TO, QUEUE_ELEPHANTS, true);
	bench_run(t.b, 2 * AGE_NS);
	assert_int_equal(t.b->host[TO].n_rx, 23);
	send(&t, 0, 2);
	bench_run(t.b, 20 * US);
	assert_int_equal(sent(&t, QUEUE_MICE), 7);
	check_order(&t, TO);
	bench_close(t.b);
}

// ---- flows without one way

static void a_flooded_flow_turns_when_no_copy_waits(void **state)
{
	struct turns t;

	(void)state;
	open(&t);
	t.to = UNKNOWN;
	bench_tx(t.b, TO, QUEUE_MICE, false);
	send(&t, 0, 8);
	bench_run(t.b, 20 * US);
	send(&t, 0, 2);
	bench_run(t.b, 20 * US);
	assert_int_equal(t.b->host[3].n_rx, 10);
	bench_tx(t.b, TO, QUEUE_MICE, true);
	bench_run(t.b, 20 * US);
	send(&t, 0, 2);
	bench_run(t.b, 20 * US);
	assert_int_equal(sent(&t, QUEUE_MICE), 10);
	assert_int_equal(check_order(&t, TO), 1);
	assert_int_equal(check_order(&t, 3), 1);
	bench_close(t.b);
}

// The mice wait at the port that the flow does not go to any more.
static void a_flow_with_another_way_turns_when_no_frame_of_its_port_waits(void **state)
{
	struct turns t;

	(void)state;
	open(&t);
	bench_tx(t.b, TO, QUEUE_MICE, false);
	send(&t, 0, 4);
	bench_run(t.b, 20 * US);
	for (unsigned i = 0; i < 3; i++) {
		t.to = i == 0 ? UNKNOWN : 4;
		send(&t, 0, 2);
		bench_run(t.b, 20 * US);
	}
	t.to = TO + 1;
	send(&t, 0, 2);
	bench_run(t.b, 20 * US);
	assert_int_equal(t.b->host[TO].n_rx, 0);
	bench_tx(t.b, TO, QUEUE_MICE, true);
	bench_run(t.b, 20 * US);
	assert_int_equal(t.b->host[TO].n_rx, 8);
	assert_int_equal(t.b->host[3].n_rx, 6);
	check_order(&t, TO);
	send(&t, 0, 1);
	bench_run(t.b, 20 * US);
	assert_int_equal(sent(&t, QUEUE_MICE), 8);
	bench_close(t.b);
}

// The first frames wait in the router. Those that arrive after the answer must not be sent before.
static void frames_that_waited_for_a_neighbour_stay_in_order(void **state)
{
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 3};
	struct turns t = {.b = bench_open(
		"switch: {name: r, buffer: {size: 4MB, cell: 256B}, elephants: {rate: 100M,\n"
		"  bytes: 10KB, age: 200us, end_age: 200us, mice_packets: 3}}\n"
		"ports:\n"
		"  - {name: \"p[1-3]\", device: \"wire:[1-3]\", speed: 10G,\n"
		"     ip: [\"10.0.[1-3].1/24\"], profile: x}\n"
		"profiles:\n"
		"  x: {classes: {0: {mice: {class: 5}}, 5: {schedule: {dwrr: 1}}}}\n", 0)};
	struct router_packet k = {.src = "10.0.1.2", .dst = "10.0.3.2", .sport = 5000, .dport = 80,
				  .proto = IP_PROTO_TCP, .len = LEN};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		uint8_t frame[FRAME_MAX];
		uint16_t len = router_build(frame, 0, &k);

		frame[TOKEN_AT] = 0;
		be32_put(frame + TOKEN_AT + 1, i + 1);
		bench_send_raw(t.b, 0, frame, len);
		bench_run(t.b, LINE_NS);
	}
	bench_tx(t.b, TO, QUEUE_MICE, false);
	router_neighbour(t.b, TO, "10.0.3.2", mac);
	router_settle(t.b);
	bench_tx(t.b, TO, QUEUE_MICE, true);
	router_settle(t.b);
	assert_int_equal(t.b->host[TO].n_rx, 6);
	check_order(&t, TO);
	bench_close(t.b);
}

// ---- any schedule

static unsigned draw_below(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

static void one_event(struct turns *t, struct rng *rng, bool off[N_QUEUES])
{
	static const unsigned waits_ns[] = {0, 100, US, 3 * US, 20 * US, 20 * US, 2 * AGE_NS};
	static const unsigned queues[] = {QUEUE_PLAIN, QUEUE_ELEPHANTS, QUEUE_MICE};
	unsigned q = queues[draw_below(rng, 3)];
	unsigned flow = draw_below(rng, 3) == 0 ? 0 : draw_below(rng, FLOWS);
	bool waits = draw_below(rng, 8) == 0;

	if (draw_below(rng, 8) == 0) {
		off[q] = !off[q];
		bench_tx(t->b, TO, (int)q, !off[q]);
	}
	// Two flows go more than one way.
	t->to = flow < FLOWS - 2 ? TO + 1 : (uint8_t[]){TO + 1, 4, UNKNOWN}[draw_below(rng, 3)];
	send(t, flow, 1 + draw_below(rng, draw_below(rng, 4) ? 3 : 40));
	// Frames that waited in the receive ring are one burst.
	if (waits) {
		switch_hold_admission(t->b->sw, true);
		bench_run(t->b, 20 * US);
		switch_hold_admission(t->b->sw, false);
	}
	bench_run(t->b, waits_ns[draw_below(rng, sizeof(waits_ns) / sizeof(waits_ns[0]))]);
}

static void frames_of_a_flow_stay_in_order_at_every_turn(void **state)
{
	unsigned turns = 0;

	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		bool off[N_QUEUES] = {false};
		struct turns t;
		struct rng rng;

		rng_init(&rng, seed);
		open(&t);
		for (unsigned i = 0; i < 300; i++)
			one_event(&t, &rng, off);
		for (unsigned q = 0; q < N_QUEUES; q++)
			bench_tx(t.b, TO, (int)q, true);
		bench_run(t.b, 10 * MS);
		turns += check_order(&t, TO);
		check_order(&t, 3);
		bench_close(t.b);
	}
	print_message("%u turns\n", turns);
	assert_true(turns > 20 * SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_waits_until_the_frames_of_the_flow_have_left),
		cmocka_unit_test(a_frame_of_another_class_turns_nothing),
		cmocka_unit_test(a_turn_waits_for_no_other_flow),
		cmocka_unit_test(a_flowlet_of_mice_does_not_overtake_the_elephant),
		cmocka_unit_test(a_flooded_flow_turns_when_no_copy_waits),
		cmocka_unit_test(a_flow_with_another_way_turns_when_no_frame_of_its_port_waits),
		cmocka_unit_test(frames_that_waited_for_a_neighbour_stay_in_order),
		cmocka_unit_test(frames_of_a_flow_stay_in_order_at_every_turn),
	};

	return cmocka_run_group_tests_name("turns", tests, bench_eal, NULL);
}
