// SPDX-License-Identifier: Apache-2.0
// Quantities, the values and verdicts of trees, and functions as people read them (expr.h).
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/rows.h"
#include "control/base/terminal.h"
#include "control/lab/expr.h"
#include "dataplane/base/units.h"

// Of one unit the largest first.
static const struct unit_row {
	const char *name;
	uint8_t unit; // enum expr_unit
	double factor;
	bool shown; // used to print
} units[] = {
	{"T", EXPR_RATE, 1e12, true},	     {"G", EXPR_RATE, 1e9, true},
	{"M", EXPR_RATE, 1e6, true},	     {"K", EXPR_RATE, 1e3, true},
	{"bps", EXPR_RATE, 1, true},	     {"GB", EXPR_BYTES, 1e9, true},
	{"MB", EXPR_BYTES, 1e6, true},	     {"KB", EXPR_BYTES, 1e3, true},
	{"GiB", EXPR_BYTES, 1 << 30, false}, {"MiB", EXPR_BYTES, 1 << 20, false},
	{"KiB", EXPR_BYTES, 1 << 10, false}, {"B", EXPR_BYTES, 1, true},
	{"s", EXPR_TIME, 1e9, true},	     {"ms", EXPR_TIME, 1e6, true},
	{"us", EXPR_TIME, 1e3, true},	     {"ns", EXPR_TIME, 1, true},
	{"%", EXPR_SHARE, 0.01, true},
};

static const struct unit_row *find_unit(const char *text, size_t len)
{
	for (unsigned i = 0; i < N(units); i++)
		if (strlen(units[i].name) == len && strncmp(units[i].name, text, len) == 0)
			return &units[i];
	return NULL;
}

// Digits with an optional decimal point as whole / scale, both exact.
static const char *digits(const char *s, double *whole, double *scale)
{
	unsigned n = 0;
	bool point = false;

	*whole = 0;
	*scale = 1;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !point && n != 0); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		if (++n > EXPR_MAX_DIGITS)
			return NULL;
		*whole = *whole * 10 + (*s - '0');
		*scale *= point ? 10 : 1;
	}
	return n == 0 || s[-1] == '.' ? NULL : s;
}

static size_t unit_length(const char *s)
{
	size_t len = 0;

	while (isalpha((unsigned char)s[len]))
		len++;
	return *s == '%' ? 1 : len;
}

const char *expr_number(const char *text, double *v, enum expr_unit *unit, const char **why)
{
	double whole, scale;
	const char *s = digits(text, &whole, &scale);
	const struct unit_row *u;
	size_t len;

	*why = "expected a number such as 20G, 125KB, 10us, 5% or 0.98";
	if (s == NULL)
		return NULL;
	len = unit_length(s);
	// "20 G": a word behind a blank is a unit only if it is one.
	if (*s == ' ' && find_unit(s + 1, unit_length(s + 1)) != NULL)
		len = unit_length(++s);
	if (len == 0) {
		*unit = EXPR_COUNT;
		*v = whole / scale;
		return s;
	}
	u = find_unit(s, len);
	*why = "unknown unit: known are bps K M G, B KB MB GB KiB MiB GiB, ns us ms s, and %";
	if (u == NULL)
		return NULL;
	*unit = u->unit;
	// A division of whole numbers rounds once: 0.9% and 0.009 are the same.
	*v = u->unit == EXPR_SHARE ? whole / (scale * 100) : whole * u->factor / scale;
	return s + len;
}

static const double LEAST_SHARE = 0.00001;

// The unit in which a quantity is printed.
static const struct unit_row *shown_unit(enum expr_unit unit, double size, unsigned digits)
{
	const struct unit_row *u = NULL;
	double half_a_digit = 0.5;

	for (unsigned i = 0; i < digits; i++)
		half_a_digit /= 10;
	for (unsigned i = 0; i < N(units); i++) {
		if (units[i].unit != unit || !units[i].shown)
			continue;
		u = &units[i];
		// Four digits would make 999.96M of the next unit 1000M.
		if (size >= u->factor * (1 - half_a_digit) && digits <= EXPR_MAX_DIGITS)
			break;
	}
	return u;
}

void expr_print_digits(enum expr_unit unit, double v, unsigned digits, char *out, uint32_t len)
{
	const struct unit_row *u;
	double size = v < 0 ? -v : v;

	if (v != v) {
		snprintf(out, len, "no value");
		return;
	}
	// A count is never rounded to fewer digits than it has before the point.
	if (unit == EXPR_COUNT || v == 0) {
		snprintf(out, len, "%.*g", (int)digits + 1, v);
		if ((size < 9e15 && v == (double)(int64_t)v) || strstr(out, "e+") != NULL)
			snprintf(out, len, "%.0f", v);
		return;
	}
	// "%.4g" would print an exponent.
	if (unit == EXPR_SHARE && size < LEAST_SHARE && digits <= EXPR_DIGITS) {
		snprintf(out, len, v < 0 ? "> -0.001%%" : "< 0.001%%");
		return;
	}
	u = shown_unit(unit, size, digits);
	snprintf(out, len, "%.*g%s", (int)digits, v / u->factor, u->name);
}

void expr_print(enum expr_unit unit, double v, char *out, uint32_t len)
{
	expr_print_digits(unit, v, EXPR_DIGITS, out, len);
}

// The value that the printed text gives; 0 for a share below all that is printed.
static double as_printed(enum expr_unit unit, double v, unsigned digits)
{
	char text[EXPR_VALUE_LEN], *end;
	double printed;

	expr_print_digits(unit, v, digits, text, sizeof(text));
	printed = strtod(text, &end);
	if (end == text)
		return v == v ? 0 : v; // "< 0.001%", "no value"
	return unit == EXPR_COUNT || v == 0
		       ? printed
		       : printed * shown_unit(unit, v < 0 ? -v : v, digits)->factor;
}

// ---- values

// Rounding of sums is far below, differences that matter far above this share of a value.
static const double ROUNDING = 1e-12;

static double no_value(void)
{
	return __builtin_nan("");
}

static bool is_check(const struct expr *e)
{
	return e->op >= EX_EQ;
}

enum expr_unit expr_unit(const struct expr *e)
{
	return is_check(e) ? e->kid[0]->unit : e->unit;
}

uint32_t expr_n(const struct expr *e, const struct expr_env *env)
{
	uint32_t most = 1;
	bool empty = false;

	if (e->op == EX_LEAF)
		return env->n(env->arg, e->leaf);
	if (e->op == EX_LIST)
		return 1;
	for (unsigned k = 0; k < 3 && e->kid[k] != NULL; k++) {
		uint32_t n = expr_n(e->kid[k], env);

		empty |= n == 0;
		most = n > most ? n : most;
	}
	return empty ? 0 : most;
}

// Value i of a list; a list of one stands for each. Lists of two lengths have no values where one
// of them has none.
static double element(const struct expr *e, uint32_t i, const struct expr_env *env)
{
	uint32_t n = expr_n(e, env);

	if (n == 1)
		i = 0;
	return i < n ? expr_value(e, i, env) : no_value();
}

struct list {
	double n, sum, squares, min, max;
};

static void list_add(struct list *l, double v)
{
	// NaN is kept: what is unknown of one is unknown of all.
	l->min = l->n == 0 || v < l->min || v != v ? v : l->min;
	l->max = l->n == 0 || v > l->max || v != v ? v : l->max;
	l->n++;
	l->sum += v;
	l->squares += v * v;
}

static double list_value(const struct expr *e, const struct expr_env *env)
{
	struct list l = {0};

	for (const struct expr *kid = e->kid[0]; kid != NULL; kid = kid->next) {
		uint32_t n = expr_n(kid, env);

		for (uint32_t i = 0; i < n; i++)
			list_add(&l, expr_value(kid, i, env));
	}
	switch ((enum expr_list)e->list) {
	case LIST_SUM:
		return l.sum;
	case LIST_MEAN:
		return l.n == 0 ? no_value() : l.sum / l.n;
	case LIST_MIN:
		return l.n == 0 ? no_value() : l.min;
	case LIST_MAX:
		return l.n == 0 ? no_value() : l.max;
	case LIST_COUNT:
		return l.n;
	default:
		// Jain's index. Where all values are 0 there is no share, and no fairness either.
		return l.squares == 0 ? no_value() : l.sum * l.sum / (l.n * l.squares);
	}
}

double expr_value(const struct expr *e, uint32_t i, const struct expr_env *env)
{
	double a, b;

	if (is_check(e))
		return element(e->kid[0], i, env);
	switch ((enum expr_op)e->op) {
	case EX_NUMBER:
		return e->number;
	case EX_LEAF:
		return env->value(env->arg, e->leaf, i);
	case EX_LIST:
		return list_value(e, env);
	case EX_NEG:
		return -element(e->kid[0], i, env);
	default:
		break;
	}
	a = element(e->kid[0], i, env);
	b = element(e->kid[1], i, env);
	switch ((enum expr_op)e->op) {
	case EX_ADD:
		return a + b;
	case EX_SUB:
		return a - b;
	case EX_MUL:
		return a * b * e->number;
	default:
		return b == 0 ? no_value() : a / b * e->number;
	}
}

// ---- comparisons

struct bounds {
	double low, high;
	bool open; // the bounds themselves are outside
	bool differs; // everything else is outside
};

// digits: of the numbers as they are printed; 0: as they are.
static struct bounds bounds_of(const struct expr *e, uint32_t i, const struct expr_env *env,
			       unsigned digits)
{
	double b = element(e->kid[1], i, env),
	       c = e->kid[2] == NULL ? 0 : element(e->kid[2], i, env);
	double inf = __builtin_inf(), width;

	if (digits != 0) {
		b = as_printed(e->relative ? EXPR_SHARE : expr_unit(e), b, digits);
		c = as_printed(expr_unit(e), c, digits);
	}
	switch ((enum expr_op)e->op) {
	case EX_LT:
	case EX_LE:
		return (struct bounds){.low = -inf, .high = b, .open = e->op == EX_LT};
	case EX_GT:
	case EX_GE:
		return (struct bounds){.low = b, .high = inf, .open = e->op == EX_GT};
	case EX_BETWEEN:
		return (struct bounds){.low = b, .high = c};
	case EX_WITHIN:
		// The edge is within, also where no number is exactly the edge.
		width = __builtin_fabs(e->relative ? b * c : b) + __builtin_fabs(c) * ROUNDING;
		return (struct bounds){.low = c - width, .high = c + width};
	default:
		return (struct bounds){.low = b, .high = b, .differs = e->op == EX_NE};
	}
}

static bool is_within_bounds(const struct bounds *b, double v)
{
	if (v != v || b->low != b->low || b->high != b->high)
		return false;
	if (b->differs)
		return v != b->low;
	return b->open ? v > b->low && v < b->high : v >= b->low && v <= b->high;
}

// So many digits that the printed numbers give the verdict: never FAIL with 100 <= 100.
static unsigned digits_of(const struct expr *e, uint32_t i, const struct expr_env *env, double x,
			  bool pass)
{
	unsigned digits = env->digits == 0 ? EXPR_DIGITS : env->digits;

	for (; digits < EXPR_ALL_DIGITS; digits++) {
		struct bounds b = bounds_of(e, i, env, digits);

		if (x != x || is_within_bounds(&b, as_printed(expr_unit(e), x, digits)) == pass)
			break;
	}
	return digits;
}

static void describe(const struct expr *e, uint32_t i, const struct expr_env *env, unsigned digits,
		     struct expr_verdict *v)
{
	static const char *const sign[] = {[EX_EQ] = "",    [EX_NE] = "not ", [EX_LT] = "< ",
					   [EX_LE] = "<= ", [EX_GT] = "> ",   [EX_GE] = ">= "};
	enum expr_unit unit = expr_unit(e);
	char a[EXPR_VALUE_LEN / 2 - 2], b[EXPR_VALUE_LEN / 2 - 2];
	struct bounds in = bounds_of(e, i, env, 0);

	expr_print_digits(unit, element(e->kid[1], i, env), digits, a, sizeof(a));
	if (e->op == EX_WITHIN) {
		expr_print_digits(unit, element(e->kid[2], i, env), digits, v->expected,
				  sizeof(v->expected));
		if (e->relative)
			expr_print_digits(EXPR_SHARE, e->kid[1]->number, digits, a, sizeof(a));
		snprintf(v->tolerance, sizeof(v->tolerance), "+-%s", a);
	} else if (e->op == EX_BETWEEN) {
		expr_print_digits(unit, in.high, digits, b, sizeof(b));
		snprintf(v->expected, sizeof(v->expected), "%s to %s", a, b);
	} else {
		snprintf(v->expected, sizeof(v->expected), "%s%s", sign[e->op], a);
	}
}

static void print_measured(const struct expr *e, uint32_t n, const struct expr_env *env,
			   unsigned digits, struct expr_verdict *v)
{
	enum expr_unit unit = expr_unit(e);
	char a[EXPR_VALUE_LEN / 2 - 4], b[EXPR_VALUE_LEN / 2 - 4];
	struct list l = {0};

	for (uint32_t i = 0; i < n; i++)
		list_add(&l, element(e->kid[0], i, env));
	if (expr_n(e->kid[0], env) == 1 || n == 0) {
		expr_print_digits(unit, v->worst, digits, v->measured, sizeof(v->measured));
		return;
	}
	expr_print_digits(unit, l.min, digits, a, sizeof(a));
	expr_print_digits(unit, l.max, digits, b, sizeof(b));
	snprintf(v->measured, sizeof(v->measured), "%s to %s", a, b);
}

struct expr_verdict expr_check(const struct expr *e, const struct expr_env *env)
{
	struct expr_verdict v = {.pass = true, .worst = no_value()};
	uint32_t n = expr_n(e, env), shown = 0;
	unsigned digits;

	// Nothing at all fulfils no expectation.
	if (n == 0)
		v.pass = false;
	for (uint32_t i = 0; i < n; i++) {
		struct bounds b = bounds_of(e, i, env, 0);
		double x = element(e->kid[0], i, env);

		if (i != 0 && (is_within_bounds(&b, x) || !v.pass))
			continue;
		v.pass = is_within_bounds(&b, x);
		v.worst = x;
		shown = i;
	}
	digits = digits_of(e, shown, env, v.worst, v.pass);
	describe(e, shown, env, digits, &v);
	print_measured(e, n, env, digits, &v);
	return v;
}

// ---- functions

enum { PAGE_COLUMNS = 96 };

const char *const expr_object_name[N_OBJECT_KINDS] = {
	[OBJ_HOST] = "host",
	[OBJ_HOST_CLASS] = "class of a host",
	[OBJ_FLOW] = "flow",
	[OBJ_CONN] = "connection",
	[OBJ_SWITCH] = "switch",
	[OBJ_PORT] = "port",
	[OBJ_QUEUE] = "queue",
	[OBJ_ALL_HOSTS] = "nothing",
	[OBJ_ALL_SWITCHES] = "nothing",
};

const struct expr_func *expr_func_find(const char *name, uint32_t len)
{
	for (unsigned i = 0; i < expr_n_funcs; i++)
		if (strlen(expr_funcs[i].name) == len &&
		    strncmp(expr_funcs[i].name, name, len) == 0)
			return &expr_funcs[i];
	return NULL;
}

static const char *func_name(const void *ctx, unsigned i)
{
	(void)ctx;
	return expr_funcs[i].name;
}

const char *expr_func_closest(const char *name)
{
	return schema_closest(name, expr_n_funcs, func_name, NULL);
}

// The digits of p99 and p99.9 follow the point of 0.99 and 0.999; p5 is 5 %.
static bool quantile_parse(const char *digits, uint32_t *ppm)
{
	uint32_t v = 0, place = PPM, n = 0;
	bool point = false;

	if (isdigit((unsigned char)digits[0]) && !isdigit((unsigned char)digits[1]))
		place /= 10; // one digit
	for (; *digits != '\0'; digits++) {
		if (*digits == '.' && n == 2 && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*digits) || n++ == 5)
			return false;
		place /= 10;
		v += place * (uint32_t)(*digits - '0');
	}
	*ppm = v;
	return n != 0;
}

bool expr_stat_parse(const char *text, struct expr_stat *out)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"mean", STAT_MEAN}, {"min", STAT_MIN}, {"max", STAT_MAX}, {"now", STAT_NOW}};

	for (unsigned i = 0; i < N(words); i++)
		if (strcmp(text, words[i].word) == 0) {
			*out = (struct expr_stat){.kind = words[i].kind};
			return true;
		}
	if (text[0] != 'p' || !quantile_parse(text + 1, &out->ppm))
		return false;
	out->kind = STAT_QUANTILE;
	return true;
}

// ---- for people

static const char general[] =
	"Quantities: 40G 100M 1K bps; 125KB 1MiB 64B; 10us 1.5ms 400ns 2s; 5%; 0.98. Rates are "
	"compared with rates, bytes with bytes, times with times; a bare 0 fits all.\n"
	"\n"
	"X is a host `h1`, a class of it `h1.3`, a flow by its name, a connection of it `name/1`, "
	"a switch `s1`, a port `s1.p3`, or a queue, priority group or class of a port `s1.p3.3`; "
	"not every function knows all of them. Where a host and a flow have the same name, write "
	"`host:h1` or `flow:h1`. `h*`, `h[1-3,7]`, `s1.p*.3` and `name/*` make a list, in the "
	"order of the file. By `*` only those hosts are meant that send (rate, ...) or receive "
	"(goodput, ...) in some flow.\n"
	"\n"
	"Every function takes a window as its last two arguments, `from, to`; without one it is "
	"about the whole run. A window behind the list of jain, sum and the like holds for all "
	"functions inside. A counter is read exactly at `from` and `to`, before anything else "
	"happens at that instant; at the end of the run after everything. A frame counts when its "
	"transmission begins.\n"
	"\n"
	"queue, pg, headroom, pool, cc_rate, alpha and cwnd are sampled every `sample` of the "
	"scenario, from `from` on, before `to`. STAT is what is computed of the samples, or "
	"of the operations of fct and the like: mean (if none is given), min, max, now (the "
	"last), p50, p90, p99, p999 or any pNN.N: the least value that this share of all does "
	"not exceed. An operation belongs to the window in which it finished; `size < 100KB` or "
	"`size >= 1MB` picks some.\n"
	"\n"
	"The rate of a service (request, storage) is that of all its messages, in both directions. "
	"Of a READ flow the data are counted where they are sent, at the host that is asked; with "
	"`connect: cm`, where nobody knows both ends, only the requests are.\n"
	"\n"
	"In `expect:` stands one comparison: == != < <= > >=, `A within 5% of B`, `A within 10KB "
	"of B`, `A between B and C`. A comparison of a list holds when it holds for each value. A "
	"recorded expression is measured over the time since the row before.\n";

static void arguments(FILE *out, const struct expr_func *f)
{
	fprintf(out, "%s(%s%s%s%s)", f->name, f->args, f->takes & TAKES_STAT ? " [, STAT]" : "",
		f->takes & TAKES_SIZE ? " [, size < BYTES]" : "",
		f->args[0] == '\0' ? "[from, to]" : " [, from, to]");
}

static void kinds(FILE *out, const struct expr_func *f, const char *before)
{
	for (unsigned k = 0; k <= OBJ_QUEUE; k++)
		if (f->kinds & OBJ_BIT(k)) {
			fprintf(out, "%s%s", before, expr_object_name[k]);
			before = ", ";
		}
}

static const char *const unit_name[] = {
	[EXPR_COUNT] = "number", [EXPR_SHARE] = "share", [EXPR_RATE] = "rate",
	[EXPR_BYTES] = "bytes",	 [EXPR_TIME] = "time",	 [EXPR_AS_LIST] = "as its list",
};

void expr_func_help(FILE *out)
{
	print_indented(out, general, 0, TERMINAL_TEXT);
	fputc('\n', out);
	for (unsigned i = 0; i < expr_n_funcs; i++) {
		fputs("  ", out);
		arguments(out, &expr_funcs[i]);
		fputs("\n      ", out);
		print_indented(out, expr_funcs[i].help, 6, TERMINAL_TEXT);
		kinds(out, &expr_funcs[i], "\n      X: ");
		fputc('\n', out);
	}
}

static void cell(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

void expr_func_docs(FILE *out)
{
	fputs("# Functions of scenarios\n\n"
	      "Made from the table of the program by `scripts/docs`; do not edit. `weir-lab help "
	      "functions` prints the same.\n\n",
	      out);
	print_indented(out, general, 0, PAGE_COLUMNS);
	fputs("\n| function | gives | about | meaning |\n| --- | --- | --- | --- |\n", out);
	for (unsigned i = 0; i < expr_n_funcs; i++) {
		fprintf(out, "| `%s(", expr_funcs[i].name);
		cell(out, expr_funcs[i].args);
		fprintf(out, "%s%s)` | %s | ", expr_funcs[i].takes & TAKES_STAT ? " [, STAT]" : "",
			expr_funcs[i].takes & TAKES_SIZE ? " [, size < BYTES]" : "",
			unit_name[expr_funcs[i].unit]);
		kinds(out, &expr_funcs[i], "");
		fprintf(out, " | %s |\n", expr_funcs[i].help);
	}
}
