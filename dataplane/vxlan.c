// SPDX-License-Identifier: Apache-2.0
#include "dataplane/vxlan.h"

#include "dataplane/bridging.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/packet/edit.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/punt.h"
#include "dataplane/routing.h"

enum { TTL = 64 };

static bool drop_tunnelled(struct worker *w, struct port *p, struct frame *f,
			   enum drop_reason reason)
{
	fate_dropped(w, p, f, reason);
	return false;
}

// ---- into a tunnel

bool vxlan_may_go(const struct worker *w, const struct frame *f, unsigned peer, unsigned vid)
{
	const struct vtep *v = w->pol->vtep;
	const struct vtep_vni *n = v == NULL || !v->here ? NULL : vtep_vni_of_vlan(v, vid);

	return n != NULL && !f->tunnelled && vtep_has_peer(n, peer - VTEP_FIRST);
}

unsigned vxlan_flood_to(const struct worker *w, const struct frame *f, unsigned vid,
			port_no_t peers[VTEP_MAX_PEERS])
{
	unsigned n = 0;

	for (unsigned i = 0; w->pol->vtep != NULL && i < w->pol->vtep->n_peers; i++)
		if (vxlan_may_go(w, f, VTEP_FIRST + i, vid))
			peers[n++] = (port_no_t)(VTEP_FIRST + i);
	return n;
}

// A frame that is not IP has no DSCP: the lowest one that means its class here.
static uint8_t dscp_of_class(const struct classify_params *c, unsigned cls)
{
	for (uint8_t dscp = 0; dscp < sizeof(c->dscp_to_class); dscp++)
		if (c->dscp_to_class[dscp] == cls)
			return dscp;
	return 0;
}

// What routing asks of the outer header.
static struct pkt_info outer_pkt(const struct vxlan_outer *o)
{
	struct pkt_info pkt = {.kind = o->v6 ? PKT_IPV6 : PKT_IPV4,
			       .l3_off = ETH_HLEN_,
			       .dscp = o->dscp,
			       .ecn = o->ecn,
			       .ip_proto = IP_PROTO_UDP,
			       .udp_sport = o->sport,
			       .udp_dport = o->dport};

	pkt.l4_off = (uint16_t)(vxlan_overhead(o->v6) - sizeof(struct vxlan_hdr) -
				sizeof(struct udp_hdr));
	return pkt;
}

// The VNI stands for the VLAN, so the bridge's tag is taken off. False: it was dropped.
static bool take_tag_off(struct worker *w, struct port *p, struct frame *f,
			 const struct pkt_info *pkt)
{
	int grown;

	if (!bridge_may_pop(pkt))
		return drop_tunnelled(w, p, f, DROP_VLAN_EGRESS);
	grown = bridge_edit_tag(f->m, TAG_POP, 0, 0);
	f->len = (uint16_t)(f->len + grown);
	return true;
}

static bool add_headers(struct worker *w, struct port *p, struct frame *f,
			const struct vxlan_outer *o)
{
	uint16_t more = (uint16_t)vxlan_overhead(o->v6);
	uint8_t *frame = NULL;

	if (f->len + more <= UINT16_MAX)
		frame = (uint8_t *)rte_pktmbuf_prepend(f->m, more);
	if (frame == NULL)
		return drop_tunnelled(w, p, f, DROP_EGRESS_MTU);
	vxlan_write(frame, o);
	f->len = (uint16_t)(f->len + more);
	f->l3_off = ETH_HLEN_;
	frame_set_kind(f, o->v6 ? PKT_IPV6 : PKT_IPV4);
	f->ecn = o->ecn & 3u;
	f->answer = false; // its receiver's side has the flow
	return true;
}

bool vxlan_encapsulate(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		       const struct pkt_info *pkt)
{
	const struct vtep *v = w->pol->vtep;
	unsigned peer = f->out_port - VTEP_FIRST;
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct vxlan_outer o = {.ttl = TTL + 1}; // this router takes one off
	struct vxlan_peer_counters *c;
	struct pkt_info outer;
	uint32_t inner_len;

	if (!vxlan_may_go(w, f, f->out_port, vid)) // as the policy is now
		return drop_tunnelled(w, p, f, f->tunnelled ? DROP_HAIRPIN : DROP_NO_EGRESS);
	o.v6 = v->v6;
	o.src = v->source;
	o.dst = v->peers[peer];
	o.sport = vxlan_sport(eth, f->m->data_len, pkt);
	o.dport = v->port;
	o.vni = vtep_vni_of_vlan(v, vid)->vni;
	o.ecn = tunnel_ecn_outer(v->ecn, f->ecn);
	if (v->dscp != VTEP_DSCP_UNIFORM)
		o.dscp = v->dscp;
	else
		o.dscp = f->kind != PKT_OTHER ? edited_dscp(eth + f->l3_off, f->kind)
					      : dscp_of_class(&p->pol->classify, f->cls);
	if (tagged && !take_tag_off(w, p, f, pkt))
		return false;
	inner_len = o.inner_len = f->len;
	outer = outer_pkt(&o);
	if (!add_headers(w, p, f, &o) || !routing_send(w, p, f, &outer))
		return false;
	c = &w->vxlan->peer[peer];
	ctr_inc(&c->tx_packets);
	ctr_add(&c->tx_bytes, inner_len);
	return true;
}

// ---- out of a tunnel

bool vxlan_is_for_vtep(const struct vtep *v, const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;

	return v->here && !f->tunnelled && vxlan_is(pkt, v->port) &&
	       (pkt->kind == PKT_IPV6) == v->v6 &&
	       (v->v6 ? memcmp(l3 + 24, v->source, 16) : memcmp(l3 + 16, v->source, 4)) == 0;
}

static enum drop_reason reason_of_fault(enum vxlan_fault fault)
{
	static const uint8_t reasons[] = {
		[VXLAN_OK] = N_DROP_REASONS,
		[VXLAN_FRAGMENT] = DROP_VXLAN_FRAGMENT,
		[VXLAN_TRUNCATED] = DROP_VXLAN_TRUNCATED,
		[VXLAN_FLAGS] = DROP_VXLAN_FLAGS,
		[VXLAN_INNER_RUNT] = DROP_VXLAN_INNER,
	};

	return reasons[fault];
}

// The frame's tunnel: N_DROP_REASONS. Else the reason to drop the frame.
static enum drop_reason find_tunnel(const struct vtep *v, const struct frame *f, uint32_t vni,
				    uint16_t *vid, uint8_t *peer)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;
	const struct vtep_vni *n = vtep_vni_of(v, vni);
	uint8_t src[16] = {0};

	memcpy(src, l3 + (v->v6 ? 8 : 12), v->v6 ? 16 : 4);
	if (memcmp(src, v->source, sizeof(src)) == 0)
		return DROP_VXLAN_OWN;
	if (n == NULL)
		return DROP_VXLAN_VNI;
	*vid = n->vid;
	*peer = vtep_peer_of(v, src);
	return *peer == VTEP_NONE || !vtep_has_peer(n, *peer) ? DROP_VXLAN_PEER : N_DROP_REASONS;
}

// RFC 7348 6.1: a frame with a tag is not for this VLAN. Frames of a link end at their link.
static bool may_leave_tunnel(const struct policy *pol, const uint8_t *eth,
			     const struct pkt_info *inner)
{
	return inner->kind != PKT_MAC_CONTROL && inner->reserved_dst != DST_LINK_LOCAL &&
	       !bridge_strays(pol, inner) && be16_get(eth + 2 * ETH_ALEN_) != ETYPE_VLAN;
}

// False: the frame must be dropped.
static bool set_inner_tos(struct worker *w, struct frame *f, const struct pkt_info *inner,
			  const struct pkt_info *outer)
{
	const struct vtep *v = w->pol->vtep;
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off;
	struct tunnel_ecn_end end = tunnel_ecn_inner(v->ecn, inner->ecn, outer->ecn);

	if (f->kind == PKT_OTHER)
		return true;
	ctr_inc(&w->vxlan->all.ecn[inner->ecn][outer->ecn]);
	if (end.drop)
		return false;
	if (end.ecn != inner->ecn)
		edit_ecn(l3, f->kind, end.ecn);
	f->ecn = end.ecn & 3u;
	if (v->dscp == VTEP_DSCP_UNIFORM && inner->dscp != outer->dscp)
		edit_dscp(l3, f->kind, outer->dscp);
	return true;
}

static void take_headers_off(struct frame *f, const struct vxlan_found *in)
{
	uint32_t padding;

	rte_pktmbuf_adj(f->m, in->off);
	padding = f->m->pkt_len - in->len;
	if (padding != 0 && padding < f->m->data_len)
		rte_pktmbuf_trim(f->m, (uint16_t)padding);
	f->len = in->len;
	f->tunnelled = true;
}

bool vxlan_decapsulate(struct worker *w, struct port *p, struct burst *b, struct frame *f,
		       const struct pkt_info *pkt)
{
	const struct vtep *v = w->pol->vtep;
	struct pkt_info inner;
	struct vxlan_found in;
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	enum drop_reason why =
		reason_of_fault(vxlan_read(eth, f->m->data_len, f->l3_off, pkt, &in));
	uint16_t vid = 0;
	uint8_t peer = 0;

	if (why == N_DROP_REASONS)
		why = find_tunnel(v, f, in.vni, &vid, &peer);
	if (why != N_DROP_REASONS)
		return drop_tunnelled(w, p, f, why);
	take_headers_off(f, &in);
	eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	if (!parse(eth, f->len, &inner) || !may_leave_tunnel(w->pol, eth, &inner))
		return drop_tunnelled(w, p, f, DROP_VXLAN_INNER);
	if (!fdb_key_is_station(fdb_key_in_frame(eth + ETH_ALEN_, 0)))
		return drop_tunnelled(w, p, f, DROP_BAD_SOURCE);
	frame_set_kind(f, inner.kind == PKT_IPV4 || inner.kind == PKT_IPV6 ? inner.kind
									    : PKT_OTHER);
	f->l3_off = inner.l3_off;
	f->ecn = ECN_NOT_ECT;
	if (!set_inner_tos(w, f, &inner, pkt))
		return drop_tunnelled(w, p, f, DROP_VXLAN_ECN);
	ctr_inc(&w->vxlan->peer[peer].rx_packets);
	ctr_add(&w->vxlan->peer[peer].rx_bytes, f->len);
	ctr_add(&w->vxlan->all.nested, vxlan_is(&inner, v->port));
	f->answer = w->flows != NULL && flows_is_answer(&inner);
	if (v->class_by_inner && f->kind != PKT_OTHER)
		f->out_cls = p->pol->classify.dscp_to_class[inner.dscp];
	if (unlikely(inner.reserved_dst == DST_LOOPBACK) && punt_loop_probe(w, p, f, &inner, vid)) {
		ctr_inc(&p->c.other_control);
		fate_consumed(p, f->m);
		return false;
	}
	return bridging_from_tunnel(w, p, b, f, &inner, vid, (port_no_t)(VTEP_FIRST + peer));
}

// ---- on the way

void vxlan_marked(struct worker *w, const struct frame *f)
{
	const struct vtep *v = w->pol->vtep;
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off;

	if (v->mark_inner && f->kind != PKT_OTHER &&
	    vxlan_mark_inner(l3, f->m->pkt_len - f->l3_off, f->m->data_len - f->l3_off, v->port))
		ctr_inc(&w->vxlan->all.inner_marked);
}
