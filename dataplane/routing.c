// SPDX-License-Identifier: Apache-2.0
#include "dataplane/routing.h"

#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include <rte_ip.h>

#include "dataplane/admission.h"
#include "dataplane/bridging.h"
#include "dataplane/deadlock_guard.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/forward/l3.h"
#include "dataplane/forward/route.h"
#include "dataplane/iface.h"
#include "dataplane/packet/edit.h"
#include "dataplane/punt.h"
#include "dataplane/vxlan.h"

enum { TPID_8021Q = 0x8100 };

// One port's burst on its way through the router, or one frame of a VLAN.
struct router {
	struct worker *w;
	struct worker_l3 *l3;
	const struct policy *pol;
	const struct route_table *table;
	uint64_t mac; // the router's on this interface, as fdb_key
	struct port *p;
	struct burst *b; // NULL: a frame that has waited
	port_no_t iface; // where the frames came in: the port, or an SVI
	uint32_t next_mtu; // of the interface that the frame is too long for
	bool again, waits; // the frame has waited already; it waits on
};

enum {
	TTL = 64,
	V4_LEN = 20,
	V6_LEN = 40,
	ICMP_LEN = 8,
	QUOTE_V4 = 576 - V4_LEN - ICMP_LEN, // RFC 1812 4.3.2.3
	QUOTE_V6 = 1280 - V6_LEN - ICMP_LEN, // RFC 4443 3.3
};

static bool may_answer(struct worker *w, struct port *p)
{
	if (policer_take(&p->pol->limit[LIMIT_COPP], &p->punt->icmp, w->now_ns))
		return true;
	ctr_inc(&p->c.limited[LIMIT_COPP]);
	return false;
}

static void turn_round(const struct policy_port *port, const struct iface *in, struct frame *f)
{
	uint8_t *eth = rte_pktmbuf_mtod(f->m, uint8_t *);

	memcpy(eth, eth + ETH_ALEN_, ETH_ALEN_);
	memcpy(eth + ETH_ALEN_, in->mac, ETH_ALEN_);
	f->m->hash.rss = FLOW_NONE;
	f->answer = false;
	f->out_port = f->in_port;
	f->queue = port->classify.class_to_queue[f->cls];
}

static void swap_ip_addrs(uint8_t *a, uint8_t *b, unsigned n)
{
	uint8_t spare[16];

	memcpy(spare, a, n);
	memcpy(a, b, n);
	memcpy(b, spare, n);
}

// The checksum of ICMP covers the type, and of IPv6 the addresses, whose order is nothing to it.
static void becomes(uint8_t *icmp, uint8_t type)
{
	uint16_t word = be16_get(icmp);

	be16_put(icmp + 2, csum_update(be16_get(icmp + 2), word, (uint16_t)(type << 8)));
	icmp[0] = type;
}

// The ICMP header, whole; NULL: there is none. A tag may have been taken off since the frame was
// parsed.
static uint8_t *icmp_of(const struct frame *f, const struct pkt_info *pkt)
{
	unsigned off = (unsigned)pkt->l4_off - pkt->l3_off + f->l3_off;

	if (pkt->ip_proto != (f->kind == PKT_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) ||
	    pkt->l4_off == 0 || off + ICMP_LEN > f->m->data_len)
		return NULL;
	return rte_pktmbuf_mtod(f->m, uint8_t *) + off;
}

// A subnet's broadcast address is the router's as well, and is not answered.
static bool is_router_addr(const struct policy *pol, uint8_t family, const uint8_t *ip)
{
	struct iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		if (iface_get(pol, no, &i) && iface_has_addr(&i, family, ip))
			return true;
	return false;
}

// Makes the answer to an echo request of the frame itself: N_DROP_REASONS. Else the reason to drop
// the frame.
static enum drop_reason icmp_answer(struct router *r, const struct iface *in, struct frame *f,
				    const struct pkt_info *pkt)
{
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off;
	uint8_t *icmp = icmp_of(f, pkt);
	bool v4 = f->kind == PKT_IPV4;

	if (icmp == NULL || icmp[0] != (v4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST) || icmp[1] != 0 ||
	    (v4 && (be16_get(l3 + 6) & (IP_MF | IP_OFFMASK)) != 0) ||
	    !is_router_addr(r->pol, v4 ? FAMILY_V4 : FAMILY_V6, l3 + (v4 ? 16 : 24)))
		return DROP_TO_ROUTER;
	if (!may_answer(r->w, r->p))
		return DROP_COPP;
	if (v4) {
		uint16_t word = be16_get(l3 + 8);

		swap_ip_addrs(l3 + 12, l3 + 16, 4);
		l3[8] = TTL;
		be16_put(l3 + 10, csum_update(be16_get(l3 + 10), word, be16_get(l3 + 8)));
		becomes(icmp, ICMP_ECHOREPLY);
	} else {
		swap_ip_addrs(l3 + 8, l3 + 24, 16);
		l3[7] = TTL;
		becomes(icmp, ICMP6_ECHO_REPLY);
	}
	turn_round(r->p->pol, in, f);
	return N_DROP_REASONS;
}

// ---- ICMP errors

struct icmp_error {
	uint8_t v4_type, v4_code, v6_type; // the code of IPv6 is 0
	enum drop_reason reason; // of frames that may have no answer
};

static const struct icmp_error time_exceeded = {ICMP_TIME_EXCEEDED, ICMP_EXC_TTL,
						ICMP6_TIME_EXCEEDED, DROP_TTL_EXPIRED};
static const struct icmp_error too_big = {ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, ICMP6_PACKET_TOO_BIG,
					  DROP_EGRESS_MTU};

// No ICMP error answers an error message or a later fragment (RFC 1812 4.3.2.7, RFC 4443 2.4).
static bool may_cause_error(const struct frame *f, const struct pkt_info *pkt)
{
	const uint32_t v4_queries = 1u << ICMP_ECHO | 1u << ICMP_ECHOREPLY | 1u << ICMP_TIMESTAMP |
				    1u << ICMP_TIMESTAMPREPLY;
	const uint8_t *icmp = icmp_of(f, pkt);

	if (pkt->fragment || pkt->ip_proto == 0)
		return false;
	if (icmp == NULL)
		return pkt->ip_proto != IPPROTO_ICMP && pkt->ip_proto != IPPROTO_ICMPV6;
	if (f->kind == PKT_IPV6)
		return icmp[0] >= ICMP6_ECHO_REQUEST;
	return icmp[0] < 32 && (v4_queries >> icmp[0] & 1) != 0;
}

// The interface's address in the subnet of the sender, or any of the family; NULL: none.
static const uint8_t *own_address(const struct iface *in, uint8_t family,
				  const uint8_t *sender)
{
	const uint8_t *any = NULL;

	for (unsigned i = 0; i < in->n_addrs; i++) {
		const struct policy_addr *a = &in->addrs[i];
		unsigned bit = 0;

		if (a->family != family)
			continue;
		while (bit < a->len && ((a->ip[bit / 8] ^ sender[bit / 8]) & 0x80 >> bit % 8) == 0)
			bit++;
		if (bit == a->len)
			return a->ip;
		any = any == NULL ? a->ip : any;
	}
	return any;
}

// Both headers are zero but for the fields of ICMP, whose checksum comes last.
static void write_v4(uint8_t *l3, const uint8_t *own, const uint8_t *sender, uint16_t quoted,
		     uint8_t tos)
{
	uint8_t *icmp = l3 + V4_LEN;

	l3[0] = 0x45;
	l3[1] = (uint8_t)(tos & ~3); // not ECN-capable
	be16_put(l3 + 2, (uint16_t)(V4_LEN + ICMP_LEN + quoted));
	l3[8] = TTL;
	l3[9] = IPPROTO_ICMP;
	memcpy(l3 + 12, own, 4);
	memcpy(l3 + 16, sender, 4);
	((struct rte_ipv4_hdr *)(void *)l3)->hdr_checksum = rte_ipv4_cksum((void *)l3);
	*(uint16_t *)(void *)(icmp + 2) = (uint16_t)~rte_raw_cksum(icmp, ICMP_LEN + quoted);
}

static void write_v6(uint8_t *l3, const uint8_t *own, const uint8_t *sender, uint16_t quoted,
		     uint8_t dscp)
{
	uint8_t *icmp = l3 + V6_LEN;

	be16_put(l3, (uint16_t)(0x6000 | dscp << 6));
	be16_put(l3 + 4, (uint16_t)(ICMP_LEN + quoted));
	l3[6] = IPPROTO_ICMPV6;
	l3[7] = TTL;
	memcpy(l3 + 8, own, 16);
	memcpy(l3 + 24, sender, 16);
	*(uint16_t *)(void *)(icmp + 2) = rte_ipv6_udptcp_cksum((void *)l3, icmp);
}

// Makes an ICMP error of the frame itself: N_DROP_REASONS. Else the reason to drop it.
static enum drop_reason icmp_error(struct router *r, const struct iface *in, struct frame *f,
				   const struct pkt_info *pkt, const struct icmp_error *e)
{
	bool v4 = f->kind == PKT_IPV4;
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off, *icmp = l3;
	uint8_t tos = l3[1];
	unsigned added = (v4 ? V4_LEN : V6_LEN) + ICMP_LEN;
	unsigned quoted = v4 ? be16_get(l3 + 2) : V6_LEN + be16_get(l3 + 4);
	uint8_t sender[16];
	const uint8_t *own;

	memcpy(sender, l3 + (v4 ? 12 : 8), v4 ? 4 : 16);
	own = own_address(in, v4 ? FAMILY_V4 : FAMILY_V6, sender);
	quoted = RTE_MIN(quoted, (unsigned)(v4 ? QUOTE_V4 : QUOTE_V6));
	quoted = RTE_MIN(quoted, in->mtu - added);
	quoted = RTE_MIN(quoted, (unsigned)f->m->data_len - f->l3_off);
	if (own == NULL || !may_cause_error(f, pkt) ||
	    f->l3_off + added + quoted > f->m->data_len + (unsigned)rte_pktmbuf_tailroom(f->m))
		return e->reason;
	if (!may_answer(r->w, r->p))
		return DROP_COPP;
	memmove(l3 + added, l3, quoted);
	memset(l3, 0, added);
	icmp += added - ICMP_LEN;
	icmp[0] = v4 ? e->v4_type : e->v6_type;
	icmp[1] = v4 ? e->v4_code : 0;
	be32_put(icmp + 4, r->next_mtu); // of IPv4, half of it: RFC 1191 4
	if (v4)
		write_v4(l3, own, sender, (uint16_t)quoted, tos);
	else
		write_v6(l3, own, sender, (uint16_t)quoted, pkt->dscp);
	f->len = (uint16_t)(f->l3_off + added + quoted);
	f->m->data_len = f->len;
	f->m->pkt_len = f->len;
	f->ecn = ECN_NOT_ECT;
	turn_round(r->p->pol, in, f);
	return N_DROP_REASONS;
}

static enum drop_reason icmp_time_exceeded(struct router *r, const struct iface *in,
					   struct frame *f, const struct pkt_info *pkt)
{
	r->next_mtu = 0;
	return icmp_error(r, in, f, pkt, &time_exceeded);
}

static enum drop_reason icmp_too_big(struct router *r, const struct iface *in, struct frame *f,
				     const struct pkt_info *pkt)
{
	return icmp_error(r, in, f, pkt, &too_big);
}

// ---- frames that wait

static const uint64_t WAIT_NS = 400000000;

static void count_waiting(struct port *p, int more)
{
	gauge_set(&p->c.waiting_in, gauge_get(&p->c.waiting_in) + (uint64_t)(int64_t)more);
}

// False: too many frames wait.
static bool waiting_add(struct worker *w, port_no_t iface, const struct frame *f,
			const struct pkt_info *pkt)
{
	struct waiting_room *r = &w->l3->waiting;
	unsigned of_port = 0;

	for (unsigned i = 0; i < r->n; i++)
		of_port += r->all[i].f.in_port == f->in_port;
	if (r->n == WAITING_MAX || of_port == POLICY_PORT_WAITING)
		return false;
	if (r->n == 0)
		r->settings = w->pol->settings;
	r->all[r->n++] = (struct waiting){
		.f = *f, .pkt = *pkt, .end_ns = w->now_ns + WAIT_NS, .iface = iface};
	count_waiting(worker_port(w, f->in_port), 1);
	elephants_astray(w, f);
	return true;
}

// ---- next hops that control must find

static struct hop_request *request_slot(const struct router *r, struct ip_key dst)
{
	static_assert(REQUEST_SLOTS == 1 << 6, "a slot by six bits");
	return &r->l3->requests[(dst.lo ^ dst.hi) * 0x9e3779b97f4a7c15u >> 58];
}

// False: control was given this destination within the last tenth of a second.
static bool request_due(const struct router *r, const struct hop_request *slot, struct ip_key dst)
{
	return slot->t_ns == 0 || !ip_key_same(slot->dst, dst) ||
	       r->w->now_ns - slot->t_ns >= REQUEST_AGAIN_NS;
}

// False: the port's ring is full.
static bool request_neighbour(struct router *r, port_no_t port, const struct policy_addr *a)
{
	return punt_request(r->p, &(struct neighbour_request){.addr = *a, .port = port});
}

static struct policy_addr dst_addr_of(const uint8_t *l3, uint8_t kind)
{
	struct policy_addr a = {.family = kind == PKT_IPV4 ? FAMILY_V4 : FAMILY_V6};

	a.len = kind == PKT_IPV4 ? 32 : 128;
	memcpy(a.ip, l3 + (kind == PKT_IPV4 ? 16 : 24), kind == PKT_IPV4 ? 4 : 16);
	return a;
}

static uint32_t next_hop_group_of(const struct router *r, const uint8_t *l3, uint8_t kind)
{
	return kind == PKT_IPV4 ? route_lookup_v4(r->table, be32_get(l3 + 16))
				: route_lookup_v6(r->table, l3 + 24);
}

// Requests the next hops of the frame that are not known: of a group all of them, so that one which
// has come back takes its share again. The ports of a worker share the slots. A port writes a slot
// only after control took the request, so a port beyond its rate does not silence the others.
static void request_hops(struct router *r, const uint8_t *l3, uint8_t kind, struct ip_key dst)
{
	struct policy_addr to = dst_addr_of(l3, kind);
	struct hop_request *slot = request_slot(r, dst);
	bool given = true;
	uint32_t group;

	if (!request_due(r, slot, dst) || !punt_may_request(r->w, r->p))
		return;
	group = next_hop_group_of(r, l3, kind);
	for (uint32_t i = 0; group != 0 && i < r->table->groups[group - 1].n; i++) {
		uint32_t hop = r->table->groups[group - 1].first + i;
		const struct policy_nexthop *h = &r->pol->routes.nexthops[hop];

		if (h->kind == NEXTHOP_GATEWAY &&
		    adj_state(route_adj(r->table, hop)) == ADJ_UNKNOWN)
			given &= request_neighbour(r, h->port, &h->addr);
		else if (h->kind == NEXTHOP_LINK)
			given &= request_neighbour(r, h->port, &to);
	}
	if (given)
		*slot = (struct hop_request){.dst = dst, .t_ns = r->w->now_ns};
}

static bool drop_routed(struct router *r, struct frame *f, enum drop_reason reason)
{
	fate_dropped(r->w, r->p, f, reason);
	return false;
}

// The one tag a routed port takes is a priority tag, and an SVI takes that of its VLAN.
static bool takes_tags(const struct router *r, const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);

	return pkt->n_tags == 0 ||
	       (pkt->n_tags == 1 && be16_get(eth + 2 * ETH_ALEN_) == TPID_8021Q &&
		((pkt->tci & TCI_VID_MASK) == 0 || r->iface >= IFACE_SVI));
}

// The frame ends at control, or here. Always false.
static bool to_control(struct router *r, struct frame *f, const struct pkt_info *pkt,
		       enum punt_reason reason)
{
	if (!takes_tags(r, f, pkt))
		return drop_routed(r, f, DROP_VLAN_INGRESS);
	punt_frame(r->w, r->p, f, pkt, reason, r->iface);
	return false;
}

// Addressed to a group, to another station, or not IP.
static bool not_for_router(struct router *r, struct frame *f, const struct pkt_info *pkt, bool ours)
{
	enum punt_reason reason = punt_reason_of(f, pkt);

	if (!(ours || pkt->group_dst) || !punt_for_group(r->p, f, reason))
		return drop_routed(r, f, ours && pkt->bad_l3 ? DROP_BAD_L3 : DROP_NOT_FOR_ROUTER);
	return to_control(r, f, pkt, reason);
}

// ---- the way

static bool usable(const struct router *r, uint64_t adj)
{
	enum adj_state s = adj_state(adj);

	return (s == ADJ_KNOWN || s == ADJ_LINK || s == ADJ_VLAN) &&
	       !atomic_load_explicit(&r->w->sw->want.down[adj_port(adj)], memory_order_relaxed);
}

// The flow's own next hop cannot take it: another one does, by the same hash, and the flows of the
// others stay where they are. Where none can, the first choice says why.
static uint64_t pick_other(const struct router *r, const struct policy_group *g, uint64_t hash,
			   uint64_t own)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < g->n; i++)
		n += usable(r, route_adj(r->table, g->first + i));
	if (n == 0)
		return own;
	k = flow_pick(flow_end(hash + 1), n);
	for (uint32_t i = 0; i < g->n; i++) {
		uint64_t adj = route_adj(r->table, g->first + i);

		if (usable(r, adj) && k-- == 0)
			return adj;
	}
	return own;
}

static uint64_t pick_adjacency(struct router *r, const struct frame *f, const struct pkt_info *pkt,
			       uint32_t group)
{
	const struct policy_group *g = &r->table->groups[group];
	uint64_t hash = flow_hash(r->table->flow_seed, rte_pktmbuf_mtod(f->m, const uint8_t *),
				  f->m->data_len, pkt, r->table->flow_qp);
	uint64_t adj = route_adj(r->table, g->first + flow_pick(hash, g->n));

	return likely(usable(r, adj)) ? adj : pick_other(r, g, hash, adj);
}

static uint64_t find_adjacency(const struct router *r, const uint8_t *l3, uint8_t kind,
			       struct ip_key dst)
{
	return route_resolve(r->table, r->l3->neighbours, next_hop_group_of(r, l3, kind), dst);
}

static inline uint64_t adjacency(struct router *r, const uint8_t *l3, uint8_t kind,
				 struct ip_key dst)
{
	struct route_slot *s = route_slot(&r->l3->cache, dst);

	if (likely(s->epoch == r->l3->cache.epoch && ip_key_same(s->dst, dst)))
		return s->adj;
	*s = (struct route_slot){.dst = dst, .adj = find_adjacency(r, l3, kind, dst),
				 .epoch = r->l3->cache.epoch};
	return s->adj;
}

static inline uint64_t resolve_many(struct router *r, const struct frame *f,
				    const struct pkt_info *pkt, uint64_t adj, struct ip_key dst)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + pkt->l3_off;
	uint64_t own = pick_adjacency(r, f, pkt, adj_group(adj));

	if (adj_state(own) == ADJ_LINK)
		own = neighbours_lookup(r->l3->neighbours, adj_port(own), dst);
	if (unlikely(adj_state(own) != ADJ_KNOWN) && adj_state(own) != ADJ_VLAN)
		request_hops(r, l3, pkt->kind, dst);
	return own;
}

// ---- the frame

// Header and destination hold: *dst is set. Else the reason to drop it.
static inline enum drop_reason read_header(const uint8_t *l3, uint8_t kind, struct ip_key *dst,
					   bool *from_station)
{
	if (kind == PKT_IPV4) {
		uint32_t to = be32_get(l3 + 16);

		if (unlikely(!ipv4_csum_holds(l3)))
			return DROP_BAD_L3;
		*dst = ip_key_v4(to);
		*from_station = ipv4_routable(be32_get(l3 + 12));
		return likely(ipv4_routable(to)) ? N_DROP_REASONS : DROP_MARTIAN;
	}
	*dst = ip_key_v6(l3 + 24);
	*from_station = ipv6_routable(ip_key_v6(l3 + 8));
	return likely(ipv6_routable(*dst)) ? N_DROP_REASONS : DROP_MARTIAN;
}

// The tag of the frame ends here. False: dropped.
static bool untag(struct router *r, struct frame *f, const struct pkt_info *pkt)
{
	int grown;

	if (!takes_tags(r, f, pkt))
		return drop_routed(r, f, DROP_VLAN_INGRESS);
	grown = bridge_edit_tag(f->m, TAG_POP, 0, 0);
	f->len = (uint16_t)(f->len + grown);
	f->l3_off = ETH_HLEN_;
	return true;
}

// Where the port has its own word, or the guard.
static void edit_out_dscp(const struct router *r, struct frame *f, uint8_t *l3, uint8_t dscp)
{
	const struct policy_port *out = &r->pol->ports[f->out_port];
	const struct guard_rule *turned =
		out->guard.group != 0 ? turn_rule(r->w, r->p, f, dscp) : NULL;

	dscp = turned != NULL ? turn_count(r->p, turned)
			      : out->classify.remark_dscp[f->out_cls];
	if (dscp != REMARK_NONE)
		edit_dscp(l3, f->kind, dscp);
}

static inline void leave_by(const struct router *r, struct frame *f, const struct pkt_info *pkt,
			    uint64_t adj)
{
	const struct policy_port *out = &r->pol->ports[adj_port(adj)];
	uint8_t *eth = rte_pktmbuf_mtod(f->m, uint8_t *);

	be64_put(eth, adj); // two bytes more than the address, which the next one covers
	memcpy(eth + ETH_ALEN_, out->mac, ETH_ALEN_);
	edit_hop(eth + f->l3_off, f->kind);
	f->out_port = adj_port(adj);
	f->queue = out->classify.class_to_queue[f->out_cls];
	if (unlikely(out->edits))
		edit_out_dscp(r, f, eth + f->l3_off, pkt->dscp);
}

static struct pkt_info bare(const struct pkt_info *pkt)
{
	struct pkt_info out = *pkt;

	out.n_tags = 0;
	out.tci = 0;
	return out;
}

// The source is an address of the switch, or means all stations of a subnet.
static bool from_self(const struct router *r, const struct frame *f)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;
	uint32_t group = f->kind == PKT_IPV4 ? route_lookup_v4(r->table, be32_get(l3 + 12))
					     : route_lookup_v6(r->table, l3 + 8);

	return group != 0 &&
	       adj_state(route_adj(r->table, r->table->groups[group - 1].first)) == ADJ_SELF;
}

// The frame becomes an answer to its sender, or ends here.
static bool turn_into_answer(struct router *r, struct frame *f, const struct pkt_info *pkt,
			     enum drop_reason (*turn)(struct router *r, const struct iface *in,
						      struct frame *f, const struct pkt_info *pkt))
{
	const struct pkt_info untagged = bare(pkt);
	enum drop_reason why;
	struct iface in;

	if (pkt->n_tags != 0 && !untag(r, f, pkt))
		return false;
	if (!iface_get(r->pol, r->iface, &in))
		return drop_routed(r, f, DROP_TO_ROUTER);
	if (from_self(r, f)) // RFC 1812 4.3.2.7
		return drop_routed(r, f, DROP_MARTIAN);
	why = turn(r, &in, f, pkt);
	if (why != N_DROP_REASONS)
		return drop_routed(r, f, why);
	return in.vid == 0 || bridging_turned_round(r->w, r->p, f, &untagged, in.vid);
}

// For the switch itself. What neither a tunnel nor control takes is answered here (ping), or
// dropped.
static bool to_router(struct router *r, struct frame *f, const struct pkt_info *pkt,
		      bool from_station)
{
	enum punt_reason reason = punt_reason_of(f, pkt);

	if (r->pol->vtep != NULL && r->b != NULL && vxlan_is_for_vtep(r->pol->vtep, f, pkt))
		return (pkt->n_tags == 0 || untag(r, f, pkt)) &&
		       vxlan_decapsulate(r->w, r->p, r->b, f, pkt);
	if (punts(r->p, reason))
		return to_control(r, f, pkt, reason);
	return from_station ? turn_into_answer(r, f, pkt, icmp_answer)
			    : drop_routed(r, f, DROP_TO_ROUTER);
}

// The destination is no address that a router forwards to. A link-local one is the switch's own.
static bool no_destination(struct router *r, struct frame *f, const struct pkt_info *pkt,
			   enum drop_reason why)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;

	if (why == DROP_MARTIAN && f->kind == PKT_IPV6 && punts(r->p, PUNT_LOCAL) &&
	    ipv6_link_local(l3 + 24))
		return to_router(r, f, pkt, true);
	return drop_routed(r, f, why);
}

static bool hops_run_out(struct router *r, struct frame *f, const struct pkt_info *pkt)
{
	if (!punts(r->p, PUNT_TTL))
		return turn_into_answer(r, f, pkt, icmp_time_exceeded);
	return to_control(r, f, pkt, PUNT_TTL);
}

// mtu: of the interface that the frame would leave by. RoCE reads no ICMP, and its answers would be
// frames of a lossless class.
static bool too_long(struct router *r, struct frame *f, const struct pkt_info *pkt, uint32_t mtu)
{
	ctr_inc(&r->p->c.routed_too_long);
	if (pkt->roce)
		return drop_routed(r, f, DROP_EGRESS_MTU);
	r->next_mtu = mtu;
	return turn_into_answer(r, f, pkt, icmp_too_big);
}

// The next hop is in a VLAN.
static bool into_vlan(struct router *r, struct frame *f, const struct pkt_info *pkt, uint64_t adj)
{
	const struct policy_svi *out = &r->pol->svis[adj_port(adj) - IFACE_SVI];
	struct pkt_info untagged;
	uint8_t *eth;

	if (f->len - f->l3_off > (int)out->mtu)
		return too_long(r, f, pkt, out->mtu);
	if (pkt->n_tags != 0) {
		if (!untag(r, f, pkt))
			return false;
		untagged = bare(pkt);
		pkt = &untagged;
	}
	eth = rte_pktmbuf_mtod(f->m, uint8_t *);
	be64_put(eth, adj); // two bytes more than the address, which the next one covers
	memcpy(eth + ETH_ALEN_, out->mac, ETH_ALEN_);
	edit_hop(eth + f->l3_off, f->kind);
	return bridging_from_router(r->w, r->p, r->b, f, pkt, (adj & ~0xffffull) | out->vid);
}

static bool no_way(struct router *r, struct frame *f, const struct pkt_info *pkt, uint64_t adj,
		   struct ip_key dst)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;

	if (adj_state(adj) == ADJ_NO_ROUTE)
		return drop_routed(r, f, DROP_NO_ROUTE);
	if (adj_state(adj) == ADJ_BLACKHOLE)
		return drop_routed(r, f, DROP_BLACKHOLE);
	if (adj_state(adj) == ADJ_VLAN)
		return into_vlan(r, f, pkt, adj);
	request_hops(r, l3, f->kind, dst);
	r->waits = r->again || waiting_add(r->w, r->iface, f, pkt);
	return !r->waits && drop_routed(r, f, DROP_NO_NEIGHBOUR);
}

static inline bool route_frame(struct router *r, struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *), *l3 = eth + f->l3_off;
	bool ours = fdb_key_in_frame(eth, 0) == r->mac, from_station;
	enum drop_reason reason;
	struct ip_key dst;
	uint64_t adj;

	if (unlikely(!ours || f->kind == PKT_OTHER))
		return not_for_router(r, f, pkt, ours);
	reason = read_header(l3, f->kind, &dst, &from_station);
	if (unlikely(reason != N_DROP_REASONS))
		return no_destination(r, f, pkt, reason);
	adj = adjacency(r, l3, f->kind, dst);
	if (unlikely(adj_state(adj) == ADJ_SELF))
		return to_router(r, f, pkt, from_station);
	if (unlikely(!from_station))
		return drop_routed(r, f, DROP_MARTIAN);
	if (unlikely(l3[f->kind == PKT_IPV4 ? 8 : 7] <= 1))
		return hops_run_out(r, f, pkt);
	if (adj_state(adj) == ADJ_MANY)
		adj = resolve_many(r, f, pkt, adj, dst);
	if (unlikely(adj_state(adj) != ADJ_KNOWN))
		return no_way(r, f, pkt, adj, dst);
	if (unlikely(f->len - f->l3_off > (int)r->pol->ports[adj_port(adj)].mtu))
		return too_long(r, f, pkt, r->pol->ports[adj_port(adj)].mtu);
	if (unlikely(pkt->n_tags != 0) && !untag(r, f, pkt))
		return false;
	leave_by(r, f, pkt, adj);
	return true;
}

static inline void router_init(struct router *r, struct worker *w, struct port *p, port_no_t iface)
{
	const struct policy *pol = w->pol;

	*r = (struct router){.w = w, .l3 = w->l3, .pol = pol, .table = pol->table, .p = p,
			     .iface = iface};
	r->mac = fdb_key(iface < IFACE_SVI ? p->pol->mac : pol->svis[iface - IFACE_SVI].mac, 0);
	if (r->table != NULL)
		route_cache_renew(&r->l3->cache, w->policy_version,
				  atomic_load_explicit(&r->l3->neighbours->version,
						       memory_order_acquire));
}

bool routing_send(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;
	struct ip_key dst = f->kind == PKT_IPV4 ? ip_key_v4(be32_get(l3 + 16)) : ip_key_v6(l3 + 24);
	struct router r;
	uint64_t adj;

	router_init(&r, w, p, p->no);
	adj = r.table == NULL ? adj_of(ADJ_NO_ROUTE, 0, NULL) : adjacency(&r, l3, f->kind, dst);
	if (adj_state(adj) == ADJ_MANY)
		adj = pick_adjacency(&r, f, pkt, adj_group(adj));
	if (adj_state(adj) == ADJ_NO_ROUTE || adj_state(adj) == ADJ_SELF)
		return drop_routed(&r, f, DROP_NO_ROUTE);
	if (adj_state(adj) != ADJ_KNOWN) {
		// Control asks for next hops of routes by itself. A bridged port may have no ring,
		// or control may be making it for the next policy.
		if (punts(p, PUNT_NEIGHBOUR))
			request_hops(&r, l3, f->kind, dst);
		return drop_routed(&r, f, DROP_NO_NEIGHBOUR);
	}
	if (f->len - f->l3_off > (int)r.pol->ports[adj_port(adj)].mtu)
		return drop_routed(&r, f, DROP_EGRESS_MTU);
	leave_by(&r, f, pkt, adj);
	return true;
}

// ---- frames that have waited

// ROUTE_ENDED: the frame was dropped.
enum route_outcome { ROUTE_GOES, ROUTE_ENDED, ROUTE_WAITS };
static enum route_outcome route_again(struct worker *w, struct waiting *x)
{
	struct router r;

	router_init(&r, w, worker_port(w, x->f.in_port), x->iface);
	r.again = true;
	if (route_frame(&r, &x->f, &x->pkt))
		return ROUTE_GOES;
	return r.waits ? ROUTE_WAITS : ROUTE_ENDED;
}

// It knows its way.
static void forward_waiting(struct worker *w, struct frame *f)
{
	if (!admission_of_one(w, worker_port(w, f->in_port), f))
		return;
	fate_forwarded_alone(w, f);
	ingress_hand_over_one(w, f);
}

// True: the frame goes on waiting. changed: some neighbour is known that was not, or the reverse.
static bool look_at_waiting(struct worker *w, struct waiting *x, bool changed, bool over)
{
	enum route_outcome out = ROUTE_WAITS;

	count_waiting(worker_port(w, x->f.in_port), -1);
	atomic_thread_fence(memory_order_release); // no reader may see it twice
	if (changed && !over)
		out = route_again(w, x);
	if (out == ROUTE_GOES)
		forward_waiting(w, &x->f);
	if (out != ROUTE_WAITS)
		return false;
	if (over || w->now_ns >= x->end_ns) {
		fate_dropped(w, worker_port(w, x->f.in_port), &x->f, DROP_NO_NEIGHBOUR);
		return false;
	}
	count_waiting(worker_port(w, x->f.in_port), 1);
	return true;
}

void waiting_step(struct worker *w)
{
	struct waiting_room *r = &w->l3->waiting;
	uint32_t version = atomic_load_explicit(&w->l3->neighbours->version, memory_order_acquire);
	bool changed = version != r->version, over = w->pol->settings != r->settings;
	unsigned kept = 0;

	admission_claim(w, r->n);
	for (unsigned i = 0; i < r->n; i++)
		if (look_at_waiting(w, &r->all[i], changed, over))
			r->all[kept++] = r->all[i];
	admission_done(w);
	r->n = kept;
	r->version = version;
}

void waiting_end(struct worker *w)
{
	for (unsigned i = 0; w->l3 != NULL && i < w->l3->waiting.n; i++) {
		struct frame *f = &w->l3->waiting.all[i].f;

		struct port *p = worker_port(w, f->in_port);

		count_waiting(p, -1);
		fate_dropped(w, p, f, DROP_SHUTDOWN);
	}
}

// ---- a burst

void routing_burst(struct worker *w, struct port *p, struct burst *b)
{
	struct router r;

	b->n_out = 0;
	if (b->n_in == 0)
		return;
	router_init(&r, w, p, p->no);
	r.b = b;
	for (uint16_t i = 0; i < b->n_in; i++) {
		struct frame *f = &b->frames[i];

		if (unlikely(r.table == NULL)) {
			drop_routed(&r, f, DROP_NO_ROUTE);
			continue;
		}
		if (!route_frame(&r, f, &b->pkts[i]))
			continue;
		if (b->n_out != i)
			b->frames[b->n_out] = *f;
		b->n_out++;
	}
}

bool routing_of_svi(struct worker *w, struct port *p, struct burst *b, struct frame *f,
		    const struct pkt_info *pkt, port_no_t iface)
{
	struct router r;

	router_init(&r, w, p, iface);
	r.b = b;
	return r.table == NULL ? drop_routed(&r, f, DROP_NO_ROUTE) : route_frame(&r, f, pkt);
}
