// SPDX-License-Identifier: Apache-2.0
#include "dataplane/base/rng.h"
#include "dataplane/qos/pfc.h"
#include "tests/unit/qos/test.h"

enum { SPEED = 1000000000 }; // a quantum is 512 ns

static struct pfc_params params(uint64_t speed_bps)
{
	struct pfc_params p = {.lossless = 0x28, .tx = 0x28, .rx = 0x28};

	pfc_params_init(&p, speed_bps, 65535, 0);
	return p;
}

// A frame that enables one class.
static struct pfc_times one(unsigned c, uint16_t quanta)
{
	struct pfc_times f = {.enable = (uint8_t)(1u << c)};

	f.quanta[c] = quanta;
	return f;
}

static void receive(const struct pfc_params *p, struct pfc_rx_state *s, struct pfc_times f,
		    uint64_t now)
{
	pfc_rx_frame(p, s, &f, now);
}

static void quanta_are_512_bit_times_rounded_up(void **state)
{
	static const struct {
		uint64_t speed_bps;
		uint16_t quanta;
		uint64_t want_ns;
	} rows[] = {
		{1000000, 1, 512000},	       {1000000000, 1, 512},
		{1000000000, 65535, 33553920}, {10000000000, 1, 52},
		{10000000000, 65535, 3355392}, {25000000000, 25, 512},
		{40000000000, 1, 13},	       {40000000000, 65535, 838848},
		{100000000000, 1, 6},	       {100000000000, 65535, 335540},
		{400000000000, 1, 2},	       {400000000000, 65535, 83885},
		{1000000, 65535, 33553920000}, {1000000000, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(i, pfc_quanta_ns(rows[i].speed_bps, rows[i].quanta), rows[i].want_ns);
}

static void a_pause_ends_after_exactly_its_quanta(void **state)
{
	static const uint64_t speeds[] = {1000000000, 10000000000, 40000000000, 400000000000};
	static const uint16_t quanta[] = {1, 2, 100, 65535};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		for (size_t j = 0; j < ARRAY_SIZE(quanta); j++) {
			struct pfc_params p = params(speeds[i]);
			struct pfc_rx_state s = {0};
			uint64_t until = 1000 + pfc_quanta_ns(speeds[i], quanta[j]);

			receive(&p, &s, one(3, quanta[j]), 1000);
			assert_int_equal(s.paused, 0x08);
			assert_int_equal(pfc_rx_next(&s), until);
			pfc_rx_expire(&s, until - 1);
			assert_int_equal(s.paused, 0x08);
			pfc_rx_expire(&s, until);
			assert_int_equal(s.paused, 0);
			assert_int_equal(ctr_get(&s.stats[3].duration_ns), until - 1000);
			assert_true(pfc_rx_next(&s) == UINT64_MAX);
		}
}

static void time_zero_resumes_at_once(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, one(3, 1000), 100);
	receive(&p, &s, one(3, 0), 350);
	assert_int_equal(s.paused, 0);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 250);
	assert_int_equal(ctr_get(&s.stats[3].frames), 2);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 1);
	// An XON for a class that runs is counted and changes nothing.
	receive(&p, &s, one(3, 0), 400);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 250);
	assert_int_equal(ctr_get(&s.stats[3].frames), 3);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 1);
}

static void a_refresh_extends_the_same_pause(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, one(3, 10), 1000); // until 6,120
	receive(&p, &s, one(3, 10), 4000); // until 9,120
	pfc_rx_expire(&s, 6120);
	assert_int_equal(s.paused, 0x08);
	assert_int_equal(pfc_rx_next(&s), 9120);
	assert_int_equal(gauge_get(&s.stats[3].since_ns), 1000);
	assert_int_equal(gauge_get(&s.stats[3].until_ns), 9120);
	pfc_rx_expire(&s, 20000);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 8120);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 1);
	assert_int_equal(ctr_get(&s.stats[3].frames), 2);
	assert_int_equal(gauge_get(&s.stats[3].since_ns), 0);
}

static void a_later_frame_may_also_shorten_the_pause(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, one(3, 65535), 0);
	receive(&p, &s, one(3, 1), 1000);
	assert_int_equal(pfc_rx_next(&s), 1512);
	pfc_rx_expire(&s, 5000);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 1512);
}

static void a_pause_after_expiry_is_a_new_one_even_if_nobody_looked(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, one(3, 1), 1000); // until 1,512
	receive(&p, &s, one(3, 1), 1512); // just expired
	receive(&p, &s, one(3, 1), 9000);
	pfc_rx_expire(&s, 100000);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 3);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 3 * 512);
}

static void classes_are_independent(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};
	struct pfc_times both = {.enable = 0x28, .quanta = {[3] = 10, [5] = 20}};

	(void)state;
	receive(&p, &s, both, 0);
	assert_int_equal(s.paused, 0x28);
	assert_int_equal(pfc_rx_next(&s), 5120);
	pfc_rx_expire(&s, 5120);
	assert_int_equal(s.paused, 0x20);
	assert_int_equal(pfc_rx_next(&s), 10240);
	// A time whose enable bit is clear says nothing.
	receive(&p, &s, (struct pfc_times){.enable = 0x08, .quanta = {[3] = 1, [5] = 0}}, 6000);
	assert_int_equal(s.paused, 0x28);
	assert_int_equal(ctr_get(&s.stats[5].frames), 1);
}

static void what_must_be_ignored_is_counted_as_what_it_is(void **state)
{
	static const struct {
		struct pfc_times f;
		uint64_t lossy, empty;
		uint8_t paused;
	} rows[] = {
		{{.enable = 0}, 0, 1, 0},
		{{.enable = 0, .quanta = {[3] = 100}}, 0, 1, 0},
		{{.enable = 0x01, .quanta = {[0] = 100}}, 1, 0, 0},
		{{.enable = 0xd7, .quanta = {9, 9, 9, 9, 9, 9, 9, 9}}, 1, 0, 0},
		{{.enable = 0xff, .quanta = {9, 9, 9, 9, 9, 9, 9, 9}}, 1, 0, 0x28},
		{{.enable = 0x08, .quanta = {[3] = 9}}, 0, 0, 0x08},
	};
	struct pfc_params p = params(SPEED);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pfc_rx_state s = {0};

		receive(&p, &s, rows[i].f, 0);
		assert_row(i, s.paused, rows[i].paused);
		assert_row(i, ctr_get(&s.ignored_lossy), rows[i].lossy);
		assert_row(i, ctr_get(&s.empty_vector), rows[i].empty);
		for (unsigned c = 0; c < N_CLASSES; c++)
			assert_row(i, ctr_get(&s.stats[c].frames), rows[i].paused >> c & 1u);
	}
}

static void a_class_that_does_not_obey_counts_but_runs(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	p.rx = 0x20;
	receive(&p, &s, (struct pfc_times){.enable = 0x28, .quanta = {[3] = 9, [5] = 9}}, 0);
	assert_int_equal(s.paused, 0x20);
	assert_int_equal(ctr_get(&s.stats[3].frames), 1);
	assert_int_equal(ctr_get(&s.stats[3].transitions), 0);
}

static void clear_ends_pauses_except_those_to_keep(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, (struct pfc_times){.enable = 0x28, .quanta = {[3] = 9, [5] = 9}}, 100);
	pfc_rx_clear(&s, 0x08, 600);
	assert_int_equal(s.paused, 0x08);
	assert_int_equal(ctr_get(&s.stats[5].duration_ns), 500);
	pfc_rx_clear(&s, 0, 1000000); // long after it ran out
	assert_int_equal(s.paused, 0);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 9 * 512);
}

static void the_books_of_a_pause_have_total_longest_number_and_last_change(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};
	const struct pfc_class_stats *st = &s.stats[3];

	(void)state;
	receive(&p, &s, one(3, 0), 50); // runs already
	assert_int_equal(gauge_get(&st->last_change_ns), 0);
	receive(&p, &s, one(3, 2), 1000); // until 2,024
	assert_int_equal(gauge_get(&st->last_change_ns), 1000);
	receive(&p, &s, one(3, 4), 1500); // until 3,548
	assert_int_equal(gauge_get(&st->last_change_ns), 1000);
	assert_int_equal(gauge_get(&st->longest_ns), 0); // finished ones only
	pfc_rx_expire(&s, 9000); // seen late
	assert_int_equal(gauge_get(&st->last_change_ns), 3548);
	assert_int_equal(gauge_get(&st->longest_ns), 2548);
	receive(&p, &s, one(3, 65535), 10000);
	receive(&p, &s, one(3, 0), 12547);
	assert_int_equal(gauge_get(&st->longest_ns), 2548);
	assert_int_equal(gauge_get(&st->last_change_ns), 12547);
	receive(&p, &s, one(3, 65535), 20000);
	receive(&p, &s, one(3, 0), 22549);
	assert_int_equal(gauge_get(&st->longest_ns), 2549);
	assert_int_equal(ctr_get(&st->duration_ns), 2548 + 2547 + 2549);
	assert_int_equal(ctr_get(&st->transitions), 3);
}

static void a_class_that_ignores_pause_counts_it_and_does_not_pause(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};
	const struct pfc_class_stats *st = &s.stats[3];

	(void)state;
	receive(&p, &s, (struct pfc_times){.enable = 0x28, .quanta = {[3] = 9, [5] = 9}}, 1000);
	pfc_rx_ignore(&s, 0x08, 1600); // both until 5,608
	assert_int_equal(s.paused, 0x20);
	assert_int_equal(ctr_get(&st->duration_ns), 600);
	assert_int_equal(gauge_get(&st->since_ns), 0);
	assert_int_equal(gauge_get(&st->until_ns), 0);
	assert_int_equal(gauge_get(&st->last_change_ns), 1600);
	receive(&p, &s, one(3, 20), 2000);
	receive(&p, &s, one(3, 0), 2100);
	receive(&p, &s, one(3, 20), 2200);
	assert_int_equal(s.paused, 0x20);
	assert_int_equal(ctr_get(&st->frames), 4);
	assert_int_equal(ctr_get(&st->transitions), 1);
	assert_int_equal(ctr_get(&st->duration_ns), 600);
	assert_int_equal(pfc_rx_next(&s), 5608); // of class 5
	pfc_rx_ignore(&s, 0x08, 5608); // no news
	assert_int_equal(s.paused, 0x20);
}

static void a_class_that_hears_again_obeys_what_is_left_of_the_last_pause(void **state)
{
	static const struct {
		uint16_t quanta[2]; // of PAUSE at 1,000 and, deaf, at 2,000; 0xffff: none
		uint64_t hears_ns, until_ns; // 0: runs
	} rows[] = {
		{{10, 0xffff}, 3000, 6120}, // the one that stood before
		{{10, 0xffff}, 6119, 6120},
		{{10, 0xffff}, 6120, 0}, // ran out meanwhile
		{{10, 20}, 3000, 12240},
		{{10, 1}, 2511, 2512}, // a shorter one is the last word too
		{{10, 1}, 2512, 0},
		{{10, 0}, 2001, 0}, // so is XON
		{{0xffff, 20}, 3000, 12240},
		{{0xffff, 0}, 3000, 0},
		{{0xffff, 0xffff}, 3000, 0},
	};
	struct pfc_params p = params(SPEED);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pfc_rx_state s = {0};
		uint64_t before;

		if (rows[i].quanta[0] != 0xffff)
			receive(&p, &s, one(3, rows[i].quanta[0]), 1000);
		pfc_rx_ignore(&s, 0x08, 1500);
		if (rows[i].quanta[1] != 0xffff)
			receive(&p, &s, one(3, rows[i].quanta[1]), 2000);
		assert_row(i, s.paused, 0);
		before = ctr_get(&s.stats[3].duration_ns);
		pfc_rx_ignore(&s, 0, rows[i].hears_ns);
		assert_row(i, s.paused, rows[i].until_ns != 0 ? 0x08 : 0);
		assert_row(i, gauge_get(&s.stats[3].until_ns), rows[i].until_ns);
		pfc_rx_expire(&s, 100000);
		assert_row(i, s.paused, 0);
		assert_row(i, ctr_get(&s.stats[3].duration_ns) - before,
			   rows[i].until_ns != 0 ? rows[i].until_ns - rows[i].hears_ns : 0);
	}
}

static void what_was_cleared_is_not_remembered(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, (struct pfc_times){.enable = 0x28, .quanta = {[3] = 99, [5] = 99}}, 100);
	pfc_rx_ignore(&s, 0x28, 200);
	pfc_rx_clear(&s, 0x20, 300); // the policy's word: class 3 obeys no longer
	pfc_rx_ignore(&s, 0, 400);
	assert_int_equal(s.paused, 0x20);
	pfc_rx_clear(&s, 0, 500);
	pfc_rx_ignore(&s, 0x20, 600);
	pfc_rx_ignore(&s, 0, 700);
	assert_int_equal(s.paused, 0);
}

static void a_pause_that_ran_out_unseen_ends_where_it_ran_out(void **state)
{
	struct pfc_params p = params(SPEED);
	struct pfc_rx_state s = {0};

	(void)state;
	receive(&p, &s, one(3, 1), 1000); // until 1,512
	pfc_rx_ignore(&s, 0x08, 90000);
	assert_int_equal(ctr_get(&s.stats[3].duration_ns), 512);
	assert_int_equal(gauge_get(&s.stats[3].last_change_ns), 1512);
}

// The sum of durations against a nanosecond-by-nanosecond count of what a queue would feel.
static void durations_sum_exactly_over_random_frames(void **state)
{
	struct pfc_params p = params(100000000000); // 5.12 ns a quantum
	struct pfc_rx_state s = {0};
	uint64_t felt = 0, until = 0, transitions = 0;
	struct rng r;

	(void)state;
	rng_init(&r, 3);
	for (uint64_t now = 1; now < 300000; now++) {
		bool was = now < until;

		if (rng_next(&r) % 64 == 0) {
			uint16_t q = (uint16_t)(rng_next(&r) % 20);

			receive(&p, &s, one(5, q), now);
			until = q == 0 ? now : now + pfc_quanta_ns(p.speed_bps, q);
		}
		pfc_rx_expire(&s, now);
		assert_int_equal(s.paused, now < until ? 0x20 : 0);
		transitions += !was && now < until;
		felt += now < until;
	}
	pfc_rx_expire(&s, 400000);
	felt += until > 300000 ? until - 300000 : 0;
	assert_int_equal(ctr_get(&s.stats[5].duration_ns), felt);
	assert_int_equal(ctr_get(&s.stats[5].transitions), transitions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quanta_are_512_bit_times_rounded_up),
		cmocka_unit_test(a_pause_ends_after_exactly_its_quanta),
		cmocka_unit_test(time_zero_resumes_at_once),
		cmocka_unit_test(a_refresh_extends_the_same_pause),
		cmocka_unit_test(a_later_frame_may_also_shorten_the_pause),
		cmocka_unit_test(a_pause_after_expiry_is_a_new_one_even_if_nobody_looked),
		cmocka_unit_test(classes_are_independent),
		cmocka_unit_test(what_must_be_ignored_is_counted_as_what_it_is),
		cmocka_unit_test(a_class_that_does_not_obey_counts_but_runs),
		cmocka_unit_test(clear_ends_pauses_except_those_to_keep),
		cmocka_unit_test(the_books_of_a_pause_have_total_longest_number_and_last_change),
		cmocka_unit_test(a_class_that_ignores_pause_counts_it_and_does_not_pause),
		cmocka_unit_test(a_class_that_hears_again_obeys_what_is_left_of_the_last_pause),
		cmocka_unit_test(what_was_cleared_is_not_remembered),
		cmocka_unit_test(a_pause_that_ran_out_unseen_ends_where_it_ran_out),
		cmocka_unit_test(durations_sum_exactly_over_random_frames),
	};

	return cmocka_run_group_tests_name("pfc_rx", tests, NULL, NULL);
}
