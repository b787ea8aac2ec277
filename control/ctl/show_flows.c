// SPDX-License-Identifier: Apache-2.0
// How the kinds `flows`, `ipcc` and `cnps` look: flows and elephants, the decisions about their
// notifications, and the notifications.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/ctl/show.h"

static void count_text(char out[CELL_LEN], struct json_object *row, const char *key)
{
	cell_format(out, CELL_COUNT, json_object_object_get(row, key));
}

// "12, gap" for a flow that was passed over twelve times, the last time for its gap.
static void put_silent(struct json_object *row)
{
	char n[CELL_LEN], out[2 * CELL_LEN];

	fact_cell(n, row, F_FLOWS_silences);
	if (fact_count(row, F_FLOWS_silences) == 0)
		snprintf(out, sizeof(out), "-");
	else if (fact_is(row, F_FLOWS_silence, "none"))
		snprintf(out, sizeof(out), "%s", n);
	else
		snprintf(out, sizeof(out), "%s, %s", n, fact_text(row, F_FLOWS_silence));
	row_text(row, "silent", out);
}

// The queue pair of RoCEv2, else the ports.
static void put_ends(struct json_object *row)
{
	char ends[CELL_LEN];

	if (fact_in(row, F_FLOWS_sport) == NULL)
		fact_cell(ends, row, F_FLOWS_qp);
	else
		snprintf(ends, sizeof(ends), "%" PRIu64 ">%" PRIu64, fact_count(row, F_FLOWS_sport),
			 fact_count(row, F_FLOWS_dport));
	row_text(row, "qp_or_ports", ends);
}

static void no_elephants(FILE *out, struct json_object *data)
{
	char all[CELL_LEN];

	count_text(all, data, "all");
	fprintf(out,
		"none of %s flows is an elephant: none sends at switch.elephants.rate now, or "
		"switch.elephants is off\n",
		all);
}

static void no_flows(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *table = rows_of(data, FACTS_FLOW_TABLE);
	char all[CELL_LEN], bare[CELL_LEN];

	count_text(all, data, "all");
	fact_cell(bare, data, F_PAIRING_unpaired);
	if (fact_count(table, F_FLOW_TABLE_max) == 0)
		fputs("no flow table: the policy has `switch.flows: off`; without it, and a "
		      "restart, there is one\n", out);
	else if (count_in(data, "all") == 0)
		fputs("no RoCEv2 flow: none has sent data lately (switch.flows.age)\n", out);
	else if (wish->elephants)
		no_elephants(out, data);
	else if (wish->unpaired && fact_count(data, F_PAIRING_unpaired) == 0)
		fprintf(out, "all %s flows are paired, or need no pair\n", all);
	else
		fprintf(out, "none of %s %sflows enters or leaves by %s\n",
			wish->unpaired ? bare : all, wish->unpaired ? "unpaired " : "",
			wish->port != NULL ? wish->port : "any port");
}

static void flows_end(FILE *out, struct json_object *data, bool unpaired)
{
	char all[CELL_LEN], bare[CELL_LEN], left[CELL_LEN], max[CELL_LEN];

	count_text(all, data, "all");
	count_text(left, data, "left_out");
	if (count_in(data, "left_out") > 0)
		fprintf(out, "(%s more are not shown; --limit N shows up to 1,000)\n", left);
	fprintf(out, "%s flows, room for %s; %s unpaired%s\n", all,
		fact_cell(max, rows_of(data, FACTS_FLOW_TABLE), F_FLOW_TABLE_max),
		fact_cell(bare, data, F_PAIRING_unpaired),
		fact_count(data, F_PAIRING_unpaired) > 0 && !unpaired
			? " (show flows --unpaired says why)"
			: "");
}

void print_flows(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct table flows = {
		.list = FACTS_FLOWS,
		COLUMNS({.place = UINT8_MAX, .rank = 12, .head = "SILENT", .key = "silent"},
			{.fact = F_FLOWS_size, .place = 16, .rank = 0, .head = "SIZE"})};
	const struct table unpaired = {
		.list = NO_FACTS,
		COLUMNS({F_FLOWS_from}, {F_FLOWS_to}, {F_FLOWS_qp, .rank = 1},
			{.fact = F_FLOWS_kind, .head = "KIND", .rank = 5},
			{F_FLOWS_in_port, .rank = 6}, {F_FLOWS_out_port, .rank = 6},
			{F_FLOWS_rate_bps, .rank = 3}, {F_FLOWS_packets, .rank = 7},
			{.fact = F_FLOWS_candidates, .head = "CANDIDATES", .unit = CELL_COUNT,
			 .rank = 4},
			{.fact = F_FLOWS_reason, .head = "UNPAIRED_BECAUSE", .rank = 2})};
	const struct table elephants = {
		.list = NO_FACTS,
		COLUMNS({F_FLOWS_from}, {F_FLOWS_to},
			{.head = "QP_OR_PORTS", .key = "qp_or_ports", .rank = 1},
			{.fact = F_FLOWS_kind, .head = "KIND", .rank = 3},
			{F_FLOWS_in_port, .rank = 5}, {F_FLOWS_out_port, .rank = 6},
			{F_FLOWS_class, .rank = 7}, {F_FLOWS_rate_bps},
			{.fact = F_FLOWS_bytes, .head = "BYTES", .rank = 4},
			{.fact = F_FLOWS_elephant_us, .head = "SINCE", .rank = 2})};
	const struct table ports = {
		FACTS_ELEPHANT_PORTS, "", "port|s without an elephant",
		FACTS(F_ELEPHANT_PORTS_now, F_ELEPHANT_PORTS_elephant_frames)};
	struct json_object *rows = rows_of(data, FACTS_FLOWS);

	if (n_rows(rows) == 0) {
		no_flows(out, data, wish);
		return;
	}
	if (fact_in(row_at(rows, 0), F_FLOWS_size) == NULL) // switch.elephants is off
		flows.n_made--;
	for (size_t i = 0; i < n_rows(rows); i++) {
		put_silent(row_at(rows, i));
		put_ends(row_at(rows, i));
		if (fact_is(row_at(rows, i), F_FLOWS_state, "needs-none"))
			row_text(row_at(rows, i), KEY(FLOWS, source), "needs no pair");
	}
	table_print(out, rows,
		    wish->elephants ? &elephants : wish->unpaired ? &unpaired : &flows, wish);
	flows_end(out, data, wish->unpaired);
	if (!wish->elephants || rows_of(data, FACTS_ELEPHANT_PORTS) == NULL)
		return;
	fputc('\n', out);
	table_print(out, rows_of(data, FACTS_ELEPHANT_PORTS), &ports, wish);
}

// "static 0, cm 12, ..." of the counters of a list whose keys begin so; zeros too, or not.
static void add_counters(FILE *out, struct json_object *row, const char *start, bool zeros)
{
	const char *lead = "";
	char n[CELL_LEN];

	json_object_object_foreach(row, key, v) {
		if (strncmp(key, start, strlen(start)) != 0 ||
		    (!zeros && json_object_get_uint64(v) == 0))
			continue;
		cell_format(n, CELL_COUNT, v);
		fprintf(out, "%s%s %s", lead, key + strlen(start), n);
		lead = ", ";
	}
}

// "gap 12, covered 3".
static void put_silences(struct json_object *row)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return;
	add_counters(f, row, "silent_", false);
	fclose(f);
	row_text(row, "silent", len > 0 ? text : "-");
	free(text);
}

void print_ipcc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table queues = {
		FACTS_IPCC,
		"no queue sends notifications: give a class that has `wred` the line `ipcc: on`"};
	const struct table decisions = {
		NO_FACTS, "no queue was above kmin yet", "queue|s without a look",
		FACTS(F_IPCC_looks_none, F_IPCC_looks_few_growing, F_IPCC_looks_few_shrinking,
		      F_IPCC_looks_many, F_IPCC_muted, F_IPCC_told, F_IPCC_spared),
		COLUMNS({F_IPCC_port}, {F_IPCC_queue},
			{F_IPCC_looks_none, .rank = 5}, {F_IPCC_looks_few_growing, .rank = 3},
			{F_IPCC_looks_few_shrinking, .rank = 4}, {F_IPCC_looks_many, .rank = 2},
			{F_IPCC_muted, .rank = 7}, {F_IPCC_told}, {F_IPCC_spared, .rank = 6},
			{.head = "NO_CNP_BECAUSE", .key = "silent", .rank = 1})};
	const struct table ports = {
		FACTS_FLOW_PORTS, "no flow enters or leaves by any port", "port|s without a flow",
		FACTS(F_FLOW_PORTS_flows_used, F_FLOW_PORTS_flows_refused,
		      F_FLOW_PORTS_flows_evicted, F_FLOW_PORTS_gaps, F_FLOW_PORTS_rewinds,
		      F_FLOW_PORTS_ce, F_FLOW_PORTS_naks, F_FLOW_PORTS_cnps_seen,
		      F_FLOW_PORTS_cnps_sent, F_FLOW_PORTS_cnps_capped)};
	struct json_object *rows = rows_of(data, FACTS_IPCC);
	struct json_object *by_port = rows_of(data, FACTS_FLOW_PORTS);
	struct json_object *room = rows_of(data, FACTS_FLOW_TABLE);
	struct json_object *pairs = rows_of(data, FACTS_PAIRING);

	if (by_port == NULL)
		return;
	for (size_t i = 0; i < n_rows(rows); i++) {
		if (fact_in(row_at(rows, i), F_IPCC_quadrant) == NULL)
			json_object_object_add(row_at(rows, i), KEY(IPCC, trend_bytes), NULL);
		put_silences(row_at(rows, i));
	}
	table_print(out, rows, &queues, wish);
	if (n_rows(rows) != 0) {
		fputc('\n', out);
		table_print(out, rows, &decisions, wish);
	}
	fputc('\n', out);
	table_print(out, by_port, &ports, wish);
	fputc('\n', out);
	if (room == NULL || pairs == NULL)
		return;
	fputs("flows: ", out);
	add_counters(out, room, "", true);
	fputs("\npairs made: ", out);
	add_counters(out, pairs, "paired_", true);
	fputs("\npairs dropped: ", out);
	add_counters(out, pairs, "dropped_", true);
	fputc('\n', out);
}

// Cells that are made of two numbers, and the time without its date.
static void put_cnp_cells(struct json_object *row)
{
	uint64_t kmax = fact_count(row, F_CNPS_kmax_bytes);
	const char *time = strchr(fact_text(row, F_CNPS_time), 'T');
	char cell[CELL_LEN];

	snprintf(cell, sizeof(cell), "%s", time != NULL ? time + 1 : "-");
	row_text(row, KEY(CNPS, time), cell);
	snprintf(cell, sizeof(cell), "%s:%" PRIu64, fact_text(row, F_CNPS_port),
		 fact_count(row, F_CNPS_queue));
	row_text(row, KEY(CNPS, queue), cell);
	json_object_object_add(
		row, "filled",
		json_object_new_uint64(
			kmax == 0 ? 0 : fact_count(row, F_CNPS_length_bytes) * 100 / kmax));
}

void print_cnps(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table cnps = {
		.list = FACTS_CNPS,
		COLUMNS({.place = 8, .rank = 4, .head = "OF_KMAX", .key = "filled",
			 .unit = CELL_PERCENT})};
	struct json_object *rows = rows_of(data, FACTS_CNPS);
	char total[CELL_LEN], kept[CELL_LEN];

	count_text(total, data, "total");
	count_text(kept, data, "kept");
	if (count_in(data, "total") == 0) {
		fputs("the switch has sent no CNP; show ipcc says where it would, and why not\n",
		      out);
		return;
	}
	for (size_t i = 0; i < n_rows(rows); i++)
		put_cnp_cells(row_at(rows, i));
	table_print(out, rows, &cnps, wish);
	fprintf(out, "%zu of %s that are kept; %s were sent since the start\n", n_rows(rows), kept,
		total);
	if (fact_count(data, F_STEERING_lost) > 0)
		fprintf(out, "%" PRIu64 " more came too fast to be kept\n",
			fact_count(data, F_STEERING_lost));
}
