// SPDX-License-Identifier: Apache-2.0
// The inside of an AF_XDP port, shared by its hot half (rings.c, the owner worker) and its slow
// half (xdp.c, control). Addresses that the kernel sees are offsets into the pool's
// memory in the unaligned form: start of the element in the low 48 bits, distance to the data in
// the upper 16.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <xdp/xsk.h>

#include "dataplane/counter.h"
#include "dataplane/port_ops.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/copies.h"
#include "drivers/xdp/netdev.h"
#include "drivers/xdp/weir_xdp.h"
#include "drivers/xdp/xdp.h"

// An element is at least this long, the kernel's smallest buffer: a slot holds one start at most.
enum { XDP_SLOT_LOG2 = 11 };

struct xdp_port {
	// ---- owner worker
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill;
	struct xsk_ring_prod tx;
	struct xsk_ring_cons completion;
	struct rte_mempool *pool;
	uintptr_t base; // of the registered memory
	uint64_t *owned; // one bit per slot: the buffer there is with the kernel
	uint32_t header; // from the start of an element to its mbuf
	uint32_t fill_debt; // buffers the kernel should have and has not
	uint32_t pending_bytes;
	uint32_t pending_frames;
	uint32_t tx_limit_bytes;
	uint32_t tx_empty_bytes; // what an empty ring takes: tx_limit_bytes or the driver's least
	uint32_t tx_size;
	uint32_t max_frame;
	uint32_t longest; // frame that the kernel puts into a buffer, bytes
	bool finish; // checksums that the sender left unfinished
	int fd;
	const struct weir_xdp_pause *pause; // owned by attach
	struct xdp_copies copies;
	ctr_t tx_errors, finished;

	// ---- control
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct netdev dev;
	struct xdp_attach attach;
	struct netdev_state at_open, latest; // latest: as last read
	uint64_t counts_at_open[WEIR_XDP_N_COUNTS]; // of the program
	unsigned bind_tries;
	uint64_t base_len;
	bool zero_copy;
	bool native;
};

static inline uint64_t xdp_chunk(const struct xdp_port *p, const struct rte_mbuf *m)
{
	return (uint64_t)((uintptr_t)m - p->base - p->header);
}

static inline struct rte_mbuf *xdp_mbuf(const struct xdp_port *p, uint64_t addr)
{
	return (struct rte_mbuf *)(p->base + xsk_umem__extract_addr(addr) + p->header);
}

static inline void xdp_own(struct xdp_port *p, uint64_t chunk)
{
	p->owned[chunk >> XDP_SLOT_LOG2 >> 6] |= 1ull << (chunk >> XDP_SLOT_LOG2 & 63);
}

static inline void xdp_disown(struct xdp_port *p, uint64_t chunk)
{
	p->owned[chunk >> XDP_SLOT_LOG2 >> 6] &= ~(1ull << (chunk >> XDP_SLOT_LOG2 & 63));
}

static inline bool xdp_owns(const struct xdp_port *p, uint64_t chunk)
{
	return (p->owned[chunk >> XDP_SLOT_LOG2 >> 6] >> (chunk >> XDP_SLOT_LOG2 & 63) & 1) != 0;
}

// Gives the kernel as many of the missing buffers as the pool has.
void xdp_refill(struct xdp_port *p);

uint16_t xdp_rx(void *drv, struct rte_mbuf **pkts, uint16_t n);
int32_t xdp_rx_depth(void *drv);
int32_t xdp_tx_room(void *drv);
uint16_t xdp_tx(void *drv, struct rte_mbuf **pkts, uint16_t n);
uint32_t xdp_tx_pending(void *drv);
bool xdp_pause(void *drv, unsigned cls, struct port_pause *out);
