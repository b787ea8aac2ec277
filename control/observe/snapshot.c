// SPDX-License-Identifier: Apache-2.0
#include "control/observe/snapshot.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum { KEY_LEN = 128, TEXT_LEN = 128, PARAMS_LEN = 128 };

// ---- one row

// A word as it is; the words of a list with blanks between, as many as fit.
static char *text_copy(struct json_object *v)
{
	char out[TEXT_LEN] = "";
	size_t at = 0;

	if (!json_object_is_type(v, json_type_array)) {
		snprintf(out, sizeof(out), "%s", json_object_get_string(v));
		return strdup(out);
	}
	for (size_t i = 0; i < json_object_array_length(v) && at < sizeof(out); i++)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s", i > 0 ? " " : "",
				       json_object_get_string(json_object_array_get_idx(v, i)));
	return strdup(out);
}

static bool is_number(struct json_object *v)
{
	return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_boolean);
}

static void key_add(char key[KEY_LEN], struct json_object *v)
{
	size_t at = strlen(key);

	if (at > 0 && at + 1 < KEY_LEN)
		key[at++] = '_';
	for (const char *c = json_object_get_string(v); *c != '\0' && at + 1 < KEY_LEN; c++)
		key[at++] = (char)(isalnum((unsigned char)*c) ? *c : '_');
	key[at] = '\0';
}

static bool is_port(const struct fact *f)
{
	return strcmp(fact_label(f), "port") == 0;
}

static bool cell_fill(struct snapshot_cell *c, const struct fact *f, struct json_object *v)
{
	*c = (struct snapshot_cell){.key = f->key};
	if (is_number(v))
		c->n = json_object_get_uint64(v);
	else
		c->text = text_copy(v);
	return is_number(v) || c->text != NULL;
}

static bool row_fill(struct snapshot_row *row, const struct fact_list *facts,
		     struct json_object *from)
{
	char key[KEY_LEN] = "";

	row->cells = calloc(facts->n, sizeof(row->cells[0]));
	if (row->cells == NULL)
		return false;
	for (size_t i = 0; i < facts->n; i++) {
		const struct fact *f = &facts->rows[i];
		struct json_object *v;

		if (!json_object_object_get_ex(from, f->key, &v) || v == NULL)
			continue;
		if (f->kind == FACT_ID)
			key_add(key, v);
		if (is_port(f) && row->port == NULL &&
		    (row->port = strdup(json_object_get_string(v))) == NULL)
			return false;
		if (!cell_fill(&row->cells[row->n_cells++], f, v))
			return false;
	}
	row->key = strdup(key);
	return row->key != NULL;
}

bool snapshot_add(struct snapshot_list *list, const struct fact_list *facts,
		  struct json_object *rows)
{
	size_t n = facts->single ? 1 : json_object_array_length(rows);

	list->facts = facts;
	list->rows = calloc(n, sizeof(list->rows[0]));
	if (list->rows == NULL)
		return n == 0;
	for (size_t i = 0; i < n; i++) {
		list->n_rows++;
		if (!row_fill(&list->rows[i], facts,
			      facts->single ? rows : json_object_array_get_idx(rows, i)))
			return false;
	}
	return true;
}

// ---- all of them

static bool add_list(struct snapshot *s, struct observe *o, unsigned i, uint64_t now_ns)
{
	const struct fact_list *facts = &fact_lists[i];
	struct json_object *data = observe_show(o, facts->what, OBSERVE_ALL_PORTS, now_ns), *rows;
	bool ok = !json_object_object_get_ex(data, facts->list, &rows) ||
		  snapshot_add(&s->lists[i], facts, rows);

	json_object_put(data);
	return ok;
}

static bool add_ports(struct snapshot *s, const struct policy *p)
{
	s->ports = calloc(p->n_ports, sizeof(s->ports[0]));
	if (s->ports == NULL)
		return false;
	for (; s->n_ports < p->n_ports; s->n_ports++) {
		s->ports[s->n_ports] = strdup(p->ports[s->n_ports].name);
		if (s->ports[s->n_ports] == NULL)
			return false;
	}
	return true;
}

struct snapshot *snapshot_take(struct observe *o, uint64_t now_ns)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	bool ok = s != NULL && add_ports(s, switch_policy(observe_switch(o)));

	for (unsigned i = 0; ok && i < N_FACT_LISTS; i++)
		if (fact_lists[i].prefix != NULL)
			ok = add_list(s, o, i, now_ns);
	if (ok)
		return s;
	snapshot_free(s);
	return NULL;
}

static void row_free(struct snapshot_row *row)
{
	for (unsigned i = 0; i < row->n_cells; i++)
		free(row->cells[i].text);
	free(row->cells);
	free(row->key);
	free(row->port);
}

void snapshot_free(struct snapshot *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		for (unsigned k = 0; k < s->lists[i].n_rows; k++)
			row_free(&s->lists[i].rows[k]);
		free(s->lists[i].rows);
	}
	for (unsigned i = 0; i < s->n_ports; i++)
		free(s->ports[i]);
	free(s->ports);
	free(s);
}

// ---- pages

bool snapshot_matches(const struct snapshot_row *row, const struct snapshot_page *page)
{
	return page->port == NULL || (row->port != NULL && strcmp(row->port, page->port) == 0);
}

// Bytes of `"key": {"a": 1, "b": "text"}, `; each byte of a text may be escaped.
static size_t json_bytes(const struct snapshot_row *row)
{
	size_t n = strlen(row->key) + 8;

	for (unsigned i = 0; i < row->n_cells; i++) {
		const struct snapshot_cell *c = &row->cells[i];

		n += strlen(c->key) + 6;
		if (c->text != NULL)
			n += 2 * strlen(c->text) + 2;
		else
			n += (size_t)snprintf(NULL, 0, "%" PRIu64, c->n);
	}
	return n;
}

static const char *port_named(const struct snapshot *s, const char *name)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		if (strcmp(s->ports[i], name) == 0)
			return s->ports[i];
	return NULL;
}

static bool page_number(const char *text, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0' || n == 0 || n > 1000000)
		return false;
	*out = (unsigned)n;
	return true;
}

// A port may have a number for a name: in front it is the port.
static bool parse_params(const struct snapshot *s, const char *params, struct snapshot_page *out,
			 const char **why)
{
	char text[PARAMS_LEN], *at = text, *word;

	if (params == NULL)
		return true;
	snprintf(text, sizeof(text), "%s", params);
	word = strsep(&at, ",");
	out->port = port_named(s, word);
	if (out->port != NULL)
		word = strsep(&at, ",");
	if (word == NULL || (word[0] == '\0' && at == NULL))
		return true;
	*why = "the parameters are a port, a page from 1, or both: p1,2";
	return at == NULL && page_number(word, &out->page);
}

bool snapshot_page(const struct snapshot *s, const struct snapshot_list *list, const char *params,
		   unsigned max_rows, size_t max_bytes, struct snapshot_page *out, const char **why)
{
	struct snapshot_page p = {.page = 1, .n_pages = 1};
	unsigned in_page = 0;
	size_t bytes = 0;

	if (!parse_params(s, params, &p, why))
		return false;
	p.last = list->n_rows;
	for (unsigned i = 0; i < list->n_rows; i++) {
		size_t n = json_bytes(&list->rows[i]);

		if (!snapshot_matches(&list->rows[i], &p))
			continue;
		if (in_page > 0 && (in_page == max_rows || bytes + n > max_bytes)) {
			if (p.n_pages == p.page)
				p.last = i;
			if (++p.n_pages == p.page)
				p.first = i;
			in_page = 0;
			bytes = 0;
		}
		in_page++;
		bytes += n;
	}
	*why = "there are not so many pages";
	if (p.page > p.n_pages)
		return false;
	*out = p;
	return true;
}
