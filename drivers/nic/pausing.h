// SPDX-License-Identifier: Apache-2.0
// Decides which PFC frame of a NIC is due when; the NIC sends it. A NIC pauses its peer because the
// receive buffer of a slow host fills, or because a storm was asked for. A guard of the NIC ends
// storms. Pure: time is an argument, frames are lengths. The owner of the NIC calls it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/pfc_frame.h"

// ---- the receive buffer of a slow host: frames that have arrived wait in it, first in first out,
// until the host has taken them at its own rate, as when the NIC's address cache misses or PCI
// Express is shared with traffic of the host to itself. Above xoff the class of each arrival must
// be paused at the peer (IEEE 802.1Qbb), below xon all may go on; what finds no room is lost. The
// owner keeps the frames.
//
//   real numbers:  a frame of n bytes is taken n * 8e9 / rate after the one before it, or after its
//                  arrival if that was later
//   fixed point:   nanoseconds in Q24, floor(8e9 * 2^24 / rate) a byte: fast by at most 3e-6 at
//                  400 Gb/s; instants are rounded up, the remainder is the next frame's

struct rxbuf_params {
	uint64_t q24_per_byte;
	uint32_t capacity, xoff, xon; // bytes, xon <= xoff < capacity
};

struct rxbuf {
	uint32_t used_bytes;
	uint8_t want; // classes that must be paused
	bool busy; // a frame is being taken
	uint64_t taken_ns; // until this instant, rounded up
	uint32_t early_q24; // by how much less than that
};

// Zero bytes stand for 256 KiB, half of the capacity, half of xoff. False: the rate is 0, or the
// thresholds are not in order.
bool rxbuf_params_init(struct rxbuf_params *p, uint64_t rate_bps, uint32_t capacity,
		       uint32_t xoff, uint32_t xon);

// A frame arrived. False: there is no room for it.
bool rxbuf_add(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len, unsigned cls,
	       uint64_t now_ns);

// When the oldest frame will have been taken; UINT64_MAX: there is none.
static inline uint64_t rxbuf_due(const struct rxbuf *b)
{
	return b->busy ? b->taken_ns : UINT64_MAX;
}

// The oldest frame, of len bytes, was taken at rxbuf_due; next_len: of the one behind it, 0: none.
void rxbuf_taken(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len, uint32_t next_len);

// The frame that is being taken takes so much longer.
static inline void rxbuf_stall(struct rxbuf *b, uint64_t ns)
{
	b->taken_ns += ns;
}

// ---- the cache of queue pairs of an old NIC (Bai et al., NSDI 2023, section 7): the NIC fetches
// the state of a queue pair that the cache lacks from the memory of the host, and frames behind
// wait. The queue pair that has not been used for longest makes room.

struct qp_cache {
	uint32_t size, n;
	uint32_t *qpns; // memory of the owner, the latest first
};

// A frame of a queue pair is taken. True: the cache lacked the queue pair.
bool qp_cache_misses(struct qp_cache *c, uint32_t qpn);

// ---- a pause storm: the PFC frames of a faulty NIC, at exact instants, for testing what a
// switch does against it
//
//   PAUSE at start, start + every, start + 2 every, ... before start + for; XON at start + for
//
// In bursts it does so from start on for `burst`, again from start + period on, and so forth until
// start + for. A storm of XON is one whose quanta are 0.

struct storm_params {
	uint8_t classes; // bitmap
	uint16_t quanta;
	uint64_t start_ns;
	uint64_t every_ns; // not 0
	uint64_t for_ns; // UINT64_MAX: without end
	uint64_t burst_ns, period_ns; // burst < period; 0: without a break
	bool silent_end; // no XON: the last PAUSE runs out by itself
};

struct storm {
	struct storm_params p;
	uint64_t from_ns; // when the present burst began
	uint64_t next_ns; // UINT64_MAX: over
};

void storm_start(struct storm *s, const struct storm_params *p);

// Brings the end forward to now_ns.
void storm_stop(struct storm *s, uint64_t now_ns);

// The frame due now; false: none. Instants that were missed are not made up for.
bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f);

// That frame has left. Returns how many PAUSE frames were due meanwhile and are left out.
uint64_t storm_sent(struct storm *s, uint64_t now_ns);

// ---- the NIC's own guard against pause storms (Guo et al., SIGCOMM 2016, section 4.3: the
// watchdog on the NIC): a NIC that has paused its peer without a break for too long is broken, and
// gives up pausing for good. It sends no XON either: the last PAUSE runs out by itself.

struct guard {
	uint64_t since_ns[8], until_ns[8]; // of each class's pauses that have no break between them
	bool tripped;
};

// Whether a PFC frame that is about to leave may. limit_ns 0: always. speed_bps: of the link.
bool guard_allows(struct guard *g, uint64_t limit_ns, uint64_t speed_bps,
		  const struct pfc_times *f, uint64_t now_ns);
