// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "control/lab/expr_tree.h"

// Rounding of sums is far below, differences that matter far above this share of a value.
static const double ROUNDING = 1e-12;

static double no_value(void)
{
	return __builtin_nan("");
}

struct expr_range expr_leaves(const struct expr *e)
{
	return e->leaves;
}

enum expr_unit expr_unit(const struct expr *e)
{
	return expr_is_check(e) ? e->kid[0]->unit : e->unit;
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

static double list_value(const struct list *l, enum metric m)
{
	switch (m) {
	case METRIC_SUM:
		return l->sum;
	case METRIC_MEAN:
		return l->n == 0 ? no_value() : l->sum / l->n;
	case METRIC_MIN:
		return l->n == 0 ? no_value() : l->min;
	case METRIC_MAX:
		return l->n == 0 ? no_value() : l->max;
	case METRIC_N_VALUES:
		return l->n;
	default:
		// Nobody has anything: there is no share to be unfair with, and no fairness either.
		return l->squares == 0 ? no_value() : l->sum * l->sum / (l->n * l->squares);
	}
}

static double list_of(const struct expr *e, const struct expr_env *env)
{
	struct list l = {0};

	for (const struct expr *kid = e->kid[0]; kid != NULL; kid = kid->next) {
		uint32_t n = expr_n(kid, env);

		for (uint32_t i = 0; i < n; i++)
			list_add(&l, expr_value(kid, i, env));
	}
	return list_value(&l, e->metric);
}

double expr_value(const struct expr *e, uint32_t i, const struct expr_env *env)
{
	double a, b;

	if (expr_is_check(e))
		return element(e->kid[0], i, env);
	switch ((enum expr_op)e->op) {
	case EX_NUMBER:
		return e->number;
	case EX_LEAF:
		return env->value(env->arg, e->leaf, i);
	case EX_LIST:
		return list_of(e, env);
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

static double size_of(double v)
{
	return v < 0 ? -v : v;
}

// digits: of the numbers as they are printed; 0: as they are.
static struct bounds bounds_of(const struct expr *e, uint32_t i, const struct expr_env *env,
			       unsigned digits)
{
	double b = element(e->kid[1], i, env),
	       c = e->kid[2] == NULL ? 0 : element(e->kid[2], i, env);
	double inf = __builtin_inf(), width;

	if (digits != 0) {
		b = expr_as_printed(e->relative ? EXPR_SHARE : expr_unit(e), b, digits);
		c = expr_as_printed(expr_unit(e), c, digits);
	}
	switch ((enum expr_op)e->op) {
	case EX_EQ:
		return (struct bounds){.low = b, .high = b};
	case EX_NE:
		return (struct bounds){.low = b, .high = b, .differs = true};
	case EX_LT:
		return (struct bounds){.low = -inf, .high = b, .open = true};
	case EX_LE:
		return (struct bounds){.low = -inf, .high = b};
	case EX_GT:
		return (struct bounds){.low = b, .high = inf, .open = true};
	case EX_GE:
		return (struct bounds){.low = b, .high = inf};
	case EX_BETWEEN:
		return (struct bounds){.low = b, .high = c};
	default:
		width = size_of(e->relative ? b * c : b);
		// The edge belongs to what is within, also where it cannot be written exactly.
		width += size_of(c) * ROUNDING;
		return (struct bounds){.low = c - width, .high = c + width};
	}
}

static bool fits(const struct bounds *b, double v)
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

		if (x != x || fits(&b, expr_as_printed(expr_unit(e), x, digits)) == pass)
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

		if (i != 0 && (fits(&b, x) || !v.pass))
			continue;
		v.pass = fits(&b, x);
		v.worst = x;
		shown = i;
	}
	digits = digits_of(e, shown, env, v.worst, v.pass);
	describe(e, shown, env, digits, &v);
	print_measured(e, n, env, digits, &v);
	return v;
}
