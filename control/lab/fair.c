// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fair.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/maxmin.h"
#include "control/lab/routes.h"
#include "dataplane/base/units.h"
#include "drivers/nic/requester.h"

enum {
	MAX_STREAMS = 8192, // of more there is no ideal rate
	MAX_EPOCHS = 64, // likewise, of times at which a stream begins or ends
	MAX_USES = 256, // links of one connection
	MAX_HOPS = 16,
	SHORTEST_NS = 1000000, // streams of less raise no alarm
	STREAM_PACKETS = 128,
};
static const double low = 0.8; // an alarm: below this part of the ideal rate

struct stream {
	const struct lab_flow *f;
	uint32_t flow, row; // of traffic_conn
	uint32_t src, dst; // of the data
	uint8_t cls;
	bool is_spread; // over equal ways
	uint64_t from_ns, to_ns; // it sends
	double most_bps; // by its key `rate`
	double payload; // part of its bits on a line
	double measured_bits, ideal_bits; // payload
};

// A direction of a link, numbered 2 * link + the end that sends.
struct way_state {
	uint8_t classes; // of streams
	bool is_mixed; // other traffic, too
};

struct fair {
	const struct fabric *fabric;
	const struct traffic *t;
	const struct scenario *sc;
	struct routes routes;
	uint64_t end_ns;
	struct stream *streams;
	struct maxmin_conn *conns; // of streams; inactive ones have no uses for a while
	uint32_t n;
	struct maxmin_use *uses;
	uint32_t n_uses, uses_room;
	struct way_state *ways;
	double *left_bps, *load;
	bool is_known; // ideal_bits are there
	bool has_faults; // and commands, but for `show`
};

// ---- ways

static bool add_use(struct fair *f, uint32_t link, unsigned side, double share, uint32_t first)
{
	uint32_t way = 2 * link + side;

	for (uint32_t u = first; u < f->n_uses; u++)
		if (f->uses[u].link == way) {
			f->uses[u].share += share;
			return true;
		}
	if (f->n_uses - first == MAX_USES)
		return false;
	if (f->n_uses == f->uses_room) {
		uint32_t room = f->uses_room != 0 ? 2 * f->uses_room : 1024;
		struct maxmin_use *more = realloc(f->uses, room * sizeof(*more));

		if (more == NULL)
			return false;
		f->uses = more;
		f->uses_room = room;
	}
	f->uses[f->n_uses++] = (struct maxmin_use){way, share};
	return true;
}

// Adds the ways from a switch on. False: there is none, or there are too many.
static bool spread(struct fair *f, uint32_t sw, uint32_t to, double share, uint32_t first,
		   unsigned hops)
{
	struct way way = routes_way(&f->routes, sw, to, NULL, 0);

	if (way.n == 0 || hops == MAX_HOPS)
		return false;
	for (unsigned i = 0; i < way.n; i++) {
		const struct sc_port *p = &f->sc->switches[sw].ports[way.ports[i]];
		const struct sc_end *next;

		if (p->link == SC_NO_LINK || !add_use(f, p->link, p->side, share / way.n, first))
			return false;
		next = &f->sc->links[p->link].end[1 - p->side];
		if (next->is_switch &&
		    !spread(f, next->node, to, share / way.n, first, hops + 1))
			return false;
	}
	return true;
}

// The links from a host to another one. False: unknown.
static bool add_ways(struct fair *f, uint32_t src, uint32_t dst, struct maxmin_conn *c)
{
	uint32_t link = f->sc->hosts[src].link;
	const struct sc_link *l;
	unsigned side;

	c->first = f->n_uses;
	if (link == SC_NO_LINK)
		return false;
	l = &f->sc->links[link];
	side = !l->end[0].is_switch && l->end[0].node == src ? 0 : 1;
	if (!add_use(f, link, side, 1, c->first))
		return false;
	if (l->end[1 - side].is_switch &&
	    !spread(f, l->end[1 - side].node, dst, 1, c->first, 0))
		return false;
	c->n = f->n_uses - c->first;
	return true;
}

// ---- who uses them

static bool is_stream(const struct lab_flow *f)
{
	return f->size_kind == SIZE_UNLIMITED;
}

// The hosts that send and get the data.
static void ends_of(const struct lab_flow *f, const struct traffic_conn *c, uint32_t *src,
		    uint32_t *dst)
{
	bool back = !flow_is_tcp(f) && f->op.n == REQ_READ;

	*src = back ? c->dst : c->src;
	*dst = back ? c->src : c->dst;
}

static bool add_stream(struct fair *f, uint32_t row, const struct traffic_conn *c)
{
	const struct lab_flow *flow = &f->sc->flows[c->flow];
	struct stream *s = &f->streams[f->n];
	uint32_t message = STREAM_PACKETS * flow->payload;
	uint64_t wire = workload_wire_bytes((uint8_t)flow->op.n, flow->payload, message,
					    flow_extra(flow, &f->sc->hosts[c->src]));

	*s = (struct stream){.f = flow, .flow = c->flow, .row = row, .cls = c->cls,
			     .from_ns = (uint64_t)flow->start.n,
			     .to_ns = min_u64(flow_stop_ns(flow), f->end_ns)};
	ends_of(flow, c, &s->src, &s->dst);
	s->payload = (double)message / (double)wire;
	s->measured_bits = BITS_PER_BYTE *
			   (double)traffic_conn_counts(f->t, row).acked_bytes;
	s->most_bps = flow->rate.n > 0 ? (double)flow->rate.n : INFINITY;
	if (!add_ways(f, s->src, s->dst, &f->conns[f->n]))
		return false;
	for (uint32_t u = f->conns[f->n].first; u < f->n_uses; u++) {
		f->ways[f->uses[u].link].classes |= (uint8_t)(1u << s->cls);
		s->is_spread |= f->uses[u].share < 1;
	}
	f->n++;
	return true;
}

// Messages and operations: no ideal rate, but they take some of the links of both directions.
static bool add_others(struct fair *f, const struct traffic_conn *c)
{
	uint32_t before = f->n_uses;
	struct maxmin_conn there, back;
	bool ok = add_ways(f, c->src, c->dst, &there) && add_ways(f, c->dst, c->src, &back);

	for (uint32_t u = before; u < f->n_uses; u++)
		f->ways[f->uses[u].link].is_mixed = true;
	f->n_uses = before;
	return ok;
}

static bool add_all(struct fair *f)
{
	for (uint32_t i = 0; i < traffic_n_conns(f->t); i++) {
		const struct traffic_conn *c = traffic_conn(f->t, i);
		bool ok = is_stream(&f->sc->flows[c->flow]) ? add_stream(f, i, c)
							     : add_others(f, c);

		if (!ok)
			return false;
	}
	return true;
}

// ---- rates, from time to time

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

// The times at which the set of streams changes, with the end. 0: too many.
static uint32_t epochs_of(const struct fair *f, uint64_t at[MAX_EPOCHS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 2 * f->sc->n_flows; i++) {
		const struct lab_flow *flow = &f->sc->flows[i / 2];
		uint64_t t = i % 2 == 0 ? (uint64_t)flow->start.n
					: min_u64(flow_stop_ns(flow), f->end_ns);
		uint32_t k = 0;

		while (k < n && at[k] != t)
			k++;
		if (!is_stream(flow) || t > f->end_ns || k < n)
			continue;
		if (n == MAX_EPOCHS)
			return 0;
		at[n++] = t;
	}
	qsort(at, n, sizeof(*at), ascending);
	return n;
}

static void fill_epoch(struct fair *f, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t n_ways = 2 * f->sc->n_links;

	for (uint32_t w = 0; w < n_ways; w++)
		f->left_bps[w] = (double)f->sc->links[w / 2].speed_bps;
	for (uint32_t i = 0; i < f->n; i++) {
		bool active = f->streams[i].from_ns <= from_ns && to_ns <= f->streams[i].to_ns;

		f->conns[i].most_bps = active ? f->streams[i].most_bps : 0;
	}
	maxmin_fill(f->left_bps, f->load, n_ways, f->uses, f->conns, f->n);
	for (uint32_t i = 0; i < f->n; i++)
		f->streams[i].ideal_bits += f->conns[i].rate_bps * f->streams[i].payload *
					    (double)(to_ns - from_ns) / SECOND_NS;
}

int fair_create(const struct fabric *fabric, const struct traffic *t, uint64_t end_ns,
		struct fair **out)
{
	const struct scenario *sc = fabric->sc;
	uint64_t at[MAX_EPOCHS];
	uint32_t n_epochs, n_rows = traffic_n_conns(t);
	struct fair *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	*f = (struct fair){.fabric = fabric, .t = t, .sc = sc, .end_ns = end_ns};
	for (uint32_t i = 0; i < sc->n_faults; i++)
		f->has_faults |= sc->faults[i].kind != SC_WEIRCTL ||
				 strncmp(sc->faults[i].words, "show ", 5) != 0;
	*out = f;
	n_epochs = epochs_of(f, at);
	if (n_epochs < 2 || n_rows > MAX_STREAMS)
		return 0;
	f->streams = calloc(n_rows, sizeof(*f->streams));
	f->conns = calloc(n_rows, sizeof(*f->conns));
	f->ways = calloc(2 * sc->n_links, sizeof(*f->ways));
	f->left_bps = calloc(2 * sc->n_links, sizeof(*f->left_bps));
	f->load = calloc(2 * sc->n_links, sizeof(*f->load));
	if (f->streams == NULL || f->conns == NULL || f->ways == NULL || f->left_bps == NULL ||
	    f->load == NULL)
		return -ENOMEM;
	routes_derive(sc, &f->routes);
	f->is_known = add_all(f);
	for (uint32_t i = 0; i + 1 < n_epochs && f->is_known; i++)
		fill_epoch(f, at[i], at[i + 1]);
	return 0;
}

void fair_destroy(struct fair *f)
{
	if (f == NULL)
		return;
	free(f->streams);
	free(f->conns);
	free(f->uses);
	free(f->ways);
	free(f->left_bps);
	free(f->load);
	free(f);
}

double fair_flow_bps(const struct fair *f, uint32_t flow)
{
	double bits = 0;
	bool any = false;

	for (uint32_t i = 0; f != NULL && f->is_known && i < f->n; i++)
		if (f->streams[i].flow == flow) {
			bits += f->streams[i].ideal_bits;
			any = true;
		}
	return any && f->end_ns != 0 ? bits * SECOND_NS / (double)f->end_ns : __builtin_nan("");
}

// ---- alarm

static bool was_paused(const struct fair *f, const struct stream *s, uint32_t way)
{
	const struct sc_end *from = &f->sc->links[way / 2].end[way % 2];
	const struct pfc_rx_state *rx = from->is_switch
					  ? switch_pfc_rx(f->fabric->switches[from->node].in.sw,
							  from->port)
					  : nic_pfc_rx(f->fabric->hosts[from->node].nic);

	return ctr_get(&rx->stats[s->cls].frames) != 0;
}

// Whether something explains a rate below the ideal one.
static bool has_reason(const struct fair *f, uint32_t i)
{
	const struct stream *s = &f->streams[i];
	const struct nic_stats *n = nic_stats_now(f->fabric->hosts[s->src].nic);

	if (flow_is_tcp(s->f) || s->is_spread || f->has_faults || n->retransmissions != 0 ||
	    n->timeouts != 0 || traffic_conn_counts(f->t, s->row).cnps != 0)
		return true;
	for (uint32_t u = f->conns[i].first; u < f->conns[i].first + f->conns[i].n; u++) {
		const struct way_state *w = &f->ways[f->uses[u].link];

		if (w->is_mixed || w->classes != 1u << s->cls ||
		    was_paused(f, s, f->uses[u].link))
			return true;
	}
	return false;
}

struct fair_alarm fair_alarm(const struct fair *f)
{
	struct fair_alarm a = {0};
	double lowest = low;

	for (uint32_t i = 0; f != NULL && f->is_known && i < f->n; i++) {
		const struct stream *s = &f->streams[i];
		double ns = (double)(s->to_ns - s->from_ns);

		if (s->to_ns < s->from_ns + SHORTEST_NS ||
		    s->measured_bits >= low * s->ideal_bits || has_reason(f, i))
			continue;
		a.n++;
		if (s->measured_bits >= lowest * s->ideal_bits)
			continue;
		lowest = s->measured_bits / s->ideal_bits;
		a.flow = s->flow;
		a.src = s->src;
		a.dst = s->dst;
		a.measured_bps = s->measured_bits * SECOND_NS / ns;
		a.ideal_bps = s->ideal_bits * SECOND_NS / ns;
	}
	return a;
}
