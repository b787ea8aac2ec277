// SPDX-License-Identifier: Apache-2.0
#include "dataplane/impair.h"

#include <string.h>

#include "dataplane/egress.h"
#include "dataplane/fate.h"
#include "dataplane/ingress.h"
#include "dataplane/packet/edit.h"

// Frames that go on into the switch, by bursts.
struct onward {
	struct worker *w;
	struct port *p;
	uint16_t n;
	struct rte_mbuf *pkts[BURST];
};

// A frame under the rules of its port.
struct victim {
	struct frame frame; // on its way in only its mbuf
	struct pkt_info pkt;
	struct impair_frame f;
	struct rte_mbuf *copy; // NULL: none was made
	unsigned slot; // of the rule that changed it
	bool ends_rule; // with this frame the rule has changed as many as it may
};

enum outcome { PASSES, ENDS, HELD };

static void pass_on(struct onward *o)
{
	uint16_t n = o->n;

	o->n = 0;
	if (n != 0)
		ingress_receive(o->w, o->p, o->pkts, n);
}

static void add_onward(struct onward *o, struct rte_mbuf *m)
{
	o->pkts[o->n++] = m;
	if (o->n == BURST)
		pass_on(o);
}

// ---- frames that are held

static struct impair_held *held_frame_at(struct impair_list *l, unsigned i)
{
	static_assert((IMPAIR_HELD_MAX & (IMPAIR_HELD_MAX - 1)) == 0, "a mask");
	return &l->held[(l->first + i) & (IMPAIR_HELD_MAX - 1)];
}

static bool is_due(const struct worker *w, const struct impair_list *l)
{
	return l->n != 0 && l->held[l->first & (IMPAIR_HELD_MAX - 1)].due_ns <= w->now_ns;
}

static void add_to_gauge(gauge_t *g, int more)
{
	gauge_set(g, gauge_get(g) + (uint64_t)(int64_t)more);
}

// place: of a port's counters. It is left before the next one is entered: no reader may see a frame
// in both.
static void count_at(gauge_t *place, int more)
{
	add_to_gauge(place, more);
	atomic_thread_fence(memory_order_release);
}

// Held frames and copies lie in cells that are free; as many stay free for frames that are charged.
static bool has_memory(struct worker *w)
{
	uint64_t size = w->pol->buffer.ingress_pool_cells, used;

	used = w->others_used[POOL_INGRESS] + gauge_get(&w->slots[POOL_INGRESS].used);
	return used < size && relaxed_get(&w->sw->copies) < size - used;
}

static void insert_held(struct impair_list *l, const struct impair_held *h)
{
	unsigned at = l->n++;

	for (; at > 0 && held_frame_at(l, at - 1)->due_ns > h->due_ns; at--)
		*held_frame_at(l, at) = *held_frame_at(l, at - 1);
	*held_frame_at(l, at) = *h;
	l->n_reordered += h->left != 0;
}

static struct impair_held take_out_held(struct impair_list *l, unsigned i)
{
	struct impair_held h = *held_frame_at(l, i);

	l->n_reordered -= h.left != 0;
	for (unsigned k = i + 1; i != 0 && k < l->n; k++)
		*held_frame_at(l, k - 1) = *held_frame_at(l, k);
	l->first += i == 0;
	l->n--;
	return h;
}

// The frame is held no longer.
static void uncount_held(struct worker *w, struct impair *im, const struct impair_held *h)
{
	add_to_gauge(&im->slot[h->slot].held, -1);
	replica_remove(w, 1);
}

// Frames of the slots in the bitmap are due now, in their order.
static void expedite(struct impair *im, struct impair_list *l, uint16_t slots)
{
	unsigned n = 0;

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < l->n; i++)
			if ((slots >> held_frame_at(l, i)->slot & 1) != pass) {
				im->spare[n] = *held_frame_at(l, i);
				if (pass == 0)
					im->spare[n].due_ns = 0;
				n++;
			}
	for (unsigned i = 0; i < n; i++)
		*held_frame_at(l, i) = im->spare[i];
}

// A frame of a flow went on. Returns the place of a frame of the flow that waits for it and for no
// other, n: there is none. from: where to look.
static unsigned overtaken(struct impair_list *l, uint64_t flow, unsigned from)
{
	while (from < l->n) {
		struct impair_held *h = held_frame_at(l, from);

		if (h->left != 0 && h->flow == flow && h->left-- == 1) {
			l->n_reordered--;
			return from;
		}
		from++;
	}
	return l->n;
}

// ---- actions

// The frame ends as one that was received.
static void drop(struct worker *w, struct port *p, const struct victim *v)
{
	struct frame f = {.m = v->frame.m, .arrival_ns = w->now_ns, .in_port = p->no,
			  .len = (uint16_t)v->f.len, .cls = v->f.cls, .out_cls = v->f.cls};

	f.pg = p->pol->classify.class_to_pg[f.cls];
	fate_received(w, p, &f, &v->pkt);
	ctr_inc(&p->pg[f.pg].c.rx_packets);
	ctr_add(&p->pg[f.pg].c.rx_bytes, f.len);
	ctr_inc(&p->c.rx_packets);
	ctr_add(&p->c.rx_bytes, f.len);
	fate_dropped(w, p, &f, DROP_IMPAIRED);
}

static bool mark(struct victim *v)
{
	if (v->pkt.ecn == ECN_NOT_ECT || v->pkt.ecn == ECN_CE ||
	    (v->pkt.kind != PKT_IPV4 && v->pkt.kind != PKT_IPV6))
		return false;
	edit_ecn_ce(rte_pktmbuf_mtod(v->frame.m, uint8_t *) + v->pkt.l3_off, v->pkt.kind);
	v->frame.ecn = ECN_CE;
	return true;
}

// Turns a bit of the iCRC or of what it covers. The lab stores no payload: the receiver then sees
// that the checksum is wrong by a flag.
static bool corrupt(const struct victim *v, enum impair_part part, struct rng *rng)
{
	uint32_t icrc, payload, at = rng_next(rng), bit;

	if (!impair_icrc(&v->f, &icrc, &payload) || (part == IMPAIR_PAYLOAD && icrc == payload))
		return false;
	bit = part == IMPAIR_ICRC ? 32 : (icrc - payload) * 8;
	bit = (uint32_t)((uint64_t)at * bit >> 32);
	at = (part == IMPAIR_ICRC ? icrc : payload) + bit / 8;
	if (v->f.stored < v->f.len)
		v->frame.m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
	else
		rte_pktmbuf_mtod(v->frame.m, uint8_t *)[at] ^= (uint8_t)(1u << bit % 8);
	return true;
}

// False: there is no room. f: as it is held; on its way out it is still charged.
static bool hold(struct worker *w, struct port *p, struct impair *im, unsigned no,
		 struct impair_held *h)
{
	enum impair_direction d = im->slot[no].rule.direction;

	if (im->list[d].n == IMPAIR_HELD_MAX || !has_memory(w))
		return false;
	replica_add(w, 1);
	add_to_gauge(&im->slot[no].held, 1);
	if (d == IMPAIR_IN)
		count_at(&p->c.waiting_in, 1);
	else
		egress_uncharge(w, p, &h->f);
	h->slot = (uint8_t)no;
	insert_held(&im->list[d], h);
	return true;
}

// Does what the rule says. PASSES with *changed false: it cannot.
static enum outcome act_on_victim(struct worker *w, struct port *p, struct impair *im, unsigned no,
				  struct victim *v, bool *changed)
{
	struct impair_slot *s = &im->slot[no];
	const struct impair_rule *r = &s->rule;
	struct impair_held h = {.f = v->frame};

	*changed = true;
	switch ((enum impair_action)r->action) {
	case IMPAIR_ACT_DROP: return ENDS;
	case IMPAIR_ACT_DUPLICATE:
		v->copy = has_memory(w) ? replica_copy(w, v->frame.m) : NULL;
		*changed = v->copy != NULL;
		return PASSES;
	case IMPAIR_ACT_DELAY:
		h.due_ns = w->now_ns + r->delay_ns;
		break;
	case IMPAIR_ACT_REORDER:
		h.due_ns = w->now_ns + IMPAIR_GAP_NS;
		h.flow = impair_flow(&v->f);
		h.left = r->gap;
		break;
	case IMPAIR_ACT_CE: *changed = mark(v); return PASSES;
	case IMPAIR_ACT_CORRUPT:
		*changed = corrupt(v, r->part, &s->memory.rng);
		return PASSES;
	case N_IMPAIR_ACTIONS: return PASSES;
	}
	*changed = hold(w, p, im, no, &h);
	return *changed ? HELD : PASSES;
}

// ---- rules

static void set_impaired(struct port *p, const struct impair *im)
{
	p->impaired = 0;
	for (unsigned d = 0; d < N_IMPAIR_DIRECTIONS; d++)
		if (im->on[d] != 0 || im->list[d].n != 0)
			p->impaired |= (uint8_t)(1u << d);
}

static void end_rule(struct worker *w, struct port *p, struct impair *im, unsigned no,
		     enum impair_why why)
{
	struct impair_slot *s = &im->slot[no];

	im->on[s->rule.direction] &= (uint16_t)~(1u << no);
	relaxed_set(&s->why, (uint8_t)why);
	worker_event(w, EVENT_IMPAIR_OVER, p->no, CLASS_NONE, s->id | (uint32_t)why << 24,
		     ctr_get(&s->changed) - s->base.changed);
	atomic_store_explicit(&s->state, IMPAIR_OVER, memory_order_release);
}

static void begin_rule(struct worker *w, struct port *p, struct impair *im, unsigned no)
{
	struct impair_slot *s = &im->slot[no];

	impair_memory_init(&s->memory, s->rule.seed);
	gauge_set(&s->end_ns, w->now_ns + s->rule.for_ns);
	im->on[s->rule.direction] |= (uint16_t)(1u << no);
	atomic_store_explicit(&s->state, IMPAIR_ON, memory_order_release);
	worker_event(w, EVENT_IMPAIR, p->no, CLASS_NONE, s->id, s->rule.action);
}

static void end_late_rules(struct worker *w, struct port *p, struct impair *im)
{
	uint16_t on = im->on[IMPAIR_IN] | im->on[IMPAIR_OUT];

	for_each_bit (no, on)
		if (w->now_ns >= gauge_get(&im->slot[no].end_ns))
			end_rule(w, p, im, no, IMPAIR_BY_TIME);
}

// The first rule that matches and can change the frame decides.
static enum outcome judge_victim(struct worker *w, struct port *p, struct impair *im,
				 enum impair_direction d, struct victim *v)
{
	for_each_bit (no, im->on[d]) {
		struct impair_slot *s = &im->slot[no];
		const struct impair_rule *r = &s->rule;
		enum outcome out;
		bool changed;

		if (!impair_matches(&r->match, &s->memory, &v->f))
			continue;
		ctr_inc(&s->hits);
		if (r->chance <= UINT32_MAX && rng_next(&s->memory.rng) >= r->chance)
			continue;
		out = act_on_victim(w, p, im, no, v, &changed);
		ctr_inc(changed ? &s->changed : &s->unable);
		if (!changed)
			continue;
		v->slot = no;
		v->ends_rule = r->count != 0 && ctr_get(&s->changed) - s->base.changed == r->count;
		return out;
	}
	return PASSES;
}

// The frame has its outcome, and the slot counts what it holds. Control may give the slot away
// once the rule is over.
static void judged(struct worker *w, struct port *p, struct impair *im, const struct victim *v)
{
	if (v->ends_rule)
		end_rule(w, p, im, v->slot, IMPAIR_BY_COUNT);
}

// ---- both ways

// False: the frame is none that may be impaired.
static bool read_frame(struct victim *v, unsigned max_len)
{
	const struct rte_mbuf *m = v->frame.m;
	const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);

	v->copy = NULL;
	v->ends_rule = false;
	v->f = (struct impair_frame){.eth = eth, .pkt = &v->pkt, .stored = m->data_len,
				     .len = m->pkt_len};
	return m->nb_segs == 1 && m->pkt_len <= max_len && parse(eth, m->pkt_len, &v->pkt) &&
	       v->pkt.kind != PKT_MAC_CONTROL && v->pkt.reserved_dst != DST_LINK_LOCAL;
}

static struct impair *of_port(const struct worker *w, const struct port *p)
{
	return relaxed_get(&w->sw->want.impair[p->no]);
}

static void count_copy(struct port *p)
{
	ctr_inc(&p->c.replicated);
	atomic_thread_fence(memory_order_release); // begun before it ends
}

// ---- the way in

// The frame is out of the list, and goes on.
static void let_in(struct onward *o, struct impair *im, const struct impair_held *h)
{
	uncount_held(o->w, im, h);
	count_at(&o->p->c.waiting_in, -1);
	add_onward(o, h->f.m);
}

static void impair_arrival(struct onward *o, struct impair *im, struct rte_mbuf *m)
{
	struct impair_list *l = &im->list[IMPAIR_IN];
	struct victim v = {.frame = {.m = m, .in_port = o->p->no}};
	enum outcome out;
	uint64_t flow;

	if (!read_frame(&v, o->p->pol->max_frame)) {
		add_onward(o, m);
		return;
	}
	v.f.cls = classify(&o->p->pol->classify, &v.pkt).cls;
	flow = l->n_reordered != 0 ? impair_flow(&v.f) : 0;
	out = judge_victim(o->w, o->p, im, IMPAIR_IN, &v);
	if (out == ENDS)
		drop(o->w, o->p, &v);
	judged(o->w, o->p, im, &v);
	if (out != PASSES)
		return;
	add_onward(o, m);
	if (v.copy != NULL) {
		count_copy(o->p);
		add_onward(o, v.copy);
	}
	for (unsigned i = 0; l->n_reordered != 0 && (i = overtaken(l, flow, i)) < l->n;) {
		struct impair_held h = take_out_held(l, i);

		let_in(o, im, &h);
	}
}

bool impair_poll(struct worker *w, struct port *p)
{
	struct impair *im = of_port(w, p);
	struct impair_list *l = &im->list[IMPAIR_IN];
	struct onward o = {.w = w, .p = p};
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	end_late_rules(w, p, im);
	while (is_due(w, l)) {
		struct impair_held h = take_out_held(l, 0);

		let_in(&o, im, &h);
	}
	pass_on(&o);
	n = p->ops->rx(p->drv, pkts, BURST);
	w->busy |= n != 0;
	ctr_add(&p->c.received, n);
	atomic_thread_fence(memory_order_release);
	for (uint16_t i = 0; i < n; i++)
		impair_arrival(&o, im, pkts[i]);
	pass_on(&o);
	return n == BURST;
}

// ---- the way out

// Frames that leave. A place is kept for each frame that is still to come.
struct leaving {
	struct frame *frames;
	uint16_t n, to_come, most;
};

// A frame of the list leaves at once if there is a place. Otherwise it is due: true.
static bool let_out(struct worker *w, struct impair *im, struct leaving *o,
		    struct impair_held *h)
{
	if (o->n + o->to_come < o->most) {
		uncount_held(w, im, h);
		o->frames[o->n++] = h->f;
		return false;
	}
	h->due_ns = 0;
	h->left = 0;
	insert_held(&im->list[IMPAIR_OUT], h);
	return true;
}

// The copy is queued without cells, and held if it cannot leave at once.
static void send_copy(struct worker *w, struct port *p, struct impair *im, struct leaving *o,
		      const struct victim *v)
{
	struct impair_held h = {.f = v->frame, .slot = (uint8_t)v->slot};

	if (im->list[IMPAIR_OUT].n == IMPAIR_HELD_MAX) {
		rte_pktmbuf_free(v->copy);
		return;
	}
	h.f.m = v->copy;
	h.f.arrival_ns = replica_arrival_ns(&v->frame);
	h.f.cells = 0;
	h.f.trimmed = false; // the frame itself is counted as trimmed, not its copy
	count_copy(p);
	count_at(&p->c.queued, 1);
	add_to_gauge(&im->slot[v->slot].held, 1);
	replica_add(w, 1);
	let_out(w, im, o, &h);
}

static void depart(struct worker *w, struct port *p, struct impair *im, struct leaving *o,
		   struct frame *f)
{
	struct impair_list *l = &im->list[IMPAIR_OUT];
	struct victim v = {.frame = *f};
	enum outcome out;
	uint64_t flow;

	if (!read_frame(&v, UINT16_MAX)) {
		o->frames[o->n++] = *f;
		return;
	}
	v.f.cls = f->out_cls;
	flow = l->n_reordered != 0 ? impair_flow(&v.f) : 0;
	out = judge_victim(w, p, im, IMPAIR_OUT, &v);
	if (out == ENDS)
		egress_drop(w, p, &v.frame, DROP_IMPAIRED);
	if (out == PASSES)
		o->frames[o->n++] = v.frame;
	if (v.copy != NULL)
		send_copy(w, p, im, o, &v);
	judged(w, p, im, &v);
	if (out != PASSES)
		return;
	for (unsigned i = 0; l->n_reordered != 0 && (i = overtaken(l, flow, i)) < l->n;) {
		struct impair_held h = take_out_held(l, i);

		i += let_out(w, im, o, &h); // in front of those that were looked at
	}
}

uint16_t impair_depart(struct worker *w, struct port *p, struct frame *frames, uint16_t n)
{
	struct impair *im = of_port(w, p);
	struct leaving o = {.frames = frames, .to_come = n, .most = p->tx_burst};
	struct frame in[BURST];

	memcpy(in, frames, n * sizeof(in[0]));
	end_late_rules(w, p, im);
	for (uint16_t i = 0; i < n; i++) {
		o.to_come--;
		depart(w, p, im, &o, &in[i]);
	}
	return o.n;
}

// TX-disable holds these frames, too: behind the first one the others wait.
static bool is_tx_off(const struct port *p, struct impair_list *l)
{
	return (p->tx_off & TX_OFF_PORT) || p->tx_off >> held_frame_at(l, 0)->f.queue & 1;
}

uint16_t impair_due(struct worker *w, struct port *p, struct frame *frames, uint16_t n,
		    int64_t room)
{
	struct impair *im = of_port(w, p);
	struct impair_list *l = &im->list[IMPAIR_OUT];
	uint16_t k = 0;

	while (k < n && is_due(w, l) && !is_tx_off(p, l) && held_frame_at(l, 0)->f.len <= room) {
		struct impair_held h = take_out_held(l, 0);

		uncount_held(w, im, &h);
		room -= h.f.len;
		frames[k++] = h.f;
	}
	return k;
}

// ---- time, control, the end

// When to look again at a driver that had no room for a frame that is due.
static uint64_t room_wake(const struct worker *w, struct port *p, struct impair_list *l)
{
	enum { RETRY_NS = 1000 };

	if (is_tx_off(p, l))
		return UINT64_MAX;
	if (p->n_held == 0 && held_frame_at(l, 0)->f.len <= p->ops->tx_room(p->drv))
		return w->now_ns;
	return p->driver_wakes ? UINT64_MAX : w->now_ns + RETRY_NS;
}

uint64_t impair_next(struct worker *w, struct port *p)
{
	struct impair *im = of_port(w, p);
	uint64_t next = UINT64_MAX;
	uint16_t on;

	end_late_rules(w, p, im);
	set_impaired(p, im);
	// Frames that are due on their way in wait for admission.
	for (unsigned d = 0; d < N_IMPAIR_DIRECTIONS; d++)
		if (im->list[d].n != 0 && !is_due(w, &im->list[d]))
			next = min_u64(next, held_frame_at(&im->list[d], 0)->due_ns);
	if (is_due(w, &im->list[IMPAIR_OUT]))
		next = min_u64(next, room_wake(w, p, &im->list[IMPAIR_OUT]));
	on = im->on[IMPAIR_IN] | im->on[IMPAIR_OUT];
	for_each_bit (no, on)
		next = min_u64(next, gauge_get(&im->slot[no].end_ns));
	return next;
}

void impair_take(struct worker *w, struct port *p)
{
	struct impair *im = atomic_load_explicit(&w->sw->want.impair[p->no], memory_order_acquire);

	for (unsigned no = 0; im != NULL && no < IMPAIR_SLOTS; no++) {
		struct impair_slot *s = &im->slot[no];

		if (atomic_load_explicit(&s->state, memory_order_acquire) == IMPAIR_ORDERED)
			begin_rule(w, p, im, no);
		if (!relaxed_get(&s->stop))
			continue;
		if (relaxed_get(&s->state) == IMPAIR_ON)
			end_rule(w, p, im, no, IMPAIR_BY_STOPPED);
		if (gauge_get(&s->held) != 0)
			expedite(im, &im->list[s->rule.direction], (uint16_t)(1u << no));
	}
	if (im != NULL)
		set_impaired(p, im);
}

// Frames on their way out that are held end here.
static void end_out(struct worker *w, struct port *p, struct impair *im, enum drop_reason reason)
{
	struct impair_list *l = &im->list[IMPAIR_OUT];

	while (l->n != 0) {
		struct impair_held h = take_out_held(l, 0);

		uncount_held(w, im, &h);
		egress_drop(w, p, &h.f, reason);
	}
}

void impair_link_changed(struct worker *w, struct port *p)
{
	struct impair *im = of_port(w, p);

	if (p->impaired == 0)
		return;
	expedite(im, &im->list[IMPAIR_IN], UINT16_MAX);
	if (!p->up)
		end_out(w, p, im, DROP_PORT_DOWN);
}

static void end_port(struct worker *w, struct port *p, struct impair *im)
{
	end_out(w, p, im, DROP_SHUTDOWN);
	while (im->list[IMPAIR_IN].n != 0) {
		struct impair_held h = take_out_held(&im->list[IMPAIR_IN], 0);

		uncount_held(w, im, &h);
		count_at(&p->c.waiting_in, -1);
		h.f.len = (uint16_t)h.f.m->pkt_len;
		h.f.cls = h.f.out_cls = p->pol->classify.default_class;
		fate_dropped(w, p, &h.f, DROP_SHUTDOWN);
	}
}

void impair_end(struct worker *w)
{
	for (unsigned i = 0; i < w->n_owned; i++) {
		struct port *p = worker_port(w, w->owned[i]);

		if (of_port(w, p) != NULL)
			end_port(w, p, of_port(w, p));
		impair_free(of_port(w, p));
	}
}
