// SPDX-License-Identifier: Apache-2.0
// The receive buffer of a slow host: frames that have arrived wait in it, first in first out, until
// the host has taken them at its own rate, as when the NIC's address cache misses or PCI Express is
// shared with traffic of the host to itself. Above xoff the class of each arrival must be paused at
// the peer (IEEE 802.1Qbb), below xon all may go on; what finds no room is lost. Pure: time is an
// argument, frames are lengths; the owner keeps them. Called by the owner of the NIC.
//
//   real numbers:  a frame of n bytes is taken n * 8e9 / rate after the one before it, or after its
//                  arrival if that was later
//   fixed point:   nanoseconds in Q24, floor(8e9 * 2^24 / rate) a byte: fast by at most 3e-6 at
//                  400 Gb/s; instants are rounded up, the remainder is the next frame's
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
