// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows where they leave (roce/flow.h, roce/pairing.h): given their way once forwarding has
// found it, answers heard; and what is done for flows once per loop. The way is the business of the
// worker that owns the port of arrival. Answers are that of the one that owns the port of
// departure, which owns the flows they answer.
#include "dataplane/roce/flow_seal.h"
#include "dataplane/roce/pairing.h"
#include "dataplane/switch_impl.h"

enum {
	AGE_PER_LOOP = 64, // entries
	ORDERS_PER_LOOP = 16,
	SAY_EVERY_NS = 1000000000,
};

// ---- pairing is told

static void gone(void *arg, uint32_t id)
{
	struct worker_flows *wf = arg;

	pairing_flow_gone(wf->pairing, id);
}

// It lives, and is followed no longer: as one that was refused.
static void evicted(void *arg, const struct flow_key *k, uint64_t now_ns)
{
	struct worker_flows *wf = arg;

	pairing_flow_refused(wf->pairing, k, now_ns);
}

struct flow_hooks flows_hooks(struct worker_flows *wf)
{
	return (struct flow_hooks){.gone = gone, .evicted = evicted, .arg = wf};
}

struct pair_answer flows_answer(const struct worker *w, const struct frame *f,
				const struct pkt_info *pkt, const struct roce_msg *msg)
{
	return (struct pair_answer){
		.msg = msg,
		.l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + pkt->l3_off,
		.kind = pkt->kind,
		.in_port = f->in_port,
		.udp_sport = pkt->udp_sport,
		.one_way = !w->pol->ports[f->in_port].routed,
	};
}

// ---- the way out

static_assert((int)POLICY_MAX_PORTS <= (int)FLOW_PORTS, "each port of arrival has its share");
static_assert((int)POLICY_MAX_PORTS <= 1 << SEAL_PORT_BITS && N_CLASSES <= 16 && N_QUEUES <= 8,
	      "seals have room for them");

static inline uint64_t departure_of(const struct frame *f)
{
	return seal_departure(f->out_port, f->queue, f->cls);
}

// The flow's way was found, or may be another one.
static __attribute__((noinline)) void went(struct worker *w, uint32_t id, const struct frame *f)
{
	struct flow *fl = &w->flows->table.flows[id];
	struct flow_way before = flow_way_of(gauge_get(&fl->way));
	struct flow_way way = {.in_port = f->in_port, .out_port = f->out_port, .queue = f->queue,
			       .cls = f->cls, .kind = before.kind};

	gauge_set(&fl->way, flow_pack_way(way));
	seal_close_departure(fl, departure_of(f));
	if (before.out_port == f->out_port)
		return;
	if (before.out_port != FLOW_NO_PORT)
		pairing_flow_turned(w->flows->pairing, id, w->now_ns);
	pairing_flow_way(w->flows->pairing, id, w->now_ns);
}

void flows_went(struct worker *w, const struct frame *frames, unsigned n)
{
	const struct flow *flows = w->flows->table.flows;

	for (unsigned i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		uint32_t id = frame_flow(f);

		if (unlikely(f->answer) && w->sw->owner[f->out_port] == w->id)
			flows_hear(w, f);
		if (id != FLOW_NONE && unlikely(!seal_departed(&flows[id], departure_of(f))))
			went(w, id, f);
	}
}

static uint64_t stay_ns(const void *port, uint8_t queue)
{
	const struct port_rt *p = port;

	return gauge_get(&p->queue[queue].residence_ns);
}

void flows_hear(struct worker *w, const struct frame *f)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct port_flow_counters *c = &worker_port(w, f->out_port)->flows;
	struct pair_answer a;
	struct pkt_info pkt;
	struct roce_msg msg;

	if (w->flows == NULL || !parse(bytes, f->m->pkt_len, &pkt) || !pkt.roce ||
	    !roce_msg_read(bytes, f->m->data_len, &pkt, &msg))
		return;
	a = flows_answer(w, f, &pkt, &msg);
	a.left_by = f->out_port;
	a.stay_ns = stay_ns;
	a.port = w->sw->rt[f->in_port];
	a.one_way = a.one_way && !w->pol->ports[f->out_port].routed;
	if (msg.role == ROCE_ROLE_MANAGEMENT) {
		// A worker that owns both ports has read the message at its arrival.
		if (w->sw->owner[f->in_port] != w->id)
			pairing_management(w->flows->pairing, &a, false, w->now_ns);
		return;
	}
	if (msg.role == ROCE_ROLE_NAK)
		ctr_inc(&c->naks);
	else if (msg.role == ROCE_ROLE_CNP)
		ctr_inc(&c->cnps_seen);
	pairing_answer(w->flows->pairing, &a, w->now_ns);
}

// ---- once per loop

static void take_orders(struct worker *w)
{
	struct known_pair orders[ORDERS_PER_LOOP];
	unsigned n = rte_ring_sc_dequeue_burst_elem(w->flows->orders, orders, sizeof(orders[0]),
						    ORDERS_PER_LOOP, NULL);

	for (unsigned i = 0; i < n; i++)
		if (pairing_tell(w->flows->pairing, &orders[i], w->now_ns) &&
		    orders[i].qp == FLOW_NONE)
			ctr_inc(&w->flows->orders_found);
	// Control reads orders_taken first.
	atomic_thread_fence(memory_order_release);
	if (n != 0)
		ctr_add(&w->flows->orders_taken, n);
}

// By contradictions; who says goodbye, falls idle or is told away contradicts nothing.
static uint64_t pairs_dropped(const struct worker_flows *wf)
{
	const struct pairing_counters *c = pairing_counters(wf->pairing);

	return ctr_get(&c->dropped_jump) + ctr_get(&c->dropped_ack) + ctr_get(&c->dropped_rival);
}

static uint64_t cnps_capped(const struct worker *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < w->n_owned; i++)
		n += ctr_get(&worker_port(w, w->owned[i])->flows.cnps_capped);
	return n;
}

// What happened since the last event, as one event a second.
static void say_events(struct worker *w)
{
	struct worker_flows *wf = w->flows;
	const struct {
		enum event_type type;
		uint64_t now, *seen;
	} all[] = {
		{EVENT_PAIR_DROPPED, pairs_dropped(wf), &wf->dropped_seen},
		{EVENT_FLOWS_FULL, ctr_get(&wf->table.refused), &wf->refused_seen},
		{EVENT_CNP_CAP, cnps_capped(w), &wf->capped_seen},
	};

	if (wf->said_ns != 0 && w->now_ns - wf->said_ns < SAY_EVERY_NS)
		return;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].now == *all[i].seen)
			continue;
		worker_event(w, all[i].type, 0xff, 0xff, 0, all[i].now - *all[i].seen);
		*all[i].seen = all[i].now;
		wf->said_ns = w->now_ns;
	}
}

static void take_policy(struct worker *w)
{
	struct worker_flows *wf = w->flows;

	wf->policy_version = w->policy_version;
	flow_table_set_age(&wf->table, w->pol->flows.age_ns, w->now_ns);
	pairing_set_params(wf->pairing, &w->pol->pairing);
}

void flows_tick(struct worker *w)
{
	struct worker_flows *wf = w->flows;
	struct flow_hooks hooks = flows_hooks(wf);

	if (unlikely(wf->policy_version != w->policy_version))
		take_policy(w);
	take_orders(w);
	flow_age(&wf->table, w->now_ns, AGE_PER_LOOP, &hooks);
	say_events(w);
}
