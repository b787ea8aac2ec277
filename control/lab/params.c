// SPDX-License-Identifier: Apache-2.0
#include "control/lab/params.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/schema.h"
#include "control/lab/expr.h"

enum { MAX_PARAMS = 256, MAX_NAME = 31, SHARE_DIGITS = 7, COUNT_DIGITS = 9 };

enum state { UNREAD, OPEN, CLOSED };

struct param {
	struct lab_param row;
	const struct node *node;
	enum state state;
	bool used;
	struct param *user; // while OPEN: the param that uses this one
};

struct filler {
	struct arena *arena;
	struct diag_sink *sink;
	const struct node *map;
	struct param *params;
	uint32_t n;
	size_t written; // bytes of all texts that were made
	bool full;
};

// A text of the tree, and where its mistakes are reported.
struct spot {
	const struct spot *up;
	const struct node *n; // under `up`
	unsigned index; // of an entry of a list
};

struct work {
	struct filler *f;
	const struct spot *spot;
	struct cfg_pos at;
	struct param *self; // the param whose value this is, or NULL
	const char *text;
	const char *out; // what is made of the text so far; NULL: reported
	const char *made_of; // the params of the text and their values; NULL: none yet
};

static const char *path_of_spot(struct arena *a, const struct spot *s)
{
	const char *up = s == NULL || s->n->key == NULL ? "" : s->n->key->text;

	if (s == NULL || s->up == NULL)
		return up;
	up = path_of_spot(a, s->up);
	if (s->n->key == NULL)
		return arena_printf(a, "%s[%u]", up, s->index);
	return arena_printf(a, "%s%s%s", up, *up == '\0' ? "" : ".",
			    schema_shown(a, s->n->key->text));
}

// Reports a mistake of the text. NULL.
#define WRONG(w, ...)                                                                              \
	(diag_add((w)->f->sink, DIAG_ERROR, (w)->at, path_of_spot((w)->f->arena, (w)->spot),       \
		  __VA_ARGS__),                                                                    \
	 (w)->out = NULL)

// ---- names
static size_t name_length(const char *text)
{
	size_t n = 0;

	if (isalpha((unsigned char)*text) || *text == '_')
		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
	return n;
}

static const char *param_name_at(const void *map, unsigned i)
{
	const struct node *v = ((const struct node *)map)->first;

	while (i-- != 0)
		v = v->next;
	return v->key->text;
}

static const char *params_known(struct arena *a, const struct node *map, const char *wrong_name)
{
	const char *near, *all = "";

	// A list has no names, and is reported by read_map.
	if (map == NULL || map->kind != NODE_MAP || map->n == 0)
		return "the file has no params";
	near = schema_closest(wrong_name, map->n, param_name_at, map);
	for (const struct node *v = map->first; v != NULL; v = v->next)
		all = arena_printf(a, "%s%s%s", all, *all == '\0' ? "" : ", ",
				   schema_shown(a, v->key->text));
	if (near != NULL)
		return arena_printf(a, "did you mean %s? Known are %s", near, all);
	return arena_printf(a, "known are %s", all);
}

// ---- values
static void resolve(struct filler *f, struct param *p, struct param *user);

// The value of a param, and a note of it. NULL: reported.
static const char *param_value_named(struct work *w, const char *name, size_t len)
{
	struct filler *f = w->f;
	struct arena *a = f->arena;
	struct param *p = NULL;
	const struct cfg_pos *at;

	for (uint32_t i = 0; i < f->n && p == NULL; i++)
		if (strlen(f->params[i].row.name) == len &&
		    memcmp(f->params[i].row.name, name, len) == 0)
			p = &f->params[i];
	if (p == NULL) {
		name = schema_shown(a, arena_text(a, name, len));
		return WRONG(w, "there is no param %s" CURE "%s", name,
			     params_known(a, f->map, name));
	}
	p->used = true;
	if (p->state == OPEN) {
		const char *ring = p->row.name;

		for (const struct param *u = w->self; u != NULL; u = u == p ? NULL : u->user)
			ring = arena_printf(a, "%s -> %s", u->row.name, ring);
		return WRONG(w, "the params need each other: %s", ring);
	}
	resolve(f, p, w->self);
	if (p->row.value == NULL) { // reported there
		w->out = NULL;
		return NULL;
	}
	at = &p->node->at;
	w->made_of = arena_printf(
		a, "%s%s%s is %s, %s", w->made_of == NULL ? "" : w->made_of,
		w->made_of == NULL ? "" : "; ", p->row.name, schema_shown(a, p->row.value),
		at->column == 0 ? at->file : arena_printf(a, "line %u", at->line));
	return p->row.value;
}

// Adds to a text that is being made. A small file does not make a large text. NULL: reported.
static const char *joined(struct work *w, const char *out, const char *text, size_t len)
{
	size_t before = strlen(out);
	char *both;

	w->f->written += before + len;
	if (w->f->written > NODE_MAX_BYTES) {
		if (!w->f->full)
			WRONG(w, "the params make more than 4 MiB of text");
		w->f->full = true;
		return NULL;
	}
	both = arena_alloc(w->f->arena, before + len + 1);
	memcpy(both, out, before);
	memcpy(both + before, text, len);
	return both;
}

static void append_filled_text(struct work *w, const char *text, size_t len)
{
	if (w->out != NULL)
		w->out = joined(w, w->out, text, len);
}

// NULL: of no param.
static const struct cfg_origin *origin_of(const struct work *w)
{
	struct cfg_origin *o = arena_alloc(w->f->arena, sizeof(*o));

	*o = (struct cfg_origin){w->text, w->made_of};
	return w->made_of == NULL ? NULL : o;
}

// ---- arithmetic
// The inside of ${ } with values for names. NULL: reported.
static const char *values_for_names(struct work *w, const char *s, const char *end)
{
	struct arena *a = w->f->arena;
	const char *out = "";

	// The parser refuses a longer text, by its length.
	while (out != NULL && s < end && strlen(out) <= EXPR_MAX_TEXT) {
		size_t len = name_length(s);
		const char *value, *why, *number_end;
		enum expr_unit unit;
		double v;

		if (len == 0 || s[len] == '(') { // a function
			len += len == 0;
			while (isdigit((unsigned char)*s) &&
			       (isalnum((unsigned char)s[len]) || s[len] == '.')) // 40G
				len++;
			out = joined(w, out, s, len);
			s += len;
			continue;
		}
		value = param_value_named(w, s, len);
		if (value == NULL)
			return NULL;
		number_end = expr_number(value + (*value == '-'), &v, &unit, &why);
		if (number_end == NULL || *number_end != '\0')
			return WRONG(w, "%.*s is %s, and only numbers are computed with" CURE "%s",
				     (int)len, s, schema_shown(a, value), why);
		value = arena_printf(a, "(%s)", value);
		out = joined(w, out, value, strlen(value));
		s += len;
	}
	return out;
}

// Without zeros behind the last digit that counts.
static const char *decimal(struct arena *a, double v, int digits, const char *unit)
{
	char *text = arena_printf(a, "%.*f", digits, v);
	size_t len = strlen(text);

	while (text[len - 1] == '0')
		len--;
	len -= text[len - 1] == '.';
	return arena_printf(a, "%.*s%s", (int)len, text, unit);
}

static uint32_t no_leaves(const void *arg, uint32_t leaf)
{
	(void)arg;
	(void)leaf;
	return 0;
}

// As a file writes it. Quantities with a unit are whole bits per second, bytes and nanoseconds.
static const char *written(struct arena *a, enum expr_unit unit, double v)
{
	static const uint8_t kinds[] = {
		[EXPR_RATE] = UNIT_RATE, [EXPR_BYTES] = UNIT_BYTES, [EXPR_TIME] = UNIT_TIME};

	if (unit == EXPR_COUNT)
		return decimal(a, v, COUNT_DIGITS, "");
	if (unit == EXPR_SHARE)
		return decimal(a, v * 100, SHARE_DIGITS, "%");
	return arena_printf(a, "%s", UNIT_TEXT(kinds[unit], (int64_t)(v + 0.5)));
}

// From behind ${ to the }. Returns the text; NULL: reported.
static const char *compute(struct work *w, const char *s, const char *end)
{
	static const struct expr_names none;
	const struct expr_env env = {.n = no_leaves};
	struct expr_set set = {.arena = w->f->arena, .sink = w->f->sink, .names = &none};
	const struct expr *e;
	const char *text;
	double v;

	while (s < end && isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	if (s != end && name_length(s) == (size_t)(end - s))
		return param_value_named(w, s, (size_t)(end - s));
	text = values_for_names(w, s, end);
	if (text == NULL) {
		w->out = NULL;
		return NULL;
	}
	w->at.origin = origin_of(w);
	e = expr_parse(&set, text, w->at, path_of_spot(w->f->arena, w->spot), EXPR_VALUE);
	w->at.origin = NULL;
	if (e == NULL) {
		w->out = NULL;
		return NULL;
	}
	v = set.n_leaves == 0 ? expr_value(e, 0, &env) : 0;
	if (set.n_leaves != 0)
		WRONG(w, "${%.*s}: only numbers and params are known before the run",
		      (int)(end - s), s);
	else if (!(v > -1e15 && v < 1e15))
		WRONG(w, "${%.*s} has no value", (int)(end - s), s);
	return w->out == NULL ? NULL : written(w->f->arena, expr_unit(e), v);
}

// ---- texts
// One $ and what belongs to it. Returns what follows.
static const char *take_dollar(struct work *w, const char *s)
{
	size_t len = name_length(s + 1);
	const char *end, *value;

	if (s[1] == '$') {
		append_filled_text(w, "$", 1);
		return s + 2;
	}
	if (s[1] == '{') {
		end = strchr(s, '}');
		if (end == NULL) {
			WRONG(w, "\"%s\": the ${ is not closed" CURE "close it with }",
			      schema_shown(w->f->arena, s));
			return s + strlen(s);
		}
		value = compute(w, s + 2, end++);
	} else if (len == 0) {
		WRONG(w, "\"%s\": a $ begins the name of a param" CURE "write $$ for a dollar sign",
		      schema_shown(w->f->arena, w->text));
		return s + strlen(s);
	} else {
		value = param_value_named(w, s + 1, len);
		end = s + 1 + len;
	}
	if (value != NULL)
		append_filled_text(w, value, strlen(value));
	return end;
}

// The text with its params filled in, and in *at a note of them. NULL: reported.
static const char *fill_params_in(struct work *w)
{
	const char *s = w->text;

	w->out = "";
	while (w->out != NULL && *s != '\0') {
		size_t len = strcspn(s, "$");

		append_filled_text(w, s, len);
		s += len;
		if (*s == '$')
			s = take_dollar(w, s);
	}
	return w->out;
}

static void resolve(struct filler *f, struct param *p, struct param *user)
{
	const struct spot top = {.n = f->map}, spot = {.up = &top, .n = p->node};
	struct work w = {
		.f = f, .spot = &spot, .at = p->node->at, .self = p, .text = p->node->text};

	if (p->state != UNREAD)
		return;
	p->state = OPEN;
	p->user = user;
	p->row.value = fill_params_in(&w);
	p->state = CLOSED;
}

static void fill_text(struct filler *f, const struct spot *spot, struct node *n)
{
	struct work w = {.f = f, .spot = spot, .at = n->at, .text = n->text};
	const char *text;

	if (n->text == NULL || strchr(n->text, '$') == NULL)
		return;
	text = fill_params_in(&w);
	if (text == NULL)
		return;
	n->at.origin = origin_of(&w);
	n->text = text;
}

static void fill_tree(struct filler *f, const struct spot *up, struct node *n, unsigned index)
{
	const struct spot spot = {.up = up, .n = n, .index = index};
	unsigned i = 0;

	if (n == f->map)
		return;
	if (n->key != NULL)
		fill_text(f, &spot, n->key);
	fill_text(f, &spot, n);
	for (struct node *v = n->first; v != NULL; v = v->next)
		fill_tree(f, &spot, v, i++);
}

// ---- the map
static void read_map(struct filler *f)
{
	if (f->map == NULL || (f->map->kind == NODE_SCALAR && *f->map->text == '\0'))
		return;
	if (f->map->kind != NODE_MAP || f->map->n > MAX_PARAMS) {
		if (f->map->kind != NODE_MAP)
			diag_add(f->sink, DIAG_ERROR, f->map->at, "params",
				 "expected a map such as {n: 8, kmin: 100KB}");
		else
			diag_add(f->sink, DIAG_ERROR, f->map->at, "params",
				 "%u entries: at most %d are possible", f->map->n, MAX_PARAMS);
		return;
	}
	f->params = arena_alloc(f->arena, (f->map->n + 1) * sizeof(*f->params));
	for (const struct node *v = f->map->first; v != NULL; v = v->next) {
		const char *name = v->key->text, *path;
		size_t len = name_length(name);
		bool sound = true;
		uint32_t i = 0;

		path = arena_printf(f->arena, "params.%s", schema_shown(f->arena, name));
		if (len == 0 || len > MAX_NAME || name[len] != '\0')
			sound = diag_add(f->sink, DIAG_ERROR, v->key->at, path,
					 "a param has a name of 1 to %d letters, digits and _, "
					 "with a letter first",
					 MAX_NAME);
		else if (v->kind != NODE_SCALAR)
			sound = diag_add(f->sink, DIAG_ERROR, v->at, path,
					 "expected a single value, found a %s",
					 v->kind == NODE_MAP ? "map" : "list");
		while (i < f->n && strcmp(f->params[i].row.name, v->key->text) != 0)
			i++;
		if (i < f->n) {
			diag_add(f->sink, DIAG_ERROR, v->key->at,
				 arena_printf(f->arena, "params.%s", v->key->text),
				 "given twice, first on line %u", f->params[i].node->key->at.line);
			continue;
		}
		// The uses of a param that is wrong are not reported, too.
		f->params[f->n++] = (struct param){.row.name = v->key->text,
						   .node = v,
						   .state = sound ? UNREAD : CLOSED,
						   .used = !sound};
	}
}

static struct node *params_map(const struct node *root)
{
	if (root->kind == NODE_MAP)
		for (struct node *v = root->first; v != NULL; v = v->next)
			if (strcmp(v->key->text, "params") == 0)
				return v;
	return NULL;
}

struct lab_params params_apply(struct arena *a, struct diag_sink *s, struct node *root)
{
	struct filler f = {.arena = a, .sink = s, .map = params_map(root)};
	struct lab_params out = {0};
	unsigned mistakes = s->n_errors;

	read_map(&f);
	for (uint32_t i = 0; i < f.n; i++)
		resolve(&f, &f.params[i], NULL);
	fill_tree(&f, NULL, root, 0);
	out.rows = arena_alloc(a, (f.n + 1) * sizeof(*out.rows));
	for (; out.n < f.n; out.n++) {
		const struct param *p = &f.params[out.n];

		out.rows[out.n] = p->row;
		// A text with a mistake was not read to its end.
		if (!p->used && s->n_errors == mistakes)
			diag_add(s, DIAG_WARNING, p->node->key->at,
				 arena_printf(a, "params.%s", p->row.name), "nothing uses $%s",
				 p->row.name);
	}
	return out;
}

// ---- --set
// `--set a.b[2].c=value`: one edit of a scenario's tree before any row reads it. The value is YAML.
//
// A key is written plainly up to the next `.` or `[`, or in quotes: hosts."h[1-3]".nic. A key that
// is there already is found without quotes, too. `policy.X` means `override.X`.

struct edit {
	struct arena *a;
	struct diag_sink *s;
	const struct sc_set *set;
	struct cfg_pos at;
};

// Reports a mistake of the option. NULL.
#define FAIL(e, ...) (diag_add((e)->s, DIAG_ERROR, (e)->at, NULL, __VA_ARGS__), (void *)NULL)

static void set_node_position(struct node *n, struct cfg_pos at)
{
	n->at = at;
	if (n->key != NULL)
		n->key->at = at;
	for (struct node *v = n->first; v != NULL; v = v->next)
		set_node_position(v, at);
}

static struct node *new_node(struct edit *e, enum node_kind kind, const char *text)
{
	struct node *n = arena_alloc(e->a, sizeof(*n));

	*n = (struct node){.kind = kind, .at = e->at, .text = text};
	return n;
}

static struct node *edit_value(struct edit *e)
{
	const char *text = e->set->value;
	struct diag_sink inner = {.file = "value", .document = "value"};
	struct diags d = {0};
	struct node *n;

	if (*text == '\0')
		return new_node(e, NODE_SCALAR, "");
	n = node_parse(e->a, text, strlen(text), &inner);
	diag_finish(&inner, &d);
	diags_fini(&d);
	if (n == NULL)
		return FAIL(e, "the value is no YAML: quote it as in a file");
	set_node_position(n, e->at);
	return n;
}

// ---- the path
// The longest key of the map with which the path goes on.
static struct node *existing(const struct node *map, const char *path, size_t *len)
{
	struct node *found = NULL;

	*len = 0;
	for (struct node *v = map->first; v != NULL; v = v->next) {
		size_t n = strlen(v->key->text);

		if (n > *len && strncmp(path, v->key->text, n) == 0 &&
		    (*(path + n) == '\0' || *(path + n) == '.' || *(path + n) == '[')) {
			*len = n;
			found = v;
		}
	}
	return found;
}

static void append_node(struct node *parent, struct node *n)
{
	struct node **end = &parent->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = n;
	parent->n++;
}

// The value under a key of the map; made where there is none. A new key is quoted or plain.
static struct node *enter_key(struct edit *e, struct node *map, const char **path)
{
	size_t len;
	struct node *v = existing(map, *path, &len);
	const char *end, *key;

	if (v == NULL && **path == '"') {
		end = strchr(*path + 1, '"');
		if (end == NULL)
			return FAIL(e, "the quote in the key is not closed");
		len = (size_t)(end - *path) + 1;
		key = arena_text(e->a, *path + 1, len - 2);
	} else if (v == NULL) {
		len = strcspn(*path, ".[");
		if (len == 0)
			return FAIL(e, "a key is missing: write a.b[2].c=value");
		key = arena_text(e->a, *path, len);
	}
	for (struct node *n = map->first; v == NULL && n != NULL; n = n->next)
		if (strcmp(n->key->text, key) == 0)
			v = n;
	if (v == NULL) {
		v = new_node(e, NODE_MAP, NULL);
		v->key = new_node(e, NODE_SCALAR, key);
		append_node(map, v);
	}
	*path += len;
	return v;
}

static struct node *enter_index(struct edit *e, struct node *list, const char **path)
{
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);
	struct node *v;

	if (end == *path + 1 || *end != ']')
		return FAIL(e, "an index is written [0]");
	*path = end + 1;
	if (list->kind == NODE_MAP && list->n == 0)
		list->kind = NODE_LIST; // just made
	if (list->kind != NODE_LIST)
		return FAIL(e, "there is no list to take [%lu] of", i);
	if (i > list->n)
		return FAIL(e, "the list has %u entries: the next is [%u]", list->n, list->n);
	for (v = list->first; v != NULL && i != 0; i--)
		v = v->next;
	if (v != NULL)
		return v;
	v = new_node(e, NODE_MAP, NULL);
	append_node(list, v);
	return v;
}

void params_set(struct arena *a, struct diag_sink *s, struct node *root, const struct sc_set *set)
{
	struct edit e = {
		a, s, set, {1, 0, arena_printf(a, "--set '%s=%s'", set->path, set->value)}};
	const char *path = strncmp(set->path, "policy.", 7) != 0
				   ? set->path
				   : arena_printf(a, "override.%s", set->path + 7);
	const char *whole = path;
	struct node *value = edit_value(&e), *n = root;
	const struct node *params = params_map(root);
	size_t len;

	if (params != NULL && params->kind != NODE_MAP)
		params = NULL;
	// A param that the file does not have would change nothing.
	if (strncmp(path, "params.", 7) == 0 &&
	    (params == NULL || existing(params, path + 7, &len) == NULL)) {
		diag_add(s, DIAG_ERROR, e.at, NULL, "there is no param %s" CURE "%s",
			 schema_shown(a, path + 7), params_known(a, params, path + 7));
		return;
	}
	while (value != NULL && n != NULL && *path != '\0') {
		if (*path == '[') {
			n = enter_index(&e, n, &path);
			continue;
		}
		if (n->kind == NODE_SCALAR && *n->text == '\0')
			n->kind = NODE_MAP;
		if (n->kind != NODE_MAP) {
			diag_add(s, DIAG_ERROR, e.at, NULL, "%.*s is %s and has no keys",
				 (int)(path - whole), whole,
				 n->kind == NODE_LIST ? "a list" : "a single value");
			return;
		}
		path += *path == '.';
		n = enter_key(&e, n, &path);
	}
	if (n == root && value != NULL)
		diag_add(s, DIAG_ERROR, e.at, NULL, "a key is missing: write a.b[2].c=value");
	if (value == NULL || n == NULL || n == root)
		return;
	value->key = n->key;
	value->next = n->next;
	*n = *value;
}
