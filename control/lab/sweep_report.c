// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/terminal.h"
#include "control/lab/html.h"
#include "control/lab/report_file.h"
#include "control/lab/report_rows.h"
#include "control/lab/sweep.h"
#include "control/observe/field.h"

enum { TEXT = 1024, LOG_FROM = 20 };

static enum expr_unit unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint8_t unit;
	} rows[] = {{"bps", EXPR_RATE},
		    {"bytes", EXPR_BYTES},
		    {"ns", EXPR_TIME},
		    {"share", EXPR_SHARE}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(name, rows[i].name) == 0)
			return rows[i].unit;
	return EXPR_COUNT;
}

// The first run that reported says what there is; all others have the same.
static const struct sweep_point *pattern(const struct sweep *s)
{
	for (uint32_t i = 0; i < s->n_points; i++)
		if (s->points[i].n_values != 0)
			return &s->points[i];
	return NULL;
}

static const struct sweep_value *value_at(const struct sweep *s, uint32_t point, uint32_t v)
{
	return v < s->points[point].n_values ? &s->points[point].values[v] : NULL;
}

static const char *word(const struct sweep_point *p)
{
	if (p->state != SWEEP_DONE)
		return "not run";
	if (p->n_values == 0 && p->code != LAB_DONE)
		return "ERROR";
	return p->code == LAB_DONE ? "PASS" : "FAIL";
}

static void verdict_cell(const struct sweep *s, uint32_t point, struct grid *g)
{
	uint32_t reason = s->points[point].reason;

	if (reason != 0 && s->n_reasons > 1)
		grid_put(g, "%s %u", word(&s->points[point]), reason);
	else
		grid_put(g, "%s", word(&s->points[point]));
}

static void dimension_cells(const struct sweep *s, uint32_t point, struct grid *g)
{
	for (uint32_t d = 0; d < s->n_varies; d++)
		grid_put(g, "%s", s->varies[d].values[sweep_index(s, point, d)]);
}

static void value_cells(const struct sweep *s, uint32_t point, uint32_t n, struct grid *g)
{
	for (uint32_t v = 0; v < n; v++) {
		const struct sweep_value *value = value_at(s, point, v);
		char text[EXPR_VALUE_LEN];

		if (value == NULL) {
			grid_put(g, "%s", "");
			continue;
		}
		expr_print_digits(unit_of(value->unit), value->value, s->args->digits, text,
				  sizeof(text));
		grid_put(g, "%s%s", *value->text == '\0' ? text : value->text,
			 value->judged && !value->passed ? " !" : "");
	}
}

// The last part of a key where that says which one it is: kmin.
static const char *short_key(const struct sweep *s, uint32_t d)
{
	const char *key = s->varies[d].key, *dot = strrchr(key, '.');

	for (uint32_t i = 0; i < s->n_varies && dot != NULL; i++) {
		const char *other = strrchr(s->varies[i].key, '.');

		if (i != d && other != NULL && strcmp(other, dot) == 0)
			return key;
	}
	return dot == NULL ? key : dot + 1;
}

// Columns have numbers; what they are stands below.
static void fill_grid(const struct sweep *s, struct grid *g)
{
	const struct sweep_point *p = pattern(s);
	uint32_t n = p == NULL ? 0 : p->n_values;
	char heads[TEXT] = "";
	size_t at = 0;

	for (uint32_t d = 0; d < s->n_varies && at < sizeof(heads); d++)
		at += (size_t)snprintf(heads + at, sizeof(heads) - at, "%.60s|", short_key(s, d));
	if (n > GRID_COLUMNS - s->n_varies - 1)
		n = GRID_COLUMNS - s->n_varies - 1;
	if (at < sizeof(heads))
		at += (size_t)snprintf(heads + at, sizeof(heads) - at, "run");
	for (uint32_t v = 0; v < n && at < sizeof(heads); v++)
		at += (size_t)snprintf(heads + at, sizeof(heads) - at, "|[%u]", v + 1);
	grid_init(g, "sweep", heads, s->n_varies + 1);
	g->n_keys = s->n_varies;
	for (uint32_t i = 0; i < s->n_points; i++) {
		grid_row(g);
		dimension_cells(s, i, g);
		verdict_cell(s, i, g);
		value_cells(s, i, n, g);
	}
}

static void legend(const struct sweep *s, FILE *out)
{
	const struct sweep_point *p = pattern(s);

	for (uint32_t v = 0; p != NULL && v < p->n_values; v++)
		terminal_printf(out, "[%u] %s\n", v + 1, p->values[v].name);
	for (uint32_t i = 0; i < s->n_points; i++)
		for (uint32_t v = 0; v < s->points[i].n_values; v++)
			if (s->points[i].values[v].judged && !s->points[i].values[v].passed) {
				fputs("! the expectation does not hold\n", out);
				return;
			}
}

static void reasons(const struct sweep *s, FILE *out)
{
	for (uint32_t i = 0; i < s->n_reasons; i++)
		if (s->n_reasons > 1)
			terminal_printf(out, "ERROR %u: %s\n", i + 1, s->reasons[i]);
		else
			terminal_printf(out, "ERROR: %s\n", s->reasons[i]);
}

void sweep_table(const struct sweep *s, FILE *out)
{
	struct grid g;

	fill_grid(s, &g);
	grid_print(&g, out);
	legend(s, out);
	reasons(s, out);
	grid_fini(&g);
}

// ---- JSON and CSV

static void value_json(const struct sweep_value *v, struct json_object *row)
{
	row_text(row, "name", v->name);
	row_text(row, "unit", v->unit);
	report_number(row, "value", v->value);
	if (v->judged)
		row_bool(row, "passed", v->passed);
}

void sweep_json(const struct sweep *s, FILE *out)
{
	struct json_object *o = json_object_new_object(), *runs;

	row_text(o, "scenario", s->args->files[0]);
	runs = list_in(o, "runs");
	for (uint32_t i = 0; i < s->n_points; i++) {
		const struct sweep_point *p = &s->points[i];
		struct json_object *row = row_in(runs), *set = json_object_new_object(), *list;

		for (uint32_t d = 0; d < s->n_varies; d++)
			row_text(set, s->varies[d].key, s->varies[d].values[sweep_index(s, i, d)]);
		json_object_object_add(row, "set", set);
		row_bool(row, "ran", p->state == SWEEP_DONE);
		row_u64(row, "exit", (uint64_t)p->code);
		row_bool(row, "passed", p->passed);
		if (p->error != NULL)
			row_text(row, "error", p->error);
		else
			json_object_object_add(row, "error", NULL);
		list = list_in(row, "values");
		for (uint32_t v = 0; v < p->n_values; v++)
			value_json(&p->values[v], row_in(list));
	}
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void csv(const struct sweep *s, FILE *out)
{
	const struct sweep_point *p = pattern(s);
	uint32_t n = p == NULL ? 0 : p->n_values;
	char text[TEXT * 2];

	for (uint32_t d = 0; d < s->n_varies; d++) {
		csv_field(s->varies[d].key, out);
		fputc(',', out);
	}
	fputs("run", out);
	for (uint32_t v = 0; v < n; v++) {
		fputc(',', out);
		snprintf(text, sizeof(text), "%s%s%s", p->values[v].name,
			 *p->values[v].unit == '\0' ? "" : " ", p->values[v].unit);
		csv_field(text, out);
	}
	fputc('\n', out);
	for (uint32_t i = 0; i < s->n_points; i++) {
		for (uint32_t d = 0; d < s->n_varies; d++) {
			csv_field(s->varies[d].values[sweep_index(s, i, d)], out);
			fputc(',', out);
		}
		fputs(word(&s->points[i]), out);
		for (uint32_t v = 0; v < n; v++) {
			const struct sweep_value *value = value_at(s, i, v);

			fputc(',', out);
			csv_number(value == NULL ? __builtin_nan("") : value->value, out);
		}
		fputc('\n', out);
	}
}

// ---- plots

struct lines {
	const struct sweep *s;
	uint32_t first; // the dimension of the x axis is 0; others make lines
	double *x; // of its values
	struct svg_series *series;
	uint32_t n;
	struct svg_axis axis;
	struct arena arena;
};

// Quantities of one unit stand where they are, words one after the other.
static void x_axis(struct lines *l)
{
	const struct sweep_vary *v = &l->s->varies[0];
	bool quantities = true;
	enum expr_unit unit = EXPR_COUNT, first = EXPR_COUNT;
	double lo = 0, hi = 0;
	char *text = arena_printf(&l->arena, "%s: ", v->key);

	for (uint32_t i = 0; i < v->n; i++) {
		quantities &= sweep_quantity(v->values[i], &l->x[i], &unit) &&
			      (i == 0 || unit == first || l->x[i] == 0) &&
			      (i == 0 || l->x[i] > l->x[i - 1]);
		first = i == 0 ? unit : first;
		lo = i == 0 || l->x[i] < lo ? l->x[i] : lo;
		hi = i == 0 || l->x[i] > hi ? l->x[i] : hi;
	}
	if (quantities) {
		l->axis = (struct svg_axis){
			.what = v->key, .unit = first, .log = lo > 0 && hi > lo * LOG_FROM};
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) {
		l->x[i] = i + 1;
		text = arena_printf(&l->arena, "%s%s%u = %s", text, i == 0 ? "" : ", ", i + 1,
				    v->values[i]);
	}
	l->axis = (struct svg_axis){.what = text, .unit = EXPR_COUNT};
}

static const char *line_name(struct lines *l, uint32_t point)
{
	const struct sweep *s = l->s;
	const char *text = "";

	for (uint32_t d = 1; d < s->n_varies; d++)
		text = arena_printf(&l->arena, "%s%s%s=%s", text, d == 1 ? "" : " ",
				    short_key(s, d), s->varies[d].values[sweep_index(s, point, d)]);
	return text;
}

static void value_lines(struct lines *l, uint32_t v)
{
	const struct sweep *s = l->s;
	uint32_t each = s->n_points / s->varies[0].n;

	for (l->n = 0; l->n < each; l->n++) {
		double *y = arena_alloc(&l->arena, s->varies[0].n * sizeof(*y));

		for (uint32_t i = 0; i < s->varies[0].n; i++) {
			const struct sweep_value *value = value_at(s, i * each + l->n, v);

			y[i] = value == NULL ? __builtin_nan("") : value->value;
		}
		l->series[l->n] = (struct svg_series){each == 1 ? "" : line_name(l, l->n), l->x, y,
						      s->varies[0].n};
	}
}

typedef int plot_fn(void *arg, uint32_t i, const struct svg_plot *p);

static int each_plot(const struct sweep *s, plot_fn *fn, void *arg)
{
	const struct sweep_point *p = pattern(s);
	struct lines l = {.s = s};
	int err = 0;

	l.x = arena_alloc(&l.arena, s->varies[0].n * sizeof(*l.x));
	l.series = arena_alloc(&l.arena, s->n_points * sizeof(*l.series));
	x_axis(&l);
	for (uint32_t v = 0; p != NULL && v < p->n_values && err == 0; v++) {
		char title[160];

		value_lines(&l, v);
		snprintf(title, sizeof(title), "%.110s", p->values[v].name);
		err = fn(arg, v,
			 &(struct svg_plot){
				 .title = title,
				 .x = l.axis,
				 .y = {.what = "measured", .unit = unit_of(p->values[v].unit)},
				 .series = l.series,
				 .n_series = l.n,
				 .marks = true});
	}
	arena_fini(&l.arena);
	return err;
}

// ---- files

static int plot_file(void *arg, uint32_t i, const struct svg_plot *p)
{
	char file[32];
	FILE *out;

	snprintf(file, sizeof(file), "sweep-%u.svg", i + 1);
	out = report_create(arg, file);
	if (out == NULL)
		return -errno;
	svg_write(p, out);
	return report_finish(out);
}

static int plot_inline(void *arg, uint32_t i, const struct svg_plot *p)
{
	(void)i;
	svg_write(p, arg);
	return 0;
}

static void block(const struct sweep *s, void (*fn)(const struct sweep *s, FILE *out), FILE *out)
{
	struct html_text t;

	html_text_open(&t);
	if (t.f != NULL)
		fn(s, t.f);
	html_text_close(&t, out);
}

static void page(const struct sweep *s, FILE *out)
{
	struct grid g;

	html_head(s->args->files[0], out);
	fill_grid(s, &g);
	grid_html(&g, out);
	grid_fini(&g);
	block(s, legend, out);
	(void)each_plot(s, plot_inline, out);
	block(s, reasons, out);
	html_foot(out);
}

int sweep_files(const struct sweep *s, const char *dir)
{
	static const struct {
		const char *file;
		void (*fn)(const struct sweep *s, FILE *out);
	} files[] = {{"sweep.csv", csv}, {"sweep.json", sweep_json}, {"sweep.html", page}};
	int err;

	err = report_folder(dir);
	if (err != 0)
		return err;
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *out = report_create(dir, files[i].file);

		if (out == NULL)
			return -errno;
		files[i].fn(s, out);
		err = report_finish(out);
		if (err != 0)
			return err;
	}
	return each_plot(s, plot_file, (void *)(uintptr_t)dir);
}
