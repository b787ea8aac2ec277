// SPDX-License-Identifier: Apache-2.0
#include "dataplane/punt.h"

#include <string.h>

#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/forward/l3.h"
#include "dataplane/packet/loop_frame.h"

static bool may_punt(struct worker *w, const struct port *p, enum punt_kind kind)
{
	return policer_take(&p->pol->limit[LIMIT_COPP], &w->l3->punt[p->no]->policer[kind],
			    w->now_ns);
}

static enum punt_kind kind_of(const struct frame *f, const struct pkt_info *pkt)
{
	return is_neighbour_answer(rte_pktmbuf_mtod(f->m, const uint8_t *), f->m->data_len, pkt)
		       ? PUNT_ANSWER
		       : PUNT_REQUEST;
}

// Tags are left out. False: the frame is too long.
static bool record(const struct frame *f, const struct pkt_info *pkt, struct neighbour_frame *rec)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	unsigned tags = pkt->l3_off - ETH_HLEN_;

	*rec = (struct neighbour_frame){.port = f->in_port, .len = (uint16_t)(f->len - tags)};
	if (rec->len > sizeof(rec->bytes) || f->len > f->m->data_len)
		return false;
	memcpy(rec->bytes, eth, 2 * ETH_ALEN_);
	memcpy(rec->bytes + 2 * ETH_ALEN_, eth + 2 * ETH_ALEN_ + tags, rec->len - 2u * ETH_ALEN_);
	return true;
}

void punt_frame(struct worker *w, struct port *p, const struct frame *f,
		const struct pkt_info *pkt)
{
	enum punt_kind kind = kind_of(f, pkt);
	struct neighbour_frame rec;

	ctr_inc(&p->c.neighbour_frames);
	if (!may_punt(w, p, kind)) {
		ctr_inc(&p->c.limited[LIMIT_COPP]);
		fate_dropped(w, p, f, DROP_COPP);
		return;
	}
	if (!record(f, pkt, &rec) ||
	    rte_ring_sp_enqueue_elem(w->l3->punt[p->no]->ring[kind], &rec, sizeof(rec)) != 0)
		ctr_inc(&p->c.neighbour_frames_lost);
	fate_consumed(p, f->m);
}

bool punt_may_ask(struct worker *w, const struct port *p)
{
	return may_punt(w, p, PUNT_ASK);
}

bool punt_ask(struct worker *w, const struct port *p, const struct neighbour_ask *ask)
{
	return rte_ring_sp_enqueue_elem(w->l3->punt[p->no]->ring[PUNT_ASK],
					(void *)(uintptr_t)ask, sizeof(*ask)) == 0;
}

bool punt_loop_probe(struct worker *w, const struct port *p, const struct frame *f,
		     const struct pkt_info *pkt)
{
	// A port may show so many at once, and no more per second: the others keep their room.
	static const struct policer_params limit = {.interval_ns = 10000000, .burst_ns = 80000000};
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct loop_probe probe;
	struct loop_echo echo;
	bool tagged;

	if (!w->pol->loop_detect ||
	    !loop_frame_parse(eth, f->m->data_len, pkt->l3_off, pkt->ether_type, &probe) ||
	    probe.id != w->loop->id)
		return false;
	echo = (struct loop_echo){.nonce = probe.nonce, .round = probe.round, .vid = probe.vid,
				  .from_port = probe.port, .in_port = p->no};
	if (bridge_ingress_vid(w->pol, p->no, eth, pkt, &tagged) == probe.vid && !p->pol->routed &&
	    policer_take(&limit, &w->loop->policer[p->no], w->now_ns))
		(void)rte_ring_sp_enqueue_elem(w->loop->echoes, &echo, sizeof(echo));
	return true;
}
