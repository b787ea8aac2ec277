// SPDX-License-Identifier: Apache-2.0
// Requests of all kinds and what they are worth, and where a server may listen. Pure.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/daemon/http.h"

#define END "\r\nHost: x\r\n\r\n"

static struct http_verdict http_judge(const char *in, size_t len, const char *path)
{
	struct http_request q = http_parse(in, len);

	return http_verdict_of(&q, path);
}

static void each_request_has_its_status(void **state)
{
	static const struct {
		const char *in;
		int status;
		bool head;
	} rows[] = {
		{"GET /metrics HTTP/1.1" END, 200, false},
		{"GET /metrics HTTP/1.0\r\n\r\n", 200, false},
		{"GET /metrics HTTP/1.0\n\n", 200, false},
		{"GET /metrics?x=1 HTTP/1.1" END, 200, false},
		{"HEAD /metrics HTTP/1.1" END, 200, true},
		{"GET / HTTP/1.1" END, 404, false},
		{"HEAD / HTTP/1.1" END, 404, true},
		{"GET /metricsx HTTP/1.1" END, 404, false},
		{"GET /metric HTTP/1.1" END, 404, false},
		{"GET http://x/metrics HTTP/1.1" END, 404, false},
		{"GET /../etc/passwd HTTP/1.1" END, 404, false},
		{"POST /metrics HTTP/1.1" END, 405, false},
		{"get /metrics HTTP/1.1" END, 405, false},
		{"GET /metrics HTTP/2.0" END, 505, false},
		{"GET /metrics" END, 400, false},
		{"GET  HTTP/1.1" END, 400, false},
		{"GET /metrics FTP/1.1" END, 400, false},
		{"GET /metrics HTTP/1.1 x" END, 400, false},
		{" /metrics HTTP/1.1" END, 400, false},
		{"\r\n\r\n", 400, false},
		{"\n\n", 400, false},
		{"\x16\x03\x01\x02 \xff \r\n\r\n", 400, false}, // a TLS client
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n", 0, false},
		{"GET /metr", 0, false},
		{"", 0, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_verdict v = http_judge(rows[i].in, strlen(rows[i].in), "/metrics");

		if (v.status != rows[i].status || v.head != rows[i].head)
			fail_msg("%d %d for: %s", v.status, v.head, rows[i].in);
	}
}

static void a_request_without_end_is_too_long_at_the_limit(void **state)
{
	char in[HTTP_REQUEST_MAX];

	(void)state;
	memset(in, 'A', sizeof(in));
	assert_int_equal(http_judge(in, sizeof(in) - 1, "/metrics").status, 0);
	assert_int_equal(http_judge(in, sizeof(in), "/metrics").status, 431);
	memset(in, '\0', sizeof(in));
	assert_int_equal(http_judge(in, sizeof(in), "/metrics").status, 431);
	memcpy(in, "GET /metrics HTTP/1.1\r\n\r\n", 25);
	assert_int_equal(http_judge(in, sizeof(in), "/metrics").status, 200);
	memcpy(in, "GET /m\0trics HTTP/1.1\r\n\r\n", 25);
	assert_int_equal(http_judge(in, sizeof(in), "/metrics").status, 400);
}

static bool is_foreign(const char *headers)
{
	char in[512];
	struct http_request q;

	snprintf(in, sizeof(in), "GET / HTTP/1.1\r\n%s\r\n", headers);
	q = http_parse(in, strlen(in));
	assert_int_equal(q.status, 200);
	return http_is_foreign(&q);
}

static void requests_of_other_pages_are_foreign(void **state)
{
	static const char *const own[] = {
		"Host: 127.0.0.1:8080\r\n",
		"host:127.0.0.1\r\n",
		"X: y\r\nHost: \t [::1]:8080 \r\n",
		"Host: LOCALHOST:1\r\n",
		"Host: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8080\r\n",
		"Host: 127.0.0.1:8080\r\nSec-Fetch-Site: same-origin\r\n",
		"Host: 127.0.0.1:8080\r\nSec-Fetch-Site: none\r\n",
	};
	static const char *const foreign[] = {
		"",
		"Host: \r\n",
		"Host: evil.example\r\n",
		"Host: 127.0.0.1.evil.example\r\n",
		"Host: localhost.evil.example:80\r\n",
		"Hosts: 127.0.0.1\r\n",
		"X-Host: 127.0.0.1\r\n",
		"Host: [::1\r\n",
		"Host: 127.0.0.1:x.evil.example\r\n",
		"Host: 127.0.0.1:80.evil.example\r\n",
		"Host: 127.0.0.1:80:80\r\n",
		"Host: [::1].evil.example\r\n",
		"Host: [::1]:80x\r\n",
		"Host: [::1]80\r\n",
		"Host: 127.0.0.1:8080\r\nOrigin: null\r\n",
		"Host: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8081\r\n",
		"Host: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:80800\r\n",
		"Host: 127.0.0.1:8080\r\nOrigin: https://127.0.0.1:8080\r\n",
		"Origin: http://127.0.0.1\r\nHost: localhost\r\n",
		"Host: 127.0.0.1:8080\r\nSec-Fetch-Site: cross-site\r\n",
		"Sec-Fetch-Site: same-site\r\nHost: 127.0.0.1:8080\r\n",
		"Host: 127.0.0.1:8080\r\nsec-fetch-site:\r\n",
	};
	static const char link[] = "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: "
				   "cross-site\r\n\r\n";
	struct http_request q;
	static const char twice[] = "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n";

	(void)state;
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (is_foreign(own[i]))
			fail_msg("refused: %s", own[i]);
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (!is_foreign(foreign[i]))
			fail_msg("taken: %s", foreign[i]);
	assert_int_equal(http_parse(twice, sizeof(twice) - 1).status, 400);
	q = http_parse(link, sizeof(link) - 1);
	assert_true(http_is_foreign(&q));
	assert_false(http_is_foreign_page(&q)); // someone follows a link
}

static void a_header_line_that_is_no_field_is_refused(void **state)
{
	static const char *const lines[] = {
		"Sec-Fetch-Site : cross-site", "Sec-Fetch-Site\t: cross-site", " X: y", "\tX: y",
		"X y", ": y", "X", "X\r: y", "\x7f: y",
	};
	char in[256];

	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(in, sizeof(in), "GET / HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n",
			 lines[i]);
		if (http_parse(in, strlen(in)).status != 400)
			fail_msg("taken: %s", lines[i]);
	}
	snprintf(in, sizeof(in), "GET / HTTP/1.1\nHost: x\n\nHost: localhost\r\n\r\n");
	assert_int_equal(http_parse(in, strlen(in)).status, 400);
	assert_true(http_is_foreign(&(struct http_request){.host = {"127.0.0.1\0.evil", 15}}));
}

static void queries_are_decoded(void **state)
{
	static const char in[] = "GET /a?port=p%31&port=x&empty=&bad=%4&ctl=%0a&plus=a+b&x "
				 "HTTP/1.1\r\n\r\n";
	struct http_request q = http_parse(in, sizeof(in) - 1);
	char out[8] = "";

	(void)state;
	assert_true(http_text_is(q.path, "/a"));
	assert_true(http_query(&q, "port", out, sizeof(out)));
	assert_string_equal(out, "p1");
	assert_false(http_query(&q, "port", out, 2)); // no room for its end
	assert_true(http_query(&q, "empty", out, sizeof(out)));
	assert_string_equal(out, "");
	assert_true(http_query(&q, "plus", out, sizeof(out)));
	assert_string_equal(out, "a b");
	assert_false(http_query(&q, "bad", out, sizeof(out)));
	assert_false(http_query(&q, "ctl", out, sizeof(out)));
	assert_false(http_query(&q, "x", out, sizeof(out)));
	assert_false(http_query(&q, "por", out, sizeof(out)));
	assert_false(http_query(&q, "ort", out, sizeof(out)));
}

// Every cut of a request and every byte of its line replaced: a verdict, never a crash, and never
// 200 for another path.
static void no_cut_and_no_changed_byte_is_another_path(void **state)
{
	static const char good[] = "GET /metrics HTTP/1.1\r\n\r\n";
	char in[sizeof(good)];

	(void)state;
	for (size_t len = 0; len < strlen(good); len++)
		assert_int_equal(http_judge(good, len, "/metrics").status, 0);
	for (size_t at = 0; at < strlen("GET /metrics"); at++)
		for (unsigned byte = 0; byte < 256; byte++) {
			memcpy(in, good, sizeof(good));
			in[at] = (char)byte;
			if (in[at] != good[at])
				assert_int_not_equal(
					http_judge(in, strlen(good), "/metrics").status, 200);
		}
}

static void a_port_alone_means_this_machine(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"9410", "127.0.0.1:9410"},
		{"127.0.0.1:9410", "127.0.0.1:9410"},
		{"0.0.0.0:1", "0.0.0.0:1"},
		{"[::1]:65535", "[::1]:65535"},
	};
	static const char *const bad[] = {"", "x", "0", "65536", ":9410", "localhost:9410", "-1",
					  "9410x", "1.2.3:9410", "127.0.0.1:", "::1:9410", "[::1]",
					  "[]:1",
					  "[127.0.0.1]:1", " 9410", "127.0.0.1:9410:1",
					  "1111111111111111111111111111111111111111111111111111:1"};
	struct endpoint e;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(endpoint_parse(rows[i].in, &e));
		assert_string_equal(e.text, rows[i].out);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (endpoint_parse(bad[i], &e))
			fail_msg("\"%s\" was taken for %s", bad[i], e.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_has_its_status),
		cmocka_unit_test(a_request_without_end_is_too_long_at_the_limit),
		cmocka_unit_test(requests_of_other_pages_are_foreign),
		cmocka_unit_test(a_header_line_that_is_no_field_is_refused),
		cmocka_unit_test(queries_are_decoded),
		cmocka_unit_test(no_cut_and_no_changed_byte_is_another_path),
		cmocka_unit_test(a_port_alone_means_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
