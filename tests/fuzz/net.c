// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/net.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

// The listener and the server's end of connection i are FIRST_FD and FIRST_FD + 1 + i. No real
// descriptor is as high.
enum { FIRST_FD = 1 << 20 };

struct bytes {
	size_t head, tail;
	char at[NET_BYTES];
};

struct net_conn {
	bool client, server, queued; // who has it; queued: nobody has accepted it
	bool client_reads, client_writes; // halves that the client has not closed
	bool reset; // the client left with bytes unread
	struct bytes up, down;
};

static struct net_conn conns[NET_CONNS];
static struct net_conn *queue[NET_CONNS];
static unsigned n_queued, backlog;
static bool listening;
static size_t width = SIZE_MAX;

void net_set_width(size_t bytes)
{
	width = bytes;
}

// ---- bytes on the way

static size_t put(struct bytes *b, const void *data, size_t len)
{
	if (b->head == b->tail)
		b->head = b->tail = 0;
	if (len > NET_BYTES - b->tail)
		len = NET_BYTES - b->tail;
	memcpy(b->at + b->tail, data, len);
	b->tail += len;
	return len;
}

static size_t get(struct bytes *b, void *data, size_t len)
{
	if (len > b->tail - b->head)
		len = b->tail - b->head;
	memcpy(data, b->at + b->head, len);
	b->head += len;
	return len;
}

static bool any(const struct bytes *b)
{
	return b->head != b->tail;
}

// ---- the client's side

int net_listener(void)
{
	FUZZ_CHECK(!listening);
	listening = true;
	backlog = NET_CONNS / 2;
	return FIRST_FD;
}

struct net_conn *net_connect(void)
{
	struct net_conn *c = conns;

	while (c < conns + NET_CONNS && (c->client || c->server || c->queued))
		c++;
	if (!listening || n_queued > backlog || c == conns + NET_CONNS)
		return NULL;
	c->client = c->queued = true;
	c->client_reads = c->client_writes = true;
	c->reset = false;
	c->up.head = c->up.tail = c->down.head = c->down.tail = 0;
	queue[n_queued++] = c;
	return c;
}

size_t net_write(struct net_conn *c, const void *data, size_t len)
{
	return c->client_writes && (c->server || c->queued) ? put(&c->up, data, len) : 0;
}

long net_read(struct net_conn *c, void *data, size_t len)
{
	size_t n = get(&c->down, data, len);

	if (n != 0)
		return (long)n;
	return c->client_reads && (c->server || c->queued) ? -1 : 0;
}

size_t net_waiting(const struct net_conn *c)
{
	return c->down.tail - c->down.head;
}

void net_shut_write(struct net_conn *c)
{
	c->client_writes = false;
}

void net_shut_read(struct net_conn *c)
{
	c->client_reads = false;
}

void net_close(struct net_conn *c)
{
	c->reset = any(&c->down);
	c->client = c->client_reads = c->client_writes = false;
}

unsigned net_n_open(void)
{
	unsigned n = listening;

	for (unsigned i = 0; i < NET_CONNS; i++)
		n += conns[i].server;
	return n;
}

// ---- the server's side

static struct net_conn *conn_of(int fd)
{
	FUZZ_CHECK(fd > FIRST_FD && fd <= FIRST_FD + NET_CONNS);
	FUZZ_CHECK(conns[fd - FIRST_FD - 1].server);
	return &conns[fd - FIRST_FD - 1];
}

static ssize_t fails(int code)
{
	errno = code;
	return -1;
}

int socket(int domain, int type, int protocol)
{
	// EAL's own are real, and it waits for them.
	if (!(type & SOCK_NONBLOCK))
		return (int)syscall(SYS_socket, domain, type, protocol);
	return net_listener();
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return fd >= FIRST_FD ? 0 : (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

int bind(int fd, const struct sockaddr *at, socklen_t len)
{
	return fd >= FIRST_FD ? 0 : (int)syscall(SYS_bind, fd, at, len);
}

int listen(int fd, int n)
{
	FUZZ_CHECK(fd == FIRST_FD && n > 0);
	backlog = n < NET_CONNS / 2 ? (unsigned)n : NET_CONNS / 2;
	return 0;
}

int shutdown(int fd, int how)
{
	FUZZ_CHECK(how == SHUT_RD);
	conn_of(fd)->client_writes = false;
	return 0;
}

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	struct net_conn *c = queue[0];

	(void)from;
	(void)len;
	FUZZ_CHECK(fd == FIRST_FD && flags & SOCK_NONBLOCK && listening);
	if (n_queued == 0)
		return (int)fails(EAGAIN);
	memmove(queue, queue + 1, --n_queued * sizeof(queue[0]));
	c->queued = false;
	c->server = true;
	return FIRST_FD + 1 + (int)(c - conns);
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
	struct net_conn *c = conn_of(fd);

	(void)flags;
	if (c->reset) {
		c->reset = false;
		return fails(ECONNRESET);
	}
	if (any(&c->up))
		return width == 0 ? fails(EINTR)
				  : (ssize_t)get(&c->up, data, len < width ? len : width);
	return c->client_writes ? fails(EAGAIN) : 0;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	struct net_conn *c = conn_of(fd);
	size_t n;

	FUZZ_CHECK(flags & MSG_NOSIGNAL);
	if (!c->client_reads)
		return fails(EPIPE);
	if (width == 0)
		return fails(EINTR);
	n = put(&c->down, data, len < width ? len : width);
	return n == 0 && len != 0 ? fails(EAGAIN) : (ssize_t)n;
}

// What poll says of a connection, asked for or not.
static int state_of(const struct net_conn *c)
{
	int is = c->client_reads && c->down.tail < NET_BYTES ? POLLOUT : 0;

	if (any(&c->up) || !c->client_writes)
		is |= POLLIN;
	if (!c->client_writes && !c->client_reads)
		is |= POLLHUP | POLLOUT;
	return c->reset ? is | POLLERR : is;
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	int ready = 0;

	(void)timeout_ms;
	for (nfds_t i = 0; i < n; i++) {
		int is = fds[i].fd == FIRST_FD ? (n_queued != 0 ? POLLIN : 0)
					       : state_of(conn_of(fds[i].fd));

		fds[i].revents = (short)(is & (fds[i].events | POLLERR | POLLHUP));
		ready += fds[i].revents != 0;
	}
	return ready;
}

int close(int fd)
{
	if (fd < FIRST_FD)
		return (int)syscall(SYS_close, fd);
	if (fd > FIRST_FD) {
		conn_of(fd)->server = false;
		return 0;
	}
	FUZZ_CHECK(listening);
	listening = false;
	while (n_queued > 0)
		queue[--n_queued]->queued = false;
	return 0;
}
