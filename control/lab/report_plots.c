// SPDX-License-Identifier: Apache-2.0
// Which plots a run has: recorded columns of one unit share one, counts have one for each record;
// and where operations finished, the distributions of their times.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/report_rows.h"

enum { NAME = 64, MAX_CDF = SVG_MAX_SERIES, CDF_POINTS = 1000 };

struct columns {
	const struct run *r;
	double *x; // the same for all
	struct svg_series *series;
	uint32_t n, n_columns;
};

static void columns_fini(struct columns *c)
{
	for (uint32_t i = 0; i < c->n_columns && c->series != NULL; i++)
		free((void *)(uintptr_t)c->series[i].y);
	free(c->series);
	free(c->x);
}

// A value stands at the end of the time that it is about.
static bool columns_init(struct columns *c, const struct run *r)
{
	uint64_t rows = measure_n_rows(r->measure);

	*c = (struct columns){.r = r, .n_columns = measure_n_columns(r->measure)};
	c->x = malloc((rows + 1) * sizeof(*c->x));
	c->series = calloc(c->n_columns + 1, sizeof(*c->series));
	if (c->x == NULL || c->series == NULL)
		return false;
	for (uint64_t k = 0; k < rows; k++)
		c->x[k] = (double)measure_row_ns(r->measure, k);
	return true;
}

static bool add_column(struct columns *c, uint32_t column)
{
	uint64_t rows = measure_n_rows(c->r->measure);
	double *y = malloc((rows + 1) * sizeof(*y));

	if (y == NULL)
		return false;
	for (uint64_t k = 0; k < rows; k++)
		y[k] = measure_value(c->r->measure, k, column);
	c->series[c->n++] =
		(struct svg_series){measure_column(c->r->measure, column), c->x, y, rows};
	return true;
}

static void drop_columns(struct columns *c)
{
	while (c->n != 0) {
		free((void *)(uintptr_t)c->series[--c->n].y);
		c->series[c->n].y = NULL;
	}
}

// "pauses(s1)" and "pauses(s2)" have the same function.
static size_t word_length(const char *name)
{
	return strcspn(name, "( ");
}

static bool together(const struct run *r, uint32_t a, uint32_t b)
{
	const char *x = measure_column(r->measure, a), *y = measure_column(r->measure, b);
	enum expr_unit unit = measure_unit(r->measure, a);

	if (unit != measure_unit(r->measure, b))
		return false;
	return unit != EXPR_COUNT ||
	       (word_length(x) == word_length(y) && strncmp(x, y, word_length(x)) == 0);
}

static bool is_first(const struct run *r, uint32_t column)
{
	for (uint32_t i = 0; i < column; i++)
		if (together(r, i, column))
			return false;
	return true;
}

static bool same_word(const struct columns *c)
{
	const char *a = c->series[0].name;

	for (uint32_t i = 1; i < c->n; i++) {
		const char *b = c->series[i].name;

		if (word_length(a) != word_length(b) || strncmp(a, b, word_length(a)) != 0)
			return false;
	}
	return true;
}

static double sum_of(const struct svg_series *s)
{
	double sum = 0;

	for (uint64_t i = 0; i < s->n; i++)
		sum += s->y[i] == s->y[i] ? s->y[i] : 0;
	return sum;
}

// Of more lines than are drawn the highest come first, each part in the order of the file.
static bool highest_first(struct columns *c)
{
	struct svg_series *sorted = calloc(c->n + 1, sizeof(*sorted));
	double *sums = calloc(c->n + 1, sizeof(*sums));
	uint32_t front = 0, back = SVG_MAX_SERIES;
	bool ok;

	for (uint32_t i = 0; i < c->n && sums != NULL; i++)
		sums[i] = sum_of(&c->series[i]);
	for (uint32_t i = 0; i < c->n && sorted != NULL && sums != NULL; i++) {
		uint32_t higher = 0;

		for (uint32_t k = 0; k < c->n; k++)
			higher += sums[k] > sums[i] || (sums[k] == sums[i] && k < i);
		sorted[higher < SVG_MAX_SERIES ? front++ : back++] = c->series[i];
	}
	ok = sorted != NULL && sums != NULL;
	if (ok)
		memcpy(c->series, sorted, c->n * sizeof(*sorted));
	free(sorted);
	free(sums);
	return ok;
}

static int series_plot(struct columns *c, uint32_t first, report_plot_fn *emit, void *arg)
{
	static const char *const what[N_EXPR_UNITS] = {
		[EXPR_COUNT] = NULL,	[EXPR_SHARE] = "share", [EXPR_RATE] = "rate",
		[EXPR_BYTES] = "bytes", [EXPR_TIME] = "time",
	};
	const struct measure *m = c->r->measure;
	enum expr_unit unit = measure_unit(m, first);
	char word[NAME], file[NAME], title[NAME * 3];
	int err = 0;

	for (uint32_t i = first; i < c->n_columns && err == 0; i++)
		if (together(c->r, first, i) && !add_column(c, i))
			err = -ENOMEM;
	if (err == 0 && c->n > SVG_MAX_SERIES && !highest_first(c))
		err = -ENOMEM;
	snprintf(word, sizeof(word), "%.*s", (int)word_length(measure_column(m, first)),
		 measure_column(m, first));
	if (!same_word(c))
		snprintf(word, sizeof(word), "%s", what[unit]);
	snprintf(title, sizeof(title), "%.100s: %s over time", c->r->sc->name, word);
	if (unit == EXPR_COUNT)
		snprintf(file, sizeof(file), "series-%u-%.40s.svg", first, word);
	else
		snprintf(file, sizeof(file), "series-%s.svg", what[unit]);
	// Expressions may begin with anything.
	for (char *s = file; *s != '\0'; s++)
		if (strchr("/\\\"'*?<>|&;", *s) != NULL)
			*s = '-';
	if (err == 0)
		err = emit(arg, file,
			   &(struct svg_plot){.title = title,
					      .x = {.what = "virtual time", .unit = EXPR_TIME},
					      .y = {.what = word, .unit = unit},
					      .series = c->series,
					      .n_series = c->n});
	drop_columns(c);
	return err;
}

// ---- distributions

struct cdf_lines {
	struct svg_series series[MAX_CDF];
	double *x[MAX_CDF], *y[MAX_CDF];
	uint32_t n;
};

// At most CDF_POINTS of the sorted values, the last one among them.
static bool cdf_line(struct cdf_lines *c, const char *name, const double *v, uint64_t n)
{
	uint64_t points = n < CDF_POINTS ? n : CDF_POINTS;
	double *x = malloc((points + 1) * sizeof(*x)), *y = malloc((points + 1) * sizeof(*y));

	c->x[c->n] = x;
	c->y[c->n] = y;
	c->n++;
	if (x == NULL || y == NULL)
		return false;
	for (uint64_t i = 0; i < points; i++) {
		uint64_t rank = (i + 1) * n / points;

		x[i] = v[rank - 1];
		y[i] = (double)rank / (double)n;
	}
	c->series[c->n - 1] = (struct svg_series){name, x, y, points};
	return true;
}

static int cdf_plot(const struct run *r, enum metric m, report_plot_fn *emit, void *arg)
{
	const char *what = m == METRIC_FCT ? "completion time" : "slowdown";
	struct cdf_lines c = {.n = 0};
	char title[NAME * 3];
	int err = 0;

	for (uint32_t i = 0; i < r->sc->n_flows && c.n < MAX_CDF && err == 0; i++) {
		uint64_t n;
		double *v = report_operations(r, i, m, &n);

		if (n != 0 && !cdf_line(&c, r->sc->flows[i].label, v, n))
			err = -ENOMEM;
		free(v);
	}
	snprintf(title, sizeof(title), "%.100s: distribution of the %s", r->sc->name, what);
	if (err == 0 && c.n != 0)
		err = emit(
			arg, m == METRIC_FCT ? "fct.svg" : "slowdown.svg",
			&(struct svg_plot){.title = title,
					   .x = {.what = what,
						 .log = true,
						 .unit = m == METRIC_FCT ? EXPR_TIME : EXPR_COUNT},
					   .y = {.what = "share of operations", .unit = EXPR_SHARE},
					   .series = c.series,
					   .n_series = c.n,
					   .steps = true});
	for (uint32_t i = 0; i < c.n; i++) {
		free(c.x[i]);
		free(c.y[i]);
	}
	return err;
}

int report_plots(const struct run *r, report_plot_fn *emit, void *arg)
{
	struct columns c;
	int err = columns_init(&c, r) ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < c.n_columns && err == 0 && measure_n_rows(r->measure) > 1; i++)
		if (is_first(r, i))
			err = series_plot(&c, i, emit, arg);
	columns_fini(&c);
	if (err == 0)
		err = cdf_plot(r, METRIC_FCT, emit, arg);
	return err != 0 ? err : cdf_plot(r, METRIC_SLOWDOWN, emit, arg);
}
