// SPDX-License-Identifier: Apache-2.0
// What is wrong with an expression is said once, in a sentence, at its place in the file.
#include "tests/unit/lab/expr_fixture.h"

#define AT(column) "x.yaml:5:" #column ": expect[0]: "

static const struct {
	const char *text, *line;
} mistakes[] = {
	{"rate(h1) >= 20G 1", AT(25) "expected the end of the expression"},
	{"rate(h1) >= 20g", AT(21) "unknown unit: known are bps K M G, B KB MB GB KiB MiB GiB, "
				   "ns us ms s, and %"},
	{"rate(h1) >= 20KB", AT(21) "bytes cannot be compared with a rate"},
	{"rate(h1) + 1us > 0", AT(20) "a time cannot be added to a rate"},
	{"rate(h1) * rate(h2) > 0", AT(20) "a rate times a rate has no meaning here"},
	{"sum(rate(h1), queue(s1.p1.3)) > 0", AT(23) "bytes cannot be listed with a rate"},
	{"rat(h1) > 0", AT(9) "there is no function rat: did you mean rate?"},
	{"xyzzyfoo(h1) > 0", AT(9) "there is no function xyzzyfoo; see weir-lab help functions"},
	{"rate(h4) > 0", AT(14) "there is no h4: did you mean h1?"},
	{"rate(both) > 0", AT(14) "both is a host and a flow: write host:both or flow:both"},
	{"rate(h[20-30]) > 0",
	 AT(14) "nothing fits h[20-30]: rate wants a host, a class of a host, a "
		"flow, a connection, a switch, a port or a queue"},
	{"queue(h1) > 0", AT(15) "h1 is a host: queue wants a switch, a port or a queue"},
	{"queue(s1.p4.3) > 0",
	 AT(15) "s1.p4.3 does not exist: s1 has the ports p1 to p3, each with "
		"the queues 0 to 7; several are s1.p[1-3].[0-7]"},
	{"queue(s1.p3.3, p9x) > 0",
	 AT(24) "p9x means nothing to queue: it takes mean, min, max, now, "
		"p50, p99, and a window of two times"},
	{"queue(s1.p3.3, 10ms) > 0", AT(24) "a window is two times, such as 10ms, 20ms"},
	{"queue(s1.p3.3, 10ms, 5ms) > 0", AT(30) "the window does not end after it begins"},
	{"queue_mean(s1.p3.3, 5ms, 5ms) > 0",
	 AT(34) "the window does not end after it begins"},
	{"queue_mean(s1.p3.3, max) > 0",
	 AT(29) "max means nothing to queue_mean: it takes a window of two times"},
	{"share_above(s1.p3.3, -1) > 0",
	 AT(30) "-1 means nothing to share_above: it takes a length such as 10KB, and a window of "
		"two times"},
	{"queue(s1.p3.3, 10ms, 21ms) > 0", AT(30) "21ms is after the end of the run"},
	{"queue(s1.p3.3, 10KB, 21KB) > 0",
	 AT(24) "a window is two times, such as 10ms, 20ms: 10KB is "
		"none"},
	{"queue(s1.p3.3, 1ms, 2ms, max) > 0", AT(34) "the window is the last of all arguments"},
	{"done(bulk) < 5ms", AT(9) "bulk is endless and never done: give the flow a `size`, and a "
				   "`count` or a `stop`"},
	{"done(h1) < 5ms", AT(14) "h1 is a host: done wants a flow"},
	{"share_above(s1.p3.3) > 0", AT(28) "above which length: share_above(X, BYTES)"},
	{"share_above(s1.p3.3, 5ms) > 0", AT(30) "a window is two times, such as 10ms, 20ms"},
	{"queue > 0", AT(9) "queue needs to know of what: queue(X)"},
	{"pool(s1) > 0", AT(16) "which pool: ingress, headroom, egress_lossy or egress_lossless"},
	{"drops(s1, because) > 0",
	 AT(19) "because means nothing to drops: it takes the reason of a drop "
		"as in counters.md, and a window of two times"},
	{"fct(web, size = 3) > 0", AT(18) "expected size < 100KB, or >, <=, >="},
	{"rate(h1)", AT(17) "expected a comparison: == != < <= > >=, within .. of, between .. and"},
	{"rate(h1 > 0", AT(20) "expected , or ) behind the arguments; in a list of YAML a text "
			       "with commas needs quotes"},
	{"rate(h1) within 5% 20G", AT(28) "expected `of`, as in: within 5% of 20G"},
	{"rate(h1) within 5us of 20G", AT(25) "a time cannot be a tolerance of a rate"},
	{"rate(h1) between 1G 2G", AT(29) "expected `and`, as in: between 10us and 20us"},
	{"rate(h1) >", AT(19) "the expression ends too early"},
	{"", AT(9) "the expression ends too early"},
	{"(rate(h1) > 0", AT(19) "expected )"},
	{"jain > 0", AT(14) "jain needs a list: jain(rate(h*))"},
	{"cnps(h1.3) > 0", AT(14) "h1.3 is a class of a host: cnps wants a host"},
	{"gamma(web/0) > 0", AT(9) "there is no function gamma; see weir-lab help functions"},
	{"deadlocks(s1) > 0", AT(19) "deadlocks is about the whole fabric and takes no names"},
	{"cycle(s1, h1) > 0", AT(19) "h1 is a host: cycle wants a switch"},
	{"cycle(s1, s9) > 0", AT(19) "there is no s9: did you mean s1?"},
	{"cycle > 0", AT(9) "cycle needs to know of what: cycle(SWITCH, ...)"},
	{"cycle(s1, 1ms, 2ms, leaf-2) > 0", AT(29) "the window is the last of all arguments"},
	{"storm_detected_at(s1, max) > 0",
	 AT(31) "max means nothing to storm_detected_at: it takes a number from 1, and a window of "
		"two times"},
	{"storms(s1, 2) > 0", AT(20) "a window is two times, such as 10ms, 20ms: 2 is none"},
	{"cnp_looks(s1, few) > 0",
	 AT(23) "few means nothing to cnp_looks: it takes none, growing, shrinking, many, muted, "
		"and a window of two times"},
	{"paired_share(s1, acks) > 0",
	 AT(26) "acks means nothing to paired_share: it takes static, cm, read, ack, cnp, none, "
		"and a window of two times"},
	{"cnps_sent(h1) > 0", AT(19) "h1 is a host: cnps_sent wants a switch, a port or a queue"},
	{"first_crossing_at > 0", AT(9) "first_crossing_at needs to know of what: "
					"first_crossing_at(X)"},
	{"quadrant(s1.p1) > 0", AT(18) "s1.p1 is a port: quadrant wants a queue"},
	{"rate(h1) == 5 & 6", AT(21) "a number cannot be compared with a rate"},
};

static void mistakes_are_said_at_their_place(void **state)
{

	(void)state;
	for (size_t i = 0; i < N(mistakes); i++) {
		struct fixture f;

		fixture_init(&f);
		if (parse_text(&f, mistakes[i].text, EXPR_CHECK) != NULL || f.diags.n != 1)
			fail_msg("\"%s\" is taken, or has %u messages", mistakes[i].text,
				 f.diags.n);
		if (strcmp(f.diags.lines[0], mistakes[i].line) != 0)
			fail_msg("\"%s\":\n  %s\nnot %s", mistakes[i].text, f.diags.lines[0],
				 mistakes[i].line);
		fixture_fini(&f);
	}
}

static void what_is_recorded_has_no_comparison(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_null(parse_text(&f, "rate(h1) > 5G", EXPR_VALUE));
	assert_string_equal(f.diags.lines[0], AT(18) "what is recorded has no comparison");
	fixture_fini(&f);
}

static void nesting_is_bounded(void **state)
{
	char text[EXPR_MAX_TEXT + 8];
	struct fixture f;

	(void)state;
	fixture_init(&f);
	memset(text, '(', 500);
	text[500] = '\0';
	assert_null(parse_text(&f, text, EXPR_VALUE));
	assert_string_equal(f.diags.lines[0], AT(41) "too many parentheses");
	fixture_fini(&f);
	fixture_init(&f);
	for (int i = 0; i < 500; i++)
		text[i] = '-';
	assert_null(parse_text(&f, text, EXPR_VALUE));
	fixture_fini(&f);
	fixture_init(&f);
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_null(parse_text(&f, text, EXPR_VALUE));
	assert_string_equal(f.diags.lines[0], AT(9) "longer than 1024 characters");
	fixture_fini(&f);
}

// Whatever is cut off or changed in a good text is taken or refused with one message, never more.
static void broken_texts_are_refused_in_one_sentence(void **state)
{
	static const char good[] = "sum(rate(h[1-3]), 10ms, 20ms) + fct(web, p99, size < 1KB) * 1G "
				   "/ 1us within 5% of 20G";
	static const char other[] = "()[],.*-+/%<>=! \"a9:";
	char text[sizeof(good)];

	(void)state;
	for (size_t i = 0; i < sizeof(good) - 1; i++)
		for (size_t k = 0; k < sizeof(other); k++) {
			struct fixture f;
			const struct expr *e;

			memcpy(text, good, sizeof(good));
			text[i] = other[k]; // the last one ends the text
			fixture_init(&f);
			e = parse_text(&f, text, EXPR_CHECK);
			if ((e == NULL) != (f.diags.n == 1))
				fail_msg("\"%s\": %u messages", text, f.diags.n);
			fixture_fini(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_said_at_their_place),
		cmocka_unit_test(what_is_recorded_has_no_comparison),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(broken_texts_are_refused_in_one_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
