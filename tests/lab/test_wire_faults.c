// SPDX-License-Identifier: Apache-2.0
// Wires that lose frames, change their speed and delay, are cut: every number exact. A plain sender
// at one end of a wire, a plain receiver at the other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_mbuf.h>

#include "dataplane/packet/pfc_frame.h"
#include "tests/lab/bench.h"

enum { MAX_FRAMES = 40000 };

struct arrival {
	uint64_t t_ns;
	uint32_t number;
};

struct link {
	struct vclock clock;
	struct wire *wire;
	struct rte_mempool *pool;
	unsigned pool_frames;
	struct actor sender, receiver;
	uint32_t len, n_left, n_sent;
	bool control; // what is sent is MAC control
	unsigned n_steps; // of the sender
	struct arrival rx[MAX_FRAMES];
	uint32_t n_rx;
};

static struct rte_mbuf *make(struct link *l)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(l->pool);
	uint8_t *p;

	assert_non_null(m);
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)l->len);
	memset(p, 0, 64);
	if (l->control)
		memcpy(p + 12, (uint8_t[]){0x88, 0x08}, 2);
	memcpy(p + 20, &l->n_sent, sizeof(l->n_sent));
	return m;
}

static uint64_t send_step(void *arg, uint64_t now_ns)
{
	struct link *l = arg;
	struct wire_end *e = wire_end(l->wire, 0);
	struct rte_mbuf *m;

	(void)now_ns;
	l->n_steps++;
	while (l->n_left != 0 && wire_ops.tx_room(e) != 0) {
		m = make(l);
		assert_int_equal(wire_ops.tx(e, &m, 1), 1);
		l->n_left--;
		l->n_sent++;
	}
	return UINT64_MAX;
}

static uint64_t receive_step(void *arg, uint64_t now_ns)
{
	struct link *l = arg;
	struct rte_mbuf *m;

	while (wire_ops.rx(wire_end(l->wire, 1), &m, 1) == 1) {
		struct arrival *a = &l->rx[l->n_rx++];

		assert_true(l->n_rx <= MAX_FRAMES);
		a->t_ns = now_ns;
		memcpy(&a->number, rte_pktmbuf_mtod_offset(m, uint8_t *, 20), sizeof(a->number));
		rte_pktmbuf_free(m);
	}
	return UINT64_MAX;
}

static struct link *open_link(uint64_t speed_bps, uint64_t delay_ns)
{
	struct link *l = calloc(1, sizeof(*l));
	const struct wire_conf conf = {speed_bps, delay_ns};

	assert_non_null(l);
	l->pool = rte_mempool_lookup("bench");
	assert_non_null(l->pool);
	l->pool_frames = rte_mempool_avail_count(l->pool);
	vclock_init(&l->clock);
	assert_int_equal(wire_create(&l->clock, &conf, &l->wire), 0);
	actor_init(&l->sender, &l->clock, send_step, l);
	actor_init(&l->receiver, &l->clock, receive_step, l);
	wire_end_attach(wire_end(l->wire, 0), &l->sender);
	wire_end_attach(wire_end(l->wire, 1), &l->receiver);
	return l;
}

static struct wire_counts counts(const struct link *l)
{
	struct wire_counts c = wire_counts(wire_end(l->wire, 0));

	assert_true(wire_balanced(&c));
	return c;
}

static void close_link(struct link *l)
{
	(void)counts(l);
	wire_destroy(l->wire);
	vclock_fini(&l->clock);
	assert_int_equal(rte_mempool_avail_count(l->pool), l->pool_frames);
	free(l);
}

static void run(struct link *l, uint64_t for_ns)
{
	assert_int_equal(vclock_run_until(&l->clock, l->clock.now_ns + for_ns), 0);
}

// n frames of len bytes from now on, each as soon as the line is free.
static void send(struct link *l, uint32_t n, uint32_t len)
{
	l->n_left = n;
	l->len = len;
	actor_poke(&l->sender);
}

// ---- losses

static void every_nth_frame_is_lost_and_takes_its_time(void **state)
{
	const struct wire_loss loss = {.every_nth = 3};
	struct link *l = open_link(8000000000, 100);
	struct wire_counts c;

	(void)state;
	wire_set_loss(wire_end(l->wire, 0), &loss);
	send(l, 10, 976); // 1000 ns each
	run(l, 20000);
	assert_int_equal(l->n_rx, 7);
	for (unsigned i = 0; i < 7; i++) {
		uint32_t number = i + i / 2; // without 2, 5, 8

		assert_int_equal(l->rx[i].number, number);
		assert_int_equal(l->rx[i].t_ns, (number + 1) * 1000 + 100);
	}
	c = counts(l);
	assert_int_equal(c.frames, 10);
	assert_int_equal(c.bytes, 9760);
	assert_int_equal(c.delivered, 7);
	assert_int_equal(c.lost[WIRE_LOST_FAULT], 3);
	assert_int_equal(c.busy_ns, 10000);

	wire_set_loss(wire_end(l->wire, 0), NULL);
	send(l, 10, 976);
	run(l, 20000);
	assert_int_equal(l->n_rx, 17);
	close_link(l);
}

static void one_direction_loses_and_the_other_does_not(void **state)
{
	const struct wire_loss loss = {.every_nth = 1};
	struct link *l = open_link(8000000000, 100);

	(void)state;
	wire_set_loss(wire_end(l->wire, 1), &loss);
	send(l, 10, 976);
	run(l, 20000);
	assert_int_equal(l->n_rx, 10);
	close_link(l);
}

// The numbers of the frames that a loss with this seed lets through.
static uint32_t survivors(const struct wire_loss *loss, uint32_t *numbers)
{
	struct link *l = open_link(400000000000, 0);
	uint32_t n;

	wire_set_loss(wire_end(l->wire, 0), loss);
	send(l, MAX_FRAMES, 64);
	run(l, 1000000);
	n = l->n_rx;
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = l->rx[i].number;
	assert_int_equal(counts(l).lost[WIRE_LOST_FAULT], MAX_FRAMES - n);
	close_link(l);
	return n;
}

static void chance_loses_its_share_and_the_same_seed_the_same_frames(void **state)
{
	static uint32_t a[MAX_FRAMES], b[MAX_FRAMES];
	struct wire_loss loss = {.chance_ppb = 250000000, .seed = 1};
	uint32_t n = survivors(&loss, a);

	(void)state;
	// 30,000 of 40,000 with a standard deviation of 87: six of them either way.
	assert_in_range(n, 30000 - 520, 30000 + 520);
	assert_int_equal(survivors(&loss, b), n);
	assert_memory_equal(a, b, n * sizeof(*a));
	loss.seed = 2;
	assert_true(survivors(&loss, b) != n || memcmp(a, b, n * sizeof(*a)) != 0);
	loss.chance_ppb = WIRE_CERTAIN_PPB;
	assert_int_equal(survivors(&loss, b), 0);
	loss.chance_ppb = 0;
	assert_int_equal(survivors(&loss, b), MAX_FRAMES);
}

static void only_frames_that_are_eligible_are_counted_and_lost(void **state)
{
	static const struct {
		struct wire_loss loss;
		uint32_t len;
		bool control;
		unsigned lost; // of four
	} t[] = {
		{{.every_nth = 2}, 64, false, 2},
		{{.every_nth = 2}, 64, true, 2}, // MAC control takes the same wire
		{{.every_nth = 2, .spares_control = true}, 64, true, 0},
		{{.every_nth = 2, .spares_control = true}, 64, false, 2},
		{{.every_nth = 2, .longer_than_bytes = 64}, 64, false, 0},
		{{.every_nth = 2, .longer_than_bytes = 63}, 64, false, 2},
		{{.every_nth = 2, .shorter_than_bytes = 64}, 64, false, 0},
		{{.every_nth = 2, .shorter_than_bytes = 65}, 64, false, 2},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct link *l = open_link(10000000000, 0);

		wire_set_loss(wire_end(l->wire, 0), &t[i].loss);
		l->control = t[i].control;
		send(l, 4, t[i].len);
		run(l, 10000);
		assert_int_equal(counts(l).lost[WIRE_LOST_FAULT], t[i].lost);
		close_link(l);
	}
}

static void the_nth_is_counted_among_the_eligible(void **state)
{
	const struct wire_loss loss = {.every_nth = 2, .longer_than_bytes = 100};
	struct link *l = open_link(8000000000, 0);

	(void)state;
	wire_set_loss(wire_end(l->wire, 0), &loss);
	for (unsigned i = 0; i < 8; i++) {
		send(l, 1, i % 2 == 0 ? 976 : 76); // 0, 2, 4, 6 are long
		run(l, 2000);
	}
	assert_int_equal(l->n_rx, 6);
	assert_int_equal(l->rx[2].number, 3); // without 2
	assert_int_equal(l->rx[4].number, 5);
	assert_int_equal(l->rx[5].number, 7); // without 6
	close_link(l);
}

// ---- speed and delay

static void a_frame_on_the_wire_ends_at_the_speed_it_began_with(void **state)
{
	struct link *l = open_link(8000000000, 50);

	(void)state;
	send(l, 3, 976);
	run(l, 500); // the first is half out
	wire_set_speed(l->wire, 4000000000);
	run(l, 9500);
	assert_int_equal(l->n_rx, 3);
	assert_int_equal(l->rx[0].t_ns, 1000 + 50);
	assert_int_equal(l->rx[1].t_ns, 1000 + 2000 + 50);
	assert_int_equal(l->rx[2].t_ns, 1000 + 4000 + 50);
	assert_int_equal(counts(l).busy_ns, 5000);
	// The ports are not told.
	assert_int_equal(wire_facts(wire_end(l->wire, 0), (uint8_t[6]){0}).speed_bps, 8000000000);
	assert_int_equal(wire_speed(l->wire), 4000000000);
	close_link(l);
}

// Each frame takes 6.72 ns, 22.4 ns or 1.68 ns; rounded each time, some 7,000 ns would be too much.
static void no_remainder_is_lost_when_the_speed_changes(void **state)
{
	static const uint64_t speeds[] = {100000000000, 30000000000, 400000000000};
	struct link *l = open_link(speeds[0], 0);
	uint64_t num = 0; // of 1/3600 ns

	(void)state;
	send(l, 30000, 60);
	for (unsigned i = 0; l->n_left != 0; i++) {
		unsigned speed = i % 3;
		uint32_t before = l->n_left;

		wire_set_speed(l->wire, speeds[speed]);
		while (l->n_left == before && l->n_left != 0)
			run(l, 1);
		// The frames that began: at this speed, as it stays until one has.
		num += (before - l->n_left) * (84ull * 8 * 3600 * 1000000000 / speeds[speed]);
	}
	run(l, 100);
	assert_int_equal(l->n_rx, 30000);
	assert_in_range(l->rx[29999].t_ns, num / 3600, num / 3600 + 1);
	assert_in_range(counts(l).busy_ns, num / 3600 - 1, num / 3600);
	close_link(l);
}

static void a_longer_delay_holds_for_frames_that_start_later(void **state)
{
	struct link *l = open_link(8000000000, 100);

	(void)state;
	send(l, 2, 976);
	run(l, 500);
	wire_set_delay(l->wire, 7000);
	run(l, 20000);
	assert_int_equal(l->rx[0].t_ns, 1000 + 100);
	assert_int_equal(l->rx[1].t_ns, 2000 + 7000);
	close_link(l);
}

static void no_frame_overtakes_when_the_delay_shrinks(void **state)
{
	struct link *l = open_link(8000000000, 7000);

	(void)state;
	send(l, 10, 976);
	run(l, 500);
	wire_set_delay(l->wire, 0);
	run(l, 20000);
	assert_int_equal(l->n_rx, 10);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(l->rx[i].number, i);
		assert_int_equal(l->rx[i].t_ns, i < 8 ? 8000 : (i + 1) * 1000);
	}
	close_link(l);
}

// ---- cuts

static void a_cut_loses_what_is_in_flight_and_the_wire_carries_again(void **state)
{
	struct link *l = open_link(8000000000, 5000);
	struct wire_counts c;

	(void)state;
	send(l, 20, 976);
	run(l, 8500); // 3 arrived; 5 fly, one is half out
	assert_int_equal(counts(l).in_flight, 6);
	wire_set_up(l->wire, false);
	assert_false(wire_ops.link_up(wire_end(l->wire, 0)));
	run(l, 3000); // 3 more are handed over and lost
	wire_set_delay(l->wire, 0); // the arrivals that were expected are forgotten
	wire_set_up(l->wire, true);
	run(l, 20000);
	c = counts(l);
	assert_int_equal(c.frames, 20);
	assert_int_equal(c.lost[WIRE_LOST_CUT], 9);
	assert_int_equal(c.delivered, 11);
	assert_int_equal(l->rx[2].number, 2);
	assert_int_equal(l->rx[3].number, 12);
	assert_int_equal(l->rx[3].t_ns, 13000);
	close_link(l);
}

// ---- calls and counts

static void nobody_is_called_for_a_line_that_nobody_asked_for(void **state)
{
	struct link *l = open_link(8000000000, 0);

	(void)state;
	send(l, 1, 976);
	run(l, 5000);
	assert_int_equal(l->n_steps, 1); // sent, and did not look again
	send(l, 2, 976);
	run(l, 5000);
	assert_int_equal(l->n_steps, 3); // sent, found it busy, was called
	close_link(l);
}

static void what_waits_at_the_end_is_counted_as_it_arrives(void **state)
{
	struct link *l = open_link(8000000000, 1500);
	struct wire_end *end = wire_end(l->wire, 1);

	(void)state;
	wire_end_attach(end, NULL);
	send(l, 40, 976);
	for (unsigned i = 0; i <= 40; i++) {
		assert_int_equal(wire_ops.rx_depth(end), i < 3 ? 0 : i - 2);
		run(l, i == 0 ? 1499 : 1000);
	}
	run(l, 5000);
	assert_int_equal(wire_ops.rx_depth(end), 40);
	assert_int_equal(counts(l).in_flight, 40);
	receive_step(l, 0);
	assert_int_equal(counts(l).delivered, 40);
	close_link(l);
}

static void busy_time_grows_with_the_clock_and_not_ahead_of_it(void **state)
{
	struct link *l = open_link(30000000000, 0);

	(void)state;
	send(l, 1, 1000); // 273.07 ns
	run(l, 0);
	assert_int_equal(counts(l).busy_ns, 0);
	run(l, 100);
	assert_int_equal(counts(l).busy_ns, 100);
	run(l, 173);
	assert_int_equal(counts(l).busy_ns, 273);
	run(l, 1000);
	assert_int_equal(counts(l).busy_ns, 273);
	send(l, 99, 1000);
	run(l, 1000000);
	assert_int_equal(counts(l).busy_ns, 27306); // 100 * 273.0667
	close_link(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_nth_frame_is_lost_and_takes_its_time),
		cmocka_unit_test(one_direction_loses_and_the_other_does_not),
		cmocka_unit_test(chance_loses_its_share_and_the_same_seed_the_same_frames),
		cmocka_unit_test(only_frames_that_are_eligible_are_counted_and_lost),
		cmocka_unit_test(the_nth_is_counted_among_the_eligible),
		cmocka_unit_test(a_frame_on_the_wire_ends_at_the_speed_it_began_with),
		cmocka_unit_test(no_remainder_is_lost_when_the_speed_changes),
		cmocka_unit_test(a_longer_delay_holds_for_frames_that_start_later),
		cmocka_unit_test(no_frame_overtakes_when_the_delay_shrinks),
		cmocka_unit_test(a_cut_loses_what_is_in_flight_and_the_wire_carries_again),
		cmocka_unit_test(nobody_is_called_for_a_line_that_nobody_asked_for),
		cmocka_unit_test(what_waits_at_the_end_is_counted_as_it_arrives),
		cmocka_unit_test(busy_time_grows_with_the_clock_and_not_ahead_of_it),
	};

	return cmocka_run_group_tests_name("wire_faults", tests, bench_eal, NULL);
}
