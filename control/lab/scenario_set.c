// SPDX-License-Identifier: Apache-2.0
// `--set a.b[2].c=value`: one edit of a scenario's tree before any row reads it. The value is YAML.
//
// A key is written plainly up to the next `.` or `[`, or in quotes: hosts."h[1-3]".nic. A key that
// is there already is found without quotes, too. `policy.X` means `override.X`.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/scenario_int.h"

struct edit {
	struct arena *a;
	struct diag_sink *s;
	const struct sc_set *set;
	struct cfg_pos at;
};

__attribute__((format(printf, 2, 3))) static struct node *fail(struct edit *e, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(e->s, DIAG_ERROR, e->at, NULL, "%s", text);
	return NULL;
}

static void place(struct node *n, struct cfg_pos at)
{
	n->at = at;
	if (n->key != NULL)
		n->key->at = at;
	for (struct node *v = n->first; v != NULL; v = v->next)
		place(v, at);
}

static struct node *new_node(struct edit *e, enum node_kind kind, const char *text)
{
	struct node *n = arena_alloc(e->a, sizeof(*n));

	*n = (struct node){.kind = kind, .at = e->at, .text = text};
	return n;
}

static struct node *value_of(struct edit *e)
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
		return fail(e, "the value is no YAML: quote it as in a file");
	place(n, e->at);
	return n;
}

// ---- the path
static struct node *child_n(const struct node *n, unsigned i)
{
	struct node *v = n->first;

	for (; v != NULL && i != 0; v = v->next)
		i--;
	return v;
}

static bool ends_key(const char *rest)
{
	return *rest == '\0' || *rest == '.' || *rest == '[';
}

// The longest key of the map with which the path goes on.
static struct node *existing(const struct node *map, const char *path, size_t *len)
{
	struct node *found = NULL;

	*len = 0;
	for (struct node *v = map->first; v != NULL; v = v->next) {
		size_t n = strlen(v->key->text);

		if (n > *len && strncmp(path, v->key->text, n) == 0 && ends_key(path + n)) {
			*len = n;
			found = v;
		}
	}
	return found;
}

// The key written at the head of the path: quoted or plain. NULL: reported.
static const char *written_key(struct edit *e, const char *path, size_t *len)
{
	const char *end;

	if (*path == '"') {
		end = strchr(path + 1, '"');
		if (end == NULL) {
			fail(e, "the quote in the key is not closed");
			return NULL;
		}
		*len = (size_t)(end - path) + 1;
		return arena_text(e->a, path + 1, (size_t)(end - path) - 1);
	}
	*len = strcspn(path, ".[");
	if (*len == 0) {
		fail(e, "a key is missing: write a.b[2].c=value");
		return NULL;
	}
	return arena_text(e->a, path, *len);
}

static void append(struct node *parent, struct node *n)
{
	struct node **end = &parent->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = n;
	parent->n++;
}

// The value under a key of the map; made where there is none.
static struct node *enter_key(struct edit *e, struct node *map, const char **path)
{
	size_t len;
	struct node *v = existing(map, *path, &len);
	const char *key;

	if (v == NULL) {
		key = written_key(e, *path, &len);
		if (key == NULL)
			return NULL;
		for (v = map->first; v != NULL && strcmp(v->key->text, key) != 0; v = v->next)
			;
		if (v == NULL) {
			v = new_node(e, NODE_MAP, NULL);
			v->key = new_node(e, NODE_SCALAR, key);
			append(map, v);
		}
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
		return fail(e, "an index is written [0]");
	*path = end + 1;
	if (list->kind == NODE_MAP && list->n == 0)
		list->kind = NODE_LIST; // just made
	if (list->kind != NODE_LIST)
		return fail(e, "there is no list to take [%lu] of", i);
	if (i > list->n)
		return fail(e, "the list has %u entries: the next is [%u]", list->n, list->n);
	if (i < list->n)
		return child_n(list, (unsigned)i);
	v = new_node(e, NODE_MAP, NULL);
	append(list, v);
	return v;
}

static bool is_empty(const struct node *n)
{
	return n->kind == NODE_SCALAR && *n->text == '\0';
}

static struct node *enter(struct edit *e, struct node *n, const char **path, const char *whole)
{
	if (**path == '[')
		return enter_index(e, n, path);
	if (is_empty(n))
		n->kind = NODE_MAP;
	if (n->kind != NODE_MAP)
		return fail(e, "%.*s is %s and has no keys", (int)(*path - whole), whole,
			    n->kind == NODE_LIST ? "a list" : "a single value");
	if (**path == '.')
		(*path)++;
	return enter_key(e, n, path);
}

// A param that the file does not have would change nothing.
static bool is_param(struct edit *e, const struct node *root, const char *name)
{
	const struct node *map = params_map(root);
	size_t len;

	if (map != NULL && map->kind == NODE_MAP && existing(map, name, &len) != NULL)
		return true;
	fail(e, "there is no param %s" CURE "%s", schema_shown(e->a, name),
	     params_known(e->a, map != NULL && map->kind == NODE_MAP ? map : NULL, name));
	return false;
}

bool sc_apply_set(struct arena *a, struct diag_sink *s, struct node *root, const struct sc_set *set)
{
	struct edit e = {
		a, s, set, {1, 0, arena_printf(a, "--set '%s=%s'", set->path, set->value)}};
	const char *path = strncmp(set->path, "policy.", 7) != 0
				   ? set->path
				   : arena_printf(a, "override.%s", set->path + 7);
	const char *whole = path;
	struct node *value = value_of(&e), *n = root;

	if (strncmp(path, "params.", 7) == 0 && !is_param(&e, root, path + 7))
		return false;
	while (value != NULL && n != NULL && *path != '\0')
		n = enter(&e, n, &path, whole);
	if (value == NULL || n == NULL)
		return false;
	if (n == root) {
		fail(&e, "a key is missing: write a.b[2].c=value");
		return false;
	}
	value->key = n->key;
	value->next = n->next;
	*n = *value;
	return true;
}
