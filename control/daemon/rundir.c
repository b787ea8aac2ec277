// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char dir[] = "/run/weir";

static int fail(int code, char *err, unsigned err_len, const char *what, const char *path)
{
	snprintf(err, err_len, "%s %s: %s%s", what, path, strerror(code),
		 code == EACCES ? "; start weir as root" : "");
	return -code;
}

// A lock on a file that was removed meanwhile is a lock on nothing.
static bool lock_is_current(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

int rundir_take(struct rundir *r, const char *name, char *err, unsigned err_len)
{
	r->lock_fd = -1;
	if (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0') {
		snprintf(err, err_len, "switch.name \"%s\" cannot be a file name; use letters and "
				       "digits", name);
		return -EINVAL;
	}
	snprintf(r->lock_path, sizeof(r->lock_path), "%s/%s.lock", dir, name);
	snprintf(r->sock_path, sizeof(r->sock_path), "%s/%s.sock", dir, name);
	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return fail(errno, err, err_len, "cannot make", dir);
	for (;;) {
		int fd = open(r->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return fail(errno, err, err_len, "cannot open", r->lock_path);
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			int code = errno;

			close(fd);
			if (code != EWOULDBLOCK)
				return fail(code, err, err_len, "cannot lock", r->lock_path);
			snprintf(err, err_len, "a switch named %s is already running; stop it, or "
					       "give this one another switch.name", name);
			return -EBUSY;
		}
		if (lock_is_current(fd, r->lock_path)) {
			r->lock_fd = fd;
			return 0;
		}
		close(fd);
	}
}

int rundir_listen(const struct rundir *r, char *err, unsigned err_len)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t mask;
	int bound;

	if (fd < 0)
		return fail(errno, err, err_len, "cannot make a socket for", r->sock_path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", r->sock_path);
	// We hold the lock, so a socket that is there belongs to nobody alive.
	unlink(r->sock_path);
	mask = umask(0177);
	bound = bind(fd, (const struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (bound != 0 || listen(fd, SOMAXCONN) != 0) {
		int code = errno;

		close(fd);
		return fail(code, err, err_len, "cannot listen on", r->sock_path);
	}
	return fd;
}

void rundir_release(struct rundir *r)
{
	if (r->lock_fd < 0)
		return;
	unlink(r->sock_path);
	unlink(r->lock_path);
	close(r->lock_fd);
	r->lock_fd = -1;
}
