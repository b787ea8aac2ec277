// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pfc.h"

#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/qos/shaper.h"

enum {
	QUANTUM_BITS = 512,
	QUANTUM_BYTES = QUANTUM_BITS / 8,
	LEAST_FRAME = 60, // without FCS
	PFC_BYTES = PFC_FRAME_LEN + LINK_OVERHEAD_BYTES,
};

uint64_t pfc_quanta_ns(uint64_t speed_bps, uint16_t quanta)
{
	// 65535 * 512 * 1e9 is below 2^55.
	return (quanta * (QUANTUM_BITS * 1000000000ull) + speed_bps - 1) / speed_bps;
}

uint32_t pfc_bytes_before(uint32_t max_frame, uint32_t tx_ring_bytes)
{
	uint32_t frames = (tx_ring_bytes + LEAST_FRAME - 1) / LEAST_FRAME;

	return max_frame + LINK_OVERHEAD_BYTES + tx_ring_bytes + frames * LINK_OVERHEAD_BYTES;
}

// With these six the refresh is four PFC frames long, so they take a quarter of the line at most.
uint32_t pfc_least_quanta(uint32_t bytes_before)
{
	return (bytes_before + 6 * PFC_BYTES + QUANTUM_BYTES - 1) / QUANTUM_BYTES;
}

void pfc_params_init(struct pfc_params *p, uint64_t speed_bps, uint16_t quanta,
		     uint32_t bytes_before)
{
	uint64_t free_ns;

	p->speed_bps = speed_bps;
	p->quanta = quanta;
	p->lifetime_ns = pfc_quanta_ns(speed_bps, quanta);
	p->before_ns = (bytes_before * (8ull * SECOND_NS) + speed_bps - 1) / speed_bps;
	free_ns = p->lifetime_ns > p->before_ns ? p->lifetime_ns - p->before_ns : 0;
	p->refresh_ns = min_u64(p->lifetime_ns / 2, 2 * free_ns / 3);
}

// A pause began or goes on until until_ns.
static void stats_pause(struct pfc_class_stats *st, bool was_paused, uint64_t now_ns,
			uint64_t until_ns)
{
	if (!was_paused) {
		ctr_inc(&st->transitions);
		gauge_set(&st->since_ns, now_ns);
		gauge_set(&st->last_change_ns, now_ns);
	}
	gauge_set(&st->until_ns, until_ns);
}

static void stats_end(struct pfc_class_stats *st, uint64_t end_ns)
{
	uint64_t lasted_ns = end_ns - gauge_get(&st->since_ns);

	ctr_add(&st->duration_ns, lasted_ns);
	gauge_max(&st->longest_ns, lasted_ns);
	gauge_set(&st->last_change_ns, end_ns);
	gauge_set(&st->since_ns, 0);
	gauge_set(&st->until_ns, 0);
}

static void rx_class(const struct pfc_params *p, struct pfc_rx_state *s, unsigned c,
		     uint16_t quanta, uint64_t now_ns)
{
	uint8_t bit = (uint8_t)(1u << c);

	ctr_inc(&s->stats[c].frames);
	if (!(p->rx & bit))
		return;
	s->until_ns[c] = quanta == 0 ? 0 : now_ns + pfc_quanta_ns(p->speed_bps, quanta);
	if (s->ignore_pause & bit)
		return;
	if (quanta != 0) {
		stats_pause(&s->stats[c], s->paused & bit, now_ns, s->until_ns[c]);
		s->paused |= bit;
	} else if (s->paused & bit) {
		s->paused &= (uint8_t)~bit;
		stats_end(&s->stats[c], now_ns);
	}
}

void pfc_rx_frame_seen(const struct pfc_params *p, struct pfc_rx_state *s,
		       const struct pfc_times *f)
{
	if (f->enable == 0)
		ctr_inc(&s->empty_vector);
	else if (f->enable & (uint8_t)~p->lossless)
		ctr_inc(&s->ignored_lossy);
}

void pfc_rx_frame(const struct pfc_params *p, struct pfc_rx_state *s, const struct pfc_times *f,
		  uint64_t now_ns)
{
	pfc_rx_frame_seen(p, s, f);
	pfc_rx_expire(s, now_ns);
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (f->enable & p->lossless & 1u << c)
			rx_class(p, s, c, f->quanta[c], now_ns);
}

void pfc_rx_expire(struct pfc_rx_state *s, uint64_t now_ns)
{
	for_each_bit (c, s->paused) {
		if (now_ns < s->until_ns[c])
			continue;
		s->paused &= (uint8_t)~(1u << c);
		stats_end(&s->stats[c], s->until_ns[c]);
	}
}

// Of these classes; UINT64_MAX: there is none.
static uint64_t earliest_of_classes(uint8_t classes, const uint64_t at_ns[N_CLASSES])
{
	uint64_t first = UINT64_MAX;

	for_each_bit (c, classes)
		first = min_u64(first, at_ns[c]);
	return first;
}

uint64_t pfc_rx_next(const struct pfc_rx_state *s)
{
	return earliest_of_classes(s->paused, s->until_ns);
}

// Pauses of these classes end now, or when they ran out, if that is earlier.
static void rx_end(struct pfc_rx_state *s, uint8_t classes, uint64_t now_ns)
{
	for_each_bit (c, s->paused & classes) {
		s->paused &= (uint8_t)~(1u << c);
		stats_end(&s->stats[c], now_ns < s->until_ns[c] ? now_ns : s->until_ns[c]);
	}
}

void pfc_rx_clear(struct pfc_rx_state *s, uint8_t keep, uint64_t now_ns)
{
	pfc_rx_expire(s, now_ns);
	rx_end(s, (uint8_t)~keep, now_ns);
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (!(keep >> c & 1))
			s->until_ns[c] = 0;
}

void pfc_rx_ignore(struct pfc_rx_state *s, uint8_t classes, uint64_t now_ns)
{
	uint8_t obeys_again = s->ignore_pause & (uint8_t)~classes;

	s->ignore_pause = classes;
	rx_end(s, classes, now_ns);
	for_each_bit (c, obeys_again) {
		if (now_ns >= s->until_ns[c])
			continue;
		stats_pause(&s->stats[c], false, now_ns, s->until_ns[c]);
		s->paused |= (uint8_t)(1u << c);
	}
}

bool pfc_tx_due(const struct pfc_params *p, const struct pfc_tx_state *s, uint8_t want,
		uint64_t now_ns, struct pfc_times *f)
{
	*f = (struct pfc_times){0};
	want &= (p->tx & p->lossless) | s->by_control;
	for_each_bit (c, want | s->paused) {
		uint8_t bit = (uint8_t)(1u << c);

		if (!(want & bit)) {
			f->enable |= bit; // XON: time stays 0
		} else if (!(s->paused & bit) || now_ns >= s->refresh_ns[c]) {
			f->enable |= bit;
			f->quanta[c] = p->quanta;
		}
	}
	if (p->whole_link && f->enable != 0)
		for_each_bit (c, want) {
			f->enable |= (uint8_t)(1u << c);
			f->quanta[c] = p->quanta;
		}
	return f->enable != 0;
}

uint8_t pfc_tx_owed_xon(const struct pfc_tx_state *s, const struct pfc_times *f)
{
	if ((s->paused & (uint8_t)~f->enable) != 0)
		return 0;
	for_each_bit (c, f->enable)
		if (f->quanta[c] != 0)
			return 0;
	return s->other_form;
}

void pfc_tx_sent(const struct pfc_params *p, struct pfc_tx_state *s, const struct pfc_times *f,
		 uint64_t now_ns)
{
	for_each_bit (c, f->enable) {
		uint8_t bit = (uint8_t)(1u << c);

		ctr_inc(&s->stats[c].frames);
		if (f->quanta[c] != 0) {
			stats_pause(&s->stats[c], s->paused & bit, now_ns, now_ns + p->lifetime_ns);
			s->paused |= bit;
			s->refresh_ns[c] = now_ns + p->refresh_ns;
		} else if (s->paused & bit) {
			s->paused &= (uint8_t)~bit;
			stats_end(&s->stats[c], now_ns);
		}
	}
}

void pfc_tx_new_params(const struct pfc_params *p, struct pfc_tx_state *s, uint64_t now_ns)
{
	if (p->whole_link != s->whole_link)
		s->other_form = s->paused;
	if (p->refresh_ns < s->after_ns || p->speed_bps > s->speed_bps ||
	    p->whole_link != s->whole_link)
		for (unsigned c = 0; c < N_CLASSES; c++)
			s->refresh_ns[c] = now_ns;
	s->after_ns = p->refresh_ns;
	s->speed_bps = p->speed_bps;
	s->whole_link = p->whole_link;
}

void pfc_tx_clear(struct pfc_tx_state *s, uint64_t now_ns)
{
	for_each_bit (c, s->paused)
		stats_end(&s->stats[c], now_ns);
	s->paused = s->other_form = 0;
}

uint64_t pfc_tx_next(const struct pfc_tx_state *s)
{
	return earliest_of_classes(s->paused, s->refresh_ns);
}

// ---- early warning

enum { SLOT_NS = 100000000, HOLD_OFF_NS = PFC_RATE_SLOTS * SLOT_NS };

// Ends the slots whose time is over. Frames of several that nobody looked at in between are shared
// out evenly, for it is not known when they came.
static void end_slots(struct pfc_rate *r, uint64_t frames, uint64_t now_ns)
{
	uint64_t ended = (now_ns - r->slot_start_ns) / SLOT_NS;
	uint64_t n = frames - r->at_start;

	if (ended == 0)
		return;
	r->slot_start_ns += ended * SLOT_NS;
	r->at_start = frames;
	// Those before the last second are over anyhow.
	for (uint64_t i = ended > PFC_RATE_SLOTS ? ended - PFC_RATE_SLOTS : 0; i < ended; i++) {
		r->slots[r->slot] = n / ended + (i >= ended - n % ended);
		r->slot = (r->slot + 1) % PFC_RATE_SLOTS;
	}
}

static enum pfc_rate_verdict change(struct pfc_rate *r, bool above, uint64_t now_ns)
{
	r->above = above;
	r->changed_ns = now_ns;
	return above ? PFC_RATE_UP : PFC_RATE_DOWN;
}

enum pfc_rate_verdict pfc_rate_look(struct pfc_rate *r, uint32_t threshold_pps, uint64_t frames,
				    uint64_t now_ns, uint64_t *pps)
{
	uint64_t sum = 0;

	if (!r->begun) {
		r->begun = true;
		r->slot_start_ns = now_ns;
		r->at_start = frames;
	}
	end_slots(r, frames, now_ns);
	for (unsigned i = 0; i < PFC_RATE_SLOTS; i++)
		sum += r->slots[i];
	*pps = sum;
	if (r->changed_ns != 0 && now_ns - r->changed_ns < HOLD_OFF_NS)
		return PFC_RATE_SAME;
	if (!r->above && threshold_pps != 0 && sum > threshold_pps)
		return change(r, true, now_ns);
	// Nothing is above a threshold that was taken away.
	if (r->above && (threshold_pps == 0 || sum * 8 < threshold_pps * 7ull))
		return change(r, false, now_ns);
	return PFC_RATE_SAME;
}
