// SPDX-License-Identifier: Apache-2.0
// The virtual link: a full-duplex wire between two ports on the virtual clock, store and forward.
//
// A frame of n bytes occupies its direction for (n + 24) * 8 / speed: gap and preamble ahead of the
// frame, FCS behind it, so its last bit leaves at the end of that time and arrives `delay` later.
// Ends are rounded up to the next nanosecond; the remainder is kept, so that back-to-back frames
// take exactly their time on the average. One frame at a time: tx_room is 0 while one is being
// sent. MAC control has no way of its own.
//
// Each direction may lose frames, and both may change speed and delay while they run. A lost frame
// takes its time on the line. What was taken in so far keeps its end and arrival, and no frame
// overtakes another.
//
// `struct port_ops` of an end serve a switch port or an emulated NIC. One thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_ops.h"
#include "drivers/wire/vclock.h"

struct wire;
struct wire_end;

struct wire_conf {
	uint64_t speed_bps;
	uint64_t delay_ns; // propagation, one way
};

// Speed of light in a cable: ceil(m / 1.98e8 s).
uint64_t wire_delay_ns(uint64_t cable_cm);

// 0, -ENOMEM; -EINVAL without a speed.
__attribute__((warn_unused_result)) int wire_create(struct vclock *clock,
						    const struct wire_conf *conf,
						    struct wire **out);
void wire_destroy(struct wire *w); // frees the frames in flight; NULL is fine
struct wire_end *wire_end(struct wire *w, unsigned side); // side 0 or 1

// Who is stepped when a frame arrives at this end, and when its line is free again after it was
// found busy (tx_room, tx). A line that was not found busy wakes no owner.
void wire_end_attach(struct wire_end *e, struct actor *owner);

// What the owner will read when it is stepped, for a simulation larger than the caches: `fetch` is
// called with `of` for each event, and asks the processor for that memory. All events of an instant
// run before the owners are stepped.
enum wire_event { WIRE_ARRIVAL, WIRE_FREE };
typedef void wire_fetch_fn(const void *of, enum wire_event event);
void wire_end_fetch(struct wire_end *e, wire_fetch_fn *fetch, const void *of);

extern const struct port_ops wire_ops; // drv: struct wire_end *
// As the wire was made: ports do not see faults.
struct port_facts wire_facts(const struct wire_end *e, const uint8_t mac[6]);

// ---- faults

// A cut wire delivers nothing; frames in flight are lost.
void wire_set_up(struct wire *w, bool up);

enum { WIRE_CERTAIN_PPB = 1000000000 };

// Which frames a direction loses: those that chance or their number picks out of the eligible ones.
struct wire_loss {
	uint32_t chance_ppb; // out of a billion; 0: chance picks none
	uint32_t every_nth; // the nth eligible frame from now on, the 2nth, ...; 0: none
	uint32_t longer_than_bytes; // only frames of more bytes are eligible
	uint32_t shorter_than_bytes; // and of fewer; 0: of any length
	bool spares_control; // MAC control is not
	uint64_t seed; // of the chance
};

// From now on, for frames that leave by this end. NULL: none is lost any more.
void wire_set_loss(struct wire_end *from, const struct wire_loss *loss);

// The speed of frames that start from now on; not 0. That of the wire as it was made: wire_speed.
void wire_set_speed(struct wire *w, uint64_t bps);
uint64_t wire_speed(const struct wire *w); // for tests
// The propagation of frames that start from now on.
void wire_set_delay(struct wire *w, uint64_t delay_ns);

// ---- counts

enum wire_loss_cause { WIRE_LOST_CUT, WIRE_LOST_FAULT, WIRE_LOST_MEMORY, WIRE_N_LOSSES };

// Of the direction out of an end.
struct wire_counts {
	uint64_t frames, bytes; // sent: taken from the port; bytes without FCS and gap
	uint64_t delivered; // frames taken by the port at the other end
	uint64_t lost[WIRE_N_LOSSES]; // frames
	uint64_t in_flight; // frames on their way, or arrived and not yet taken
	uint64_t busy_ns; // how long the line was occupied until now, rounded down
};
struct wire_counts wire_counts(const struct wire_end *from);

// Whether sent = delivered + lost + in flight.
bool wire_balanced(const struct wire_counts *c);
