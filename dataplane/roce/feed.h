// SPDX-License-Identifier: Apache-2.0
// Which flows fed a queue, and how much, in the current interval and the one before. One per IPCC
// queue, written by the queue's owner. A small hash table that is emptied by counting time, not by
// writing; flows that find no room in it are summed up as `others`. Pure.
#pragma once

#include <stdint.h>

enum { FEED_SLOTS = 512, FEED_PROBES = 8 };

struct feed_slot {
	uint64_t flow; // owner of the shard << 32 | id
	uint32_t turn; // of `now`
	uint32_t now, before; // bytes
};

struct feed {
	uint32_t turn; // from 1
	uint32_t n; // slots used in this turn or the one before
	uint64_t began_ns; // of this turn
	uint64_t length_ns; // of the turn before; 0: none
	uint32_t others_now, others_before;
	struct feed_slot slot[FEED_SLOTS];
};

void feed_init(struct feed *f, uint64_t now_ns);
void feed_add(struct feed *f, uint64_t flow, uint32_t bytes);
// A turn ends here and the next begins.
void feed_turn(struct feed *f, uint64_t now_ns);
// Forgets all: what was fed before says nothing any more.
void feed_forget(struct feed *f, uint64_t now_ns);

struct feed_flow {
	uint64_t flow;
	uint64_t bps; // frame bits per second over the time looked at
};
// The largest flows of this turn, with the turn before where this one is younger than least_ns, in
// descending order (ties: lower flow first). Returns how many, at most n.
unsigned feed_largest(const struct feed *f, uint64_t now_ns, uint64_t least_ns,
		      struct feed_flow *out, unsigned n);
