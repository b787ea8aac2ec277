// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bridging.h"

#include "dataplane/fate.h"
#include "dataplane/flood.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/packet/edit.h"
#include "dataplane/turn.h"

// ---- the way out

// The changes a frame needs to leave by its port: tag, PCP and DSCP. Done here while the header is
// in the cache. False: the frame does not fit and was dropped.
static bool prepare(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		    const struct pkt_info *pkt)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];
	const struct classify_params *c = &out->classify;
	const struct guard_rule *turned =
		out->guard.group != 0 ? turn_rule(w, p, f, pkt->dscp) : NULL;
	uint8_t remark = c->remark_pcp[f->out_cls], dscp = c->remark_dscp[f->out_cls];
	uint8_t pcp = remark != REMARK_NONE ? remark : f->out_cls;
	enum tag_edit edit = bridge_tag_edit(w->pol, f->out_port, vid, tagged, pkt);
	int grown;
	uint8_t *frame;

	if (edit == TAG_POP && !bridge_may_pop(pkt)) {
		fate_dropped(w, p, f, DROP_VLAN_EGRESS);
		return false;
	}
	grown = bridge_apply_tag(f->m, edit, vid, pcp);
	if (grown == INT32_MIN || f->len + grown > (int)out->max_frame) {
		fate_dropped(w, p, f, DROP_EGRESS_MTU);
		return false;
	}
	f->len = (uint16_t)(f->len + grown);
	f->l3_off = (uint8_t)(f->l3_off + grown);
	frame = rte_pktmbuf_mtod(f->m, uint8_t *);
	if ((remark != REMARK_NONE || turned != NULL) && pkt->n_tags != 0 && edit != TAG_POP)
		edit_pcp(frame, pcp);
	if (turned != NULL)
		dscp = turn_count(p, turned);
	if (dscp != REMARK_NONE && f->kind != PKT_OTHER)
		edit_dscp(frame + f->l3_off, f->kind, dscp);
	return true;
}

static inline bool make_ready(struct worker *w, struct port *p, struct frame *f, unsigned vid,
			      bool tagged, const struct pkt_info *pkt)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];

	f->queue = out->classify.class_to_queue[f->cls];
	if (!out->edits && f->len <= out->max_frame)
		return true;
	return prepare(w, p, f, vid, tagged, pkt);
}

bool bridging_make_ready(struct worker *w, struct port *p, struct frame *f, unsigned vid,
			 bool tagged, const struct pkt_info *pkt)
{
	return make_ready(w, p, f, vid, tagged, pkt);
}

// ---- learning

// Each port has its own part of the ring of reports, so a flood of new addresses at one port leaves
// room for the others.
static bool has_room(const struct worker *w, const struct port *p)
{
	uint64_t waiting = ctr_get(&p->reports) - ctr_get(&w->sw->learning.taken[p->no]);

	return waiting < LEARN_RING / w->n_owned;
}

// A source address that the table does not know at the port; lives_at: as fdb_source said. False:
// the address may not be used here.
static bool report(struct worker *w, struct port *p, uint64_t key, uint8_t lives_at)
{
	bool refused = lives_at != FDB_NO_PORT && w->pol->ports[lives_at].sticky;
	struct learn_record rec = {.key = key, .port = p->no};

	if (has_room(w, p) && rte_ring_sp_enqueue_elem(w->learn, &rec, sizeof(rec)) == 0) {
		ctr_inc(&p->reports);
		flood_note_report(w, key, p->no);
	} else {
		fdb_source_forget(w->fdb_cache, key); // reported with its next frame
	}
	if (refused)
		fdb_source_forget(w->fdb_cache, key); // each frame is refused
	return !refused;
}

static inline bool learn(struct worker *w, struct port *p, uint64_t key)
{
	uint8_t lives_at;

	return !fdb_source(&w->sw->fdb, w->fdb_cache, key, p->no, w->now_ns, &lives_at) ||
	       report(w, p, key, lives_at);
}

// ---- the frame

static bool refuse(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason)
{
	fate_dropped(w, p, f, reason);
	return false;
}

// The address is not known, is a group, or lives where the frame may not go. True: the frame knows
// its way all the same. Else it has ended, or is flooded.
static bool forward_unknown(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			    const struct pkt_info *pkt, unsigned vid, bool tagged, bool known)
{
	if (!pkt->group_dst && vlan_bit(w->pol->flood_off, vid))
		return refuse(w, p, f, DROP_NO_EGRESS);
	if (p->pol->no_flood >> f->cls & 1) {
		if (known) // at a port that is in the VLAN no more
			return refuse(w, p, f, DROP_NO_EGRESS);
		return !flood_refused(w, p, f, vid, pkt->group_dst) &&
		       make_ready(w, p, f, vid, tagged, pkt);
	}
	if (flood_is_limited(w, p, f, pkt))
		return refuse(w, p, f, DROP_STORM_CONTROL);
	ingress_admit(w, p, b); // frames that came before go before
	flood(w, p, f, vid, tagged, pkt);
	return false;
}

// True: the frame knows its way out. Else it has found an end.
static bool forward(struct worker *w, struct port *p, struct burst *b, struct frame *f,
		    const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	bool tagged;
	int vid = bridge_ingress_vid(w->pol, p->no, eth, pkt, &tagged);
	uint8_t port;

	if (vid < 0)
		return refuse(w, p, f, DROP_VLAN_INGRESS);
	if (!learn(w, p, fdb_key_in_frame(eth + ETH_ALEN_, (uint16_t)vid)))
		return refuse(w, p, f, DROP_STICKY);
	port = pkt->group_dst ? FDB_NO_PORT
			      : fdb_lookup(&w->sw->fdb, w->fdb_cache,
					   fdb_key_in_frame(eth, (uint16_t)vid));
	if (port == p->no)
		return refuse(w, p, f, DROP_HAIRPIN);
	if (unlikely(port == FDB_NO_PORT || !bridge_member(w->pol, port, (unsigned)vid)))
		return forward_unknown(w, p, b, f, pkt, (unsigned)vid, tagged,
				       port != FDB_NO_PORT);
	f->out_port = port;
	return make_ready(w, p, f, (unsigned)vid, tagged, pkt);
}

void bridging_burst(struct worker *w, struct port *p, struct burst *b)
{
	b->n_out = 0;
	for (uint16_t i = 0; i < b->n_in; i++) {
		struct frame *f = &b->frames[i];

		if (!forward(w, p, b, f, &b->pkts[i]))
			continue;
		if (b->n_out != i)
			b->frames[b->n_out] = *f;
		b->n_out++;
	}
}
