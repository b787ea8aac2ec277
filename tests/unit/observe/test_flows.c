// SPDX-License-Identifier: Apache-2.0
// What the operator sees of RoCEv2 flows, of their queue pairs, and of queues that send
// notifications.
#include <string.h>

#include "control/daemon/flow_requests.h"
#include "tests/unit/observe/rows.h"

enum { SECOND = 1000000000, MS = 1000000, PLACES = 3 * SCAN_STEP + 7 };

static const struct show_wish unpaired_flows = {.all = true, .unpaired = true};
static const struct show_wish flows_of_p2 = {.all = true, .port = "p2"};

// ---- the table

static void make_places(struct bench *b, uint32_t n)
{
	b->sw->flows.rows = calloc(n, sizeof(b->sw->flows.rows[0]));
	b->sw->flows.n = n;
	b->sw->flows.totals.max = n;
}

// A flow of 10.0.0.1 to 10.0.0.2, whose queue pair is its place and 0x100.
static struct flow_row *flow_at(struct bench *b, uint32_t place, uint64_t bytes)
{
	struct flow_row *r = &b->sw->flows.rows[place];

	*r = (struct flow_row){
		.key = flow_key_v4(0x0a000001, 0x0a000002, place + 0x100, KEY_FLOW),
		.way = {.in_port = 0, .out_port = 1, .queue = 3, .cls = 3, .kind = FLOW_DATA},
		.pair = {.source = PAIR_CM, .qp = 0x34}, .packets = bytes / 1000, .bytes = bytes,
		.first_ns = SECOND, .seen_ns = 2ull * SECOND};
	return r;
}

static const struct flow_query all = {.port = -1, .limit = SCAN_LIMIT};

// Turns of the control loop, 1 ms each, until a scan that began at 2 s is done. hook: after the
// first look.
static struct json_object *scanned(struct bench *b, const struct flow_query *wish,
				   void (*hook)(struct bench *b))
{
	struct json_object *data = observe_show(b->o, "flows", OBSERVE_ALL_PORTS, 2ull * SECOND);
	struct scan_time now = {2ull * SECOND, 2ull * SECOND};
	struct flow_requests f = {.query[0] = *wish};
	const struct flow_scan *s = &f.scan;
	bool hooked = false;

	while (flow_requests_step(&f, 0, b->sw, now) != PENDING_DONE) {
		if (s->at == s->n_places && !hooked && hook != NULL)
			hook(b);
		hooked |= s->at == s->n_places;
		now.real_ns += MS;
		now.model_ns += MS;
		assert_true(now.real_ns < 3ull * SECOND);
	}
	flow_requests_emit(&f, 0, b->sw, now.model_ns, data);
	return data;
}

static void two_flows_go_on(struct bench *b)
{
	flow_at(b, 5, 1000000 + 12500000); // 12.5 MB in 100 ms: 1 Gb/s
	flow_at(b, PLACES - 1, 9000000 + 1250000);
}

static void a_rate_is_what_a_flow_sent_between_two_looks(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	make_places(b, PLACES);
	flow_at(b, 5, 1000000);
	flow_at(b, PLACES - 1, 9000000);
	flow_at(b, 9, 5000);
	data = scanned(b, &all, two_flows_go_on);
	assert_int_equal(json_object_array_length(list(data, "flows")), 3);
	assert_int_equal(number(row(data, "flows", 0), "rate_bps"), 1000000000);
	assert_int_equal(number(row(data, "flows", 0), "qp"), 0x105);
	assert_int_equal(number(row(data, "flows", 1), "rate_bps"), 100000000);
	assert_int_equal(number(row(data, "flows", 2), "rate_bps"), 0);
	json_object_put(data);
}

static void flows_that_need_no_pair_are_not_among_the_unpaired(void **state)
{
	static const struct {
		uint8_t kind;
		const char *state;
	} t[] = {{FLOW_DATA, "unpaired"},	      {FLOW_READ_REQUESTS, "needs-none"},
		 {FLOW_READ_RESPONSES, "unpaired"}, {FLOW_DATAGRAM, "needs-none"},
		 {FLOW_UNRELIABLE, "needs-none"}};
	const struct flow_query unpaired = {.port = -1, .limit = SCAN_LIMIT, .unpaired = true};
	struct bench *b = *state;
	struct json_object *data;
	char *out;

	make_places(b, PLACES);
	for (unsigned i = 0; i < 5; i++) {
		struct flow_row *r = flow_at(b, i, 5000 - i);

		r->pair.source = PAIR_NONE;
		r->way.kind = t[i].kind;
	}
	data = scanned(b, &all, NULL);
	assert_int_equal(number(data, "unpaired"), 2);
	for (unsigned i = 0; i < 5; i++)
		assert_string_equal(text(row(data, "flows", i), "state"), t[i].state);
	out = printed("flows", data);
	want_line(out, "0x101          -  needs no pair");
	want_line(out, "0x102          -  none ");
	free(out);
	json_object_put(data);
	data = scanned(b, &unpaired, NULL);
	assert_int_equal(json_object_array_length(list(data, "flows")), 2);
	json_object_put(data);
}

static void flows_of_tcp_show_a_dash_for_what_only_rocev2_has(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	struct flow_row *f;
	char *out;

	make_places(b, 10);
	f = flow_at(b, 5, 9000);
	f->key = flow_key_ports(false, (uint8_t[]){10, 0, 0, 1}, (uint8_t[]){10, 0, 0, 2},
				(uint8_t[]){0, 80, 0, 90}, KEY_TCP);
	f->way.kind = FLOW_TCP;
	f->pair.source = PAIR_NONE;
	data = scanned(b, &all, NULL);
	assert_null(text(row(data, "flows", 0), "ce"));
	assert_null(text(row(data, "flows", 0), "rewinds"));
	assert_null(text(row(data, "flows", 0), "gap_packets"));
	out = printed("flows", data);
	want_line(out, "       9              -        -   -  ");
	free(out);
	json_object_put(data);
}

static void elephants_are_counted_by_the_port_where_they_enter(void **state)
{
	struct bench *b = *state;
	struct flow_port *fp = &b->sw->port[1].flow_port;
	struct json_object *data;
	char *out;

	make_places(b, 10);
	flow_at(b, 5, 9000)->size = SIZE_ELEPHANT;
	gauge_set(&fp->elephants, 3);
	ctr_add(&fp->elephant_packets, 40);
	ctr_add(&fp->elephant_bytes, 60000);
	data = scanned(b, &all, NULL);
	out = printed_as("flows", data, &(struct show_wish){.elephants = true});
	want_line(out, "PORT  ELEPHANTS  FRAMES    BYTES\n");
	want_line(out, "p2            3      40  60.0 KB\n");
	free(out);
	json_object_put(data);
	observe_clear(b->o, 2ull * SECOND);
	ctr_add(&fp->elephant_bytes, 1000);
	data = observe_show(b->o, "flows", 1, 2ull * SECOND);
	compare_keys(&fact_lists[FACTS_ELEPHANT_PORTS], row(data, "elephant_ports", 0));
	assert_int_equal(number(row(data, "elephant_ports", 0), "now"), 3);
	assert_int_equal(number(row(data, "elephant_ports", 0), "elephant_frames"), 0);
	assert_int_equal(number(row(data, "elephant_ports", 0), "elephant_bytes"), 1000);
	json_object_put(data);
}

static void a_look_at_many_flows_takes_several_turns(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	make_places(b, PLACES);
	for (uint32_t i = 0; i < PLACES; i++)
		flow_at(b, i, i);
	data = scanned(b, &all, NULL);
	assert_int_equal(b->sw->flows.most_at_once, SCAN_STEP);
	assert_int_equal(number(data, "all"), PLACES);
	assert_int_equal(number(data, "left_out"), PLACES - SCAN_LIMIT);
	assert_int_equal(json_object_array_length(list(data, "flows")), SCAN_LIMIT);
	assert_int_equal(b->sw->flows.whys, SCAN_LIMIT); // of those that are shown
	for (unsigned i = 0; i < SCAN_LIMIT; i++) // as fast as each other: by bytes
		assert_int_equal(number(row(data, "flows", i), "bytes"), PLACES - 1 - i);
	json_object_put(data);
}

static void another_flow_takes_the_place(struct bench *b)
{
	flow_at(b, 5, 12500000)->first_ns = 2ull * SECOND + MS;
	b->sw->flows.rows[6] = (struct flow_row){0};
}

static void a_flow_that_began_between_the_looks_began_with_nothing(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	make_places(b, 10);
	flow_at(b, 5, 900);
	flow_at(b, 6, 900);
	data = scanned(b, &all, another_flow_takes_the_place);
	assert_int_equal(json_object_array_length(list(data, "flows")), 1);
	assert_int_equal(number(row(data, "flows", 0), "rate_bps"), 1000000000);
	json_object_put(data);
}

// Between the second look and the rows.
static void a_flow_that_left_its_place_is_not_mistaken_for_the_next(void **state)
{
	struct bench *b = *state;
	struct json_object *data = json_object_new_object();
	struct scan_time now = {2ull * SECOND, 2ull * SECOND};
	struct flow_requests f = {.query[0] = all};

	make_places(b, 10);
	flow_at(b, 5, 900);
	while (flow_requests_step(&f, 0, b->sw, now) != PENDING_DONE)
		now.real_ns += 50 * MS;
	flow_at(b, 5, 10)->first_ns = 3ull * SECOND;
	flow_requests_emit(&f, 0, b->sw, now.model_ns, data);
	assert_int_equal(json_object_array_length(list(data, "flows")), 0);
	assert_int_equal(number(data, "left_out"), 1);
	json_object_put(data);
}

static void a_wish_selects_by_port_and_pair(void **state)
{
	struct bench *b = *state;
	struct flow_query wish = all;
	struct json_object *data;

	make_places(b, 10);
	flow_at(b, 1, 100);
	flow_at(b, 2, 100)->way.in_port = 1;
	flow_at(b, 3, 100)->pair = (struct flow_pair){0};
	b->sw->flows.rows[2].way.out_port = FLOW_NO_PORT;
	wish.port = 0;
	data = scanned(b, &wish, NULL);
	assert_int_equal(number(data, "matching"), 2);
	json_object_put(data);
	wish = (struct flow_query){.port = -1, .unpaired = true, .limit = 1};
	data = scanned(b, &wish, NULL);
	assert_int_equal(number(data, "all"), 3);
	assert_int_equal(number(data, "unpaired"), 1);
	assert_int_equal(number(row(data, "flows", 0), "qp"), 0x103);
	json_object_put(data);
}

// ---- rows

static void a_paired_flow_shows_its_way_and_both_queue_pairs(void **state)
{
	static const struct {
		const char *key, *text;
	} want[] = {
		{"key", "10.0.0.1 10.0.0.2 0x105"}, {"from", "10.0.0.1"}, {"to", "10.0.0.2"},
		{"qp", "261"}, {"kind", "data"}, {"in_port", "p1"}, {"out_port", "p2"},
		{"queue", "3"}, {"class", "3"}, {"state", "paired"}, {"sender_qp", "52"},
		{"source", "cm"}, {"gap_packets", "7"}, {"rewinds", "2"}, {"cnps_sent", "4"},
		{"silences", "12"}, {"silence", "gap"}, {"lasts_us", "1100000"},
		{"idle_us", "100000"}, {"cnp_us", "1000"},
	};
	struct bench *b = *state;
	struct json_object *data;
	struct flow_row *f;
	char *out;

	make_places(b, 10);
	f = flow_at(b, 5, 9000);
	f->gap_packets = 7;
	f->rewinds = 2;
	f->cnps_sent = 4;
	f->silences = 12;
	f->silence = CNP_SILENT_GAP;
	f->cnp_ns = 2ull * SECOND + 99 * MS;
	data = scanned(b, &all, NULL);
	compare_keys(&fact_lists[FACTS_FLOWS], row(data, "flows", 0));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(text(row(data, "flows", 0), want[i].key), want[i].text);
	assert_null(text(row(data, "flows", 0), "reason"));
	out = printed("flows", data);
	want_line(out, "10.0.0.1  10.0.0.2  0x105       0x34  cm      p1  p2       3  0 b/s       9"
		       "              7        2   0         0         4  12, gap\n");
	want_line(out, "1 flows, room for 10; 0 unpaired\n");
	free(out);
	json_object_put(data);
}

static void an_unpaired_flow_says_why(void **state)
{
	struct flow_query wish = {.port = -1, .unpaired = true, .limit = 1};
	struct bench *b = *state;
	struct json_object *data;
	struct flow_row *f;
	char *out;

	make_places(b, 10);
	for (uint32_t i = 0; i < 2; i++) {
		f = flow_at(b, i, 9000);
		f->pair = (struct flow_pair){0};
		f->candidates = 3;
		f->reason = "3 candidates";
	}
	data = scanned(b, &wish, NULL);
	assert_null(text(row(data, "flows", 0), "sender_qp"));
	assert_string_equal(text(row(data, "flows", 0), "source"), "none");
	assert_int_equal(number(row(data, "flows", 0), "candidates"), 3);
	out = printed_as("flows", data, &unpaired_flows);
	want_line(out, "9           3  3 candidates\n(1 more are not shown; --limit N");
	want_line(out, "2 flows, room for 10; 2 unpaired\n");
	free(out);
	out = printed("flows", data);
	want_line(out, "0x100          -  none ");
	want_line(out, "2 unpaired (show flows --unpaired says why)\n");
	free(out);
	json_object_put(data);
}

static void a_flow_of_ipv6_that_is_flooded(void **state)
{
	static const uint8_t from[16] = {0x20, 1, 0xd, 0xb8, [15] = 1}, to[16] = {0xfd, [15] = 2};
	struct bench *b = *state;
	struct json_object *data;
	struct flow_row *f;

	make_places(b, 1);
	f = flow_at(b, 0, 10);
	f->key = flow_key_of(true, from, to, 0xabcdef, KEY_FLOW);
	f->way.out_port = FLOW_NO_PORT;
	data = scanned(b, &all, NULL);
	assert_string_equal(text(row(data, "flows", 0), "key"), "2001:db8::1 fd00::2 0xabcdef");
	assert_null(text(row(data, "flows", 0), "out_port"));
	json_object_put(data);
}

static void a_table_without_flows_says_how_to_get_one(void **state)
{
	struct flow_query wish = {.port = 1, .limit = 1};
	struct bench *b = *state;
	struct json_object *data = scanned(b, &all, NULL);
	char *out = printed("flows", data);

	want_line(out, "no flow table: the policy has `switch.flows: off`");
	free(out);
	json_object_put(data);
	make_places(b, 4);
	data = scanned(b, &all, NULL);
	out = printed("flows", data);
	want_line(out, "no RoCEv2 flow: none has sent data lately");
	free(out);
	json_object_put(data);
	flow_at(b, 1, 100)->way.out_port = FLOW_NO_PORT;
	data = scanned(b, &wish, NULL);
	out = printed_as("flows", data, &flows_of_p2);
	want_line(out, "none of 1 flows enters or leaves by p2\n");
	free(out);
	out = printed_as("flows", data, &unpaired_flows);
	want_line(out, "all 1 flows are paired, or need no pair\n");
	free(out);
	json_object_put(data);
}

// ---- notifications by queue

static void notify(struct bench *b)
{
	struct ipcc_counters *c = &b->sw->port[1].ipcc[3];
	struct ipcc_params *p = &b->sw->policy->ports[1].queue[3].ipcc;

	b->sw->port[1].notifies[3] = true;
	*p = (struct ipcc_params){.enabled = true, .kmin_bytes = 5000, .kmax_bytes = 200000};
	gauge_set(&b->sw->port[1].queue[3].length_bytes, 70000);
	gauge_set(&c->len_bytes, 60000);
	gauge_set(&c->excess_bps, 3000000000);
	gauge_set(&c->quadrant, IPCC_FEW_GROWING);
	gauge_set(&c->share_q16, 1 << 14);
	gauge_set(&c->looked_ns, 2ull * SECOND - 3000);
	atomic_store(&c->trend_bytes, -4200);
	ctr_add(&c->looks[IPCC_NONE], 1);
	ctr_add(&c->looks[IPCC_FEW_GROWING], 2);
	ctr_add(&c->looks[IPCC_FEW_SHRINKING], 3);
	ctr_add(&c->looks[IPCC_MANY], 4);
	ctr_add(&c->muted, 5);
	ctr_add(&c->notified, 6);
	ctr_add(&c->spared, 7);
	for (unsigned i = 1; i < N_CNP_SILENCES; i++)
		ctr_add(&c->silences[i], 10 + i);
	ctr_add(&b->sw->port[1].flows.gap_packets, 21);
	ctr_add(&b->sw->port[1].flows.cnps_capped, 22);
	b->sw->flows.totals.made = 30;
	b->sw->flows.totals.used = 31;
	b->sw->flows.totals.pairing.paired[PAIR_ACK] = 32;
	b->sw->flows.totals.pairing.dropped_rival = 33;
	b->sw->flows.totals.pairing.n_paired = 34;
}

static void a_queue_that_notifies_shows_its_last_look_and_all_decisions(void **state)
{
	static const struct {
		const char *key;
		uint64_t v;
	} want[] = {
		{"queue", 3}, {"class", 3}, {"length_bytes", 70000}, {"kmin_bytes", 5000},
		{"kmax_bytes", 200000}, {"threshold_percent", 25}, {"look_bytes", 60000},
		{"excess_bps", 3000000000},
		{"look_age_us", 3}, {"looks_none", 1}, {"looks_few_growing", 2},
		{"looks_few_shrinking", 3}, {"looks_many", 4}, {"muted", 5}, {"told", 6},
		{"spared", 7}, {"silent_unpaired", 10 + CNP_SILENT_UNPAIRED},
		{"silent_gap", 10 + CNP_SILENT_GAP}, {"silent_covered", 10 + CNP_SILENT_COVERED},
		{"silent_quota", 10 + CNP_SILENT_QUOTA},
		{"silent_port_cap", 10 + CNP_SILENT_PORT_CAP},
		{"silent_datagram", 10 + CNP_SILENT_DATAGRAM},
		{"silent_no_room", 10 + CNP_SILENT_NO_ROOM},
	};
	struct bench *b = *state;
	struct json_object *data, *r;
	char *out;

	notify(b);
	data = observe_show(b->o, "ipcc", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(json_object_array_length(list(data, "ipcc")), 1);
	r = row(data, "ipcc", 0);
	assert_string_equal(text(r, "port"), "p2");
	assert_string_equal(text(r, "quadrant"), ipcc_quadrant_name[IPCC_FEW_GROWING]);
	assert_string_equal(text(r, "trend_bytes"), "-4200");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (number(r, want[i].key) != want[i].v)
			fail_msg("%s is %s", want[i].key, text(r, want[i].key));
	assert_int_equal(number(row(data, "flow_ports", 1), "gap_packets"), 21);
	assert_int_equal(number(row(data, "flow_ports", 1), "cnps_capped"), 22);
	assert_int_equal(number(list(data, "flow_table"), "made"), 30);
	assert_int_equal(number(list(data, "pairing"), "paired_ack"), 32);
	assert_int_equal(number(list(data, "pairing"), "dropped_rival"), 33);
	out = printed("ipcc", data);
	want_line(out, "3 us  60.0 KB      25 %  -4.20 KB  3.00 Gb/s  few, growing\n");
	want_line(out, "unpaired 11, gap 12, covered 13, quota 14, port_cap 15, datagram 16, "
		       "no_room 17\n");
	want_line(out, "pairs made: static 0, cm 0, read 0, ack 32, cnp 0\n");
	want_line(out, "pairs dropped: jump 0, ack 0, rival 33, dreq 0, age 0, static 0\n");
	free(out);
	json_object_put(data);
}

static void a_clear_restarts_what_counts_and_not_what_is(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	notify(b);
	observe_clear(b->o, 2ull * SECOND);
	ctr_add(&b->sw->port[1].ipcc[3].notified, 1);
	b->sw->flows.totals.made++;
	data = observe_show(b->o, "ipcc", 1, 2ull * SECOND);
	r = row(data, "ipcc", 0);
	assert_int_equal(number(r, "told"), 1);
	assert_int_equal(number(r, "looks_many"), 0);
	assert_int_equal(number(r, "silent_gap"), 0);
	assert_int_equal(number(r, "look_bytes"), 60000);
	assert_int_equal(number(row(data, "flow_ports", 0), "gap_packets"), 0);
	assert_int_equal(number(list(data, "flow_table"), "made"), 1);
	assert_int_equal(number(list(data, "flow_table"), "used"), 31);
	assert_int_equal(number(list(data, "pairing"), "paired"), 34);
	assert_int_equal(number(list(data, "pairing"), "paired_ack"), 0);
	json_object_put(data);
	data = observe_rows(b->o, "ipcc", 1, OBSERVE_RAW, 2ull * SECOND);
	assert_int_equal(number(row(data, "ipcc", 0), "told"), 7);
	assert_int_equal(number(list(data, "flow_table"), "made"), 31);
	json_object_put(data);
}

static void a_queue_that_was_never_looked_at_shows_no_quadrant(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	char *out;

	b->sw->port[0].notifies[3] = true;
	data = observe_show(b->o, "ipcc", OBSERVE_ALL_PORTS, SECOND);
	assert_null(text(row(data, "ipcc", 0), "quadrant"));
	assert_null(text(row(data, "ipcc", 0), "look_age_us"));
	json_object_put(data);
	b->sw->port[0].notifies[3] = false;
	data = observe_show(b->o, "ipcc", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "ipcc")), 0);
	out = printed("ipcc", data);
	want_line(out, "no queue sends notifications: give a class that has `wred` the line "
		       "`ipcc: on`\n");
	free(out);
	json_object_put(data);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_rate_is_what_a_flow_sent_between_two_looks),
		T(flows_that_need_no_pair_are_not_among_the_unpaired),
		T(flows_of_tcp_show_a_dash_for_what_only_rocev2_has),
		T(elephants_are_counted_by_the_port_where_they_enter),
		T(a_look_at_many_flows_takes_several_turns),
		T(a_flow_that_began_between_the_looks_began_with_nothing),
		T(a_flow_that_left_its_place_is_not_mistaken_for_the_next),
		T(a_wish_selects_by_port_and_pair),
		T(a_paired_flow_shows_its_way_and_both_queue_pairs),
		T(an_unpaired_flow_says_why),
		T(a_flow_of_ipv6_that_is_flooded),
		T(a_table_without_flows_says_how_to_get_one),
		T(a_queue_that_notifies_shows_its_last_look_and_all_decisions),
		T(a_clear_restarts_what_counts_and_not_what_is),
		T(a_queue_that_was_never_looked_at_shows_no_quadrant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
