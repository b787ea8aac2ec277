// SPDX-License-Identifier: Apache-2.0
// Impairment of a port: drops, delays, duplicates, reorders, marks or damages frames that match a
// rule, as a bad link would. It stands between the driver and the switch. A frame that arrives is
// impaired before the switch sees it, so address table, flows, accounts and captures know only
// what came through. A frame that leaves is impaired when it is out of its queue. The port's owner
// calls it, and only while the port has a rule or holds a frame (port.impaired).
//
// The first rule of a port that changes a frame is the only one that does. Rules end by themselves,
// after a time or a number of frames. Frames of MAC control (PFC) and of link-local groups (LLDP,
// LACP) are never impaired, nor are frames that do not parse.
//
// Frames that are delayed or reordered are held here, IMPAIR_HELD_MAX of a port and direction at
// most. They are charged to no group and no queue, and each takes a frame of the pool, as a copy of
// a flooded frame does (replica.h): the ingress pool has one free cell less. In the balance they
// are queued frames of the port. A frame that finds no room passes.
#pragma once

#include "dataplane/switch_impair.h"
#include "dataplane/switch_impl.h"

struct impair_held {
	struct frame f; // on its way in only its mbuf; on its way out without cells
	uint64_t due_ns, flow;
	uint16_t left; // frames of its flow that it waits for; 0: of a delay
	uint8_t slot;
};

// Frames that are held, by the time they are due.
struct impair_list {
	unsigned first, n, n_reordered;
	struct impair_held held[IMPAIR_HELD_MAX];
};

// A rule of a port. Control writes `id`, `rule` and `base` while the slot is free or over, and
// makes it ordered; then all but `stop` is the worker's until it is over.
struct impair_slot {
	_Atomic uint8_t state; // enum impair_state; each side writes with release
	_Atomic bool stop; // control wants it over
	_Atomic uint8_t why; // enum impair_why
	uint32_t id;
	gauge_t end_ns, held;
	ctr_t hits, changed, unable;
	struct {
		uint64_t hits, changed, unable;
	} base; // as the rule began
	struct impair_rule rule;
	struct impair_memory memory;
};

// Of a port; made with its first rule, and kept.
struct impair {
	uint16_t on[N_IMPAIR_DIRECTIONS]; // bitmaps of slots, in order of their rules
	struct impair_held spare[IMPAIR_HELD_MAX]; // of expedite()
	struct impair_list list[N_IMPAIR_DIRECTIONS];
	struct impair_slot slot[IMPAIR_SLOTS];
};

// Polls the driver of a port with impairments, in place of ingress_poll. True when there may be
// more.
bool impair_poll(struct worker *w, struct port *p);

// n frames are out of the queues of the port, a burst of the driver at most. Returns how many leave
// now, which are in frames[].
uint16_t impair_depart(struct worker *w, struct port *p, struct frame *frames, uint16_t n);
// Writes frames that are due, n at most and of no more than `room` bytes. Returns how many.
uint16_t impair_due(struct worker *w, struct port *p, struct frame *frames, uint16_t n,
		    int64_t room);

// Ends rules whose time is over. Returns when the port must be looked at again for the sake of a
// held frame or of a rule.
uint64_t impair_next(struct worker *w, struct port *p);
static inline uint64_t impair_wake(struct worker *w, struct port *p)
{
	return unlikely(p->impaired) ? impair_next(w, p) : UINT64_MAX;
}

// Control wants other rules. The link of the port has changed: frames on their way in arrive now,
// frames on their way out end.
void impair_take(struct worker *w, struct port *p);
void impair_link_changed(struct worker *w, struct port *p);
// The switch ends, and the worker has stopped: frees what is held, and all memory of impairments.
void impair_end(struct worker *w);
void impair_free(struct impair *im); // switch_impair.c
