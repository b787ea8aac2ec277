// SPDX-License-Identifier: Apache-2.0
// The report as text for people: long lists are cut to what carried most, and summed up.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "control/base/terminal.h"
#include "control/lab/lab_capture.h"
#include "control/lab/metric.h"
#include "control/lab/operator.h"
#include "control/lab/report_rows.h"
#include "control/lab/without.h"
#include "dataplane/policy.h"

enum { MAX_ROWS = 20, TEXT = 32 };

static const char *rate_text(const struct run *r, double bps, char text[TEXT])
{
	snprintf(text, TEXT, "%.*f", (int)r->digits - 1, bps / 1e9);
	return text;
}

static void put_rate(const struct run *r, struct grid *g, double bps)
{
	char text[TEXT];

	grid_put(g, "%s", bps == 0 ? "" : rate_text(r, bps, text));
}

void report_put_count(struct grid *g, uint64_t n)
{
	if (n == 0)
		grid_put(g, "%s", "");
	else
		grid_put(g, "%" PRIu64, n);
}

static void put_value(const struct run *r, struct grid *g, enum expr_unit unit, double v)
{
	char text[EXPR_VALUE_LEN];

	expr_print_digits(unit, v, r->digits, text, sizeof(text));
	grid_put(g, "%s", v != v || v == 0 ? "" : text);
}

// ---- hosts

// A host or queue in a list of which the heaviest are shown.
struct order {
	uint32_t i;
	long double weight; // exact for every uint64_t
};

static int heaviest(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->i < y->i ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->i < y->i ? -1 : x->i > y->i;
}

// Brings the MAX_ROWS heaviest to the front, in their first order. Returns how many to show.
static uint32_t take_heaviest(struct order *list, uint32_t n)
{
	if (n <= MAX_ROWS)
		return n;
	qsort(list, n, sizeof(*list), heaviest);
	qsort(list, MAX_ROWS, sizeof(*list), by_number);
	return MAX_ROWS;
}

static void hosts_note(const struct run *r, struct grid *g)
{
	uint32_t n = r->sc->n_hosts;
	double *v = calloc(n, sizeof(*v)), sum = 0;
	char low[TEXT], mid[TEXT], high[TEXT], all[TEXT];

	if (v == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
		v[i] = report_host(r, i).tx_bps;
	qsort(v, n, sizeof(*v), report_ascending);
	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	grid_note(g,
		  "the %d of %u hosts that moved most; sent by each of all: least %s, median %s, "
		  "most %s, "
		  "together %s Gb/s",
		  MAX_ROWS, n, rate_text(r, v[0], low), rate_text(r, v[n / 2], mid),
		  rate_text(r, v[n - 1], high), rate_text(r, sum, all));
	free(v);
}

static void hosts_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	uint32_t n = r->sc->n_hosts, shown;
	struct order *order = calloc(n + 1, sizeof(*order));
	struct grid g;

	if (order == NULL)
		return;
	grid_init(&g, "hosts (Gb/s: sent on the line; payload taken in order)",
		  "host|sent|goodput|messages|CE in|CNP out|CNP in|PAUSE in|paused|PAUSE out|sent "
		  "again|needless|timeouts",
		  1);
	for (uint32_t i = 0; i < n; i++) {
		struct host_row h = report_host(r, i);

		order[i] = (struct order){i, h.tx_bps + h.goodput_bps};
	}
	shown = take_heaviest(order, n);
	if (shown < n)
		hosts_note(r, &g);
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t host = order[i].i;
		struct host_row h = report_host(r, host);
		const struct nic_stats *s = nic_stats_now(r->fabric->hosts[host].nic);

		grid_row(&g);
		grid_put(&g, "%s", r->sc->hosts[host].name);
		put_rate(r, &g, h.tx_bps);
		put_rate(r, &g, h.goodput_bps);
		report_put_count(&g, s->messages_completed);
		report_put_count(&g, h.ce_marked);
		report_put_count(&g, s->cnps_sent);
		report_put_count(&g, s->cnps_received);
		report_put_count(&g, h.rx_pause);
		put_value(r, &g, EXPR_TIME, (double)h.rx_pause_duration_us * 1000);
		report_put_count(&g, h.tx_pause);
		report_put_count(&g, s->retransmissions);
		report_put_count(&g, s->duplicates);
		report_put_count(&g, s->timeouts);
	}
	grid_end(&g, emit, out, 0);
	free(order);
}

// ---- flows

static void flows_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	uint32_t n = r->sc->n_flows, shown = n > MAX_ROWS ? MAX_ROWS : n;
	struct grid g;

	grid_init(&g, "flows",
		  "flow|connections|goodput Gb/s|ideal|finished|FCT p50|p99|max|slowdown p50|p99|"
		  "sent again|timeouts|fast|ECE in|cwnd",
		  1);
	for (uint32_t i = 0; i < shown; i++) {
		struct lab_flow_row f = report_flow(r, i);

		grid_row(&g);
		grid_put(&g, "%s", r->sc->flows[i].label);
		report_put_count(&g, f.n_conns);
		put_rate(r, &g, f.goodput_bps);
		put_rate(r, &g, f.ideal_bps == f.ideal_bps ? f.ideal_bps : 0);
		report_put_count(&g, f.n_done);
		put_value(r, &g, EXPR_TIME, f.fct_p50);
		put_value(r, &g, EXPR_TIME, f.fct_p99);
		put_value(r, &g, EXPR_TIME, f.fct_max);
		put_value(r, &g, EXPR_COUNT, f.slowdown_p50);
		put_value(r, &g, EXPR_COUNT, f.slowdown_p99);
		report_put_count(&g, f.tcp.retransmissions);
		report_put_count(&g, f.tcp.timeouts);
		report_put_count(&g, f.tcp.fast_retransmits);
		report_put_count(&g, f.tcp.ece);
		put_value(r, &g, EXPR_BYTES, f.cwnd_bytes);
	}
	grid_end(&g, emit, out, n - shown);
}

// ---- queues

// Of the classes that share a queue, or a priority group: the sum of their drops, and of PAUSE what
// the class has that has most.
struct class_sums {
	uint64_t dropped, pauses;
	uint64_t paused_ns;
};

struct queue_sums {
	uint32_t sw;
	uint16_t port, queue;
	struct class_sums of_queue, of_group;
};

static struct class_sums sums_of(const struct run *r, const struct queue_sums *o,
				 const uint8_t of_class[N_CLASSES], const struct pfc_class_stats *s)
{
	struct weir_switch *sw = r->fabric->switches[o->sw].in.sw;
	struct class_sums sums = {0};

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		if (of_class[cls] != o->queue)
			continue;
		for (unsigned reason = 0; reason < N_DROP_REASONS; reason++)
			sums.dropped += ctr_get(&switch_drops(sw, o->port, cls, reason)->packets);
		sums.pauses = RTE_MAX(sums.pauses, ctr_get(&s[cls].frames));
		sums.paused_ns = RTE_MAX(sums.paused_ns, pfc_paused_ns(&s[cls], r->end_ns));
	}
	return sums;
}

// Queues with a weight. A queue with losses is heavier than any other. The weight of another queue
// is its own greatest length, or what the priority group with its number held, if that is more.
static uint32_t list_queues(const struct run *r, struct queue_sums *list, struct order *order)
{
	struct queue_sums *o = list;
	uint64_t held;

	for (uint32_t i = 0; i < r->sc->n_switches; i++) {
		struct weir_switch *sw = r->fabric->switches[i].in.sw;

		for (unsigned port = 0; port < switch_policy(sw)->n_ports; port++)
			for (unsigned q = 0; q < N_QUEUES; q++) {
				const struct classify_params *c =
					&switch_policy(sw)->ports[port].classify;

				*o = (struct queue_sums){
					.sw = i, .port = (uint16_t)port, .queue = (uint16_t)q};
				o->of_queue = sums_of(r, o, c->class_to_queue,
						      switch_pfc_rx(sw, port)->stats);
				o->of_group = sums_of(r, o, c->class_to_pg,
						      switch_pfc_tx(sw, port)->stats);
				held = max_u64(
					switch_watermark(sw, port, WATERMARK_QUEUE, q),
					switch_watermark(sw, port, WATERMARK_SHARED, q));
				order[o - list] = (struct order){
					(uint32_t)(o - list),
					(long double)o->of_queue.dropped * UINT64_MAX + held};
				o += held + o->of_queue.dropped + o->of_queue.pauses +
					     o->of_group.pauses != 0;
			}
	}
	return (uint32_t)(o - list);
}

static void queue_cells(struct grid *g, const struct run *r, const struct queue_sums *o)
{
	struct weir_switch *sw = r->fabric->switches[o->sw].in.sw;
	const struct queue_counters *c = switch_queue_counters(sw, o->port, o->queue);
	uint64_t packets = ctr_get(&c->tx_packets), marked = ctr_get(&c->ecn_marked);
	double line = (double)(ctr_get(&c->tx_bytes) + 24 * packets) * 8e9 / (double)r->end_ns;
	double speed = (double)switch_policy(sw)->ports[o->port].speed_bps;

	grid_put(g, "%s.p%u.%u", r->sc->switches[o->sw].name, o->port + 1u, o->queue);
	put_rate(r, g, line);
	put_value(r, g, EXPR_SHARE, line / speed);
	put_value(r, g, EXPR_BYTES,
		  (double)switch_watermark(sw, o->port, WATERMARK_QUEUE, o->queue));
	report_put_count(g, marked);
	put_value(r, g, EXPR_SHARE, packets == 0 ? 0 : (double)marked / (double)packets);
	report_put_count(g, o->of_group.pauses);
	put_value(r, g, EXPR_TIME, (double)o->of_group.paused_ns);
	report_put_count(g, o->of_queue.pauses);
	put_value(r, g, EXPR_TIME, (double)o->of_queue.paused_ns);
	report_put_count(g, o->of_queue.dropped);
}

static void queues_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	size_t most = (size_t)r->sc->n_ports * N_QUEUES + 1;
	struct queue_sums *list = calloc(most, sizeof(*list));
	struct order *order = calloc(most, sizeof(*order));
	uint32_t n = 0, shown;
	struct grid g;

	if (list != NULL && order != NULL && r->end_ns != 0)
		n = list_queues(r, list, order);
	qsort(order, n, sizeof(*order), heaviest);
	shown = n < MAX_ROWS ? n : MAX_ROWS;
	grid_init(
		&g, "queues of switches (PAUSE out: of the priority group with the same number)",
		"queue|Gb/s|of line|longest|marked|share|PAUSE out|pausing|PAUSE in|paused|dropped",
		1);
	if (shown < n)
		grid_note(&g,
			  "the %u of %u queues with losses, or that were longest, or whose "
			  "priority group held most",
			  shown, n);
	for (uint32_t i = 0; i < shown; i++) {
		grid_row(&g);
		queue_cells(&g, r, &list[order[i].i]);
	}
	grid_end(&g, emit, out, 0);
	free(list);
	free(order);
}

// ---- expectations

static void expectations_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	struct grid g;

	grid_init(&g, "expectations", "|expectation|expected|measured|tolerance", 5);
	for (uint32_t i = 0; i < r->sc->n_expects; i++) {
		struct measure_verdict v = measure_expect(r->measure, i);

		grid_row(&g);
		grid_put(&g, "%s", report_word(&v));
		grid_put(&g, "%s", v.source.text);
		grid_put(&g, "%s", v.expected);
		grid_put(&g, "%s", v.measured);
		grid_put(&g, "%s", v.tolerance);
	}
	grid_end(&g, emit, out, 0);
	grid_init(&g, "metrics", "metric|value", 1);
	for (uint32_t i = 0; i < measure_n_metrics(r->measure); i++) {
		struct measure_verdict v = measure_metric(r->measure, i);

		grid_row(&g);
		grid_put(&g, "%s", v.source.text);
		grid_put(&g, "%s", v.measured);
	}
	grid_end(&g, emit, out, 0);
}

void report_grids(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	hosts_grid(r, emit, out);
	flows_grid(r, emit, out);
	queues_grid(r, emit, out);
	report_cnps(r, emit, out);
	report_why(r, emit, out);
	report_thresholds(r, emit, out);
	expectations_grid(r, emit, out);
}

// ---- head and foot

void report_head(const struct run *r, FILE *out)
{
	char end[EXPR_VALUE_LEN], all[EXPR_VALUE_LEN], rto[EXPR_VALUE_LEN];
	uint32_t host = 0; // the first without a timer of its own

	expr_print(EXPR_TIME, (double)r->end_ns, end, sizeof(end));
	expr_print(EXPR_TIME, (double)r->sc->duration_ns, all, sizeof(all));
	if (*r->sc->title != '\0')
		terminal_printf(out, "%s\n", r->sc->title);
	fprintf(out, "%s: %s of virtual time, seed %" PRIu64 ", %u switch%s, %u host%s\n",
		r->sc->name, end, r->sc->seed, r->sc->n_switches,
		r->sc->n_switches == 1 ? "" : "es", r->sc->n_hosts, r->sc->n_hosts == 1 ? "" : "s");
	for (uint32_t i = 0; i < r->sc->params.n; i++)
		terminal_printf(out, "%s%s = %s%s", i == 0 ? "params: " : ", ",
				r->sc->params.rows[i].name, r->sc->params.rows[i].value,
				i + 1 == r->sc->params.n ? "\n" : "");
	for (unsigned i = 0; i < N_MECHANISMS; i++)
		if (r->sc->without >> i & 1)
			fprintf(out, "without %s: %s\n", mechanism_words[i], mechanism_off[i]);
	while (host < r->sc->n_hosts && r->sc->hosts[host].nic.rto_ns != 0)
		host++;
	if (host < r->sc->n_hosts) {
		expr_print(EXPR_TIME, (double)r->fabric->rto_ns, rto, sizeof(rto));
		fprintf(out, "retransmission timer of hosts without `rto:`: %s\n", rto);
	}
	if (r->broken_off)
		fprintf(out,
			"PARTIAL: broken off at %s of %s; expectations about later times are "
			"open\n",
			end, all);
	if (r->fabric->out_of_memory)
		fputs("INVALID: the fabric ran out of frames; nothing measured since is true\n",
		      out);
}

static void losses(const struct run *r, FILE *out)
{
	const char *before = "no frame of a lossless class was lost for want of buffer; dropped: ";
	const struct fabric_loss *l = &r->fabric->first_loss;
	uint64_t n = report_lossless_drops(r);
	char at[EXPR_VALUE_LEN];

	if (n != 0) {
		fprintf(out, "%" PRIu64 " frames of lossless classes were dropped", n);
		expr_print(EXPR_TIME, (double)l->t_ns, at, sizeof(at));
		if (l->seen)
			fprintf(out,
				", the first at switch %s, port p%u, class %u, at %s (%" PRIu64
				" ns)",
				r->sc->switches[l->sw].name, l->port + 1u, l->cls, at, l->t_ns);
		fputc('\n', out);
		return;
	}
	// Dead links and watchdogs drop frames, too.
	for (unsigned reason = 0; reason < N_DROP_REASONS; reason++) {
		n = report_lossless_dropped(r, reason);
		if (n == 0)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, n, drop_info[reason].name);
		before = ", ";
	}
	fputs(*before == ',' ? "\n" : "no frame of a lossless class was dropped\n", out);
}

static void captured(const struct run *r, FILE *out)
{
	struct lab_capture_counts n;
	char at[EXPR_VALUE_LEN];

	if (r->capture == NULL) {
		fputs("capture: no file without --out DIR\n", out);
		return;
	}
	n = lab_capture_counts(r->capture);
	fprintf(out, "capture: %" PRIu64 " frames in " LAB_CAPTURE_FILE, n.written);
	if (n.cut != 0) {
		expr_print(EXPR_TIME, (double)n.first_cut_ns, at, sizeof(at));
		fprintf(out, "; %" PRIu64 " more, from %s on, are cut: raise `record.capture_size`",
			n.cut, at);
	}
	fputc('\n', out);
}

static void undone(const struct run *r, FILE *out)
{
	char end[EXPR_VALUE_LEN];

	expr_print(EXPR_TIME, (double)r->end_ns, end, sizeof(end));
	if (traffic_all_done(r->traffic)) {
		fprintf(out, "done: the last message was acknowledged by %s (%" PRIu64 " ns)\n",
			end, r->end_ns);
		return;
	}
	fprintf(out, "NOT DONE by %s:", end);
	for (uint32_t i = 0; i < r->sc->n_flows; i++) {
		const struct lab_flow *f = &r->sc->flows[i];

		if (!flow_endless(f) && traffic_flow_done_ns(r->traffic, i) == UINT64_MAX)
			fprintf(out, " %s (%" PRIu64 " messages under way)", f->label,
				traffic_flow_open(r->traffic, i));
	}
	fputc('\n', out);
}

void report_foot(const struct run *r, FILE *out)
{
	uint32_t n = r->sc->n_expects, passed = 0, open = 0;
	char text[256];

	report_why_line(r, out);
	losses(r, out);
	report_cnps_line(r, out);
	report_warnings(r, out);
	report_commands_line(r, out);
	if (fabric_balanced(r->fabric, text, sizeof(text)))
		fputs("balance: every frame is accounted for, on every switch and wire\n", out);
	else
		fprintf(out, "BALANCE: %s\n", text);
	for (uint32_t i = 0; i < n; i++) {
		struct measure_verdict v = measure_expect(r->measure, i);

		passed += v.pass;
		open += !v.known;
	}
	if (r->sc->n_captured != 0)
		captured(r, out);
	if (r->sc->until_done)
		undone(r, out);
	if (report_idle(r))
		fputs("no frame was sent: the run shows nothing\n", out);
	fprintf(out, "%s: %u of %u expectations hold", report_passed(r) ? "PASS" : "FAIL", passed,
		n);
	if (open != 0)
		fprintf(out, ", %u open", open);
	fputc('\n', out);
}

static void print_part(const struct run *r, void (*part)(const struct run *r, FILE *out), FILE *out)
{
	char *text = report_part(r, part);

	if (text != NULL)
		terminal_printf(out, "%s", text);
	free(text);
}

void report_table(const struct run *r, FILE *out)
{
	print_part(r, report_head, out);
	report_grids(r, grid_print, out);
	fputc('\n', out);
	print_part(r, report_foot, out);
}
