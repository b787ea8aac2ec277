// SPDX-License-Identifier: Apache-2.0
// What the flow tables knew and what switches told senders: queues with their looks and CNPs, and
// why flows were told nothing; pairs by how they were learnt; and whether every CNP was right.
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/report_rows.h"
#include "control/observe/field.h"
#include "control/observe/flows.h"

enum { MAX_ROWS = 20, QUEUES = 8 };

typedef void cnp_row_fn(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned q);

static uint64_t looks_of(const struct ipcc_counters *c)
{
	uint64_t n = ctr_get(&c->muted);

	for (unsigned k = 0; k < N_QUADRANTS; k++)
		n += ctr_get(&c->looks[k]);
	return n;
}

// Queues that were looked at, or whose CNPs were.
static void each_queue(const struct run *r, cnp_row_fn *fn, void *arg)
{
	for (uint32_t s = 0; s < r->sc->n_switches; s++) {
		const struct weir_switch *sw = r->fabric->switches[s].sw;

		for (unsigned p = 0; p < r->sc->switches[s].n_ports; p++)
			for (unsigned q = 0; q < QUEUES; q++) {
				const struct ipcc_counters *c = switch_ipcc(sw, p, q);

				if (c != NULL && looks_of(c) != 0)
					fn(arg, r, s, p, q);
			}
	}
}

static void put_count(struct grid *g, uint64_t n)
{
	if (n == 0)
		grid_put(g, "%s", "");
	else
		grid_put(g, "%" PRIu64, n);
}

// "unpaired 12, gap 3"; for the caller to free, NULL: no memory.
static char *silences_text(const struct ipcc_counters *c)
{
	const char *between = "";
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	for (unsigned s = CNP_SILENT_NONE + 1; s < N_CNP_SILENCES; s++) {
		if (ctr_get(&c->silences[s]) == 0)
			continue;
		fprintf(out, "%s%s %" PRIu64, between, cnp_silence_name[s],
			ctr_get(&c->silences[s]));
		between = ", ";
	}
	fclose(out);
	return text;
}

struct queue_rows {
	struct grid g;
	uint32_t n;
};

static void queue_row(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned q)
{
	const struct ipcc_counters *c = switch_ipcc(r->fabric->switches[sw].sw, port, q);
	struct cnp_counts n = cnp_judge_counts(r->fabric->cnps, sw, (int)port, (int)q);
	struct queue_rows *rows = arg;
	struct grid *g = &rows->g;
	char *silent;

	if (rows->n++ >= MAX_ROWS)
		return;
	silent = silences_text(c);
	grid_row(g);
	grid_put(g, "%s.p%u.%u", r->sc->switches[sw].name, port + 1u, q);
	for (unsigned k = 0; k < N_QUADRANTS; k++)
		put_count(g, ctr_get(&c->looks[k]));
	put_count(g, ctr_get(&c->muted));
	put_count(g, n.sent);
	put_count(g, n.late);
	put_count(g, n.wrong);
	put_count(g, ctr_get(&c->spared));
	grid_put(g, "%s", silent == NULL ? "" : silent);
	free(silent);
}

static void queues_grid(const struct run *r, report_grid_fn *emit, FILE *out)
{
	struct queue_rows rows = {.n = 0};

	grid_init(&rows.g,
		  "notifications (looks at queues above kmin by what they looked like; flows that "
		  "were told nothing)",
		  "queue|none|few, growing|few, shrinking|many|muted|CNPs|late|wrong|spared|silent",
		  1);
	each_queue(r, queue_row, &rows);
	if (rows.n > MAX_ROWS)
		grid_note(&rows.g, "and %u more, in report.json", rows.n - MAX_ROWS);
	emit(&rows.g, out);
	grid_fini(&rows.g);
}

static uint64_t dropped(const struct flow_totals *t)
{
	return t->pairing.dropped_jump + t->pairing.dropped_ack + t->pairing.dropped_rival +
	       t->pairing.dropped_dreq + t->pairing.dropped_age + t->pairing.dropped_static;
}

static void pairs_grid(const struct run *r, report_grid_fn *emit, FILE *out)
{
	struct grid g;

	grid_init(&g, "flows and their senders' queue pairs, by how they were learnt",
		  "switch|flows|made|refused|paired now|static|cm|read|ack|cnp|dropped|wrong port",
		  1);
	for (uint32_t s = 0; s < r->sc->n_switches && g.n_rows < MAX_ROWS; s++) {
		struct flow_totals t;

		switch_flow_totals(r->fabric->switches[s].sw, &t);
		if (t.made == 0 && t.refused == 0)
			continue;
		grid_row(&g);
		grid_put(&g, "%s", r->sc->switches[s].name);
		put_count(&g, t.used);
		put_count(&g, t.made);
		put_count(&g, t.refused);
		put_count(&g, t.pairing.n_paired);
		for (unsigned k = PAIR_NONE + 1; k < N_PAIR_SOURCES; k++)
			put_count(&g, t.pairing.paired[k]);
		put_count(&g, dropped(&t));
		put_count(&g, t.pairing.wrong_port);
	}
	emit(&g, out);
	grid_fini(&g);
}

void report_cnps(const struct run *r, report_grid_fn *emit, FILE *out)
{
	queues_grid(r, emit, out);
	pairs_grid(r, emit, out);
}

// ---- whether they were right

// Where switches send none, a host has heard from its peer alone: of a connection that is gone.
static uint64_t refused_by_hosts(const struct run *r)
{
	uint64_t n = 0;

	if (r->fabric->cnps->all.sent == 0)
		return 0;
	for (uint32_t i = 0; i < r->sc->n_hosts; i++)
		n += nic_stats_now(r->fabric->hosts[i].nic)->cnps_wrong;
	return n;
}

static uint64_t records_lost(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_switches; i++)
		n += switch_cnp_records_lost(r->fabric->switches[i].sw);
	return n;
}

uint64_t report_wrong_cnps(const struct run *r)
{
	return r->fabric->cnps->all.wrong + refused_by_hosts(r) + records_lost(r);
}

static void first_wrong(const struct run *r, FILE *out)
{
	const struct cnp_judge *j = r->fabric->cnps;
	char at[EXPR_VALUE_LEN], from[FLOW_ADDR_LEN], to[FLOW_ADDR_LEN];

	if (!j->seen)
		return;
	expr_print(EXPR_TIME, (double)j->first.t_ns, at, sizeof(at));
	flow_addresses(&j->first.key, from, to);
	fprintf(out,
		", the first by switch %s for p%u.%u, at %s (%" PRIu64 " ns): flow %s to %s, queue "
		"pair 0x%06x, is not that of queue pair 0x%06x (%s)",
		r->sc->switches[j->first_sw].name, j->first.port + 1u, j->first.queue, at,
		j->first.t_ns, from, to, flow_key_qp(&j->first.key), j->first.sender_qp,
		pair_source_name[j->first.source]);
}

void report_cnps_line(const struct run *r, FILE *out)
{
	const struct cnp_counts *n = &r->fabric->cnps->all;
	uint64_t refused = refused_by_hosts(r), lost = records_lost(r);

	if (n->sent != 0 && n->wrong + refused + lost == 0)
		fprintf(out, "every one of %" PRIu64 " notifications was for the right queue pair",
			n->sent);
	if (n->wrong != 0) {
		fprintf(out, "WRONG: %" PRIu64 " of %" PRIu64 " notifications of switches",
			n->wrong, n->sent);
		first_wrong(r, out);
	}
	if (n->sent != 0 || n->wrong != 0)
		fputc('\n', out);
	if (refused != 0)
		fprintf(out,
			"WRONG: hosts received %" PRIu64 " CNPs that were for no queue pair of "
			"theirs\n",
			refused);
	if (lost != 0)
		fprintf(out, "WRONG: %" PRIu64 " notifications of switches could not be checked\n",
			lost);
}

// ---- JSON

static void put_sources(struct json_object *row, const uint64_t *by_source)
{
	struct json_object *o = json_object_new_object();

	for (unsigned k = PAIR_NONE + 1; k < N_PAIR_SOURCES; k++)
		row_u64(o, pair_source_name[k], by_source[k]);
	json_object_object_add(row, "by_source", o);
}

static void put_queue(void *arg, const struct run *r, uint32_t sw, unsigned port, unsigned q)
{
	const char *const looks[N_QUADRANTS] = {KEY(IPCC, looks_none), "looks_growing",
						"looks_shrinking", KEY(IPCC, looks_many)};
	const struct ipcc_counters *c = switch_ipcc(r->fabric->switches[sw].sw, port, q);
	struct cnp_counts n = cnp_judge_counts(r->fabric->cnps, sw, (int)port, (int)q);
	struct json_object *row = row_in(arg), *silent = json_object_new_object();
	char name[16];

	row_text(row, "switch", r->sc->switches[sw].name);
	snprintf(name, sizeof(name), "p%u", port + 1u);
	row_text(row, KEY(QUEUES, port), name);
	row_u64(row, KEY(QUEUES, queue), q);
	for (unsigned k = 0; k < N_QUADRANTS; k++)
		row_u64(row, looks[k], ctr_get(&c->looks[k]));
	row_u64(row, "looks_muted", ctr_get(&c->muted));
	row_u64(row, KEY(IPCC, told), ctr_get(&c->told));
	row_u64(row, KEY(FLOW_PORTS, cnps_sent), n.sent);
	row_u64(row, "cnps_late", n.late);
	row_u64(row, "cnps_wrong", n.wrong);
	put_sources(row, n.by_source);
	row_u64(row, KEY(IPCC, spared), ctr_get(&c->spared));
	for (unsigned s = CNP_SILENT_NONE + 1; s < N_CNP_SILENCES; s++)
		row_u64(silent, cnp_silence_name[s], ctr_get(&c->silences[s]));
	json_object_object_add(row, KEY(FLOWS, silences), silent);
}

static void put_pairs(const struct run *r, uint32_t sw, struct json_object *list)
{
	struct json_object *row;
	struct flow_totals t;

	switch_flow_totals(r->fabric->switches[sw].sw, &t);
	if (t.made == 0 && t.refused == 0)
		return;
	row = row_in(list);
	row_text(row, "switch", r->sc->switches[sw].name);
	row_u64(row, "flows", t.used);
	row_u64(row, KEY(FLOW_TABLE, made), t.made);
	row_u64(row, KEY(FLOW_TABLE, refused), t.refused);
	row_u64(row, KEY(PAIRING, paired), t.pairing.n_paired);
	put_sources(row, t.pairing.paired);
	row_u64(row, KEY(BALANCE, dropped), dropped(&t));
	row_u64(row, KEY(PAIRING, wrong_port), t.pairing.wrong_port);
}

void report_cnps_json(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "notifications");

	each_queue(r, put_queue, list);
	list = list_in(out, "pairs");
	for (uint32_t s = 0; s < r->sc->n_switches; s++)
		put_pairs(r, s, list);
	row_u64(out, "wrong_cnps", report_wrong_cnps(r));
}
