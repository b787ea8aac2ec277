// SPDX-License-Identifier: Apache-2.0
// Queue pairs come and go: slots and numbers, and what is remembered of the one that had a slot
// before, so that a notification that comes late is told from one that is wrong.
#include "drivers/nic/nic_int.h"

#include <stdlib.h>

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
