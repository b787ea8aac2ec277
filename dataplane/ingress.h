// SPDX-License-Identifier: Apache-2.0
// The ingress half of the loop: receive, parse, MAC control, classify, forward (bridging.h,
// routing.h), admit, hand over. Called by the worker that owns the port of arrival.
#pragma once

#include "dataplane/switch_impl.h"

// A burst on its way through the ingress stages. Each stage runs over all of it before the next: a
// descriptor is then read long after it was written, and the stages' code and tables stay at hand.
struct burst {
	uint32_t packets; // all but MAC control; counted once per burst
	uint64_t bytes;
	uint16_t n_in, n_out; // frames that were received; those of them that know their way
	uint32_t unparsed; // bitmap of frames without pkts[]
	struct frame frames[BURST]; // in order of arrival
	struct pkt_info pkts[BURST];
};
static_assert(BURST <= 32, "a bit a frame");

// The parsed headers of the frame.
static inline const struct pkt_info *burst_pkt(struct burst *b, unsigned i)
{
	const struct rte_mbuf *m = b->frames[i].m;

	if (unlikely(b->unparsed >> i & 1))
		parse(rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len, &b->pkts[i]);
	return &b->pkts[i];
}

// The frame is about to be edited: what follows goes by its headers as they arrived.
static inline void burst_keep_pkt(struct burst *b, unsigned i)
{
	(void)burst_pkt(b, i);
	b->unparsed &= ~(1u << i);
}

// Receives one burst of a port and admits it. True when there may be more.
bool ingress_poll(struct worker *w, struct port *p);
// Takes frames in that the port is counted to have received.
void ingress_receive(struct worker *w, struct port *p, struct rte_mbuf **pkts, uint16_t n);
// Admits the first n_out frames of a burst, which know their way, and hands them over.
void ingress_admit(struct worker *w, struct port *p, struct burst *b);
// Gives frames that were admitted to the owner of their egress port.
void ingress_hand_over(struct worker *w, const struct run *r);
static inline void ingress_hand_over_one(struct worker *w, struct frame *f)
{
	struct run r = run_of_one(f);

	ingress_hand_over(w, &r);
}
