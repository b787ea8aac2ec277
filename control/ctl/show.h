// SPDX-License-Identifier: Apache-2.0
// How answers look to people. table.c prints aligned tables of lists of JSON objects: a column is a
// heading, a key and a unit, and columns of facts come from their rows (control/observe/fact.h).
// show.c, show_flows.c, show_bursts.c and show_queues.c have the kinds of `show`, show_cmd.c the
// command. Pure but for printing; the JSON itself is what programs should read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/observe/fact.h"

struct show_wish {
	bool all; // rows without any activity too
	bool explain; // drops: what each reason means
	bool unpaired; // flows: only those, and why
	bool elephants; // flows: only those
	const char *port; // NULL: all
	unsigned count; // microbursts: rows; 0: the usual number
	unsigned only; // one list: 1 + its number; 0: all lists of the kind
	unsigned width; // characters in a line of the terminal; 0: tables have all columns
};

// A column that the list of facts does not have, or has otherwise.
struct column {
	enum fact_id fact; // gives head, key and unit that are not set here; F_NONE: none
	uint8_t place, rank; // as in struct fact
	const char *head, *key;
	enum cell_unit unit;
};

enum { TABLE_MAX_COLUMNS = 24, CELL_LEN = 320, NO_FACTS = N_FACT_LISTS };

struct table {
	unsigned list; // facts of this list with a place are columns; NO_FACTS: `made` is all
	const char *none; // the sentence in place of a table without rows
	// The name of the rows that are left out. The letters after '|' are the plural's:
	// "idle queue|s". NULL: every row is shown.
	const char *idle;
	// A row in which all of these are 0 is left out. NULL: its member ROW_ACTIVE says it.
	const enum fact_id *active;
	const struct column *made;
	size_t n_made;
};

#define ROW_ACTIVE "active"
// A list of facts, and an array of columns and how many there are.
#define FACTS(...) ((const enum fact_id[]){__VA_ARGS__, F_NONE})
#define COLUMNS(...)                                                                               \
	.made = (const struct column[]){__VA_ARGS__},                                              \
	.n_made = sizeof((const struct column[]){__VA_ARGS__}) / sizeof(struct column)

// Formats one value; "-" where v is NULL. A text stays as it is in every unit.
void cell_format(char out[CELL_LEN], enum cell_unit unit, struct json_object *v);

// ---- answers. An absent key, also of an older switch, is NULL, "-", 0 or false.

// The rows of a list of facts; a single one is the row itself.
struct json_object *rows_of(struct json_object *data, unsigned list);
size_t n_rows(struct json_object *rows);
struct json_object *row_at(struct json_object *rows, size_t i);

struct json_object *fact_in(struct json_object *row, enum fact_id f);
const char *fact_text(struct json_object *row, enum fact_id f);
uint64_t fact_count(struct json_object *row, enum fact_id f);
bool fact_yes(struct json_object *row, enum fact_id f);
bool fact_is(struct json_object *row, enum fact_id f, const char *word);
// In the unit of the fact.
const char *fact_cell(char out[CELL_LEN], struct json_object *row, enum fact_id f);

// ---- tables

// Whether one of the facts is not 0.
bool row_is_active(struct json_object *row, const enum fact_id *facts);

// Prints the rows, or the sentence, and says which rows and columns are left out.
void table_print(FILE *out, struct json_object *rows, const struct table *t,
		 const struct show_wish *wish);

// A single row: one line for each column of the list. width: of the names.
void record_print(FILE *out, struct json_object *row, unsigned list, int width);

// "3 idle queues" of "idle queue|s", "1 idle queue".
void print_counted(FILE *out, size_t n, const char *name);
// "(3 idle queues are not shown; name a port, or --all, to see them)"; nothing for 0.
void print_left_out(FILE *out, size_t n, const char *idle);

// ---- kinds

// How one kind looks: the answer of the switch as tables and sentences.
typedef void print_fn(FILE *out, struct json_object *data, const struct show_wish *wish);

print_fn print_flows, print_ipcc, print_cnps, print_microbursts, print_queues;

// what: a kind of the daemon's `show`. False: no such kind.
bool show_tables(FILE *out, const char *what, struct json_object *data,
		 const struct show_wish *wish);

// A line for each order in force that stops frames on the whole switch. data: the answer to
// `show version`.
void print_orders(FILE *out, struct json_object *data);

// One event of the list `events` as a line.
void show_event(FILE *out, struct json_object *row);
// " key=value" for each member of an event, but for some facts; the last is F_NONE.
void event_fields(FILE *out, struct json_object *row, const enum fact_id *but);

// Rates of ports between two answers of the kind `interfaces`. Pure.
// The counters and rates of `data` become those of the time since `before`, 0 where the counters
// were cleared in between.
void interval_rates(struct json_object *data, struct json_object *before);

// Name and help of kind i; NULL behind the last.
const char *show_kind(unsigned i, const char **help);
bool show_exists(const char *what);

enum { SHOW_KINDS_LEN = 512 };
// "ports queues ...".
const char *show_kinds(char text[SHOW_KINDS_LEN]);
