// SPDX-License-Identifier: Apache-2.0
// What is kept of the CNPs that the switch has sent, and what clients ask and say about flows.
#include <errno.h>
#include <string.h>

#include "control/daemon/cnplog.h"
#include "control/daemon/flow_requests.h"
#include "control/orders/flow_pair.h"
#include "tests/unit/observe/rows.h"

enum { SECOND = 1000000000 };

// ---- CNPs

static struct cnp_record record(uint32_t qp)
{
	return (struct cnp_record){
		.t_ns = 3ull * SECOND, .key = flow_key_v4(0x0a000001, 0x0a000002, qp, KEY_FLOW),
		.sender_qp = 0x34, .source = PAIR_ACK, .left_by = 0, .port = 1, .queue = 3,
		.quadrant = IPCC_MANY, .rank = 2, .notified = 5, .len_bytes = 150000,
		.kmin_bytes = 5000, .kmax_bytes = 200000, .share_q16 = 1 << 15,
		.trend_bytes = 4200, .dt_ns = 5000,
		.excess_bps = 3000000000, .flow_bps = 10000000000, .queue_bps = 40000000000};
}

static void take(struct bench *b, struct cnplog *l, const struct cnp_record *c)
{
	b->sw->flows.records[0] = *c;
	b->sw->flows.n_records = 1;
	cnplog_poll(l, b->sw, 1700000000123456789);
}

static void a_cnp_is_explained_in_one_row(void **state)
{
	static const struct {
		const char *key, *text;
	} want[] = {
		{"seq", "1"}, {"time", "2023-11-14T22:13:20.123456Z"}, {"t_ns", "3000000000"},
		{"key", "10.0.0.1 10.0.0.2 0x12"}, {"sender_qp", "52"}, {"source", "ack"},
		{"left_by", "p1"}, {"port", "p2"}, {"queue", "3"}, {"length_bytes", "150000"},
		{"kmin_bytes", "5000"}, {"kmax_bytes", "200000"}, {"threshold_percent", "50"},
		{"trend_bytes", "4200"},
		{"dt_ns", "5000"}, {"excess_bps", "3000000000"}, {"flow_bps", "10000000000"},
		{"queue_bps", "40000000000"}, {"share_percent", "25"}, {"rank", "2"},
		{"told", "5"},
	};
	struct cnplog_query wish = {.port = -1};
	struct bench *b = *state;
	struct cnp_record c = record(0x12);
	struct json_object *data;
	struct cnplog *l;
	char *out;

	assert_int_equal(cnplog_create(&l), 0);
	take(b, l, &c);
	b->sw->flows.records_lost = 3;
	data = cnplog_rows(l, b->sw, &wish);
	compare_keys(&fact_lists[FACTS_CNPS], row(data, "cnps", 0));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(text(row(data, "cnps", 0), want[i].key), want[i].text);
	assert_string_equal(text(row(data, "cnps", 0), "quadrant"), ipcc_quadrant_name[IPCC_MANY]);
	out = printed("cnps", data);
	want_line(out, "22:13:20.123456Z  10.0.0.1 10.0.0.2 0x12       0x34  ack     p1       p2:3"
		       "   150.0 KB     75 %      50 %  +4.20 KB  ");
	want_line(out, "3.00 Gb/s         5     2  10.0 Gb/s   25 %\n");
	want_line(out, "1 of 1 that are kept; 1 were sent since the start\n3 more came too fast");
	free(out);
	json_object_put(data);
	cnplog_destroy(l);
}

static void the_last_thousands_are_kept_and_found_by_port_and_count(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	struct cnplog *l;

	assert_int_equal(cnplog_create(&l), 0);
	for (uint32_t i = 0; i < CNPLOG_KEPT + 10; i++) {
		struct cnp_record c = record(2 + i);

		c.port = i % 1000 == 999 ? 0 : 1;
		c.left_by = 1;
		take(b, l, &c);
	}
	data = cnplog_rows(l, b->sw, &(struct cnplog_query){.port = -1});
	assert_int_equal(json_object_array_length(list(data, "cnps")), CNPLOG_KEPT);
	assert_int_equal(number(data, "total"), CNPLOG_KEPT + 10);
	assert_int_equal(number(data, "kept"), CNPLOG_KEPT);
	assert_int_equal(number(row(data, "cnps", 0), "seq"), 11);
	assert_int_equal(number(row(data, "cnps", 0), "qp"), 2 + 10);
	json_object_put(data);
	data = cnplog_rows(l, b->sw, &(struct cnplog_query){.port = 0, .count = 2});
	assert_int_equal(json_object_array_length(list(data, "cnps")), 2);
	assert_int_equal(number(row(data, "cnps", 0), "seq"), 3000);
	assert_int_equal(number(row(data, "cnps", 1), "seq"), 4000);
	json_object_put(data);
	cnplog_destroy(l);
}

static void all_that_the_workers_have_recorded_is_taken_at_once(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	struct cnplog *l;

	assert_int_equal(cnplog_create(&l), 0);
	for (unsigned i = 0; i < FAKE_RECORDS; i++)
		b->sw->flows.records[i] = record(i + 2);
	b->sw->flows.n_records = FAKE_RECORDS;
	cnplog_poll(l, b->sw, 0);
	assert_int_equal(b->sw->flows.n_records, 0);
	data = cnplog_rows(l, b->sw, &(struct cnplog_query){.port = -1, .count = 1});
	assert_int_equal(number(row(data, "cnps", 0), "seq"), FAKE_RECORDS);
	json_object_put(data);
	cnplog_destroy(l);
}

static void where_no_cnp_was_sent_the_next_question_is_named(void **state)
{
	struct bench *b = *state;
	struct json_object *data = cnplog_rows(NULL, b->sw, &(struct cnplog_query){.port = -1});
	char *out = printed("cnps", data);

	want_line(out, "the switch has sent no CNP; show ipcc says where it would, and why not\n");
	free(out);
	json_object_put(data);
}

// ---- requests

static void flows_are_looked_at_for_one_client_at_a_time(void **state)
{
	struct bench *b = *state;
	struct scan_time now = {SECOND, SECOND};
	struct flow_requests f = {0};
	struct json_object *req = json_tokener_parse("{\"limit\": 3, \"unpaired\": true}");

	b->sw->flows.rows = calloc(10, sizeof(b->sw->flows.rows[0]));
	b->sw->flows.n = 10;
	assert_null(flow_requests_add(&f, 2, req, -1));
	assert_null(flow_requests_add(&f, 7, req, -1));
	assert_int_equal(f.query[2].limit, 3);
	assert_true(f.query[2].unpaired);
	for (unsigned i = 0; i < 2; i++, now.real_ns += 2 * SCAN_GAP_NS) {
		assert_int_equal(flow_requests_step(&f, 2, b->sw, now), i == 0 ? PENDING_WAIT
									       : PENDING_DONE);
		assert_int_equal(flow_requests_step(&f, 7, b->sw, now), PENDING_WAIT);
	}
	flow_requests_gone(&f, 7); // it was not its turn
	flow_requests_gone(&f, 2); // it left without its answer
	assert_int_equal(flow_requests_step(&f, 7, b->sw, now), PENDING_WAIT);
	assert_int_equal(f.busy, 8);
	flow_requests_gone(&f, 7);
	json_object_put(req);
}

static void a_limit_is_a_number_within_reason(void **state)
{
	static const struct {
		const char *req;
		bool good;
	} rows[] = {
		{"{}", true}, {"{\"limit\": 1000}", true}, {"{\"limit\": 1001}", false},
		{"{\"limit\": 0}", false}, {"{\"limit\": -1}", false},
		{"{\"limit\": \"5\"}", false},
		{"{\"limit\": 1e99}", false}, {"{\"limit\": null}", false},
	};
	struct flow_requests f = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_object *req = json_tokener_parse(rows[i].req);

		if ((flow_requests_add(&f, 0, req, -1) == NULL) != rows[i].good)
			fail_msg("%s", rows[i].req);
		json_object_put(req);
	}
	assert_int_equal(SCAN_LIMIT_MAX, 1000); // as the complaint says
}

#define FROM_TO "{\"from\":\"10.0.0.1\",\"to\":\"10.0.0.2\","

static void a_pair_by_hand_is_told_or_refused_in_a_sentence(void **state)
{
	static const struct {
		const char *req, *wrong;
		bool add;
	} rows[] = {
		{FROM_TO "\"qp\":18,\"sender_qp\":52}", NULL, true},
		{"{\"from\":\"fd00::1\",\"to\":\"fd00::2\",\"qp\":18}", NULL, false},
		{FROM_TO "\"qp\":18}", "a queue pair is", true},
		{FROM_TO "\"qp\":1}", "a queue pair is", false},
		{FROM_TO "\"qp\":16777216}", "a queue pair", false},
		{FROM_TO "\"qp\":\"18\"}", "a queue pair", false},
		{"{\"from\":\"10.0.0.1\",\"to\":\"fd00::2\",\"qp\":18}", "both IPv4", false},
		{"{\"from\":\"10.0.0.1/8\",\"to\":\"10.0.0.2\",\"qp\":18}", "addresses of", false},
		{"{\"from\":\"10.0.0.1\",\"to\":\"224.0.0.2\",\"qp\":18}", "addresses of", false},
		{"{\"from\":7,\"to\":\"10.0.0.2\",\"qp\":18}", "addresses of", false},
		{"{}", "addresses of", true},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_object *req = json_tokener_parse(rows[i].req);
		const char *wrong = flow_pair_change(b->sw, req, rows[i].add);

		if ((wrong == NULL) != (rows[i].wrong == NULL) ||
		    (wrong != NULL && strstr(wrong, rows[i].wrong) == NULL))
			fail_msg("%s: %s", rows[i].req, wrong != NULL ? wrong : "taken");
		json_object_put(req);
	}
	assert_int_equal(b->sw->flows.told.qp, (uint32_t)FLOW_NONE); // the last one was a del
	assert_int_equal(b->sw->flows.told.source, PAIR_STATIC);
	assert_true(flow_key_is_v6(&b->sw->flows.told.key));
}

static void a_switch_without_a_table_says_so(void **state)
{
	static const char asked[] = FROM_TO "\"qp\":18,\"sender_qp\":52}";
	struct bench *b = *state;
	struct json_object *req = json_tokener_parse(asked);
	struct flow_key want = flow_key_v4(0x0a000001, 0x0a000002, 18, KEY_KNOWN);

	b->sw->flows.tell_err = -ENOTSUP;
	assert_non_null(strstr(flow_pair_change(b->sw, req, true), "there is no flow table"));
	b->sw->flows.tell_err = -EAGAIN;
	assert_non_null(strstr(flow_pair_change(b->sw, req, true), "try again"));
	assert_true(flow_key_same(&b->sw->flows.told.key, &want));
	assert_int_equal(b->sw->flows.told.qp, 52);
	json_object_put(req);
}

static void a_flow_to_forget_that_nobody_knows_is_a_mistake(void **state)
{
	struct bench *b = *state;
	const char *wrong = NULL;

	b->sw->flows.found = 7;
	assert_false(flow_pair_deleted(b->sw, 7, &wrong));
	b->sw->flows.taken = true;
	assert_true(flow_pair_deleted(b->sw, 6, &wrong));
	assert_null(wrong);
	assert_true(flow_pair_deleted(b->sw, 7, &wrong));
	assert_non_null(strstr(wrong, "no such flow"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_cnp_is_explained_in_one_row),
		T(the_last_thousands_are_kept_and_found_by_port_and_count),
		T(all_that_the_workers_have_recorded_is_taken_at_once),
		T(where_no_cnp_was_sent_the_next_question_is_named),
		T(flows_are_looked_at_for_one_client_at_a_time),
		T(a_limit_is_a_number_within_reason),
		T(a_pair_by_hand_is_told_or_refused_in_a_sentence),
		T(a_switch_without_a_table_says_so),
		T(a_flow_to_forget_that_nobody_knows_is_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
