// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/bits.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "dataplane/units.h"

// ---- the slow receiver: frames wait in a buffer until the host has taken them, and the NIC pauses
// its peer meanwhile. What rxbuf.h and guard.h decide is done here.

enum { SMALLEST_FRAME = 60 };

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

int nic_set_faults(struct nic *nic, const struct nic_faults *f)
{
	struct slow *s = &nic->slow;
	struct rxbuf_params p;

	if (f->rx_rate_bps != 0) {
		if (f->loopback_bps >= f->rx_rate_bps ||
		    !rxbuf_params_init(&p, f->rx_rate_bps - f->loopback_bps, f->rx_buffer_bytes,
				       f->rx_xoff_bytes, f->rx_xon_bytes))
			return -EINVAL;
		if (make_ring(s, p.capacity / SMALLEST_FRAME + 1) != 0)
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

void slow_fini(struct slow *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		rte_pktmbuf_free(s->ring[(s->head + i) % s->size]);
	free(s->ring);
}

// What a PFC frame would pause; MAC control itself never waits.
static unsigned class_of(const struct nic *nic, const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(eth + 1);

	if (m->data_len < sizeof(*eth) + sizeof(*ip) || be16_get(&eth->type) != ETYPE_IPV4)
		return 0;
	return nic->cfg.class_of_dscp[ip->tos >> 2];
}

static bool is_mac_control(const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);

	return m->data_len >= sizeof(*eth) && be16_get(&eth->type) == ETYPE_MAC_CONTROL;
}

// True: the frame was taken in, to wait or to be dropped.
static bool slow_take(struct nic *nic, struct rte_mbuf *m)
{
	struct slow *s = &nic->slow;

	if (!s->on || is_mac_control(m))
		return false;
	if (s->n == s->size ||
	    !rxbuf_add(&s->p, &s->b, m->pkt_len, class_of(nic, m), nic->now_ns)) {
		nic->stats.rx_dropped++;
		rte_pktmbuf_free(m);
		return true;
	}
	s->ring[(s->head + s->n++) % s->size] = m;
	if (s->b.used_bytes > nic->stats.rx_buffer_max_bytes)
		nic->stats.rx_buffer_max_bytes = s->b.used_bytes;
	return true;
}

// The next frame that the host has taken; NULL: none. The caller frees it. When the receiver is no
// longer slow, all that waits is taken at once.
static struct rte_mbuf *slow_next(struct nic *nic)
{
	struct slow *s = &nic->slow;
	struct rte_mbuf *m;

	if (s->n == 0 || (s->on && rxbuf_due(&s->b) > nic->now_ns))
		return NULL;
	m = s->ring[s->head];
	s->head = (s->head + 1) % s->size;
	s->n--;
	rxbuf_taken(&s->p, &s->b, m->pkt_len, s->n == 0 ? 0 : s->ring[s->head]->pkt_len);
	return m;
}

// The refresh of the classes this buffer holds paused.
static uint64_t refresh(const struct nic *nic)
{
	uint64_t next = UINT64_MAX;

	for_each_bit (c, nic->slow.paused)
		next = min_u64(next, nic->pfc_tx.refresh_ns[c]);
	return next;
}

uint64_t slow_send(struct nic *nic)
{
	struct slow *s = &nic->slow;
	uint8_t mine = s->b.want | s->paused;
	struct pfc_times f;

	if (mine == 0 || s->guard.tripped)
		return UINT64_MAX;
	pfc_tx_due(&nic->pfc, &nic->pfc_tx, s->b.want, nic->now_ns, &f);
	f.enable &= mine; // other classes are a storm's
	if (f.enable == 0)
		return refresh(nic);
	if (!nic_send_pfc(nic, &f))
		return s->guard.tripped ? UINT64_MAX : nic_room_retry(nic);
	s->paused = s->b.want;
	return refresh(nic);
}

// ---- frames

static void on_mac_control(struct nic *nic, const uint8_t *frame, uint32_t len)
{
	struct pfc_times f;

	switch (mac_ctrl_parse(frame, len, &f)) {
	case MAC_CTRL_PFC:
		// Where the driver sees PFC ahead of the ring, its word has acted (nic_tx.c).
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

static void on_arp(struct nic *nic, const uint8_t *frame, uint32_t len)
{
	struct neighbour_msg m;
	uint32_t sender, target;
	int i;

	if (!neighbour_parse(frame, len, &m)) {
		nic->stats.ignored++;
		return;
	}
	sender = be32_get((const struct be32 *)m.sender);
	target = be32_get((const struct be32 *)m.target);
	if (target != nic->cfg.ip || sender == 0) {
		nic->stats.ignored++;
		return;
	}
	// Only peers of flows are kept; every station gets a reply.
	i = peer_find(nic, sender, false);
	if (i >= 0)
		peer_resolved(nic, &nic->peers[i], m.sender_mac);
	if (m.request)
		nic_send_arp(nic, ARP_REPLY, sender, m.sender_mac);
}

static void count_class(struct nic_class_stats *s, uint32_t len, bool ce, uint64_t now_ns)
{
	if (s->rx_packets++ == 0)
		s->first_rx_ns = now_ns;
	s->last_rx_ns = now_ns;
	s->rx_bytes += len;
	s->ce_marked += ce;
}

void nic_count_rx(struct nic *nic, const struct qp *qp, uint32_t len, bool ce)
{
	count_class(&nic->stats.cls[qp->cls], len, ce, nic->now_ns);
	count_class(&nic->peers[qp->peer].pub.cls[qp->cls], len, ce, nic->now_ns);
}

// Payload of pkt was taken; it is what the stream holds at offset. n_bytes have come to stay by it.
static void taken(struct nic *nic, const struct qp *qp, const struct roce_pkt *pkt, uint64_t offset,
		  uint32_t n_bytes)
{
	nic->stats.cls[qp->cls].goodput_bytes += n_bytes;
	nic->peers[qp->peer].pub.cls[qp->cls].goodput_bytes += n_bytes;
	if (nic->cfg.verify && pkt->payload != NULL &&
	    !payload_ok(&nic->payload, offset, pkt->payload, pkt->payload_len))
		nic->stats.payload_errors++;
}

// The message number of nic_connect's flow is known at the far end, until it is acknowledged.
static void served(const struct nic *nic, const struct qp *qp)
{
	uint32_t number = qp->resp.msn - 1;
	struct nic_served s = {
		.src_ip = nic->peers[qp->peer].pub.ip,
		.qpn = qp->qpn,
		.tag = number,
		.n_bytes = qp->resp.msg_bytes,
		.now_ns = nic->now_ns,
	};

	if (qp->far != NULL)
		s.tag = req_msg_at(&qp->far->qps[qp->far_index].req, number)->tag;
	nic->cfg.hooks.served(nic->cfg.hooks.arg, &s);
}

static void on_request(struct nic *nic, struct qp *qp, const struct roce_pkt *pkt)
{
	bool last = roce_op_of(pkt->opcode)->last;
	uint64_t offset;

	if (qp->conn.initiator) {
		nic->stats.ignored++;
		return;
	}
	conn_on_data(&qp->conn);
	if (resp_on_request(&qp->resp, pkt, &offset) != RESP_TAKEN)
		return;
	// A message that may be started over counts once it is whole.
	taken(nic, qp, pkt, offset,
	      !qp->resp.p.go_back_0 ? pkt->payload_len : (last ? qp->resp.msg_bytes : 0));
	if (nic->cfg.hooks.served != NULL && last)
		served(nic, qp);
}

static void on_response(struct nic *nic, struct qp *qp, const struct roce_pkt *pkt)
{
	uint64_t offset;

	if (!qp->conn.initiator || qp->conn.state != CONN_UP)
		nic->stats.ignored++;
	else if (roce_op_of(pkt->opcode)->kind == ROCE_ACKNOWLEDGE)
		req_on_ack(&qp->req, pkt, nic->now_ns);
	else if (req_on_read(&qp->req, pkt, nic->now_ns, &offset) == REQ_READ_TAKEN)
		taken(nic, qp, pkt, offset,
		      !qp->req.p.go_back_0 ? pkt->payload_len : req_head_complete_bytes(&qp->req));
}

static void on_qp(struct nic *nic, const struct roce_pkt *pkt, const struct roce_addr *from,
		  const struct pkt_info *info, uint32_t len)
{
	struct qp *qp = qp_by_number(nic, pkt->dest_qp, qp_qpn);
	uint8_t kind = roce_op_of(pkt->opcode)->kind;

	if (kind == ROCE_NOTIFY && !nic_cnp_fits(nic, pkt, from))
		qp = NULL;
	if (qp == NULL || nic->peers[qp->peer].pub.ip != from->src_ip) {
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
		nic_count_rx(nic, qp, len, info->ecn == ECN_CE);
	if (kind != ROCE_ACKNOWLEDGE && kind != ROCE_READ_REQ && info->ecn == ECN_CE)
		qp_cc_on_ce(nic, qp, from->udp_sport);
	if (kind == ROCE_ACKNOWLEDGE || kind == ROCE_READ_RESP)
		on_response(nic, qp, pkt);
	else
		on_request(nic, qp, pkt);
	qp_update(nic, qp);
}

static enum roce_read read_roce(const struct rte_mbuf *m, const struct pkt_info *info,
				struct roce_pkt *pkt)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->data_len < m->pkt_len)
		return roce_read_headers(frame, m->pkt_len, m->data_len, info, pkt);
	return roce_read(frame, m->pkt_len, info, pkt);
}

static void on_roce(struct nic *nic, const struct rte_mbuf *m, const struct pkt_info *info)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct eth_hdr *eth = (const struct eth_hdr *)frame;
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(frame + info->l3_off);
	struct roce_addr from = {.src_ip = be32_get(&ip->src), .dst_ip = be32_get(&ip->dst)};
	struct roce_pkt pkt;

	if (from.dst_ip != nic->cfg.ip ||
	    memcmp(eth->dst, nic->cfg.facts.mac, sizeof(eth->dst)) != 0) {
		nic->stats.ignored++;
		return;
	}
	switch (read_roce(m, info, &pkt)) {
	case ROCE_READ_SHORT:
		nic->stats.malformed++;
		return;
	case ROCE_READ_ICRC:
		nic->stats.icrc_errors++;
		return;
	case ROCE_READ_OK:
		break;
	}
	memcpy(from.src_mac, eth->src, sizeof(from.src_mac));
	from.udp_sport = be16_get(&((const struct udp_hdr *)(frame + info->l4_off))->sport);
	if (roce_op_of(pkt.opcode)->kind == ROCE_UD)
		nic_on_cm(nic, &pkt, &from);
	else
		on_qp(nic, &pkt, &from, info, m->pkt_len);
}

// What of a frame is stored covers all headers: then lengths may be judged by what it is on the
// wire, and nothing beyond is touched.
static bool headers_stored(const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(eth + 1);

	return m->data_len == m->pkt_len ||
	       (m->data_len >= ROCE_MAX_HEADERS && be16_get(&eth->type) == ETYPE_IPV4 &&
		ip->ver_ihl == 0x45 &&
		(ip->proto == IP_PROTO_UDP || ip->proto == IP_PROTO_TCP));
}

static void on_frame(struct nic *nic, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t len = m->pkt_len;
	struct pkt_info info;

	nic->stats.rx_frames++;
	if (m->nb_segs != 1 || !headers_stored(m) || !parse(frame, len, &info)) {
		nic->stats.malformed++;
		return;
	}
	if (info.kind == PKT_MAC_CONTROL && info.n_tags == 0)
		on_mac_control(nic, frame, len);
	else if (info.n_tags != 0)
		nic->stats.ignored++;
	else if (info.kind == PKT_IPV4 && info.roce && !info.fragment)
		on_roce(nic, m, &info);
	else if (info.kind == PKT_IPV4 && info.ip_proto == IP_PROTO_TCP && !info.fragment)
		nic_on_tcp(nic, m, &info);
	else if (info.kind == PKT_OTHER && info.ether_type == ETYPE_ARP)
		on_arp(nic, frame, len);
	else
		nic->stats.ignored++;
}

static void drain_slow(struct nic *nic)
{
	struct rte_mbuf *m;

	while ((m = slow_next(nic)) != NULL) {
		on_frame(nic, m);
		rte_pktmbuf_free(m);
	}
}

bool nic_receive(struct nic *nic)
{
	struct rte_mbuf *pkts[NIC_RX_BURST];

	if (nic->slow.n != 0)
		drain_slow(nic);
	for (unsigned burst = 0; burst < NIC_RX_BURSTS; burst++) {
		uint16_t n = nic->cfg.ops->rx(nic->cfg.drv, pkts, NIC_RX_BURST);

		for (uint16_t i = 0; i < n; i++) {
			if (slow_take(nic, pkts[i]))
				continue;
			on_frame(nic, pkts[i]);
			rte_pktmbuf_free(pkts[i]);
		}
		if (n < NIC_RX_BURST)
			return false;
	}
	return true;
}
