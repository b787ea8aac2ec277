// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "control/lab/expr_parser.h"
#include "dataplane/drop.h"
#include "dataplane/roce/ipcc.h"
#include "dataplane/switch.h"

enum { MAX_WORD = 256, MAX_TOGETHER = 8192 };

static struct expr_leaf *new_leaf(struct expr_set *s, const struct expr_func *fn)
{
	struct expr_leaf *leaf;

	if (s->n_leaves == s->cap) {
		uint32_t cap = s->cap == 0 ? 32 : 2 * s->cap;
		struct expr_leaf **more = arena_alloc(s->arena, cap * sizeof(struct expr_leaf *));

		if (s->n_leaves != 0)
			memcpy(more, s->leaves, s->n_leaves * sizeof(struct expr_leaf *));
		s->leaves = more;
		s->cap = cap;
	}
	leaf = arena_alloc(s->arena, sizeof(*leaf));
	*leaf = (struct expr_leaf){.fn = fn,
				   .to_ns = UINT64_MAX,
				   .reason = -1,
				   .pool = -1,
				   .size_max = UINT32_MAX,
				   .number = 1,
				   .bytes = UINT64_MAX,
				   .source = -1,
				   .quadrant = -1};
	s->leaves[s->n_leaves++] = leaf;
	return leaf;
}

// The text up to the next ',' or ')' outside brackets, without spaces around it.
static const char *raw_argument(struct parser *ps, char word[MAX_WORD])
{
	const char *start, *end;
	bool inside = false;

	parser_skip_space(ps);
	start = ps->p;
	for (; *ps->p != '\0' && (inside || (*ps->p != ',' && *ps->p != ')')); ps->p++)
		inside = *ps->p == '[' || (inside && *ps->p != ']');
	for (end = ps->p; end > start && isspace((unsigned char)end[-1]); end--)
		;
	snprintf(word, MAX_WORD, "%.*s", (int)(end - start), start);
	if (end - start >= MAX_WORD)
		parser_wrong(ps, start, "this is too long");
	if (*ps->p == '\0')
		parser_wrong(ps, ps->p,
			     "expected , or ) behind the arguments; in a list of YAML a text with "
			     "commas needs quotes");
	return start;
}

static bool time_argument(struct parser *ps, const char *word, const char *where, uint64_t *ns)
{
	enum expr_unit unit;
	const char *why, *end;
	double v;

	end = expr_number(word, &v, &unit, &why);
	if (end == NULL)
		return parser_wrong(ps, where, "%s", why) != NULL;
	if (*end != '\0' || (unit != EXPR_TIME && v != 0))
		return parser_wrong(ps, where,
				    "a window is two times, such as 10ms, 20ms: %s is none",
				    word) != NULL;
	if (v > (double)ps->s->names->duration_ns)
		return parser_wrong(ps, where, "%s is after the end of the run", word) != NULL;
	*ns = (uint64_t)v;
	return true;
}

// from in word, to behind the next comma.
static bool window(struct parser *ps, const char *word, const char *where, struct expr_leaf *leaf)
{
	char second[MAX_WORD];
	const char *to_at;

	if (!time_argument(ps, word, where, &leaf->from_ns))
		return false;
	if (!parser_take(ps, ","))
		return parser_wrong(ps, where, "a window is two times, such as 10ms, 20ms") != NULL;
	to_at = raw_argument(ps, second);
	if (!time_argument(ps, second, to_at, &leaf->to_ns))
		return false;
	if (leaf->to_ns <= leaf->from_ns)
		return parser_wrong(ps, to_at, "the window does not end after it begins") != NULL;
	leaf->windowed = true;
	return true;
}

// "size < 100KB"
static bool size_limit(struct parser *ps, const char *word, const char *where,
		       struct expr_leaf *leaf)
{
	static const struct {
		const char *op;
		bool upper;
		int off;
	} ops[] = {{"<=", true, 0}, {">=", false, 0}, {"<", true, -1}, {">", false, 1}};
	const char *s = word + strlen("size"), *why = "expected size < 100KB, or >, <=, >=";
	enum expr_unit unit;
	double v;

	while (*s == ' ')
		s++;
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		const char *end = s + strlen(ops[i].op);

		if (strncmp(s, ops[i].op, strlen(ops[i].op)) != 0)
			continue;
		end += strspn(end, " ");
		end = expr_number(end, &v, &unit, &why);
		if (end == NULL || *end != '\0' || (unit != EXPR_BYTES && unit != EXPR_COUNT) ||
		    v + ops[i].off < 0 || v > 4e9)
			break;
		*(ops[i].upper ? &leaf->size_max : &leaf->size_min) = (uint32_t)(v + ops[i].off);
		return true;
	}
	return parser_wrong(ps, where, "%s", why) != NULL;
}

static bool reason_word(const char *word, int *out)
{
	for (int i = 0; i < N_DROP_REASONS; i++)
		if (strcmp(word, drop_info[i].name) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool pool_word(const char *word, int *out)
{
	for (int i = 0; i < N_POOLS; i++)
		if (strcmp(word, pool_name[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static const char *const source_words[N_PAIR_SOURCES] = {
	[PAIR_NONE] = "none", [PAIR_STATIC] = "static", [PAIR_CM] = "cm",
	[PAIR_READ] = "read", [PAIR_ACK] = "ack",	[PAIR_CNP] = "cnp"};
static const char *const quadrant_words[N_QUADRANTS + 1] = {[IPCC_NONE] = "none",
							    [IPCC_FEW_GROWING] = "growing",
							    [IPCC_FEW_SHRINKING] = "shrinking",
							    [IPCC_MANY] = "many",
							    [N_QUADRANTS] = "muted"};

static bool word_among(const char *const *words, int n, const char *word, int *out)
{
	for (int i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

// A whole number without a unit: which one is meant.
static bool number_word(const char *word, uint32_t *out)
{
	uint32_t v = 0;

	for (; isdigit((unsigned char)*word) && v < 100000000; word++)
		v = v * 10 + (uint32_t)(*word - '0');
	if (*word != '\0' || v == 0)
		return false;
	*out = v;
	return true;
}

static bool is_among(const struct expr_object *all, uint32_t n, const struct expr_object *o)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].kind == o->kind && all[i].node == o->node && all[i].port == o->port &&
		    all[i].cls == o->cls && all[i].conn == o->conn)
			return true;
	return false;
}

// A further object, which belongs to those there are. One that is named again is not another.
static bool more_objects(struct parser *ps, const char *word, const char *where,
			 struct expr_leaf *leaf)
{
	struct expr_leaf own = {0};
	struct expr_object *all;
	const char *why;

	if (!expr_select(ps->s, leaf->fn, word, &own, &why)) {
		ps->failed |= ps->s->names->incomplete;
		return parser_wrong(ps, where, "%s", why) != NULL;
	}
	if (leaf->n_objects + own.n_objects > MAX_TOGETHER)
		return parser_wrong(ps, where, "these are too many names") != NULL;
	all = arena_alloc(ps->s->arena, (leaf->n_objects + own.n_objects) * sizeof(*all));
	memcpy(all, leaf->objects, leaf->n_objects * sizeof(*all));
	leaf->objects = all;
	for (uint32_t i = 0; i < own.n_objects; i++)
		if (!is_among(all, leaf->n_objects, &own.objects[i]))
			all[leaf->n_objects++] = own.objects[i];
	return true;
}

// A length, and nothing behind it.
static bool bytes_word(const char *word, uint64_t *out)
{
	enum expr_unit unit;
	const char *why, *end;
	double v;

	end = expr_number(word, &v, &unit, &why);
	if (end == NULL || *end != '\0' || (unit != EXPR_BYTES && v != 0))
		return false;
	*out = (uint64_t)v;
	return true;
}

// An argument behind the object.
static bool option(struct parser *ps, struct expr_leaf *leaf)
{
	const struct expr_func *fn = leaf->fn;
	char word[MAX_WORD];
	const char *where = raw_argument(ps, word);

	if (fn->takes & TAKES_NUMBER && !leaf->windowed && number_word(word, &leaf->number))
		return true;
	if (fn->takes & TAKES_BYTES && leaf->bytes == UINT64_MAX && bytes_word(word, &leaf->bytes))
		return true;
	if (isdigit((unsigned char)word[0]))
		return window(ps, word, where, leaf);
	if (leaf->windowed)
		return parser_wrong(ps, where, "the window is the last of all arguments") != NULL;
	if (fn->takes & TAKES_SIZE && strncmp(word, "size", 4) == 0)
		return size_limit(ps, word, where, leaf);
	if ((fn->takes & TAKES_REASON && reason_word(word, &leaf->reason)) ||
	    (fn->takes & TAKES_POOL && pool_word(word, &leaf->pool)) ||
	    (fn->takes & TAKES_SOURCE &&
	     word_among(source_words, N_PAIR_SOURCES, word, &leaf->source)) ||
	    (fn->takes & TAKES_QUADRANT &&
	     word_among(quadrant_words, N_QUADRANTS + 1, word, &leaf->quadrant)) ||
	    (fn->takes & TAKES_STAT && expr_stat_parse(word, &leaf->stat)))
		return true;
	if (fn->takes & TAKES_MORE)
		return more_objects(ps, word, where, leaf);
	return parser_wrong(
		       ps, where, "%s means nothing to %s: it takes %s%s%s%s%s%s%s%s%s%s", word,
		       fn->name, fn->takes & TAKES_BYTES ? "a length such as 10KB, " : "",
		       fn->takes & TAKES_POOL
			       ? "ingress, headroom, egress_lossy or egress_lossless, "
			       : "",
		       fn->takes & TAKES_STAT ? "mean, min, max, now, p50, p99, " : "",
		       fn->takes & TAKES_SIZE ? "size < BYTES, " : "",
		       fn->takes & TAKES_REASON ? "the reason of a drop as in counters.md, " : "",
		       fn->takes & TAKES_NUMBER ? "a number from 1, " : "",
		       fn->takes & TAKES_SOURCE ? "static, cm, read, ack, cnp, none, " : "",
		       fn->takes & TAKES_QUADRANT ? "none, growing, shrinking, many, muted, " : "",
		       fn->takes != 0 ? "and " : "", "a window of two times") != NULL;
}

// Nothing named: all hosts or all switches, where the function knows what that is.
static bool everything(struct parser *ps, struct expr_leaf *leaf, const char *where)
{
	struct expr_object *o = arena_alloc(ps->s->arena, sizeof(*o));
	bool switches = (leaf->fn->kinds & OBJ_BIT(OBJ_ALL_SWITCHES)) != 0;

	if (!switches && !(leaf->fn->kinds & OBJ_BIT(OBJ_ALL_HOSTS)))
		return parser_wrong(ps, where, "%s needs to know of what: %s(%s)", leaf->fn->name,
				    leaf->fn->name, leaf->fn->args) != NULL;
	*o = (struct expr_object){
		.kind = switches ? OBJ_ALL_SWITCHES : OBJ_ALL_HOSTS, .cls = -1, .name = "all"};
	leaf->objects = o;
	leaf->n_objects = 1;
	return true;
}

// The first argument names objects, unless it can only be an option.
static bool objects(struct parser *ps, struct expr_leaf *leaf)
{
	char word[MAX_WORD];
	const char *where = raw_argument(ps, word), *why;
	struct expr_stat stat;
	int number;
	bool is_option = isdigit((unsigned char)word[0]) || strncmp(word, "size ", 5) == 0 ||
			 (leaf->fn->takes & TAKES_STAT && expr_stat_parse(word, &stat)) ||
			 (leaf->fn->takes & TAKES_REASON && reason_word(word, &number)) ||
			 (leaf->fn->takes & TAKES_SOURCE &&
			  word_among(source_words, N_PAIR_SOURCES, word, &number)) ||
			 (leaf->fn->takes & TAKES_QUADRANT &&
			  word_among(quadrant_words, N_QUADRANTS + 1, word, &number));

	if (ps->failed)
		return false;
	if (word[0] == '\0' || is_option) {
		ps->p = where;
		return everything(ps, leaf, where);
	}
	if (expr_select(ps->s, leaf->fn, word, leaf, &why))
		return true;
	if (ps->s->names->incomplete)
		ps->failed = true;
	return parser_wrong(ps, where, "%s", why) != NULL;
}

// A flow without a last message is never done.
static bool has_end(struct parser *ps, const struct expr_leaf *leaf, const char *where)
{
	for (uint32_t i = 0; leaf->fn->metric == METRIC_DONE && i < leaf->n_objects; i++)
		if (ps->s->names->endless[leaf->objects[i].node])
			return parser_wrong(ps, where,
					    "%s is endless and never done: give the flow a "
					    "`size`, and a `count` or a `stop`",
					    leaf->objects[i].name) != NULL;
	return true;
}

static struct expr *leaf_call(struct parser *ps, const struct expr_func *fn, const char *where)
{
	struct expr *e = parser_node(ps, EX_LEAF, where);
	struct expr_leaf *leaf;

	if (ps->s->n_leaves == EXPR_MAX_LEAVES)
		return parser_wrong(ps, where, "the scenario asks for too many numbers");
	e->leaf = ps->s->n_leaves;
	e->unit = fn->unit;
	leaf = new_leaf(ps->s, fn);
	if (!parser_take(ps, "("))
		return everything(ps, leaf, where) ? e : NULL;
	if (!objects(ps, leaf))
		return NULL;
	// What named no object is an option already.
	if (leaf->objects[0].kind >= OBJ_ALL_HOSTS) {
		parser_skip_space(ps);
		if (*ps->p != ')' && !option(ps, leaf))
			return NULL;
	}
	while (parser_take(ps, ","))
		if (!option(ps, leaf))
			return NULL;
	if (!has_end(ps, leaf, where))
		return NULL;
	if (leaf->fn->takes & TAKES_BYTES && leaf->bytes == UINT64_MAX)
		return parser_wrong(ps, ps->p, "above which length: %s(%s)", fn->name, fn->args);
	if (leaf->fn->takes & TAKES_POOL && leaf->pool < 0)
		return parser_wrong(ps, ps->p,
				    "which pool: ingress, headroom, egress_lossy or "
				    "egress_lossless");
	if (!parser_take(ps, ")"))
		return parser_wrong(ps, ps->p, "expected , or ) in the arguments of %s", fn->name);
	return e;
}

static void set_windows(struct parser *ps, uint32_t first, const struct expr_leaf *w)
{
	for (uint32_t i = first; i < ps->s->n_leaves; i++)
		if (!ps->s->leaves[i]->windowed) {
			ps->s->leaves[i]->windowed = true;
			ps->s->leaves[i]->from_ns = w->from_ns;
			ps->s->leaves[i]->to_ns = w->to_ns;
		}
}

// True when what follows is a time alone and a list came before: a window.
static bool window_ahead(struct parser *ps, const struct expr *first)
{
	enum expr_unit unit;
	const char *why, *end;
	double v;

	parser_skip_space(ps);
	if (first == NULL || !isdigit((unsigned char)*ps->p))
		return false;
	end = expr_number(ps->p, &v, &unit, &why);
	return end != NULL && (unit == EXPR_TIME || v == 0) && end[strspn(end, " ")] == ',';
}

static struct expr *list_call(struct parser *ps, const struct expr_func *fn, const char *where)
{
	struct expr *e = parser_node(ps, EX_LIST, where), *last = NULL;
	uint32_t first_leaf = ps->s->n_leaves;
	struct expr_leaf w = {0};
	char word[MAX_WORD];

	e->metric = fn->metric;
	if (!parser_take(ps, "("))
		return parser_wrong(ps, ps->p, "%s needs a list: %s(rate(h*))", fn->name, fn->name);
	do {
		struct expr *kid;

		if (window_ahead(ps, last)) {
			const char *at = raw_argument(ps, word);

			if (!window(ps, word, at, &w))
				return NULL;
			set_windows(ps, first_leaf, &w);
			break;
		}
		kid = parser_sum(ps);
		if (kid == NULL ||
		    (last != NULL && !parser_alike(ps, e->kid[0], kid, "listed with")))
			return NULL;
		if (last == NULL)
			e->kid[0] = kid;
		else
			last->next = kid;
		last = kid;
	} while (parser_take(ps, ","));
	if (!parser_take(ps, ")"))
		return parser_wrong(ps, ps->p, "expected , or ) in the arguments of %s", fn->name);
	e->unit = fn->metric == METRIC_JAIN || fn->metric == METRIC_N_VALUES ? EXPR_COUNT
									     : e->kid[0]->unit;
	return e;
}

struct expr *parser_call(struct parser *ps)
{
	const char *where = ps->p;
	const struct expr_func *fn;
	char name[MAX_WORD];
	size_t len = 0;

	while (isalnum((unsigned char)where[len]) || where[len] == '_')
		len++;
	fn = expr_func_find(where, (uint32_t)len);
	if (fn == NULL) {
		const char *near;

		snprintf(name, sizeof(name), "%.*s", (int)len, where);
		near = expr_func_closest(name);
		return parser_wrong(ps, where, "there is no function %s%s%s%s", name,
				    near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
				    near == NULL ? "; see weir-lab help functions" : "?");
	}
	ps->p += len;
	return fn->method == BY_LIST ? list_call(ps, fn, where) : leaf_call(ps, fn, where);
}
