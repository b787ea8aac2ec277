// SPDX-License-Identifier: Apache-2.0
// A small table of texts, for people: printed in columns, or as JSON for the page. Filled row by
// row; memory comes from its arena. Decides nothing.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "control/base/arena.h"

enum { GRID_COLUMNS = 16 };

struct grid {
	struct arena arena;
	const char *title; // "" : none
	const char *heads[GRID_COLUMNS];
	const char **cells; // n_rows * n_columns; NULL: empty
	uint32_t n_columns, n_rows, cap_rows, next;
	uint32_t n_left; // columns that are aligned left: the first ones
	uint32_t n_keys; // columns that name a row: the first ones; grid_init sets 1
	const char *note; // below the table; NULL: none
};

// heads: "port|rate|queue". n_left: how many of them hold words.
void grid_init(struct grid *g, const char *title, const char *heads, uint32_t n_left);
// Begins a row; then grid_put fills it from left to right.
void grid_row(struct grid *g);
__attribute__((format(printf, 2, 3))) void grid_put(struct grid *g, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void grid_note(struct grid *g, const char *fmt, ...);

// Columns without anything in them are left out; a grid without rows prints nothing. On a terminal
// that is too narrow the text has several blocks of columns, and the keys begin each block.
void grid_print(const struct grid *g, FILE *out);
// {"title", "heads", "n_left", "rows", "note"}, after a comma unless it comes first.
void grid_json(const struct grid *g, FILE *out);
typedef void grid_emit_fn(const struct grid *g, FILE *out);
// Emits the grid and frees it. more: rows that were left out, which the note says.
void grid_end(struct grid *g, grid_emit_fn *emit, FILE *out, uint32_t more);
