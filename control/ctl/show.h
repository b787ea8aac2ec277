// SPDX-License-Identifier: Apache-2.0
// The kinds of `show`, and how each looks as a table. Pure but for printing.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json_object;

struct show_wish {
	bool all; // rows without any activity too
	bool explain; // drops: what each reason means
	bool unpaired; // flows: only those, and why
};

// what: a kind of the daemon's `show`. False: no such kind.
bool show_tables(FILE *out, const char *what, struct json_object *data,
		 const struct show_wish *wish);

// One event of the list `events` as a line.
void show_event(FILE *out, struct json_object *row);

// Name and help of kind i; NULL behind the last.
const char *show_kind(unsigned i, const char **help);
bool show_exists(const char *what);
