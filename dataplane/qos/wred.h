// SPDX-License-Identifier: Apache-2.0
// WRED and ECN marking: the congestion point of DCQCN (SIGCOMM'15, section 3.1) on RFC 3168
// codepoints. Called by the egress owner; pure: the length and the random number are arguments.
//
//   p(len) = pmax * (len - kmin) / (kmax - kmin)         kmin < len <= kmax
//
//   len           Not-ECT                 ECT(0), ECT(1)                    CE
//   <= kmin       pass                    pass                              pass
//   kmin..kmax    drop with p             mark with p                       pass
//   > kmax        drop                    mark: all, or with pmax           pass
//
// `not_ect_drop` false: Not-ECT frames pass. `ecn` false: every frame counts as Not-ECT. len counts
// frame bytes: at enqueue without the arriving frame, at dequeue without the leaving one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/classify.h"

struct wred_curve {
	uint64_t kmin_bytes, kmax_bytes; // below 2^37
	uint64_t pmax_q32; // 2^32: always
	// pmax / (kmax - kmin), fixed point Q48. Truncated: p is low by less than 2^-48 * (kmax -
	// kmin), that is 4e-7 over 100 MB, and 3e-4 over 64 GB.
	uint64_t slope_q48;
};

struct wred_params {
	bool enabled;
	bool ecn;
	bool above_kmax_all; // else pmax above kmax
	bool mark_at_dequeue; // else at enqueue. Drops are always decided at enqueue.
	bool not_ect_drop;
	uint8_t weight; // EWMA: avg += (len - avg) / 2^weight; 0: instantaneous
	struct wred_curve curve[N_COLORS];
};

// One per queue. The average is updated once per frame, where its fate is decided. Arrivals that
// may be dropped count even when marking is at dequeue: a queue that drops all of them has no
// departures that could bring its average down again.
struct wred_state {
	uint64_t avg_q16; // bytes, Q16
};

enum wred_verdict { WRED_PASS, WRED_MARK, WRED_DROP };

// Whether the queue drops frames such as this one in place of a mark. That is decided on arrival.
static inline bool wred_drops(const struct wred_params *p, enum ecn ecn)
{
	return p->not_ect_drop && (!p->ecn || ecn == ECN_NOT_ECT);
}

// Whether a frame is dropped, marked or passed on arrival; else it is marked or not as it leaves.
static inline bool wred_decides_at_enqueue(const struct wred_params *p, enum ecn ecn)
{
	return !p->mark_at_dequeue || wred_drops(p, ecn);
}

// Whether any frame at all has its fate decided on arrival.
static inline bool wred_acts_at_enqueue(const struct wred_params *p)
{
	return p->enabled && (!p->mark_at_dequeue || p->not_ect_drop);
}

// Whether frames may have their fate decided as they leave.
static inline bool wred_acts_at_dequeue(const struct wred_params *p)
{
	return p->enabled && p->mark_at_dequeue;
}

// Whether every frame passes where wred_acts_at_dequeue, as long as the queue holds at most
// len_bytes.
static inline bool wred_passes_all(const struct wred_params *p, uint64_t len_bytes)
{
	uint64_t kmin = UINT64_MAX;

	for (unsigned color = 0; color < N_COLORS; color++)
		kmin = p->curve[color].kmin_bytes < kmin ? p->curve[color].kmin_bytes : kmin;
	return !p->not_ect_drop && p->weight == 0 && len_bytes <= kmin;
}

// kmin <= kmax in bytes, pmax in millionths (1,000,000 = 100 %).
struct wred_curve wred_curve_of(uint64_t kmin_bytes, uint64_t kmax_bytes, uint32_t pmax_ppm);

// Updates the average with the length now; returns the length to decide by, in bytes.
static inline uint64_t wred_average(const struct wred_params *p, struct wred_state *s,
				    uint64_t len_bytes)
{
	int64_t diff;

	if (p->weight == 0)
		return len_bytes;
	diff = (int64_t)(len_bytes << 16) - (int64_t)s->avg_q16;
	s->avg_q16 = (uint64_t)((int64_t)s->avg_q16 + (diff >> p->weight));
	return s->avg_q16 >> 16;
}

// The chance that a frame is marked or dropped at this length above kmin, in Q32: 2^32 is always.
// certain_above: always above kmax, else with pmax.
static inline uint64_t wred_chance_q32(const struct wred_curve *c, uint64_t len_bytes,
				       bool certain_above)
{
	if (len_bytes > c->kmax_bytes)
		return certain_above ? 1ull << 32 : c->pmax_q32;
	// The product is at most pmax * 2^48, so it fits.
	return ((len_bytes - c->kmin_bytes) * c->slope_q48) >> 16;
}

// The verdict where the length is above kmin of the colour.
enum wred_verdict wred_above_kmin(const struct wred_params *p, uint64_t len_bytes, unsigned color,
				  enum ecn ecn, uint32_t rnd);

// The verdict for one frame of the given codepoint and colour. rnd is uniform over 32 bits.
static inline enum wred_verdict wred_decide(const struct wred_params *p, uint64_t len_bytes,
					    unsigned color, enum ecn ecn, uint32_t rnd)
{
	if (len_bytes <= p->curve[color].kmin_bytes)
		return WRED_PASS;
	return wred_above_kmin(p, len_bytes, color, ecn, rnd);
}

// The same as wred_decide(...) == WRED_MARK, for a queue that drops nothing. Which frames of many
// are marked is chance, so the answer takes no branch.
static inline bool wred_marks(const struct wred_params *p, uint64_t len_bytes, unsigned color,
			      enum ecn ecn, uint32_t rnd)
{
	enum { ECT = 1u << ECN_ECT0 | 1u << ECN_ECT1 };
	const struct wred_curve *c = &p->curve[color];

	return (len_bytes > c->kmin_bytes) & (ECT >> ecn & 1) & p->ecn &
	       (rnd < wred_chance_q32(c, len_bytes, p->above_kmax_all));
}
