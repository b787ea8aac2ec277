// SPDX-License-Identifier: Apache-2.0
// Writes a capture file in the pcapng format: one section, one interface per port, then frames in
// the order given, each with its direction and a comment, and statistics at the end. Block and
// option codes are those of the IETF's pcapng draft (draft-ietf-opsawg-pcapng). Little-endian on
// every machine, times in nanoseconds: the same input gives the same bytes.
//
// Called by weirctl's only thread. The stream stays the caller's, who decides when to flush it and
// where an error of the stream is told. It knows nothing of the switch.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Of epb_flags, bits 0 and 1.
enum pcapng_direction { PCAPNG_NO_DIRECTION, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

enum { PCAPNG_MAX_FRAME = 16384, PCAPNG_MAX_TEXT = 2048, PCAPNG_NO_QUEUE = -1 };

struct pcapng_interface {
	const char *name, *description, *filter; // NULL or empty: not said
	uint64_t speed_bps; // 0: not said
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
