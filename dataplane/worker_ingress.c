// SPDX-License-Identifier: Apache-2.0
// The ingress half of the loop: receive, parse, MAC control, classify, forward, admit, hand over.
// Runs on the worker that owns the port of arrival, the sole accountant of its priority groups.
#include <string.h>

#include "dataplane/forward/bridge.h"
#include "dataplane/packet/edit.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/switch_impl.h"
#include "dataplane/worker_flood.h"

enum { PREFETCH_AHEAD = 8, SAY_GUARD_NS = 1000000000 };

// A burst on its way through the ingress stages. Each stage runs over all of it before the next: a
// descriptor is then read long after it was written, and the stages' code and tables stay at hand.
struct burst {
	uint32_t packets; // all but MAC control; counted once per burst
	uint64_t bytes;
	uint16_t n_in, n_out; // frames that were received; those of them that know their way
	struct frame frames[BURST]; // in order of arrival
	struct pkt_info pkts[BURST];
};

// ---- control frames

// Frees a frame that was taken in.
static void consume(struct port_rt *p, struct rte_mbuf *m)
{
	ctr_inc(&p->c.consumed);
	rte_pktmbuf_free(m);
}

static void mac_control(struct worker *w, unsigned port, struct rte_mbuf *m)
{
	struct port_rt *p = worker_port(w, port);
	struct pfc_times times;

	switch (mac_ctrl_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len, &times)) {
	case MAC_CTRL_PFC:
		if (p->early_pause)
			pfc_rx_frame_seen(&w->pol->ports[port].pfc, &p->pfc_rx, &times);
		else
			pfc_rx_frame(&w->pol->ports[port].pfc, &p->pfc_rx, &times, w->now_ns);
		if (unlikely(p->stormed != 0) && !p->early_pause)
			watchdog_hear(w, port, &times);
		break;
	case MAC_CTRL_PFC_MISADDRESSED:
		ctr_inc(&p->c.pfc_misaddressed);
		break;
	case MAC_CTRL_PAUSE_8023X:
		ctr_inc(&p->c.pause_8023x);
		break;
	case MAC_CTRL_MALFORMED:
		ctr_inc(&p->c.pfc_malformed);
		break;
	case MAC_CTRL_OTHER:
		ctr_inc(&p->c.other_control);
		break;
	}
	consume(p, m);
}

// Drops a frame that no class was found for.
static void refuse(struct worker *w, struct frame *f, struct burst *b, enum drop_reason why)
{
	b->packets++;
	b->bytes += f->m->pkt_len;
	f->cls = w->pol->ports[f->in_port].classify.default_class;
	worker_drop(w, f->in_port, f, why);
}

// No STP runs here, so a BPDU is the bridge's to forward. A router forwards none.
static bool ends_here(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	switch ((enum reserved_dst)pkt->reserved_dst) {
	case DST_STP: return w->pol->ports[f->in_port].routed;
	case DST_LOOPBACK: return loop_heard(w, f, pkt);
	case DST_LINK_LOCAL:
	case DST_ORDINARY: break;
	}
	return true;
}

// MAC control wherever it is addressed, and link-local groups, end here. MAC control behind a tag
// would be PFC for the neighbour of a port that takes the tag off.
static bool control_frame(struct worker *w, struct frame *f, const struct pkt_info *pkt,
			  struct burst *b)
{
	struct port_rt *p = worker_port(w, f->in_port);
	struct rte_mbuf *m = f->m;

	if (pkt->reserved_dst == DST_ORDINARY && pkt->kind != PKT_MAC_CONTROL)
		return false;
	if (pkt->kind == PKT_MAC_CONTROL) {
		if (pkt->n_tags == 0)
			mac_control(w, f->in_port, m);
		else
			refuse(w, f, b, DROP_TAGGED_CONTROL);
		return true;
	}
	if (!ends_here(w, f, pkt))
		return false;
	b->packets++;
	b->bytes += m->pkt_len;
	ctr_inc(pkt->kind == PKT_LLDP ? &p->c.lldp : &p->c.other_control);
	consume(p, m);
	return true;
}

// ---- forwarding

// The changes a frame needs to leave by its port: tag, PCP and DSCP. Done here while the header is
// in the cache. False: the frame does not fit and was dropped.
static bool prepare(struct worker *w, struct frame *f, unsigned vid, bool tagged,
		    const struct pkt_info *pkt)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];
	const struct classify_params *c = &out->classify;
	const struct guard_rule *turned =
		out->guard.group != 0 ? guard_turn(w, f, pkt->dscp) : NULL;
	uint8_t remark = c->remark_pcp[f->out_cls], dscp = c->remark_dscp[f->out_cls];
	uint8_t pcp = remark != REMARK_NONE ? remark : f->out_cls;
	enum tag_edit edit = bridge_tag_edit(w->pol, f->out_port, vid, tagged, pkt);
	int grown;
	uint8_t *frame;

	if (edit == TAG_POP && !bridge_may_pop(pkt)) {
		worker_drop(w, f->in_port, f, DROP_VLAN_EGRESS);
		return false;
	}
	grown = bridge_apply_tag(f->m, edit, vid, pcp);
	if (grown == INT32_MIN || f->len + grown > (int)out->max_frame) {
		worker_drop(w, f->in_port, f, DROP_EGRESS_MTU);
		return false;
	}
	f->len = (uint16_t)(f->len + grown);
	f->l3_off = (uint8_t)(f->l3_off + grown);
	frame = rte_pktmbuf_mtod(f->m, uint8_t *);
	if ((remark != REMARK_NONE || turned != NULL) && pkt->n_tags != 0 && edit != TAG_POP)
		edit_pcp(frame, pcp);
	if (turned != NULL)
		dscp = guard_turned(w, f, turned);
	if (dscp != REMARK_NONE && f->kind != PKT_OTHER)
		edit_dscp(frame + f->l3_off, f->kind, dscp);
	return true;
}

void ingress_hand_over(struct worker *w, struct frame *frames, unsigned n, uint32_t cells)
{
	unsigned to = w->sw->owner[frames[0].out_port];

	if (to == w->id) {
		egress_enqueue_alike(w, frames, n, cells);
		return;
	}
	// Counted first: a reader must not see them taken and not handed.
	ctr_add(&w->handed, n);
	// Sized for every cell of the buffer, so it cannot be full.
	if (rte_ring_sp_enqueue_bulk_elem(w->out[to], frames, sizeof(frames[0]), n, NULL) == n)
		return;
	ctr_add(&w->taken, n); // frames of its own: none is lost from the balance
	for (unsigned i = 0; i < n; i++) {
		flood_release(w, &frames[i], frames[i].cells);
		worker_drop(w, frames[i].in_port, &frames[i], DROP_NO_MBUF);
	}
}

// Frames that share account, port and queue.
struct alike {
	struct frame *first;
	unsigned n;
	uint32_t cells, least; // in all; of the smallest
};

// As many from f on, out of n, as are alike and have no more than `most` cells.
static struct alike alike(struct frame *f, unsigned n, uint32_t most)
{
	struct alike a = {.first = f, .least = UINT32_MAX};

	for (; a.n < n; a.n++) {
		const struct frame *next = &f[a.n];

		if (next->pg != f->pg || next->out_port != f->out_port || next->queue != f->queue ||
		    a.cells + next->cells > most)
			break;
		a.cells += next->cells;
		if (next->cells < a.least)
			a.least = next->cells;
	}
	return a;
}

static bool admit_alike(struct worker *w, const struct alike *a)
{
	struct port_rt *p = worker_port(w, a->first->in_port);

	if (!account_admit_alike(w, a->first, a->cells, a->least))
		return false;
	if (unlikely(p->stormed != 0))
		watchdog_admitted(p, a->first, a->n);
	ingress_hand_over(w, a->first, a->n, a->cells);
	return true;
}

// Charges the frames that know their way and hands them over: together where they share their fate,
// as they do far from any threshold; up to what their group's min holds where that ends among them;
// else one by one.
static void admit(struct worker *w, struct burst *b)
{
	struct alike a, in_min;

	if (w->flows != NULL)
		flows_went(w, b->frames, b->n_out);
	for (unsigned i = 0; i < b->n_out; i += a.n) {
		a = alike(&b->frames[i], b->n_out - i, UINT32_MAX);
		if (admit_alike(w, &a))
			continue;
		in_min = alike(a.first, a.n, account_min_left(w, a.first));
		if (in_min.n != 0 && admit_alike(w, &in_min)) {
			a.n = in_min.n;
			continue;
		}
		for (unsigned k = 0; k < a.n; k++)
			if (account_admit(w, &a.first[k]))
				ingress_hand_over(w, &a.first[k], 1, a.first[k].cells);
	}
	b->n_out = 0;
}

static inline bool make_ready(struct worker *w, struct frame *f, unsigned vid, bool tagged,
			      const struct pkt_info *pkt)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];

	f->queue = out->classify.class_to_queue[f->cls];
	if (!out->edits && f->len <= out->max_frame)
		return true;
	return prepare(w, f, vid, tagged, pkt);
}

bool ingress_make_ready(struct worker *w, struct frame *f, unsigned vid, bool tagged,
			const struct pkt_info *pkt)
{
	return make_ready(w, f, vid, tagged, pkt);
}

// False: the source address may not be used at the port.
static bool learn(struct worker *w, unsigned port, uint64_t key)
{
	uint8_t lives_at;

	return !fdb_source(&w->sw->fdb, w->fdb_cache, key, (uint8_t)port, w->now_ns, &lives_at) ||
	       learn_report(w, port, key, lives_at);
}

// What the bridge says of a frame: it knows its way out, or has found an end.
static bool forward(struct worker *w, struct burst *b, struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	bool tagged;
	int vid = bridge_ingress_vid(w->pol, f->in_port, eth, pkt, &tagged);
	uint8_t port;

	if (vid < 0) {
		worker_drop(w, f->in_port, f, DROP_VLAN_INGRESS);
		return false;
	}
	if (!learn(w, f->in_port, fdb_key_in_frame(eth + ETH_ALEN_, (uint16_t)vid))) {
		worker_drop(w, f->in_port, f, DROP_STICKY);
		return false;
	}
	port = pkt->group_dst ? FDB_NO_PORT
			      : fdb_lookup(&w->sw->fdb, w->fdb_cache,
					   fdb_key_in_frame(eth, (uint16_t)vid));
	if (port == f->in_port) {
		worker_drop(w, f->in_port, f, DROP_HAIRPIN);
	} else if (port != FDB_NO_PORT && bridge_member(w->pol, port, (unsigned)vid)) {
		f->out_port = port;
		return make_ready(w, f, (unsigned)vid, tagged, pkt);
	} else if (!pkt->group_dst && vlan_bit(w->pol->flood_off, (unsigned)vid)) {
		worker_drop(w, f->in_port, f, DROP_NO_EGRESS);
	} else if (w->pol->ports[f->in_port].no_flood >> f->cls & 1) {
		if (port == FDB_NO_PORT)
			return !flood_refused(w, f, (unsigned)vid, pkt->group_dst) &&
			       ingress_make_ready(w, f, (unsigned)vid, tagged, pkt);
		// Known, at a port that is in the VLAN no more.
		worker_drop(w, f->in_port, f, DROP_NO_EGRESS);
	} else if (storm_control_drops(w, f, pkt)) {
		worker_drop(w, f->in_port, f, DROP_STORM_CONTROL);
	} else {
		admit(w, b); // frames that came before go before
		flood(w, f, (unsigned)vid, tagged, pkt);
	}
	return false;
}

// Those that know their way move together, in order.
static void forward_all(struct worker *w, struct burst *b)
{
	b->n_out = 0;
	for (uint16_t i = 0; i < b->n_in; i++) {
		struct frame *f = &b->frames[i];

		if (!forward(w, b, f, &b->pkts[i]))
			continue;
		if (b->n_out != i)
			b->frames[b->n_out] = *f;
		b->n_out++;
	}
}

// ---- receive

static void hints(struct port_rt *p, const struct classify_params *c, const struct pkt_info *pkt,
		  unsigned cls)
{
	if (pkt->bad_l3)
		ctr_inc(&p->c.bad_l3);
	if (!pkt->roce || !pkt->roce_data)
		return;
	if (!(c->lossless >> cls & 1)) {
		ctr_inc(&p->c.roce_in_lossy_class);
		gauge_set(&p->c.roce_lossy_latest, (uint64_t)pkt->dscp << 8 | cls);
	}
	if (pkt->ecn == ECN_NOT_ECT)
		ctr_inc(&p->c.roce_not_ect);
}

static void tap_in(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	struct frame seen = *f;

	seen.cls = pkt == NULL || pkt->kind == PKT_MAC_CONTROL ||
				   pkt->reserved_dst == DST_LINK_LOCAL
			   ? CLASS_NONE
			   : classify(&w->pol->ports[f->in_port].classify, pkt).cls;
	worker_tap(w, TAP_IN, f->in_port, &seen, 0);
}

static void receive(struct worker *w, unsigned port, struct rte_mbuf *m, struct burst *b)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);
	struct frame *f = &b->frames[b->n_in];
	struct pkt_info *pkt = &b->pkts[b->n_in];
	struct classified k;
	bool good;

	*f = (struct frame){.m = m, .arrival_ns = w->now_ns, .in_port = (uint8_t)port};
	f->len = m->pkt_len > UINT16_MAX ? UINT16_MAX : (uint16_t)m->pkt_len;
	good = m->nb_segs == 1 && m->pkt_len <= pp->max_frame && parse(eth, m->pkt_len, pkt);
	if (unlikely(w->tap != NULL))
		tap_in(w, f, good ? pkt : NULL);
	if (unlikely(!good)) {
		refuse(w, f, b, m->pkt_len < ETH_HLEN_ ? DROP_RX_RUNT : DROP_RX_OVERSIZE);
		return;
	}
	if (control_frame(w, f, pkt, b))
		return;
	b->packets++;
	b->bytes += f->len;
	k = classify(&pp->classify, pkt);
	hints(p, &pp->classify, pkt, k.cls);
	f->cls = f->out_cls = k.cls;
	f->color = k.color;
	f->kind = pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6 ? pkt->kind : PKT_OTHER;
	f->ecn = f->kind == PKT_OTHER ? ECN_NOT_ECT : pkt->ecn;
	f->l3_off = pkt->l3_off;
	f->cells = (uint16_t)cells_of(&w->pol->cell, f->len);
	f->pg = pp->classify.class_to_pg[k.cls];
	ctr_inc(&p->pg_counters[f->pg].rx_packets);
	ctr_add(&p->pg_counters[f->pg].rx_bytes, f->len);
	if (unlikely(!p->up))
		worker_drop(w, port, f, DROP_PORT_DOWN);
	else if (unlikely(p->discarded >> k.cls & 1))
		worker_drop(w, port, f, DROP_WATCHDOG);
	else if (unlikely(!fdb_key_is_station(fdb_key_in_frame(eth + ETH_ALEN_, 0))))
		worker_drop(w, port, f, DROP_BAD_SOURCE);
	else
		b->n_in++;
}

static void guard_begins(struct worker *w, unsigned port, uint32_t depth)
{
	struct port_rt *p = worker_port(w, port);

	p->guard = true;
	p->guards_unsaid++;
	if (p->guard_said_ns != 0 && w->now_ns - p->guard_said_ns < SAY_GUARD_NS)
		return;
	worker_event(w, EVENT_RX_GUARD, port, 0xff, depth, p->guards_unsaid);
	p->guard_said_ns = w->now_ns;
	p->guards_unsaid = 0;
}

// The receive ring is part of the ingress path: a worker that is late pauses its senders.
static void rx_guard(struct worker *w, unsigned port)
{
	const struct policy_port *pp = &w->pol->ports[port];
	struct port_rt *p = worker_port(w, port);
	int32_t depth;

	if (pp->rx_guard_on == 0) {
		p->guard = false; // also what an earlier policy set
		watchdog_excuse_ends(p);
		gauge_set(&p->c.rx_guard, 0);
		return;
	}
	depth = p->ops->rx_depth(p->drv);
	if (depth < 0)
		return;
	gauge_set(&p->c.rx_depth, (uint64_t)depth);
	if (!p->guard && (uint32_t)depth > pp->rx_guard_on)
		guard_begins(w, port, (uint32_t)depth);
	else if (p->guard && (uint32_t)depth < pp->rx_guard_off)
		p->guard = false;
	watchdog_excuse_ends(p);
	gauge_set(&p->c.rx_guard, p->guard);
}

static void receive_burst(struct worker *w, unsigned port, struct rte_mbuf **pkts, uint16_t n)
{
	struct port_rt *p = worker_port(w, port);
	struct burst b;

	b.n_in = 0;
	b.packets = 0;
	b.bytes = 0;
	w->busy = true;
	// Before any of them can end: a reader of the balance must not see an end without its
	// beginning.
	ctr_add(&p->c.received, n);
	atomic_thread_fence(memory_order_release);
	account_claim(w, n);
	for (uint16_t i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + PREFETCH_AHEAD], void *));
		receive(w, port, pkts[i], &b);
	}
	if (w->flows != NULL)
		flows_burst(w, b.frames, b.pkts, b.n_in);
	if (w->pol->ports[port].routed)
		b.n_out = (uint16_t)route_burst(w, b.frames, b.pkts, b.n_in);
	else
		forward_all(w, &b);
	admit(w, &b);
	account_done(w);
	ctr_add(&p->c.rx_packets, b.packets);
	ctr_add(&p->c.rx_bytes, b.bytes);
}

bool ingress_poll(struct worker *w, unsigned port)
{
	struct port_rt *p = worker_port(w, port);
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	// Also while admission is held: what waits in the ring then pauses its senders.
	rx_guard(w, port);
	if (w->hold)
		return false;
	n = p->ops->rx(p->drv, pkts, BURST);
	if (n != 0)
		receive_burst(w, port, pkts, n);
	return n == BURST;
}
