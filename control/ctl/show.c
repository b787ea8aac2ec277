// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show.h"

#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show_flows.h"
#include "control/ctl/show_settings.h"
#include "control/ctl/show_storms.h"
#include "control/ctl/show_traffic.h"
#include "control/ctl/table.h"
#include "control/daemon/json_in.h"
#include "control/observe/fact.h"

// Heads are capitals, with _ between words. SONiC's name is used where SONiC has the column.
static const struct column interface_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"OPER", "up", UNIT_UP, 4},
	{"SPEED", "speed_bps", UNIT_BPS, 5}, {"RX_OK", "rx_packets", UNIT_COUNT, 3},
	{"RX_BPS", "rx_bps", UNIT_BPS}, {"RX_PPS", "rx_pps", UNIT_COUNT, 6},
	{"RX_UTIL", "rx_util_percent", UNIT_PERCENT, 1}, {"TX_OK", "tx_packets", UNIT_COUNT, 3},
	{"TX_BPS", "tx_bps", UNIT_BPS}, {"TX_PPS", "tx_pps", UNIT_COUNT, 6},
	{"TX_UTIL", "tx_util_percent", UNIT_PERCENT, 1},
};

static const struct column pg_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"PG", "pg", UNIT_COUNT},
	{"LOSSLESS", "lossless", UNIT_YES, 10}, {"RX_OK", "rx_packets", UNIT_COUNT, 9},
	{"MIN", "min_bytes", UNIT_BYTES, 8}, {"SHARED", "shared_bytes", UNIT_BYTES},
	{"HEADROOM", "headroom_bytes", UNIT_BYTES, 1}, {"SKID", "skid_bytes", UNIT_BYTES, 6},
	{"MAX_SHARED", "max_shared_bytes", UNIT_BYTES, 5},
	{"MAX_HEADROOM", "max_headroom_bytes", UNIT_BYTES, 4},
	{"XOFF_AT", "xoff_at_bytes", UNIT_BYTES, 3}, {"XON_AT", "xon_at_bytes", UNIT_BYTES, 7},
	{"XOFF", "xoff", UNIT_YES, 2}, {"RX_DRP", "dropped_packets", UNIT_COUNT, 2},
};
static const struct column pool_columns[] = {
	{"POOL", "name", UNIT_TEXT},        {"SIZE", "size_bytes", UNIT_BYTES},
	{"USED", "used_bytes", UNIT_BYTES}, {"MAX", "max_bytes", UNIT_BYTES},
};

static const struct column queue_mark_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_COUNT},
	{"CLASS", "class", UNIT_COUNT}, {"MAX", "max_bytes", UNIT_BYTES},
};
static const struct column pg_mark_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"PG", "pg", UNIT_COUNT},
	{"CLASS", "class", UNIT_COUNT, 1}, {"MAX_SHARED", "max_shared_bytes", UNIT_BYTES},
	{"MAX_HEADROOM", "max_headroom_bytes", UNIT_BYTES},
};
static const struct column pool_mark_columns[] = {
	{"POOL", "name", UNIT_TEXT}, {"MAX", "max_bytes", UNIT_BYTES},
};

static const struct column drop_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"CLASS", "class", UNIT_COUNT, 2},
	{"ALARM", "lossless", UNIT_YES, 1}, {"FRAMES", "packets", UNIT_COUNT},
	{"BYTES", "bytes", UNIT_BYTES, 3}, {"REASON", "reason", UNIT_TEXT},
};
static const struct table drops = {COLUMNS(drop_columns), NULL, NULL, "no frame was dropped"};
static const struct column drop_reason_columns[] = {
	{"REASON", "reason", UNIT_TEXT}, {"FRAMES", "packets", UNIT_COUNT},
	{"BYTES", "bytes", UNIT_BYTES, 2}, {"BECAUSE", "text", UNIT_TEXT, 1},
};
static const struct table drop_reasons = {COLUMNS(drop_reason_columns), NULL, NULL, NULL};

static const struct column worker_columns[] = {
	{"WORKER", "worker", UNIT_COUNT}, {"CORE", "core", UNIT_COUNT, 7},
	{"LOOPS", "loops", UNIT_COUNT, 8}, {"LOOPS_PER_S", "loops_per_s", UNIT_COUNT, 6},
	{"BUSY", "busy_percent", UNIT_PERCENT}, {"LATE", "late_loops", UNIT_COUNT, 2},
	{"LONGEST_GAP", "gap_max_ns", UNIT_NS, 1}, {"STALLS", "stalls", UNIT_COUNT, 3},
	{"STALLED", "stalled_ns", UNIT_NS, 5}, {"STAND_INS", "stand_ins", UNIT_COUNT, 3},
	{"PORTS", "ports", UNIT_LIST, 4},
};

// A counter with its meaning from the table of facts, for lists with many counters a port.
static const struct column kind_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"KIND", "kind", UNIT_TEXT},
	{"FRAMES", "packets", UNIT_COUNT}, {"MEANING", "text", UNIT_TEXT, 1},
};
static const struct table control_kinds = {COLUMNS(kind_columns), "packets",
					   "kind|s without a frame", "no control frame has come"};
static const struct table hint_kinds = {COLUMNS(kind_columns), "packets", "sign|s without a frame",
					"no sign of a wrong configuration"};
static const struct column steering_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"REASON", "reason", UNIT_TEXT},
	{"FRAMES", "packets", UNIT_COUNT}, {"LOST", "lost", UNIT_YES, 1},
	{"MEANING", "text", UNIT_TEXT, 2},
};
static const struct table steering = {COLUMNS(steering_columns), "packets",
				      "reason|s without a frame",
				      "every frame has come through the receive ring"};

static const struct column fdb_columns[] = {
	{"VLAN", "vlan", UNIT_COUNT}, {"MAC_ADDRESS", "mac", UNIT_TEXT},
	{"PORT", "port", UNIT_TEXT}, {"STATIC", "static", UNIT_YES, 2},
	{"AGE", "age_s", UNIT_S, 1},
};
static const struct column fdb_port_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"LEARNED", "learned", UNIT_COUNT},
	{"SHARE", "share", UNIT_COUNT, 5}, {"LIMIT", "limit", UNIT_COUNT, 4},
	{"ADDED", "added", UNIT_COUNT, 1}, {"MOVED", "moved", UNIT_COUNT, 1},
	{"EVICTED", "evicted", UNIT_COUNT, 2}, {"REFUSED", "refused", UNIT_COUNT, 2},
	{"HELD", "held", UNIT_COUNT, 3},
};
static const struct column route_columns[] = {
	{"TO", "to", UNIT_TEXT}, {"VIA", "via", UNIT_TEXT, 1}, {"PORT", "port", UNIT_TEXT},
	{"MAC_ADDRESS", "mac", UNIT_TEXT, 3}, {"STATE", "state", UNIT_TEXT, 2},
};
static const struct table routes = {COLUMNS(route_columns), "other",
				    "address|es of the switch itself",
				    "no route: no port has an `ip`"};
static const struct column neighbour_columns[] = {
	{"ADDRESS", "ip", UNIT_TEXT}, {"PORT", "port", UNIT_TEXT, 2},
	{"MAC_ADDRESS", "mac", UNIT_TEXT}, {"STATE", "state", UNIT_TEXT, 1},
	{"GATEWAY", "gateway", UNIT_YES, 4}, {"AGE", "age_s", UNIT_S, 3},
};
static const struct column guard_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"GROUP", "group", UNIT_TEXT},
	{"DSCP", "dscp", UNIT_COUNT}, {"TO_CLASS", "to_class", UNIT_COUNT, 1},
	{"TO_DSCP", "to_dscp", UNIT_COUNT, 2}, {"FRAMES", "packets", UNIT_COUNT},
};
static const struct column waiting_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_TEXT},
	{"FRAMES", "packets", UNIT_COUNT}, {"WAITS_BECAUSE", "reason", UNIT_TEXT, 1},
};
static const struct table waiting = {COLUMNS(waiting_columns), NULL, NULL, NULL};

// ---- kinds that are not just one table

struct line {
	const char *name, *key;
	enum unit unit;
};

// A single row: one line for each value.
static void print_record(FILE *out, struct json_object *row, const struct line *lines, size_t n)
{
	char cell[CELL_LEN];

	for (size_t i = 0; i < n; i++) {
		struct json_object *v = NULL;

		json_object_object_get_ex(row, lines[i].key, &v);
		cell_format(cell, lines[i].unit, v);
		fprintf(out, "%-12s %s\n", lines[i].name, cell);
	}
}

// One line for each counter of each port.
static struct json_object *by_kind(struct json_object *rows, const struct fact_list *facts)
{
	struct json_object *lines = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(rows); i++)
		for (size_t k = 0; k < facts->n; k++) {
			const struct fact *f = &facts->rows[k];
			struct json_object *line, *port = NULL;

			if (f->kind != FACT_COUNTER)
				continue;
			line = json_object_new_object();
			json_object_object_get_ex(row_at(rows, i), "port", &port);
			json_object_object_add(line, "port", json_object_get(port));
			put_text(line, "kind", f->key);
			json_object_object_add(
				line, "packets",
				json_object_new_uint64(count_in(row_at(rows, i), f->key)));
			put_text(line, "text", f->help);
			json_object_array_add(lines, line);
		}
	return lines;
}

static void print_kinds(FILE *out, struct json_object *data, unsigned facts,
			const struct table *t, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, fact_lists[facts].list);
	struct json_object *lines;

	if (rows == NULL)
		return;
	lines = by_kind(rows, &fact_lists[facts]);
	table_print(out, lines, t, wish);
	json_object_put(lines);
}

static void print_control(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, "steering");

	print_kinds(out, data, FACTS_CONTROL, &control_kinds, wish);
	fputc('\n', out);
	if (rows != NULL)
		table_print(out, rows, &steering, wish);
}

static void print_hints(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	print_kinds(out, data, FACTS_HINTS, &hint_kinds, wish);
}

static void print_routes(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, "routes"), *state;

	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = row_at(rows, i);
		bool own = json_object_object_get_ex(row, "state", &state) &&
			   strcmp(json_object_get_string(state), "self") == 0;

		json_object_object_add(row, "other", json_object_new_boolean(!own));
	}
	if (rows != NULL)
		table_print(out, rows, &routes, wish);
}

static void print_balance(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const struct line lines[] = {
		{"received", "received", UNIT_COUNT},   {"generated", "generated", UNIT_COUNT},
		{"replicated", "replicated", UNIT_COUNT},
		{"transmitted", "transmitted", UNIT_COUNT},
		{"consumed", "consumed", UNIT_COUNT},   {"dropped", "dropped", UNIT_COUNT},
		{"queued", "queued", UNIT_COUNT},       {"balanced", "balanced", UNIT_YES},
	};
	struct json_object *left = list_of(data, "waiting");

	print_record(out, list_of(data, "balance"), lines, sizeof(lines) / sizeof(lines[0]));
	if (left != NULL && json_object_array_length(left) > 0) {
		fputc('\n', out);
		table_print(out, left, &waiting, wish);
	}
}

static void print_config(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *c, *file, *text;

	(void)wish;
	if (json_object_object_get_ex(data, "config", &c) &&
	    json_object_object_get_ex(c, "file", &file) &&
	    json_object_object_get_ex(c, "text", &text))
		fprintf(out, "# %s\n%s", json_object_get_string(file),
			json_object_get_string(text));
}

void print_orders(FILE *out, struct json_object *data)
{
	struct json_object *v = list_of(data, "version");

	if (v != NULL && count_in(v, "drop_all") != 0)
		fputs("DROP-ALL is on: frames of all lossless classes are discarded, until: "
		      "weirctl watchdog drop-all off\n", out);
	if (v != NULL && count_in(v, "held") != 0)
		fputs("HELD: no frame is admitted, because of quiesce --hold, until: weirctl "
		      "resume\n", out);
	if (v != NULL && count_in(v, "confirm_in_ms") != 0)
		fprintf(out,
			"UNCONFIRMED: the policy before comes back in %llu s, unless: weirctl "
			"confirm (at once: weirctl rollback)\n",
			(unsigned long long)(count_in(v, "confirm_in_ms") + 999) / 1000);
}

static void print_version(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const struct line lines[] = {
		{"switch", "name", UNIT_TEXT},      {"version", "version", UNIT_TEXT},
		{"uptime", "uptime_ms", UNIT_UPTIME},  {"policy file", "policy_file", UNIT_TEXT},
		{"ports", "ports", UNIT_COUNT},     {"workers", "workers", UNIT_COUNT},
	};

	(void)wish;
	print_record(out, list_of(data, "version"), lines, sizeof(lines) / sizeof(lines[0]));
}

void show_event(FILE *out, struct json_object *row)
{
	static const char *const front[] = {"time", "severity", "event", "text"};
	static const char *const left_out[] = {"time", "severity", "event", "text", "t_ns", "seq"};
	struct json_object *v;

	for (size_t k = 0; k < sizeof(front) / sizeof(front[0]); k++)
		if (json_object_object_get_ex(row, front[k], &v))
			fprintf(out, "%s%s", json_object_get_string(v),
				k == 2 ? ": " : k == 3 ? "" : " ");
	json_object_object_foreach(row, key, value) {
		size_t k = 0;

		while (k < sizeof(left_out) / sizeof(left_out[0]) && strcmp(left_out[k], key) != 0)
			k++;
		if (k < sizeof(left_out) / sizeof(left_out[0]))
			continue;
		fprintf(out, " %s=", key);
		value_print(out, value);
	}
	fputc('\n', out);
}

static void print_events(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows;

	(void)wish;
	if (!json_object_object_get_ex(data, "events", &rows))
		return;
	if (json_object_array_length(rows) == 0)
		fputs("no event\n", out);
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		show_event(out, json_object_array_get_idx(rows, i));
	if (count_in(data, "events_lost") > 0)
		fprintf(out, "%llu events were lost because too many came at once\n",
			(unsigned long long)count_in(data, "events_lost"));
}

static void print_drop_total(FILE *out, struct json_object *total)
{
	char frames[CELL_LEN], bytes[CELL_LEN], alarm[CELL_LEN];
	struct json_object *v;

	json_object_object_get_ex(total, "packets", &v);
	cell_format(frames, UNIT_COUNT, v);
	json_object_object_get_ex(total, "bytes", &v);
	cell_format(bytes, UNIT_BYTES, v);
	json_object_object_get_ex(total, "lossless_packets", &v);
	cell_format(alarm, UNIT_COUNT, v);
	fprintf(out, "total: %s frame%s, %s; of them an alarm: %s\n", frames,
		strcmp(frames, "1") == 0 ? "" : "s", bytes, alarm);
}

static void print_drops(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows, *total, *reasons;

	if (!json_object_object_get_ex(data, "drops", &rows) ||
	    !json_object_object_get_ex(data, "reasons", &reasons) ||
	    !json_object_object_get_ex(data, "total", &total))
		return;
	table_print(out, rows, &drops, wish);
	if (json_object_array_length(rows) > 0)
		print_drop_total(out, total);
	if (!wish->explain || json_object_array_length(reasons) == 0)
		return;
	fputc('\n', out);
	table_print(out, reasons, &drop_reasons, wish);
}

// ---- all kinds

struct part {
	const char *list;
	struct table table;
};

static const struct kind {
	const char *what, *help;
	print_fn *print; // or parts
	struct part parts[3];
} kinds[] = {
	{"version", "name, version, policy file, time since the start (also: show uptime)",
	 print_version, {{0}}},
	{"ports", "state, counters and rates of the ports, and the time scale", print_ports, {{0}}},
	{"interfaces", "rates and utilisation of the ports (--interval: of so many seconds)",
	 NULL, {{"interfaces", {COLUMNS(interface_columns), NULL, NULL, NULL}}}},
	{"vlan", "which ports carry each VLAN, tagged or untagged", print_vlan, {{0}}},
	{"qos", "DSCP and PCP to class, class to queue and priority group (also: show qos maps)",
	 print_qos, {{0}}},
	{"pfc-status", "which classes obey and send PFC, by port", print_pfc_status, {{0}}},
	{"ecn", "WRED and ECN in force by queue: kmin, kmax, pmax", print_ecn, {{0}}},
	{"buffers-config", "pools, and min, alpha, headroom and XON of each group in force",
	 print_buffers_config, {{0}}},
	{"queues", "length, counters and rates of the egress queues", print_queues, {{0}}},
	{"pfc", "PAUSE frames and times by class (also: show pfc counters)", print_pfc, {{0}}},
	{"watchdog", "PFC storms by port and class, and what is done about them", print_watchdog,
	 {{0}}},
	{"causes", "why the peers of ports are paused, or were last (also: show pfc --why)",
	 print_causes, {{0}}},
	{"flows", "RoCEv2 flows, the fastest first: way, loss, marks, and the sender's queue pair",
	 print_flows, {{0}}},
	{"ipcc", "notifications by congested queue, and what the switch knows of flows", print_ipcc,
	 {{0}}},
	{"cnps", "the notifications that the switch sent, each with its reasons", print_cnps,
	 {{0}}},
	{"guard", "frames that turned back inside a group of ports, by rule", NULL,
	 {{"guard", {COLUMNS(guard_columns), "packets", "rule|s without a frame",
		     "no frame has turned back inside a group of ports"}}}},
	{"buffers", "use of the buffer by priority group and pool, XOFF and XON", NULL,
	 {{"pgs", {COLUMNS(pg_columns),
		   "rx_packets dropped_packets min_bytes shared_bytes headroom_bytes skid_bytes "
		   "max_shared_bytes max_headroom_bytes xoff",
		   "idle priority group|s", "no priority group has got a frame"}},
	  {"pools", {COLUMNS(pool_columns), NULL, NULL, NULL}}}},
	{"watermarks", "the highest use since clear watermarks", NULL,
	 {{"queues", {COLUMNS(queue_mark_columns), "max_bytes", "idle queue|s",
		      "no queue has held a frame"}},
	  {"pgs", {COLUMNS(pg_mark_columns), "max_shared_bytes max_headroom_bytes",
		   "idle priority group|s",
		   "no priority group has used shared buffer or headroom"}},
	  {"pools", {COLUMNS(pool_mark_columns), NULL, NULL, NULL}}}},
	{"drops", "dropped frames by port, class and reason", print_drops, {{0}}},
	{"fdb", "addresses and where they live, and how many by port", NULL,
	 {{"fdb", {COLUMNS(fdb_columns), NULL, NULL, "no address is known"}},
	  {"fdb_ports", {COLUMNS(fdb_port_columns), "learned added moved evicted refused held",
			 "port|s without an address", "no port has learned an address"}}}},
	{"routes", "where destinations are reached", print_routes, {{0}}},
	{"neighbours", "MAC addresses of stations on the links of routed ports", NULL,
	 {{"neighbours", {COLUMNS(neighbour_columns), NULL, NULL, "no neighbour is known"}}}},
	{"events", "what happened: the last 200 of each alarm, 1,000 warnings, 1,000 pauses and "
		   "addresses, 1,000 others",
	 print_events, {{0}}},
	{"config", "the policy file as it was loaded", print_config, {{0}}},
	{"control", "control frames that were taken in", print_control, {{0}}},
	{"hints", "signs of a wrong configuration", print_hints, {{0}}},
	{"latency", "time that frames spent in the switch, by queue", print_latency, {{0}}},
	{"workers", "the threads that move frames: load, and whether they come round in time", NULL,
	 {{"workers", {COLUMNS(worker_columns), NULL, NULL, NULL}}}},
	{"balance", "what came in against what went out", print_balance, {{0}}},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *kind_of(const char *what)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (strcmp(kinds[i].what, what) == 0)
			return &kinds[i];
	return NULL;
}

bool show_exists(const char *what)
{
	return kind_of(what) != NULL;
}

const char *show_kind(unsigned i, const char **help)
{
	if (i >= N_KINDS)
		return NULL;
	*help = kinds[i].help;
	return kinds[i].what;
}

bool show_tables(FILE *out, const char *what, struct json_object *data,
		 const struct show_wish *wish)
{
	const struct kind *k = kind_of(what);

	if (k == NULL)
		return false;
	if (k->print != NULL) {
		k->print(out, data, wish);
		return true;
	}
	for (size_t i = 0; i < sizeof(k->parts) / sizeof(k->parts[0]) && k->parts[i].list; i++) {
		struct json_object *rows = list_of(data, k->parts[i].list);

		if (i > 0)
			fputc('\n', out);
		if (rows != NULL)
			table_print(out, rows, &k->parts[i].table, wish);
	}
	return true;
}
