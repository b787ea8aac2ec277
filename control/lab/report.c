// SPDX-License-Identifier: Apache-2.0
// A run in files: JSON, CSV, a page; and its verdict.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/rows.h"
#include "control/lab/lab_capture.h"
#include "control/lab/metric.h"
#include "control/lab/operator.h"
#include "control/lab/report_page.h"
#include "control/lab/report_rows.h"
#include "control/lab/timeline.h"
#include "control/lab/without.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/qos/shaper.h"

enum { PATH_LEN = 4096 };

int report_folder(const char *dir)
{
	char path[PATH_LEN];
	int err = 0; // of the first folder on the way that cannot be made

	if ((size_t)snprintf(path, sizeof(path), "%s/.", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST && err == 0)
			err = -errno;
	}
	if (access(path, W_OK | X_OK) == 0)
		return 0;
	return err != 0 ? err : -errno;
}

FILE *report_create(const char *dir, const char *file)
{
	char path[PATH_LEN];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "we");
}

void report_say(const char *dir, const char *file)
{
	char path[PATH_LEN], *whole;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	whole = realpath(path, NULL);
	fprintf(stderr, "report: %s\n", whole != NULL ? whole : path);
	free(whole);
}

int report_finish(FILE *out)
{
	bool bad = ferror(out) != 0;

	errno = 0;
	if (fclose(out) != 0 || bad)
		return errno != 0 ? -errno : -EIO;
	return 0;
}

// ---- series.csv and flows.csv: numbers for other programs, units in the names of columns

static void csv_field(const char *text, FILE *out)
{
	if (strpbrk(text, ",\"\n\r") == NULL) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

// Whole numbers as they are; what is not measured stays empty.
static void csv_number(double v, FILE *out)
{
	if (v != v)
		return;
	if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v)
		fprintf(out, "%" PRId64, (int64_t)v);
	else
		fprintf(out, "%.9g", v);
}

static void csv_series(const struct run *r, FILE *out)
{
	static const char *const units[N_EXPR_UNITS] = {
		[EXPR_RATE] = " bps", [EXPR_BYTES] = " bytes", [EXPR_TIME] = " ns"};
	const struct measure_series *s = measure_series(r->measure);

	fputs("time_ns", out);
	for (uint32_t c = 0; c < s->n_columns; c++) {
		const char *unit = units[s->columns[c].unit];
		char text[EXPR_MAX_TEXT + 64];

		snprintf(text, sizeof(text), "%s%s", s->columns[c].name, unit == NULL ? "" : unit);
		fputc(',', out);
		csv_field(text, out);
	}
	fputc('\n', out);
	for (uint64_t row = 0; row < s->n_rows; row++) {
		fprintf(out, "%" PRIu64, s->row_ns[row]);
		for (uint32_t c = 0; c < s->n_columns; c++) {
			fputc(',', out);
			csv_number(s->values[row * s->n_columns + c], out);
		}
		fputc('\n', out);
	}
}

static void csv_flows(const struct run *r, FILE *out)
{
	uint64_t n = traffic_n_done(r->traffic);

	fputs("flow,from,to,bytes,posted_ns,first_tx_ns,last_tx_ns,done_ns,fct_ns,ideal_ns\n", out);
	for (uint64_t i = 0; i < n; i++) {
		const struct traffic_done *d = traffic_done(r->traffic, i);

		csv_field(r->sc->flows[d->flow].label, out);
		fprintf(out,
			",%s,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 "\n",
			r->sc->hosts[d->src].name, r->sc->hosts[d->dst].name, d->n_bytes,
			d->posted_ns, d->first_tx_ns, d->last_tx_ns, d->done_ns,
			d->done_ns - d->posted_ns, traffic_ideal_ns(r->traffic, d));
	}
}

enum { P50 = 500000, P99 = 990000 };

// ---- rows

static double per_second(uint64_t bytes, uint64_t ns)
{
	return ns == 0 ? 0 : (double)bytes * BITS_PER_BYTE * SECOND_NS / (double)ns;
}

struct host_row report_host(const struct run *r, uint32_t host)
{
	struct nic *nic = r->fabric->hosts[host].nic;
	const struct nic_stats *s = nic_stats_now(nic);
	struct host_row row = {0};
	uint64_t rx_ns = 0, tx_ns = 0;

	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		const struct nic_class_stats *k = &s->cls[c];
		const struct pfc_class_stats *rx = &nic_pfc_rx(nic)->stats[c];
		const struct pfc_class_stats *tx = &nic_pfc_tx(nic)->stats[c];

		row.tx_packets += k->tx_packets;
		row.tx_bytes += k->tx_bytes;
		row.rx_packets += k->rx_packets;
		row.rx_bytes += k->rx_bytes;
		row.goodput_bytes += k->goodput_bytes;
		row.ce_marked += k->ce_marked;
		row.rx_pause += ctr_get(&rx->frames);
		row.tx_pause += ctr_get(&tx->frames);
		rx_ns += pfc_paused_ns(rx, r->end_ns);
		tx_ns += pfc_paused_ns(tx, r->end_ns);
	}
	row.rx_pause_duration_us = rx_ns / US_NS;
	row.tx_pause_duration_us = tx_ns / US_NS;
	row.tx_bps = per_second(row.tx_bytes + LINK_OVERHEAD_BYTES * row.tx_packets, r->end_ns);
	row.goodput_bps = per_second(row.goodput_bytes, r->end_ns);
	return row;
}

int report_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double *report_operations(const struct run *r, uint32_t flow, const char *function, uint64_t *n)
{
	struct metric_world w = {.fabric = r->fabric, .traffic = r->traffic};
	const struct expr_func *fn = expr_func_find(function, (uint32_t)strlen(function));
	uint64_t all = traffic_n_done(r->traffic);
	double *v = malloc((all + 1) * sizeof(*v));

	*n = 0;
	for (uint64_t i = 0; i < all && v != NULL; i++) {
		const struct traffic_done *d = traffic_done(r->traffic, i);

		if (d->flow != flow)
			continue;
		v[*n] = metric_operation(&w, fn, d);
		if (v[*n] == v[*n])
			(*n)++;
	}
	if (v != NULL)
		qsort(v, *n, sizeof(*v), report_ascending);
	return v;
}

struct lab_flow_row report_flow(const struct run *r, uint32_t flow)
{
	struct lab_flow_row row = {0};
	uint64_t n, done_ns = traffic_flow_done_ns(r->traffic, flow);
	bool is_tcp = flow_is_tcp(&r->sc->flows[flow]);
	uint32_t n_open = 0;
	double *v;

	for (uint32_t i = 0; i < traffic_n_conns(r->traffic); i++) {
		const struct traffic_conn *c = traffic_conn(r->traffic, i);
		struct traffic_counts counts;

		if (c->flow != flow)
			continue;
		counts = traffic_conn_counts(r->traffic, i);
		row.n_conns++;
		row.bytes += counts.acked_bytes;
		row.tcp.retransmissions += counts.retransmissions;
		row.tcp.timeouts += counts.timeouts;
		row.tcp.fast_retransmits += counts.fast_retransmits;
		row.tcp.ece += counts.ece;
		if (!is_tcp || c->id == TRAFFIC_NOT_OPEN)
			continue;
		row.cwnd_bytes +=
			nic_flow_status(r->fabric->hosts[c->src].nic, c->id).tcp.cwnd_bytes;
		n_open++;
	}
	row.cwnd_bytes = n_open == 0 ? __builtin_nan("") : row.cwnd_bytes / n_open;
	row.goodput_bps = per_second(row.bytes, r->end_ns);
	row.ideal_bps = fair_flow_bps(r->fair, flow);
	row.done_ns = done_ns == UINT64_MAX ? __builtin_nan("") : (double)done_ns;
	v = report_operations(r, flow, "fct", &n);
	row.n_done = n;
	row.fct_p50 = metric_quantile(v, n, P50);
	row.fct_p99 = metric_quantile(v, n, P99);
	row.fct_max = metric_quantile(v, n, PPM);
	free(v);
	v = report_operations(r, flow, "slowdown", &n);
	row.slowdown_p50 = metric_quantile(v, n, P50);
	row.slowdown_p99 = metric_quantile(v, n, P99);
	free(v);
	return row;
}

uint64_t report_lossless_dropped(const struct run *r, unsigned reason)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_switches; i++) {
		struct weir_switch *sw = r->fabric->switches[i].in.sw;
		const struct policy *pol = switch_policy(sw);

		for (unsigned port = 0; port < pol->n_ports; port++)
			for (unsigned cls = 0; cls < N_CLASSES; cls++)
				if (pol->ports[port].classify.lossless >> cls & 1)
					n += ctr_get(&switch_drops(sw, port, cls, reason)->packets);
	}
	return n;
}

uint64_t report_lossless_drops(const struct run *r)
{
	uint64_t n = 0;

	for (unsigned reason = 0; reason < N_DROP_REASONS; reason++)
		if (drop_info[reason].loss)
			n += report_lossless_dropped(r, reason);
	return n;
}

// ---- the verdict

const char *report_word(const struct measure_verdict *v)
{
	if (!v->known)
		return "open";
	return v->pass ? "PASS" : "FAIL";
}

// An experiment about loss, or wrong notifications, has an expectation of it, which then decides.
static bool expects_of(const struct run *r, const char *function)
{
	for (uint32_t i = 0; i < r->sc->n_expects; i++)
		if (strstr(measure_expect(r->measure, i).source.text, function) != NULL)
			return true;
	return false;
}

// Flows that never sent show nothing. An experiment without flows is about something else.
bool report_idle(const struct run *r)
{
	return r->sc->n_flows != 0 && fabric_hops(r->fabric) == 0;
}

bool report_passed(const struct run *r)
{
	char text[256];

	if (report_idle(r) || (r->sc->until_done && !traffic_all_done(r->traffic)))
		return false;
	for (uint32_t i = 0; i < r->sc->n_expects; i++)
		if (!measure_expect(r->measure, i).pass)
			return false;
	return !r->broken_off && !r->fabric->out_of_memory &&
	       fabric_balanced(r->fabric, text, sizeof(text)) &&
	       (expects_of(r, "lossless_drops") || report_lossless_drops(r) == 0) &&
	       // An expectation of wrong_cnps sees what switches decided wrongly. It does not hide
	       // what only hosts saw.
	       (report_wrong_cnps(r) == 0 ||
		(expects_of(r, "wrong_cnps") && r->fabric->cnps->all.wrong != 0));
}

// ---- JSON: names are those of `weirctl show --json` where they say the same (counters.md). Whole
// numbers are integers; what is not measured is null. Objects that carried nothing are left out.

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

static const char *const unit_name[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "",	[EXPR_SHARE] = "share", [EXPR_RATE] = "bps",
	[EXPR_BYTES] = "bytes", [EXPR_TIME] = "ns",
};

static void put_verdicts(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "expectations");

	for (uint32_t i = 0; i < r->sc->n_expects; i++) {
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
	for (uint32_t i = 0; i < measure_n_metrics(r->measure); i++) {
		struct measure_verdict v = measure_metric(r->measure, i);
		struct json_object *row = row_in(list);

		row_text(row, "metric", v.source.text);
		row_bool(row, "known", v.known);
		report_number(row, "value", v.value);
		row_text(row, "unit", unit_name[v.unit]);
		row_text(row, "measured", v.measured);
	}
}

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
	PUT(s, rx_trimmed);
	PUT(s, payload_errors);
	PUT(s, icrc_errors);
}

static void put_flow(const struct run *r, uint32_t flow, struct json_object *row)
{
	struct lab_flow_row f = report_flow(r, flow);
	struct json_object *o = json_object_new_object();

	row_text(row, KEY(VERSION, name), r->sc->flows[flow].label);
	row_u64(row, "connections", f.n_conns);
	row_u64(row, "goodput_bytes", f.bytes);
	put_rate(row, "goodput_bps", f.goodput_bps);
	report_number(row, "ideal_bps", round(f.ideal_bps));
	row_u64(row, "operations", f.n_done);
	report_number(row, "done_ns", f.done_ns);
	report_number(o, "p50", f.fct_p50);
	report_number(o, "p99", f.fct_p99);
	report_number(o, KEY(FLOW_TABLE, max), f.fct_max);
	json_object_object_add(row, "fct_ns", o);
	o = json_object_new_object();
	report_number(o, "p50", f.slowdown_p50);
	report_number(o, "p99", f.slowdown_p99);
	json_object_object_add(row, "slowdown", o);
	if (!flow_is_tcp(&r->sc->flows[flow]))
		return;
	PUT(&f.tcp, retransmissions);
	PUT(&f.tcp, timeouts);
	PUT(&f.tcp, fast_retransmits);
	row_u64(row, "ece_received", f.tcp.ece);
	report_number(row, "cwnd_bytes", f.cwnd_bytes);
}

// The lists of a switch; the rows of a port's queues, classes and groups.
struct switch_lists {
	struct observe *observe;
	uint64_t end_ns;
	struct json_object *ports, *queues, *pfc, *pgs;
};

static void put_facts(const struct switch_lists *l, struct json_object *list,
		      const enum fact_id *facts, unsigned port, unsigned i)
{
	observe_facts(observe_switch(l->observe), row_in(list), facts, port, i, l->end_ns);
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
	observe_facts(observe_switch(l->observe), row, facts, port, 0, l->end_ns);
	put_rate(row, KEY(PORTS, tx_bps),
		 l->end_ns == 0 ? 0 : (double)bytes * 8e9 / (double)l->end_ns);
}

// Of queue, class and group k, those that frames have passed.
static void put_parts(const struct switch_lists *l, unsigned port, unsigned k)
{
	static const enum fact_id queue[] = {
		F_QUEUES_port, F_QUEUES_queue, F_QUEUES_tx_packets, F_QUEUES_tx_bytes,
		F_QUEUES_ecn_marked, F_QUEUES_dropped_packets, F_QUEUES_dropped_bytes,
		F_QUEUES_trimmed, F_QUEUES_trim_sent, F_QUEUES_trim_dropped,
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
	    ctr_get(&q->trimmed) != 0 ||
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
		observe_rows(l->observe, facts->what, OBSERVE_ALL_PORTS,
			     OBSERVE_RAW | OBSERVE_HISTORY, l->end_ns);

	json_object_object_add(row, facts->list,
			       json_object_get(json_object_object_get(data, facts->list)));
	json_object_put(data);
}

static void put_switch(const struct run *r, uint32_t i, struct json_object *row)
{
	const struct instance *in = &r->fabric->switches[i].in;
	struct weir_switch *sw = in->sw;
	struct switch_lists l = {.end_ns = r->end_ns};

	row_text(row, KEY(VERSION, name), r->sc->switches[i].name);
	if (observe_create(in, &l.observe) != 0)
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
	if (instance_microbursts(in) != NULL)
		for (unsigned list = FACTS_BURSTS; list <= FACTS_BURST_WINDOW; list++)
			put_shown(row, &l, list);
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

static struct json_object *run_to_json(const struct run *r)
{
	struct json_object *out = json_object_new_object(), *params = json_object_new_object();
	struct json_object *list;
	char text[256];

	row_text(out, "scenario", r->sc->name);
	row_u64(out, "seed", r->sc->seed);
	for (uint32_t i = 0; i < r->sc->params.n; i++)
		row_text(params, r->sc->params.rows[i].name, r->sc->params.rows[i].value);
	json_object_object_add(out, "params", params);
	list = list_in(out, "without");
	for (unsigned i = 0; i < N_MECHANISMS; i++)
		if (r->sc->without >> i & 1)
			json_object_array_add(list, json_object_new_string(mechanism_words[i]));
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
	report_thresholds_json(r, out);
	report_cnps_json(r, out);
	report_warnings_json(r, out);
	report_commands_json(r, out);
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

// ---- parts of the text

char *report_part(const struct run *r, void (*part)(const struct run *r, FILE *out))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	part(r, f);
	fclose(f);
	return text;
}

// ---- files

void report_json_print(const struct run *r, FILE *out)
{
	struct json_object *o = run_to_json(r);

	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void timeline_json(const struct run *r, FILE *out)
{
	timeline_print(r->timeline, out);
}

static int write_file(const struct run *r, const char *dir, const char *file,
		      void (*fn)(const struct run *r, FILE *out))
{
	FILE *out = report_create(dir, file);

	if (out == NULL)
		return -errno;
	fn(r, out);
	return report_finish(out);
}

static int write_page_in_dir(const struct run *r, const char *dir)
{
	FILE *out = report_create(dir, "report.html");
	int err, end;

	if (out == NULL)
		return -errno;
	err = report_page(r, out);
	end = report_finish(out);
	return err != 0 ? err : end;
}

int report_files(const struct run *r, const char *dir)
{
	static const struct {
		const char *file;
		void (*fn)(const struct run *r, FILE *out);
	} files[] = {{"report.json", report_json_print},
		     {"timeline.json", timeline_json},
		     {"series.csv", csv_series},
		     {"flows.csv", csv_flows}};
	int err = report_folder(dir);

	for (unsigned i = 0; i < N(files) && err == 0; i++)
		err = write_file(r, dir, files[i].file, files[i].fn);
	return err != 0 ? err : write_page_in_dir(r, dir);
}
