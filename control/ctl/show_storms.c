// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show_storms.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/table.h"
#include "control/daemon/json_in.h"


static const char *text(struct json_object *row, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(row, key, &v) || v == NULL)
		return "-";
	return json_object_get_string(v);
}

static bool yes(struct json_object *row, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(row, key, &v) && json_object_get_boolean(v);
}

static void value(char out[CELL_LEN], enum unit unit, struct json_object *row, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(row, key, &v);
	cell_format(out, unit, v);
}

static bool is(struct json_object *row, const char *key, const char *word)
{
	return strcmp(text(row, key), word) == 0;
}

// ---- the watchdog

// "12/3" of two counters.
static void add_pair(struct json_object *to, const char *key, struct json_object *row,
		     const char *a, const char *b)
{
	char one[CELL_LEN];

	snprintf(one, sizeof(one), "%" PRIu64 "/%" PRIu64, count_in(row, a), count_in(row, b));
	json_object_object_add(to, key, json_object_new_string(one));
}

static struct json_object *stats_line(struct json_object *row)
{
	struct json_object *line = json_object_new_object();
	char queue[CELL_LEN];

	snprintf(queue, sizeof(queue), "%s:%" PRIu64, text(row, "port"), count_in(row, "class"));
	json_object_object_add(line, "queue", json_object_new_string(queue));
	json_object_object_add(line, "status", json_object_new_string(text(row, "status")));
	add_pair(line, "storms", row, "detected", "restored");
	add_pair(line, "tx", row, "tx_ok", "tx_dropped");
	add_pair(line, "rx", row, "rx_ok", "rx_dropped");
	add_pair(line, "tx_last", row, "tx_ok_last", "tx_dropped_last");
	add_pair(line, "rx_last", row, "rx_ok_last", "rx_dropped_last");
	return line;
}

static const struct column stat_columns[] = { // the heads of SONiC's `show pfcwd stats`
	{"QUEUE", "queue", UNIT_TEXT}, {"STATUS", "status", UNIT_TEXT},
	{"STORM DETECTED/RESTORED", "storms", UNIT_TEXT, 1},
	{"TX OK/DROP", "tx", UNIT_TEXT, 2}, {"RX OK/DROP", "rx", UNIT_TEXT, 3},
	{"TX LAST OK/DROP", "tx_last", UNIT_TEXT, 4},
	{"RX LAST OK/DROP", "rx_last", UNIT_TEXT, 5},
};
static const struct table stats = {COLUMNS(stat_columns), NULL, NULL, NULL};

static void print_stats(FILE *out, struct json_object *rows, const struct show_wish *wish)
{
	struct json_object *lines = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(rows); i++)
		json_object_array_add(lines, stats_line(json_object_array_get_idx(rows, i)));
	table_print(out, lines, &stats, wish);
	json_object_put(lines);
}

static const struct column setting_columns[] = {
	{"PORT", "port", UNIT_TEXT}, {"CLASS", "class", UNIT_COUNT},
	{"MODE", "mode", UNIT_TEXT, 6}, {"ACTION", "action", UNIT_TEXT},
	{"DETECT", "detect_ms", UNIT_MS, 1}, {"RESTORE", "restore_ms", UNIT_MS, 2},
	{"LIMIT", "limit_storms", UNIT_COUNT, 7}, {"WITHIN", "limit_window_ms", UNIT_MS, 8},
	{"THEN", "limit_then", UNIT_TEXT, 9}, {"MEASURED", "last_measured_us", UNIT_US, 3},
	{"STORM_LASTS", "storm_us", UNIT_US, 5},
	{"LONGEST_STORM", "longest_storm_us", UNIT_US, 4},
};
static const struct table settings = {COLUMNS(setting_columns), NULL, NULL, NULL};

// Classes that drop-all discards are in the table of storms though nobody watches them.
static void print_settings(FILE *out, struct json_object *rows, const struct show_wish *wish)
{
	struct json_object *watched = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!is(row, "mode", "-"))
			json_object_array_add(watched, json_object_get(row));
	}
	if (json_object_array_length(watched) != 0) {
		fputc('\n', out);
		table_print(out, watched, &settings, wish);
	}
	json_object_put(watched);
}

// No storm has been found since the counters were cleared, and nothing is in force.
static bool calm(struct json_object *row)
{
	return (is(row, "status", "operational") || is(row, "status", "off")) &&
	       !row_is_active(row, "detected restored tx_ok tx_dropped rx_ok rx_dropped");
}

void print_watchdog(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows, *shown;
	size_t n, left_out;

	if (!json_object_object_get_ex(data, "watchdog", &rows))
		return;
	n = json_object_array_length(rows);
	if (n == 0) {
		fputs("no class is watched; set `watchdog: on` in a profile\n", out);
		return;
	}
	shown = json_object_new_array();
	for (size_t i = 0; i < n; i++)
		if (wish->all || !calm(json_object_array_get_idx(rows, i)))
			json_object_array_add(
				shown, json_object_get(json_object_array_get_idx(rows, i)));
	left_out = n - json_object_array_length(shown);
	if (left_out == n) {
		fputs("no class has been in a storm; --all shows ", out);
		print_counted(out, n, "watched class|es with all settings\n");
	} else {
		print_stats(out, shown, wish);
		print_left_out(out, left_out, "class|es without a storm");
		print_settings(out, shown, wish);
	}
	json_object_put(shown);
}

// ---- causes

// "p1 class 3 has paused its sender for 1.20 ms" or "... paused its sender, last 5.0 s ago".
static void say_what(FILE *out, struct json_object *row)
{
	char time[CELL_LEN];

	fprintf(out, "%s class %" PRIu64, text(row, "port"), count_in(row, "class"));
	if (yes(row, "now") && count_in(row, "pause_us") > 0) {
		value(time, UNIT_US, row, "pause_us");
		fprintf(out, " has paused its sender for %s", time);
	} else if (yes(row, "now")) {
		fputs(" is in XOFF", out);
	} else {
		value(time, UNIT_US, row, "last_pause_us");
		fprintf(out, " last paused its sender %s ago", time);
	}
}

static void say_cause(FILE *out, struct json_object *row)
{
	char held[CELL_LEN];

	if (is(row, "kind", "receive-ring")) {
		fputs(" because its receive ring was filling: the worker came late", out);
		return;
	}
	if (!is(row, "kind", "queue")) {
		fputs("; what held its buffer is gone", out);
		return;
	}
	value(held, UNIT_BYTES, row, "held_bytes");
	fprintf(out, " because %s class %" PRIu64 " %s %s of it", text(row, "cause_port"),
		count_in(row, "cause_class"), yes(row, "now") ? "holds" : "held", held);
}

// The last place of the chain, as "p3 class 3".
static void last_place(struct json_object *row, char out[CELL_LEN])
{
	struct json_object *chain;
	const char *word, *colon;
	size_t n;

	snprintf(out, CELL_LEN, "-");
	if (!json_object_object_get_ex(row, "chain", &chain) ||
	    (n = json_object_array_length(chain)) == 0)
		return;
	word = json_object_get_string(json_object_array_get_idx(chain, n - 1));
	colon = strrchr(word, ':');
	if (colon != NULL)
		snprintf(out, CELL_LEN, "%.*s class %s", (int)(colon - word), word, colon + 1);
}

static void say_state(FILE *out, struct json_object *row)
{
	char time[CELL_LEN];

	if (!is(row, "kind", "queue"))
		return;
	if (is(row, "ends", "tx-off") && !yes(row, "paused")) {
		fprintf(out, ", and an operator has stopped %s", text(row, "cause_port"));
	} else if (!yes(row, "paused")) {
		fprintf(out, "; %s %s not paused: more %s offered to it than it %s send",
			text(row, "cause_port"), yes(row, "now") ? "is" : "was",
			yes(row, "now") ? "is" : "was", yes(row, "now") ? "can" : "could");
	} else if (yes(row, "now") && count_in(row, "cause_paused_us") > 0) {
		value(time, UNIT_US, row, "cause_paused_us");
		fprintf(out, ", and %s is itself paused by its peer, for %s",
			text(row, "cause_port"), time);
	} else {
		fprintf(out, ", and %s %s itself paused by its peer", text(row, "cause_port"),
			yes(row, "now") ? "is" : "was");
	}
}

static void say_end(FILE *out, struct json_object *row)
{
	struct json_object *chain;
	char last[CELL_LEN], all[CELL_LEN];
	bool more = json_object_object_get_ex(row, "chain", &chain) &&
		    json_object_array_length(chain) > 2;

	last_place(row, last);
	value(all, UNIT_LIST, row, "chain");
	if (more)
		fprintf(out, "    chain: %s\n", all);
	if (is(row, "ends", "peer"))
		fprintf(out, "    the root is behind %s: look at its peer\n", last);
	else if (is(row, "ends", "loop"))
		fprintf(out, "    the chain comes back to %s: a deadlock, if it lasts\n", last);
	else if (more && is(row, "ends", "congestion"))
		fprintf(out, "    the root is here: %s is congested\n", last);
}

static bool is_cause_of_a_row(struct json_object *data, struct json_object *peer)
{
	struct json_object *rows = NULL;

	json_object_object_get_ex(data, "causes", &rows);
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (yes(row, "now") && is(row, "cause_port", text(peer, "port")) &&
		    count_in(row, "cause_class") == count_in(peer, "class"))
			return true;
	}
	return false;
}

// Pauses by peers that no row above names, and storms.
static void say_peers(FILE *out, struct json_object *data)
{
	struct json_object *rows;
	char time[CELL_LEN];

	if (!json_object_object_get_ex(data, "peers", &rows))
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		bool storm = yes(row, "stormed");

		if (!storm && is_cause_of_a_row(data, row))
			continue;
		value(time, UNIT_US, row, storm ? "storm_us" : "paused_us");
		fprintf(out, "%s class %" PRIu64 " is paused by its peer", text(row, "port"),
			count_in(row, "class"));
		fprintf(out, storm ? ": a storm for %s (weirctl show watchdog)\n"
				   : ", for %s\n", time);
	}
}

void print_causes(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows, *port;

	(void)wish;
	if (!json_object_object_get_ex(data, "causes", &rows))
		return;
	if (json_object_array_length(rows) == 0 && json_object_object_get_ex(data, "port", &port))
		fprintf(out, "this switch has paused no peer of %s\n",
			json_object_get_string(port));
	else if (json_object_array_length(rows) == 0)
		fputs("this switch has paused no peer\n", out);
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		say_what(out, row);
		say_cause(out, row);
		say_state(out, row);
		fputc('\n', out);
		say_end(out, row);
	}
	say_peers(out, data);
}
