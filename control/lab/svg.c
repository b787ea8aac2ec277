// SPDX-License-Identifier: Apache-2.0
#include "control/lab/svg.h"

#include <math.h>
#include <string.h>

#include "control/lab/expr.h"

enum {
	WIDTH = 900,
	HEIGHT = 420,
	LEFT = 74,
	RIGHT = 18,
	TOP = 42,
	BOTTOM = 56,
	TICK = 5,
	CHAR = 7, // width of a letter of the legend, generously
	LEGEND_LINE = 18,
	LEGEND_KEY = 30,
	LEGEND_MAX = 330,
	LEGEND_CHARS = 40,
	N_TICKS = 8,
};

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				      "#e69f00", "#56b4e9", "#000000"};
enum { N_COLOURS = sizeof(colours) / sizeof(colours[0]) };

// How an axis is shown: values by `factor` with the unit's name.
struct scale {
	double lo, hi, step, factor;
	int decimals;
	const char *unit;
	bool log;
};

struct axes {
	FILE *out;
	const struct svg_plot *p;
	struct scale x, y;
	double left, right, top, bottom; // of the field
	uint32_t n_series;
};

void svg_escape(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			// Other control characters are none of XML's.
			fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
		}
	}
}

// ---- axes

double svg_step(double lo, double hi, unsigned n)
{
	static const double mantissa[] = {1, 2, 5};
	double least = (hi - lo) / n, power = 1;

	if (!(least > 0))
		return 1;
	while (power > least)
		power /= 10;
	while (power * 10 <= least)
		power *= 10;
	for (unsigned i = 0; i < 3; i++)
		if (power * mantissa[i] >= least * (1 - 1e-9))
			return power * mantissa[i];
	return power * 10;
}

static void scale_unit(struct scale *s, enum expr_unit unit)
{
	static const struct {
		uint8_t unit;
		double factor;
		const char *name;
	} rows[] = {
		{EXPR_RATE, 1e9, "Gb/s"}, {EXPR_RATE, 1e6, "Mb/s"}, {EXPR_RATE, 1e3, "kb/s"},
		{EXPR_RATE, 1, "b/s"},	  {EXPR_BYTES, 1e9, "GB"},  {EXPR_BYTES, 1e6, "MB"},
		{EXPR_BYTES, 1e3, "KB"},  {EXPR_BYTES, 1, "B"},	    {EXPR_TIME, 1e9, "s"},
		{EXPR_TIME, 1e6, "ms"},	  {EXPR_TIME, 1e3, "us"},   {EXPR_TIME, 1, "ns"},
		{EXPR_SHARE, 0.01, "%"},
	};

	s->factor = 1;
	s->unit = "";
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].unit != unit)
			continue;
		s->factor = rows[i].factor;
		s->unit = rows[i].name;
		if (s->hi >= rows[i].factor)
			return;
	}
}

static void scale_ticks(struct scale *s)
{
	double step;

	s->step = svg_step(s->lo / s->factor, s->hi / s->factor, N_TICKS);
	s->decimals = 0;
	for (step = s->step; step < 0.999 && s->decimals < 9; step *= 10)
		s->decimals++;
	s->step *= s->factor;
	s->lo = floor(s->lo / s->step + 1e-9) * s->step;
	s->hi = ceil(s->hi / s->step - 1e-9) * s->step;
}

static void extend(double v, bool positive, double *lo, double *hi)
{
	if (v != v || (positive && v <= 0))
		return;
	*lo = v < *lo ? v : *lo;
	*hi = v > *hi ? v : *hi;
}

// From the last of 1, 2, 5 times a power of ten that is not above all values to the first that is
// not below. Each tick has its own unit.
static void scale_log(struct scale *s)
{
	static const double mantissa[] = {5, 2, 1};
	double low = pow(10, floor(log10(s->lo) + 1e-9)),
	       high = pow(10, floor(log10(s->hi) + 1e-9));
	double lo = low, hi = high * 10;

	for (unsigned i = 0; i < 3; i++) {
		if (lo == low && low * mantissa[i] <= s->lo * 1.000001)
			lo = low * mantissa[i];
		if (high * mantissa[i] >= s->hi * 0.999999)
			hi = high * mantissa[i];
	}
	s->lo = lo;
	s->hi = hi > lo ? hi : lo * 10;
	s->factor = 1;
	s->unit = "";
}

static struct scale scale_of(const struct svg_plot *p, uint32_t n_series, bool is_x)
{
	const struct svg_axis *a = is_x ? &p->x : &p->y;
	struct scale s = {.lo = INFINITY, .hi = -INFINITY, .log = a->log};

	for (uint32_t i = 0; i < n_series; i++)
		for (uint64_t k = 0; k < p->series[i].n; k++)
			extend(is_x ? p->series[i].x[k] : p->series[i].y[k], a->log, &s.lo, &s.hi);
	if (s.lo > s.hi) {
		s.lo = a->log ? 1 : 0;
		s.hi = a->log ? 10 : 1;
	}
	scale_unit(&s, a->unit);
	if (a->log) {
		scale_log(&s);
		return s;
	}
	// An axis of values that never come near 0 does not begin there, when they are no rates or
	// bytes: of an index between 0.98 and 1 the rest is of no use.
	if (!is_x && s.lo >= 0 &&
	    (a->unit == EXPR_RATE || a->unit == EXPR_BYTES || s.lo < s.hi * 0.8))
		s.lo = 0;
	if (s.hi <= s.lo)
		s.hi = s.lo + s.factor;
	if (is_x) {
		double lo = s.lo > 0 && s.lo < s.hi * 0.2 ? 0 : s.lo, hi = s.hi;

		// The time axis ends where time does, and begins with it where that is near.
		scale_ticks(&s);
		s.lo = lo;
		s.hi = hi;
	} else {
		scale_ticks(&s);
	}
	return s;
}

static double position(const struct scale *s, double v, double from, double to)
{
	double share =
		s->log ? log10(v / s->lo) / log10(s->hi / s->lo) : (v - s->lo) / (s->hi - s->lo);

	return from + share * (to - from);
}

static double at_x(const struct axes *f, double v)
{
	return position(&f->x, v, f->left, f->right);
}

static double at_y(const struct axes *f, double v)
{
	return position(&f->y, v, f->bottom, f->top);
}

static void x_tick(const struct axes *f, double v, const char *text)
{
	double x = at_x(f, v);

	fprintf(f->out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, f->top, f->bottom);
	fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
		f->bottom + 18, text);
}

static void y_tick(const struct axes *f, double v, const char *text)
{
	double y = at_y(f, v);

	fprintf(f->out, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", f->left, y, f->right);
	fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", f->left - 8,
		y + 4, text);
}

typedef void tick_fn(const struct axes *f, double v, const char *text);

// Powers of ten, and where they are few also 2 and 5 times those.
static void log_ticks(const struct axes *f, const struct scale *s, const struct svg_axis *a,
		      tick_fn *fn)
{
	static const double mantissa[] = {1, 2, 5};
	bool few = s->hi / s->lo < 2000;
	char text[32];

	for (double power = pow(10, floor(log10(s->lo) + 1e-9)); power <= s->hi; power *= 10)
		for (unsigned i = 0; i < (few ? 3 : 1); i++) {
			double v = power * mantissa[i];

			if (v < s->lo * 0.999999 || v > s->hi * 1.000001)
				continue;
			expr_print(a->unit, v, text, sizeof(text));
			fn(f, v, text);
		}
}

static void ticks(const struct axes *f, const struct scale *s, const struct svg_axis *a,
		  tick_fn *fn)
{
	char text[32];

	if (s->log) {
		log_ticks(f, s, a, fn);
		return;
	}
	// Adding 0 makes of -0 what people write.
	for (double k = ceil(s->lo / s->step - 1e-9) + 0.0; k * s->step <= s->hi + s->step * 1e-6;
	     k++) {
		snprintf(text, sizeof(text), "%.*f", s->decimals, k * s->step / s->factor);
		fn(f, k * s->step, text);
	}
}

static void axis_name(const struct axes *f, const struct svg_axis *a, const struct scale *s)
{
	svg_escape(a->what, f->out);
	if (*s->unit != '\0')
		fprintf(f->out, " (%s)", s->unit);
}

static void axes(const struct axes *f)
{
	ticks(f, &f->x, &f->p->x, x_tick);
	ticks(f, &f->y, &f->p->y, y_tick);
	fprintf(f->out, "<path class=\"a\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", f->left, f->top,
		f->bottom, f->right);
	fprintf(f->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
		(f->left + f->right) / 2, HEIGHT - 14);
	axis_name(f, &f->p->x, &f->x);
	fprintf(f->out,
		"</text>\n<text transform=\"translate(18 %.1f) rotate(-90)\" "
		"text-anchor=\"middle\">",
		(f->top + f->bottom) / 2);
	axis_name(f, &f->p->y, &f->y);
	fputs("</text>\n", f->out);
}

// ---- lines

// The path so far: whether a line is open, and where it is.
struct pen {
	const struct axes *f;
	bool down;
	double y;
};

static void pen_to(struct pen *pen, double x, double y)
{
	if (!pen->down)
		fprintf(pen->f->out, "M%.1f %.1f", x, y);
	else if (pen->f->p->steps)
		fprintf(pen->f->out, "H%.1fV%.1f", x, y);
	else
		fprintf(pen->f->out, "L%.1f %.1f", x, y);
	pen->down = true;
	pen->y = y;
}

static bool shown(const struct axes *f, double x, double y)
{
	return x == x && y == y && !(f->x.log && x <= 0) && !(f->y.log && y <= 0);
}

static void exact_line(const struct axes *f, const struct svg_series *s)
{
	struct pen pen = {.f = f};

	for (uint64_t i = 0; i < s->n; i++) {
		if (!shown(f, s->x[i], s->y[i]))
			pen.down = false;
		else
			pen_to(&pen, at_x(f, s->x[i]), at_y(f, s->y[i]));
	}
}

// Of each column of the picture the first, the least, the greatest and the last value.
static void dense_line(const struct axes *f, const struct svg_series *s)
{
	struct pen pen = {.f = f};

	for (uint64_t i = 0; i < s->n;) {
		double x = floor(at_x(f, s->x[i])), lo = INFINITY, hi = -INFINITY, first = NAN,
		       last = NAN;

		for (; i < s->n && floor(at_x(f, s->x[i])) <= x; i++) {
			if (!shown(f, s->x[i], s->y[i]))
				continue;
			first = first == first ? first : s->y[i];
			last = s->y[i];
			lo = last < lo ? last : lo;
			hi = last > hi ? last : hi;
		}
		if (lo > hi) {
			pen.down = false;
			continue;
		}
		pen_to(&pen, x, at_y(f, first));
		if (lo < hi) {
			pen_to(&pen, x, at_y(f, lo));
			pen_to(&pen, x, at_y(f, hi));
			pen_to(&pen, x, at_y(f, last));
		}
	}
}

static const char *dash(uint32_t i)
{
	return i < N_COLOURS ? "" : " stroke-dasharray=\"6 3\"";
}

static void line(const struct axes *f, uint32_t i)
{
	const struct svg_series *s = &f->p->series[i];

	fprintf(f->out, "<path class=\"l\" stroke=\"%s\"%s d=\"", colours[i % N_COLOURS], dash(i));
	if (s->n > 2 * (uint64_t)(f->right - f->left) && !f->x.log)
		dense_line(f, s);
	else
		exact_line(f, s);
	fputs("\"/>\n", f->out);
	for (uint64_t k = 0; k < s->n && f->p->marks; k++)
		if (shown(f, s->x[k], s->y[k]))
			fprintf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
				at_x(f, s->x[k]), at_y(f, s->y[k]), colours[i % N_COLOURS]);
}

// ---- legend

static double legend_width(const struct svg_plot *p, uint32_t n)
{
	size_t longest = 0;

	for (uint32_t i = 0; i < n; i++)
		if (strlen(p->series[i].name) > longest)
			longest = strlen(p->series[i].name);
	if (n < p->n_series && longest < 16)
		longest = 16; // "and 500 not shown"
	longest = longest > LEGEND_CHARS ? LEGEND_CHARS : longest;
	return n == 0 ? 0 : LEGEND_KEY + 12 + (double)longest * CHAR;
}

static void legend_text(const char *name, FILE *out)
{
	char text[LEGEND_CHARS + 4];
	size_t len = strlen(name);

	// What differs between long names is often at their ends.
	if (len <= LEGEND_CHARS)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%.*s...%s", LEGEND_CHARS / 2 - 2, name,
			 name + len - (LEGEND_CHARS / 2 - 1));
	svg_escape(text, out);
}

static void legend(const struct axes *f)
{
	double x = f->right + 14, y = f->top + 8;

	for (uint32_t i = 0; i < f->n_series; i++, y += LEGEND_LINE) {
		fprintf(f->out, "<path class=\"l\" stroke=\"%s\"%s d=\"M%.1f %.1fh22\"/>",
			colours[i % N_COLOURS], dash(i), x, y);
		fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\">", x + LEGEND_KEY, y + 4);
		legend_text(f->p->series[i].name, f->out);
		fputs("</text>\n", f->out);
	}
	if (f->n_series < f->p->n_series)
		fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\">and %u not shown</text>\n",
			x + LEGEND_KEY, y + 4, f->p->n_series - f->n_series);
}

void svg_write(const struct svg_plot *p, FILE *out)
{
	struct axes f = {.out = out, .p = p, .left = LEFT, .top = TOP, .bottom = HEIGHT - BOTTOM};

	f.n_series = p->n_series > SVG_MAX_SERIES ? SVG_MAX_SERIES : p->n_series;
	f.right = WIDTH - RIGHT - legend_width(p, f.n_series);
	f.x = scale_of(p, f.n_series, true);
	f.y = scale_of(p, f.n_series, false);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fputs("<style>text{font:12px sans-serif;fill:#222}.t{font-size:15px;font-weight:bold}"
	      ".g{stroke:#ddd;fill:none}.a{stroke:#444;fill:none}"
	      ".l{fill:none;stroke-width:1.6;stroke-linejoin:round}</style>\n",
	      out);
	fprintf(out,
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text class=\"t\" x=\"%d\" "
		"y=\"24\">",
		WIDTH, HEIGHT, LEFT);
	svg_escape(p->title, out);
	fputs("</text>\n", out);
	axes(&f);
	for (uint32_t i = 0; i < f.n_series; i++)
		line(&f, i);
	legend(&f);
	fputs("</svg>\n", out);
}
