// SPDX-License-Identifier: Apache-2.0
#include "control/lab/metric.h"

#include <errno.h>
#include <stdlib.h>

#include "control/lab/chain.h"
#include "dataplane/qos/pg.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/units.h"

enum { LINE_BYTES = LINK_OVERHEAD_BYTES };

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

double metric_paused_ns(const struct pfc_class_stats *s, uint64_t now_ns)
{
	return (double)(ctr_get(&s->duration_ns) + pfc_pause_so_far(s, now_ns));
}

static double pfc_metric(enum metric m, const struct pfc_class_stats *s, uint64_t now_ns)
{
	switch (m) {
	case METRIC_PAUSES_TX:
	case METRIC_PAUSES_RX:
		return (double)ctr_get(&s->frames);
	case METRIC_XOFFS_TX:
	case METRIC_XOFFS_RX:
		return (double)ctr_get(&s->transitions);
	default:
		return metric_paused_ns(s, now_ns);
	}
}

static bool is_pfc(enum metric m)
{
	return m >= METRIC_PAUSES_TX && m <= METRIC_PAUSED_RX_NS;
}

static bool is_pfc_rx(enum metric m)
{
	return m == METRIC_PAUSES_RX || m == METRIC_XOFFS_RX || m == METRIC_PAUSED_RX_NS;
}

// ---- hosts

static double host_class(enum metric m, const struct nic_class_stats *c)
{
	switch (m) {
	case METRIC_TX_LINE_BYTES:
		return (double)(c->tx_bytes + LINE_BYTES * c->tx_packets);
	case METRIC_TX_BYTES:
		return (double)c->tx_bytes;
	case METRIC_TX_PACKETS:
		return (double)c->tx_packets;
	case METRIC_RX_LINE_BYTES:
		return (double)(c->rx_bytes + LINE_BYTES * c->rx_packets);
	case METRIC_RX_PACKETS:
		return (double)c->rx_packets;
	case METRIC_GOODPUT_BYTES:
		return (double)c->goodput_bytes;
	default:
		return (double)c->ce_marked;
	}
}

static double host_whole(enum metric m, const struct nic_stats *s)
{
	switch (m) {
	case METRIC_CNPS_WRONG:
		return (double)s->cnps_wrong;
	case METRIC_DROPS:
		return (double)s->rx_dropped;
	case METRIC_CNPS_TX:
		return (double)s->cnps_sent;
	case METRIC_CNPS_RX:
		return (double)s->cnps_received;
	case METRIC_RETRANSMISSIONS:
		return (double)s->retransmissions;
	case METRIC_SPURIOUS:
		return (double)s->duplicates;
	case METRIC_TIMEOUTS:
		return (double)s->timeouts;
	case METRIC_FAST_RETRANSMITS:
		return (double)s->fast_retransmits;
	case METRIC_ECE:
		return (double)s->ece_received;
	case METRIC_NAKS:
		return (double)s->naks_sent;
	case METRIC_MESSAGES:
		return (double)s->messages_completed;
	default:
		return (double)s->messages_posted;
	}
}

static bool is_host_whole(enum metric m)
{
	return m == METRIC_DROPS || m == METRIC_CNPS_WRONG ||
	       (m >= METRIC_CNPS_TX && m <= METRIC_POSTED);
}

static double host_metric(const struct metric_world *w, enum metric m, uint32_t host, int cls)
{
	struct nic *nic = w->fabric->hosts[host].nic;
	const struct nic_stats *s;
	double sum = 0;

	s = nic_stats_now(nic);
	if (is_host_whole(m))
		return host_whole(m, s);
	for (int c = 0; c < NIC_CLASSES; c++) {
		if (cls >= 0 && c != cls)
			continue;
		if (is_pfc(m))
			sum += pfc_metric(m,
					  is_pfc_rx(m) ? &nic_pfc_rx(nic)->stats[c]
						       : &nic_pfc_tx(nic)->stats[c],
					  w->fabric->clock.now_ns);
		else
			sum += host_class(m, &s->cls[c]);
	}
	return sum;
}

// ---- connections

// What congestion control says now, not a count.
static bool is_state(enum metric m)
{
	return m == METRIC_CC_RATE || m == METRIC_ALPHA || m == METRIC_CWND;
}

// NaN: it is closed.
static double conn_state(const struct metric_world *w, enum metric m, const struct traffic_conn *c)
{
	const struct sc_host *hosts = w->fabric->sc->hosts;
	bool reversed = w->fabric->sc->flows[c->flow].op.n == REQ_READ;
	struct nic_flow_status st;

	if (c->id == TRAFFIC_NOT_OPEN)
		return __builtin_nan("");
	st = nic_flow_status(w->fabric->hosts[c->src].nic, c->id);
	if (m == METRIC_ALPHA)
		return (double)st.alpha_ppm / PPM;
	if (m == METRIC_CWND)
		return flow_is_tcp(&w->fabric->sc->flows[c->flow])
			       ? (double)st.tcp.cwnd_bytes
			       : __builtin_nan("");
	return (double)(st.rate_bps != 0 ? st.rate_bps
					 : hosts[reversed ? c->dst : c->src].nic.speed_bps);
}

static bool is_service(const struct metric_world *w, uint32_t conn)
{
	const struct traffic_conn *c = traffic_conn(w->traffic, conn);
	enum lab_pattern pattern = flow_pattern(&w->fabric->sc->flows[c->flow]);

	return pattern == PATTERN_REQUEST || pattern == PATTERN_STORAGE;
}

static bool is_of_tcp(enum metric m)
{
	return m >= METRIC_RETRANSMISSIONS && m <= METRIC_ECE;
}

static double tcp_metric(enum metric m, const struct traffic_counts *n)
{
	switch (m) {
	case METRIC_RETRANSMISSIONS:
		return (double)n->retransmissions;
	case METRIC_TIMEOUTS:
		return (double)n->timeouts;
	case METRIC_FAST_RETRANSMITS:
		return (double)n->fast_retransmits;
	default:
		return (double)n->ece;
	}
}

static double conn_metric(const struct metric_world *w, enum metric m, uint32_t conn)
{
	struct traffic_counts n;

	if (is_state(m))
		return conn_state(w, m, traffic_conn(w->traffic, conn));
	// What a service posts are requests, answers and data, not its operations.
	if (m == METRIC_POSTED && is_service(w, conn))
		return __builtin_nan("");
	n = traffic_conn_counts(w->traffic, conn);
	// A queue pair does not keep them for itself.
	if (is_of_tcp(m))
		return flow_is_tcp(&w->fabric->sc->flows[traffic_conn(w->traffic, conn)->flow])
			       ? tcp_metric(m, &n)
			       : __builtin_nan("");
	switch (m) {
	case METRIC_GOODPUT_BYTES:
		return (double)n.acked_bytes;
	case METRIC_TX_LINE_BYTES:
		return (double)(n.tx_bytes + LINE_BYTES * n.tx_packets);
	case METRIC_TX_BYTES:
		return (double)n.tx_bytes;
	case METRIC_CNPS_RX:
		return (double)n.cnps;
	case METRIC_MESSAGES:
		return (double)n.completed;
	default:
		return (double)n.posted;
	}
}

// The mean over the connections that are open.
static double flow_state(const struct metric_world *w, enum metric m, const struct metric_flow *f)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		double v = conn_metric(w, m, f->conns[i]);

		if (v != v)
			continue;
		sum += v;
		n++;
	}
	return n == 0 ? __builtin_nan("") : sum / n;
}

static double flow_done(const struct metric_world *w, uint32_t flow)
{
	uint64_t ns = traffic_flow_done_ns(w->traffic, flow);

	return ns == UINT64_MAX ? __builtin_nan("") : (double)ns;
}

static double flow_metric(const struct metric_world *w, enum metric m, const struct expr_object *o)
{
	const struct metric_flow *f = &w->flows[o->node];
	double sum = 0;

	if (m == METRIC_DONE)
		return flow_done(w, o->node);
	if (o->kind == OBJ_FLOW && m == METRIC_MESSAGES)
		return (double)f->n_done;
	if (o->kind == OBJ_CONN)
		return o->conn < f->n ? conn_metric(w, m, f->conns[o->conn]) : 0;
	if (is_state(m))
		return flow_state(w, m, f);
	for (uint32_t i = 0; i < f->n; i++)
		sum += conn_metric(w, m, f->conns[i]);
	return sum;
}

// ---- switches

struct spot {
	const struct metric_world *w;
	const struct expr_leaf *leaf;
	struct weir_switch *sw;
	unsigned port, cls;
};

static double drops_at(const struct spot *at, bool lossless_only)
{
	const struct policy *pol = switch_policy(at->sw);
	bool lossless = pol->ports[at->port].classify.lossless >> at->cls & 1;
	uint64_t n = 0;

	if (lossless_only && !lossless)
		return 0;
	for (int r = 0; r < N_DROP_REASONS; r++)
		if ((at->leaf->choice < 0 || r == at->leaf->choice) &&
		    (!lossless_only || drop_info[r].loss))
			n += ctr_get(&switch_drops(at->sw, at->port, at->cls, (enum drop_reason)r)
					      ->packets);
	return (double)n;
}

static double group_bytes(const struct spot *at, enum metric m)
{
	const struct pg_state *s = switch_pg_state(at->sw, at->port, at->cls);
	uint64_t cells = gauge_get(&s->headroom);

	if (m == METRIC_PG_BYTES)
		cells += gauge_get(&s->min_used) + gauge_get(&s->shared) + gauge_get(&s->skid);
	return (double)(cells * switch_policy(at->sw)->cell.bytes);
}

static double spot_metric(const struct spot *at, enum metric m)
{
	const struct queue_counters *q = switch_queue_counters(at->sw, at->port, at->cls);
	const struct pg_counters *pg = switch_pg_counters(at->sw, at->port, at->cls);

	if (is_pfc(m))
		return pfc_metric(m,
				  is_pfc_rx(m) ? &switch_pfc_rx(at->sw, at->port)->stats[at->cls]
					       : &switch_pfc_tx(at->sw, at->port)->stats[at->cls],
				  at->w->fabric->clock.now_ns);
	if (m >= METRIC_STORMS && m <= METRIC_REMAPPED)
		return metric_watchdog(at->sw, m, at->port, at->cls);
	switch (m) {
	case METRIC_TX_LINE_BYTES:
		return (double)(ctr_get(&q->tx_bytes) + LINE_BYTES * ctr_get(&q->tx_packets));
	case METRIC_RX_PACKETS:
		return (double)ctr_get(&pg->rx_packets);
	case METRIC_FRAMES_QUEUED:
		return (double)gauge_get(&q->length_packets);
	case METRIC_TX_BYTES:
		return (double)ctr_get(&q->tx_bytes);
	case METRIC_TX_PACKETS:
		return (double)ctr_get(&q->tx_packets);
	case METRIC_RX_LINE_BYTES:
		return (double)(ctr_get(&pg->rx_bytes) + LINE_BYTES * ctr_get(&pg->rx_packets));
	case METRIC_MARKS:
		return (double)ctr_get(&q->ecn_marked);
	case METRIC_QUEUE_BYTES:
		return (double)gauge_get(&q->length_bytes);
	case METRIC_DROPS:
	case METRIC_LOSSLESS_DROPS:
		return drops_at(at, m == METRIC_LOSSLESS_DROPS);
	default:
		return group_bytes(at, m);
	}
}

static double stuck(const struct spot *at, const struct expr_object *o)
{
	uint32_t sw = 0;

	while (at->w->fabric->switches[sw].sw != at->sw)
		sw++;
	return chain_fabric_stuck(at->w->fabric, sw,
				  o->kind == OBJ_PORT || o->kind == OBJ_QUEUE ? o->port : -1,
				  o->cls);
}

static double switch_metric(struct spot *at, enum metric m, const struct expr_object *o)
{
	unsigned n_ports = switch_policy(at->sw)->n_ports;
	unsigned first = o->kind == OBJ_SWITCH || o->kind == OBJ_ALL_SWITCHES ? 0 : o->port;
	unsigned last =
		first == 0 && o->kind != OBJ_PORT && o->kind != OBJ_QUEUE ? n_ports : first + 1u;
	double sum = 0;

	if (m == METRIC_STUCK)
		return stuck(at, o);
	if (m == METRIC_POOL_BYTES)
		return (double)(switch_pool(at->sw, (enum pool_id)at->leaf->choice).used *
				switch_policy(at->sw)->cell.bytes);
	for (at->port = first; at->port < last; at->port++)
		for (at->cls = 0; at->cls < N_CLASSES; at->cls++)
			if (o->cls < 0 || at->cls == (unsigned)o->cls)
				sum += spot_metric(at, m);
	return sum;
}

static double frames_on_wires(const struct fabric *f)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++)
			n += wire_counts(wire_end(f->links[i].wire, side)).in_flight;
	return (double)n;
}

double metric_read(const struct metric_world *w, const struct expr_leaf *leaf, enum metric m,
		   const struct expr_object *o)
{
	struct spot at = {.w = w, .leaf = leaf};
	double sum = 0;

	if (metric_is_cnp(m) && o->kind >= OBJ_SWITCH && o->kind != OBJ_ALL_HOSTS)
		return metric_cnp(w, leaf, m, o);
	switch ((enum expr_object_kind)o->kind) {
	case OBJ_HOST:
	case OBJ_HOST_CLASS:
		return host_metric(w, m, o->node, o->cls);
	case OBJ_FLOW:
	case OBJ_CONN:
		return flow_metric(w, m, o);
	case OBJ_ALL_HOSTS:
		for (uint32_t i = 0; i < w->fabric->sc->n_hosts; i++)
			sum += host_metric(w, m, i, -1);
		return sum;
	case OBJ_ALL_SWITCHES:
		if (m == METRIC_FRAMES_ON_WIRES)
			return frames_on_wires(w->fabric);
		for (uint32_t i = 0; i < w->fabric->sc->n_switches; i++) {
			at.sw = w->fabric->switches[i].sw;
			sum += switch_metric(&at, m, o);
		}
		return sum;
	default:
		at.sw = w->fabric->switches[o->node].sw;
		return switch_metric(&at, m, o);
	}
}

double metric_speed(const struct metric_world *w, const struct expr_object *o)
{
	if (o->kind <= OBJ_HOST_CLASS)
		return (double)w->fabric->sc->hosts[o->node].nic.speed_bps;
	return (double)switch_policy(w->fabric->switches[o->node].sw)->ports[o->port].speed_bps;
}

struct level metric_level(const struct expr_object *o)
{
	bool port = o->kind == OBJ_PORT || o->kind == OBJ_QUEUE;

	return (struct level){
		.sw = o->node, .port = port ? (int16_t)o->port : -1, .queue = o->cls};
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

double metric_operation(const struct metric_world *w, enum metric m, const struct traffic_done *d)
{
	uint64_t ideal;

	switch (m) {
	case METRIC_WAIT:
		return (double)(d->first_tx_ns - d->posted_ns);
	case METRIC_SEND:
		return (double)(d->last_tx_ns - d->first_tx_ns);
	case METRIC_NET:
		return (double)(d->done_ns - d->last_tx_ns);
	case METRIC_FCT:
		return (double)(d->done_ns - d->posted_ns);
	default:
		ideal = traffic_ideal_ns(w->traffic, d);
		return ideal == 0 ? __builtin_nan("")
				  : (double)(d->done_ns - d->posted_ns) / (double)ideal;
	}
}

static bool is_among(uint32_t host, const uint32_t *hosts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (hosts[i] == host)
			return true;
	return false;
}

// Data of a READ come from the one that is asked; both ends of operations send and receive.
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
