// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pfc.h"
#include "tests/unit/qos/test.h"

static struct pfc_params params(uint64_t speed_bps, uint16_t quanta)
{
	struct pfc_params p = {.lossless = 0x28, .tx = 0x28, .rx = 0x28};

	pfc_params_init(&p, speed_bps, quanta, 0);
	return p;
}

// What the worker does: asks, and sends at once. Returns the frame; enable 0: none was due.
static struct pfc_times loop(const struct pfc_params *p, struct pfc_tx_state *s, uint8_t want,
			     uint64_t now)
{
	struct pfc_times f;
	bool due = pfc_tx_due(p, s, want, now, &f);

	assert_int_equal(due, f.enable != 0);
	if (due)
		pfc_tx_sent(p, s, &f, now);
	return f;
}

static void pause_leaves_in_the_loop_that_wants_it(void **state)
{
	struct pfc_params p = params(1000000000, 65535);
	struct pfc_tx_state s = {0};
	struct pfc_times f;

	(void)state;
	assert_int_equal(loop(&p, &s, 0, 1).enable, 0);
	f = loop(&p, &s, 0x08, 2);
	assert_int_equal(f.enable, 0x08);
	assert_int_equal(f.quanta[3], 65535);
	assert_int_equal(loop(&p, &s, 0x08, 3).enable, 0); // once
	assert_int_equal(s.paused, 0x08);
}

static void xoff_is_refreshed_before_the_quanta_run_out(void **state)
{
	static const uint64_t speeds[] = {1000000, 1000000000, 40000000000, 400000000000};
	static const uint16_t quanta[] = {2, 67, 1000, 65535};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		for (size_t j = 0; j < ARRAY_SIZE(quanta); j++) {
			struct pfc_params p = params(speeds[i], quanta[j]);
			struct pfc_tx_state s = {0};
			uint64_t half = pfc_quanta_ns(speeds[i], quanta[j]) / 2, now = 5;

			loop(&p, &s, 0x08, now);
			for (int k = 0; k < 10; k++) {
				assert_int_equal(pfc_tx_next(&s), now + half);
				assert_int_equal(loop(&p, &s, 0x08, now + half - 1).enable, 0);
				now += half;
				assert_int_equal(loop(&p, &s, 0x08, now).quanta[3], quanta[j]);
				// The peer, who counts from the last frame on, never resumes.
				assert_true(half < pfc_quanta_ns(speeds[i], quanta[j]));
			}
			assert_int_equal(ctr_get(&s.stats[3].frames), 11);
			assert_int_equal(ctr_get(&s.stats[3].transitions), 1);
		}
}

static void xon_is_time_zero_with_the_bit_set(void **state)
{
	struct pfc_params p = params(1000000000, 65535);
	struct pfc_tx_state s = {0};
	struct pfc_times f;

	(void)state;
	loop(&p, &s, 0x08, 100);
	f = loop(&p, &s, 0, 700);
	assert_int_equal(f.enable, 0x08);
	assert_int_equal(f.quanta[3], 0);
	assert_int_equal(s.paused, 0);
	assert_true(pfc_tx_next(&s) == UINT64_MAX);
	assert_int_equal(loop(&p, &s, 0, 701).enable, 0); // once
	assert_int_equal(ctr_get(&s.stats[3].frames), 2);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 600);
	assert_int_equal(gauge_get(&s.stats[3].longest_ns), 600);
	assert_int_equal(gauge_get(&s.stats[3].last_change_ns), 700);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 1);
}

static void a_frame_enables_only_the_classes_that_change_or_are_due(void **state)
{
	// 1 Gb/s and 1,000 quanta: refresh every 256,000 ns.
	static const struct {
		uint64_t now;
		uint8_t want, enable;
		uint16_t q3, q5;
	} rows[] = {
		{1000, 0x08, 0x08, 1000, 0},	{2000, 0x28, 0x20, 0, 1000},
		{256999, 0x28, 0, 0, 0},	{257000, 0x28, 0x08, 1000, 0},
		{258000, 0x28, 0x20, 0, 1000},	{300000, 0x20, 0x08, 0, 0},
		{400000, 0x28, 0x08, 1000, 0},	{514000, 0x28, 0x20, 0, 1000},
		{656000, 0x08, 0x28, 1000, 0},	{656001, 0, 0x08, 0, 0},
		{999999, 0, 0, 0, 0},		{1000000, 0x28, 0x28, 1000, 1000},
		{1300000, 0x28, 0x28, 1000, 1000}, {1300001, 0, 0x28, 0, 0},
	};
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pfc_times f = loop(&p, &s, rows[i].want, rows[i].now);

		assert_row(i, f.enable, rows[i].enable);
		assert_row(i, f.quanta[3], rows[i].q3);
		assert_row(i, f.quanta[5], rows[i].q5);
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (c != 3 && c != 5)
				assert_row(i, f.quanta[c], 0);
	}
}

static void each_enabled_class_counts_once_per_frame(void **state)
{
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};

	(void)state;
	loop(&p, &s, 0x28, 0);
	loop(&p, &s, 0x08, 10);
	assert_int_equal(ctr_get(&s.stats[3].frames), 1);
	assert_int_equal(ctr_get(&s.stats[5].frames), 2);
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (c != 3 && c != 5)
			assert_int_equal(ctr_get(&s.stats[c].frames), 0);
}

static void no_pfc_is_sent_for_lossy_or_disabled_classes(void **state)
{
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};

	(void)state;
	assert_int_equal(loop(&p, &s, 0xd7, 1).enable, 0);
	p.tx = 0x20;
	assert_int_equal(loop(&p, &s, 0xff, 2).enable, 0x20);
	p.tx = 0xff;
	assert_int_equal(loop(&p, &s, 0xff, 3).enable, 0x08);
}

static void a_class_that_turns_lossy_while_paused_sends_xon_first(void **state)
{
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};
	struct pfc_times f;

	(void)state;
	loop(&p, &s, 0x08, 1);
	p.lossless = 0x20;
	f = loop(&p, &s, 0x08, 2);
	assert_int_equal(f.enable, 0x08);
	assert_int_equal(f.quanta[3], 0);
	assert_int_equal(loop(&p, &s, 0x08, 3).enable, 0);
}

// A frame of full size begins, and the ring is full of short frames, right before the refresh.
static void a_short_pause_is_repeated_before_it_runs_out(void **state)
{
	static const uint64_t speeds[] = {100000000, 1000000000, 25000000000, 800000000000};
	static const uint32_t rows[][2] = {
		{82, 0}, {1522, 0}, {1522, 8192}, {9238, 0}, {9238, 65536},
	};
	const uint64_t pfc_bits = 84 * 8;

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bps = speeds[i % 4];
		uint32_t ring = rows[i / 4][1], longest = rows[i / 4][0];
		uint32_t before = pfc_bytes_before(longest, ring);
		uint32_t least = pfc_least_quanta(before);

		assert_true(before >= longest + 24 + ring / 60 * 84);
		for (uint64_t quanta = least; quanta <= 65535; quanta = quanta * 3 / 2 + 1) {
			struct pfc_params p = {.lossless = 8, .tx = 8};
			struct pfc_tx_state s = {0};
			uint64_t runs_out, again;

			pfc_params_init(&p, bps, (uint16_t)quanta, before);
			assert_int_equal(loop(&p, &s, 8, 0).enable, 8);
			runs_out = pfc_bits * 1000000000 / bps +
				   pfc_quanta_ns(bps, (uint16_t)quanta);
			again = pfc_tx_next(&s) +
				(before * 8ull + pfc_bits) * 1000000000 / bps;
			assert_true(again < runs_out);
			// A quarter of the line at most, and not more often than half of the life.
			assert_true(pfc_tx_next(&s) + 1 >= 4 * pfc_bits * 1000000000 / bps ||
				    pfc_tx_next(&s) == p.lifetime_ns / 2);
			assert_true(pfc_tx_next(&s) <= p.lifetime_ns / 2);
			if (before < quanta * 64 / 4)
				assert_int_equal(pfc_tx_next(&s), p.lifetime_ns / 2);
		}
	}
}

static void a_pause_that_now_lives_shorter_is_refreshed_at_once(void **state)
{
	struct pfc_params slow = params(1000000000, 1000), fast = params(10000000000, 1000);
	struct pfc_tx_state s = {0};

	(void)state;
	pfc_tx_new_params(&slow, &s, 0);
	assert_int_equal(loop(&slow, &s, 0x08, 1).enable, 0x08);
	pfc_tx_new_params(&slow, &s, 2);
	assert_int_equal(loop(&slow, &s, 0x08, 2).enable, 0);
	pfc_tx_new_params(&fast, &s, 3);
	assert_int_equal(loop(&fast, &s, 0x08, 3).enable, 0x08);
	assert_int_equal(loop(&fast, &s, 0x08, 4).enable, 0);
	fast = params(25000000000, 5000); // more quanta: those that stand are still fewer
	pfc_tx_new_params(&fast, &s, 5);
	assert_int_equal(loop(&fast, &s, 0x08, 5).enable, 0x08);
}

static void a_frame_that_the_driver_refused_stays_due(void **state)
{
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};
	struct pfc_times f;

	(void)state;
	for (uint64_t now = 1; now < 5; now++) {
		assert_true(pfc_tx_due(&p, &s, 0x08, now, &f));
		assert_int_equal(f.quanta[3], 1000);
		assert_int_equal(s.paused, 0);
	}
	pfc_tx_sent(&p, &s, &f, 5);
	assert_int_equal(gauge_get(&s.stats[3].since_ns), 5);
	assert_int_equal(ctr_get(&s.stats[3].frames), 1);
	// The same for XON; what is wanted by then counts, not what was refused.
	assert_true(pfc_tx_due(&p, &s, 0, 6, &f));
	assert_int_equal(f.quanta[3], 0);
	assert_false(pfc_tx_due(&p, &s, 0x08, 7, &f));
	assert_int_equal(s.paused, 0x08);
}

static void durations_cover_pause_to_xon(void **state)
{
	struct pfc_params p = params(1000000000, 1000);
	struct pfc_tx_state s = {0};
	uint64_t sum = 0;

	(void)state;
	for (uint64_t t = 1000; t < 50000000; t += 1000000) {
		uint64_t hold = t % 7 * 100000 + 13;

		loop(&p, &s, 0x20, t);
		assert_int_equal(gauge_get(&s.stats[5].since_ns), t);
		assert_int_equal(gauge_get(&s.stats[5].until_ns), t + 512000);
		loop(&p, &s, 0x20, t + hold / 2);
		loop(&p, &s, 0, t + hold);
		sum += hold;
		assert_int_equal(ctr_get(&s.stats[5].duration_ns), sum);
		assert_int_equal(gauge_get(&s.stats[5].since_ns), 0);
	}
	assert_int_equal(ctr_get(&s.stats[5].transitions), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pause_leaves_in_the_loop_that_wants_it),
		cmocka_unit_test(xoff_is_refreshed_before_the_quanta_run_out),
		cmocka_unit_test(xon_is_time_zero_with_the_bit_set),
		cmocka_unit_test(a_frame_enables_only_the_classes_that_change_or_are_due),
		cmocka_unit_test(each_enabled_class_counts_once_per_frame),
		cmocka_unit_test(no_pfc_is_sent_for_lossy_or_disabled_classes),
		cmocka_unit_test(a_class_that_turns_lossy_while_paused_sends_xon_first),
		cmocka_unit_test(a_short_pause_is_repeated_before_it_runs_out),
		cmocka_unit_test(a_pause_that_now_lives_shorter_is_refreshed_at_once),
		cmocka_unit_test(a_frame_that_the_driver_refused_stays_due),
		cmocka_unit_test(durations_cover_pause_to_xon),
	};

	return cmocka_run_group_tests_name("pfc_tx", tests, NULL, NULL);
}
