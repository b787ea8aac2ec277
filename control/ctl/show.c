// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show.h"

#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show_flows.h"
#include "control/ctl/show_storms.h"
#include "control/ctl/table.h"

enum { N_PRIOS = 8 };


static const struct column ports[] = {
	{"Port", "name", UNIT_TEXT},           {"Device", "device", UNIT_TEXT},
	{"Speed", "speed_bps", UNIT_BPS},      {"MTU", "mtu", UNIT_COUNT},
	{"Oper", "up", UNIT_UP},               {"TX", "tx_enabled", UNIT_ON},
	{"Loop", "looped", UNIT_YES},
	{"RX_OK", "rx_packets", UNIT_COUNT},   {"RX_BPS", "rx_bps", UNIT_BPS},
	{"RX_MISS", "rx_missed", UNIT_COUNT},  {"TX_OK", "tx_packets", UNIT_COUNT},
	{"TX_BPS", "tx_bps", UNIT_BPS},        {"TX_ERR", "tx_errors", UNIT_COUNT},
	{"PFC_RX", "pfc_rx", UNIT_YES},        {"PFC_TX", "pfc_tx", UNIT_YES},
	{"RX_GUARD", "rx_guard_possible", UNIT_YES}, {"If_stalled", "when_stalled", UNIT_TEXT},
};
static const struct column queues[] = {
	{"Port", "port", UNIT_TEXT},           {"Queue", "queue", UNIT_COUNT},
	{"Class", "class", UNIT_COUNT},        {"Length", "length_bytes", UNIT_BYTES},
	{"Frames", "length_packets", UNIT_COUNT}, {"Max", "max_bytes", UNIT_BYTES},
	{"TX_OK", "tx_packets", UNIT_COUNT},   {"TX_BPS", "tx_bps", UNIT_BPS},
	{"ECN", "ecn_marked", UNIT_COUNT},     {"Drop", "dropped_packets", UNIT_COUNT},
	{"Paused", "paused", UNIT_YES},        {"TX", "tx_enabled", UNIT_ON},
};
static const struct column pgs[] = {
	{"Port", "port", UNIT_TEXT},           {"PG", "pg", UNIT_COUNT},
	{"Lossless", "lossless", UNIT_YES},    {"RX_OK", "rx_packets", UNIT_COUNT},
	{"Min", "min_bytes", UNIT_BYTES},      {"Shared", "shared_bytes", UNIT_BYTES},
	{"Headroom", "headroom_bytes", UNIT_BYTES}, {"Skid", "skid_bytes", UNIT_BYTES},
	{"MaxShared", "max_shared_bytes", UNIT_BYTES},
	{"MaxHeadroom", "max_headroom_bytes", UNIT_BYTES},
	{"XOFF_at", "xoff_at_bytes", UNIT_BYTES}, {"XON_at", "xon_at_bytes", UNIT_BYTES},
	{"XOFF", "xoff", UNIT_YES},            {"Drop", "dropped_packets", UNIT_COUNT},
};
static const struct column pools[] = {
	{"Pool", "name", UNIT_TEXT},        {"Size", "size_bytes", UNIT_BYTES},
	{"Used", "used_bytes", UNIT_BYTES}, {"Max", "max_bytes", UNIT_BYTES},
};
static const struct column pause_times[] = {
	{"Port", "port", UNIT_TEXT},           {"Class", "class", UNIT_COUNT},
	{"RX_PAUSED", "rx_pause_duration_us", UNIT_US},
	{"RX_TIMES", "rx_pause_transition", UNIT_COUNT},
	{"RX_LONGEST", "rx_pause_longest_us", UNIT_US},
	{"RX_CHANGE", "rx_pause_last_change_us", UNIT_US},
	{"TX_PAUSED", "tx_pause_duration_us", UNIT_US},
	{"TX_TIMES", "tx_pause_transition", UNIT_COUNT},
	{"TX_LONGEST", "tx_pause_longest_us", UNIT_US},
	{"TX_CHANGE", "tx_pause_last_change_us", UNIT_US},
	{"XOFF", "xoff", UNIT_YES},
};
static const struct column queue_marks[] = {
	{"Port", "port", UNIT_TEXT}, {"Queue", "queue", UNIT_COUNT},
	{"Class", "class", UNIT_COUNT}, {"Max", "max_bytes", UNIT_BYTES},
};
static const struct column pg_marks[] = {
	{"Port", "port", UNIT_TEXT}, {"PG", "pg", UNIT_COUNT}, {"Class", "class", UNIT_COUNT},
	{"MaxShared", "max_shared_bytes", UNIT_BYTES},
	{"MaxHeadroom", "max_headroom_bytes", UNIT_BYTES},
};
static const struct column pool_marks[] = {
	{"Pool", "name", UNIT_TEXT}, {"Max", "max_bytes", UNIT_BYTES},
};
static const struct column drops[] = {
	{"Port", "port", UNIT_TEXT},        {"Class", "class", UNIT_COUNT},
	{"Alarm", "lossless", UNIT_YES}, {"Frames", "packets", UNIT_COUNT},
	{"Bytes", "bytes", UNIT_BYTES},     {"Reason", "reason", UNIT_TEXT},
};
static const struct column drop_reasons[] = {
	{"Reason", "reason", UNIT_TEXT}, {"Frames", "packets", UNIT_COUNT},
	{"Bytes", "bytes", UNIT_BYTES}, {"Because", "text", UNIT_TEXT},
};
static const struct column workers[] = {
	{"Worker", "worker", UNIT_COUNT},   {"Core", "core", UNIT_COUNT},
	{"Loops", "loops", UNIT_COUNT},     {"Loops/s", "loops_per_s", UNIT_COUNT},
	{"Busy", "busy_percent", UNIT_PERCENT}, {"Late", "late_loops", UNIT_COUNT},
	{"Longest gap", "gap_max_ns", UNIT_NS}, {"Stalls", "stalls", UNIT_COUNT},
	{"Stalled", "stalled_ns", UNIT_NS},     {"Ports", "ports", UNIT_LIST},
};
static const struct column control[] = {
	{"Port", "port", UNIT_TEXT},           {"PFC_LOSSY", "pfc_ignored_lossy", UNIT_COUNT},
	{"PFC_EMPTY", "pfc_empty_vector", UNIT_COUNT}, {"PFC_BAD", "pfc_malformed", UNIT_COUNT},
	{"PFC_OTHER_DST", "pfc_misaddressed", UNIT_COUNT},
	{"PAUSE_8023X", "pause_8023x", UNIT_COUNT}, {"LLDP", "lldp", UNIT_COUNT},
	{"Other", "other", UNIT_COUNT}, {"ARP_ND", "neighbour_frames", UNIT_COUNT},
	{"ARP_ND_LOST", "neighbour_frames_lost", UNIT_COUNT},
	{"PFC_EARLY", "early_pauses", UNIT_COUNT},
};
static const struct column steering[] = {
	{"Port", "port", UNIT_TEXT}, {"Reason", "reason", UNIT_TEXT},
	{"Frames", "packets", UNIT_COUNT}, {"Lost", "lost", UNIT_YES},
	{"Meaning", "text", UNIT_TEXT},
};
static const struct column hints[] = {
	{"Port", "port", UNIT_TEXT}, {"RoCE in lossy class", "roce_in_lossy_class", UNIT_COUNT},
	{"RoCE Not-ECT", "roce_not_ect", UNIT_COUNT},
	{"Lossless to unknown address", "lossless_unknown", UNIT_COUNT},
	{"CoPP", "copp_dropped", UNIT_COUNT},
	{"Loop forged", "loop_forged", UNIT_COUNT},
	{"Storm broadcast", "storm_broadcast", UNIT_COUNT},
	{"Storm unknown", "storm_unknown_unicast", UNIT_COUNT},
	{"Storm multicast", "storm_multicast", UNIT_COUNT},
};
static const struct column fdb[] = {
	{"Vlan", "vlan", UNIT_COUNT}, {"MacAddress", "mac", UNIT_TEXT}, {"Port", "port", UNIT_TEXT},
	{"Static", "static", UNIT_YES}, {"Age (s)", "age_s", UNIT_COUNT},
};
static const struct column fdb_ports[] = {
	{"Port", "port", UNIT_TEXT}, {"Learned", "learned", UNIT_COUNT},
	{"Share", "share", UNIT_COUNT}, {"Limit", "limit", UNIT_COUNT},
	{"Added", "added", UNIT_COUNT}, {"Moved", "moved", UNIT_COUNT},
	{"Evicted", "evicted", UNIT_COUNT}, {"Refused", "refused", UNIT_COUNT},
	{"Held", "held", UNIT_COUNT},
};
static const struct column routes[] = {
	{"To", "to", UNIT_TEXT}, {"Via", "via", UNIT_TEXT}, {"Port", "port", UNIT_TEXT},
	{"MacAddress", "mac", UNIT_TEXT}, {"State", "state", UNIT_TEXT},
};
static const struct column neighbours[] = {
	{"Address", "ip", UNIT_TEXT}, {"Port", "port", UNIT_TEXT},
	{"MacAddress", "mac", UNIT_TEXT}, {"State", "state", UNIT_TEXT},
	{"Gateway", "gateway", UNIT_YES}, {"Age (s)", "age_s", UNIT_COUNT},
};
static const struct column latency[] = {
	{"Port", "port", UNIT_TEXT}, {"Queue", "queue", UNIT_COUNT}, {"Class", "class", UNIT_COUNT},
	{"Frames", "packets", UNIT_COUNT}, {"p50", "p50_ns", UNIT_NS}, {"p99", "p99_ns", UNIT_NS},
	{"Max", "max_ns", UNIT_NS},
};
static const struct column guard[] = {
	{"Port", "port", UNIT_TEXT}, {"Group", "group", UNIT_TEXT}, {"DSCP", "dscp", UNIT_COUNT},
	{"To class", "to_class", UNIT_COUNT}, {"To DSCP", "to_dscp", UNIT_COUNT},
	{"Frames", "packets", UNIT_COUNT},
};
static const struct column balance[] = {
	{"Received", "received", UNIT_COUNT},   {"Generated", "generated", UNIT_COUNT},
	{"Replicated", "replicated", UNIT_COUNT}, {"Transmitted", "transmitted", UNIT_COUNT},
	{"Consumed", "consumed", UNIT_COUNT},   {"Dropped", "dropped", UNIT_COUNT},
	{"Queued", "queued", UNIT_COUNT},       {"Balanced", "balanced", UNIT_YES},
};
static const struct column waiting[] = {
	{"Port", "port", UNIT_TEXT}, {"Queue", "queue", UNIT_TEXT},
	{"Frames", "packets", UNIT_COUNT},
	{"Waits because", "reason", UNIT_TEXT},
};

// ---- kinds that are not just one table

static uint64_t number(struct json_object *row, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(row, key, &v) ? json_object_get_uint64(v) : 0;
}

static int busy_queue(struct json_object *row)
{
	return number(row, "tx_packets") + number(row, "length_packets") +
		       number(row, "max_bytes") + number(row, "dropped_packets") > 0;
}

static int busy_pg(struct json_object *row)
{
	return number(row, "rx_packets") + number(row, "dropped_packets") +
		       number(row, "lossless") > 0;
}

static int busy_reason(struct json_object *row)
{
	return number(row, "packets") > 0;
}

static int busy_mark(struct json_object *row)
{
	return number(row, "max_bytes") + number(row, "max_shared_bytes") +
		       number(row, "max_headroom_bytes") > 0;
}

static int other_than_self(struct json_object *row)
{
	struct json_object *v;

	return !json_object_object_get_ex(row, "state", &v) ||
	       strcmp(json_object_get_string(v), "self") != 0;
}

// Cell by port and priority, as SONiC's `show pfc counters`; key: the counter of one direction.
static void print_pfc_grid(FILE *out, struct json_object *rows, const char *head, const char *key)
{
	static const char *const prio[N_PRIOS] = {"PFC0", "PFC1", "PFC2", "PFC3",
						  "PFC4", "PFC5", "PFC6", "PFC7"};
	struct column cols[N_PRIOS + 1] = {{head, "port", UNIT_TEXT}};
	struct json_object *grid = json_object_new_array();
	struct json_object *line = NULL;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i), *port, *last = NULL;
		const char *name;

		if (!json_object_object_get_ex(row, "port", &port))
			continue;
		name = json_object_get_string(port);
		json_object_object_get_ex(line, "port", &last);
		if (last == NULL || strcmp(json_object_get_string(last), name) != 0) {
			line = json_object_new_object();
			json_object_object_add(line, "port", json_object_new_string(name));
			for (unsigned p = 0; p < N_PRIOS; p++)
				json_object_object_add(line, prio[p], json_object_new_int(0));
			json_object_array_add(grid, line);
		}
		json_object_object_add(line, prio[number(row, "class") % N_PRIOS],
				       json_object_new_uint64(number(row, key)));
	}
	for (unsigned p = 0; p < N_PRIOS; p++)
		cols[p + 1] = (struct column){prio[p], prio[p], UNIT_COUNT};
	table_print(out, grid, COLUMNS(cols), NULL);
	json_object_put(grid);
}

typedef void print_fn(FILE *out, struct json_object *data, const struct show_wish *wish);

static void print_pfc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows;

	(void)wish;
	if (!json_object_object_get_ex(data, "pfc", &rows))
		return;
	print_pfc_grid(out, rows, "Port Rx", "rx_pause");
	fputc('\n', out);
	print_pfc_grid(out, rows, "Port Tx", "tx_pause");
	fputc('\n', out);
	table_print(out, rows, COLUMNS(pause_times), NULL);
}

static void show_watchdog(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	(void)wish;
	print_watchdog(out, data);
}

static void show_causes(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	(void)wish;
	print_causes(out, data);
}

static void show_flows(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	print_flows(out, data, wish->unpaired);
}

static void show_ipcc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	(void)wish;
	print_ipcc(out, data);
}

static void show_cnps(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	(void)wish;
	print_cnps(out, data);
}

// The table does not tell that its units are not the machine's.
static void print_ports(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows, *clock;
	uint64_t scale = 1;

	(void)wish;
	if (!json_object_object_get_ex(data, "ports", &rows))
		return;
	table_print(out, rows, COLUMNS(ports), NULL);
	if (json_object_object_get_ex(data, "clock", &clock))
		scale = number(clock, "time_scale");
	if (scale > 1)
		fprintf(out,
			"time scale %llu: speeds, rates and times are the model's, the machine "
			"moves 1/%llu of it\n",
			(unsigned long long)scale, (unsigned long long)scale);
}

static void print_balance(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *row, *left, *list = json_object_new_array();

	(void)wish;
	if (json_object_object_get_ex(data, "balance", &row))
		json_object_array_add(list, json_object_get(row));
	table_print(out, list, COLUMNS(balance), NULL);
	json_object_put(list);
	if (json_object_object_get_ex(data, "waiting", &left) &&
	    json_object_array_length(left) > 0) {
		fputc('\n', out);
		table_print(out, left, COLUMNS(waiting), NULL);
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
		if (k == sizeof(left_out) / sizeof(left_out[0]))
			fprintf(out, " %s=%s", key, json_object_get_string(value));
	}
	fputc('\n', out);
}

static void print_events(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows;

	(void)wish;
	if (!json_object_object_get_ex(data, "events", &rows))
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		show_event(out, json_object_array_get_idx(rows, i));
	if (number(data, "events_lost") > 0)
		fprintf(out, "%llu events were lost because too many came at once\n",
			(unsigned long long)number(data, "events_lost"));
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
	fprintf(out, "total: %s frames, %s; of them an alarm: %s\n", frames, bytes, alarm);
}

static void print_drops(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows, *total, *reasons;

	if (!json_object_object_get_ex(data, "drops", &rows) ||
	    !json_object_object_get_ex(data, "reasons", &reasons) ||
	    !json_object_object_get_ex(data, "total", &total))
		return;
	table_print(out, rows, COLUMNS(drops), NULL);
	print_drop_total(out, total);
	if (!wish->explain)
		return;
	fputc('\n', out);
	table_print(out, reasons, COLUMNS(drop_reasons), NULL);
}

// ---- all kinds

struct part {
	const char *list;
	const struct column *cols;
	size_t n_cols;
	int (*busy)(struct json_object *row); // NULL: all rows are shown
	const char *what; // rows left out are called
};

static const struct kind {
	const char *what, *help;
	print_fn *print; // or parts
	struct part parts[3];
} kinds[] = {
	{"ports", "state, counters and rates of the ports, and the time scale", print_ports, {{0}}},
	{"queues", "length, counters and rates of the egress queues", NULL,
	 {{"queues", COLUMNS(queues), busy_queue, "idle queues"}}},
	{"pfc", "PAUSE frames and times by class (also: show pfc counters)", print_pfc, {{0}}},
	{"watchdog", "PFC storms by port and class, and what is done about them", show_watchdog,
	 {{0}}},
	{"causes", "why the peers of ports are paused, or were last (also: show pfc --why)",
	 show_causes, {{0}}},
	{"flows", "RoCEv2 flows, the fastest first: way, loss, marks, and the sender's queue pair",
	 show_flows, {{0}}},
	{"ipcc", "notifications by congested queue, and what the switch knows of flows", show_ipcc,
	 {{0}}},
	{"cnps", "the notifications that the switch sent, each with its reasons", show_cnps, {{0}}},
	{"guard", "frames that turned back inside a group of ports, by rule", NULL,
	 {{"guard", COLUMNS(guard), NULL, NULL}}},
	{"buffers", "use of the buffer by priority group and pool, XOFF and XON", NULL,
	 {{"pgs", COLUMNS(pgs), busy_pg, "idle priority groups"},
	  {"pools", COLUMNS(pools), NULL, NULL}}},
	{"watermarks", "the highest use since clear watermarks", NULL,
	 {{"queues", COLUMNS(queue_marks), busy_mark, "idle queues"},
	  {"pgs", COLUMNS(pg_marks), busy_mark, "idle priority groups"},
	  {"pools", COLUMNS(pool_marks), NULL, NULL}}},
	{"drops", "dropped frames by port, class and reason", print_drops, {{0}}},
	{"fdb", "addresses and where they live, and how many by port", NULL,
	 {{"fdb", COLUMNS(fdb), NULL, NULL}, {"fdb_ports", COLUMNS(fdb_ports), NULL, NULL}}},
	{"routes", "where destinations are reached", NULL,
	 {{"routes", COLUMNS(routes), other_than_self, "addresses of the switch itself"}}},
	{"neighbours", "MAC addresses of stations on the links of routed ports", NULL,
	 {{"neighbours", COLUMNS(neighbours), NULL, NULL}}},
	{"events", "what happened: the last 200 of each alarm, 1,000 warnings, 1,000 pauses and "
		   "addresses, 1,000 others",
	 print_events, {{0}}},
	{"config", "the policy file as it was loaded", print_config, {{0}}},
	{"control", "control frames that were taken in", NULL,
	 {{"control", COLUMNS(control), NULL, NULL},
	  {"steering", COLUMNS(steering), busy_reason, "reasons without a frame"}}},
	{"hints", "signs of a wrong configuration", NULL, {{"hints", COLUMNS(hints), NULL, NULL}}},
	{"latency", "time that frames spent in the switch, by queue", NULL,
	 {{"latency", COLUMNS(latency), NULL, NULL}}},
	{"workers", "the threads that move frames: load, and whether they come round in time", NULL,
	 {{"workers", COLUMNS(workers), NULL, NULL}}},
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

static void print_part(FILE *out, const struct part *p, struct json_object *data, bool all)
{
	struct json_object *list;
	size_t left_out;

	if (!json_object_object_get_ex(data, p->list, &list))
		return;
	left_out = table_print(out, list, p->cols, p->n_cols, all ? NULL : p->busy);
	if (left_out > 0)
		fprintf(out, "(%zu %s are not shown; name a port, or --all, to see them)\n",
			left_out, p->what);
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
		if (i > 0)
			fputc('\n', out);
		print_part(out, &k->parts[i], data, wish->all);
	}
	return true;
}
