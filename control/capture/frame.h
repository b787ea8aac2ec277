// SPDX-License-Identifier: Apache-2.0
// A captured frame as a block of a file. Its comment of `key=value` words has what only the switch
// knows of the frame (docs/capture.md has the table):
//
//   dir=in class=3
//   dir=out class=3 queue=3 queue_bytes=48200 mark=ce
//   dir=out origin=switch
//   dir=drop class=3 queue=3 queue_bytes=0 reason=egress-tail
//
// Pure; of weirctl, the daemon and the lab.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/capture_wire.h"
#include "dataplane/tap.h"

enum { CAPTURE_COMMENT_LEN = 160 };

// The comment of a frame.
void capture_comment(char out[CAPTURE_COMMENT_LEN], const struct capture_record *r);

// Writes a frame. `interface` is the number of its port in the file, from 0. Returns false when the
// stream has failed.
__attribute__((warn_unused_result)) bool capture_frame_write(FILE *out, uint32_t interface,
							     const struct capture_record *r,
							     const uint8_t *data);

// A frame as a tap saw it, with up to snaplen bytes.
static inline struct capture_record capture_record_of(const struct tap_record *r, uint32_t snaplen)
{
	const struct tap_meta *m = &r->meta;

	return (struct capture_record){
		.t_ns = r->t_ns,
		.len = r->len,
		.captured = r->captured < snaplen ? r->captured : snaplen,
		.queue_bytes = m->has_queue ? m->queue_bytes : 0,
		.port = m->port,
		.direction = m->direction,
		.cls = m->cls,
		.queue = m->queue,
		.flags = (uint8_t)((m->has_queue ? CAPTURE_HAS_QUEUE : 0) |
				   (m->marked ? CAPTURE_MARKED : 0)),
		.reason = m->reason,
	};
}
