// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/config/rows.h"
#include "control/lab/metric.h"
#include "control/lab/report_rows.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/units.h"

enum { PATH_LEN = 4096 };

int report_folder(const char *dir)
{
	char path[PATH_LEN];

	if ((size_t)snprintf(path, sizeof(path), "%s/.", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	// Each folder on the way, too; what cannot be made is told by what lies below it.
	for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		mkdir(path, 0777);
	}
	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return -errno;
	return access(path, W_OK | X_OK) != 0 ? -errno : 0;
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
	uint32_t n = measure_n_columns(r->measure);

	fputs("time_ns", out);
	for (uint32_t c = 0; c < n; c++) {
		fputc(',', out);
		static const char *const units[N_EXPR_UNITS] = {
			[EXPR_RATE] = " bps", [EXPR_BYTES] = " bytes", [EXPR_TIME] = " ns"};
		const char *unit = units[measure_unit(r->measure, c)];
		char text[EXPR_MAX_TEXT + 64];

		snprintf(text, sizeof(text), "%s%s", measure_column(r->measure, c),
			 unit == NULL ? "" : unit);
		csv_field(text, out);
	}
	fputc('\n', out);
	for (uint64_t row = 0; row < measure_n_rows(r->measure); row++) {
		fprintf(out, "%" PRIu64, measure_row_ns(r->measure, row));
		for (uint32_t c = 0; c < n; c++) {
			fputc(',', out);
			csv_number(measure_value(r->measure, row, c), out);
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
	double rx_ns = 0, tx_ns = 0;

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
		rx_ns += metric_paused_ns(rx, r->end_ns);
		tx_ns += metric_paused_ns(tx, r->end_ns);
	}
	row.rx_pause_duration_us = (uint64_t)rx_ns / 1000;
	row.tx_pause_duration_us = (uint64_t)tx_ns / 1000;
	row.tx_bps = per_second(row.tx_bytes + LINK_OVERHEAD_BYTES * row.tx_packets, r->end_ns);
	row.goodput_bps = per_second(row.goodput_bytes, r->end_ns);
	return row;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double *report_operations(const struct run *r, uint32_t flow, enum metric m, uint64_t *n)
{
	struct metric_world w = {.fabric = r->fabric, .traffic = r->traffic};
	uint64_t all = traffic_n_done(r->traffic);
	double *v = malloc((all + 1) * sizeof(*v));

	*n = 0;
	for (uint64_t i = 0; i < all && v != NULL; i++) {
		const struct traffic_done *d = traffic_done(r->traffic, i);

		if (flow != UINT32_MAX && d->flow != flow)
			continue;
		v[*n] = metric_operation(&w, m, d);
		if (v[*n] == v[*n])
			(*n)++;
	}
	if (v != NULL)
		qsort(v, *n, sizeof(*v), ascending);
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
	row.done_ns = done_ns == UINT64_MAX ? __builtin_nan("") : (double)done_ns;
	v = report_operations(r, flow, METRIC_FCT, &n);
	row.n_done = n;
	row.fct_p50 = metric_quantile(v, n, P50);
	row.fct_p99 = metric_quantile(v, n, P99);
	row.fct_max = metric_quantile(v, n, PPM);
	free(v);
	v = report_operations(r, flow, METRIC_SLOWDOWN, &n);
	row.slowdown_p50 = metric_quantile(v, n, P50);
	row.slowdown_p99 = metric_quantile(v, n, P99);
	free(v);
	return row;
}

uint64_t report_lossless_drops(const struct run *r)
{
	struct metric_world w = {.fabric = r->fabric, .traffic = r->traffic};
	struct expr_leaf leaf = {.choice = -1};
	struct expr_object all = {.kind = OBJ_ALL_SWITCHES, .cls = -1};

	return (uint64_t)metric_read(&w, &leaf, METRIC_LOSSLESS_DROPS, &all);
}

// ---- the verdict

const char *report_word(const struct measure_verdict *v)
{
	if (!v->known)
		return "open";
	return v->pass ? "PASS" : "FAIL";
}

// An experiment that is about loss, or wrong notifications, says so: then its expectation decides.
static bool speaks_of(const struct run *r, const char *function)
{
	for (uint32_t i = 0; i < measure_n_expects(r->measure); i++)
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
	for (uint32_t i = 0; i < measure_n_expects(r->measure); i++)
		if (!measure_expect(r->measure, i).pass)
			return false;
	return !r->broken_off && !r->fabric->out_of_memory &&
	       fabric_balanced(r->fabric, text, sizeof(text)) &&
	       (speaks_of(r, "lossless_drops") || report_lossless_drops(r) == 0) &&
	       // An expectation of wrong_cnps sees what switches decided wrongly. It does not hide
	       // what only hosts saw.
	       (report_wrong_cnps(r) == 0 ||
		(speaks_of(r, "wrong_cnps") && r->fabric->cnps->all.wrong != 0));
}

// ---- files

void report_json_print(const struct run *r, FILE *out)
{
	struct json_object *o = report_json(r);

	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static int plot_file(void *arg, const char *file, const struct svg_plot *p)
{
	FILE *out = report_create(arg, file);

	if (out == NULL)
		return -errno;
	svg_write(p, out);
	return report_finish(out);
}

int report_files(const struct run *r, const char *dir)
{
	static const struct {
		const char *file;
		void (*fn)(const struct run *r, FILE *out);
	} files[] = {{"report.json", report_json_print},
		     {"series.csv", csv_series},
		     {"flows.csv", csv_flows},
		     {"report.html", html_page}};
	int err;

	err = report_folder(dir);
	if (err != 0)
		return err;
	for (unsigned i = 0; i < N(files); i++) {
		FILE *out = report_create(dir, files[i].file);

		if (out == NULL)
			return -errno;
		files[i].fn(r, out);
		err = report_finish(out);
		if (err != 0)
			return err;
	}
	return report_plots(r, plot_file, (void *)(uintptr_t)dir);
}
