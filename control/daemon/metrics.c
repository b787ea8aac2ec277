// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/daemon/http.h"
#include "control/daemon/outlet.h"
#include "control/observe/prometheus.h"
#include "dataplane/units.h"

enum { HEAD_LEN = 256, DRAIN_READS = 4, BACKLOG = 128 };

static const char path[] = "/metrics";
static const char type_text[] = "text/plain; charset=utf-8";
static const char type_metrics[] = "text/plain; version=0.0.4; charset=utf-8";

struct client {
	int fd; // -1: free
	uint64_t since_ns;
	size_t n_in, out_len, out_sent;
	char *out; // NULL: still reading
	char in[HTTP_REQUEST_MAX];
};

struct metrics {
	int fd;
	struct observe *observe;
	const struct eventlog *log;
	char *page; // the last one made
	size_t page_len;
	uint64_t page_ns;
	struct client clients[METRICS_MAX_CLIENTS];
};

char *metrics_page(struct observe *o, const struct eventlog *log, uint64_t now_ns, size_t *len)
{
	struct prometheus_about about = {.version = WEIR_VERSION,
					 .log_lost = outlet_lost()};

	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		about.events[i] = eventlog_count(log, i);
	return prometheus_page(o, &about, now_ns, len);
}

int metrics_create(const struct endpoint *at, struct observe *o, const struct eventlog *log,
		   struct metrics **out)
{
	struct metrics *m = calloc(1, sizeof(*m));
	int on = 1, err;

	if (m == NULL)
		return -ENOMEM;
	m->fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (m->fd >= 0)
		setsockopt(m->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (m->fd < 0 || bind(m->fd, (const struct sockaddr *)&at->addr, at->len) != 0 ||
	    listen(m->fd, BACKLOG) != 0) {
		err = errno;
		if (m->fd >= 0)
			close(m->fd);
		free(m);
		return -err;
	}
	m->observe = o;
	m->log = log;
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++)
		m->clients[i].fd = -1;
	*out = m;
	return 0;
}

static void client_close(struct client *c)
{
	// What was not read would make the kernel reset the connection and take the answer along.
	for (int i = 0; i < DRAIN_READS; i++)
		if (recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT) <= 0)
			break;
	close(c->fd);
	free(c->out);
	*c = (struct client){.fd = -1};
}

void metrics_destroy(struct metrics *m)
{
	if (m == NULL)
		return;
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++)
		if (m->clients[i].fd >= 0)
			client_close(&m->clients[i]);
	close(m->fd);
	free(m->page);
	free(m);
}

static void client_answer(struct metrics *m, struct client *c, struct http_verdict v,
			  uint64_t now_ns)
{
	const char *body = "The page is /metrics.\n";
	size_t body_len = strlen(body), sent_len;
	int n;

	if (v.status == 200) {
		if (m->page == NULL || now_ns - m->page_ns >= (uint64_t)METRICS_PAGE_MS * MS_NS) {
			free(m->page);
			m->page = metrics_page(m->observe, m->log, now_ns, &m->page_len);
			m->page_ns = now_ns;
		}
		body = m->page;
		body_len = body != NULL ? m->page_len : 0;
		v.status = body != NULL ? 200 : 500;
	}
	sent_len = v.head ? 0 : body_len;
	c->out = malloc(HEAD_LEN + sent_len);
	if (c->out == NULL) {
		client_close(c);
		return;
	}
	n = snprintf(c->out, HEAD_LEN,
		     "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		     "Connection: close\r\n\r\n",
		     http_status_line(v.status), v.status == 200 ? type_metrics : type_text,
		     body_len, v.status == 405 ? "Allow: GET, HEAD\r\n" : "");
	if (sent_len > 0)
		memcpy(c->out + n, body, sent_len);
	c->out_len = (size_t)n + sent_len;
}

static void client_read(struct metrics *m, struct client *c, uint64_t now_ns)
{
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);
	struct http_verdict v;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		client_close(c);
		return;
	}
	if (n < 0)
		return;
	c->n_in += (size_t)n;
	v = http_judge(c->in, c->n_in, path);
	if (v.status != 0)
		client_answer(m, c, v, now_ns);
}

static void client_send(struct client *c)
{
	ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		c->out_sent += (size_t)n;
	if (c->out_sent == c->out_len || (n < 0 && errno != EAGAIN && errno != EINTR))
		client_close(c);
}

// A free place, or the place of a client that may be cut off now. NULL: no client may. A client
// with an incomplete request goes first, then a client that does not read its answer. Among equals
// the oldest goes.
static struct client *place(struct metrics *m, uint64_t now_ns)
{
	struct client *first = NULL;

	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++) {
		struct client *c = &m->clients[i];
		bool incomplete = c->out == NULL;
		uint64_t least_ms = incomplete ? METRICS_REQUEST_MS : METRICS_ANSWER_MS;

		if (c->fd < 0)
			return c;
		if (now_ns - c->since_ns < least_ms * MS_NS)
			continue;
		if (first == NULL || (incomplete != (first->out == NULL)
					      ? incomplete
					      : c->since_ns < first->since_ns))
			first = c;
	}
	return first;
}

// Others wait in the kernel's queue. One poll takes half of the places at most, so each client has
// two polls at least.
static void accept_clients(struct metrics *m, uint64_t now_ns)
{
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS / 2; i++) {
		struct client *c = place(m, now_ns);
		int fd = c != NULL ? accept4(m->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;

		if (fd < 0)
			return;
		if (c->fd >= 0)
			client_close(c);
		*c = (struct client){.fd = fd, .since_ns = now_ns};
	}
}

void metrics_poll(struct metrics *m, uint64_t now_ns)
{
	if (m == NULL)
		return;
	accept_clients(m, now_ns);
	for (unsigned i = 0; i < METRICS_MAX_CLIENTS; i++) {
		struct client *c = &m->clients[i];

		if (c->fd >= 0 && c->out == NULL)
			client_read(m, c, now_ns);
		if (c->fd >= 0 && c->out != NULL)
			client_send(c);
		if (c->fd >= 0 && now_ns - c->since_ns > (uint64_t)METRICS_TIMEOUT_MS * MS_NS)
			client_close(c);
	}
}
