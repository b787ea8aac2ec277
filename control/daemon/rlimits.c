// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/rlimits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
	FILES = 256, // clients, pipes, workers, DPDK's own
	FILES_PORT = 16,
	HUGEPAGE_BYTES = 2 << 20, // the smallest, so the most files
};

int limits_raise(uint64_t hugepage_bytes, unsigned n_ports, char *err, unsigned err_len)
{
	const struct rlimit locked = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t least = FILES + n_ports * (uint64_t)FILES_PORT;
	uint64_t want = least + hugepage_bytes / HUGEPAGE_BYTES;
	struct rlimit files, more;

	(void)setrlimit(RLIMIT_MEMLOCK, &locked); // AF_XDP says so itself where it needs it
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return -errno;
	more = (struct rlimit){want, files.rlim_max > want ? files.rlim_max : want};
	if (files.rlim_cur >= want || setrlimit(RLIMIT_NOFILE, &more) == 0)
		return 0;
	files.rlim_cur = files.rlim_max;
	if (files.rlim_max >= least && setrlimit(RLIMIT_NOFILE, &files) == 0)
		return 0;
	snprintf(err, err_len,
		 "too few files may be open: %" PRIu64 " are needed and %" PRIu64 " are allowed; "
		 "`ulimit -n %" PRIu64 "`, or LimitNOFILE=%" PRIu64 " in the systemd unit",
		 least, (uint64_t)files.rlim_max, least, least);
	return -EMFILE;
}
