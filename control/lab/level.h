// SPDX-License-Identifier: Apache-2.0
// The length of queues over time, exact to the nanosecond and the byte: its integral, the time
// above a level, and a histogram. A length holds from the instant at which a switch has done what
// it had to do until its next change. Each reader lends a struct level; the fabric calls after each
// step of a switch that is watched. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "dataplane/base/port_no.h"

struct fabric;

__extension__ typedef unsigned __int128 level_area; // bytes times nanoseconds

struct level {
	// What is wanted. port, queue of -1: the sum over all.
	uint32_t sw;
	int16_t port, queue;
	uint64_t above_bytes; // time above it is counted
	uint64_t bin_bytes; // 0: no histogram
	// What was found.
	uint64_t from_ns, to_ns; // so far
	uint64_t bytes, max_bytes; // now; the most
	uint64_t above_ns;
	level_area area;
	uint64_t *bin_ns; // bin i: the time at i * bin_bytes up to, but not, (i + 1) * bin_bytes
	uint64_t n_bins;
	bool out_of_memory; // bins are missing
	TAILQ_ENTRY(level) next;
};
TAILQ_HEAD(levels, level);

// From now on.
void level_begin(struct fabric *f, struct level *l);
// Up to now, and no further. Ending what has not begun is a defect.
void level_end(struct fabric *f, struct level *l);
void level_fini(struct level *l); // the histogram

// NaN: no time has passed.
double level_mean_bytes(const struct level *l);
double level_share_above(const struct level *l);

// ---- of the fabric
void level_switch_stepped(struct fabric *f, uint32_t sw);

// ---- instants
// Instants that are seen exactly, not by samples: when a queue's length first rose above kmin, and
// when a reaction point first lowered its rate. Whoever wants to know one lends a struct watch for
// as long as it waits. The fabric calls it after each step of a switch that has watches, and
// from its NICs. Single thread.

struct watch {
	uint64_t t_ns; // UINT64_MAX: it has not happened
	uint32_t node; // switch or host; UINT32_MAX: all
	int16_t port, queue; // of a crossing; -1: all
	uint8_t above[POLICY_MAX_PORTS]; // queues that are above kmin: as many as there are classes
	struct watches *of; // the list that it waits in
	TAILQ_ENTRY(watch) next;
};
TAILQ_HEAD(watches, watch);

// From now on. node: a switch; the length at this moment is where it begins: a queue that is above
// kmin already crosses it when it comes back.
void watch_crossing(struct fabric *f, struct watch *w);
// node: a host.
void watch_cut(struct fabric *f, struct watch *w);
// Gives the struct back. Ending what has not begun, or has ended, is a defect.
void watch_end(struct watch *w);

// ---- of the fabric
void watch_switch_stepped(struct fabric *f, uint32_t sw);
void watch_host_cut(struct fabric *f, uint32_t host, uint64_t now_ns);
