// SPDX-License-Identifier: Apache-2.0
// The report as JSON. Names are those of `weirctl show --json` where they say the same
// (counters.md). Whole numbers are integers; what is not measured is null. Objects that carried
// nothing are left out.
#include <inttypes.h>
#include <json-c/json.h>

#include "control/lab/lab_capture.h"
#include "control/lab/metric.h"
#include "control/lab/report_rows.h"
#include "control/observe/field.h"
#include "control/observe/observe.h"

enum { PFC_KEYS = 3 };

void report_number(struct json_object *row, const char *key, double v)
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

static void put_host(const struct run *r, uint32_t host, struct json_object *row)
{
	const struct nic_stats *s = nic_stats_now(r->fabric->hosts[host].nic);
	struct host_row h = report_host(r, host);

	row_text(row, "name", r->sc->hosts[host].name);
	row_u64(row, "speed_bps", r->sc->hosts[host].nic.speed_bps);
	row_u64(row, "rto_ns", report_rto_ns(r, host));
	row_u64(row, "tx_packets", h.tx_packets);
	row_u64(row, "tx_bytes", h.tx_bytes);
	row_u64(row, "rx_packets", h.rx_packets);
	row_u64(row, "rx_bytes", h.rx_bytes);
	row_u64(row, "goodput_bytes", h.goodput_bytes);
	put_rate(row, "tx_bps", h.tx_bps);
	put_rate(row, "goodput_bps", h.goodput_bps);
	row_u64(row, "messages_posted", s->messages_posted);
	row_u64(row, "messages_completed", s->messages_completed);
	row_u64(row, "messages_served", s->messages_served);
	row_u64(row, "ce_marked", h.ce_marked);
	row_u64(row, "cnps_sent", s->cnps_sent);
	row_u64(row, "cnps_received", s->cnps_received);
	row_u64(row, "cnps_wrong", s->cnps_wrong);
	row_u64(row, "cnps_late", s->cnps_late);
	row_u64(row, "rate_cuts", s->rate_cuts);
	row_u64(row, "rx_pause", h.rx_pause);
	row_u64(row, "rx_pause_duration_us", h.rx_pause_duration_us);
	row_u64(row, "tx_pause", h.tx_pause);
	row_u64(row, "tx_pause_duration_us", h.tx_pause_duration_us);
	row_u64(row, "retransmissions", s->retransmissions);
	row_u64(row, "spurious", s->duplicates);
	row_u64(row, "timeouts", s->timeouts);
	row_u64(row, "naks_sent", s->naks_sent);
	row_u64(row, "naks_received", s->naks_received);
	row_u64(row, "out_of_sequence", s->out_of_sequence);
	row_u64(row, "rx_dropped", s->rx_dropped);
	row_u64(row, "payload_errors", s->payload_errors);
	row_u64(row, "icrc_errors", s->icrc_errors);
}

static void put_times(struct json_object *row, const char *key, const struct lab_flow_row *f)
{
	struct json_object *o = json_object_new_object();

	report_number(o, "p50", f->fct_p50);
	report_number(o, "p99", f->fct_p99);
	report_number(o, "max", f->fct_max);
	json_object_object_add(row, key, o);
	o = json_object_new_object();
	report_number(o, "p50", f->slowdown_p50);
	report_number(o, "p99", f->slowdown_p99);
	json_object_object_add(row, "slowdown", o);
}

static void put_tcp(struct json_object *row, const struct lab_flow_row *f)
{
	row_u64(row, "retransmissions", f->tcp.retransmissions);
	row_u64(row, "timeouts", f->tcp.timeouts);
	row_u64(row, "fast_retransmits", f->tcp.fast_retransmits);
	row_u64(row, "ece_received", f->tcp.ece);
	report_number(row, "cwnd_bytes", f->cwnd_bytes);
}

static void put_flow(const struct run *r, uint32_t flow, struct json_object *row)
{
	struct lab_flow_row f = report_flow(r, flow);

	row_text(row, "name", lab_flow_name(lab_flow_of(r->sc, flow)));
	row_u64(row, "connections", f.n_conns);
	row_u64(row, "goodput_bytes", f.bytes);
	put_rate(row, "goodput_bps", f.goodput_bps);
	row_u64(row, "operations", f.n_done);
	report_number(row, "done_ns", f.done_ns);
	put_times(row, "fct_ns", &f);
	if (lab_flow_is_tcp(lab_flow_of(r->sc, flow)))
		put_tcp(row, &f);
}

// ---- switches

static void put_queue(struct weir_switch *sw, unsigned port, unsigned q, struct json_object *list)
{
	static const struct queue_counters none;
	const struct queue_counters *c = switch_queue_counters(sw, port, q);
	struct json_object *row;

	if (ctr_get(&c->tx_packets) == 0 && ctr_get(&c->dropped_packets) == 0 &&
	    gauge_get(&c->length_packets) == 0)
		return;
	row = row_in(list);
	row_text(row, "port", switch_policy(sw)->ports[port].name);
	row_u64(row, "queue", q);
	facts_emit_counters(row, &fact_lists[FACTS_QUEUES], c, &none);
	facts_emit_gauges(row, &fact_lists[FACTS_QUEUES], c, 1);
	row_bool(row, "paused", switch_queue_paused(sw, port, q));
}

static void put_port(struct weir_switch *sw, unsigned port, uint64_t end_ns,
		     struct json_object *list)
{
	static const struct port_counters none;
	const struct port_counters *c = switch_port_counters(sw, port);
	struct json_object *row;
	uint64_t bytes = ctr_get(&c->tx_bytes) + 24 * ctr_get(&c->tx_packets);

	if (ctr_get(&c->received) == 0 && ctr_get(&c->transmitted) == 0)
		return;
	row = row_in(list);
	row_text(row, "name", switch_policy(sw)->ports[port].name);
	row_u64(row, "speed_bps", switch_policy(sw)->ports[port].speed_bps);
	facts_emit_counters(row, &fact_lists[FACTS_PORTS], c, &none);
	row_u64(row, "queued", gauge_get(&c->queued));
	put_rate(row, "tx_bps", end_ns == 0 ? 0 : (double)bytes * 8e9 / (double)end_ns);
}

static void put_direction(struct json_object *row, const char *const keys[PFC_KEYS],
			  const struct pfc_class_stats *s, uint64_t now_ns)
{
	row_u64(row, keys[0], ctr_get(&s->frames));
	row_u64(row, keys[1], (uint64_t)metric_paused_ns(s, now_ns) / 1000);
	row_u64(row, keys[2], ctr_get(&s->transitions));
}

static void put_pfc(struct weir_switch *sw, unsigned port, unsigned cls, uint64_t now_ns,
		    struct json_object *list)
{
	static const char *const rx_keys[PFC_KEYS] = {"rx_pause", "rx_pause_duration_us",
						      "rx_pause_transition"};
	static const char *const tx_keys[PFC_KEYS] = {"tx_pause", "tx_pause_duration_us",
						      "tx_pause_transition"};
	const struct pfc_class_stats *rx = &switch_pfc_rx(sw, port)->stats[cls];
	const struct pfc_class_stats *tx = &switch_pfc_tx(sw, port)->stats[cls];
	struct json_object *row;

	if (ctr_get(&rx->frames) == 0 && ctr_get(&tx->frames) == 0)
		return;
	row = row_in(list);
	row_text(row, "port", switch_policy(sw)->ports[port].name);
	row_u64(row, "class", cls);
	put_direction(row, rx_keys, rx, now_ns);
	put_direction(row, tx_keys, tx, now_ns);
	row_bool(row, "xoff", pg_in_xoff(switch_pg_state(sw, port, cls)));
}

static void put_group(struct weir_switch *sw, unsigned port, unsigned pg, struct json_object *list)
{
	static const struct pg_counters none;
	const struct pg_counters *c = switch_pg_counters(sw, port, pg);
	struct json_object *row;

	if (ctr_get(&c->rx_packets) == 0 && ctr_get(&c->dropped_packets) == 0)
		return;
	row = row_in(list);
	row_text(row, "port", switch_policy(sw)->ports[port].name);
	row_u64(row, "pg", pg);
	facts_emit_counters(row, &fact_lists[FACTS_PGS], c, &none);
	facts_emit_gauges(row, &fact_lists[FACTS_PGS], switch_pg_state(sw, port, pg),
			  switch_policy(sw)->cell.bytes);
}

static void put_drops(struct weir_switch *sw, unsigned port, struct json_object *list)
{
	const struct policy *pol = switch_policy(sw);

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		for (unsigned reason = 0; reason < N_DROP_REASONS; reason++) {
			const struct drop_counters *d = switch_drops(sw, port, cls, reason);
			struct json_object *row;

			if (ctr_get(&d->packets) == 0)
				continue;
			row = row_in(list);
			row_text(row, "port", pol->ports[port].name);
			row_u64(row, "class", cls);
			row_text(row, "reason", drop_info[reason].name);
			row_u64(row, "packets", ctr_get(&d->packets));
			row_u64(row, "bytes", ctr_get(&d->bytes));
			row_bool(row, "lossless",
				 drop_info[reason].loss &&
					 (pol->ports[port].classify.lossless >> cls & 1));
		}
}

static void put_pools(struct weir_switch *sw, struct json_object *list)
{
	uint64_t cell = switch_policy(sw)->cell.bytes;

	for (unsigned i = 0; i < N_POOLS; i++) {
		struct pool_use u = switch_pool(sw, i);
		struct json_object *row = row_in(list);

		row_text(row, "name", pool_name[i]);
		row_u64(row, "size_bytes", u.size * cell);
		row_u64(row, "used_bytes", u.used * cell);
		row_u64(row, "max_bytes", u.max * cell);
	}
}

static void put_switch(const struct run *r, uint32_t i, struct json_object *row)
{
	struct weir_switch *sw = r->fabric->switches[i].sw;
	unsigned n = switch_policy(sw)->n_ports;
	struct json_object *ports, *queues, *pfc, *pgs, *drops;

	row_text(row, "name", r->sc->switches[i].name);
	ports = list_in(row, "ports");
	queues = list_in(row, "queues");
	pfc = list_in(row, "pfc");
	pgs = list_in(row, "pgs");
	drops = list_in(row, "drops");
	for (unsigned port = 0; port < n; port++) {
		put_port(sw, port, r->end_ns, ports);
		for (unsigned k = 0; k < N_QUEUES; k++) {
			put_queue(sw, port, k, queues);
			put_pfc(sw, port, k, r->end_ns, pfc);
			put_group(sw, port, k, pgs);
		}
		put_drops(sw, port, drops);
	}
	put_pools(sw, list_in(row, "pools"));
	json_object_object_add(row, "balance", observe_balance(sw));
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
	row_text(row, "port", port);
	row_u64(row, "class", l->cls);
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
	row_u64(row, "frames", n.written);
	row_u64(row, "bytes", n.bytes);
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

		row_text(row, "queue", name);
		row_u64(row, "bin_bytes", l->bin_bytes);
		row_u64(row, "time_ns", l->to_ns - l->from_ns);
		report_number(row, "mean_bytes", level_mean_bytes(l));
		row_u64(row, "max_bytes", l->max_bytes);
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
	row_bool(out, "balanced", fabric_balanced(r->fabric, text, sizeof(text)));
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
