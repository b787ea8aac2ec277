// SPDX-License-Identifier: Apache-2.0
// Why a PAUSE was sent: the egress queue that held most of the priority group's cells at that
// moment, and whether it was itself paused. One hop of a chain; control/lab/chain.h joins the hops
// of several switches. Pure. The port's owner records a cause whenever a PAUSE of the
// group leaves, refreshes included; control reads it, two words, one at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/port_no.h"
#include "dataplane/packet/classify.h"

enum cause_kind {
	CAUSE_NONE, // no PAUSE of the group was sent yet
	CAUSE_QUEUE, // an egress queue holds the group's buffer
	CAUSE_RX_RING, // the worker was late: frames wait in the port's receive ring
};

struct pause_cause {
	uint64_t t_ns; // when the PAUSE left
	uint8_t kind; // enum cause_kind
	port_no_t out_port;
	uint8_t queue;
	uint8_t cls; // class of the queue whose frames wait: the paused one, if one is
	bool paused; // the queue was paused by its peer
	uint32_t held_cells; // of the group, in that queue
};

// As it lies in the port: CAUSE_NONE is all zero.
struct cause_record {
	gauge_t t_ns, packed;
};

static inline uint64_t cause_pack(const struct pause_cause *c)
{
	return (uint64_t)c->held_cells << 32 | (uint64_t)c->paused << 31 | (uint64_t)c->kind << 28 |
	       (uint64_t)c->out_port << 12 | (uint64_t)c->queue << 8 | c->cls;
}

static inline struct pause_cause cause_unpack(uint64_t t_ns, uint64_t packed)
{
	return (struct pause_cause){
		.t_ns = t_ns,
		.held_cells = (uint32_t)(packed >> 32),
		.paused = packed >> 31 & 1,
		.kind = packed >> 28 & 7,
		.out_port = (port_no_t)(packed >> 12),
		.queue = packed >> 8 & 0xf,
		.cls = (uint8_t)packed,
	};
}

// Looks at the queues of one port: held, the cells of the group in each. Called port by port, in
// order, from a cause of kind CAUSE_NONE on; of queues that hold equally many the first wins.
void cause_offer(struct pause_cause *c, unsigned port, const uint32_t held[N_QUEUES]);

// Says of the queue found whether it is paused and which of its classes waits: the lowest that is
// paused, else the lowest lossless one, else the lowest. paused, lossless: bitmaps of the classes
// of c->out_port.
void cause_name_class(struct pause_cause *c, const uint8_t class_to_queue[N_CLASSES],
		      uint8_t paused, uint8_t lossless);
