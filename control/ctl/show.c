// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/arena.h"
#include "control/base/json_in.h"
#include "control/base/terminal.h"
#include "dataplane/packet/classify.h"

enum { RECORD_NAME = 12, POOL_NAME = 16, LINUX_NAME = 20 }; // width of the names of a record

// ---- ports

// The units of the table are the model's.
static void end_ports(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	uint64_t scale = fact_count(rows_of(data, FACTS_CLOCK), F_CLOCK_time_scale);

	(void)wish;
	if (scale > 1)
		fprintf(out,
			"time scale %" PRIu64 ": speeds, rates and times are the model's, the "
			"machine moves 1/%" PRIu64 " of it\n",
			scale, scale);
}

// ---- PFC

static const struct table pauses = {
	FACTS_PFC, "no PFC frame has been received or sent", "class|es without PFC",
	FACTS(F_PFC_rx_pause, F_PFC_tx_pause, F_PFC_rx_pause_duration_us,
	      F_PFC_tx_pause_duration_us, F_PFC_xoff)};

// Cell by port and priority, as SONiC's `show pfc counters`; frames: the counter of one direction.
// Only the classes that some row has, with --all each of the eight.
static void print_pfc_grid(FILE *out, struct json_object *rows, enum fact_id frames,
			   const struct show_wish *wish)
{
	static const char *const prio[N_CLASSES] = {"PFC0", "PFC1", "PFC2", "PFC3",
						    "PFC4", "PFC5", "PFC6", "PFC7"};
	bool receives = frames == F_PFC_rx_pause;
	struct column cols[N_CLASSES + 1] = {
		{.fact = F_PFC_port, .head = receives ? "PORT RX" : "PORT TX"}};
	struct table grid = {.list = NO_FACTS, .idle = "port|s without PFC", .made = cols,
			     .n_made = 1,
			     .none = receives ? "no PFC frame has been received"
					      : "no PFC frame has been sent"};
	struct json_object *lines = json_object_new_array(), *line = NULL;
	unsigned classes = wish->all ? (1u << N_CLASSES) - 1 : 0;

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i), *port = fact_in(row, F_PFC_port);
		unsigned cls = (unsigned)fact_count(row, F_PFC_class) % N_CLASSES;

		if (port == NULL)
			continue;
		if (line == NULL || !json_object_equal(fact_in(line, F_PFC_port), port)) {
			line = row_in(lines);
			json_object_object_add(line, KEY(PFC, port), json_object_get(port));
			for (unsigned p = 0; p < N_CLASSES; p++)
				row_u64(line, prio[p], 0);
		}
		row_u64(line, prio[cls], fact_count(row, frames));
		row_bool(line, ROW_ACTIVE,
			 fact_count(row, frames) != 0 || true_in(line, ROW_ACTIVE));
		classes |= 1u << cls;
	}
	for (unsigned p = 0; p < N_CLASSES; p++)
		if (classes >> p & 1)
			cols[grid.n_made++] = (struct column){.head = prio[p], .key = prio[p],
							      .unit = CELL_COUNT,
							      .rank = (uint8_t)(p + 1)};
	table_print(out, lines, &grid, wish);
	json_object_put(lines);
}

// Of one port also what is configured, and what was agreed with the host.
static void print_pfc(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const struct table ports = {FACTS_PFC_PORTS};
	struct json_object *rows = rows_of(data, FACTS_PFC);
	struct json_object *stand_in = rows_of(data, FACTS_STAND_IN);
	char frames[CELL_LEN];
	bool any = wish->all;

	if (wish->port != NULL && n_rows(rows_of(data, FACTS_PFC_PORTS)) > 0) {
		table_print(out, rows_of(data, FACTS_PFC_PORTS), &ports, wish);
		fputc('\n', out);
	}
	for (size_t i = 0; i < n_rows(rows); i++)
		any |= row_is_active(row_at(rows, i), pauses.active);
	if (any) {
		print_pfc_grid(out, rows, F_PFC_rx_pause, wish);
		fputc('\n', out);
		print_pfc_grid(out, rows, F_PFC_tx_pause, wish);
		fputc('\n', out);
	}
	table_print(out, rows, &pauses, wish);
	if (fact_count(stand_in, F_STAND_IN_frames) != 0)
		fprintf(out,
			"the stand-in sent %s PFC frames beside these (weirctl show workers: "
			"STAND_INS)\n",
			fact_cell(frames, stand_in, F_STAND_IN_frames));
}

// ---- times

static void prepare_latency(struct json_object *data, unsigned list)
{
	static const enum fact_id times[] = {F_LATENCY_p50_ns, F_LATENCY_p99_ns, F_LATENCY_max_ns};
	struct json_object *rows = rows_of(data, list);
	char cell[CELL_LEN], less[CELL_LEN];

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		fact_cell(cell, row, F_LATENCY_turn_ns);
		snprintf(less, sizeof(less), "< %.20s",
			 fact_count(row, F_LATENCY_turn_ns) > 0 ? cell : "a loop");
		for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++)
			if (fact_count(row, times[k]) == 0)
				row_text(row, fact_rows[times[k]].key, less);
	}
}

// ---- a line for each counter of each port, with its meaning

static void print_kinds(FILE *out, struct json_object *data, unsigned list, const char *none,
			const char *idle, const struct show_wish *wish)
{
	const struct table t = {
		NO_FACTS, none, idle, FACTS(F_DROPS_packets),
		COLUMNS({F_CONTROL_port},
			{.fact = F_CAUSES_kind, .head = "KIND", .unit = CELL_TEXT},
			{F_DROP_REASONS_packets},
			{.fact = F_DROP_REASONS_text, .head = "MEANING", .rank = 1})};
	struct json_object *rows = rows_of(data, list), *lines = json_object_new_array();
	const struct fact_list *facts = &fact_lists[list];

	for (size_t i = 0; i < n_rows(rows); i++)
		for (size_t k = 0; k < facts->n; k++) {
			const struct fact *f = &facts->rows[k];
			struct json_object *row = row_at(rows, i), *line;

			if (f->kind != FACT_COUNTER)
				continue;
			line = row_in(lines);
			json_object_object_add(line, KEY(CONTROL, port),
					       json_object_get(fact_in(row, F_CONTROL_port)));
			row_text(line, KEY(CAUSES, kind), f->key);
			row_u64(line, KEY(DROPS, packets), count_in(row, f->key));
			row_text(line, KEY(DROP_REASONS, text), f->help);
		}
	table_print(out, lines, &t, wish);
	json_object_put(lines);
}

static void print_control(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table punts = {FACTS_PUNTS, NULL, "reason|s without a frame",
				    FACTS(F_PUNTS_frames)};
	const struct table steering = {
		FACTS_STEERING, "every frame has come through the receive ring",
		"reason|s without a frame", FACTS(F_STEERING_packets)};
	struct json_object *rows = rows_of(data, FACTS_STEERING);

	print_kinds(out, data, FACTS_CONTROL, "the switch has consumed no control frame",
		    "kind|s without a frame", wish);
	fputc('\n', out);
	if (n_rows(rows_of(data, FACTS_PUNTS)) > 0) {
		table_print(out, rows_of(data, FACTS_PUNTS), &punts, wish);
		fputc('\n', out);
	}
	if (rows != NULL)
		table_print(out, rows, &steering, wish);
}

static void print_linux(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table taps = {FACTS_LINUX_TAPS,
				   "no tap: the policy has no `control_plane: linux`"};

	table_print(out, rows_of(data, FACTS_LINUX_TAPS), &taps, wish);
	if (n_rows(rows_of(data, FACTS_LINUX_TAPS)) == 0)
		return;
	fputc('\n', out);
	record_print(out, rows_of(data, FACTS_LINUX), FACTS_LINUX, LINUX_NAME);
}

static void print_hints(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	print_kinds(out, data, FACTS_HINTS, "no sign of a wrong configuration",
		    "sign|s without a frame", wish);
}

// ---- drops, routes, the balance

static void end_drops(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table reasons = {FACTS_DROP_REASONS};
	struct json_object *why = rows_of(data, FACTS_DROP_REASONS);
	struct json_object *total = rows_of(data, FACTS_DROP_TOTAL);
	char frames[CELL_LEN], bytes[CELL_LEN], alarm[CELL_LEN];

	if (n_rows(rows_of(data, FACTS_DROPS)) > 0)
		fprintf(out, "total: %s frame%s, %s; of them an alarm: %s\n",
			fact_cell(frames, total, F_DROP_TOTAL_packets),
			fact_count(total, F_DROP_TOTAL_packets) == 1 ? "" : "s",
			fact_cell(bytes, total, F_DROP_TOTAL_bytes),
			fact_cell(alarm, total, F_DROP_TOTAL_lossless_packets));
	if (!wish->explain || n_rows(why) == 0)
		return;
	fputc('\n', out);
	table_print(out, why, &reasons, wish);
}

static void print_vxlan(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *vtep = rows_of(data, FACTS_VXLAN);

	(void)wish;
	if (vtep == NULL)
		return;
	fputc('\n', out);
	record_print(out, vtep, FACTS_VXLAN, RECORD_NAME);
}

static void prepare_routes(struct json_object *data, unsigned list)
{
	struct json_object *rows = rows_of(data, list);

	for (size_t i = 0; i < n_rows(rows); i++)
		row_bool(row_at(rows, i), ROW_ACTIVE,
			 !fact_is(row_at(rows, i), F_ROUTES_state, "self"));
}

static void print_balance(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table waiting = {
		.list = NO_FACTS,
		COLUMNS({F_QUEUES_port},
			{.fact = F_QUEUES_queue, .head = "QUEUE", .unit = CELL_TEXT},
			{F_DROP_REASONS_packets},
			{.fact = F_DROPS_reason, .head = "WAITS_BECAUSE", .rank = 1})};
	struct json_object *left;

	record_print(out, rows_of(data, FACTS_BALANCE), FACTS_BALANCE, RECORD_NAME);
	if (json_object_object_get_ex(data, "waiting", &left) && n_rows(left) > 0) {
		fputc('\n', out);
		table_print(out, left, &waiting, wish);
	}
}

// ---- the switch, its file and its events

static void print_config(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *c = json_object_object_get(data, "config");

	(void)wish;
	if (text_in(c, "file") != NULL && text_in(c, KEY(DROP_REASONS, text)) != NULL)
		fprintf(out, "# %s\n%s", text_in(c, "file"), text_in(c, KEY(DROP_REASONS, text)));
}

void print_orders(FILE *out, struct json_object *data)
{
	struct json_object *v = rows_of(data, FACTS_VERSION);

	if (fact_yes(v, F_VERSION_drop_all))
		fputs("DROP-ALL is on: frames of all lossless classes are discarded, until: "
		      "weirctl watchdog drop-all off\n", out);
	if (fact_yes(v, F_VERSION_held))
		fputs("HELD: no frame is admitted, because of quiesce --hold, until: weirctl "
		      "resume\n", out);
	if (fact_count(v, F_VERSION_confirm_in_ms) != 0)
		fprintf(out,
			"UNCONFIRMED: the policy before comes back in %" PRIu64 " s, unless: "
			"weirctl confirm (at once: weirctl rollback)\n",
			(fact_count(v, F_VERSION_confirm_in_ms) + 999) / 1000);
}

static void print_version(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	(void)wish;
	record_print(out, rows_of(data, FACTS_VERSION), FACTS_VERSION, RECORD_NAME);
}

// Masks the texts of an answer: hosts and files chose some of them. Only `--json` prints them as
// they came.
static void mask_texts(struct json_object *value)
{
	if (json_object_is_type(value, json_type_string)) {
		char *text = allocated(strdup(json_object_get_string(value)));

		text_mask(text, true);
		if (strcmp(text, json_object_get_string(value)) != 0)
			json_object_set_string(value, text);
		free(text);
	} else if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			mask_texts(json_object_array_get_idx(value, i));
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member) {
			(void)key;
			mask_texts(member);
		}
	}
}

void event_fields(FILE *out, struct json_object *row, const enum fact_id *but)
{
	mask_texts(row);
	json_object_object_foreach(row, key, value) {
		const enum fact_id *f = but;

		while (*f != F_NONE && strcmp(fact_rows[*f].key, key) != 0)
			f++;
		if (*f != F_NONE)
			continue;
		fprintf(out, " %s=", key);
		value_print(out, value);
	}
}

void show_event(FILE *out, struct json_object *row)
{
	static const enum fact_id front[] = {F_EVENTS_time, F_EVENTS_severity, F_EVENTS_event,
					     F_EVENTS_text, F_EVENTS_t_ns, F_EVENTS_seq, F_NONE};
	static const char *const behind[] = {" ", " ", ": ", ""};

	mask_texts(row);
	for (size_t k = 0; k < sizeof(behind) / sizeof(behind[0]); k++)
		if (fact_in(row, front[k]) != NULL)
			fprintf(out, "%s%s", fact_text(row, front[k]), behind[k]);
	event_fields(out, row, front);
	fputc('\n', out);
}

static void print_events(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = rows_of(data, FACTS_EVENTS);

	(void)wish;
	if (n_rows(rows) == 0)
		fputs("no event\n", out);
	for (size_t i = 0; i < n_rows(rows); i++)
		show_event(out, row_at(rows, i));
	if (count_in(data, "events_lost") > 0)
		fprintf(out, "%" PRIu64 " events were lost because too many came at once\n",
			count_in(data, "events_lost"));
}

// ---- storms

// "12/3" of two counters.
static void add_pair(struct json_object *to, const char *key, struct json_object *row,
		     enum fact_id a, enum fact_id b)
{
	char one[CELL_LEN];

	snprintf(one, sizeof(one), "%" PRIu64 "/%" PRIu64, fact_count(row, a), fact_count(row, b));
	row_text(to, key, one);
}

static void print_stats(FILE *out, struct json_object *rows, const struct show_wish *wish)
{
	const struct table stats = { // the heads of SONiC's `show pfcwd stats`
		.list = NO_FACTS,
		COLUMNS({.fact = F_QUEUES_queue, .head = "QUEUE"},
			{.fact = F_WATCHDOG_status, .head = "STATUS"},
			{.head = "STORM DETECTED/RESTORED", .key = "of_storms", .rank = 1},
			{.head = "TX OK/DROP", .key = "of_tx", .rank = 2},
			{.head = "RX OK/DROP", .key = "of_rx", .rank = 3},
			{.head = "TX LAST OK/DROP", .key = "tx_last", .rank = 4},
			{.head = "RX LAST OK/DROP", .key = "rx_last", .rank = 5})};
	struct json_object *lines = json_object_new_array();

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *line = row_in(lines), *row = row_at(rows, i);
		char queue[CELL_LEN];

		snprintf(queue, sizeof(queue), "%s:%" PRIu64, fact_text(row, F_WATCHDOG_port),
			 fact_count(row, F_WATCHDOG_class));
		row_text(line, KEY(QUEUES, queue), queue);
		row_text(line, KEY(WATCHDOG, status), fact_text(row, F_WATCHDOG_status));
		add_pair(line, "of_storms", row, F_WATCHDOG_detected, F_WATCHDOG_restored);
		add_pair(line, "of_tx", row, F_WATCHDOG_tx_ok, F_WATCHDOG_tx_dropped);
		add_pair(line, "of_rx", row, F_WATCHDOG_rx_ok, F_WATCHDOG_rx_dropped);
		add_pair(line, "tx_last", row, F_WATCHDOG_tx_ok_last, F_WATCHDOG_tx_dropped_last);
		add_pair(line, "rx_last", row, F_WATCHDOG_rx_ok_last, F_WATCHDOG_rx_dropped_last);
	}
	table_print(out, lines, &stats, wish);
	json_object_put(lines);
}

// No storm has been found since the counters were cleared, and nothing is in force.
static bool calm(struct json_object *row)
{
	return (fact_is(row, F_WATCHDOG_status, "operational") ||
		fact_is(row, F_WATCHDOG_status, "off")) &&
	       !row_is_active(row, FACTS(F_WATCHDOG_detected, F_WATCHDOG_restored,
					 F_WATCHDOG_tx_ok, F_WATCHDOG_tx_dropped,
					 F_WATCHDOG_rx_ok, F_WATCHDOG_rx_dropped));
}

static void print_watchdog(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table settings = {FACTS_WATCHDOG};
	struct json_object *rows = rows_of(data, FACTS_WATCHDOG), *shown, *watched;
	size_t n = n_rows(rows);

	if (n == 0) {
		fputs("no class is watched; set `watchdog: on` in a profile\n", out);
		return;
	}
	shown = json_object_new_array();
	// Classes that drop-all discards have a row even if the policy does not watch them.
	watched = json_object_new_array();
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = row_at(rows, i);

		if (!wish->all && calm(row))
			continue;
		json_object_array_add(shown, json_object_get(row));
		if (!fact_is(row, F_WATCHDOG_mode, "-"))
			json_object_array_add(watched, json_object_get(row));
	}
	if (n_rows(shown) == 0) {
		fputs("no class has been in a storm; --all shows ", out);
		print_counted(out, n, "watched class|es with all settings\n");
	} else {
		print_stats(out, shown, wish);
		print_left_out(out, n - n_rows(shown), "class|es without a storm");
	}
	if (n_rows(watched) != 0) {
		fputc('\n', out);
		table_print(out, watched, &settings, wish);
	}
	json_object_put(shown);
	json_object_put(watched);
}

// ---- causes

// "p1 class 3 has paused its sender for 1.20 ms" or "... paused its sender, last 5.0 s ago".
static void say_what(FILE *out, struct json_object *row)
{
	char time[CELL_LEN];

	fprintf(out, "%s class %" PRIu64, fact_text(row, F_CAUSES_port),
		fact_count(row, F_CAUSES_class));
	if (fact_yes(row, F_CAUSES_now) && fact_count(row, F_CAUSES_pause_us) > 0)
		fprintf(out, " has paused its sender for %s",
			fact_cell(time, row, F_CAUSES_pause_us));
	else if (fact_yes(row, F_CAUSES_now))
		fputs(" is in XOFF", out);
	else
		fprintf(out, " last paused its sender %s ago",
			fact_cell(time, row, F_CAUSES_last_pause_us));
}

static void say_cause(FILE *out, struct json_object *row)
{
	char held[CELL_LEN];

	if (fact_is(row, F_CAUSES_kind, "receive-ring"))
		fputs(" because its receive ring was filling: the worker came late", out);
	else if (!fact_is(row, F_CAUSES_kind, "queue"))
		fputs("; its cause has ended", out);
	else
		fprintf(out, " because %s class %" PRIu64 " %s %s of it",
			fact_text(row, F_CAUSES_cause_port),
			fact_count(row, F_CAUSES_cause_class),
			fact_yes(row, F_CAUSES_now) ? "holds" : "held",
			fact_cell(held, row, F_CAUSES_held_bytes));
}

static void say_state(FILE *out, struct json_object *row)
{
	const char *port = fact_text(row, F_CAUSES_cause_port);
	bool now = fact_yes(row, F_CAUSES_now), paused = fact_yes(row, F_CAUSES_paused);
	char time[CELL_LEN];

	if (!fact_is(row, F_CAUSES_kind, "queue"))
		return;
	if (fact_is(row, F_CAUSES_ends, "tx-off") && !paused)
		fprintf(out, ", and an operator has stopped %s", port);
	else if (!paused)
		fprintf(out, "; %s %s not paused: more %s offered to it than it %s send", port,
			now ? "is" : "was", now ? "is" : "was", now ? "can" : "could");
	else if (now && fact_count(row, F_CAUSES_cause_paused_us) > 0)
		fprintf(out, ", and %s is itself paused by its peer, for %s", port,
			fact_cell(time, row, F_CAUSES_cause_paused_us));
	else
		fprintf(out, ", and %s %s itself paused by its peer", port, now ? "is" : "was");
}

// The last place of the chain, as "p3 class 3".
static void last_place(struct json_object *chain, char out[CELL_LEN])
{
	size_t n = n_rows(chain);
	const char *word = n > 0 ? json_object_get_string(row_at(chain, n - 1)) : "-";
	const char *colon = strrchr(word, ':');

	snprintf(out, CELL_LEN, "-");
	if (colon != NULL)
		snprintf(out, CELL_LEN, "%.*s class %s", (int)(colon - word), word, colon + 1);
}

static void say_end(FILE *out, struct json_object *row)
{
	struct json_object *chain = fact_in(row, F_CAUSES_chain);
	char last[CELL_LEN], all[CELL_LEN];
	bool more = n_rows(chain) > 2;

	last_place(chain, last);
	if (more)
		fprintf(out, "    chain: %s\n", fact_cell(all, row, F_CAUSES_chain));
	if (fact_is(row, F_CAUSES_ends, "peer"))
		fprintf(out, "    the root is behind %s: look at its peer\n", last);
	else if (fact_is(row, F_CAUSES_ends, "loop"))
		fprintf(out, "    the chain comes back to %s: a deadlock, if it lasts\n", last);
	else if (more && fact_is(row, F_CAUSES_ends, "congestion"))
		fprintf(out, "    the root is here: %s is congested\n", last);
}

static bool is_cause_of_a_row(struct json_object *rows, struct json_object *peer)
{
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		if (fact_yes(row, F_CAUSES_now) &&
		    fact_is(row, F_CAUSES_cause_port, fact_text(peer, F_PEERS_port)) &&
		    fact_count(row, F_CAUSES_cause_class) == fact_count(peer, F_PEERS_class))
			return true;
	}
	return false;
}

static void print_causes(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = rows_of(data, FACTS_CAUSES);
	struct json_object *peers = rows_of(data, FACTS_PEERS);
	char time[CELL_LEN];

	(void)wish;
	if (n_rows(rows) == 0 && fact_in(data, F_CAUSES_port) != NULL)
		fprintf(out, "this switch has paused no peer of %s\n",
			fact_text(data, F_CAUSES_port));
	else if (n_rows(rows) == 0)
		fputs("this switch has paused no peer\n", out);
	for (size_t i = 0; i < n_rows(rows); i++) {
		say_what(out, row_at(rows, i));
		say_cause(out, row_at(rows, i));
		say_state(out, row_at(rows, i));
		fputc('\n', out);
		say_end(out, row_at(rows, i));
	}
	// Pauses by peers that no row above names, and storms.
	for (size_t i = 0; i < n_rows(peers); i++) {
		struct json_object *peer = row_at(peers, i);
		bool storm = fact_yes(peer, F_PEERS_stormed);

		if (!storm && is_cause_of_a_row(rows, peer))
			continue;
		fact_cell(time, peer, storm ? F_PEERS_storm_us : F_PEERS_paused_us);
		fprintf(out, "%s class %" PRIu64 " is paused by its peer",
			fact_text(peer, F_PEERS_port), fact_count(peer, F_PEERS_class));
		fprintf(out, storm ? ": a storm for %s (weirctl show watchdog)\n" : ", for %s\n",
			time);
	}
}

// ---- settings: names of ports

// Whether b is the name after a: "p9" and "p10".
static bool follows(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n > 0 && isdigit((unsigned char)a[n - 1]))
		n--;
	while (m > 0 && isdigit((unsigned char)b[m - 1]))
		m--;
	return n == m && strncmp(a, b, n) == 0 && a[n] != '\0' && b[n] != '\0' && b[n] != '0' &&
	       strtoul(b + n, NULL, 10) == strtoul(a + n, NULL, 10) + 1;
}

// "p1-p12 q1" of a list of names; "-" of none.
static struct json_object *ranges(struct json_object *names)
{
	size_t n = n_rows(names), len;
	struct json_object *out;
	char *all = NULL;
	FILE *f = open_memstream(&all, &len);

	for (size_t i = 0; f != NULL && i < n; i++) {
		size_t last = i;

		while (last + 1 < n && follows(json_object_get_string(row_at(names, last)),
					       json_object_get_string(row_at(names, last + 1))))
			last++;
		fprintf(f, "%s%s", i > 0 ? " " : "", json_object_get_string(row_at(names, i)));
		if (last > i)
			fprintf(f, "-%s", json_object_get_string(row_at(names, last)));
		i = last;
	}
	if (f != NULL)
		fclose(f);
	out = json_object_new_string(all != NULL && *all != '\0' ? all : "-");
	free(all);
	return out;
}

// Rows that differ in nothing but their port are one row, with all the names in `ports`.
static void group_by_settings(struct json_object *data, unsigned list)
{
	struct json_object *rows = rows_of(data, list), *out = json_object_new_array();
	struct json_object *names = json_object_new_array();

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);
		struct json_object *port = json_object_get(fact_in(row, F_QOS_port));
		size_t k = 0;

		json_object_object_del(row, KEY(QOS, port));
		while (k < n_rows(out) && !json_object_equal(row_at(out, k), row))
			k++;
		if (k == n_rows(out)) {
			json_object_array_add(out, json_object_get(row));
			json_object_array_add(names, json_object_new_array());
		}
		json_object_array_add(row_at(names, k), port);
	}
	for (size_t k = 0; k < n_rows(out); k++)
		json_object_object_add(row_at(out, k), KEY(WORKERS, ports),
				       ranges(row_at(names, k)));
	json_object_put(names);
	json_object_object_add(data, fact_lists[list].list, out);
}

#define PORTS_COLUMN(rank_) \
	COLUMNS({.fact = F_WORKERS_ports, .place = UINT8_MAX, .rank = rank_, .head = "PORTS"})

static void prepare_vlan(struct json_object *data, unsigned list)
{
	static const enum fact_id members[] = {F_VLAN_untagged, F_VLAN_tagged, F_VLAN_ip};
	struct json_object *rows = rows_of(data, list);

	for (size_t i = 0; i < n_rows(rows); i++)
		for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
			json_object_object_add(row_at(rows, i), fact_rows[members[k]].key,
					       ranges(fact_in(row_at(rows, i), members[k])));
}

static void print_buffers_config(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table t = {
		FACTS_PG_CONFIG, "no group has min or headroom",
		"lossy group|s without min or headroom",
		FACTS(F_PG_CONFIG_lossless, F_PG_CONFIG_min_bytes, F_PG_CONFIG_static_bytes,
		      F_PG_CONFIG_headroom_bytes, F_PG_CONFIG_xon_bytes,
		      F_PG_CONFIG_xon_offset_bytes),
		PORTS_COLUMN(1)};

	record_print(out, rows_of(data, FACTS_BUFFER), FACTS_BUFFER, POOL_NAME);
	fputc('\n', out);
	group_by_settings(data, FACTS_PG_CONFIG);
	table_print(out, rows_of(data, FACTS_PG_CONFIG), &t, wish);
}

// "0-7 26" of the places of a map that hold cls; "-" of none.
static struct json_object *places(struct json_object *map, int cls)
{
	char text_of[CELL_LEN] = "";
	size_t n = n_rows(map), len = 0;

	for (size_t i = 0; i < n && len < sizeof(text_of); i++) {
		size_t first = i;

		if (json_object_get_int(row_at(map, i)) != cls)
			continue;
		while (i + 1 < n && json_object_get_int(row_at(map, i + 1)) == cls)
			i++;
		len += (size_t)snprintf(text_of + len, sizeof(text_of) - len,
					i > first ? "%s%zu-%zu" : "%s%zu", len > 0 ? " " : "",
					first, i);
	}
	return json_object_new_string(len > 0 ? text_of : "-");
}

static void print_maps(FILE *out, struct json_object *row, const struct show_wish *wish)
{
	const struct table classes = {
		.list = NO_FACTS,
		COLUMNS({.fact = F_QUEUES_class},
			{.fact = F_PGS_lossless, .rank = 2},
			{.fact = F_QUEUES_queue}, {.fact = F_PGS_pg, .rank = 1},
			{.head = "PCP", .key = "pcp"},
			{.fact = F_GUARD_dscp, .head = "DSCP", .unit = CELL_TEXT})};
	struct json_object *rows = json_object_new_array();

	fprintf(out, "ports %s, profile %s: trust %s, default class %s\n",
		fact_text(row, F_WORKERS_ports), fact_text(row, F_QOS_profile),
		fact_text(row, F_QOS_trust), fact_text(row, F_QOS_default_class));
	for (int c = 0; c < N_CLASSES; c++) {
		struct json_object *line = row_in(rows);
		struct json_object *queues = fact_in(row, F_QOS_class_to_queue);
		struct json_object *pgs = fact_in(row, F_QOS_class_to_pg);
		struct json_object *lossless = fact_in(row, F_QOS_lossless);
		bool holds = false;

		for (size_t i = 0; i < n_rows(lossless); i++)
			holds |= json_object_get_int(row_at(lossless, i)) == c;
		row_u64(line, KEY(QUEUES, class), (uint64_t)c);
		row_bool(line, KEY(PGS, lossless), holds);
		json_object_object_add(line, KEY(QUEUES, queue),
				       json_object_get(row_at(queues, (size_t)c)));
		json_object_object_add(line, KEY(PGS, pg),
				       json_object_get(row_at(pgs, (size_t)c)));
		json_object_object_add(line, "pcp", places(fact_in(row, F_QOS_pcp_to_class), c));
		json_object_object_add(line, KEY(GUARD, dscp),
				       places(fact_in(row, F_QOS_dscp_to_class), c));
	}
	table_print(out, rows, &classes, wish);
	json_object_put(rows);
}

static void print_qos(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *groups = rows_of(data, FACTS_QOS);

	for (size_t i = 0; i < n_rows(groups); i++) {
		if (i > 0)
			fputc('\n', out);
		print_maps(out, row_at(groups, i), wish);
	}
}

// ---- DCBX

// A table of all ports, the cures, and of one port also its classes.
static void print_dcbx(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const struct table ports = {FACTS_DCBX, "no port"}, classes = {FACTS_DCBX_CLASSES};
	struct json_object *rows = rows_of(data, FACTS_DCBX);

	table_print(out, rows, &ports, wish);
	for (size_t i = 0; i < n_rows(rows); i++)
		if (fact_in(row_at(rows, i), F_DCBX_cure) != NULL)
			terminal_printf(out, "%s: %s\n", fact_text(row_at(rows, i), F_DCBX_port),
					fact_text(row_at(rows, i), F_DCBX_cure));
	rows = rows_of(data, FACTS_DCBX_CLASSES);
	if (wish->port == NULL || n_rows(rows) == 0)
		return;
	fputc('\n', out);
	table_print(out, rows, &classes, wish);
}

// ---- all kinds

static const struct kind {
	unsigned list; // of facts in the answer: names the kind. NO_FACTS: the policy file
	const char *help;
	print_fn *print; // what comes behind the parts; NULL: nothing
	struct table parts[3];
	unsigned n_parts;
	void (*prepare)(struct json_object *data, unsigned list); // changes rows; may be NULL
} kinds[] = {
	{FACTS_VERSION, "name, version, policy file, time since the start (also: show uptime)",
	 print_version},
	{FACTS_PORTS, "state, counters and rates of the ports, and the time scale", end_ports,
	 {{FACTS_PORTS}}, 1},
	{FACTS_INTERFACES,
	 "rates and utilisation of the ports (--interval: of so many seconds)", NULL,
	 {{FACTS_INTERFACES}}, 1},
	{FACTS_VLAN, "which ports carry each VLAN, tagged or untagged", NULL,
	 {{FACTS_VLAN, "no VLAN: the bridge does not look at tags"}}, 1, prepare_vlan},
	{FACTS_QOS,
	 "DSCP and PCP to class, class to queue and priority group (also: show qos maps)",
	 print_qos, .prepare = group_by_settings},
	{FACTS_PFC_STATUS, "which classes obey and send PFC, by port", NULL,
	 {{FACTS_PFC_STATUS, "no class is lossless: no port sends or obeys PFC", PORTS_COLUMN(1)}},
	 1, group_by_settings},
	{FACTS_ECN, "WRED and ECN in force by queue: kmin, kmax, pmax", NULL,
	 {{FACTS_ECN, "no queue has `wred`: no frame is marked or dropped early",
	   "group|s of queues without `wred`", FACTS(F_ECN_wred), PORTS_COLUMN(3)}}, 1,
	 group_by_settings},
	{FACTS_ECN_AUTO, "thresholds that follow the traffic, and why (also: show ecn auto)", NULL,
	 {{FACTS_ECN_AUTO, "no queue has `ecn: auto`"}}, 1},
	{FACTS_BUFFER, "pools, and min, alpha, headroom and XON of each group in force",
	 print_buffers_config},
	{FACTS_QUEUES, "length, counters and rates of the egress queues", print_queues},
	{FACTS_PFC,
	 "PAUSE frames and times by class (also: show pfc counters; PORT: DCBX too)", print_pfc},
	{FACTS_WATCHDOG,
	 "PFC storms by port and class, and the action of the watchdog", print_watchdog},
	{FACTS_CAUSES, "why the peers of ports are paused, or were last (also: show pfc --why)",
	 print_causes},
	{FACTS_FLOWS,
	 "flows, the fastest first: way, loss, marks, the sender's queue pair, elephants",
	 print_flows},
	{FACTS_IPCC, "notifications by congested queue, and flows by port",
	 print_ipcc},
	{FACTS_CNPS, "the notifications that the switch sent, each with its reasons", print_cnps},
	{FACTS_GUARD, "frames that turned back inside a group of ports, by rule", NULL,
	 {{FACTS_GUARD, "no frame has turned back inside a group of ports",
	   "rule|s without a frame", FACTS(F_GUARD_packets)}}, 1},
	{FACTS_IMPAIRMENTS, "rules of impair: what they do, how many frames they changed", NULL,
	 {{FACTS_IMPAIRMENTS, "no frame was impaired: see weirctl help impair"}}, 1},
	{FACTS_PGS, "use of the buffer by priority group and pool, XOFF and XON", NULL,
	 {{FACTS_PGS, "no priority group has got a frame", "idle priority group|s",
	   FACTS(F_PGS_rx_packets, F_PGS_dropped_packets, F_PGS_min_bytes, F_PGS_shared_bytes,
		 F_PGS_headroom_bytes, F_PGS_skid_bytes, F_PGS_max_shared_bytes,
		 F_PGS_max_headroom_bytes, F_PGS_xoff)},
	  {FACTS_POOLS}}, 2},
	{FACTS_QUEUE_MARKS, "the highest use since clear watermarks", NULL,
	 {{FACTS_QUEUE_MARKS, "no queue has held a frame", "idle queue|s",
	   FACTS(F_QUEUE_MARKS_max_bytes)},
	  {FACTS_PG_MARKS, "no priority group has used shared buffer or headroom",
	   "idle priority group|s",
	   FACTS(F_PG_MARKS_max_shared_bytes, F_PG_MARKS_max_headroom_bytes)},
	  {FACTS_POOL_MARKS}}, 3},
	{FACTS_BURSTS, "queues and priority groups that were full for milliseconds; peaks by ms",
	 print_microbursts},
	{FACTS_DROPS, "dropped frames by port, class and reason", end_drops,
	 {{FACTS_DROPS, "no frame was dropped"}}, 1},
	{FACTS_FDB, "addresses and their ports, and how many each port has", NULL,
	 {{FACTS_FDB, "no address is known"},
	  {FACTS_FDB_PORTS, "no port has learned an address", "port|s without an address",
	   FACTS(F_FDB_PORTS_learned, F_FDB_PORTS_added, F_FDB_PORTS_moved, F_FDB_PORTS_evicted,
		 F_FDB_PORTS_refused, F_FDB_PORTS_held)}}, 2},
	{FACTS_LLDP, "LLDP neighbours by port, and frames that were sent and received", NULL,
	 {{FACTS_LLDP, "no LLDP neighbour is known"},
	  {FACTS_LLDP_PORTS, "", "port|s without LLDP", FACTS(F_LLDP_PORTS_speaks)}}, 2},
	{FACTS_DCBX, "PFC of each host beside the switch's, and what differs (PORT: ETS too)",
	 print_dcbx},
	{FACTS_INOF_HOSTS, "hosts of NVMe over Fabrics: where, since when, in which zones", NULL,
	 {{FACTS_INOF_HOSTS, "no host has registered; is `inof: on` in the policy?"}}, 1},
	{FACTS_INOF_ZONES, "zones of iNOF, their members and hosts", NULL,
	 {{FACTS_INOF_ZONES, "no zone: the policy has no `inof`"}}, 1},
	{FACTS_INOF_LOG,
	 "notices of iNOF: to whom, about whom, why, and when acknowledged (the last 1,000)", NULL,
	 {{FACTS_INOF_LOG, "no notice was sent: do two hosts share a zone?"}}, 1},
	{FACTS_INOF_PORTS, "registrations, notices and acknowledgements of iNOF by port", NULL,
	 {{FACTS_INOF_PORTS, "no port has a host yet, or the policy has no `inof`",
	   "port|s without a host",
	   FACTS(F_INOF_PORTS_registrations, F_INOF_PORTS_malformed, F_INOF_PORTS_refused)}}, 1},
	{FACTS_INOF_PEERS, "route reflectors that carry hosts of other switches", NULL,
	 {{FACTS_INOF_PEERS, "no reflector: weir-inof does not run"}}, 1},
	{FACTS_VNIS, "VXLAN tunnels: VNIs, peers, and frames by peer", print_vxlan,
	 {{FACTS_VNIS, "no VNI: the policy has no `vxlan`"},
	  {FACTS_TUNNEL_PEERS, "no peer"}}, 2},
	{FACTS_ROUTES, "next hop and port of each destination", NULL,
	 {{FACTS_ROUTES, "no route: no port has an `ip`", "address|es of the switch itself"}}, 1,
	 prepare_routes},
	{FACTS_NEIGHBOURS, "MAC addresses of stations on the links of routed ports", NULL,
	 {{FACTS_NEIGHBOURS, "no neighbour is known"}}, 1},
	{FACTS_LINUX_TAPS, "taps of the kernel, and what the switch knows of its routes",
	 print_linux},
	{FACTS_EVENTS,
	 "events: the last 200 of each alarm, 1,000 warnings, 1,000 pauses and "
		   "addresses, 1,000 others",
	 print_events},
	{NO_FACTS, "the policy file as it was loaded", print_config},
	{FACTS_CONTROL, "control frames that the switch consumed", print_control},
	{FACTS_HINTS, "signs of a wrong configuration", print_hints},
	{FACTS_LATENCY, "time that frames spent in the switch, by queue", NULL,
	 {{FACTS_LATENCY, "no frame has passed a queue"}}, 1, prepare_latency},
	{FACTS_WORKERS,
	 "the threads that move frames: load, and late iterations of their loops", NULL,
	 {{FACTS_WORKERS}}, 1},
	{FACTS_BALANCE, "frames that came in, against frames that went out or are inside",
	 print_balance},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *what_of(const struct kind *k)
{
	return k->list == NO_FACTS ? "config" : fact_lists[k->list].what;
}

static const struct kind *show_kind_named(const char *what)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (strcmp(what_of(&kinds[i]), what) == 0)
			return &kinds[i];
	return NULL;
}

bool show_exists(const char *what)
{
	return show_kind_named(what) != NULL;
}

const char *show_kind(unsigned i, const char **help)
{
	if (i >= N_KINDS)
		return NULL;
	*help = kinds[i].help;
	return what_of(&kinds[i]);
}

bool show_tables(FILE *out, const char *what, struct json_object *data,
		 const struct show_wish *wish)
{
	const struct kind *k = show_kind_named(what);
	struct json_object *rows = k != NULL && k->list != NO_FACTS ? rows_of(data, k->list) : NULL;

	if (k == NULL)
		return false;
	if (rows == NULL && k->list != NO_FACTS) // a switch of another version
		return true;
	mask_texts(data);
	if (k->prepare != NULL)
		k->prepare(data, k->list);
	for (unsigned i = 0; i < k->n_parts; i++) {
		if (wish->only != 0 && k->parts[i].list + 1 != wish->only)
			continue;
		rows = rows_of(data, k->parts[i].list);
		if (i > 0 && wish->only == 0)
			fputc('\n', out);
		if (rows != NULL)
			table_print(out, rows, &k->parts[i], wish);
	}
	if (k->print != NULL)
		k->print(out, data, wish);
	return true;
}
