// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"

enum { PACE_FRAMES = 2, NANOS = 1000000000 };

void nic_config_default(struct nic_config *c)
{
	*c = (struct nic_config){
		.max_qps = 64,
		.max_peers = 64,
		.window = 8192,
		.rto_ns = 1000000,
		.retry_ns = 1000000,
		.seed = 1,
	};
}

static bool config_ok(const struct nic_config *c)
{
	return c->ops != NULL && c->pool != NULL && c->speed_bps != 0 && c->max_qps != 0 &&
	       c->max_qps <= NIC_MAX_QPS && c->max_peers != 0 && c->window != 0 &&
	       c->window <= NIC_MAX_WINDOW && c->rto_ns != 0 && c->retry_ns != 0;
}

static int alloc_tables(struct nic *nic)
{
	nic->peers = calloc(nic->cfg.max_peers, sizeof(*nic->peers));
	nic->qps = calloc(nic->cfg.max_qps, sizeof(*nic->qps));
	if (nic->peers == NULL || nic->qps == NULL)
		return -ENOMEM;
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		nic->ready[c].ring = calloc(nic->cfg.max_qps, sizeof(*nic->ready[c].ring));
		if (nic->ready[c].ring == NULL)
			return -ENOMEM;
	}
	return timers_init(&nic->timers, nic->cfg.max_qps);
}

int nic_create(const struct nic_config *c, struct nic **out)
{
	struct nic *nic;

	if (!config_ok(c))
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (nic == NULL)
		return -ENOMEM;
	nic->cfg = *c;
	if (alloc_tables(nic) != 0) {
		nic_destroy(nic);
		return -ENOMEM;
	}
	rng_init(&nic->rng, c->seed);
	while (nic->qp_mask < (uint32_t)c->max_qps - 1)
		nic->qp_mask = nic->qp_mask << 1 | 1;
	nic->cm_psn = rng_next(&nic->rng) & BTH_PSN_MASK;
	nic->arp_next_ns = UINT64_MAX;
	nic->storm.next_ns = UINT64_MAX;
	nic->line = shaper_of(c->speed_bps, c->facts.shaper_burst_ns);
	pfc_params_init(&nic->pfc, c->speed_bps, UINT16_MAX);
	nic->pfc.lossless = nic->pfc.tx = 0xff;
	nic->pfc.rx = c->deaf ? 0 : 0xff;
	payload_table_init(&nic->payload);
	*out = nic;
	return 0;
}

void nic_destroy(struct nic *nic)
{
	if (nic == NULL)
		return;
	for (uint32_t i = 0; i < nic->n_held; i++)
		rte_pktmbuf_free(nic->held[i].m);
	for (uint32_t i = 0; i < nic->n_ctl; i++)
		rte_pktmbuf_free(nic->ctl[(nic->ctl_head + i) % NIC_CTL]);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		free(nic->ready[c].ring);
	timers_fini(&nic->timers);
	free(nic->qps);
	free(nic->peers);
	free(nic);
}

// ---- peers

int peer_find(struct nic *nic, uint32_t ip, bool make)
{
	for (uint32_t i = 0; i < nic->n_peers; i++)
		if (nic->peers[i].pub.ip == ip)
			return (int)i;
	if (!make || nic->n_peers == nic->cfg.max_peers)
		return -1;
	nic->peers[nic->n_peers] = (struct peer){.pub.ip = ip, .ask_ns = UINT64_MAX};
	return (int)nic->n_peers++;
}

void peer_resolved(struct nic *nic, struct peer *peer, const uint8_t mac[6])
{
	bool first = !peer->resolved;

	memcpy(peer->mac, mac, sizeof(peer->mac));
	peer->resolved = true;
	peer->ask_ns = UINT64_MAX;
	for (uint32_t i = 0; first && i < nic->cfg.max_qps; i++) {
		struct qp *qp = &nic->qps[i];

		if (qp->conn.state == CONN_RESOLVING && &nic->peers[qp->peer] == peer) {
			conn_start(&qp->conn);
			qp_update(nic, qp);
		}
	}
}

// Asks for the addresses that are still missing.
static void arp_poll(struct nic *nic)
{
	static const uint8_t unknown[6];

	if (nic->now_ns < nic->arp_next_ns)
		return;
	nic->arp_next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < nic->n_peers; i++) {
		struct peer *p = &nic->peers[i];

		if (nic->now_ns >= p->ask_ns) {
			nic_send_arp(nic, ARP_REQUEST, p->pub.ip, unknown);
			p->ask_ns = nic->now_ns + nic->cfg.retry_ns;
		}
		if (p->ask_ns < nic->arp_next_ns)
			nic->arp_next_ns = p->ask_ns;
	}
}

// ---- queue pairs

uint32_t qp_qpn(const struct qp *qp)
{
	return qp->qpn;
}

uint32_t qp_local_id(const struct qp *qp)
{
	return qp->conn.local_id;
}

struct qp *qp_by_number(struct nic *nic, uint32_t n, uint32_t (*number)(const struct qp *))
{
	uint32_t i = n & nic->qp_mask;

	if (i >= nic->cfg.max_qps || nic->qps[i].conn.state == CONN_FREE ||
	    number(&nic->qps[i]) != n)
		return NULL;
	return &nic->qps[i];
}

// A random number whose low bits are the queue pair's index, at least 2: 0 and 1 are management's.
static uint32_t number_for(struct nic *nic, uint32_t index, uint32_t mask)
{
	uint32_t n;

	do
		n = ((rng_next(&nic->rng) & ~nic->qp_mask) | index) & mask;
	while (n < 2);
	return n;
}

struct qp *qp_alloc(struct nic *nic)
{
	for (uint32_t i = 0; i < nic->cfg.max_qps; i++) {
		struct qp *qp = &nic->qps[i];

		if (qp->conn.state != CONN_FREE || qp->queued)
			continue;
		*qp = (struct qp){.qpn = number_for(nic, i, BTH_PSN_MASK)};
		qp->own_psn = rng_next(&nic->rng) & BTH_PSN_MASK;
		qp->conn.local_id = number_for(nic, i, UINT32_MAX);
		qp->conn.tid = rng_next64(&nic->rng);
		return qp;
	}
	return NULL;
}

static void add_stats(const struct qp *qp, struct nic_stats *s)
{
	s->acks_sent += qp->resp.stats.acks;
	s->naks_sent += qp->resp.stats.naks;
	s->out_of_sequence += qp->resp.stats.out_of_sequence;
	s->duplicates += qp->resp.stats.duplicates;
	s->refused += qp->resp.stats.refused;
	s->messages_served += qp->resp.stats.messages;
	s->acks_received += qp->req.stats.acks;
	s->naks_received += qp->req.stats.naks;
	s->retransmissions += qp->req.stats.retransmissions;
	s->timeouts += qp->req.stats.timeouts;
	s->out_of_sequence += qp->req.stats.read_gaps;
	s->ignored += qp->req.stats.ignored;
}

void qp_free(struct nic *nic, struct qp *qp)
{
	add_stats(qp, &nic->stats);
	qp->req.stats = (struct req_stats){0};
	qp->resp.stats = (struct resp_stats){0};
	qp->conn.state = CONN_FREE;
	timers_set(&nic->timers, qp_index(nic, qp), UINT64_MAX);
}

// Credit for two frames at line rate: a queue pair whose turn comes late behind others' frames
// keeps its rate.
void qp_set_rate(struct nic *nic, struct qp *qp, uint64_t rate_bps)
{
	uint32_t frame = ROCE_MIN_LEN + ROCE_MAX_EXTRA + qp->mtu + (uint32_t)LINK_OVERHEAD_BYTES;
	uint64_t burst_ns = PACE_FRAMES * 8ull * frame * NANOS / nic->cfg.speed_bps +
			    nic->cfg.facts.shaper_burst_ns;

	qp->rate = shaper_of(rate_bps, burst_ns);
	qp->flow.rate_bps = rate_bps;
}

bool mtu_fits(const struct nic *nic, uint16_t mtu)
{
	return cm_mtu_code(mtu) != 0 &&
	       ROCE_MIN_LEN + 16u + mtu <= nic->cfg.facts.max_frame;
}

// When the flow may post its next message; UINT64_MAX: never or not by time.
static uint64_t next_post(const struct qp *qp)
{
	const struct nic_flow *f = &qp->flow;

	if (!qp->conn.initiator || qp->conn.state != CONN_UP || qp->stopped || qp->req.failed ||
	    (f->n_messages != 0 && qp->posted == f->n_messages) ||
	    req_outstanding(&qp->req) >= f->depth)
		return UINT64_MAX;
	if (f->interval_ns == 0 && !req_all_sent(&qp->req))
		return UINT64_MAX;
	return qp->next_post_ns;
}

static void post(struct nic *nic, struct qp *qp)
{
	while (nic->now_ns >= next_post(qp)) {
		// A message that is due by the flow's interval has waited since then.
		uint64_t since = qp->flow.interval_ns != 0 ? qp->next_post_ns : nic->now_ns;

		if (!req_post(&qp->req, qp->flow.msg_bytes, since))
			return;
		qp->posted++;
		if (nic->stats.messages_posted++ == 0)
			nic->stats.first_post_ns = nic->now_ns;
		if (qp->flow.interval_ns != 0)
			qp->next_post_ns += qp->flow.interval_ns;
	}
}

static void complete(struct nic *nic, struct qp *qp)
{
	struct req_msg m;

	while (req_complete(&qp->req, &m)) {
		qp->completed++;
		nic->stats.messages_completed++;
		nic->stats.bytes_completed += m.n_bytes;
		nic->stats.last_complete_ns = nic->now_ns;
		hist_add(&nic->stats.completion, nic->now_ns - m.posted_ns);
	}
}

static bool pace_ready(const struct nic *nic, const struct qp *qp)
{
	struct shaper_state s = qp->pace;

	if (qp->rate.q24_per_byte == 0)
		return true;
	shaper_update(&qp->rate, &s, nic->now_ns);
	return shaper_ready(&qp->rate, &s);
}

enum qp_send qp_next_send(const struct nic *nic, const struct qp *qp)
{
	if (qp->conn.state == CONN_FREE || !nic->peers[qp->peer].resolved)
		return QP_NOTHING;
	if (qp->conn.due != 0)
		return QP_CM;
	if (qp->conn.state != CONN_UP)
		return QP_NOTHING;
	if (!qp->conn.initiator && resp_can_send(&qp->resp)) {
		if (qp->resp.ack_due || qp->resp.nak_due)
			return QP_ANSWER;
		return pace_ready(nic, qp) ? QP_ANSWER : QP_LATER;
	}
	if (qp->conn.initiator && req_can_send(&qp->req))
		return pace_ready(nic, qp) ? QP_REQUEST : QP_LATER;
	return QP_NOTHING;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t qp_wake(const struct nic *nic, const struct qp *qp, enum qp_send next)
{
	uint64_t wake = earlier(qp->conn.deadline_ns, next_post(qp));

	if (qp->conn.state == CONN_UP && qp->conn.initiator)
		wake = earlier(wake, req_deadline(&qp->req));
	if (next == QP_LATER) {
		struct shaper_state s = qp->pace;

		shaper_update(&qp->rate, &s, nic->now_ns);
		wake = earlier(wake, shaper_ready_at(&s, nic->now_ns));
	}
	return wake;
}

void qp_update(struct nic *nic, struct qp *qp)
{
	uint32_t i = qp_index(nic, qp);
	enum qp_send next;

	if (qp->conn.initiator) {
		complete(nic, qp);
		post(nic, qp);
	}
	next = qp_next_send(nic, qp);
	if (next > QP_LATER && !qp->queued) {
		struct ready *r = &nic->ready[qp->cls];

		r->ring[(r->head + r->n++) % nic->cfg.max_qps] = (uint16_t)i;
		qp->queued = true;
	}
	// A responder whose end has been told, or that gave up, is gone.
	if (qp->conn.state == CONN_CLOSED && !qp->conn.initiator && qp->conn.due == 0)
		qp_free(nic, qp);
	else if (qp->conn.state != CONN_FREE)
		timers_set(&nic->timers, i, qp_wake(nic, qp, next));
}

static void run_timers(struct nic *nic)
{
	while (timers_next(&nic->timers) <= nic->now_ns) {
		struct qp *qp = &nic->qps[timers_first(&nic->timers)];

		conn_on_timer(&qp->conn, nic->now_ns);
		if (qp->conn.state == CONN_UP && qp->conn.initiator)
			req_on_timer(&qp->req, nic->now_ns);
		qp_update(nic, qp);
	}
}

uint64_t nic_step(struct nic *nic, uint64_t now_ns)
{
	uint64_t wake;

	nic->now_ns = now_ns;
	if (nic_receive(nic))
		wake = now_ns;
	else
		wake = UINT64_MAX;
	arp_poll(nic);
	run_timers(nic);
	wake = earlier(wake, nic_send(nic));
	wake = earlier(wake, nic->arp_next_ns);
	return earlier(wake, timers_next(&nic->timers));
}

// ---- flows

static bool flow_ok(const struct nic *nic, const struct nic_flow *f)
{
	return f->op <= REQ_READ && f->cls < NIC_CLASSES && mtu_fits(nic, f->mtu) &&
	       f->msg_bytes <= REQ_MAX_MSG_BYTES && f->depth <= REQ_MAX_MSGS &&
	       (f->first_psn == NIC_RANDOM_PSN || f->first_psn <= BTH_PSN_MASK);
}

int nic_flow_add(struct nic *nic, const struct nic_flow *f, uint32_t *id)
{
	struct qp *qp;
	int peer;

	if (!flow_ok(nic, f))
		return -EINVAL;
	peer = peer_find(nic, f->dst_ip, true);
	qp = peer < 0 ? NULL : qp_alloc(nic);
	if (qp == NULL)
		return -ENOSPC;
	qp->peer = (uint16_t)peer;
	qp->flow = *f;
	if (f->depth == 0)
		qp->flow.depth = REQ_MAX_MSGS;
	qp->cls = f->cls;
	qp->tos = (uint8_t)(f->cls << 5 | ECN_ECT0);
	qp->mtu = f->mtu;
	qp->next_post_ns = f->start_ns;
	if (f->first_psn != NIC_RANDOM_PSN)
		qp->own_psn = f->first_psn;
	qp_set_rate(nic, qp, f->rate_bps);
	conn_init(&qp->conn, true, qp->conn.local_id, qp->conn.tid, nic->cfg.retry_ns);
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

void nic_flow_stop(struct nic *nic, uint32_t id)
{
	nic->qps[id].stopped = true;
	qp_update(nic, &nic->qps[id]);
}

void nic_flow_close(struct nic *nic, uint32_t id)
{
	nic->qps[id].stopped = true;
	conn_close(&nic->qps[id].conn);
	qp_update(nic, &nic->qps[id]);
}

void nic_flow_set_rate(struct nic *nic, uint32_t id, uint64_t rate_bps)
{
	qp_set_rate(nic, &nic->qps[id], rate_bps);
	qp_update(nic, &nic->qps[id]);
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
	};

	if (qp->req.failed) {
		s.state = FLOW_REFUSED;
		s.reason = qp->req.failed_syndrome;
	}
	return s;
}

// ---- storms and numbers

void nic_storm_start(struct nic *nic, const struct storm_params *p)
{
	storm_start(&nic->storm, p);
}

void nic_storm_stop(struct nic *nic, uint64_t now_ns)
{
	storm_stop(&nic->storm, now_ns);
}

bool nic_storm_over(const struct nic *nic)
{
	return nic->storm.next_ns == UINT64_MAX;
}

void nic_stats(const struct nic *nic, struct nic_stats *out)
{
	*out = nic->stats;
	for (uint32_t i = 0; i < nic->cfg.max_qps; i++)
		if (nic->qps[i].conn.state != CONN_FREE)
			add_stats(&nic->qps[i], out);
}

const struct pfc_rx_state *nic_pfc_rx(const struct nic *nic)
{
	return &nic->pfc_rx;
}

const struct pfc_tx_state *nic_pfc_tx(const struct nic *nic)
{
	return &nic->pfc_tx;
}

uint32_t nic_n_peers(const struct nic *nic)
{
	return nic->n_peers;
}

const struct nic_peer *nic_peer(const struct nic *nic, uint32_t i)
{
	return &nic->peers[i].pub;
}
