// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENT_TIMEOUT_S = 5 };

struct client {
	int fd; // -1: free
	bool owes_answer; // a line was handed over and not answered yet
	bool closing; // close once the answer is out
	uint32_t n_in;
	size_t out_len, out_sent;
	char *out; // NULL: nothing to send
	uint64_t moved_ns; // last time a byte came or went
	char in[SERVER_LINE_MAX];
};

struct server {
	int fd;
	int watched; // of the caller; -1: none
	const struct server_ops *ops;
	void *arg;
	uint64_t now_ns;
	struct client clients[SERVER_MAX_CLIENTS];
};

int server_create(int listen_fd, const struct server_ops *ops, void *arg, struct server **out)
{
	struct server *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		close(listen_fd);
		return -ENOMEM;
	}
	s->fd = listen_fd;
	s->watched = -1;
	s->ops = ops;
	s->arg = arg;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		s->clients[i].fd = -1;
	*out = s;
	return 0;
}

static void close_server_client(struct server *s, unsigned i)
{
	struct client *c = &s->clients[i];

	if (c->fd < 0)
		return;
	if (c->closing) {
		// The kernel resets a connection that ends with unread bytes, and the answer is
		// lost. The client cannot send more after the shutdown, so the loop ends.
		shutdown(c->fd, SHUT_RD);
		while (recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT) > 0)
			continue;
	}
	close(c->fd);
	c->fd = -1;
	free(c->out);
	c->out = NULL;
	if (c->owes_answer)
		s->ops->gone(s->arg, i);
}

void server_destroy(struct server *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		close_server_client(s, i);
	close(s->fd);
	free(s);
}

static void client_send(struct server *s, unsigned i)
{
	struct client *c = &s->clients[i];
	ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close_server_client(s, i);
		return;
	}
	if (n > 0) {
		c->out_sent += (size_t)n;
		c->moved_ns = s->now_ns;
	}
	if (c->out_sent < c->out_len)
		return;
	free(c->out);
	c->out = NULL;
	if (c->closing)
		close_server_client(s, i);
}

void server_reply(struct server *s, unsigned i, const char *text)
{
	struct client *c = &s->clients[i];
	size_t len = strlen(text);

	if (c->fd < 0)
		return;
	c->owes_answer = false;
	c->out = malloc(len + 1);
	if (c->out == NULL) {
		close_server_client(s, i);
		return;
	}
	memcpy(c->out, text, len);
	c->out[len] = '\n';
	c->out_len = len + 1;
	c->out_sent = 0;
	c->moved_ns = s->now_ns;
	client_send(s, i);
}

// Hands over the whole lines that have come, as long as each is answered at once.
static void client_lines(struct server *s, unsigned i)
{
	struct client *c = &s->clients[i];

	while (c->fd >= 0 && !c->owes_answer && c->out == NULL) {
		char *end = memchr(c->in, '\n', c->n_in);
		char line[SERVER_LINE_MAX];
		uint32_t len;

		if (end == NULL)
			break;
		len = (uint32_t)(end - c->in);
		memcpy(line, c->in, len);
		line[len] = '\0';
		c->n_in -= len + 1;
		memmove(c->in, end + 1, c->n_in);
		c->owes_answer = true;
		s->ops->line(s->arg, i, line, s->now_ns);
	}
	if (c->fd >= 0 && !c->closing && c->out == NULL && c->n_in == SERVER_LINE_MAX &&
	    memchr(c->in, '\n', c->n_in) == NULL) {
		c->closing = true;
		server_reply(s, i, "{\"ok\": false, \"error\": \"the request is too long\"}");
	}
}

static void client_read(struct server *s, unsigned i)
{
	struct client *c = &s->clients[i];
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close_server_client(s, i);
		return;
	}
	if (n > 0) {
		c->n_in += (uint32_t)n;
		c->moved_ns = s->now_ns;
		client_lines(s, i);
	}
}

// A free place is taken, else that of the longest idle client.
static void accept_client(struct server *s)
{
	static const char busy[] = "{\"ok\": false, \"error\": \"too many clients\"}\n";
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	unsigned place = SERVER_MAX_CLIENTS;

	if (fd < 0)
		return;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
		const struct client *c = &s->clients[i];

		if (c->fd < 0) {
			place = i;
			break;
		}
		if (!c->owes_answer && c->out == NULL &&
		    (place == SERVER_MAX_CLIENTS || c->moved_ns < s->clients[place].moved_ns))
			place = i;
	}
	if (place == SERVER_MAX_CLIENTS) {
		(void)!send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
		close(fd);
		return;
	}
	close_server_client(s, place);
	s->clients[place] = (struct client){.fd = fd, .moved_ns = s->now_ns};
}

static void client_serve(struct server *s, unsigned i, short events)
{
	struct client *c = &s->clients[i];
	uint64_t timeout_ns = CLIENT_TIMEOUT_S * 1000000000ull;

	if (events & (POLLERR | POLLHUP) && c->owes_answer)
		close_server_client(s, i);
	else if (events & (POLLOUT | POLLERR | POLLHUP) && c->out != NULL)
		client_send(s, i);
	else if (events & (POLLIN | POLLHUP | POLLERR) && c->out == NULL)
		client_read(s, i);
	if (c->fd >= 0 && c->out != NULL && s->now_ns - c->moved_ns > timeout_ns)
		close_server_client(s, i);
	else if (c->fd >= 0 && c->n_in > 0)
		client_lines(s, i);
}

void server_watch(struct server *s, int fd)
{
	s->watched = fd;
}

void server_poll(struct server *s, int timeout_ms, uint64_t now_ns)
{
	struct pollfd fds[SERVER_MAX_CLIENTS + 2];
	unsigned slot[SERVER_MAX_CLIENTS + 1];
	nfds_t n = 0;

	s->now_ns = now_ns;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
		const struct client *c = &s->clients[i];

		if (c->fd < 0)
			continue;
		slot[n] = i;
		// While an answer is owed nothing is read, but a client that has left is noticed
		// (POLLHUP).
		fds[n++] = (struct pollfd){.fd = c->fd, .events = c->out != NULL     ? POLLOUT
								  : c->owes_answer ? 0
										   : POLLIN};
	}
	fds[n] = (struct pollfd){.fd = s->fd, .events = POLLIN};
	fds[n + 1] = (struct pollfd){.fd = s->watched, .events = POLLIN};
	if (poll(fds, n + (s->watched < 0 ? 1 : 2), timeout_ms) < 0)
		return;
	for (nfds_t k = 0; k < n; k++)
		client_serve(s, slot[k], fds[k].revents);
	if (fds[n].revents != 0)
		accept_client(s);
}
