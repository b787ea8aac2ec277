// SPDX-License-Identifier: Apache-2.0
// A lock that one process holds: a file in a folder that only root may write. The kernel releases
// the lock when the process ends, however it ends.
#pragma once

// Makes the file if need be. A descriptor, or -errno: -EWOULDBLOCK while another process has it.
__attribute__((warn_unused_result)) int lock_file_take(const char *path);

void lock_file_release(int fd, const char *path); // and removes the file
