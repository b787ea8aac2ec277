// SPDX-License-Identifier: Apache-2.0
// Scheduler of one port's eight queues: strict classes first (highest number first), then queues
// below their guaranteed rate, then deficit weighted round robin by frame bytes (Shreedhar and
// Varghese, SIGCOMM'95). Pure: the caller says which queues have a frame and how long it is.
//
// Peek, then commit: sched_pick may be repeated without effect on the shares; only sched_commit
// spends deficit and tokens. A queue that is paused or TX-disabled is not `ready`: its turn
// passes on and its deficit stays. A queue that ran empty loses its deficit (sched_emptied).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/classify.h"
#include "dataplane/qos/shaper.h"

struct sched_params {
	uint8_t strict; // bitmap of strict queues; the others share by weight
	uint8_t has_max, has_min; // bitmaps of queues with a shaper
	uint32_t quantum_bytes[N_QUEUES]; // heaviest weight: one frame limit
	uint32_t max_frame; // frame limit of the port, bytes
	// Frame bytes, no link overhead. A port decides only between frames, so the burst must be
	// at least one max_frame of port time, or a busy port costs these rates a few per cent.
	struct shaper_params max_rate[N_QUEUES], min_rate[N_QUEUES];
};

struct sched_state {
	uint8_t turn; // queue whose DWRR turn it is
	bool turn_begun;
	int64_t deficit[N_QUEUES]; // bytes
	struct shaper_state max_rate[N_QUEUES], min_rate[N_QUEUES];
};

// Fills strict, quantum_bytes and max_frame. weights[q] is 1..1000; unused for strict queues.
void sched_params_init(struct sched_params *p, uint8_t strict, const uint32_t weights[N_QUEUES],
		       uint32_t max_frame);

// The queue to serve, or -1 when no ready queue may send now. ready: bitmap of queues that hold a
// frame and are neither paused nor disabled; head_len: length of each one's first frame.
int sched_pick_any(const struct sched_params *p, struct sched_state *s, uint8_t ready,
		   const uint32_t head_len[N_QUEUES], uint64_t now_ns);

// Whether a frame of len bytes may still go in the present DWRR turn, nothing else having priority.
static inline bool sched_turn_lasts(const struct sched_params *p, const struct sched_state *s,
				    uint8_t ready, uint32_t len)
{
	return !(ready & (p->strict | p->has_max | p->has_min)) && s->turn_begun &&
	       s->deficit[s->turn] >= (int64_t)len;
}

// The common case of sched_pick_any at once: nothing but DWRR queues, and the one whose turn it is
// still has deficit.
static inline int sched_pick(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			     const uint32_t head_len[N_QUEUES], uint64_t now_ns)
{
	unsigned q = s->turn;

	if ((ready >> q & 1) && sched_turn_lasts(p, s, ready, head_len[q]))
		return (int)q;
	return sched_pick_any(p, s, ready, head_len, now_ns);
}

// A frame of len bytes of queue q leaves.
static inline void sched_commit(const struct sched_params *p, struct sched_state *s, unsigned q,
				uint32_t len)
{
	if (p->has_max >> q & 1)
		shaper_charge(&p->max_rate[q], &s->max_rate[q], len);
	if (p->has_min >> q & 1)
		shaper_charge(&p->min_rate[q], &s->min_rate[q], len);
	if (!(p->strict >> q & 1) && s->deficit[q] > 0)
		s->deficit[q] -= len;
}

// Queue q has run empty.
static inline void sched_emptied(struct sched_state *s, unsigned q)
{
	s->deficit[q] = 0;
}

// After sched_pick said -1 with ready != 0: when the first of them has tokens again.
uint64_t sched_ready_at(const struct sched_params *p, const struct sched_state *s, uint8_t ready,
			uint64_t now_ns);
