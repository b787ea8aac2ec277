// SPDX-License-Identifier: Apache-2.0
#include "control/config/value_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void add(char out[VALUE_TEXT_LEN], const char *fmt,
						      ...)
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

static void add_number(const struct cfg_row *row, const struct cfg_val *v, char out[VALUE_TEXT_LEN])
{
	char text[32];

	if (row->word != NULL && v->n == CFG_WORD_VALUE) {
		add(out, "%s", row->word);
		return;
	}
	unit_print(v->percent ? UNIT_PERCENT : row->unit, v->n, text, sizeof(text));
	add(out, "%s", text);
}

static void add_scalar(const struct cfg_row *row, const struct cfg_val *v, char out[VALUE_TEXT_LEN])
{
	char text[8];

	switch (row->type) {
	case CFG_NUMBER: add_number(row, v, out); break;
	case CFG_WORD: add(out, "%s", row->words[v->n]); break;
	case CFG_SWITCH: add(out, "%s", v->n ? "on" : "off"); break;
	case CFG_ALPHA:
		unit_print_alpha((int)v->n, text, sizeof(text));
		add(out, "%s", text);
		break;
	default: add(out, "%s", v->text != NULL ? v->text : "none"); break;
	}
}

// "[20, 30-39]"
static void add_set(const struct cfg_set *s, char out[VALUE_TEXT_LEN])
{
	const char *lead = "[";

	for (unsigned i = 0; i < CFG_SET_BITS; i++) {
		unsigned last = i;

		if (!(s->bits[i / 64] >> (i % 64) & 1))
			continue;
		while (last + 1 < CFG_SET_BITS && s->bits[(last + 1) / 64] >> ((last + 1) % 64) & 1)
			last++;
		add(out, last > i ? "%s%u-%u" : "%s%u", lead, i, last);
		lead = ", ";
		i = last;
	}
	add(out, "%s]", *lead == '[' ? "[" : "");
}

static bool same_entry(const struct cfg_lookup *l, unsigned a, unsigned b)
{
	return (l->set >> b & 1) != 0 && l->v[a] == l->v[b];
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
		while (last + 1 < row->n_keys && same_entry(l, i, last + 1))
			last++;
		add(out, last > i ? "%s%u-%u: " : "%s%u: ", lead, i, last);
		if (row->words != NULL)
			add(out, "%s", row->words[l->v[i]]);
		else
			add(out, "%u", l->v[i]);
		lead = ", ";
		i = last;
	}
	add(out, "%s}", *lead == '{' ? "{" : "");
}

static void add_words(const struct cfg_row *row, const struct cfg_words *w,
		      char out[VALUE_TEXT_LEN])
{
	add(out, "[");
	for (unsigned i = 0; i < w->n; i++) {
		const struct cfg_val *v = &w->items[i];

		add(out, "%s%s", i > 0 ? ", " : "",
		    v->text != NULL	 ? v->text
		    : row->words != NULL ? row->words[v->n]
					 : "?");
	}
	add(out, "]");
}

static void add_given(const struct cfg_row *row, const void *value, char out[VALUE_TEXT_LEN])
{
	switch (row->type) {
	case CFG_SET: add_set(value, out); break;
	case CFG_LOOKUP: add_lookup(row, value, out); break;
	case CFG_WORDS:
	case CFG_LINES: add_words(row, value, out); break;
	case CFG_LIST: add(out, "%u in the list", ((const struct cfg_list *)value)->n); break;
	case CFG_MAP:
	case CFG_CLASSES:
	case CFG_TABLE:
	case CFG_NODE: add(out, "given"); break;
	default: add_scalar(row, value, out); break;
	}
}

static bool is_given(const struct cfg_row *row, const void *value)
{
	if (row->type == CFG_LIST || row->type == CFG_TABLE || row->type == CFG_NODE)
		return true;
	return row->type <= CFG_LINE ? ((const struct cfg_val *)value)->given
				     : ((const struct cfg_map *)value)->given;
}

bool value_is_scalar(const struct cfg_row *row, const void *scalar)
{
	return scalar != NULL && is_given(row->scalar, scalar);
}

void value_text(const struct cfg_row *row, const void *value, const void *scalar,
		char out[VALUE_TEXT_LEN])
{
	out[0] = '\0';
	if (value == NULL)
		add(out, "none");
	else if (value_is_scalar(row, scalar))
		add_given(row->scalar, scalar, out);
	else if (is_given(row, value))
		add_given(row, value, out);
	else
		add(out, "default: %s", row->dflt_text != NULL ? row->dflt_text : "none");
}
