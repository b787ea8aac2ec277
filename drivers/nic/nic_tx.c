// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"

enum { ROOM_RETRY_NS = US_NS, PACE_FRAMES = 2, DSCP_SHIFT = 2 };

// One call of the driver, being put together.
struct batch {
	struct rte_mbuf *m[NIC_TX_BATCH];
	uint8_t cls[NIC_TX_BATCH];
	uint32_t n, limit;
	int64_t room; // bytes
};

// Why a batch ended.
enum stop {
	STOP_NOTHING, // nothing may go
	STOP_PACED, // the line
	STOP_ROOM, // the driver, or memory
	STOP_BLOCKED, // a queue pair that waits for its pace and holds up all others
	STOP_FULL, // the batch
};

// When to look again after the driver had no room.
static uint64_t room_retry(const struct nic *nic)
{
	return nic->cfg.facts.wakes ? UINT64_MAX : nic->now_ns + ROOM_RETRY_NS;
}

static struct rte_mbuf *alloc(struct nic *nic, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(nic->cfg.pool);

	if (m != NULL && rte_pktmbuf_append(m, (uint16_t)len) != NULL)
		return m;
	rte_pktmbuf_free(m);
	nic->stats.no_mbuf++;
	return NULL;
}

// A data frame, of which no more is stored than the owner wants.
static struct rte_mbuf *alloc_data(struct nic *nic, uint32_t len)
{
	uint32_t snap = nic->cfg.snap;
	struct rte_mbuf *m = alloc(nic, snap != 0 && snap < len ? snap : len);

	if (m != NULL)
		m->pkt_len = len;
	return m;
}

// Where the queue is full the answer is dropped: the peer repeats its request.
static void ctl_push(struct nic *nic, struct rte_mbuf *m)
{
	if (nic->n_ctl == NIC_CTL)
		rte_pktmbuf_free(m);
	else
		nic->ctl[(nic->ctl_head + nic->n_ctl++) % NIC_CTL] = m;
}

// Puts the tag between the addresses and the rest of an untagged frame.
static uint32_t add_tag(uint8_t *out, const uint8_t *frame, uint32_t len,
			const struct frame_tag *tag)
{
	const uint32_t macs = offsetof(struct eth_hdr, type), extra = frame_extra(tag, false);

	memcpy(out, frame, macs);
	memcpy(out + macs + extra, frame + macs, len - macs);
	if (tag->on) {
		be16_put(out + macs, ETYPE_VLAN);
		be16_put(out + macs + 2, tag->vid);
	}
	return len + extra;
}

void nic_send_neighbour(struct nic *nic, struct neighbour_msg *msg, const struct frame_tag *tag)
{
	uint8_t frame[NEIGHBOUR_MSG_MAX];
	struct rte_mbuf *m;
	uint32_t len;

	msg->from_host = true;
	if (msg->family == 4)
		be32_put(msg->sender, (uint32_t)nic->cfg.ip.lo);
	else
		ip_key_put(msg->sender, nic->cfg.ip6);
	memcpy(msg->sender_mac, nic->cfg.facts.mac, sizeof(msg->sender_mac));
	len = neighbour_build(frame, msg);
	m = alloc(nic, len + frame_extra(tag, false));
	if (m == NULL)
		return;
	add_tag(rte_pktmbuf_mtod(m, uint8_t *), frame, len, tag);
	ctl_push(nic, m);
}

bool nic_send_frame(struct nic *nic, const uint8_t *bytes, uint16_t len)
{
	struct rte_mbuf *m = nic->n_ctl == NIC_CTL ? NULL : alloc(nic, len);

	if (m == NULL)
		return false;
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), bytes, len);
	ctl_push(nic, m);
	return true;
}

// From this NIC to a peer; without IP id.
static struct frame_addr addr_to(const struct nic *nic, struct ip_key dst_ip,
				 const uint8_t dst_mac[6], uint16_t sport, uint8_t tos)
{
	struct frame_addr a = {.src_ip = ip_key_is_v4(dst_ip) ? nic->cfg.ip : nic->cfg.ip6,
			       .dst_ip = dst_ip, .sport = sport, .tos = tos};

	memcpy(a.src_mac, nic->cfg.facts.mac, sizeof(a.src_mac));
	memcpy(a.dst_mac, dst_mac, sizeof(a.dst_mac));
	return a;
}

static struct roce_pkt cm_packet(const struct nic *nic)
{
	return (struct roce_pkt){.opcode = UD_SEND_ONLY, .dest_qp = CM_QP, .psn = nic->cm_psn,
				 .qkey = (uint32_t)CM_QKEY, .src_qp = CM_QP,
				 .payload_len = CM_MAD_LEN};
}

void nic_send_cm(struct nic *nic, const struct frame_addr *to, const struct cm_msg *m)
{
	struct roce_pkt pkt = cm_packet(nic);
	struct frame_addr addr =
		addr_to(nic, to->src_ip, to->src_mac, roce_udp_sport(CM_QP, CM_QP), 0);
	uint8_t mad[CM_MAD_LEN];
	struct rte_mbuf *frame;
	uint32_t len;

	addr.tag = (struct frame_tag){.on = to->tag.on, .vid = to->tag.vid};
	len = roce_frame_len(&pkt) + frame_addr_extra(&addr);
	frame = alloc(nic, len);
	addr.ip_id = nic->ip_id++;
	if (frame == NULL)
		return;
	nic->cm_psn = (nic->cm_psn + 1) & BTH_PSN_MASK;
	cm_build(mad, m);
	pkt.payload = mad;
	roce_build(rte_pktmbuf_mtod(frame, uint8_t *), len, &addr, &pkt);
	ctl_push(nic, frame);
}

// ---- PFC

// A driver that sees PFC ahead of the ring is the only one to act on it.
static void poll_pause(struct nic *nic)
{
	struct pfc_times f = {0};
	struct port_pause p;

	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		if (!nic->cfg.ops->pause(nic->cfg.drv, c, &p) || p.seq == nic->pause_seq[c])
			continue;
		// Frames since the last poll were overtaken by this one; count them.
		ctr_add(&nic->pfc_rx.stats[c].frames, p.seq - nic->pause_seq[c] - 1);
		nic->pause_seq[c] = p.seq;
		f.enable |= (uint8_t)(1u << c);
		f.quanta[c] = p.quanta;
	}
	if (f.enable != 0)
		pfc_rx_frame(&nic->pfc, &nic->pfc_rx, &f, nic->now_ns);
}

// Sends a PFC frame now. False: the driver has no room, or the storm guard forbids it: then the NIC
// sends no PFC any more.
static bool send_pfc(struct nic *nic, const struct pfc_times *f)
{
	struct guard *g = &nic->slow.guard;
	bool before = g->tripped;
	struct rte_mbuf *m;

	if (!guard_allows(g, nic->cfg.faults.storm_guard_ns, nic->cfg.speed_bps, f,
			  nic->now_ns)) {
		nic->stats.storm_guard_trips += !before;
		nic->storm.next_ns = UINT64_MAX;
		return false;
	}
	m = alloc(nic, PFC_FRAME_LEN);
	if (m == NULL)
		return false;
	(nic->cfg.whole_link ? pause_frame_build : pfc_frame_build)(
		rte_pktmbuf_mtod(m, uint8_t *), nic->cfg.facts.mac, f);
	if (nic->cfg.ops->tx(nic->cfg.drv, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	nic->stats.tx_frames++;
	pfc_tx_sent(&nic->pfc, &nic->pfc_tx, f, nic->now_ns);
	shaper_charge(&nic->line, &nic->line_state, PFC_FRAME_LEN + LINK_OVERHEAD_BYTES);
	return true;
}

// Sends what the storm has due, ahead of everything. Returns when it needs attention again.
static uint64_t send_storm(struct nic *nic)
{
	struct pfc_times f;

	if (!storm_due(&nic->storm, nic->now_ns, &f))
		return nic->storm.next_ns;
	if (send_pfc(nic, &f))
		nic->stats.storm_missed += storm_sent(&nic->storm, nic->now_ns);
	else if (nic->storm.next_ns != UINT64_MAX)
		return room_retry(nic);
	return nic->storm.next_ns;
}

// Sends the PAUSE or XON of the slow receiver that is due. Returns when to come back: at the
// refresh of the classes that the receiver has paused.
static uint64_t slow_send(struct nic *nic)
{
	struct slow *s = &nic->slow;
	uint64_t next = UINT64_MAX;
	struct pfc_times f;
	uint8_t mine;

	if (nic->cfg.whole_link && s->b.want != 0)
		s->b.want = UINT8_MAX;
	mine = s->b.want | s->paused;
	if (mine == 0 || s->guard.tripped)
		return UINT64_MAX;
	pfc_tx_due(&nic->pfc, &nic->pfc_tx, s->b.want, nic->now_ns, &f);
	f.enable &= mine; // other classes are a storm's
	if (f.enable != 0) {
		if (!send_pfc(nic, &f))
			return s->guard.tripped ? UINT64_MAX : room_retry(nic);
		s->paused = s->b.want;
	}
	for_each_bit (c, s->paused)
		next = min_u64(next, nic->pfc_tx.refresh_ns[c]);
	return next;
}

// ---- congestion control

// The rate of a queue pair is the lower one of its flow's rate and of its reaction point's rate;
// 0 is line rate. The credit covers two frames at line rate, so a queue pair that waits for frames
// of others keeps its rate. A negative credit is bytes sent in advance, stored as time: the new
// rate changes the time, not the bytes.
void qp_repace(struct nic *nic, struct qp *qp)
{
	uint64_t rc = qp->cc.rp.rc_bps, flow = qp->flow.rate_bps;
	bool by_flow = rc == nic->cfg.speed_bps || (flow != 0 && flow < rc);
	bool v6 = !ip_key_is_v4(nic->peers[qp->peer].pub.ip);
	uint32_t frame = ROCE_MIN_LEN + ROCE_MAX_EXTRA + frame_extra(&qp->tag, v6) + qp->mtu +
			 (uint32_t)LINK_OVERHEAD_BYTES;
	uint64_t burst_ns = PACE_FRAMES * 8ull * frame * SECOND_NS / nic->cfg.speed_bps +
			    nic->cfg.facts.shaper_burst_ns;
	uint64_t was = qp->rate.q24_per_byte;

	shaper_update(&qp->rate, &qp->pace, nic->now_ns);
	qp->rate = shaper_of(by_flow ? flow : rc, burst_ns);
	if (qp->pace.credit_q24 < 0 && was != 0)
		qp->pace.credit_q24 = (int64_t)((__int128)qp->pace.credit_q24 *
						(int64_t)qp->rate.q24_per_byte / (int64_t)was);
}

// After anything that may have moved RC.
static void repace_if(struct nic *nic, struct qp *qp, uint64_t rc_before)
{
	if (qp->cc.rp.rc_bps == rc_before)
		return;
	if (qp->cc.rp.rc_bps < rc_before) {
		nic->stats.rate_cuts++;
		if (nic->cfg.hooks.cut != NULL)
			nic->cfg.hooks.cut(nic->cfg.hooks.arg, nic->now_ns);
	}
	qp_repace(nic, qp);
}

static void cc_sent(struct nic *nic, struct qp *qp, uint32_t len)
{
	uint64_t rc = qp->cc.rp.rc_bps;
	struct qp_cc *cc = &qp->cc;

	if (cc->burst_left == 0 && qp->rate.q24_per_byte != 0)
		cc->burst_left = nic->cfg.cc.burst_bytes;
	cc->burst_left -= len < cc->burst_left ? len : cc->burst_left;
	rp_on_sent(&nic->cfg.cc, &cc->rp, len);
	repace_if(nic, qp, rc);
}

// Queues a CNP that is due.
static void queue_cnp(struct nic *nic, struct qp *qp)
{
	if (qp->cc.np.due == 0 || qp->cc.queued)
		return;
	ready_push(nic, &nic->cc.due, qp_index(nic, qp));
	qp->cc.queued = true;
}

void qp_cc_on_timer(struct nic *nic, struct qp *qp)
{
	uint64_t rc = qp->cc.rp.rc_bps;

	rp_on_timer(&nic->cfg.cc, &qp->cc.rp, nic->now_ns);
	repace_if(nic, qp, rc);
	np_on_timer(&nic->cfg.cc, &qp->cc.np, nic->now_ns);
	queue_cnp(nic, qp);
}

void qp_cc_on_cnp(struct nic *nic, struct qp *qp)
{
	uint64_t rc = qp->cc.rp.rc_bps;

	nic->stats.cnps_received++;
	qp->cc.cnps++;
	if (qp->flow.cc_off || !(nic->cfg.cc.rp_classes & 1u << qp->cls))
		return;
	rp_on_cnp(&nic->cfg.cc, &qp->cc.rp, nic->now_ns);
	repace_if(nic, qp, rc);
}

void qp_cc_on_ce(struct nic *nic, struct qp *qp, uint16_t udp_sport)
{
	if (!(nic->cfg.cc.np_classes & 1u << qp->cls))
		return;
	qp->cc.cnp_sport = udp_sport;
	np_on_ce(&nic->cfg.cc, &qp->cc.np, nic->now_ns);
	queue_cnp(nic, qp);
}

void qp_cc_free(struct nic *nic, struct qp *qp)
{
	struct ready *r = &nic->cc.due;
	uint32_t kept = 0;

	if (!qp->cc.queued)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		uint16_t id = r->ring[(r->head + i) % nic->cfg.max_qps];

		if (id != qp_index(nic, qp))
			r->ring[(r->head + kept++) % nic->cfg.max_qps] = id;
	}
	r->n = kept;
	qp->cc.queued = false;
}

static bool cnp_ready(const struct nic *nic)
{
	return nic->cc.due.n != 0 && !(nic->pfc_rx.paused & 1u << nic->cc.cnp_cls) &&
	       np_gate_open(&nic->cc.gate, nic->now_ns);
}

// When the NIC can make the next CNP.
static uint64_t cnp_wake(const struct nic *nic)
{
	if (nic->cc.due.n == 0 || np_gate_open(&nic->cc.gate, nic->now_ns))
		return UINT64_MAX;
	return nic->cc.gate.free_ns;
}

// ---- choosing and building

// Data of a queue pair or connection went into a batch.
static void count_sent(struct nic *nic, struct qp *qp, uint32_t len)
{
	struct nic_class_stats *all = &nic->stats.cls[qp->cls];
	struct nic_class_stats *peer = &nic->peers[qp->peer].pub.cls[qp->cls];

	qp->tx_packets++;
	qp->tx_bytes += len;
	all->tx_packets++;
	all->tx_bytes += len;
	peer->tx_packets++;
	peer->tx_bytes += len;
	shaper_update(&qp->rate, &qp->pace, nic->now_ns);
	shaper_charge(&qp->rate, &qp->pace, len + LINK_OVERHEAD_BYTES);
}

static void put_in_batch(struct nic *nic, uint8_t cls, struct rte_mbuf *m, struct batch *b)
{
	b->cls[b->n] = cls;
	b->m[b->n++] = m;
	b->room -= m->pkt_len;
	shaper_charge(&nic->line, &nic->line_state, m->pkt_len + LINK_OVERHEAD_BYTES);
}

// What a call changed is counted for the NIC, too.
void nic_count_tcp(struct nic *nic, const struct tcp *t, const struct tcp_stats *before)
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

// Bytes of messages up to `until` have left.
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

static enum stop add_tcp(struct nic *nic, struct qp *qp, struct batch *b)
{
	const struct peer *peer = &nic->peers[qp->peer];
	struct tcp_stats before = qp->tcp->stats;
	struct frame_addr a;
	struct tcp_seg s;
	struct rte_mbuf *m;
	uint32_t len;

	if (!tcp_next(qp->tcp, &s))
		return STOP_FULL; // nothing is left to be sent
	a = addr_to(nic, peer->pub.ip, peer->mac, qp->port,
		    s.ect ? qp->tos : (uint8_t)(qp->tos & ~ECN_CE));
	a.tag = qp->tag;
	len = tcp_frame_len(&s, frame_addr_extra(&a));
	if ((int64_t)len > b->room)
		return STOP_ROOM;
	m = s.len == 0 ? alloc(nic, len) : alloc_data(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	a.dport = qp->peer_port;
	a.ip_id = nic->ip_id++;
	tcp_build(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &a, &s,
		  payload_at(&nic->payload, s.offset));
	put_in_batch(nic, qp->cls, m, b);
	tcp_sent(qp->tcp, &s, nic->now_ns);
	note_sent(&qp->req, s.offset + s.len, nic->now_ns);
	nic_count_tcp(nic, qp->tcp, &before);
	if (s.len != 0)
		count_sent(nic, qp, len);
	return STOP_FULL;
}

static void make_headers(const struct nic *nic, struct qp *qp)
{
	const struct peer *peer = &nic->peers[qp->peer];
	struct frame_addr a = addr_to(nic, peer->pub.ip, peer->mac, qp->udp_sport, qp->tos);

	a.tag = qp->tag;
	roce_template_init(&qp->headers, &a, qp->peer_qpn);
}

// A message of connection management. STOP_FULL: it went into the batch.
static enum stop add_cm(struct nic *nic, struct qp *qp, struct batch *b)
{
	const struct peer *peer = &nic->peers[qp->peer];
	struct frame_addr addr =
		addr_to(nic, peer->pub.ip, peer->mac, roce_udp_sport(CM_QP, CM_QP), qp->tos);
	struct roce_pkt pkt = cm_packet(nic);
	uint8_t mad[CM_MAD_LEN];
	struct cm_msg msg;
	struct rte_mbuf *m;
	uint32_t len;

	addr.tag = qp->tag;
	len = roce_frame_len(&pkt) + frame_addr_extra(&addr);
	m = (int64_t)len > b->room ? NULL : alloc(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	cm_fill(nic, qp, &msg);
	cm_build(mad, &msg);
	pkt.payload = mad;
	addr.ip_id = nic->ip_id++;
	roce_build(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &addr, &pkt);
	put_in_batch(nic, qp->cls, m, b);
	nic->cm_psn = (nic->cm_psn + 1) & BTH_PSN_MASK;
	conn_sent(&qp->conn, nic->now_ns);
	return STOP_FULL;
}

// One frame of a queue pair whose turn it is. STOP_FULL: it went into the batch.
static enum stop add_qp(struct nic *nic, struct qp *qp, enum qp_send what, struct batch *b)
{
	struct roce_pkt pkt;
	uint64_t offset = 0;
	struct rte_mbuf *m;
	uint32_t len;

	if (what == QP_CM)
		return add_cm(nic, qp, b);
	if (what == QP_ANSWER)
		resp_peek(&qp->resp, &pkt, &offset);
	else
		req_peek(&qp->req, &pkt, &offset);
	if (!qp->headers.ready)
		make_headers(nic, qp);
	len = roce_frame_len(&pkt) + qp->headers.extra;
	if ((int64_t)len > b->room)
		return STOP_ROOM;
	m = pkt.opcode == RC_ACK ? alloc(nic, len) : alloc_data(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	if (m->data_len == len)
		pkt.payload = payload_at(&nic->payload, offset);
	roce_fill(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &qp->headers, nic->ip_id++, &pkt);
	put_in_batch(nic, qp->cls, m, b);
	if (what == QP_ANSWER)
		resp_sent(&qp->resp, &pkt);
	else
		req_sent(&qp->req, &pkt, nic->now_ns);
	if (pkt.opcode != RC_ACK) {
		count_sent(nic, qp, len);
		cc_sent(nic, qp, len);
	}
	return STOP_FULL;
}

// One queue pair's turn in its class.
static enum stop serve_class(struct nic *nic, unsigned c, struct batch *b)
{
	struct ready *r = &nic->ready[c];
	struct qp *qp = &nic->qps[r->ring[r->head]];
	enum qp_send what = qp_next_send(nic, qp);
	enum stop stop = STOP_FULL;

	if (what == QP_LATER && nic->cfg.cc.leak)
		return STOP_BLOCKED;
	if (what == QP_TCP)
		stop = add_tcp(nic, qp, b);
	else if (what > QP_LATER)
		stop = add_qp(nic, qp, what, b);
	if (stop == STOP_ROOM)
		return stop; // it keeps its turn
	ready_pop(nic, r);
	if (r->n == 0)
		nic->ready_classes &= (uint8_t)~(1u << c);
	qp_unqueued(nic, qp);
	return stop;
}

static bool ctl_ready(const struct nic *nic)
{
	return nic->n_ctl != 0 && !(nic->pfc_rx.paused & 1u);
}

static enum stop add_ctl(struct nic *nic, struct batch *b)
{
	struct rte_mbuf *m = nic->ctl[nic->ctl_head];

	if ((int64_t)m->pkt_len > b->room)
		return STOP_ROOM;
	nic->ctl_head = (nic->ctl_head + 1) % NIC_CTL;
	nic->n_ctl--;
	put_in_batch(nic, 0, m, b);
	return STOP_FULL;
}

// CNPs go ahead of all data, as in hardware.
static enum stop add_cnp(struct nic *nic, struct batch *b)
{
	static const uint8_t zeros[CNP_PAYLOAD_LEN];
	struct ready *r = &nic->cc.due;
	struct qp *qp = &nic->qps[r->ring[r->head]];
	const struct peer *peer = &nic->peers[qp->peer];
	const struct roce_pkt pkt = {.opcode = ROCE_CNP, .dest_qp = qp->peer_qpn,
				     .payload = zeros, .payload_len = sizeof(zeros)};
	struct frame_addr addr =
		addr_to(nic, peer->pub.ip, peer->mac, qp->cc.cnp_sport,
			(uint8_t)(nic->cfg.cc.cnp_dscp << DSCP_SHIFT | ECN_ECT0));
	struct rte_mbuf *m;
	uint32_t len;

	addr.tag = qp->tag;
	addr.tag.pcp = nic->cc.cnp_pcp;
	len = roce_frame_len(&pkt) + frame_addr_extra(&addr);
	m = (int64_t)len > b->room ? NULL : alloc(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	addr.ip_id = nic->ip_id++;
	roce_build(rte_pktmbuf_mtod(m, uint8_t *), len, &addr, &pkt);
	put_in_batch(nic, nic->cc.cnp_cls, m, b);
	ready_pop(nic, r);
	qp->cc.queued = false;
	np_gate_pass(&nic->cc.gate, nic->now_ns);
	np_sent(&qp->cc.np, nic->now_ns);
	nic->stats.cnps_sent++;
	queue_cnp(nic, qp);
	return STOP_FULL;
}

// The next class with something to send that is not paused, after the one served last; -1: none.
static int next_class(const struct nic *nic)
{
	unsigned may = nic->ready_classes & ~(unsigned)nic->pfc_rx.paused;

	if (may == 0)
		return -1;
	may = (may | may << NIC_CLASSES) >> nic->next_class;
	return (__builtin_ctz(may) + (int)nic->next_class) % NIC_CLASSES;
}

static enum stop fill_tx_batch(struct nic *nic, struct batch *b)
{
	while (b->n < b->limit) {
		bool ctl = ctl_ready(nic), cnp = !ctl && cnp_ready(nic);
		int c = next_class(nic);
		enum stop stop;

		if (!ctl && !cnp && c < 0)
			return STOP_NOTHING;
		if (!shaper_ready(&nic->line, &nic->line_state))
			return STOP_PACED;
		if (ctl)
			stop = add_ctl(nic, b);
		else if (cnp)
			stop = add_cnp(nic, b);
		else
			stop = serve_class(nic, (unsigned)c, b);
		if (stop != STOP_FULL)
			return stop;
		if (!ctl && !cnp)
			nic->next_class = ((unsigned)c + 1) % NIC_CLASSES;
	}
	return STOP_FULL;
}

// ---- handing out

// Offers the batch; what the driver refuses is held, its class remembered for a PAUSE to come.
static void hand_over(struct nic *nic, struct batch *b)
{
	uint16_t taken = 0;

	assert(nic->n_held == 0);
	if (b->n != 0)
		taken = nic->cfg.ops->tx(nic->cfg.drv, b->m, (uint16_t)b->n);
	nic->stats.tx_frames += taken;
	for (uint32_t i = taken; i < b->n; i++)
		nic->held[nic->n_held++] = (struct held){.m = b->m[i], .cls = b->cls[i]};
}

// Sends the held frames whose class may go. True when none is left.
static bool flush_held(struct nic *nic)
{
	uint32_t left = 0;
	bool refused = false;

	for (uint32_t i = 0; i < nic->n_held; i++) {
		struct held *h = &nic->held[i];

		if (!refused && !(nic->pfc_rx.paused & 1u << h->cls)) {
			if (nic->cfg.ops->tx(nic->cfg.drv, &h->m, 1) == 1) {
				nic->stats.tx_frames++;
				continue;
			}
			refused = true;
		}
		nic->held[left++] = *h;
	}
	nic->n_held = left;
	return left == 0;
}

static bool pause_matters(const struct nic *nic)
{
	if (nic->n_held != 0 || nic->n_ctl != 0)
		return nic->pfc_rx.paused != 0;
	if (nic->cc.due.n != 0 && nic->pfc_rx.paused & 1u << nic->cc.cnp_cls)
		return true;
	return (nic->ready_classes & nic->pfc_rx.paused) != 0;
}

static uint64_t send_frames(struct nic *nic)
{
	uint16_t most = nic->cfg.facts.tx_burst;
	uint32_t limit = most != 0 && most < NIC_TX_BATCH ? most : NIC_TX_BATCH;

	for (uint32_t n = 0; n < NIC_TX_FRAMES;) {
		struct batch b; // its frames are written before they are read
		enum stop stop;

		// A driver whose room was queried may call when it has room: query only to send.
		if (next_class(nic) < 0 && !ctl_ready(nic) && !cnp_ready(nic))
			return cnp_wake(nic);
		b.n = 0;
		b.limit = limit;
		b.room = nic->cfg.ops->tx_room(nic->cfg.drv);
		if (b.room <= 0)
			return room_retry(nic);
		stop = fill_tx_batch(nic, &b);
		hand_over(nic, &b);
		n += b.n;
		if (nic->n_held != 0 || stop == STOP_ROOM)
			return room_retry(nic);
		if (stop == STOP_PACED)
			return shaper_ready_at(&nic->line_state, nic->now_ns);
		if (stop == STOP_NOTHING || stop == STOP_BLOCKED)
			return cnp_wake(nic);
	}
	return nic->now_ns;
}

uint64_t nic_send_request(struct nic *nic, struct qp *qp)
{
	struct batch b;
	enum stop stop = STOP_ROOM;

	b.n = 0;
	b.room = nic->cfg.ops->tx_room(nic->cfg.drv);
	if (b.room > 0)
		stop = add_qp(nic, qp, QP_REQUEST, &b);
	qp_update(nic, qp);
	if (stop == STOP_ROOM)
		return room_retry(nic);
	nic->next_class = (qp->cls + 1u) % NIC_CLASSES;
	hand_over(nic, &b);
	if (nic->n_held != 0)
		return room_retry(nic);
	return nic->ready_classes == 0 ? UINT64_MAX : send_frames(nic);
}

uint64_t nic_send(struct nic *nic)
{
	uint64_t wake;

	if (nic_send_idle(nic))
		return UINT64_MAX;
	if (nic->cfg.ops->pause != NULL)
		poll_pause(nic);
	if (nic->pfc_rx.paused != 0)
		pfc_rx_expire(&nic->pfc_rx, nic->now_ns);
	shaper_update(&nic->line, &nic->line_state, nic->now_ns);
	wake = nic->now_ns < nic->storm.next_ns ? nic->storm.next_ns : send_storm(nic);
	if ((nic->slow.b.want | nic->slow.paused) != 0)
		wake = min_u64(wake, slow_send(nic));
	if (nic->n_held == 0 || flush_held(nic))
		wake = min_u64(wake, send_frames(nic));
	else
		wake = min_u64(wake, room_retry(nic));
	return pause_matters(nic) ? min_u64(wake, pfc_rx_next(&nic->pfc_rx)) : wake;
}
