// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/roce/ipcc.h"
#include "tests/unit/qos/test.h"

enum { INTERVAL = 5000 };

static struct feed feed;

static unsigned largest(uint64_t now_ns, struct feed_flow *out, unsigned n)
{
	struct feed_window w = feed_window(&feed, now_ns, INTERVAL);

	return feed_largest(&feed, &w, out, n);
}

static void flows_come_from_the_largest_and_equal_ones_by_lot(void **state)
{
	static const struct {
		uint64_t flow;
		uint32_t bytes;
	} in[] = {{5, 100}, {9, 3000}, {1ull << 32 | 5, 3000}, {7, 100}, {3, 2000}, {9, 1}};
	static const uint64_t want[] = {9, 1ull << 32 | 5, 3};
	struct feed_flow out[8];

	(void)state;
	feed_init(&feed, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		feed_add(&feed, in[i].flow, in[i].bytes);
	assert_int_equal(largest(INTERVAL, out, 8), 5);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_row(i, out[i].flow, want[i]);
	assert_int_equal(out[3].flow + out[4].flow, 5 + 7);
	assert_true(out[3].lot > out[4].lot);
	assert_int_equal(out[0].bytes, 3001);
	// 3001 bytes in 5 us
	assert_int_equal(out[0].bps, 3001ull * 8 * 1000000000 / INTERVAL);
	// As many as are wanted, and those are the largest.
	for (unsigned n = 0; n < 5; n++) {
		struct feed_flow some[5];

		assert_int_equal(largest(INTERVAL, some, n), n);
		assert_memory_equal(some, out, n * sizeof(*out));
	}
}

// Nobody is told before the others for ever because of where its entry lies.
static void equal_flows_are_as_often_the_first(void **state)
{
	enum { EQUAL = 8, TURNS = 8000 };
	unsigned first[EQUAL] = {0}, second[EQUAL] = {0};
	struct feed_flow out[2];

	(void)state;
	feed_init(&feed, 0, 0);
	for (uint64_t now_ns = INTERVAL; now_ns <= TURNS * (uint64_t)INTERVAL; now_ns += INTERVAL) {
		for (unsigned i = 0; i < EQUAL; i++)
			feed_add(&feed, i, 1000);
		assert_int_equal(largest(now_ns, out, 2), 2);
		first[out[0].flow]++;
		second[out[1].flow]++;
		feed_turn(&feed, 0, now_ns);
	}
	for (unsigned i = 0; i < EQUAL; i++) {
		assert_in_range(first[i], TURNS / EQUAL * 9 / 10, TURNS / EQUAL * 11 / 10);
		assert_in_range(second[i], TURNS / EQUAL * 9 / 10, TURNS / EQUAL * 11 / 10);
	}
}

static void a_young_turn_is_looked_at_with_the_one_before(void **state)
{
	struct feed_flow out[4];
	struct feed_window w;

	(void)state;
	feed_init(&feed, 1000, 0);
	feed_add(&feed, 1, 6000); // in both turns
	feed_add(&feed, 2, 4000); // in the first
	feed_add_other(&feed, 500);
	feed_turn(&feed, 3000, 8000);
	feed_add(&feed, 1, 600);
	feed_add(&feed, 3, 900); // in the second
	w = feed_window(&feed, 10000, INTERVAL);
	assert_true(w.both && w.whole);
	assert_int_equal(w.dt_ns, 10000);
	assert_int_equal(w.len_before, 1000);
	assert_int_equal(w.bps, 12000ull * 8 * 1000000000 / 10000);
	assert_int_equal(feed_largest(&feed, &w, out, 4), 3);
	assert_int_equal(out[0].bytes, 6600);
	assert_int_equal(out[1].bytes, 4000);
	assert_int_equal(out[2].bytes, 900);

	w = feed_window(&feed, 13000, INTERVAL); // old enough by itself
	assert_true(!w.both && w.whole);
	assert_int_equal(w.dt_ns, 5000);
	assert_int_equal(w.len_before, 3000);
	assert_int_equal(w.bps, 1500ull * 8 * 1000000000 / 5000);
	assert_int_equal(feed_largest(&feed, &w, out, 4), 2);
	assert_int_equal(out[0].flow, 3);
	assert_int_equal(out[1].bytes, 600);
}

// Where nothing is known of before, a moment is not taken for a rate.
static void a_window_is_no_shorter_than_least(void **state)
{
	struct feed_flow out[1];
	struct feed_window w;

	(void)state;
	feed_init(&feed, 700, 1000);
	feed_add(&feed, 1, 1000);
	w = feed_window(&feed, 1000, INTERVAL);
	assert_true(!w.both && !w.whole);
	assert_int_equal(w.dt_ns, INTERVAL);
	assert_int_equal(w.len_before, 700);
	assert_int_equal(feed_largest(&feed, &w, out, 1), 1);
	assert_int_equal(out[0].bps, 1000ull * 8 * 1000000000 / INTERVAL);
}

static void two_turns_later_a_flow_is_forgotten(void **state)
{
	struct feed_flow out[4];

	(void)state;
	feed_init(&feed, 0, 0);
	feed_add(&feed, 1, 1000);
	feed_turn(&feed, 0, 5000);
	feed_turn(&feed, 0, 10000);
	assert_int_equal(largest(10001, out, 4), 0);
	feed_add(&feed, 1, 10); // again, as a new one
	assert_int_equal(largest(10001, out, 4), 1);
	assert_int_equal(out[0].bytes, 10);
}

static void a_turn_ends_with_the_first_frame_an_interval_later(void **state)
{
	static const struct {
		uint64_t at_ns;
		uint64_t began_ns, length_ns; // then
		uint32_t len_before;
	} t[] = {
		{1999, 1000, 0, 0},
		{1000 + INTERVAL - 1, 1000, 0, 0},
		{1000 + INTERVAL, 1000 + INTERVAL, INTERVAL, 100},
		{1000 + 2 * INTERVAL - 1, 1000 + 2 * INTERVAL - 1, 2 * INTERVAL - 1, 100},
		// Nothing for an interval: what was before says nothing.
		{1000 + 2 * INTERVAL, 1000 + 2 * INTERVAL, 0, 900},
		{1000000000, 1000000000, 0, 900},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		feed_init(&feed, 100, 1000);
		feed_add(&feed, 1, 50);
		feed_tick(&feed, 900, INTERVAL, t[i].at_ns);
		assert_row(i, feed.began_ns, t[i].began_ns);
		assert_row(i, feed.length_ns, t[i].length_ns);
		if (i >= 2) {
			assert_row(i, feed.len_before, t[i].len_before);
			assert_row(i, feed.len_now, 900);
		}
	}
}

static void what_is_forgotten_is_in_no_window(void **state)
{
	struct feed_flow out[4];
	struct feed_window w;

	(void)state;
	feed_init(&feed, 0, 0);
	feed_add(&feed, 1, 1000);
	feed_turn(&feed, 0, 5000);
	feed_add(&feed, 2, 1000);
	feed_add_other(&feed, 10);
	feed_forget(&feed, 4000, 6000);
	w = feed_window(&feed, 6001, INTERVAL);
	assert_false(w.both);
	assert_int_equal(w.bps, 0);
	assert_int_equal(w.len_before, 4000);
	assert_int_equal(feed_largest(&feed, &w, out, 4), 0);
}

// More flows than have room: those that have none are in the sum.
static void flows_without_room_are_summed_up(void **state)
{
	static struct feed_flow out[FEED_SLOTS];
	struct feed_window w;
	uint64_t shown = 0;
	unsigned n;

	(void)state;
	feed_init(&feed, 0, 0);
	for (uint64_t i = 0; i < 4 * FEED_SLOTS; i++)
		feed_add(&feed, i, 100);
	w = feed_window(&feed, INTERVAL, INTERVAL);
	assert_int_equal(w.bps, 4ull * FEED_SLOTS * 100 * 8 * 1000000000 / INTERVAL);
	n = feed_largest(&feed, &w, out, FEED_SLOTS);
	assert_true(n > FEED_SLOTS * 9 / 10 && n <= FEED_SLOTS);
	for (unsigned i = 0; i < n; i++)
		shown += out[i].bytes;
	assert_int_equal(shown, 100 * n);
	// A turn later there is still no room, two turns later there is.
	feed_turn(&feed, 0, 5000);
	feed_turn(&feed, 0, 10000);
	for (uint64_t i = 0; i < FEED_SLOTS / 4; i++)
		feed_add(&feed, 1ull << 33 | i, 100);
	assert_int_equal(largest(15000, out, FEED_SLOTS), FEED_SLOTS / 4);
}

static void sums_do_not_wrap(void **state)
{
	struct feed_flow out[1];

	(void)state;
	feed_init(&feed, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		feed_add(&feed, 1, 0x80000000);
	assert_int_equal(largest(INTERVAL, out, 1), 1);
	assert_int_equal(out[0].bytes, UINT32_MAX);
	assert_int_equal(out[0].bps / 8, UINT32_MAX * 1000000000ull / INTERVAL);
}

static void turns_may_be_counted_around(void **state)
{
	struct feed_flow out[4];

	(void)state;
	feed_init(&feed, 0, 0);
	feed.turn = UINT32_MAX - 1;
	for (unsigned i = 0; i < 6; i++) {
		feed_add(&feed, i, 100 + i);
		assert_int_equal(largest((i + 1) * 5000ull, out, 4), 1);
		assert_int_equal(out[0].bytes, 100 + i);
		feed_turn(&feed, 0, (i + 1) * 5000ull);
	}
}

// ---- against a plain model

enum { FLOWS = 40 };

struct model {
	uint64_t now[FLOWS], before[FLOWS];
};

static int by_size(const void *a, const void *b)
{
	const struct feed_flow *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void agree(const struct model *m, uint64_t now_ns)
{
	struct feed_window w = feed_window(&feed, now_ns, INTERVAL);
	struct feed_flow want[FLOWS], got[FLOWS];
	uint64_t seen = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < FLOWS; i++) {
		uint64_t bytes = m->now[i] + (w.both ? m->before[i] : 0);

		if (bytes != 0)
			want[n++] = (struct feed_flow){.flow = i, .bytes = bytes};
	}
	qsort(want, n, sizeof(*want), by_size);
	assert_int_equal(feed_largest(&feed, &w, got, FLOWS), n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t flow = got[i].flow;

		assert_int_equal(got[i].bytes, want[i].bytes);
		assert_int_equal(got[i].bytes, m->now[flow] + (w.both ? m->before[flow] : 0));
		assert_true(i == 0 || got[i - 1].bytes > got[i].bytes ||
			    got[i - 1].lot > got[i].lot);
		seen |= 1ull << flow;
	}
	assert_int_equal(__builtin_popcountll(seen), n);
}

static void random_feeds_agree_with_a_plain_model(void **state)
{
	struct model m = {0};
	uint64_t now_ns = 1000;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	feed_init(&feed, 0, now_ns);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned flow = rng_next(&rng) % FLOWS, bytes = 64 + rng_next(&rng) % 1500;

		now_ns += rng_next(&rng) % 500;
		if (rng_next(&rng) % 30 == 0) {
			memcpy(m.before, m.now, sizeof(m.before));
			memset(m.now, 0, sizeof(m.now));
			feed_turn(&feed, 0, now_ns);
		}
		if (rng_next(&rng) % 300 == 0) {
			memset(&m, 0, sizeof(m));
			feed_forget(&feed, 0, now_ns);
		}
		feed_add(&feed, flow, bytes);
		m.now[flow] += bytes;
		if (i % 7 == 0)
			agree(&m, now_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_come_from_the_largest_and_equal_ones_by_lot),
		cmocka_unit_test(equal_flows_are_as_often_the_first),
		cmocka_unit_test(a_young_turn_is_looked_at_with_the_one_before),
		cmocka_unit_test(a_window_is_no_shorter_than_least),
		cmocka_unit_test(two_turns_later_a_flow_is_forgotten),
		cmocka_unit_test(a_turn_ends_with_the_first_frame_an_interval_later),
		cmocka_unit_test(what_is_forgotten_is_in_no_window),
		cmocka_unit_test(flows_without_room_are_summed_up),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(turns_may_be_counted_around),
		cmocka_unit_test(random_feeds_agree_with_a_plain_model),
	};

	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
