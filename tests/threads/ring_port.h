// SPDX-License-Identifier: Apache-2.0
// A port between two threads of one process: the switch's worker on one side, a peer on the other,
// a ring with one producer and one consumer in each direction. Everything that passes from thread
// to thread passes through code compiled here, so that ThreadSanitizer sees it; for the same reason
// the frames come from a pool that is kept by a mutex of this file, not by a library.
//
// The peer's functions belong to one thread, `ring_port_set_up` to any. No frame is ever lost here:
// a full ring refuses.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/port_ops.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

enum { RING_PORT_FRAMES = 255 };

struct ring_port {
	struct rte_ring *in, *out; // as the switch sees them
	ctr_t in_put, out_got; // the peer's
	ctr_t in_got, out_put; // the worker's
	_Atomic bool up;
};

extern const struct port_ops ring_port_ops; // drv: struct ring_port *

// name: unique in the process. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int ring_port_init(struct ring_port *p, const char *name);
void ring_port_fini(struct ring_port *p); // both rings are empty
struct port_facts ring_port_facts(uint8_t last_mac_byte);
void ring_port_set_up(struct ring_port *p, bool up);

// The peer's side: frames it hands over and takes. False: the ring is full.
bool ring_port_send(struct ring_port *p, struct rte_mbuf *m);
unsigned ring_port_receive(struct ring_port *p, struct rte_mbuf **out, unsigned n);

// NULL on failure.
struct rte_mempool *ring_port_pool(const char *name, unsigned n_frames);
