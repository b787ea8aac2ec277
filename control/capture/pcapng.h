// SPDX-License-Identifier: Apache-2.0
// Writes a capture file in the pcapng format: one section, one interface per port, then frames in
// the order given, each with its direction and a comment, and statistics at the end. Block and
// option codes are those of the IETF's pcapng draft (draft-ietf-opsawg-pcapng). Little-endian on
// every machine, times in nanoseconds: the same input gives the same bytes.
//
// For weirctl and the lab. The stream stays the caller's: the caller flushes it, and reports an
// error of the stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/capture/capture_wire.h"
#include "dataplane/tap.h"

// Of epb_flags, bits 0 and 1.
enum pcapng_direction { PCAPNG_NO_DIRECTION, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

enum { PCAPNG_MAX_FRAME = 16384, PCAPNG_MAX_TEXT = 2048, PCAPNG_NO_QUEUE = -1 };

struct pcapng_interface {
	const char *name, *description, *filter; // NULL or empty: left out
	uint64_t speed_bps; // 0: left out
	uint32_t snaplen;
};

struct pcapng_frame {
	uint32_t interface; // in the order in which they were written
	uint64_t t_ns; // since 1970, UTC
	const void *data;
	uint32_t captured, len; // bytes here (up to PCAPNG_MAX_FRAME), and bytes on the link
	enum pcapng_direction direction;
	int queue; // PCAPNG_NO_QUEUE: none
	const char *comment; // NULL: none
};

struct pcapng_statistics {
	uint32_t interface;
	uint64_t t_ns, begin_ns, end_ns; // since 1970, UTC
	uint64_t received, dropped, accepted; // seen, lost for lack of room, passed the filter
	uint64_t delivered; // written
};

// Each writes one block. Texts beyond PCAPNG_MAX_TEXT bytes are cut there. False when the stream
// has failed; errno says why.
__attribute__((warn_unused_result)) bool pcapng_section(FILE *out, const char *application);
__attribute__((warn_unused_result)) bool pcapng_interface(FILE *out,
							  const struct pcapng_interface *i);
__attribute__((warn_unused_result)) bool pcapng_frame(FILE *out, const struct pcapng_frame *f);
__attribute__((warn_unused_result)) bool pcapng_statistics(FILE *out,
							   const struct pcapng_statistics *s);

// ---- A captured frame as a block. The `key=value` words of its comment have what only the switch
// knows of the frame (docs/capture.md has the table):
//
//   dir=in class=3
//   dir=out class=3 queue=3 queue_bytes=48200 mark=ce
//   dir=out origin=switch
//   dir=drop class=3 queue=3 queue_bytes=0 reason=egress-tail

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
				   (m->marked ? CAPTURE_MARKED : 0) |
				   (m->trimmed ? CAPTURE_TRIMMED : 0)),
		.reason = m->reason,
		.trim_queue = m->trim_queue,
	};
}
