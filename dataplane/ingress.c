// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ingress.h"

#include "dataplane/admission.h"
#include "dataplane/bridging.h"
#include "dataplane/egress.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/packet/parse_template.h"
#include "dataplane/peer_pause.h"
#include "dataplane/punt.h"
#include "dataplane/routing.h"
#include "dataplane/rx_guard.h"

enum { PREFETCH_AHEAD = 8 };

// ---- control frames

// Drops a frame that no class was found for.
static void drop_unclassified(struct worker *w, struct port *p, struct frame *f, struct burst *b,
			      enum drop_reason why)
{
	b->packets++;
	b->bytes += f->m->pkt_len;
	f->cls = p->pol->classify.default_class;
	fate_dropped(w, p, f, why);
}

static int vlan_of(const struct worker *w, const struct port *p, const struct frame *f,
		   const struct pkt_info *pkt)
{
	bool tagged;

	return p->pol->routed ? -1
			      : bridge_ingress_vid(w->pol, p->no, rte_pktmbuf_mtod(f->m, uint8_t *),
						   pkt, &tagged);
}

// No STP runs here, so a BPDU is the bridge's to forward. A router forwards none.
static bool ends_here(struct worker *w, const struct port *p, const struct frame *f,
		      const struct pkt_info *pkt)
{
	switch ((enum reserved_dst)pkt->reserved_dst) {
	case DST_STP: return p->pol->routed;
	case DST_LOOPBACK: return punt_loop_probe(w, p, f, pkt, vlan_of(w, p, f, pkt));
	case DST_LINK_LOCAL:
	case DST_ORDINARY: break;
	}
	return true;
}

// MAC control wherever it is addressed, and link-local groups, end here. MAC control behind a tag
// would be PFC for the neighbour of a port that takes the tag off. Protocols of the link end here
// where they are addressed beyond it.
static bool control_frame(struct worker *w, struct port *p, struct frame *f,
			  const struct pkt_info *pkt, struct burst *b)
{
	struct rte_mbuf *m = f->m;

	static_assert(PKT_MAC_CONTROL > PKT_IPV6, "the kinds from here on are of the link");
	if (pkt->reserved_dst == DST_ORDINARY && pkt->kind < PKT_MAC_CONTROL)
		return false;
	if (pkt->kind == PKT_MAC_CONTROL) {
		if (pkt->n_tags != 0) {
			drop_unclassified(w, p, f, b, DROP_TAGGED_CONTROL);
			return true;
		}
		peer_pause_on_frame(w, p, m);
		fate_consumed(p, m);
		return true;
	}
	if (bridge_strays(w->pol, pkt)) {
		drop_unclassified(w, p, f, b, DROP_LINK_PROTOCOL);
		return true;
	}
	if (pkt->reserved_dst == DST_ORDINARY || !ends_here(w, p, f, pkt))
		return false;
	b->packets++;
	b->bytes += m->pkt_len;
	ctr_inc(pkt->kind == PKT_LLDP ? &p->c.lldp : &p->c.other_control);
	if (p->pol->punts != 0)
		punt_link_local(w, p, f, pkt);
	fate_consumed(p, m);
	return true;
}

// ---- admission

void ingress_hand_over(struct worker *w, const struct run *r)
{
	unsigned to = w->sw->owner[r->frames->out_port];

	if (to == w->id) {
		egress_enqueue(w, r);
		return;
	}
	// Sized for every cell of the buffer, so it cannot be full.
	if (handoff_put(w->out[to], r->frames, r->n))
		return;
	for (unsigned i = 0; i < r->n; i++) {
		struct frame *f = &r->frames[i];

		replica_release(w, f, f->cells, 1);
		fate_dropped(w, worker_port(w, f->in_port), f, DROP_NO_MBUF);
	}
}

static bool admit(struct worker *w, struct port *p, struct run *r)
{
	enum admission a = admission_charge(w, p, r);

	if (a == ADMITTED)
		ingress_hand_over(w, r);
	return a != ADMIT_SPLIT;
}

// Frames are charged and handed over together where they share their fate, as they do far from any
// threshold. Where the min of their group ends among them, they are up to there; else one by one.
void ingress_admit(struct worker *w, struct port *p, struct burst *b)
{
	struct run r, one;

	fate_forwarded(w, b->frames, b->n_out);
	for (unsigned i = 0; i < b->n_out; i += r.n) {
		const struct frame *f = &b->frames[i];

		r = run_of(&b->frames[i], b->n_out - i, UINT32_MAX);
		if (admit(w, p, &r))
			continue;
		one = run_of(r.frames, r.n, pg_min_left(&p->pol->pg[f->pg], &p->pg[f->pg].state));
		if (one.n != 0 && admit(w, p, &one)) {
			r.n = one.n;
			continue;
		}
		for (unsigned k = 0; k < r.n; k++) {
			one = run_of_one(&r.frames[k]);
			admit(w, p, &one);
		}
	}
	b->n_out = 0;
}

// ---- receive

static void hints(struct port *p, const struct classify_params *c, const struct pkt_info *pkt,
		  unsigned cls)
{
	if (pkt->bad_l3)
		ctr_inc(&p->c.bad_l3);
	if (unlikely(pkt->ether_type == ETYPE_ROCE_V1) && !(c->lossless >> cls & 1))
		ctr_inc(&p->c.roce_v1_in_lossy_class);
	if (!pkt->roce || !pkt->roce_data)
		return;
	if (!(c->lossless >> cls & 1)) {
		ctr_inc(&p->c.roce_in_lossy_class);
		gauge_set(&p->c.roce_lossy_latest, (uint64_t)pkt->dscp << 8 | cls);
	}
	if (pkt->ecn == ECN_NOT_ECT)
		ctr_inc(&p->c.roce_not_ect);
}

static void receive_any_frame(struct worker *w, struct port *p, struct rte_mbuf *m, struct burst *b)
{
	const struct policy_port *pp = p->pol;
	const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);
	struct frame *f = &b->frames[b->n_in];
	struct pkt_info *pkt = &b->pkts[b->n_in];
	struct classified k;
	bool good;

	*f = (struct frame){.m = m, .arrival_ns = w->now_ns, .in_port = p->no};
	f->len = m->pkt_len > UINT16_MAX ? UINT16_MAX : (uint16_t)m->pkt_len;
	good = m->nb_segs == 1 && m->pkt_len <= pp->max_frame &&
	       ((QUICK_WAYS && parse_template(eth, m->pkt_len, pkt)) ||
		parse(eth, m->pkt_len, pkt));
	fate_received(w, p, f, good ? pkt : NULL);
	if (unlikely(!good)) {
		drop_unclassified(w, p, f, b,
				  m->pkt_len < ETH_HLEN_ ? DROP_RX_RUNT : DROP_RX_OVERSIZE);
		return;
	}
	if (control_frame(w, p, f, pkt, b))
		return;
	b->packets++;
	b->bytes += f->len;
	k = classify(&pp->classify, pkt);
	hints(p, &pp->classify, pkt, k.cls);
	f->cls = f->out_cls = k.cls;
	f->color = k.color & 0xfu;
	frame_set_kind(f, pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6 ? pkt->kind : PKT_OTHER);
	f->ecn = f->kind == PKT_OTHER ? ECN_NOT_ECT : pkt->ecn & 3u;
	f->l3_off = pkt->l3_off;
	f->cells = (uint16_t)cells_of(&w->pol->cell, f->len);
	f->pg = pp->classify.class_to_pg[k.cls];
	ctr_inc(&p->pg[f->pg].c.rx_packets);
	ctr_add(&p->pg[f->pg].c.rx_bytes, f->len);
	if (unlikely(!p->up))
		fate_dropped(w, p, f, DROP_PORT_DOWN);
	else if (unlikely(p->discarded >> k.cls & 1))
		fate_dropped(w, p, f, DROP_WATCHDOG);
	else if (unlikely(!fdb_key_is_station(fdb_key_in_frame(eth + ETH_ALEN_, 0))))
		fate_dropped(w, p, f, DROP_BAD_SOURCE);
	else
		b->n_in++;
}

// The values that the quiet way reads for each frame, and the frames that it has not counted yet.
struct quiet {
	const struct policy_port *pol;
	struct cell_size cell;
	uint64_t now_ns;
	uint32_t pg, packets; // not counted: so many, of one group
	uint64_t bytes;
};

static inline void count_quiet_frames(struct port *p, struct burst *b, struct quiet *k)
{
	ctr_add(&p->pg[k->pg].c.rx_packets, k->packets);
	ctr_add(&p->pg[k->pg].c.rx_bytes, k->bytes);
	b->packets += k->packets;
	b->bytes += k->bytes;
	k->packets = 0;
	k->bytes = 0;
}

// Whether the frame is RoCEv2 data, or may be.
static bool may_be_data(const uint8_t *eth, uint32_t len)
{
	struct pkt_info pkt;

	return !parse_template(eth, len, &pkt) || pkt.roce_data;
}

// The same as receive_any_frame(), for an untagged frame of a template that gives no hint. False:
// it may be another, and receive_any_frame() must take it.
static force_inline bool receive_quiet(struct port *p, struct rte_mbuf *m, struct burst *b,
				       struct quiet *k, bool keep)
{
	const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);
	struct frame *f = &b->frames[b->n_in];
	uint32_t len = m->pkt_len;
	const struct frame *row;
	struct template_ip ip;

	if (unlikely(m->nb_segs != 1 || len > k->pol->max_frame ||
		     !template_class(eth, len, &ip) ||
		     !fdb_key_is_station(fdb_key_in_frame(eth + ETH_ALEN_, 0))))
		return false;
	row = &k->pol->by_tos[ip.tos];
	if (keep && unlikely(!parse_template(eth, len, &b->pkts[b->n_in])))
		return false;
	if (unlikely(row->hint) && may_be_data(eth, len))
		return false;
	if (unlikely(row->pg != k->pg)) {
		count_quiet_frames(p, b, k);
		k->pg = row->pg;
	}
	k->packets++;
	k->bytes += len;
	*f = *row;
	f->m = m;
	f->arrival_ns = k->now_ns;
	f->len = (uint16_t)len;
	f->cells = (uint16_t)cells_of(&k->cell, len);
	frame_set_kind(f, ip.kind);
	b->n_in++;
	return true;
}

// quiet: no frame of the burst is captured or discarded. keep: a later stage reads pkts[] of all.
static force_inline void receive_all(struct worker *w, struct port *p, struct rte_mbuf **pkts,
				     uint16_t n, struct burst *b, bool quiet, bool keep)
{
	struct quiet k = {.pol = p->pol, .cell = w->pol->cell, .now_ns = w->now_ns};

	for (uint16_t i = 0; i < n; i++) {
		uint32_t bit = 1u << b->n_in;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(frame_headers(pkts[i + PREFETCH_AHEAD]));
		if (quiet && likely(receive_quiet(p, pkts[i], b, &k, keep))) {
			b->unparsed |= keep ? 0 : bit;
			continue;
		}
		b->unparsed &= ~bit;
		receive_any_frame(w, p, pkts[i], b);
	}
	count_quiet_frames(p, b, &k);
}

void ingress_receive(struct worker *w, struct port *p, struct rte_mbuf **pkts, uint16_t n)
{
	struct burst b;

	b.n_in = 0;
	b.unparsed = 0;
	b.packets = 0;
	b.bytes = 0;
	w->busy = true;
	admission_claim(w, n);
	fetch_taken(w);
	for (uint16_t i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(frame_headers(pkts[i]));
	if (!QUICK_WAYS || !p->up || p->discarded != 0 || fate_is_watched(w))
		receive_all(w, p, pkts, n, &b, false, true);
	else if (p->pol->routed)
		receive_all(w, p, pkts, n, &b, true, true);
	else
		receive_all(w, p, pkts, n, &b, true, false);
	fate_classified(w, &b);
	fetch_taken(w);
	if (p->pol->routed)
		routing_burst(w, p, &b);
	else
		bridging_burst(w, p, &b);
	fetch_taken(w);
	ingress_admit(w, p, &b);
	admission_done(w);
	ctr_add(&p->c.rx_packets, b.packets);
	ctr_add(&p->c.rx_bytes, b.bytes);
}

bool ingress_poll(struct worker *w, struct port *p)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	rx_guard_poll(w, p);
	if (w->hold)
		return false;
	if (fate_is_intercepted(p))
		return fate_poll(w, p);
	n = p->ops->rx(p->drv, pkts, BURST);
	if (n == 0)
		return false;
	// Before any of them can end: a reader of the balance must not see an end without its
	// beginning.
	ctr_add(&p->c.received, n);
	atomic_thread_fence(memory_order_release);
	ingress_receive(w, p, pkts, n);
	return n == BURST;
}
