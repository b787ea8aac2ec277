// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/egress.h"
#include "tests/unit/qos/test.h"

static void verdict_follows_min_limit_and_pool(void **state)
{
	static const struct {
		bool lossless, dynamic;
		int alpha_log2;
		uint32_t min, limit;
		uint64_t min_used, shared, pool_free;
		uint32_t c;
		enum egress_verdict want;
	} rows[] = {
		// min: all that the queue holds counts against it
		{false, true, 0, 10, 0, 0, 0, 100, 10, EGRESS_MIN},
		{false, true, 0, 10, 0, 0, 0, 100, 11, EGRESS_SHARED},
		{false, true, 0, 10, 0, 9, 0, 0, 1, EGRESS_MIN},
		{false, true, 0, 10, 0, 9, 1, 100, 1, EGRESS_SHARED},
		{false, true, 0, 10, 0, 5, 0, 4, 6, EGRESS_DROP},
		// dynamic: shared + c <= alpha * free
		{false, true, 0, 0, 0, 0, 50, 51, 1, EGRESS_SHARED},
		{false, true, 0, 0, 0, 0, 50, 50, 1, EGRESS_DROP},
		{false, true, 3, 0, 0, 0, 400, 51, 8, EGRESS_SHARED},
		{false, true, 3, 0, 0, 0, 400, 51, 9, EGRESS_DROP},
		{false, true, -3, 0, 0, 0, 11, 96, 1, EGRESS_SHARED},
		{false, true, -3, 0, 0, 0, 11, 95, 1, EGRESS_DROP},
		// the pool itself
		{false, true, 7, 0, 0, 0, 0, 5, 5, EGRESS_SHARED},
		{false, true, 7, 0, 0, 0, 0, 5, 6, EGRESS_DROP},
		{false, false, 0, 0, 1000, 0, 0, 5, 6, EGRESS_DROP},
		// static
		{false, false, 0, 0, 100, 0, 99, 500, 1, EGRESS_SHARED},
		{false, false, 0, 0, 100, 0, 100, 500, 1, EGRESS_DROP},
		// lossless queues have no limit
		{true, false, 0, 0, 0, 1000000, 0, 0, 1000, EGRESS_LOSSLESS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct egress_params p = {.lossless = rows[i].lossless,
						.min_cells = rows[i].min,
						.shared = {.dynamic = rows[i].dynamic,
							   .alpha_log2 = (int8_t)rows[i].alpha_log2,
							   .static_cells = rows[i].limit}};
		const struct egress_state s = {.min_used = rows[i].min_used,
					       .shared = rows[i].shared};

		assert_row(i, egress_decide(&p, &s, rows[i].pool_free, rows[i].c, rows[i].c),
			   rows[i].want);
	}
}

static void a_lone_queue_tail_drops_at_its_share_of_the_pool(void **state)
{
	const struct egress_params p = {.shared = {.dynamic = true}};
	struct egress_state s = {0};
	uint64_t pool = 1000;

	(void)state;
	for (;;) {
		enum egress_verdict v = egress_decide(&p, &s, pool, 1, 1);

		if (v == EGRESS_DROP)
			break;
		pool -= (uint64_t)egress_charge(&s, v, 1).lossy;
	}
	assert_int_equal(egress_used(&s), 500);
	assert_int_equal(pool, 500);
}

static void release_gives_shared_back_first(void **state)
{
	const struct egress_params p = {.min_cells = 6};
	struct egress_state s = {0};

	(void)state;
	assert_int_equal(egress_charge(&s, EGRESS_MIN, 6).lossy, 0);
	assert_int_equal(egress_charge(&s, EGRESS_SHARED, 10).lossy, 10);
	assert_int_equal(egress_charge(&s, EGRESS_DROP, 99).lossy, 0);
	assert_int_equal(egress_used(&s), 16);
	assert_int_equal(egress_release(&p, &s, 4).lossy, -4);
	assert_int_equal(egress_release(&p, &s, 8).lossy, -6);
	assert_int_equal(gauge_get(&s.shared), 0);
	assert_int_equal(gauge_get(&s.min_used), 4);
	assert_int_equal(egress_release(&p, &s, 4).lossy, 0);
	assert_int_equal(egress_used(&s), 0);
}

// Whatever the pool has left; and after the class has become lossy they still leave their pool.
static void lossless_cells_count_in_a_pool_of_their_own_and_are_never_refused(void **state)
{
	const struct egress_params p = {.lossless = true}, lossy = {.min_cells = 9};
	struct egress_state s = {0};
	struct egress_delta d;

	(void)state;
	assert_int_equal(egress_decide(&p, &s, 0, 100, 100), EGRESS_LOSSLESS);
	d = egress_charge(&s, EGRESS_LOSSLESS, 100);
	assert_int_equal(d.lossless, 100);
	assert_int_equal(d.lossy, 0);
	assert_int_equal(egress_decide(&lossy, &s, 0, 1, 1), EGRESS_DROP);
	egress_charge(&s, EGRESS_SHARED, 7);
	d = egress_release(&lossy, &s, 103);
	assert_int_equal(d.lossless, -100);
	assert_int_equal(d.lossy, -3);
	assert_int_equal(egress_used(&s), 4);
}

// Else cells of the lossy pool stay in use for as long as frames wait in the queue.
static void a_queue_that_has_become_lossless_gives_lossy_cells_back_first(void **state)
{
	const struct egress_params p = {.lossless = true};
	struct egress_state s = {0};
	struct egress_delta d;

	(void)state;
	egress_charge(&s, EGRESS_MIN, 6);
	egress_charge(&s, EGRESS_SHARED, 10);
	egress_charge(&s, EGRESS_LOSSLESS, 100);
	d = egress_release(&p, &s, 12);
	assert_int_equal(d.lossy, -10);
	assert_int_equal(d.lossless, 0);
	assert_int_equal(gauge_get(&s.min_used), 4);
	d = egress_release(&p, &s, 104);
	assert_int_equal(d.lossy, 0);
	assert_int_equal(d.lossless, -100);
	assert_int_equal(egress_used(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict_follows_min_limit_and_pool),
		cmocka_unit_test(a_lone_queue_tail_drops_at_its_share_of_the_pool),
		cmocka_unit_test(release_gives_shared_back_first),
		cmocka_unit_test(
			lossless_cells_count_in_a_pool_of_their_own_and_are_never_refused),
		cmocka_unit_test(a_queue_that_has_become_lossless_gives_lossy_cells_back_first),
	};

	return cmocka_run_group_tests_name("egress", tests, NULL, NULL);
}
