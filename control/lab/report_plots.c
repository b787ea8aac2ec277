// SPDX-License-Identifier: Apache-2.0
// Which plots a run has: recorded columns of one unit share one, counts have one for each record;
// and where operations finished, the distributions of their times.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/report_rows.h"

enum { NAME = 64, CDF_POINTS = 1000 };

// "pauses(s1)" and "pauses(s2)" have the same function.
static size_t word_length(const char *name)
{
	return strcspn(name, "( ");
}

static bool same_word(const char *a, const char *b)
{
	return word_length(a) == word_length(b) && strncmp(a, b, word_length(a)) == 0;
}

static bool together(const struct measure_column *a, const struct measure_column *b)
{
	return a->unit == b->unit && (a->unit != EXPR_COUNT || same_word(a->name, b->name));
}

static double sum_of(const struct svg_series *s)
{
	double sum = 0;

	for (uint64_t i = 0; i < s->n; i++)
		sum += s->y[i] == s->y[i] ? s->y[i] : 0;
	return sum;
}

// Of more lines than are drawn the highest come first, each part in the order of the file.
static int highest_first(struct svg_series *lines, uint32_t n)
{
	struct svg_series *sorted = calloc(n, sizeof(*sorted));
	double *sums = calloc(n, sizeof(*sums));
	uint32_t front = 0, back = SVG_MAX_SERIES;
	int err = sorted == NULL || sums == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < n && err == 0; i++)
		sums[i] = sum_of(&lines[i]);
	for (uint32_t i = 0; i < n && err == 0; i++) {
		uint32_t higher = 0;

		for (uint32_t k = 0; k < n; k++)
			higher += sums[k] > sums[i] || (sums[k] == sums[i] && k < i);
		sorted[higher < SVG_MAX_SERIES ? front++ : back++] = lines[i];
	}
	if (err == 0)
		memcpy(lines, sorted, n * sizeof(*sorted));
	free(sorted);
	free(sums);
	return err;
}

// The plot of n lines, of which the first is a column of the series.
static int series_plot(const struct run *r, uint32_t first, struct svg_series *lines, uint32_t n,
		       report_plot_fn *emit, void *arg)
{
	static const char *const what[N_EXPR_UNITS] = {
		[EXPR_COUNT] = NULL,	[EXPR_SHARE] = "share", [EXPR_RATE] = "rate",
		[EXPR_BYTES] = "bytes", [EXPR_TIME] = "time",
	};
	enum expr_unit unit = measure_series(r->measure)->columns[first].unit;
	const char *name = lines[0].name;
	char word[NAME], file[NAME], title[NAME * 3];

	snprintf(word, sizeof(word), "%.*s", (int)word_length(name), name);
	for (uint32_t i = 1; i < n; i++)
		if (!same_word(name, lines[i].name))
			snprintf(word, sizeof(word), "%s", what[unit]);
	if (n > SVG_MAX_SERIES && highest_first(lines, n) != 0)
		return -ENOMEM;
	snprintf(title, sizeof(title), "%.100s: %s over time", r->sc->name, word);
	if (unit == EXPR_COUNT)
		snprintf(file, sizeof(file), "series-%u-%.40s.svg", first, word);
	else
		snprintf(file, sizeof(file), "series-%s.svg", what[unit]);
	// Expressions may begin with anything.
	for (char *s = file; *s != '\0'; s++)
		if (strchr("/\\\"'*?<>|&;", *s) != NULL)
			*s = '-';
	return emit(arg, file,
		    &(struct svg_plot){.title = title,
				       .x = {.what = "virtual time", .unit = EXPR_TIME},
				       .y = {.what = word, .unit = unit},
				       .series = lines,
				       .n_series = n});
}

// A value stands at the end of the time that it is about.
static int series_plots(const struct run *r, report_plot_fn *emit, void *arg)
{
	const struct measure_series *s = measure_series(r->measure);
	double *x = calloc(s->n_rows + 1, sizeof(*x));
	double *y = calloc(s->n_rows * s->n_columns + 1, sizeof(*y)); // by column, then row
	struct svg_series *lines = calloc(s->n_columns + 1, sizeof(*lines));
	bool *drawn = calloc(s->n_columns + 1, sizeof(*drawn));
	int err = x == NULL || y == NULL || lines == NULL || drawn == NULL ? -ENOMEM : 0;

	for (uint64_t k = 0; k < s->n_rows && err == 0; k++) {
		x[k] = (double)s->row_ns[k];
		for (uint32_t c = 0; c < s->n_columns; c++)
			y[c * s->n_rows + k] = s->values[k * s->n_columns + c];
	}
	for (uint32_t first = 0; first < s->n_columns && s->n_rows > 1 && err == 0; first++) {
		uint32_t n = 0;

		for (uint32_t c = first; c < s->n_columns && !drawn[first]; c++)
			if (together(&s->columns[first], &s->columns[c]))
				lines[n++] = (struct svg_series){s->columns[c].name, x,
								 &y[c * s->n_rows], s->n_rows};
		for (uint32_t c = first; c < s->n_columns && n != 0; c++)
			drawn[c] |= together(&s->columns[first], &s->columns[c]);
		if (n != 0)
			err = series_plot(r, first, lines, n, emit, arg);
	}
	free(x);
	free(y);
	free(lines);
	free(drawn);
	return err;
}

// ---- distributions

static int cdf_plot(const struct run *r, bool is_fct, report_plot_fn *emit, void *arg)
{
	const char *what = is_fct ? "completion time" : "slowdown";
	struct svg_series lines[SVG_MAX_SERIES];
	double *values[SVG_MAX_SERIES];
	uint32_t n_lines = 0;
	char title[NAME * 3];
	int err = 0;

	for (uint32_t f = 0; f < r->sc->n_flows && n_lines < SVG_MAX_SERIES && err == 0; f++) {
		uint64_t n, points;
		double *v = report_operations(r, f, is_fct ? "fct" : "slowdown", &n), *y;

		// At most CDF_POINTS of the sorted values, the last one among them.
		points = n < CDF_POINTS ? n : CDF_POINTS;
		values[n_lines] = y = n == 0 ? NULL : malloc(2 * points * sizeof(*y));
		for (uint64_t i = 0; i < points && y != NULL; i++) {
			uint64_t rank = (i + 1) * n / points;

			y[i] = (double)rank / (double)n;
			y[points + i] = v[rank - 1];
		}
		if (y != NULL)
			lines[n_lines++] = (struct svg_series){r->sc->flows[f].label,
							       y + points, y, points};
		else if (n != 0)
			err = -ENOMEM;
		free(v);
	}
	snprintf(title, sizeof(title), "%.100s: distribution of the %s", r->sc->name, what);
	if (err == 0 && n_lines != 0)
		err = emit(
			arg, is_fct ? "fct.svg" : "slowdown.svg",
			&(struct svg_plot){.title = title,
					   .x = {.what = what,
						 .log = true,
						 .unit = is_fct ? EXPR_TIME : EXPR_COUNT},
					   .y = {.what = "share of operations", .unit = EXPR_SHARE},
					   .series = lines,
					   .n_series = n_lines,
					   .steps = true});
	while (n_lines != 0)
		free(values[--n_lines]);
	return err;
}

int report_plots(const struct run *r, report_plot_fn *emit, void *arg)
{
	int err = series_plots(r, emit, arg);

	if (err == 0)
		err = cdf_plot(r, true, emit, arg);
	return err != 0 ? err : cdf_plot(r, false, emit, arg);
}
