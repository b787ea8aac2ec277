// SPDX-License-Identifier: Apache-2.0
// Two files change places, and no content is lost on the way. One thread.
#pragma once

#include <stddef.h>

// `next` takes the place of `file` at one instant, and `file` that of `next`, so that the earlier
// file can come back. Where there is no `file`, `next` only moves. A file system that cannot
// exchange two files gets a copy of `file` first. 0, or -1 with a sentence in why: then `file` is
// as it was.
__attribute__((warn_unused_result)) int swap_files(const char *next, const char *file, char *why,
						   size_t why_len);
