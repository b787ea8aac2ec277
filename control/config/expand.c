// SPDX-License-Identifier: Apache-2.0
#include "control/config/expand.h"

#include <stdio.h>
#include <string.h>

#include "control/config/schema.h"

enum { MAX_TEXT = 256 };

static const char too_long[] = "the text makes a name of more than 63 characters";
_Static_assert(EXPAND_NAME_LEN == 63, "as the message says");

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

// The names and how long each of them is so far.
struct names {
	struct expansion *out;
	size_t len[EXPAND_MAX];
};

static bool append(struct names *names, unsigned i, const char *text, size_t len)
{
	if (names->len[i] + len > EXPAND_NAME_LEN)
		return false;
	memcpy(&names->out->items[i][names->len[i]], text, len);
	names->len[i] += len;
	names->out->items[i][names->len[i]] = '\0';
	return true;
}

static bool append_to_all(struct names *names, const char *text, size_t len)
{
	bool ok = true;

	for (unsigned i = 0; i < names->out->n; i++)
		ok = append(names, i, text, len) && ok;
	return ok;
}

// Appends to each name its number of the range.
static bool append_numbers(struct names *names, const struct cfg_set *set, int width)
{
	bool ok = true;
	unsigned i = 0;

	for (unsigned v = 0; v < CFG_SET_BITS; v++)
		if (cfg_set_has(set, v)) {
			char number[MAX_TEXT];
			int len = snprintf(number, sizeof(number), "%0*u", width, v);

			ok = append(names, i++, number, (size_t)len) && ok;
		}
	return ok;
}

static bool add_range(struct names *names, const struct cfg_set *set, int width, const char **why)
{
	struct expansion *out = names->out;

	if (out->ranged && set->n != out->n) {
		*why = "all ranges of one text must be of the same length";
		return false;
	}
	for (unsigned i = 1; !out->ranged && i < set->n; i++) {
		memcpy(out->items[i], out->items[0], sizeof(out->items[i]));
		names->len[i] = names->len[0];
	}
	out->n = set->n;
	out->ranged = true;
	if (!append_numbers(names, set, width)) {
		*why = too_long;
		return false;
	}
	return true;
}

bool expand(const char *text, struct expansion *out, const char **why)
{
	struct names names = {.out = out};

	out->n = 1;
	out->ranged = false;
	out->items[0][0] = '\0';
	if (strlen(text) >= MAX_TEXT) {
		*why = "the text is too long";
		return false;
	}
	for (;;) {
		struct cfg_set set = {0};
		size_t literal = strcspn(text, "[");
		const char *end;
		int width;

		if (!append_to_all(&names, text, literal)) {
			*why = too_long;
			return false;
		}
		text += literal;
		if (*text == '\0')
			return true;
		end = strchr(text, ']');
		if (end == NULL) {
			*why = "the [ has no ]";
			return false;
		}
		if (!parse_range(text + 1, (size_t)(end - text - 1), &set, &width, why) ||
		    !add_range(&names, &set, width, why))
			return false;
		text = end + 1;
	}
}
