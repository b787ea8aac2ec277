// SPDX-License-Identifier: Apache-2.0
#include "dataplane/zones.h"

#include "dataplane/bridging.h"
#include "dataplane/fate.h"
#include "dataplane/ingress.h"

static bool is_forbidden(const struct zone_table *t, const struct frame *f)
{
	return zone_forbids(t, rte_pktmbuf_mtod(f->m, const uint8_t *), f->kind, f->l3_off);
}

// A bitmap of the frames of IPv4 that are forbidden. *others: of the frames that are no IPv4. Most
// frames are, so the loop is for these alone, and calls nothing.
static force_inline uint32_t forbidden_v4(const struct zone_table *t, const struct burst *b,
					  uint32_t *others)
{
	const struct frame *end = &b->frames[b->n_in];
	uint32_t forbidden = 0;

	for (const struct frame *f = b->frames; f != end; f++) {
		if (unlikely(f->kind != PKT_IPV4))
			*others |= 1u << (f - b->frames);
		else if (unlikely(zone_forbids(t, rte_pktmbuf_mtod(f->m, const uint8_t *),
					       PKT_IPV4, f->l3_off)))
			forbidden |= 1u << (f - b->frames);
	}
	return forbidden;
}

static bool is_exempt(const struct frame *f, const struct pkt_info *pkt)
{
	return zone_is_exempt(rte_pktmbuf_mtod(f->m, const uint8_t *), f->m->data_len, pkt);
}

// False: the frame goes on after all.
static bool ends(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt)
{
	enum drop_reason why = N_DROP_REASONS;

	if (is_exempt(f, pkt))
		return false;
	if (!p->pol->routed)
		why = bridging_learn(w, p, f, pkt);
	fate_dropped(w, p, f, why == N_DROP_REASONS ? DROP_ZONE : why);
	return true;
}

static void move(struct burst *b, unsigned from, unsigned to)
{
	b->frames[to] = b->frames[from];
	b->unparsed &= ~(1u << to);
	if (b->unparsed >> from & 1)
		b->unparsed |= 1u << to;
	else
		b->pkts[to] = b->pkts[from];
}

static void take_out(struct worker *w, struct burst *b, uint32_t forbidden)
{
	uint16_t n = 0;

	for (unsigned i = 0; i < b->n_in; i++) {
		struct frame *f = &b->frames[i];

		if ((forbidden >> i & 1) &&
		    ends(w, worker_port(w, f->in_port), f, burst_pkt(b, i)))
			continue;
		if (n != i)
			move(b, i, n);
		n++;
	}
	b->n_in = n;
}

void zones_burst(struct worker *w, struct burst *b)
{
	uint32_t others = 0, forbidden = forbidden_v4(w->zones, b, &others);

	for (unsigned i = 0; others != 0 && i < b->n_in; i++)
		if ((others >> i & 1) && is_forbidden(w->zones, &b->frames[i]))
			forbidden |= 1u << i;
	if (unlikely(forbidden != 0))
		take_out(w, b, forbidden);
}

bool zones_pass(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt)
{
	if (!is_forbidden(w->zones, f) || is_exempt(f, pkt))
		return true;
	fate_dropped(w, p, f, DROP_ZONE);
	return false;
}
