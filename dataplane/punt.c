// SPDX-License-Identifier: Apache-2.0
#include "dataplane/punt.h"

#include <string.h>

#include "dataplane/admission.h"
#include "dataplane/egress.h"
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

bool punt_may_request(struct worker *w, const struct port *p)
{
	return may_punt(w, p, PUNT_HOP_REQUEST);
}

bool punt_request(struct worker *w, const struct port *p, const struct neighbour_request *ask)
{
	return rte_ring_sp_enqueue_elem(w->l3->punt[p->no]->ring[PUNT_HOP_REQUEST],
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

// ---- what control sends, and other frames of the switch

enum { SEND_BURST = 8 };

bool send_own(struct worker *w, struct port *p, struct frame *f, const uint8_t *bytes)
{
	const struct classify_params *c = &p->pol->classify;
	uint8_t *data;
	struct run r;

	f->arrival_ns = w->now_ns;
	f->in_port = f->out_port = p->no;
	f->out_cls = f->cls;
	ctr_inc(&p->c.generated);
	atomic_thread_fence(memory_order_release); // begun before it ends
	f->m = bytes == NULL ? NULL : rte_pktmbuf_alloc(w->sw->pool);
	data = f->m == NULL ? NULL : (uint8_t *)rte_pktmbuf_append(f->m, f->len);
	if (data == NULL) {
		fate_dropped(w, p, f, DROP_NO_MBUF);
		return false;
	}
	memcpy(data, bytes, f->len);
	f->m->hash.rss = FLOW_NONE;
	f->pg = c->class_to_pg[f->cls];
	f->queue = c->class_to_queue[f->cls];
	f->cells = (uint16_t)cells_of(&w->pol->cell, f->len);
	r = run_of_one(f);
	if (admission_charge(w, p, &r) != ADMITTED)
		return false;
	egress_enqueue(w, &r);
	w->busy = true;
	return true;
}

static void send_one(struct worker *w, const struct neighbour_frame *rec)
{
	struct port *p = worker_port(w, rec->port);
	const struct classify_params *c = &p->pol->classify;
	struct frame f = {.len = rec->len, .kind = PKT_OTHER};
	struct pkt_info pkt;

	if (!parse(rec->bytes, rec->len, &pkt)) {
		f.cls = c->default_class;
		send_own(w, p, &f, NULL);
		return;
	}
	f.kind = pkt.kind == PKT_IPV6 ? PKT_IPV6 : PKT_OTHER;
	f.ecn = f.kind == PKT_OTHER ? ECN_NOT_ECT : pkt.ecn;
	f.l3_off = pkt.l3_off;
	f.cls = pkt.reserved_dst == DST_LOOPBACK ? c->control_class : classify(c, &pkt).cls;
	send_own(w, p, &f, rec->bytes);
}

static unsigned take(struct rte_ring *r, struct neighbour_frame *frames, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(r, frames, sizeof(frames[0]), n, NULL);
}

void send_for_control(struct worker *w)
{
	struct neighbour_frame frames[SEND_BURST];
	unsigned n = 0;

	if (w->pol->loop_detect)
		n += take(w->loop->sends, frames, SEND_BURST);
	for (unsigned k = 0; w->pol->routes.any && w->l3 != NULL && k < N_SEND_KINDS; k++)
		n += take(w->l3->sends[k], frames + n, SEND_BURST - n);
	if (n == 0)
		return;
	w->busy = true;
	admission_claim(w, n);
	for (unsigned i = 0; i < n; i++)
		send_one(w, &frames[i]);
	admission_done(w);
}
