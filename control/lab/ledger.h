// SPDX-License-Identifier: Apache-2.0
// Records of the switches of a running fabric, for metrics and reports: storms, bytes of paired
// flows, and notifications. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

// ---- storms
// The events of the watchdogs of a fabric's switches, with the exact times: storms detected,
// restored and escalated, in the order in which control received them. The fabric's control adds
// them; metrics and reports read them.

enum storm_what { STORM_DETECTED, STORM_RESTORED, STORM_ESCALATED, N_STORM_WHAT };

struct storm_record {
	uint64_t t_ns;
	uint32_t sw;
	port_no_t port;
	uint8_t cls, what; // enum storm_what
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

// ---- bytes of paired flows
// Bytes that entered a switch in flows whose sender's queue pair was known meanwhile, and in the
// others. The switch counts bytes of a flow and knows its pair now. At each sample flow_book_look
// reads all flows and adds the bytes since the last sample. The first reader begins the account.
//
//   at both looks     the pair that it had at both, of the same source
//   first seen        static, cm, read: known before its data came. Others: as none
//   anything else     none
//
// So the share that is paired is never more than true, and less by what flows carried between two
// looks while they were paired.

struct flow_seen {
	struct flow_key key;
	uint64_t first_ns, bytes;
	uint8_t source; // enum pair_source
};

struct flow_book {
	struct flow_seen *seen; // by place
	uint32_t n_places;
	uint64_t bytes[N_PAIR_SOURCES];
	uint64_t looked_ns;
	bool short_of_memory;
};

// At now_ns; a second look at the same instant changes nothing.
void flow_book_look(struct flow_book *b, struct weir_switch *sw, uint64_t now_ns);
void flow_book_fini(struct flow_book *b);

// ---- notifications
// Whether each notification that a switch sent was for the queue pair it should be for: the fabric
// knows what a switch can only infer. Every record of a CNP is compared, at the instant of the step
// in which it was sent, with the NIC of the flow's source. Single thread; changes nothing there.
//
//   right   the queue pair named is the one whose peer is the flow's receiver
//   late    it was, and no queue pair has its number since: no sender slows down
//   wrong   anything else: another sender would slow down. It must not happen.

struct fabric;
struct scenario;

struct cnp_counts {
	uint64_t sent, late, wrong; // late and wrong are of those sent
	uint64_t by_source[N_PAIR_SOURCES]; // of those sent: how the pair was learnt
};

enum { CNPS_KEPT = 500 };

struct cnp_judge {
	const struct scenario *sc;
	struct cnp_counts *queues; // by port of the scenario and queue: the congested one
	struct cnp_counts all;
	uint64_t lost; // records that no longer could be looked at
	struct cnp_kept {
		uint32_t sw;
		struct cnp_record record;
	} kept[CNPS_KEPT]; // the latest; number n, from 0 on, is at n % CNPS_KEPT
	uint64_t n_kept; // all so far
	bool seen; // the first wrong one
	uint32_t first_sw;
	struct cnp_record first;
};

__attribute__((warn_unused_result)) struct cnp_judge *
cnp_judge_create(const struct scenario *sc); // NULL: no memory
void cnp_judge_destroy(struct cnp_judge *j); // NULL is fine

// After a step of the switch.
void cnp_judge_look(struct fabric *f, uint32_t sw);

// Of the congested queues of a switch (UINT32_MAX: of all). port, queue: -1: all.
struct cnp_counts cnp_judge_counts(const struct cnp_judge *j, uint32_t sw, int port, int queue);
