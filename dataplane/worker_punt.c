// SPDX-License-Identifier: Apache-2.0
// What a routed port hands to control: ARP, neighbour discovery, and addresses that frames want.
// Each port has a token bucket and a ring for each kind (control-plane policing), so a flood on one
// port reaches control at the port's own rate and takes no room of another port. Answers have a
// bucket and a ring of their own: requests cannot push out the answers to the switch's probes.
#include <string.h>

#include "dataplane/forward/l3.h"
#include "dataplane/switch_impl.h"

static bool may_punt(struct worker *w, unsigned port, enum punt_kind kind)
{
	return policer_take(&w->pol->ports[port].limit[LIMIT_COPP],
			    &w->l3->punt[port]->policer[kind], w->now_ns);
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

void punt_frame(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	struct port_rt *p = worker_port(w, f->in_port);
	enum punt_kind kind = kind_of(f, pkt);
	struct neighbour_frame rec;

	ctr_inc(&p->c.neighbour_frames);
	if (!may_punt(w, f->in_port, kind)) {
		ctr_inc(&p->c.limited[LIMIT_COPP]);
		worker_drop(w, f->in_port, f, DROP_COPP);
		return;
	}
	if (!record(f, pkt, &rec) ||
	    rte_ring_sp_enqueue_elem(w->l3->punt[f->in_port]->ring[kind], &rec, sizeof(rec)) != 0)
		ctr_inc(&p->c.neighbour_frames_lost);
	ctr_inc(&p->c.consumed);
	rte_pktmbuf_free(f->m);
}

bool punt_may_ask(struct worker *w, unsigned port)
{
	return may_punt(w, port, PUNT_ASK);
}

bool punt_ask(struct worker *w, unsigned port, const struct neighbour_ask *ask)
{
	return rte_ring_sp_enqueue_elem(w->l3->punt[port]->ring[PUNT_ASK],
					(void *)(uintptr_t)ask, sizeof(*ask)) == 0;
}
