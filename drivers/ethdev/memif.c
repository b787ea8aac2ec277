// SPDX-License-Identifier: Apache-2.0
#include "drivers/ethdev/memif.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/device.h"
#include "drivers/ethdev/hold.h"
#include "drivers/ethdev/stale.h"

enum {
	MESSAGE_BYTES = 128,
	MESSAGE_ADD_REGION = 4, // these two bring a descriptor
	MESSAGE_ADD_RING = 5,
	MESSAGE_CONNECT = 6, // the last one of a peer before the driver reads its rings
	WAITING_PEERS = 8,
};

struct memif_server {
	struct hold *hold;
	pthread_t thread;
	bool bound, started;
	int listen_fd, stop_fd;
	struct sockaddr_un outer, inner;
	socklen_t outer_len, inner_len;
};

// ---- messages

struct message {
	union {
		uint16_t type;
		uint8_t bytes[MESSAGE_BYTES];
	};
	int fd; // that came with it, or -1
};

union ancillary {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static bool receive_memif_msg(int from, struct message *m)
{
	union ancillary fds = {0};
	struct iovec iov = {m->bytes, sizeof(m->bytes)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = fds.bytes,
			   .msg_controllen = CMSG_LEN(sizeof(int))}; // no room for a second
	ssize_t n = recvmsg(from, &h, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;

	m->fd = -1;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&m->fd, CMSG_DATA(c), sizeof(m->fd));
	return n == MESSAGE_BYTES;
}

static bool send_on(int to, const struct message *m)
{
	union ancillary fds = {0};
	struct iovec iov = {(void *)(uintptr_t)m->bytes, sizeof(m->bytes)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (m->fd >= 0) {
		h.msg_control = fds.bytes;
		h.msg_controllen = sizeof(fds.bytes);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &m->fd, sizeof(m->fd));
	}
	return sendmsg(to, &h, MSG_NOSIGNAL) == MESSAGE_BYTES;
}

// One message. False: the connection is over. *connected: the driver may read the peer's rings; the
// peer has nothing more to say then but that it leaves.
static bool pass(int from, int to, bool from_peer, bool *connected)
{
	struct message m;
	bool passed = receive_memif_msg(from, &m) && !(from_peer && *connected);

	if (passed && from_peer)
		*connected = m.type == MESSAGE_CONNECT;
	// The driver keeps a descriptor open that comes with another message.
	passed = passed && (m.fd < 0 || m.type == MESSAGE_ADD_REGION || m.type == MESSAGE_ADD_RING);
	passed = passed && send_on(to, &m);
	if (m.fd >= 0)
		close(m.fd);
	return passed;
}

// ---- one peer

// The driver unmaps the rings before it closes its end.
static void await_driver_close(const struct memif_server *s, int driver)
{
	uint8_t rest[MESSAGE_BYTES];

	hold_set(s->hold);
	shutdown(driver, SHUT_WR);
	while (recv(driver, rest, sizeof(rest), 0) > 0)
		;
	hold_clear(s->hold);
}

// Returns when the peer has left or the server stops.
static void serve_peer(const struct memif_server *s, int peer)
{
	struct pollfd fds[] = {{s->stop_fd, POLLIN, 0}, {peer, POLLIN, 0}, {-1, POLLIN, 0}};
	int driver = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool connected = false;

	if (driver < 0)
		return;
	if (connect(driver, (const struct sockaddr *)&s->inner, s->inner_len) == 0) {
		fds[2].fd = driver;
		while (poll(fds, 3, -1) >= 0 || errno == EINTR) {
			if (fds[0].revents != 0 ||
			    (fds[1].revents != 0 && !pass(peer, driver, true, &connected)) ||
			    (fds[2].revents != 0 && !pass(driver, peer, false, &connected)))
				break;
		}
		await_driver_close(s, driver);
	}
	close(driver);
}

static void *serve_peers(void *arg)
{
	const struct memif_server *s = arg;
	struct pollfd fds[] = {{s->stop_fd, POLLIN, 0}, {s->listen_fd, POLLIN, 0}};
	int peer;

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents != 0)
			break;
		peer = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (peer < 0) {
			poll(fds, 1, 100); // no descriptor is free, perhaps
			continue;
		}
		serve_peer(s, peer);
		close(peer);
	}
	return NULL;
}

// ---- open and close

static socklen_t fill_socket_address(struct sockaddr_un *a, bool abstract, const char *name)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + abstract, name, strlen(name));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
}

static int listen_at(struct memif_server *s)
{
	if (s->outer.sun_path[0] != '\0')
		stale_socket_remove(s->outer.sun_path, SOCK_SEQPACKET);
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->listen_fd < 0 || s->stop_fd < 0 ||
	    bind(s->listen_fd, (const struct sockaddr *)&s->outer, s->outer_len) != 0)
		return -errno;
	s->bound = true;
	return listen(s->listen_fd, WAITING_PEERS) == 0 ? 0 : -errno;
}

int memif_server_open(const char *socket, bool abstract, const char *inner,
		      struct memif_server **out, struct live_text *text)
{
	struct memif_server *s;
	int rc;

	if (strlen(socket) + 1 >= sizeof(s->outer.sun_path))
		return live_refuse(text, -ENAMETOOLONG,
				   "%s: the name of a socket has at most %zu characters", socket,
				   sizeof(s->outer.sun_path) - 2);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return live_refuse(text, -ENOMEM, "%s: out of memory", socket);
	s->listen_fd = s->stop_fd = -1;
	s->outer_len = fill_socket_address(&s->outer, abstract, socket);
	s->inner_len = fill_socket_address(&s->inner, true, inner);
	rc = listen_at(s);
	if (rc != 0) {
		memif_server_close(s);
		return live_refuse(text, rc,
				   rc == -EADDRINUSE ? "%s: another program or port listens at "
						       "this socket; each port needs its own"
						     : "%s: no socket can be made there; its "
						       "folder must exist",
				   socket);
	}
	*out = s;
	return 0;
}

int memif_server_start(struct memif_server *s, struct hold *hold)
{
	int rc;

	s->hold = hold;
	rc = pthread_create(&s->thread, NULL, serve_peers, s);
	s->started = rc == 0;
	return -rc;
}

void memif_server_close(struct memif_server *s)
{
	static const uint64_t one = 1;

	if (s == NULL)
		return;
	if (s->started && write(s->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(s->thread, NULL);
	if (s->bound && s->outer.sun_path[0] != '\0')
		unlink(s->outer.sun_path);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
}
