// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/sched.h"

#include "dataplane/base/bits.h"

void sched_params_init(struct sched_params *p, uint8_t strict, const uint32_t weights[N_QUEUES],
		       uint32_t max_frame)
{
	uint32_t most = 1, base;

	p->strict = strict;
	p->max_frame = max_frame;
	for (unsigned q = 0; q < N_QUEUES; q++)
		if (!(strict >> q & 1) && weights[q] > most)
			most = weights[q];
	// Frames are short where the MTU is. The least weight is still a byte.
	base = max_frame > most ? max_frame : most;
	for (unsigned q = 0; q < N_QUEUES; q++)
		p->quantum_bytes[q] =
			strict >> q & 1 ? 0 : (uint32_t)((uint64_t)base * weights[q] / most);
}

static int highest(uint8_t bits)
{
	return bits == 0 ? -1 : 31 - __builtin_clz(bits);
}

// Updates the token buckets of the ready queues; clears those above their maximum rate.
static uint8_t within_max_rate(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			       uint64_t now_ns)
{
	for_each_bit (q, ready & p->has_max) {
		shaper_update(&p->max_rate[q], &s->max_rate[q], now_ns);
		if (!shaper_ready(&p->max_rate[q], &s->max_rate[q]))
			ready &= (uint8_t)~(1u << q);
	}
	return ready;
}

static uint8_t below_min_rate(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			      uint64_t now_ns)
{
	uint8_t below = 0;

	for_each_bit (q, ready & p->has_min) {
		shaper_update(&p->min_rate[q], &s->min_rate[q], now_ns);
		if (shaper_ready(&p->min_rate[q], &s->min_rate[q]))
			below |= (uint8_t)(1u << q);
	}
	return below;
}

// A queue whose turn was cut short still has deficit for its next frame: it finishes that turn and
// gets no second quantum. So what it may send in one turn stays below quantum + one frame.
static void begin_turn(const struct sched_params *p, struct sched_state *s, unsigned q,
		       uint32_t head_len)
{
	s->turn = (uint8_t)q;
	s->turn_begun = true;
	if (s->deficit[q] < (int64_t)head_len)
		s->deficit[q] += p->quantum_bytes[q];
}

// One round over the queues, from the one whose turn it is; -1 when no deficit covers a frame yet.
static int dwrr_round(const struct sched_params *p, struct sched_state *s, uint8_t ready,
		      const uint32_t head_len[N_QUEUES])
{
	for (unsigned i = 0; i < N_QUEUES; i++) {
		unsigned q = s->turn;

		if (ready >> q & 1) {
			if (!s->turn_begun)
				begin_turn(p, s, q, head_len[q]);
			if (s->deficit[q] >= (int64_t)head_len[q])
				return (int)q;
		}
		s->turn = (uint8_t)((q + 1) % N_QUEUES);
		s->turn_begun = false;
	}
	return -1;
}

// After a round in vain: the rounds that would be in vain too, all at once. Every ready queue is
// short of a frame, so none gains more than it would have by waiting.
static void dwrr_skip_rounds(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			     const uint32_t head_len[N_QUEUES])
{
	int64_t in_vain = INT64_MAX;

	for_each_bit (q, ready) {
		int64_t rounds = (head_len[q] - s->deficit[q] - 1) / p->quantum_bytes[q];

		if (rounds < in_vain)
			in_vain = rounds;
	}
	for_each_bit (q, ready) {
		s->deficit[q] += in_vain * p->quantum_bytes[q];
	}
}

static int dwrr_pick(const struct sched_params *p, struct sched_state *s, uint8_t ready,
		     const uint32_t head_len[N_QUEUES])
{
	int q = dwrr_round(p, s, ready, head_len);

	while (q < 0) {
		dwrr_skip_rounds(p, s, ready, head_len);
		q = dwrr_round(p, s, ready, head_len);
	}
	return q;
}

int sched_pick_any(const struct sched_params *p, struct sched_state *s, uint8_t ready,
		   const uint32_t head_len[N_QUEUES], uint64_t now_ns)
{
	uint8_t below;

	ready = within_max_rate(p, s, ready, now_ns);
	if (ready & p->strict)
		return highest(ready & p->strict);
	if (ready == 0)
		return -1;
	below = below_min_rate(p, s, ready, now_ns);
	if (below != 0)
		return highest(below);
	return dwrr_pick(p, s, ready, head_len);
}

uint64_t sched_ready_at(const struct sched_params *p, const struct sched_state *s, uint8_t ready,
			uint64_t now_ns)
{
	uint64_t at = UINT64_MAX;

	for_each_bit (q, ready & p->has_max) {
		uint64_t t = shaper_ready_at(&s->max_rate[q], now_ns);

		if (t < at)
			at = t;
	}
	return at;
}
