// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show_flows.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/table.h"


static const struct column flow_columns[] = {
	{"FROM", "from", UNIT_TEXT}, {"TO", "to", UNIT_TEXT}, {"QP", "qp", UNIT_HEX, 2},
	{"SENDER_QP", "sender_qp", UNIT_HEX, 9}, {"SOURCE", "source", UNIT_TEXT, 14},
	{"IN", "in_port", UNIT_TEXT, 7}, {"OUT", "out_port", UNIT_TEXT, 6},
	{"CLASS", "class", UNIT_COUNT, 8}, {"RATE", "rate_bps", UNIT_BPS, 1},
	{"FRAMES", "packets", UNIT_COUNT, 13}, {"LOST_UPSTREAM", "gap_packets", UNIT_COUNT, 3},
	{"REWINDS", "rewinds", UNIT_COUNT, 10}, {"CE", "ce", UNIT_COUNT, 4},
	{"CNP_SEEN", "cnps_seen", UNIT_COUNT, 11}, {"CNP_SENT", "cnps_sent", UNIT_COUNT, 5},
	{"SILENT", "silent", UNIT_TEXT, 12},
};
static const struct table flows = {COLUMNS(flow_columns), NULL, NULL, NULL};
static const struct column unpaired_columns[] = {
	{"FROM", "from", UNIT_TEXT}, {"TO", "to", UNIT_TEXT}, {"QP", "qp", UNIT_HEX, 1},
	{"KIND", "kind", UNIT_TEXT, 5}, {"IN", "in_port", UNIT_TEXT, 6},
	{"OUT", "out_port", UNIT_TEXT, 6}, {"RATE", "rate_bps", UNIT_BPS, 3},
	{"FRAMES", "packets", UNIT_COUNT, 7}, {"CANDIDATES", "candidates", UNIT_COUNT, 4},
	{"UNPAIRED_BECAUSE", "reason", UNIT_TEXT, 2},
};
static const struct table unpaired_flows = {COLUMNS(unpaired_columns), NULL, NULL, NULL};
static const struct column queue_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_COUNT},
	{"CLASS", "class", UNIT_COUNT, 9}, {"LENGTH", "length_bytes", UNIT_BYTES},
	{"KMIN", "kmin_bytes", UNIT_BYTES, 4}, {"KMAX", "kmax_bytes", UNIT_BYTES, 5},
	{"PAUSED", "paused", UNIT_YES, 6}, {"LOOKED_AT", "look_age_us", UNIT_US, 7},
	{"THEN", "look_bytes", UNIT_BYTES, 8}, {"OF_LIMIT", "threshold_percent", UNIT_PERCENT, 4},
	{"TREND", "trend", UNIT_TEXT, 3},
	{"EXCESS", "excess_bps", UNIT_BPS, 2}, {"QUADRANT", "quadrant", UNIT_TEXT, 1},
};
static const struct table queues = {
	COLUMNS(queue_columns), NULL, NULL,
	"no queue sends notifications: give a class that has `wred` the line `ipcc: on`"};
static const struct column decision_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_COUNT},
	{"NONE", "looks_none", UNIT_COUNT, 5}, {"FEW_UP", "looks_few_growing", UNIT_COUNT, 3},
	{"FEW_DOWN", "looks_few_shrinking", UNIT_COUNT, 4},
	{"MANY", "looks_many", UNIT_COUNT, 2}, {"MUTED", "muted", UNIT_COUNT, 7},
	{"TOLD", "told", UNIT_COUNT}, {"SPARED", "spared", UNIT_COUNT, 6},
	{"NOT_TOLD_BECAUSE", "silences", UNIT_TEXT, 1},
};
static const struct table decisions = {
	COLUMNS(decision_columns),
	"looks_none looks_few_growing looks_few_shrinking looks_many muted told spared",
	"queue|s without a look", "no queue was above kmin yet"};
static const struct column port_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"FLOWS", "flows_used", UNIT_COUNT},
	{"REFUSED", "flows_refused", UNIT_COUNT, 6},
	{"EVICTED", "flows_evicted", UNIT_COUNT, 7}, {"GAPS", "gaps", UNIT_COUNT, 5},
	{"LOST_UPSTREAM", "gap_packets", UNIT_COUNT}, {"REWINDS", "rewinds", UNIT_COUNT, 2},
	{"CE", "ce", UNIT_COUNT, 1}, {"NAK", "naks", UNIT_COUNT, 3},
	{"CNP_SEEN", "cnps_seen", UNIT_COUNT, 4}, {"CNP_SENT", "cnps_sent", UNIT_COUNT, 1},
	{"CNP_CAPPED", "cnps_capped", UNIT_COUNT, 8},
};
static const struct table ports = {
	COLUMNS(port_columns),
	"flows_used flows_refused flows_evicted gaps rewinds ce naks cnps_seen cnps_sent "
	"cnps_capped",
	"port|s without a flow", "no flow enters or leaves by any port"};
static const struct column cnp_columns[] = {
	{"TIME", "at", UNIT_TEXT, 1}, {"FLOW", "key", UNIT_TEXT},
	{"SENDER_QP", "sender_qp", UNIT_HEX, 12}, {"SOURCE", "source", UNIT_TEXT, 13},
	{"LEFT_BY", "left_by", UNIT_TEXT, 11}, {"QUEUE", "place", UNIT_TEXT},
	{"LENGTH", "length_bytes", UNIT_BYTES, 2}, {"OF_KMAX", "filled", UNIT_PERCENT, 4},
	{"OF_LIMIT", "threshold_percent", UNIT_PERCENT, 4},
	{"TREND", "trend", UNIT_TEXT, 10}, {"QUADRANT", "quadrant", UNIT_TEXT, 3},
	{"EXCESS", "excess_bps", UNIT_BPS, 5}, {"TOLD", "told", UNIT_COUNT, 9},
	{"RANK", "rank", UNIT_COUNT, 8}, {"FLOW_RATE", "flow_bps", UNIT_BPS, 6},
	{"SHARE", "share_percent", UNIT_PERCENT, 7},
};
static const struct table cnps = {COLUMNS(cnp_columns), NULL, NULL, NULL};

// ---- reading rows

static struct json_object *member(struct json_object *row, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(row, key, &v);
	return v;
}

static uint64_t number(struct json_object *row, const char *key)
{
	return json_object_get_uint64(member(row, key));
}

static const char *text(struct json_object *row, const char *key)
{
	struct json_object *v = member(row, key);

	return v == NULL ? "-" : json_object_get_string(v);
}

static struct json_object *at(struct json_object *list, size_t i)
{
	return json_object_array_get_idx(list, i);
}

static void put(struct json_object *row, const char *key, const char *v)
{
	json_object_object_add(row, key, json_object_new_string(v));
}

static void count_text(char out[CELL_LEN], struct json_object *row, const char *key)
{
	cell_format(out, UNIT_COUNT, member(row, key));
}

// "+4.20 KB", "-120 B".
static void put_trend(struct json_object *row)
{
	int64_t v = json_object_get_int64(member(row, "trend_bytes"));
	struct json_object *size = json_object_new_uint64((uint64_t)(v < 0 ? -v : v));
	char cell[CELL_LEN], out[CELL_LEN + 1];

	cell_format(cell, UNIT_BYTES, size);
	snprintf(out, sizeof(out), "%c%s", v < 0 ? '-' : '+', cell);
	put(row, "trend", out);
	json_object_put(size);
}

// ---- flows

// "12, gap" for a flow that was passed over twelve times, the last time for its gap.
static void put_silent(struct json_object *row)
{
	char n[CELL_LEN], out[2 * CELL_LEN];

	count_text(n, row, "silences");
	if (number(row, "silences") == 0)
		snprintf(out, sizeof(out), "-");
	else if (strcmp(text(row, "silence"), "none") == 0)
		snprintf(out, sizeof(out), "%s", n);
	else
		snprintf(out, sizeof(out), "%s, %s", n, text(row, "silence"));
	put(row, "silent", out);
}

static void no_flows(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	char all[CELL_LEN], bare[CELL_LEN];

	count_text(all, data, "all");
	count_text(bare, data, "unpaired");
	if (number(member(data, "flow_table"), "max") == 0)
		fputs("no flow table: the policy has `switch.flows: off`; without it, and a "
		      "restart, there is one\n", out);
	else if (number(data, "all") == 0)
		fputs("no RoCEv2 flow: none has sent data lately (switch.flows.age)\n", out);
	else if (wish->unpaired && number(data, "unpaired") == 0)
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
	count_text(bare, data, "unpaired");
	count_text(left, data, "left_out");
	count_text(max, member(data, "flow_table"), "max");
	if (number(data, "left_out") > 0)
		fprintf(out, "(%s more are not shown; --limit N shows up to 1,000)\n", left);
	fprintf(out, "%s flows, room for %s; %s unpaired%s\n", all, max, bare,
		number(data, "unpaired") > 0 && !unpaired ? " (show flows --unpaired says why)"
							  : "");
}

void print_flows(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = member(data, "flows");

	if (rows == NULL)
		return;
	if (json_object_array_length(rows) == 0) {
		no_flows(out, data, wish);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		put_silent(at(rows, i));
		if (strcmp(text(at(rows, i), "state"), "needs-none") == 0)
			put(at(rows, i), "source", "needs no pair");
	}
	table_print(out, rows, wish->unpaired ? &unpaired_flows : &flows, wish);
	flows_end(out, data, wish->unpaired);
}

// ---- notifications by queue

// "gap 12, covered 3".
static void put_silences(struct json_object *row)
{
	static const char start[] = "silent_";
	char out[CELL_LEN] = "", n[CELL_LEN];
	size_t len = 0;

	json_object_object_foreach(row, key, v) {
		if (strncmp(key, start, strlen(start)) != 0 || json_object_get_uint64(v) == 0 ||
		    len >= sizeof(out))
			continue;
		cell_format(n, UNIT_COUNT, v);
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s %s",
					len > 0 ? ", " : "", key + strlen(start), n);
	}
	put(row, "silences", len > 0 ? out : "-");
}

static void print_notifiers(FILE *out, struct json_object *rows, const struct show_wish *wish)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		if (member(at(rows, i), "quadrant") != NULL)
			put_trend(at(rows, i));
		put_silences(at(rows, i));
	}
	table_print(out, rows, &queues, wish);
	if (json_object_array_length(rows) == 0)
		return;
	fputc('\n', out);
	table_print(out, rows, &decisions, wish);
}

// "static 0, cm 12, ..." of the keys that begin so.
static void print_sums(FILE *out, struct json_object *sums, const char *start)
{
	const char *lead = "";
	char n[CELL_LEN];

	json_object_object_foreach(sums, key, v) {
		if (strncmp(key, start, strlen(start)) != 0)
			continue;
		cell_format(n, UNIT_COUNT, v);
		fprintf(out, "%s%s %s", lead, key + strlen(start), n);
		lead = ", ";
	}
	fputc('\n', out);
}

static void print_table_sums(FILE *out, struct json_object *data)
{
	struct json_object *table = member(data, "flow_table"), *pairing = member(data, "pairing");

	if (table == NULL || pairing == NULL)
		return;
	fputs("flows: ", out);
	print_sums(out, table, "");
	fputs("pairs made: ", out);
	print_sums(out, pairing, "paired_");
	fputs("pairs dropped: ", out);
	print_sums(out, pairing, "dropped_");
}

void print_ipcc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = member(data, "ipcc"), *by_port = member(data, "flow_ports");

	if (rows == NULL || by_port == NULL)
		return;
	print_notifiers(out, rows, wish);
	fputc('\n', out);
	table_print(out, by_port, &ports, wish);
	fputc('\n', out);
	print_table_sums(out, data);
}

// ---- CNPs

// Cells that are made of two numbers, and the time without its date.
static void put_cnp_cells(struct json_object *row)
{
	uint64_t kmax = number(row, "kmax_bytes");
	const char *time = strchr(text(row, "time"), 'T');
	char cell[CELL_LEN];

	snprintf(cell, sizeof(cell), "%s", time != NULL ? time + 1 : "-");
	put(row, "at", cell);
	snprintf(cell, sizeof(cell), "%s:%" PRIu64, text(row, "port"), number(row, "queue"));
	put(row, "place", cell);
	json_object_object_add(row, "filled",
			       json_object_new_uint64(kmax == 0 ? 0 : number(row, "length_bytes") *
									      100 / kmax));
	put_trend(row);
}

void print_cnps(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = member(data, "cnps");
	char total[CELL_LEN], kept[CELL_LEN];
	size_t n;

	if (rows == NULL)
		return;
	n = json_object_array_length(rows);
	count_text(total, data, "total");
	count_text(kept, data, "kept");
	if (number(data, "total") == 0) {
		fputs("the switch has sent no CNP; show ipcc says where it would, and why not\n",
		      out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_cnp_cells(at(rows, i));
	table_print(out, rows, &cnps, wish);
	fprintf(out, "%zu of %s that are kept; %s were sent since the start\n", n, kept, total);
	if (number(data, "lost") > 0)
		fprintf(out, "%" PRIu64 " more came too fast to be kept\n", number(data, "lost"));
}
