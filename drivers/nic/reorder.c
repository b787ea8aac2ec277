// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/reorder.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "dataplane/packet/psn.h"

static_assert((REORDER_PKTS & (REORDER_PKTS - 1)) == 0, "PSNs wrap without a break");

static bool psn_set_has(const uint64_t *set, uint32_t psn)
{
	return set[psn % REORDER_PKTS / 64] >> psn % 64 & 1;
}

static void psn_set_add(uint64_t *set, uint32_t *n, uint32_t psn)
{
	*n += !psn_set_has(set, psn);
	set[psn % REORDER_PKTS / 64] |= 1ull << psn % 64;
}

static void psn_set_remove(uint64_t *set, uint32_t *n, uint32_t psn)
{
	*n -= psn_set_has(set, psn);
	set[psn % REORDER_PKTS / 64] &= ~(1ull << psn % 64);
}

void reorder_init(struct reorder *o, uint32_t epsn)
{
	memset(o, 0, offsetof(struct reorder, pkts));
	o->end = o->top = epsn;
}

static void ask_for(struct reorder *o, uint32_t psn)
{
	psn_set_add(o->asked, &o->n_asked, psn);
	psn_set_add(o->due, &o->n_due, psn);
}

// A packet came again that NAK number `no` named.
static void ask_for_earlier(struct reorder *o, uint32_t no)
{
	for (unsigned w = 0; w < REORDER_WORDS; w++)
		for (uint64_t left = o->asked[w] & ~o->due[w]; left != 0; left &= left - 1) {
			uint32_t place = w * 64 + (unsigned)__builtin_ctzll(left);

			if ((int32_t)(o->nak_no[place] - no) < 0)
				psn_set_add(o->due, &o->n_due, place);
		}
}

enum { ONE_MORE_EVERY = 8 };

void reorder_came(struct reorder *o, uint32_t psn)
{
	if (psn_set_has(o->asked, psn) && !psn_set_has(o->due, psn))
		ask_for_earlier(o, o->nak_no[psn % REORDER_PKTS]);
	psn_set_remove(o->asked, &o->n_asked, psn);
	psn_set_remove(o->due, &o->n_due, psn);
	o->may_ask += ++o->n_came % ONE_MORE_EVERY == 0 ? 2 : 1;
	if (o->may_ask > o->n_due)
		o->may_ask = o->n_due;
}

// Packets in order do not move the end, so after 2^23 of them it would seem to lie ahead.
static void renew_end(struct reorder *o, uint32_t epsn)
{
	if (o->n_held + o->n_asked == 0)
		o->end = o->top = epsn;
	if (psn_diff(o->end, epsn) < 0)
		o->end = epsn;
	if (psn_diff(o->top, o->end) < 0)
		o->top = o->end;
}

bool reorder_hold(struct reorder *o, uint32_t epsn, const struct roce_pkt *pkt)
{
	uint32_t psn = pkt->psn;

	if (psn_set_has(o->held, psn))
		return false;
	renew_end(o, epsn);
	for (; psn_diff(psn, o->end) > 0; o->end = psn_add(o->end, 1))
		if (!psn_set_has(o->held, o->end) && !psn_set_has(o->asked, o->end))
			ask_for(o, o->end);
	if (psn == o->end)
		o->end = psn_add(psn, 1);
	reorder_came(o, psn);
	psn_set_add(o->held, &o->n_held, psn);
	o->pkts[psn % REORDER_PKTS] = (struct reorder_pkt){
		.va = pkt->va,
		.rkey = pkt->rkey,
		.dma_len = pkt->dma_len,
		.payload_len = pkt->payload_len,
		.payload_sum = pkt->payload_sum,
		.opcode = pkt->opcode,
		.ack_req = pkt->ack_req,
	};
	return true;
}

void reorder_trimmed(struct reorder *o, uint32_t epsn, uint32_t psn)
{
	renew_end(o, epsn);
	if (psn_set_has(o->held, psn))
		return;
	ask_for(o, psn);
	if (psn_diff(psn, o->top) >= 0)
		o->top = psn_add(psn, 1);
}

bool reorder_take(struct reorder *o, uint32_t epsn, struct roce_pkt *pkt)
{
	const struct reorder_pkt *k = &o->pkts[epsn % REORDER_PKTS];

	if (!psn_set_has(o->held, epsn))
		return false;
	psn_set_remove(o->held, &o->n_held, epsn);
	*pkt = (struct roce_pkt){
		.psn = epsn,
		.va = k->va,
		.rkey = k->rkey,
		.dma_len = k->dma_len,
		.payload_len = k->payload_len,
		.payload_sum = k->payload_sum,
		.opcode = k->opcode,
		.ack_req = k->ack_req,
	};
	return true;
}

// Packets that were asked for, or that trimmed ones have overtaken.
static bool some_on_their_way(const struct reorder *o)
{
	if (o->n_asked != o->n_due)
		return true;
	for (uint32_t psn = o->end; psn_diff(o->top, psn) > 0; psn = psn_add(psn, 1))
		if (!psn_set_has(o->asked, psn))
			return true;
	return false;
}

bool reorder_asks(const struct reorder *o)
{
	return o->n_due != 0 && (o->may_ask != 0 || !some_on_their_way(o));
}

uint32_t reorder_due(const struct reorder *o, uint32_t epsn)
{
	uint32_t psn = epsn;

	while (!psn_set_has(o->due, psn))
		psn = psn_add(psn, 1);
	return psn;
}

void reorder_asked(struct reorder *o, uint32_t psn)
{
	o->nak_no[psn % REORDER_PKTS] = o->n_naks++;
	o->may_ask -= o->may_ask != 0;
	psn_set_remove(o->due, &o->n_due, psn);
}
