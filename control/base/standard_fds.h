// SPDX-License-Identifier: Apache-2.0
// A program that starts with descriptor 0, 1 or 2 closed would give that number to the next file
// that it opens, and write its messages into that file. Called first in main().
#pragma once

#include <fcntl.h>
#include <unistd.h>

static inline void standard_fds_open(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
