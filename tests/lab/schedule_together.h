// SPDX-License-Identifier: Apache-2.0
// Random schedules in which all features meet (schedule_policy.h, `together`): their hosts send the
// frames of schedule_net.h, and zones, impairments and loops come and go beside what
// schedule_events.h has. What must hold for each feature, after each step of the workers:
//
//   zones            a frame is dropped as `zone` if and only if its two hosts are apart
//   impairments      as many frames are dropped as `impaired` as the rules say they dropped
//   storm control    as many frames are dropped as `storm-control` as were counted as limited
//   sticky           a frame is refused only if its address lives at another port that is sticky,
//                    and no address leaves such a port
//   loop detection   only a probe that came back takes a port down
//
// One thread, as schedule.h.
#pragma once

#include "tests/lab/feature_pairs.h"
#include "tests/lab/schedule_flood.h"
#include "tests/lab/schedule_net.h"

enum {
	TOGETHER_RULES = 1024, // of impairment, in one schedule
	TOGETHER_PROBE_MAX = 128,
};

struct together_totals {
	struct feature_pairs pairs;
	uint64_t zoned, impaired, limited, refused, ports_down, cnps, turned, tunnelled;
};

struct together_rule {
	uint32_t id;
	unsigned port;
	bool drops;
	uint64_t changed;
};

struct together {
	struct together_totals *totals;
	struct net_view view;
	struct net_frame next[SCHEDULE_PORTS]; // of each host; may wait for the end of a PAUSE
	bool reloaded; // since pairs were counted last
	bool policy_changes; // nobody knows where addresses live
	bool table_is_new; // since the last step of control
	struct net_zones zones;
	uint16_t stamp; // grows with each change of the zones
	struct together_rule rule[TOGETHER_RULES];
	unsigned n_rules;
	uint8_t probe[SCHEDULE_PORTS][TOGETHER_PROBE_MAX]; // the last one that the host received
	uint16_t probe_len[SCHEDULE_PORTS];
	bool probe_came_back;
};

// After schedule_open and schedule_flood_open, and before schedule_flood_close. The totals outlive
// the schedule.
void together_open(struct schedule *s, struct together_totals *totals);
// All that is no policy's ends: zones, impairments.
void together_calm_down(struct schedule *s);
void together_close(struct schedule *s);

// Hooks of the schedule; s->together is not NULL.
bool together_traffic(struct schedule *s, unsigned port, struct bench_frame *out);
void together_before_policy(struct schedule *s);
void together_after_policy(struct schedule *s);
bool together_table_changes(const struct schedule *s); // in this step of control
void together_after_step(struct schedule *s);
void together_after_event(struct schedule *s);
void together_judge_drop(struct schedule *s, const struct tap_record *r);

// Events. They do nothing in another schedule.
void zones_change(struct schedule *s);
void impairment_begins(struct schedule *s);
void impairments_stop(struct schedule *s);
void a_probe_comes_back(struct schedule *s);
