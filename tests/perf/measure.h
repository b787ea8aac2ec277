// SPDX-License-Identifier: Apache-2.0
// Runs the workers of a rig for short rounds and counts what each round cost. The machine may be
// shared and noisy: a round in which the kernel took a worker off its core is marked, and the
// smallest figure of many rounds is the one that says what the code costs.
//
// The main thread calls everything here and sleeps while the workers run.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/perf/rig.h"

struct round {
	uint64_t packets; // transmitted, all ports
	uint64_t cycles; // of all workers
	uint64_t busy_cycles; // of the loops that moved a frame
	uint64_t elapsed_cycles; // of the slowest worker
	uint64_t loops, busy_loops;
	uint64_t rx_cycles, tx_cycles; // in drivers, where they are timed
	uint64_t preempted; // times the kernel took a worker off its core
};

// One round of about the given time.
struct round measure_round(struct rig *r, uint64_t ns);

// Lets every egress queue fill to n frames, then lets it go: in and out are equal from then on.
// 0, or -ETIMEDOUT when they do not fill, after the reason was printed.
__attribute__((warn_unused_result)) int measure_stand(struct rig *r, uint64_t n);

// Empties all queues; receiving goes on afterwards. 0 or -ETIMEDOUT, after the reason was printed.
__attribute__((warn_unused_result)) int measure_drain(struct rig *r);

// What a measurement must not have met.
uint64_t measure_dropped(const struct rig *r);
uint64_t measure_pauses_sent(const struct rig *r); // PFC frames that enabled a class
uint64_t measure_queued(const struct rig *r);
uint64_t measure_marked(const struct rig *r);
