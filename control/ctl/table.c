// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/terminal.h"

enum {
	GAP = 2, // blanks between columns
	FOLD_LEAST = 20, // no narrower column is folded
	SCALED_LEN = 32, // of a number and its unit
};

static void format_count(char out[CELL_LEN], uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	int at = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
}

static void format_scaled(char out[SCALED_LEN], double v, const char *const *suffix, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && v >= 1000) {
		v /= 1000;
		i++;
	}
	snprintf(out, SCALED_LEN, "%.*f %s", i == 0 ? 0 : v < 10 ? 2 : 1, v, suffix[i]);
}

// The two largest units of a time.
static void format_uptime(char out[CELL_LEN], uint64_t s)
{
	static const struct {
		const char *big, *small;
		uint64_t big_s, small_s;
	} units[] = {{"d", "h", 86400, 3600}, {"h", "min", 3600, 60}, {"min", "s", 60, 1}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (s < units[i].big_s)
			continue;
		snprintf(out, CELL_LEN, "%" PRIu64 " %s %" PRIu64 " %s", s / units[i].big_s,
			 units[i].big, s % units[i].big_s / units[i].small_s, units[i].small);
		return;
	}
	snprintf(out, CELL_LEN, "%" PRIu64 " s", s);
}

static void format_list(char out[CELL_LEN], struct json_object *v)
{
	size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && at < CELL_LEN; i++)
		at += (size_t)snprintf(out + at, CELL_LEN - at, "%s%s", i > 0 ? " " : "",
				       json_object_get_string(json_object_array_get_idx(v, i)));
}

void cell_format(char out[CELL_LEN], enum cell_unit unit, struct json_object *v)
{
	static const char *const bytes[] = {"B", "KB", "MB", "GB", "TB", "PB"};
	static const char *const bps[] = {"b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s"};
	static const char *const ns[] = {"ns", "us", "ms", "s"};
	uint64_t n = json_object_get_uint64(v);
	bool yes = json_object_get_boolean(v);
	int64_t trend = json_object_get_int64(v);

	if (v == NULL) {
		strcpy(out, "-");
		return;
	}
	if (json_object_is_type(v, json_type_string))
		unit = CELL_TEXT;
	switch (unit) {
	case CELL_TEXT: snprintf(out, CELL_LEN, "%s", json_object_get_string(v)); break;
	case CELL_COUNT: format_count(out, n); break;
	case CELL_BYTES: format_scaled(out, (double)n, bytes, 6); break;
	case CELL_TREND:
		out[0] = trend < 0 ? '-' : '+';
		format_scaled(out + 1, (double)(trend < 0 ? -trend : trend), bytes, 6);
		break;
	case CELL_BPS: format_scaled(out, (double)n, bps, 5); break;
	case CELL_MS: format_scaled(out, (double)n, ns + 2, 2); break;
	case CELL_UPTIME: format_uptime(out, n / 1000); break;
	case CELL_US: format_scaled(out, (double)n, ns + 1, 3); break;
	case CELL_NS: format_scaled(out, (double)n, ns, 4); break;
	case CELL_S: format_scaled(out, (double)n, ns + 3, 1); break;
	case CELL_YES: strcpy(out, yes ? "yes" : "no"); break;
	case CELL_UP: strcpy(out, yes ? "up" : "down"); break;
	case CELL_ON: strcpy(out, yes ? "on" : "off"); break;
	case CELL_PERCENT:
		if (json_object_is_type(v, json_type_double))
			snprintf(out, CELL_LEN, "%g %%", json_object_get_double(v));
		else
			snprintf(out, CELL_LEN, "%" PRIu64 " %%", n);
		break;
	case CELL_HEX: snprintf(out, CELL_LEN, "0x%" PRIx64, n); break;
	case CELL_LIST: format_list(out, v); break;
	}
}

static void format_of(char out[CELL_LEN], const struct column *c, struct json_object *row)
{
	if (c->unit == CELL_UP && fact_yes(row, F_PORTS_no_device))
		strcpy(out, "no device");
	else
		cell_format(out, c->unit, json_object_object_get(row, c->key));
}

// ---- answers

struct json_object *rows_of(struct json_object *data, unsigned list)
{
	return json_object_object_get(data, fact_lists[list].list);
}

size_t n_rows(struct json_object *rows)
{
	return json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
}

struct json_object *row_at(struct json_object *rows, size_t i)
{
	return json_object_array_get_idx(rows, i);
}

struct json_object *fact_in(struct json_object *row, enum fact_id f)
{
	return json_object_object_get(row, fact_rows[f].key);
}

const char *fact_text(struct json_object *row, enum fact_id f)
{
	struct json_object *v = fact_in(row, f);

	return v != NULL ? json_object_get_string(v) : "-";
}

uint64_t fact_count(struct json_object *row, enum fact_id f)
{
	return json_object_get_uint64(fact_in(row, f));
}

bool fact_yes(struct json_object *row, enum fact_id f)
{
	return json_object_get_boolean(fact_in(row, f));
}

bool fact_is(struct json_object *row, enum fact_id f, const char *word)
{
	return strcmp(fact_text(row, f), word) == 0;
}

const char *fact_cell(char out[CELL_LEN], struct json_object *row, enum fact_id f)
{
	cell_format(out, fact_rows[f].unit, fact_in(row, f));
	return out;
}

// ---- the lines of a table

struct layout {
	struct column all[TABLE_MAX_COLUMNS]; // complete, in their order
	const struct column *cols[TABLE_MAX_COLUMNS]; // those that are shown
	int width[TABLE_MAX_COLUMNS];
	size_t n_all, n;
	unsigned limit; // characters of a line; 0: any number
};

static bool is_left(const struct column *c)
{
	return c->unit == CELL_TEXT || c->unit == CELL_LIST || c->unit == CELL_TREND;
}

// Columns of one place keep the order in which they come.
static void add_column(struct layout *l, struct column c)
{
	const struct fact *f = &fact_rows[c.fact];
	size_t k = l->n_all++;

	if (c.fact != F_NONE && c.key == NULL)
		c.key = f->key;
	if (c.fact != F_NONE && c.head == NULL) {
		c.head = f->head;
		c.unit = f->unit;
	}
	for (; k > 0 && l->all[k - 1].place > c.place; k--)
		l->all[k] = l->all[k - 1];
	l->all[k] = c;
}

static void add_facts(struct layout *l, unsigned list)
{
	for (size_t i = 0; list != NO_FACTS && i < fact_lists[list].n; i++) {
		const struct fact *f = &fact_lists[list].rows[i];

		if (f->place != 0)
			add_column(l, (struct column){(enum fact_id)(f - fact_rows), f->place,
						      f->rank, f->head, f->key, f->unit});
	}
}

// A text in the last column may take several lines.
static unsigned total_width(const struct layout *l)
{
	unsigned sum = 0;

	for (size_t k = 0; k < l->n; k++) {
		bool folds = k + 1 == l->n && is_left(l->cols[k]) && l->width[k] > FOLD_LEAST;

		sum += (unsigned)(folds ? FOLD_LEAST : l->width[k]) + (k > 0 ? GAP : 0);
	}
	return sum;
}

// The column to leave out next; false: none may be.
static bool next_out(const struct layout *l, size_t *out)
{
	uint8_t rank = 0;

	for (size_t k = 0; k < l->n; k++)
		if (l->cols[k]->rank != 0 && l->cols[k]->rank >= rank) {
			rank = l->cols[k]->rank;
			*out = k;
		}
	return rank != 0;
}

static void measure(struct layout *l, struct json_object *rows)
{
	char text[CELL_LEN];
	size_t k;

	for (l->n = 0; l->n < l->n_all; l->n++) {
		const struct column *c = &l->all[l->n];
		int width = (int)strlen(c->head);

		for (size_t i = 0; i < n_rows(rows); i++) {
			format_of(text, c, row_at(rows, i));
			if ((int)strlen(text) > width)
				width = (int)strlen(text);
		}
		l->cols[l->n] = c;
		l->width[l->n] = width;
	}
	while (l->limit != 0 && total_width(l) > l->limit && next_out(l, &k)) {
		l->n--;
		memmove(&l->cols[k], &l->cols[k + 1], (l->n - k) * sizeof(l->cols[0]));
		memmove(&l->width[k], &l->width[k + 1], (l->n - k) * sizeof(l->width[0]));
	}
}

// row NULL: the heads.
static void print_line(FILE *out, const struct layout *l, struct json_object *row)
{
	int indent = 0;

	for (size_t k = 0; k < l->n; k++) {
		const struct column *c = l->cols[k];
		char text[CELL_LEN];

		if (row != NULL)
			format_of(text, c, row);
		else
			snprintf(text, sizeof(text), "%s", c->head);
		if (k + 1 == l->n && is_left(c))
			print_indented(out, text, indent, l->limit);
		else
			fprintf(out, "%*s%s", is_left(c) ? -l->width[k] : l->width[k], text,
				k + 1 == l->n ? "" : "  ");
		indent += l->width[k] + GAP;
	}
	fputc('\n', out);
}

static void print_rule(FILE *out, const struct layout *l)
{
	unsigned indent = 0;

	for (size_t k = 0; k < l->n; k++) {
		int width = l->width[k];

		if (k + 1 == l->n && l->limit > indent && width > (int)(l->limit - indent))
			width = (int)(l->limit - indent);
		for (int i = 0; i < width; i++)
			fputc('-', out);
		fputs(k + 1 < l->n ? "  " : "\n", out);
		indent += (unsigned)l->width[k] + GAP;
	}
}

// "(not shown: MTU, LOOP; --wide shows them)".
static void print_columns_left_out(FILE *out, const struct layout *l)
{
	const char *lead = "(not shown: ";
	char *text = NULL;
	size_t next = 0, len;
	FILE *f = l->n < l->n_all ? open_memstream(&text, &len) : NULL;

	if (f == NULL)
		return;
	for (size_t k = 0; k < l->n_all; k++) {
		if (next < l->n && l->cols[next] == &l->all[k]) {
			next++;
			continue;
		}
		fprintf(f, "%s%s", lead, l->all[k].head);
		lead = ", ";
	}
	fputs("; --wide shows them)\n", f);
	fclose(f);
	print_folded(out, text, l->limit);
	free(text);
}

void record_print(FILE *out, struct json_object *row, unsigned list, int width)
{
	struct layout l = {0};
	char cell[CELL_LEN];

	add_facts(&l, list);
	for (size_t i = 0; i < l.n_all; i++) {
		format_of(cell, &l.all[i], row);
		fprintf(out, "%-*s %s\n", width, l.all[i].head, cell);
	}
}

// ---- tables

bool row_is_active(struct json_object *row, const enum fact_id *facts)
{
	struct json_object *v = NULL;

	if (facts == NULL && json_object_object_get_ex(row, ROW_ACTIVE, &v))
		return json_object_get_uint64(v) != 0;
	for (; facts != NULL && *facts != F_NONE; facts++)
		if (fact_count(row, *facts) != 0)
			return true;
	return false;
}

void print_counted(FILE *out, size_t n, const char *name)
{
	size_t stem = strcspn(name, "|");
	const char *plural = name[stem] == '|' ? name + stem + 1 : name + stem;

	if (n == 1)
		plural += strcspn(plural, " ");
	fprintf(out, "%zu %.*s%s", n, (int)stem, name, plural);
}

void print_left_out(FILE *out, size_t n, const char *idle)
{
	if (n == 0)
		return;
	fputc('(', out);
	print_counted(out, n, idle);
	fprintf(out, " %s not shown; name a port, or --all, to see %s)\n", n == 1 ? "is" : "are",
		n == 1 ? "it" : "them");
}

void table_print(FILE *out, struct json_object *list, const struct table *t,
		 const struct show_wish *wish)
{
	struct json_object *rows = json_object_new_array();
	struct layout l = {.limit = wish->width};
	size_t n = n_rows(list), left_out;

	for (size_t i = 0; i < n; i++)
		if (wish->all || t->idle == NULL || row_is_active(row_at(list, i), t->active))
			json_object_array_add(rows, json_object_get(row_at(list, i)));
	left_out = n - n_rows(rows);
	if (left_out < n || t->none == NULL) {
		add_facts(&l, t->list);
		for (size_t i = 0; i < t->n_made; i++)
			add_column(&l, t->made[i]);
		measure(&l, rows);
		print_line(out, &l, NULL);
		print_rule(out, &l);
		for (size_t i = 0; i < n_rows(rows); i++)
			print_line(out, &l, row_at(rows, i));
		print_columns_left_out(out, &l);
		print_left_out(out, left_out, t->idle);
	} else if (n > 0) {
		fprintf(out, "%s; --all shows ", t->none);
		print_counted(out, n, t->idle);
		fputc('\n', out);
	} else {
		fprintf(out, "%s\n", t->none);
	}
	json_object_put(rows);
}
