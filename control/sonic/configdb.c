// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/configdb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/terminal.h"

enum { JSON_DEPTH = 8, KEYS_SHOWN = 3, LINE_LEN = 1024, FIRST_ROOM = 64, MOST_MESSAGES = 4096 };

static void *grow_list_if_full(void *list, unsigned n, unsigned *room, size_t size)
{
	if (n < *room)
		return list;
	*room = *room == 0 ? FIRST_ROOM : 2 * *room;
	return allocated(realloc(list, *room * size));
}

static const char *copied(struct arena *a, const char *text)
{
	return text == NULL ? NULL : arena_text(a, text, strlen(text));
}

void sonic_set(struct sonic_config *c, const char *table, const char *key, const char *field,
	       const char *value)
{
	c->rows = grow_list_if_full(c->rows, c->n, &c->room, sizeof(*c->rows));
	c->rows[c->n++] = (struct sonic_row){
		.table = copied(&c->arena, table),
		.key = copied(&c->arena, key),
		.field = copied(&c->arena, field != NULL ? field : "NULL"),
		.value = copied(&c->arena, field != NULL ? value : "NULL"),
	};
	c->sorted = false;
}

void sonic_config_fini(struct sonic_config *c)
{
	free(c->rows);
	arena_fini(&c->arena);
	*c = (struct sonic_config){0};
}

// ---- order

static int field_order(const struct sonic_row *a, const struct sonic_row *b)
{
	int order = strcmp(a->table, b->table);

	if (order == 0)
		order = strverscmp(a->key, b->key);
	return order != 0 ? order : strverscmp(a->field, b->field);
}

// The rows of one field stay in the order in which they came.
static void merge_sort(struct sonic_row *rows, struct sonic_row *spare, unsigned n)
{
	unsigned half = n / 2, left = 0, right = half;

	if (n < 2)
		return;
	merge_sort(rows, spare, half);
	merge_sort(rows + half, spare, n - half);
	memcpy(spare, rows, n * sizeof(*rows));
	for (unsigned i = 0; i < n; i++) {
		bool from_left = left < half && (right == n ||
						 field_order(&spare[left], &spare[right]) <= 0);

		rows[i] = spare[from_left ? left++ : right++];
	}
}

void sonic_sort(struct sonic_config *c)
{
	struct sonic_row *spare;
	unsigned n = 0;

	if (c->sorted)
		return;
	spare = allocated(malloc((c->n + 1) * sizeof(*spare)));
	if (c->n > 1)
		merge_sort(c->rows, spare, c->n);
	free(spare);
	for (unsigned i = 0; i < c->n; i++) {
		bool again = n > 0 && field_order(&c->rows[n - 1], &c->rows[i]) == 0;

		c->rows[again ? n - 1 : n++] = c->rows[i];
	}
	c->n = n;
	c->sorted = true;
}

unsigned sonic_first(const struct sonic_config *c, const char *table, const char *key)
{
	unsigned from = 0, to = c->n;

	while (from < to) {
		unsigned middle = (from + to) / 2;
		int order = strcmp(c->rows[middle].table, table);

		if (order == 0 && key != NULL)
			order = strverscmp(c->rows[middle].key, key);
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool sonic_has_table(const struct sonic_config *c, const char *table)
{
	unsigned i = sonic_first(c, table, NULL);

	return i < c->n && strcmp(c->rows[i].table, table) == 0;
}

bool sonic_has_key(const struct sonic_config *c, const char *table, const char *key)
{
	unsigned i = sonic_first(c, table, key);

	return i < c->n && strcmp(c->rows[i].table, table) == 0 && strcmp(c->rows[i].key, key) == 0;
}

const char *sonic_get(const struct sonic_config *c, const char *table, const char *key,
		      const char *field)
{
	for (unsigned i = sonic_first(c, table, key);
	     i < c->n && strcmp(c->rows[i].table, table) == 0 && strcmp(c->rows[i].key, key) == 0;
	     i++)
		if (strcmp(c->rows[i].field, field) == 0)
			return c->rows[i].value;
	return NULL;
}

// ---- messages

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_but_key(const struct sonic_message *a, const struct sonic_message *b)
{
	return a->level == b->level && is_same_text(a->table, b->table) &&
	       is_same_text(a->field, b->field) && is_same_text(a->text, b->text);
}

void sonic_say(struct sonic_report *r, enum sonic_level level, const char *table, const char *key,
	       const char *field, const char *fmt, ...)
{
	char text[LINE_LEN];
	const struct sonic_message m = {level, table, key, field, text};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->n_errors += level == SONIC_ERROR;
	for (unsigned i = r->n; i-- > 0;)
		if (same_but_key(&r->messages[i], &m) && is_same_text(r->messages[i].key, key))
			return;
	if (r->n == MOST_MESSAGES) {
		r->n_left_out++;
		return;
	}
	r->messages = grow_list_if_full(r->messages, r->n, &r->room, sizeof(*r->messages));
	r->messages[r->n++] = (struct sonic_message){
		level, copied(&r->arena, table), copied(&r->arena, key), copied(&r->arena, field),
		copied(&r->arena, text)};
}

void sonic_report_fini(struct sonic_report *r)
{
	free(r->messages);
	arena_fini(&r->arena);
	*r = (struct sonic_report){0};
}

static void print_message(const struct sonic_report *r, unsigned first, FILE *out)
{
	static const char *const levels[] = {[SONIC_ERROR] = "error",
					     [SONIC_WARNING] = "warning",
					     [SONIC_NOTE] = "note",
					     [SONIC_IGNORED] = "ignored"};
	const struct sonic_message *m = &r->messages[first];
	bool has_field = m->field != NULL && strcmp(m->field, "NULL") != 0;
	unsigned n = 0;
	char line[2 * LINE_LEN];
	size_t len = (size_t)snprintf(line, sizeof(line), "%s:%s%s", levels[m->level],
				      m->table != NULL ? " " : "",
				      m->table != NULL ? m->table : "");

	for (unsigned i = first; i < r->n; i++) {
		if (r->messages[i].key == NULL || !same_but_key(m, &r->messages[i]))
			continue;
		if (n++ < KEYS_SHOWN && len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s",
						n == 1 ? "|" : ", ", r->messages[i].key);
	}
	if (n > KEYS_SHOWN && len < sizeof(line))
		len += (size_t)snprintf(line + len, sizeof(line) - len, " and %u more",
					n - KEYS_SHOWN);
	if (len < sizeof(line))
		snprintf(line + len, sizeof(line) - len, "%s%s%s %s", has_field ? " " : "",
			 has_field ? m->field : "", m->table != NULL ? ":" : "", m->text);
	text_mask(line, false);
	terminal_printf(out, "%s\n", line);
}

void sonic_report_print(const struct sonic_report *r, FILE *out)
{
	for (unsigned i = 0; i < r->n; i++) {
		bool printed = false;

		for (unsigned j = 0; j < i && !printed; j++)
			printed = same_but_key(&r->messages[j], &r->messages[i]);
		if (!printed)
			print_message(r, i, out);
	}
	if (r->n_left_out > 0)
		terminal_printf(out, "and %u more messages\n", r->n_left_out);
}

// ---- JSON in

// A scalar as CONFIG_DB stores it, or NULL.
static const char *scalar_text(struct json_object *v)
{
	switch (json_object_get_type(v)) {
	case json_type_string:
	case json_type_int:
	case json_type_boolean: return json_object_get_string(v);
	default: return NULL;
	}
}

// A text with a NUL inside would end early.
static bool is_text(struct json_object *v, const char *text)
{
	return text != NULL && (json_object_get_type(v) != json_type_string ||
				strlen(text) == (size_t)json_object_get_string_len(v));
}

static void read_list(struct sonic_config *c, const struct sonic_row *at, struct json_object *list,
		      struct sonic_report *r)
{
	char *field = arena_printf(&c->arena, "%s@", at->field), *value = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&value, &len);

	allocated(out);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *text = scalar_text(item);

		if (!is_text(item, text))
			sonic_say(r, SONIC_ERROR, at->table, at->key, at->field,
				  "the list holds a value that is no text");
		else
			fprintf(out, "%s%s", i == 0 ? "" : ",", text);
	}
	fclose(out);
	sonic_set(c, at->table, at->key, field, value);
	free(value);
}

static void read_fields(struct sonic_config *c, const char *table, const char *key,
			struct json_object *fields, struct sonic_report *r)
{
	unsigned n = 0;

	json_object_object_foreach (fields, field, value) {
		const struct sonic_row at = {table, key, field, NULL};
		const char *text = scalar_text(value);

		n++;
		if (json_object_get_type(value) == json_type_array)
			read_list(c, &at, value, r);
		else if (is_text(value, text))
			sonic_set(c, table, key, field, text);
		else
			sonic_say(r, SONIC_ERROR, table, key, field, "expected a text");
	}
	if (n == 0)
		sonic_set(c, table, key, NULL, NULL);
}

static void read_table(struct sonic_config *c, const char *table, struct json_object *keys,
		       struct sonic_report *r)
{
	if (json_object_get_type(keys) != json_type_object) {
		sonic_say(r, SONIC_ERROR, table, NULL, NULL, "expected keys with fields");
		return;
	}
	json_object_object_foreach (keys, key, fields) {
		if (json_object_get_type(fields) == json_type_object)
			read_fields(c, table, key, fields, r);
		else
			sonic_say(r, SONIC_ERROR, table, key, NULL, "expected fields");
	}
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(" \t\r\n", text[i]) == NULL)
			return false;
	return true;
}

int sonic_read_json(struct sonic_config *c, const char *name, const char *text, size_t len,
		    struct sonic_report *r)
{
	struct json_tokener *t = allocated(json_tokener_new_ex(JSON_DEPTH));
	struct json_object *root = json_tokener_parse_ex(t, text, (int)len);
	size_t end = json_tokener_get_parse_end(t);
	enum json_tokener_error err = json_tokener_get_error(t);
	unsigned errors = r->n_errors;

	if (err == json_tokener_continue) {
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL,
			  "%s: the file ends too early: is all of it there?", name);
	} else if (err != json_tokener_success) {
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s: no JSON at byte %zu: %s", name,
			  end, json_tokener_error_desc(err));
	} else if (json_object_get_type(root) != json_type_object) {
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s: expected tables", name);
	} else if (!is_blank(text + end, len - end)) {
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s: text after the tables: byte %zu",
			  name, end);
	} else {
		json_object_object_foreach (root, table, keys)
			read_table(c, table, keys, r);
	}
	json_object_put(root);
	json_tokener_free(t);
	return r->n_errors > errors ? -EINVAL : 0;
}

// ---- JSON out

static struct json_object *child(struct json_object *parent, const char *key)
{
	struct json_object *v = json_object_object_get(parent, key);

	if (v == NULL) {
		v = json_object_new_object();
		json_object_object_add(parent, key, v);
	}
	return v;
}

static struct json_object *json_list_of_words(const char *value)
{
	struct json_object *list = json_object_new_array();

	while (*value != '\0') {
		size_t len = strcspn(value, ",");

		json_object_array_add(list, json_object_new_string_len(value, (int)len));
		value += len + (value[len] != '\0');
	}
	return list;
}

void sonic_write_json(struct sonic_config *c, FILE *out)
{
	struct json_object *root = json_object_new_object();

	sonic_sort(c);
	for (unsigned i = 0; i < c->n; i++) {
		const struct sonic_row *row = &c->rows[i];
		struct json_object *fields = child(child(root, row->table), row->key);
		size_t len = strlen(row->field);

		if (len > 0 && row->field[len - 1] == '@')
			json_object_object_add(fields,
					       arena_text(&c->arena, row->field, len - 1),
					       json_list_of_words(row->value));
		else if (strcmp(row->field, "NULL") != 0)
			json_object_object_add(fields, row->field,
					       json_object_new_string(row->value));
	}
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}
