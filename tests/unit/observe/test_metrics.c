// SPDX-License-Identifier: Apache-2.0
// The server of the metrics page, over the loopback interface: what strangers may do to it. Time is
// an argument; the page is a counter of how often it was made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/httpd.h"
#include "control/daemon/journal.h"
#include "control/daemon/metrics.h"
#include "control/daemon/outlet.h"
#include "control/observe/prometheus.h"

enum { TEXT_LEN = 65536, MS = 1000000, BIG_PAGE = 8 << 20, LOST = 7, STRANGERS = 40 };

struct bench {
	struct metrics *m;
	struct endpoint at;
	uint64_t now_ns;
};

static unsigned pages_made; // by the fake below, since begin
static size_t page_bytes;

char *prometheus_page(struct observe *o, const struct prometheus_about *about, uint64_t now_ns,
		      size_t *len)
{
	char *text = calloc(1, page_bytes + 32);

	(void)o;
	(void)now_ns;
	assert_int_equal(about->log_lost, LOST);
	*len = (size_t)snprintf(text, 32, "page %u\n", ++pages_made);
	if (page_bytes > *len) {
		memset(text + *len, '#', page_bytes - *len);
		*len = page_bytes;
	}
	return text;
}

uint64_t eventlog_count(const struct eventlog *l, enum event_type type)
{
	(void)l;
	(void)type;
	return 0;
}

uint64_t outlet_lost(void)
{
	return LOST;
}

uint64_t journal_lost(void)
{
	return 0;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&b->at.addr;
	int probe = socket(AF_INET, SOCK_STREAM, 0);

	// A port that is free now.
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->at.len = sizeof(*in);
	assert_int_equal(bind(probe, (struct sockaddr *)in, b->at.len), 0);
	assert_int_equal(getsockname(probe, (struct sockaddr *)in, &b->at.len), 0);
	close(probe);
	b->now_ns = 1000000000;
	pages_made = 0;
	page_bytes = 0;
	*state = b;
	return metrics_create(&b->at, NULL, NULL, &b->m);
}

static int end(void **state)
{
	struct bench *b = *state;

	metrics_destroy(b->m);
	free(b);
	return 0;
}

static int dial(const struct bench *b)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&b->at.addr, b->at.len), 0);
	return fd;
}

static void say(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

static void step(struct bench *b)
{
	metrics_poll(b->m, b->now_ns);
}

// What has come until the server closed; it is closed then. NULL: it has not closed.
static const char *all(struct bench *b, int fd)
{
	static char text[TEXT_LEN];
	size_t at = 0;

	for (int i = 0; i < 200; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		step(b);
		if (poll(&p, 1, 1) == 0)
			continue;
		n = recv(fd, text + at, sizeof(text) - 1 - at, 0);
		if (n <= 0) {
			close(fd);
			text[at] = '\0';
			return text;
		}
		at += (size_t)n;
	}
	return NULL;
}

static const char *ask(struct bench *b, const char *request)
{
	int fd = dial(b);

	say(fd, request, strlen(request));
	return all(b, fd);
}

static void a_scrape_gets_the_page_and_its_length(void **state)
{
	const char *answer = ask(*state, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");

	assert_string_equal(answer, "HTTP/1.0 200 OK\r\n"
				    "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
				    "Content-Length: 7\r\nConnection: close\r\n\r\npage 1\n");
}

static void a_head_has_the_length_and_no_body(void **state)
{
	const char *answer = ask(*state, "HEAD /metrics HTTP/1.1\r\n\r\n");

	assert_non_null(strstr(answer, "Content-Length: 7\r\n"));
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

static void wrong_requests_are_answered_and_make_no_page(void **state)
{
	struct bench *b = *state;

	assert_non_null(strstr(ask(b, "GET / HTTP/1.1\r\n\r\n"), "404 Not Found"));
	assert_non_null(strstr(ask(b, "POST /metrics HTTP/1.1\r\n\r\n"), "Allow: GET, HEAD\r\n"));
	assert_non_null(strstr(ask(b, "rubbish\r\n\r\n"), "400 Bad Request"));
	assert_int_equal(pages_made, 0);
}

static void a_request_may_come_byte_by_byte(void **state)
{
	static const char text[] = "GET /metrics HTTP/1.1\r\n\r\n";
	struct bench *b = *state;
	int fd = dial(b);

	for (size_t i = 0; i < strlen(text); i++) {
		say(fd, text + i, 1);
		step(b);
	}
	assert_non_null(strstr(all(b, fd), "page 1\n"));
}

static void a_request_without_end_is_cut_off(void **state)
{
	struct bench *b = *state;
	char text[3 * HTTP_REQUEST_MAX];
	int fd = dial(b);
	const char *answer;

	memset(text, 'x', sizeof(text));
	say(fd, text, sizeof(text));
	answer = all(b, fd);
	assert_non_null(answer);
	assert_non_null(strstr(answer, "431 "));
}

static void who_says_nothing_is_let_go_after_the_timeout(void **state)
{
	struct bench *b = *state;
	int fd = dial(b);

	assert_null(all(b, fd));
	b->now_ns += (uint64_t)HTTPD_TIMEOUT_MS * MS;
	assert_null(all(b, fd));
	b->now_ns += 1;
	assert_string_equal(all(b, fd), "");
}

static void send_request(int fd)
{
	say(fd, "GET /metrics HTTP/1.1\r\n\r\n", 25);
}

static void steps(struct bench *b, unsigned n)
{
	while (n-- > 0)
		step(b);
}

// Reads what the kernel still holds. The server does nothing meanwhile.
static bool closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[4096];
	ssize_t n = 1;

	while (n > 0 && poll(&p, 1, 50) == 1)
		n = recv(fd, bytes, sizeof(bytes), 0);
	return n <= 0;
}

static void who_does_not_read_is_let_go_after_the_timeout(void **state)
{
	struct bench *b = *state;
	int deaf = dial(b);

	page_bytes = BIG_PAGE;
	send_request(deaf);
	steps(b, 20);
	b->now_ns += (uint64_t)HTTPD_TIMEOUT_MS * MS;
	step(b);
	assert_false(closed(deaf));
	step(b); // the kernel has room again
	b->now_ns += 1;
	step(b);
	assert_true(closed(deaf));
	close(deaf);
}

static void who_does_not_read_keeps_a_place_from_others_for_a_while(void **state)
{
	struct bench *b = *state;
	int deaf[METRICS_MAX_CLIENTS], late;

	page_bytes = BIG_PAGE;
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++) {
		deaf[i] = dial(b);
		send_request(deaf[i]);
		steps(b, 3);
		b->now_ns += MS;
	}
	late = dial(b);
	send_request(late);
	b->now_ns += (uint64_t)(HTTPD_ANSWER_MS - METRICS_MAX_CLIENTS) * MS - 1;
	page_bytes = 0;
	assert_null(all(b, late));
	b->now_ns += 1;
	assert_non_null(strstr(all(b, late), "page 2\n"));
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++) {
		assert_int_equal(closed(deaf[i]), i == 0);
		close(deaf[i]);
	}
}

static void the_oldest_incomplete_request_makes_room(void **state)
{
	struct bench *b = *state;
	int stranger[STRANGERS], late;

	for (unsigned i = 0; i < STRANGERS; i++) {
		stranger[i] = dial(b);
		say(stranger[i], "GET /met", 8);
		b->now_ns += (uint64_t)HTTPD_REQUEST_MS * MS;
		step(b);
	}
	late = dial(b);
	send_request(late);
	b->now_ns += (uint64_t)HTTPD_REQUEST_MS * MS;
	assert_non_null(strstr(all(b, late), "page 1\n"));
	for (unsigned i = 0; i < STRANGERS; i++) {
		assert_int_equal(closed(stranger[i]), i <= STRANGERS - METRICS_MAX_CLIENTS);
		close(stranger[i]);
	}
}

// A request may take two packets. Strangers wait in the backlog meanwhile.
static void a_young_request_is_not_cut_off(void **state)
{
	struct bench *b = *state;
	int young = dial(b), stranger[STRANGERS];

	say(young, "GET /met", 8);
	step(b);
	for (unsigned i = 0; i < STRANGERS; i++)
		stranger[i] = dial(b);
	b->now_ns += (uint64_t)HTTPD_REQUEST_MS * MS - 1;
	steps(b, STRANGERS);
	say(young, "rics HTTP/1.1\r\n\r\n", 17);
	assert_non_null(strstr(all(b, young), "page 1\n"));
	for (unsigned i = 0; i < STRANGERS; i++)
		close(stranger[i]);
}

// Strangers that come all at once cut nobody off who was taken in the same turn, even where the
// next turn is late.
static void who_is_taken_has_two_turns_to_ask(void **state)
{
	struct bench *b = *state;
	int late = dial(b), stranger[STRANGERS];

	for (unsigned i = 0; i < STRANGERS; i++)
		stranger[i] = dial(b);
	step(b);
	b->now_ns += (uint64_t)HTTPD_REQUEST_MS * MS;
	send_request(late);
	step(b);
	assert_non_null(strstr(all(b, late), "page 1\n"));
	for (unsigned i = 0; i < STRANGERS; i++)
		close(stranger[i]);
}

static void a_page_is_made_ten_times_a_second_at_most(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 5; i++)
		assert_non_null(strstr(ask(b, "GET /metrics HTTP/1.1\r\n\r\n"), "page 1\n"));
	b->now_ns += (uint64_t)METRICS_PAGE_MS * MS;
	assert_non_null(strstr(ask(b, "GET /metrics HTTP/1.1\r\n\r\n"), "page 2\n"));
}

static void two_servers_cannot_share_a_port(void **state)
{
	struct bench *b = *state;
	struct metrics *second = NULL;

	assert_true(metrics_create(&b->at, NULL, NULL, &second) < 0);
	assert_null(second);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_scrape_gets_the_page_and_its_length),
		T(a_head_has_the_length_and_no_body),
		T(wrong_requests_are_answered_and_make_no_page),
		T(a_request_may_come_byte_by_byte),
		T(a_request_without_end_is_cut_off),
		T(who_says_nothing_is_let_go_after_the_timeout),
		T(who_does_not_read_is_let_go_after_the_timeout),
		T(who_does_not_read_keeps_a_place_from_others_for_a_while),
		T(the_oldest_incomplete_request_makes_room),
		T(a_young_request_is_not_cut_off),
		T(who_is_taken_has_two_turns_to_ask),
		T(a_page_is_made_ten_times_a_second_at_most),
		T(two_servers_cannot_share_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
