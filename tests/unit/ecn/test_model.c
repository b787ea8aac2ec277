// SPDX-License-Identifier: Apache-2.0
// The table of known workloads: its text, and the nearest row.
#include "tests/unit/ecn/test.h"

#include <math.h>

#include "control/autoecn/model.h"

enum { ERR_LEN = 256 };
static struct ecn_model model;

static bool parse(const char *text, char err[ERR_LEN])
{
	err[0] = '\0';
	return ecn_model_parse("m.ecn", text, strlen(text), &model, err, ERR_LEN);
}

static void a_row_has_its_units(void **state)
{
	char err[ERR_LEN];
	struct ecn_thresholds t;

	(void)state;
	assert_true(parse("# a comment\n\n  web 60 2.5 40 12 30  1.6 6.4 20 # best\n"
			  "any - - - - 5 2 2 1",
			  err));
	assert_int_equal(model.n, 2);
	assert_string_equal(model.row[0].name, "web");
	assert_float_equal(model.row[0].at.utilisation, 0.6, 1e-9);
	assert_float_equal(model.row[0].at.mark_share, 0.025, 1e-9);
	assert_float_equal(model.row[0].at.delay_p99_ns, 40000, 1e-9);
	assert_float_equal(model.row[0].at.flows, 12, 1e-9);
	assert_float_equal(model.row[0].at.elephants, 0.3, 1e-9);
	assert_float_equal(model.row[1].at.flows, ECN_UNKNOWN, 0);
	t = ecn_model_thresholds(&model.row[0], 10000000000);
	assert_int_equal(t.kmin_bytes, 2000);
	assert_int_equal(t.kmax_bytes, 8000);
	assert_int_equal(t.pmax_ppm, 200000);
}

static void a_mistake_is_named_with_its_line_and_changes_nothing(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "m.ecn:0: no rows"},
		{"# only words\n", "m.ecn:1: no rows"},
		{"a 1 1 1 1 1 1 1\n", "m.ecn:1: 8 columns, expected 9: name utilisation marks "
				      "delay_p99 flows elephants kmin kmax pmax"},
		{"\na 1 1 1 1 1 1 1 1 1\n", "m.ecn:2: 10 columns, expected 9: name utilisation "
					    "marks delay_p99 flows elephants kmin kmax pmax"},
		{"a 101 1 1 1 1 1 1 1\n",
		 "m.ecn:1: utilisation: '101' is not a number from 0 to 100, nor - for any"},
		{"a 1 1 1 1 1 - 1 1\n", "m.ecn:1: kmin: '-' is not a number from 0.01 to 1e+06"},
		{"a - - - - - 2 4 1\n",
		 "m.ecn:1: no feature has a number: the row would never be near"},
		{"a 1 1 1 1 1 5 4 1\n", "m.ecn:1: kmin 5 is above kmax 4"},
		{"a 1 1 1 1 1 1 1 nan\n", "m.ecn:1: pmax: 'nan' is not a number from 0.01 to 100"},
		{"a 1 1x 1 1 1 1 1 1\n",
		 "m.ecn:1: marks: '1x' is not a number from 0 to 100, nor - for any"},
		{"a-name-that-is-much-too-long 1 1 1 1 1 1 1 1\n",
		 "m.ecn:1: name: longer than 23 characters"},
		{"b 1 1 1 1 1 1 1 1\nc 2 1 1 1 1 1 1 1\nb 3 1 1 1 1 1 1 1\n",
		 "m.ecn:3: name: an earlier row is 'b' too"},
		{"a\x1b[31m 1 1 1 1 1 1 1 1\n",
		 "m.ecn:1: name: only letters, digits and signs of ASCII are a name"},
		{"\xff 1 1 1 1 1 1 1 1\n",
		 "m.ecn:1: name: only letters, digits and signs of ASCII are a name"},
		{"a 1 1 1 1 1 1 1 -1\n", "m.ecn:1: pmax: '-1' is not a number from 0.01 to 100"},
		{"a 1 1 1 1 1 inf inf 1\n",
		 "m.ecn:1: kmin: 'inf' is not a number from 0.01 to 1e+06"},
	};
	char err[ERR_LEN];

	(void)state;
	assert_true(parse("a 1 1 1 1 1 1 1 1\n", err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(parse(rows[i].text, err));
		assert_string_equal(err, rows[i].says);
		assert_int_equal(model.n, 1);
		assert_string_equal(model.row[0].name, "a");
	}
}

static void a_file_that_is_no_table_is_refused(void **state)
{
	char err[ERR_LEN], long_line[400];

	(void)state;
	memset(long_line, 'a', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	assert_false(parse(long_line, err));
	assert_string_equal(err, "m.ecn:1: not a line of text of at most 255 bytes");
	assert_false(ecn_model_parse("m.ecn", "a\0b\n", 4, &model, err, ERR_LEN));
	assert_string_equal(err, "m.ecn:1: not a line of text of at most 255 bytes");
	assert_false(ecn_model_load("/nonexistent/m.ecn", &model, err, ERR_LEN));
	assert_string_equal(err, "/nonexistent/m.ecn: cannot open: No such file or directory");
	assert_false(ecn_model_load("/dev/null", &model, err, ERR_LEN));
	assert_string_equal(err, "/dev/null: cannot open: it is no regular file");
}

static void the_builtin_table_can_be_read(void **state)
{
	char err[ERR_LEN] = "";

	(void)state;
	assert_true(ecn_model_load(NULL, &model, err, sizeof(err)));
	assert_string_equal(err, "");
	assert_true(model.n >= 1);
}

static void the_nearest_row_counts_if_it_is_near(void **state)
{
	const struct ecn_features bulk = {.utilisation = 0.98, .mark_share = 0.011,
					  .delay_p99_ns = 45000, .flows = 8,
					  .elephants = ECN_UNKNOWN};
	struct ecn_features far = bulk;
	char err[ERR_LEN];
	double distance;

	(void)state;
	assert_true(parse("bulk 99 1 40 8 - 2 8 20\nweb 55 1 40 8 - 1 4 20\n", err));
	assert_string_equal(ecn_model_nearest(&model, &bulk, &distance)->name, "bulk");
	assert_true(distance < 0.2);
	far.utilisation = 0.6;
	assert_string_equal(ecn_model_nearest(&model, &far, &distance)->name, "web");
	// 27 times the delay is three times the scale of that feature, of four that count.
	far.delay_p99_ns = 27 * 40000;
	assert_null(ecn_model_nearest(&model, &far, &distance));
	assert_true(distance > 1.4 && distance < 1.6);
}

static void a_feature_that_one_side_does_not_know_does_not_count(void **state)
{
	const struct ecn_features a = {.utilisation = 0.5, .mark_share = 0.01,
				       .delay_p99_ns = 10000, .flows = ECN_UNKNOWN,
				       .elephants = 0.9};
	struct ecn_features b = a;

	(void)state;
	b.flows = 1000;
	b.elephants = ECN_UNKNOWN;
	assert_float_equal(ecn_distance(&a, &b), 0, 1e-9);
	b.utilisation = 0.9; // twice its scale, of three that count
	assert_true(fabs(ecn_distance(&a, &b) - 2 / sqrt(3)) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_its_units),
		cmocka_unit_test(a_mistake_is_named_with_its_line_and_changes_nothing),
		cmocka_unit_test(a_file_that_is_no_table_is_refused),
		cmocka_unit_test(the_builtin_table_can_be_read),
		cmocka_unit_test(the_nearest_row_counts_if_it_is_near),
		cmocka_unit_test(a_feature_that_one_side_does_not_know_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
