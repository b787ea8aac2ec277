// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/arp.h"

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
	struct arp_msg m;
	int i;

	if (!arp_parse(frame, len, &m) || m.target_ip != nic->cfg.ip || m.sender_ip == 0) {
		nic->stats.ignored++;
		return;
	}
	// Only those we want to talk to are kept; anybody gets an answer.
	i = peer_find(nic, m.sender_ip, false);
	if (i >= 0)
		peer_resolved(nic, &nic->peers[i], m.sender_mac);
	if (m.op == ARP_REQUEST)
		nic_send_arp(nic, ARP_REPLY, m.sender_ip, m.sender_mac);
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
