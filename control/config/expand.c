// SPDX-License-Identifier: Apache-2.0
#include "control/config/expand.h"

#include <stdio.h>
#include <string.h>

#include "control/config/schema.h"

enum { MAX_TEXT = 256 };

// The numbers of one range and how wide they are written.
static bool parse_range(const char *text, size_t len, struct cfg_set *set, int *width,
			const char **why)
{
	char inside[MAX_TEXT];
	size_t digits;

	if (len >= sizeof(inside)) {
		*why = "the range is too long";
		return false;
	}
	memcpy(inside, text, len);
	inside[len] = '\0';
	digits = strspn(inside, "0123456789");
	*width = inside[0] == '0' ? (int)digits : 1;
	if (!schema_parse_ranges(inside, 0, CFG_SET_BITS - 1, set, why)) {
		*why = "the range in [ ] must be such as [1-3] or [1,4-6], below 4096";
		return false;
	}
	if (set->n > EXPAND_MAX) {
		*why = "the range makes more than 128 names";
		return false;
	}
	return true;
}

// Appends the literal text and, where a range follows, its i-th number to every name.
static void append(struct arena *a, struct expansion *out, const char *text, size_t len)
{
	for (unsigned i = 0; i < out->n; i++)
		out->items[i] = arena_printf(a, "%s%.*s", out->items[i], (int)len, text);
}

static void append_numbers(struct arena *a, struct expansion *out, const struct cfg_set *set,
			   int width)
{
	unsigned i = 0;

	for (unsigned v = 0; v < CFG_SET_BITS; v++)
		if (set->bits[v / 64] >> (v % 64) & 1) {
			out->items[i] = arena_printf(a, "%s%0*u", out->items[i], width, v);
			i++;
		}
}

static bool add_range(struct arena *a, struct expansion *out, const struct cfg_set *set, int width,
		      const char **why)
{
	if (out->ranged && set->n != out->n) {
		*why = "all ranges of one text must be of the same length";
		return false;
	}
	for (unsigned i = 1; !out->ranged && i < set->n; i++)
		out->items[i] = out->items[0];
	out->n = set->n;
	out->ranged = true;
	append_numbers(a, out, set, width);
	return true;
}

bool expand(struct arena *a, const char *text, struct expansion *out, const char **why)
{
	*out = (struct expansion){.items = {""}, .n = 1};
	if (strlen(text) >= MAX_TEXT) {
		*why = "the text is too long";
		return false;
	}
	for (;;) {
		struct cfg_set set = {0};
		size_t literal = strcspn(text, "[");
		const char *end;
		int width;

		append(a, out, text, literal);
		text += literal;
		if (*text == '\0')
			return true;
		end = strchr(text, ']');
		if (end == NULL) {
			*why = "the [ has no ]";
			return false;
		}
		if (!parse_range(text + 1, (size_t)(end - text - 1), &set, &width, why) ||
		    !add_range(a, out, &set, width, why))
			return false;
		text = end + 1;
	}
}
