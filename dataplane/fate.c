// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fate.h"

#include "dataplane/packet/pfc_frame.h"

// ---- capture

static void show(struct worker *w, enum tap_direction direction, const struct port *p,
		 const struct frame *f, enum drop_reason reason)
{
	bool queued = direction == TAP_OUT || (direction == TAP_DROP && f->at_egress);
	struct tap_meta meta = {.port = p->no, .direction = (uint8_t)direction,
				.cls = queued ? f->out_cls : f->cls, .queue = f->queue,
				.has_queue = queued,
				.marked = f->marked, .reason = (uint8_t)reason,
				.trimmed = f->trimmed,
				.trim_queue = f->trimmed ? trim_from_queue(f) : 0};

	if (!tap_wants(w->tap, p->no) || f->m == NULL)
		return;
	if (queued)
		meta.queue_bytes = (uint32_t)gauge_get(&p->queue[f->queue].c.length_bytes);
	if (f->m->nb_segs == 1)
		meta.not_stored = f->m->pkt_len - f->m->data_len;
	tap_bytes(w->tap, w->id, w->now_ns, rte_pktmbuf_mtod(f->m, const void *), f->m->data_len,
		  &meta);
}

void fate_received_watched(struct worker *w, const struct port *p, const struct frame *f,
			   const struct pkt_info *pkt)
{
	struct frame seen = *f;

	seen.cls = pkt == NULL || pkt->kind == PKT_MAC_CONTROL ||
				   pkt->reserved_dst == DST_LINK_LOCAL
			   ? CLASS_NONE
			   : classify(&p->pol->classify, pkt).cls;
	show(w, TAP_IN, p, &seen, 0);
}

void fate_leaves_watched(struct worker *w, struct port *p, const struct frame *f, uint64_t len)
{
	gauge_set(&p->queue[f->queue].c.length_bytes, len); // as the capture shows it
	show(w, TAP_OUT, p, f, 0);
}

// ---- ends

void fate_dropped(struct worker *w, struct port *p, const struct frame *f, enum drop_reason reason)
{
	unsigned cls = f->at_egress ? f->out_cls : f->cls;
	struct drop_counters *d = &p->drops[cls][reason];
	bool lossless = p->pol->classify.lossless >> cls & 1;

	ctr_inc(&d->packets);
	ctr_add(&d->bytes, f->len);
	if (unlikely(p->stormed != 0) && !f->at_egress)
		storm_count_not_admitted(p, f);
	if (lossless && drop_info[reason].loss)
		worker_event(w, EVENT_LOSSLESS_DROP, p->no, cls, reason, f->len);
	if (fate_is_watched(w))
		show(w, TAP_DROP, p, f, reason);
	rte_pktmbuf_free(f->m); // NULL where a copy could not be made
}

void fate_refused(struct worker *w, struct port *p, const struct frame *f, enum drop_reason reason)
{
	struct pg_counters *c = &p->pg[f->pg].c;

	ctr_inc(&c->dropped_packets);
	ctr_add(&c->dropped_bytes, f->len);
	fate_dropped(w, p, f, reason);
}

void fate_not_sent(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason)
{
	struct queue_counters *c;

	f->at_egress = true;
	if (unlikely(p->stormed != 0))
		storm_count_not_sent(p, f);
	if (unlikely(f->trimmed))
		trim_count_dropped(p, f);
	c = &p->queue[f->queue].c;
	ctr_inc(&c->dropped_packets);
	ctr_add(&c->dropped_bytes, f->len);
	fate_dropped(w, p, f, reason);
}

void fate_consumed(struct port *p, struct rte_mbuf *m)
{
	ctr_inc(&p->c.consumed);
	rte_pktmbuf_free(m);
}

void fate_pfc_sent(struct worker *w, struct port *p, const uint8_t *frame)
{
	struct tap_meta meta = {.port = p->no, .direction = TAP_OUT, .cls = CLASS_NONE};

	ctr_inc(&p->c.generated);
	atomic_thread_fence(memory_order_release); // begun before it ends
	ctr_inc(&p->c.transmitted);
	if (fate_is_watched(w) && tap_wants(w->tap, p->no))
		tap_bytes(w->tap, w->id, w->now_ns, frame, PFC_FRAME_LEN, &meta);
}
