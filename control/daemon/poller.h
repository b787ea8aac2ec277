// SPDX-License-Identifier: Apache-2.0
// The threads that run the workers: read the clock, do a loop, and rest a little when nothing
// moves. The control thread starts and stops them; each thread runs on an EAL lcore of its own.
//
//   A worker rests (some tens of microseconds) when for REST_AFTER_NS no frame came or went and
//   nothing is due before the rest would end. Its receive ring covers the rest. After
//   BLOCK_AFTER_NS it waits in poll(2) for a frame, if the drivers of all its ports can wait: the
//   one system call that a worker's loop makes itself. The wait ends after BLOCK_NS at the latest,
//   for what control asks of the worker, and before the stand-in takes the worker for stalled.
//   With busy_poll a worker never rests. Rests are real time; workers are stepped in model time.
#pragma once

#include <stdbool.h>

#include "control/daemon/clock.h"
#include "dataplane/switch.h"
#include "drivers/standin/standin.h"

struct pollers;

struct pollers_how {
	bool busy_poll;
	uint32_t time_scale; // S: model time passes S times slower than real time
	struct standin_shared *standin; // for the workers' heartbeats
};

// Starts all workers of sw. 0 or -errno.
__attribute__((warn_unused_result)) int pollers_start(struct weir_switch *sw,
						      const struct tsc_clock *clock,
						      const struct pollers_how *how,
						      struct pollers **out);
// Stops them and waits for them; NULL is fine.
void pollers_stop(struct pollers *p);
