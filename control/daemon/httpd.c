// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/httpd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/base/units.h"

enum { HEAD_LEN = 1024, DRAIN_READS = 4, BACKLOG = 128 };

static const char type_text[] = "text/plain; charset=utf-8";

enum { READING, ASKED, ANSWERED, STREAM };

struct client {
	int fd; // -1: free
	uint8_t state;
	uint64_t since_ns; // STREAM: since the reader has been up to date
	size_t n_in, out_len, out_sent;
	char *out;
	char in[HTTP_REQUEST_MAX];
};

struct httpd {
	int fd;
	unsigned n_clients;
	const struct httpd_ops *ops;
	void *arg;
	uint64_t now_ns;
	struct client clients[HTTPD_MAX_CLIENTS];
};

int httpd_create(const struct endpoint *at, unsigned n_clients, const struct httpd_ops *ops,
		 void *arg, struct httpd **out)
{
	struct httpd *h = calloc(1, sizeof(*h));
	int on = 1, err;

	if (h == NULL)
		return -ENOMEM;
	h->fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (h->fd >= 0)
		setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (h->fd < 0 || bind(h->fd, (const struct sockaddr *)&at->addr, at->len) != 0 ||
	    listen(h->fd, BACKLOG) != 0) {
		err = errno;
		if (h->fd >= 0)
			close(h->fd);
		free(h);
		return -err;
	}
	h->n_clients = n_clients;
	h->ops = ops;
	h->arg = arg;
	for (unsigned i = 0; i < HTTPD_MAX_CLIENTS; i++)
		h->clients[i].fd = -1;
	*out = h;
	return 0;
}

static void close_http_client(struct httpd *h, struct client *c)
{
	bool told = c->state == ASKED || c->state == STREAM;

	// What was not read would make the kernel reset the connection and take the answer along.
	for (int i = 0; i < DRAIN_READS; i++)
		if (recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT) <= 0)
			break;
	close(c->fd);
	free(c->out);
	*c = (struct client){.fd = -1};
	if (told && h->ops->gone != NULL)
		h->ops->gone(h->arg, (unsigned)(c - h->clients));
}

void httpd_destroy(struct httpd *h)
{
	if (h == NULL)
		return;
	for (unsigned i = 0; i < h->n_clients; i++)
		if (h->clients[i].fd >= 0)
			close_http_client(h, &h->clients[i]);
	close(h->fd);
	free(h);
}

// ---- answers

void httpd_answer(struct httpd *h, unsigned client, const struct httpd_answer *a)
{
	struct client *c = &h->clients[client];
	size_t sent_len = a->head ? 0 : a->len;
	int n;

	c->state = ANSWERED;
	c->out = malloc(HEAD_LEN + sent_len);
	if (c->out == NULL) {
		close_http_client(h, c);
		return;
	}
	n = snprintf(c->out, HEAD_LEN,
		     "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s"
		     "Connection: close\r\n\r\n",
		     http_status_line(a->status), a->type != NULL ? a->type : type_text, a->len,
		     a->status == 405 ? "Allow: GET, HEAD\r\n" : "",
		     a->headers != NULL ? a->headers : "");
	if (sent_len > 0)
		memcpy(c->out + n, a->body, sent_len);
	c->out_len = (size_t)n + sent_len;
}

void httpd_stream(struct httpd *h, unsigned client, const char *headers)
{
	struct client *c = &h->clients[client];
	char head[HEAD_LEN];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n%s"
			 "Connection: close\r\n\r\n", headers != NULL ? headers : "");

	c->state = STREAM;
	c->since_ns = h->now_ns;
	httpd_push(h, client, head, (size_t)n);
}

bool httpd_push(struct httpd *h, unsigned client, const char *text, size_t len)
{
	struct client *c = &h->clients[client];
	size_t waits = c->out_len - c->out_sent;
	char *more = waits + len > HTTPD_STREAM_BYTES ? NULL : malloc(waits + len + 1);

	if (more == NULL) {
		close_http_client(h, c);
		return false;
	}
	if (waits == 0)
		c->since_ns = h->now_ns;
	else
		memcpy(more, c->out + c->out_sent, waits);
	memcpy(more + waits, text, len);
	free(c->out);
	c->out = more;
	c->out_len = waits + len;
	c->out_sent = 0;
	return true;
}

// ---- clients

static void client_read(struct httpd *h, struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);
	struct http_request q;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close_http_client(h, c);
		return;
	}
	if (n < 0)
		return;
	c->n_in += (size_t)n;
	q = http_parse(c->in, c->n_in);
	if (q.status == 0)
		return;
	c->state = ASKED;
	h->ops->request(h->arg, (unsigned)(c - h->clients), &q, h->now_ns);
}

// A reader of a stream sends nothing that counts. The stream ends when the reader closes.
static void client_listen(struct httpd *h, struct client *c)
{
	ssize_t n = recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_http_client(h, c);
}

static void client_send(struct httpd *h, struct client *c)
{
	ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		c->out_sent += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (c->out_sent == c->out_len && c->state == ANSWERED))
		close_http_client(h, c);
}

// A free place, or the place of a client that may be cut off now. NULL: no client may. A client
// with an incomplete request goes first, then a client that does not read its answer. Among equals
// the oldest goes.
static struct client *find_client_place(struct httpd *h)
{
	struct client *first = NULL;

	for (unsigned i = 0; i < h->n_clients; i++) {
		struct client *c = &h->clients[i];
		bool incomplete = c->state == READING;
		uint64_t least_ms = incomplete ? HTTPD_REQUEST_MS : HTTPD_ANSWER_MS;

		if (c->fd < 0)
			return c;
		if (c->state == STREAM || h->now_ns - c->since_ns < least_ms * MS_NS)
			continue;
		if (first == NULL || (incomplete != (first->state == READING)
					      ? incomplete
					      : c->since_ns < first->since_ns))
			first = c;
	}
	return first;
}

// Others wait in the kernel's queue. One poll takes half of the places at most, so each client has
// two polls at least.
static void accept_clients(struct httpd *h)
{
	static const unsigned vanished_ms = 2 * HTTPD_TIMEOUT_MS;

	for (unsigned i = 0; i < h->n_clients / 2; i++) {
		struct client *c = find_client_place(h);
		int fd = c != NULL ? accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;

		if (fd < 0)
			return;
		// A reader that has vanished without an end is noticed.
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &vanished_ms, sizeof(vanished_ms));
		if (c->fd >= 0)
			close_http_client(h, c);
		*c = (struct client){.fd = fd, .since_ns = h->now_ns};
	}
}

static bool is_late(const struct httpd *h, const struct client *c)
{
	return h->now_ns - c->since_ns > (uint64_t)HTTPD_TIMEOUT_MS * MS_NS &&
	       (c->state != STREAM || c->out_sent != c->out_len);
}

void httpd_poll(struct httpd *h, uint64_t now_ns)
{
	h->now_ns = now_ns;
	accept_clients(h);
	for (unsigned i = 0; i < h->n_clients; i++) {
		struct client *c = &h->clients[i];

		if (c->fd >= 0 && c->state == READING)
			client_read(h, c);
		if (c->fd >= 0 && c->state == STREAM)
			client_listen(h, c);
		if (c->fd >= 0 && c->out_sent != c->out_len)
			client_send(h, c);
		if (c->fd >= 0 && is_late(h, c))
			close_http_client(h, c);
	}
}
