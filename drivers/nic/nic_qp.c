// SPDX-License-Identifier: Apache-2.0
// Queue pairs: slots and numbers, and the ones that had a slot before, so that a late notification
// differs from a wrong one; connection management; TCP connections as far as they are queue pairs;
// and the flows of the owner.
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"

enum { SPORT_FIRST = 0xc000, SPORT_MASK = 0x3fff };
enum { PORT_FIRST = 0x8000, PORT_RANDOM_SHIFT = 12, PORT_RANDOM = 7 }; // of TCP
static_assert(NIC_MAX_QPS == 1 << PORT_RANDOM_SHIFT, "a port holds the number of a slot");

// A random number whose low bits are the queue pair's index, at least 2: 0 and 1 are management's.
static uint32_t number_for(struct nic *nic, uint32_t index, uint32_t mask)
{
	uint32_t n;

	do
		n = ((rng_next(&nic->rng) & ~nic->qp_mask) | index) & mask;
	while (n < 2);
	return n;
}

// Takes a free slot: that of the number, or any where the number is 0. -1: there is none.
static int take_slot(struct nic *nic, uint32_t qpn)
{
	uint16_t *free_qps = nic->free_qps;
	uint32_t i = nic->n_free_qps;

	if (qpn == 0 && i == 0)
		return nic->n_used_qps == nic->cfg.max_qps ? -1 : (int)nic->n_used_qps++;
	if (qpn == 0)
		return free_qps[--nic->n_free_qps];
	for (i = 0; i < nic->n_free_qps && free_qps[i] != (qpn & nic->qp_mask);)
		i++;
	if (i == nic->n_free_qps)
		return -1;
	memmove(&free_qps[i], &free_qps[i + 1], (--nic->n_free_qps - i) * sizeof(*free_qps));
	return (int)(qpn & nic->qp_mask);
}

bool nic_is_full(const struct nic *nic)
{
	return nic->n_free_qps == 0 && nic->n_used_qps == nic->cfg.max_qps;
}

static struct qp_life life_of(const struct qp *qp)
{
	return (struct qp_life){qp->qpn, qp->peer_qpn, qp->peer, qp->udp_sport};
}

// qpn 0: any.
static struct qp *qp_alloc(struct nic *nic, uint32_t qpn)
{
	int slot = take_slot(nic, qpn);
	uint32_t i = (uint32_t)slot;
	struct qp *qp;

	if (slot < 0)
		return NULL;
	qp = &nic->qps[i];
	*qp = (struct qp){
		.qpn = qpn != 0 ? qpn : number_for(nic, i, BTH_PSN_MASK),
		.before = qp->peer_qpn != 0 ? life_of(qp) : qp->before,
		.msgs = qp->msgs,
		.n_msgs = qp->n_msgs,
		.reads = qp->reads,
		.window = qp->window,
		.again = qp->again,
		.tcp = qp->tcp,
	};
	qp->rx_psn = rng_next(&nic->rng) & BTH_PSN_MASK;
	qp->conn.local_id = number_for(nic, i, UINT32_MAX);
	qp->conn.tid = rng_next64(&nic->rng);
	rp_init(&nic->cfg.cc, &qp->cc.rp);
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

static uint16_t udp_sport_of(struct nic *nic, const struct qp *qp)
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

// ---- requester and responder of a queue pair

bool qp_message_room(struct qp *qp)
{
	uint32_t n = qp->n_msgs == 0 ? NIC_FIRST_MSGS : qp->n_msgs * 2;
	struct req_msg *msgs;

	if (qp->n_msgs != 0 && req_outstanding(&qp->req) < qp->n_msgs)
		return true;
	msgs = n > REQ_MAX_MSGS ? NULL : calloc(n, sizeof(*msgs));
	if (msgs == NULL)
		return false;
	if (qp->n_msgs != 0)
		req_move(&qp->req, msgs, n);
	free(qp->msgs);
	qp->msgs = msgs;
	qp->n_msgs = n;
	return true;
}

static bool wants_selective(const struct nic *nic, const struct qp *qp)
{
	return nic->cfg.selective && qp->again != NULL;
}

static void init_req(struct nic *nic, struct qp *qp, const struct req_params *p, bool selective)
{
	const struct req_memory m = {.msgs = qp->msgs, .n_msgs = qp->n_msgs,
				     .again = selective ? qp->again : NULL,
				     .window = selective && qp->flow.op == REQ_READ ? qp->window
										    : NULL,
				     .stats = &nic->req_stats};

	req_init(&qp->req, p, &m);
}

// extra: of frame_extra.
static bool mtu_fits(const struct nic *nic, uint16_t mtu, uint32_t extra)
{
	return mtu != 0 && ROCE_MIN_LEN + 16u + extra + mtu <= nic->cfg.facts.max_frame;
}

// ---- connection management

// The one memory region of a responder. There is no memory behind it: what is written is
// compared with the stream and dropped, what is read is the stream.
static const uint64_t region_bytes = 1ull << 40;

// When all queue pairs are in use, a new connection replaces a responder that received nothing for
// this long.
static const uint64_t stale_ns = 10ull * SECOND_NS;

enum { REJ_SERVICE = 8, ID_MIX = (int)0x9e3779b1 };

// Key and address are functions of the queue pair, so a repeated REP has the same.
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
		.selective = qp->conn.initiator ? wants_selective(nic, qp)
						: qp->resp.m.window != NULL,
		.psn_wish = qp->flow.first_psn != NIC_RANDOM_PSN ? qp->flow.first_psn : CM_ANY_PSN,
		.mtu = qp->mtu,
		.tos = qp->tos,
		.src_ip = ip_key_is_v4(nic->peers[qp->peer].pub.ip) ? nic->cfg.ip : nic->cfg.ip6,
		.dst_ip = nic->peers[qp->peer].pub.ip,
		.rkey = region_rkey(qp),
		.va = region_va(qp),
		.region_bytes = region_bytes,
	};
}

static void answer_cm(struct nic *nic, const struct frame_addr *from, const struct cm_msg *to,
		      uint16_t attr, uint16_t reason)
{
	struct cm_msg m = {.attr = attr, .tid = to->tid, .local_id = to->remote_id,
			   .remote_id = to->local_id, .reason = reason};

	nic->stats.connections_rejected += attr == CM_REJ;
	nic_send_cm(nic, from, &m);
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

// Makes the responder of a new queue pair, which has its tag, from a REQ.
static void accept_req(struct nic *nic, struct qp *qp, const struct cm_msg *m,
		       uint16_t peer, bool reads)
{
	struct resp_params p = {.mtu = m->mtu, .dest_qp = m->qpn, .region_bytes = region_bytes,
				.go_back_0 = nic->cfg.faults.go_back_0};
	struct resp_memory lent = {.stats = &nic->resp_stats};

	if (m->psn_wish != CM_ANY_PSN)
		qp->rx_psn = m->psn_wish;
	p.first_psn = qp->rx_psn;
	qp->peer = peer;
	qp->peer_qpn = m->qpn;
	qp->tx_psn = m->psn;
	qp->mtu = m->mtu;
	qp->tos = m->tos;
	qp->cls = nic_class_of(nic, &qp->tag, m->tos >> 2);
	qp->udp_sport = udp_sport_of(nic, qp);
	qp->last_rx_ns = nic->now_ns;
	conn_init(&qp->conn, false, qp->conn.local_id, m->tid, nic->cfg.retry_ns);
	qp->conn.remote_id = m->local_id;
	p.rkey = region_rkey(qp);
	p.va = region_va(qp);
	if (reads && qp->reads == NULL)
		qp->reads = calloc(RESP_MAX_READS, sizeof(*qp->reads));
	if (nic->cfg.selective && m->selective && qp->window == NULL)
		qp->window = calloc(1, sizeof(*qp->window));
	lent.window = nic->cfg.selective && m->selective ? qp->window : NULL;
	lent.reads = qp->reads;
	lent.max_reads = qp->reads == NULL ? 0 : RESP_MAX_READS;
	resp_init(&qp->resp, &p, &lent);
	nic->stats.connections_accepted++;
}

static void on_req(struct nic *nic, const struct cm_msg *m, const struct frame_addr *from)
{
	int peer = nic->cfg.listen ? peer_find(nic, from->src_ip, true) : -1;
	struct qp *qp;

	if (peer < 0 || !mtu_fits(nic, m->mtu, frame_addr_extra(from))) {
		answer_cm(nic, from, m, CM_REJ,
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
	// A peer that started again takes its old connection's place.
	if (qp != NULL)
		qp_free(nic, qp);
	qp = qp_alloc(nic, 0);
	if (qp == NULL) {
		free_stalest(nic);
		qp = qp_alloc(nic, 0);
	}
	if (qp == NULL) {
		answer_cm(nic, from, m, CM_REJ, CM_REJ_NO_QP);
		return;
	}
	qp->tag = from->tag;
	accept_req(nic, qp, m, (uint16_t)peer, true);
	qp_update(nic, qp);
}

// Makes the requester of the initiator's queue pair from a REP.
static void take_rep(struct nic *nic, struct qp *qp, const struct cm_msg *m)
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
	qp->udp_sport = udp_sport_of(nic, qp);
	init_req(nic, qp, &p, m->selective && wants_selective(nic, qp));
	if (qp->next_post_ns < nic->now_ns)
		qp->next_post_ns = nic->now_ns;
}

// A message about a connection that exists, or did.
static void on_known(struct nic *nic, const struct cm_msg *m, const struct frame_addr *from)
{
	struct qp *qp = qp_at(nic, m->remote_id);

	if (qp == NULL || qp->conn.local_id != m->remote_id ||
	    !ip_key_same(nic->peers[qp->peer].pub.ip, from->src_ip) ||
	    frame_tag_vid(&qp->tag) != frame_tag_vid(&from->tag) ||
	    (m->attr == CM_DREQ && qp->conn.remote_id != m->local_id)) {
		if (m->attr == CM_DREQ)
			answer_cm(nic, from, m, CM_DREP, 0);
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
			take_rep(nic, qp, m);
		qp->conn.rej_reason = m->reason;
	}
	qp_update(nic, qp);
}

void nic_on_cm(struct nic *nic, const struct roce_pkt *pkt, const struct frame_addr *from)
{
	struct cm_msg m;

	if (!nic->cfg.any_vlan && frame_tag_vid(&from->tag) != frame_tag_vid(&nic->cfg.tag)) {
		nic->stats.ignored++;
		return;
	}
	// A frame without payload has no message.
	if (pkt->dest_qp != CM_QP || pkt->payload == NULL ||
	    !cm_parse(pkt->payload, pkt->payload_len, &m))
		nic->stats.malformed++;
	else if (m.attr == CM_REQ)
		on_req(nic, &m, from);
	else
		on_known(nic, &m, from);
}

// ---- whose numbers they are, and were

static bool is_conn_over(const struct qp *qp)
{
	return qp->conn.state == CONN_FREE || qp->conn.state == CONN_CLOSED ||
	       qp->conn.state == CONN_FAILED;
}

static bool joins(const struct nic *nic, const struct qp_life *l, uint32_t qpn,
		  struct ip_key peer_ip, uint32_t peer_qpn)
{
	return qpn != 0 && l->qpn == qpn && l->peer_qpn == peer_qpn &&
	       ip_key_same(nic->peers[l->peer].pub.ip, peer_ip);
}

enum nic_pair nic_pair_now(const struct nic *nic, uint32_t qpn, struct ip_key peer_ip,
			   uint32_t peer_qpn)
{
	uint32_t i = qpn & nic->qp_mask;
	const struct qp *qp = &nic->qps[i];
	struct qp_life now;

	if (i >= nic->n_used_qps)
		return NIC_PAIR_WRONG;
	now = life_of(qp);
	if (joins(nic, &now, qpn, peer_ip, peer_qpn))
		return is_conn_over(qp) ? NIC_PAIR_LATE : NIC_PAIR_RIGHT;
	// The number is another's now, or it was one of those that are remembered.
	if (qp->qpn == qpn && !is_conn_over(qp))
		return NIC_PAIR_WRONG;
	return joins(nic, &qp->before, qpn, peer_ip, peer_qpn) ? NIC_PAIR_LATE : NIC_PAIR_WRONG;
}

static bool was(const struct nic *nic, const struct qp_life *l, uint32_t qpn,
		const struct frame_addr *from)
{
	return qpn != 0 && l->qpn == qpn && l->udp_sport == from->sport &&
	       ip_key_same(nic->peers[l->peer].pub.ip, from->src_ip);
}

bool nic_cnp_fits(struct nic *nic, const struct roce_pkt *pkt, const struct frame_addr *from)
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

// ---- flows of the owner

enum { ALPHA_BITS = 40 }; // alpha in so many bits fits 64 as millionths

const char *const nic_ecn_words[N_NIC_ECNS + 1] = {
	[NIC_ECT0] = "ect0", [NIC_ECT1] = "ect1", [NIC_NOT_ECT] = "not-ect"};

// The NIC's address of the family of its flow.
static struct ip_key source_of(const struct nic *nic, const struct nic_flow *f)
{
	return ip_key_is_v4(f->dst_ip) ? nic->cfg.ip : nic->cfg.ip6;
}

static bool flow_ok(const struct nic *nic, const struct nic_flow *f)
{
	const struct tcp_params *p = &f->tcp;
	uint32_t extra = frame_extra(&f->tag, !ip_key_is_v4(f->dst_ip));

	if (!frame_tag_ok(&f->tag) || !frame_tag_ok(&f->far_tag) ||
	    ip_key_is_zero(source_of(nic, f)))
		return false;
	if (f->cls >= NIC_CLASSES || f->dscp >= NIC_DSCPS || f->ecn >= N_NIC_ECNS ||
	    f->msg_bytes > REQ_MAX_MSG_BYTES || f->depth > REQ_MAX_MSGS)
		return false;
	if (!f->is_tcp)
		return f->op <= REQ_READ && mtu_fits(nic, f->mtu, extra) &&
		       f->ack_every <= REQ_MAX_ACK_EVERY &&
		       (f->first_psn == NIC_RANDOM_PSN || f->first_psn <= BTH_PSN_MASK);
	return f->mtu != 0 && (uint32_t)TCP_HEADERS + extra + f->mtu <= nic->cfg.facts.max_frame &&
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
	qp->tag = f->tag;
	qp->mtu = f->mtu;
	qp->next_post_ns = f->start_ns;
	qp_repace(nic, qp);
	conn_init(&qp->conn, true, qp->conn.local_id, qp->conn.tid, nic->cfg.retry_ns);
	if (nic->cfg.selective && qp->again == NULL)
		qp->again = calloc(1, sizeof(*qp->again));
	if (nic->cfg.selective && f->op == REQ_READ && qp->window == NULL)
		qp->window = calloc(1, sizeof(*qp->window));
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
	if (nic->peers[peer].resolved && !nic->peers[peer].stale) {
		conn_start(&qp->conn);
	} else {
		nic->peers[peer].request_ns = 0;
		nic->arp_next_ns = 0;
	}
	qp_update(nic, qp);
	*id = qp_index(nic, qp);
	return 0;
}

void nic_peer_ask_again(struct nic *nic, struct ip_key ip)
{
	int peer = peer_find(nic, ip, false);

	if (peer >= 0)
		nic->peers[peer].stale = true;
}

// ---- connections that no wire sees

int nic_peer_set(struct nic *nic, struct ip_key ip, const uint8_t mac[6])
{
	int peer = peer_find(nic, ip, true);

	if (peer < 0)
		return -ENOSPC;
	peer_resolved(nic, &nic->peers[peer], mac);
	return 0;
}

static int known_peer(struct nic *nic, struct ip_key ip)
{
	int peer = peer_find(nic, ip, false);

	return peer >= 0 && nic->peers[peer].resolved ? peer : -1;
}

static bool open_end(struct nic *nic, struct qp *qp, bool active)
{
	const struct req_params bytes = {.mtu = 1, .region_bytes = UINT64_MAX};
	struct tcp_params p = qp->flow.tcp;

	if (qp->tcp == NULL)
		qp->tcp = malloc(sizeof(*qp->tcp));
	if (qp->tcp == NULL)
		return false;
	p.mss = qp->mtu;
	p.stream = !qp->flow.manual;
	qp->is_tcp = true;
	qp->port = (uint16_t)(PORT_FIRST | qp_index(nic, qp) |
			      (rng_next(&nic->rng) & PORT_RANDOM) << PORT_RANDOM_SHIFT);
	tcp_init(qp->tcp, &p, active, rng_next(&nic->rng));
	init_req(nic, qp, &bytes, false);
	conn_init(&qp->conn, active, qp->conn.local_id, qp->conn.tid, nic->cfg.retry_ns);
	qp->conn.state = CONN_UP;
	return true;
}

static bool tcp_join(struct nic *nic, struct qp *qp, struct nic *far, struct qp *to)
{
	to->peer = (uint16_t)known_peer(far, source_of(nic, &qp->flow));
	to->flow = qp->flow;
	to->cls = nic_class_of(far, &to->tag, qp->tos >> 2);
	to->tos = qp->tos;
	to->mtu = qp->mtu;
	to->flow.rate_bps = 0;
	qp_repace(far, to);
	if (!open_end(nic, qp, true) || !open_end(far, to, false))
		return false;
	qp->peer_port = to->port;
	to->peer_port = qp->port;
	qp->peer_qpn = to->qpn;
	to->peer_qpn = qp->qpn;
	return true;
}

// REQ, REP and RTU, handed over instead of sent.
static void handshake(struct nic *nic, struct qp *qp, struct nic *far, struct qp *to)
{
	struct cm_msg m;

	conn_start(&qp->conn);
	cm_fill(nic, qp, &m);
	accept_req(far, to, &m, (uint16_t)known_peer(far, m.src_ip), qp->flow.op == REQ_READ);
	cm_fill(far, to, &m);
	conn_on_message(&qp->conn, CM_REP);
	take_rep(nic, qp, &m);
	qp->conn.due = 0;
	conn_on_message(&to->conn, CM_RTU);
	to->flow.cc_off = qp->flow.cc_off; // READ responses are its
}

int nic_connect(struct nic *nic, const struct nic_flow *f, struct nic *responder, uint32_t *id)
{
	int peer = known_peer(nic, f->dst_ip);
	struct qp *qp, *to;

	if (!flow_ok(nic, f) || !flow_ok(responder, f) || !nic_is_mine(responder, f->dst_ip) ||
	    peer < 0 || known_peer(responder, source_of(nic, f)) < 0)
		return -EINVAL;
	qp = open_flow(nic, f, peer);
	if (qp == NULL)
		return -ENOSPC;
	to = qp_alloc(responder, f->peer_qpn);
	if (to == NULL) {
		qp_free(nic, qp);
		return -ENOSPC;
	}
	to->tag = f->far_tag;
	if (f->is_tcp && !tcp_join(nic, qp, responder, to)) {
		qp_free(nic, qp);
		qp_free(responder, to);
		return -ENOSPC;
	}
	if (!f->is_tcp)
		handshake(nic, qp, responder, to);
	qp->far = responder;
	qp->far_index = qp_index(responder, to);
	to->far = nic;
	to->far_index = qp_index(nic, qp);
	qp->fresh = true;
	timers_set(&nic->timers, qp_index(nic, qp), nic->now_ns);
	*id = qp_index(nic, qp);
	return 0;
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
	struct qp *qp = &nic->qps[id], *to;

	qp->stopped = true;
	if (qp->far != NULL && qp->conn.state == CONN_UP) {
		to = &qp->far->qps[qp->far_index];
		if (to->far == nic && to->far_index == id && to->conn.state != CONN_FREE)
			qp_free(qp->far, to);
		qp->conn.state = CONN_CLOSED;
	} else {
		conn_close(&qp->conn);
	}
	qp_update(nic, qp);
}

void nic_flow_forget(struct nic *nic, uint32_t id)
{
	struct qp *qp = &nic->qps[id];

	if (qp->conn.initiator &&
	    (qp->conn.state == CONN_CLOSED || qp->conn.state == CONN_FAILED))
		qp_free(nic, qp);
	else if (qp->conn.state == CONN_DREQ_SENT)
		qp->forgotten = true;
}

void nic_flow_set_rate(struct nic *nic, uint32_t id, uint64_t rate_bps)
{
	nic->qps[id].flow.rate_bps = rate_bps;
	qp_repace(nic, &nic->qps[id]);
	qp_update(nic, &nic->qps[id]);
}

// Of a READ the data, and so the reaction point, is at the far end, where that is known.
static void put_sender(const struct nic *nic, const struct qp *qp, struct nic_flow_status *s)
{
	const struct tcp *t = qp->tcp;
	uint64_t alpha;

	if (!qp->is_tcp && qp->flow.op == REQ_READ && qp->far != NULL &&
	    qp->conn.state == CONN_UP) {
		nic = qp->far;
		qp = &nic->qps[qp->far_index];
	}
	s->tx_packets = qp->tx_packets;
	s->tx_bytes = qp->tx_bytes;
	if (qp->is_tcp) {
		s->acked_bytes = tcp_acked(t);
		if (t->p.cc == TCP_DCTCP)
			s->alpha_ppm = (uint32_t)((uint64_t)t->alpha * PPM >> TCP_ALPHA_Q);
		s->tcp = (struct nic_tcp_status){
			.cwnd_bytes = t->cwnd, .ssthresh_bytes = t->ssthresh,
			.srtt_ns = t->srtt_ns, .rto_ns = t->rto_ns, .stats = t->stats};
		return;
	}
	s->cnps = qp->cc.cnps;
	alpha = rp_alpha(&nic->cfg.cc, &qp->cc.rp, nic->now_ns);
	s->alpha_ppm = (uint32_t)((alpha >> (RP_ALPHA_Q - ALPHA_BITS)) * PPM >> ALPHA_BITS);
	if (qp->cc.rp.rc_bps != nic->cfg.speed_bps)
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

	put_sender(nic, qp, &s);
	if (qp->req.failed) {
		s.state = NIC_FLOW_REFUSED;
		s.reason = qp->req.failed_syndrome;
	}
	return s;
}
