// SPDX-License-Identifier: Apache-2.0
// What of a tap's rings goes into one answer: merges the workers' records by time, keeps those that
// the capture asks for, packs them for the way to weirctl, and counts per port. Of equal times a
// worker's own order stands, and the lower worker comes first.
//
// Called by the control thread only. Bounded work per call. It does not know who asks, nor up to
// which time the rings are complete: see capture.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_batch;
struct capture_prepare;
struct json_object;
struct tap;

enum capture_only { ONLY_ALL, ONLY_DROPS, ONLY_MARKED, ONLY_PFC, N_CAPTURE_ONLY };

struct capture_wish {
	enum capture_only only;
	uint32_t snaplen; // bytes of each frame handed on, at most
	uint64_t wall_offset_ns; // switch time to time since 1970
	const struct capture_prepare *filter;
};

struct capture_count {
	uint64_t seen, matched; // frames looked at, and of those the ones asked for
};

// "all", "drops", "marked", "pfc"; NULL is all. False for another word.
bool capture_only_of(const char *text, enum capture_only *out);

__attribute__((warn_unused_result)) int capture_batch_create(unsigned n_workers,
							     struct capture_batch **out);
void capture_batch_destroy(struct capture_batch *b); // NULL is fine

// A new capture: counts begin at 0. tap and filter stay the caller's, until the next begin.
void capture_batch_begin(struct capture_batch *b, struct tap *tap,
			 const struct capture_wish *wish);

// Takes records up to the time horizon_ns out of the rings, as many as one answer can hold. True:
// there are no more of them now.
bool capture_batch_fill(struct capture_batch *b, uint64_t horizon_ns);

bool capture_batch_empty(const struct capture_batch *b);
struct json_object *capture_batch_text(const struct capture_batch *b); // control/capture_wire.h
struct capture_count capture_batch_count(const struct capture_batch *b, unsigned port);
