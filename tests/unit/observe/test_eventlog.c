// SPDX-License-Identifier: Apache-2.0
// Lines of events on standard error, their limit, and the rows that are kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/daemon/eventlog.h"
#include "dataplane/drop.h"

enum { SECOND = 1000000000, TEXT_LEN = 65536 };

struct bench {
	struct policy *policy;
	struct eventlog *log;
	int stderr_fd; // the real one
	FILE *captured;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->policy = calloc(1, sizeof(*b->policy) + 2 * sizeof(b->policy->ports[0]));
	b->policy->n_ports = 2;
	b->policy->cell.bytes = 256;
	strcpy(b->policy->name, "sw1");
	strcpy(b->policy->ports[0].name, "p1");
	strcpy(b->policy->ports[1].name, "p2");
	b->captured = tmpfile();
	fflush(stderr);
	b->stderr_fd = dup(STDERR_FILENO);
	dup2(fileno(b->captured), STDERR_FILENO);
	*state = b;
	return eventlog_create(b->policy, &b->log);
}

static int end(void **state)
{
	struct bench *b = *state;

	fflush(stderr);
	dup2(b->stderr_fd, STDERR_FILENO);
	close(b->stderr_fd);
	fclose(b->captured);
	eventlog_destroy(b->log);
	free(b->policy);
	free(b);
	return 0;
}

static const char *text(const struct bench *b)
{
	static char buf[TEXT_LEN];
	ssize_t n;

	fflush(stderr);
	n = pread(fileno(b->captured), buf, sizeof(buf) - 1, 0);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static unsigned n_lines(const struct bench *b)
{
	unsigned n = 0;

	for (const char *s = text(b); (s = strchr(s, '\n')) != NULL; s++)
		n++;
	return n;
}

static void a_line_says_port_class_and_details(void **state)
{
	struct bench *b = *state;
	const struct event drop = {.type = EVENT_LOSSLESS_DROP, .port = 1, .cls = 3,
				   .a = DROP_HEADROOM, .b = 1518};
	const struct event learned = {.type = EVENT_MAC_LEARNED, .port = 0, .cls = 0xff, .a = 10,
				      .b = 0x0200000000abull};
	const struct event xoff = {.type = EVENT_XOFF, .port = 0, .cls = 3, .a = 4};

	eventlog_add(b->log, &drop, SECOND);
	eventlog_add(b->log, &learned, SECOND);
	eventlog_add(b->log, &xoff, SECOND);
	assert_non_null(strstr(text(b), " sw1 alarm lossless-drop: a frame of a lossless class was "
					"dropped port=p2 class=3 reason=headroom-overrun "
					"frame_bytes=1518\n"));
	assert_non_null(strstr(text(b), "port=p1 mac=02:00:00:00:00:ab vlan=10\n"));
	assert_non_null(strstr(text(b), "port=p1 class=3 shared_bytes=1024\n"));
}

static void a_flood_of_one_type_is_counted_and_told_after_the_second(void **state)
{
	struct bench *b = *state;
	const struct event xoff = {.type = EVENT_XOFF};
	const struct event up = {.type = EVENT_LINK_UP};

	for (int i = 0; i < LOG_BURST + 25; i++)
		eventlog_add(b->log, &xoff, 5ull * SECOND);
	assert_int_equal(n_lines(b), LOG_BURST);
	eventlog_add(b->log, &up, 5ull * SECOND);
	assert_int_equal(n_lines(b), LOG_BURST + 1);
	eventlog_tick(b->log, 6ull * SECOND - 1);
	assert_int_equal(n_lines(b), LOG_BURST + 1);
	eventlog_tick(b->log, 6ull * SECOND);
	assert_non_null(strstr(text(b), "suppressed=25\n"));
	assert_int_equal(n_lines(b), LOG_BURST + 2);
	eventlog_add(b->log, &xoff, 6ull * SECOND);
	assert_int_equal(n_lines(b), LOG_BURST + 3);
}

static void the_last_thousand_are_kept_written_or_not(void **state)
{
	struct bench *b = *state;
	struct json_object *rows, *v;

	for (unsigned i = 0; i < EVENTLOG_KEPT + 7; i++) {
		struct event e = {.t_ns = i, .type = EVENT_XON, .port = i % 2};

		eventlog_add(b->log, &e, SECOND);
	}
	rows = eventlog_rows(b->log, -1, 0);
	assert_int_equal(json_object_array_length(rows), EVENTLOG_KEPT);
	json_object_object_get_ex(json_object_array_get_idx(rows, 0), "t_ns", &v);
	assert_int_equal(json_object_get_int(v), 7);
	json_object_object_get_ex(json_object_array_get_idx(rows, EVENTLOG_KEPT - 1), "t_ns", &v);
	assert_int_equal(json_object_get_int(v), EVENTLOG_KEPT + 6);
	json_object_put(rows);
	rows = eventlog_rows(b->log, 1, 0);
	assert_int_equal(json_object_array_length(rows), EVENTLOG_KEPT / 2);
	json_object_put(rows);
}

static void events_are_numbered_so_that_a_reader_asks_for_new_ones_only(void **state)
{
	struct bench *b = *state;
	const struct event up = {.type = EVENT_LINK_UP}, down = {.type = EVENT_LINK_DOWN};
	struct json_object *rows, *v;

	for (unsigned i = 0; i < EVENTLOG_KEPT + 5; i++)
		eventlog_add(b->log, i == 3 ? &down : &up, SECOND);
	assert_int_equal(eventlog_count(b->log, EVENT_LINK_UP), EVENTLOG_KEPT + 4);
	assert_int_equal(eventlog_count(b->log, EVENT_LINK_DOWN), 1); // no more kept, but counted
	rows = eventlog_rows(b->log, -1, EVENTLOG_KEPT + 3);
	assert_int_equal(json_object_array_length(rows), 2);
	json_object_object_get_ex(json_object_array_get_idx(rows, 0), "seq", &v);
	assert_int_equal(json_object_get_int(v), EVENTLOG_KEPT + 4);
	json_object_put(rows);
	rows = eventlog_rows(b->log, -1, EVENTLOG_KEPT + 5);
	assert_int_equal(json_object_array_length(rows), 0);
	json_object_put(rows);
}

static void an_unknown_type_is_ignored(void **state)
{
	struct bench *b = *state;
	const struct event odd = {.type = N_EVENT_TYPES};

	eventlog_add(b->log, &odd, SECOND);
	assert_int_equal(n_lines(b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_says_port_class_and_details, begin, end),
		cmocka_unit_test_setup_teardown(
			a_flood_of_one_type_is_counted_and_told_after_the_second, begin, end),
		cmocka_unit_test_setup_teardown(the_last_thousand_are_kept_written_or_not, begin,
						end),
		cmocka_unit_test_setup_teardown(
			events_are_numbered_so_that_a_reader_asks_for_new_ones_only, begin, end),
		cmocka_unit_test_setup_teardown(an_unknown_type_is_ignored, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
