// SPDX-License-Identifier: Apache-2.0
// When changes of the kernel's routes become a new table.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/linux/batch.h"
#include "dataplane/base/units.h"

enum { ONE = 1, MANY = 100000 }; // prefixes

static const uint64_t START = 1000ull * MS_NS;

static bool due(const struct batch *b, uint64_t after_ms)
{
	return batch_due(b, START + after_ms * MS_NS, true, false);
}

static void the_first_change_after_a_pause_goes_at_once(void **state)
{
	struct batch b = {0};

	(void)state;
	assert_false(due(&b, 0));
	batch_change(&b, START);
	assert_true(due(&b, 0));
	batch_end(&b, START, ONE);
	assert_false(due(&b, 0));
	batch_change(&b, START + 50 * MS_NS);
	assert_true(due(&b, 50));
}

static void a_series_waits_for_5_ms_of_quiet_and_at_most_50_ms(void **state)
{
	struct batch b = {0};

	(void)state;
	batch_end(&b, START, ONE);
	batch_change(&b, START + 49 * MS_NS);
	assert_false(due(&b, 53));
	assert_true(due(&b, 54));
	for (uint64_t ms = 50; ms < 98; ms += 4) {
		batch_change(&b, START + ms * MS_NS);
		assert_false(due(&b, ms + 4));
	}
	assert_true(due(&b, 99));
}

static void messages_that_wait_are_read_first(void **state)
{
	struct batch b = {0};

	(void)state;
	batch_change(&b, START);
	assert_false(batch_due(&b, START + 49 * MS_NS, false, false));
	assert_true(batch_due(&b, START + 50 * MS_NS, false, false));
}

static void stale_routes_wait_for_5_ms_of_quiet(void **state)
{
	struct batch b = {0};

	(void)state;
	batch_change(&b, START);
	assert_false(batch_due(&b, START + 4 * MS_NS, true, true));
	assert_true(batch_due(&b, START + 5 * MS_NS, true, true));
}

static void a_large_table_is_followed_by_a_pause(void **state)
{
	struct batch b = {0};

	(void)state;
	batch_end(&b, START, MANY);
	batch_change(&b, START + 100 * MS_NS);
	assert_false(due(&b, 499));
	assert_true(due(&b, 500));
}

static void a_table_that_failed_is_made_again_after_100_ms(void **state)
{
	struct batch b = {0};

	(void)state;
	batch_change(&b, START);
	batch_again(&b, START);
	assert_false(due(&b, 99));
	assert_true(due(&b, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_change_after_a_pause_goes_at_once),
		cmocka_unit_test(a_series_waits_for_5_ms_of_quiet_and_at_most_50_ms),
		cmocka_unit_test(messages_that_wait_are_read_first),
		cmocka_unit_test(stale_routes_wait_for_5_ms_of_quiet),
		cmocka_unit_test(a_large_table_is_followed_by_a_pause),
		cmocka_unit_test(a_table_that_failed_is_made_again_after_100_ms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
