// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/kept.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"
#include "control/sonic/model.h"

// Both have one length.
static const char keep_word[] = "#sonic keep ", name_word[] = "#sonic name ";
static const char all_ports[] = "@*";

// ---- text of a line: blanks, control characters and the signs of the line as %XX

static bool is_plain_char(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '%' && c != '=' && c != '@';
}

// A comma of a key is between ports.
static void put_escaped(FILE *out, const char *text, bool key)
{
	for (; *text != '\0'; text++)
		if (is_plain_char((unsigned char)*text) && !(key && *text == ','))
			fputc(*text, out);
		else
			fprintf(out, "%%%02x", (unsigned char)*text);
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

static const char *unescaped(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_text(a, text, len), *to = copy;

	for (size_t i = 0; i < len; i++) {
		bool code = text[i] == '%' && i + 2 < len &&
			    isxdigit((unsigned char)text[i + 1]) &&
			    isxdigit((unsigned char)text[i + 2]);

		*to++ = code ? (char)(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
		i += code ? 2 : 0;
	}
	*to = '\0';
	return copy;
}

// ---- writing

// The rows of one key with one state.
struct entry {
	const char *table, *rest, *text; // rest: of the key behind the port; the key if no port
	int port; // -1: none
	bool name;
};

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = x->name - y->name;

	if (order == 0)
		order = strcmp(x->table, y->table);
	if (order == 0)
		order = strverscmp(x->rest, y->rest);
	if (order == 0)
		order = strcmp(x->text, y->text);
	return order != 0 ? order : x->port - y->port;
}

static int port_named_in_key(const struct sonic_model *m, const struct sonic_row *row, size_t len)
{
	for (unsigned i = 0; sonic_key_has_port(row->table) && i < m->n_ports; i++)
		if (strlen(m->ports[i].name) == len &&
		    memcmp(m->ports[i].name, row->key, len) == 0)
			return (int)i;
	return -1;
}

static const char *fields_text(struct arena *a, const struct sonic_row *rows, const uint8_t *state,
			       unsigned n, enum sonic_row_state wanted)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = allocated(open_memstream(&text, &len));
	const char *copy;

	for (unsigned i = 0; i < n; i++)
		if ((state == NULL ? ROW_KEPT : state[i]) == wanted) {
			fputc(' ', out);
			put_escaped(out, rows[i].field, false);
			fputc('=', out);
			put_escaped(out, rows[i].value, false);
		}
	fclose(out);
	copy = arena_text(a, text, len);
	free(text);
	return copy;
}

static unsigned add_entries(struct arena *a, const struct sonic_model *m,
			    const struct sonic_config *c, const uint8_t *state, struct entry *out)
{
	unsigned n = 0, last;

	for (unsigned i = 0; i < c->n; i = last) {
		const struct sonic_row *row = &c->rows[i];
		const char *bar = strchr(row->key, '|');
		size_t len = bar != NULL ? (size_t)(bar - row->key) : strlen(row->key);
		int port = port_named_in_key(m, row, len);

		for (last = i + 1; last < c->n && strcmp(c->rows[last].table, row->table) == 0 &&
				   strcmp(c->rows[last].key, row->key) == 0;)
			last++;
		for (enum sonic_row_state s = ROW_KEPT; s <= ROW_NAMED; s++) {
			const char *text =
				fields_text(a, row, state == NULL ? NULL : state + i, last - i, s);

			if (*text != '\0')
				out[n++] = (struct entry){row->table,
							  port < 0 ? row->key : row->key + len,
							  text, port, s == ROW_NAMED};
		}
	}
	return n;
}

// "@*", "@PROFILE" where all of its ports are there, else names.
static void put_ports(const struct sonic_model *m, const struct entry *e, unsigned n, FILE *out)
{
	unsigned *count = allocated(calloc(m->n_profiles + 1, sizeof(*count)));
	const char *comma = "";

	for (unsigned i = 0; i < n; i++)
		count[m->ports[e[i].port].profile]++;
	if (n == m->n_ports)
		fputs(all_ports, out);
	for (unsigned i = 0; n < m->n_ports && i < m->n_profiles; i++)
		if (count[i] == m->profiles[i].n_ports) {
			fprintf(out, "%s@%s", comma, m->profiles[i].name);
			comma = ",";
		}
	for (unsigned i = 0; n < m->n_ports && i < n; i++) {
		const struct sonic_port *p = &m->ports[e[i].port];

		if (count[p->profile] == m->profiles[p->profile].n_ports)
			continue;
		fprintf(out, "%s%s", comma, p->name);
		comma = ",";
	}
	free(count);
}

static bool same_entry(const struct entry *a, const struct entry *b)
{
	return a->name == b->name && a->port >= 0 && b->port >= 0 &&
	       strcmp(a->table, b->table) == 0 && strcmp(a->rest, b->rest) == 0 &&
	       strcmp(a->text, b->text) == 0;
}

// A line: rows of one text, with their ports written out.
struct line {
	const char *table, *ports, *rest, *text;
	bool name, done;
};

static unsigned make_lines(struct arena *a, const struct sonic_model *m, const struct entry *list,
			   unsigned n, struct line *out)
{
	unsigned n_lines = 0, last;

	for (unsigned i = 0; i < n; i = last) {
		const struct entry *e = &list[i];
		char *ports = NULL;
		size_t len = 0;
		FILE *f = allocated(open_memstream(&ports, &len));

		for (last = i + 1; last < n && same_entry(e, &list[last]);)
			last++;
		if (e->port >= 0)
			put_ports(m, e, last - i, f);
		fclose(f);
		out[n_lines++] = (struct line){.table = e->table,
					       .ports = arena_text(a, ports, len),
					       .rest = e->rest,
					       .text = e->text,
					       .name = e->name};
		free(ports);
	}
	return n_lines;
}

static bool is_numbered(const struct line *l)
{
	return sonic_key_has_number(l->table) && l->ports[0] != '\0' && l->rest[0] == '|' &&
	       isdigit((unsigned char)l->rest[1]);
}

// Lines that differ in their number alone become one: "0-2,5".
static void put_numbers(struct line *lines, unsigned first, unsigned n, FILE *out)
{
	const struct line *l = &lines[first];
	int from = -1, to = -1;
	const char *lead = "|";

	for (unsigned i = first; i <= n; i++) {
		bool alike = i < n && l->name == lines[i].name && is_numbered(&lines[i]) &&
			     strcmp(l->table, lines[i].table) == 0 &&
			     strcmp(l->ports, lines[i].ports) == 0 &&
			     strcmp(l->text, lines[i].text) == 0;
		int number = alike ? atoi(lines[i].rest + 1) : -1;

		if ((alike && from >= 0 && number == to + 1) || (!alike && i < n)) {
			to = alike ? number : to;
		} else {
			if (from >= 0)
				fprintf(out, from == to ? "%s%d" : "%s%d-%d", lead, from, to);
			lead = from >= 0 ? "," : lead;
			from = to = number;
		}
		if (alike)
			lines[i].done = true;
	}
}

void kept_write(const struct import *im, FILE *out)
{
	struct arena a = {0};
	struct sonic_config marks = im->marks;
	struct entry *list;
	struct line *lines;
	unsigned n;

	sonic_sort(&marks);
	list = allocated(calloc(2 * (im->c.n + marks.n) + 1, sizeof(*list)));
	n = add_entries(&a, &im->m, &im->c, im->state, list);
	n += add_entries(&a, &im->m, &marks, NULL, list + n);
	qsort(list, n, sizeof(*list), entry_order);
	lines = allocated(calloc(n + 1, sizeof(*lines)));
	n = make_lines(&a, &im->m, list, n, lines);
	if (n > 0)
		fputs("\n# For `weirctl export sonic`: names, and values that have no effect here. "
		      "@P: the ports of\n# profile P.\n",
		      out);
	for (unsigned i = 0; i < n; i++) {
		if (lines[i].done)
			continue;
		fprintf(out, "%s%s|%s", lines[i].name ? name_word : keep_word, lines[i].table,
			lines[i].ports);
		if (is_numbered(&lines[i]))
			put_numbers(lines, i, n, out);
		else
			put_escaped(out, lines[i].rest, true);
		fprintf(out, "%s\n", lines[i].text);
	}
	free(lines);
	free(list);
	arena_fini(&a);
}

// ---- reading

// Adds a key of a line, its ports expanded, with one field.
static void add_kept_row(const struct config *c, struct sonic_config *to, struct sonic_row row)
{
	const char *bar = strchr(row.key, '|'), *rest = bar != NULL ? bar : "";
	size_t len = bar != NULL ? (size_t)(bar - row.key) : strlen(row.key), at = 0;

	do {
		size_t n = strcspn(row.key + at, ",|");
		const char *word = row.key + at;
		bool all = n == strlen(all_ports) && memcmp(word, all_ports, n) == 0;

		if (n > 0 && *word != '@')
			sonic_set(to, row.table,
				  arena_printf(&to->arena, "%s%s",
					       unescaped(&to->arena, word, n),
					       unescaped(&to->arena, rest, strlen(rest))),
				  row.field, row.value);
		for (unsigned i = 0; *word == '@' && i < c->n_ports; i++) {
			const char *profile = c->ports[i].profile->map.name;

			if (!all && (strlen(profile) != n - 1 ||
				     memcmp(profile, word + 1, n - 1) != 0))
				continue;
			sonic_set(to, row.table,
				  arena_printf(&to->arena, "%s%s", c->ports[i].name,
					       unescaped(&to->arena, rest, strlen(rest))),
				  row.field, row.value);
		}
		at += n + 1;
	} while (at <= len);
}

// "TABLE|KEY FIELD=VALUE FIELD=VALUE". False: it is no such line.
static bool read_line(const struct config *c, const char *line, size_t len,
		      struct sonic_config *to)
{
	struct arena *a = &to->arena;
	const char *bar = memchr(line, '|', len), *end = line + len;
	const char *blank = memchr(line, ' ', len);
	struct sonic_row row;

	if (bar == NULL || blank == NULL || blank < bar)
		return false;
	row.table = arena_text(a, line, (size_t)(bar - line));
	row.key = arena_text(a, bar + 1, (size_t)(blank - bar - 1));
	while (blank < end) {
		const char *field = blank + 1, *next = memchr(field, ' ', (size_t)(end - field));
		const char *equal;

		if (next == NULL)
			next = end;
		equal = memchr(field, '=', (size_t)(next - field));
		if (equal == NULL)
			return false;
		row.field = unescaped(a, field, (size_t)(equal - field));
		row.value = unescaped(a, equal + 1, (size_t)(next - equal - 1));
		add_kept_row(c, to, row);
		blank = next;
	}
	return true;
}

void kept_read(const struct config *c, const char *text, struct sonic_config *keep,
	       struct sonic_config *name, struct sonic_report *r)
{
	struct sonic_config raw[2] = {{.n = 0}, {.n = 0}};
	unsigned line = 1;

	for (; *text != '\0'; line++) {
		size_t len = strcspn(text, "\n"), word = strlen(keep_word);
		bool is_keep = strncmp(text, keep_word, word) == 0;
		bool is_name = strncmp(text, name_word, word) == 0;

		if ((is_keep || is_name) &&
		    !read_line(c, text + word, len - word, &raw[is_name]))
			sonic_say(r, SONIC_ERROR, NULL, NULL, NULL,
				  "line %u: expected %sTABLE|KEY FIELD=VALUE", line,
				  is_name ? name_word : keep_word);
		text += len + (text[len] != '\0');
	}
	sonic_expand(&raw[0], keep, r);
	sonic_expand(&raw[1], name, r);
	sonic_config_fini(&raw[0]);
	sonic_config_fini(&raw[1]);
}
