// SPDX-License-Identifier: Apache-2.0
// Microbursts of a switch, from the records of its workers (dataplane/qos/microburst.h): which
// windows form a burst, the bursts that are kept, and the last windows of each queue and group.
//
// A burst is a run of windows of one part, each of which reached the share `from` of its limit. It
// is kept from its first window on and grows in place. The switch keeps the last BURSTLOG_KEPT of
// all parts. It has no window that lies between two records of a part, because the part was empty
// there. On any clock: the caller says what time it is. The control thread calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/qos/microburst.h"

struct weir_switch;
struct burstlog;

enum {
	BURSTLOG_KEPT = 1024, // bursts
	BURSTLOG_WINDOWS = 1024, // of each part
	BURSTLOG_PEAK_S = 15, // the peak of a part is of so many seconds, and a part of one
};

struct burst {
	uint64_t t_ns, wall_ns; // when it began: switch time, time of day
	uint64_t span_ns; // so far
	uint64_t peak_bytes, headroom_bytes;
	uint16_t share; // the highest, per mille of the limit
	port_no_t port;
	uint8_t part;
};

// Now. A slowed switch lives `time_scale` times slower than the time of day.
struct burst_clock {
	uint64_t switch_ns, wall_ns;
	uint32_t time_scale;
	// Reads the clock again. Records are made while control stands still between its clock and
	// them, and none of them may seem to be of the future. NULL: a clock that stands still.
	void (*again)(void *arg, struct burst_clock *now);
	void *arg;
};

// Since the start, or since the last burstlog_clear.
struct burst_counts {
	uint64_t bursts, over_ns; // over: time in bursts
};

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int burstlog_create(unsigned n_ports, struct burstlog **out);
void burstlog_destroy(struct burstlog *l); // NULL is fine

// Takes the records of the workers. To be called every few milliseconds.
void burstlog_poll(struct burstlog *l, struct weir_switch *sw, const struct burst_clock *now);

// The counters of burstlog_counts count from here.
void burstlog_clear(struct burstlog *l);

uint64_t burstlog_total(const struct burstlog *l); // bursts since the start; NULL: none
// The i-th before the latest, which is 0; NULL: it is not kept.
const struct burst *burstlog_latest(const struct burstlog *l, unsigned i);
struct burst_counts burstlog_counts(const struct burstlog *l, unsigned port, unsigned part,
				    bool since_start);
// The most bytes of the part in the last seconds; of a group without headroom.
uint64_t burstlog_peak(const struct burstlog *l, unsigned port, unsigned part);
// Peaks of the last n windows that are over, the oldest first; n is BURSTLOG_WINDOWS at most.
// Returns the highest.
uint64_t burstlog_windows(const struct burstlog *l, unsigned port, unsigned part, unsigned n,
			  uint32_t *out);
