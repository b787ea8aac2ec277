// SPDX-License-Identifier: Apache-2.0
// The port of metrics under strangers: any bytes in any pieces, many connections, gone or silent
// at any moment. Every answer that ends is a status line and a head, and a whole page where the
// status is 200; nobody stays longer than the timeout; no descriptor is left.
//
//   input: operations: a verb, a client, and the bytes of the verb
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/daemon/http.h"
#include "control/daemon/metrics.h"
#include "tests/fuzz/daemon.h"

enum { MAX_OPS = 100, CLIENTS = 12, ANSWER_MAX = 1 << 20 };

struct client {
	int fd; // -1: none
	bool spoilt; // it closed its half before it had sent all, or reads no more
	size_t n;
	char *text;
};

struct run {
	struct fuzz_daemon *d;
	struct client clients[CLIENTS];
};

static const char *const requests[] = {
	"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /metrics HTTP/1.0\n\n",
	"HEAD /metrics HTTP/1.1\r\n\r\n",
	"GET /metrics?x=1 HTTP/1.1\r\n",
	"GET / HTTP/1.1\r\n\r\n",
	"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
	"GET /metrics HTTP/2.0\r\n\r\n",
	"\r\n\r\n",
	"GET  HTTP/1.1\r\n\r\n",
	"GET\r\n",
	" ",
	"\n",
};

static void judge(const char *text, size_t n)
{
	const char *end = memmem(text, n, "\r\n\r\n", 4), *len_at;
	size_t body, want;

	FUZZ_CHECK(n > 12 && memcmp(text, "HTTP/1.0 ", 9) == 0 && end != NULL);
	len_at = memmem(text, n, "\r\nContent-Length: ", 18);
	FUZZ_CHECK(len_at != NULL && len_at < end);
	want = strtoul(len_at + 18, NULL, 10);
	body = n - (size_t)(end + 4 - text);
	FUZZ_CHECK(body == want || body == 0);
	FUZZ_CHECK(memcmp(text + 9, "200", 3) != 0 || body == 0 || end[4] == '#');
}

static void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->text);
	*c = (struct client){.fd = -1};
}

// A connection that the server has ended is judged by all that came.
static void client_read(struct client *c)
{
	ssize_t n;

	if (c->fd < 0 || c->spoilt)
		return;
	if (c->text == NULL)
		c->text = malloc(ANSWER_MAX + 1);
	FUZZ_CHECK(c->text != NULL);
	n = recv(c->fd, c->text + c->n, ANSWER_MAX - c->n, MSG_DONTWAIT);
	if (n > 0) {
		c->n += (size_t)n;
		c->text[c->n] = '\0';
		FUZZ_CHECK(c->n < ANSWER_MAX);
	}
	if (n != 0)
		return;
	if (c->n != 0)
		judge(c->text, c->n);
	client_close(c);
}

static void client_send(struct run *r, struct client *c, const void *data, size_t len)
{
	if (c->fd < 0)
		c->fd = fuzz_daemon_connect_http(r->d);
	(void)!send(c->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void op_bytes(struct run *r, struct client *c, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in);
	const uint8_t *at = fuzz_take(in, &n);

	client_send(r, c, at, n);
}

static void op_request(struct run *r, struct client *c, struct fuzz_in *in)
{
	const char *text = requests[fuzz_u8(in) % (sizeof(requests) / sizeof(requests[0]))];
	size_t cut = fuzz_u8(in), len = strlen(text);

	client_send(r, c, text, cut > 200 ? len * (cut - 200) / 56 : len);
}

static void op_long(struct run *r, struct client *c, struct fuzz_in *in)
{
	char line[HTTP_REQUEST_MAX + 100];
	size_t n = HTTP_REQUEST_MAX - 100 + fuzz_u8(in) % 200;

	memset(line, 'x', sizeof(line));
	if (n & 1)
		memcpy(line, "GET /metrics ", 13);
	if (n & 2)
		memcpy(line + n - 4, "\r\n\r\n", 4);
	client_send(r, c, line, n);
}

static void op(struct run *r, struct fuzz_in *in)
{
	static const uint64_t waits_ns[] = {0, 3000000, 100000000, 4999000000, 5100000000};
	unsigned v = fuzz_u8(in), w = fuzz_u8(in);
	struct client *c = &r->clients[w % CLIENTS];

	switch (v & 7) {
	case 0: op_bytes(r, c, in); break;
	case 1: op_long(r, c, in); break;
	case 2: client_close(c); break;
	case 3:
		if (c->fd >= 0 && shutdown(c->fd, w & 0x80 ? SHUT_WR : SHUT_RD) == 0)
			c->spoilt |= !(w & 0x80);
		break;
	case 4: client_read(c); break;
	case 5: fuzz_daemon_step(r->d, waits_ns[w % 5], true); break;
	default: op_request(r, c, in);
	}
	if (v & 0x10)
		fuzz_daemon_step(r->d, 1000000, true);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_daemon_init();
	return 0;
}

// The server has ended the connection, by an end or by a reset.
static bool ended(const struct client *c)
{
	char rest[4096];
	ssize_t n;

	do
		n = recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT);
	while (n > 0);
	return n == 0 || errno != EAGAIN;
}

// After the timeout nobody is left, whatever he did; those who waited for a place have had theirs.
// Then a good request is answered at once.
static void end(struct run *r)
{
	struct client *c = &r->clients[0];

	for (unsigned k = 0; k < CLIENTS; k++)
		client_read(&r->clients[k]);
	for (unsigned i = 0; i < 4; i++)
		fuzz_daemon_step(r->d, (uint64_t)METRICS_TIMEOUT_MS * 1000000 + 1, true);
	for (unsigned k = 0; k < CLIENTS; k++) {
		FUZZ_CHECK(r->clients[k].fd < 0 || ended(&r->clients[k]));
		client_close(&r->clients[k]);
	}
	client_send(r, c, requests[0], strlen(requests[0]));
	for (unsigned i = 0; i < 20 && c->fd >= 0; i++) {
		fuzz_daemon_step(r->d, 1000000, true);
		client_read(c);
	}
	FUZZ_CHECK(c->fd < 0);
	fuzz_daemon_close(r->d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	struct run r = {.d = fuzz_daemon_open()};

	for (unsigned k = 0; k < CLIENTS; k++)
		r.clients[k].fd = -1;
	for (unsigned i = 0; i < MAX_OPS && in.left != 0; i++)
		op(&r, &in);
	end(&r);
	return 0;
}
