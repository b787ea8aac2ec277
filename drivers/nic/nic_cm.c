// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"
#include "dataplane/units.h"

// The one memory region of a responder. There is no memory behind it: what is written is
// compared with the stream and dropped, what is read is the stream.
static const uint64_t region_bytes = 1ull << 40;

// A responder that heard nothing for this long gives way to a new connection when all are taken.
static const uint64_t stale_ns = 10ull * SECOND_NS;

enum { REJ_SERVICE = 8, ID_MIX = (int)0x9e3779b1 };

// Key and address are functions of the queue pair, so a repeated REP says the same.
static uint32_t region_rkey(const struct qp *qp)
{
	return qp->conn.local_id * (uint32_t)ID_MIX;
}

static uint64_t region_va(const struct qp *qp)
{
	return (uint64_t)(region_rkey(qp) & 0x7fff) << 48;
}

void cm_fill(const struct nic *nic, const struct qp *qp, struct cm_msg *m)
{
	*m = (struct cm_msg){
		.attr = qp->conn.due,
		.tid = qp->conn.tid,
		.local_id = qp->conn.local_id,
		.remote_id = qp->conn.remote_id,
		.qpn = qp->conn.due == CM_DREQ ? qp->peer_qpn : qp->qpn,
		.psn = qp->rx_psn,
		.psn_wish = qp->flow.first_psn != NIC_RANDOM_PSN ? qp->flow.first_psn : CM_ANY_PSN,
		.mtu = qp->mtu,
		.tos = qp->tos,
		.src_ip = nic->cfg.ip,
		.dst_ip = nic->peers[qp->peer].pub.ip,
		.rkey = region_rkey(qp),
		.va = region_va(qp),
		.region_bytes = region_bytes,
	};
}

// An answer for which no queue pair is kept.
static void send_unbound(struct nic *nic, const struct roce_addr *from, const struct cm_msg *to,
			 uint16_t attr, uint16_t reason)
{
	struct cm_msg m = {.attr = attr, .tid = to->tid, .local_id = to->remote_id,
			   .remote_id = to->local_id, .reason = reason};
	struct roce_pkt pkt = {.opcode = UD_SEND_ONLY, .dest_qp = CM_QP, .psn = nic->cm_psn,
			       .qkey = (uint32_t)CM_QKEY, .src_qp = CM_QP,
			       .payload_len = CM_MAD_LEN};
	struct roce_addr addr = nic_addr(nic, from->src_ip, from->src_mac,
					 roce_udp_sport(CM_QP, CM_QP), 0);
	struct rte_mbuf *frame = nic_alloc(nic, roce_frame_len(&pkt));
	uint8_t mad[CM_MAD_LEN];

	if (frame == NULL)
		return;
	nic->cm_psn = (nic->cm_psn + 1) & BTH_PSN_MASK;
	cm_build(mad, &m);
	pkt.payload = mad;
	roce_build(rte_pktmbuf_mtod(frame, uint8_t *), &addr, &pkt);
	nic_ctl_push(nic, frame);
}

static void reject(struct nic *nic, const struct roce_addr *from, const struct cm_msg *m,
		   uint16_t reason)
{
	nic->stats.connections_rejected++;
	send_unbound(nic, from, m, CM_REJ, reason);
}

// The responder that an earlier copy of this REQ made.
static struct qp *find_accepted(struct nic *nic, const struct cm_msg *m, int peer)
{
	for (uint32_t i = 0; i < nic->n_used_qps; i++) {
		struct qp *qp = &nic->qps[i];

		if (qp->conn.state != CONN_FREE && !qp->conn.initiator && qp->peer == peer &&
		    qp->conn.remote_id == m->local_id)
			return qp;
	}
	return NULL;
}

static void free_stalest(struct nic *nic)
{
	struct qp *stalest = NULL;

	for (uint32_t i = 0; i < nic->n_used_qps; i++) {
		struct qp *qp = &nic->qps[i];

		if (qp->conn.state != CONN_FREE && !qp->conn.initiator && !qp->queued &&
		    qp->far == NULL &&
		    nic->now_ns - qp->last_rx_ns >= stale_ns &&
		    (stalest == NULL || qp->last_rx_ns < stalest->last_rx_ns))
			stalest = qp;
	}
	if (stalest != NULL)
		qp_free(nic, stalest);
}

void cm_accept(struct nic *nic, struct qp *qp, const struct cm_msg *m, uint16_t peer, bool reads)
{
	struct resp_params p = {.mtu = m->mtu, .dest_qp = m->qpn, .region_bytes = region_bytes,
				.go_back_0 = nic->cfg.faults.go_back_0};

	if (m->psn_wish != CM_ANY_PSN)
		qp->rx_psn = m->psn_wish;
	p.first_psn = qp->rx_psn;
	qp->peer = peer;
	qp->peer_qpn = m->qpn;
	qp->tx_psn = m->psn;
	qp->mtu = m->mtu;
	qp->tos = m->tos;
	qp->cls = nic->cfg.class_of_dscp[m->tos >> 2];
	qp->udp_sport = qp_udp_sport(nic, qp);
	qp->last_rx_ns = nic->now_ns;
	conn_init(&qp->conn, false, qp->conn.local_id, m->tid, nic->cfg.retry_ns);
	qp->conn.remote_id = m->local_id;
	p.rkey = region_rkey(qp);
	p.va = region_va(qp);
	qp_init_resp(nic, qp, &p, reads);
	nic->stats.connections_accepted++;
}

static void on_req(struct nic *nic, const struct cm_msg *m, const struct roce_addr *from)
{
	int peer = nic->cfg.listen ? peer_find(nic, from->src_ip, true) : -1;
	struct qp *qp;

	if (peer < 0 || !mtu_fits(nic, m->mtu)) {
		reject(nic, from, m,
		       !nic->cfg.listen ? REJ_SERVICE : (peer < 0 ? CM_REJ_NO_QP : CM_REJ_MTU));
		return;
	}
	peer_resolved(nic, &nic->peers[peer], from->src_mac);
	qp = find_accepted(nic, m, peer);
	if (qp != NULL && qp->peer_qpn == m->qpn && qp->tx_psn == m->psn &&
	    qp->resp.epsn == qp->rx_psn) {
		// Our REP was lost, or is under way.
		conn_on_message(&qp->conn, CM_REQ);
		qp_update(nic, qp);
		return;
	}
	if (qp != NULL) {
		// A peer that started again takes its old connection's place.
		qp_free(nic, qp);
		qp = NULL;
	}
	qp = qp_alloc(nic, 0);
	if (qp == NULL) {
		free_stalest(nic);
		qp = qp_alloc(nic, 0);
	}
	if (qp == NULL) {
		reject(nic, from, m, CM_REJ_NO_QP);
		return;
	}
	cm_accept(nic, qp, m, (uint16_t)peer, true);
	qp_update(nic, qp);
}

// REP has what the requester needs.
void cm_establish(struct nic *nic, struct qp *qp, const struct cm_msg *m)
{
	struct req_params p = {
		.op = qp->flow.op,
		.go_back_0 = nic->cfg.faults.go_back_0,
		.fence = nic->cfg.faults.fence && qp->flow.op == REQ_SEND,
		.mtu = qp->mtu,
		.ack_every = qp->flow.ack_every,
		.window = nic->cfg.window,
		.rto_ns = nic->cfg.rto_ns,
		.first_psn = m->psn,
		.dest_qp = m->qpn,
		.rkey = m->rkey,
		.va = m->va,
		.region_bytes = m->region_bytes,
	};

	qp->conn.remote_id = m->local_id;
	qp->peer_qpn = m->qpn;
	qp->tx_psn = m->psn;
	qp->udp_sport = qp_udp_sport(nic, qp);
	qp_init_req(nic, qp, &p);
	if (qp->next_post_ns < nic->now_ns)
		qp->next_post_ns = nic->now_ns;
}

// A message about a connection that exists, or did.
static void on_known(struct nic *nic, const struct cm_msg *m, const struct roce_addr *from)
{
	struct qp *qp = qp_by_number(nic, m->remote_id, qp_local_id);

	if (qp == NULL || nic->peers[qp->peer].pub.ip != from->src_ip ||
	    (m->attr == CM_DREQ && qp->conn.remote_id != m->local_id)) {
		if (m->attr == CM_DREQ)
			send_unbound(nic, from, m, CM_DREP, 0);
		else
			nic->stats.ignored++;
		return;
	}
	qp->last_rx_ns = nic->now_ns;
	if (m->attr == CM_REP && m->region_bytes < qp->flow.msg_bytes) {
		nic->stats.malformed++;
		return;
	}
	if (conn_on_message(&qp->conn, m->attr)) {
		if (m->attr == CM_REP)
			cm_establish(nic, qp, m);
		qp->conn.rej_reason = m->reason;
	}
	qp_update(nic, qp);
}

void nic_on_cm(struct nic *nic, const struct roce_pkt *pkt, const struct roce_addr *from)
{
	struct cm_msg m;

	// A frame without payload says nothing.
	if (pkt->dest_qp != CM_QP || pkt->payload == NULL ||
	    !cm_parse(pkt->payload, pkt->payload_len, &m))
		nic->stats.malformed++;
	else if (m.attr == CM_REQ)
		on_req(nic, &m, from);
	else
		on_known(nic, &m, from);
}
