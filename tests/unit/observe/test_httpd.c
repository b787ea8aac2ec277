// SPDX-License-Identifier: Apache-2.0
// Streams of the server: who reads keeps his place, who does not is let go. Over the loopback
// interface; time is an argument.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/httpd.h"
#include "dataplane/base/units.h"

enum { PLACES = 4 };

struct bench {
	struct httpd *h;
	struct endpoint at;
	uint64_t now_ns;
	unsigned client, n_requests, n_gone; // of the latest request
};

static void on_request(void *arg, unsigned client, const struct http_request *q, uint64_t now_ns)
{
	struct bench *b = arg;

	assert_int_equal(now_ns, b->now_ns);
	b->client = client;
	b->n_requests++;
	if (http_text_is(q->path, "/live"))
		httpd_stream(b->h, client, "X: y\r\n");
	else if (http_text_is(q->path, "/now"))
		httpd_answer(b->h, client,
			     &(struct httpd_answer){.status = 200, .body = "ok", .len = 2});
}

static void on_gone(void *arg, unsigned client)
{
	struct bench *b = arg;

	assert_in_range(client, 0, PLACES - 1);
	b->n_gone++;
}

static int begin(void **state)
{
	static const struct httpd_ops ops = {on_request, on_gone};
	struct bench *b = calloc(1, sizeof(*b));
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&b->at.addr;
	int probe = socket(AF_INET, SOCK_STREAM, 0);

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->at.len = sizeof(*in);
	assert_int_equal(bind(probe, (struct sockaddr *)in, b->at.len), 0);
	assert_int_equal(getsockname(probe, (struct sockaddr *)in, &b->at.len), 0);
	close(probe);
	b->now_ns = SECOND_NS;
	*state = b;
	return httpd_create(&b->at, PLACES, &ops, b, &b->h);
}

static int end(void **state)
{
	struct bench *b = *state;

	httpd_destroy(b->h);
	free(b);
	return 0;
}

static void turn(struct bench *b, uint64_t ms)
{
	b->now_ns += ms * MS_NS;
	httpd_poll(b->h, b->now_ns);
}

// A client whose request has been read.
static int client(struct bench *b, const char *path)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
	unsigned before = b->n_requests;
	char text[64];
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (struct sockaddr *)&b->at.addr, b->at.len), 0);
	assert_int_equal(send(fd, text, (size_t)n, 0), n);
	for (unsigned i = 0; i < 1000 && b->n_requests == before; i++) {
		turn(b, 0);
		usleep(1000);
	}
	return fd;
}

// What comes until it ends, or has n bytes.
static size_t receive(struct bench *b, int fd, char *text, size_t n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;

	while (len < n) {
		ssize_t got;

		turn(b, 0);
		if (poll(&p, 1, 1000) != 1)
			break;
		got = recv(fd, text + len, n - len, 0);
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	return len;
}

static void a_stream_has_what_is_pushed_and_keeps_its_place(void **state)
{
	static const char head[] = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\nX: y\r\n"
				   "Connection: close\r\n\r\n";
	struct bench *b = *state;
	int fd = client(b, "/live"), others[3 * PLACES];
	unsigned stream = b->client, gone;
	char text[512] = "";

	assert_int_equal(receive(b, fd, text, sizeof(head) - 1), sizeof(head) - 1);
	assert_string_equal(text, head);
	turn(b, 60000); // nothing waits for it
	for (unsigned i = 0; i < 3 * PLACES; i++) { // others take each other's places
		others[i] = client(b, "/never");
		turn(b, HTTPD_ANSWER_MS);
	}
	gone = b->n_gone;
	assert_true(httpd_push(b->h, stream, "one", 3));
	assert_true(httpd_push(b->h, stream, "two", 3));
	memset(text, 0, sizeof(text));
	assert_int_equal(receive(b, fd, text, 6), 6);
	assert_string_equal(text, "onetwo");
	close(fd);
	for (unsigned i = 0; i < 1000 && b->n_gone == gone; i++) {
		turn(b, 0);
		usleep(1000);
	}
	assert_int_equal(b->n_gone, gone + 1);
	for (unsigned i = 0; i < 3 * PLACES; i++)
		close(others[i]);
}

// A reader that is behind for the time-out.
static void a_reader_that_does_not_read_is_let_go(void **state)
{
	struct bench *b = *state;
	char *text = calloc(1, HTTPD_STREAM_BYTES);
	int fd = client(b, "/live");
	unsigned stream = b->client;

	assert_true(httpd_push(b->h, stream, text, HTTPD_STREAM_BYTES - 1024));
	turn(b, 1);
	turn(b, HTTPD_TIMEOUT_MS - 2);
	assert_int_equal(b->n_gone, 0);
	turn(b, 2);
	assert_int_equal(b->n_gone, 1);
	close(fd);
	free(text);
}

static void a_reader_that_is_too_far_behind_is_let_go(void **state)
{
	struct bench *b = *state;
	char *text = calloc(1, HTTPD_STREAM_BYTES);
	int fd = client(b, "/live");
	bool kept = true;
	unsigned n = 0;

	for (; kept && n < 100; n++) {
		kept = httpd_push(b->h, b->client, text, HTTPD_STREAM_BYTES / 2);
		if (kept)
			turn(b, 0);
	}
	assert_false(kept);
	assert_in_range(n, 2, 20); // the kernel takes some
	assert_int_equal(b->n_gone, 1);
	close(fd);
	free(text);
}

static void a_client_without_an_answer_is_let_go_and_told(void **state)
{
	struct bench *b = *state;
	int fd = client(b, "/never");

	turn(b, HTTPD_TIMEOUT_MS - 1);
	assert_int_equal(b->n_gone, 0);
	turn(b, 2);
	assert_int_equal(b->n_gone, 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stream_has_what_is_pushed_and_keeps_its_place,
						begin, end),
		cmocka_unit_test_setup_teardown(a_reader_that_does_not_read_is_let_go, begin, end),
		cmocka_unit_test_setup_teardown(a_reader_that_is_too_far_behind_is_let_go, begin,
						end),
		cmocka_unit_test_setup_teardown(a_client_without_an_answer_is_let_go_and_told,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
