// SPDX-License-Identifier: Apache-2.0
// What may happen in a random schedule (schedule.h), whoever draws it: traffic, pauses, links,
// TX-disable, reloads, held admission, steps of control; and how it ends.
#pragma once

#include "tests/lab/schedule.h"

struct schedule_event {
	unsigned weight;
	void (*happen)(struct schedule *s);
};

static inline unsigned pick(struct schedule *s, unsigned n)
{
	return rng_next(&s->rng) % n;
}

// The bench with a policy and hosts for s->conf, which has been drawn. o: whatever else there is.
void schedule_open(struct schedule *s, const struct bench_opts *o);
// One of n events happens; then the balance is exact.
void schedule_happen(struct schedule *s, const struct schedule_event *events, unsigned n);

// The workers take over what control wants.
void schedule_settle(struct schedule *s);
void schedule_control(struct schedule *s);
// Auto ECN looks at the queues. All its thresholds are within their rails then.
void schedule_look(struct schedule *s);
void schedule_set_link(struct schedule *s, unsigned port, bool up);
void schedule_hold(struct schedule *s, bool on);
void schedule_publish(struct schedule *s, const char *yaml);

// What hosts send by themselves: the next frame of the schedule at h->source_arg.
bool schedule_traffic(struct bench_host *h, struct bench_frame *out);

// Events.
void time_passes(struct schedule *s);
void host_pauses(struct schedule *s);
void host_resumes(struct schedule *s);
void host_is_heard_or_not(struct schedule *s);
void host_sends_nonsense(struct schedule *s);
void tx_goes_off_or_on(struct schedule *s);
void link_goes_down_or_up(struct schedule *s);
void policy_is_replaced(struct schedule *s);
void admission_is_held_or_resumed(struct schedule *s);
void watermarks_are_cleared(struct schedule *s);

// The end: sources are silent, links, TX and admission on, and all that stands has had its time.
void schedule_everything_on(struct schedule *s);
void schedule_nothing_is_left(const struct schedule *s);
void schedule_frames_cross(struct schedule *s);
