// SPDX-License-Identifier: Apache-2.0
#include "dataplane/punt.h"

#include <netinet/in.h>
#include <string.h>

#include "dataplane/admission.h"
#include "dataplane/egress.h"
#include "dataplane/fate.h"
#include "dataplane/forward/l3.h"
#include "dataplane/frame_ring.h"
#include "dataplane/packet/loop_frame.h"

enum {
	BGP_PORT = 179,
	BFD_PORT = 3784, // RFC 5881
	BFD_ECHO_PORT = 3785,
	BFD_MULTIHOP_PORT = 4784, // RFC 5883
	IP_PROTO_OSPF = 89,
};

static bool is_bgp(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *tcp = rte_pktmbuf_mtod(f->m, const uint8_t *) + pkt->l4_off;

	return pkt->ip_proto == IPPROTO_TCP && pkt->l4_off != 0 &&
	       pkt->l4_off + 4u <= f->m->data_len &&
	       (be16_get(tcp) == BGP_PORT || be16_get(tcp + 2) == BGP_PORT);
}

static bool is_bfd(const struct pkt_info *pkt)
{
	return pkt->udp_dport == BFD_PORT || pkt->udp_dport == BFD_ECHO_PORT ||
	       pkt->udp_dport == BFD_MULTIHOP_PORT;
}

enum punt_reason punt_reason_of(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);

	if (is_neighbour_answer(eth, f->m->data_len, pkt))
		return PUNT_ANSWER;
	if (pkt->ether_type == ETYPE_ARP || is_nd(eth, f->m->data_len, pkt))
		return PUNT_NEIGHBOUR;
	if (nd_type(eth, f->m->data_len, pkt) != 0 || pkt->ip_proto == IP_PROTO_OSPF ||
	    is_bfd(pkt) || is_bgp(f, pkt))
		return PUNT_ROUTING;
	return PUNT_LOCAL;
}

bool punt_for_group(const struct port *p, const struct frame *f, enum punt_reason reason)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	bool broadcast = be32_get(eth) == UINT32_MAX && be16_get(eth + 4) == UINT16_MAX;

	return punts(p, reason) &&
	       (reason != PUNT_LOCAL || ip_to_link(eth + f->l3_off, f->kind, broadcast));
}

static bool may_punt(struct worker *w, const struct port *p, struct policer *state)
{
	return policer_take(&p->pol->limit[LIMIT_COPP], state, w->now_ns);
}

// False: the frame is too long, or the ring is full.
static bool put_punted_frame(const struct worker *w, struct port *p, const struct frame *f,
			     const struct pkt_info *pkt, enum punt_reason reason, port_no_t iface)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	unsigned tags = pkt->l3_off - ETH_HLEN_, macs = 2 * ETH_ALEN_;
	struct control_frame rec;

	if (f->len > f->m->data_len || f->len > sizeof(rec.bytes))
		return false;
	rec.len = (uint16_t)(f->len - tags);
	rec.vid = iface < IFACE_SVI ? 0 : w->pol->svis[iface - IFACE_SVI].vid;
	rec.port = iface;
	rec.reason = (uint8_t)reason;
	memcpy(rec.bytes, eth, macs);
	memcpy(rec.bytes + macs, eth + macs + tags, rec.len - macs);
	return frame_ring_put(p->punt->ring[reason], &rec);
}

bool punt_copy(struct worker *w, struct port *p, const struct frame *f, const struct pkt_info *pkt,
	       enum punt_reason reason, port_no_t iface)
{
	struct punt_counters *c = &p->c.punt[reason];

	ctr_inc(&c->frames);
	if (!may_punt(w, p, &p->punt->policer[reason])) {
		ctr_inc(&c->limited);
		ctr_inc(&p->c.limited[LIMIT_COPP]);
		return false;
	}
	if (!put_punted_frame(w, p, f, pkt, reason, iface))
		ctr_inc(&c->lost);
	return true;
}

void punt_frame(struct worker *w, struct port *p, const struct frame *f,
		const struct pkt_info *pkt, enum punt_reason reason, port_no_t iface)
{
	if (punt_copy(w, p, f, pkt, reason, iface))
		fate_consumed(p, f->m);
	else
		fate_dropped(w, p, f, DROP_COPP);
}

void punt_link_local(struct worker *w, struct port *p, const struct frame *f,
		     const struct pkt_info *pkt)
{
	if (pkt->kind == PKT_LLDP && punts(p, PUNT_LLDP))
		punt_copy(w, p, f, pkt, PUNT_LLDP, p->no);
	else if (pkt->kind == PKT_SLOW && punts(p, PUNT_LACP))
		punt_copy(w, p, f, pkt, PUNT_LACP, p->no);
	else if (pkt->kind == PKT_INOF && punts(p, PUNT_INOF))
		punt_copy(w, p, f, pkt, PUNT_INOF, p->no);
}

bool punt_may_request(struct worker *w, const struct port *p)
{
	return may_punt(w, p, &p->punt->requests_policer);
}

bool punt_request(const struct port *p, const struct neighbour_request *ask)
{
	return rte_ring_sp_enqueue_elem(p->punt->requests, (void *)(uintptr_t)ask,
					sizeof(*ask)) == 0;
}

bool punt_loop_probe(struct worker *w, const struct port *p, const struct frame *f,
		     const struct pkt_info *pkt, int vid)
{
	// A port may show so many at once, and no more per second: the others keep their room.
	static const struct policer_params limit = {.interval_ns = 10000000, .burst_ns = 80000000};
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct loop_probe probe;
	struct loop_echo echo;

	if (!w->pol->loop_detect ||
	    !loop_frame_parse(eth, f->m->data_len, pkt->l3_off, pkt->ether_type, &probe) ||
	    probe.id != w->loop->id)
		return false;
	echo = (struct loop_echo){.nonce = probe.nonce, .round = probe.round, .vid = probe.vid,
				  .from_port = probe.port, .in_port = p->no};
	if (vid == probe.vid &&
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

static void send_one(struct worker *w, const struct control_frame *rec)
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
	frame_set_kind(&f, pkt.kind == PKT_IPV4 || pkt.kind == PKT_IPV6 ? pkt.kind : PKT_OTHER);
	f.ecn = f.kind == PKT_OTHER ? ECN_NOT_ECT : pkt.ecn & 3u;
	f.l3_off = pkt.l3_off;
	f.cls = pkt.reserved_dst == DST_ORDINARY ? classify(c, &pkt).cls : c->control_class;
	send_own(w, p, &f, rec->bytes);
}

static bool next_to_send(const struct worker *w, struct control_frame *out)
{
	for (unsigned k = 0; k < N_SEND_KINDS; k++)
		if (frame_ring_take(w->sends[k], out))
			return true;
	return false;
}

void send_for_control(struct worker *w)
{
	struct control_frame rec;

	atomic_thread_fence(memory_order_acquire); // with the one of switch_send()
	for (unsigned n = 0; n < SEND_BURST && next_to_send(w, &rec); n++) {
		w->busy = true;
		ctr_inc(&w->sends_taken);
		admission_claim(w, 1);
		send_one(w, &rec);
		admission_done(w);
	}
}
