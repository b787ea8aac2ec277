// SPDX-License-Identifier: Apache-2.0
// The slow beginning of a capture, on a thread of its own so that the control loop goes on turning:
// compiles the filter (libpcap may read files or ask a name server for a host's address) and
// allocates the tap. What comes out is handed over whole: the thread's last act is to set `done`
// (release), control looks at the rest after it has seen that (acquire).
//
// The control thread calls all of these. It decides nothing about who may capture: see capture.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/tap.h"

struct bpf_program;
struct capture_prepare;

// Starts. filter: a filter in libpcap's language, NULL or empty for none. 0 or -errno.
__attribute__((warn_unused_result)) int capture_prepare_start(const char *filter,
							      const struct tap_params *params,
							      struct capture_prepare **out);
bool capture_prepare_done(const struct capture_prepare *p);

// Only after it is done. NULL, or one sentence that says what is wrong.
const char *capture_prepare_error(const struct capture_prepare *p);
bool capture_prepare_misused(const struct capture_prepare *p); // the filter is what is wrong

// Only after it is done without error. Owned by p, except that the tap can be taken.
struct tap *capture_prepare_tap(struct capture_prepare *p);
bool capture_prepare_matches(const struct capture_prepare *p, const void *data, uint32_t len,
			     uint32_t captured);

// Frees all of it, the tap too. One that is not done yet is left to its thread, which frees it.
void capture_prepare_drop(struct capture_prepare *p);
