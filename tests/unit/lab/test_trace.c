// SPDX-License-Identifier: Apache-2.0
// Traces of flows: three formats, and the place of each mistake.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/trace.h"

static const char *const names[] = {"h1", "h2", "h10", "h11"};
static const struct trace_hosts hosts = {names, 4};

// A file that was read, and what was said about it.
struct reading {
	struct arena arena;
	struct trace trace;
	struct diags diags;
	int err;
};

static struct reading read_text(const char *text)
{
	struct diag_sink s = {.file = "scenario.yaml"};
	struct reading r = {.trace.n = 77};

	r.err = trace_parse("t", text, strlen(text), &hosts, &r.arena, &r.trace, &s);
	diag_finish(&s, &r.diags);
	return r;
}

static void free_reading(struct reading *r)
{
	diags_fini(&r->diags);
	arena_fini(&r->arena);
}

static void three_formats_say_the_same_flows(void **state)
{
	static const char *const texts[] = {
		"2\n2 1 3 100 5000 2.000020\n0 3 3 100 20000 2\n",
		"# of a generator\n2\r\n0 3 3 100 20000 2.000000000\r\n\n2 1 3 9 5000 2.00002",
		"Nodes 4\nConnections 2\n0->3 id 1 start 0 size 20000\n"
		"2->1 id 2 start 20000000 size 5000 prio 7\n",
		"start,from,to,bytes,class\n0us,h1,h11,20000,3\n20us,h10,h2,5000,3\n",
		"start_us , bytes,class,label,from,to\n70.0,20000,3,x,0,3\n90,5000,3,y,2,1\n",
		"flow,from,to,bytes,posted_ns\na,h10,h2,5000,30000\na,h1,h11,20000,10000\n",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct reading r = read_text(texts[i]);
		const struct trace_flow *f = r.trace.flows;

		assert_int_equal(r.err, 0);
		assert_int_equal(r.diags.n, 0);
		assert_int_equal(r.trace.n, 2);
		assert_int_equal(f[0].start_ns, 0);
		assert_int_equal(f[0].src, 0);
		assert_int_equal(f[0].dst, 3);
		assert_int_equal(f[0].n_bytes, 20000);
		assert_int_equal(f[1].start_ns, 20000);
		assert_int_equal(f[1].src, 2);
		assert_int_equal(f[1].dst, 1);
		assert_int_equal(f[1].n_bytes, 5000);
		assert_int_equal(r.trace.has_class, i != 2 && i != 5);
		assert_int_equal(f[1].cls, r.trace.has_class ? 3 : 0);
		free_reading(&r);
	}
}

static void flows_of_one_instant_keep_the_order_of_the_file(void **state)
{
	struct reading r = read_text("start_ns,from,to,bytes\n"
				     "5,0,1,1\n5,0,1,2\n4,0,1,3\n5,0,1,4\n");

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.trace.flows[0].n_bytes, 3);
	assert_int_equal(r.trace.flows[1].n_bytes, 1);
	assert_int_equal(r.trace.flows[2].n_bytes, 2);
	assert_int_equal(r.trace.flows[3].n_bytes, 4);
	free_reading(&r);
}

#define FORMATS                                                                                    \
	"expected the number of flows (HPCC), `Nodes` (htsim), or the names of columns with "      \
	"commas (CSV)"
#define HOSTS "the hosts of the flow are 0 to 3"
#define NAMES HOSTS ", or their names"
#define CSV "start_ns,from,to,bytes,class\n"

static void mistakes_have_their_line_and_column(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "t:1:1: the file has no flow"},
		{"# nothing\n", "t:1:1: the file has no flow"},
		{"hello\n", "t:1:1: " FORMATS},
		{"0 1 3 100 20000 2.0\n", "t:1:1: " FORMATS},
		{"2\n0 1 3 100 20000 2.0\n", "t:2:1: the head says 2 flows, and the file has 1"},
		{"1\n0 4 3 100 20000 2.0\n", "t:2:3: there is no host \"4\": " HOSTS},
		{"1\n0 h2 3 100 20000 2.0\n", "t:2:3: there is no host \"h2\": " HOSTS},
		{"1\n2 2 3 100 20000 2.0\n", "t:2:1: h10 would send to itself"},
		{"1\n0 1 8 100 20000 2.0\n", "t:2:5: expected a class, a whole number up to 7"},
		{"1\n0 1 3 100 0 2.0\n", "t:2:11: a flow has 1 B to 1 GiB"},
		{"1\n0 1 3 100 1073741825 2.0\n",
		 "t:2:11: expected the bytes of the flow, a whole number up to 1073741824"},
		{"1\n0 1 3 100 99999999999999999999 2.0\n",
		 "t:2:11: expected the bytes of the flow, a whole number up to 1073741824"},
		{"1\n0 1 3 100 20000 -2\n",
		 "t:2:17: expected the time at which the flow starts, a number"},
		{"1\n0 1 3 100 20000 nan\n",
		 "t:2:17: expected the time at which the flow starts, a number"},
		{"1\n0 1 3 100 20000 1e99\n",
		 "t:2:17: expected the time at which the flow starts, a number"},
		{"1\n0 1 3 100 20000\n",
		 "t:2:16: expected source, destination, class, port, bytes and seconds"},
		{"1\n0 1 3 100 20000 2.0 7\n", "t:2:21: expected the end of the line"},
		{"Nodes 4\n0->1 id 1 trigger 5 size 7\n",
		 "t:2:11: expected id, start, size or prio; triggers are not replayed"},
		{"Nodes 4\n0->1 id 1 size 7\n", "t:2:1: the flow needs a start and a size"},
		{"Nodes 4\n0->1 start 5\n", "t:2:1: the flow needs a start and a size"},
		{"Nodes 4\nConnections 1\n0->9 start 5 size 7\n",
		 "t:3:4: there is no host \"9\": " HOSTS},
		{"Nodes 4\nConnections 5\n0->1 start 5 size 7\n",
		 "t:3:1: the head says 5 flows, and the file has 1"},
		{"Nodes 4\ntrigger id 1 oneshot\n",
		 "t:2:1: expected `0->1 id 1 start PICOSECONDS size BYTES`"},
		{"from,to,bytes\n",
		 "t:1:1: there is no column start (or start_ns, start_us, start_ms, start_s)"},
		{"start,to,bytes\n", "t:1:1: there is no column from"},
		{"start,from,to,bytes,start_ns\n", "t:1:21: a second column of the same meaning"},
		{CSV "0,h1,h2,7\n", "t:2:1: 4 fields, and the first line has 5"},
		{CSV "0,h1,h2,7,3,\n", "t:2:1: 6 fields, and the first line has 5"},
		{CSV "0,h1,h3,7,3\n", "t:2:6: there is no host \"h3\": " NAMES},
		{CSV "0,h1,,7,3\n", "t:2:6: there is no host \"\": " NAMES},
		{CSV "0,h1,h2,7,\n", "t:2:11: expected a class, a whole number up to 7"},
		{"start,from,to,bytes\n5,h1,h2,7\n", "t:2:1: expected a time such as 20us"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reading r = read_text(rows[i].text);

		assert_int_equal(r.err, -EINVAL);
		assert_int_equal(r.trace.n, 77);
		assert_int_equal(r.diags.n, 1);
		assert_string_equal(r.diags.lines[0], rows[i].says);
		free_reading(&r);
	}
}

static void all_mistakes_of_a_file_come_in_one_pass(void **state)
{
	struct reading r = read_text("2\n0 1 9 100 7 2.0\n0 1 3 100 x 2.0\n");

	(void)state;
	assert_int_equal(r.err, -EINVAL);
	assert_int_equal(r.diags.n, 2);
	free_reading(&r);
}

static void more_flows_than_a_million_are_refused(void **state)
{
	static const char head[] = "start_ns,from,to,bytes\n", line[] = "0,0,1,1\n";
	const size_t n = sizeof(line) - 1;
	char *text = malloc(sizeof(head) + n * (TRACE_MAX_FLOWS + 1)), *at = text;
	struct reading r;

	(void)state;
	assert_non_null(text);
	at = stpcpy(at, head);
	for (int i = 0; i <= TRACE_MAX_FLOWS; i++, at += n)
		memcpy(at, line, n + 1);
	r = read_text(text);
	assert_int_equal(r.err, -EINVAL);
	assert_string_equal(r.diags.lines[0], "t:1000002:1: more than 1000000 flows");
	free_reading(&r);
	at[-(ptrdiff_t)n] = '\0';
	r = read_text(text);
	assert_int_equal(r.err, 0);
	assert_int_equal(r.trace.n, TRACE_MAX_FLOWS);
	free_reading(&r);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_formats_say_the_same_flows),
		cmocka_unit_test(flows_of_one_instant_keep_the_order_of_the_file),
		cmocka_unit_test(mistakes_have_their_line_and_column),
		cmocka_unit_test(all_mistakes_of_a_file_come_in_one_pass),
		cmocka_unit_test(more_flows_than_a_million_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
