// SPDX-License-Identifier: Apache-2.0
// The language of expectations over made-up names and numbers: no fabric is there.
#include "dataplane/base/rng.h"
#include "tests/unit/lab/expr_fixture.h"

// The world: rate of h1 to h10 is 1G, 2G, 3G, 4G; queues hold 100 KB; nothing ever finished; all
// else is 7.
static uint32_t world_n(const void *arg, uint32_t leaf)
{
	const struct fixture *f = arg;

	return f->set.leaves[leaf]->n_objects;
}

static double world_value(const void *arg, uint32_t leaf, uint32_t i)
{
	const struct fixture *f = arg;
	const struct expr_leaf *l = f->set.leaves[leaf];

	if (strcmp(l->fn->name, "rate") == 0 || strcmp(l->fn->name, "utilisation") == 0)
		return (l->objects[i].node + 1) * 1e9;
	if (strcmp(l->fn->name, "queue") == 0)
		return 100e3;
	return strcmp(l->fn->name, "fct") == 0 ? NOTHING : 7;
}

static struct expr_env world_of(const struct fixture *f)
{
	return (struct expr_env){.n = world_n, .value = world_value, .arg = f};
}

static void numbers_carry_units(void **state)
{
	static const struct {
		const char *text;
		double v;
		enum expr_unit unit;
		const char *rest; // NULL: refused
	} rows[] = {
		{"20G", 20e9, EXPR_RATE, ""},
		{"2.5G", 2.5e9, EXPR_RATE, ""},
		{"9600bps", 9600, EXPR_RATE, ""},
		{"100M ", 1e8, EXPR_RATE, " "},
		{"125KB", 125e3, EXPR_BYTES, ""},
		{"1MiB", 1048576, EXPR_BYTES, ""},
		{"64B", 64, EXPR_BYTES, ""},
		{"1.5ms", 1.5e6, EXPR_TIME, ""},
		{"10us)", 10e3, EXPR_TIME, ")"},
		{"2s", 2e9, EXPR_TIME, ""},
		{"400ns", 400, EXPR_TIME, ""},
		{"5%", 0.05, EXPR_SHARE, ""},
		{"0.9%", 0.009, EXPR_SHARE, ""},
		{"0.98", 0.98, EXPR_COUNT, ""},
		{"17*2", 17, EXPR_COUNT, "*2"},
		{"20g", 0, 0, NULL},
		{"1e9", 0, 0, NULL},
		{"5.", 0, 0, NULL},
		{".5", 0, 0, NULL},
		{"", 0, 0, NULL},
		{"1234567890123456", 0, 0, NULL},
		{"3 G", 3e9, EXPR_RATE, ""},
		{"3 of", 3, EXPR_COUNT, " of"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		enum expr_unit unit = N_EXPR_UNITS;
		const char *why, *rest;
		double v = 0;

		rest = expr_number(rows[i].text, &v, &unit, &why);
		if ((rest == NULL) != (rows[i].rest == NULL))
			fail_msg("\"%s\": %s", rows[i].text, rest == NULL ? why : "taken");
		if (rest == NULL)
			continue;
		if (v != rows[i].v || unit != rows[i].unit || strcmp(rest, rows[i].rest) != 0)
			fail_msg("\"%s\": %.17g unit %d rest \"%s\"", rows[i].text, v, unit, rest);
	}
}

static void quantities_print_as_people_write_them(void **state)
{
	static const struct {
		enum expr_unit unit;
		double v;
		const char *text;
	} rows[] = {
		{EXPR_RATE, 9.8124e9, "9.812G"},
		{EXPR_RATE, 999.96e6, "1G"},
		{EXPR_RATE, 0, "0"},
		{EXPR_RATE, 12, "12bps"},
		{EXPR_BYTES, 125300, "125.3KB"},
		{EXPR_BYTES, 62, "62B"},
		{EXPR_TIME, 12400, "12.4us"},
		{EXPR_TIME, 20e6, "20ms"},
		{EXPR_TIME, -1500, "-1.5us"},
		{EXPR_SHARE, 0.0092, "0.92%"},
		{EXPR_SHARE, 0.0000123456, "0.001235%"},
		{EXPR_SHARE, 7.84e-7, "< 0.001%"},
		{EXPR_SHARE, -7.84e-7, "> -0.001%"},
		{EXPR_SHARE, 1, "100%"},
		{EXPR_COUNT, 1234567, "1234567"},
		{EXPR_COUNT, 4503599627370497, "4503599627370497"},
		{EXPR_COUNT, 1234567.25, "1234567"},
		{EXPR_COUNT, 0.99974, "0.99974"},
		{EXPR_COUNT, NOTHING, "no value"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		char text[EXPR_VALUE_LEN];

		expr_print(rows[i].unit, rows[i].v, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

// Four digits for people: half a digit is the largest error.
static void a_printed_quantity_is_right_to_four_digits(void **state)
{
	static const enum expr_unit printed[] = {EXPR_RATE, EXPR_BYTES, EXPR_TIME, EXPR_SHARE};
	const double half_a_digit = 0.5e-3, rounding = 1e-12, least_share = 1e-5;
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (size_t i = 0; i < 40000; i++) {
		enum expr_unit unit = printed[i % N(printed)], back_unit;
		double v = (double)(rng_next64(&r) >> (21 + rng_next(&r) % 43)), back;
		char text[EXPR_VALUE_LEN];
		const char *why, *rest;

		v = unit == EXPR_SHARE ? v / (double)(1ull << 38) : v;
		if (v < (unit == EXPR_SHARE ? least_share : 1))
			continue;
		expr_print(unit, v, text, sizeof(text));
		rest = expr_number(text, &back, &back_unit, &why);
		if (rest == NULL || *rest != '\0' || back_unit != unit ||
		    back > v * (1 + half_a_digit + rounding) ||
		    back < v * (1 - half_a_digit - rounding))
			fail_msg("%.17g is printed as %s", v, text);
	}
}

static void values_follow_arithmetic(void **state)
{
	static const struct {
		const char *text;
		double v;
		enum expr_unit unit;
	} rows[] = {
		{"1 + 2 * 3", 7, EXPR_COUNT},
		{"(1 + 2) * 3", 9, EXPR_COUNT},
		{"2 - 3 - 4", -5, EXPR_COUNT},
		{"12 / 3 / 2", 2, EXPR_COUNT},
		{"-(2 + 1)", -3, EXPR_COUNT},
		{"10G / 4", 2.5e9, EXPR_RATE},
		{"10G * 8us", 10000, EXPR_BYTES},
		{"10KB / 8us", 10e9, EXPR_RATE},
		{"10KB / 10G", 8000, EXPR_TIME},
		{"20G / 5G", 4, EXPR_COUNT},
		{"20% * 10G", 2e9, EXPR_RATE},
		{"rate(h3)", 3e9, EXPR_RATE},
		{"rate(h3) / rate(h2)", 1.5, EXPR_COUNT},
		{"sum(rate(h*))", 10e9, EXPR_RATE},
		{"mean(rate(h[1-3]))", 2e9, EXPR_RATE},
		{"max(rate(h1), rate(h2))", 2e9, EXPR_RATE},
		{"min(rate(h[1-10]))", 1e9, EXPR_RATE},
		{"count(rate(h*))", 4, EXPR_COUNT},
		{"jain(rate(h1), rate(h1))", 1, EXPR_COUNT},
		{"jain(rate(h[1-3]))", 36.0 / 42.0, EXPR_COUNT},
		{"sum(rate(h[1-3]) / 1G)", 6, EXPR_COUNT},
		{"sum(rate(h[1-3]) * 0) / 1bps", 0, EXPR_COUNT},
		{"1 / 0", NOTHING, EXPR_COUNT},
		{"jain(rate(h1) - rate(h1))", NOTHING, EXPR_COUNT},
		{"max(fct(bulk), fct(web))", NOTHING, EXPR_TIME},
		{"lossless_drops + drops(s1, headroom-overrun)", 14, EXPR_COUNT},
		{"pauses()", 7, EXPR_COUNT},
		{"mark_share", 7, EXPR_SHARE},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fixture f;
		struct expr_env env;
		const struct expr *e;
		double v;

		fixture_init(&f);
		e = parse_text(&f, rows[i].text, EXPR_VALUE);
		if (e == NULL)
			fail_msg("%s", f.diags.lines[0]);
		env = world_of(&f);
		v = expr_value(e, 0, &env);
		if (expr_unit(e) != rows[i].unit ||
		    !(v == rows[i].v || (v != v && rows[i].v != rows[i].v)))
			fail_msg("%s: %.17g, unit %d", rows[i].text, v, expr_unit(e));
		fixture_fini(&f);
	}
}

static void comparisons_hold_at_their_bounds(void **state)
{
	static const struct {
		const char *text;
		bool pass;
		const char *expected, *measured, *tolerance;
	} rows[] = {
		{"lossless_drops == 7", true, "7", "7", ""},
		{"lossless_drops == 0", false, "0", "7", ""},
		{"pauses != 7", false, "not 7", "7", ""},
		{"queue(s1.p3.3) < 100KB", false, "< 100KB", "100KB", ""},
		{"queue(s1.p3.3) <= 100KB", true, "<= 100KB", "100KB", ""},
		{"queue(s1.p3.3) > 0", true, "> 0", "100KB", ""},
		{"queue(s1.p3.3) >= 100.001KB", false, ">= 100.001KB", "100KB", ""},
		{"queue(s1.p3.3) >= 99.9999KB", true, ">= 100KB", "100KB", ""},
		{"queue(s1.p3.3) < 100.001KB", true, "< 100.001KB", "100KB", ""},
		{"queue(s1.p3.3) == 100.00000001KB", false, "100.00000001KB", "100KB", ""},
		{"queue(s1.p3.3) between 100.001KB and 2MB", false, "100.001KB to 2MB", "100KB",
		 ""},
		{"rate(h1) within 1% of 1.010102G", false, "1.010102G", "1G", "+-1%"},
		{"rate(h1) <= 1G - 0.0000001bps", false, "<= 999999999.9999999bps", "1000000000bps",
		 ""},
		{"lossless_drops <= 6.99999", false, "<= 6.99999", "7", ""},
		{"rate(h1) within 5% of 1.05G", true, "1.05G", "1G", "+-5%"},
		{"rate(h1) within 10% of 1.2G", false, "1.2G", "1G", "+-10%"},
		{"rate(h1) within 50% of 2G", true, "2G", "1G", "+-50%"},
		{"rate(h1) within 100M of 1.1G", true, "1.1G", "1G", "+-100M"},
		{"rate(h1) within 99M of 1.1G", false, "1.1G", "1G", "+-99M"},
		{"rate(h1) between 1G and 2G", true, "1G to 2G", "1G", ""},
		{"rate(h1) between 1001M and 2G", false, "1.001G to 2G", "1G", ""},
		{"rate(h[1-3]) >= 1G", true, ">= 1G", "1G to 3G", ""},
		{"rate(h[1-3]) >= 2G", false, ">= 2G", "1G to 3G", ""},
		{"rate(h[1-3]) within 50% of 2G", true, "2G", "1G to 3G", "+-50%"},
		{"rate(h[1-3]) == rate(h[1-3])", true, "1G", "1G to 3G", ""},
		{"fct(bulk, p99) < 1s", false, "< 1s", "no value", ""},
		{"fct(bulk, p99) != 1s", false, "not 1s", "no value", ""},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fixture f;
		struct expr_env env;
		struct expr_verdict v;
		const struct expr *e;

		fixture_init(&f);
		e = parse_text(&f, rows[i].text, EXPR_CHECK);
		if (e == NULL)
			fail_msg("%s", f.diags.lines[0]);
		env = world_of(&f);
		v = expr_check(e, &env);
		if (v.pass != rows[i].pass)
			fail_msg("%s: %d", rows[i].text, v.pass);
		assert_string_equal(v.expected, rows[i].expected);
		assert_string_equal(v.measured, rows[i].measured);
		assert_string_equal(v.tolerance, rows[i].tolerance);
		fixture_fini(&f);
	}
}

static void a_list_without_values_fulfils_nothing(void **state)
{
	struct fixture f;
	struct expr_env env;
	const struct expr *e;

	(void)state;
	fixture_init(&f);
	e = parse_text(&f, "rate(h*) >= 0", EXPR_CHECK);
	assert_non_null(e);
	env = world_of(&f);
	assert_true(expr_check(e, &env).pass);
	f.set.leaves[0]->n_objects = 0;
	assert_false(expr_check(e, &env).pass);
	fixture_fini(&f);
}

static void arguments_are_understood(void **state)
{
	static const struct {
		const char *text;
		uint8_t kind;
		uint32_t n, node;
		uint16_t port;
		int cls;
		const char *last; // name of the last object
	} rows[] = {
		{"rate(h3)", OBJ_HOST, 1, 2, 0, -1, "h3"},
		{"rate(h3.5)", OBJ_HOST_CLASS, 1, 2, 0, 5, "h3.5"},
		{"rate(web)", OBJ_FLOW, 1, 1, 0, -1, "web"},
		{"rate(web/2)", OBJ_CONN, 1, 1, 0, -1, "web/2"},
		{"rate(web/*)", OBJ_CONN, 1, 1, 0, -1, "web/*"},
		{"rate(flow:both)", OBJ_FLOW, 1, 2, 0, -1, "both"},
		{"rate(host:both)", OBJ_HOST, 1, 4, 0, -1, "both"},
		{"rate(s1)", OBJ_SWITCH, 1, 0, 0, -1, "s1"},
		{"rate(leaf-2.p12)", OBJ_PORT, 1, 1, 11, -1, "leaf-2.p12"},
		{"rate(s1.p3.3)", OBJ_QUEUE, 1, 0, 2, 3, "s1.p3.3"},
		{"rate(s1.p*.3)", OBJ_QUEUE, 3, 0, 0, 3, "s1.p3.3"},
		{"rate(leaf-2.p[2-4])", OBJ_PORT, 3, 1, 1, -1, "leaf-2.p4"},
		{"queue(s1.p1.*)", OBJ_QUEUE, 8, 0, 0, 0, "s1.p1.7"},
		{"queue(*.p1.3)", OBJ_QUEUE, 2, 0, 0, 3, "leaf-2.p1.3"},
		{"rate(*)", OBJ_HOST, 5, 0, 0, -1, "both"},
		{"fct(flow:*)", OBJ_FLOW, 3, 0, 0, -1, "both"},
		{"pauses", OBJ_ALL_SWITCHES, 1, 0, 0, -1, "all"},
		{"cnps", OBJ_ALL_HOSTS, 1, 0, 0, -1, "all"},
		{"deadlocks", OBJ_ALL_SWITCHES, 1, 0, 0, -1, "all"},
		{"causes()", OBJ_ALL_SWITCHES, 1, 0, 0, -1, "all"},
		{"cycle(leaf-2, s1)", OBJ_SWITCH, 2, 1, 0, -1, "s1"},
		{"cycle(*)", OBJ_SWITCH, 2, 0, 0, -1, "leaf-2"},
		{"rooted", OBJ_ALL_HOSTS, 1, 0, 0, -1, "all"},
		{"rooted(h3, h[1-2], 1ms, 2ms)", OBJ_HOST, 3, 2, 0, -1, "h2"},
		{"rooted(h3, h[1-3], h1)", OBJ_HOST, 3, 2, 0, -1, "h2"}, // each once
		{"storm_detected_at(s1.p3.3, 2)", OBJ_QUEUE, 1, 0, 2, 3, "s1.p3.3"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fixture f;
		const struct expr_leaf *l;
		const struct expr_object *o;

		fixture_init(&f);
		if (parse_text(&f, rows[i].text, EXPR_VALUE) == NULL)
			fail_msg("%s", f.diags.lines[0]);
		l = f.set.leaves[0];
		o = &l->objects[0];
		if (l->n_objects != rows[i].n || o->kind != rows[i].kind ||
		    o->node != rows[i].node || o->port != rows[i].port || o->cls != rows[i].cls)
			fail_msg("%s: %u objects, kind %u node %u port %u class %d", rows[i].text,
				 l->n_objects, o->kind, o->node, o->port, o->cls);
		assert_string_equal(l->objects[l->n_objects - 1].name, rows[i].last);
		fixture_fini(&f);
	}
}

static void options_are_understood(void **state)
{
	struct fixture f;
	const struct expr_leaf *l;

	(void)state;
	fixture_init(&f);
	assert_non_null(
		parse_text(&f, "fct(web, p99, size < 100KB, size >= 1KB, 2ms, 20ms)", EXPR_VALUE));
	l = f.set.leaves[0];
	assert_int_equal(l->stat.kind, STAT_QUANTILE);
	assert_int_equal(l->stat.ppm, 990000);
	assert_int_equal(l->size_max, 99999);
	assert_int_equal(l->size_min, 1000);
	assert_true(l->windowed && l->from_ns == 2000000 && l->to_ns == 20000000);
	assert_non_null(parse_text(&f, "pool(s1, headroom, max)", EXPR_VALUE));
	assert_int_equal(f.set.leaves[1]->choice, 1);
	assert_int_equal(f.set.leaves[1]->stat.kind, STAT_MAX);
	assert_false(f.set.leaves[1]->windowed);
	assert_int_equal(f.set.leaves[1]->to_ns, UINT64_MAX);
	// What names nothing is about everything.
	assert_non_null(
		parse_text(&f, "fct(p50) + fct(size > 9B) + pauses(0, 1ms) * 1s", EXPR_VALUE));
	assert_int_equal(f.set.leaves[2]->objects[0].kind, OBJ_ALL_HOSTS);
	assert_int_equal(f.set.leaves[2]->stat.ppm, 500000);
	assert_int_equal(f.set.leaves[3]->size_min, 10);
	assert_int_equal(f.set.leaves[4]->to_ns, 1000000);
	fixture_fini(&f);
}

static void a_number_says_which_one(void **state)
{
	static const struct {
		const char *text;
		uint32_t number;
		uint64_t from_ns;
	} rows[] = {
		{"storm_detected_at(s1)", 1, 0},
		{"storm_detected_at(s1, 12)", 12, 0},
		{"storm_restored_at(s1.p1.3, 3, 1ms, 5ms)", 3, 1000000},
		{"storm_restored_at(s1.p1.3, 1ms, 5ms)", 1, 1000000},
		{"storm_restored_at(s1.p1.3, 0, 5ms)", 1, 0}, // there is no 0th
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct fixture f;

		fixture_init(&f);
		if (parse_text(&f, rows[i].text, EXPR_VALUE) == NULL)
			fail_msg("%s", f.diags.lines[0]);
		assert_int_equal(f.set.leaves[0]->number, rows[i].number);
		assert_int_equal(f.set.leaves[0]->from_ns, rows[i].from_ns);
		fixture_fini(&f);
	}
}

static void a_window_of_a_list_is_for_what_has_none(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_non_null(parse_text(&f, "rate(h3) + sum(rate(h1), rate(h2, 1ms, 2ms), 10ms, 20ms)",
				   EXPR_VALUE));
	assert_false(f.set.leaves[0]->windowed);
	assert_int_equal(f.set.leaves[1]->from_ns, 10000000);
	assert_int_equal(f.set.leaves[1]->to_ns, 20000000);
	assert_int_equal(f.set.leaves[2]->to_ns, 2000000);
	fixture_fini(&f);
}

static void statistics_have_names(void **state)
{
	static const struct {
		const char *text;
		int kind; // -1: none
		uint32_t ppm;
	} rows[] = {
		{"mean", STAT_MEAN, 0},
		{"now", STAT_NOW, 0},
		{"p50", STAT_QUANTILE, 500000},
		{"p5", STAT_QUANTILE, 50000},
		{"p99", STAT_QUANTILE, 990000},
		{"p999", STAT_QUANTILE, 999000},
		{"p99.9", STAT_QUANTILE, 999000},
		{"p99.99", STAT_QUANTILE, 999900},
		{"p", -1, 0},
		{"p99x", -1, 0},
		{"q99", -1, 0},
		{"p123456", -1, 0},
		{"mea", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct expr_stat s = {0};
		bool ok = expr_stat_parse(rows[i].text, &s);

		if (ok != (rows[i].kind >= 0) ||
		    (ok && (s.kind != rows[i].kind || s.ppm != rows[i].ppm)))
			fail_msg("%s: %d kind %u ppm %u", rows[i].text, ok, s.kind, s.ppm);
	}
}

static void every_function_is_in_the_manual(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	expr_func_help(out);
	fclose(out);
	for (uint32_t i = 0; i < expr_n_funcs; i++) {
		char start[64];

		snprintf(start, sizeof(start), "\n  %s(", expr_funcs[i].name);
		assert_non_null(strstr(text, start));
		assert_ptr_equal(expr_func_find(expr_funcs[i].name,
						(uint32_t)strlen(expr_funcs[i].name)),
				 &expr_funcs[i]);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_carry_units),
		cmocka_unit_test(quantities_print_as_people_write_them),
		cmocka_unit_test(a_printed_quantity_is_right_to_four_digits),
		cmocka_unit_test(values_follow_arithmetic),
		cmocka_unit_test(comparisons_hold_at_their_bounds),
		cmocka_unit_test(a_list_without_values_fulfils_nothing),
		cmocka_unit_test(arguments_are_understood),
		cmocka_unit_test(options_are_understood),
		cmocka_unit_test(a_number_says_which_one),
		cmocka_unit_test(a_window_of_a_list_is_for_what_has_none),
		cmocka_unit_test(statistics_have_names),
		cmocka_unit_test(every_function_is_in_the_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
