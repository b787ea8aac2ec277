// SPDX-License-Identifier: Apache-2.0
#include "control/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/arena.h"
#include "control/base/terminal.h"

// A file with more mistakes than this is no policy, and more lines do not help.
enum { MAX_ENTRIES = 1000, TEXT_LEN = 1024, MAX_PLACES = 8 };

struct diag_entry {
	struct cfg_pos at;
	unsigned seq; // keeps the order of messages at one place
	enum diag_level level;
	bool repeats; // the line of an earlier entry has its place
	char *path, *text, *cure; // path and cure may be NULL
};

static void *resize_items(void *p, size_t n, size_t size)
{
	return allocated(realloc(p, n * size));
}

static char *masked(const char *text)
{
	char *copy = text == NULL ? NULL : allocated(strdup(text));

	if (copy != NULL)
		text_mask(copy, false);
	return copy;
}

bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_message(const struct diag_entry *a, const struct diag_entry *b)
{
	return a->level == b->level && same_text(a->text, b->text) && same_text(a->cure, b->cure);
}

static bool known(const struct diag_sink *s, const struct diag_entry *e)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->entries[i].at.line == e->at.line &&
		    s->entries[i].at.column == e->at.column &&
		    same_text(s->entries[i].path, e->path) && same_message(&s->entries[i], e))
			return true;
	return false;
}

static void entry_fini(struct diag_entry *e)
{
	free(e->path);
	free(e->text);
	free(e->cure);
}

static void add_sink_entry(struct diag_sink *s, enum diag_level level, struct cfg_pos at,
			   const char *path, char *text)
{
	char *cure = strrchr(text, CURE[0]);
	struct diag_entry e = {.at = at, .seq = s->n, .level = level, .path = masked(path)};

	if (cure != NULL)
		*cure++ = '\0';
	e.text = masked(text);
	e.cure = masked(cure);
	if (known(s, &e)) {
		entry_fini(&e);
		return;
	}
	if (s->n == s->cap) {
		s->cap = s->cap == 0 ? 16 : s->cap * 2;
		s->entries = resize_items(s->entries, s->cap, sizeof(*s->entries));
	}
	s->entries[s->n++] = e;
}

bool diag_is_full(const struct diag_sink *s)
{
	return s->n > MAX_ENTRIES;
}

bool diag_add(struct diag_sink *s, enum diag_level level, struct cfg_pos at, const char *path,
	      const char *fmt, ...)
{
	char text[TEXT_LEN];
	va_list ap;
	size_t len;

	if (level == DIAG_ERROR)
		s->n_errors++;
	if (diag_is_full(s))
		return false;
	va_start(ap, fmt);
	len = (size_t)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (at.origin != NULL && len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, " (\"%.60s\": %.300s)", at.origin->written,
			 at.origin->made_of);
	if (s->n == MAX_ENTRIES) {
		snprintf(text, sizeof(text), "further errors are not shown");
		add_sink_entry(s, DIAG_ERROR, (struct cfg_pos){UINT32_MAX, 0}, NULL, text);
		return false;
	}
	if (path != NULL && *path == '\0')
		path = s->document != NULL ? s->document : "policy"; // the document itself
	add_sink_entry(s, level, at, path, text);
	return false;
}

bool diag_has_error(const struct diag_sink *s, const char *path)
{
	size_t len = strlen(path);

	for (unsigned i = 0; i < s->n; i++) {
		const struct diag_entry *e = &s->entries[i];

		if (e->level == DIAG_ERROR && e->path != NULL && strncmp(e->path, path, len) == 0 &&
		    (e->path[len] == '\0' || e->path[len] == '.'))
			return true;
	}
	return false;
}

// ---- order
static const char *file_of(const struct diag_entry *e)
{
	return e->at.file != NULL ? e->at.file : "";
}

static int by_position(const void *a, const void *b)
{
	const struct diag_entry *x = a, *y = b;
	int files = strcmp(file_of(x), file_of(y)); // the file itself before what lies over it

	if (files != 0)
		return files;
	if (x->at.line != y->at.line)
		return x->at.line < y->at.line ? -1 : 1;
	if (x->at.column != y->at.column)
		return x->at.column < y->at.column ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

// ---- repeats
static const char *last_key(const char *path)
{
	const char *dot = path == NULL ? NULL : strrchr(path, '.');

	return dot != NULL ? dot : path;
}

static bool is_repeat(const struct diag_entry *first, const struct diag_entry *e)
{
	return same_message(first, e) && same_text(file_of(first), file_of(e)) &&
	       same_text(last_key(first->path), last_key(e->path));
}

// "(and 4 more: lines 7, 8, 9, 10)": the entries after `first` that say the same.
static void print_repeats(FILE *out, struct diag_sink *s, unsigned first)
{
	uint32_t lines[MAX_PLACES], last = s->entries[first].at.line;
	unsigned n = 0, n_lines = 0;

	for (unsigned i = first + 1; i < s->n; i++) {
		struct diag_entry *e = &s->entries[i];

		if (e->repeats || !is_repeat(&s->entries[first], e))
			continue;
		e->repeats = true;
		n++;
		if (e->at.line == last)
			continue;
		last = e->at.line;
		if (n_lines < MAX_PLACES)
			lines[n_lines] = last;
		n_lines++;
	}
	if (n == 0)
		return;
	fprintf(out, " (and %u more", n);
	for (unsigned i = 0; i < n_lines && i < MAX_PLACES; i++)
		fprintf(out, "%s%u", i > 0 ? ", " : n_lines > 1 ? ": lines " : ": line ", lines[i]);
	fprintf(out, "%s)", n_lines > MAX_PLACES ? ", ..." : "");
}

static char *line_of(struct diag_sink *s, unsigned i)
{
	const struct diag_entry *e = &s->entries[i];
	char *line = NULL;
	size_t len;
	FILE *out = allocated(open_memstream(&line, &len));

	fprintf(out, "%.200s:", e->at.file != NULL ? e->at.file : s->file);
	if (e->at.line != 0 && e->at.column != 0)
		fprintf(out, "%u:%u:", e->at.line, e->at.column);
	fprintf(out, " %s", e->level == DIAG_WARNING ? "warning: " : "");
	if (e->path != NULL)
		fprintf(out, "%.250s: ", e->path);
	fprintf(out, "%s%s%s", e->text, e->cure != NULL ? ": " : "",
		e->cure != NULL ? e->cure : "");
	print_repeats(out, s, i);
	fclose(out);
	text_mask(allocated(line), false); // of the file's name
	return line;
}

// ---- the end
void diag_finish(struct diag_sink *s, struct diags *d)
{
	if (s->n != 0) {
		qsort(s->entries, s->n, sizeof(*s->entries), by_position);
		d->lines = resize_items(d->lines, d->n + s->n, sizeof(*d->lines));
		d->is_error = resize_items(d->is_error, d->n + s->n, sizeof(*d->is_error));
		d->messages = resize_items(d->messages, d->n_messages + s->n, sizeof(*d->messages));
	}
	for (unsigned i = 0; i < s->n; i++) {
		if (s->entries[i].repeats)
			continue;
		d->is_error[d->n] = s->entries[i].level == DIAG_ERROR;
		d->lines[d->n++] = line_of(s, i);
	}
	for (unsigned i = 0; i < s->n; i++) {
		const struct diag_entry *e = &s->entries[i];
		bool somewhere = e->at.line != 0 && e->at.column != 0;

		d->messages[d->n_messages++] = (struct diag_message){
			.file = masked(e->at.file != NULL ? e->at.file : s->file),
			.line = somewhere ? e->at.line : 0,
			.column = e->at.column,
			.key = e->path,
			.text = e->text,
			.hint = e->cure,
			.is_error = e->level == DIAG_ERROR,
		};
		d->n_errors += e->level == DIAG_ERROR;
	}
	free(s->entries);
	s->entries = NULL;
	s->n = s->cap = s->n_errors = 0;
}

void diags_print(const struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		terminal_printf(stderr, "%s\n", d->lines[i]);
}

void diags_fini(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		free(d->lines[i]);
	for (unsigned i = 0; i < d->n_messages; i++) {
		struct diag_message *m = &d->messages[i];

		free(m->file);
		free(m->key);
		free(m->text);
		free(m->hint);
	}
	free(d->lines);
	free(d->is_error);
	free(d->messages);
	*d = (struct diags){0};
}
