// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/pg_lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/units.h"

// The columns, in the order of the file. xon_offset may be missing.
enum { SPEED, CABLE, SIZE, XON, XOFF, THRESHOLD, XON_OFFSET, N_COLUMNS };
enum { FIRST_ROOM = 32, MOST_ROWS = 4096, MOST_WORD = 32 };
#define MOST_BYTES (64ll << 30)

static const struct {
	const char *name;
	int64_t min, max;
} columns[N_COLUMNS] = {
	[SPEED] = {"speed", 1, 800000},		  [CABLE] = {"cable", 0, 10000000},
	[SIZE] = {"size", 0, MOST_BYTES},	  [XON] = {"xon", 0, MOST_BYTES},
	[XOFF] = {"xoff", 1, MOST_BYTES},	  [THRESHOLD] = {"threshold", -8, 7},
	[XON_OFFSET] = {"xon_offset", 0, MOST_BYTES},
};

static bool parse_word(unsigned column, const char *word, int64_t *n)
{
	const char *why;
	char *end;

	if (column == CABLE) {
		if (!unit_parse(UNIT_LENGTH, word, n, &why))
			return false;
	} else {
		errno = 0;
		*n = strtoll(word, &end, 10);
		if (end == word || *end != '\0' || errno != 0)
			return false;
	}
	return *n >= columns[column].min && *n <= columns[column].max;
}

static void add_lookup_row(struct pg_lookup *l, const int64_t n[N_COLUMNS], unsigned given)
{
	if (l->n == l->room) {
		l->room = l->room == 0 ? FIRST_ROOM : 2 * l->room;
		l->rows = allocated(realloc(l->rows, l->room * sizeof(*l->rows)));
	}
	l->rows[l->n++] = (struct pg_lookup_row){
		.speed_bps = (uint64_t)n[SPEED] * 1000000,
		.cable_cm = (uint64_t)n[CABLE],
		.size = (uint64_t)n[SIZE],
		.xon = (uint64_t)n[XON],
		.xoff = (uint64_t)n[XOFF],
		.threshold = (int)n[THRESHOLD],
		.xon_offset = (uint64_t)n[XON_OFFSET],
		.has_xon_offset = given > XON_OFFSET,
	};
}

// A line without its end.
static void read_line(struct pg_lookup *l, const char *name, unsigned line, const char *text,
		      size_t len, struct sonic_report *r)
{
	int64_t n[N_COLUMNS] = {0};
	unsigned given = 0;
	size_t at = 0;

	while (at < len) {
		char word[MOST_WORD];
		size_t word_len = 0;

		while (at < len && strchr(" \t\r", text[at]) != NULL)
			at++;
		if (at == len || text[at] == '#')
			break;
		while (at + word_len < len && strchr(" \t\r", text[at + word_len]) == NULL)
			word_len++;
		snprintf(word, sizeof(word), "%.*s", (int)word_len, text + at);
		at += word_len;
		if (given == N_COLUMNS || word_len >= sizeof(word) ||
		    !parse_word(given, word, &n[given])) {
			sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s:%u: \"%s\" is no %s", name,
				  line, word, given < N_COLUMNS ? columns[given].name : "column");
			return;
		}
		given++;
	}
	if (given > 0 && given <= THRESHOLD)
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL,
			  "%s:%u: expected speed, cable, size, xon, xoff, threshold and perhaps "
			  "xon_offset",
			  name, line);
	else if (given > 0 && l->n == MOST_ROWS)
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s: more than %u rows", name,
			  (unsigned)MOST_ROWS);
	else if (given > 0)
		add_lookup_row(l, n, given);
}

int pg_lookup_read(struct pg_lookup *l, const char *name, const char *text, size_t len,
		   struct sonic_report *r)
{
	unsigned errors = r->n_errors, line = 1;
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (stop == NULL)
			stop = end;
		read_line(l, name, line++, text, (size_t)(stop - text), r);
		text = stop + 1;
	}
	if (l->n == 0 && r->n_errors == errors)
		sonic_say(r, SONIC_ERROR, NULL, NULL, NULL, "%s: no row", name);
	return r->n_errors > errors ? -EINVAL : 0;
}

const struct pg_lookup_row *pg_lookup_find(const struct pg_lookup *l, uint64_t speed_bps,
					   uint64_t cable_cm)
{
	for (unsigned i = 0; l != NULL && i < l->n; i++)
		if (l->rows[i].speed_bps == speed_bps && l->rows[i].cable_cm == cable_cm)
			return &l->rows[i];
	return NULL;
}

void pg_lookup_fini(struct pg_lookup *l)
{
	free(l->rows);
	*l = (struct pg_lookup){0};
}
