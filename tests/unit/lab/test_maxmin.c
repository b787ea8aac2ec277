// SPDX-License-Identifier: Apache-2.0
// Water-filling: rates that follow from arithmetic.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/lab/maxmin.h"

#define G 1e9

static void fill_links(double *left, uint32_t n_links, const struct maxmin_use *uses,
		 struct maxmin_conn *conns, uint32_t n)
{
	double load[8];

	maxmin_fill(left, load, n_links, uses, conns, n);
}

static void assert_rate(double got, double want)
{
	assert_true(fabs(got - want) < 1e-6 * want + 1);
}

// Bertsekas and Gallager: three connections share link 0; two of them and a fourth share link 1.
static void who_meets_no_bottleneck_takes_what_the_others_leave(void **state)
{
	const struct maxmin_use uses[] = {{0, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}};
	struct maxmin_conn c[] = {{0, 1, INFINITY, 0}, {1, 1, INFINITY, 0}, {2, 2, INFINITY, 0},
				  {4, 1, INFINITY, 0}};
	double left[] = {30 * G, 40 * G};

	(void)state;
	fill_links(left, 2, uses, c, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_rate(c[i].rate_bps, 10 * G);
	assert_rate(c[3].rate_bps, 30 * G);
	assert_true(left[0] < 1 && left[1] < 1);
}

static void a_limit_of_its_own_leaves_the_rest_to_others(void **state)
{
	const struct maxmin_use uses[] = {{0, 1}, {0, 1}, {0, 1}};
	struct maxmin_conn c[] = {{0, 1, 2 * G, 0}, {1, 1, INFINITY, 0}, {2, 1, 0, 0}};
	double left[] = {10 * G};

	(void)state;
	fill_links(left, 1, uses, c, 3);
	assert_rate(c[0].rate_bps, 2 * G);
	assert_rate(c[1].rate_bps, 8 * G);
	assert_rate(c[2].rate_bps, 0);
}

static void equal_ways_carry_their_share(void **state)
{
	const struct maxmin_use uses[] = {{0, 1}, {1, 0.5}, {2, 0.5}, {1, 1}};
	struct maxmin_conn c[] = {{0, 3, INFINITY, 0}, {3, 1, INFINITY, 0}};
	double left[] = {40 * G, 10 * G, 10 * G};

	(void)state;
	fill_links(left, 3, uses, c, 2);
	// Link 1: half of the first and all of the second.
	assert_rate(c[0].rate_bps, 10 * G / 1.5);
	assert_rate(c[1].rate_bps, 10 * G / 1.5);
	assert_rate(left[2], 10 * G - 5 * G / 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_meets_no_bottleneck_takes_what_the_others_leave),
		cmocka_unit_test(a_limit_of_its_own_leaves_the_rest_to_others),
		cmocka_unit_test(equal_ways_carry_their_share),
	};

	return cmocka_run_group_tests_name("lab_maxmin", tests, NULL, NULL);
}
