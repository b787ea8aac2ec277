// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/lab/expr_parser.h"

enum { MAX_DEPTH = 32, TEXT_LEN = 512 };

static const char *const unit_words[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "a number", [EXPR_SHARE] = "a number", [EXPR_RATE] = "a rate",
	[EXPR_BYTES] = "bytes",	   [EXPR_TIME] = "a time",
};

void *parser_wrong(struct parser *ps, const char *where, const char *fmt, ...)
{
	struct cfg_pos at = ps->at;
	char text[TEXT_LEN];
	va_list ap;

	if (ps->failed)
		return NULL;
	ps->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (at.line != 0 && at.origin == NULL) // else the text stands otherwise in the file
		at.column += (uint32_t)(where - ps->text);
	diag_add(ps->s->sink, DIAG_ERROR, at, ps->path, "%s", text);
	return NULL;
}

void parser_skip_space(struct parser *ps)
{
	while (isspace((unsigned char)*ps->p))
		ps->p++;
}

bool parser_take(struct parser *ps, const char *token)
{
	size_t len = strlen(token);

	parser_skip_space(ps);
	if (strncmp(ps->p, token, len) != 0)
		return false;
	// A word ends where no letter follows.
	if (isalpha((unsigned char)token[0]) &&
	    (isalnum((unsigned char)ps->p[len]) || ps->p[len] == '_'))
		return false;
	ps->p += len;
	return true;
}

struct expr *parser_node(struct parser *ps, enum expr_op op, const char *where)
{
	struct expr *e = arena_alloc(ps->s->arena, sizeof(*e));

	e->op = (uint8_t)op;
	e->column = (uint32_t)(where - ps->text);
	e->number = 1;
	return e;
}

// ---- units

static enum expr_unit plain(enum expr_unit u)
{
	return u == EXPR_SHARE ? EXPR_COUNT : u;
}

static bool alike(const struct expr *a, const struct expr *b)
{
	return a->any_unit || b->any_unit || plain(a->unit) == plain(b->unit);
}

static enum expr_unit common_unit(const struct expr *a, const struct expr *b)
{
	if (a->any_unit)
		return b->unit;
	return a->unit == EXPR_COUNT && !b->any_unit ? b->unit : a->unit;
}

bool parser_alike(struct parser *ps, const struct expr *a, const struct expr *b, const char *doing)
{
	if (alike(a, b))
		return true;
	parser_wrong(ps, ps->text + b->column, "%s cannot be %s %s", unit_words[b->unit], doing,
		     unit_words[a->unit]);
	return false;
}

// What products and quotients of quantities are; all others have no meaning here.
static const struct {
	uint8_t op, a, b, unit;
	double factor; // bits per second against bytes and nanoseconds
} products[] = {
	{EX_MUL, EXPR_RATE, EXPR_TIME, EXPR_BYTES, 1 / 8e9},
	{EX_MUL, EXPR_TIME, EXPR_RATE, EXPR_BYTES, 1 / 8e9},
	{EX_DIV, EXPR_BYTES, EXPR_TIME, EXPR_RATE, 8e9},
	{EX_DIV, EXPR_BYTES, EXPR_RATE, EXPR_TIME, 8e9},
	{EX_DIV, EXPR_RATE, EXPR_RATE, EXPR_COUNT, 1},
	{EX_DIV, EXPR_BYTES, EXPR_BYTES, EXPR_COUNT, 1},
	{EX_DIV, EXPR_TIME, EXPR_TIME, EXPR_COUNT, 1},
};

static struct expr *product(struct parser *ps, struct expr *e)
{
	uint8_t a = (uint8_t)plain(e->kid[0]->unit), b = (uint8_t)plain(e->kid[1]->unit);

	if (b == EXPR_COUNT || (e->op == EX_MUL && a == EXPR_COUNT)) {
		e->unit = b == EXPR_COUNT ? e->kid[0]->unit : e->kid[1]->unit;
		if (e->op == EX_MUL && a == EXPR_COUNT && b == EXPR_COUNT)
			e->unit = EXPR_COUNT;
		return e;
	}
	for (unsigned i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (products[i].op == e->op && products[i].a == a && products[i].b == b) {
			e->unit = products[i].unit;
			e->number = products[i].factor;
			return e;
		}
	return parser_wrong(ps, ps->text + e->kid[1]->column, "%s %s %s has no meaning here",
			    unit_words[a], e->op == EX_MUL ? "times" : "divided by", unit_words[b]);
}

// ---- arithmetic

static struct expr *number(struct parser *ps)
{
	struct expr *e = parser_node(ps, EX_NUMBER, ps->p);
	enum expr_unit unit;
	const char *why;
	const char *end = expr_number(ps->p, &e->number, &unit, &why);

	if (end == NULL)
		return parser_wrong(ps, ps->p, "%s", why);
	e->unit = (uint8_t)unit;
	e->any_unit = unit == EXPR_COUNT && e->number == 0;
	ps->p = end;
	return e;
}

static struct expr *parse_factor(struct parser *ps)
{
	struct expr *e;
	const char *where;

	parser_skip_space(ps);
	where = ps->p;
	if (isdigit((unsigned char)*ps->p))
		return number(ps);
	if (isalpha((unsigned char)*ps->p))
		return parser_call(ps);
	if (*ps->p != '(' && *ps->p != '-')
		return parser_wrong(ps, ps->p,
				    *ps->p == '\0' ? "the expression ends too early"
						   : "expected a number, a function or (");
	if (++ps->depth > MAX_DEPTH)
		return parser_wrong(ps, ps->p, "too many parentheses");
	if (parser_take(ps, "(")) {
		e = parser_sum(ps);
		if (e != NULL && !parser_take(ps, ")"))
			return parser_wrong(ps, ps->p, "expected )");
	} else {
		const struct expr *kid;

		ps->p++;
		kid = parse_factor(ps);
		e = parser_node(ps, EX_NEG, where);
		e->kid[0] = kid;
		if (kid == NULL)
			return NULL;
		e->unit = kid->unit;
		e->any_unit = kid->any_unit;
	}
	ps->depth--;
	return e;
}

static struct expr *pair(struct parser *ps, enum expr_op op, const struct expr *a,
			 const struct expr *b)
{
	struct expr *e = parser_node(ps, op, ps->text + a->column);

	e->kid[0] = a;
	e->kid[1] = b;
	return e;
}

static struct expr *parse_product(struct parser *ps)
{
	struct expr *e = parse_factor(ps), *b;
	bool times;

	while (e != NULL && ((times = parser_take(ps, "*")) || parser_take(ps, "/"))) {
		b = parse_factor(ps);
		if (b == NULL)
			return NULL;
		e = product(ps, pair(ps, times ? EX_MUL : EX_DIV, e, b));
	}
	return e;
}

struct expr *parser_sum(struct parser *ps)
{
	struct expr *e = parse_product(ps), *b;
	bool plus;

	while (e != NULL && ((plus = parser_take(ps, "+")) || parser_take(ps, "-"))) {
		b = parse_product(ps);
		if (b == NULL || !parser_alike(ps, e, b, plus ? "added to" : "taken from"))
			return NULL;
		e = pair(ps, plus ? EX_ADD : EX_SUB, e, b);
		e->unit = (uint8_t)common_unit(e->kid[0], e->kid[1]);
	}
	return e;
}

// ---- comparisons

static struct expr *within(struct parser *ps, const struct expr *a)
{
	struct expr *tolerance = parser_sum(ps), *of, *e;

	if (tolerance == NULL)
		return NULL;
	if (!parser_take(ps, "of"))
		return parser_wrong(ps, ps->p, "expected `of`, as in: within 5%% of 20G");
	of = parser_sum(ps);
	if (of == NULL || !parser_alike(ps, a, of, "compared with"))
		return NULL;
	e = pair(ps, EX_WITHIN, a, tolerance);
	e->kid[2] = of;
	e->relative = tolerance->op == EX_NUMBER && tolerance->unit == EXPR_SHARE;
	if (!e->relative && !parser_alike(ps, of, tolerance, "a tolerance of"))
		return NULL;
	return e;
}

static struct expr *between(struct parser *ps, const struct expr *a)
{
	struct expr *low = parser_sum(ps), *high, *e;

	if (low == NULL || !parser_alike(ps, a, low, "compared with"))
		return NULL;
	if (!parser_take(ps, "and"))
		return parser_wrong(ps, ps->p, "expected `and`, as in: between 10us and 20us");
	high = parser_sum(ps);
	if (high == NULL || !parser_alike(ps, a, high, "compared with"))
		return NULL;
	e = pair(ps, EX_BETWEEN, a, low);
	e->kid[2] = high;
	return e;
}

static struct expr *parse_check(struct parser *ps)
{
	static const struct {
		const char *token;
		uint8_t op;
	} ops[] = {{"==", EX_EQ}, {"!=", EX_NE}, {"<=", EX_LE},
		   {">=", EX_GE}, {"<", EX_LT},	 {">", EX_GT}};
	struct expr *a = parser_sum(ps), *b;

	if (a == NULL)
		return NULL;
	if (parser_take(ps, "within"))
		return within(ps, a);
	if (parser_take(ps, "between"))
		return between(ps, a);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!parser_take(ps, ops[i].token))
			continue;
		b = parser_sum(ps);
		return b != NULL && parser_alike(ps, a, b, "compared with")
			       ? pair(ps, ops[i].op, a, b)
			       : NULL;
	}
	return parser_wrong(ps, ps->p,
			    "expected a comparison: == != < <= > >=, within .. of, between .. and");
}

const struct expr *expr_parse(struct expr_set *s, const char *text, struct cfg_pos at,
			      const char *path, enum expr_want want)
{
	struct parser ps = {.s = s, .at = at, .path = path, .text = text, .p = text};
	uint32_t first = s->n_leaves;
	struct expr *e;

	if (strlen(text) > EXPR_MAX_TEXT)
		return parser_wrong(&ps, text, "longer than %d characters", EXPR_MAX_TEXT);
	e = want == EXPR_CHECK ? parse_check(&ps) : parser_sum(&ps);
	if (e == NULL)
		return NULL;
	parser_skip_space(&ps);
	if (*ps.p != '\0' && want == EXPR_VALUE && strpbrk(ps.p, "=<>") == ps.p)
		return parser_wrong(&ps, ps.p, "what is recorded has no comparison");
	if (*ps.p != '\0')
		return parser_wrong(&ps, ps.p, "expected the end of the expression");
	e->leaves = (struct expr_range){first, s->n_leaves - first};
	return e;
}
