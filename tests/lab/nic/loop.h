// SPDX-License-Identifier: Apache-2.0
// Two NICs back to back on a clock of the test's own: a port that delays, loses, repeats,
// corrupts and reorders frames by seed, and a tap that sees every frame as it is sent. One
// thread; brings up EAL without hugepages.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/nic.h"

enum { LOOP_POOL = 8191, LOOP_IP0 = 0x0a000001, LOOP_IP1 = 0x0a000002 };

// One in n frames, 0: none.
struct loop_faults {
	uint32_t loss, repeat, corrupt, reorder;
	uint32_t ce; // marked CE on the way
	bool spare_management; // neither ARP nor connection management is hit
};

typedef void loop_tap_fn(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame,
			 uint32_t len);

struct loop {
	struct nic *nic[2];
	uint64_t now_ns;
	uint64_t wake_ns[2];
	uint64_t delay_ns;
	struct loop_faults faults;
	loop_tap_fn *tap;
	void *tap_arg;
	uint64_t lost, repeated, corrupted, reordered, marked;
	struct loop_port *port[2];
	uint64_t n_steps;
};

// Both configurations start from nic_config_default with 100G lines, verify on, and side 1
// listening; edit may change them. Fails the test on error.
void loop_up(struct loop *l, uint64_t seed, void (*edit)(unsigned side, struct nic_config *c));
// Checks that every frame went back to the pool.
void loop_down(struct loop *l);

// Runs to until_ns; step_ns 0: from wake-up to wake-up, else also every step_ns.
void loop_run(struct loop *l, uint64_t until_ns, uint64_t step_ns);

// Runs until all n flows of side 0 have completed what they posted and posting ended. False:
// not by limit_ns.
bool loop_finish(struct loop *l, const uint32_t *flows, uint32_t n, uint64_t limit_ns);

// A frame from nowhere arrives at a side now.
void loop_inject(struct loop *l, unsigned side, const uint8_t *frame, uint32_t len);
// Of which only the first bytes are stored.
void loop_inject_stored(struct loop *l, unsigned side, const uint8_t *frame, uint32_t stored,
			uint32_t len);

struct nic_stats loop_stats(const struct loop *l, unsigned side);
