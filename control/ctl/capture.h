// SPDX-License-Identifier: Apache-2.0
// The file of one capture: frames as they come from the switch become pcapng blocks, at once or,
// where only the last n are wanted, when the capture ends (control/capture/pcapng.h).
//
// Called by weirctl's only thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/capture/capture_wire.h"

struct capture_file;
struct json_object;

enum { CAPTURE_LAST_MAX = 1000000 };

// started: the switch's answer to the request that began the capture. last: keep that many frames,
// 0: write all. filter may be NULL. NULL after a message.
struct capture_file *capture_file_open(const char *path, struct json_object *started,
				       unsigned last, const char *filter);

// False when the file has failed; capture_file_close reports why.
__attribute__((warn_unused_result)) bool capture_file_add(struct capture_file *f,
							  const struct capture_record *r,
							  const uint8_t *data);
// Writes what was kept and the statistics; counts: the switch's list, NULL if it is not known.
// Frees f. False after a message. A reader at the other end of a pipe who has left is no failure.
__attribute__((warn_unused_result)) bool capture_file_close(struct capture_file *f,
							    struct json_object *counts,
							    uint64_t *written);
