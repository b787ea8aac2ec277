// SPDX-License-Identifier: Apache-2.0
#include "dataplane/send.h"

#include <string.h>

#include "dataplane/admission.h"
#include "dataplane/egress.h"
#include "dataplane/fate.h"

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
