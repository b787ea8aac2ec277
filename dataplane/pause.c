// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pause.h"

#include "dataplane/fate.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/pause_cause.h"

static uint8_t classes_to_pause(const struct port *p)
{
	const struct policy_port *pp = p->pol;
	uint8_t want = p->guard ? pp->pfc.lossless : 0;

	if (p->xoff_pgs != 0)
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (p->xoff_pgs >> pp->classify.class_to_pg[c] & 1)
				want |= (uint8_t)(1u << c);
	return ((want & pp->pfc.lossless) | p->pfc_tx.by_control) & (uint8_t)~p->unprotected;
}

static bool send_pfc(struct worker *w, struct port *p, const struct pfc_times *times)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->sw->pool);

	if (m == NULL)
		return false;
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN), p->mac, times);
	if (p->ops->tx(p->drv, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	// MAC control goes ahead of every queue and puts the shaper into debt.
	shaper_update(&p->pol->shaper, &p->shaper, w->now_ns);
	shaper_charge(&p->pol->shaper, &p->shaper, PFC_FRAME_LEN + LINK_OVERHEAD_BYTES);
	fate_pfc_sent(w, p, times);
	return true;
}

uint64_t pause_send_now(struct worker *w, struct port *p)
{
	const struct pfc_params *params = &p->pol->pfc;
	uint8_t want = classes_to_pause(p);
	struct pfc_times times;

	if ((want | p->pfc_tx.paused) == 0 || !p->up)
		return UINT64_MAX;
	if (pfc_tx_due(params, &p->pfc_tx, want, w->now_ns, &times)) {
		if (!send_pfc(w, p, &times)) {
			ctr_inc(&p->pfc_tx.retries);
			port_set_add(&w->called, p->no);
			return p->driver_wakes ? UINT64_MAX : w->now_ns;
		}
		pfc_tx_sent(params, &p->pfc_tx, &times, w->now_ns);
		pause_cause_keep(w, p, &times);
	}
	return pfc_tx_next(&p->pfc_tx);
}
