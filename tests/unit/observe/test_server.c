// SPDX-License-Identifier: Apache-2.0
// The line server over a UNIX socket, with clients that do not read. Time is an argument.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/server.h"

enum { SECOND = 1000000000, TIMEOUT_S = 5, TURNS = 4, ANSWER_LEN = 4096 };

struct bench {
	struct server *s;
	struct sockaddr_un at;
	socklen_t at_len;
	uint64_t now_ns;
	unsigned lines; // that the server has handed over
};

static void answer(void *arg, unsigned client, const char *line, uint64_t now_ns)
{
	static char text[ANSWER_LEN];
	struct bench *b = arg;

	(void)line;
	(void)now_ns;
	b->lines++;
	memset(text, '#', sizeof(text) - 1);
	server_reply(b->s, client, text);
}

static void gone(void *arg, unsigned client)
{
	(void)arg;
	(void)client;
}

static int begin(void **state)
{
	static const struct server_ops ops = {answer, gone};
	struct bench *b = calloc(1, sizeof(*b));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	// Without a path the kernel picks a free abstract name.
	b->at.sun_family = AF_UNIX;
	assert_int_equal(bind(fd, (struct sockaddr *)&b->at, sizeof(sa_family_t)), 0);
	b->at_len = sizeof(b->at);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&b->at, &b->at_len), 0);
	assert_int_equal(listen(fd, SERVER_MAX_CLIENTS), 0);
	b->now_ns = SECOND;
	*state = b;
	return server_create(fd, &ops, b, &b->s);
}

static int end(void **state)
{
	struct bench *b = *state;

	server_destroy(b->s);
	free(b);
	return 0;
}

static void turns(struct bench *b, unsigned n)
{
	while (n-- > 0)
		server_poll(b->s, 0, b->now_ns);
}

static int dial(struct bench *b)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&b->at, b->at_len), 0);
	turns(b, 1);
	return fd;
}

static void ask(struct bench *b, int fd)
{
	assert_int_equal(send(fd, "q\n", 2, MSG_NOSIGNAL), 2);
	turns(b, 2);
}

// Answers that a client need not read before one waits in the server.
static unsigned answers_that_fit(struct bench *b)
{
	int fd = dial(b);
	unsigned before;

	do {
		before = b->lines;
		ask(b, fd);
	} while (b->lines > before);
	close(fd);
	turns(b, 1);
	before = b->lines - 1; // the last one waits
	b->lines = 0;
	return before;
}

static bool ended(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

// The socket is full, so the error waits in the server too.
static void a_long_line_of_who_does_not_read_is_let_go_after_the_timeout(void **state)
{
	struct bench *b = *state;
	unsigned n = answers_that_fit(b);
	char text[SERVER_LINE_MAX];
	int deaf = dial(b);

	for (unsigned i = 0; i < n; i++)
		ask(b, deaf);
	memset(text, 'x', sizeof(text));
	assert_int_equal(send(deaf, text, sizeof(text), MSG_NOSIGNAL), sizeof(text));
	turns(b, TURNS);
	assert_false(ended(deaf));
	for (unsigned i = 0; i < TIMEOUT_S; i++) {
		b->now_ns += SECOND;
		turns(b, TURNS);
	}
	assert_false(ended(deaf));
	b->now_ns += 1;
	turns(b, TURNS);
	assert_true(ended(deaf));
	close(deaf);
}

static void a_long_line_is_refused(void **state)
{
	struct bench *b = *state;
	char text[SERVER_LINE_MAX];
	int fd = dial(b);
	ssize_t n;

	memset(text, 'x', sizeof(text));
	assert_int_equal(send(fd, text, sizeof(text), MSG_NOSIGNAL), sizeof(text));
	turns(b, TURNS);
	n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "{\"ok\": false, \"error\": \"the request is too long\"}\n");
	assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), 0);
	assert_int_equal(b->lines, 0);
	close(fd);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_long_line_is_refused),
		T(a_long_line_of_who_does_not_read_is_let_go_after_the_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
