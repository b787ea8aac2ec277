// SPDX-License-Identifier: Apache-2.0
#include "dataplane/trim.h"

#include "dataplane/egress.h"
#include "dataplane/packet/edit.h"
#include "dataplane/replica.h"

// A port that writes its class into tags does so here, too.
static void edit_tag(const struct policy_port *pp, const struct frame *f, uint8_t *bytes)
{
	uint8_t pcp = pp->classify.remark_pcp[pp->trim.cls];

	if (pcp != REMARK_NONE && f->l3_off > sizeof(struct eth_hdr) &&
	    be16_get(bytes + sizeof(struct eth_hdr) - sizeof(struct be16)) == ETYPE_VLAN)
		edit_pcp(bytes, pcp);
}

// Whether the share of the line for trimmed frames has room for one of `len` bytes, which takes it.
static bool share_takes(const struct worker *w, struct port *p, uint32_t len)
{
	const struct shaper_params *share = &p->pol->trim_share;

	shaper_update(share, &p->trim_share, w->now_ns);
	if (!shaper_ready(share, &p->trim_share))
		return false;
	shaper_charge(share, &p->trim_share, len + LINK_OVERHEAD_BYTES);
	return true;
}

// The accounts of the frame are not changed here.
static bool trim_cut(struct worker *w, struct port *p, struct frame *f)
{
	const struct trim_params *t = &p->pol->trim;
	struct queue_counters *c = &p->queue[f->queue].c;
	struct trim_frame whole = {
		.bytes = rte_pktmbuf_mtod(f->m, uint8_t *),
		.len = f->len,
		.stored = f->m->data_len,
		.l3_off = f->l3_off,
		.kind = f->kind,
	};
	uint32_t len = f->own || frame_replicated(f) ? TRIM_REFUSED : trim_len(t, &whole), cells;

	if (len == TRIM_REFUSED)
		return false;
	ctr_inc(&c->trimmed);
	if (!share_takes(w, p, len)) {
		ctr_inc(&c->trim_dropped);
		return false;
	}
	trim_edit(t, &whole, len);
	edit_tag(p->pol, f, whole.bytes);
	f->m->pkt_len = len;
	f->m->data_len = (uint16_t)RTE_MIN(f->m->data_len, len);
	ctr_add(&c->trim_cut_bytes, f->len - len);
	gauge_set(&p->c.trims, gauge_get(&p->c.trims) + 1);
	cells = cells_of(&w->pol->cell, len);
	f->len = (uint16_t)len;
	f->cells = (uint16_t)RTE_MIN(f->cells, cells);
	f->trim_from = (unsigned)(f->queue << TRIM_FROM_SHIFT | f->out_cls) & 0x3f;
	f->trimmed = true;
	f->queue = t->queue;
	f->out_cls = t->cls;
	return true;
}

bool trim_requeue(struct worker *w, struct port *p, struct frame *f)
{
	struct frame cut = *f;

	if (!trim_cut(w, p, &cut))
		return false;
	egress_recharge(w, p, f, &cut);
	return true;
}

void trim_count_sent(struct port *p, const struct frame *frames, unsigned n)
{
	uint64_t sent = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!frames[i].trimmed)
			continue;
		ctr_inc(&p->queue[trim_from_queue(&frames[i])].c.trim_sent);
		sent++;
	}
	gauge_set(&p->c.trims, gauge_get(&p->c.trims) - sent);
}

void trim_count_dropped(struct port *p, struct frame *f)
{
	f->queue = trim_from_queue(f);
	f->out_cls = f->trim_from & TRIM_FROM_CLASS;
	ctr_inc(&p->queue[f->queue].c.trim_dropped);
	gauge_set(&p->c.trims, gauge_get(&p->c.trims) - 1);
}
