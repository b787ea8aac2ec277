// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pause.h"

#include "dataplane/fate.h"
#include "dataplane/packet/pfc_frame.h"

// ---- why a PAUSE is sent

// A pause that nothing waits for may have run out unnoticed.
static uint8_t paused_classes(const struct port *p, uint64_t at_ns)
{
	uint8_t paused = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (gauge_get(&p->pfc_rx.stats[cls].until_ns) > at_ns)
			paused |= (uint8_t)(1u << cls);
	return paused;
}

static void offer_port(struct pause_cause *c, const struct port *out, unsigned port,
		       unsigned account, const struct frame *at_hand)
{
	uint32_t held[N_QUEUES];

	for (unsigned q = 0; q < N_QUEUES; q++)
		held[q] = atomic_load_explicit(&out->held_cells[account][q], memory_order_relaxed);
	if (at_hand != NULL && at_hand->out_port == port)
		held[at_hand->queue] += at_hand->cells;
	cause_offer(c, port, held);
}

static void name_class(const struct weir_switch *sw, const struct policy *pol, uint64_t at_ns,
		       struct pause_cause *c)
{
	const struct classify_params *k = &pol->ports[c->out_port].classify;
	uint8_t paused = paused_classes(sw->port[c->out_port], at_ns);

	cause_name_class(c, k->class_to_queue, paused, k->lossless);
}

struct pause_cause pause_cause_search(const struct weir_switch *sw, const struct policy *pol,
				      uint64_t at_ns, unsigned account,
				      const struct frame *at_hand)
{
	struct pause_cause c = {.kind = CAUSE_NONE};

	for (unsigned port = 0; port < sw->n_ports; port++)
		offer_port(&c, sw->port[port], port, account, at_hand);
	if (c.kind != CAUSE_NONE)
		name_class(sw, pol, at_ns, &c);
	return c;
}

// While admission is held pauses stand although they have run out.
static uint64_t pauses_at(const struct worker *w)
{
	return w->hold ? 0 : w->now_ns;
}

uint64_t pause_cause_of_xoff(struct worker *w, struct port *p, const struct frame *f)
{
	struct pause_cause c = pause_cause_search(w->sw, w->pol, pauses_at(w),
						  account_index(p->no, f->pg), f);

	p->pg[f->pg].xoff_by.port = f->out_port;
	p->pg[f->pg].xoff_by.queue = f->queue;
	return cause_pack(&c);
}

// All that the group has may still be on its way to other workers: then it waits for the queue to
// which the frame goes that began it.
static struct pause_cause cause_of_group(const struct worker *w, const struct port *p, unsigned pg)
{
	struct pause_cause c = pause_cause_search(w->sw, w->pol, pauses_at(w),
						  account_index(p->no, pg), NULL);

	if (c.kind != CAUSE_NONE)
		return c;
	c.kind = CAUSE_QUEUE;
	c.out_port = p->pg[pg].xoff_by.port;
	c.queue = p->pg[pg].xoff_by.queue;
	name_class(w->sw, w->pol, pauses_at(w), &c);
	return c;
}

// A PFC frame has left: keeps the causes of its pauses beside their groups.
static void keep_causes(struct worker *w, struct port *p, const struct pfc_times *times)
{
	const uint8_t *class_to_pg = p->pol->classify.class_to_pg;
	uint8_t kept = 0; // groups

	for_each_bit (cls, times->enable) {
		unsigned pg = class_to_pg[cls];
		struct pause_cause c = {.kind = CAUSE_RX_RING, .cls = (uint8_t)cls};

		if (times->quanta[cls] == 0 || (kept >> pg & 1))
			continue;
		kept |= (uint8_t)(1u << pg);
		if (p->xoff_pgs >> pg & 1)
			c = cause_of_group(w, p, pg);
		gauge_set(&p->pg[pg].cause.packed, cause_pack(&c));
		gauge_set(&p->pg[pg].cause.t_ns, w->now_ns);
	}
}

// ---- PFC frames

// The classes that must be paused now: those of groups in XOFF, all lossless ones while the
// receive-ring guard holds, and those that control pauses. A group enters XOFF in charge_closely
// (admission.c).
static uint8_t classes_to_pause(const struct port *p)
{
	const struct policy_port *pp = p->pol;
	uint8_t want = p->rx_guarded ? pp->pfc.lossless : 0;

	if (p->xoff_pgs != 0)
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (p->xoff_pgs >> pp->classify.class_to_pg[c] & 1)
				want |= (uint8_t)(1u << c);
	want = ((want & pp->pfc.lossless) | p->pfc_tx.by_control) & (uint8_t)~p->unprotected;
	return pp->pfc.whole_link && want != 0 ? want | pp->pfc.lossless : want;
}

// Sends PFC, or with whole_link PAUSE of 802.3x. False: the driver has no room, or memory is short.
static bool send_mac_control(struct worker *w, struct port *p, const struct pfc_times *times,
			     bool whole_link)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->sw->pool);
	uint8_t frame[PFC_FRAME_LEN];

	if (m == NULL)
		return false;
	(whole_link ? pause_frame_build : pfc_frame_build)(frame, p->mac, times);
	memcpy(rte_pktmbuf_append(m, sizeof(frame)), frame, sizeof(frame));
	if (p->ops->tx(p->drv, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	// MAC control goes ahead of every queue and puts the shaper into debt.
	shaper_update(&p->pol->shaper, &p->shaper, w->now_ns);
	shaper_charge(&p->pol->shaper, &p->shaper, PFC_FRAME_LEN + LINK_OVERHEAD_BYTES);
	fate_pfc_sent(w, p, frame);
	return true;
}

// The frame that is due, and before its last XON that of the other form, where one is owed.
static bool send_due(struct worker *w, struct port *p, const struct pfc_times *times)
{
	const struct pfc_times xon = {.enable = pfc_tx_owed_xon(&p->pfc_tx, times)};
	bool whole_link = p->pol->pfc.whole_link;

	if (xon.enable != 0) {
		if (!send_mac_control(w, p, &xon, !whole_link))
			return false;
		p->pfc_tx.other_form = 0;
	}
	return send_mac_control(w, p, times, whole_link);
}

uint64_t pause_send_now(struct worker *w, struct port *p)
{
	const struct pfc_params *params = &p->pol->pfc;
	uint8_t want = classes_to_pause(p);
	struct pfc_times times;

	if ((want | p->pfc_tx.paused) == 0 || !p->up)
		return UINT64_MAX;
	if (pfc_tx_due(params, &p->pfc_tx, want, w->now_ns, &times)) {
		if (!send_due(w, p, &times)) {
			ctr_inc(&p->pfc_tx.retries);
			port_set_add(&w->sets, PORTS_CALLED, p->no);
			return p->driver_wakes ? UINT64_MAX : w->now_ns;
		}
		pfc_tx_sent(params, &p->pfc_tx, &times, w->now_ns);
		keep_causes(w, p, &times);
	}
	return pfc_tx_next(&p->pfc_tx);
}
