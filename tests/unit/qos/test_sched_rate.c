// SPDX-License-Identifier: Apache-2.0
// Minimum and maximum rates of queues on a busy 10 Gb/s port. A port decides between frames, so
// a queue's bucket must bear the lateness of one longest frame; the bursts below do.
#include "tests/unit/qos/sched_bench.h"

enum { MAX_FRAME = 1522, FRAME_NS = 1240, RUN_NS = 20000000 };
static const uint32_t equal[N_QUEUES] = {1, 1, 1, 1, 1, 1, 1, 1};

static void run(struct sched_bench *b, uint64_t ns)
{
	uint64_t end = b->now_ns + ns;

	while (b->now_ns < end)
		if (sched_bench_send(b) < 0)
			b->now_ns = sched_ready_at(&b->p, &b->s, b->ready, b->now_ns);
}

static void set_max(struct sched_bench *b, unsigned q, uint64_t bps)
{
	b->p.has_max |= (uint8_t)(1u << q);
	b->p.max_rate[q] = shaper_of(bps, FRAME_NS);
}

static void set_min(struct sched_bench *b, unsigned q, uint64_t bps)
{
	b->p.has_min |= (uint8_t)(1u << q);
	b->p.min_rate[q] = shaper_of(bps, FRAME_NS);
}

static uint64_t bytes_at(uint64_t bps, uint64_t ns)
{
	return bps / 1000 * ns / 8000000;
}

static void max_rate_of_a_strict_queue_is_exact_on_a_full_port(void **state)
{
	static const uint64_t rates[] = {1000000, 100000000, 500000000, 3000000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct sched_bench b;
		uint64_t want = bytes_at(rates[i], RUN_NS);

		sched_bench_init(&b, 0x40, equal, MAX_FRAME, 64, 1522);
		b.ready = 0x43;
		set_max(&b, 6, rates[i]);
		run(&b, RUN_NS);
		// One frame of debt, one of saved burst.
		assert_in_range(b.bytes[6], want - want / 1000, want + 2 * MAX_FRAME);
		// The other two share what is left equally.
		assert_in_range(b.bytes[0] * 100 / b.bytes[1], 99, 101);
	}
}

static void a_lone_limited_queue_leaves_the_port_idle(void **state)
{
	struct sched_bench b;
	uint64_t want = bytes_at(2500000000, RUN_NS);

	(void)state;
	sched_bench_init(&b, 0, equal, MAX_FRAME, 1000, 1000);
	b.ready = 0x01;
	set_max(&b, 0, 2500000000);
	run(&b, RUN_NS);
	assert_in_range(b.bytes[0], want - 1000, want + 2000);
}

static void ready_at_is_when_the_first_limited_queue_may_send(void **state)
{
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0x80, equal, MAX_FRAME, 1000, 1000);
	b.ready = 0x81;
	b.p.has_max = 0x81;
	b.p.max_rate[0] = shaper_of(1000000000, 0);
	b.p.max_rate[7] = shaper_of(100000000, 0);
	assert_int_equal(sched_bench_send(&b), 7);
	assert_int_equal(sched_bench_send(&b), 0); // at 819 ns
	b.now_ns = 900;
	assert_int_equal(sched_bench_send(&b), -1);
	// The bytes of queue 0 take 8,000 ns from 819 on, those of queue 7 80,000 ns from 0 on.
	assert_int_equal(sched_ready_at(&b.p, &b.s, b.ready, 900), 819 + 8000);
	assert_int_equal(sched_ready_at(&b.p, &b.s, 0x80, 900), 80000);
	b.now_ns = 819 + 8000;
	assert_int_equal(sched_bench_send(&b), 0);
	b.now_ns = 80000;
	assert_int_equal(sched_bench_send(&b), 7);
}

static void min_rate_is_guaranteed_against_any_weight(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 99, 1, 1, 1, 1, 1, 1};
	static const uint64_t rates[] = {200000000, 1000000000, 3000000000, 6000000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct sched_bench b;
		uint64_t want = bytes_at(rates[i], RUN_NS);

		sched_bench_init(&b, 0, weights, MAX_FRAME, 64, 1522);
		b.ready = 0x03;
		set_min(&b, 0, rates[i]);
		run(&b, RUN_NS);
		assert_true(b.bytes[0] + want / 1000 + MAX_FRAME >= want);
		// And it takes little more than its weight or its guarantee would give it.
		assert_true(b.bytes[0] <= want + sched_bench_total(&b) / 50);
	}
}

static void strict_queues_go_before_guarantees(void **state)
{
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0x40, equal, MAX_FRAME, 1000, 1000);
	b.ready = 0x41;
	set_min(&b, 0, 5000000000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sched_bench_send(&b), 6);
}

static void guarantees_in_debt_do_not_stall_the_round(void **state)
{
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, equal, MAX_FRAME, 1522, 1522);
	b.ready = 0xff;
	for (unsigned q = 0; q < N_QUEUES; q++)
		set_min(&b, q, 1000000000);
	run(&b, RUN_NS);
	for (unsigned q = 0; q < N_QUEUES; q++)
		assert_in_range(b.bytes[q] * 800 / sched_bench_total(&b), 98, 102);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(max_rate_of_a_strict_queue_is_exact_on_a_full_port),
		cmocka_unit_test(a_lone_limited_queue_leaves_the_port_idle),
		cmocka_unit_test(ready_at_is_when_the_first_limited_queue_may_send),
		cmocka_unit_test(min_rate_is_guaranteed_against_any_weight),
		cmocka_unit_test(strict_queues_go_before_guarantees),
		cmocka_unit_test(guarantees_in_debt_do_not_stall_the_round),
	};

	return cmocka_run_group_tests_name("sched_rate", tests, NULL, NULL);
}
