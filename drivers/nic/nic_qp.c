// SPDX-License-Identifier: Apache-2.0
// Queue pairs: slots and numbers, what is remembered of the one that had a slot before, so that a
// notification that comes late is told from one that is wrong; and the flows of the owner.
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>

#include "dataplane/packet/wire.h"
#include "dataplane/units.h"
#include "drivers/nic/tcp_build.h"

enum { SPORT_FIRST = 0xc000, SPORT_MASK = 0x3fff };

// A random number whose low bits are the queue pair's index, at least 2: 0 and 1 are management's.
static uint32_t number_for(struct nic *nic, uint32_t index, uint32_t mask)
{
	uint32_t n;

	do
		n = ((rng_next(&nic->rng) & ~nic->qp_mask) | index) & mask;
	while (n < 2);
	return n;
}

// Takes the slot of a number from those that are free. False: it is not among them.
static bool take_slot(struct nic *nic, uint32_t qpn, uint32_t *index)
{
	for (uint32_t i = 0; i < nic->n_free_qps; i++) {
		if (nic->free_qps[i] != (qpn & nic->qp_mask))
			continue;
		*index = nic->free_qps[i];
		nic->n_free_qps--;
		for (; i < nic->n_free_qps; i++)
			nic->free_qps[i] = nic->free_qps[i + 1];
		return true;
	}
	return false;
}

static bool any_slot(struct nic *nic, uint32_t *index)
{
	if (nic->n_free_qps != 0)
		*index = nic->free_qps[--nic->n_free_qps];
	else if (nic->n_used_qps != nic->cfg.max_qps)
		*index = nic->n_used_qps++;
	else
		return false;
	return true;
}

static struct qp_life life_of(const struct qp *qp)
{
	return (struct qp_life){qp->qpn, qp->peer_qpn, qp->peer, qp->udp_sport};
}

struct qp *qp_alloc(struct nic *nic, uint32_t qpn)
{
	struct qp *qp;
	uint32_t i;

	if (!(qpn != 0 ? take_slot(nic, qpn, &i) : any_slot(nic, &i)))
		return NULL;
	qp = &nic->qps[i];
	*qp = (struct qp){
		.qpn = qpn != 0 ? qpn : number_for(nic, i, BTH_PSN_MASK),
		.before = qp->peer_qpn != 0 ? life_of(qp) : qp->before,
		.msgs = qp->msgs,
		.n_msgs = qp->n_msgs,
		.reads = qp->reads,
		.tcp = qp->tcp,
	};
	qp->rx_psn = rng_next(&nic->rng) & BTH_PSN_MASK;
	qp->conn.local_id = number_for(nic, i, UINT32_MAX);
	qp->conn.tid = rng_next64(&nic->rng);
	qp_cc_init(nic, qp);
	return qp;
}

// A slot that is still in a ready ring comes free when its turn is over.
static void slot_free(struct nic *nic, const struct qp *qp)
{
	if (!qp->queued)
		nic->free_qps[nic->n_free_qps++] = (uint16_t)qp_index(nic, qp);
}

void qp_free(struct nic *nic, struct qp *qp)
{
	qp->conn.state = CONN_FREE;
	qp_cc_free(nic, qp);
	timers_set(&nic->timers, qp_index(nic, qp), UINT64_MAX);
	slot_free(nic, qp);
}

void qp_unqueued(struct nic *nic, struct qp *qp)
{
	qp->queued = false;
	if (qp->conn.state == CONN_FREE)
		slot_free(nic, qp);
	else
		qp_update(nic, qp);
}

uint16_t qp_udp_sport(struct nic *nic, const struct qp *qp)
{
	switch ((enum nic_sport)nic->cfg.udp_sport) {
	case NIC_SPORT_FIXED:
		return SPORT_FIRST;
	case NIC_SPORT_RANDOM:
		return (uint16_t)(SPORT_FIRST | (rng_next(&nic->rng) & SPORT_MASK));
	default:
		return roce_udp_sport(qp->qpn, qp->peer_qpn);
	}
}

// ---- whose numbers they are, and were

static bool is_over(const struct qp *qp)
{
	return qp->conn.state == CONN_FREE || qp->conn.state == CONN_CLOSED ||
	       qp->conn.state == CONN_FAILED;
}

static bool joins(const struct nic *nic, const struct qp_life *l, uint32_t qpn, uint32_t peer_ip,
		  uint32_t peer_qpn)
{
	return qpn != 0 && l->qpn == qpn && l->peer_qpn == peer_qpn &&
	       nic->peers[l->peer].pub.ip == peer_ip;
}

enum nic_pair nic_pair_now(const struct nic *nic, uint32_t qpn, uint32_t peer_ip, uint32_t peer_qpn)
{
	uint32_t i = qpn & nic->qp_mask;
	const struct qp *qp = &nic->qps[i];
	struct qp_life now;

	if (i >= nic->n_used_qps)
		return NIC_PAIR_WRONG;
	now = life_of(qp);
	if (joins(nic, &now, qpn, peer_ip, peer_qpn))
		return is_over(qp) ? NIC_PAIR_LATE : NIC_PAIR_RIGHT;
	// The number is another's now, or it was one of those that are remembered.
	if (qp->qpn == qpn && !is_over(qp))
		return NIC_PAIR_WRONG;
	return joins(nic, &qp->before, qpn, peer_ip, peer_qpn) ? NIC_PAIR_LATE : NIC_PAIR_WRONG;
}

static bool was(const struct nic *nic, const struct qp_life *l, uint32_t qpn,
		const struct roce_addr *from)
{
	return qpn != 0 && l->qpn == qpn && l->udp_sport == from->udp_sport &&
	       nic->peers[l->peer].pub.ip == from->src_ip;
}

bool nic_cnp_fits(struct nic *nic, const struct roce_pkt *pkt, const struct roce_addr *from)
{
	uint32_t i = pkt->dest_qp & nic->qp_mask;
	const struct qp *qp = &nic->qps[i];
	struct qp_life now;

	if (i < nic->n_used_qps) {
		now = life_of(qp);
		if (was(nic, &now, pkt->dest_qp, from) && qp->conn.state != CONN_FREE)
			return true;
		if (was(nic, &now, pkt->dest_qp, from) ||
		    was(nic, &qp->before, pkt->dest_qp, from)) {
			nic->stats.cnps_late++;
			return false;
		}
	}
	nic->stats.cnps_wrong++;
	return false;
}

// ---- flows: what the owner asks of queue pairs

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
		nic->peers[peer].request_ns = 0;
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
static void handshake(struct nic *nic, struct qp *qp, struct nic *far, struct qp *to)
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
		handshake(nic, qp, responder, to);
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
		[CONN_FREE] = NIC_FLOW_CLOSED,	  [CONN_RESOLVING] = NIC_FLOW_CONNECTING,
		[CONN_REQ_SENT] = NIC_FLOW_CONNECTING, [CONN_REP_SENT] = NIC_FLOW_CONNECTING,
		[CONN_UP] = NIC_FLOW_UP,		  [CONN_DREQ_SENT] = NIC_FLOW_UP,
		[CONN_CLOSED] = NIC_FLOW_CLOSED,	  [CONN_FAILED] = NIC_FLOW_REJECTED,
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
		s.state = NIC_FLOW_REFUSED;
		s.reason = qp->req.failed_syndrome;
	}
	return s;
}
