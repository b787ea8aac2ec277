// SPDX-License-Identifier: Apache-2.0
// The place of a running switch in /run/weir: NAME.lock says that it runs (a file lock that the
// kernel lets go when the process dies, however it dies), NAME.sock is where weirctl talks to it.
// Called by the control thread at start and end. Serves nobody: see server.h.
#pragma once

struct rundir {
	int lock_fd; // -1: not held
	char lock_path[96];
	char sock_path[96];
};

// Takes the name. 0, -EBUSY when a switch of this name runs, or -errno; the sentence is in err.
__attribute__((warn_unused_result)) int rundir_take(struct rundir *r, const char *name, char *err,
						    unsigned err_len);

// A listening socket, mode 0600, in place of what a dead process left. Its descriptor or -errno.
__attribute__((warn_unused_result)) int rundir_listen(const struct rundir *r, char *err,
						      unsigned err_len);

// Removes both files. Harmless when nothing was taken.
void rundir_release(struct rundir *r);
