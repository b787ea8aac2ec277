// SPDX-License-Identifier: Apache-2.0
#include "drivers/ethdev/stale.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void stale_socket_remove(const char *path, int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) != 0 && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}
