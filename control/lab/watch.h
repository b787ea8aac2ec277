// SPDX-License-Identifier: Apache-2.0
// Instants that are seen exactly, not by samples: when a queue's length first rose above kmin, and
// when a reaction point first lowered its rate. Whoever wants to know one lends a struct watch for
// as long as it waits. The fabric calls it after each step of a switch that somebody watches, and
// from its NICs. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "dataplane/policy.h"

struct fabric;

struct watch {
	uint64_t t_ns; // UINT64_MAX: it has not happened
	uint32_t node; // switch or host; UINT32_MAX: all
	int16_t port, queue; // of a crossing; -1: all
	uint8_t above[POLICY_MAX_PORTS]; // queues that are above kmin: as many as there are classes
	TAILQ_ENTRY(watch) next;
};
TAILQ_HEAD(watches, watch);

// From now on. node: a switch; the length at this moment is where it begins: a queue that is above
// kmin already crosses it when it comes back.
void watch_crossing(struct fabric *f, struct watch *w);
// node: a host.
void watch_cut(struct fabric *f, struct watch *w);
// Gives the struct back. Ending what has not begun, or has ended, is a defect.
void watch_crossing_end(struct fabric *f, struct watch *w);
void watch_cut_end(struct fabric *f, struct watch *w);

// ---- of the fabric
void watch_switch_stepped(struct fabric *f, uint32_t sw);
void watch_host_cut(struct fabric *f, uint32_t host, uint64_t now_ns);
