// SPDX-License-Identifier: Apache-2.0
// What a responder of selective repeat has taken behind a gap, and which packets it asks for again.
// A window of PSNs from the expected one (epsn) on. Pure. Called by the responder.
//
//    epsn
//   | missing | held | missing | held | trimmed |
//
// A missing PSN is asked for once, when a packet behind it comes. A trimmed packet overtakes those
// before it. So it is asked for each time that it comes trimmed, and they are not.
//
// Where a switch trims, its queue is full: what is asked for at once would be trimmed again. So a
// NAK waits until a packet comes, which has left the queue. Each lets one NAK go, and every eighth
// one more. A NAK does not wait where no packet is on its way.
//
// Packets come again in the order of their NAKs. So one that comes says that those of earlier NAKs
// are lost again, and they are asked for once more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/frames.h"

enum { REORDER_PKTS = 1024, REORDER_WORDS = REORDER_PKTS / 64 };

// All of a packet but its payload.
struct reorder_pkt {
	uint64_t va;
	uint32_t rkey, dma_len, payload_len, payload_sum;
	uint8_t opcode;
	bool ack_req;
};

// PSN p has place p % REORDER_PKTS.
struct reorder {
	uint64_t held[REORDER_WORDS]; // has come
	uint64_t asked[REORDER_WORDS]; // is missing, and a NAK has left or is due
	uint64_t due[REORDER_WORDS]; // of those, the NAK is due
	uint32_t n_held, n_asked, n_due;
	uint32_t end; // behind the last PSN that has come
	uint32_t top; // behind the last PSN that has come trimmed
	uint32_t may_ask, n_came; // NAKs that need not wait; packets that have come
	uint32_t n_naks, nak_no[REORDER_PKTS]; // that have left; of a packet its last one
	struct reorder_pkt pkts[REORDER_PKTS];
};

void reorder_init(struct reorder *o, uint32_t epsn);

// A packet came that is less than REORDER_PKTS ahead of epsn. False: it was here.
bool reorder_hold(struct reorder *o, uint32_t epsn, const struct roce_pkt *pkt);

// A packet came trimmed, less than REORDER_PKTS ahead of epsn, or at it.
void reorder_trimmed(struct reorder *o, uint32_t epsn, uint32_t psn);

// A packet came, and is missing no more.
void reorder_came(struct reorder *o, uint32_t psn);

// Takes the packet at epsn out; false: it is not here.
bool reorder_take(struct reorder *o, uint32_t epsn, struct roce_pkt *pkt);

bool reorder_asks(const struct reorder *o); // a NAK may leave now
uint32_t reorder_due(const struct reorder *o, uint32_t epsn); // the first PSN that it is due for
// The NAK for this PSN has left.
void reorder_asked(struct reorder *o, uint32_t psn);
