// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/feed.h"

#include "dataplane/units.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { FIRST_TURN = 2 };

static_assert((FEED_SLOTS & (FEED_SLOTS - 1)) == 0, "a slot by the low bits of a hash");

void feed_init(struct feed *f, uint64_t len_bytes, uint64_t now_ns)
{
	memset(f, 0, sizeof(*f));
	f->turn = FIRST_TURN;
	f->began_ns = now_ns;
	f->len_now = len_bytes;
}

// ---- turns

static void next_turn(struct feed *f)
{
	// Once in 2^32 turns a slot could seem to be of a turn that it never was.
	if (++f->turn == 0) {
		memset(f->slot, 0, sizeof(f->slot));
		f->n_fed[1] = 0;
		f->turn = FIRST_TURN;
	}
	f->n_fed[f->turn & 1] = 0;
}

void feed_turn(struct feed *f, uint64_t len_bytes, uint64_t now_ns)
{
	next_turn(f);
	f->length_ns = now_ns - f->began_ns;
	f->began_ns = now_ns;
	f->bytes_before = f->bytes_now;
	f->bytes_now = 0;
	f->len_before = f->len_now;
	f->len_now = len_bytes;
}

void feed_forget(struct feed *f, uint64_t len_bytes, uint64_t now_ns)
{
	next_turn(f);
	feed_turn(f, len_bytes, now_ns);
	f->length_ns = f->bytes_before = 0;
	f->len_before = len_bytes;
}

void feed_tick(struct feed *f, uint64_t len_bytes, uint64_t interval_ns, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - f->began_ns;

	if (age_ns < interval_ns)
		return;
	if (age_ns < 2 * interval_ns)
		feed_turn(f, len_bytes, now_ns);
	else
		feed_forget(f, len_bytes, now_ns);
}

// ---- frames

static inline unsigned hash_of(uint64_t flow)
{
	return (unsigned)(flow * 0x9e3779b97f4a7c15u >> 32);
}

static inline uint32_t sum(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

// The slot of a flow in this turn, or a free one, that is one of neither turn. NULL: no room.
static struct feed_slot *slot_of(struct feed *f, uint64_t flow)
{
	struct feed_slot *room = NULL;
	unsigned h = hash_of(flow);

	for (unsigned i = 0; i < FEED_PROBES; i++) {
		struct feed_slot *s = &f->slot[(h + i) % FEED_SLOTS];
		bool live = s->turn == f->turn || s->turn == f->turn - 1;

		if (live && s->flow == flow)
			return s;
		if (!live && room == NULL)
			room = s;
	}
	if (room != NULL)
		*room = (struct feed_slot){.flow = flow};
	return room;
}

void feed_add(struct feed *f, uint64_t flow, uint32_t bytes)
{
	struct feed_slot *s = slot_of(f, flow);
	unsigned odd = f->turn & 1;

	f->bytes_now += bytes;
	if (s == NULL)
		return;
	if (s->turn != f->turn) {
		s->before = s->now;
		s->now = 0;
		s->turn = f->turn;
		f->fed[odd][f->n_fed[odd]++] = (uint16_t)(s - f->slot);
	}
	s->now = sum(s->now, bytes);
}

void feed_add_other(struct feed *f, uint32_t bytes)
{
	f->bytes_now += bytes;
}

// ---- who it was

static uint64_t bps_of(uint64_t bytes, uint64_t dt_ns)
{
	const uint64_t most = UINT64_MAX / SECOND_NS; // 18 GB in two turns

	return (bytes < most ? bytes : most) * SECOND_NS / dt_ns * BITS_PER_BYTE;
}

struct feed_window feed_window(const struct feed *f, uint64_t now_ns, uint64_t least_ns)
{
	struct feed_window w = {.dt_ns = now_ns - f->began_ns, .len_before = f->len_now};
	uint64_t bytes = f->bytes_now;

	w.both = w.dt_ns < least_ns && f->length_ns != 0;
	if (w.both) {
		w.dt_ns += f->length_ns;
		w.len_before = f->len_before;
		bytes += f->bytes_before;
	}
	w.whole = w.dt_ns >= least_ns;
	if (!w.whole)
		w.dt_ns = least_ns;
	w.bps = bps_of(bytes, w.dt_ns);
	return w;
}

// Each bit of both counts for each bit of it.
static uint64_t lot_of(uint32_t turn, uint64_t flow)
{
	uint64_t x = flow ^ (uint64_t)turn * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static bool larger(const struct feed_flow *a, const struct feed_flow *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->lot > b->lot;
}

// Puts out[i] where it belongs in a heap of n with the smallest on top.
static void sift(struct feed_flow *out, unsigned i, unsigned n)
{
	struct feed_flow moving = out[i];
	unsigned child;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && larger(&out[child], &out[child + 1]))
			child++;
		if (!larger(&moving, &out[child]))
			break;
		out[i] = out[child];
	}
	out[i] = moving;
}

// out: the largest so far, from the n-th on as a heap.
static unsigned keep(struct feed_flow *out, unsigned k, unsigned n, const struct feed_flow *it)
{
	if (k < n) {
		out[k++] = *it;
		if (k == n)
			for (unsigned i = n / 2; i-- > 0;)
				sift(out, i, n);
	} else if (n != 0 && larger(it, &out[0])) {
		out[0] = *it;
		sift(out, 0, n);
	}
	return k;
}

static void sort(struct feed_flow *out, unsigned n)
{
	struct feed_flow smallest;

	for (unsigned i = n / 2; i-- > 0;)
		sift(out, i, n);
	while (n > 1) {
		smallest = out[0];
		out[0] = out[--n];
		out[n] = smallest;
		sift(out, 0, n);
	}
}

unsigned feed_largest(const struct feed *f, const struct feed_window *w, struct feed_flow *out,
		      unsigned n)
{
	unsigned odd = f->turn & 1, k = 0;

	for (unsigned i = 0; i < f->n_fed[odd]; i++) {
		const struct feed_slot *s = &f->slot[f->fed[odd][i]];
		uint64_t bytes = s->now + (w->both ? (uint64_t)s->before : 0);

		k = keep(out, k, n,
			 &(struct feed_flow){.flow = s->flow, .bytes = bytes,
					     .lot = lot_of(f->turn, s->flow)});
	}
	for (unsigned i = 0; w->both && i < f->n_fed[!odd]; i++) {
		const struct feed_slot *s = &f->slot[f->fed[!odd][i]];

		// Those that were fed again in this turn are counted above.
		if (s->turn == f->turn - 1)
			k = keep(out, k, n,
				 &(struct feed_flow){.flow = s->flow, .bytes = s->now,
						     .lot = lot_of(f->turn, s->flow)});
	}
	sort(out, k);
	for (unsigned i = 0; i < k; i++)
		out[i].bps = bps_of(out[i].bytes, w->dt_ns);
	return k;
}
