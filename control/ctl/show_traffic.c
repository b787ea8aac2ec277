// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show_traffic.h"

#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/table.h"
#include "control/daemon/json_in.h"

enum { N_PRIOS = 8 };

static const struct column port_columns[] = {
	{"PORT", "name", UNIT_TEXT}, {"DEVICE", "device", UNIT_TEXT, 8},
	{"SPEED", "speed_bps", UNIT_BPS, 4}, {"MTU", "mtu", UNIT_COUNT, 7},
	{"OPER", "up", UNIT_UP}, {"TX", "tx_enabled", UNIT_ON, 3},
	{"LOOP", "looped", UNIT_YES, 5}, {"RX_OK", "rx_packets", UNIT_COUNT, 1},
	{"RX_BPS", "rx_bps", UNIT_BPS}, {"RX_MISS", "rx_missed", UNIT_COUNT, 2},
	{"TX_OK", "tx_packets", UNIT_COUNT, 1}, {"TX_BPS", "tx_bps", UNIT_BPS},
	{"TX_ERR", "tx_errors", UNIT_COUNT, 2}, {"PFC_RX", "pfc_rx", UNIT_YES, 6},
	{"PFC_TX", "pfc_tx", UNIT_YES, 6}, {"RX_GUARD", "rx_guard_possible", UNIT_YES, 9},
	{"IF_STALLED", "when_stalled", UNIT_TEXT, 10},
};
static const struct table ports = {COLUMNS(port_columns), NULL, NULL, NULL};

static const struct column queue_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_COUNT},
	{"CLASS", "class", UNIT_COUNT, 7}, {"LENGTH", "length_bytes", UNIT_BYTES},
	{"FRAMES", "length_packets", UNIT_COUNT, 6}, {"MAX", "max_bytes", UNIT_BYTES, 2},
	{"TX_OK", "tx_packets", UNIT_COUNT, 4}, {"TX_BPS", "tx_bps", UNIT_BPS, 1},
	{"ECN", "ecn_marked", UNIT_COUNT, 3}, {"TX_DRP", "dropped_packets", UNIT_COUNT, 1},
	{"PAUSED", "paused", UNIT_YES, 5}, {"TX", "tx_enabled", UNIT_ON, 8},
};
static const struct table queues = {
	COLUMNS(queue_columns), "tx_packets length_packets max_bytes dropped_packets",
	"idle queue|s", "no queue has sent or holds a frame"};

static const struct column pause_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"CLASS", "class", UNIT_COUNT},
	{"RX_PAUSED", "rx_pause_duration_us", UNIT_US, 1},
	{"RX_TIMES", "rx_pause_transition", UNIT_COUNT, 3},
	{"RX_LONGEST", "rx_pause_longest_us", UNIT_US, 2},
	{"RX_CHANGE", "rx_pause_last_change_us", UNIT_US, 4},
	{"TX_PAUSED", "tx_pause_duration_us", UNIT_US, 1},
	{"TX_TIMES", "tx_pause_transition", UNIT_COUNT, 3},
	{"TX_LONGEST", "tx_pause_longest_us", UNIT_US, 2},
	{"TX_CHANGE", "tx_pause_last_change_us", UNIT_US, 4}, {"XOFF", "xoff", UNIT_YES},
};
static const struct table pauses = {
	COLUMNS(pause_columns),
	"rx_pause tx_pause rx_pause_duration_us tx_pause_duration_us xoff",
	"class|es without PFC", "no PFC frame has been received or sent"};

static const struct column latency_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"QUEUE", "queue", UNIT_COUNT},
	{"CLASS", "class", UNIT_COUNT, 3}, {"FRAMES", "packets", UNIT_COUNT, 2},
	{"P50", "p50_ns", UNIT_NS, 1}, {"P99", "p99_ns", UNIT_NS}, {"MAX", "max_ns", UNIT_NS},
};
static const struct table latency = {COLUMNS(latency_columns), NULL, NULL,
				     "no frame has passed a queue"};

// ---- ports

// The table does not tell that its units are not the machine's.
void print_ports(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, "ports"), *clock = list_of(data, "clock");
	uint64_t scale = clock != NULL ? count_in(clock, "time_scale") : 1;

	if (rows == NULL)
		return;
	table_print(out, rows, &ports, wish);
	if (scale > 1)
		fprintf(out,
			"time scale %llu: speeds, rates and times are the model's, the machine "
			"moves 1/%llu of it\n",
			(unsigned long long)scale, (unsigned long long)scale);
}

// ---- PFC

// Cell by port and priority, as SONiC's `show pfc counters`; key: the counter of one direction.
// Only the classes that some row has, with --all each of the eight.
static void print_pfc_grid(FILE *out, struct json_object *rows, const char *key,
			   const struct show_wish *wish)
{
	static const char all[] = "PFC0 PFC1 PFC2 PFC3 PFC4 PFC5 PFC6 PFC7";
	static const char *const prio[N_PRIOS] = {"PFC0", "PFC1", "PFC2", "PFC3",
						  "PFC4", "PFC5", "PFC6", "PFC7"};
	bool receives = strcmp(key, "rx_pause") == 0;
	struct column cols[N_PRIOS + 1] = {{receives ? "PORT RX" : "PORT TX", "port", UNIT_TEXT}};
	struct table grid = {cols, 1, all, "port|s without PFC",
			     receives ? "no PFC frame has been received"
				      : "no PFC frame has been sent"};
	struct json_object *lines = json_object_new_array(), *line = NULL;
	unsigned classes = wish->all ? (1u << N_PRIOS) - 1 : 0;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = row_at(rows, i), *port, *last = NULL;
		unsigned cls = (unsigned)count_in(row, "class") % N_PRIOS;

		if (!json_object_object_get_ex(row, "port", &port))
			continue;
		json_object_object_get_ex(line, "port", &last);
		if (last == NULL || !json_object_equal(last, port)) {
			line = json_object_new_object();
			json_object_object_add(line, "port", json_object_get(port));
			for (unsigned p = 0; p < N_PRIOS; p++)
				json_object_object_add(line, prio[p], json_object_new_int(0));
			json_object_array_add(lines, line);
		}
		json_object_object_add(line, prio[cls], json_object_new_uint64(count_in(row, key)));
		classes |= 1u << cls;
	}
	for (unsigned p = 0; p < N_PRIOS; p++)
		if (classes >> p & 1)
			cols[grid.n_cols++] =
				(struct column){prio[p], prio[p], UNIT_COUNT, (uint8_t)(p + 1)};
	table_print(out, lines, &grid, wish);
	json_object_put(lines);
}

void print_pfc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, "pfc");
	struct json_object *sent = NULL;
	char frames[CELL_LEN];
	bool any = wish->all;

	if (rows == NULL)
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		any |= row_is_active(row_at(rows, i), pauses.active);
	if (any) {
		print_pfc_grid(out, rows, "rx_pause", wish);
		fputc('\n', out);
		print_pfc_grid(out, rows, "tx_pause", wish);
		fputc('\n', out);
	}
	table_print(out, rows, &pauses, wish);
	if (!json_object_object_get_ex(list_of(data, "stand_in"), "frames", &sent) ||
	    json_object_get_uint64(sent) == 0)
		return;
	cell_format(frames, UNIT_COUNT, sent);
	fprintf(out,
		"the stand-in sent %s PFC frames beside these (weirctl show workers: STAND_INS)\n",
		frames);
}

// ---- queues

// A queue may hold more than the pool has.
void print_queues(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = list_of(data, "queues"), *pools = list_of(data, "pools"), *size;
	char pool[CELL_LEN], max[CELL_LEN - 1], starred[CELL_LEN];
	bool beyond = false;

	if (rows == NULL || pools == NULL ||
	    !json_object_object_get_ex(row_at(pools, 0), "size_bytes", &size))
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = row_at(rows, i), *v = NULL;

		if (count_in(row, "max_bytes") <= json_object_get_uint64(size))
			continue;
		json_object_object_get_ex(row, "max_bytes", &v);
		cell_format(starred, UNIT_BYTES, v);
		memcpy(max, starred, sizeof(max));
		max[sizeof(max) - 1] = '\0';
		snprintf(starred, sizeof(starred), "%s*", max);
		put_text(row, "max_bytes", starred);
		beyond = true;
	}
	table_print(out, rows, &queues, wish);
	cell_format(pool, UNIT_BYTES, size);
	if (beyond)
		fprintf(out,
			"* is more than the ingress pool (%s). A queue also holds frames in the "
			"PFC headroom,\n  and in the skid: memory beyond the buffer for frames "
			"that arrive after a PAUSE.\n",
			pool);
}

void print_latency(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const char *const keys[] = {"p50_ns", "p99_ns", "max_ns"};
	struct json_object *rows = list_of(data, "latency");
	char turn[CELL_LEN - 2], less[CELL_LEN], cell[CELL_LEN];

	if (rows == NULL)
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = row_at(rows, i), *v = NULL;

		json_object_object_get_ex(row, "turn_ns", &v);
		cell_format(cell, UNIT_NS, v);
		snprintf(turn, sizeof(turn), "%.20s",
			 count_in(row, "turn_ns") > 0 ? cell : "a turn");
		snprintf(less, sizeof(less), "< %s", turn);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (count_in(row, keys[k]) == 0)
				put_text(row, keys[k], less);
	}
	table_print(out, rows, &latency, wish);
}
