// SPDX-License-Identifier: Apache-2.0
// Frames that control sends: ARP and neighbour discovery, loop probes. They go through the queue of
// their class like all others.
#include <string.h>

#include "dataplane/switch_impl.h"

enum { SEND_BURST = 8 };

// A frame of the switch's own is charged as if it had arrived on the port it leaves by.
static void send_one(struct worker *w, const struct neighbour_frame *rec)
{
	const struct policy_port *pp = &w->pol->ports[rec->port];
	struct frame f = {.arrival_ns = w->now_ns, .in_port = rec->port, .out_port = rec->port,
			  .len = rec->len, .kind = PKT_OTHER};
	struct pkt_info pkt;
	uint8_t *data;

	ctr_inc(&worker_port(w, rec->port)->c.generated);
	atomic_thread_fence(memory_order_release); // begun before it ends
	f.m = rte_pktmbuf_alloc(w->sw->pool);
	data = f.m == NULL ? NULL : (uint8_t *)rte_pktmbuf_append(f.m, rec->len);
	if (data == NULL || !parse(rec->bytes, rec->len, &pkt)) {
		f.cls = pp->classify.default_class;
		worker_drop(w, rec->port, &f, DROP_NO_MBUF);
		return;
	}
	memcpy(data, rec->bytes, rec->len);
	f.m->hash.rss = FLOW_NONE;
	f.kind = pkt.kind == PKT_IPV6 ? PKT_IPV6 : PKT_OTHER;
	f.ecn = f.kind == PKT_OTHER ? ECN_NOT_ECT : pkt.ecn;
	f.l3_off = pkt.l3_off;
	f.cls = f.out_cls = pkt.reserved_dst == DST_LOOPBACK ? pp->classify.control_class
							     : classify(&pp->classify, &pkt).cls;
	f.pg = pp->classify.class_to_pg[f.cls];
	f.queue = pp->classify.class_to_queue[f.cls];
	f.cells = (uint16_t)cells_of(&w->pol->cell, f.len);
	if (account_admit(w, &f))
		egress_enqueue(w, &f, 1);
}

static unsigned take(struct rte_ring *r, struct neighbour_frame *frames, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(r, frames, sizeof(frames[0]), n, NULL);
}

void control_frames_send(struct worker *w)
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
	account_claim(w, n);
	for (unsigned i = 0; i < n; i++)
		send_one(w, &frames[i]);
	account_done(w);
}
