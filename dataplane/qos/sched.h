// SPDX-License-Identifier: Apache-2.0
// Scheduler of one port's eight queues: strict classes first (highest number first), then queues
// below their guaranteed rate, then deficit weighted round robin by frame bytes (Shreedhar and
// Varghese, SIGCOMM'95). Pure: the caller says which queues have a frame and how long it is.
//
// Peek, then spend: sched_pick may be repeated without effect on the shares; only a run of frames
// (sched_run) spends deficit and tokens. A queue that is paused or TX-disabled is not `ready`: its
// turn passes on and its deficit stays. A queue that ran empty loses its deficit (sched_emptied).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/compiler.h"
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

// The common case of sched_pick_any at once: nothing but DWRR queues, and the one whose turn it is
// still has deficit.
static inline int sched_pick(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			     const uint32_t head_len[N_QUEUES], uint64_t now_ns)
{
	unsigned q = s->turn;

	if ((ready >> q & 1) && !(ready & (p->strict | p->has_max | p->has_min)) &&
	    s->turn_begun && s->deficit[q] >= (int64_t)head_len[q])
		return (int)q;
	return sched_pick_any(p, s, ready, head_len, now_ns);
}

// Queue q has run empty.
static inline void sched_emptied(struct sched_state *s, unsigned q)
{
	s->deficit[q] = 0;
}

// A run: frames of one queue that leave one after the other, as long as sched_pick would choose
// that queue each time. The run holds the deficit and the rates until it ends.
struct sched_run {
	int64_t left; // deficit; of a strict queue more than all frames
	uint32_t refill; // quantum of the only queue that waits for a turn; 0: the run ends
	bool by_min; // the queue was chosen because it is below its guaranteed rate
	bool shaped; // it has a rate of its own, and these are its buckets
	struct shaper_state max_rate, min_rate;
};

// Just after sched_pick chose queue q among those that are ready.
static inline struct sched_run sched_run_begin(const struct sched_params *p,
					       const struct sched_state *s, unsigned q,
					       uint8_t ready)
{
	uint8_t bit = (uint8_t)(1u << q), others = ready & (uint8_t)~(p->strict | bit);
	struct sched_run r = {.left = s->deficit[q]};

	for_each_bit (o, others & p->has_max)
		if (!shaper_ready(&p->max_rate[o], &s->max_rate[o]))
			others &= (uint8_t)~(1u << o);
	if (p->strict & bit)
		r.left = INT64_MAX;
	else if (others == 0)
		r.refill = p->quantum_bytes[q];
	if (unlikely((p->has_max | p->has_min) & bit)) {
		r.shaped = true;
		r.max_rate = s->max_rate[q];
		r.min_rate = s->min_rate[q];
		r.by_min = !(p->strict & bit) && (p->has_min & bit) &&
			   shaper_ready(&p->min_rate[q], &r.min_rate);
	}
	return r;
}

// A frame of len bytes leaves.
static inline void sched_run_spend(const struct sched_params *p, struct sched_run *r, unsigned q,
				   uint32_t len)
{
	if (r->left > 0)
		r->left -= len;
	if (unlikely(r->shaped)) {
		shaper_charge(&p->max_rate[q], &r->max_rate, len);
		shaper_charge(&p->min_rate[q], &r->min_rate, len);
	}
}

// Whether a frame of len bytes may be the next one. The queue then has deficit for it.
static inline bool sched_run_lasts(const struct sched_params *p, struct sched_run *r, unsigned q,
				   uint32_t len)
{
	if (unlikely(r->shaped)) {
		if (!shaper_ready(&p->max_rate[q], &r->max_rate))
			return false;
		if (r->by_min)
			return shaper_ready(&p->min_rate[q], &r->min_rate);
	}
	if (r->left >= (int64_t)len)
		return true;
	if (r->refill == 0)
		return false;
	// As many rounds as it takes, in which no other queue sends.
	r->left += r->refill;
	if (unlikely(r->left < (int64_t)len))
		r->left += (len - r->left + r->refill - 1) / r->refill * r->refill;
	return true;
}

static inline void sched_run_end(const struct sched_params *p, struct sched_state *s,
				 const struct sched_run *r, unsigned q)
{
	if (!(p->strict >> q & 1))
		s->deficit[q] = r->left;
	if (unlikely(r->shaped)) {
		s->max_rate[q] = r->max_rate;
		s->min_rate[q] = r->min_rate;
	}
}

// After sched_pick said -1 with ready != 0: when the first of them has tokens again.
uint64_t sched_ready_at(const struct sched_params *p, const struct sched_state *s, uint8_t ready,
			uint64_t now_ns);
