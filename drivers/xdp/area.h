// SPDX-License-Identifier: Apache-2.0
// Memory of one AF_XDP port: chunks that the port and the kernel hand each other. Frames are copied
// from them into mbufs of the pool, and back.
//
// The kernel makes a record of some 140 bytes for each chunk that each port may use, and zeros it
// first. Where all ports use the pool of the process (xdp.h), these are ports times pages of the
// pool: with 32 ports a gigabyte, and most of the time of a start. An area is as long as the rings
// of its port.
//
// The owner worker of the port takes and gives; the control thread opens and closes.
#pragma once

#include <stdint.h>
#include <string.h>

struct xdp_area {
	uint8_t *memory; // NULL: not open. The kernel names a chunk by its offset, in bytes
	uint64_t len; // bytes
	uint32_t chunk; // bytes
	uint32_t n_free;
	uint32_t *free; // numbers of chunks
	uint16_t *sent; // of each chunk: bytes of it in the transmit ring
};

// 0 or -ENOMEM, after which it is not open.
int xdp_area_open(struct xdp_area *a, uint32_t n_chunks, uint32_t chunk_bytes);
// Takes all chunks back, of a socket that is closed.
void xdp_area_reset(struct xdp_area *a);
// Also one that is not open.
void xdp_area_close(struct xdp_area *a);

// Only when n_free > 0.
static inline uint64_t xdp_area_take(struct xdp_area *a)
{
	return (uint64_t)a->free[--a->n_free] * a->chunk;
}

// Any address in the chunk.
static inline void xdp_area_give(struct xdp_area *a, uint64_t addr)
{
	a->free[a->n_free++] = (uint32_t)(addr / a->chunk);
}

// Copies up to a chunk to where the kernel reads it; only when n_free > 0. Returns its address.
static inline uint64_t xdp_area_put(struct xdp_area *a, const void *data, uint32_t len)
{
	uint64_t addr = xdp_area_take(a);

	memcpy(a->memory + addr, data, len);
	a->sent[addr / a->chunk] = (uint16_t)len;
	return addr;
}

// The kernel has sent a chunk. Returns how many bytes of it.
static inline uint32_t xdp_area_sent(struct xdp_area *a, uint64_t addr)
{
	xdp_area_give(a, addr);
	return a->sent[addr / a->chunk];
}
