// SPDX-License-Identifier: Apache-2.0
// How the kind `microbursts` looks: a table of bursts, and a row of bars for the last windows of
// each queue and group.
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show.h"

enum { BURSTS = 20, PART_LEN = 24, BARS_AT = 30, BARS_LEAST = 20, BARS_MOST = 1024 };

static uint64_t peak_at(struct json_object *history, size_t i)
{
	return json_object_get_uint64(row_at(history, i));
}

// Of eight heights; an empty window is a blank. Where the locale has no blocks: 1 to 8, and a dot.
static const char *bar(uint64_t peak, uint64_t highest, bool blocks)
{
	static const char *const tall[] = {" ",	     "\u2581", "\u2582", "\u2583", "\u2584",
					   "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const plain[] = {".", "1", "2", "3", "4", "5", "6", "7", "8"};
	uint64_t level = highest == 0 ? 0 : (8 * peak + highest - 1) / highest;

	return (blocks ? tall : plain)[level];
}

// n: windows that fit.
static void print_bars(FILE *out, struct json_object *row, const char *kind, enum fact_id number,
		       struct json_object *history, size_t n)
{
	bool blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	size_t all = n_rows(history), first = all > n ? all - n : 0;
	char part[PART_LEN], cell[CELL_LEN];
	uint64_t highest = 0;

	for (size_t i = first; i < all; i++)
		highest = peak_at(history, i) > highest ? peak_at(history, i) : highest;
	if (highest == 0)
		return;
	snprintf(part, sizeof(part), "%.3s%" PRIu64, kind, fact_count(row, number));
	row_u64(row, KEY(BURST_QUEUES, peak_bytes), highest);
	fact_cell(cell, row, F_BURST_QUEUES_peak_bytes);
	fprintf(out, "%-8s  %-6s %9s  |", fact_text(row, F_BURST_QUEUES_port), part, cell);
	for (size_t i = first; i < all; i++)
		fputs(bar(peak_at(history, i), highest, blocks), out);
	fputs("|\n", out);
}

static bool any_history(struct json_object *rows, enum fact_id history)
{
	for (size_t i = 0; i < n_rows(rows); i++)
		if (fact_in(row_at(rows, i), history) != NULL)
			return true;
	return false;
}

static void print_history(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *queues = rows_of(data, FACTS_BURST_QUEUES);
	struct json_object *groups = rows_of(data, FACTS_BURST_PGS);
	size_t n = wish->width == 0			      ? BARS_MOST
		   : wish->width > BARS_AT + BARS_LEAST ? wish->width - BARS_AT
							      : BARS_LEAST;
	char window[CELL_LEN];

	fact_cell(window, rows_of(data, FACTS_BURST_WINDOW), F_BURST_WINDOW_window_us);
	if (!any_history(queues, F_BURST_QUEUES_history_bytes) &&
	    !any_history(groups, F_BURST_PGS_history_bytes)) {
		fprintf(out, "nothing waited in the last windows of %s\n", window);
		return;
	}
	setlocale(LC_CTYPE, "");
	fprintf(out, "The last windows, a column for each %s; a full column is the highest of the "
		"row:\n", window);
	for (size_t i = 0; i < n_rows(queues); i++)
		print_bars(out, row_at(queues, i), "q", F_BURST_QUEUES_queue,
			   fact_in(row_at(queues, i), F_BURST_QUEUES_history_bytes), n);
	for (size_t i = 0; i < n_rows(groups); i++)
		print_bars(out, row_at(groups, i), KEY(BURST_PGS, pg), F_BURST_PGS_pg,
			   fact_in(row_at(groups, i), F_BURST_PGS_history_bytes), n);
}

// The time of day alone.
static void cut_date(struct json_object *row)
{
	const char *time = strchr(fact_text(row, F_BURSTS_time), 'T');
	char cell[CELL_LEN];

	snprintf(cell, sizeof(cell), "%s", time != NULL ? time + 1 : "-");
	row_text(row, KEY(BURSTS, time), cell);
}

void print_microbursts(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table bursts = {FACTS_BURSTS, "no burst"};
	struct json_object *rows = rows_of(data, FACTS_BURSTS);
	struct json_object *about = rows_of(data, FACTS_BURST_WINDOW);
	size_t all = n_rows(rows), most = wish->count != 0 ? wish->count : BURSTS;
	char from[CELL_LEN];

	if (fact_count(about, F_BURST_WINDOW_window_us) == 0)
		fputs("off: the policy has no `microbursts: on` under `switch`\n", out);
	if (!wish->all && all > most)
		json_object_array_del_idx(rows, most, all - most);
	for (size_t i = 0; i < n_rows(rows); i++)
		cut_date(row_at(rows, i));
	if (all > 0 || fact_count(about, F_BURST_WINDOW_window_us) != 0)
		table_print(out, rows, &bursts, wish);
	if (n_rows(rows) < all)
		fprintf(out, "(the latest %zu of %zu; --count N, or --all, shows more)\n",
			n_rows(rows), all);
	if (fact_count(about, F_BURST_WINDOW_records_lost) != 0)
		fprintf(out, "%" PRIu64 " records were lost: bursts may be cut or absent\n",
			fact_count(about, F_BURST_WINDOW_records_lost));
	if (fact_count(about, F_BURST_WINDOW_window_us) == 0)
		return;
	fprintf(out, "\nA burst is a queue or group at %s of its limit or more.\n",
		fact_cell(from, about, F_BURST_WINDOW_from_percent));
	print_history(out, data, wish);
}
