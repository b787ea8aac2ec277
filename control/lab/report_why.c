// SPDX-License-Identifier: Apache-2.0
// What a run found: why there was PAUSE, what the watchdogs did, which notifications switches sent
// and whether they were right, and whether retransmission timers were too short.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/rows.h"
#include "control/lab/chain.h"
#include "control/lab/operator.h"
#include "control/lab/report_rows.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/policy.h"
#include "dataplane/qos/watchdog.h"

enum { MAX_ROWS = 20, TEXT_LEN = 400, SHOWN_CONGESTED = 4 };

// A class, or a queue, of a port of a switch.
struct place {
	uint32_t sw;
	unsigned port, cls;
};

// Moves to the next place, from *p on, that `is` wanted. False: there is none.
static bool find_place(const struct run *r, struct place *p,
		       bool (*is)(const struct weir_switch *sw, unsigned port, unsigned cls))
{
	for (; p->sw < r->sc->n_switches; p->sw++, p->port = 0)
		for (; p->port < r->sc->switches[p->sw].n_ports; p->port++, p->cls = 0)
			for (; p->cls < N_CLASSES; p->cls++)
				if (is(r->fabric->switches[p->sw].in.sw, p->port, p->cls))
					return true;
	return false;
}

static void put_place(const struct run *r, uint32_t sw, unsigned port, struct json_object *row)
{
	char name[16];

	row_text(row, "switch", r->sc->switches[sw].name);
	snprintf(name, sizeof(name), "p%u", port + 1u);
	row_text(row, KEY(QUEUES, port), name);
}

static void put_time(const struct run *r, struct grid *g, uint64_t ns)
{
	char text[EXPR_VALUE_LEN];

	expr_print_digits(EXPR_TIME, (double)ns, r->digits, text, sizeof(text));
	grid_put(g, "%s", text);
}

// ---- chains of PAUSE

// The findings, the longest first, for the caller to free; NULL: nothing was found, or no memory.
static uint32_t *ranked(const struct run *r)
{
	const struct chain *c = &r->fabric->chain->chain;
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

static void findings_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	const struct chain *c = &r->fabric->chain->chain;
	uint32_t *order = ranked(r), shown = c->n > MAX_ROWS ? MAX_ROWS : c->n;
	struct grid g;

	grid_init(&g, "why (each queue waits for the next; looked at once a millisecond)",
		  "cause|chain|longest|times|first|last|at end", 2);
	for (uint32_t i = 0; order != NULL && i < shown; i++) {
		const struct chain_finding *f = &c->findings[order[i]];
		char *text = chain_text(r, f);

		grid_row(&g);
		grid_put(&g, "%s",
			 f->kind == CHAIN_ROOT ? chain_reason_name[f->reason]
					       : chain_kind_name[f->kind]);
		grid_put(&g, "%s", text == NULL ? "" : text);
		if (f->longest_ns == 0)
			grid_put(&g, "%s", "<1ms"); // one look saw it
		else
			put_time(r, &g, f->longest_ns);
		grid_put(&g, "%" PRIu32, f->times);
		put_time(r, &g, f->first_ns);
		put_time(r, &g, f->last_ns);
		grid_put(&g, "%s", f->now ? "yes" : "");
		free(text);
	}
	if (shown < c->n)
		grid_note(&g, "and %u more, in report.json%s", c->n - shown,
			  c->left_out == 0 ? "" : "; others were too many to be kept");
	grid_end(&g, emit, out, 0);
	free(order);
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
	for (uint32_t i = 0; i < f->n_queues; i++) {
		struct json_object *queue = row_in(queues);

		put_place(r, f->queues[i].sw, f->queues[i].port, queue);
		row_u64(queue, KEY(QUEUES, class), f->queues[i].cls);
	}
	row_u64(row, "longest_ns", f->longest_ns);
	row_u64(row, "times", f->times);
	row_u64(row, "first_ns", f->first_ns);
	row_u64(row, "last_ns", f->last_ns);
	row_bool(row, "at_the_end", f->now);
	free(text);
}

// ---- storms

// A storm's numbers, in the order of their keys (report_why_json) and columns.
enum { STORM_FIRST_NS = 3, STORM_LONGEST_NS, N_STORM_FIELDS = 9 };

static bool was_stormed(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	return ctr_get(&switch_watchdog(sw, port, cls)->detected) != 0;
}

static void read_storm(const struct run *r, const struct place *p, uint64_t v[N_STORM_FIELDS])
{
	const struct watchdog_class *c =
		switch_watchdog(r->fabric->switches[p->sw].in.sw, p->port, p->cls);
	const struct storm_log *log = &r->fabric->storms;
	struct storm_pick pick = {.sw = p->sw,
				  .port = (int)p->port,
				  .cls = (int)p->cls,
				  .what = STORM_ESCALATED,
				  .to_ns = UINT64_MAX};
	uint64_t escalated = storm_log_count(log, &pick), first_ns = 0;
	uint64_t longest_ns = gauge_get(&c->storm_longest_ns), since_ns = gauge_get(&c->since_ns);

	pick.what = STORM_DETECTED;
	(void)storm_log_nth(log, &pick, 1, &first_ns);
	// A storm that goes on counts, too.
	if (watchdog_stormed(c) && r->end_ns - since_ns > longest_ns)
		longest_ns = r->end_ns - since_ns;
	memcpy(v,
	       (const uint64_t[]){ctr_get(&c->detected), ctr_get(&c->restored), escalated, first_ns,
				  longest_ns, ctr_get(&c->total.tx_ok),
				  ctr_get(&c->total.tx_dropped), ctr_get(&c->total.rx_ok),
				  ctr_get(&c->total.rx_dropped)},
	       N_STORM_FIELDS * sizeof(*v));
}

static void storms_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	uint64_t v[N_STORM_FIELDS];
	uint32_t n = 0;
	struct grid g;

	grid_init(
		&g, "storms (watchdogs; frames: of the class while it was stormed)",
		"queue|detected|restored|escalated|first at|longest|sent|dropped|received|dropped",
		1);
	for (struct place p = {0}; find_place(r, &p, was_stormed); p.cls++) {
		if (n++ >= MAX_ROWS)
			continue;
		read_storm(r, &p, v);
		grid_row(&g);
		grid_put(&g, "%s.p%u.%u", r->sc->switches[p.sw].name, p.port + 1u, p.cls);
		for (unsigned i = 0; i < N_STORM_FIELDS; i++)
			if (i == STORM_FIRST_NS || i == STORM_LONGEST_NS)
				put_time(r, &g, v[i]);
			else
				grid_put(&g, "%" PRIu64, v[i]);
	}
	grid_end(&g, emit, out, n > MAX_ROWS ? n - MAX_ROWS : 0);
}

void report_why(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	findings_grid(r, emit, out);
	storms_grid(r, emit, out);
}

static bool sent_pause(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	return ctr_get(&switch_pfc_tx(sw, port)->stats[cls].transitions) != 0;
}

void report_why_line(const struct run *r, FILE *out)
{
	struct chain_congested list[SHOWN_CONGESTED];
	uint32_t n = chain_fabric_congested(r->fabric, list, SHOWN_CONGESTED);
	bool found = r->fabric->chain->chain.n != 0;

	if (found ? n == 0 : !find_place(r, &(struct place){0}, sent_pause))
		return;
	fputs(found ? "why, besides: "
		    : "why: no deadlock and no host at the root of PAUSE: ", out);
	for (uint32_t i = 0; i < n && i < SHOWN_CONGESTED; i++)
		fprintf(out, "%s%s.p%u.%u%s", i == 0 ? "" : ", ",
			r->sc->switches[list[i].queue.sw].name, list[i].queue.port + 1u,
			list[i].queue.cls, list[i].stopped ? " (tx_off)" : "");
	if (n > SHOWN_CONGESTED)
		fprintf(out, " and %u more queues", n - SHOWN_CONGESTED);
	fputs(n == 0 ? "ports were offered more than they send\n"
		     : n == 1 ? " was offered more than its port sends\n"
			      : " were offered more than their ports send\n",
	      out);
}

static void put_congested(const struct run *r, struct json_object *list)
{
	struct chain_congested queues[SHOWN_CONGESTED];
	uint32_t n = chain_fabric_congested(r->fabric, queues, SHOWN_CONGESTED);

	for (uint32_t i = 0; i < n && i < SHOWN_CONGESTED; i++) {
		struct json_object *row = row_in(list);

		put_place(r, queues[i].queue.sw, queues[i].queue.port, row);
		row_u64(row, KEY(QUEUES, class), queues[i].queue.cls);
		row_u64(row, "chains", queues[i].chains);
		row_bool(row, "tx_off", queues[i].stopped);
	}
}

void report_why_json(const struct run *r, struct json_object *out)
{
	const struct chain *c = &r->fabric->chain->chain;
	uint32_t *order = ranked(r);
	struct json_object *list = list_in(out, "why");
	const char *const keys[N_STORM_FIELDS] = {KEY(WATCHDOG, detected),
						  KEY(WATCHDOG, restored),
						  "escalated",
						  "first_detected_ns",
						  "longest_ns",
						  KEY(WATCHDOG, tx_ok),
						  KEY(WATCHDOG, tx_dropped),
						  KEY(WATCHDOG, rx_ok),
						  KEY(WATCHDOG, rx_dropped)};
	uint64_t v[N_STORM_FIELDS];

	for (uint32_t i = 0; order != NULL && i < c->n; i++)
		put_finding(r, &c->findings[order[i]], row_in(list));
	free(order);
	put_congested(r, list_in(out, "congested"));
	list = list_in(out, "storms");
	for (struct place p = {0}; find_place(r, &p, was_stormed); p.cls++) {
		struct json_object *row = row_in(list);

		put_place(r, p.sw, p.port, row);
		row_u64(row, KEY(QUEUES, class), p.cls);
		read_storm(r, &p, v);
		for (unsigned i = 0; i < N_STORM_FIELDS; i++)
			row_u64(row, keys[i], v[i]);
	}
}

// ---- notifications of switches

// A look at a queue, or a look that was left out.
static bool was_looked_at(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	const struct ipcc_counters *c = switch_ipcc(sw, port, queue);
	uint64_t n = c == NULL ? 0 : ctr_get(&c->muted);

	for (unsigned k = 0; c != NULL && k < N_QUADRANTS; k++)
		n += ctr_get(&c->looks[k]);
	return n != 0;
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

static void queues_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	uint32_t n_rows = 0;
	struct grid g;

	grid_init(&g,
		  "notifications (looks at queues above kmin by what they looked like; flows that "
		  "were told nothing)",
		  "queue|none|few, growing|few, shrinking|many|muted|CNPs|late|wrong|spared|silent",
		  1);
	for (struct place p = {0}; find_place(r, &p, was_looked_at); p.cls++) {
		const struct ipcc_counters *c =
			switch_ipcc(r->fabric->switches[p.sw].in.sw, p.port, p.cls);
		struct cnp_counts n =
			cnp_judge_counts(r->fabric->cnps, p.sw, (int)p.port, (int)p.cls);
		char *silent;

		if (n_rows++ >= MAX_ROWS)
			continue;
		silent = silences_text(c);
		grid_row(&g);
		grid_put(&g, "%s.p%u.%u", r->sc->switches[p.sw].name, p.port + 1u, p.cls);
		for (unsigned k = 0; k < N_QUADRANTS; k++)
			report_put_count(&g, ctr_get(&c->looks[k]));
		report_put_count(&g, ctr_get(&c->muted));
		report_put_count(&g, n.sent);
		report_put_count(&g, n.late);
		report_put_count(&g, n.wrong);
		report_put_count(&g, ctr_get(&c->spared));
		grid_put(&g, "%s", silent == NULL ? "" : silent);
		free(silent);
	}
	grid_end(&g, emit, out, n_rows > MAX_ROWS ? n_rows - MAX_ROWS : 0);
}

static uint64_t dropped(const struct flow_totals *t)
{
	return t->pairing.dropped_jump + t->pairing.dropped_ack + t->pairing.dropped_rival +
	       t->pairing.dropped_dreq + t->pairing.dropped_age + t->pairing.dropped_static;
}

static void pairs_grid(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	struct grid g;

	grid_init(&g, "flow tables, and senders' queue pairs of RoCEv2, by how they were learnt",
		  "switch|flows|made|refused|paired now|static|cm|read|ack|cnp|dropped|wrong port",
		  1);
	for (uint32_t s = 0; s < r->sc->n_switches && g.n_rows < MAX_ROWS; s++) {
		struct flow_totals t;

		switch_flow_totals(r->fabric->switches[s].in.sw, &t);
		if (t.made == 0 && t.refused == 0)
			continue;
		grid_row(&g);
		grid_put(&g, "%s", r->sc->switches[s].name);
		report_put_count(&g, t.used);
		report_put_count(&g, t.made);
		report_put_count(&g, t.refused);
		report_put_count(&g, t.pairing.n_paired);
		for (unsigned k = PAIR_NONE + 1; k < N_PAIR_SOURCES; k++)
			report_put_count(&g, t.pairing.paired[k]);
		report_put_count(&g, dropped(&t));
		report_put_count(&g, t.pairing.wrong_port);
	}
	grid_end(&g, emit, out, 0);
}

void report_cnps(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	queues_grid(r, emit, out);
	pairs_grid(r, emit, out);
}

// If switches send no CNP, a host received CNPs of its peer alone: of a connection that is gone.
static uint64_t refused_by_hosts(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_hosts && r->fabric->cnps->all.sent != 0; i++)
		n += nic_stats_now(r->fabric->hosts[i].nic)->cnps_wrong;
	return n;
}

static uint64_t records_lost(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_switches; i++)
		n += switch_cnp_records_lost(r->fabric->switches[i].in.sw);
	return n;
}

uint64_t report_wrong_cnps(const struct run *r)
{
	return r->fabric->cnps->all.wrong + refused_by_hosts(r) + records_lost(r);
}

void report_cnps_line(const struct run *r, FILE *out)
{
	const struct cnp_judge *j = r->fabric->cnps;
	const struct cnp_counts *n = &j->all;
	uint64_t refused = refused_by_hosts(r), lost = records_lost(r);

	if (n->sent != 0 && n->wrong + refused + lost == 0)
		fprintf(out, "every one of %" PRIu64 " notifications was for the right queue pair",
			n->sent);
	if (n->wrong != 0)
		fprintf(out, "WRONG: %" PRIu64 " of %" PRIu64 " notifications of switches",
			n->wrong, n->sent);
	if (n->wrong != 0 && j->seen) {
		char at[EXPR_VALUE_LEN], from[FLOW_ADDR_LEN], to[FLOW_ADDR_LEN];

		expr_print(EXPR_TIME, (double)j->first.t_ns, at, sizeof(at));
		flow_addresses(&j->first.key, from, to);
		fprintf(out,
			", the first by switch %s for p%u.%u, at %s (%" PRIu64
			" ns): flow %s to %s, queue pair 0x%06x, is not that of queue pair 0x%06x "
			"(%s)",
			r->sc->switches[j->first_sw].name, j->first.port + 1u, j->first.queue, at,
			j->first.t_ns, from, to, flow_key_qp(&j->first.key), j->first.sender_qp,
			pair_source_name[j->first.source]);
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

static void put_sources(struct json_object *row, const uint64_t *by_source)
{
	struct json_object *o = json_object_new_object();

	for (unsigned k = PAIR_NONE + 1; k < N_PAIR_SOURCES; k++)
		row_u64(o, pair_source_name[k], by_source[k]);
	json_object_object_add(row, "by_source", o);
}

static void put_queue(const struct run *r, const struct place *p, struct json_object *row)
{
	const char *const looks[N_QUADRANTS] = {KEY(IPCC, looks_none), "looks_growing",
						"looks_shrinking", KEY(IPCC, looks_many)};
	const struct ipcc_counters *c =
		switch_ipcc(r->fabric->switches[p->sw].in.sw, p->port, p->cls);
	struct cnp_counts n = cnp_judge_counts(r->fabric->cnps, p->sw, (int)p->port, (int)p->cls);
	struct json_object *silent = json_object_new_object();

	put_place(r, p->sw, p->port, row);
	row_u64(row, KEY(QUEUES, queue), p->cls);
	for (unsigned k = 0; k < N_QUADRANTS; k++)
		row_u64(row, looks[k], ctr_get(&c->looks[k]));
	row_u64(row, "looks_muted", ctr_get(&c->muted));
	row_u64(row, KEY(IPCC, told), ctr_get(&c->notified));
	row_u64(row, KEY(FLOW_PORTS, cnps_sent), n.sent);
	row_u64(row, "cnps_late", n.late);
	row_u64(row, "cnps_wrong", n.wrong);
	put_sources(row, n.by_source);
	row_u64(row, KEY(IPCC, spared), ctr_get(&c->spared));
	for (unsigned s = CNP_SILENT_NONE + 1; s < N_CNP_SILENCES; s++)
		row_u64(silent, cnp_silence_name[s], ctr_get(&c->silences[s]));
	json_object_object_add(row, KEY(FLOWS, silences), silent);
}

void report_cnps_json(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "notifications"), *row;

	for (struct place p = {0}; find_place(r, &p, was_looked_at); p.cls++)
		put_queue(r, &p, row_in(list));
	list = list_in(out, "pairs");
	for (uint32_t s = 0; s < r->sc->n_switches; s++) {
		struct flow_totals t;

		switch_flow_totals(r->fabric->switches[s].in.sw, &t);
		if (t.made == 0 && t.refused == 0)
			continue;
		row = row_in(list);
		row_text(row, "switch", r->sc->switches[s].name);
		row_u64(row, "flows", t.used);
		row_u64(row, KEY(FLOW_TABLE, made), t.made);
		row_u64(row, KEY(FLOW_TABLE, refused), t.refused);
		row_u64(row, KEY(PAIRING, paired), t.pairing.n_paired);
		put_sources(row, t.pairing.paired);
		row_u64(row, KEY(BALANCE, dropped), dropped(&t));
		row_u64(row, KEY(PAIRING, wrong_port), t.pairing.wrong_port);
	}
	row_u64(out, "wrong_cnps", report_wrong_cnps(r));
}

// ---- retransmission timers

static uint64_t lost_frames(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_switches; i++) {
		struct weir_switch *sw = r->fabric->switches[i].in.sw;

		for (unsigned port = 0; port < switch_policy(sw)->n_ports; port++)
			for (unsigned cls = 0; cls < N_CLASSES; cls++)
				for (unsigned why = 0; why < N_DROP_REASONS; why++)
					n += ctr_get(&switch_drops(sw, port, cls, why)->packets);
	}
	for (uint32_t i = 0; i < r->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct wire_counts c =
				wire_counts(wire_end(r->fabric->links[i].wire, side));

			for (unsigned why = 0; why < WIRE_N_LOSSES; why++)
				n += c.lost[why];
		}
	for (uint32_t i = 0; i < r->sc->n_hosts; i++)
		n += nic_stats_now(r->fabric->hosts[i].nic)->rx_dropped;
	return n;
}

uint64_t report_rto_ns(const struct run *r, uint32_t host)
{
	uint64_t given = r->sc->hosts[host].nic.rto_ns;

	return given != 0 ? given : r->fabric->rto_ns;
}

// Whether timers ran out too early: packets came twice although no frame was lost. A timer that
// ran out because of a loss sends again what is not acknowledged yet: up to REQ_ACK_EVERY packets
// that had arrived. So many for each lost frame are no sign of a short timer. TCP measures its own
// timer.
static bool short_timer(const struct run *r, char text[TEXT_LEN])
{
	uint64_t packets = 0,
		 rto_ns = UINT64_MAX; // sent again needlessly; the shortest that ran out
	char now[EXPR_VALUE_LEN], cure[EXPR_VALUE_LEN];

	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		const struct nic_stats *s = nic_stats_now(r->fabric->hosts[i].nic);

		packets += s->duplicates - s->tcp_duplicates;
		if (s->timeouts != s->tcp_timeouts && report_rto_ns(r, i) < rto_ns)
			rto_ns = report_rto_ns(r, i);
	}
	if (rto_ns == UINT64_MAX || packets <= REQ_ACK_EVERY * lost_frames(r))
		return false;
	expr_print(EXPR_TIME, (double)rto_ns, now, sizeof(now));
	expr_print(EXPR_TIME, (double)(rto_ns < r->fabric->rto_ns ? r->fabric->rto_ns : 2 * rto_ns),
		   cure, sizeof(cure));
	snprintf(text, TEXT_LEN,
		 "%" PRIu64 " packets were sent again although their receivers had accepted them, "
		 "and losses do not explain it: the retransmission timer of %s ran out while the "
		 "packet or its ACK waited. Set `hosts.NAME.nic.rto` to at least %s",
		 packets, now, cure);
	return true;
}

// Whether hosts sent, and nothing came of it: expectations that nothing is lost hold then, too.
static bool nothing_arrived(const struct run *r, char text[TEXT_LEN])
{
	uint64_t sent = 0;

	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		struct host_row h = report_host(r, i);

		if (h.goodput_bytes != 0)
			return false;
		sent += h.tx_packets;
	}
	if (sent != 0)
		snprintf(text, TEXT_LEN,
			 "no host received any payload, though hosts sent %" PRIu64
			 " frames: the table of queues says where they wait or were dropped",
			 sent);
	return sent != 0;
}

// Whether a stream was slow without a reason.
static bool slower_than_ideal(const struct run *r, char text[TEXT_LEN])
{
	struct fair_alarm a = fair_alarm(r->fair);
	char had[EXPR_VALUE_LEN], ideal[EXPR_VALUE_LEN], more[32] = "";

	if (a.n == 0)
		return false;
	expr_print(EXPR_RATE, a.measured_bps, had, sizeof(had));
	expr_print(EXPR_RATE, a.ideal_bps, ideal, sizeof(ideal));
	if (a.n > 1)
		snprintf(more, sizeof(more), " (and %u more)", a.n - 1);
	snprintf(text, TEXT_LEN,
		 "%s from %s to %s%s had %s of the %s that its links leave it, and no CNP, PAUSE, "
		 "loss or other traffic explains it: look for a queue pair of %s that delays "
		 "others, a fence or a small window",
		 r->sc->flows[a.flow].label, r->sc->hosts[a.src].name, r->sc->hosts[a.dst].name,
		 more, had, ideal, r->sc->hosts[a.src].name);
	return true;
}

// Whether a switch refused what an operator typed.
static bool refused_command(const struct run *r, char text[TEXT_LEN])
{
	uint32_t n, n_refused = 0;
	const struct operator_answer *a = operator_answers(r->fabric->operator, &n), *first = NULL;
	char at[EXPR_VALUE_LEN], more[32] = "";

	for (uint32_t i = 0; i < n; i++) {
		if (a[i].refusal == NULL)
			continue;
		n_refused++;
		first = first == NULL ? &a[i] : first;
	}
	if (first == NULL)
		return false;
	expr_print(EXPR_TIME, (double)first->command->at_ns, at, sizeof(at));
	if (n_refused > 1)
		snprintf(more, sizeof(more), " (and %u more)", n_refused - 1);
	snprintf(text, TEXT_LEN, "at %s %s refused `weirctl %s`: %s%s", at,
		 r->sc->switches[first->command->target.node].name, first->command->words,
		 first->refusal, more);
	return true;
}

static bool (*const warnings[])(const struct run *r, char text[TEXT_LEN]) = {
	short_timer, nothing_arrived, slower_than_ideal, refused_command};

void report_warnings(const struct run *r, FILE *out)
{
	char text[TEXT_LEN];

	for (unsigned i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++)
		if (warnings[i](r, text))
			fprintf(out, "warning: %s\n", text);
}

void report_warnings_json(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "warnings");
	char text[TEXT_LEN];

	for (unsigned i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++)
		if (warnings[i](r, text))
			json_object_array_add(list, json_object_new_string(text));
}
