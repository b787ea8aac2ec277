// SPDX-License-Identifier: Apache-2.0
#include "control/lab/metric.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "control/base/rows.h"
#include "control/lab/chain.h"
#include "control/lab/metric_control.h"
#include "control/observe/observe.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/switch_flows.h"

enum { IDLE_LOOKS = 2 };

int metric_world_init(struct metric_world *w, struct fabric *f, struct traffic *t)
{
	*w = (struct metric_world){.fabric = f, .traffic = t};
	w->flows = calloc(f->sc->n_flows + 1, sizeof(*w->flows));
	return w->flows == NULL ? -ENOMEM : metric_world_refresh(w);
}

void metric_world_fini(struct metric_world *w)
{
	for (uint32_t i = 0; w->flows != NULL && i < w->fabric->sc->n_flows; i++)
		free(w->flows[i].conns);
	free(w->flows);
	w->flows = NULL;
}

static int add_conn(struct metric_flow *f, uint32_t conn)
{
	if (f->n == f->cap) {
		uint32_t cap = f->cap == 0 ? 4 : 2 * f->cap;
		uint32_t *more = realloc(f->conns, cap * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		f->conns = more;
		f->cap = cap;
	}
	f->conns[f->n++] = conn;
	return 0;
}

int metric_world_refresh(struct metric_world *w)
{
	uint32_t n = traffic_n_conns(w->traffic);
	uint64_t done = traffic_n_done(w->traffic);

	for (; w->done_seen < done; w->done_seen++)
		w->flows[traffic_done(w->traffic, w->done_seen)->flow].n_done++;

	for (; w->conns_seen < n; w->conns_seen++) {
		uint32_t flow = traffic_conn(w->traffic, w->conns_seen)->flow;

		if (add_conn(&w->flows[flow], w->conns_seen) != 0)
			return -ENOMEM;
	}
	return 0;
}

// ---- numbers of a struct

#define WORD(type, member) (offsetof(struct type, member) / sizeof(uint64_t) + 1)

static double counter_word(const void *of, unsigned i)
{
	return (double)((const uint64_t *)of)[i - 1];
}

static double paused(const struct metric_world *w, unsigned what, const struct pfc_tx_state *tx,
		     const struct pfc_rx_state *rx, unsigned cls)
{
	const struct pfc_class_stats *s = what & PAUSE_RECEIVED ? &rx->stats[cls] : &tx->stats[cls];

	switch (what & ~(unsigned)PAUSE_RECEIVED) {
	case PAUSE_FRAMES:
		return (double)ctr_get(&s->frames);
	case PAUSE_TIMES:
		return (double)ctr_get(&s->transitions);
	default:
		return (double)pfc_paused_ns(s, w->fabric->clock.now_ns);
	}
}

// ---- hosts

static double host_value(const struct metric_world *w, const struct expr_source *m, uint32_t host,
			 int cls)
{
	struct nic *nic = w->fabric->hosts[host].nic;
	const struct nic_stats *s = nic_stats_now(nic);
	double sum = 0;

	if (m->host != 0)
		return counter_word(s, m->host);
	for (int c = 0; c < NIC_CLASSES; c++) {
		if (cls >= 0 && c != cls)
			continue;
		sum += m->pause != 0
			       ? paused(w, m->pause, nic_pfc_tx(nic), nic_pfc_rx(nic), (unsigned)c)
			       : counter_word(&s->cls[c], m->host_class);
	}
	return sum;
}

// ---- connections: NaN where a connection has no such number

static const struct lab_flow *flow_of_conn(const struct metric_world *w,
					   const struct traffic_conn *c)
{
	return &w->fabric->sc->flows[c->flow];
}

static double conn_rate(const struct metric_world *w, const struct traffic_conn *c)
{
	uint64_t bps = nic_flow_status(w->fabric->hosts[c->src].nic, c->id).rate_bps;
	uint32_t sender = flow_of_conn(w, c)->op.n == REQ_READ ? c->dst : c->src;

	return (double)(bps != 0 ? bps : w->fabric->sc->hosts[sender].nic.speed_bps);
}

static double conn_alpha(const struct metric_world *w, const struct traffic_conn *c)
{
	return (double)nic_flow_status(w->fabric->hosts[c->src].nic, c->id).alpha_ppm / PPM;
}

static double conn_cwnd(const struct metric_world *w, const struct traffic_conn *c)
{
	if (!flow_is_tcp(flow_of_conn(w, c)))
		return __builtin_nan("");
	return (double)nic_flow_status(w->fabric->hosts[c->src].nic, c->id).tcp.cwnd_bytes;
}

static bool is_service(const struct metric_world *w, const struct traffic_conn *c)
{
	enum lab_pattern pattern = flow_pattern(flow_of_conn(w, c));

	return pattern == PATTERN_REQUEST || pattern == PATTERN_STORAGE;
}

static double conn_value(const struct metric_world *w, const struct expr_source *m, uint32_t conn)
{
	const struct traffic_conn *c = traffic_conn(w->traffic, conn);
	struct traffic_counts n;

	if (m->state != NULL)
		return c->id == TRAFFIC_NOT_OPEN ? __builtin_nan("") : m->state(w, c);
	// A queue pair does not keep the numbers of TCP for itself. A service posts requests,
	// answers and data, which are not its operations.
	if ((m->tcp && !flow_is_tcp(flow_of_conn(w, c))) || (m->messages && is_service(w, c)))
		return __builtin_nan("");
	n = traffic_conn_counts(w->traffic, conn);
	return counter_word(&n, m->conn);
}

static double flow_done(const struct metric_world *w, uint32_t flow)
{
	uint64_t ns = traffic_flow_done_ns(w->traffic, flow);

	return ns == UINT64_MAX ? __builtin_nan("") : (double)ns;
}

static double flow_operations(const struct metric_world *w, uint32_t flow)
{
	return (double)w->flows[flow].n_done;
}

// Of a flow the sum over its connections. A state is the mean over the open ones.
static double flow_value(const struct metric_world *w, const struct expr_source *m,
			 const struct expr_object *o)
{
	const struct metric_flow *f = &w->flows[o->node];
	double sum = 0;
	uint32_t n = 0;

	if (o->kind == OBJ_CONN)
		return o->conn < f->n ? conn_value(w, m, f->conns[o->conn]) : 0;
	if (m->flow != NULL)
		return m->flow(w, o->node);
	for (uint32_t i = 0; i < f->n; i++) {
		double v = conn_value(w, m, f->conns[i]);

		if (m->state != NULL && v != v)
			continue;
		sum += v;
		n++;
	}
	if (m->state == NULL)
		return sum;
	return n == 0 ? __builtin_nan("") : sum / n;
}

// ---- a queue, class or group of a switch

static double fact(const struct metric_part *at, enum fact_id f, unsigned i)
{
	struct value v = observe_value(at->sw, f, at->port, i, at->w->fabric->clock.now_ns);

	return v.type == VALUE_I64 ? (double)v.i64 : (double)v.u64;
}

static double lost(const struct metric_part *at, int reason, bool loss_only)
{
	uint64_t n = 0;

	for (int r = 0; r < N_DROP_REASONS; r++)
		if ((reason < 0 || r == reason) && (!loss_only || drop_info[r].loss))
			n += ctr_get(&switch_drops(at->sw, at->port, at->cls, (enum drop_reason)r)
					      ->packets);
	return (double)n;
}

static double drops(const struct metric_part *at)
{
	return lost(at, at->leaf->choice, false);
}

static double lossless_drops(const struct metric_part *at)
{
	bool lossless = switch_policy(at->sw)->ports[at->port].classify.lossless >> at->cls & 1;

	return lossless ? lost(at, -1, true) : 0;
}

static double remapped(const struct metric_part *at)
{
	double sum = 0;

	// The rules are those of the port: class 0 stands for all of them.
	for (unsigned rule = 0; at->cls == 0 && rule < GUARD_MAX_RULES; rule++)
		sum += fact(at, F_GUARD_packets, rule);
	return sum;
}

static double pfc_classes(const struct metric_part *at)
{
	const struct pfc_params *p = &switch_policy(at->sw)->ports[at->port].pfc;

	return p->tx >> at->cls & p->rx >> at->cls & 1;
}

static double cnp_looks(const struct metric_part *at)
{
	static const enum fact_id looks[N_QUADRANTS + 1] = {
		[IPCC_NONE] = F_IPCC_looks_none,
		[IPCC_FEW_GROWING] = F_IPCC_looks_few_growing,
		[IPCC_FEW_SHRINKING] = F_IPCC_looks_few_shrinking,
		[IPCC_MANY] = F_IPCC_looks_many,
		[N_QUADRANTS] = F_IPCC_muted};
	double sum = 0;

	if (switch_ipcc(at->sw, at->port, at->cls) == NULL)
		return 0;
	for (int q = 0; q <= N_QUADRANTS; q++)
		if (at->leaf->choice < 0 ? q < N_QUADRANTS : q == at->leaf->choice)
			sum += fact(at, looks[q], at->cls);
	return sum;
}

static double part_value(const struct metric_part *at, const struct expr_source *m)
{
	double sum = 0;

	if (m->part != NULL)
		return m->part(at);
	if (m->facts[0] == F_NONE)
		return paused(at->w, m->pause, switch_pfc_tx(at->sw, at->port),
			      switch_pfc_rx(at->sw, at->port), at->cls);
	for (unsigned i = 0; i < N(m->facts) && m->facts[i] != F_NONE; i++)
		sum += fact(at, m->facts[i], at->cls);
	return sum;
}

// ---- a switch, port or queue as a whole

static int port_of_object(const struct expr_object *o)
{
	return o->kind == OBJ_PORT || o->kind == OBJ_QUEUE ? o->port : -1;
}

static double pool_bytes(const struct metric_part *at)
{
	return fact(at, F_POOLS_used_bytes, (unsigned)at->leaf->choice);
}

static double stuck(const struct metric_part *at)
{
	return chain_fabric_stuck(at->w->fabric, at->o->node, port_of_object(at->o), at->o->cls);
}

static struct cnp_counts judged(const struct metric_part *at)
{
	return cnp_judge_counts(at->w->fabric->cnps, at->o->node, port_of_object(at->o),
				at->o->cls);
}

static double cnps_sent(const struct metric_part *at)
{
	return (double)judged(at).sent;
}

static double cnps_wrong(const struct metric_part *at)
{
	return (double)judged(at).wrong;
}

// A queue that is not looked at any more says nothing by its last look.
static bool is_stale(const struct metric_part *at)
{
	const struct ipcc_params *p = &switch_policy(at->sw)->ports[at->port].queue[at->cls].ipcc;
	uint64_t looked = gauge_get(&switch_ipcc(at->sw, at->port, at->cls)->looked_ns);

	return looked == 0 || at->w->fabric->clock.now_ns - looked > IDLE_LOOKS * p->interval_ns ||
	       fact(at, F_QUEUES_length_bytes, at->cls) <= (double)p->kmin_bytes;
}

static double ipcc_fact(const struct metric_part *at, enum fact_id f)
{
	if (switch_ipcc(at->sw, at->port, at->cls) == NULL)
		return __builtin_nan("");
	return is_stale(at) ? 0 : fact(at, f, at->cls);
}

static double quadrant(const struct metric_part *at)
{
	const struct ipcc_counters *c = switch_ipcc(at->sw, at->port, at->cls);

	if (c == NULL)
		return __builtin_nan("");
	return is_stale(at) ? 0 : (double)gauge_get(&c->quadrant) + 1;
}

static double trend(const struct metric_part *at)
{
	return ipcc_fact(at, F_IPCC_trend_bytes);
}

static double excess(const struct metric_part *at)
{
	return ipcc_fact(at, F_IPCC_excess_bps);
}

// ---- flows and pairs of a switch

static double flow_bytes_of(const struct metric_part *at, bool all)
{
	struct fabric *f = at->w->fabric;
	struct fabric_switch *s = &f->switches[at->o->node];
	int source = at->leaf->choice;
	double sum = 0;

	flow_book_look(&s->book, s->in.sw, f->clock.now_ns);
	if (s->book.short_of_memory)
		f->out_of_memory = true;
	for (int k = 0; k < N_PAIR_SOURCES; k++)
		if (all || (source < 0 ? k != PAIR_NONE : k == source))
			sum += (double)s->book.bytes[k];
	return sum;
}

static double paired_bytes(const struct metric_part *at)
{
	return flow_bytes_of(at, false);
}

static double flow_bytes(const struct metric_part *at)
{
	return flow_bytes_of(at, true);
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

static double flows_of(const struct metric_part *at, bool all)
{
	struct tally t = {.source = at->leaf->choice, .all = all};
	const struct flows_look look = {.now_ns = at->w->fabric->clock.now_ns,
					.n = switch_flows_places(at->sw),
					.fn = tally,
					.arg = &t};

	if (look.n != 0)
		switch_flows_look(at->sw, &look);
	return (double)t.n;
}

static double paired_now(const struct metric_part *at)
{
	return flows_of(at, false);
}

static double flows_now(const struct metric_part *at)
{
	return flows_of(at, true);
}

static double pairings(const struct metric_part *at)
{
	static const enum fact_id made[N_PAIR_SOURCES] = {[PAIR_STATIC] = F_PAIRING_paired_static,
							  [PAIR_CM] = F_PAIRING_paired_cm,
							  [PAIR_READ] = F_PAIRING_paired_read,
							  [PAIR_ACK] = F_PAIRING_paired_ack,
							  [PAIR_CNP] = F_PAIRING_paired_cnp};
	double sum = 0;

	for (int s = PAIR_NONE + 1; s < N_PAIR_SOURCES; s++)
		if (at->leaf->choice < 0 || s == at->leaf->choice)
			sum += fact(at, made[s], 0);
	return sum;
}

static double pairs_dropped(const struct metric_part *at)
{
	double sum = 0;

	for (enum fact_id f = F_PAIRING_dropped_jump; f <= F_PAIRING_dropped_static; f++)
		sum += fact(at, f, 0);
	return sum;
}

static double switch_value(const struct metric_world *w, const struct expr_leaf *leaf,
			   const struct expr_source *m, const struct expr_object *o)
{
	struct weir_switch *sw = w->fabric->switches[o->node].in.sw;
	int port = port_of_object(o);
	struct metric_part at = {.w = w,
				 .leaf = leaf,
				 .o = o,
				 .sw = sw,
				 .port = port < 0 ? 0 : (unsigned)port,
				 .cls = o->cls < 0 ? 0 : (unsigned)o->cls};
	unsigned last = port < 0 ? switch_policy(sw)->n_ports : at.port + 1;
	unsigned first_cls = at.cls, last_cls = o->cls < 0 ? (unsigned)N_CLASSES : first_cls + 1;
	double sum = 0;

	if (m->object != NULL)
		return m->object(&at);
	if (m->whole != 0)
		return fact(&at, m->whole, 0);
	for (; at.port < last; at.port++)
		for (at.cls = first_cls; at.cls < last_cls; at.cls++)
			sum += part_value(&at, m);
	return sum;
}

static double frames_on_wires(const struct metric_world *w)
{
	const struct fabric *f = w->fabric;
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++)
			n += wire_counts(wire_end(f->links[i].wire, side)).in_flight;
	return (double)n;
}

// ---- all objects

static double source_value(const struct metric_world *w, const struct expr_leaf *leaf,
			   const struct expr_source *m, const struct expr_object *o)
{
	double sum = 0;

	switch ((enum expr_object_kind)o->kind) {
	case OBJ_HOST:
	case OBJ_HOST_CLASS:
		return host_value(w, m, o->node, o->cls);
	case OBJ_FLOW:
	case OBJ_CONN:
		return flow_value(w, m, o);
	case OBJ_ALL_HOSTS:
		for (uint32_t i = 0; i < w->fabric->sc->n_hosts; i++)
			sum += host_value(w, m, i, -1);
		return sum;
	case OBJ_ALL_SWITCHES:
		if (m->fabric != NULL)
			return m->fabric(w);
		for (uint32_t i = 0; i < w->fabric->sc->n_switches; i++)
			sum += switch_value(w, leaf, m,
					    &(struct expr_object){.kind = OBJ_SWITCH, .node = i,
								  .cls = -1});
		return sum;
	default:
		return switch_value(w, leaf, m, o);
	}
}

double metric_read(const struct metric_world *w, const struct expr_leaf *leaf,
		   const struct expr_object *o)
{
	double v = source_value(w, leaf, &leaf->fn->get, o);

	if (leaf->fn->frames.host_class != 0)
		v += LINK_OVERHEAD_BYTES * source_value(w, leaf, &leaf->fn->frames, o);
	return v;
}

double metric_read_per(const struct metric_world *w, const struct expr_leaf *leaf,
		       const struct expr_object *o)
{
	return source_value(w, leaf, &leaf->fn->per, o);
}

double metric_speed(const struct metric_world *w, const struct expr_object *o)
{
	if (o->kind <= OBJ_HOST_CLASS)
		return (double)w->fabric->sc->hosts[o->node].nic.speed_bps;
	return (double)switch_policy(w->fabric->switches[o->node].in.sw)->ports[o->port].speed_bps;
}

struct level metric_level(const struct expr_object *o)
{
	return (struct level){.sw = o->node, .port = (int16_t)port_of_object(o), .queue = o->cls};
}

// ---- storms, findings and instants

double metric_storm(const struct metric_world *w, const struct expr_leaf *leaf,
		    const struct expr_object *o, uint64_t from_ns, uint64_t to_ns)
{
	const struct storm_pick p = {.sw = o->kind == OBJ_ALL_SWITCHES ? UINT32_MAX : o->node,
				     .port = port_of_object(o),
				     .cls = o->cls,
				     .what = leaf->fn->storm,
				     .from_ns = from_ns,
				     .to_ns = to_ns};
	uint64_t t_ns;

	if (!(leaf->fn->takes & TAKES_NUMBER))
		return (double)storm_log_count(&w->fabric->storms, &p);
	return storm_log_nth(&w->fabric->storms, &p, leaf->number, &t_ns) ? (double)t_ns
									  : __builtin_nan("");
}

static double cycle(const struct chain *c, const struct expr_object *objects, uint32_t n,
		    uint64_t from_ns)
{
	uint32_t switches[SC_MAX_SWITCHES], n_switches = 0;

	for (uint32_t i = 0; i < n && n_switches < SC_MAX_SWITCHES; i++)
		switches[n_switches++] = objects[i].node;
	return chain_count_cycle(c, switches, n_switches, from_ns);
}

double metric_found(const struct metric_world *w, const struct expr_func *fn,
		    const struct expr_object *objects, uint32_t n, uint64_t from_ns)
{
	const struct chain *c = &w->fabric->chain->chain;
	double sum = 0;

	if (objects[0].kind == OBJ_SWITCH)
		return cycle(c, objects, n, from_ns);
	if (objects[0].kind != OBJ_HOST)
		return chain_count(c, fn->chain, from_ns);
	for (uint32_t i = 0; i < n; i++)
		sum += chain_count_host(c, objects[i].node, from_ns);
	return sum;
}

void metric_watch(const struct metric_world *w, const struct expr_object *o, struct watch *to)
{
	to->node = o->kind == OBJ_ALL_HOSTS ? UINT32_MAX : o->node;
	to->port = (int16_t)port_of_object(o);
	to->queue = o->cls;
	if (o->kind == OBJ_HOST || o->kind == OBJ_ALL_HOSTS)
		watch_cut(w->fabric, to);
	else
		watch_crossing(w->fabric, to);
}

double metric_watched(struct watch *from)
{
	watch_end(from);
	return from->t_ns == UINT64_MAX ? __builtin_nan("") : (double)from->t_ns;
}

// ---- operations

bool metric_operation_fits(const struct metric_world *w, const struct expr_leaf *leaf,
			   const struct expr_object *o, const struct traffic_done *d)
{
	const struct traffic_conn *c;

	if (d->n_bytes < leaf->size_min || d->n_bytes > leaf->size_max)
		return false;
	switch ((enum expr_object_kind)o->kind) {
	case OBJ_HOST:
		return d->src == o->node;
	case OBJ_FLOW:
		return d->flow == o->node;
	case OBJ_CONN:
		if (d->flow != o->node || o->conn >= w->flows[o->node].n)
			return false;
		c = traffic_conn(w->traffic, w->flows[o->node].conns[o->conn]);
		return d->src == c->src && d->dst == c->dst;
	default:
		return true;
	}
}

double metric_operation(const struct metric_world *w, const struct expr_func *fn,
			const struct traffic_done *d)
{
	double ns = counter_word(d, fn->to) - counter_word(d, fn->from);
	uint64_t ideal = fn->slowdown ? traffic_ideal_ns(w->traffic, d) : 1;

	return ideal == 0 ? __builtin_nan("") : ns / (double)ideal;
}

static bool is_among(uint32_t host, const uint32_t *hosts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (hosts[i] == host)
			return true;
	return false;
}

// The responder sends the data of a READ. Both ends of a service send and receive.
bool metric_host_is(const struct scenario *sc, uint32_t host, enum expr_who who)
{
	for (uint32_t i = 0; i < sc->n_flows && who != WHO_EVERYBODY; i++) {
		const struct lab_flow *f = &sc->flows[i];
		enum lab_pattern pattern = flow_pattern(f);
		bool both = pattern == PATTERN_REQUEST || pattern == PATTERN_STORAGE;
		bool reversed = (who == WHO_RECEIVES) != (f->op.n == REQ_READ);

		if ((both || !reversed) && is_among(host, f->src, f->n_src))
			return true;
		if ((both || reversed) && is_among(host, f->dst, f->n_dst))
			return true;
	}
	return who == WHO_EVERYBODY;
}

double metric_quantile(const double *sorted, uint64_t n, uint32_t ppm)
{
	uint64_t rank = (n * ppm + PPM - 1) / PPM;

	if (n == 0)
		return __builtin_nan("");
	return sorted[rank == 0 ? 0 : rank - 1];
}

// ---- the rows

#define NIC(member) WORD(nic_stats, member)
#define CLS(member) WORD(nic_class_stats, member)
#define CONN(member) WORD(traffic_counts, member)
#define FACT(fact) .facts = {F_##fact}
#define TX_BYTES .host_class = CLS(tx_bytes), .conn = CONN(tx_bytes), FACT(QUEUES_tx_bytes)
#define TX_FRAMES .host_class = CLS(tx_packets), .conn = CONN(tx_packets), FACT(QUEUES_tx_packets)
#define RX_BYTES .host_class = CLS(rx_bytes), FACT(PGS_rx_bytes)
#define RX_FRAMES .host_class = CLS(rx_packets), FACT(PGS_rx_packets)
#define MARKS .host_class = CLS(ce_marked), FACT(QUEUES_ecn_marked)
#define TCP(of_host, of_conn) .host = NIC(of_host), .conn = CONN(of_conn), .tcp = true
#define OPERATION(from_, to_) .from = WORD(traffic_done, from_), .to = WORD(traffic_done, to_)

#define H OBJ_BIT(OBJ_HOST)
#define HC (OBJ_BIT(OBJ_HOST) | OBJ_BIT(OBJ_HOST_CLASS))
#define FLOW OBJ_BIT(OBJ_FLOW)
#define F (FLOW | OBJ_BIT(OBJ_CONN))
#define S OBJ_BIT(OBJ_SWITCH)
#define P OBJ_BIT(OBJ_PORT)
#define Q OBJ_BIT(OBJ_QUEUE)
#define SPQ (S | P | Q)
#define ALL_H OBJ_BIT(OBJ_ALL_HOSTS)
#define ALL_S OBJ_BIT(OBJ_ALL_SWITCHES)

// name, method, unit, kinds, arguments, help
const struct expr_func expr_funcs[] = {
	{"rate", BY_RATE, EXPR_RATE, HC | F | SPQ | ALL_H, "X",
	 "data sent, as bits per second of the line: frames and 24 B of overhead each; of a "
	 "port or queue everything but PFC frames",
	 .who = WHO_SENDS, .get = {TX_BYTES}, .frames = {TX_FRAMES}},
	{"rx_rate", BY_RATE, EXPR_RATE, HC | SPQ | ALL_H, "X", "the same of data received",
	 .who = WHO_RECEIVES, .get = {RX_BYTES}, .frames = {RX_FRAMES}},
	{"frame_rate", BY_RATE, EXPR_RATE, HC | F | SPQ | ALL_H, "X",
	 "data sent, bytes of the frames only", .who = WHO_SENDS, .get = {TX_BYTES}},
	{"goodput", BY_RATE, EXPR_RATE, HC | F | ALL_H, "X",
	 "payload: of a host what it took in order, of a flow what was acknowledged",
	 .who = WHO_RECEIVES, .get = {.host_class = CLS(goodput_bytes), .conn = CONN(acked_bytes)}},
	{"utilisation", BY_LINE, EXPR_SHARE, HC | P | Q, "X", "rate as a share of the port's speed",
	 .who = WHO_SENDS, .get = {TX_BYTES}, .frames = {TX_FRAMES}},
	{"queue", BY_SAMPLE, EXPR_BYTES, SPQ, "X",
	 "bytes of frames in a queue, or in all queues of a port or switch: of samples",
	 .takes = TAKES_STAT, .get = {FACT(QUEUES_length_bytes)}},
	{"queue_mean", BY_LEVEL, EXPR_BYTES, SPQ, "X",
	 "mean length over time of a queue, or of all queues of a port or switch: exact, "
	 "without samples",
	 .level = level_mean_bytes},
	{"share_above", BY_LEVEL, EXPR_SHARE, SPQ, "X, BYTES",
	 "share of time in which the queues hold more than BYTES: exact", .takes = TAKES_BYTES,
	 .level = level_share_above},
	{"pg", BY_SAMPLE, EXPR_BYTES, SPQ, "X",
	 "cells that a priority group holds, as bytes: min, shared, headroom and skid",
	 .takes = TAKES_STAT,
	 .get = {.facts = {F_PGS_min_bytes, F_PGS_shared_bytes, F_PGS_headroom_bytes,
			   F_PGS_skid_bytes}}},
	{"headroom", BY_SAMPLE, EXPR_BYTES, SPQ, "X", "of those the ones in headroom",
	 .takes = TAKES_STAT, .get = {FACT(PGS_headroom_bytes)}},
	{"pool", BY_SAMPLE, EXPR_BYTES, S, "SWITCH, POOL",
	 "use of a switch's pool: ingress, headroom, egress_lossy or egress_lossless",
	 .takes = TAKES_STAT | TAKES_POOL, .get = {.object = pool_bytes}},
	{"pauses", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "PFC frames sent, one for each class they name, XON included; without X by all switches",
	 .get = {.pause = PAUSE_FRAMES, FACT(PFC_tx_pause)}},
	{"pauses_received", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "the same of PFC frames received, for lossless classes",
	 .get = {.pause = PAUSE_FRAMES | PAUSE_RECEIVED, FACT(PFC_rx_pause)}},
	{"xoffs", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "times that the neighbour was paused anew: refreshes and XON left out",
	 .get = {.pause = PAUSE_TIMES, FACT(PFC_tx_pause_transition)}},
	{"xoffs_received", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "times that it was itself paused anew",
	 .get = {.pause = PAUSE_TIMES | PAUSE_RECEIVED, FACT(PFC_rx_pause_transition)}},
	{"pause_time", BY_COUNT, EXPR_TIME, HC | SPQ | ALL_S, "[X]",
	 "time for which it kept its neighbour paused, summed over ports and classes",
	 .get = {.pause = PAUSE_NS}},
	{"pause_time_received", BY_COUNT, EXPR_TIME, HC | SPQ | ALL_S, "[X]",
	 "time for which it was itself paused", .get = {.pause = PAUSE_NS | PAUSE_RECEIVED}},
	{"drops", BY_COUNT, EXPR_COUNT, H | SPQ | ALL_S, "[X] [, REASON]",
	 "frames dropped; REASON as in counters.md. Of a host: by its slow receiver",
	 .takes = TAKES_REASON, .get = {.host = NIC(rx_dropped), .part = drops}},
	{"lossless_drops", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames of lossless classes lost for want of buffer, which must not happen",
	 .get = {.part = lossless_drops}},
	{"marks", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "frames marked CE; of a host: received with the mark", .get = {MARKS}},
	{"trims", BY_COUNT, EXPR_COUNT, H | SPQ | ALL_S, "[X]",
	 "frames that a full queue trimmed, or dropped beyond `switch.trim.share`; of a host: "
	 "trimmed frames received",
	 .get = {.host = NIC(rx_trimmed), FACT(QUEUES_trimmed)}},
	{"trims_sent", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]", "of those, frames sent",
	 .get = {FACT(QUEUES_trim_sent)}},
	{"trims_dropped", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "of those, frames dropped: no room in the trim queue, or beyond `switch.trim.share`",
	 .get = {FACT(QUEUES_trim_dropped)}},
	{"mark_share", BY_SHARE, EXPR_SHARE, SPQ | ALL_S, "[X]",
	 "marked frames as a share of those transmitted", .get = {MARKS}, .per = {TX_FRAMES}},
	{"cnps", BY_COUNT, EXPR_COUNT, H | ALL_H, "[X]", "congestion notifications sent by hosts",
	 .who = WHO_RECEIVES, .get = {.host = NIC(cnps_sent)}},
	{"cnps_received", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "congestion notifications received by hosts or flows", .who = WHO_SENDS,
	 .get = {.host = NIC(cnps_received), .conn = CONN(cnps)}},
	{"retransmissions", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "packets sent again, by hosts or by flows of TCP",
	 .get = {TCP(retransmissions, retransmissions)}},
	{"spurious", BY_COUNT, EXPR_COUNT, H | ALL_H, "[X]",
	 "packets sent again without need: a host received them and had accepted them before. "
	 "Without losses the retransmission timer is too short (`nic.rto`, of TCP `rto_min`)",
	 .who = WHO_RECEIVES, .get = {.host = NIC(duplicates)}},
	{"timeouts", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "retransmission timers that ran out, of hosts or of flows of TCP",
	 .get = {TCP(timeouts, timeouts)}},
	{"fast_retransmits", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "TCP: recoveries that duplicate ACKs or SACK blocks began",
	 .get = {TCP(fast_retransmits, fast_retransmits)}},
	{"ece", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]", "TCP: ACKs received that echo a mark",
	 .who = WHO_SENDS, .get = {TCP(ece_received, ece)}},
	{"naks", BY_COUNT, EXPR_COUNT, H | ALL_H, "[X]", "NAKs sent by hosts",
	 .get = {.host = NIC(naks_sent)}},
	{"messages", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "messages completed, at the host or flow that posted them",
	 .get = {.host = NIC(messages_completed),
		 .flow = flow_operations,
		 .conn = CONN(completed)}},
	{"posted", BY_COUNT, EXPR_COUNT, H | F | ALL_H, "[X]", "messages posted",
	 .get = {.host = NIC(messages_posted), .conn = CONN(posted), .messages = true}},
	{"done", BY_NOW, EXPR_TIME, FLOW, "FLOW",
	 "time at which the last message of the flow was acknowledged; no value before. The "
	 "flow has a `size`, and a `count` or a `stop`",
	 .get = {.flow = flow_done}, .ends = true},
	{"outage", BY_NOW, EXPR_TIME, FLOW, "FLOW",
	 "of a flow with `inof`: the longest time in which a sender completed no message to a "
	 "subsystem, from the start to the end of the window",
	 .get = {.flow = metric_outage}},
	{"path_moves", BY_COUNT, EXPR_COUNT, FLOW, "FLOW",
	 "of a flow with `inof`: times that a sender went on with another path of a subsystem",
	 .get = {.flow = metric_path_moves}},
	{"failed", BY_COUNT, EXPR_COUNT, FLOW, "FLOW",
	 "of a flow with `inof`: messages that failed because their path ended by force",
	 .get = {.flow = metric_failed}},
	{"cc_rate", BY_SAMPLE, EXPR_RATE, F, "FLOW",
	 "what the reaction point allows, the mean over the flow's connections",
	 .takes = TAKES_STAT, .get = {.state = conn_rate}},
	{"alpha", BY_SAMPLE, EXPR_SHARE, F, "FLOW",
	 "the estimate of congestion of the reaction point, 1 before the first CNP, or of "
	 "DCTCP; the mean over the flow's connections",
	 .takes = TAKES_STAT, .get = {.state = conn_alpha}},
	{"cwnd", BY_SAMPLE, EXPR_BYTES, F, "FLOW",
	 "TCP: the congestion window, the mean over the flow's connections", .takes = TAKES_STAT,
	 .get = {.state = conn_cwnd}},
	{"fct", BY_OPERATION, EXPR_TIME, H | F | ALL_H, "[X]",
	 "completion time: from posting to the last ACK", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS, OPERATION(posted_ns, done_ns)},
	{"slowdown", BY_OPERATION, EXPR_COUNT, H | F | ALL_H, "[X]",
	 "completion time by the time it would take alone in the fabric",
	 .takes = TAKES_STAT | TAKES_SIZE, .who = WHO_SENDS, OPERATION(posted_ns, done_ns),
	 .slowdown = true},
	{"wait", BY_OPERATION, EXPR_TIME, H | F | ALL_H, "[X]",
	 "of that: from posting to the first byte out", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS, OPERATION(posted_ns, first_tx_ns)},
	{"send", BY_OPERATION, EXPR_TIME, H | F | ALL_H, "[X]",
	 "from the first byte out to the last", .takes = TAKES_STAT | TAKES_SIZE, .who = WHO_SENDS,
	 OPERATION(first_tx_ns, last_tx_ns)},
	{"net", BY_OPERATION, EXPR_TIME, H | F | ALL_H, "[X]",
	 "from the last byte out to the last ACK", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS, OPERATION(last_tx_ns, done_ns)},
	{"frames", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "data frames sent; of a switch all but PFC frames. Without X by all switches",
	 .who = WHO_SENDS, .get = {TX_FRAMES}},
	{"frames_received", BY_COUNT, EXPR_COUNT, HC | SPQ | ALL_S, "[X]",
	 "data frames received; of a switch all that were admitted or dropped by a priority "
	 "group",
	 .who = WHO_RECEIVES, .get = {RX_FRAMES}},
	{"frames_queued", BY_NOW, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames that wait in queues at the end of the window",
	 .get = {FACT(QUEUES_length_packets)}},
	{"frames_on_wires", BY_NOW, EXPR_COUNT, ALL_S, "",
	 "frames under way on all cables at the end of the window",
	 .get = {.fabric = frames_on_wires}},
	{"storms", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]", "storms that the watchdog detected",
	 .get = {FACT(WATCHDOG_detected)}},
	{"restored", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "storms that were over, or ended by an operator", .get = {FACT(WATCHDOG_restored)}},
	{"escalated", BY_STORM, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "storms with which the limit of the watchdog was reached", .storm = STORM_ESCALATED},
	{"storm_detected_at", BY_STORM, EXPR_TIME, SPQ | ALL_S, "[X] [, N]",
	 "exact time at which the Nth storm of the window was detected; without N the first",
	 .takes = TAKES_NUMBER, .storm = STORM_DETECTED},
	{"storm_restored_at", BY_STORM, EXPR_TIME, SPQ | ALL_S, "[X] [, N]",
	 "exact time at which the Nth recovery of the window was over", .takes = TAKES_NUMBER,
	 .storm = STORM_RESTORED},
	{"storm_sent", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames for stormed queues that were sent all the same", .get = {FACT(WATCHDOG_tx_ok)}},
	{"storm_sent_drops", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames for stormed queues that were dropped", .get = {FACT(WATCHDOG_tx_dropped)}},
	{"storm_received", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames that came in by a stormed port and class, and were kept",
	 .get = {FACT(WATCHDOG_rx_ok)}},
	{"storm_received_drops", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "frames that came in there and were dropped", .get = {FACT(WATCHDOG_rx_dropped)}},
	{"remapped", BY_COUNT, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "frames that the deadlock guard gave another class, at their ports of arrival",
	 .get = {.part = remapped}},
	{"dcbx_agreed", BY_NOW, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "ports whose neighbour has the same PFC settings by DCBX, at the end of the window",
	 .get = {.part = metric_dcbx_agreed}},
	{"dcbx_mismatches", BY_NOW, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "ports whose neighbour has other PFC settings, or another class of RoCEv2",
	 .get = {.part = metric_dcbx_mismatches}},
	{"dcbx_events", BY_COUNT, EXPR_COUNT, S | P | ALL_S, "[X]", "events dcbx-mismatch",
	 .get = {.part = metric_dcbx_events}},
	{"inof_hosts", BY_NOW, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "hosts of iNOF that are online at the end of the window",
	 .get = {.part = metric_inof_hosts}},
	{"inof_peer_hosts", BY_NOW, EXPR_COUNT, S, "SWITCH",
	 "hosts of other switches, likewise, as this switch knows them",
	 .get = {.object = metric_inof_peer_hosts}},
	{"notices", BY_COUNT, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "notices of iNOF that were sent to hosts, repeated ones included",
	 .get = {.part = metric_notices}},
	{"notices_repeated", BY_COUNT, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "of those the ones that were sent again", .get = {.part = metric_notices_repeated}},
	{"notice_acks", BY_COUNT, EXPR_COUNT, S | P | ALL_S, "[X]",
	 "acknowledgements of notices", .get = {.part = metric_notice_acks}},
	{"pfc_classes", BY_NOW, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "classes with PFC in both directions, summed over ports, at the end of the window",
	 .get = {.part = pfc_classes}},
	{"ecn_changes", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "times that auto ECN changed the thresholds of a queue",
	 .get = {.part = metric_ecn_changes}},
	{"kmin", BY_NOW, EXPR_BYTES, Q, "QUEUE",
	 "kmin of the queue at the end of the window, of auto ECN or of the policy",
	 .get = {.part = metric_kmin}},
	{"kmax", BY_NOW, EXPR_BYTES, Q, "QUEUE", "kmax of the queue, likewise",
	 .get = {.part = metric_kmax}},
	{"causes", BY_SET, EXPR_COUNT, ALL_S, "",
	 "findings about PAUSE in the window: deadlocks, cyclic dependencies, and hosts at the "
	 "root of chains, looked for once a millisecond. 0: all PAUSE that was seen came from "
	 "queues that no peer paused: offered more than they send, or stopped by `tx_off`",
	 .chain = N_CHAIN_KINDS},
	{"deadlocks", BY_SET, EXPR_COUNT, ALL_S, "",
	 "cycles of paused queues that stood still for `stuck_after` in the window",
	 .chain = CHAIN_DEADLOCK},
	{"cyclic", BY_SET, EXPR_COUNT, ALL_S, "",
	 "cycles of paused queues that went on draining and were never a deadlock",
	 .chain = CHAIN_CYCLIC},
	{"cycle", BY_SET, EXPR_COUNT, S, "SWITCH, ...", "deadlocks through exactly these switches",
	 .takes = TAKES_MORE, .chain = CHAIN_DEADLOCK},
	{"rooted", BY_SET, EXPR_COUNT, H | ALL_H, "[HOST, ...]",
	 "chains of PAUSE whose root was one of these hosts: findings", .takes = TAKES_MORE,
	 .chain = CHAIN_ROOT},
	{"stuck", BY_NOW, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "queues that are paused and not empty and have sent nothing for `stuck_after`, at the "
	 "end of the window",
	 .get = {.object = stuck}},
	{"cnps_sent", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "notifications that switches sent because of a queue", .get = {.object = cnps_sent}},
	{"wrong_cnps", BY_COUNT, EXPR_COUNT, H | SPQ | ALL_S, "[X]",
	 "of those the ones for a queue pair that was not the flow's when they were sent, which "
	 "must not happen. Of a host: received for a queue pair that is not there, of another "
	 "peer, or with another UDP source port than its data has, whoever sent them",
	 .get = {.host = NIC(cnps_wrong), .object = cnps_wrong}},
	{"cnp_looks", BY_COUNT, EXPR_COUNT, SPQ | ALL_S,
	 "[X] [, none | growing | shrinking | many | muted]",
	 "times that a queue above kmin was looked at, by what it looked like; muted: times "
	 "that it was not, because it was paused",
	 .takes = TAKES_QUADRANT, .get = {.part = cnp_looks}},
	{"quadrant", BY_NOW, EXPR_COUNT, Q, "QUEUE",
	 "what a queue looks like now: 0 not above kmin or paused, 1 shallow and shrinking, 2 "
	 "shallow and growing, 3 deep and shrinking, 4 deep and growing",
	 .get = {.object = quadrant}},
	{"trend", BY_NOW, EXPR_BYTES, Q, "QUEUE",
	 "how much it had grown at the last look; 0 when it is not above kmin",
	 .get = {.object = trend}},
	{"excess", BY_NOW, EXPR_RATE, Q, "QUEUE",
	 "what its senders were to be slowed down by at the last look", .get = {.object = excess}},
	{"paired_share", BY_SHARE, EXPR_SHARE, S | ALL_S,
	 "[X] [, static | cm | read | ack | cnp | none]",
	 "bytes of RoCEv2 data that came in while the sender's queue pair was known, as a share "
	 "of all: flows are looked at every `sample`, and bytes count if the pair was known at "
	 "both looks around them (static, cm and read: also at a flow's first)",
	 .takes = TAKES_SOURCE, .get = {.object = paired_bytes}, .per = {.object = flow_bytes},
	 .every_sample = true},
	{"paired", BY_NOW, EXPR_COUNT, S | ALL_S, "[X] [, SOURCE]",
	 "flows of data whose sender's queue pair is known at the end of the window",
	 .takes = TAKES_SOURCE, .get = {.object = paired_now}},
	{"flows", BY_NOW, EXPR_COUNT, S | ALL_S, "[X]",
	 "flows of data in the flow table at the end of the window", .get = {.object = flows_now}},
	{"pairings", BY_COUNT, EXPR_COUNT, S | ALL_S, "[X] [, SOURCE]",
	 "times that a flow's pair was learnt", .takes = TAKES_SOURCE, .get = {.object = pairings}},
	{"pairs_dropped", BY_COUNT, EXPR_COUNT, S | ALL_S, "[X]",
	 "pairs that were given up: contradictions, age, the end of a connection",
	 .get = {.object = pairs_dropped}},
	{"elephants", BY_NOW, EXPR_COUNT, S | ALL_S, "[X]",
	 "flows that are elephants at the end of the window", .get = {.whole = F_ELEPHANTS_now}},
	{"elephants_began", BY_COUNT, EXPR_COUNT, S | ALL_S, "[X]",
	 "times that a flow became an elephant", .get = {.whole = F_ELEPHANTS_began}},
	{"elephant_frames", BY_COUNT, EXPR_COUNT, S | ALL_S, "[X]",
	 "frames of elephants that arrived", .get = {.whole = F_ELEPHANTS_elephant_frames}},
	{"mice_frames", BY_COUNT, EXPR_COUNT, S | ALL_S, "[X]",
	 "frames that arrived as mice: the first ones of a flow, or after a pause",
	 .get = {.whole = F_ELEPHANTS_mice_frames}},
	{"bursts", BY_COUNT, EXPR_COUNT, SPQ | ALL_S, "[X]",
	 "microbursts of queues that began; 0 without `microbursts` in the policy",
	 .get = {.part = metric_bursts}},
	{"first_crossing_at", BY_WATCH, EXPR_TIME, SPQ, "X",
	 "exact time at which a queue first rose above the kmin of its WRED curve in the window"},
	{"first_cut_at", BY_WATCH, EXPR_TIME, H | ALL_H, "[X]",
	 "exact time at which a reaction point of the host, or without X of any, first lowered "
	 "its rate in the window",
	 .who = WHO_SENDS},
	{"jain", BY_LIST, EXPR_COUNT, 0, "LIST",
	 "Jain's fairness index: 1 when all are equal, 1/n when one has everything",
	 .list = LIST_JAIN},
	{"sum", BY_LIST, EXPR_AS_LIST, 0, "LIST", "the sum", .list = LIST_SUM},
	{"mean", BY_LIST, EXPR_AS_LIST, 0, "LIST", "the mean", .list = LIST_MEAN},
	{"min", BY_LIST, EXPR_AS_LIST, 0, "LIST", "the least", .list = LIST_MIN},
	{"max", BY_LIST, EXPR_AS_LIST, 0, "LIST", "the greatest", .list = LIST_MAX},
	{"count", BY_LIST, EXPR_COUNT, 0, "LIST", "how many values there are", .list = LIST_COUNT},
};
const uint32_t expr_n_funcs = N(expr_funcs);
