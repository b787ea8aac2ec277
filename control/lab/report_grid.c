// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_grid.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "control/lab/svg.h"

enum { MAX_CELL = 512 };

void grid_init(struct grid *g, const char *title, const char *heads, uint32_t n_left)
{
	*g = (struct grid){.title = title, .n_left = n_left};
	while (g->n_columns < GRID_COLUMNS) {
		size_t len = strcspn(heads, "|");

		g->heads[g->n_columns++] = arena_text(&g->arena, heads, len);
		if (heads[len] == '\0')
			return;
		heads += len + 1;
	}
}

void grid_fini(struct grid *g)
{
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

static void print_line(const struct grid *g, const int *widths, int row, FILE *out)
{
	int pending = 0;

	for (uint32_t c = 0; c < g->n_columns; c++) {
		const char *text = row < 0 ? g->heads[c] : cell(g, (uint32_t)row, c);
		int len = (int)strlen(text);

		if (widths[c] == 0)
			continue;
		if (c >= g->n_left)
			pending += widths[c] - len;
		// Blanks at the end of a line are never printed.
		if (len != 0) {
			fprintf(out, "%*s%s", pending, "", text);
			pending = 0;
		}
		if (c < g->n_left)
			pending += widths[c] - len;
		pending += 2;
	}
	fputc('\n', out);
}

void grid_print(const struct grid *g, FILE *out)
{
	int widths[GRID_COLUMNS];

	if (g->n_rows == 0)
		return;
	for (uint32_t c = 0; c < g->n_columns; c++)
		widths[c] = width(g, c);
	if (*g->title != '\0')
		fprintf(out, "\n%s\n", g->title);
	for (int r = -1; r < (int)g->n_rows; r++)
		print_line(g, widths, r, out);
	if (g->note != NULL)
		fprintf(out, "%s\n", g->note);
}

static void html_line(const struct grid *g, const int *widths, int row, FILE *out)
{
	fputs("<tr>", out);
	for (uint32_t c = 0; c < g->n_columns; c++) {
		const char *text = row < 0 ? g->heads[c] : cell(g, (uint32_t)row, c);
		char tag = row < 0 ? 'h' : 'd';

		if (widths[c] == 0)
			continue;
		fprintf(out, "<t%c%s%s>", tag, c < g->n_left ? "" : " class=\"n\"",
			strcmp(text, "FAIL") == 0 ? " style=\"color:#c00;font-weight:bold\"" : "");
		svg_escape(text, out);
		fprintf(out, "</t%c>", tag);
	}
	fputs("</tr>\n", out);
}

void grid_html(const struct grid *g, FILE *out)
{
	int widths[GRID_COLUMNS];

	if (g->n_rows == 0)
		return;
	for (uint32_t c = 0; c < g->n_columns; c++)
		widths[c] = width(g, c);
	fputs("<h2>", out);
	svg_escape(g->title, out);
	fputs("</h2>\n<table>\n", out);
	for (int r = -1; r < (int)g->n_rows; r++)
		html_line(g, widths, r, out);
	fputs("</table>\n", out);
	if (g->note == NULL)
		return;
	fputs("<p>", out);
	svg_escape(g->note, out);
	fputs("</p>\n", out);
}
