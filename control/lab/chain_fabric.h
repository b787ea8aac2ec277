// SPDX-License-Identifier: Apache-2.0
// The chains of PAUSE (chain.h) of a fabric: which groups are in XOFF, who is plugged in at the
// other end, why a host pauses, and which queues stand still. Looked at by the control of the
// fabric, each millisecond of virtual time; changes nothing there. A fabric in which nothing is
// paused costs one look at each group.
#pragma once

#include <stdio.h>

#include "control/lab/chain.h"
#include "control/lab/fabric.h"

// A queue while it is paused and not empty.
struct chain_still {
	uint64_t sent; // frames that have left, and times that it was paused
	uint64_t since_ns, look;
};

struct chain_fabric {
	struct chain chain;
	struct chain_still *still; // by port of the scenario and class
	uint64_t *walked; // look at which a chain began there
};

__attribute__((warn_unused_result)) struct chain_fabric *
chain_fabric_create(const struct scenario *sc); // NULL: no memory
void chain_fabric_destroy(struct chain_fabric *c); // NULL is fine
void chain_fabric_look(struct fabric *f);

// Queues of a switch that at the last look had been paused, not empty and without a departure for
// stuck_ns. port, cls: -1: all.
uint32_t chain_fabric_stuck(const struct fabric *f, uint32_t sw, int port, int cls);

// "s2.p1.3 <- s1.p3.3 <- host h3 (storm since 5ms)"; of a cycle the first queue is also the last.
void chain_fabric_text(const struct scenario *sc, const struct chain_finding *f, FILE *out);
