// SPDX-License-Identifier: Apache-2.0
// Microbursts, control's side: the memory of the workers, their records, and the watermarks of
// `show watermarks`.
#include "dataplane/switch_microbursts.h"

#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

// Windows of records of all parts that wait while the control thread is late.
enum { RING_WINDOWS = 64, RING_LEAST = 1024 };

static struct worker_microbursts *made(const struct worker *w)
{
	return atomic_load_explicit(&w->microbursts_made, memory_order_relaxed);
}

static int worker_microbursts_create(struct weir_switch *sw, struct worker *w)
{
	uint32_t n = RING_LEAST, want = w->n_owned * MICROBURST_PARTS * RING_WINDOWS;
	struct worker_microbursts *m =
		rte_zmalloc("microbursts", sizeof(*m) + sw->n_ports * sizeof(m->marks[0]), 64);

	if (m == NULL)
		return -ENOMEM;
	while (n < want)
		n *= 2;
	m->end_ns = UINT64_MAX;
	m->records = switch_ring(sizeof(struct microburst_record), n);
	if (m->records == NULL) {
		rte_free(m);
		return -ENOMEM;
	}
	// The worker takes it with the policy that asks for it.
	atomic_store_explicit(&w->microbursts_made, m, memory_order_release);
	return 0;
}

int microbursts_prepare(struct weir_switch *sw, const struct policy *p)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && p->microbursts.window_ns != 0 && i < sw->n_workers; i++)
		if (made(sw->workers[i]) == NULL)
			err = worker_microbursts_create(sw, sw->workers[i]);
	return err;
}

void microbursts_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		struct worker_microbursts *m = made(sw->workers[i]);

		if (m != NULL)
			rte_free(m->records);
		rte_free(m);
	}
}

unsigned switch_microburst_records(struct weir_switch *sw, struct microburst_record *out,
				   unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < sw->n_workers; i++) {
		const struct worker_microbursts *m = made(sw->workers[i]);

		if (m != NULL)
			k += rte_ring_sc_dequeue_burst_elem(m->records, out + k, sizeof(out[0]),
							    n - k, NULL);
	}
	return k;
}

uint64_t switch_microburst_records_lost(const struct weir_switch *sw)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < sw->n_workers; i++) {
		const struct worker_microbursts *m = made(sw->workers[i]);

		lost += m != NULL ? ctr_get(&m->lost) : 0;
	}
	return lost;
}

// ---- watermarks

static uint64_t highest(const gauge_t *window, const gauge_t *before)
{
	uint64_t now = atomic_load_explicit(window, memory_order_acquire);

	return before != NULL ? max_u64(now, gauge_get(before)) : now;
}

uint64_t switch_watermark(const struct weir_switch *sw, unsigned port, enum watermark which,
			  unsigned i)
{
	const struct worker_microbursts *m = made(sw->workers[sw->owner[port]]);
	const struct microburst_marks *marks = m != NULL ? &m->marks[port] : NULL;
	const struct port *p = sw->port[port];

	switch (which) {
	case WATERMARK_QUEUE:
		return highest(&p->queue[i].c.max_bytes, marks ? &marks->queue[i] : NULL);
	case WATERMARK_SHARED:
		return highest(&p->pg[i].state.max_shared, marks ? &marks->shared[i] : NULL);
	case WATERMARK_HEADROOM:
		return highest(&p->pg[i].state.max_headroom, marks ? &marks->headroom[i] : NULL);
	}
	return 0;
}

uint64_t microbursts_pool_max(const struct worker *w, unsigned pool)
{
	const struct worker_microbursts *m = pool == POOL_INGRESS ? made(w) : NULL;

	return highest(&w->slots[pool].max, m != NULL ? &m->ingress : NULL);
}
