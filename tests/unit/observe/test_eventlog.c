// SPDX-License-Identifier: Apache-2.0
// Lines of events on standard error, their fields in the journal, their limit, and the rows that
// are kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <endian.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/daemon/datagram.h"
#include "control/daemon/eventlog.h"
#include "control/daemon/journal.h"
#include "control/lldp/agent.h"
#include "dataplane/drop.h"
#include "dataplane/policy.h"
#include "dataplane/qos/cause.h"

enum { SECOND = 1000000000, TEXT_LEN = 65536 };

struct bench {
	struct policy *policy;
	struct eventlog *log;
	int stderr_fd; // the real one
	int captured_fd; // of memory
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
	b->captured_fd = memfd_create("stderr", MFD_CLOEXEC);
	fflush(stderr);
	b->stderr_fd = dup(STDERR_FILENO);
	dup2(b->captured_fd, STDERR_FILENO);
	*state = b;
	return eventlog_create(b->policy, &b->log);
}

static int end(void **state)
{
	struct bench *b = *state;

	fflush(stderr);
	dup2(b->stderr_fd, STDERR_FILENO);
	close(b->stderr_fd);
	close(b->captured_fd);
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
	n = pread(b->captured_fd, buf, sizeof(buf) - 1, 0);
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

static void xoff_says_what_held_the_buffer(void **state)
{
	struct bench *b = *state;
	const struct pause_cause queue = {.kind = CAUSE_QUEUE, .out_port = 1, .queue = 3, .cls = 4,
					  .paused = true, .held_cells = 1000};
	const struct pause_cause ring = {.kind = CAUSE_RX_RING}, far = {.kind = CAUSE_QUEUE,
									 .out_port = 99};
	struct event e = {.type = EVENT_XOFF, .port = 0, .cls = 3, .a = 4};

	e.b = cause_pack(&queue);
	eventlog_add(b->log, &e, SECOND);
	assert_non_null(strstr(text(b), "port=p1 class=3 shared_bytes=1024 cause_port=p2 "
					"cause_class=4 held_bytes=256000 cause_paused=true\n"));
	e.b = cause_pack(&ring);
	eventlog_add(b->log, &e, SECOND);
	assert_non_null(strstr(text(b), "shared_bytes=1024\n"));
	e.b = cause_pack(&far);
	eventlog_add(b->log, &e, SECOND); // of a port that is none: no crash, no name
	assert_int_equal(n_lines(b), 3);
}

static void storms_are_told_with_action_and_times(void **state)
{
	static const struct {
		struct event e;
		const char *text;
	} rows[] = {
		{{.type = EVENT_STORM, .port = 1, .cls = 3, .a = WATCHDOG_DROP, .b = 100250999},
		 " alarm pfc-storm: the watchdog found a PFC storm; the class is in recovery "
		 "port=p2 class=3 action=drop measured_us=100250\n"},
		{{.type = EVENT_STORM, .port = 1, .cls = 3, .a = WATCHDOG_FORWARD, .b = 1000},
		 "action=forward measured_us=1\n"},
		{{.type = EVENT_STORM, .port = 1, .cls = 3, .a = WATCHDOG_ALERT, .b = 1000},
		 "action=alert measured_us=1\n"},
		{{.type = EVENT_STORM, .port = 1, .cls = 3, .a = 77, .b = 1000}, "action=? "},
		{{.type = EVENT_STORM_OVER, .port = 1, .cls = 3, .a = 1, .b = 2000000},
		 " info pfc-storm-over: the storm is over; pfc says whether the class obeys PFC "
		 "now port=p2 class=3 storm_us=2000 pfc=on\n"},
		{{.type = EVENT_STORM_OVER, .port = 1, .cls = 3, .b = 2000000}, " pfc=off\n"},
		{{.type = EVENT_STORM_LIMIT, .port = 0, .cls = 5, .a = WATCHDOG_PORT_DOWN, .b = 30},
		 "port=p1 class=5 then=port-down storms=30\n"},
		{{.type = EVENT_STORM_LIMIT, .port = 0, .cls = 5, .a = WATCHDOG_PFC_OFF, .b = 3},
		 "then=pfc-off storms=3\n"},
		{{.type = EVENT_STORM_RECOVERED, .port = 0, .cls = 5},
		 " info pfc-recovered: an operator ended a storm or an escalation port=p1 "
		 "class=5\n"},
		{{.type = EVENT_DROP_ALL, .port = PORT_NONE, .cls = 0xff, .a = 1},
		 "turned drop-all on or off drop_all=on\n"},
		{{.type = EVENT_DROP_ALL, .port = PORT_NONE, .cls = 0xff, .a = 0},
		 "drop_all=off\n"},
		{{.type = EVENT_PFC_RATE_UP, .port = 0, .cls = 3, .a = 0, .b = 1200},
		 " warning pfc-rate-high: PFC frames per second rose above the warning threshold "
		 "port=p1 class=3 direction=in frames_per_s=1200\n"},
		{{.type = EVENT_PFC_RATE_DOWN, .port = 0, .cls = 3, .a = 1, .b = 700},
		 "port=p1 class=3 direction=out frames_per_s=700\n"},
		{{.type = EVENT_PFC_PAUSED, .port = 0, .cls = 3, .b = 990000},
		 " warning pfc-paused-long: the peer paused a class for nearly the whole last "
		 "second, in one pause or in many port=p1 class=3 paused_us_per_s=990000\n"},
		{{.type = EVENT_PAUSE_IGNORED, .port = 0, .cls = 3, .b = 812},
		 " warning pfc-ignored: "},
		{{.type = EVENT_PAUSE_IGNORED, .port = 0, .cls = 3, .b = 812},
		 " port=p1 class=3 frames=812\n"},
	};
	struct bench *b = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		eventlog_add(b->log, &rows[i].e, (i + 1ull) * SECOND);
		if (strstr(text(b), rows[i].text) == NULL)
			fail_msg("\"%s\" is not in\n%s", rows[i].text, text(b));
	}
}

static void the_line_says_why_dcbx_has_changed_pfc(void **state)
{
	struct event e = {.type = EVENT_DCBX_PFC, .cls = 0xff, .a = 0x10 | 0x18 << 8};
	struct bench *b = *state;

	e.b = DCBX_PFC_BY_AUTO;
	eventlog_add(b->log, &e, SECOND);
	assert_non_null(strstr(text(b), " port=p1 active=4 switch_pfc=3,4 "
					"because=pfc.mode\n"));
	e.b = DCBX_PFC_BY_WILLING;
	eventlog_add(b->log, &e, 2ull * SECOND);
	assert_non_null(strstr(text(b), " port=p1 active=4 switch_pfc=3,4 "
					"because=lldp.willing\n"));
}

static void flows_and_their_notifications_are_told_with_how_many(void **state)
{
	static const struct {
		struct event e;
		const char *text;
	} rows[] = {
		{{.type = EVENT_PAIR_DROPPED, .port = PORT_NONE, .cls = 0xff, .b = 3},
		 " warning pair-dropped: a frame contradicts a flow's pair: the switch drops the "
		 "pair and learns again (at most one a second) count=3\n"},
		{{.type = EVENT_FLOWS_FULL, .port = PORT_NONE, .cls = 0xff, .b = 1000000},
		 " warning flows-full: the flow table has no room for a flow; the switch "
		 "forwards it, but does not follow it (at most one a second) count=1000000\n"},
		{{.type = EVENT_ELEPHANTS, .port = 1, .cls = 3, .a = 5, .b = 2},
		 " info elephants: flows became elephants; port and class are those of the latest "
		 "one: `weirctl show flows --elephants` (at most one a second) port=p2 class=3 "
		 "now=5 count=2\n"},
		{{.type = EVENT_ELEPHANTS_OVER, .port = PORT_NONE, .cls = 0xff, .a = 0, .b = 5},
		 " info elephants-over: elephants slowed down, paused or left the table (at most "
		 "one a second) now=0 count=5\n"},
		{{.type = EVENT_CNP_CAP, .port = 1, .cls = 0xff, .b = 7},
		 " warning cnp-cap: a port has reached its limit of CNPs; the switch left CNPs out "
		 "(at most one a second) port=p2 count=7\n"},
	};
	struct bench *b = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		eventlog_add(b->log, &rows[i].e, (i + 1ull) * SECOND);
		if (strstr(text(b), rows[i].text) == NULL)
			fail_msg("\"%s\" is not in\n%s", rows[i].text, text(b));
	}
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
	rows = eventlog_rows(b->log, -1, 0, 0);
	assert_int_equal(json_object_array_length(rows), EVENTLOG_KEPT);
	json_object_object_get_ex(json_object_array_get_idx(rows, 0), "t_ns", &v);
	assert_int_equal(json_object_get_int(v), 7);
	json_object_object_get_ex(json_object_array_get_idx(rows, EVENTLOG_KEPT - 1), "t_ns", &v);
	assert_int_equal(json_object_get_int(v), EVENTLOG_KEPT + 6);
	json_object_put(rows);
	rows = eventlog_rows(b->log, 1, 0, 0);
	assert_int_equal(json_object_array_length(rows), EVENTLOG_KEPT / 2);
	json_object_put(rows);
}

// Of an event of this type that is kept; -1: none is.
static int64_t t_ns_of(const struct bench *b, const char *name)
{
	struct json_object *rows = eventlog_rows(b->log, -1, 0, 0), *v;
	int64_t last_seq = 0, found = -1;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		json_object_object_get_ex(row, "seq", &v);
		assert_true(json_object_get_int64(v) > last_seq);
		last_seq = json_object_get_int64(v);
		json_object_object_get_ex(row, "event", &v);
		if (strcmp(json_object_get_string(v), name) != 0)
			continue;
		json_object_object_get_ex(row, "t_ns", &v);
		found = json_object_get_int64(v);
	}
	json_object_put(rows);
	return found;
}

static void no_flood_of_lesser_events_pushes_an_event_out(void **state)
{
	struct bench *b = *state;
	const struct event storm = {.t_ns = 77, .type = EVENT_STORM, .port = 1, .cls = 3};
	const struct event down = {.t_ns = 6, .type = EVENT_LINK_DOWN};
	const struct event first = {.t_ns = 5, .type = EVENT_LINK_UP};
	const struct event flood[] = {{.type = EVENT_MAC_LEARNED, .cls = 0xff},
				      {.type = EVENT_LOSSLESS_DROP, .cls = 3},
				      {.type = EVENT_XOFF, .cls = 3}};
	const struct event up = {.type = EVENT_LINK_UP};

	eventlog_add(b->log, &first, SECOND);
	eventlog_add(b->log, &down, SECOND);
	eventlog_add(b->log, &storm, SECOND);
	assert_int_equal(t_ns_of(b, "link-up"), 5);
	for (unsigned i = 0; i < 3 * (EVENTLOG_KEPT + EVENTLOG_ALARMS); i++)
		eventlog_add(b->log, &flood[i % 3], SECOND);
	assert_int_equal(t_ns_of(b, "pfc-storm"), 77);
	assert_int_equal(t_ns_of(b, "link-down"), 6);
	assert_int_equal(t_ns_of(b, "link-up"), 5);
	for (unsigned i = 0; i < EVENTLOG_KEPT; i++)
		eventlog_add(b->log, &up, SECOND);
	assert_int_equal(t_ns_of(b, "link-down"), 6);
	assert_int_equal(t_ns_of(b, "link-up"), 0);
}

// Of a port, of those after `since`.
static size_t n_kept(const struct bench *b, int port, const char *name, uint64_t since)
{
	struct json_object *rows = eventlog_rows(b->log, port, since, 0), *v;
	int64_t last_seq = (int64_t)since;
	size_t n = 0;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		json_object_object_get_ex(row, "seq", &v);
		assert_true(json_object_get_int64(v) > last_seq);
		last_seq = json_object_get_int64(v);
		json_object_object_get_ex(row, "event", &v);
		n += strcmp(json_object_get_string(v), name) == 0;
	}
	json_object_put(rows);
	return n;
}

// Two ports have numbers that differ by 256. Each has a share and a line of its own, and so have
// the last SVI and events without a port.
static void events_of_ports_from_256_on_are_their_own(void **state)
{
	static const port_no_t ports[] = {44, 300, 511, N_IFACES - 1, PORT_NONE};
	enum { N = sizeof(ports) / sizeof(ports[0]) };
	struct bench *b = *state;
	struct policy *p = calloc(1, sizeof(*p) + 512 * sizeof(p->ports[0]));

	p->n_ports = 512;
	p->cell.bytes = 256;
	strcpy(p->name, "sw1");
	for (unsigned i = 0; i < p->n_ports; i++)
		snprintf(p->ports[i].name, sizeof(p->ports[i].name), "p%u", i + 1);
	eventlog_new_policy(b->log, p);
	for (unsigned i = 0; i < N; i++) {
		struct event e = {.type = EVENT_LINK_DOWN, .port = ports[i], .cls = 0xff};

		for (unsigned k = 0; k < 100; k++)
			eventlog_add(b->log, &e, SECOND);
		assert_int_equal(n_lines(b), (i + 1) * LOG_BURST);
	}
	assert_int_equal(n_kept(b, 300, "link-down", 0), 100);
	assert_non_null(strstr(text(b), "port=p301\n"));
	eventlog_add(b->log,
		     &(struct event){.type = EVENT_LOOP, .port = 300, .cls = 0xff, .a = 511,
				     .b = 301},
		     SECOND);
	assert_non_null(strstr(text(b), "port=p301 sent_by=p512 taken_down=p301\n"));
	eventlog_new_policy(b->log, b->policy);
	free(p);
}

static void a_flood_at_one_port_removes_its_own_events_only(void **state)
{
	static const struct {
		enum event_type flood[2], other;
		unsigned places;
		const char *name;
	} rows[] = {
		{{EVENT_INOF_HOST_GONE, EVENT_LINK_DOWN}, EVENT_LINK_DOWN, EVENTLOG_KEPT,
		 "link-down"},
		{{EVENT_LLDP_NEW, EVENT_LLDP_GONE}, EVENT_LLDP_NEW, EVENTLOG_KEPT,
		 "lldp-neighbour"},
		{{EVENT_XOFF, EVENT_XON}, EVENT_XON, EVENTLOG_KEPT, "pfc-xon"},
		{{EVENT_LOSSLESS_DROP, EVENT_LOSSLESS_DROP}, EVENT_LOSSLESS_DROP, EVENTLOG_ALARMS,
		 "lossless-drop"},
	};
	enum { OTHERS = 50 };
	struct bench *b = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event other = {.type = (uint8_t)rows[i].other, .port = 1, .cls = 0xff};

		for (unsigned k = 0; k < 3 * rows[i].places; k++) {
			struct event e = {.type = (uint8_t)rows[i].flood[k % 2], .cls = 0xff};

			eventlog_add(b->log, &e, SECOND);
			if (k < rows[i].places && k % (rows[i].places / OTHERS) == 0)
				eventlog_add(b->log, &other, SECOND);
		}
		assert_int_equal(n_kept(b, 1, rows[i].name, 0), OTHERS);
	}
}

static void a_flood_of_one_type_leaves_the_other_types_of_its_port(void **state)
{
	const struct event refused = {.type = EVENT_PORT_REFUSED}, down = {.type = EVENT_LINK_DOWN};
	struct bench *b = *state;

	eventlog_add(b->log, &refused, SECOND);
	for (unsigned i = 0; i < 2 * EVENTLOG_KEPT; i++)
		eventlog_add(b->log, &down, SECOND);
	assert_int_equal(n_kept(b, 0, "interface-refused", 0), 1);
	assert_int_equal(n_kept(b, 0, "link-down", 0), EVENTLOG_KEPT - 1);
}

// Each port has few of them, so the port with the graver events has the most.
static void a_flood_of_lesser_events_over_many_ports_removes_no_graver_one(void **state)
{
	enum { LINKS = 100 };
	const struct event storm = {.type = EVENT_STORM, .cls = 3}, up = {.type = EVENT_LINK_UP};
	struct bench *b = *state;

	for (unsigned i = 0; i < EVENTLOG_ALARMS; i++)
		eventlog_add(b->log, &storm, SECOND);
	for (unsigned i = 0; i < LINKS; i++)
		eventlog_add(b->log, &up, SECOND);
	for (unsigned i = 0; i < 4 * EVENTLOG_KEPT; i++) {
		struct event e = {.type = i % 2 ? EVENT_MAC_LEARNED : EVENT_XOFF,
				  .port = (uint8_t)(i / 2)};

		eventlog_add(b->log, &e, SECOND);
	}
	assert_int_equal(n_kept(b, 0, "pfc-storm", 0), EVENTLOG_ALARMS);
	assert_int_equal(n_kept(b, 0, "link-up", 0), LINKS);
}

static void a_flood_over_many_ports_leaves_each_its_latest(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < 10 * EVENTLOG_ALARMS; i++) { // more ports than places
		struct event e = {.t_ns = i, .type = EVENT_RX_MISSED, .port = (uint8_t)i};

		eventlog_add(b->log, &e, SECOND);
	}
	assert_int_equal(n_kept(b, -1, "rx-missed", 0), EVENTLOG_ALARMS);
	assert_int_equal(t_ns_of(b, "rx-missed"), 10 * EVENTLOG_ALARMS - 1);
}

static void a_reader_goes_on_where_events_have_been_removed(void **state)
{
	const struct event flood = {.type = EVENT_LINK_DOWN};
	const struct event other = {.type = EVENT_LINK_DOWN, .port = 1};
	struct bench *b = *state;
	uint64_t seen = 0;

	for (unsigned i = 0; i < 100; i++) { // it has read the first event of each round
		eventlog_add(b->log, &other, SECOND);
		assert_int_equal(n_kept(b, 1, "link-down", seen), 1);
		seen = i * 41 + 1;
		for (unsigned k = 0; k < 40; k++)
			eventlog_add(b->log, &flood, SECOND);
		assert_int_equal(n_kept(b, -1, "link-down", seen), 40);
	}
	assert_int_equal(n_kept(b, 1, "link-down", 0), 100);
	assert_int_equal(n_kept(b, 0, "link-down", 0), EVENTLOG_KEPT - 100);
	assert_int_equal(n_kept(b, 0, "link-down", 20), EVENTLOG_KEPT - 100); // long removed
}

static void a_flood_at_one_port_suppresses_no_line_of_another(void **state)
{
	static const struct {
		enum event_type type;
		unsigned lines; // of another port in the same second
	} rows[] = {{EVENT_LINK_DOWN, LOG_BURST}, {EVENT_LLDP_NEW, LOG_BURST},
		    {EVENT_LOSSLESS_DROP, LOG_BURST}, {EVENT_XOFF, 1}, {EVENT_MAC_LEARNED, 1}};
	struct bench *b = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event e = {.type = (uint8_t)rows[i].type, .cls = 0xff};
		unsigned before = n_lines(b);

		for (unsigned k = 0; k < 100; k++)
			eventlog_add(b->log, &e, SECOND);
		assert_int_equal(n_lines(b) - before, LOG_BURST);
		e.port = 1;
		for (unsigned k = 0; k < 12; k++)
			eventlog_add(b->log, &e, SECOND);
		assert_int_equal(n_lines(b) - before, LOG_BURST + rows[i].lines);
	}
}

static void addresses_are_told_with_the_other_port_and_how_many(void **state)
{
	static const struct {
		struct event e;
		const char *text;
	} rows[] = {
		{{.type = EVENT_MAC_LEARNED, .port = 0, .cls = 0xff,
		  .a = 10, .b = 0x02000000000aull | 41ull << 48},
		 "port=p1 mac=02:00:00:00:00:0a vlan=10 more=41\n"},
		{{.type = EVENT_MAC_FLAPPING, .port = 1, .cls = 0xff, .a = 1 << 16,
		  .b = 0x020000000003ull},
		 " port=p2 mac=02:00:00:00:00:03 vlan=0 other_port=p1\n"},
		{{.type = EVENT_FDB_FULL, .port = PORT_NONE, .cls = 0xff, .b = 16384},
		 " addresses=16384\n"},
	};
	struct bench *b = *state;

	assert_int_equal(event_mac_a(10, PORT_NONE), 10);
	assert_int_equal(event_mac_a(0, 0), 1 << 16);
	assert_int_equal(event_mac_b(0x02000000000aull, 41), rows[0].e.b);
	assert_int_equal(event_mac_more(event_mac_b(0, 70000)), EVENT_MAC_MORE_MAX);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		eventlog_add(b->log, &rows[i].e, (i + 1ull) * SECOND);
		if (strstr(text(b), rows[i].text) == NULL)
			fail_msg("\"%s\" is not in\n%s", rows[i].text, text(b));
	}
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
	rows = eventlog_rows(b->log, -1, EVENTLOG_KEPT + 3, 0);
	assert_int_equal(json_object_array_length(rows), 2);
	json_object_object_get_ex(json_object_array_get_idx(rows, 0), "seq", &v);
	assert_int_equal(json_object_get_int(v), EVENTLOG_KEPT + 4);
	json_object_put(rows);
	rows = eventlog_rows(b->log, -1, EVENTLOG_KEPT + 5, 0);
	assert_int_equal(json_object_array_length(rows), 0);
	json_object_put(rows);
}

static void a_reader_may_ask_for_the_grave_ones_only(void **state)
{
	static const size_t want[] = {3, 2, 1}; // of severity info, warning and alarm, or graver
	const struct event e[] = {{.type = EVENT_LINK_UP}, {.type = EVENT_LINK_DOWN},
				  {.type = EVENT_STORM, .cls = 3}};
	struct bench *b = *state;

	for (size_t i = 0; i < 3; i++)
		eventlog_add(b->log, &e[i], SECOND);
	for (int grade = 0; grade < 3; grade++) {
		struct json_object *rows = eventlog_rows(b->log, -1, 0, grade);

		assert_int_equal(json_object_array_length(rows), want[grade]);
		json_object_put(rows);
	}
	assert_int_equal(eventlog_grade("warning"), 1);
	assert_int_equal(eventlog_grade("loud"), -1);
}

static void an_unknown_type_is_ignored(void **state)
{
	struct bench *b = *state;
	const struct event odd = {.type = N_EVENT_TYPES};

	eventlog_add(b->log, &odd, SECOND);
	assert_int_equal(n_lines(b), 0);
}

// ---- the journal

// Standard error becomes the journal; its socket, an abstract one. The reader's end.
static int begin_journal(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char name[64], stream[64];
	struct stat st;

	fstat(STDERR_FILENO, &st);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	snprintf(name, sizeof(name), "@weir-test-journal-%d", getpid());
	memcpy(at.sun_path + 1, name + 1, strlen(name + 1));
	assert_return_code(bind(fd, (const struct sockaddr *)&at,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					    strlen(name))), 0);
	assert_true(journal_open(name));
	return fd;
}

static void end_journal(int fd)
{
	journal_close();
	unsetenv("JOURNAL_STREAM");
	close(fd);
}

// Takes the next entry apart as journald does: NAME, the length of the value, the value. The answer
// has lines NAME=VALUE, with newlines of values as '|'.
static const char *entry(int fd)
{
	static char out[TEXT_LEN];
	char bytes[TEXT_LEN];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
	size_t to = 0;

	for (ssize_t at = 0; at < n;) {
		const char *nl = memchr(bytes + at, '\n', (size_t)(n - at));
		uint64_t len;

		assert_non_null(nl);
		to += (size_t)sprintf(out + to, "%.*s=", (int)(nl - bytes - at), bytes + at);
		memcpy(&len, nl + 1, sizeof(len));
		for (uint64_t i = 0; i < le64toh(len); i++)
			out[to++] = nl[1 + sizeof(len) + i];
		for (char *c = out + to - le64toh(len); c < out + to; c++)
			*c = *c == '\n' ? '|' : *c;
		out[to++] = '\n';
		at = nl - bytes + 1 + (ssize_t)sizeof(len) + (ssize_t)le64toh(len);
		assert_int_equal(bytes[at++], '\n');
	}
	out[to] = '\0';
	return out;
}

static void an_entry_of_the_journal_has_fields(void **state)
{
	struct bench *b = *state;
	const struct event storm = {.type = EVENT_STORM, .port = 1, .cls = 3, .a = WATCHDOG_DROP,
				    .b = 100250999};
	int fd = begin_journal();

	eventlog_add(b->log, &storm, SECOND);
	assert_string_equal(entry(fd),
			    "MESSAGE=sw1 alarm pfc-storm: the watchdog found a PFC storm; the "
			    "class is in recovery port=p2 class=3 action=drop measured_us=100250\n"
			    "PRIORITY=3\nSYSLOG_IDENTIFIER=weir\nWEIR_PORT=p2\nWEIR_CLASS=3\n"
			    "WEIR_ACTION=drop\nWEIR_MEASURED_US=100250\nWEIR_SWITCH=sw1\n"
			    "WEIR_EVENT=pfc-storm\nWEIR_SEVERITY=alarm\n");
	log_line("%s %s reload: %s", "sw1", "error", "no");
	assert_string_equal(entry(fd),
			    "MESSAGE=sw1 error reload: no\nPRIORITY=3\nSYSLOG_IDENTIFIER=weir\n");
	log_line("%s warning dcbx: 5%%", "sw1");
	assert_string_equal(entry(fd),
			    "MESSAGE=sw1 warning dcbx: 5%\nPRIORITY=4\nSYSLOG_IDENTIFIER=weir\n");
	log_line("sw1 said so");
	assert_string_equal(entry(fd),
			    "MESSAGE=sw1 said so\nPRIORITY=5\nSYSLOG_IDENTIFIER=weir\n");
	end_journal(fd);
	assert_int_equal(n_lines(b), 0); // nothing twice
}

static void a_neighbour_cannot_add_a_field(void **state)
{
	struct bench *b = *state;
	const struct event e = {.type = EVENT_LLDP_NEW, .port = 0, .cls = 0xff};
	int fd = begin_journal();

	eventlog_add_about(b->log, &e, "tor1\nPRIORITY=0\n", SECOND);
	assert_non_null(strstr(entry(fd), "WEIR_NEIGHBOUR=tor1|PRIORITY=0|\n"));
	end_journal(fd);
}

static void a_journal_that_stands_still_loses_entries_and_is_told(void **state)
{
	uint64_t before = journal_lost(), n = 0;
	char want[64];
	int fd = begin_journal();

	(void)state;
	while (journal_lost() < before + 3 && n++ < 100000)
		log_line("a");
	assert_int_equal(journal_lost(), before + 3);
	while (entry(fd)[0] != '\0') // the reader goes on
		continue;
	log_line("b");
	snprintf(want, sizeof(want), "MESSAGE=the journal was not read: entries lost=3\n");
	assert_memory_equal(entry(fd), want, strlen(want));
	assert_memory_equal(entry(fd), "MESSAGE=b\n", 10);
	assert_string_equal(entry(fd), "");
	end_journal(fd);
}

static void another_stream_is_not_the_journal(void **state)
{
	struct bench *b = *state;

	setenv("JOURNAL_STREAM", "1:2", 1);
	assert_false(journal_open("@weir-test-nobody"));
	setenv("JOURNAL_STREAM", "nonsense", 1);
	assert_false(journal_open("@weir-test-nobody"));
	unsetenv("JOURNAL_STREAM");
	assert_false(journal_open("@weir-test-nobody"));
	log_line("a line");
	assert_int_equal(n_lines(b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_says_port_class_and_details, begin, end),
		cmocka_unit_test_setup_teardown(xoff_says_what_held_the_buffer, begin, end),
		cmocka_unit_test_setup_teardown(events_of_ports_from_256_on_are_their_own, begin,
						end),
		cmocka_unit_test_setup_teardown(storms_are_told_with_action_and_times, begin, end),
		cmocka_unit_test_setup_teardown(the_line_says_why_dcbx_has_changed_pfc, begin, end),
		cmocka_unit_test_setup_teardown(
			flows_and_their_notifications_are_told_with_how_many, begin, end),
		cmocka_unit_test_setup_teardown(
			a_flood_of_one_type_is_counted_and_told_after_the_second, begin, end),
		cmocka_unit_test_setup_teardown(the_last_thousand_are_kept_written_or_not, begin,
						end),
		cmocka_unit_test_setup_teardown(
			events_are_numbered_so_that_a_reader_asks_for_new_ones_only, begin, end),
		cmocka_unit_test_setup_teardown(no_flood_of_lesser_events_pushes_an_event_out,
						begin, end),
		cmocka_unit_test_setup_teardown(a_flood_at_one_port_removes_its_own_events_only,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_flood_of_one_type_leaves_the_other_types_of_its_port, begin, end),
		cmocka_unit_test_setup_teardown(
			a_flood_of_lesser_events_over_many_ports_removes_no_graver_one, begin, end),
		cmocka_unit_test_setup_teardown(a_flood_over_many_ports_leaves_each_its_latest,
						begin, end),
		cmocka_unit_test_setup_teardown(a_reader_goes_on_where_events_have_been_removed,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_flood_at_one_port_suppresses_no_line_of_another, begin, end),
		cmocka_unit_test_setup_teardown(
			addresses_are_told_with_the_other_port_and_how_many, begin, end),
		cmocka_unit_test_setup_teardown(a_reader_may_ask_for_the_grave_ones_only, begin,
						end),
		cmocka_unit_test_setup_teardown(an_unknown_type_is_ignored, begin, end),
		cmocka_unit_test_setup_teardown(an_entry_of_the_journal_has_fields, begin, end),
		cmocka_unit_test_setup_teardown(a_neighbour_cannot_add_a_field, begin, end),
		cmocka_unit_test_setup_teardown(
			a_journal_that_stands_still_loses_entries_and_is_told, begin, end),
		cmocka_unit_test_setup_teardown(another_stream_is_not_the_journal, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
