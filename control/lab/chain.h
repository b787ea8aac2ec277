// SPDX-License-Identifier: Apache-2.0
// Why a fabric stands still: joins what each switch knows of its own PAUSE frames (qos/cause.h)
// into chains over all of them, and keeps what they end in. Pure: who pauses whom is asked through
// struct chain_view. Called at fixed instants of the virtual clock; it looks only at queues that it
// is given as a beginning, and at those behind them.
//
//   group in XOFF -> the queue that holds most of it -> paused? by whom?
//                       ^                                 |- no: congestion, no finding
//                       |                                 |- by a host: a root
//                       +-- by a group of the next switch +- a queue of this chain: a cycle
//
// A cycle is a deadlock only when it stands still: no frame has left any of its queues for
// `stuck_ns`, and each was paused and not empty all the time. No healthy PAUSE lasts that long. A
// cyclic dependency of which queues still drain is reported as a cyclic dependency. A queue is
// no finding if it is only offered more than its port sends, or if its transmission is off. Such
// queues are counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/lab/fabric.h"

enum { CHAIN_MAX_HOPS = 1024, CHAIN_MAX_FINDINGS = 4096 };

// A queue of a switch, by the class whose frames wait in it.
struct chain_queue {
	uint32_t sw;
	port_no_t port;
	uint8_t cls;
};

enum chain_by {
	CHAIN_BY_NONE, // it is not paused, or only until a PAUSE that is over has run out
	CHAIN_BY_HOST,
	CHAIN_BY_SWITCH,
};

enum chain_reason { REASON_UNKNOWN, REASON_STORM, REASON_SLOW_RECEIVER, N_CHAIN_REASONS };
extern const char *const chain_reason_name[N_CHAIN_REASONS]; // "host", "storm", "slow receiver"

// Who keeps a queue from sending.
struct chain_pause {
	uint8_t by; // enum chain_by
	uint8_t reason; // HOST: enum chain_reason
	uint32_t host; // HOST
	uint64_t since_ns; // HOST: when the storm began; 0: not known
	struct chain_queue next; // SWITCH: what holds most of the group that pauses
};

struct chain_view {
	struct chain_pause (*paused_by)(const void *arg, struct chain_queue q);
	// Since when it is paused, not empty and has sent nothing; UINT64_MAX: it is not so.
	uint64_t (*still_since)(const void *arg, struct chain_queue q);
	// A chain ends there in congestion.
	void (*congested)(const void *arg, struct chain_queue q);
	const void *arg;
};

enum chain_kind { CHAIN_DEADLOCK, CHAIN_CYCLIC, CHAIN_ROOT, N_CHAIN_KINDS };
extern const char *const chain_kind_name[N_CHAIN_KINDS]; // "deadlock", "cyclic", "root"

struct chain_finding {
	uint8_t kind; // enum chain_kind; a cycle that stood still once is a deadlock
	uint8_t cls, reason; // ROOT: class that the host pauses, and why
	uint32_t host; // ROOT
	uint64_t since_ns; // ROOT: when its storm began, of the first seen; 0: not known
	// Cycles: from the lowest queue on, each waits for the next, the last for the first. ROOT:
	// the longest chain seen; the last queue is that which the host pauses.
	struct chain_queue *queues;
	uint32_t n_queues;
	// Deadlocks: of the time for which nothing moved; others: for which it was there.
	uint64_t first_ns, last_ns, longest_ns;
	uint32_t times; // how often it came anew
	bool now; // at the last look
	// its own
	uint64_t spell_ns; // when it came last
	uint64_t look; // the last one that saw it
};

struct chain {
	uint64_t stuck_ns;
	struct chain_finding *findings; // in the order in which they were found
	uint32_t n, cap;
	uint64_t look, now_ns;
	uint64_t left_out; // times that something was found beyond CHAIN_MAX_FINDINGS
	bool short_of_memory; // something was found that could not be kept
};

void chain_init(struct chain *c, uint64_t stuck_ns);
void chain_fini(struct chain *c);

// One look: begin, a walk from each queue that holds most of a group in XOFF, end.
void chain_begin(struct chain *c, uint64_t now_ns);
void chain_walk(struct chain *c, const struct chain_view *v, struct chain_queue from);
void chain_end(struct chain *c);

// Findings that were there at or after from_ns: of one kind, or of all (N_CHAIN_KINDS).
uint32_t chain_count(const struct chain *c, enum chain_kind kind, uint64_t from_ns);
// Of those the ones that name this host as root.
uint32_t chain_count_host(const struct chain *c, uint32_t host, uint64_t from_ns);
// Deadlocks through exactly these n switches, each once, in any order.
uint32_t chain_count_cycle(const struct chain *c, const uint32_t *switches, uint32_t n,
			   uint64_t from_ns);

// Indices of the findings, the longest first; of equal ones the first found. room: c->n.
void chain_rank(const struct chain *c, uint32_t *order);

// ---- of a fabric
// The chains of PAUSE (above) of a fabric: which groups are in XOFF, who is plugged in at the
// other end, why a host pauses, and which queues stand still. Looked at by the control of the
// fabric, each millisecond of virtual time; changes nothing there. A fabric in which nothing is
// paused costs one look at each group.

// A queue while it is paused and not empty.
struct chain_still {
	uint64_t sent; // frames that have left, and times that it was paused
	uint64_t since_ns, look;
};

struct chain_fabric {
	struct chain chain;
	struct chain_still *still; // by port of the scenario and class
	uint64_t *walked; // look at which a chain began there
	uint64_t *congested; // likewise: chains that ended there in congestion
	bool *stopped; // likewise: of the last of them, transmission was off
};

__attribute__((warn_unused_result)) struct chain_fabric *
chain_fabric_create(const struct scenario *sc); // NULL: no memory
void chain_fabric_destroy(struct chain_fabric *c); // NULL is fine
void chain_fabric_look(struct fabric *f);

// Queues of a switch that at the last look had been paused, not empty and without a departure for
// stuck_ns. port, cls: -1: all.
uint32_t chain_fabric_stuck(const struct fabric *f, uint32_t sw, int port, int cls);

// Up to `room` queues in which most chains ended in congestion, the most first. Returns how many
// such queues there are.
struct chain_congested {
	struct chain_queue queue;
	uint64_t chains;
	bool stopped; // the fault `tx_off` kept it from sending
};
uint32_t chain_fabric_congested(const struct fabric *f, struct chain_congested *out, uint32_t room);

// "s2.p1.3 <- s1.p3.3 <- host h3 (storm since 5ms)"; of a cycle the first queue is also the last.
void chain_fabric_text(const struct scenario *sc, const struct chain_finding *f, FILE *out);
