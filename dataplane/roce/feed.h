// SPDX-License-Identifier: Apache-2.0
// Which flows fed a queue in the current turn and in the one before, with how many bytes, and how
// the length of the queue changed. One for each IPCC queue, written by the owner of the queue. A
// small hash table: counting turns empties it, without a write. Flows that find no room count in
// the sums only. Pure.
//
// A turn ends with each look at the queue (roce/ipcc.h). While the queue is short there are no
// looks. Then a turn ends with the first frame that comes an interval or more after it began. If
// more than two intervals have passed, all is forgotten instead, because it says nothing any more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FEED_SLOTS = 512, FEED_PROBES = 8 };

struct feed_slot {
	uint64_t flow; // owner of the shard << 32 | id
	uint32_t turn; // of `now`; 0: never used
	uint32_t now, before; // bytes
};

struct feed {
	uint32_t turn; // from 2, so that no unused slot seems to be of the turn before
	uint64_t began_ns; // of this turn
	uint64_t length_ns; // of the turn before; 0: none
	uint64_t bytes_now, bytes_before; // of all frames that fed the queue
	uint64_t len_now, len_before; // of the queue, as each turn began
	// Slots that were fed, by turn: even and odd ones.
	uint16_t n_fed[2];
	uint16_t fed[2][FEED_SLOTS];
	struct feed_slot slot[FEED_SLOTS];
};

// len_bytes, here and below: of the queue at that moment.
void feed_init(struct feed *f, uint64_t len_bytes, uint64_t now_ns);
// No look is due. Ends the turn if it has lasted for an interval or longer.
void feed_tick(struct feed *f, uint64_t len_bytes, uint64_t interval_ns, uint64_t now_ns);
void feed_add(struct feed *f, uint64_t flow, uint32_t bytes);
// A frame of no flow.
void feed_add_other(struct feed *f, uint32_t bytes);
// This turn ends and the next begins.
void feed_turn(struct feed *f, uint64_t len_bytes, uint64_t now_ns);
// Forgets both turns.
void feed_forget(struct feed *f, uint64_t len_bytes, uint64_t now_ns);

// The time that a look is about: this turn, and the turn before if this one is younger than
// least_ns.
struct feed_window {
	bool both; // turns
	bool whole; // it is at least least_ns long
	uint64_t dt_ns; // its length, but no less than least_ns
	uint64_t len_before; // of the queue when it began
	uint64_t bps; // of all frames that fed the queue: frame bits per second
};
struct feed_window feed_window(const struct feed *f, uint64_t now_ns, uint64_t least_ns);

struct feed_flow {
	uint64_t flow;
	uint64_t bytes;
	uint64_t bps; // frame bits per second over the window
	uint64_t lot; // drawn anew in each turn, different for each flow
};
// Writes the largest flows of the window, at most n, in descending order, and returns their number.
// Lots order flows of the same size. If many flows share a queue, each feeds it one frame in a turn
// or none, and any fixed order would always favour the same flows.
unsigned feed_largest(const struct feed *f, const struct feed_window *w, struct feed_flow *out,
		      unsigned n);
