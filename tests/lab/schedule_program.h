// SPDX-License-Identifier: Apache-2.0
// The program around a random schedule: which seeds, how many events, how a failure is replayed,
// and how few events still make it fail.
//
//   NAME [SEED | --seeds FROM-TO] [--events N] [--workers N] [--bisect]
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct schedule_program {
	const char *name; // as it is called
	const char *claim; // what its schedules show
	int (*setup)(void **state); // cmocka's, of all schedules; NULL: bench_eal
	void (*run)(struct schedule_program *p, uint64_t seed); // one schedule; fails by assertions
	void (*finish)(struct schedule_program *p); // after the last one
	uint64_t from, to; // seeds
	unsigned n_events; // of each schedule
	unsigned n_workers; // 0: as the seed says
	bool bisect;
	bool as_in_the_suite; // nobody asked for fewer seeds or events
	uint64_t running_seed; // 0: none
};

// The program as its fields say, unless the arguments say otherwise. Returns the exit code.
int schedule_main(struct schedule_program *p, int argc, char **argv);
