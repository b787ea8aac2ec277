// SPDX-License-Identifier: Apache-2.0
// "Why": what the chains of PAUSE ended in, the longest first, and what the watchdogs did.
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/chain_fabric.h"
#include "control/lab/report_rows.h"
#include "control/observe/field.h"
#include "dataplane/qos/watchdog.h"

enum { MAX_ROWS = 20 };

static const struct chain *chain_of(const struct run *r)
{
	return &r->fabric->chain->chain;
}

// For the caller to free; NULL: nothing was found, or no memory.
static uint32_t *ranked(const struct run *r)
{
	const struct chain *c = chain_of(r);
	uint32_t *order = c->n == 0 ? NULL : calloc(c->n, sizeof(*order));

	if (order != NULL)
		chain_rank(c, order);
	return order;
}

// For the caller to free; NULL: no memory.
static char *chain_text(const struct run *r, const struct chain_finding *f)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	chain_fabric_text(r->sc, f, out);
	fclose(out);
	return text;
}

static const char *what_of(const struct chain_finding *f)
{
	return f->kind == CHAIN_ROOT ? chain_reason_name[f->reason] : chain_kind_name[f->kind];
}

// ---- findings

static void put_time(const struct run *r, struct grid *g, uint64_t ns)
{
	char text[EXPR_VALUE_LEN];

	expr_print_digits(EXPR_TIME, (double)ns, r->digits, text, sizeof(text));
	grid_put(g, "%s", text);
}

static void finding_cells(struct grid *g, const struct run *r, const struct chain_finding *f)
{
	char *text = chain_text(r, f);

	grid_put(g, "%s", what_of(f));
	grid_put(g, "%s", text == NULL ? "" : text);
	if (f->longest_ns == 0)
		grid_put(g, "%s", "<1ms"); // one look saw it
	else
		put_time(r, g, f->longest_ns);
	grid_put(g, "%" PRIu32, f->times);
	put_time(r, g, f->first_ns);
	put_time(r, g, f->last_ns);
	grid_put(g, "%s", f->now ? "yes" : "");
	free(text);
}

static void findings_grid(const struct run *r, report_grid_fn *emit, FILE *out)
{
	const struct chain *c = chain_of(r);
	uint32_t *order = ranked(r), shown = c->n > MAX_ROWS ? MAX_ROWS : c->n;
	struct grid g;

	grid_init(&g, "why (each queue waits for the next; looked at once a millisecond)",
		  "cause|chain|longest|times|first|last|at end", 2);
	for (uint32_t i = 0; order != NULL && i < shown; i++) {
		grid_row(&g);
		finding_cells(&g, r, &c->findings[order[i]]);
	}
	if (shown < c->n)
		grid_note(&g, "and %u more, in report.json%s", c->n - shown,
			  c->left_out == 0 ? "" : "; others were too many to be kept");
	emit(&g, out);
	grid_fini(&g);
	free(order);
}

// ---- storms

static bool was_stormed(const struct watchdog_class *c)
{
	return ctr_get(&c->detected) != 0;
}

static uint64_t escalations(const struct run *r, uint32_t sw, unsigned port, unsigned cls)
{
	const struct storm_pick p = {.sw = sw,
				     .port = (int)port,
				     .cls = (int)cls,
				     .what = STORM_ESCALATED,
				     .to_ns = UINT64_MAX};

	return storm_log_count(&r->fabric->storms, &p);
}

static uint64_t first_detected(const struct run *r, uint32_t sw, unsigned port, unsigned cls)
{
	const struct storm_pick p = {.sw = sw,
				     .port = (int)port,
				     .cls = (int)cls,
				     .what = STORM_DETECTED,
				     .to_ns = UINT64_MAX};
	uint64_t t_ns = 0;

	(void)storm_log_nth(&r->fabric->storms, &p, 1, &t_ns);
	return t_ns;
}

// With the one that still goes on.
static uint64_t longest_storm(const struct watchdog_class *c, uint64_t now_ns)
{
	uint64_t ns = gauge_get(&c->storm_longest_ns), since = gauge_get(&c->since_ns);

	return watchdog_stormed(c) && now_ns - since > ns ? now_ns - since : ns;
}

static void storm_cells(struct grid *g, const struct run *r, uint32_t sw, unsigned port,
			unsigned cls)
{
	const struct watchdog_class *c = switch_watchdog(r->fabric->switches[sw].sw, port, cls);

	grid_put(g, "%s.p%u.%u", r->sc->switches[sw].name, port + 1u, cls);
	grid_put(g, "%" PRIu64, ctr_get(&c->detected));
	grid_put(g, "%" PRIu64, ctr_get(&c->restored));
	grid_put(g, "%" PRIu64, escalations(r, sw, port, cls));
	put_time(r, g, first_detected(r, sw, port, cls));
	put_time(r, g, longest_storm(c, r->end_ns));
	grid_put(g, "%" PRIu64, ctr_get(&c->total.tx_ok));
	grid_put(g, "%" PRIu64, ctr_get(&c->total.tx_dropped));
	grid_put(g, "%" PRIu64, ctr_get(&c->total.rx_ok));
	grid_put(g, "%" PRIu64, ctr_get(&c->total.rx_dropped));
}

typedef void storm_fn(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned cls);

static void each_storm(const struct run *r, storm_fn *fn, void *arg)
{
	for (uint32_t s = 0; s < r->sc->n_switches; s++)
		for (unsigned p = 0; p < r->sc->switches[s].n_ports; p++)
			for (unsigned c = 0; c < N_CLASSES; c++)
				if (was_stormed(switch_watchdog(r->fabric->switches[s].sw, p, c)))
					fn(arg, r, s, p, c);
}

struct storm_rows {
	struct grid g;
	uint32_t n;
};

static void storm_row(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned cls)
{
	struct storm_rows *rows = arg;

	if (rows->n++ >= MAX_ROWS)
		return;
	grid_row(&rows->g);
	storm_cells(&rows->g, r, sw, port, cls);
}

static void storms_grid(const struct run *r, report_grid_fn *emit, FILE *out)
{
	struct storm_rows rows = {.n = 0};

	grid_init(
		&rows.g, "storms (watchdogs; frames: of the class while it was stormed)",
		"queue|detected|restored|escalated|first at|longest|sent|dropped|received|dropped",
		1);
	each_storm(r, storm_row, &rows);
	if (rows.n > MAX_ROWS)
		grid_note(&rows.g, "and %u more, in report.json", rows.n - MAX_ROWS);
	emit(&rows.g, out);
	grid_fini(&rows.g);
}

void report_why(const struct run *r, report_grid_fn *emit, FILE *out)
{
	findings_grid(r, emit, out);
	storms_grid(r, emit, out);
}

static uint64_t pauses_sent(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < r->sc->n_switches; s++)
		for (unsigned p = 0; p < r->sc->switches[s].n_ports; p++)
			for (unsigned c = 0; c < N_CLASSES; c++)
				n += ctr_get(&switch_pfc_tx(r->fabric->switches[s].sw, p)
						      ->stats[c]
						      .transitions);
	return n;
}

void report_why_line(const struct run *r, FILE *out)
{
	if (chain_of(r)->n == 0 && pauses_sent(r) != 0)
		fputs("why: no deadlock and no host at the root of PAUSE: ports were offered more "
		      "than they send\n",
		      out);
}

// ---- JSON

static void put_queue(const struct run *r, struct chain_queue q, struct json_object *list)
{
	struct json_object *row = row_in(list);
	char port[16];

	row_text(row, "switch", r->sc->switches[q.sw].name);
	snprintf(port, sizeof(port), "p%u", q.port + 1u);
	row_text(row, KEY(QUEUES, port), port);
	row_u64(row, KEY(QUEUES, class), q.cls);
}

static void put_finding(const struct run *r, const struct chain_finding *f, struct json_object *row)
{
	struct json_object *queues;
	char *text = chain_text(r, f);

	row_text(row, KEY(CAUSES, kind), chain_kind_name[f->kind]);
	row_text(row, KEY(CAUSES, chain), text == NULL ? "" : text);
	if (f->kind == CHAIN_ROOT) {
		row_text(row, "host", r->sc->hosts[f->host].name);
		row_text(row, KEY(DROPS, reason), chain_reason_name[f->reason]);
		row_u64(row, KEY(QUEUES, class), f->cls);
	}
	queues = list_in(row, "queues");
	for (uint32_t i = 0; i < f->n_queues; i++)
		put_queue(r, f->queues[i], queues);
	row_u64(row, "longest_ns", f->longest_ns);
	row_u64(row, "times", f->times);
	row_u64(row, "first_ns", f->first_ns);
	row_u64(row, "last_ns", f->last_ns);
	row_bool(row, "at_the_end", f->now);
	free(text);
}

static void put_storm(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned cls)
{
	const struct watchdog_class *c = switch_watchdog(r->fabric->switches[sw].sw, port, cls);
	struct json_object *row = row_in(arg);
	char name[16];

	row_text(row, "switch", r->sc->switches[sw].name);
	snprintf(name, sizeof(name), "p%u", port + 1u);
	row_text(row, KEY(QUEUES, port), name);
	row_u64(row, KEY(QUEUES, class), cls);
	row_u64(row, KEY(WATCHDOG, detected), ctr_get(&c->detected));
	row_u64(row, KEY(WATCHDOG, restored), ctr_get(&c->restored));
	row_u64(row, "escalated", escalations(r, sw, port, cls));
	row_u64(row, "first_detected_ns", first_detected(r, sw, port, cls));
	row_u64(row, "longest_ns", longest_storm(c, r->end_ns));
	row_u64(row, KEY(WATCHDOG, tx_ok), ctr_get(&c->total.tx_ok));
	row_u64(row, KEY(WATCHDOG, tx_dropped), ctr_get(&c->total.tx_dropped));
	row_u64(row, KEY(WATCHDOG, rx_ok), ctr_get(&c->total.rx_ok));
	row_u64(row, KEY(WATCHDOG, rx_dropped), ctr_get(&c->total.rx_dropped));
}

void report_why_json(const struct run *r, struct json_object *out)
{
	uint32_t *order = ranked(r);
	struct json_object *list = list_in(out, "why");

	for (uint32_t i = 0; order != NULL && i < chain_of(r)->n; i++)
		put_finding(r, &chain_of(r)->findings[order[i]], row_in(list));
	free(order);
	each_storm(r, put_storm, list_in(out, "storms"));
}
