// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/tcp.h"

#include <string.h>

#include "dataplane/base/units.h"

enum { DUP_ACKS = 3, UNSCALED = 65535, MAX_SCALE = 14, GRANULARITY_NS = 1 };
#define RTO_MAX_NS 60000000000ull // RFC 6298, 2.5
#define ALPHA_ONE (1u << TCP_ALPHA_Q)

static uint32_t flight(const struct tcp *t)
{
	return (uint32_t)(t->nxt - t->una);
}

static uint32_t halved(const struct tcp *t, uint64_t bytes)
{
	return (uint32_t)max_u64(bytes / 2, 2u * t->mss);
}

// ---- ranges

// False: there is no room for one more.
static bool ranges_add(struct tcp_ranges *r, uint64_t begin, uint64_t end)
{
	uint32_t i = 0, last;

	while (i < r->n && r->at[i].end < begin)
		i++;
	for (last = i; last < r->n && r->at[last].begin <= end; last++) {
		begin = min_u64(begin, r->at[last].begin);
		end = max_u64(end, r->at[last].end);
	}
	if (last == i && r->n == TCP_MAX_RANGES)
		return false;
	memmove(&r->at[i + 1], &r->at[last], (r->n - last) * sizeof(r->at[0]));
	r->at[i] = (struct tcp_range){begin, end};
	r->n = r->n - (last - i) + 1;
	return true;
}

// Drops the ranges that begin at or below pos; returns the largest end among them and pos.
static uint64_t ranges_take(struct tcp_ranges *r, uint64_t pos)
{
	uint32_t n = 0;

	for (; n < r->n && r->at[n].begin <= pos; n++)
		pos = max_u64(pos, r->at[n].end);
	r->n -= n;
	memmove(&r->at[0], &r->at[n], r->n * sizeof(r->at[0]));
	return pos;
}

void tcp_init(struct tcp *t, const struct tcp_params *p, bool active, uint32_t iss)
{
	*t = (struct tcp){
		.p = *p,
		.phase = active ? TCP_CLOSED : TCP_LISTEN,
		.mss = p->mss,
		.iss = iss,
		.end = 1,
		.cwnd = (uint32_t)p->initial_segments * p->mss,
		.ssthresh = TCP_MAX_WINDOW, // "arbitrarily high", RFC 5681, 3.1
		.rto_ns = max_u64(p->rto_initial_ns, p->rto_min_ns),
		.timer_ns = UINT64_MAX,
		.delayed_ns = UINT64_MAX,
		.alpha = ALPHA_ONE,
		.syn_due = active,
	};
	while (p->window_bytes >> t->own_scale > UNSCALED && t->own_scale < MAX_SCALE)
		t->own_scale++;
}

// RFC 5681, 4.1: after an idle time of an RTO the window is at most the initial one again.
void tcp_offer(struct tcp *t, uint64_t n_bytes, uint64_t now_ns)
{
	uint32_t initial = (uint32_t)t->p.initial_segments * t->mss;

	if (n_bytes + 1 <= t->end)
		return;
	if (t->phase == TCP_OPEN && t->una == t->end && now_ns - t->last_tx_ns > t->rto_ns &&
	    t->cwnd > initial) {
		t->cwnd = initial;
		t->grown_bytes = 0;
	}
	t->end = n_bytes + 1;
}

// ---- what leaves

static uint16_t own_window(const struct tcp *t, bool syn)
{
	uint32_t w = syn ? t->p.window_bytes : t->p.window_bytes >> t->own_scale;

	return (uint16_t)(w > UNSCALED ? UNSCALED : w);
}

static void put_syn(const struct tcp *t, struct tcp_seg *s)
{
	bool answer = t->phase == TCP_SYN_RCVD;

	*s = (struct tcp_seg){
		.seq = t->iss,
		.ack = answer ? t->irs + (uint32_t)t->rcv_nxt : 0,
		.window = own_window(t, true),
		.flags = (uint8_t)(TCP_SYN | (answer ? TCP_ACK : 0)),
		.mss = t->p.mss,
		.scale = (int8_t)t->own_scale,
		.sack_ok = answer ? t->sack : t->p.sack,
		.ect = t->p.cc == TCP_DCTCP,
	};
	// RFC 3168, 6.1.1: ECE and CWR offer ECN, ECE alone accepts it.
	if (answer ? t->ecn : t->p.ecn)
		s->flags |= (uint8_t)(answer ? TCP_ECE : TCP_ECE | TCP_CWR);
}

// RFC 2018, section 4: first the block of the last segment that came, then others.
static void put_sacks(const struct tcp *t, struct tcp_seg *s)
{
	const struct tcp_ranges *r = &t->kept;

	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = r->n; i-- > 0 && s->n_sacks < TCP_MAX_SACKS;) {
			bool last = r->at[i].begin <= t->last_kept && t->last_kept < r->at[i].end;

			if (last == (pass == 0))
				s->sacks[s->n_sacks++] = (struct tcp_block){
					t->irs + (uint32_t)r->at[i].begin,
					t->irs + (uint32_t)r->at[i].end};
		}
}

static void put_ack(const struct tcp *t, const struct tcp_ack *a, struct tcp_seg *s)
{
	*s = (struct tcp_seg){
		.seq = t->iss + (uint32_t)t->max,
		.ack = t->irs + (uint32_t)a->pos,
		.window = own_window(t, false),
		.flags = (uint8_t)(TCP_ACK | (a->ece ? TCP_ECE : 0)),
		.scale = -1,
		.ect = t->p.cc == TCP_DCTCP && t->ecn,
	};
	if (t->sack)
		put_sacks(t, s);
}

// ---- RFC 6675: what is lost, what is under way, what goes next

// The gap before the i-th range that the receiver has. Behind the last range: the bytes that it has
// not reported.
static struct tcp_range gap_at(const struct tcp *t, uint32_t i)
{
	const struct tcp_ranges *r = &t->sacked;

	return (struct tcp_range){i == 0 ? t->una : r->at[i - 1].end,
				  i < r->n ? r->at[i].begin : t->max};
}

// IsLost of the gap before range i: three ranges above it, or more than two segments in them.
static bool gap_is_lost(const struct tcp *t, uint32_t i)
{
	const struct tcp_ranges *r = &t->sacked;
	uint64_t bytes = 0;

	if (r->n >= i + DUP_ACKS)
		return true;
	for (uint32_t k = i; k < r->n; k++)
		bytes += r->at[k].end - r->at[k].begin;
	return bytes > (DUP_ACKS - 1) * (uint64_t)t->mss;
}

static uint64_t pipe_of(const struct tcp *t)
{
	uint64_t pipe = 0;

	for (uint32_t i = 0; i <= t->sacked.n; i++) {
		struct tcp_range g = gap_at(t, i);

		if (!gap_is_lost(t, i))
			pipe += g.end - g.begin;
		if (t->high_rxt > g.begin)
			pipe += min_u64(t->high_rxt, g.end) - g.begin;
	}
	return pipe;
}

// The first bytes below what the receiver has that were not sent again; lost: only of lost gaps.
static bool next_hole(const struct tcp *t, bool lost, struct tcp_range *out)
{
	for (uint32_t i = 0; i < t->sacked.n; i++) {
		struct tcp_range g = gap_at(t, i);

		g.begin = max_u64(g.begin, t->high_rxt);
		if (g.begin < g.end && (!lost || gap_is_lost(t, i))) {
			*out = g;
			return true;
		}
	}
	return false;
}

// NextSeg, rules 1 to 3.
static bool next_by_sack(const struct tcp *t, struct tcp_range *out)
{
	if (pipe_of(t) + t->mss > t->cwnd)
		return false;
	if (next_hole(t, true, out))
		return true;
	*out = (struct tcp_range){t->nxt, t->end};
	if (t->nxt < t->end && min_u64(t->end, t->nxt + t->mss) - t->una <= t->peer_window)
		return true;
	return next_hole(t, false, out);
}

static bool next_range(const struct tcp *t, struct tcp_range *out)
{
	uint64_t window = t->cwnd;

	if (t->resend) {
		*out = (struct tcp_range){t->una, gap_at(t, 0).end};
		return out->begin < out->end;
	}
	if (t->in_recovery && t->sack)
		return next_by_sack(t, out);
	// RFC 3042: the first two duplicate ACKs let a segment each leave.
	if (!t->in_recovery && t->dup_acks < DUP_ACKS)
		window += (uint64_t)t->dup_acks * t->mss;
	*out = (struct tcp_range){t->nxt, t->end};
	return t->nxt < t->end && min_u64(t->end, t->nxt + t->mss) - t->una <=
					  min_u64(window, t->peer_window);
}

static bool put_data(const struct tcp *t, struct tcp_seg *s)
{
	struct tcp_range r;
	uint64_t pos;
	uint32_t len;

	if (!next_range(t, &r))
		return false;
	pos = r.begin;
	len = (uint32_t)min_u64(r.end - r.begin, t->mss);
	*s = (struct tcp_seg){
		.seq = t->iss + (uint32_t)pos,
		.ack = t->irs + (uint32_t)t->rcv_nxt,
		.window = own_window(t, false),
		.flags = (uint8_t)(TCP_ACK |
				   (pos + len == t->end && !t->p.stream ? TCP_PSH : 0) |
				   (t->ece && t->ecn ? TCP_ECE : 0)),
		.scale = -1,
		// RFC 3168, 6.1.5: what is sent again is Not-ECT. DCTCP marks all it sends.
		.ect = t->ecn && (t->p.cc == TCP_DCTCP || pos >= t->max),
		.len = len,
		.offset = pos - 1,
	};
	if (t->cwr_due && pos >= t->max)
		s->flags |= TCP_CWR;
	return true;
}

bool tcp_next(const struct tcp *t, struct tcp_seg *s)
{
	if (t->syn_due) {
		put_syn(t, s);
		return true;
	}
	if (t->n_acks != 0) {
		put_ack(t, &t->acks[t->ack_head], s);
		return true;
	}
	return t->phase == TCP_OPEN && put_data(t, s);
}

static void start_timer(struct tcp *t, uint64_t now_ns)
{
	if (t->timer_ns == UINT64_MAX)
		t->timer_ns = now_ns + t->rto_ns;
}

static void sent_syn(struct tcp *t, uint64_t now_ns)
{
	t->syn_due = false;
	if (t->max != 0) {
		t->stats.retransmissions++;
		t->timed = false;
	} else {
		t->timed = true;
		t->timed_pos = 0;
		t->timed_ns = now_ns;
	}
	if (t->phase == TCP_CLOSED)
		t->phase = TCP_SYN_SENT;
	t->max = t->nxt = 1;
	start_timer(t, now_ns);
}

static void sent_data(struct tcp *t, const struct tcp_seg *s, uint64_t now_ns)
{
	uint64_t pos = s->offset + 1;

	if (pos < t->max) {
		t->stats.retransmissions++;
		t->timed = false; // Karn's rule
	} else if (!t->timed) {
		t->timed = true;
		t->timed_pos = pos;
		t->timed_ns = now_ns;
	}
	if (t->in_recovery && pos < t->nxt)
		t->high_rxt = max_u64(t->high_rxt, pos + s->len);
	if (t->resend) {
		t->resend = false;
	} else if (pos == t->nxt) {
		t->nxt = pos + s->len;
		if (t->dup_acks != 0 && !t->in_recovery && flight(t) > t->cwnd)
			t->limited_bytes += s->len;
	}
	t->max = max_u64(t->max, t->nxt);
	if (s->flags & TCP_CWR)
		t->cwr_due = false;
	// It carries the acknowledgement.
	t->unacked = 0;
	t->delayed_ns = UINT64_MAX;
	start_timer(t, now_ns);
}

void tcp_sent(struct tcp *t, const struct tcp_seg *s, uint64_t now_ns)
{
	t->last_tx_ns = now_ns;
	if (s->flags & TCP_SYN) {
		sent_syn(t, now_ns);
	} else if (s->len == 0) {
		t->stats.acks_sent++;
		t->ack_head = (t->ack_head + 1) % TCP_MAX_ACKS;
		t->n_acks--;
	} else {
		sent_data(t, s, now_ns);
	}
}

// ---- the receiver

static void ack_now(struct tcp *t, bool ece)
{
	uint32_t at = t->n_acks < TCP_MAX_ACKS ? t->n_acks++ : TCP_MAX_ACKS - 1;

	t->acks[(t->ack_head + at) % TCP_MAX_ACKS] =
		(struct tcp_ack){t->rcv_nxt, ece && t->ecn};
	t->unacked = 0;
	t->delayed_ns = UINT64_MAX;
}

// Takes the CE mark of a data segment. RFC 3168, 6.1.3: ECE from CE until CWR. RFC 8257, 3.2: ECE
// is CE of the segments that an ACK is about, so a change ends the run before it: *now is set where
// the new run begins with an ACK of its own.
static void take_ce(struct tcp *t, const struct tcp_seg *s, bool ce, bool *now)
{
	if (!t->ecn)
		return;
	if (t->p.cc != TCP_DCTCP) {
		if (s->flags & TCP_CWR)
			t->ece = false;
		t->ece |= ce;
		return;
	}
	if (ce == t->ece)
		return;
	if (t->unacked != 0)
		ack_now(t, t->ece);
	t->ece = ce;
	*now = true;
}

// RFC 5681, 4.2: at once where there is a gap, or one is filled; else every second segment, or as
// often as the parameters say. A segment that pushes ends a message: it is acknowledged at once.
static void take_data(struct tcp *t, const struct tcp_seg *s, bool now, uint64_t now_ns)
{
	uint64_t begin = t->rcv_nxt + (uint64_t)(int64_t)(int32_t)(s->seq - t->irs -
								   (uint32_t)t->rcv_nxt);
	uint64_t end = begin + s->len;

	if ((int64_t)end <= (int64_t)t->rcv_nxt) {
		t->stats.duplicates++;
		ack_now(t, t->ece);
		return;
	}
	if ((int64_t)begin > (int64_t)t->rcv_nxt) {
		t->stats.out_of_order++;
		// What finds no room is dropped, and comes again.
		if (end <= t->rcv_nxt + t->p.window_bytes && ranges_add(&t->kept, begin, end))
			t->last_kept = begin;
		ack_now(t, t->ece);
		return;
	}
	now |= t->kept.n != 0 || s->flags & TCP_PSH;
	t->rcv_nxt = ranges_take(&t->kept, end);
	t->unacked++;
	if (now || t->unacked >= t->p.ack_every)
		ack_now(t, t->ece);
	else if (t->delayed_ns == UINT64_MAX)
		t->delayed_ns = now_ns + t->p.delayed_ack_ns;
}

// ---- the sender: time

static void take_sample(struct tcp *t, uint64_t now_ns)
{
	uint64_t rtt = now_ns - t->timed_ns;
	uint64_t diff = t->srtt_ns > rtt ? t->srtt_ns - rtt : rtt - t->srtt_ns;

	if (!t->timed || t->una <= t->timed_pos)
		return;
	t->timed = false;
	if (t->srtt_ns == 0) {
		t->srtt_ns = rtt;
		t->rttvar_ns = rtt / 2;
	} else {
		t->rttvar_ns = (3 * t->rttvar_ns + diff) / 4;
		t->srtt_ns = (7 * t->srtt_ns + rtt) / 8;
	}
	t->rto_ns = min_u64(max_u64(t->srtt_ns + max_u64(GRANULARITY_NS, 4 * t->rttvar_ns),
				   t->p.rto_min_ns), RTO_MAX_NS);
}

static void on_rto(struct tcp *t)
{
	t->stats.timeouts++;
	t->timer_ns = UINT64_MAX;
	t->timed = false;
	t->rto_ns = min_u64(2 * t->rto_ns, RTO_MAX_NS);
	if (t->phase != TCP_OPEN) {
		t->syn_due = t->syn_lost = true;
		return;
	}
	// RFC 5681, 3.1: a segment that is lost once more lowers ssthresh no more.
	if (t->backed_off_at != t->una)
		t->ssthresh = halved(t, flight(t));
	t->backed_off_at = t->una;
	t->cwnd = t->mss;
	t->grown_bytes = t->dup_acks = t->limited_bytes = 0;
	t->recover = t->cut_at = t->max;
	t->in_recovery = t->resend = false;
	t->sacked.n = 0; // RFC 2018, section 8: the receiver may have dropped it
	t->cwr_due = t->ecn;
	t->nxt = t->una;
}

uint64_t tcp_deadline(const struct tcp *t)
{
	return min_u64(t->timer_ns, t->delayed_ns);
}

void tcp_on_timer(struct tcp *t, uint64_t now_ns)
{
	if (t->delayed_ns <= now_ns)
		ack_now(t, t->ece);
	if (t->timer_ns <= now_ns)
		on_rto(t);
}

// ---- the sender: congestion

static void grow(struct tcp *t, uint64_t n_bytes, uint32_t in_flight)
{
	if (in_flight + t->mss <= t->cwnd)
		return; // something else limits the sender
	if (t->cwnd < t->ssthresh) {
		t->cwnd += (uint32_t)min_u64(n_bytes, t->mss);
	} else {
		t->grown_bytes += (uint32_t)n_bytes;
		if (t->grown_bytes >= t->cwnd) {
			t->grown_bytes -= t->cwnd;
			t->cwnd += t->mss;
		}
	}
	if (t->cwnd > TCP_MAX_WINDOW)
		t->cwnd = TCP_MAX_WINDOW;
}

// RFC 8257, 3.3, steps 2 to 8.
static void estimate(struct tcp *t, uint64_t n_bytes, bool ece)
{
	int64_t m;

	t->acked_bytes += n_bytes;
	t->marked_bytes += ece ? n_bytes : 0;
	if (t->una <= t->window_end || t->acked_bytes == 0)
		return;
	m = (int64_t)((t->marked_bytes << TCP_ALPHA_Q) / t->acked_bytes);
	t->alpha = (uint32_t)((int64_t)t->alpha +
			      (m - (int64_t)t->alpha) * t->p.g_num / (int64_t)t->p.g_den);
	t->window_end = t->nxt;
	t->acked_bytes = t->marked_bytes = 0;
}

// RFC 3168, 6.1.2: once a window of data, also after a loss.
static void on_ece(struct tcp *t)
{
	t->stats.ece_received++;
	if (t->una <= t->cut_at || t->in_recovery)
		return;
	if (t->p.cc == TCP_DCTCP)
		t->ssthresh = (uint32_t)max_u64(
			t->cwnd - ((uint64_t)t->cwnd * t->alpha >> (TCP_ALPHA_Q + 1)), 2u * t->mss);
	else
		t->ssthresh = halved(t, t->cwnd);
	t->cwnd = t->ssthresh;
	t->grown_bytes = 0;
	t->cut_at = t->max;
	t->cwr_due = true;
	t->stats.ecn_cuts++;
}

static void enter_recovery(struct tcp *t)
{
	// A window that ECE has reduced already is not reduced for its losses, too.
	if (!t->ecn || t->una > t->cut_at)
		t->ssthresh = halved(t, flight(t) - t->limited_bytes);
	t->stats.fast_retransmits++;
	t->recover = t->cut_at = t->max;
	t->cwnd = t->ssthresh + (t->sack ? 0 : DUP_ACKS * t->mss);
	t->high_rxt = t->una;
	t->grown_bytes = 0;
	t->in_recovery = t->first_partial = t->resend = true;
	t->cwr_due = t->ecn;
}

// RFC 6582, 3.2, step 1 is in the comparison with recover.
static void on_duplicate(struct tcp *t)
{
	t->stats.duplicate_acks++;
	t->dup_acks++;
	if (t->in_recovery && !t->sack)
		t->cwnd = (uint32_t)min_u64(t->cwnd + t->mss, TCP_MAX_WINDOW);
	else if (!t->in_recovery && t->una > t->recover &&
		 (t->dup_acks == DUP_ACKS || (t->sack && gap_is_lost(t, 0))))
		enter_recovery(t);
}

// RFC 6582, 3.2, step 3. True: the timer goes on as it is.
static bool recover_by(struct tcp *t, uint64_t n_bytes)
{
	bool first = t->first_partial;

	if (t->una >= t->recover) {
		t->cwnd = t->sack ? t->ssthresh
				  : (uint32_t)min_u64(t->ssthresh,
						      max_u64(flight(t), t->mss) + t->mss);
		t->in_recovery = t->resend = false;
		t->dup_acks = 0;
		return false;
	}
	if (t->sack) {
		t->high_rxt = max_u64(t->high_rxt, t->una);
		return false;
	}
	t->cwnd = t->cwnd > n_bytes ? t->cwnd - (uint32_t)n_bytes : 0;
	if (n_bytes >= t->mss)
		t->cwnd += t->mss;
	t->cwnd = (uint32_t)max_u64(t->cwnd, t->mss);
	t->resend = true;
	t->first_partial = false;
	return !first;
}

static void on_progress(struct tcp *t, uint64_t ack, bool ece, uint64_t now_ns)
{
	uint32_t in_flight = flight(t);
	uint64_t n_bytes = ack - t->una;
	bool keep_timer = false;

	t->una = ack;
	t->nxt = max_u64(t->nxt, ack);
	ranges_take(&t->sacked, ack);
	t->limited_bytes = 0;
	take_sample(t, now_ns);
	if (t->p.cc == TCP_DCTCP && t->ecn)
		estimate(t, n_bytes, ece);
	if (t->in_recovery) {
		keep_timer = recover_by(t, n_bytes);
	} else {
		t->dup_acks = 0;
		if (!ece)
			grow(t, n_bytes, in_flight);
	}
	if (!keep_timer || t->una == t->max)
		t->timer_ns = t->una == t->max ? UINT64_MAX : now_ns + t->rto_ns;
}

// Blocks of bytes that were sent; other blocks are ignored.
static void take_sacks(struct tcp *t, const struct tcp_seg *s)
{
	for (unsigned i = 0; t->sack && i < s->n_sacks; i++) {
		uint32_t una = t->iss + (uint32_t)t->una;
		uint64_t begin = t->una + (s->sacks[i].begin - una);
		uint64_t end = t->una + (s->sacks[i].end - una);

		if (begin > t->una && begin < end && end <= t->max)
			ranges_add(&t->sacked, begin, end);
	}
}

static void take_ack(struct tcp *t, const struct tcp_seg *s, uint64_t now_ns)
{
	uint64_t ack = t->una + (uint64_t)(int64_t)(int32_t)(s->ack - t->iss - (uint32_t)t->una);
	uint32_t window = (uint32_t)s->window << t->peer_scale;
	bool ece = t->ecn && s->flags & TCP_ECE;

	if ((int64_t)ack < (int64_t)t->una || ack > t->max) {
		t->stats.ignored++;
		return;
	}
	t->stats.acks_received++;
	take_sacks(t, s);
	if (ack > t->una)
		on_progress(t, ack, ece, now_ns);
	else if (t->una != t->max && s->len == 0 && window == t->peer_window)
		on_duplicate(t);
	t->peer_window = window;
	if (ece)
		on_ece(t);
}

// ---- the handshake

static void learn_peer(struct tcp *t, const struct tcp_seg *s)
{
	t->irs = s->seq;
	t->rcv_nxt = 1;
	t->peer_window = s->window;
	if (s->mss != 0 && s->mss < t->mss)
		t->mss = s->mss;
	t->cwnd = (uint32_t)t->p.initial_segments * t->mss;
	t->sack = t->p.sack && s->sack_ok;
	if (s->scale < 0)
		t->own_scale = 0;
	else
		t->peer_scale = (uint8_t)(s->scale < MAX_SCALE ? s->scale : MAX_SCALE);
}

static void open_up(struct tcp *t, uint64_t now_ns)
{
	t->phase = TCP_OPEN;
	t->una = 1;
	t->timer_ns = UINT64_MAX;
	take_sample(t, now_ns);
	if (t->syn_lost)
		t->cwnd = t->mss; // RFC 5681, 3.1
}

static void on_syn(struct tcp *t, const struct tcp_seg *s)
{
	uint8_t wish = s->flags & (TCP_ECE | TCP_CWR);

	if (t->phase == TCP_LISTEN) {
		learn_peer(t, s);
		t->ecn = t->p.ecn && wish == (TCP_ECE | TCP_CWR);
		t->phase = TCP_SYN_RCVD;
		t->syn_due = true;
	} else if (t->phase == TCP_SYN_RCVD && s->seq == t->irs) {
		t->syn_due = true; // our answer was lost
	} else {
		t->stats.ignored++;
	}
}

static void on_syn_ack(struct tcp *t, const struct tcp_seg *s, uint64_t now_ns)
{
	if (t->phase == TCP_SYN_SENT && s->ack == t->iss + 1) {
		learn_peer(t, s);
		t->ecn = t->p.ecn && (s->flags & (TCP_ECE | TCP_CWR)) == TCP_ECE;
		t->syn_due = false;
		open_up(t, now_ns);
		ack_now(t, false);
	} else if (t->phase == TCP_OPEN && s->seq == t->irs) {
		ack_now(t, false); // our ACK was lost
	} else {
		t->stats.ignored++;
	}
}

uint64_t tcp_on_segment(struct tcp *t, const struct tcp_seg *s, bool ce, uint64_t now_ns)
{
	uint64_t before = tcp_received(t);
	bool now = false;

	if (s->flags & TCP_SYN) {
		if (s->flags & TCP_ACK)
			on_syn_ack(t, s, now_ns);
		else
			on_syn(t, s);
		return 0;
	}
	if (t->phase < TCP_SYN_RCVD || !(s->flags & TCP_ACK)) {
		t->stats.ignored++;
		return 0;
	}
	if (t->phase == TCP_SYN_RCVD) {
		if (t->max == 0 || s->ack != t->iss + 1) {
			t->stats.ignored++;
			return 0;
		}
		t->syn_due = false;
		open_up(t, now_ns);
		t->peer_window = (uint32_t)s->window << t->peer_scale;
	} else {
		take_ack(t, s, now_ns);
	}
	if (s->len != 0) {
		take_ce(t, s, ce, &now);
		take_data(t, s, now, now_ns);
	}
	return tcp_received(t) - before;
}
