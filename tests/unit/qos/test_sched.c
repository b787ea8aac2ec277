// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/qos/sched_bench.h"

enum { MAX_FRAME = 1522 };
static const uint32_t equal[N_QUEUES] = {1, 1, 1, 1, 1, 1, 1, 1};

static void strict_queues_go_first_highest_number_first(void **state)
{
	static const struct {
		uint8_t strict, ready;
		int want; // -2: any queue that is not strict
	} rows[] = {
		{0xff, 0xff, 7}, {0xff, 0x7f, 6}, {0xff, 0x01, 0}, {0x40, 0xff, 6}, {0x41, 0x41, 6},
		{0x41, 0x01, 0}, {0x41, 0x83, 0}, {0x41, 0x82, -2}, {0x00, 0x80, 7}, {0xff, 0, -1},
		{0x00, 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sched_bench b;
		int got;

		sched_bench_init(&b, rows[i].strict, equal, MAX_FRAME, 64, 64);
		b.ready = rows[i].ready;
		got = sched_bench_send(&b);
		if (rows[i].want != -2)
			assert_row(i, got, rows[i].want);
		else
			assert_row(i, (b.ready & (uint8_t)~b.p.strict) >> got & 1, 1);
	}
}

static void a_strict_queue_starves_all_below_it(void **state)
{
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0x60, equal, MAX_FRAME, 64, 1522);
	b.ready = 0xff;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sched_bench_send(&b), 6);
	b.ready = 0xbf;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sched_bench_send(&b), 5);
}

// Bytes of each queue over 1,000 frames against its weight; 2 % of the link is the bound.
static void expect_shares(struct sched_bench *b, const uint32_t weights[N_QUEUES])
{
	uint64_t before[N_QUEUES], total = 0, weight = 0;

	memcpy(before, b->bytes, sizeof(before));
	for (int i = 0; i < 1000; i++)
		assert_true(sched_bench_send(b) >= 0);
	for (unsigned q = 0; q < N_QUEUES; q++) {
		total += b->bytes[q] - before[q];
		weight += b->ready >> q & 1 ? weights[q] : 0;
	}
	for (unsigned q = 0; q < N_QUEUES; q++) {
		double share = (double)(b->bytes[q] - before[q]) / (double)total;
		double want = b->ready >> q & 1 ? (double)weights[q] / (double)weight : 0;

		if (share > want + 0.02 || share < want - 0.02)
			fail_msg("queue %u has %.4f of the bytes, not %.4f", q, share, want);
	}
}

static void dwrr_shares_follow_the_weights_within_two_percent(void **state)
{
	static const struct {
		uint32_t weights[N_QUEUES];
		uint8_t ready;
		uint32_t max_frame, low, high;
	} rows[] = {
		{{14, 15, 1, 1, 1, 1, 1, 1}, 0x03, 1522, 1000, 1000},
		{{8, 30, 1, 1, 1, 1, 1, 1}, 0x03, 1522, 1000, 1000},
		{{1, 99, 1, 1, 1, 1, 1, 1}, 0x03, 1522, 1000, 1000},
		{{14, 15, 14, 14, 14, 14, 14, 14}, 0x03, 1522, 64, 1522},
		{{8, 30, 8, 8, 8, 8, 8, 8}, 0x03, 1522, 64, 1522},
		{{1, 99, 1, 1, 1, 1, 1, 1}, 0x03, 1522, 64, 1522},
		{{14, 15, 14, 14, 14, 14, 14, 14}, 0x03, 9238, 1082, 1082},
		{{50, 1, 1, 50, 1, 1, 1, 1}, 0x09, 1522, 1082, 1082},
		{{1, 2, 3, 4, 5, 6, 7, 8}, 0xff, 1522, 64, 1522},
		{{1, 1, 1, 1, 1, 1, 1, 1}, 0xff, 1522, 1522, 1522},
		{{1000, 999, 998, 997, 996, 995, 994, 993}, 0xff, 1522, 64, 1522},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sched_bench b;

		sched_bench_init(&b, 0, rows[i].weights, rows[i].max_frame, rows[i].low,
				 rows[i].high);
		b.ready = rows[i].ready;
		for (int window = 0; window < 5; window++)
			expect_shares(&b, rows[i].weights);
	}
}

static void frame_sizes_do_not_tilt_the_shares(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, MAX_FRAME, 64, 64);
	b.low[1] = b.high[1] = b.head[1] = 1522;
	b.ready = 0x03;
	for (int i = 0; i < 10000; i++)
		sched_bench_send(&b);
	assert_in_range(b.bytes[0] * 100 / b.bytes[1], 98, 102);
	assert_true(b.frames[0] > 20 * b.frames[1]);
}

static void picking_again_changes_nothing(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct sched_bench once, often;

	(void)state;
	sched_bench_init(&once, 0, weights, MAX_FRAME, 64, 1522);
	sched_bench_init(&often, 0, weights, MAX_FRAME, 64, 1522);
	once.ready = often.ready = 0xff;
	for (int i = 0; i < 5000; i++) {
		int q = sched_pick(&often.p, &often.s, often.ready, often.head, often.now_ns);

		for (int k = 0; k < 3; k++)
			assert_int_equal(sched_pick(&often.p, &often.s, often.ready, often.head,
						    often.now_ns),
					 q);
		assert_int_equal(sched_bench_send(&often), q);
		assert_int_equal(sched_bench_send(&once), q);
	}
	assert_memory_equal(&once.s, &often.s, sizeof(once.s));
}

static void a_paused_queue_leaves_the_others_their_ratio(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 3, 4, 8, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, MAX_FRAME, 64, 1522);
	for (int round = 0; round < 6; round++) {
		b.ready = round % 2 == 0 ? 0x0f : 0x07; // queue 3 is paused every other round
		expect_shares(&b, weights);
	}
}

static void a_queue_paused_within_its_turn_keeps_its_deficit(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 4, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;
	int64_t left;

	(void)state;
	sched_bench_init(&b, 0, weights, 1000, 250, 250); // four frames a turn
	b.ready = 0x03;
	while (sched_bench_send(&b) != 1)
		;
	left = b.s.deficit[1];
	assert_int_equal(left, 750);
	b.ready = 0x01;
	for (int i = 0; i < 50; i++)
		assert_int_equal(sched_bench_send(&b), 0);
	assert_int_equal(b.s.deficit[1], left);
	// Back again it finishes that turn and gets no second quantum on top.
	b.ready = 0x03;
	memset(b.frames, 0, sizeof(b.frames));
	while (b.frames[1] == 0)
		sched_bench_send(&b);
	while (sched_bench_send(&b) == 1)
		;
	assert_int_equal(b.frames[1], 3);
}

static void pausing_over_and_over_gains_nothing(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 4, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, 1000, 1000, 1000);
	for (int i = 0; i < 10000; i++) {
		b.ready = i % 3 == 0 ? 0x01 : 0x03;
		sched_bench_send(&b);
		assert_true(b.s.deficit[1] < 4000 + 1000);
	}
	// At most four of five frames, whatever the pattern.
	assert_true(b.frames[1] <= 4 * b.frames[0] + 4);
}

static void an_emptied_queue_loses_its_deficit(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 99, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, 1000, 100, 100); // ten frames a turn
	b.ready = 0x03;
	while (sched_bench_send(&b) != 1)
		;
	assert_int_equal(b.s.deficit[1], 900);
	b.ready = 0x01;
	sched_emptied(&b.s, 1);
	assert_int_equal(b.s.deficit[1], 0);
	assert_int_equal(sched_bench_send(&b), 0);
	// It returns with one quantum, not with two.
	b.ready = 0x03;
	while (sched_bench_send(&b) != 1)
		;
	assert_int_equal(b.s.deficit[1], 900);
}

// A light queue alone is not given more rounds than its frame needs.
static void rounds_in_vain_are_skipped_and_no_more(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 100, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, 1000, 1000, 1000);
	b.ready = 0x01;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(sched_bench_send(&b), 0);
		assert_true(b.s.deficit[0] < (int64_t)b.p.quantum_bytes[0]);
	}
}

// After a reload to a smaller MTU longer frames may still wait in the queues.
static void a_frame_beyond_the_frame_limit_still_leaves(void **state)
{
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, equal, MAX_FRAME, 9238, 9238);
	b.ready = 0x03;
	for (int i = 0; i < 100; i++)
		assert_true(sched_bench_send(&b) >= 0);
	assert_int_equal(b.frames[0], 50);
	assert_int_equal(b.frames[1], 50);
}

static void new_weights_take_effect_without_a_restart(void **state)
{
	static const uint32_t before[N_QUEUES] = {14, 15, 14, 14, 14, 14, 14, 14};
	static const uint32_t after[N_QUEUES] = {8, 30, 8, 8, 8, 8, 8, 8};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, before, MAX_FRAME, 1000, 1000);
	b.ready = 0x03;
	expect_shares(&b, before);
	sched_params_init(&b.p, 0, after, MAX_FRAME);
	expect_shares(&b, after);
}

static void the_least_weight_has_a_quantum_where_frames_are_short(void **state)
{
	static const uint32_t weights[N_QUEUES] = {1, 900, 1, 1, 1, 1, 1, 1};
	struct sched_bench b;

	(void)state;
	sched_bench_init(&b, 0, weights, 622, 600, 600);
	b.ready = 0x03;
	for (unsigned i = 0; i < 9010; i++)
		assert_int_not_equal(sched_bench_send(&b), -1);
	assert_int_equal(b.frames[0], 10);
}

// Half of the queues that may have one get a rate of their own.
static void draw_policy(struct sched_bench *b)
{
	uint32_t weights[N_QUEUES];

	for (unsigned q = 0; q < N_QUEUES; q++)
		weights[q] = 1 + rng_next(&b->rng) % 1000;
	sched_params_init(&b->p, (uint8_t)(rng_next(&b->rng) & rng_next(&b->rng)), weights,
			  MAX_FRAME);
	b->p.has_max = (uint8_t)(rng_next(&b->rng) & rng_next(&b->rng));
	b->p.has_min = (uint8_t)(rng_next(&b->rng) & rng_next(&b->rng));
	for (unsigned q = 0; q < N_QUEUES; q++) {
		b->p.max_rate[q] = shaper_of(b->p.has_max >> q & 1 ? 3000000000 : 0, 20000);
		b->p.min_rate[q] = shaper_of(b->p.has_min >> q & 1 ? 1000000000 : 0, 20000);
	}
	b->ready = (uint8_t)rng_next(&b->rng);
}

// Sends up to n frames at one moment, in runs of at most `most`, and writes down their queues.
// Returns how many runs that took.
static unsigned send_in_runs(struct sched_bench *b, unsigned n, unsigned most, uint8_t *queues)
{
	unsigned n_runs = 0;

	for (unsigned i = 0; i < n; n_runs++) {
		int q = sched_pick(&b->p, &b->s, b->ready, b->head, b->now_ns);
		unsigned sent;

		memset(queues + i, q, n - i);
		if (q < 0)
			break;
		sent = sched_bench_run(b, (unsigned)q, most < n - i ? most : n - i);
		i += sent;
	}
	// Asked again, so that a turn that has ended is passed on.
	sched_pick(&b->p, &b->s, b->ready, b->head, b->now_ns);
	return n_runs;
}

static void runs_send_what_picking_each_frame_sends(void **state)
{
	enum { N = 64 };
	uint64_t n_singles = 0, n_runs = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct sched_bench singles, runs;
		uint8_t by_singles[N], by_runs[N];

		sched_bench_init(&singles, 0, equal, MAX_FRAME, 64, 1522);
		rng_init(&singles.rng, seed);
		draw_policy(&singles);
		for (unsigned i = 0; i < 200; i++) {
			runs = singles;
			n_singles += send_in_runs(&singles, N, 1, by_singles);
			n_runs += send_in_runs(&runs, N, N, by_runs);
			assert_memory_equal(by_singles, by_runs, N);
			assert_memory_equal(&singles.s, &runs.s, sizeof(runs.s));
			singles.now_ns += rng_next(&singles.rng) % 30000;
			singles.ready = (uint8_t)rng_next(&singles.rng);
			for (unsigned q = 0; q < N_QUEUES; q++)
				sched_bench_draw(&singles, q);
		}
	}
	assert_true(n_runs < n_singles / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_send_what_picking_each_frame_sends),
		cmocka_unit_test(strict_queues_go_first_highest_number_first),
		cmocka_unit_test(a_strict_queue_starves_all_below_it),
		cmocka_unit_test(dwrr_shares_follow_the_weights_within_two_percent),
		cmocka_unit_test(frame_sizes_do_not_tilt_the_shares),
		cmocka_unit_test(picking_again_changes_nothing),
		cmocka_unit_test(a_paused_queue_leaves_the_others_their_ratio),
		cmocka_unit_test(a_queue_paused_within_its_turn_keeps_its_deficit),
		cmocka_unit_test(pausing_over_and_over_gains_nothing),
		cmocka_unit_test(an_emptied_queue_loses_its_deficit),
		cmocka_unit_test(rounds_in_vain_are_skipped_and_no_more),
		cmocka_unit_test(a_frame_beyond_the_frame_limit_still_leaves),
		cmocka_unit_test(new_weights_take_effect_without_a_restart),
		cmocka_unit_test(the_least_weight_has_a_quantum_where_frames_are_short),
	};

	return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
