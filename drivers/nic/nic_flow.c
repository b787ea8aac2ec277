// SPDX-License-Identifier: Apache-2.0
#include "dataplane/units.h"
#include "drivers/nic/nic_int.h"

#include <errno.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/tcp_build.h"

enum { ALPHA_BITS = 40 }; // alpha in so many bits fits 64 as millionths

const char *const nic_ecn_words[N_NIC_ECNS + 1] = {
	[NIC_ECT0] = "ect0", [NIC_ECT1] = "ect1", [NIC_NOT_ECT] = "not-ect"};

static bool flow_ok(const struct nic *nic, const struct nic_flow *f)
{
	return f->op <= REQ_READ && f->cls < NIC_CLASSES && f->dscp < NIC_DSCPS &&
	       f->ecn < N_NIC_ECNS && mtu_fits(nic, f->mtu) &&
	       f->msg_bytes <= REQ_MAX_MSG_BYTES && f->depth <= REQ_MAX_MSGS &&
	       f->ack_every <= REQ_MAX_ACK_EVERY &&
	       (f->first_psn == NIC_RANDOM_PSN || f->first_psn <= BTH_PSN_MASK);
}

static bool tcp_ok(const struct nic *nic, const struct nic_flow *f)
{
	const struct tcp_params *p = &f->tcp;

	return f->cls < NIC_CLASSES && f->dscp < NIC_DSCPS && f->ecn < N_NIC_ECNS &&
	       f->mtu != 0 && (uint32_t)TCP_HEADERS + f->mtu <= nic->cfg.facts.max_frame &&
	       f->msg_bytes <= REQ_MAX_MSG_BYTES && f->depth <= REQ_MAX_MSGS &&
	       p->cc < N_TCP_CCS && (p->ecn || p->cc != TCP_DCTCP) &&
	       (!p->ecn || f->ecn != NIC_NOT_ECT) && p->window_bytes >= f->mtu &&
	       p->window_bytes <= TCP_MAX_WINDOW && p->initial_segments != 0 &&
	       p->ack_every != 0 && p->g_den != 0 && p->g_num <= p->g_den &&
	       p->rto_min_ns != 0;
}

static uint8_t tos_of(const struct nic_flow *f)
{
	static const uint8_t codepoint[N_NIC_ECNS] = {
		[NIC_ECT0] = ECN_ECT0, [NIC_ECT1] = ECN_ECT1, [NIC_NOT_ECT] = ECN_NOT_ECT};

	return (uint8_t)((f->has_dscp ? f->dscp : f->cls << 3) << 2 | codepoint[f->ecn]);
}

static struct qp *open_flow(struct nic *nic, const struct nic_flow *f, int peer)
{
	struct qp *qp = peer < 0 ? NULL : qp_alloc(nic, f->qpn);

	if (qp == NULL)
		return NULL;
	qp->peer = (uint16_t)peer;
	qp->flow = *f;
	if (f->depth == 0)
		qp->flow.depth = REQ_MAX_MSGS;
	qp->cls = f->cls;
	qp->tos = tos_of(f);
	qp->mtu = f->mtu;
	qp->next_post_ns = f->start_ns;
	qp_set_rate(nic, qp, f->rate_bps);
	conn_init(&qp->conn, true, qp->conn.local_id, qp->conn.tid, nic->cfg.retry_ns);
	if (!qp_message_room(qp)) {
		qp_free(nic, qp);
		return NULL;
	}
	return qp;
}

int nic_flow_add(struct nic *nic, const struct nic_flow *f, uint32_t *id)
{
	struct qp *qp;
	int peer;

	// Connection management has codes for five of them.
	if (f->is_tcp || !flow_ok(nic, f) || cm_mtu_code(f->mtu) == 0)
		return -EINVAL;
	peer = peer_find(nic, f->dst_ip, true);
	qp = open_flow(nic, f, peer);
	if (qp == NULL)
		return -ENOSPC;
	if (nic->peers[peer].resolved) {
		conn_start(&qp->conn);
	} else {
		nic->peers[peer].ask_ns = 0;
		nic->arp_next_ns = 0;
	}
	qp_update(nic, qp);
	*id = qp_index(nic, qp);
	return 0;
}

// ---- connections that no wire sees

int nic_peer_set(struct nic *nic, uint32_t ip, const uint8_t mac[6])
{
	int peer = peer_find(nic, ip, true);

	if (peer < 0)
		return -ENOSPC;
	peer_resolved(nic, &nic->peers[peer], mac);
	return 0;
}

static int known_peer(struct nic *nic, uint32_t ip)
{
	int peer = peer_find(nic, ip, false);

	return peer >= 0 && nic->peers[peer].resolved ? peer : -1;
}

// REQ, REP and RTU, handed over instead of sent.
static void shake_hands(struct nic *nic, struct qp *qp, struct nic *far, struct qp *to)
{
	struct cm_msg m;

	conn_start(&qp->conn);
	cm_fill(nic, qp, &m);
	cm_accept(far, to, &m, (uint16_t)known_peer(far, nic->cfg.ip), qp->flow.op == REQ_READ);
	cm_fill(far, to, &m);
	conn_on_message(&qp->conn, CM_REP);
	cm_establish(nic, qp, &m);
	qp->conn.due = 0;
	conn_on_message(&to->conn, CM_RTU);
	qp->far = far;
	qp->far_index = qp_index(far, to);
	to->far = nic;
	to->far_index = qp_index(nic, qp);
	to->flow.cc_off = qp->flow.cc_off; // READ responses are its
}

static bool fits_both(const struct nic *nic, const struct nic *responder, const struct nic_flow *f)
{
	if (f->is_tcp)
		return tcp_ok(nic, f) && tcp_ok(responder, f);
	return flow_ok(nic, f) && mtu_fits(responder, f->mtu);
}

int nic_connect(struct nic *nic, const struct nic_flow *f, struct nic *responder, uint32_t *id)
{
	int peer = known_peer(nic, f->dst_ip);
	struct qp *qp, *to;

	if (!fits_both(nic, responder, f) || f->dst_ip != responder->cfg.ip ||
	    peer < 0 || known_peer(responder, nic->cfg.ip) < 0)
		return -EINVAL;
	qp = open_flow(nic, f, peer);
	if (qp == NULL)
		return -ENOSPC;
	to = qp_alloc(responder, f->peer_qpn);
	if (to == NULL) {
		qp_free(nic, qp);
		return -ENOSPC;
	}
	if (f->is_tcp && !nic_tcp_join(nic, qp, responder, to)) {
		qp_free(nic, qp);
		qp_free(responder, to);
		return -ENOSPC;
	}
	if (!f->is_tcp)
		shake_hands(nic, qp, responder, to);
	qp->fresh = true;
	timers_set(&nic->timers, qp_index(nic, qp), nic->now_ns);
	*id = qp_index(nic, qp);
	return 0;
}

// Both ends at once. Frames under way find nobody.
static void close_silently(struct nic *nic, struct qp *qp)
{
	struct qp *to = &qp->far->qps[qp->far_index];

	if (to->far == nic && to->far_index == qp_index(nic, qp) && to->conn.state != CONN_FREE)
		qp_free(qp->far, to);
	qp->conn.state = CONN_CLOSED;
}

int nic_post(struct nic *nic, uint32_t id, uint32_t n_bytes, uint64_t tag)
{
	struct qp *qp = &nic->qps[id];

	if (!qp->flow.manual || n_bytes > REQ_MAX_MSG_BYTES)
		return -EINVAL;
	if (qp->conn.state != CONN_UP || qp->stopped || qp->req.failed ||
	    req_outstanding(&qp->req) >= qp->flow.depth || !qp_message_room(qp) ||
	    !req_post(&qp->req, n_bytes, tag, nic->now_ns))
		return -EAGAIN;
	qp->fresh = true;
	timers_set(&nic->timers, id, nic->now_ns);
	return 0;
}

// ---- from then on

void nic_flow_stop(struct nic *nic, uint32_t id)
{
	nic->qps[id].stopped = true;
	qp_update(nic, &nic->qps[id]);
}

void nic_flow_close(struct nic *nic, uint32_t id)
{
	struct qp *qp = &nic->qps[id];

	qp->stopped = true;
	if (qp->far != NULL && qp->conn.state == CONN_UP)
		close_silently(nic, qp);
	else
		conn_close(&qp->conn);
	qp_update(nic, qp);
}

void nic_flow_forget(struct nic *nic, uint32_t id)
{
	struct qp *qp = &nic->qps[id];

	if (qp->conn.initiator &&
	    (qp->conn.state == CONN_CLOSED || qp->conn.state == CONN_FAILED))
		qp_free(nic, qp);
}

void nic_flow_set_rate(struct nic *nic, uint32_t id, uint64_t rate_bps)
{
	qp_set_rate(nic, &nic->qps[id], rate_bps);
	qp_update(nic, &nic->qps[id]);
}

static uint32_t ppm_of(uint64_t alpha)
{
	return (uint32_t)((alpha >> (RP_ALPHA_Q - ALPHA_BITS)) * PPM >> ALPHA_BITS);
}

// Of a READ the data, and so the reaction point, is at the far end, where that is known.
static void put_sender(const struct nic *nic, const struct qp *qp, struct nic_flow_status *s)
{
	if (qp->flow.op == REQ_READ && qp->far != NULL && qp->conn.state == CONN_UP) {
		nic = qp->far;
		qp = &nic->qps[qp->far_index];
	}
	s->tx_packets = qp->tx_packets;
	s->tx_bytes = qp->tx_bytes;
	s->cnps = qp->cc.cnps;
	s->alpha_ppm = ppm_of(rp_alpha(&nic->cc.rp, &qp->cc.rp, nic->now_ns));
	if (qp->cc.rp.rc_bps != nic->cc.rp.line_bps)
		s->rate_bps = qp->cc.rp.rc_bps;
}

struct nic_flow_status nic_flow_status(const struct nic *nic, uint32_t id)
{
	static const uint8_t state_of[] = {
		[CONN_FREE] = FLOW_CLOSED,	  [CONN_RESOLVING] = FLOW_CONNECTING,
		[CONN_REQ_SENT] = FLOW_CONNECTING, [CONN_REP_SENT] = FLOW_CONNECTING,
		[CONN_UP] = FLOW_UP,		  [CONN_DREQ_SENT] = FLOW_UP,
		[CONN_CLOSED] = FLOW_CLOSED,	  [CONN_FAILED] = FLOW_REJECTED,
	};
	const struct qp *qp = &nic->qps[id];
	struct nic_flow_status s = {
		.state = state_of[qp->conn.state],
		.resolved = nic->peers[qp->peer].resolved,
		.reason = qp->conn.rej_reason,
		.posted = qp->posted,
		.completed = qp->completed,
		.qpn = qp->qpn,
		.peer_qpn = qp->peer_qpn,
		.acked_bytes = qp->conn.initiator ? req_done_bytes(&qp->req) : 0,
	};

	if (qp->is_tcp)
		nic_tcp_status(qp, &s);
	else
		put_sender(nic, qp, &s);
	if (qp->req.failed) {
		s.state = FLOW_REFUSED;
		s.reason = qp->req.failed_syndrome;
	}
	return s;
}

