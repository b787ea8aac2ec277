// SPDX-License-Identifier: Apache-2.0
// A random schedule while it runs (test_random.c, test_storms.c), and what must hold after each
// step of the workers: accounts that agree, pools and headroom within their sizes, pauses that
// neither lapse nor stay, and no lossless frame lost where that was promised. Exact, because
// everything runs in one thread on the virtual clock. Fails the test by cmocka's assertions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/autoecn/agent.h"
#include "dataplane/base/rng.h"
#include "tests/lab/bench.h"
#include "tests/lab/schedule_policy.h"

// VLANs that the stations are in: none, 100, 200.
enum { SCHEDULE_VLANS = 3 };

// What all schedules together went through: a run in which nothing happens proves nothing.
struct schedule_totals {
	uint64_t events, frames, pauses;
	uint64_t lost_without_promise, lost_exempt; // of lossless classes
	uint64_t refused, copies; // lossless frames to unknown addresses; of flooded frames
	uint64_t changes; // reloads that paused classes first
	uint64_t thresholds; // that queues with auto ECN got
	uint64_t group_ns, exempt_ns; // of lossless groups where there is a promise
};

struct schedule {
	struct schedule_conf conf;
	struct rng rng;
	struct bench *b;
	struct autoecn *ecn;
	struct schedule_totals *totals;
	uint64_t control_ns; // control's clock runs ahead, so that it polls links each time
	uint64_t steps;
	const char *yaml; // of the policy that runs
	unsigned pace_ns; // time that passes at once, at most; ten times as much now and then
	void (*on_event)(struct schedule *s, const struct event *e); // may be NULL
	void (*on_thresholds)(struct schedule *s, const struct autoecn_change *c); // may be NULL
	void (*before_policy)(struct schedule *s); // as a new one is published; may be NULL
	bool silent; // sources stop
	bool held;
	bool link_falls; // in this step of control
	bool quiet[SCHEDULE_PORTS]; // this host sends nothing for a while
	uint32_t may_send[SCHEDULE_PORTS]; // frames, before somebody allows more; UINT32_MAX: any
	uint8_t exempt[SCHEDULE_PORTS]; // groups whose overrun would be legal
	// Stations that the switch knows, and the port + 1 where each of them lives
	// (schedule_flood.h).
	bool known[SCHEDULE_VLANS][SCHEDULE_PORTS];
	port_no_t lives_at[SCHEDULE_VLANS][SCHEDULE_PORTS];
	struct tap *tap; // NULL: drops are not looked at
	struct together *together; // NULL: the schedule has no more than schedule_events.h
	bool was_up[SCHEDULE_PORTS]; // as schedule_follow_link saw the port last
	uint64_t counted_ns; // group_ns is up to date
	// as after the step before
	uint64_t lost[SCHEDULE_PORTS][N_CLASSES];
	uint64_t policy_seen;
	uint64_t pool_before[N_POOLS];
	uint64_t headroom_before[SCHEDULE_PORTS][N_PGS];
	uint64_t freed_ns[SCHEDULE_PORTS][N_CLASSES]; // when its XON left
};

// To be hung into bench.after_step, with the schedule as its argument.
void schedule_after_step(struct bench *b);

// Before a reload: losses of classes that were lossy until now are not judged by the next policy.
void schedule_forget_losses(struct schedule *s);

// Frames of all classes that a port dropped for this reason.
uint64_t schedule_drops(const struct schedule *s, unsigned port, enum drop_reason reason);

// A port that the switch took down, or that came up again, is a link that did: its host forgets
// the pauses that it received, and what is on the wire is lost. A PAUSE would else arrive after the
// port came up, and nobody would end it. True: the port is not as it was.
bool schedule_follow_link(struct schedule *s, unsigned port);

// Where stations live (schedule_flood.c): after a step of control, and when the workers have taken
// a step since. Then what they dropped, after each step.
void schedule_look_up(struct schedule *s, bool link_down);
void schedule_known(struct schedule *s);
void schedule_check_refused(struct schedule *s);
// All hosts are known again.
void schedule_announce(struct schedule *s);
