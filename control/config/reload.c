// SPDX-License-Identifier: Apache-2.0
// The differences of a new file from the running one, and the differences that a running switch
// cannot apply: rows with CFG_RESTART. One walk over the schema finds every difference. Two callers
// use it: the refusal and the list of changes.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/config.h"

enum { VALUE_TEXT_LEN = 96 };

struct difference {
	const struct cfg_row *row;
	const char *path;
	struct cfg_pos at; // in the new file
	bool value; // its value differs, and not only whether it was given
	// The row's member in both files; NULL where a table has no such entry.
	const void *old, *new;
	const void *old_scalar, *new_scalar; // likewise of row->scalar
	const char *dflt; // in place of the row's own, or NULL
};

typedef void on_change(void *arg, const struct difference *d);

struct walk {
	on_change *fn;
	void *arg;
	const char *dflt; // of all rows, in place of their own, or NULL
};

__attribute__((format(printf, 2, 3))) static void print_key_path(char out[PATH_LEN],
								 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out, PATH_LEN, fmt, ap);
	va_end(ap);
}

// ---- one value
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

static bool given(const struct cfg_row *row, const void *value)
{
	return row->type <= CFG_LINE ? ((const struct cfg_val *)value)->given
				     : ((const struct cfg_map *)value)->given;
}

static const void *member(const void *base, const struct cfg_row *row)
{
	return (const char *)base + row->off;
}

// The place of the value, or of the map that has no such key.
static struct cfg_pos pos_of(const struct cfg_row *row, const void *base)
{
	const struct cfg_row *of = row;

	if (row->scalar != NULL && given(row->scalar, member(base, row->scalar)))
		of = row->scalar;
	if (row->type == CFG_CLASSES || !given(of, member(base, of)))
		return ((const struct cfg_map *)base)->at;
	return of->type <= CFG_LINE ? ((const struct cfg_val *)member(base, of))->at
				    : ((const struct cfg_map *)member(base, of))->at;
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
		w->fn(w->arg, &(struct difference){.row = row,
						   .path = path,
						   .at = b->map.at,
						   .value = true,
						   .old = a,
						   .new = b});
	for (unsigned i = 0; i < a->n && i < b->n; i++) {
		char sub[PATH_LEN];

		print_key_path(sub, "%s[%u]", path, i);
		walk_map(w, row->sub, (const char *)a->items + i * size,
			 (const char *)b->items + i * size, sub);
	}
}

// Entries of one table by name. gone: the walk from the old file reports only removed entries.
static void walk_entries(const struct walk *w, const struct cfg_row *row,
			 const struct cfg_list *from, const struct cfg_list *in, bool gone,
			 const char *path)
{
	for (unsigned i = 0; i < from->n; i++) {
		const char *item = (const char *)from->items + i * row->sub->size;
		const struct cfg_map *m = (const void *)item;
		const void *other = cfg_entry_named(in, row->sub, m->name);
		char sub[PATH_LEN];

		print_key_path(sub, "%s.%s", path, m->name);
		if (other == NULL)
			w->fn(w->arg, &(struct difference){.row = row,
							   .path = sub,
							   .at = gone ? in->map.at : m->at,
							   .value = true,
							   .old = gone ? item : NULL,
							   .new = gone ? NULL : item});
		else if (!gone)
			walk_map(w, row->sub, other, item, sub);
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
	case CFG_CLASSES:
		for (unsigned c = 0; c < CFG_N_CLASSES; c++) {
			char sub[PATH_LEN];

			print_key_path(sub, "%s.%u", path, c);
			walk_map(w, row->sub, (const char *)a + c * row->sub->size,
				 (const char *)b + c * row->sub->size, sub);
		}
		break;
	case CFG_LIST:
		walk_items(w, row, a, b, path);
		break;
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
		w->fn(w->arg, &(struct difference){row, path, pos_of(row, new), value, a, b, sa, sb,
						   w->dflt});
}

static void walk_map(const struct walk *w, const struct cfg_schema *schema, const void *old,
		     const void *new, const char *path)
{
	const struct walk below = {w->fn, w->arg,
				   schema->dflt_text != NULL ? schema->dflt_text : w->dflt};

	for (unsigned i = 0; i < schema->n; i++) {
		const struct cfg_row *row = &schema->rows[i];
		char sub[PATH_LEN];

		print_key_path(sub, "%s%s%s", path, *path == '\0' ? "" : ".", row->key);
		// Ports are compared one by one, after their ranges were expanded: see walk_config.
		if (schema != &cfg_root_schema || row->off != offsetof(struct cfg_root, ports))
			walk_row(&below, row, old, new, sub);
	}
}

static void walk_config(const struct walk *w, const struct config *old, const struct config *new)
{
	const struct cfg_row *ports = cfg_root_schema.rows;

	walk_map(w, &cfg_root_schema, &old->root, &new->root, "");
	while (ports->off != offsetof(struct cfg_root, ports))
		ports++;
	for (unsigned i = 0; i < old->n_ports && i < new->n_ports; i++)
		walk_map(w, ports->sub, old->ports[i].item, new->ports[i].item,
			 new->ports[i].item->map.path);
}

// ---- changes that need a restart
static const char restart[] = "changes only by a restart";

// Names and devices are compared by check_names: with their defaults and ranges expanded.
static void refuse_restart(void *arg, const struct difference *d)
{
	const struct cfg_row *row = d->row;

	if (row->reload == CFG_RESTART && d->value && row->type != CFG_TEXT &&
	    row->type != CFG_NAME)
		diag_add(arg, DIAG_ERROR, d->at, d->path, "%s", restart);
}

static void check_names(const struct config *old, const struct config *new, struct diag_sink *s)
{
	if (strcmp(config_name(old), config_name(new)) != 0)
		diag_add(s, DIAG_ERROR,
			 new->root.sw.name.given ? new->root.sw.name.at : new->root.sw.map.at,
			 "switch.name", "%s", restart);
	if (old->n_ports != new->n_ports)
		REFUSE(s, &new->root.ports.map,
		       "the switch has %u ports and the file has %u: only a restart adds or "
		       "removes ports",
		       old->n_ports, new->n_ports);
	for (unsigned i = 0; i < old->n_ports && i < new->n_ports; i++) {
		const struct config_port *a = &old->ports[i], *b = &new->ports[i];
		int was = cfg_find_port(old, b->name);

		if (strcmp(a->name, b->name) != 0 && was >= 0)
			REFUSE(s, &b->item->name,
			       "%s is port %u here and port %d of the running switch: the order of "
			       "ports changes only by a restart",
			       b->name, i + 1, was + 1);
		else if (strcmp(a->name, b->name) != 0)
			REFUSE(s, &b->item->name, "%s", restart);
		else if (strcmp(a->device, b->device) != 0)
			REFUSE(s, &b->item->device, "%s", restart);
	}
}

int config_check_reload(const struct config *running, const struct config *next, struct diags *d)
{
	struct diag_sink s = {.file = next->file};
	const struct walk w = {.fn = refuse_restart, .arg = &s};
	bool ok;

	check_names(running, next, &s);
	walk_config(&w, running, next);
	ok = s.n_errors == 0;
	diag_finish(&s, d);
	return ok ? 0 : -EINVAL;
}

// ---- a value as the file could have it: "60KB", "1/8", "[20, 30-39]", "{26: 3}"
__attribute__((format(printf, 2, 3))) static void append_value_text(char out[VALUE_TEXT_LEN],
								    const char *fmt, ...)
{
	static const char cut[] = "...";
	size_t at = strlen(out);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + at, VALUE_TEXT_LEN - at, fmt, ap);
	va_end(ap);
	if (n >= 0 && at + (size_t)n >= VALUE_TEXT_LEN)
		strcpy(out + VALUE_TEXT_LEN - sizeof(cut), cut);
}

static void add_scalar(const struct cfg_row *row, const struct cfg_val *v, char out[VALUE_TEXT_LEN])
{
	char alpha[8];

	switch (row->type) {
	case CFG_NUMBER:
		if (row->word != NULL && v->n == CFG_WORD_VALUE)
			append_value_text(out, "%s", row->word);
		else
			append_value_text(out, "%s",
					  UNIT_TEXT(v->percent ? UNIT_PERCENT : row->unit, v->n));
		break;
	case CFG_WORD:
		append_value_text(out, "%s", row->words[v->n]);
		break;
	case CFG_SWITCH:
		append_value_text(out, "%s", v->n ? "on" : "off");
		break;
	case CFG_ALPHA:
		unit_print_alpha((int)v->n, alpha, sizeof(alpha));
		append_value_text(out, "%s", alpha);
		break;
	default:
		append_value_text(out, "%s", v->text != NULL ? v->text : "none");
		break;
	}
}

// "[20, 30-39]"
static void add_set(const struct cfg_set *s, char out[VALUE_TEXT_LEN])
{
	const char *lead = "[";

	for (unsigned i = 0; i < CFG_SET_BITS; i++) {
		unsigned last = i;

		if (!cfg_set_has(s, i))
			continue;
		while (last + 1 < CFG_SET_BITS && cfg_set_has(s, last + 1))
			last++;
		append_value_text(out, last > i ? "%s%u-%u" : "%s%u", lead, i, last);
		lead = ", ";
		i = last;
	}
	append_value_text(out, "%s]", *lead == '[' ? "[" : "");
}

// "{0-7: 0, 26: 3}"
static void add_lookup(const struct cfg_row *row, const struct cfg_lookup *l,
		       char out[VALUE_TEXT_LEN])
{
	const char *lead = "{";

	for (unsigned i = 0; i < row->n_keys; i++) {
		unsigned last = i;

		if (!(l->set >> i & 1))
			continue;
		while (last + 1 < row->n_keys && (l->set >> (last + 1) & 1) != 0 &&
		       l->v[i] == l->v[last + 1])
			last++;
		append_value_text(out, last > i ? "%s%u-%u: " : "%s%u: ", lead, i, last);
		if (row->words != NULL)
			append_value_text(out, "%s", row->words[l->v[i]]);
		else
			append_value_text(out, "%u", l->v[i]);
		lead = ", ";
		i = last;
	}
	append_value_text(out, "%s}", *lead == '{' ? "{" : "");
}

static void add_words(const struct cfg_row *row, const struct cfg_words *w,
		      char out[VALUE_TEXT_LEN])
{
	append_value_text(out, "[");
	for (unsigned i = 0; i < w->n; i++) {
		const struct cfg_val *v = &w->items[i];

		append_value_text(out, "%s%s", i > 0 ? ", " : "",
				  v->text != NULL      ? v->text
				  : row->words != NULL ? row->words[v->n]
						       : "?");
	}
	append_value_text(out, "]");
}

static void add_given(const struct cfg_row *row, const void *value, char out[VALUE_TEXT_LEN])
{
	switch (row->type) {
	case CFG_SET:
		add_set(value, out);
		break;
	case CFG_LOOKUP:
		add_lookup(row, value, out);
		break;
	case CFG_WORDS:
	case CFG_LINES:
		add_words(row, value, out);
		break;
	case CFG_LIST:
		append_value_text(out, "%u in the list", ((const struct cfg_list *)value)->n);
		break;
	case CFG_MAP:
	case CFG_CLASSES:
	case CFG_TABLE:
	case CFG_NODE:
		append_value_text(out, "given");
		break;
	default:
		add_scalar(row, value, out);
		break;
	}
}

// True where a key that may hold others has a value of its own, as in `schedule: strict`.
static bool is_scalar(const struct cfg_row *row, const void *scalar)
{
	return scalar != NULL && given(row->scalar, scalar);
}

// value: the member of the row, or NULL for an entry that is absent. scalar: the member of
// row->scalar, or NULL. dflt: in place of the default, or NULL. A longer text ends in "...".
static void value_text(const struct cfg_row *row, const void *value, const void *scalar,
		       const char *dflt, char out[VALUE_TEXT_LEN])
{
	char text[UNIT_TEXT_LEN];
	bool entries = row->type == CFG_LIST || row->type == CFG_TABLE || row->type == CFG_NODE;

	out[0] = '\0';
	if (value == NULL)
		append_value_text(out, "none");
	else if (is_scalar(row, scalar))
		add_given(row->scalar, scalar, out);
	else if (entries || given(row, value))
		add_given(row, value, out);
	else if (dflt != NULL || (dflt = schema_default(row, text)) != NULL)
		append_value_text(out, "default: %s", dflt);
	else
		append_value_text(out, "default: none");
}

// ---- the list of changes
// end: what follows the path, '\0' or '.'.
static bool is_listed(const struct config_changes *c, const char *path, char end)
{
	size_t n = strlen(path);

	for (unsigned i = 0; i < c->n; i++)
		if (strncmp(c->rows[i].key, path, n) == 0 && c->rows[i].key[n] == end)
			return true;
	return false;
}

// "ports[1] (b1).speed" without the name: programs read the list.
static void drop_name(const char *path, char out[PATH_LEN])
{
	const char *name = strstr(path, " ("), *end = strrchr(path, ')');

	if (name != NULL && end != NULL)
		print_key_path(out, "%.*s%s", (int)(name - path), path, end + 1);
	else
		print_key_path(out, "%s", path);
}

static void list_change(void *arg, const struct difference *d)
{
	struct config_changes *c = arg;
	char path[PATH_LEN], old[VALUE_TEXT_LEN], new[VALUE_TEXT_LEN];

	drop_name(d->path, path);
	if (is_listed(c, path, '\0')) // of another port of the same range
		return;
	// A listed part has more detail than the whole.
	if (!is_scalar(d->row, d->old_scalar) && !is_scalar(d->row, d->new_scalar) &&
	    is_listed(c, path, '.'))
		return;
	value_text(d->row, d->old, d->old_scalar, d->dflt, old);
	value_text(d->row, d->new, d->new_scalar, d->dflt, new);
	c->rows = allocated(realloc(c->rows, (c->n + 1) * sizeof(*c->rows)));
	c->rows[c->n++] = (struct config_change){allocated(strdup(path)), allocated(strdup(old)),
						 allocated(strdup(new))};
}

void config_changes(const struct config *running, const struct config *next,
		    struct config_changes *out)
{
	const struct walk w = {.fn = list_change, .arg = out};

	walk_config(&w, running, next);
}

void config_changes_fini(struct config_changes *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free(c->rows[i].key);
		free(c->rows[i].old);
		free(c->rows[i].new);
	}
	free(c->rows);
	*c = (struct config_changes){0};
}
