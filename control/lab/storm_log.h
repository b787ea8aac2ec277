// SPDX-License-Identifier: Apache-2.0
// What the watchdogs of a fabric's switches said, with the exact times: storms detected, restored
// and escalated, in the order in which control heard of them. Filled by the fabric's control from
// events; read by metrics and reports. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/switch.h"

enum storm_what { STORM_DETECTED, STORM_RESTORED, STORM_ESCALATED, N_STORM_WHAT };

struct storm_record {
	uint64_t t_ns;
	uint32_t sw;
	uint8_t port, cls, what; // enum storm_what
};

struct storm_log {
	struct storm_record *records;
	uint32_t n, cap;
	bool short_of_memory;
};

void storm_log_fini(struct storm_log *l);
void storm_log_event(struct storm_log *l, uint32_t sw, const struct event *e);
// A switch lost events: what its counters know of and the log does not is put at the time of the
// class's last change, the nearest that is known.
void storm_log_catch_up(struct storm_log *l, uint32_t sw, const struct weir_switch *s);

// Which records count. port, cls -1: all; sw UINT32_MAX: all switches.
struct storm_pick {
	uint32_t sw;
	int port, cls;
	enum storm_what what;
	uint64_t from_ns, to_ns; // from included, to not
};
uint64_t storm_log_count(const struct storm_log *l, const struct storm_pick *p);
// When the nth of them was, from 1. False: there are less.
bool storm_log_nth(const struct storm_log *l, const struct storm_pick *p, uint64_t nth,
		   uint64_t *t_ns);
