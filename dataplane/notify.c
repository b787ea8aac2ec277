// SPDX-License-Identifier: Apache-2.0
#include "dataplane/notify.h"

#include "dataplane/admission.h"
#include "dataplane/egress.h"
#include "dataplane/packet/cnp.h"
#include "dataplane/packet/tags.h"
#include "dataplane/punt.h"
#include "dataplane/roce/flow_seal.h"

enum {
	LEARN_GAPS = 4, // a rate so many gaps after a CNP still shows what that has cut
	LATE_NOTE = 16, // intervals or gaps: a worker that stood still sends no CNP of old times
};

// One queue at the moment of a look.
struct view {
	const struct ipcc_params *params;
	struct ipcc_rt *rt;
	struct feed_window window;
	struct cnp_record why; // of every flow whose sender gets a CNP
	unsigned n;
	struct feed_flow fed[FEED_SLOTS];
	struct ipcc_flow flows[FEED_SLOTS];
	uint32_t generation[FEED_SLOTS];
};

static struct ipcc_rt *ipcc_of(const struct port *p, unsigned q)
{
	return atomic_load_explicit(&p->queue[q].ipcc, memory_order_acquire);
}

static const struct ipcc_params *params_of(const struct worker *w, unsigned port, unsigned q)
{
	return &w->pol->ports[port].queue[q].ipcc;
}

static uint64_t queue_len_bytes(const struct port *p, unsigned q)
{
	return gauge_get(&p->queue[q].c.length_bytes);
}

// ---- a flow, wherever it is kept

static uint64_t ref_of(const struct worker *w, const struct frame *f)
{
	return (uint64_t)w->sw->owner[f->in_port] << 32 | frame_flow(f);
}

static unsigned owner_of(uint64_t ref)
{
	return (unsigned)(ref >> 32);
}

static struct flow *flow_of_ref(const struct worker *w, uint64_t ref)
{
	return &w->sw->workers[owner_of(ref)]->flows->table.flows[(uint32_t)ref];
}

// Frames that no connected queue pair sends: datagrams, TCP, and other uses of UDP.
static bool is_datagram(const struct flow *f)
{
	uint8_t kind = flow_way_of(gauge_get(&f->way)).kind;

	return kind == FLOW_DATAGRAM || !flow_is_roce(kind);
}

// The sources that may pair hold for pairs that were learnt before as well.
static bool may_use(const struct worker *w, struct flow_pair pair)
{
	uint8_t sources = w->pol->pairing.sources;

	return pair.source != PAIR_NONE && (sources == 0 || (sources >> pair.source & 1));
}

static struct ipcc_flow read_flow(const struct worker *w, const struct flow *f, uint64_t bps)
{
	return (struct ipcc_flow){
		.bps = bps,
		.notified_ns = gauge_get(&f->cnp_ns),
		.cut_q16 = relaxed_get(&f->cut_q16),
		.paired = may_use(w, flow_pair_of(gauge_get(&f->pair))),
		.datagram = is_datagram(f),
	};
}

// ---- sending, by the flow's owner

// Gives the CNP the tags of the latest data frame. Each tag has the PCP of the CNP's class: behind
// the end of a service tag, only the customer tag shows the class of the CNP.
static void tag_like(struct cnp *c, const struct flow *f, unsigned pcp)
{
	const uint16_t tci[CNP_MAX_TAGS] = {f->tci, f->inner_tci};

	static_assert(CNP_MAX_TAGS == (int)PARSE_MAX_TAGS, "all that a flow may have");
	for (; c->n_tags < CNP_MAX_TAGS && tag_tpid(f->tags, c->n_tags) != 0; c->n_tags++)
		c->tags[c->n_tags] = (struct cnp_tag){
			tag_tpid(f->tags, c->n_tags),
			(uint16_t)((tci[c->n_tags] & (TCI_VID_MASK | TCI_DEI)) |
				   pcp << TCI_PCP_SHIFT)};
}

static void cnp_of(const struct worker *w, const struct flow *f, uint32_t qp, struct cnp *c)
{
	const struct policy_port *pp = &w->pol->ports[flow_way_of(gauge_get(&f->way)).in_port];
	uint8_t remark = pp->classify.remark_pcp[pp->cnp.cls];
	unsigned pcp = remark != REMARK_NONE ? remark : pp->cnp.cls;

	*c = (struct cnp){.dscp = pp->cnp.dscp,
			  .udp_sport = relaxed_get(&f->udp_sport),
			  .pkey = f->pkey,
			  .dest_qp = qp};
	memcpy(c->src_mac, f->dst_mac, sizeof(c->src_mac));
	memcpy(c->dst_mac, f->src_mac, sizeof(c->dst_mac));
	tag_like(c, f, pcp);
	// In the name of the receiver.
	c->v6 = flow_key_addresses(&f->key, c->dst_ip, c->src_ip) == 6;
}

// False: it was dropped, and is counted as that.
static bool send_cnp_frame(struct worker *w, struct port *p, const struct cnp *c)
{
	struct frame f = {.own = true,
			  .kind_alone = c->v6 ? PKT_IPV6 : PKT_IPV4,
			  .ecn = ECN_ECT0,
			  .cls = p->pol->cnp.cls};
	uint8_t bytes[CNP_MAX_LEN];
	bool sent;

	f.len = (uint16_t)cnp_build(bytes, c);
	f.l3_off = (uint8_t)(ETH_HLEN_ + c->n_tags * sizeof(struct vlan_hdr));
	admission_claim(w, 1);
	sent = send_own(w, p, &f, bytes);
	admission_done(w);
	return sent;
}

static void keep_record(struct worker *w, const struct flow *f, const struct cnp_record *why,
			struct flow_pair pair, unsigned port)
{
	struct cnp_record r = *why;

	r.t_ns = w->now_ns;
	r.key = seal_key(f->key, 0);
	r.sender_qp = pair.qp;
	r.source = pair.source;
	r.left_by = (port_no_t)port;
	if (rte_ring_sp_enqueue_elem(w->flows->records, &r, sizeof(r)) != 0)
		ctr_inc(&w->flows->records_lost);
}

// Learns how much the previous CNP has cut, if the rates still show it. Stores the present rate if
// it was measured over a whole interval.
static void learn_flow_cut(const struct worker *w, struct flow *f, const struct cnp_record *why,
			   const struct ipcc_params *p)
{
	uint64_t since_ns = w->now_ns - gauge_get(&f->cnp_ns);
	uint16_t cut_q16 = relaxed_get(&f->cut_q16);

	if (f->notified_bps != 0 && why->whole && since_ns <= LEARN_GAPS * p->min_gap_ns)
		cut_q16 = ipcc_learn_cut(cut_q16, f->notified_bps, why->flow_bps);
	relaxed_set(&f->cut_q16, cut_q16);
	f->notified_bps = why->whole ? why->flow_bps : 0;
}

// The flow's sender is to get a CNP. Returns what prevents that; CNP_SILENT_NONE: the CNP was sent.
static enum cnp_silence send_cnp(struct worker *w, struct flow *f, const struct cnp_record *why)
{
	const struct ipcc_params *p = params_of(w, why->port, why->queue);
	struct flow_pair pair = flow_pair_of(gauge_get(&f->pair));
	unsigned port = flow_way_of(gauge_get(&f->way)).in_port;
	struct port *out = worker_port(w, port);
	uint64_t notified_ns = gauge_get(&f->cnp_ns);
	struct cnp c;

	if (is_datagram(f))
		return CNP_SILENT_DATAGRAM;
	if (!may_use(w, pair))
		return CNP_SILENT_UNPAIRED;
	if (notified_ns != 0 && w->now_ns - notified_ns < p->min_gap_ns)
		return CNP_SILENT_GAP;
	if (!p->enabled || !out->up)
		return CNP_SILENT_NO_ROOM;
	if (!cnp_bucket_take(&out->pol->cnp, &out->cnps, w->now_ns)) {
		ctr_inc(&out->flows.cnps_capped);
		return CNP_SILENT_PORT_CAP;
	}
	cnp_of(w, f, pair.qp, &c);
	if (!send_cnp_frame(w, out, &c))
		return CNP_SILENT_NO_ROOM;
	ctr_inc(&out->flows.cnps_sent);
	ctr_inc(&f->cnps_sent);
	learn_flow_cut(w, f, why, p);
	gauge_set(&f->cnp_ns, w->now_ns);
	keep_record(w, f, why, pair, port);
	return CNP_SILENT_NONE;
}

// verdict: the chooser's.
static void flow_judged(struct worker *w, struct flow *f, enum cnp_silence verdict,
			const struct cnp_record *why)
{
	if (verdict == CNP_SILENT_NONE)
		verdict = send_cnp(w, f, why);
	if (verdict != CNP_SILENT_NONE)
		ctr_inc(&f->silences);
	gauge_set(&f->silence, verdict);
}

// ---- notes

// The flow belongs to another worker. A note about a flow without a CNP is sent only if the reason
// is new: at each look many flows may not be chosen.
static void send_note(struct worker *w, const struct view *l, unsigned i)
{
	uint64_t ref = l->fed[i].flow;
	uint8_t verdict = l->flows[i].verdict;
	struct ipcc_note note = {.flow = (uint32_t)ref,
				 .generation = l->generation[i],
				 .verdict = verdict,
				 .why = l->why};

	if (verdict != CNP_SILENT_NONE && gauge_get(&flow_of_ref(w, ref)->silence) == verdict)
		return;
	if (rte_ring_sp_enqueue_elem(w->notes[owner_of(ref)], &note, sizeof(note)) != 0 &&
	    verdict == CNP_SILENT_NONE)
		ctr_inc(&l->rt->c.silences[CNP_SILENT_NO_ROOM]);
}

static void take_note(struct worker *w, const struct ipcc_note *note)
{
	const struct ipcc_params *p = params_of(w, note->why.port, note->why.queue);
	struct flow *f = &w->flows->table.flows[note->flow];
	uint64_t late_ns = p->interval_ns > p->min_gap_ns ? p->interval_ns : p->min_gap_ns;

	// Gone, or another one. Or the queue has long been looked at again.
	if (flow_generation(f) != note->generation ||
	    w->now_ns > note->why.t_ns + LATE_NOTE * late_ns)
		return;
	flow_judged(w, f, note->verdict, &note->why);
}

static void take_notes_of(struct worker *w, struct rte_ring *notes)
{
	struct ipcc_note note;

	for (unsigned i = 0; i < NOTE_RING; i++) {
		if (rte_ring_sc_dequeue_elem(notes, &note, sizeof(note)) != 0)
			return;
		take_note(w, &note);
	}
}

static void take_notes(struct worker *w)
{
	for (unsigned from = 0; from < w->sw->n_workers; from++) {
		struct rte_ring *notes = w->sw->workers[from]->notes[w->id];

		if (from != w->id && notes != NULL)
			take_notes_of(w, notes);
	}
}

// ---- looking, by the queue's owner

void notify_fed(struct worker *w, const struct port *p, const struct run *r)
{
	const struct frame *frames = r->frames;
	const struct ipcc_params *params = &p->pol->queue[frames->queue].ipcc;
	struct feed *feed = &ipcc_of(p, frames->queue)->feed;
	uint64_t before = queue_len_bytes(p, frames->queue) - r->bytes;

	// Above kmin a turn ends with each look.
	if (before <= params->kmin_bytes)
		feed_tick(feed, before, params->interval_ns, w->now_ns);
	for (unsigned i = 0; i < r->n; i++) {
		if (frames[i].own || frame_flow(&frames[i]) == FLOW_NONE)
			feed_add_other(feed, frames[i].len);
		else
			feed_add(feed, ref_of(w, &frames[i]), frames[i].len);
	}
}

// Of the groups of one port that have most of their frames in the queue, the fullest.
static uint32_t share_of_port(const struct worker *w, unsigned in_port, const struct view *l,
			      uint64_t ingress_free)
{
	const struct policy_port *pp = &w->pol->ports[in_port];
	const struct port *out = worker_port(w, l->why.port), *in = w->sw->port[in_port];
	uint32_t most = 0;

	for_each_bit (c, pp->classify.lossless) {
		unsigned pg = pp->classify.class_to_pg[c];
		uint64_t held = atomic_load_explicit(
			&out->held_cells[account_index(in_port, pg)][l->why.queue],
			memory_order_relaxed);
		uint32_t share;

		if (held == 0 || 2 * held < gauge_get(&in->pg[pg].state.shared))
			continue;
		share = pg_share_q16(&pp->pg[pg], &in->pg[pg].state, ingress_free);
		most = share > most ? share : most;
	}
	return most;
}

// How much of the memory that the queue may have is in use. Groups may be other workers': they are
// read word by word, and the pool as of this loop.
static uint32_t share_of(const struct worker *w, const struct view *l)
{
	const struct buffer_params *b = &w->pol->buffer;
	const struct egress_params *e = &w->pol->ports[l->why.port].queue[l->why.queue].egress;
	const struct egress_state *s = &worker_port(w, l->why.port)->queue[l->why.queue].egress;
	uint64_t ingress_free = pool_free(w, POOL_INGRESS, b->ingress_pool_cells);
	uint32_t most = 0;

	if (!e->lossless)
		return threshold_share_q16(
			&e->shared, gauge_get(&s->shared),
			pool_free(w, POOL_EGRESS_LOSSY, b->egress_lossy_cells));
	for (unsigned port = 0; port < w->sw->n_ports; port++) {
		uint32_t share = share_of_port(w, port, l, ingress_free);

		most = share > most ? share : most;
	}
	return most;
}

static void publish_look(struct ipcc_counters *c, const struct cnp_record *why)
{
	ctr_inc(&c->looks[why->quadrant]);
	gauge_set(&c->len_bytes, why->len_bytes);
	gauge_set(&c->kmax_bytes, why->kmax_bytes);
	gauge_set(&c->share_q16, why->share_q16);
	gauge_set(&c->excess_bps, why->excess_bps);
	gauge_set(&c->quadrant, why->quadrant);
	atomic_store_explicit(&c->trend_bytes, why->trend_bytes, memory_order_relaxed);
	gauge_set(&c->looked_ns, why->t_ns);
}

static void observe(struct worker *w, struct view *l, uint64_t len)
{
	const struct ipcc_params *p = l->params;
	struct cnp_record *why = &l->why;

	l->window = feed_window(&l->rt->feed, w->now_ns, p->interval_ns);
	why->t_ns = w->now_ns;
	why->len_bytes = len;
	why->kmin_bytes = p->kmin_bytes;
	why->kmax_bytes = p->kmax_bytes;
	why->trend_bytes = (int64_t)(len - l->window.len_before);
	why->dt_ns = l->window.dt_ns;
	why->whole = l->window.whole;
	why->queue_bps = l->window.bps;
	why->share_q16 = share_of(w, l);
	why->quadrant = (uint8_t)ipcc_quadrant(p, len, why->share_q16, why->trend_bytes);
	why->excess_bps = ipcc_excess_bps(p, len, why->trend_bytes, why->dt_ns);
	publish_look(&l->rt->c, why);
}

static void choose(struct worker *w, struct view *l)
{
	l->n = feed_largest(&l->rt->feed, &l->window, l->fed, FEED_SLOTS);
	for (unsigned i = 0; i < l->n; i++) {
		const struct flow *f = flow_of_ref(w, l->fed[i].flow);

		l->generation[i] = flow_generation(f);
		l->flows[i] = read_flow(w, f, l->fed[i].bps);
	}
	l->why.notified = (uint16_t)ipcc_choose(l->params, l->why.quadrant, l->why.excess_bps,
						l->flows, l->n, w->now_ns);
}

static void notify_chosen(struct worker *w, struct view *l)
{
	struct ipcc_counters *c = &l->rt->c;

	ctr_add(&c->notified, l->why.notified);
	for (unsigned i = 0; i < l->n; i++) {
		uint64_t ref = l->fed[i].flow;
		uint8_t verdict = l->flows[i].verdict;

		if (verdict != CNP_SILENT_NONE)
			ctr_inc(&c->silences[verdict]);
		l->why.rank = (uint16_t)(i + 1);
		l->why.flow_bps = l->fed[i].bps;
		if (owner_of(ref) == w->id)
			flow_judged(w, flow_of_ref(w, ref), verdict, &l->why);
		else
			send_note(w, l, i);
	}
}

// In a quadrant without notifications no flow is chosen.
static void look_at_due_queue(struct worker *w, const struct port *p, unsigned q, uint64_t len)
{
	struct view l;

	l.params = &p->pol->queue[q].ipcc;
	l.rt = ipcc_of(p, q);
	l.why = (struct cnp_record){.port = p->no, .queue = (uint8_t)q};
	observe(w, &l, len);
	if (l.why.quadrant == IPCC_NONE)
		return;
	choose(w, &l);
	notify_chosen(w, &l);
}

static void look_at_queues(struct worker *w, struct port *p)
{
	uint8_t blocked = egress_blocked(w, p);

	for_each_bit (q, p->ipcc_queues) {
		struct ipcc_rt *rt = ipcc_of(p, q);
		uint64_t len = queue_len_bytes(p, q);

		switch (ipcc_look_due(&p->pol->queue[q].ipcc, &rt->state, len, blocked >> q & 1,
				      w->now_ns)) {
		case IPCC_NOT_DUE:
			break;
		case IPCC_DUE:
			look_at_due_queue(w, p, q, len);
			feed_turn(&rt->feed, len, w->now_ns);
			break;
		case IPCC_MUTED:
			ctr_inc(&rt->c.muted);
			feed_forget(&rt->feed, len, w->now_ns);
			break;
		case IPCC_FREED:
			feed_forget(&rt->feed, len, w->now_ns);
			break;
		}
	}
}

uint64_t notify_wake_ns(const struct port *p)
{
	uint64_t wake = UINT64_MAX;

	for_each_bit (q, p->ipcc_queues) {
		const struct ipcc_params *params = &p->pol->queue[q].ipcc;

		wake = min_u64(wake,
			       ipcc_next(params, &ipcc_of(p, q)->state, queue_len_bytes(p, q)));
	}
	return wake;
}

void notify_run_now(struct worker *w)
{
	struct port_walk due = port_set_walk(&w->sets, PORTS_DUE);
	unsigned port;

	take_notes(w);
	while (port_walk_next(&due, &port)) {
		struct port *p = worker_port(w, port);

		if (p->ipcc_queues != 0)
			look_at_queues(w, p);
	}
}

bool notify_spares_flow(const struct worker *w, const struct frame *f)
{
	const struct ipcc_params *p = params_of(w, f->out_port, f->queue);
	uint64_t notified_ns;

	if (!p->enabled || p->spare_ns == 0 || frame_flow(f) == FLOW_NONE)
		return false;
	notified_ns = gauge_get(&flow_of_ref(w, ref_of(w, f))->cnp_ns);
	// Another worker's clock may be a little ahead of ours.
	if (notified_ns == 0 || (w->now_ns > notified_ns && w->now_ns - notified_ns >= p->spare_ns))
		return false;
	ctr_inc(&ipcc_of(worker_port(w, f->out_port), f->queue)->c.spared);
	return true;
}

// ---- a new policy

static uint8_t notifying_queues(const struct worker *w, unsigned port)
{
	uint8_t queues = 0;

	for (unsigned q = 0; w->flows != NULL && q < N_QUEUES; q++)
		if (params_of(w, port, q)->enabled && ipcc_of(worker_port(w, port), q) != NULL)
			queues |= (uint8_t)(1u << q);
	return queues;
}

// A queue begins to send notifications: its first look is in an interval, when there is something
// to be seen.
static void begin_notifying(struct worker *w, unsigned port, unsigned q)
{
	struct port *p = worker_port(w, port);
	struct ipcc_rt *rt = ipcc_of(p, q);

	rt->state = (struct ipcc_state){.next_ns = w->now_ns + params_of(w, port, q)->interval_ns};
	feed_init(&rt->feed, queue_len_bytes(p, q), w->now_ns);
}

void notify_new_policy(struct worker *w)
{
	w->ipcc = false;
	for (unsigned port = 0; port < w->sw->n_ports; port++)
		w->ipcc |= notifying_queues(w, port) != 0;
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);
		uint8_t queues = notifying_queues(w, w->owned[i]);

		for_each_bit (c, queues & ~p->ipcc_queues)
			begin_notifying(w, w->owned[i], c);
		p->ipcc_queues = queues;
	}
}
