// SPDX-License-Identifier: Apache-2.0
// Which bytes of a transmit ring have not left yet, for hardware that reports the state of a
// descriptor. Frames take one descriptor each and leave in order, so a FIFO of lengths and the
// state of the oldest frame's descriptor is all it takes. Pure; the owner worker calls it.
//
//   sent        s                     n = tail (next descriptor)
//    ...........[oldest ... newest]...
//               <---- n - s ------>   offset of the oldest from the tail, forwards: size - (n - s)
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { INFLIGHT_MAX = 1024 };

struct inflight {
	uint32_t size; // descriptors of the ring, at most INFLIGHT_MAX
	uint32_t head, tail; // free-running: oldest frame not known to have left, next frame
	uint32_t bytes;
	uint16_t len[INFLIGHT_MAX];
};

static inline uint32_t inflight_frames(const struct inflight *f)
{
	return f->tail - f->head;
}

// Where the oldest frame's descriptor is, as rte_eth_tx_descriptor_status() counts. Some frame must
// be there.
static inline uint16_t inflight_oldest_offset(const struct inflight *f)
{
	return (uint16_t)(f->size - inflight_frames(f));
}

static inline void inflight_push(struct inflight *f, uint32_t len)
{
	f->len[f->tail++ % f->size] = (uint16_t)len;
	f->bytes += len;
}

static inline void inflight_pop(struct inflight *f)
{
	f->bytes -= f->len[f->head++ % f->size];
}
