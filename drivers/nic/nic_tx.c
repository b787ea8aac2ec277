// SPDX-License-Identifier: Apache-2.0
#include "dataplane/units.h"
#include "drivers/nic/nic_int.h"

#include <assert.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/tcp_build.h"

enum { ROOM_RETRY_NS = US_NS };

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
	STOP_BLOCKED, // a queue pair that waits for its pace, and lets nobody pass
	STOP_FULL, // the batch
};

uint64_t nic_room_retry(const struct nic *nic)
{
	return nic->cfg.facts.wakes ? UINT64_MAX : nic->now_ns + ROOM_RETRY_NS;
}

struct rte_mbuf *nic_alloc(struct nic *nic, uint32_t len)
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
	struct rte_mbuf *m = nic_alloc(nic, snap != 0 && snap < len ? snap : len);

	if (m != NULL)
		m->pkt_len = len;
	return m;
}

void nic_ctl_push(struct nic *nic, struct rte_mbuf *m)
{
	if (nic->n_ctl == NIC_CTL) {
		// Whoever waits for this answer asks again.
		rte_pktmbuf_free(m);
		return;
	}
	nic->ctl[(nic->ctl_head + nic->n_ctl++) % NIC_CTL] = m;
}

void nic_send_arp(struct nic *nic, uint16_t op, uint32_t ip, const uint8_t mac[6])
{
	struct neighbour_msg msg = {.family = 4, .request = op == ARP_REQUEST};
	struct rte_mbuf *m = nic_alloc(nic, NEIGHBOUR_MSG_MIN);

	if (m == NULL)
		return;
	be32_put((struct be32 *)msg.sender, nic->cfg.ip);
	be32_put((struct be32 *)msg.target, ip);
	memcpy(msg.sender_mac, nic->cfg.facts.mac, sizeof(msg.sender_mac));
	memcpy(msg.to_mac, mac, sizeof(msg.to_mac));
	neighbour_build(rte_pktmbuf_mtod(m, uint8_t *), &msg);
	nic_ctl_push(nic, m);
}

struct roce_addr nic_addr(struct nic *nic, uint32_t dst_ip, const uint8_t dst_mac[6],
			  uint16_t udp_sport, uint8_t tos)
{
	struct roce_addr a = {.src_ip = nic->cfg.ip, .dst_ip = dst_ip, .udp_sport = udp_sport,
			      .ip_id = nic->ip_id++, .tos = tos};

	memcpy(a.src_mac, nic->cfg.facts.mac, sizeof(a.src_mac));
	memcpy(a.dst_mac, dst_mac, sizeof(a.dst_mac));
	return a;
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
		// Frames between the last two looks were overtaken by this one; count them.
		ctr_add(&nic->pfc_rx.stats[c].frames, p.seq - nic->pause_seq[c] - 1);
		nic->pause_seq[c] = p.seq;
		f.enable |= (uint8_t)(1u << c);
		f.quanta[c] = p.quanta;
	}
	if (f.enable != 0)
		pfc_rx_frame(&nic->pfc, &nic->pfc_rx, &f, nic->now_ns);
}

// A NIC that has paused for too long says nothing of pauses any more.
static bool guard_forbids(struct nic *nic, const struct pfc_times *f)
{
	struct guard *g = &nic->slow.guard;
	bool before = g->tripped;

	if (guard_allows(g, nic->cfg.faults.storm_guard_ns, nic->cfg.speed_bps, f, nic->now_ns))
		return false;
	nic->stats.storm_guard_trips += !before;
	nic->storm.next_ns = UINT64_MAX;
	return true;
}

bool nic_send_pfc(struct nic *nic, const struct pfc_times *f)
{
	struct rte_mbuf *m;

	if (guard_forbids(nic, f))
		return false;
	m = nic_alloc(nic, PFC_FRAME_LEN);
	if (m == NULL)
		return false;
	pfc_frame_build(rte_pktmbuf_mtod(m, uint8_t *), nic->cfg.facts.mac, f);
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
	if (nic_send_pfc(nic, &f))
		nic->stats.storm_missed += storm_sent(&nic->storm, nic->now_ns);
	else if (nic->storm.next_ns != UINT64_MAX)
		return nic_room_retry(nic);
	return nic->storm.next_ns;
}

// ---- choosing and building

static void count_data(struct nic *nic, const struct qp *qp, uint32_t len)
{
	struct nic_class_stats *peer = &nic->peers[qp->peer].pub.cls[qp->cls];

	nic->stats.cls[qp->cls].tx_packets++;
	nic->stats.cls[qp->cls].tx_bytes += len;
	peer->tx_packets++;
	peer->tx_bytes += len;
}

// Data of a queue pair or connection went into a batch.
static void count_sent(struct nic *nic, struct qp *qp, uint32_t len)
{
	qp->tx_packets++;
	qp->tx_bytes += len;
	count_data(nic, qp, len);
	shaper_update(&qp->rate, &qp->pace, nic->now_ns);
	shaper_charge(&qp->rate, &qp->pace, len + LINK_OVERHEAD_BYTES);
}

static void peek(struct nic *nic, const struct qp *qp, enum qp_send what, struct roce_pkt *pkt,
		 uint64_t *offset)
{
	switch (what) {
	case QP_CM:
		*pkt = (struct roce_pkt){.opcode = UD_SEND_ONLY, .dest_qp = CM_QP,
					 .psn = nic->cm_psn, .qkey = (uint32_t)CM_QKEY,
					 .src_qp = CM_QP, .payload_len = CM_MAD_LEN};
		*offset = 0;
		break;
	case QP_ANSWER:
		resp_peek(&qp->resp, pkt, offset);
		break;
	default:
		req_peek(&qp->req, pkt, offset);
	}
}

static void commit(struct nic *nic, struct qp *qp, enum qp_send what, const struct roce_pkt *pkt,
		   uint32_t len)
{
	switch (what) {
	case QP_CM:
		nic->cm_psn = (nic->cm_psn + 1) & BTH_PSN_MASK;
		conn_sent(&qp->conn, nic->now_ns);
		return;
	case QP_ANSWER:
		resp_sent(&qp->resp, pkt);
		if (pkt->opcode == RC_ACK)
			return;
		break;
	default:
		req_sent(&qp->req, pkt, nic->now_ns);
	}
	count_sent(nic, qp, len);
	qp_cc_sent(nic, qp, len);
}

static void build(struct nic *nic, const struct qp *qp, enum qp_send what, struct roce_pkt *pkt,
		  struct rte_mbuf *m)
{
	const struct peer *peer = &nic->peers[qp->peer];
	struct roce_addr addr = nic_addr(nic, peer->pub.ip, peer->mac,
					 what == QP_CM ? roce_udp_sport(CM_QP, CM_QP)
						       : qp->udp_sport, qp->tos);
	uint8_t mad[CM_MAD_LEN];
	struct cm_msg msg;

	if (what == QP_CM) {
		cm_fill(nic, qp, &msg);
		cm_build(mad, &msg);
		pkt->payload = mad;
	}
	if (m->data_len < m->pkt_len)
		roce_build_headers(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &addr, pkt);
	else
		roce_build(rte_pktmbuf_mtod(m, uint8_t *), &addr, pkt);
}

static void put(struct nic *nic, uint8_t cls, struct rte_mbuf *m, struct batch *b)
{
	b->cls[b->n] = cls;
	b->m[b->n++] = m;
	b->room -= m->pkt_len;
	shaper_charge(&nic->line, &nic->line_state, m->pkt_len + LINK_OVERHEAD_BYTES);
}

static enum stop add_tcp(struct nic *nic, struct qp *qp, struct batch *b)
{
	struct tcp_seg s;
	struct rte_mbuf *m;
	uint32_t len;

	if (!tcp_next(qp->tcp, &s))
		return STOP_FULL; // nothing is left to be sent
	len = tcp_frame_len(&s);
	if ((int64_t)len > b->room)
		return STOP_ROOM;
	m = s.len == 0 ? nic_alloc(nic, len) : alloc_data(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	nic_tcp_build(nic, qp, &s, m);
	put(nic, qp->cls, m, b);
	nic_tcp_sent(nic, qp, &s);
	if (s.len != 0)
		count_sent(nic, qp, len);
	return STOP_FULL;
}

// One frame of a queue pair whose turn it is. STOP_FULL: it went into the batch.
static enum stop add_qp(struct nic *nic, struct qp *qp, enum qp_send what, struct batch *b)
{
	struct roce_pkt pkt;
	uint64_t offset;
	struct rte_mbuf *m;
	uint32_t len;

	peek(nic, qp, what, &pkt, &offset);
	len = roce_frame_len(&pkt);
	if ((int64_t)len > b->room)
		return STOP_ROOM;
	m = what == QP_CM || pkt.opcode == RC_ACK ? nic_alloc(nic, len) : alloc_data(nic, len);
	if (m == NULL)
		return STOP_ROOM;
	pkt.payload = payload_at(&nic->payload, offset);
	build(nic, qp, what, &pkt, m);
	put(nic, qp->cls, m, b);
	commit(nic, qp, what, &pkt, len);
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

static bool add_ctl(struct nic *nic, struct batch *b)
{
	struct rte_mbuf *m = nic->ctl[nic->ctl_head];

	if ((int64_t)m->pkt_len > b->room)
		return false;
	nic->ctl_head = (nic->ctl_head + 1) % NIC_CTL;
	nic->n_ctl--;
	put(nic, 0, m, b);
	return true;
}

// CNPs go ahead of all data, as in hardware.
static bool add_cnp(struct nic *nic, struct batch *b)
{
	struct rte_mbuf *m;

	if (b->room < ROCE_MIN_LEN + CNP_PAYLOAD_LEN)
		return false;
	m = nic_cnp_build(nic);
	if (m == NULL)
		return false;
	put(nic, nic->cc.cnp_cls, m, b);
	nic_cnp_sent(nic);
	return true;
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

// Whether a frame may go as far as class and pace of its kind are concerned.
static bool anything(const struct nic *nic)
{
	return (nic->ready_classes & ~(unsigned)nic->pfc_rx.paused) != 0 ||
	       (nic->n_ctl != 0 && !(nic->pfc_rx.paused & 1u)) || nic_cnp_ready(nic);
}

static enum stop fill(struct nic *nic, struct batch *b)
{
	while (b->n < b->limit) {
		bool ctl = nic->n_ctl != 0 && !(nic->pfc_rx.paused & 1u);
		bool cnp = !ctl && nic_cnp_ready(nic);
		int c = next_class(nic);
		enum stop stop;

		if (!ctl && !cnp && c < 0)
			return STOP_NOTHING;
		if (!shaper_ready(&nic->line, &nic->line_state))
			return STOP_PACED;
		if (ctl)
			stop = add_ctl(nic, b) ? STOP_FULL : STOP_ROOM;
		else if (cnp)
			stop = add_cnp(nic, b) ? STOP_FULL : STOP_ROOM;
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

		// A driver that is asked for room may call when there is: only ask with a purpose.
		if (!anything(nic))
			return nic_cnp_wake(nic);
		b.n = 0;
		b.limit = limit;
		b.room = nic->cfg.ops->tx_room(nic->cfg.drv);
		if (b.room <= 0)
			return nic_room_retry(nic);
		stop = fill(nic, &b);
		hand_over(nic, &b);
		n += b.n;
		if (nic->n_held != 0 || stop == STOP_ROOM)
			return nic_room_retry(nic);
		if (stop == STOP_PACED)
			return shaper_ready_at(&nic->line_state, nic->now_ns);
		if (stop == STOP_NOTHING || stop == STOP_BLOCKED)
			return nic_cnp_wake(nic);
	}
	return nic->now_ns;
}

// Nothing to send, to pause or to be paused for: what most frames leave behind at a receiver.
static bool quiet(const struct nic *nic)
{
	return (nic->n_held | nic->n_ctl | nic->ready_classes | nic->cc.due.n) == 0 &&
	       (nic->pfc_rx.paused | nic->slow.b.want | nic->slow.paused) == 0 &&
	       nic->storm.next_ns == UINT64_MAX && nic->cfg.ops->pause == NULL;
}

uint64_t nic_send(struct nic *nic)
{
	uint64_t wake;

	if (quiet(nic))
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
		wake = min_u64(wake, nic_room_retry(nic));
	return pause_matters(nic) ? min_u64(wake, pfc_rx_next(&nic->pfc_rx)) : wake;
}
