// SPDX-License-Identifier: Apache-2.0
// The report as JSON. Names are those of `weirctl show --json` where they say the same
// (counters.md). Whole numbers are integers; what is not measured is null. Objects that carried
// nothing are left out.
#include <inttypes.h>
#include <json-c/json.h>

#include "control/lab/lab_capture.h"
#include "control/lab/metric.h"
#include "control/lab/report_rows.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"

// A whole number as an integer, else nine digits; null for NaN.
static void report_number(struct json_object *row, const char *key, double v)
{
	char text[32];

	if (v != v) {
		json_object_object_add(row, key, NULL);
	} else if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v) {
		json_object_object_add(row, key, json_object_new_int64((int64_t)v));
	} else {
		snprintf(text, sizeof(text), "%.9g", v);
		json_object_object_add(row, key, json_object_new_double_s(v, text));
	}
}

// Rates are whole bits per second.
static void put_rate(struct json_object *row, const char *key, double bps)
{
	row_u64(row, key, (uint64_t)bps);
}

// ---- expectations

static const char *const unit_name[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "",	[EXPR_SHARE] = "share", [EXPR_RATE] = "bps",
	[EXPR_BYTES] = "bytes", [EXPR_TIME] = "ns",
};

static void put_verdicts(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "expectations");

	for (uint32_t i = 0; i < measure_n_expects(r->measure); i++) {
		struct measure_verdict v = measure_expect(r->measure, i);
		struct json_object *row = row_in(list);

		row_text(row, "expectation", v.source.text);
		if (v.source.at.origin != NULL)
			row_text(row, "written", v.source.at.origin->written);
		row_u64(row, "line", v.source.at.line);
		row_bool(row, "known", v.known);
		row_bool(row, "passed", v.pass);
		report_number(row, "value", v.value);
		row_text(row, "unit", unit_name[v.unit]);
		row_text(row, "measured", v.measured);
		row_text(row, "expected", v.expected);
		row_text(row, "tolerance", v.tolerance);
	}
	list = list_in(out, "metrics");
	for (uint32_t i = 0; i < measure_n_asked(r->measure); i++) {
		struct measure_verdict v = measure_asked(r->measure, i);
		struct json_object *row = row_in(list);

		row_text(row, "metric", v.source.text);
		row_bool(row, "known", v.known);
		report_number(row, "value", v.value);
		row_text(row, "unit", unit_name[v.unit]);
		row_text(row, "measured", v.measured);
	}
}

// ---- hosts and flows

// A number under the name of its member.
#define PUT(stats, member) row_u64(row, #member, (stats)->member)

static void put_host(const struct run *r, uint32_t host, struct json_object *row)
{
	const struct nic_stats *s = nic_stats_now(r->fabric->hosts[host].nic);
	struct host_row h = report_host(r, host);

	row_text(row, KEY(VERSION, name), r->sc->hosts[host].name);
	row_u64(row, KEY(PORTS, speed_bps), r->sc->hosts[host].nic.speed_bps);
	row_u64(row, "rto_ns", report_rto_ns(r, host));
	PUT(&h, tx_packets);
	PUT(&h, tx_bytes);
	PUT(&h, rx_packets);
	PUT(&h, rx_bytes);
	PUT(&h, goodput_bytes);
	put_rate(row, KEY(PORTS, tx_bps), h.tx_bps);
	put_rate(row, "goodput_bps", h.goodput_bps);
	PUT(s, messages_posted);
	PUT(s, messages_completed);
	PUT(s, messages_served);
	PUT(&h, ce_marked);
	PUT(s, cnps_sent);
	PUT(s, cnps_received);
	PUT(s, cnps_wrong);
	PUT(s, cnps_late);
	PUT(s, rate_cuts);
	PUT(&h, rx_pause);
	PUT(&h, rx_pause_duration_us);
	PUT(&h, tx_pause);
	PUT(&h, tx_pause_duration_us);
	PUT(s, retransmissions);
	row_u64(row, "spurious", s->duplicates);
	PUT(s, timeouts);
	PUT(s, naks_sent);
	PUT(s, naks_received);
	PUT(s, out_of_sequence);
	PUT(s, rx_dropped);
	PUT(s, payload_errors);
	PUT(s, icrc_errors);
}

static void put_times(struct json_object *row, const char *key, const struct lab_flow_row *f)
{
	struct json_object *o = json_object_new_object();

	report_number(o, "p50", f->fct_p50);
	report_number(o, "p99", f->fct_p99);
	report_number(o, KEY(FLOW_TABLE, max), f->fct_max);
	json_object_object_add(row, key, o);
	o = json_object_new_object();
	report_number(o, "p50", f->slowdown_p50);
	report_number(o, "p99", f->slowdown_p99);
	json_object_object_add(row, "slowdown", o);
}

static void put_tcp(struct json_object *row, const struct lab_flow_row *f)
{
	PUT(&f->tcp, retransmissions);
	PUT(&f->tcp, timeouts);
	PUT(&f->tcp, fast_retransmits);
	row_u64(row, "ece_received", f->tcp.ece);
	report_number(row, "cwnd_bytes", f->cwnd_bytes);
}

static void put_flow(const struct run *r, uint32_t flow, struct json_object *row)
{
	struct lab_flow_row f = report_flow(r, flow);

	row_text(row, KEY(VERSION, name), r->sc->flows[flow].label);
	row_u64(row, "connections", f.n_conns);
	row_u64(row, "goodput_bytes", f.bytes);
	put_rate(row, "goodput_bps", f.goodput_bps);
	row_u64(row, "operations", f.n_done);
	report_number(row, "done_ns", f.done_ns);
	put_times(row, "fct_ns", &f);
	if (flow_is_tcp(&r->sc->flows[flow]))
		put_tcp(row, &f);
}

// ---- switches

// The lists of a switch; the rows of a port's queues, classes and groups.
struct switch_lists {
	struct observe *observe;
	uint64_t end_ns;
	struct json_object *ports, *queues, *pfc, *pgs;
};

static void put_facts(const struct switch_lists *l, struct json_object *list,
		      const enum fact_id *facts, unsigned port, unsigned i)
{
	observe_facts(l->observe, row_in(list), facts, port, i, l->end_ns);
}

static void put_port(const struct switch_lists *l, unsigned port)
{
	static const enum fact_id facts[] = {
		F_PORTS_name, F_PORTS_speed_bps, F_PORTS_rx_packets, F_PORTS_rx_bytes,
		F_PORTS_tx_packets, F_PORTS_tx_bytes, F_PORTS_bad_l3, F_PORTS_queued, F_NONE};
	const struct port_counters *c = switch_port_counters(observe_switch(l->observe), port);
	uint64_t bytes = ctr_get(&c->tx_bytes) + 24 * ctr_get(&c->tx_packets);
	struct json_object *row;

	if (ctr_get(&c->received) == 0 && ctr_get(&c->transmitted) == 0)
		return;
	row = row_in(l->ports);
	observe_facts(l->observe, row, facts, port, 0, l->end_ns);
	put_rate(row, KEY(PORTS, tx_bps),
		 l->end_ns == 0 ? 0 : (double)bytes * 8e9 / (double)l->end_ns);
}

// Of queue, class and group k, those that frames have passed.
static void put_parts(const struct switch_lists *l, unsigned port, unsigned k)
{
	static const enum fact_id queue[] = {
		F_QUEUES_port, F_QUEUES_queue, F_QUEUES_tx_packets, F_QUEUES_tx_bytes,
		F_QUEUES_ecn_marked, F_QUEUES_dropped_packets, F_QUEUES_dropped_bytes,
		F_QUEUES_length_bytes, F_QUEUES_length_packets, F_QUEUES_max_bytes,
		F_QUEUES_paused, F_NONE};
	static const enum fact_id pfc[] = {
		F_PFC_port, F_PFC_class, F_PFC_rx_pause, F_PFC_rx_pause_duration_us,
		F_PFC_rx_pause_transition, F_PFC_tx_pause, F_PFC_tx_pause_duration_us,
		F_PFC_tx_pause_transition, F_PFC_xoff, F_NONE};
	static const enum fact_id group[] = {
		F_PGS_port, F_PGS_pg, F_PGS_rx_packets, F_PGS_rx_bytes, F_PGS_dropped_packets,
		F_PGS_dropped_bytes, F_PGS_min_bytes, F_PGS_shared_bytes, F_PGS_headroom_bytes,
		F_PGS_skid_bytes, F_PGS_max_shared_bytes, F_PGS_max_headroom_bytes, F_NONE};
	struct weir_switch *sw = observe_switch(l->observe);
	const struct queue_counters *q = switch_queue_counters(sw, port, k);
	const struct pg_counters *g = switch_pg_counters(sw, port, k);

	if (ctr_get(&q->tx_packets) != 0 || ctr_get(&q->dropped_packets) != 0 ||
	    gauge_get(&q->length_packets) != 0)
		put_facts(l, l->queues, queue, port, k);
	if (ctr_get(&switch_pfc_rx(sw, port)->stats[k].frames) != 0 ||
	    ctr_get(&switch_pfc_tx(sw, port)->stats[k].frames) != 0)
		put_facts(l, l->pfc, pfc, port, k);
	if (ctr_get(&g->rx_packets) != 0 || ctr_get(&g->dropped_packets) != 0)
		put_facts(l, l->pgs, group, port, k);
}

// One list of an answer to `show`.
static void put_shown(struct json_object *row, const struct switch_lists *l, unsigned list)
{
	const struct fact_list *facts = &fact_lists[list];
	struct json_object *data =
		observe_rows(l->observe, facts->what, OBSERVE_ALL_PORTS, OBSERVE_RAW, l->end_ns);

	json_object_object_add(row, facts->list,
			       json_object_get(json_object_object_get(data, facts->list)));
	json_object_put(data);
}

static void put_switch(const struct run *r, uint32_t i, struct json_object *row)
{
	struct weir_switch *sw = r->fabric->switches[i].sw;
	struct switch_lists l = {.end_ns = r->end_ns};

	row_text(row, KEY(VERSION, name), r->sc->switches[i].name);
	if (observe_create(sw, &l.observe) != 0)
		return;
	l.ports = list_in(row, fact_lists[FACTS_PORTS].list);
	l.queues = list_in(row, fact_lists[FACTS_QUEUES].list);
	l.pfc = list_in(row, fact_lists[FACTS_PFC].list);
	l.pgs = list_in(row, fact_lists[FACTS_PGS].list);
	for (unsigned port = 0; port < switch_policy(sw)->n_ports; port++) {
		put_port(&l, port);
		for (unsigned k = 0; k < N_QUEUES; k++)
			put_parts(&l, port, k);
	}
	put_shown(row, &l, FACTS_DROPS);
	put_shown(row, &l, FACTS_POOLS);
	json_object_object_add(row, fact_lists[FACTS_BALANCE].list, observe_balance(sw));
	observe_destroy(l.observe);
}

static void put_loss(const struct run *r, struct json_object *out)
{
	const struct fabric_loss *l = &r->fabric->first_loss;
	struct json_object *row;
	char port[16];

	row_u64(out, "lossless_drops", report_lossless_drops(r));
	if (!l->seen) {
		json_object_object_add(out, "first_lossless_drop", NULL);
		return;
	}
	row = json_object_new_object();
	row_text(row, "switch", r->sc->switches[l->sw].name);
	snprintf(port, sizeof(port), "p%u", l->port + 1u);
	row_text(row, KEY(QUEUES, port), port);
	row_u64(row, KEY(QUEUES, class), l->cls);
	row_u64(row, "time_ns", l->t_ns);
	json_object_object_add(out, "first_lossless_drop", row);
}

static void put_params(const struct scenario *sc, struct json_object *out)
{
	struct json_object *params = json_object_new_object();

	for (uint32_t i = 0; i < sc->params.n; i++)
		row_text(params, sc->params.rows[i].name, sc->params.rows[i].value);
	json_object_object_add(out, "params", params);
}

static void put_capture(const struct run *r, struct json_object *out)
{
	struct json_object *row;
	struct lab_capture_counts n;

	if (r->capture == NULL) {
		json_object_object_add(out, "capture", NULL);
		return;
	}
	n = lab_capture_counts(r->capture);
	row = json_object_new_object();
	row_text(row, "file", LAB_CAPTURE_FILE);
	row_u64(row, KEY(STAND_IN, frames), n.written);
	row_u64(row, KEY(DROPS, bytes), n.bytes);
	row_u64(row, "cut", n.cut);
	json_object_object_add(out, "capture", row);
}

// Only bins in which time was spent.
static void put_histograms(const struct run *r, struct json_object *list)
{
	for (uint32_t i = 0; i < measure_n_histograms(r->measure); i++) {
		const char *name;
		const struct level *l = measure_histogram(r->measure, i, &name);
		struct json_object *row = row_in(list), *bins;

		row_text(row, KEY(QUEUES, queue), name);
		row_u64(row, "bin_bytes", l->bin_bytes);
		row_u64(row, "time_ns", l->to_ns - l->from_ns);
		report_number(row, "mean_bytes", level_mean_bytes(l));
		row_u64(row, KEY(QUEUES, max_bytes), l->max_bytes);
		bins = list_in(row, "bins");
		for (uint64_t b = 0; b < l->n_bins; b++) {
			struct json_object *bin;

			if (l->bin_ns[b] == 0)
				continue;
			bin = row_in(bins);
			row_u64(bin, "from_bytes", b * l->bin_bytes);
			row_u64(bin, "time_ns", l->bin_ns[b]);
		}
	}
}

struct json_object *report_json(const struct run *r)
{
	struct json_object *out = json_object_new_object(), *list;
	char text[256];

	row_text(out, "scenario", r->sc->name);
	row_u64(out, "seed", r->sc->seed);
	put_params(r->sc, out);
	row_u64(out, "duration_ns", r->sc->duration_ns);
	row_u64(out, "end_ns", r->end_ns);
	row_bool(out, "until_done", r->sc->until_done);
	row_bool(out, "done", traffic_all_done(r->traffic));
	row_bool(out, "complete", !r->broken_off);
	row_bool(out, "passed", report_passed(r));
	row_bool(out, KEY(BALANCE, balanced), fabric_balanced(r->fabric, text, sizeof(text)));
	row_u64(out, "packet_hops", fabric_hops(r->fabric));
	put_loss(r, out);
	report_why_json(r, out);
	report_cnps_json(r, out);
	report_rto_json(r, out);
	put_verdicts(r, out);
	put_capture(r, out);
	put_histograms(r, list_in(out, "histograms"));
	list = list_in(out, "hosts");
	for (uint32_t i = 0; i < r->sc->n_hosts; i++)
		put_host(r, i, row_in(list));
	list = list_in(out, "flows");
	for (uint32_t i = 0; i < r->sc->n_flows; i++)
		put_flow(r, i, row_in(list));
	list = list_in(out, "switches");
	for (uint32_t i = 0; i < r->sc->n_switches; i++)
		put_switch(r, i, row_in(list));
	return out;
}
