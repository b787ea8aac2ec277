// SPDX-License-Identifier: Apache-2.0
// Statistics of samples, times of pauses and tables: what measuring and reporting decide without a
// fabric.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/measure.h"
#include "control/lab/metric.h"
#include "control/lab/report_grid.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct expr_stat stat_of(const char *text)
{
	struct expr_stat s = {0};

	assert_true(expr_stat_parse(text, &s));
	return s;
}

static void samples_have_exact_statistics(void **state)
{
	static const struct {
		const char *stat;
		double v;
	} rows[] = {
		{"mean", 50.5}, {"min", 1},  {"max", 100},  {"now", 37},    {"p50", 50},
		{"p90", 90},	{"p99", 99}, {"p999", 100}, {"p99.9", 100}, {"p1", 1},
		{"p00", 1},	{"p01", 1},  {"p02", 2},
	};
	struct sample_set s = {0};

	(void)state;
	assert_true(sample_set_stat(&s, stat_of("mean")) != sample_set_stat(&s, stat_of("mean")));
	// 1 to 100 in another order: 37 and 100 have no common divisor; the last one is 37 * 101 %
	// 100.
	for (int i = 2; i <= 101; i++)
		assert_int_equal(sample_set_add(&s, 37 * i % 100 == 0 ? 100 : 37 * i % 100, true),
				 0);
	for (size_t i = 0; i < N(rows); i++)
		if (sample_set_stat(&s, stat_of(rows[i].stat)) != rows[i].v)
			fail_msg("%s: %g", rows[i].stat,
				 sample_set_stat(&s, stat_of(rows[i].stat)));
	sample_set_clear(&s);
	assert_int_equal(s.n, 0);
	assert_int_equal(sample_set_add(&s, 5, true), 0);
	assert_true(sample_set_stat(&s, stat_of("max")) == 5);
	assert_true(sample_set_stat(&s, stat_of("p50")) == 5);
	free(s.runs);
}

static void equal_samples_in_a_row_are_kept_once(void **state)
{
	struct sample_set s = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sample_set_add(&s, i < 900 ? 0 : 7, true), 0);
	assert_int_equal(s.n_runs, 2);
	assert_true(sample_set_stat(&s, stat_of("p90")) == 0);
	assert_true(sample_set_stat(&s, stat_of("p91")) == 7);
	assert_true(sample_set_stat(&s, stat_of("mean")) == 0.7);
	free(s.runs);
}

static void quantiles_are_the_nearest_rank(void **state)
{
	static const double v[] = {10, 20, 30, 40};
	static const struct {
		uint32_t ppm;
		double v;
	} rows[] = {{0, 10}, {250000, 10}, {250001, 20}, {500000, 20}, {990000, 40}, {1000000, 40}};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		if (metric_quantile(v, 4, rows[i].ppm) != rows[i].v)
			fail_msg("%u: %g", rows[i].ppm, metric_quantile(v, 4, rows[i].ppm));
	assert_true(metric_quantile(v, 0, 500000) != metric_quantile(v, 0, 500000));
}

static void a_pause_that_lasts_counts_as_far_as_it_went(void **state)
{
	struct pfc_class_stats s = {0};

	(void)state;
	ctr_add(&s.duration_ns, 1000);
	assert_true(pfc_paused_ns(&s, 9000) == 1000);
	gauge_set(&s.since_ns, 5000);
	gauge_set(&s.until_ns, 8000);
	assert_true(pfc_paused_ns(&s, 6000) == 2000);
	assert_true(pfc_paused_ns(&s, 9000) == 4000);
}

#define PORTS_JSON                                                                                 \
	"{\"title\": \"ports\", \"heads\": [\"port\", \"rate\", \"pauses\"], \"n_left\": 1, "      \
	"\"rows\": [[\"s1.p1\", \"40\", \"7\"],\n"                                                 \
	"[\"leaf<1>\", \"5.25\", \"\"]], \"note\": \"3 more\"}"

static void tables_leave_empty_columns_out(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct grid g;

	(void)state;
	grid_init(&g, "ports", "port|rate|drops|pauses", 1);
	grid_print(&g, out);
	grid_row(&g);
	grid_put(&g, "%s", "s1.p1");
	grid_put(&g, "%d", 40);
	grid_put(&g, "%s", "");
	grid_put(&g, "%d", 7);
	grid_row(&g);
	grid_put(&g, "%s", "leaf<1>");
	grid_put(&g, "%s", "5.25");
	grid_note(&g, "%d more", 3);
	grid_print(&g, out);
	fclose(out);
	assert_string_equal(text, "\nports\n"
				  "port     rate  pauses\n"
				  "s1.p1      40       7\n"
				  "leaf<1>  5.25\n"
				  "3 more\n");
	free(text);
	out = open_memstream(&text, &len);
	grid_json(&g, out);
	grid_json(&g, out);
	fclose(out);
	assert_int_equal(len, 2 * (sizeof(PORTS_JSON) - 1) + 2);
	assert_memory_equal(text, PORTS_JSON, sizeof(PORTS_JSON) - 1);
	assert_string_equal(text + sizeof(PORTS_JSON) - 1, ",\n" PORTS_JSON);
	free(text);
	arena_fini(&g.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_exact_statistics),
		cmocka_unit_test(equal_samples_in_a_row_are_kept_once),
		cmocka_unit_test(quantiles_are_the_nearest_rank),
		cmocka_unit_test(a_pause_that_lasts_counts_as_far_as_it_went),
		cmocka_unit_test(tables_leave_empty_columns_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
