// SPDX-License-Identifier: Apache-2.0
#include "dataplane/peer_pause.h"

#include "dataplane/packet/pfc_frame.h"
#include "dataplane/policy.h"
#include "dataplane/storm.h"

static void obey(struct worker *w, struct port *p, const struct pfc_times *times)
{
	pfc_rx_frame(&p->pol->pfc, &p->pfc_rx, times, w->now_ns);
	if (unlikely(p->stormed != 0))
		storm_on_pause(w, p, times);
}

void peer_pause_on_frame(struct worker *w, struct port *p, const struct rte_mbuf *m)
{
	struct pfc_times times;

	switch (mac_ctrl_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len, &times)) {
	case MAC_CTRL_PFC:
		if (p->early_pause) {
			pfc_rx_frame_seen(&p->pol->pfc, &p->pfc_rx, &times);
			break;
		}
		obey(w, p, &times);
		break;
	case MAC_CTRL_PFC_MISADDRESSED:
		ctr_inc(&p->c.pfc_misaddressed);
		break;
	case MAC_CTRL_PAUSE_8023X:
		ctr_inc(&p->c.pause_8023x);
		times.enable &= p->pol->pfc.lossless;
		if (p->pol->pfc.whole_link && times.enable != 0)
			obey(w, p, &times);
		break;
	case MAC_CTRL_MALFORMED:
		ctr_inc(&p->c.pfc_malformed);
		break;
	case MAC_CTRL_OTHER:
		ctr_inc(&p->c.other_control);
		break;
	}
}

// ---- early records of the driver

void peer_pause_init(struct port *p)
{
	struct port_pause rec = {0};

	p->early_pause = p->ops->pause != NULL && p->ops->pause(p->drv, 0, &rec);
}

static void take_records(struct port *p, uint8_t lossless)
{
	struct port_pause rec = {0};

	for (unsigned c = 0; p->early_pause && c < N_CLASSES; c++)
		if (!(p->pause_classes >> c & 1) && p->ops->pause(p->drv, c, &rec))
			p->pause_seq[c] = rec.seq;
	p->pause_classes = lossless;
}

void peer_pause_new_policy(struct port *p)
{
	take_records(p, p->pol->pfc.lossless);
}

void peer_pause_forget(struct port *p)
{
	uint8_t lossless = p->pause_classes;

	p->pause_classes = 0;
	take_records(p, lossless);
}

// Several frames may have come since the last look: the latest says how long, all are counted.
static void obey_early_pause(struct worker *w, struct port *p, unsigned c,
			     const struct port_pause *rec)
{
	struct pfc_times times = {.enable = (uint8_t)(1u << c)};
	uint32_t n = rec->seq - p->pause_seq[c];

	times.quanta[c] = rec->quanta;
	obey(w, p, &times);
	ctr_add(&p->pfc_rx.stats[c].frames, n - 1);
	ctr_add(&p->c.early_pauses, n);
	p->pause_seq[c] = rec->seq;
}

void peer_pause_look(struct worker *w, struct port *p)
{
	for_each_bit (c, p->pol->pfc.lossless) {
		struct port_pause rec = {0};

		if (p->ops->pause(p->drv, c, &rec) && rec.seq != p->pause_seq[c])
			obey_early_pause(w, p, c, &rec);
	}
}
