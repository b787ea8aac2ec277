// SPDX-License-Identifier: Apache-2.0
// The virtual link: a full-duplex wire between two ports on the virtual clock, store and forward.
//
// A frame of n bytes occupies its direction for (n + 24) * 8 / speed: gap and preamble ahead of the
// frame, FCS behind it, so its last bit leaves at the end of that time and arrives `delay` later.
// Ends are rounded up to the next nanosecond; the remainder is kept, so that back-to-back frames
// take exactly their time on the average. One frame at a time: tx_room is 0 while one is being
// sent.
//
// `struct port_ops` of an end serve a switch port or an emulated NIC. One thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port.h"
#include "drivers/wire/vclock.h"

struct wire;
struct wire_end;

struct wire_conf {
	uint64_t speed_bps;
	uint64_t delay_ns; // propagation, one way
};

// Speed of light in a cable: ceil(m / 1.98e8 s).
uint64_t wire_delay_ns(uint64_t cable_cm);

__attribute__((warn_unused_result)) int wire_create(struct vclock *clock,
						    const struct wire_conf *conf,
						    struct wire **out);
void wire_destroy(struct wire *w); // frees the frames in flight; NULL is fine
struct wire_end *wire_end(struct wire *w, unsigned side); // side 0 or 1

// Who is stepped when a frame arrives at this end, and when its line is free again.
void wire_end_attach(struct wire_end *e, struct actor *owner);

// A cut wire delivers nothing; frames in flight are lost.
void wire_set_up(struct wire *w, bool up);
uint64_t wire_lost(const struct wire *w);

extern const struct port_ops wire_ops; // drv: struct wire_end *
struct port_facts wire_facts(const struct wire_end *e, const uint8_t mac[6]);
