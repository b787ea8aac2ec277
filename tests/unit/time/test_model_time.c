// SPDX-License-Identifier: Apache-2.0
// Model time against its definition: exact at every reading, never back, nothing adds up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/base/model_time.h"
#include "dataplane/base/rng.h"

#define S TIME_START_NS
static const uint64_t year_ns = 31557600ull * 1000000000;

static void a_model_nanosecond_begins_every_s_real_ones(void **state)
{
	static const struct {
		uint32_t scale;
		uint64_t real_ns, model_ns;
	} rows[] = {
		{1, 0, 0},
		{1, S + 12345, S + 12345},
		{0, S + 12345, S + 12345},
		{500, 0, 0},
		{500, S, S},
		{500, S + 499, S},
		{500, S + 500, S + 1},
		{500, S + 999, S + 1},
		{500, S + 5000000000, S + 10000000},
		{7, S + 7000000006, S + 1000000000},
		{7, S + 7000000007, S + 1000000001},
		{TIME_SCALE_MAX, S + 99999, S},
		{TIME_SCALE_MAX, S + 100000, S + 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(model_time_ns(rows[i].scale, rows[i].real_ns), rows[i].model_ns);
	// After a hundred years still to the nanosecond.
	assert_int_equal(model_time_ns(500, S + 100 * year_ns + 499), S + year_ns / 5);
	assert_int_equal(model_time_ns(500, S + 100 * year_ns + 500), S + year_ns / 5 + 1);
}

static void it_never_goes_back_and_is_never_a_nanosecond_off(void **state)
{
	static const uint32_t scales[] = {2, 3, 500, 9973, TIME_SCALE_MAX};
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		uint64_t real = S, last = S;

		for (unsigned k = 0; k < 100000; k++) {
			uint64_t model;

			real += rng_next(&rng) % (1u << (k % 32));
			model = model_time_ns(scales[i], real);
			assert_true(model >= last);
			assert_true((model - S) * scales[i] <= real - S);
			assert_true((model - S + 1) * scales[i] > real - S);
			last = model;
		}
	}
}

static void spans_turn_into_each_other_without_waking_too_early(void **state)
{
	static const struct {
		uint32_t scale;
		uint64_t model_ns, real_ns;
	} rows[] = {
		{1, 77, 77},	       {500, 0, 0},
		{500, 1, 500},	       {500, 838860, 419430000},
		{3, UINT64_MAX, UINT64_MAX}, {TIME_SCALE_MAX, UINT64_MAX / 2, UINT64_MAX},
	};
	static const struct {
		uint32_t scale;
		uint64_t real_ns, model_ns;
	} back[] = {
		{1, 77, 77}, {500, 0, 0}, {500, 1, 1}, {500, 500, 1}, {500, 501, 2},
		{500, 100000000, 200000}, {TIME_SCALE_MAX, 1000, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(real_span_ns(rows[i].scale, rows[i].model_ns), rows[i].real_ns);
	for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++)
		assert_int_equal(model_span_ns(back[i].scale, back[i].real_ns), back[i].model_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_nanosecond_begins_every_s_real_ones),
		cmocka_unit_test(it_never_goes_back_and_is_never_a_nanosecond_off),
		cmocka_unit_test(spans_turn_into_each_other_without_waking_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
