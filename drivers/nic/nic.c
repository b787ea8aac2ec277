// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/base/compiler.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"

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
	nic_default_classes(c);
}

static bool config_ok(const struct nic_config *c)
{
	return c->ops != NULL && c->pool != NULL && c->speed_bps != 0 && c->max_qps != 0 &&
	       c->max_qps <= NIC_MAX_QPS && c->max_peers != 0 && c->window != 0 &&
	       c->window <= NIC_MAX_WINDOW && c->rto_ns != 0 && c->retry_ns != 0 &&
	       (c->snap == 0 || c->snap >= ROCE_MAX_HEADERS + FRAME_MAX_EXTRA) &&
	       frame_tag_ok(&c->tag) &&
	       cc_config_wrong(&c->cc, c->speed_bps) == NULL;
}

static int alloc_tables(struct nic *nic)
{
	nic->peers = calloc(nic->cfg.max_peers, sizeof(*nic->peers));
	nic->qps = calloc(nic->cfg.max_qps, sizeof(*nic->qps));
	nic->free_qps = calloc(nic->cfg.max_qps, sizeof(*nic->free_qps));
	nic->cc.due.ring = calloc(nic->cfg.max_qps, sizeof(*nic->cc.due.ring));
	if (nic->peers == NULL || nic->qps == NULL || nic->free_qps == NULL ||
	    nic->cc.due.ring == NULL)
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
	int rc, cnp_pcp;

	if (!config_ok(c))
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (nic == NULL)
		return -ENOMEM;
	nic->cfg = *c;
	rc = alloc_tables(nic);
	if (rc == 0)
		rc = nic_set_faults(nic, &c->faults);
	if (rc != 0) {
		nic_destroy(nic);
		return rc;
	}
	nic->cfg.cc.line_bps = c->speed_bps;
	nic->cc.gate.every_ns = c->cc.cnp_every_ns;
	nic->cc.cnp_cls = c->class_of_dscp[c->cc.cnp_dscp];
	cnp_pcp = nic_pcp_of_class(c->class_of_pcp, nic->cc.cnp_cls);
	nic->cc.cnp_pcp = cnp_pcp < 0 ? nic->cc.cnp_cls : (uint8_t)cnp_pcp;
	rng_init(&nic->rng, c->seed);
	while (nic->qp_mask < (uint32_t)c->max_qps - 1)
		nic->qp_mask = nic->qp_mask << 1 | 1;
	nic->cm_psn = rng_next(&nic->rng) & BTH_PSN_MASK;
	nic->arp_next_ns = UINT64_MAX;
	nic->storm.next_ns = UINT64_MAX;
	// A port that takes one frame and calls when the line is free again is the line itself.
	nic->line = shaper_of(c->facts.wakes && c->facts.tx_burst == 1 ? 0 : c->speed_bps,
			      c->facts.shaper_burst_ns);
	pfc_params_init(&nic->pfc, c->speed_bps, UINT16_MAX, 0);
	nic->pfc.lossless = nic->pfc.tx = 0xff;
	nic->pfc.rx = c->ignore_pause ? 0 : nic->pfc.tx;
	payload_table_init(&nic->payload);
	*out = nic;
	return 0;
}

void nic_add_trimmed_dscps(struct nic *nic, uint64_t dscps)
{
	nic->cfg.trimmed_dscps |= dscps;
}

void nic_destroy(struct nic *nic)
{
	if (nic == NULL)
		return;
	for (uint32_t i = 0; i < nic->n_held; i++)
		rte_pktmbuf_free(nic->held[i].m);
	for (uint32_t i = 0; i < nic->n_ctl; i++)
		rte_pktmbuf_free(nic->ctl[(nic->ctl_head + i) % NIC_CTL]);
	for (uint32_t i = 0; i < nic->slow.n; i++)
		rte_pktmbuf_free(nic->slow.ring[(nic->slow.head + i) % nic->slow.size]);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		free(nic->ready[c].ring);
	timers_fini(&nic->timers);
	free(nic->cc.due.ring);
	for (uint32_t i = 0; i < nic->n_used_qps; i++) {
		free(nic->qps[i].msgs);
		free(nic->qps[i].reads);
		free(nic->qps[i].window);
		free(nic->qps[i].again);
		free(nic->qps[i].tcp);
	}
	free(nic->slow.ring);
	free(nic->slow.cache.qpns);
	free(nic->free_qps);
	free(nic->qps);
	free(nic->peers);
	free(nic);
}

// ---- peers

int peer_find(struct nic *nic, struct ip_key ip, bool make)
{
	for (uint32_t i = 0; i < nic->n_peers; i++)
		if (ip_key_same(nic->peers[i].pub.ip, ip))
			return (int)i;
	if (!make || nic->n_peers == nic->cfg.max_peers)
		return -1;
	nic->peers[nic->n_peers] = (struct peer){.pub.ip = ip, .request_ns = UINT64_MAX};
	return (int)nic->n_peers++;
}

void peer_resolved(struct nic *nic, struct peer *peer, const uint8_t mac[6])
{
	bool first = !peer->resolved || peer->stale;
	bool moved = memcmp(peer->mac, mac, sizeof(peer->mac)) != 0;

	memcpy(peer->mac, mac, sizeof(peer->mac));
	peer->resolved = true;
	peer->stale = false;
	peer->request_ns = UINT64_MAX;
	for (uint32_t i = 0; (first || moved) && i < nic->n_used_qps; i++) {
		struct qp *qp = &nic->qps[i];

		if (&nic->peers[qp->peer] != peer)
			continue;
		qp->headers.ready &= !moved;
		if (first && qp->conn.state == CONN_RESOLVING) {
			conn_start(&qp->conn);
			qp_update(nic, qp);
		}
	}
}

static void ask_for(struct nic *nic, const struct peer *p)
{
	struct neighbour_msg m = {.request = true};
	bool v4 = ip_key_is_v4(p->pub.ip);

	m.family = v4 ? 4 : 6;
	if (v4)
		be32_put(m.target, (uint32_t)p->pub.ip.lo);
	else
		ip_key_put(m.target, p->pub.ip);
	nic_send_neighbour(nic, &m, &nic->cfg.tag);
}

// Asks for the addresses that are still missing.
static void arp_poll(struct nic *nic)
{
	if (nic->now_ns < nic->arp_next_ns)
		return;
	nic->arp_next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < nic->n_peers; i++) {
		struct peer *p = &nic->peers[i];

		if (nic->now_ns >= p->request_ns) {
			ask_for(nic, p);
			p->request_ns = nic->now_ns + nic->cfg.retry_ns;
		}
		if (p->request_ns < nic->arp_next_ns)
			nic->arp_next_ns = p->request_ns;
	}
}

// ---- queue pairs

// When the flow may post its next message; UINT64_MAX: never or not by time.
static uint64_t next_post(const struct qp *qp)
{
	const struct nic_flow *f = &qp->flow;

	if (!qp->conn.initiator || f->manual || qp->conn.state != CONN_UP || qp->stopped ||
	    qp->req.failed ||
	    (f->n_messages != 0 && qp->posted == f->n_messages) ||
	    req_outstanding(&qp->req) >= f->depth)
		return UINT64_MAX;
	if (f->interval_ns == 0 && !req_all_sent(&qp->req))
		return UINT64_MAX;
	return qp->next_post_ns;
}

static void count_posted(struct nic *nic, struct qp *qp)
{
	qp->posted++;
	if (nic->stats.messages_posted++ == 0)
		nic->stats.first_post_ns = nic->now_ns;
}

// Returns when it may post again.
static uint64_t post(struct nic *nic, struct qp *qp)
{
	uint64_t next;

	// A connection and messages that are new since the last loop get the time of this one.
	if (qp->fresh && qp->next_post_ns < nic->now_ns && qp->posted == 0)
		qp->next_post_ns = nic->now_ns;
	for (; qp->fresh && qp->flow.manual && qp->stamped != qp->req.tail; qp->stamped++) {
		req_msg_at(&qp->req, qp->stamped)->posted_ns = nic->now_ns;
		count_posted(nic, qp);
	}
	qp->fresh = false;
	while ((next = next_post(qp)) <= nic->now_ns) {
		// A message that is due by the flow's interval has waited since then.
		uint64_t since = qp->flow.interval_ns != 0 ? qp->next_post_ns : nic->now_ns;

		if (!qp_message_room(qp) ||
		    !req_post(&qp->req, qp->flow.msg_bytes, qp->posted, since))
			return UINT64_MAX; // until one is complete
		count_posted(nic, qp);
		if (qp->flow.interval_ns != 0)
			qp->next_post_ns += qp->flow.interval_ns;
	}
	return next;
}

static void complete(struct nic *nic, struct qp *qp)
{
	struct nic_stats *s = &nic->stats;
	struct req_msg m;

	while (req_complete(&qp->req, &m)) {
		struct nic_done d = {
			.flow = qp_index(nic, qp),
			.tag = m.tag,
			.n_bytes = m.n_bytes,
			.posted_ns = m.posted_ns,
			.first_tx_ns = m.first_tx_ns,
			.last_tx_ns = m.last_tx_ns,
			.done_ns = nic->now_ns,
		};

		qp->completed++;
		s->messages_completed++;
		s->bytes_completed += m.n_bytes;
		s->last_complete_ns = nic->now_ns;
		hist_add(&s->completion, nic->now_ns - m.posted_ns);
		hist_add(&s->waiting, m.first_tx_ns - m.posted_ns);
		hist_add(&s->sending, m.last_tx_ns - m.first_tx_ns);
		hist_add(&s->network, nic->now_ns - m.last_tx_ns);
		if (nic->cfg.hooks.done != NULL)
			nic->cfg.hooks.done(nic->cfg.hooks.arg, &d);
	}
}

static uint64_t qp_wake(const struct nic *nic, const struct qp *qp, enum qp_send next)
{
	uint64_t wake = min_u64(qp->conn.deadline_ns, rp_next(&nic->cfg.cc, &qp->cc.rp));

	wake = min_u64(wake, np_next(&nic->cfg.cc, &qp->cc.np));
	if (qp->is_tcp && qp->conn.state == CONN_UP)
		wake = min_u64(wake, tcp_deadline(qp->tcp));
	if (qp->conn.state == CONN_UP && qp->conn.initiator)
		wake = min_u64(wake, req_deadline(&qp->req));
	if (next == QP_LATER) {
		struct shaper_state s = qp->pace;

		shaper_update(&qp->rate, &s, nic->now_ns);
		wake = min_u64(wake, shaper_ready_at(&s, nic->now_ns));
	}
	return wake;
}

void qp_update(struct nic *nic, struct qp *qp)
{
	uint64_t post_ns = UINT64_MAX;
	uint32_t i = qp_index(nic, qp);
	enum qp_send next;

	if (qp->conn.initiator) {
		if (req_head_complete(&qp->req))
			complete(nic, qp);
		post_ns = post(nic, qp);
		if (qp->is_tcp)
			tcp_offer(qp->tcp, qp->req.next_seq, nic->now_ns);
	}
	next = qp_next_send(nic, qp);
	if ((next > QP_LATER || (next == QP_LATER && nic->cfg.cc.leak)) && !qp->queued) {
		ready_push(nic, &nic->ready[qp->cls], i);
		nic->ready_classes |= (uint8_t)(1u << qp->cls);
		qp->queued = true;
	}
	// A responder that has sent the DREP, or that gave up, is gone.
	if (qp->conn.state == CONN_CLOSED && (!qp->conn.initiator || qp->forgotten) &&
	    qp->conn.due == 0)
		qp_free(nic, qp);
	else if (qp->conn.state != CONN_FREE)
		timers_set(&nic->timers, i, min_u64(post_ns, qp_wake(nic, qp, next)));
}

static void run_timers(struct nic *nic)
{
	while (timers_next(&nic->timers) <= nic->now_ns) {
		struct qp *qp = &nic->qps[timers_first(&nic->timers)];
		struct tcp_stats before;

		qp_cc_on_timer(nic, qp);
		conn_on_timer(&qp->conn, nic->now_ns);
		if (qp->conn.state == CONN_UP && qp->conn.initiator)
			req_on_timer(&qp->req, nic->now_ns);
		if (qp->is_tcp && qp->conn.state == CONN_UP) {
			before = qp->tcp->stats;
			tcp_on_timer(qp->tcp, nic->now_ns);
			nic_count_tcp(nic, qp->tcp, &before);
		}
		qp_update(nic, qp);
	}
}

// The usual step of a sender on a wire: the pace of one queue pair is over, no other timer has run
// out, and nothing else is to be sent. Then run_timers and nic_send would only give turns among
// one.
static bool only_paced(const struct nic *nic, const struct qp *qp)
{
	const struct cc_config *cc = &nic->cfg.cc;
	uint64_t now_ns = nic->now_ns;

	return timers_second(&nic->timers) > now_ns && nic_send_idle(nic) &&
	       nic->line.q24_per_byte == 0 && !cc->leak && qp->conn.initiator && !qp->queued &&
	       !qp->fresh && qp->conn.deadline_ns > now_ns && rp_next(cc, &qp->cc.rp) > now_ns &&
	       np_next(cc, &qp->cc.np) > now_ns && qp->cc.np.due == 0 &&
	       req_deadline(&qp->req) > now_ns && !req_head_complete(&qp->req) &&
	       next_post(qp) > now_ns && qp_next_send(nic, qp) == QP_REQUEST;
}

uint64_t nic_step(struct nic *nic, uint64_t now_ns)
{
	uint64_t wake;
	struct qp *first;

	nic->now_ns = now_ns;
	wake = nic_receive(nic) ? now_ns : UINT64_MAX;
	arp_poll(nic);
	first = &nic->qps[timers_first(&nic->timers)];
	if (QUICK_WAYS && timers_next(&nic->timers) <= now_ns && only_paced(nic, first)) {
		wake = min_u64(wake, nic_send_request(nic, first));
	} else {
		run_timers(nic);
		wake = min_u64(wake, nic_send(nic));
	}
	wake = min_u64(wake, nic->arp_next_ns);
	wake = min_u64(wake, rxbuf_due(&nic->slow.b));
	return min_u64(wake, timers_next(&nic->timers));
}

struct nic_memory nic_memory(const struct nic *nic)
{
	return (struct nic_memory){nic, nic->timers.heap, nic->timers.due_ns};
}

void nic_memory_fetch(const struct nic_memory *m)
{
	const struct nic *nic = m->nic;

	__builtin_prefetch(m->heap);
	__builtin_prefetch(m->due_ns);
	__builtin_prefetch(&nic->cfg);
	__builtin_prefetch(&nic->now_ns);
	__builtin_prefetch(&nic->pfc_rx);
	__builtin_prefetch(&nic->storm.next_ns);
	__builtin_prefetch(&nic->ready_classes);
	__builtin_prefetch(&nic->cc);
	__builtin_prefetch(&nic->n_held);
	__builtin_prefetch(&nic->n_ctl);
	__builtin_prefetch(&nic->slow);
	__builtin_prefetch(&nic->slow.ring);
	__builtin_prefetch(&nic->stats);
	__builtin_prefetch(&nic->peers);
}

// ---- storms and numbers

void nic_storm_start(struct nic *nic, const struct storm_params *p)
{
	storm_start(&nic->storm, p);
}

void nic_ignore_pause(struct nic *nic, bool ignore)
{
	nic->cfg.ignore_pause = ignore;
	nic->pfc.rx = ignore ? 0 : nic->pfc.tx;
	pfc_rx_clear(&nic->pfc_rx, nic->pfc.rx, nic->now_ns);
}

void nic_set_pfc(struct nic *nic, uint8_t classes)
{
	nic->pfc.tx = classes;
	nic_ignore_pause(nic, nic->cfg.ignore_pause);
}

void nic_storm_stop(struct nic *nic, uint64_t now_ns)
{
	storm_stop(&nic->storm, now_ns);
}

// A storm that is over may have left a PAUSE that still lasts; a slow receiver takes its own back.
enum nic_pausing nic_pausing(const struct nic *nic, unsigned cls, uint64_t *since_ns)
{
	const struct storm *s = &nic->storm;
	bool stormed = (s->p.classes >> cls & 1) && nic->now_ns >= s->p.start_ns;

	*since_ns = 0;
	if (stormed && (!nic_storm_over(nic) || !(nic->slow.paused >> cls & 1))) {
		*since_ns = s->p.start_ns;
		return NIC_PAUSES_BY_STORM;
	}
	return nic->slow.paused >> cls & 1 ? NIC_PAUSES_SLOWLY : NIC_PAUSES_NOT;
}

bool nic_storm_over(const struct nic *nic)
{
	return nic->storm.next_ns == UINT64_MAX;
}

const struct nic_stats *nic_stats_now(struct nic *nic)
{
	struct nic_stats *s = &nic->stats;
	const struct req_stats *req = &nic->req_stats;
	const struct resp_stats *resp = &nic->resp_stats;

	s->acks_sent += resp->acks;
	s->naks_sent += resp->naks;
	s->out_of_sequence += resp->out_of_sequence + req->read_gaps;
	s->duplicates += resp->duplicates + req->duplicates;
	s->refused += resp->refused;
	s->messages_served += resp->messages;
	s->acks_received += req->acks;
	s->naks_received += req->naks;
	s->retransmissions += req->retransmissions;
	s->timeouts += req->timeouts;
	s->ignored += req->ignored;
	nic->req_stats = (struct req_stats){0};
	nic->resp_stats = (struct resp_stats){0};
	return &nic->stats;
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
