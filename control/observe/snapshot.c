// SPDX-License-Identifier: Apache-2.0
#include "control/observe/snapshot.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum { PARAMS_LEN = 128 };

// To make the text of a number, json-c writes into the number. So numbers that are shown as text
// become texts before other threads see them.
static void make_texts(const struct fact_list *facts, struct json_object *row)
{
	for (size_t i = 0; i < facts->n; i++) {
		struct json_object *v = json_object_object_get(row, facts->rows[i].key);

		if (json_object_is_type(v, json_type_double))
			row_text(row, facts->rows[i].key, json_object_get_string(v));
	}
}

static unsigned n_rows(const struct snapshot *s, unsigned list)
{
	if (s->lists[list] == NULL)
		return 0;
	return fact_lists[list].single ? 1 : (unsigned)json_object_array_length(s->lists[list]);
}

struct json_object *snapshot_row(const struct snapshot *s, unsigned list, unsigned i)
{
	return fact_lists[list].single ? s->lists[list]
				       : json_object_array_get_idx(s->lists[list], i);
}

struct snapshot *snapshot_take(struct observe *o, uint64_t now_ns)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	for (unsigned list = 0; s != NULL && list < N_FACT_LISTS; list++) {
		const struct fact_list *facts = &fact_lists[list];
		struct json_object *data, *rows;

		if (facts->prefix == NULL)
			continue;
		data = observe_show(o, facts->what, OBSERVE_ALL_PORTS, now_ns);
		if (json_object_object_get_ex(data, facts->list, &rows))
			s->lists[list] = json_object_get(rows);
		json_object_put(data);
		for (unsigned i = 0; i < n_rows(s, list); i++)
			make_texts(facts, snapshot_row(s, list, i));
	}
	return s;
}

void snapshot_free(struct snapshot *s)
{
	for (unsigned list = 0; s != NULL && list < N_FACT_LISTS; list++)
		json_object_put(s->lists[list]);
	free(s);
}

// ---- one row

bool snapshot_value(const struct fact *f, struct json_object *row, uint64_t *n,
		    char text[SNAPSHOT_TEXT_LEN], bool *is_text)
{
	struct json_object *v = json_object_object_get(row, f->key);
	size_t at = 0;

	if (v == NULL)
		return false;
	*is_text = json_object_is_type(v, json_type_string) ||
		   json_object_is_type(v, json_type_array);
	*n = *is_text ? 0 : json_object_get_uint64(v);
	text[0] = '\0';
	if (json_object_is_type(v, json_type_string))
		snprintf(text, SNAPSHOT_TEXT_LEN, "%s", json_object_get_string(v));
	// The words of a list with blanks between, as many as fit.
	for (size_t i = 0; json_object_is_type(v, json_type_array) &&
			   i < json_object_array_length(v) && at < SNAPSHOT_TEXT_LEN; i++)
		at += (size_t)snprintf(text + at, SNAPSHOT_TEXT_LEN - at, "%s%s", i > 0 ? " " : "",
				       json_object_get_string(json_object_array_get_idx(v, i)));
	return true;
}

void snapshot_key(unsigned list, struct json_object *row, char key[SNAPSHOT_KEY_LEN])
{
	const struct fact_list *facts = &fact_lists[list];
	char text[SNAPSHOT_TEXT_LEN];
	size_t at = 0;
	uint64_t n;
	bool is_text;

	for (size_t i = 0; i < facts->n; i++) {
		if (facts->rows[i].kind != FACT_ID ||
		    !snapshot_value(&facts->rows[i], row, &n, text, &is_text))
			continue;
		if (!is_text)
			snprintf(text, sizeof(text), "%" PRIu64, n);
		if (at > 0 && at + 1 < SNAPSHOT_KEY_LEN)
			key[at++] = '_';
		for (const char *c = text; *c != '\0' && at + 1 < SNAPSHOT_KEY_LEN; c++)
			key[at++] = (char)(isalnum((unsigned char)*c) ? *c : '_');
	}
	key[at] = '\0';
}

bool snapshot_matches(unsigned list, struct json_object *row, const struct snapshot_page *page)
{
	const struct fact_list *facts = &fact_lists[list];

	for (size_t i = 0; page->port != NULL && i < facts->n; i++) {
		struct json_object *v = json_object_object_get(row, facts->rows[i].key);

		if (strcmp(fact_label(&facts->rows[i]), "port") == 0 && v != NULL)
			return strcmp(json_object_get_string(v), page->port) == 0;
	}
	return page->port == NULL;
}

// ---- pages

// Bytes of `"key": {"a": 1, "b": "text"}, `; each byte of a text may be escaped.
static size_t json_bytes(unsigned list, struct json_object *row)
{
	const struct fact_list *facts = &fact_lists[list];
	char text[SNAPSHOT_TEXT_LEN];
	size_t bytes;
	uint64_t n;
	bool is_text;

	snapshot_key(list, row, text);
	bytes = strlen(text) + 8;
	for (size_t i = 0; i < facts->n; i++)
		if (snapshot_value(&facts->rows[i], row, &n, text, &is_text))
			bytes += strlen(facts->rows[i].key) + 6 +
				 (is_text ? 2 * strlen(text) + 2
					  : (size_t)snprintf(NULL, 0, "%" PRIu64, n));
	return bytes;
}

static const char *port_named(const struct snapshot *s, const char *name)
{
	for (unsigned i = 0; i < n_rows(s, FACTS_PORTS); i++) {
		const char *port = json_object_get_string(json_object_object_get(
			snapshot_row(s, FACTS_PORTS, i), KEY(PORTS, name)));

		if (strcmp(port, name) == 0)
			return port;
	}
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

bool snapshot_page(const struct snapshot *s, unsigned list, const char *params, unsigned max_rows,
		   size_t max_bytes, struct snapshot_page *out, const char **why)
{
	struct snapshot_page p = {.page = 1, .n_pages = 1};
	unsigned in_page = 0;
	size_t bytes = 0;

	if (!parse_params(s, params, &p, why))
		return false;
	p.last = n_rows(s, list);
	for (unsigned i = 0; i < n_rows(s, list); i++) {
		struct json_object *row = snapshot_row(s, list, i);
		size_t n = json_bytes(list, row);

		if (!snapshot_matches(list, row, &p))
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
