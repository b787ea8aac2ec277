// SPDX-License-Identifier: Apache-2.0
// An AF_XDP port, for the files of the driver.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <xdp/xsk.h>

#include "dataplane/port_ops.h"
#include "drivers/xdp/area.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/netdev.h"
#include "drivers/xdp/weir_xdp.h"

struct xdp_port {
	// ---- owner worker
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill;
	struct xsk_ring_prod tx;
	struct xsk_ring_cons completion;
	struct rte_mempool *pool;
	struct xdp_area area; // or not open: the registered memory is that of the pool
	uintptr_t base; // of the registered memory
	uint64_t *owned; // one bit per slot: the buffer there is with the kernel
	uint32_t header; // from the start of an element to its mbuf
	uint32_t fill_debt; // buffers the kernel should have and has not
	uint32_t pending_bytes;
	uint32_t pending_descs; // of the transmit ring, not completed
	uint32_t tx_limit_bytes;
	uint32_t tx_empty_bytes; // what an empty ring takes: tx_limit_bytes or the driver's least
	uint32_t tx_size;
	uint32_t max_frame;
	uint32_t longest; // frame that the program lets pass, bytes
	struct rte_mbuf *head; // first buffer of a frame that is not complete; NULL: none
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
	bool long_frames; // of several buffers
};

// As port_ops.reasons and port_ops.stats.
unsigned xdp_reasons(void *drv, struct port_reason *out, unsigned n);
void xdp_stats(void *drv, struct port_drv_stats *out);
