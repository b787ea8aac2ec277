// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show_flows.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/table.h"


static const struct column flows[] = {
	{"From", "from", UNIT_TEXT},           {"To", "to", UNIT_TEXT},
	{"QP", "qp", UNIT_HEX},                {"Sender QP", "sender_qp", UNIT_HEX},
	{"Source", "source", UNIT_TEXT},       {"In", "in_port", UNIT_TEXT},
	{"Out", "out_port", UNIT_TEXT},        {"Class", "class", UNIT_COUNT},
	{"Rate", "rate_bps", UNIT_BPS},        {"Frames", "packets", UNIT_COUNT},
	{"Lost", "gap_packets", UNIT_COUNT},   {"Rewinds", "rewinds", UNIT_COUNT},
	{"CE", "ce", UNIT_COUNT},              {"CNP_SEEN", "cnps_seen", UNIT_COUNT},
	{"CNP_SENT", "cnps_sent", UNIT_COUNT}, {"Silent", "silent", UNIT_TEXT},
};
static const struct column unpaired_flows[] = {
	{"From", "from", UNIT_TEXT},     {"To", "to", UNIT_TEXT},
	{"QP", "qp", UNIT_HEX},          {"Kind", "kind", UNIT_TEXT},
	{"In", "in_port", UNIT_TEXT},    {"Out", "out_port", UNIT_TEXT},
	{"Rate", "rate_bps", UNIT_BPS},  {"Frames", "packets", UNIT_COUNT},
	{"Candidates", "candidates", UNIT_COUNT}, {"Unpaired because", "reason", UNIT_TEXT},
};
static const struct column queues[] = {
	{"Port", "port", UNIT_TEXT},            {"Queue", "queue", UNIT_COUNT},
	{"Class", "class", UNIT_COUNT},         {"Length", "length_bytes", UNIT_BYTES},
	{"Kmin", "kmin_bytes", UNIT_BYTES},     {"Kmax", "kmax_bytes", UNIT_BYTES},
	{"Paused", "paused", UNIT_YES},         {"Looked at", "look_age_us", UNIT_US},
	{"Then", "look_bytes", UNIT_BYTES},     {"Trend", "trend", UNIT_TEXT},
	{"Excess", "excess_bps", UNIT_BPS},     {"Quadrant", "quadrant", UNIT_TEXT},
};
static const struct column decisions[] = {
	{"Port", "port", UNIT_TEXT},             {"Queue", "queue", UNIT_COUNT},
	{"NONE", "looks_none", UNIT_COUNT},      {"FEW_UP", "looks_few_growing", UNIT_COUNT},
	{"FEW_DOWN", "looks_few_shrinking", UNIT_COUNT}, {"MANY", "looks_many", UNIT_COUNT},
	{"Muted", "muted", UNIT_COUNT},          {"Told", "told", UNIT_COUNT},
	{"Spared", "spared", UNIT_COUNT},        {"Not told because", "silences", UNIT_TEXT},
};
static const struct column ports[] = {
	{"Port", "port", UNIT_TEXT},             {"Flows", "flows_used", UNIT_COUNT},
	{"Refused", "flows_refused", UNIT_COUNT}, {"Evicted", "flows_evicted", UNIT_COUNT},
	{"Gaps", "gaps", UNIT_COUNT},
	{"Lost", "gap_packets", UNIT_COUNT},     {"Rewinds", "rewinds", UNIT_COUNT},
	{"CE", "ce", UNIT_COUNT},                {"NAK", "naks", UNIT_COUNT},
	{"CNP_SEEN", "cnps_seen", UNIT_COUNT},   {"CNP_SENT", "cnps_sent", UNIT_COUNT},
	{"CNP_CAPPED", "cnps_capped", UNIT_COUNT},
};
static const struct column cnps[] = {
	{"Time", "at", UNIT_TEXT},               {"Flow", "key", UNIT_TEXT},
	{"Sender QP", "sender_qp", UNIT_HEX},    {"Source", "source", UNIT_TEXT},
	{"Left by", "left_by", UNIT_TEXT},       {"Queue", "place", UNIT_TEXT},
	{"Length", "length_bytes", UNIT_BYTES},  {"Of kmax", "filled", UNIT_PERCENT},
	{"Trend", "trend", UNIT_TEXT},           {"Quadrant", "quadrant", UNIT_TEXT},
	{"Excess", "excess_bps", UNIT_BPS},      {"Told", "told", UNIT_COUNT},
	{"Rank", "rank", UNIT_COUNT},            {"Flow sent", "flow_bps", UNIT_BPS},
	{"Share", "share_percent", UNIT_PERCENT},
};

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

static void no_flows(FILE *out, struct json_object *data, bool unpaired)
{
	char all[CELL_LEN];

	count_text(all, data, "all");
	if (number(member(data, "flow_table"), "max") == 0)
		fputs("no flow table: the policy has `switch.flows: off`; without it, and a "
		      "restart, there is one\n", out);
	else if (number(data, "all") == 0)
		fputs("no RoCEv2 flow: none has sent data lately (switch.flows.age)\n", out);
	else if (unpaired && number(data, "unpaired") == 0)
		fprintf(out, "all %s flows are paired\n", all);
	else
		fprintf(out, "none of %s flows enters or leaves there\n", all);
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

void print_flows(FILE *out, struct json_object *data, bool unpaired)
{
	struct json_object *rows = member(data, "flows");

	if (rows == NULL)
		return;
	if (json_object_array_length(rows) == 0) {
		no_flows(out, data, unpaired);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		put_silent(at(rows, i));
	if (unpaired)
		table_print(out, rows, COLUMNS(unpaired_flows), NULL);
	else
		table_print(out, rows, COLUMNS(flows), NULL);
	flows_end(out, data, unpaired);
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

static void print_queues(FILE *out, struct json_object *rows)
{
	if (json_object_array_length(rows) == 0) {
		fputs("no queue sends notifications: give a class that has `wred` the line "
		      "`ipcc: on`\n", out);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		if (member(at(rows, i), "quadrant") != NULL)
			put_trend(at(rows, i));
		put_silences(at(rows, i));
	}
	table_print(out, rows, COLUMNS(queues), NULL);
	fputc('\n', out);
	table_print(out, rows, COLUMNS(decisions), NULL);
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

void print_ipcc(FILE *out, struct json_object *data)
{
	struct json_object *rows = member(data, "ipcc"), *by_port = member(data, "flow_ports");

	if (rows == NULL || by_port == NULL)
		return;
	print_queues(out, rows);
	fputc('\n', out);
	table_print(out, by_port, COLUMNS(ports), NULL);
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

void print_cnps(FILE *out, struct json_object *data)
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
	table_print(out, rows, COLUMNS(cnps), NULL);
	fprintf(out, "%zu of %s that are kept; %s were sent since the start\n", n, kept, total);
	if (number(data, "lost") > 0)
		fprintf(out, "%" PRIu64 " more came too fast to be kept\n", number(data, "lost"));
}
