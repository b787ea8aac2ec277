// SPDX-License-Identifier: Apache-2.0
#include "control/base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int lock_file_take(const char *path)
{
	for (;;) {
		struct stat held, named;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			int code = errno;

			close(fd);
			return -code;
		}
		// A lock on a file that was removed meanwhile is a lock on nothing.
		if (fstat(fd, &held) == 0 && stat(path, &named) == 0 &&
		    held.st_ino == named.st_ino && held.st_dev == named.st_dev)
			return fd;
		close(fd);
	}
}

void lock_file_release(int fd, const char *path)
{
	unlink(path);
	close(fd);
}
