// SPDX-License-Identifier: Apache-2.0
// A capture from its beginning to its end, turn by turn.
#include "tests/unit/capture/capture_world.h"

// ---- the tests

static const struct tap_meta in_p1 = {.port = 0, .direction = TAP_IN, .cls = 3};
static const struct tap_meta out_p2 = {.port = 1, .direction = TAP_OUT, .cls = 3, .queue = 3,
				       .has_queue = true, .queue_bytes = 700, .marked = true};
static const struct tap_meta drop_p3 = {.port = 2, .direction = TAP_DROP, .cls = 3, .reason = 8};

static void a_capture_has_begun_when_every_worker_has_the_tap(void **state)
{
	struct json_object *ports = NULL;

	(void)state;
	start(CLIENT, 1, "{}");
	until_tap_or_answer();
	assert_true(tap_wants(w.sw.tap, 1));
	assert_false(tap_wants(w.sw.tap, 0));
	turn();
	assert_int_equal(w.n_answers, 0);
	agree();
	turn();
	assert_int_equal(w.n_answers, 1);
	assert_int_equal(w.client, CLIENT);
	assert_true(json_object_object_get_ex(w.data, "ports", &ports));
	assert_int_equal(json_object_array_length(ports), 1);
	assert_int_equal(number(json_object_array_get_idx(ports, 0), "index"), 1);
	assert_int_equal(number(w.data, "snaplen"), 1522);
	assert_int_equal(number(w.data, "started_ns"), wall_ns());
}

static void frames_of_two_workers_come_in_the_order_of_time(void **state)
{
	(void)state;
	run_capture(CAPTURE_ALL_PORTS, "{}");
	frame(1, T0 + 1, "b", out_p2);
	frame(1, T0 + 5, "e", out_p2);
	frame(0, T0, "a", in_p1);
	frame(0, T0 + 1, "B", in_p1);
	frame(0, T0 + 2, "c", in_p1);
	frame(0, T0 + 2, "d", in_p1);
	read_for(CLIENT, 100);
	agree();
	turn();
	assert_string_equal(frames(), "a B b c d e");
}

// A worker whose loop began before the clock was read may still write an older record.
static void frames_wait_until_no_worker_can_come_with_an_older_one(void **state)
{
	(void)state;
	run_capture(CAPTURE_ALL_PORTS, "{}");
	frame(0, T0 + 1, "old", in_p1);
	read_for(CLIENT, 1000);
	turn(); // no worker has answered since the clock was read
	turn();
	assert_int_equal(w.n_answers, 1);
	frame(1, T0, "older", out_p2);
	agree();
	frame(0, w.now_ns + 2 * MS, "new", in_p1);
	turn();
	assert_int_equal(w.n_answers, 2);
	assert_string_equal(frames(), "older old");
	read_for(CLIENT, 1000);
	agree();
	turn();
	agree();
	turn();
	assert_string_equal(frames(), "new");
}

static void what_is_said_of_a_frame_reaches_the_client(void **state)
{
	struct json_object *v = NULL;
	struct capture_record r;
	uint8_t bytes[64];

	(void)state;
	run_capture(CAPTURE_ALL_PORTS, "{\"snaplen\": 4}");
	frame(1, T0 + 7, "abcdefgh", out_p2);
	read_for(CLIENT, 100);
	agree();
	turn();
	assert_true(json_object_object_get_ex(w.data, "frames", &v));
	assert_int_equal(json_object_get_string_len(v), base64_len(sizeof(r) + 4));
	assert_true(base64_decode(bytes, json_object_get_string(v), base64_len(sizeof(r) + 4)));
	memcpy(&r, bytes, sizeof(r));
	assert_int_equal(r.t_ns, WALL + 7);
	assert_int_equal(r.len, 8);
	assert_int_equal(r.captured, 4);
	assert_int_equal(r.port, 1);
	assert_int_equal(r.direction, TAP_OUT);
	assert_int_equal(r.cls, 3);
	assert_int_equal(r.queue, 3);
	assert_int_equal(r.queue_bytes, 700);
	assert_int_equal(r.flags, CAPTURE_HAS_QUEUE | CAPTURE_MARKED);
}

static void only_what_was_asked_for_is_handed_out(void **state)
{
	static const struct {
		const char *req, *frames;
		unsigned matched;
	} row[] = {
		{"{}", "plain marked dropped 12bytes-addr\x88\x08\x01\x01", 4},
		{"{\"only\": \"all\"}", "plain marked dropped 12bytes-addr\x88\x08\x01\x01", 4},
		{"{\"only\": \"drops\"}", "dropped", 1},
		{"{\"only\": \"marked\"}", "marked", 1},
		{"{\"only\": \"pfc\"}", "12bytes-addr\x88\x08\x01\x01", 1},
		{"{\"filter\": \"less 5\"}", "plain", 1},
		{"{\"filter\": \"ether proto 0x8808\"}", "12bytes-addr\x88\x08\x01\x01", 1},
		{"{\"filter\": \"less 5\", \"only\": \"drops\"}", "", 0},
		{"{\"filter\": \"ether proto 0x8808\", \"snaplen\": 3}", "12b", 1},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t seen = 0, matched = 0;

		if (i > 0) {
			end(state);
			begin(state);
		}
		run_capture(CAPTURE_ALL_PORTS, row[i].req);
		frame(0, T0, "plain", in_p1);
		frame(0, T0, "marked", out_p2);
		frame(0, T0, "dropped", drop_p3);
		frame(0, T0, "12bytes-addr\x88\x08\x01\x01", in_p1);
		stop(CLIENT, false);
		agree();
		turn();
		read_for(CLIENT, 0);
		assert_string_equal(frames(), row[i].frames);
		for (unsigned p = 0; p < N_PORTS; p++) {
			seen += number(count_of(p), "seen");
			matched += number(count_of(p), "matched");
		}
		assert_int_equal(seen, 4);
		assert_int_equal(matched, row[i].matched);
	}
}

static void a_request_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *req, *why;
	} row[] = {
		{"{\"filter\": \"upd port 3\"}", "the filter \"upd port 3\" is wrong: "
						 "can't parse filter expression: syntax error"},
		{"{\"only\": \"some\"}", "only is drops, marked or pfc"},
		{"{\"snaplen\": -1}", "snaplen is from 1 to 16384 bytes"},
		{"{\"snaplen\": 99999}", "snaplen is from 1 to 16384 bytes"},
	};
	char text[CAPTURE_MAX_FILTER + 64];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct json_object *v = NULL;
		unsigned had = w.n_answers;

		start(CLIENT, 0, row[i].req);
		if (w.n_answers == had)
			until_tap_or_answer();
		assert_true(json_object_object_get_ex(w.data, "refused", &v));
		assert_string_equal(json_object_get_string(v), row[i].why);
		assert_null(w.sw.tap);
	}
	snprintf(text, sizeof(text), "{\"filter\": \"%0*d\"}", CAPTURE_MAX_FILTER + 1, 0);
	start(CLIENT, 0, text);
	assert_int_equal(w.n_answers, 5);
	w.n_answers = 0;
	run_capture(0, "{}");
}

static void a_second_client_is_refused_until_the_first_has_gone(void **state)
{
	(void)state;
	run_capture(0, "{}");
	start(OTHER, 0, "{}");
	assert_int_equal(w.client, OTHER);
	assert_non_null(strstr(w.error, "another capture is running"));
	read_for(OTHER, 0);
	assert_non_null(strstr(w.error, "no capture of this client"));
	capture_gone(w.c, OTHER);
	assert_non_null(w.sw.tap);
	capture_gone(w.c, CLIENT);
	assert_null(w.sw.tap);
	w.error[0] = '\0';
	start(OTHER, 0, "{}"); // the workers have not let go of the first tap: it waits
	start(OTHER + 1, 0, "{}");
	assert_int_equal(w.client, OTHER + 1);
	assert_non_null(strstr(w.error, "another capture is running"));
	turn();
	assert_null(w.sw.tap);
	agree();
	turn();
	until_tap_or_answer();
	assert_non_null(w.sw.tap);
	agree();
	turn();
	assert_int_equal(w.client, OTHER);
	capture_gone(w.c, OTHER);
	start(CLIENT, 0, "{}");
	capture_gone(w.c, CLIENT); // while it waits
	agree();
	for (unsigned i = 0; i < 10; i++)
		turn();
	assert_null(w.sw.tap);
}

static void a_client_that_goes_at_any_step_leaves_nothing_on(void **state)
{
	(void)state;
	start(CLIENT, 0, "{}"); // while it is prepared
	capture_gone(w.c, CLIENT);
	for (unsigned i = 0; i < 100; i++)
		turn();
	assert_int_equal(w.n_answers, 0);
	assert_null(w.sw.tap);
	start(CLIENT, 0, "{}"); // it may have to wait until that one is over
	until_tap_or_answer();
	assert_non_null(w.sw.tap);
	capture_gone(w.c, CLIENT); // before the workers have it
	assert_null(w.sw.tap);
	agree();
	turn();
	w.n_answers = 0;
	run_capture(0, "{}");
	read_for(CLIENT, 100);
	capture_gone(w.c, CLIENT); // while an answer is owed
	agree();
	turn();
	assert_int_equal(w.n_answers, 1);
	w.n_answers = 0;
	w.sw.tap = NULL;
	run_capture(0, "{}");
	stop(CLIENT, false);
	agree();
	turn();
	capture_gone(w.c, CLIENT); // with the rest not read
	w.n_answers = 0;
	w.sw.tap = NULL;
	run_capture(0, "{}");
	capture_gone(w.c, CLIENT);
}

static void stop_hands_out_the_rest_and_then_the_counts(void **state)
{
	(void)state;
	run_capture(0, "{}");
	frame(0, T0, "one", in_p1);
	stop(CLIENT, false);
	assert_null(w.sw.tap);
	turn();
	assert_int_equal(w.n_answers, 1); // a worker may still be writing
	agree();
	turn();
	assert_int_equal(w.n_answers, 2);
	read_for(CLIENT, 0);
	assert_string_equal(frames(), "one");
	assert_int_equal(number(w.data, "end"), 1);
	assert_int_equal(number(count_of(0), "seen"), 1);
	assert_int_equal(number(count_of(0), "lost"), 0);
	read_for(CLIENT, 0);
	assert_non_null(strstr(w.error, "no capture of this client"));
}

static void stop_without_interest_in_the_rest_tells_the_counts_at_once(void **state)
{
	(void)state;
	run_capture(0, "{}");
	frame(0, T0, "one", in_p1);
	stop(CLIENT, true);
	agree();
	turn();
	assert_int_equal(number(count_of(0), "seen"), 0);
	start(OTHER, 0, "{}"); // it is over: another one may begin
	until_tap_or_answer();
}

static void a_read_is_answered_in_its_time_even_if_nothing_came(void **state)
{
	(void)state;
	run_capture(0, "{}");
	read_for(CLIENT, 10);
	for (unsigned i = 1; i <= 4; i++) {
		turn(); // 3 ms each
		assert_int_equal(w.n_answers, i < 4 ? 1 : 2);
	}
	assert_string_equal(frames(), "");
	assert_int_equal(number(w.data, "end"), 0);
}

static void a_client_that_is_silent_for_too_long_loses_its_capture(void **state)
{
	(void)state;
	run_capture(0, "{}");
	w.now_ns += CAPTURE_SILENCE_NS - 5 * MS;
	turn();
	assert_non_null(w.sw.tap);
	turn();
	assert_null(w.sw.tap);
	agree();
	turn();
	read_for(CLIENT, 0);
	assert_non_null(strstr(w.error, "no capture of this client"));
}

static void a_worker_that_never_answers_is_told_of_and_keeps_its_tap(void **state)
{
	struct tap *handed;

	(void)state;
	start(CLIENT, 0, "{}");
	until_tap_or_answer();
	handed = w.sw.tap;
	w.now_ns += CAPTURE_ACK_NS;
	turn();
	assert_non_null(strstr(w.error, "a worker did not answer"));
	turn();
	tap_bytes(handed, 0, T0, "x", 1, &in_p1); // the memory is still there
	start(CLIENT, 0, "{}");
	turn();
	w.now_ns += CAPTURE_ACK_NS;
	turn();
	assert_non_null(strstr(w.error, "has not ended after 1 s"));
	agree();
	turn();
	w.n_answers = 0;
	run_capture(0, "{}");
}

static void more_than_an_answer_holds_comes_in_several(void **state)
{
	char big[1500];
	unsigned answers = 0;
	uint64_t sum = 0;

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	run_capture(0, "{}");
	for (unsigned i = 0; i < 1000; i++)
		frame(i % 2, T0 + i, big, in_p1);
	stop(CLIENT, false);
	agree();
	turn();
	for (bool over = false; !over; answers++) {
		struct json_object *v = NULL;

		read_for(CLIENT, 0);
		assert_true(json_object_object_get_ex(w.data, "frames", &v));
		sum += (uint64_t)json_object_get_string_len(v) * 3 / 4 / (32 + 1499);
		over = number(w.data, "end") != 0;
	}
	assert_int_equal(sum, 1000);
	assert_true(answers >= 6);
	assert_int_equal(number(count_of(0), "matched"), 1000);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_capture_has_begun_when_every_worker_has_the_tap),
		T(frames_of_two_workers_come_in_the_order_of_time),
		T(frames_wait_until_no_worker_can_come_with_an_older_one),
		T(what_is_said_of_a_frame_reaches_the_client),
		T(only_what_was_asked_for_is_handed_out),
		T(a_request_that_makes_no_sense_is_refused),
		T(a_second_client_is_refused_until_the_first_has_gone),
		T(a_client_that_goes_at_any_step_leaves_nothing_on),
		T(stop_hands_out_the_rest_and_then_the_counts),
		T(stop_without_interest_in_the_rest_tells_the_counts_at_once),
		T(a_read_is_answered_in_its_time_even_if_nothing_came),
		T(a_client_that_is_silent_for_too_long_loses_its_capture),
		T(a_worker_that_never_answers_is_told_of_and_keeps_its_tap),
		T(more_than_an_answer_holds_comes_in_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
