// SPDX-License-Identifier: Apache-2.0
#include "control/config/schema.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/schema_scalar.h"
#include "control/config/sonic.h"

static struct cfg_map *map_at(void *base)
{
	return base;
}

static void *member(void *base, const struct cfg_row *row)
{
	return (char *)base + row->off;
}

void schema_defaults(const struct cfg_schema *s, void *base)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];

		if (row->scalar != NULL)
			((struct cfg_val *)member(base, row->scalar))->n = row->scalar->dflt;
		if (row->type <= CFG_ALPHA)
			((struct cfg_val *)member(base, row))->n = row->dflt;
		else if (row->type == CFG_MAP)
			schema_defaults(row->sub, member(base, row));
		else if (row->type == CFG_CLASSES)
			for (unsigned c = 0; c < CFG_N_CLASSES; c++)
				schema_defaults(row->sub,
						(char *)member(base, row) + c * row->sub->size);
	}
}

static const char *row_key(const void *schema, unsigned i)
{
	return ((const struct cfg_schema *)schema)->rows[i].key;
}

static const char *all_keys(struct arena *a, const struct cfg_schema *s)
{
	const char *all = "";

	for (unsigned i = 0; i < s->n; i++)
		all = arena_printf(a, "%s%s%s", all, i == 0 ? "" : ", ", s->rows[i].key);
	return all;
}

static void report_unknown_key(struct cfg_reader *r, const struct cfg_schema *s,
			       const struct node *value, const char *path)
{
	const struct node *key = value->key;
	const char *near = schema_closest(key->text, s->n, row_key, s);
	const char *translated = sonic_translate(r->arena, s, value);

	if (translated != NULL) {
		diag_add(r->sink, DIAG_ERROR, key->at, path, "unknown key" CURE "%s", translated);
		return;
	}
	if (near != NULL)
		diag_add(r->sink, DIAG_ERROR, key->at, path,
			 "unknown key" CURE "did you mean %s?", near);
	else
		diag_add(r->sink, DIAG_ERROR, key->at, path, "unknown key" CURE "known here are %s",
			 all_keys(r->arena, s));
}

static const char *sub_path(struct cfg_reader *r, const char *path, const struct node *key)
{
	return arena_printf(r->arena, "%s%s%s", path, *path == '\0' ? "" : ".",
			    schema_shown(r->arena, key->text));
}

static void report_kind(struct cfg_reader *r, const struct node *n, const char *path,
			const char *expected)
{
	static const char *const found[] = {
		[NODE_SCALAR] = "a single value", [NODE_MAP] = "a map", [NODE_LIST] = "a list"};
	bool nothing = n->kind == NODE_SCALAR && *n->text == '\0';

	diag_add(r->sink, DIAG_ERROR, n->at, path, "expected %s, found %s", expected,
		 nothing ? "nothing" : found[n->kind]);
}

static void report_twice(struct cfg_reader *r, const struct node *key, const char *path,
			 struct cfg_pos first)
{
	diag_add(r->sink, DIAG_ERROR, key->at, path, "given twice, first on line %u", first.line);
}

static void fill_class(struct cfg_reader *r, const struct cfg_row *row, const struct node *v,
		       void *base, const char *path, unsigned cls)
{
	struct cfg_map *m = map_at((char *)member(base, row) + cls * row->sub->size);
	const char *p = arena_printf(r->arena, "%s.%u", path, cls);

	if (m->given)
		report_twice(r, v->key, p, m->at);
	else
		schema_fill(r, row->sub, v, m, p);
}

static void fill_classes(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
			 void *base, const char *path)
{
	if (n->kind != NODE_MAP) {
		report_kind(r, n, path, "a map of classes 0 to 7");
		return;
	}
	for (const struct node *v = n->first; v != NULL; v = v->next) {
		struct cfg_set classes = {0};
		const char *why;

		if (!schema_parse_ranges(v->key->text, 0, 7, &classes, &why)) {
			diag_add(r->sink, DIAG_ERROR, v->key->at, sub_path(r, path, v->key),
				 "unknown class" CURE "classes are 0 to 7, such as 3, 4-7 or "
				 "\"3,5\"");
			continue;
		}
		for (uint64_t left = classes.bits[0]; left != 0; left &= left - 1)
			fill_class(r, row, v, base, path, (unsigned)__builtin_ctzll(left));
	}
}

// "ports[1] (b1)": a reader knows the name, not the number.
static const char *item_path(struct cfg_reader *r, const struct node *n, const char *path,
			     unsigned i)
{
	for (const struct node *v = n->kind == NODE_MAP ? n->first : NULL; v != NULL; v = v->next)
		if (strcmp(v->key->text, "name") == 0 && v->kind == NODE_SCALAR && *v->text != '\0')
			return arena_printf(r->arena, "%s[%u] (%s)", path, i,
					    schema_shown(r->arena, v->text));
	return arena_printf(r->arena, "%s[%u]", path, i);
}

static void fill_list(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		      void *base, const char *path)
{
	struct cfg_list *list = member(base, row);

	list->map = (struct cfg_map){.path = path, .at = n->at, .given = true};
	if (n->kind != NODE_LIST) {
		report_kind(r, n, path, "a list");
		return;
	}
	if (n->n > (uint64_t)row->max) {
		diag_add(r->sink, DIAG_ERROR, n->at, path,
			 "%u entries: at most %" PRId64 " are possible", n->n, row->max);
		return;
	}
	// Where the key was given before, for a pattern that fits as well, the later list counts.
	list->n = 0;
	list->items = arena_alloc(r->arena, n->n * row->sub->size);
	for (const struct node *v = n->first; v != NULL; v = v->next) {
		void *item = (char *)list->items + list->n * row->sub->size;

		schema_defaults(row->sub, item);
		schema_fill(r, row->sub, v, item, item_path(r, v, path, list->n));
		list->n++;
	}
}

static struct cfg_map *entry_named(const struct cfg_list *t, const struct cfg_schema *s,
				   const char *name)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct cfg_map *m = map_at((char *)t->items + i * s->size);

		if (strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}

static void fill_table(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		       void *base, const char *path)
{
	struct cfg_list *t = member(base, row);

	t->map = (struct cfg_map){.path = path, .at = n->at, .given = true};
	if (n->kind != NODE_MAP) {
		report_kind(r, n, path, "a map of names");
		return;
	}
	if (n->n > (uint64_t)row->max) {
		diag_add(r->sink, DIAG_ERROR, n->at, path,
			 "%u entries: at most %" PRId64 " are possible", n->n, row->max);
		return;
	}
	t->n = 0;
	t->items = arena_alloc(r->arena, n->n * row->sub->size);
	for (const struct node *v = n->first; v != NULL; v = v->next) {
		const char *p = sub_path(r, path, v->key);
		struct cfg_map *m = entry_named(t, row->sub, v->key->text);

		if (m != NULL) {
			report_twice(r, v->key, p, m->at);
			continue;
		}
		m = map_at((char *)t->items + t->n++ * row->sub->size);
		m->name = v->key->text;
		schema_defaults(row->sub, m);
		schema_fill(r, row->sub, v, m, p);
	}
}

static void add_ranges(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		       struct cfg_set *set, const char *path)
{
	const char *why;

	if (n->kind != NODE_SCALAR)
		report_kind(r, n, path, "numbers and ranges");
	else if (!schema_parse_ranges(n->text, row->min, row->max, set, &why))
		diag_add(r->sink, DIAG_ERROR, n->at, path,
			 "\"%s\" %s: expected numbers from %" PRId64 " to %" PRId64 " such as %s",
			 schema_shown(r->arena, n->text), why, row->min, row->max,
			 row->max == 7 ? "3 or 0-7" : "20 or 30-39");
}

static void fill_set(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     void *base, const char *path)
{
	struct cfg_set *set = member(base, row);

	set->map = (struct cfg_map){.path = path, .at = n->at, .given = true};
	if (n->kind != NODE_LIST) {
		add_ranges(r, row, n, set, path);
		return;
	}
	for (const struct node *v = n->first; v != NULL; v = v->next)
		add_ranges(r, row, v, set, path);
}

// The value of one lookup entry; -1 after a report.
static int lookup_value(struct cfg_reader *r, const struct cfg_row *row, const struct node *v,
			const char *path)
{
	const struct cfg_row value = {.key = row->key,
				      .type = row->words != NULL ? CFG_WORD : CFG_NUMBER,
				      .unit = UNIT_COUNT,
				      .max = row->max,
				      .words = row->words};
	struct cfg_val out = {0};

	if (v->kind != NODE_SCALAR)
		report_kind(r, v, path, "a single value");
	else if (schema_scalar(r, &value, v, &out, path))
		return (int)out.n;
	return -1;
}

static void lookup_entry(struct cfg_reader *r, const struct cfg_row *row, const struct node *v,
			 struct cfg_lookup *l, int64_t *dflt)
{
	const char *why = NULL, *path = sub_path(r, l->map.path, v->key);
	struct cfg_set keys = {0};
	int value;

	if (row->has_default && strcmp(v->key->text, "default") == 0) {
		if (*dflt >= 0)
			diag_add(r->sink, DIAG_ERROR, v->key->at, path, "given twice");
		*dflt = lookup_value(r, row, v, path);
		return;
	}
	if (!schema_parse_ranges(v->key->text, 0, row->n_keys - 1, &keys, &why)) {
		diag_add(r->sink, DIAG_ERROR, v->key->at, path,
			 "\"%s\" %s: expected keys from 0 to %u such as 3, 4-7 or \"3,5\"%s",
			 schema_shown(r->arena, v->key->text), why, row->n_keys - 1,
			 row->has_default ? ", or default" : "");
		return;
	}
	if (keys.bits[0] & l->set) {
		diag_add(r->sink, DIAG_ERROR, v->key->at, path, "%d already has a value",
			 __builtin_ctzll(keys.bits[0] & l->set));
		return;
	}
	value = lookup_value(r, row, v, path);
	for (uint64_t left = keys.bits[0]; value >= 0 && left != 0; left &= left - 1)
		l->v[__builtin_ctzll(left)] = (uint8_t)value;
	l->set |= keys.bits[0];
}

static void fill_lookup(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
			void *base, const char *path)
{
	struct cfg_lookup *l = member(base, row);
	int64_t dflt = -1;

	l->map = (struct cfg_map){.path = path, .at = n->at, .given = true};
	if (n->kind != NODE_MAP) {
		report_kind(r, n, path, "a map such as {3: 26}");
		return;
	}
	for (const struct node *v = n->first; v != NULL; v = v->next)
		lookup_entry(r, row, v, l, &dflt);
	for (unsigned k = 0; dflt >= 0 && k < row->n_keys; k++)
		if (!(l->set >> k & 1)) {
			l->v[k] = (uint8_t)dflt;
			l->set |= 1ull << k;
		}
}

static void add_word(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     struct cfg_words *w, const char *path)
{
	const struct cfg_row one = {.key = row->key,
				    .type = row->words != NULL	     ? CFG_WORD
					    : row->type == CFG_LINES ? CFG_LINE
								     : CFG_TEXT,
				    .max = row->max,
				    .words = row->words};

	if (n->kind != NODE_SCALAR)
		report_kind(r, n, path, "a single value");
	else if (schema_scalar(r, &one, n, &w->items[w->n], path))
		w->n++;
}

static void fill_words(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		       void *base, const char *path)
{
	struct cfg_words *w = member(base, row);

	w->map = (struct cfg_map){.path = path, .at = n->at, .given = true};
	if (n->kind == NODE_MAP) {
		report_kind(r, n, path, "a list");
		return;
	}
	w->n = 0; // likewise
	w->items = arena_alloc(r->arena, (n->kind == NODE_LIST ? n->n : 1) * sizeof(*w->items));
	if (n->kind == NODE_SCALAR)
		add_word(r, row, n, w, path);
	else
		for (const struct node *v = n->first; v != NULL; v = v->next)
			add_word(r, row, v, w, path);
}

static void fill_node(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		      void *base, const char *path)
{
	(void)r;
	(void)path;
	*(const struct node **)member(base, row) = n;
}

static void fill_map(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     void *base, const char *path)
{
	schema_fill(r, row->sub, n, member(base, row), path);
}

static void fill_scalar(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
			void *base, const char *path)
{
	if (n->kind != NODE_SCALAR)
		report_kind(r, n, path, "a single value");
	else
		schema_scalar(r, row, n, member(base, row), path);
}

typedef void fill_fn(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     void *base, const char *path);

static fill_fn *const fill[N_CFG_TYPES] = {
	[CFG_NUMBER] = fill_scalar, [CFG_WORD] = fill_scalar,	  [CFG_SWITCH] = fill_scalar,
	[CFG_ALPHA] = fill_scalar,  [CFG_NAME] = fill_scalar,	  [CFG_TEXT] = fill_scalar,
	[CFG_MAP] = fill_map,	    [CFG_CLASSES] = fill_classes, [CFG_LIST] = fill_list,
	[CFG_TABLE] = fill_table,   [CFG_SET] = fill_set,	  [CFG_LOOKUP] = fill_lookup,
	[CFG_WORDS] = fill_words,   [CFG_LINE] = fill_scalar,	  [CFG_LINES] = fill_words,
	[CFG_NODE] = fill_node,
};

static void fill_row(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     void *base, const char *path)
{
	if (row->scalar != NULL && n->kind == NODE_SCALAR)
		row = row->scalar;
	fill[row->type](r, row, n, base, path);
}

static int row_index(const struct cfg_schema *s, const char *key)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->rows[i].key, key) == 0)
			return (int)i;
	return -1;
}

// In {tagged: 10,20} YAML reads 20 as a key without a value. first: 10, of `row`.
static bool goes_on(const struct cfg_schema *s, const struct cfg_row *row,
		    const struct node *first)
{
	const struct node *n = first->next;

	if (n == NULL || n->kind != NODE_SCALAR || *n->text != '\0' ||
	    n->key->at.line != first->at.line || row_index(s, n->key->text) >= 0)
		return false;
	return row->type == CFG_WORDS ||
	       (row->type == CFG_SET && isdigit((unsigned char)*n->key->text));
}

// Returns the last value of the list.
static const struct node *report_bare_list(struct cfg_reader *r, const struct cfg_schema *s,
					   const struct cfg_row *row, const struct node *first,
					   const char *path)
{
	const struct node *last = first;
	const char *list = first->text;

	for (; goes_on(s, row, last); last = last->next)
		list = arena_printf(r->arena, "%s, %s", list, last->next->key->text);
	diag_add(r->sink, DIAG_ERROR, first->at, sub_path(r, path, first->key),
		 "a list needs brackets" CURE "[%s]", schema_shown(r->arena, list));
	return last;
}

void schema_fill(struct cfg_reader *r, const struct cfg_schema *s, const struct node *n, void *base,
		 const char *path)
{
	struct cfg_pos first[CFG_MAX_ROWS] = {{0}};
	struct cfg_map *m = map_at(base);

	assert(s->n <= CFG_MAX_ROWS);
	m->path = path;
	m->at = n->at;
	m->given = true;
	if (n->kind != NODE_MAP) {
		report_kind(r, n, path,
			    arena_printf(r->arena, "a map of %s", all_keys(r->arena, s)));
		return;
	}
	for (const struct node *v = n->first; v != NULL; v = v->next) {
		const char *p = sub_path(r, path, v->key);
		int i = row_index(s, v->key->text);

		if (i < 0) {
			report_unknown_key(r, s, v, p);
		} else if (first[i].line != 0) {
			report_twice(r, v->key, p, first[i]);
		} else {
			first[i] = v->key->at;
			fill_row(r, &s->rows[i], v, base, p);
			if (v->kind == NODE_SCALAR && goes_on(s, &s->rows[i], v))
				v = report_bare_list(r, s, &s->rows[i], v, path);
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		if (s->rows[i].required && first[i].line == 0 && !sonic_gives(n, s->rows[i].key))
			diag_add(r->sink, DIAG_ERROR, n->at,
				 arena_printf(r->arena, "%s%s%s", path, *path == '\0' ? "" : ".",
					      s->rows[i].key),
				 "is required%s%s", s->rows[i].expected != NULL ? CURE : "",
				 s->rows[i].expected != NULL ? s->rows[i].expected : "");
}
