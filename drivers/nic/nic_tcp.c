// SPDX-License-Identifier: Apache-2.0
// TCP connections of the NIC: acts on the decisions of tcp.h. A connection has the slot, the class,
// the pace and the messages of a queue pair. Of its requester only the book of messages is used,
// with bytes for packets.
#include "drivers/nic/nic_int.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/tcp_build.h"

enum { PORT_FIRST = 0x8000, PORT_LUCK_SHIFT = 12, PORT_LUCK = 7, PORT_SLOT = NIC_MAX_QPS - 1 };
static_assert(NIC_MAX_QPS == 1 << PORT_LUCK_SHIFT, "a port holds the number of a slot");

// What a call changed is counted for the NIC, too.
static void count(struct nic *nic, const struct tcp *t, const struct tcp_stats *before)
{
	const struct tcp_stats *now = &t->stats;
	struct nic_stats *s = &nic->stats;

	s->retransmissions += now->retransmissions - before->retransmissions;
	s->timeouts += now->timeouts - before->timeouts;
	s->tcp_timeouts += now->timeouts - before->timeouts;
	s->fast_retransmits += now->fast_retransmits - before->fast_retransmits;
	s->ece_received += now->ece_received - before->ece_received;
	s->rate_cuts += now->ecn_cuts - before->ecn_cuts;
	s->acks_sent += now->acks_sent - before->acks_sent;
	s->acks_received += now->acks_received - before->acks_received;
	s->out_of_sequence += now->out_of_order - before->out_of_order;
	s->duplicates += now->duplicates - before->duplicates;
	s->tcp_duplicates += now->duplicates - before->duplicates;
	s->ignored += now->ignored - before->ignored;
	if (now->ecn_cuts != before->ecn_cuts && nic->cfg.hooks.cut != NULL)
		nic->cfg.hooks.cut(nic->cfg.hooks.arg, nic->now_ns);
}

// ---- opening

static bool open_end(struct nic *nic, struct qp *qp, bool active)
{
	const struct req_params book = {.mtu = 1, .region_bytes = UINT64_MAX};
	struct tcp_params p = qp->flow.tcp;

	if (qp->tcp == NULL)
		qp->tcp = malloc(sizeof(*qp->tcp));
	if (qp->tcp == NULL)
		return false;
	p.mss = qp->mtu;
	p.stream = !qp->flow.manual;
	qp->is_tcp = true;
	qp->port = (uint16_t)(PORT_FIRST | (rng_next(&nic->rng) & PORT_LUCK) << PORT_LUCK_SHIFT |
			      qp_index(nic, qp));
	tcp_init(qp->tcp, &p, active, rng_next(&nic->rng));
	qp_init_req(nic, qp, &book);
	conn_init(&qp->conn, active, qp->conn.local_id, qp->conn.tid, nic->cfg.retry_ns);
	qp->conn.state = CONN_UP;
	return true;
}

bool nic_tcp_join(struct nic *nic, struct qp *qp, struct nic *far, struct qp *to)
{
	to->peer = (uint16_t)peer_find(far, nic->cfg.ip, false);
	to->flow = qp->flow;
	to->cls = far->cfg.class_of_dscp[qp->tos >> 2];
	to->tos = qp->tos;
	to->mtu = qp->mtu;
	qp_set_rate(far, to, 0);
	if (!open_end(nic, qp, true) || !open_end(far, to, false))
		return false;
	qp->peer_port = to->port;
	to->peer_port = qp->port;
	qp->peer_qpn = to->qpn;
	to->peer_qpn = qp->qpn;
	qp->far = far;
	qp->far_index = qp_index(far, to);
	to->far = nic;
	to->far_index = qp_index(nic, qp);
	return true;
}

void nic_tcp_offer(struct nic *nic, struct qp *qp)
{
	tcp_offer(qp->tcp, qp->req.next_seq, nic->now_ns);
}

// ---- sending

void nic_tcp_build(struct nic *nic, const struct qp *qp, const struct tcp_seg *s,
		   struct rte_mbuf *m)
{
	const struct peer *peer = &nic->peers[qp->peer];
	struct tcp_addr a = {
		.src_ip = nic->cfg.ip,
		.dst_ip = peer->pub.ip,
		.sport = qp->port,
		.dport = qp->peer_port,
		.ip_id = nic->ip_id++,
		.tos = s->ect ? qp->tos : (uint8_t)(qp->tos & ~ECN_CE),
	};

	memcpy(a.src_mac, nic->cfg.facts.mac, sizeof(a.src_mac));
	memcpy(a.dst_mac, peer->mac, sizeof(a.dst_mac));
	tcp_build(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &a, s,
		  payload_at(&nic->payload, s->offset));
}

// The book of messages: bytes up to `until` have left.
static void note_sent(struct requester *r, uint64_t until, uint64_t now_ns)
{
	while (r->cur != r->tail && r->nxt < until) {
		struct req_msg *m = req_msg_at(r, r->cur);
		uint64_t end = m->first_seq + m->n_pkts;

		if (r->nxt == m->first_seq)
			m->first_tx_ns = now_ns;
		r->nxt = until < end ? until : end;
		if (r->nxt != end)
			return;
		m->last_tx_ns = now_ns;
		r->cur++;
	}
}

void nic_tcp_sent(struct nic *nic, struct qp *qp, const struct tcp_seg *s)
{
	struct tcp_stats before = qp->tcp->stats;

	tcp_sent(qp->tcp, s, nic->now_ns);
	note_sent(&qp->req, s->offset + s->len, nic->now_ns);
	count(nic, qp->tcp, &before);
}

void nic_tcp_on_timer(struct nic *nic, struct qp *qp)
{
	struct tcp_stats before = qp->tcp->stats;

	tcp_on_timer(qp->tcp, nic->now_ns);
	count(nic, qp->tcp, &before);
}

// ---- receiving

static struct qp *find(struct nic *nic, const struct tcp_addr *a)
{
	uint32_t i = a->dport & PORT_SLOT;
	struct qp *qp = &nic->qps[i];

	if (i >= nic->n_used_qps || qp->conn.state != CONN_UP || !qp->is_tcp ||
	    qp->port != a->dport || qp->peer_port != a->sport ||
	    nic->peers[qp->peer].pub.ip != a->src_ip)
		return NULL;
	return qp;
}

// Messages that have arrived whole; the sender's book has their ends.
static void serve(struct nic *nic, struct qp *qp)
{
	const struct requester *book = &qp->far->qps[qp->far_index].req;

	for (; qp->n_served != book->tail; qp->n_served++) {
		const struct req_msg *m = req_msg_at(book, qp->n_served);
		struct nic_served s = {
			.src_ip = nic->peers[qp->peer].pub.ip,
			.qpn = qp->qpn,
			.tag = m->tag,
			.n_bytes = m->n_bytes,
			.now_ns = nic->now_ns,
		};

		if (m->first_seq + m->n_pkts > tcp_received(qp->tcp))
			return;
		nic->stats.messages_served++;
		if (nic->cfg.hooks.served != NULL)
			nic->cfg.hooks.served(nic->cfg.hooks.arg, &s);
	}
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

static void take(struct nic *nic, struct qp *qp, const struct tcp_seg *s, bool ce)
{
	struct tcp_stats before = qp->tcp->stats;
	uint64_t n_bytes = tcp_on_segment(qp->tcp, s, ce, nic->now_ns);

	count(nic, qp->tcp, &before);
	if (qp->conn.initiator) {
		qp->req.una = tcp_acked(qp->tcp);
	} else if (n_bytes != 0) {
		nic->stats.cls[qp->cls].goodput_bytes += n_bytes;
		nic->peers[qp->peer].pub.cls[qp->cls].goodput_bytes += n_bytes;
		serve(nic, qp);
	}
	qp_update(nic, qp);
}

void nic_on_tcp(struct nic *nic, const struct rte_mbuf *m, const struct pkt_info *info)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *payload;
	bool ce = info->ecn == ECN_CE;
	struct tcp_addr a;
	struct tcp_seg s;
	struct qp *qp;

	if (tcp_read(frame, m->pkt_len, m->data_len, info, &a, &s, &payload) != TCP_READ_OK) {
		nic->stats.malformed++;
		return;
	}
	if (a.dst_ip != nic->cfg.ip ||
	    memcmp(((const struct eth_hdr *)frame)->dst, nic->cfg.facts.mac, 6) != 0) {
		nic->stats.ignored++;
		return;
	}
	qp = find(nic, &a);
	if (qp == NULL) {
		nic->stats.unknown_qp++;
		return;
	}
	qp->last_rx_ns = nic->now_ns;
	if (s.len != 0)
		nic_count_rx(nic, qp, m->pkt_len, ce);
	verify(nic, qp->tcp, &s, payload);
	take(nic, qp, &s, ce);
}

// ---- numbers

void nic_tcp_status(const struct qp *qp, struct nic_flow_status *s)
{
	const struct tcp *t = qp->tcp;

	s->acked_bytes = tcp_acked(t);
	s->tx_packets = qp->tx_packets;
	s->tx_bytes = qp->tx_bytes;
	s->alpha_ppm = t->p.cc == TCP_DCTCP
			       ? (uint32_t)((uint64_t)t->alpha * 1000000 >> TCP_ALPHA_Q)
			       : 0;
	s->tcp = (struct nic_tcp_status){.cwnd_bytes = t->cwnd, .ssthresh_bytes = t->ssthresh,
					 .srtt_ns = t->srtt_ns, .rto_ns = t->rto_ns,
					 .stats = t->stats};
}
