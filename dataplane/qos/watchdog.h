// SPDX-License-Identifier: Apache-2.0
// PFC watchdog of one (port, class): distinguishes a storm from a useful pause, and says when the
// class may obey PFC again. SONiC's pfcwd and NVIDIA's (mode progress), H3C's and
// Huawei's deadlock detection (mode xoff). Pure: pause state and time come in, a verdict goes out.
// The worker that owns the port calls it and acts (storm.h); control counts storms and
// escalates (switch_watchdog.c).
//
//                detect reached                            restore reached
//   [WATCHING] ------------------> [STORMED: recovery] ------------------> [WATCHING]
//                                        |    ^ alert: nothing but the state changes
//                                        +----+ progress: a PAUSE of the class begins restore anew
//
//   mode      the detection clock starts at the latest of        restored
//   xoff      the pause began, the watchdog was armed            exactly `restore` after detection
//   progress  as xoff, the queue became non-empty, a frame       `restore` after the later of
//             of it left                                         detection and the last PAUSE frame
//
// A storm is detected at the first look at or after clock + detect, restored likewise: exact on the
// virtual clock, late by no more than the longest loop gap live. An empty queue has no clock in
// progress mode. It knows nothing of schedulers: a queue that waits for a strict one, or is
// TX-disabled, is not paused. It does not decide what a recovery does to frames.
//
// A pause lasts from its PAUSE to its end, that instant not included: one that runs out, or is
// answered by XON, exactly at clock + detect is no storm. Its caller therefore ends
// pauses that have run out before it asks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/packet/classify.h"

enum watchdog_mode { WATCHDOG_XOFF, WATCHDOG_PROGRESS };
enum watchdog_action { WATCHDOG_DROP, WATCHDOG_FORWARD, WATCHDOG_ALERT };
enum watchdog_then { WATCHDOG_PFC_OFF, WATCHDOG_PORT_DOWN };

enum {
	WATCHDOG_LIMIT_MAX = 256, // storms counted for escalation
	WATCHDOG_RECENT = 64, // storms whose time of detection is kept
};

// Of one port.
struct watchdog_params {
	uint8_t classes; // bitmap of those watched: lossless ones that obey PFC
	uint8_t mode; // enum watchdog_mode
	uint8_t action; // enum watchdog_action
	uint8_t then; // enum watchdog_then
	uint64_t detect_ns, restore_ns;
	uint32_t limit_count; // storms of a class within the window escalate; 0: never
	uint64_t limit_window_ns;
	struct watchdog_times {
		uint64_t detect_ns, restore_ns;
	} own[N_CLASSES]; // in place of the port's; 0: the port's
};

static inline uint64_t watchdog_detect_ns(const struct watchdog_params *p, unsigned cls)
{
	return p->own[cls].detect_ns != 0 ? p->own[cls].detect_ns : p->detect_ns;
}

static inline uint64_t watchdog_restore_ns(const struct watchdog_params *p, unsigned cls)
{
	return p->own[cls].restore_ns != 0 ? p->own[cls].restore_ns : p->restore_ns;
}

enum watchdog_state_id { WATCHDOG_WATCHING, WATCHDOG_STORMED };

// What has happened to frames of the class. tx: of the queue it leaves by; rx: that arrived here,
// and copies of those, as each is admitted or dropped for itself. Dropped: whatever the reason.
struct watchdog_frames {
	ctr_t tx_ok, tx_dropped, rx_ok, rx_dropped;
};

// Of one (port, class). Written by the port's owner, read by control one word at a time.
struct watchdog_class {
	gauge_t state; // enum watchdog_state_id
	gauge_t since_ns; // of the present state
	gauge_t last_pause_ns; // arrival of the class's last PAUSE in recovery
	gauge_t armed_ns; // no pause counts from before
	ctr_t detected, restored;
	gauge_t detected_ns[WATCHDOG_RECENT]; // of storm n, counted from 0, at n % WATCHDOG_RECENT
	gauge_t measured_ns; // clock to detection, of the last storm
	gauge_t storm_longest_ns; // detection to restoration
	struct watchdog_frames total, last; // in all storms; in the present or last one
};

// What the owner knows of a class at this moment.
struct watchdog_look {
	uint64_t paused_ns; // when its present pause began; 0: not paused
	uint64_t waiting_ns; // when its queue became non-empty; 0: it is empty
	uint64_t sent_ns; // when a frame of it last left
	unsigned cls;
};

enum watchdog_verdict { WATCHDOG_NOTHING, WATCHDOG_DETECTED, WATCHDOG_RESTORED };

// The class starts to be watched at now_ns, in state WATCHING; counters stay.
void watchdog_arm(struct watchdog_class *c, uint64_t now_ns);

// What is due now. Changes nothing.
enum watchdog_verdict watchdog_decide(const struct watchdog_params *p,
				      const struct watchdog_class *c,
				      const struct watchdog_look *look, uint64_t now_ns);

// When watchdog_decide next says something if nothing else happens; UINT64_MAX: never.
uint64_t watchdog_next(const struct watchdog_params *p, const struct watchdog_class *c,
		       const struct watchdog_look *look);

// Acts on a verdict: state, counters, times.
void watchdog_enter(const struct watchdog_params *p, struct watchdog_class *c,
		    const struct watchdog_look *look, uint64_t now_ns);
void watchdog_leave(struct watchdog_class *c, uint64_t now_ns);

// A PAUSE (time not 0) of a class in recovery arrived.
static inline void watchdog_on_pause(struct watchdog_class *c, uint64_t now_ns)
{
	gauge_set(&c->last_pause_ns, now_ns);
}

// When storm n of the class was detected; n counts from 0 and is below `detected`. Control may call
// it. 0: the time is no longer kept. It is kept for the last WATCHDOG_RECENT - 1 storms.
uint64_t watchdog_detected_ns(const struct watchdog_class *c, uint64_t n);

static inline bool watchdog_stormed(const struct watchdog_class *c)
{
	return gauge_get(&c->state) == WATCHDOG_STORMED;
}

// ---- escalation: how many storms within the window (control's side)

struct watchdog_limit {
	uint64_t at_ns[WATCHDOG_LIMIT_MAX]; // of the latest storms, oldest overwritten
	uint32_t n; // since the last start
};

// A storm was detected at t_ns. True: with it `limit_count` storms fall within the window that ends
// at t_ns, and the class is to be escalated; counting starts anew.
bool watchdog_limit_storm(const struct watchdog_params *p, struct watchdog_limit *l, uint64_t t_ns);
