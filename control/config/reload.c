// SPDX-License-Identifier: Apache-2.0
// What a new file changes against the running one, and which of that a running switch cannot take:
// the rows that say `restart`. One walk over the schema finds every difference; two listeners use
// it, the refusal and the list of changes.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/check.h"
#include "control/config/config.h"
#include "control/config/value_text.h"

enum { PATH_LEN = 256 };

struct difference {
	const struct cfg_row *row;
	const char *path;
	struct cfg_pos at; // in the new file
	bool value; // its value differs, and not only whether it was given
	// The row's member in both files; NULL where a table has no such entry.
	const void *old, *new;
	const void *old_scalar, *new_scalar; // likewise of row->scalar
};

typedef void on_change(void *arg, const struct difference *d);

struct walk {
	on_change *fn;
	void *arg;
};

__attribute__((format(printf, 2, 3))) static void join(char out[PATH_LEN], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out, PATH_LEN, fmt, ap);
	va_end(ap);
}

// ---- one value

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_scalar(const struct cfg_val *a, const struct cfg_val *b)
{
	return a->n == b->n && a->percent == b->percent && same_text(a->text, b->text);
}

static bool same_words(const struct cfg_words *a, const struct cfg_words *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (!same_scalar(&a->items[i], &b->items[i]))
			return false;
	return true;
}

// Of rows whose value is one member: not of maps and lists.
static bool same_value(const struct cfg_row *row, const void *a, const void *b)
{
	const struct cfg_lookup *la = a, *lb = b;
	const struct cfg_set *sa = a, *sb = b;

	switch (row->type) {
	case CFG_SET:
		return sa->n == sb->n && memcmp(sa->bits, sb->bits, sizeof(sa->bits)) == 0 &&
		       memcmp(sa->ordered, sb->ordered, sizeof(sa->ordered)) == 0;
	case CFG_LOOKUP:
		return la->set == lb->set && memcmp(la->v, lb->v, sizeof(la->v)) == 0;
	case CFG_WORDS:
		return same_words(a, b);
	default:
		return same_scalar(a, b);
	}
}

static bool is_scalar(const struct cfg_row *row)
{
	return row->type <= CFG_LINE;
}

static bool given(const struct cfg_row *row, const void *value)
{
	return is_scalar(row) ? ((const struct cfg_val *)value)->given
			      : ((const struct cfg_map *)value)->given;
}

static struct cfg_pos at_of(const struct cfg_row *row, const void *value)
{
	return is_scalar(row) ? ((const struct cfg_val *)value)->at
			      : ((const struct cfg_map *)value)->at;
}

static const void *member(const void *base, const struct cfg_row *row)
{
	return (const char *)base + row->off;
}

// Where `base` says the value, or where it is silent, the map that could say it.
static struct cfg_pos pos_of(const struct cfg_row *row, const void *base)
{
	const void *value = member(base, row);

	if (row->type != CFG_CLASSES && given(row, value))
		return at_of(row, value);
	if (row->scalar != NULL && given(row->scalar, member(base, row->scalar)))
		return at_of(row->scalar, member(base, row->scalar));
	return ((const struct cfg_map *)base)->at;
}

// ---- the walk

static void walk_map(const struct walk *w, const struct cfg_schema *schema, const void *old,
		     const void *new, const char *path);

static void walk_items(const struct walk *w, const struct cfg_row *row, const void *old,
		       const void *new, const char *path)
{
	const struct cfg_list *a = old, *b = new;
	size_t size = row->sub->size;

	if (a->n != b->n)
		w->fn(w->arg, &(struct difference){.row = row, .path = path, .at = b->map.at,
						   .value = true, .old = a, .new = b});
	for (unsigned i = 0; i < a->n && i < b->n; i++) {
		char sub[PATH_LEN];

		join(sub, "%s[%u]", path, i);
		walk_map(w, row->sub, (const char *)a->items + i * size,
			 (const char *)b->items + i * size, sub);
	}
}

static const void *entry_named(const struct cfg_list *t, size_t size, const char *name)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct cfg_map *m = (const void *)((const char *)t->items + i * size);

		if (strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}

// Entries of one table by name. The second walk, the other way round, tells only what is gone.
static void walk_entries(const struct walk *w, const struct cfg_row *row,
			 const struct cfg_list *from, const struct cfg_list *in, bool gone,
			 const char *path)
{
	for (unsigned i = 0; i < from->n; i++) {
		const char *item = (const char *)from->items + i * row->sub->size;
		const struct cfg_map *m = (const void *)item;
		const void *other = entry_named(in, row->sub->size, m->name);
		char sub[PATH_LEN];

		join(sub, "%s.%s", path, m->name);
		if (other == NULL)
			w->fn(w->arg, &(struct difference){.row = row, .path = sub,
							   .at = gone ? in->map.at : m->at,
							   .value = true,
							   .old = gone ? item : NULL,
							   .new = gone ? NULL : item});
		else if (!gone)
			walk_map(w, row->sub, other, item, sub);
	}
}

static void walk_classes(const struct walk *w, const struct cfg_row *row, const void *old,
			 const void *new, const char *path)
{
	for (unsigned c = 0; c < CFG_N_CLASSES; c++) {
		char sub[PATH_LEN];

		join(sub, "%s.%u", path, c);
		walk_map(w, row->sub, (const char *)old + c * row->sub->size,
			 (const char *)new + c * row->sub->size, sub);
	}
}

static void walk_row(const struct walk *w, const struct cfg_row *row, const void *old,
		     const void *new, const char *path)
{
	const void *a = member(old, row), *b = member(new, row), *sa = NULL, *sb = NULL;
	bool value = false, differs = false;

	if (row->scalar != NULL) {
		sa = member(old, row->scalar);
		sb = member(new, row->scalar);
		value = !same_value(row->scalar, sa, sb);
		differs = value || given(row->scalar, sa) != given(row->scalar, sb);
	}
	switch (row->type) {
	case CFG_MAP:
		differs = differs || given(row, a) != given(row, b);
		walk_map(w, row->sub, a, b, path);
		break;
	case CFG_CLASSES: walk_classes(w, row, a, b, path); break;
	case CFG_LIST: walk_items(w, row, a, b, path); break;
	case CFG_TABLE:
		walk_entries(w, row, b, a, false, path);
		walk_entries(w, row, a, b, true, path);
		break;
	default:
		value = value || !same_value(row, a, b);
		differs = differs || value || given(row, a) != given(row, b);
		break;
	}
	if (differs)
		w->fn(w->arg, &(struct difference){row, path, pos_of(row, new), value, a, b, sa,
						   sb});
}

static void walk_map(const struct walk *w, const struct cfg_schema *schema, const void *old,
		     const void *new, const char *path)
{
	for (unsigned i = 0; i < schema->n; i++) {
		const struct cfg_row *row = &schema->rows[i];
		char sub[PATH_LEN];

		join(sub, "%s%s%s", path, *path == '\0' ? "" : ".", row->key);
		// Ports are compared one by one, after their ranges were expanded: see walk_ports.
		if (schema != &cfg_root_schema || row->off != offsetof(struct cfg_root, ports))
			walk_row(w, row, old, new, sub);
	}
}

static const struct cfg_row *ports_row(void)
{
	for (unsigned i = 0; i < cfg_root_schema.n; i++)
		if (cfg_root_schema.rows[i].off == offsetof(struct cfg_root, ports))
			return &cfg_root_schema.rows[i];
	return NULL;
}

static void walk_ports(const struct walk *w, const struct config *old, const struct config *new)
{
	for (unsigned i = 0; i < old->n_ports && i < new->n_ports; i++)
		walk_map(w, ports_row()->sub, old->ports[i].item, new->ports[i].item,
			 new->ports[i].item->map.path);
}

static void walk_config(const struct walk *w, const struct config *old, const struct config *new)
{
	walk_map(w, &cfg_root_schema, &old->root, &new->root, "");
	walk_ports(w, old, new);
}

// ---- what only a restart can change

static void refuse(struct diag_sink *s, const char *path, const char *key, struct cfg_pos at)
{
	char full[PATH_LEN];

	join(full, "%s.%s", path, key);
	diag_add(s, DIAG_ERROR, at, full, "changes only by a restart");
}

// Names and devices are compared by check_names: with their defaults and ranges expanded.
static void refuse_restart(void *arg, const struct difference *d)
{
	const struct cfg_row *row = d->row;

	if (row->reload == CFG_RESTART && d->value && row->type != CFG_TEXT &&
	    row->type != CFG_NAME)
		diag_add(arg, DIAG_ERROR, d->at, d->path, "changes only by a restart");
}

static void check_port(const struct config *old, const struct config *new, unsigned i,
		       struct diag_sink *s)
{
	const struct config_port *a = &old->ports[i], *b = &new->ports[i];
	int was = cfg_find_port(old, b->name);
	char path[PATH_LEN];

	if (strcmp(a->name, b->name) != 0 && was >= 0) {
		join(path, "%s.name", b->item->map.path);
		diag_add(s, DIAG_ERROR, b->item->name.at, path,
			 "%s is port %u here and port %d of the running switch: the order of ports "
			 "changes only by a restart",
			 b->name, i + 1, was + 1);
	} else if (strcmp(a->name, b->name) != 0) {
		refuse(s, b->item->map.path, "name", b->item->name.at);
	} else if (strcmp(a->device, b->device) != 0) {
		refuse(s, b->item->map.path, "device", b->item->device.at);
	}
}

static void check_names(const struct config *old, const struct config *new, struct diag_sink *s)
{
	if (strcmp(config_name(old), config_name(new)) != 0)
		diag_add(s, DIAG_ERROR,
			 new->root.sw.name.given ? new->root.sw.name.at : new->root.sw.map.at,
			 "switch.name", "changes only by a restart");
	if (old->n_ports != new->n_ports)
		diag_add(s, DIAG_ERROR, new->root.ports.map.at, "ports",
			 "%u ports run and %u are given: ports come and go only by a restart",
			 old->n_ports, new->n_ports);
	for (unsigned i = 0; i < old->n_ports && i < new->n_ports; i++)
		check_port(old, new, i, s);
}

int config_check_reload(const struct config *running, const struct config *next, struct diags *d)
{
	struct diag_sink s = {.file = next->file};
	const struct walk w = {refuse_restart, &s};
	bool ok;

	check_names(running, next, &s);
	walk_config(&w, running, next);
	ok = s.n_errors == 0;
	diag_finish(&s, d);
	return ok ? 0 : -EINVAL;
}

// ---- what changes

static bool known(const struct config_changes *c, const char *path)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].key, path) == 0)
			return true;
	return false;
}

// A part of it is listed, and says more than that the whole is given now.
static bool a_part_is_known(const struct config_changes *c, const char *path)
{
	size_t n = strlen(path);

	for (unsigned i = 0; i < c->n; i++)
		if (strncmp(c->rows[i].key, path, n) == 0 && c->rows[i].key[n] == '.')
			return true;
	return false;
}

// "ports[1] (b1).speed" without the name: programs read the list.
static void drop_name(const char *path, char out[PATH_LEN])
{
	const char *name = strstr(path, " ("), *end = strrchr(path, ')');

	if (name != NULL && end != NULL)
		join(out, "%.*s%s", (int)(name - path), path, end + 1);
	else
		join(out, "%s", path);
}

static void change_fini(struct config_change *c)
{
	free(c->key);
	free(c->old);
	free(c->new);
}

static void list_change(void *arg, const struct difference *d)
{
	struct config_changes *c = arg;
	char path[PATH_LEN], old[VALUE_TEXT_LEN], new[VALUE_TEXT_LEN];
	struct config_change *rows, *one;

	drop_name(d->path, path);
	if (known(c, path)) // of another port of the same range
		return;
	if (!value_is_scalar(d->row, d->old_scalar) && !value_is_scalar(d->row, d->new_scalar) &&
	    a_part_is_known(c, path))
		return;
	rows = realloc(c->rows, (c->n + 1) * sizeof(*rows));
	if (rows == NULL)
		return;
	c->rows = rows;
	value_text(d->row, d->old, d->old_scalar, old);
	value_text(d->row, d->new, d->new_scalar, new);
	one = &rows[c->n];
	*one = (struct config_change){strdup(path), strdup(old), strdup(new)};
	if (one->key != NULL && one->old != NULL && one->new != NULL)
		c->n++;
	else
		change_fini(one);
}

void config_changes(const struct config *running, const struct config *next,
		    struct config_changes *out)
{
	const struct walk w = {list_change, out};

	walk_config(&w, running, next);
}

void config_changes_fini(struct config_changes *c)
{
	for (unsigned i = 0; i < c->n; i++)
		change_fini(&c->rows[i]);
	free(c->rows);
	*c = (struct config_changes){0};
}
