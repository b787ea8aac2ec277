// SPDX-License-Identifier: Apache-2.0
// ARP requests and IPv6 neighbour discovery to a group concern the host's stack and the stations
// behind the switch alike. The XDP program can give a frame to one of them only, so it gives these
// to the stack, and the switch takes its copy from a packet socket whose ring both sides see: a
// look costs one load and no system call. Control opens and closes, the owner worker reads.
#pragma once

#include <stdint.h>

#include "dataplane/counter.h"

struct rte_mbuf;
struct rte_mempool;

struct xdp_copies {
	// ---- owner worker
	uint8_t *ring; // NULL: none
	uint32_t next;
	ctr_t lost; // too long for a slot, or no mbuf

	// ---- control
	int fd;
	uint64_t overflowed; // frames the ring had no room for, as far as they were asked for
};

// 0 or -errno; c is valid for copies_close() in any case.
__attribute__((warn_unused_result)) int copies_open(struct xdp_copies *c, int ifindex);
void copies_close(struct xdp_copies *c);

// Takes up to n frames, tags put back in place.
uint16_t copies_rx(struct xdp_copies *c, struct rte_mempool *pool, struct rte_mbuf **pkts,
		   uint16_t n);

// Frames that the stack has got and the switch never will.
uint64_t copies_lost(struct xdp_copies *c);
