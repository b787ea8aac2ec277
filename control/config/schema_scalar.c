// SPDX-License-Identifier: Apache-2.0
#include "control/config/schema_scalar.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_LEN = 48, WORD_LEN = 24 };

const char *schema_shown(struct arena *a, const char *text)
{
	size_t n = strlen(text);

	if (n <= SHOWN_LEN)
		return text;
	n = SHOWN_LEN;
	// Never half a UTF-8 character.
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(a, "%.*s...", (int)n, text);
}

// Edits between two words: insert, delete, change, swap of neighbours.
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned d[WORD_LEN + 1][WORD_LEN + 1];

	for (size_t i = 0; i <= na; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

const char *schema_closest(const char *text, unsigned n, const char *(*get)(const void *, unsigned),
			   const void *ctx)
{
	size_t len = strlen(text);
	unsigned best = len < 4 ? 1 : 2;
	const char *found = NULL;

	if (len > WORD_LEN || len < 2)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		const char *word = get(ctx, i);
		size_t word_len = strlen(word);
		unsigned d;

		if (word_len > WORD_LEN || word_len < 2)
			continue;
		d = distance(text, len, word, word_len);
		if (d < best || (d == best && found == NULL)) {
			best = d;
			found = word;
		}
	}
	return found;
}

// One number of at most six digits; returns what follows or NULL.
static const char *small_number(const char *s, int64_t *out)
{
	unsigned digits = 0;

	while (*s == ' ')
		s++;
	for (*out = 0; isdigit((unsigned char)*s) && digits < 6; s++, digits++)
		*out = *out * 10 + (*s - '0');
	if (digits == 0 || isdigit((unsigned char)*s))
		return NULL;
	while (*s == ' ')
		s++;
	return s;
}

static bool set_add(struct cfg_set *set, int64_t from, int64_t to, const char **why)
{
	for (int64_t i = from; i <= to; i++) {
		uint64_t *word = &set->bits[i / 64];
		uint64_t bit = 1ull << (i % 64);

		if (*word & bit) {
			*why = "names a number twice";
			return false;
		}
		*word |= bit;
		if (set->n < CFG_SET_ORDERED)
			set->ordered[set->n] = (uint16_t)i;
		set->n++;
	}
	return true;
}

bool schema_parse_ranges(const char *s, int64_t min, int64_t max, struct cfg_set *set,
			 const char **why)
{
	for (;;) {
		int64_t from, to;

		*why = "is no number or range";
		s = small_number(s, &from);
		to = from;
		if (s != NULL && *s == '-')
			s = small_number(s + 1, &to);
		if (s == NULL || (*s != '\0' && *s != ','))
			return false;
		*why = "is out of range";
		if (from < min || to > max || to >= CFG_SET_BITS)
			return false;
		*why = "runs backwards";
		if (from > to || !set_add(set, from, to, why))
			return false;
		if (*s++ == '\0')
			return true;
	}
}

// why continues the value: "is ..." or, after a colon, what was expected.
static bool refuse(struct cfg_reader *r, const struct node *n, const char *path, const char *why)
{
	bool verb = strncmp(why, "is ", 3) == 0 || strncmp(why, "holds ", 6) == 0;

	diag_add(r->sink, DIAG_ERROR, n->at, path, "\"%s\"%s %s", schema_shown(r->arena, n->text),
		 verb ? "" : ":", why);
	return false;
}

static bool in_range(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     int64_t value, const char *path)
{
	bool below = value < row->min;
	char limit[32];

	if (!below && value <= row->max)
		return true;
	unit_print(row->unit, below ? row->min : row->max, limit, sizeof(limit));
	diag_add(r->sink, DIAG_ERROR, n->at, path, "%s is %s the %s %s",
		 schema_shown(r->arena, n->text), below ? "below" : "above",
		 below ? "minimum" : "maximum", limit);
	return false;
}

static bool number(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		   struct cfg_val *v, const char *path)
{
	const char *why;
	int64_t value;
	size_t len = strlen(n->text);
	bool percent = row->percent_of != NULL && len > 0 && n->text[len - 1] == '%';

	if (row->word != NULL && strcmp(n->text, row->word) == 0) {
		v->n = CFG_WORD_VALUE;
		return true;
	}
	if (row->unit == UNIT_COUNT && len > 0 && n->text[len - 1] == '%')
		return refuse(r, n, path,
			      arena_printf(r->arena,
					   "%s is a whole number, not a percentage" CURE
					   "write %.*s",
					   row->key, (int)len - 1,
					   schema_shown(r->arena, n->text)));
	if (!unit_parse(percent ? UNIT_PERCENT : row->unit, n->text, &value, &why)) {
		if (row->word != NULL)
			why = arena_printf(r->arena, "%s, or %s", why, row->word);
		if (row->expected != NULL)
			why = row->expected;
		return refuse(r, n, path, why);
	}
	if (percent && value > 1000000)
		return refuse(r, n, path, "is above 100%");
	if (!percent && !in_range(r, row, n, value, path))
		return false;
	v->n = value;
	v->percent = percent;
	return true;
}

static const char *word_at(const void *words, unsigned i)
{
	return ((const char *const *)words)[i];
}

static bool word(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		 struct cfg_val *v, const char *path)
{
	const char *all = "", *near;
	unsigned i;

	for (i = 0; row->words[i] != NULL; i++) {
		if (strcmp(row->words[i], n->text) == 0) {
			v->n = i;
			return true;
		}
		all = arena_printf(r->arena, "%s%s%s", all, i == 0 ? "" : ", ", row->words[i]);
	}
	near = schema_closest(n->text, i, word_at, row->words);
	if (near != NULL)
		return refuse(r, n, path, arena_printf(r->arena, "did you mean %s?", near));
	if (row->expected != NULL)
		all = row->expected;
	return refuse(r, n, path,
		      arena_printf(r->arena, "expected %s%s", i > 1 ? "one of " : "", all));
}

static bool on_off(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		   struct cfg_val *v, const char *path)
{
	(void)row;
	if (strcmp(n->text, "on") == 0 || strcmp(n->text, "true") == 0)
		v->n = 1;
	else if (strcmp(n->text, "off") == 0 || strcmp(n->text, "false") == 0)
		v->n = 0;
	else
		return refuse(r, n, path, "expected on or off");
	return true;
}

static bool alpha(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		  struct cfg_val *v, const char *path)
{
	char why[96];

	(void)row;
	if (!unit_parse_alpha(n->text, &v->n, why, sizeof(why)))
		return refuse(r, n, path, why);
	return true;
}

static bool fits(struct cfg_reader *r, const struct cfg_row *row, const struct node *n, size_t len,
		 const char *path)
{
	if (len == 0)
		return refuse(r, n, path, "is empty");
	if (len > (size_t)row->max)
		return refuse(
			r, n, path,
			arena_printf(r->arena, "is longer than %" PRId64 " characters", row->max));
	return true;
}

static bool text(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		 struct cfg_val *v, const char *path)
{
	size_t len = strlen(n->text);

	if (!fits(r, row, n, len, path))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)n->text[i] <= 0x20 || (unsigned char)n->text[i] >= 0x7f)
			return refuse(r, n, path, "holds a space or a character outside ASCII");
	v->text = n->text;
	return true;
}

static bool line(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		 struct cfg_val *v, const char *path)
{
	size_t len = strlen(n->text);

	if (!fits(r, row, n, len, path))
		return false;
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)n->text[i] < 0x20 && n->text[i] != '\n') ||
		    n->text[i] == 0x7f)
			return refuse(r, n, path, "holds a control character");
	v->text = n->text;
	return true;
}

static bool name(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		 struct cfg_val *v, const char *path)
{
	for (const char *c = n->text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
			return refuse(r, n, path, "a name is made of letters, digits, . _ and -");
	return text(r, row, n, v, path);
}

typedef bool scalar_fn(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		       struct cfg_val *v, const char *path);

static scalar_fn *const scalar[] = {
	[CFG_NUMBER] = number, [CFG_WORD] = word, [CFG_SWITCH] = on_off,
	[CFG_ALPHA] = alpha,   [CFG_NAME] = name, [CFG_TEXT] = text,
	[CFG_LINE] = line,
};

bool schema_scalar(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		   struct cfg_val *out, const char *path)
{
	struct cfg_val v = {.n = row->dflt, .at = n->at, .given = true};

	if (!scalar[row->type](r, row, n, &v, path)) {
		out->at = n->at;
		out->given = true;
		out->bad = true;
		return false;
	}
	*out = v;
	return true;
}
