// SPDX-License-Identifier: Apache-2.0
// A random schedule with PFC storms (test_storms.c), and what must hold after each step of the
// workers besides what schedule.h checks. Storms begin and end at the nanosecond that the policy
// says. An unprotected class neither obeys PFC nor gets any but the one XON it is owed, and takes
// no headroom; any other obeys what its neighbour said last, even if that was during the storm.
// The storm's counters agree with those of queue and group. Frames are discarded only where an
// order for it stands, and then all of them. What control escalates is predicted by a plain list of
// storms. Judged from outside, by what any user of switch.h can read.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/qos/watchdog.h"
#include "drivers/wire/vclock.h"
#include "tests/lab/schedule_events.h"

enum { STORM_LIMIT_MAX = 8 };

// A host that storms: one PFC frame each period.
struct storm_maker {
	struct storm_schedule *x;
	struct vtimer timer;
	uint8_t classes;
	uint16_t quanta;
	uint64_t period_ns, until_ns;
};

// What happened to frames of a class, by the storm's counters and by those of queue and group.
struct storm_frames {
	uint64_t tx_ok, tx_dropped, rx_ok, rx_dropped;
};

// Of one (port, class), as after the step before.
struct storm_class {
	bool unprotected, stormed;
	uint64_t detected, restored;
	uint64_t began_ns; // of the storm
	uint64_t pfc_sent; // PFC frames of the class
	uint64_t unprotected_ns; // since when
	bool owes_xon; // it was paused by us when that began
	uint64_t discarded; // frames, reason watchdog
	uint64_t discarded_ns; // since when its frames are; 0: they are not
	uint64_t headroom; // cells of its group
	bool excused; // its group or the ring was full when the class began to obey again
	struct storm_frames storm, frames;
	// the model of escalation
	uint64_t storm_ns[STORM_LIMIT_MAX];
	unsigned n_storms;
	uint64_t n_records; // of storms, since the start
	bool escalated;
	int records_due; // of escalations; 0 when control has no more records
};

struct storm_totals {
	uint64_t storms, exact, discarded, escalated, recovered, excused;
};

struct storm_schedule {
	struct schedule s; // first: the hooks of the schedule are handed this
	bool fast; // times of microseconds, as no policy file can say; else those of files
	bool drops_all;
	struct watchdog_params watchdog[SCHEDULE_PORTS]; // of the next policy
	bool watched[SCHEDULE_PORTS];
	struct pfc_warning_params warning;
	struct storm_maker maker[SCHEDULE_PORTS];
	struct storm_class at[SCHEDULE_PORTS][N_CLASSES];
	uint64_t disturbed_ns; // when somebody last changed what begins and ends storms
	uint64_t lost_events; // the model is blind from there on
	uint64_t storm_records, over_records;
	struct storm_totals *totals;
};

// bench_opts.adjust with the schedule as its argument.
void storm_adjust(struct policy *p, void *arg);
// bench.after_step, schedule.on_event.
void storm_after_step(struct bench *b);
void storm_on_event(struct schedule *s, const struct event *e);
// The model after something else than a storm: a step of control, a reload.
void storm_check_escalations(struct storm_schedule *x);
void storm_new_policy(struct storm_schedule *x);
void storm_recover(struct storm_schedule *x, unsigned port, unsigned cls);
