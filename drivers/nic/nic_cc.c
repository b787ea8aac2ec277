// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"
#include "dataplane/units.h"

enum { PACE_FRAMES = 2, DSCP_SHIFT = 2 };

int nic_cc_init(struct nic *nic)
{
	const struct cc_config *c = &nic->cfg.cc;

	if (cc_config_wrong(c, nic->cfg.speed_bps) != NULL)
		return -EINVAL;
	nic->cc = (struct nic_cc){
		.rp = rp_params_of(c, nic->cfg.speed_bps),
		.np = np_params_of(c),
		.gate = {.every_ns = c->cnp_every_ns},
		.cnp_cls = nic->cfg.class_of_dscp[c->cnp_dscp],
		.due.ring = calloc(nic->cfg.max_qps, sizeof(*nic->cc.due.ring)),
	};
	return nic->cc.due.ring == NULL ? -ENOMEM : 0;
}

void nic_cc_fini(struct nic *nic)
{
	free(nic->cc.due.ring);
}

void qp_cc_init(struct nic *nic, struct qp *qp)
{
	qp->cc = (struct qp_cc){0};
	rp_init(&nic->cc.rp, &qp->cc.rp);
}

// ---- pace

// What a queue pair may send at, by its flow and its reaction point; 0: the line.
static uint64_t rate_of(const struct nic *nic, const struct qp *qp)
{
	uint64_t rc = qp->cc.rp.rc_bps, flow = qp->flow.rate_bps;

	if (rc == nic->cc.rp.line_bps || (flow != 0 && flow < rc))
		return flow;
	return rc;
}

// Credit for two frames at line rate: a queue pair whose turn comes late behind others' frames
// keeps its rate. What it owes is owed in bytes, so it is worth another time at another rate.
void qp_repace(struct nic *nic, struct qp *qp)
{
	uint32_t frame = ROCE_MIN_LEN + ROCE_MAX_EXTRA + qp->mtu + (uint32_t)LINK_OVERHEAD_BYTES;
	uint64_t burst_ns = PACE_FRAMES * 8ull * frame * SECOND_NS / nic->cfg.speed_bps +
			    nic->cfg.facts.shaper_burst_ns;
	uint64_t was = qp->rate.q24_per_byte;

	shaper_update(&qp->rate, &qp->pace, nic->now_ns);
	qp->rate = shaper_of(rate_of(nic, qp), burst_ns);
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

void qp_cc_sent(struct nic *nic, struct qp *qp, uint32_t len)
{
	uint64_t rc = qp->cc.rp.rc_bps, burst = nic->cfg.cc.burst_bytes;
	struct qp_cc *cc = &qp->cc;

	if (cc->burst_left == 0 && qp->rate.q24_per_byte != 0)
		cc->burst_left = burst;
	cc->burst_left -= len < cc->burst_left ? len : cc->burst_left;
	rp_on_sent(&nic->cc.rp, &cc->rp, len);
	repace_if(nic, qp, rc);
}

// ---- time

uint64_t qp_cc_next(const struct nic *nic, const struct qp *qp)
{
	return min_u64(rp_next(&nic->cc.rp, &qp->cc.rp), np_next(&nic->cc.np, &qp->cc.np));
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

	rp_on_timer(&nic->cc.rp, &qp->cc.rp, nic->now_ns);
	repace_if(nic, qp, rc);
	np_on_timer(&nic->cc.np, &qp->cc.np, nic->now_ns);
	queue_cnp(nic, qp);
}

// ---- CNPs

void qp_cc_on_cnp(struct nic *nic, struct qp *qp)
{
	uint64_t rc = qp->cc.rp.rc_bps;

	nic->stats.cnps_received++;
	qp->cc.cnps++;
	if (qp->flow.cc_off || !(nic->cfg.cc.rp_classes & 1u << qp->cls))
		return;
	rp_on_cnp(&nic->cc.rp, &qp->cc.rp, nic->now_ns);
	repace_if(nic, qp, rc);
}

void qp_cc_on_ce(struct nic *nic, struct qp *qp, uint16_t udp_sport)
{
	if (!(nic->cfg.cc.np_classes & 1u << qp->cls))
		return;
	qp->cc.cnp_sport = udp_sport;
	np_on_ce(&nic->cc.np, &qp->cc.np, nic->now_ns);
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

bool nic_cnp_ready(const struct nic *nic)
{
	return nic->cc.due.n != 0 && !(nic->pfc_rx.paused & 1u << nic->cc.cnp_cls) &&
	       np_gate_open(&nic->cc.gate, nic->now_ns);
}

uint64_t nic_cnp_wake(const struct nic *nic)
{
	if (nic->cc.due.n == 0 || np_gate_open(&nic->cc.gate, nic->now_ns))
		return UINT64_MAX;
	return nic->cc.gate.free_ns;
}

struct rte_mbuf *nic_cnp_build(struct nic *nic)
{
	static const uint8_t zeros[CNP_PAYLOAD_LEN];
	const struct qp *qp = &nic->qps[nic->cc.due.ring[nic->cc.due.head]];
	const struct peer *peer = &nic->peers[qp->peer];
	struct roce_pkt pkt = {
		.opcode = ROCE_CNP,
		.dest_qp = qp->peer_qpn,
		.payload = zeros,
		.payload_len = sizeof(zeros),
	};
	struct rte_mbuf *m = nic_alloc(nic, roce_frame_len(&pkt));
	struct roce_addr addr;

	if (m == NULL)
		return NULL;
	addr = nic_addr(nic, peer->pub.ip, peer->mac, qp->cc.cnp_sport,
			(uint8_t)(nic->cfg.cc.cnp_dscp << DSCP_SHIFT | ECN_ECT0));
	roce_build(rte_pktmbuf_mtod(m, uint8_t *), &addr, &pkt);
	return m;
}

void nic_cnp_sent(struct nic *nic)
{
	struct ready *r = &nic->cc.due;
	struct qp *qp = &nic->qps[r->ring[r->head]];

	ready_pop(nic, r);
	qp->cc.queued = false;
	np_gate_pass(&nic->cc.gate, nic->now_ns);
	np_sent(&qp->cc.np, nic->now_ns);
	nic->stats.cnps_sent++;
	queue_cnp(nic, qp);
}
