// SPDX-License-Identifier: Apache-2.0
// The kinds of `show`, and how each looks as a table. Pure but for printing.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "control/observe/fact.h"

struct json_object;

struct show_wish {
	bool all; // rows without any activity too
	bool explain; // drops: what each reason means
	bool unpaired; // flows: only those, and why
	const char *port; // NULL: all
	unsigned width; // characters in a line of the terminal; 0: tables have all columns
};

// How one kind looks: the answer of the switch as tables and sentences.
typedef void print_fn(FILE *out, struct json_object *data, const struct show_wish *wish);

print_fn print_flows, print_ipcc, print_cnps;

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
