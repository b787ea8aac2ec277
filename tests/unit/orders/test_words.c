// SPDX-License-Identifier: Apache-2.0
// Words of weirctl as requests: each form, and what is no form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/orders/words.h"

static void every_form_is_a_request(void **state)
{
	static const struct {
		const char *text, *request;
	} rows[] = {
		{"set port p1 tx off", "{\"cmd\":\"set_tx\",\"port\":\"p1\",\"on\":false}"},
		{" set\tqueue  p1 7 tx on ",
		 "{\"cmd\":\"set_tx\",\"port\":\"p1\",\"on\":true,\"queue\":7}"},
		{"watchdog recover p2 3",
		 "{\"cmd\":\"watchdog_recover\",\"port\":\"p2\",\"class\":3}"},
		{"watchdog drop-all on", "{\"cmd\":\"watchdog_drop_all\",\"on\":true}"},
		{"flow add 10.0.0.1 10.0.0.2 18 0x34",
		 "{\"cmd\":\"flow_add\",\"from\":\"10.0.0.1\",\"to\":\"10.0.0.2\",\"qp\":18,"
		 "\"sender_qp\":52}"},
		{"flow del fd00::1 fd00::2 0xffffff",
		 "{\"cmd\":\"flow_del\",\"from\":\"fd00::1\",\"to\":\"fd00::2\",\"qp\":16777215}"},
		{"inof zone add a 10.0.0.1 p3",
		 "{\"cmd\":\"inof_zone_add\",\"zone\":\"a\",\"members\":[\"10.0.0.1\",\"p3\"]}"},
		{"inof zone remove a",
		 "{\"cmd\":\"inof_zone_remove\",\"zone\":\"a\",\"members\":[]}"},
		{"weirctl show queues", "{\"cmd\":\"show\",\"what\":\"queues\"}"},
		{"show pfc p1", "{\"cmd\":\"show\",\"what\":\"pfc\",\"port\":\"p1\"}"},
		{"show pfc status", "{\"cmd\":\"show\",\"what\":\"pfc-status\"}"},
		{"show inof zones p1",
		 "{\"cmd\":\"show\",\"what\":\"inof-zones\",\"port\":\"p1\"}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[WORDS_WHY_LEN];
		struct json_object *req = request_of_text(rows[i].text, why);

		if (req == NULL)
			fail_msg("%s: %s", rows[i].text, why);
		assert_string_equal(json_object_to_json_string_ext(req, JSON_C_TO_STRING_PLAIN),
				    rows[i].request);
		json_object_put(req);
	}
}

static void a_mistake_is_a_sentence(void **state)
{
#define SET "expected set port PORT tx on|off or set queue PORT QUEUE tx on|off"
#define WATCHDOG "expected watchdog recover PORT CLASS or watchdog drop-all on|off"
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "the commands here are set watchdog flow inof show"},
		{"reload", "the commands here are set watchdog flow inof show"},
		{"set", SET},
		{"set port p1 tx", SET},
		{"set port p1 rx on", "set port ends in tx on or tx off, not rx on"},
		{"set queue p1 3 tx no", "set queue ends in tx on or tx off, not tx no"},
		{"set queue p1 8 tx on", "a queue is a number from 0 to 7, not \"8\""},
		{"set queue p1 x tx on", "a queue is a number from 0 to 7, not \"x\""},
		{"watchdog recover p1", WATCHDOG},
		{"watchdog recover p1 8", "a class is a number from 0 to 7, not \"8\""},
		{"watchdog drop-all yes", WATCHDOG},
		{"flow del a b c d",
		 "expected flow add FROM TO QP SENDER_QP or flow del FROM TO QP"},
		{"flow del a b 1", "a queue pair is a number from 2 to 0xffffff, not \"1\""},
		{"flow add a b 2 0x1000000",
		 "a queue pair is a number from 2 to 0xffffff, not \"0x1000000\""},
		{"inof zone add a",
		 "expected inof zone add ZONE MEMBER... or inof zone remove ZONE [MEMBER...]"},
		{"show", "expected show KIND [PORT]"},
		{"show queues p1 p2", "expected show KIND [PORT]"},
		{"show flows --all", "expected show KIND [PORT]"},
		{"weirctl", "the commands here are set watchdog flow inof show"},
		{"show prots", "cannot show \"prots\": did you mean ports?"},
		{"show xyzzy", "cannot show \"xyzzy\""},
	};
	char why[WORDS_WHY_LEN], text[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(request_of_text(rows[i].text, why));
		assert_string_equal(why, rows[i].why);
	}
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_null(request_of_text(text, why));
	assert_string_equal(why, "is too long");
	for (size_t i = 0; i < 400; i++)
		memcpy(text + 2 * i, "x ", 3);
	assert_null(request_of_text(text, why));
	assert_string_equal(why, "has more than 64 words");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_a_request),
		cmocka_unit_test(a_mistake_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
