// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_grid.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/observe/columns.h"

enum {
	MAX_CELL = 512,
	GAP = 2, // blanks between columns
	LEAST_WORDS = 24, // no column of words gets narrower for a terminal
};

void grid_init(struct grid *g, const char *title, const char *heads, uint32_t n_left)
{
	*g = (struct grid){.title = title, .n_left = n_left, .n_keys = 1};
	while (g->n_columns < GRID_COLUMNS) {
		size_t len = strcspn(heads, "|");

		g->heads[g->n_columns++] = arena_text(&g->arena, heads, len);
		if (heads[len] == '\0')
			return;
		heads += len + 1;
	}
}

void grid_end(struct grid *g, grid_emit_fn *emit, FILE *out, uint32_t more)
{
	if (more != 0)
		grid_note(g, "and %u more, in report.json", more);
	emit(g, out);
	arena_fini(&g->arena);
}

void grid_row(struct grid *g)
{
	if (g->n_rows == g->cap_rows) {
		uint32_t cap = g->cap_rows == 0 ? 16 : 2 * g->cap_rows;
		const char **more = arena_alloc(&g->arena, cap * g->n_columns * sizeof(*more));

		if (g->n_rows != 0)
			memcpy(more, g->cells, g->n_rows * g->n_columns * sizeof(*more));
		g->cells = more;
		g->cap_rows = cap;
	}
	g->n_rows++;
	g->next = 0;
}

void grid_put(struct grid *g, const char *fmt, ...)
{
	char text[MAX_CELL];
	va_list ap;

	if (g->next == g->n_columns)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->cells[(g->n_rows - 1) * g->n_columns + g->next++] =
		arena_text(&g->arena, text, strlen(text));
}

void grid_note(struct grid *g, const char *fmt, ...)
{
	char text[MAX_CELL];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->note = arena_text(&g->arena, text, strlen(text));
}

static const char *cell(const struct grid *g, uint32_t row, uint32_t column)
{
	const char *text = g->cells[row * g->n_columns + column];

	return text == NULL ? "" : text;
}

// 0: nothing stands in it.
static int width(const struct grid *g, uint32_t column)
{
	size_t most = strlen(g->heads[column]);
	bool used = false;

	for (uint32_t r = 0; r < g->n_rows; r++) {
		size_t len = strlen(cell(g, r, column));

		used |= len != 0;
		most = len > most ? len : most;
	}
	return used ? (int)most : 0;
}

// ---- as text

// Columns that stand side by side.
struct block {
	uint32_t columns[GRID_COLUMNS], n;
	int widths[GRID_COLUMNS];
};

static int least_width(const struct grid *g, uint32_t column, int columns_width)
{
	return column < g->n_left && columns_width > LEAST_WORDS ? LEAST_WORDS : columns_width;
}

// Takes the key columns, and from `first` on as many columns as fit. Returns the first column of
// the next block.
static uint32_t take_columns(const struct grid *g, uint32_t first, int limit, struct block *b)
{
	uint32_t n_keys = 0, c;
	int sum = -GAP;

	b->n = 0;
	for (c = 0; c < g->n_columns; c++) {
		int columns_width = width(g, c);

		if (columns_width == 0 || (c >= g->n_keys && c < first))
			continue;
		sum += GAP + least_width(g, c, columns_width);
		if (limit != 0 && sum > limit && b->n > n_keys)
			break;
		n_keys += c < g->n_keys;
		b->columns[b->n] = c;
		b->widths[b->n++] = columns_width;
	}
	return c;
}

static int excess(const struct block *b, int limit)
{
	int sum = -GAP;

	for (uint32_t i = 0; i < b->n; i++)
		sum += GAP + b->widths[i];
	return limit == 0 ? 0 : sum - limit;
}

// Cells of words may take several lines: the widest column of words gives way first.
static void narrow_words(const struct grid *g, struct block *b, int limit)
{
	uint32_t widest = 0;

	while (excess(b, limit) > 0) {
		for (uint32_t i = 0; i < b->n && b->columns[i] < g->n_left; i++)
			if (b->widths[i] > b->widths[widest])
				widest = i;
		if (b->columns[widest] >= g->n_left || b->widths[widest] <= LEAST_WORDS)
			return;
		b->widths[widest] -= excess(b, limit);
		if (b->widths[widest] < LEAST_WORDS)
			b->widths[widest] = LEAST_WORDS;
	}
}

// Prints the next line of a row and moves `rest` on. Returns whether another line follows.
static bool print_line(const struct grid *g, const struct block *b, const char **rest, FILE *out)
{
	bool more = false;
	int pending = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		int len = fit_text(rest[i], (int)strlen(rest[i]), (unsigned)b->widths[i]);
		int blanks = b->widths[i] - len;
		bool left = b->columns[i] < g->n_left;

		pending += left ? 0 : blanks;
		// Blanks at the end of a line are never printed.
		if (len != 0) {
			fprintf(out, "%*s%.*s", pending, "", len, rest[i]);
			pending = 0;
		}
		pending += GAP + (left ? blanks : 0);
		rest[i] += len;
		rest[i] += strspn(rest[i], " ");
		more |= *rest[i] != '\0';
	}
	fputc('\n', out);
	return more;
}

static void print_block(const struct grid *g, const struct block *b, FILE *out)
{
	const char *rest[GRID_COLUMNS];

	for (int r = -1; r < (int)g->n_rows; r++) {
		for (uint32_t i = 0; i < b->n; i++)
			rest[i] = r < 0 ? g->heads[b->columns[i]]
					: cell(g, (uint32_t)r, b->columns[i]);
		while (print_line(g, b, rest, out))
			;
	}
}

void grid_print(const struct grid *g, FILE *out)
{
	unsigned limit = terminal_width(out);
	struct block b;

	if (g->n_rows == 0)
		return;
	if (*g->title != '\0')
		terminal_printf(out, "\n%s\n", g->title);
	for (uint32_t c = g->n_keys; c < g->n_columns;) {
		if (c > g->n_keys)
			fputc('\n', out);
		c = take_columns(g, c, (int)limit, &b);
		narrow_words(g, &b, (int)limit);
		print_block(g, &b, out);
	}
	if (g->note != NULL)
		terminal_printf(out, "%s\n", g->note);
}

// ---- as JSON

static void json_row(const struct grid *g, const int *widths, int row, FILE *out)
{
	const char *between = "[";

	for (uint32_t c = 0; c < g->n_columns; c++) {
		if (widths[c] == 0)
			continue;
		fputs(between, out);
		columns_text(row < 0 ? g->heads[c] : cell(g, (uint32_t)row, c), out);
		between = ", ";
	}
	fputc(']', out);
}

void grid_json(const struct grid *g, FILE *out)
{
	int widths[GRID_COLUMNS];
	uint32_t n_left = 0;

	if (g->n_rows == 0)
		return;
	for (uint32_t c = 0; c < g->n_columns; c++) {
		widths[c] = width(g, c);
		n_left += c < g->n_left && widths[c] != 0;
	}
	fputs(ftell(out) == 0 ? "{\"title\": " : ",\n{\"title\": ", out);
	columns_text(g->title, out);
	fputs(", \"heads\": ", out);
	json_row(g, widths, -1, out);
	fprintf(out, ", \"n_left\": %u, \"rows\": [", n_left);
	for (uint32_t r = 0; r < g->n_rows; r++) {
		fputs(r == 0 ? "" : ",\n", out);
		json_row(g, widths, (int)r, out);
	}
	fputs("], \"note\": ", out);
	if (g->note == NULL)
		fputs("null", out);
	else
		columns_text(g->note, out);
	fputc('}', out);
}
