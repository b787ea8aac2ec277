// SPDX-License-Identifier: Apache-2.0
// Metrics of flows, of the queue pairs that are known, and of notifications that switches send
// (metric.h).
#include "control/lab/metric.h"
#include "dataplane/switch_flows.h"

enum { QUEUES = 8, IDLE_LOOKS = 2 };

// ---- of a switch

static double pairs_made(const struct flow_totals *t, int source)
{
	double sum = 0;

	for (int s = 0; s < N_PAIR_SOURCES; s++)
		if (s != PAIR_NONE && (source < 0 || s == source))
			sum += (double)t->pairing.paired[s];
	return sum;
}

static double pairs_dropped(const struct flow_totals *t)
{
	return (double)(t->pairing.dropped_jump + t->pairing.dropped_ack +
			t->pairing.dropped_rival + t->pairing.dropped_dreq +
			t->pairing.dropped_age + t->pairing.dropped_static);
}

static double book_bytes(struct fabric *f, uint32_t sw, enum metric m, int source)
{
	struct fabric_switch *s = &f->switches[sw];
	double sum = 0;

	flow_book_look(&s->book, s->sw, f->clock.now_ns);
	if (s->book.short_of_memory)
		f->out_of_memory = true;
	for (int k = 0; k < N_PAIR_SOURCES; k++)
		if (m == METRIC_FLOW_BYTES || (source < 0 ? k != PAIR_NONE : k == source))
			sum += (double)s->book.bytes[k];
	return sum;
}

struct tally {
	int source; // -1: any pair
	bool all; // flows with and without a pair
	uint64_t n;
};

static void tally(void *arg, uint32_t place, const struct flow_row *r)
{
	struct tally *t = arg;

	(void)place;
	if (r->way.kind != FLOW_DATA && r->way.kind != FLOW_READ_RESPONSES)
		return;
	t->n += t->all ||
		(t->source < 0 ? r->pair.source != PAIR_NONE : r->pair.source == t->source);
}

static double flows_now(const struct fabric *f, uint32_t sw, enum metric m, int source)
{
	struct weir_switch *s = f->switches[sw].sw;
	struct tally t = {.source = source, .all = m == METRIC_FLOWS};
	const struct flows_look look = {
		.now_ns = f->clock.now_ns, .n = switch_flows_places(s), .fn = tally, .arg = &t};

	if (look.n != 0)
		switch_flows_look(s, &look);
	return (double)t.n;
}

// ---- of a queue

static double looks(const struct ipcc_counters *c, int quadrant)
{
	double sum = 0;

	for (int q = 0; q < N_QUADRANTS; q++)
		if (quadrant < 0 || q == quadrant)
			sum += (double)ctr_get(&c->looks[q]);
	return quadrant == N_QUADRANTS ? (double)ctr_get(&c->muted) : sum;
}

// A queue that is not looked at any more says nothing by what was seen last.
static bool is_stale(const struct fabric *f, uint32_t sw, unsigned port, unsigned queue)
{
	const struct weir_switch *s = f->switches[sw].sw;
	const struct ipcc_params *p = &switch_policy(s)->ports[port].queue[queue].ipcc;
	uint64_t looked = gauge_get(&switch_ipcc(s, port, queue)->looked_ns);

	return looked == 0 || f->clock.now_ns - looked > IDLE_LOOKS * p->interval_ns ||
	       gauge_get(&switch_queue_counters(s, port, queue)->length_bytes) <= p->kmin_bytes;
}

static double state(const struct ipcc_counters *c, enum metric m)
{
	switch (m) {
	case METRIC_TREND:
		return (double)atomic_load_explicit(&c->trend_bytes, memory_order_relaxed);
	case METRIC_EXCESS:
		return (double)gauge_get(&c->excess_bps);
	default:
		return (double)gauge_get(&c->quadrant) + 1;
	}
}

static double queue_metric(const struct metric_world *w, const struct expr_leaf *leaf,
			   enum metric m, const struct expr_object *o)
{
	const struct ipcc_counters *c =
		switch_ipcc(w->fabric->switches[o->node].sw, o->port, (unsigned)o->cls);

	if (c == NULL)
		return m == METRIC_CNP_LOOKS ? 0 : __builtin_nan("");
	if (m == METRIC_CNP_LOOKS)
		return looks(c, leaf->choice);
	return is_stale(w->fabric, o->node, o->port, (unsigned)o->cls) ? 0 : state(c, m);
}

static double all_looks(const struct metric_world *w, const struct expr_leaf *leaf,
			const struct expr_object *o)
{
	uint32_t n_ports = w->fabric->sc->switches[o->node].n_ports;
	struct expr_object q = *o;
	double sum = 0;

	for (uint32_t port = 0; port < n_ports; port++)
		for (int cls = 0; cls < QUEUES; cls++) {
			if ((o->kind != OBJ_SWITCH && port != o->port) ||
			    (o->cls >= 0 && cls != o->cls))
				continue;
			q.port = (uint16_t)port;
			q.cls = (int8_t)cls;
			sum += queue_metric(w, leaf, METRIC_CNP_LOOKS, &q);
		}
	return sum;
}

static double judged(const struct metric_world *w, enum metric m, const struct expr_object *o)
{
	int port = o->kind == OBJ_PORT || o->kind == OBJ_QUEUE ? o->port : -1;
	struct cnp_counts n = cnp_judge_counts(w->fabric->cnps, o->node, port, o->cls);

	return (double)(m == METRIC_CNPS_SWITCH ? n.sent : n.wrong);
}

static double one_switch(const struct metric_world *w, const struct expr_leaf *leaf, enum metric m,
			 const struct expr_object *o)
{
	struct flow_totals t;

	switch (m) {
	case METRIC_CNPS_SWITCH:
	case METRIC_CNPS_WRONG:
		return judged(w, m, o);
	case METRIC_PAIRED_BYTES:
	case METRIC_FLOW_BYTES:
		return book_bytes(w->fabric, o->node, m, leaf->choice);
	case METRIC_PAIRED:
	case METRIC_FLOWS:
		return flows_now(w->fabric, o->node, m, leaf->choice);
	case METRIC_PAIRINGS:
	case METRIC_PAIRS_DROPPED:
		switch_flow_totals(w->fabric->switches[o->node].sw, &t);
		return m == METRIC_PAIRINGS ? pairs_made(&t, leaf->choice) : pairs_dropped(&t);
	case METRIC_CNP_LOOKS:
		return all_looks(w, leaf, o);
	default:
		return queue_metric(w, leaf, m, o);
	}
}

bool metric_is_cnp(enum metric m)
{
	return m >= METRIC_CNPS_SWITCH && m <= METRIC_EXCESS;
}

double metric_cnp(const struct metric_world *w, const struct expr_leaf *leaf, enum metric m,
		  const struct expr_object *o)
{
	struct expr_object each = {.kind = OBJ_SWITCH, .cls = -1};
	double sum = 0;

	if (o->kind != OBJ_ALL_SWITCHES)
		return one_switch(w, leaf, m, o);
	for (; each.node < w->fabric->sc->n_switches; each.node++)
		sum += one_switch(w, leaf, m, &each);
	return sum;
}

// ---- instants

void metric_watch(const struct metric_world *w, const struct expr_leaf *leaf,
		  const struct expr_object *o, struct watch *to)
{
	bool port = o->kind == OBJ_PORT || o->kind == OBJ_QUEUE;

	to->node = o->kind == OBJ_ALL_HOSTS || o->kind == OBJ_ALL_SWITCHES ? UINT32_MAX : o->node;
	to->port = port ? (int16_t)o->port : -1;
	to->queue = o->cls;
	if (leaf->fn->metric == METRIC_FIRST_CUT)
		watch_cut(w->fabric, to);
	else
		watch_crossing(w->fabric, to);
}

double metric_watched(const struct metric_world *w, const struct expr_leaf *leaf,
		      struct watch *from)
{
	if (leaf->fn->metric == METRIC_FIRST_CUT)
		watch_cut_end(w->fabric, from);
	else
		watch_crossing_end(w->fabric, from);
	return from->t_ns == UINT64_MAX ? __builtin_nan("") : (double)from->t_ns;
}
