// SPDX-License-Identifier: Apache-2.0
// Datagrams to a service of this machine that never make the caller wait: systemd's manager and its
// journal. Libraries for both exist (libsystemd), and their calls wait for a reader that stands
// still. The name of the socket is resolved for each datagram, so the service may start again.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct datagram {
	int fd; // -1: not open
	struct sockaddr_un to;
	socklen_t to_len;
};

// path: that of the socket; "@NAME" is an abstract one. False: it cannot be opened.
static inline bool datagram_open(struct datagram *d, const char *path)
{
	size_t len = strlen(path);

	*d = (struct datagram){.fd = -1, .to.sun_family = AF_UNIX};
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(d->to.sun_path))
		return false;
	memcpy(d->to.sun_path, path, len);
	if (path[0] == '@')
		d->to.sun_path[0] = '\0';
	d->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'));
	d->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return d->fd >= 0;
}

// False: the service did not take it, or the datagram is not open.
static inline bool datagram_send(const struct datagram *d, const void *bytes, size_t len)
{
	ssize_t n;

	if (d->fd < 0)
		return false;
	do
		n = sendto(d->fd, bytes, len, MSG_NOSIGNAL, (const struct sockaddr *)&d->to,
			   d->to_len);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

static inline void datagram_close(struct datagram *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}
