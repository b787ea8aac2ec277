// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bridging.h"

#include "dataplane/base/units.h"
#include "dataplane/deadlock_guard.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/packet/edit.h"
#include "dataplane/routing.h"
#include "dataplane/svi.h"
#include "dataplane/unknown_unicast.h"
#include "dataplane/vxlan.h"

// ---- the way out

// The changes a frame needs to leave by its port: tag, PCP and DSCP. Done here while the header is
// in the cache. False: the frame does not fit and was dropped.
static bool edit_for_egress(struct worker *w, struct port *p, struct frame *f, unsigned vid,
			    bool tagged, const struct pkt_info *pkt)
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

// True: the frame leaves as it is. Its queue is known either way. out: the port it leaves by.
static inline bool leaves_unchanged(const struct policy_port *out, struct frame *f)
{
	f->queue = out->classify.class_to_queue[f->out_cls];
	return !out->edits && f->len <= out->max_frame;
}

// f->out_port: a port, or a peer of a tunnel.
static inline bool make_ready(struct worker *w, struct port *p, struct frame *f, unsigned vid,
			      bool tagged, const struct pkt_info *pkt)
{
	if (unlikely(f->out_port >= POLICY_MAX_PORTS))
		return vxlan_encapsulate(w, p, f, vid, tagged, pkt);
	return leaves_unchanged(&w->pol->ports[f->out_port], f) ||
	       edit_for_egress(w, p, f, vid, tagged, pkt);
}

// ---- flooding
//
// The frame leaves by every other port that may carry it, and to the peers of its VLAN's VNI. A
// frame to a group that the policy names leaves by the group's ports alone. The frame's priority
// group is charged once (replica.h). Copies end on the workers that own their ports of
// departure.

enum { MOST_WAYS = POLICY_MAX_PORTS + VTEP_MAX_PEERS };

static bool port_is_down(const struct worker *w, unsigned port)
{
	return atomic_load_explicit(&w->sw->want.down[port], memory_order_relaxed);
}

// A frame that was routed into the VLAN may leave by the port where it came in.
static bool may_leave_when_up(const struct worker *w, unsigned port, const struct frame *f,
			      unsigned vid)
{
	return (port != f->in_port || f->routed) && !w->pol->ports[port].routed &&
	       bridge_member(w->pol, port, vid);
}

bool bridging_may_leave(const struct worker *w, unsigned port, const struct frame *f, unsigned vid)
{
	if (port >= POLICY_MAX_PORTS)
		return vxlan_may_go(w, f, port, vid);
	return !port_is_down(w, port) && may_leave_when_up(w, port, f, vid);
}

// ports[] gets the ports that may carry the frame. The result is their number. If `down` is true,
// their links are down; if not, their links are up. If there is a group, they are its members.
static unsigned ports_of(const struct worker *w, const struct frame *f, unsigned vid,
			 const struct policy_multicast *group, bool down,
			 port_no_t ports[MOST_WAYS])
{
	unsigned n = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++)
		if (port_is_down(w, port) == down && may_leave_when_up(w, port, f, vid) &&
		    (group == NULL || group->ports[port / 64] >> port % 64 & 1))
			ports[n++] = (port_no_t)port;
	return n;
}

// group: as of ports_of.
static unsigned ways_of(const struct worker *w, const struct frame *f, unsigned vid,
			const struct policy_multicast *group, port_no_t ports[MOST_WAYS])
{
	unsigned n = ports_of(w, f, vid, group, false, ports);

	return group != NULL ? n : n + vxlan_flood_to(w, f, vid, ports + n);
}

static void hand_over_alone(struct worker *w, struct frame *f)
{
	fate_forwarded_alone(w, f);
	ingress_hand_over_one(w, f);
}

// One copy of a frame that was charged. The frame is edited for its port here.
static void deliver(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		    const struct pkt_info *pkt)
{
	if (f->m == NULL)
		fate_dropped(w, p, f, DROP_NO_MBUF);
	else if (make_ready(w, p, f, vid, tagged, pkt))
		return hand_over_alone(w, f);
	replica_gone(w, f);
}

// Every port gets a frame of its own: drivers that share the pool cannot send clones. The copies
// are made before the original is edited; the original leaves by the first port.
static void replicate(struct worker *w, struct port *p, struct frame *f, const port_no_t *ports,
		      unsigned n, unsigned vid, bool tagged, const struct pkt_info *pkt)
{
	replica_add(w, n); // a record, and copies beyond the first
	if (!admission_replicated(w, p, f, n)) {
		replica_remove(w, n);
		return;
	}
	if (!replica_make(w, f, n)) {
		replica_remove(w, n);
		admission_release(w, f->in_port, f->pg, f->cells);
		fate_dropped(w, p, f, DROP_NO_MBUF);
		return;
	}
	for (unsigned i = 1; i < n; i++) {
		struct frame copy = *f;

		ctr_inc(&p->c.replicated);
		copy.m = replica_copy(w, f->m);
		copy.out_port = ports[i];
		deliver(w, p, &copy, vid, tagged, pkt);
	}
	f->out_port = ports[0];
	deliver(w, p, f, vid, tagged, pkt);
}

// The frame ends in queues or as a drop. group: as of ways_of.
static void flood(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		  const struct pkt_info *pkt, const struct policy_multicast *group)
{
	port_no_t ports[MOST_WAYS];
	unsigned n = ways_of(w, f, vid, group, ports);

	if (n == 0) {
		bool all_down = ports_of(w, f, vid, group, true, ports) > 0;

		fate_dropped(w, p, f, all_down ? DROP_PORT_DOWN : DROP_NO_EGRESS);
		return;
	}
	// Of copies no flow is known, and they are no answers; but each may be the READ request
	// that a response is for, which must not seem to be for another.
	elephants_astray(w, f);
	f->m->hash.rss = FLOW_NONE;
	f->answer = f->answer && flows_is_request(pkt);
	f->out_port = ports[0];
	if (n == 1) {
		if (make_ready(w, p, f, vid, tagged, pkt) && admission_of_one(w, p, f))
			hand_over_alone(w, f);
		return;
	}
	if (ports[0] >= POLICY_MAX_PORTS) // the way to a peer is found for each copy
		f->out_port = p->no;
	f->queue = w->pol->ports[f->out_port].classify.class_to_queue[f->out_cls]; // the cause
	replicate(w, p, f, ports, n, vid, tagged, pkt);
}

// ---- storm control: how many frames per second of a port are replicated

// BPDUs have a bucket of their own at the rate of multicast: a flood of multicast must not take
// away the frames that would end a loop. A port without a rate for multicast has a fixed rate for
// BPDUs: BPDUs leave in the highest lossy class of all ports.
//
// A bridge sends at most ten BPDUs per second by a port (802.1Q, TxHoldCount).
static const struct policer_params bpdu_default = { // 1,000 per second, 250 at once
	.interval_ns = 1000000, .burst_ns = 250000000};

static enum limit_kind limit_kind_of(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *dst = rte_pktmbuf_mtod(f->m, const uint8_t *);

	if (!pkt->group_dst)
		return LIMIT_UNKNOWN_UNICAST;
	return be32_get(dst) == UINT32_MAX && be16_get(dst + 4) == UINT16_MAX ? LIMIT_BROADCAST
									      : LIMIT_MULTICAST;
}

// Whether a frame that is about to be replicated is beyond its port's rate.
static bool flood_is_limited(struct worker *w, struct port *p, const struct frame *f,
			     const struct pkt_info *pkt)
{
	enum limit_kind kind = limit_kind_of(f, pkt);
	const struct policer_params *rate = &p->pol->limit[kind];
	bool bpdu = pkt->reserved_dst == DST_STP;

	if (bpdu && rate->interval_ns == 0)
		rate = &bpdu_default;
	if (policer_take(rate, bpdu ? &p->storm_bpdu : &p->storm[kind], w->now_ns))
		return false;
	ctr_inc(&p->c.limited[kind]);
	return true;
}

// ---- learning

// Each port has its own part of the ring of reports, so a flood of new addresses at one port leaves
// room for the others.
static bool has_room(const struct worker *w, const struct port *p)
{
	uint64_t waiting = ctr_get(&p->reports) - ctr_get(&w->sw->learning.taken[p->no]);

	return waiting < LEARN_RING / w->n_owned;
}

// A source address that the table does not know at `at`, which is p or a peer; lives_at: as
// fdb_source said. False: the address may not be used here.
static bool report_source(struct worker *w, struct port *p, uint64_t key, port_no_t at,
			  port_no_t lives_at)
{
	bool refused = lives_at < POLICY_MAX_PORTS && w->pol->ports[lives_at].sticky;
	struct learn_record rec = {.key = key, .port = at, .by = p->no};

	if (has_room(w, p) && rte_ring_sp_enqueue_elem(w->learn, &rec, sizeof(rec)) == 0) {
		ctr_inc(&p->reports);
		unknown_note_report(w, p, key, at);
	} else {
		fdb_source_forget(w->fdb_cache, key); // reported with its next frame
	}
	if (refused)
		fdb_source_forget(w->fdb_cache, key); // each frame is refused
	return !refused;
}

static inline bool learn_source(struct worker *w, struct port *p, uint64_t key, port_no_t at)
{
	port_no_t lives_at;

	return !fdb_source(&w->sw->fdb, w->fdb_cache, key, at, w->now_ns, &lives_at) ||
	       report_source(w, p, key, at, lives_at);
}

enum drop_reason bridging_learn(struct worker *w, struct port *p, const struct frame *f,
				const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	bool tagged;
	int vid = bridge_ingress_vid(w->pol, p->no, eth, pkt, &tagged);

	if (vid < 0)
		return DROP_VLAN_INGRESS;
	return learn_source(w, p, fdb_key_in_frame(eth + ETH_ALEN_, (uint16_t)vid), p->no)
		       ? N_DROP_REASONS
		       : DROP_STICKY;
}

// ---- the frame

static bool drop_bridged(struct worker *w, struct port *p, struct frame *f, enum drop_reason reason)
{
	fate_dropped(w, p, f, reason);
	return false;
}

// No port of the switch carries the frame: the address is not known, is a group, lives at a peer or
// where the frame may not go. at: as the table says. True: the frame knows its way all the same.
// Else it has ended, or is flooded. b: NULL for a frame that came before.
static bool forward_unknown(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			    const struct pkt_info *pkt, unsigned vid, bool tagged, port_no_t at)
{
	uint64_t key = fdb_key_in_frame(rte_pktmbuf_mtod(f->m, const uint8_t *), (uint16_t)vid);
	bool off = !pkt->group_dst && vlan_bit(w->pol->flood_off, vid);
	bool known = at < FDB_MAX_PORTS;
	const struct policy_multicast *group =
		pkt->group_dst ? bridge_multicast(w->pol, key) : NULL;

	if (known && at >= POLICY_MAX_PORTS) {
		f->out_port = at;
		return make_ready(w, p, f, vid, tagged, pkt);
	}
	if (group == NULL && (off || p->pol->no_flood >> f->cls & 1)) {
		if (known) // at a port that is in the VLAN no more
			return drop_bridged(w, p, f, DROP_NO_EGRESS);
		if (!pkt->group_dst && unknown_finds_way(w, f, key, vid))
			return make_ready(w, p, f, vid, tagged, pkt);
		if (off)
			return drop_bridged(w, p, f, DROP_NO_EGRESS);
		if (!unknown_probes(w, p, f, key, pkt->group_dst))
			return false;
	}
	// A lossless frame to a group of the policy is no storm.
	if ((group == NULL || !(p->pol->classify.lossless >> f->cls & 1)) &&
	    flood_is_limited(w, p, f, pkt))
		return drop_bridged(w, p, f, DROP_STORM_CONTROL);
	if (b != NULL)
		ingress_admit(w, p, b); // frames that came before go before
	flood(w, p, f, vid, tagged, pkt, group);
	return false;
}

// Where the destination lives: a port, FDB_ROUTER or FDB_NO_PORT.
static port_no_t lookup(const struct worker *w, const struct frame *f, unsigned vid)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);

	if (eth[0] & 1)
		return FDB_NO_PORT;
	return fdb_lookup(&w->sw->fdb, w->fdb_cache, fdb_key_in_frame(eth, (uint16_t)vid));
}

// The address lives at no port of the VLAN. As forward_unknown.
static bool forward_rarely(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			   const struct pkt_info *pkt, unsigned vid, bool tagged)
{
	port_no_t svi = policy_svi_of(w->pol, vid), at = lookup(w, f, vid);

	if (at == FDB_ROUTER && svi != 0)
		return routing_of_svi(w, p, b, f, pkt, svi);
	if (pkt->group_dst && svi != 0)
		svi_snoop(w, p, f, pkt, svi);
	return forward_unknown(w, p, b, f, pkt, vid, tagged, at);
}

bool bridging_from_router(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			  const struct pkt_info *pkt, uint64_t dst)
{
	port_no_t at = fdb_lookup(&w->sw->fdb, w->fdb_cache, dst);
	unsigned vid = dst & 0xffff;

	f->routed = true;
	if (unlikely(at >= POLICY_MAX_PORTS || !bridge_member(w->pol, at, vid)))
		return forward_unknown(w, p, b, f, pkt, vid, false, at);
	f->out_port = at;
	return make_ready(w, p, f, vid, false, pkt);
}

bool bridging_turned_round(struct worker *w, struct port *p, struct frame *f,
			   const struct pkt_info *pkt, unsigned vid)
{
	return make_ready(w, p, f, vid, false, pkt);
}

// Where the last frame of the burst went, for frames with the same two addresses.
struct last_way {
	uint64_t dst, src; // the first 8 bytes of the frame, and 8 from its fifth on
	const struct policy_port *out;
	uint16_t vid;
	port_no_t port;
	bool known;
};

// True: the frame knows its way out. Else it has found an end.
static force_inline bool forward(struct worker *w, struct port *p, struct burst *b, unsigned i,
				 struct last_way *last, bool vlan_aware)
{
	struct frame *f = &b->frames[i];
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	uint64_t dst, src;
	bool tagged = false;
	int vid = 0;

	memcpy(&dst, eth, sizeof(dst));
	memcpy(&src, eth + 4, sizeof(src));
	if (vlan_aware)
		vid = bridge_classify_vid(w->pol, p->no, eth, burst_pkt(b, i), &tagged);
	if (vid < 0)
		return drop_bridged(w, p, f, DROP_VLAN_INGRESS);
	if (!last->known || dst != last->dst || src != last->src || vid != last->vid) {
		port_no_t port = FDB_NO_PORT;

		last->known = false;
		if (!learn_source(w, p, fdb_key_in_frame(eth + ETH_ALEN_, (uint16_t)vid), p->no))
			return drop_bridged(w, p, f, DROP_STICKY);
		if (!(eth[0] & 1))
			port = fdb_lookup(&w->sw->fdb, w->fdb_cache,
					  fdb_key_in_frame(eth, (uint16_t)vid));
		if (port == p->no)
			return drop_bridged(w, p, f, DROP_HAIRPIN);
		if (unlikely(port >= POLICY_MAX_PORTS ||
			     !bridge_member(w->pol, port, (unsigned)vid)))
			return forward_rarely(w, p, b, f, burst_pkt(b, i), (unsigned)vid, tagged);
		*last = (struct last_way){dst, src, &w->pol->ports[port], (uint16_t)vid, port,
					  QUICK_WAYS};
	}
	f->out_port = last->port;
	return leaves_unchanged(last->out, f) ||
	       edit_for_egress(w, p, f, (unsigned)vid, tagged, burst_pkt(b, i));
}

static force_inline void forward_all(struct worker *w, struct port *p, struct burst *b,
				     bool vlan_aware)
{
	struct last_way last = {.known = false};

	for (uint16_t i = 0; i < b->n_in; i++) {
		if (!forward(w, p, b, i, &last, vlan_aware))
			continue;
		if (b->n_out != i)
			b->frames[b->n_out] = b->frames[i];
		b->n_out++;
	}
}

void bridging_burst(struct worker *w, struct port *p, struct burst *b)
{
	b->n_out = 0;
	if (w->pol->vlan_aware)
		forward_all(w, p, b, true);
	else
		forward_all(w, p, b, false);
}

bool bridging_from_tunnel(struct worker *w, struct port *p, struct burst *b, struct frame *f,
			  const struct pkt_info *pkt, uint16_t vid, port_no_t peer)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	port_no_t port = FDB_NO_PORT;

	if (!learn_source(w, p, fdb_key_in_frame(eth + ETH_ALEN_, vid), peer))
		return drop_bridged(w, p, f, DROP_STICKY);
	if (!pkt->group_dst)
		port = fdb_lookup(&w->sw->fdb, w->fdb_cache, fdb_key_in_frame(eth, vid));
	f->out_port = port;
	if (!fate_left_tunnel(w, p, f, pkt, peer))
		return false;
	if (port >= POLICY_MAX_PORTS || !bridge_member(w->pol, port, vid))
		return forward_unknown(w, p, b, f, pkt, vid, false, port);
	return make_ready(w, p, f, vid, false, pkt);
}
