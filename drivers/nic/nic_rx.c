// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/compiler.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/parse_template.h"
#include "dataplane/packet/wire.h"

// ---- the slow receiver: frames wait in a buffer until the host has taken them, and the NIC pauses
// its peer meanwhile (nic_tx.c).

enum { SMALLEST_FRAME = 60, PORT_SLOT = NIC_MAX_QPS - 1 };

static int make_ring(struct slow *s, uint32_t size)
{
	struct rte_mbuf **ring;

	if (size <= s->size)
		return 0;
	ring = calloc(size, sizeof(*ring));
	if (ring == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		ring[i] = s->ring[(s->head + i) % s->size];
	free(s->ring);
	s->ring = ring;
	s->size = size;
	s->head = 0;
	return 0;
}

static int make_cache(struct qp_cache *c, uint32_t size)
{
	uint32_t *qpns = size > c->size ? realloc(c->qpns, size * sizeof(*qpns)) : c->qpns;

	if (size != 0 && qpns == NULL)
		return -ENOMEM;
	*c = (struct qp_cache){.size = size, .qpns = qpns};
	return 0;
}

int nic_set_faults(struct nic *nic, const struct nic_faults *f)
{
	struct slow *s = &nic->slow;
	struct rxbuf_params p;

	if (f->rx_rate_bps != 0) {
		if (f->loopback_bps >= f->rx_rate_bps ||
		    !rxbuf_params_init(&p, f->rx_rate_bps - f->loopback_bps, f->rx_buffer_bytes,
				       f->rx_xoff_bytes, f->rx_xon_bytes))
			return -EINVAL;
		if (make_ring(s, p.capacity / SMALLEST_FRAME + 1) != 0 ||
		    make_cache(&s->cache, f->qp_cache) != 0)
			return -ENOMEM;
		s->p = p;
	}
	s->on = f->rx_rate_bps != 0;
	s->guard = (struct guard){0};
	nic->cfg.faults = *f;
	for (uint32_t i = 0; i < nic->n_used_qps; i++) {
		nic->qps[i].req.p.fence = f->fence && nic->qps[i].flow.op == REQ_SEND;
		nic->qps[i].req.p.go_back_0 = f->go_back_0;
		nic->qps[i].resp.p.go_back_0 = f->go_back_0;
		if (nic->qps[i].conn.state != CONN_FREE)
			timers_set(&nic->timers, i, nic->now_ns);
	}
	return 0;
}

// What lies behind the addresses of a frame and behind its tag, without a look at the whole.
struct outer {
	struct frame_tag tag;
	uint16_t type; // 0: the frame ends before
	uint16_t l3_off;
	uint8_t tos; // of IP
	uint32_t l3_len; // of IP, as its header counts; 0: it is not IP
};

static struct outer outer_of(const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct vlan_hdr *tag = (const struct vlan_hdr *)(frame + sizeof(struct eth_hdr));
	struct outer o = {.l3_off = sizeof(struct eth_hdr)};
	const uint8_t *l3 = frame + sizeof(struct eth_hdr);
	uint32_t room;

	if (m->data_len < sizeof(struct eth_hdr) + sizeof(*tag))
		return o;
	o.type = be16_get(frame + 2 * ETH_ALEN_);
	if (o.type == ETYPE_VLAN) {
		uint16_t tci = be16_get(&tag->tci);

		o.tag = (struct frame_tag){true, (uint8_t)(tci >> TCI_PCP_SHIFT),
					   tci & TCI_VID_MASK};
		o.type = be16_get(&tag->type);
		o.l3_off += (uint16_t)sizeof(*tag);
		l3 = (const uint8_t *)(tag + 1);
	}
	room = m->data_len - (uint32_t)o.l3_off;
	if (o.type == ETYPE_IPV4 && room >= sizeof(struct ipv4_hdr)) {
		o.tos = l3[1];
		o.l3_len = be16_get(&((const struct ipv4_hdr *)l3)->total_len);
	} else if (o.type == ETYPE_IPV6 && room >= sizeof(struct ipv6_hdr)) {
		o.tos = (uint8_t)(be16_get(l3) >> 4);
		o.l3_len = (uint32_t)sizeof(struct ipv6_hdr) +
			   be16_get(&((const struct ipv6_hdr *)l3)->payload_len);
	}
	return o;
}

// The destination queue pair of a RoCEv2 frame; 0: it has none.
static uint32_t dest_qp_of(const struct rte_mbuf *m, const struct outer *o)
{
	uint32_t off = o->l3_off + (uint32_t)(o->type == ETYPE_IPV6 ? sizeof(struct ipv6_hdr)
								    : sizeof(struct ipv4_hdr));
	const struct udp_hdr *udp = rte_pktmbuf_mtod_offset(m, const struct udp_hdr *, off);

	if (o->l3_len == 0 || m->data_len < off + sizeof(*udp) + sizeof(struct bth_hdr) ||
	    be16_get(&udp->dport) != ROCE_UDP_PORT)
		return 0;
	return be24_get(&((const struct bth_hdr *)(udp + 1))->dest_qp);
}

// The NIC begins to take a frame.
static void slow_begin(struct nic *nic, const struct rte_mbuf *m)
{
	struct slow *s = &nic->slow;
	const struct outer o = outer_of(m);
	uint32_t qpn = s->cache.size != 0 ? dest_qp_of(m, &o) : 0;

	if (qpn != 0 && qp_cache_misses(&s->cache, qpn))
		rxbuf_stall(&s->b, nic->cfg.faults.qp_miss_ns);
}

// True: the frame was taken in, to wait or to be dropped. MAC control never waits.
static bool slow_take(struct nic *nic, struct rte_mbuf *m)
{
	struct slow *s = &nic->slow;
	struct outer o;
	unsigned cls = 0; // that PFC would pause for it

	if (!s->on)
		return false;
	o = outer_of(m);
	if (o.type == ETYPE_MAC_CONTROL && !o.tag.on)
		return false;
	if (o.tag.on || o.l3_len != 0)
		cls = nic_class_of(nic, &o.tag, o.tos >> 2);
	if (s->n == s->size || !rxbuf_add(&s->p, &s->b, m->pkt_len, cls, nic->now_ns)) {
		nic->stats.rx_dropped++;
		rte_pktmbuf_free(m);
		return true;
	}
	if (s->n == 0)
		slow_begin(nic, m);
	s->ring[(s->head + s->n++) % s->size] = m;
	if (s->b.used_bytes > nic->stats.rx_buffer_max_bytes)
		nic->stats.rx_buffer_max_bytes = s->b.used_bytes;
	return true;
}

// ---- frames

static void on_mac_control(struct nic *nic, const uint8_t *frame, uint32_t len)
{
	struct pfc_times f;

	switch (mac_ctrl_parse(frame, len, &f)) {
	case MAC_CTRL_PAUSE_8023X:
		if (nic->cfg.whole_link)
			pfc_rx_frame(&nic->pfc, &nic->pfc_rx, &f, nic->now_ns);
		else
			nic->stats.ignored++;
		break;
	case MAC_CTRL_PFC:
		if (nic->cfg.whole_link) {
			nic->stats.ignored++;
			break;
		}
		// Where the driver sees PFC ahead of the ring, the frame has acted (nic_tx.c).
		if (nic->cfg.ops->pause == NULL)
			pfc_rx_frame(&nic->pfc, &nic->pfc_rx, &f, nic->now_ns);
		break;
	case MAC_CTRL_MALFORMED:
		nic->stats.malformed++;
		break;
	default:
		nic->stats.ignored++;
	}
}

static struct ip_key address_of(const struct neighbour_msg *m, const uint8_t *at)
{
	return m->family == 4 ? ip_key_v4(be32_get(at)) : frame_ip_v6(at);
}

// Room for all options that hosts send; a longer frame is cut, and so ignored.
enum { NEIGHBOUR_READ_MAX = 1514 };

// ARP, or a solicitation or advertisement of neighbour discovery, in the NIC's VLAN.
static void on_neighbour(struct nic *nic, const uint8_t *frame, uint32_t len,
			 const struct frame_tag *tag)
{
	uint8_t untagged[NEIGHBOUR_READ_MAX];
	struct neighbour_msg m, answer;
	const uint8_t *mac;
	struct ip_key sender;
	int i;

	if (tag->on) {
		const uint32_t macs = offsetof(struct eth_hdr, type);

		len = (uint32_t)min_u64(len - FRAME_TAG_LEN, sizeof(untagged));
		memcpy(untagged, frame, macs);
		memcpy(untagged + macs, frame + macs + FRAME_TAG_LEN, len - macs);
		frame = untagged;
	}
	if (frame_tag_vid(tag) != frame_tag_vid(&nic->cfg.tag) ||
	    !neighbour_parse(frame, len, &m)) {
		nic->stats.ignored++;
		return;
	}
	sender = address_of(&m, m.sender);
	if (!nic_is_mine(nic, address_of(&m, m.target)) || ip_key_is_zero(sender) ||
	    ip_key_same(sender, ip_key_v4(0))) {
		nic->stats.ignored++;
		return;
	}
	mac = m.has_mac ? m.sender_mac : m.from_mac;
	// Only peers of flows are kept; every station gets a reply.
	i = peer_find(nic, sender, false);
	if (i >= 0)
		peer_resolved(nic, &nic->peers[i], mac);
	if (!m.request)
		return;
	answer = (struct neighbour_msg){.family = m.family};
	memcpy(answer.target, m.sender, sizeof(answer.target));
	memcpy(answer.to_mac, mac, sizeof(answer.to_mac));
	nic_send_neighbour(nic, &answer, tag);
}

// A data frame of len bytes arrived.
static void count_rx(struct nic *nic, const struct qp *qp, uint32_t len, bool ce)
{
	struct nic_class_stats *of[] = {&nic->stats.cls[qp->cls],
					&nic->peers[qp->peer].pub.cls[qp->cls]};

	for (unsigned i = 0; i < 2; i++) {
		if (of[i]->rx_packets++ == 0)
			of[i]->first_rx_ns = nic->now_ns;
		of[i]->last_rx_ns = nic->now_ns;
		of[i]->rx_bytes += len;
		of[i]->ce_marked += ce;
	}
}

static void count_goodput(struct nic *nic, const struct qp *qp, uint64_t n_bytes)
{
	nic->stats.cls[qp->cls].goodput_bytes += n_bytes;
	nic->peers[qp->peer].pub.cls[qp->cls].goodput_bytes += n_bytes;
}

// A message has arrived whole.
static void served(const struct nic *nic, const struct qp *qp, uint64_t tag, uint32_t n_bytes)
{
	const struct nic_served s = {
		.src_ip = nic->peers[qp->peer].pub.ip,
		.qpn = qp->qpn,
		.tag = tag,
		.n_bytes = n_bytes,
		.now_ns = nic->now_ns,
	};

	nic->cfg.hooks.served(nic->cfg.hooks.arg, &s);
}

// The requester at the other end of a connection that nic_connect made.
static const struct requester *far_requester(const struct qp *qp)
{
	return &qp->far->qps[qp->far_index].req;
}

// Payload of pkt was taken; it belongs at offset of the stream. n_bytes: what counts as goodput
// now.
static void taken(struct nic *nic, const struct qp *qp, const struct roce_pkt *pkt, uint64_t offset,
		  uint32_t n_bytes)
{
	bool ok = true;

	count_goodput(nic, qp, n_bytes);
	if (nic->cfg.verify && pkt->payload != NULL)
		ok = payload_ok(&nic->payload, offset, pkt->payload, pkt->payload_len);
	else if (pkt->payload_sum != 0)
		ok = payload_sum(payload_at(&nic->payload, offset), pkt->payload_len) ==
		     pkt->payload_sum;
	nic->stats.payload_errors += !ok;
}

// A packet of a SEND or WRITE was taken, of message `number`.
static void request_taken(struct nic *nic, const struct qp *qp, const struct roce_pkt *pkt,
			  uint64_t offset, uint32_t number)
{
	bool last = roce_op_of(pkt->opcode)->last;

	// A message that may be started over counts once it is whole.
	taken(nic, qp, pkt, offset,
	      !qp->resp.p.go_back_0 ? pkt->payload_len : (last ? qp->resp.msg_bytes : 0));
	// The requester at the far end keeps the tag until the message is acknowledged.
	if (nic->cfg.hooks.served != NULL && last)
		served(nic, qp,
		       qp->far == NULL ? number : req_msg_at(far_requester(qp), number)->tag,
		       qp->resp.msg_bytes);
}

static void on_roce_request(struct nic *nic, struct qp *qp, const struct roce_pkt *pkt)
{
	uint32_t number = qp->resp.msn;
	struct roce_pkt k = *pkt;
	uint64_t offset;

	if (qp->conn.initiator) {
		nic->stats.ignored++;
		return;
	}
	conn_on_data(&qp->conn);
	if (nic->cfg.verify && k.payload != NULL && k.psn != qp->resp.epsn &&
	    qp->resp.m.window != NULL)
		k.payload_sum = payload_sum(k.payload, k.payload_len);
	if (resp_on_request(&qp->resp, &k, &offset) != RESP_TAKEN)
		return;
	do {
		request_taken(nic, qp, &k, offset, number);
		number = qp->resp.msn;
	} while (resp_take_held(&qp->resp, &k, &offset));
}

// Data of a READ was taken.
static void response_taken(struct nic *nic, const struct qp *qp, const struct roce_pkt *pkt,
			   uint64_t offset)
{
	taken(nic, qp, pkt, offset,
	      !qp->req.p.go_back_0 ? pkt->payload_len : req_head_complete_bytes(&qp->req));
}

static void on_read_response(struct nic *nic, struct qp *qp, const struct roce_pkt *pkt)
{
	struct roce_pkt k = *pkt;
	uint64_t offset;

	if (nic->cfg.verify && k.payload != NULL && qp->req.m.window != NULL)
		k.payload_sum = payload_sum(k.payload, k.payload_len);
	if (req_on_read(&qp->req, &k, nic->now_ns, &offset) != REQ_READ_TAKEN)
		return;
	do
		response_taken(nic, qp, &k, offset);
	while (req_take_held(&qp->req, &k, nic->now_ns, &offset));
}

static void on_response(struct nic *nic, struct qp *qp, const struct roce_pkt *pkt)
{
	if (!qp->conn.initiator || qp->conn.state != CONN_UP)
		nic->stats.ignored++;
	else if (roce_op_of(pkt->opcode)->kind == ROCE_ACKNOWLEDGE)
		req_on_ack(&qp->req, pkt, nic->now_ns);
	else
		on_read_response(nic, qp, pkt);
}

// Whether a frame has the address of the queue pair's peer, and is in its VLAN.
static bool is_from_peer(const struct nic *nic, const struct qp *qp, const struct frame_addr *from)
{
	return ip_key_same(nic->peers[qp->peer].pub.ip, from->src_ip) &&
	       frame_tag_vid(&qp->tag) == frame_tag_vid(&from->tag);
}

static void on_qp(struct nic *nic, const struct roce_pkt *pkt, const struct frame_addr *from,
		  const struct pkt_info *info, uint32_t len)
{
	struct qp *qp = qp_at(nic, pkt->dest_qp);
	uint8_t kind = roce_op_of(pkt->opcode)->kind;

	if (kind == ROCE_NOTIFY && !nic_cnp_fits(nic, pkt, from))
		qp = NULL;
	if (qp == NULL || qp->qpn != pkt->dest_qp || !is_from_peer(nic, qp, from)) {
		nic->stats.unknown_qp++;
		return;
	}
	qp->last_rx_ns = nic->now_ns;
	if (kind == ROCE_NOTIFY) {
		qp_cc_on_cnp(nic, qp);
		qp_update(nic, qp);
		return;
	}
	if (kind != ROCE_ACKNOWLEDGE)
		count_rx(nic, qp, len, info->ecn == ECN_CE);
	if (kind != ROCE_ACKNOWLEDGE && kind != ROCE_READ_REQ && info->ecn == ECN_CE)
		qp_cc_on_ce(nic, qp, from->sport);
	if (kind == ROCE_ACKNOWLEDGE || kind == ROCE_READ_RESP)
		on_response(nic, qp, pkt);
	else
		on_roce_request(nic, qp, pkt);
	qp_update(nic, qp);
}

// ---- frames that a switch has trimmed

static bool says_trimmed(const struct nic *nic, unsigned dscp)
{
	return nic->cfg.trimmed_dscps >> dscp & 1;
}

// Length of the frame before a switch cut it and left the length of IP as it was; else its length.
static uint32_t whole_len(const struct nic *nic, const struct rte_mbuf *m)
{
	struct outer o;

	if (nic->cfg.trimmed_dscps == 0)
		return m->pkt_len;
	o = outer_of(m);
	if (o.l3_len == 0 || !says_trimmed(nic, o.tos >> 2) ||
	    m->data_len < ROCE_MAX_HEADERS + frame_extra(&o.tag, o.type == ETYPE_IPV6))
		return m->pkt_len;
	return (uint32_t)max_u64((uint64_t)o.l3_off + o.l3_len, m->pkt_len);
}

// The payload is lost, the headers are not: the receiver of the data asks for the packet again.
static void on_trimmed(struct nic *nic, const struct pkt_info *info,
		       const struct frame_addr *from)
{
	struct qp *qp = qp_at(nic, info->bth_dest_qp);
	uint8_t kind = roce_op_of(info->bth_opcode)->kind;

	nic->stats.rx_trimmed++;
	if (qp == NULL || qp->qpn != info->bth_dest_qp || !is_from_peer(nic, qp, from))
		return;
	if (kind == ROCE_READ_RESP && qp->conn.initiator && qp->conn.state == CONN_UP)
		req_on_trimmed(&qp->req, info->bth_psn);
	else if ((kind == ROCE_SEND || kind == ROCE_WRITE || kind == ROCE_READ_REQ) &&
		 !qp->conn.initiator)
		resp_on_trimmed(&qp->resp, info->bth_psn);
	else
		return;
	qp_update(nic, qp);
}

// A switch has damaged the payload, which is not stored (dataplane/impair.h).
static bool is_damaged(const struct rte_mbuf *m)
{
	return m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

static void on_roce(struct nic *nic, const struct rte_mbuf *m, uint32_t len,
		    const struct pkt_info *info)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct eth_hdr *eth = (const struct eth_hdr *)frame;
	struct frame_addr from = {0};
	struct roce_pkt pkt;

	frame_ips(frame, info, &from);
	if (!nic_is_mine(nic, from.dst_ip) ||
	    memcmp(eth->dst, nic->cfg.facts.mac, sizeof(eth->dst)) != 0) {
		nic->stats.ignored++;
		return;
	}
	if (is_damaged(m)) {
		nic->stats.icrc_errors++;
		return;
	}
	switch (roce_read(frame, len, m->data_len, info, &pkt)) {
	case FRAME_SHORT:
		nic->stats.malformed++;
		return;
	case FRAME_CHECKSUM:
		if (says_trimmed(nic, info->dscp))
			on_trimmed(nic, info, &from);
		else
			nic->stats.icrc_errors++;
		return;
	case FRAME_OK:
		break;
	}
	// Without its end a frame has no iCRC to check: of those, the DSCP alone says it.
	if (pkt.payload == NULL && says_trimmed(nic, info->dscp)) {
		on_trimmed(nic, info, &from);
		return;
	}
	memcpy(from.src_mac, eth->src, sizeof(from.src_mac));
	from.sport = be16_get(&((const struct udp_hdr *)(frame + info->l4_off))->sport);
	if (roce_op_of(pkt.opcode)->kind == ROCE_UD)
		nic_on_cm(nic, &pkt, &from);
	else
		on_qp(nic, &pkt, &from, info, len);
}

// ---- TCP

static struct qp *find_tcp_qp(struct nic *nic, const struct frame_addr *a)
{
	uint32_t i = a->dport & PORT_SLOT;
	struct qp *qp = &nic->qps[i];

	if (i >= nic->n_used_qps || qp->conn.state != CONN_UP || !qp->is_tcp ||
	    qp->port != a->dport || qp->peer_port != a->sport ||
	    !is_from_peer(nic, qp, a))
		return NULL;
	return qp;
}

static void verify(struct nic *nic, const struct tcp *t, const struct tcp_seg *s,
		   const uint8_t *payload)
{
	uint32_t ahead = s->seq - t->irs - (uint32_t)t->rcv_nxt;
	uint64_t offset = tcp_received(t) + (uint64_t)(int64_t)(int32_t)ahead;

	if (nic->cfg.verify && payload != NULL && s->len != 0 && t->rcv_nxt != 0 &&
	    !payload_ok(&nic->payload, offset, payload, s->len))
		nic->stats.payload_errors++;
}

// Messages that have arrived whole; the requester at the far end knows where they end.
static void serve_tcp_messages(struct nic *nic, struct qp *qp)
{
	const struct requester *far = far_requester(qp);

	for (; qp->n_served != far->tail; qp->n_served++) {
		const struct req_msg *m = req_msg_at(far, qp->n_served);

		if (m->first_seq + m->n_pkts > tcp_received(qp->tcp))
			return;
		nic->stats.messages_served++;
		if (nic->cfg.hooks.served != NULL)
			served(nic, qp, m->tag, m->n_bytes);
	}
}

static void take_tcp_segment(struct nic *nic, struct qp *qp, const struct tcp_seg *s, bool ce)
{
	struct tcp_stats before = qp->tcp->stats;
	uint64_t n_bytes = tcp_on_segment(qp->tcp, s, ce, nic->now_ns);

	nic_count_tcp(nic, qp->tcp, &before);
	if (qp->conn.initiator) {
		qp->req.una = tcp_acked(qp->tcp);
	} else if (n_bytes != 0) {
		count_goodput(nic, qp, n_bytes);
		serve_tcp_messages(nic, qp);
	}
	qp_update(nic, qp);
}

static void on_tcp(struct nic *nic, const struct rte_mbuf *m, uint32_t len,
		   const struct pkt_info *info)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *payload;
	bool ce = info->ecn == ECN_CE;
	enum frame_read read;
	struct frame_addr a;
	struct tcp_seg s;
	struct qp *qp;

	read = tcp_read(frame, len, m->data_len, info, &a, &s, &payload);
	if (says_trimmed(nic, info->dscp) &&
	    (read == FRAME_CHECKSUM || (read == FRAME_OK && m->data_len < len))) {
		nic->stats.rx_trimmed++; // TCP has no use for it
		return;
	}
	if (read != FRAME_OK) {
		nic->stats.malformed++;
		return;
	}
	if (!nic_is_mine(nic, a.dst_ip) ||
	    memcmp(((const struct eth_hdr *)frame)->dst, nic->cfg.facts.mac, 6) != 0) {
		nic->stats.ignored++;
		return;
	}
	qp = find_tcp_qp(nic, &a);
	if (qp == NULL) {
		nic->stats.unknown_qp++;
		return;
	}
	qp->last_rx_ns = nic->now_ns;
	if (s.len != 0)
		count_rx(nic, qp, len, ce);
	verify(nic, qp->tcp, &s, payload);
	take_tcp_segment(nic, qp, &s, ce);
}

// True if the whole frame is stored, or at least all its headers. The parser may then check lengths
// against the length on the wire, and reads no byte that is not stored.
static bool headers_stored(const struct rte_mbuf *m, uint32_t len)
{
	struct outer o;
	const uint8_t *l3;
	uint8_t proto;

	if (m->data_len == len)
		return true;
	o = outer_of(m);
	l3 = rte_pktmbuf_mtod_offset(m, const uint8_t *, o.l3_off);
	if (o.l3_len == 0 ||
	    m->data_len < ROCE_MAX_HEADERS + frame_extra(&o.tag, o.type == ETYPE_IPV6) ||
	    (o.type == ETYPE_IPV4 && ((const struct ipv4_hdr *)l3)->ver_ihl != 0x45))
		return false;
	proto = o.type == ETYPE_IPV4 ? ((const struct ipv4_hdr *)l3)->proto
				     : ((const struct ipv6_hdr *)l3)->next;
	return proto == IP_PROTO_UDP || proto == IP_PROTO_TCP;
}

// One tag of 802.1Q at most.
static bool takes_tags(const uint8_t *frame, const struct pkt_info *info)
{
	return info->n_tags == 0 ||
	       (info->n_tags == 1 && be16_get(frame + 2 * ETH_ALEN_) == ETYPE_VLAN);
}

static void on_frame(struct nic *nic, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t len = whole_len(nic, m);
	struct frame_tag tag;
	struct pkt_info info;
	bool ip;

	nic->stats.rx_frames++;
	if (m->nb_segs != 1 || !headers_stored(m, len) ||
	    !(parse_template(frame, len, &info) || parse(frame, len, &info))) {
		nic->stats.malformed++;
		return;
	}
	ip = (info.kind == PKT_IPV4 || info.kind == PKT_IPV6) && !info.fragment;
	tag = frame_tag_of(&info);
	if (info.kind == PKT_MAC_CONTROL && info.n_tags == 0)
		on_mac_control(nic, frame, len);
	else if (!takes_tags(frame, &info))
		nic->stats.ignored++;
	else if (ip && info.roce)
		on_roce(nic, m, len, &info);
	else if (ip && info.ip_proto == IP_PROTO_TCP)
		on_tcp(nic, m, len, &info);
	else if (m->data_len == len && (info.ether_type == ETYPE_ARP ||
					(ip && info.ip_proto == IP_PROTO_ICMPV6)))
		on_neighbour(nic, frame, len, &tag);
	else if (info.n_tags != 0)
		nic->stats.ignored++;
	else if (info.kind == PKT_LLDP && nic->cfg.hooks.lldp != NULL && m->data_len == len)
		nic->cfg.hooks.lldp(nic->cfg.hooks.arg, frame, len, nic->now_ns);
	else if ((info.kind == PKT_OTHER || info.kind == PKT_INOF || info.kind == PKT_SLOW) &&
		 nic->cfg.hooks.other != NULL && m->data_len == len)
		nic->cfg.hooks.other(nic->cfg.hooks.arg, frame, len, nic->now_ns);
	else
		nic->stats.ignored++;
}

// ---- the quick way of most frames

// Untagged IPv4 and UDP to port 4791, for this NIC, stored without its end. All lengths agree.
static bool is_snapped_roce(const struct nic *nic, const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(eth + 1);
	const struct udp_hdr *udp = (const struct udp_hdr *)(ip + 1);
	uint32_t l3_len = m->pkt_len - (uint32_t)sizeof(*eth);

	return m->nb_segs == 1 && m->data_len >= ROCE_MAX_HEADERS && m->data_len < m->pkt_len &&
	       !is_damaged(m) && be16_get(&eth->type) == ETYPE_IPV4 && ip->ver_ihl == 0x45 &&
	       ip->proto == IP_PROTO_UDP && !(be16_get(&ip->frag) & IPV4_FRAG_OFF_MASK) &&
	       be16_get(&udp->dport) == ROCE_UDP_PORT && be16_get(&ip->total_len) == l3_len &&
	       be16_get(&udp->len) == l3_len - sizeof(*ip) &&
	       ip_key_same(ip_key_v4(be32_get(&ip->dst)), nic->cfg.ip) &&
	       memcmp(eth->dst, nic->cfg.facts.mac, sizeof(eth->dst)) == 0;
}

// A frame in the middle of a message, in order and without a mark, for which nothing is to be sent:
// on_frame would count it, and change no timer. False: nothing was done.
static bool take_middle(struct nic *nic, const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(eth + 1);
	const struct bth_hdr *bth = (const struct bth_hdr *)((const struct udp_hdr *)(ip + 1) + 1);
	uint32_t dest_qp;
	struct qp *qp;

	if (!is_snapped_roce(nic, m) ||
	    (bth->opcode != RC_WRITE_MIDDLE && bth->opcode != RC_SEND_MIDDLE) ||
	    (bth->ack_req & BTH_ACK_REQ) ||
	    (bth->flags & (BTH_VERSION_MASK | BTH_PAD_MASK)) != 0 || (ip->tos & ECN_CE) == ECN_CE)
		return false;
	dest_qp = be24_get(&bth->dest_qp);
	qp = qp_at(nic, dest_qp);
	if (qp == NULL || qp->qpn != dest_qp || qp->conn.initiator || qp->conn.state != CONN_UP ||
	    qp->is_tcp || frame_tag_vid(&qp->tag) != 0 ||
	    !ip_key_same(nic->peers[qp->peer].pub.ip, ip_key_v4(be32_get(&ip->src))) ||
	    !resp_take_middle(&qp->resp, roce_op_of(bth->opcode)->kind, be24_get(&bth->psn),
			      m->pkt_len - ROCE_MIN_LEN))
		return false;
	nic->stats.rx_frames++;
	qp->last_rx_ns = nic->now_ns;
	count_rx(nic, qp, m->pkt_len, false);
	count_goodput(nic, qp, qp->resp.p.mtu);
	return true;
}

// Takes in the frames that the host has taken; all that wait where the receiver is no longer slow.
static void drain_slow(struct nic *nic)
{
	struct slow *s = &nic->slow;

	while (s->n != 0 && (!s->on || rxbuf_due(&s->b) <= nic->now_ns)) {
		struct rte_mbuf *m = s->ring[s->head];

		s->head = (s->head + 1) % s->size;
		s->n--;
		rxbuf_taken(&s->p, &s->b, m->pkt_len,
			    s->n == 0 ? 0 : s->ring[s->head]->pkt_len);
		if (s->n != 0)
			slow_begin(nic, s->ring[s->head]);
		on_frame(nic, m);
		rte_pktmbuf_free(m);
	}
}

bool nic_receive(struct nic *nic)
{
	struct rte_mbuf *pkts[NIC_RX_BURST];

	drain_slow(nic);
	for (unsigned burst = 0; burst < NIC_RX_BURSTS; burst++) {
		uint16_t n = nic->cfg.ops->rx(nic->cfg.drv, pkts, NIC_RX_BURST);

		for (uint16_t i = 0; i < n; i++) {
			if (slow_take(nic, pkts[i]))
				continue;
			if (!QUICK_WAYS || !take_middle(nic, pkts[i]))
				on_frame(nic, pkts[i]);
			rte_pktmbuf_free(pkts[i]);
		}
		if (n < NIC_RX_BURST)
			return false;
	}
	return true;
}
