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

void feed_add(struct feed *f, uint64_t flow, uint32_t bytes)
{
	unsigned h = (unsigned)(flow * 0x9e3779b97f4a7c15u >> 32), odd = f->turn & 1;
	struct feed_slot *s = NULL;

	f->bytes_now += bytes;
	// The slot of the flow, else the first one that neither turn uses.
	for (unsigned i = 0; i < FEED_PROBES; i++) {
		struct feed_slot *at = &f->slot[(h + i) % FEED_SLOTS];
		bool live = at->turn == f->turn || at->turn == f->turn - 1;

		if (live && at->flow == flow) {
			s = at;
			break;
		}
		if (!live && s == NULL)
			s = at;
	}
	if (s == NULL)
		return;
	if (s->turn != f->turn) {
		uint32_t before = s->turn == f->turn - 1 ? s->now : 0;

		*s = (struct feed_slot){.flow = flow, .turn = f->turn, .before = before};
		f->fed[odd][f->n_fed[odd]++] = (uint16_t)(s - f->slot);
	}
	s->now = s->now > UINT32_MAX - bytes ? UINT32_MAX : s->now + bytes;
}

void feed_add_other(struct feed *f, uint32_t bytes)
{
	f->bytes_now += bytes;
}

// ---- the flows of a window

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

// Each bit of both changes half the bits of the lot.
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

// Moves out[i] down in a heap of n with the smallest on top.
static void move_down(struct feed_flow *out, unsigned i, unsigned n)
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

static void make_heap(struct feed_flow *out, unsigned n)
{
	for (unsigned i = n / 2; i-- > 0;)
		move_down(out, i, n);
}

unsigned feed_largest(const struct feed *f, const struct feed_window *w, struct feed_flow *out,
		      unsigned n)
{
	unsigned odd = f->turn & 1, n_now = f->n_fed[odd], k = 0;
	unsigned n_all = n_now + (w->both ? f->n_fed[!odd] : 0);

	for (unsigned i = 0; n != 0 && i < n_all; i++) {
		bool now = i < n_now;
		const struct feed_slot *s =
			&f->slot[now ? f->fed[odd][i] : f->fed[!odd][i - n_now]];
		struct feed_flow it = {.flow = s->flow, .bytes = s->now,
				       .lot = lot_of(f->turn, s->flow)};

		// Flows of the turn before that were fed again are among those of this turn.
		if (!now && s->turn != f->turn - 1)
			continue;
		if (now && w->both)
			it.bytes += s->before;
		// The largest so far, from the n-th on as a heap.
		if (k < n) {
			out[k++] = it;
			if (k == n)
				make_heap(out, n);
		} else if (larger(&it, &out[0])) {
			out[0] = it;
			move_down(out, 0, n);
		}
	}
	make_heap(out, k);
	for (unsigned left = k; left > 1;) {
		struct feed_flow smallest = out[0];

		out[0] = out[--left];
		out[left] = smallest;
		move_down(out, 0, left);
	}
	for (unsigned i = 0; i < k; i++)
		out[i].bps = bps_of(out[i].bytes, w->dt_ns);
	return k;
}
