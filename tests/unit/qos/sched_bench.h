// SPDX-License-Identifier: Apache-2.0
// A port that is always busy: eight queues with endless frames in front of one scheduler.
#pragma once

#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/qos/sched.h"
#include "tests/unit/qos/test.h"

enum { LINK_OVERHEAD = 24 };

struct sched_bench {
	struct sched_params p;
	struct sched_state s;
	uint8_t ready; // queues that hold a frame and may send
	uint32_t head[N_QUEUES]; // length of each queue's first frame
	uint32_t low[N_QUEUES], high[N_QUEUES]; // lengths are drawn from here
	uint64_t speed_bps, now_ns;
	uint64_t frames[N_QUEUES], bytes[N_QUEUES]; // that left
	struct rng rng;
};

static inline void sched_bench_draw(struct sched_bench *b, unsigned q)
{
	b->head[q] = b->low[q] + rng_next(&b->rng) % (b->high[q] - b->low[q] + 1);
}

// All queues with frames of low..high bytes.
static inline void sched_bench_init(struct sched_bench *b, uint8_t strict,
				    const uint32_t weights[N_QUEUES], uint32_t max_frame,
				    uint32_t low, uint32_t high)
{
	memset(b, 0, sizeof(*b));
	sched_params_init(&b->p, strict, weights, max_frame);
	rng_init(&b->rng, 42);
	b->speed_bps = 10000000000;
	for (unsigned q = 0; q < N_QUEUES; q++) {
		b->low[q] = low;
		b->high[q] = high;
		sched_bench_draw(b, q);
	}
}

// Frames of one length leave queue q, which was chosen, until `most` of them left. Returns how
// many.
static inline unsigned sched_bench_run(struct sched_bench *b, unsigned q, unsigned most)
{
	struct sched_run r = sched_run_begin(&b->p, &b->s, q, b->ready);
	unsigned n = 0;

	do {
		sched_run_spend(&b->p, &r, q, b->head[q]);
		n++;
	} while (n < most && sched_run_lasts(&b->p, &r, q, b->head[q]));
	sched_run_end(&b->p, &b->s, &r, q);
	return n;
}

// Sends one frame and lets its link time pass; -1 when no queue may send.
static inline int sched_bench_send(struct sched_bench *b)
{
	int q = sched_pick(&b->p, &b->s, b->ready, b->head, b->now_ns);

	if (q < 0)
		return q;
	assert_true(b->ready >> q & 1);
	sched_bench_run(b, (unsigned)q, 1);
	b->frames[q]++;
	b->bytes[q] += b->head[q];
	b->now_ns += ((uint64_t)b->head[q] + LINK_OVERHEAD) * 8000000000u / b->speed_bps;
	sched_bench_draw(b, (unsigned)q);
	return q;
}

static inline uint64_t sched_bench_total(const struct sched_bench *b)
{
	uint64_t total = 0;

	for (unsigned q = 0; q < N_QUEUES; q++)
		total += b->bytes[q];
	return total;
}
