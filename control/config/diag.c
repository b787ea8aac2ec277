// SPDX-License-Identifier: Apache-2.0
#include "control/config/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A file with more mistakes than this is not a policy; more lines help nobody.
enum { MAX_ENTRIES = 1000, TEXT_LEN = 1024 };

struct diag_entry {
	struct cfg_pos at;
	unsigned seq; // keeps the order of messages at one place
	enum diag_level level;
	char *line;
};

static void *grown(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (p == NULL) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

static char *copied(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(grown(NULL, n, 1), text, n);
}

static bool known(const struct diag_sink *s, struct cfg_pos at, const char *line)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->entries[i].at.line == at.line && s->entries[i].at.column == at.column &&
		    strcmp(s->entries[i].line, line) == 0)
			return true;
	return false;
}

// ASCII's control characters, and Unicode's U+0080 to U+009F, which terminals obey too.
static void mask_controls(char *line)
{
	for (unsigned char *c = (unsigned char *)line; *c != '\0'; c++) {
		if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			c[0] = c[1] = '?';
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
}

static void put(struct diag_sink *s, enum diag_level level, struct cfg_pos at, char *line)
{
	mask_controls(line);
	if (known(s, at, line))
		return;
	if (s->n == s->cap) {
		s->cap = s->cap == 0 ? 16 : s->cap * 2;
		s->entries = grown(s->entries, s->cap, sizeof(*s->entries));
	}
	s->entries[s->n] =
		(struct diag_entry){.at = at, .seq = s->n, .level = level, .line = copied(line)};
	s->n++;
}

bool diag_is_full(const struct diag_sink *s)
{
	return s->n > MAX_ENTRIES;
}

void diag_add(struct diag_sink *s, enum diag_level level, struct cfg_pos at, const char *path,
	      const char *fmt, ...)
{
	char text[TEXT_LEN], line[TEXT_LEN + 512], where[32] = "";
	va_list ap;

	if (level == DIAG_ERROR)
		s->n_errors++;
	if (diag_is_full(s))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->n == MAX_ENTRIES) {
		at = (struct cfg_pos){UINT32_MAX, 0};
		snprintf(line, sizeof(line), "%.200s: more mistakes than these are not shown",
			 s->file);
		put(s, DIAG_ERROR, at, line);
		return;
	}
	if (path != NULL && *path == '\0')
		path = s->document != NULL ? s->document : "policy"; // the document itself
	if (at.line != 0 && at.column != 0)
		snprintf(where, sizeof(where), "%u:%u:", at.line, at.column);
	snprintf(line, sizeof(line), "%.200s:%s %s%.250s%s%s",
		 at.file != NULL ? at.file : s->file, where,
		 level == DIAG_WARNING ? "warning: " : "", path == NULL ? "" : path,
		 path == NULL ? "" : ": ", text);
	put(s, level, at, line);
}

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

void diag_finish(struct diag_sink *s, struct diags *d)
{
	if (s->n != 0) {
		qsort(s->entries, s->n, sizeof(*s->entries), by_position);
		d->lines = grown(d->lines, d->n + s->n, sizeof(*d->lines));
		d->is_error = grown(d->is_error, d->n + s->n, sizeof(*d->is_error));
	}
	for (unsigned i = 0; i < s->n; i++) {
		d->is_error[d->n] = s->entries[i].level == DIAG_ERROR;
		d->n_errors += d->is_error[d->n];
		d->lines[d->n++] = s->entries[i].line;
	}
	free(s->entries);
	s->entries = NULL;
	s->n = s->cap = s->n_errors = 0;
}

void diags_fini(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		free(d->lines[i]);
	free(d->lines);
	free(d->is_error);
	*d = (struct diags){0};
}
