// SPDX-License-Identifier: Apache-2.0
// What weirctl says of each frame, which frames it keeps, and the text that carries them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "control/capture/pcapng.h"
#include "control/ctl/capture.h"
#include "dataplane/drop.h"
#include "dataplane/packet/classify.h"
#include "dataplane/tap.h"
#include "tests/temporary.h"

static const char started_text[] =
	"{\"switch\": \"lab\", \"snaplen\": 100, \"started_ns\": 1000, \"ports\": ["
	"{\"index\": 2, \"port\": \"p3\", \"device\": \"xdp:sw3\", \"speed_bps\": 1000},"
	"{\"index\": 5, \"port\": \"p6\", \"device\": \"xdp:sw6\", \"speed_bps\": 1000}]}";

static void a_comment_says_what_only_the_switch_knows(void **state)
{
	static const struct {
		struct capture_record r;
		const char *text;
	} row[] = {
		{{.direction = TAP_IN, .cls = 3}, "dir=in class=3"},
		{{.direction = TAP_IN, .cls = CLASS_NONE}, "dir=in"},
		{{.direction = TAP_OUT, .cls = 3, .queue = 4, .flags = CAPTURE_HAS_QUEUE,
		  .queue_bytes = 48200},
		 "dir=out class=3 queue=4 queue_bytes=48200"},
		{{.direction = TAP_OUT, .cls = 3, .queue = 3,
		  .flags = CAPTURE_HAS_QUEUE | CAPTURE_MARKED},
		 "dir=out class=3 queue=3 queue_bytes=0 mark=ce"},
		{{.direction = TAP_OUT, .cls = 6, .queue = 6, .trim_queue = 2,
		  .flags = CAPTURE_HAS_QUEUE | CAPTURE_TRIMMED},
		 "dir=out class=6 queue=6 queue_bytes=0 trim=2"},
		{{.direction = TAP_OUT, .cls = CLASS_NONE}, "dir=out origin=switch"},
		{{.direction = TAP_DROP, .cls = 0, .reason = DROP_HEADROOM},
		 "dir=drop class=0 reason=headroom-overrun"},
		{{.direction = TAP_DROP, .cls = 7, .queue = 7, .flags = CAPTURE_HAS_QUEUE,
		  .queue_bytes = 4294967295, .reason = DROP_EGRESS_TAIL},
		 "dir=drop class=7 queue=7 queue_bytes=4294967295 reason=egress-tail"},
		{{.direction = TAP_DROP, .cls = 1, .reason = 250},
		 "dir=drop class=1 reason=unknown"},
		{{.direction = 9, .cls = 1}, "dir=unknown class=1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[CAPTURE_COMMENT_LEN];

		capture_comment(text, &row[i].r);
		assert_string_equal(text, row[i].text);
	}
}

static char *whole_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *bytes = malloc(65536);

	assert_non_null(f);
	assert_non_null(bytes);
	*len = fread(bytes, 1, 65536, f);
	fclose(f);
	return bytes;
}

// The first byte of each frame's data, in the order of the file; statistics as '#'.
static void order_of(const char *path, char *out)
{
	size_t len;
	char *bytes = whole_file(path, &len);

	for (size_t at = 0; at < len;) {
		uint32_t type, total;

		memcpy(&type, bytes + at, 4);
		memcpy(&total, bytes + at + 4, 4);
		if (type == 6)
			*out++ = bytes[at + 28];
		else if (type == 5)
			*out++ = '#';
		at += total;
	}
	*out = '\0';
	free(bytes);
}

static void all_frames_are_written_or_only_the_last(void **state)
{
	static const struct {
		unsigned last;
		const char *order;
		unsigned written;
	} row[] = {{0, "abcde##", 5}, {1, "e##", 1}, {3, "cde##", 3},
		   {5, "abcde##", 5}, {6, "abcde##", 5}};
	static const uint8_t port[] = {2, 5, 2, 2, 5};
	struct json_object *started = json_tokener_parse(started_text);
	struct json_object *counts =
		json_tokener_parse("[{\"index\": 2, \"seen\": 3, \"matched\": 3, \"lost\": 0},"
				   "{\"index\": 5, \"seen\": 2, \"matched\": 2, \"lost\": 0},"
				   "{\"index\": 9, \"seen\": 2, \"matched\": 2, \"lost\": 0}]");

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char path[PATH_MAX], order[32];
		struct capture_file *f;
		uint64_t written;

		temporary_file(path, "capture.pcapng", "");
		f = capture_file_open(path, started, row[i].last, NULL);
		assert_non_null(f);
		for (unsigned k = 0; k < 5; k++) {
			uint8_t data[3] = {(uint8_t)('a' + k), 1, 2};
			struct capture_record r = {.t_ns = 1000 + k, .len = 60, .captured = 3,
						   .port = port[k], .direction = TAP_IN};
			struct capture_record foreign = r;

			foreign.port = 1;
			assert_true(capture_file_add(f, &r, data));
			assert_true(capture_file_add(f, &foreign, data));
		}
		assert_true(capture_file_close(f, counts, &written));
		assert_int_equal(written, row[i].written);
		order_of(path, order);
		assert_string_equal(order, row[i].order);
	}
	json_object_put(counts);
	json_object_put(started);
}

static void a_file_that_cannot_be_written_is_told_of(void **state)
{
	struct json_object *started = json_tokener_parse(started_text);

	(void)state;
	assert_null(capture_file_open("/nonexistent/x.pcapng", started, 0, NULL));
	assert_null(capture_file_open("/dev/full", started, 0, NULL));
	json_object_put(started);
}

static void base64_comes_back_as_it_went(void **state)
{
	static const struct {
		const char *bytes, *text;
	} row[] = {{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"},
		   {"\xff\xfe\xfd\xfc", "__79_A"}, {"\xfb\xf0", "-_A"}};
	uint8_t all[256], back[256];
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t n = strlen(row[i].bytes);

		memcpy(all, row[i].bytes, n);
		base64_encode(text, all, n);
		assert_int_equal(base64_len(n), strlen(row[i].text));
		assert_memory_equal(text, row[i].text, base64_len(n));
	}
	for (unsigned i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	for (size_t n = 0; n <= 256; n++) {
		base64_encode(text, all, n);
		assert_true(base64_decode(back, text, base64_len(n)));
		assert_int_equal(base64_len(n) * 3 / 4, n);
		assert_memory_equal(back, all, n);
	}
	assert_false(base64_decode(back, "Zm+v", 4));
	assert_false(base64_decode(back, "Zm9vY", 5));
	assert_false(base64_decode(back, "Zg==", 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_comment_says_what_only_the_switch_knows),
		cmocka_unit_test(all_frames_are_written_or_only_the_last),
		cmocka_unit_test(a_file_that_cannot_be_written_is_told_of),
		cmocka_unit_test(base64_comes_back_as_it_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
