// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/sched.h"

void sched_params_init(struct sched_params *p, uint8_t strict, const uint32_t weights[N_QUEUES],
		       uint32_t max_frame)
{
	uint32_t least = UINT32_MAX;

	p->strict = strict;
	p->max_frame = max_frame;
	for (unsigned q = 0; q < N_QUEUES; q++)
		if (!(strict >> q & 1) && weights[q] < least)
			least = weights[q];
	for (unsigned q = 0; q < N_QUEUES; q++)
		p->quantum_bytes[q] =
			strict >> q & 1 ? 0 : (uint32_t)((uint64_t)max_frame * weights[q] / least);
}

static int highest(uint8_t bits)
{
	return bits == 0 ? -1 : 31 - __builtin_clz(bits);
}

// Updates the token buckets of the ready queues; clears those above their maximum rate.
static uint8_t within_max_rate(const struct sched_params *p, struct sched_state *s, uint8_t ready,
			       uint64_t now_ns)
{
	for (uint8_t left = ready & p->has_max; left != 0; left &= (uint8_t)(left - 1)) {
		unsigned q = (unsigned)__builtin_ctz(left);

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

	for (uint8_t left = ready & p->has_min; left != 0; left &= (uint8_t)(left - 1)) {
		unsigned q = (unsigned)__builtin_ctz(left);

		shaper_update(&p->min_rate[q], &s->min_rate[q], now_ns);
		if (shaper_ready(&p->min_rate[q], &s->min_rate[q]))
			below |= (uint8_t)(1u << q);
	}
	return below;
}

// A queue whose turn was cut short keeps its deficit and resumes without a second quantum, so what
// a queue may send in one turn stays below quantum + max_frame. A frame queued under a larger
// frame limit, before a reload, saves up over several rounds.
static void begin_turn(const struct sched_params *p, struct sched_state *s, unsigned q,
		       uint32_t head_len)
{
	uint32_t enough = head_len > p->max_frame ? head_len : p->max_frame;

	s->turn = (uint8_t)q;
	s->turn_begun = true;
	if (s->deficit[q] < (int64_t)enough)
		s->deficit[q] += p->quantum_bytes[q];
}

static int dwrr_pick(const struct sched_params *p, struct sched_state *s, uint8_t ready,
		     const uint32_t head_len[N_QUEUES])
{
	// A quantum covers a whole frame, so one round finds a queue, unless min_rate service has
	// put every deficit into debt: then each further round pays back a quantum.
	for (;;) {
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
}

int sched_pick(const struct sched_params *p, struct sched_state *s, uint8_t ready,
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

void sched_commit(const struct sched_params *p, struct sched_state *s, unsigned q, uint32_t len)
{
	if (p->has_max >> q & 1)
		shaper_charge(&p->max_rate[q], &s->max_rate[q], len);
	if (p->has_min >> q & 1)
		shaper_charge(&p->min_rate[q], &s->min_rate[q], len);
	if (!(p->strict >> q & 1) && s->deficit[q] > 0)
		s->deficit[q] -= len;
}

uint64_t sched_ready_at(const struct sched_params *p, const struct sched_state *s, uint8_t ready,
			uint64_t now_ns)
{
	uint64_t at = UINT64_MAX;

	for (uint8_t left = ready & p->has_max; left != 0; left &= (uint8_t)(left - 1)) {
		unsigned q = (unsigned)__builtin_ctz(left);
		uint64_t t = shaper_ready_at(&s->max_rate[q], now_ns);

		if (t < at)
			at = t;
	}
	return at;
}
