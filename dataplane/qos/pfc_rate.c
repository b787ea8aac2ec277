// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/pfc_rate.h"

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
