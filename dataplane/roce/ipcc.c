// SPDX-License-Identifier: Apache-2.0
#include "dataplane/roce/ipcc.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/base/units.h"

enum {
	HALF_Q16 = 1 << 15,
	LEAST_CUT_Q16 = 1 << 10, // a 64th: a flow that seems not to react at all still counts
	MOST_CUT_Q16 = UINT16_MAX,
	CREDIT_SHIFT = 20,
};

const char *const ipcc_quadrant_name[N_QUADRANTS] = {
	[IPCC_NONE] = "none",
	[IPCC_FEW_GROWING] = "few, growing",
	[IPCC_FEW_SHRINKING] = "few, shrinking",
	[IPCC_MANY] = "many",
};

// ---- how many

enum ipcc_quadrant ipcc_quadrant(const struct ipcc_params *p, uint64_t len, uint32_t share_q16,
				 int64_t trend)
{
	bool deep = share_q16 >= p->deep_q16 ||
		    len << 16 >= p->deep_q16 * p->kmax_bytes;

	if (trend > 0)
		return deep ? IPCC_MANY : IPCC_FEW_GROWING;
	return deep ? IPCC_FEW_SHRINKING : IPCC_NONE;
}

uint64_t ipcc_excess_bps(const struct ipcc_params *p, uint64_t len, int64_t trend, uint64_t dt_ns)
{
	int64_t above = (int64_t)(len - p->kmin_bytes);
	int64_t drain_ns = p->drain_ns == 0 ? 1 : (int64_t)p->drain_ns;
	// 2^36 bytes times 10^9 take more than 64 bits.
	__int128_t excess = (__int128_t)trend * SECOND_NS / (int64_t)dt_ns +
			    (__int128_t)above * SECOND_NS / drain_ns;

	if (excess <= 0)
		return 0;
	return excess > INT64_MAX / BITS_PER_BYTE ? INT64_MAX : (uint64_t)excess * BITS_PER_BYTE;
}

// ---- which flows

// By how much a CNP would slow the flow down.
static uint64_t cut_of(const struct ipcc_params *p, const struct ipcc_flow *f)
{
	uint64_t cut = p->cut_learnt && f->cut_q16 != 0 ? f->cut_q16 : p->cut_q16;

	return (f->bps >> 16) * cut + ((f->bps & 0xffff) * cut >> 16);
}

static bool notified_lately(const struct ipcc_params *p, const struct ipcc_flow *f, uint64_t now_ns)
{
	// Another worker's clock may be a little ahead of ours.
	return f->notified_ns != 0 &&
	       (now_ns < f->notified_ns || now_ns - f->notified_ns < p->min_gap_ns);
}

unsigned ipcc_choose(const struct ipcc_params *p, enum ipcc_quadrant q, uint64_t excess_bps,
		     struct ipcc_flow *flows, unsigned n, uint64_t now_ns)
{
	bool few = q == IPCC_FEW_GROWING || q == IPCC_FEW_SHRINKING;
	// Without an excess a FEW quadrant notifies one flow: any cut covers 1 bit per second.
	uint64_t want = few && excess_bps == 0 ? 1 : excess_bps, covered = 0;
	unsigned notified = 0, limit = few ? p->few : q == IPCC_MANY ? p->many : 0;

	for (unsigned i = 0; i < n; i++) {
		struct ipcc_flow *f = &flows[i];

		if (f->datagram) {
			f->verdict = CNP_SILENT_DATAGRAM;
		} else if (!f->paired) {
			f->verdict = CNP_SILENT_UNPAIRED;
		} else if (notified_lately(p, f, now_ns)) {
			f->verdict = CNP_SILENT_GAP;
			covered += cut_of(p, f);
		} else if (covered >= want) {
			f->verdict = CNP_SILENT_COVERED;
		} else if (notified == limit) {
			f->verdict = CNP_SILENT_QUOTA;
		} else {
			f->verdict = CNP_SILENT_NONE;
			covered += cut_of(p, f);
			notified++;
		}
	}
	return notified;
}

uint16_t ipcc_learn_cut(uint16_t cut_q16, uint64_t before_bps, uint64_t after_bps)
{
	int64_t cut = cut_q16 != 0 ? cut_q16 : HALF_Q16, seen = 0;

	if (before_bps > after_bps)
		seen = (int64_t)((before_bps - after_bps) / ((before_bps >> 16) + 1));
	cut += (seen - cut) / 4;
	if (cut < LEAST_CUT_Q16)
		return LEAST_CUT_Q16;
	return cut > MOST_CUT_Q16 ? MOST_CUT_Q16 : (uint16_t)cut;
}

// ---- what fed a queue

enum { FIRST_TURN = 2 };

static_assert((FEED_SLOTS & (FEED_SLOTS - 1)) == 0, "a slot by the low bits of a hash");

void feed_init(struct feed *f, uint64_t len_bytes, uint64_t now_ns)
{
	memset(f, 0, sizeof(*f));
	f->turn = FIRST_TURN;
	f->began_ns = now_ns;
	f->len_now = len_bytes;
}

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

static uint64_t lot_of(uint32_t turn, uint64_t flow)
{
	return rng_mix(flow ^ (uint64_t)turn * 0x9e3779b97f4a7c15u);
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

// ---- when

enum ipcc_due ipcc_look_due(const struct ipcc_params *p, struct ipcc_state *s, uint64_t len,
			    bool paused, uint64_t now_ns)
{
	bool look = len > p->kmin_bytes && now_ns >= s->next_ns;

	// An empty queue has no victims. No worker runs at the end of a pause for which nothing
	// waits, so such a pause must leave no trace.
	if (s->muted && (!paused || len == 0)) {
		s->muted = false;
		s->next_ns = now_ns + p->interval_ns;
		return IPCC_FREED;
	}
	s->muted = paused && len != 0;
	if (!look)
		return IPCC_NOT_DUE;
	s->next_ns = now_ns + p->interval_ns;
	return s->muted ? IPCC_MUTED : IPCC_DUE;
}

uint64_t ipcc_next(const struct ipcc_params *p, const struct ipcc_state *s, uint64_t len)
{
	return len > p->kmin_bytes ? s->next_ns : UINT64_MAX;
}

// ---- CNPs per port

bool cnp_bucket_take(const struct cnp_params *p, struct cnp_bucket *b, uint64_t now_ns)
{
	uint64_t full = (uint64_t)p->burst << CREDIT_SHIFT, one = 1ull << CREDIT_SHIFT;
	uint64_t since_ns = now_ns - b->at_ns;
	// The time that fills an empty bucket. Beyond it the product below might overflow.
	uint64_t all_ns =
		p->max_per_ms == 0 ? UINT64_MAX : (uint64_t)p->burst * MS_NS / p->max_per_ms;

	if (b->at_ns == 0 || since_ns > all_ns)
		b->credit = full;
	else
		b->credit += ((since_ns * p->max_per_ms) << CREDIT_SHIFT) / MS_NS;
	if (b->credit > full)
		b->credit = full;
	b->at_ns = now_ns;
	if (b->credit < one)
		return false;
	b->credit -= one;
	return true;
}
