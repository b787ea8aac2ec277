// SPDX-License-Identifier: Apache-2.0
#include "dataplane/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct tap_record *record_at(const struct tap *t, const struct tap_ring *r, uint32_t i)
{
	// Records begin at multiples of 64 bytes of memory that is aligned so.
	return (struct tap_record *)(void *)(r->records +
					     (size_t)(i & (t->n_records - 1)) * t->stride);
}

void tap_bytes(struct tap *t, unsigned worker, uint64_t now_ns, const void *data, uint32_t len,
	       const struct tap_meta *meta)
{
	struct tap_ring *r = &t->rings[worker];
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct tap_record *rec;

	if (head - r->tail_seen == t->n_records) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head - r->tail_seen == t->n_records) {
			ctr_inc(&r->lost[meta->port]);
			return;
		}
	}
	rec = record_at(t, r, head);
	rec->t_ns = now_ns;
	rec->len = len + meta->not_stored;
	rec->captured = len < t->snaplen ? len : t->snaplen;
	rec->meta = *meta;
	memcpy(rec->data, data, rec->captured);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

unsigned tap_read(struct tap *t, unsigned worker, const struct tap_record **out, unsigned n)
{
	struct tap_ring *r = &t->rings[worker];
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t held = atomic_load_explicit(&r->head, memory_order_acquire) - tail;

	if (n > held)
		n = held;
	for (unsigned i = 0; i < n; i++)
		out[i] = record_at(t, r, tail + i);
	return n;
}

void tap_release(struct tap *t, unsigned worker, unsigned n)
{
	struct tap_ring *r = &t->rings[worker];

	atomic_store_explicit(&r->tail, atomic_load_explicit(&r->tail, memory_order_relaxed) + n,
			      memory_order_release);
}

uint64_t tap_lost_of(const struct tap *t, unsigned port)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < t->n_workers; w++)
		n += ctr_get(&t->rings[w].lost[port]);
	return n;
}

static int make_rings(struct tap *t)
{
	size_t rings_bytes = t->n_workers * sizeof(t->rings[0]);
	size_t ring_bytes = (size_t)t->n_records * t->stride;

	t->rings = aligned_alloc(64, rings_bytes);
	if (t->rings == NULL)
		return -ENOMEM;
	memset(t->rings, 0, rings_bytes);
	for (unsigned w = 0; w < t->n_workers; w++) {
		t->rings[w].records = aligned_alloc(64, ring_bytes);
		if (t->rings[w].records == NULL)
			return -ENOMEM;
		memset(t->rings[w].records, 0, ring_bytes);
	}
	return 0;
}

int tap_create(const struct tap_params *p, struct tap **out)
{
	struct tap *t;

	if (p->n_workers == 0 || p->n_records == 0 || p->n_records > TAP_MAX_RECORDS ||
	    p->snaplen == 0 || p->snaplen > TAP_MAX_SNAPLEN)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	memcpy(t->ports, p->ports, sizeof(t->ports));
	t->n_workers = p->n_workers;
	t->snaplen = p->snaplen;
	t->stride = (uint32_t)(sizeof(struct tap_record) + p->snaplen + 63) & ~63u;
	t->n_records = 1;
	while (t->n_records < p->n_records)
		t->n_records *= 2;
	if (make_rings(t) != 0) {
		tap_destroy(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void tap_destroy(struct tap *t)
{
	if (t == NULL)
		return;
	for (unsigned w = 0; t->rings != NULL && w < t->n_workers; w++)
		free(t->rings[w].records);
	free(t->rings);
	free(t);
}
