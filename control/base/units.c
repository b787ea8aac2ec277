// SPDX-License-Identifier: Apache-2.0
#include "control/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/schema.h"
#include "dataplane/base/units.h"

enum { MAX_UNITS = 7, MAX_TEXT = 256 };

static const char too_long[] = "no name, address or device is longer than 127 characters";
_Static_assert(EXPAND_NAME_LEN == 127, "as the message says");

// Largest first of each base, so that printing finds the shortest.
static const struct {
	struct {
		const char *name;
		int64_t factor;
	} unit[MAX_UNITS];
	int64_t bare; // factor of a number without unit; 0: a unit is needed
	const char *expected;
} units[] = {
	[UNIT_BYTES] = {{{"GB", 1000000000},
			 {"MB", 1000000},
			 {"KB", 1000},
			 {"GiB", 1 << 30},
			 {"MiB", 1 << 20},
			 {"KiB", 1 << 10},
			 {"B", 1}},
			1,
			"expected a size such as 150KB (B KB MB GB KiB MiB GiB)"},
	[UNIT_RATE] = {{{"G", 1000000000}, {"M", 1000000}, {"K", 1000}, {"bps", 1}},
		       1,
		       "expected a rate such as 40G (bps K M G)"},
	[UNIT_TIME] = {{{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}},
		       0,
		       "expected a time such as 10us (ns us ms s)"},
	[UNIT_LENGTH] = {{{"km", 100000}, {"m", 100}}, 0, "expected a length such as 5m (m km)"},
	[UNIT_PERCENT] = {{{"%", PPM / 100}}, 0, "expected a percentage such as 50%"},
	[UNIT_COUNT] = {{{"", 1}}, 1, "expected a whole number"},
	[UNIT_QP] = {{{"", 1}}, 1, "expected a number such as 18 or 0x12"},
	[UNIT_RATIO] = {{{"", PPM}}, PPM, "expected a number such as 1 or 1.5"},
};

struct number {
	int64_t whole, decimals, scale; // whole + decimals / scale
};

// Digits with an optional decimal point; returns what follows, or NULL.
static const char *parse_number(const char *s, struct number *n)
{
	int64_t all = 0, scale = 1;
	bool point = false, digits = false;

	for (;; s++) {
		if (*s == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*s))
			break;
		digits = true;
		if (all > INT64_MAX / 100 || (point && scale >= 1000000000))
			return NULL;
		all = all * 10 + (*s - '0');
		scale *= point ? 10 : 1;
	}
	if (!digits || s[-1] == '.')
		return NULL;
	*n = (struct number){all / scale, all % scale, scale};
	return s;
}

// Other spellings: 1Gbps, 1Gbit/s, 1Gb and 1kbps of rates, 1kB of sizes. Returns the unit's own
// name, or NULL with *why where bits are mixed up with bytes.
static const char *own_name(enum unit_kind kind, const char *name, const char **why)
{
	static const char *const bits[] = {"bps", "b/s", "bit/s", "bit", "b"};
	bool prefix = strchr("kKmMgG", *name) != NULL, of_bits = false;

	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		of_bits |= strcmp(name + prefix, bits[i]) == 0;
	if (kind == UNIT_BYTES && strcmp(name, "kB") == 0)
		return "KB";
	if (kind == UNIT_BYTES && of_bits)
		*why = "is unclear, b is a bit and B a byte: a size is in bytes, such as 150KB";
	if (kind == UNIT_RATE && strchr(name, 'B') != NULL)
		*why = "is in bytes: a rate is in bits per second, and 1GB/s is 8G";
	if (kind != UNIT_RATE || !(of_bits || strcmp(name, "k") == 0))
		return NULL;
	switch (*name) {
	case 'k':
	case 'K':
		return "K";
	case 'M':
		return "M";
	case 'G':
		return "G";
	default:
		return name[0] == 'b' && strchr(name, 's') != NULL ? "bps" : NULL;
	}
}

static int64_t factor_of(enum unit_kind kind, const char *name)
{
	if (*name == '\0')
		return units[kind].bare;
	for (unsigned i = 0; i < MAX_UNITS && units[kind].unit[i].name != NULL; i++)
		if (strcmp(units[kind].unit[i].name, name) == 0)
			return units[kind].unit[i].factor;
	return 0;
}

static bool parse_hex(const char *digits, int64_t *out, const char **why)
{
	enum { MOST_DIGITS = 15 };
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	if (n == 0 || digits[n] != '\0')
		return false;
	*why = "is too large";
	if (n > MOST_DIGITS)
		return false;
	*out = (int64_t)strtoull(digits, NULL, 16);
	return true;
}

bool unit_parse(enum unit_kind kind, const char *text, int64_t *out, const char **why)
{
	struct number n;
	const char *rest = parse_number(text, &n);
	int64_t factor;
	__int128_t v;

	*why = units[kind].expected;
	if (kind == UNIT_QP && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return parse_hex(text + 2, out, why);
	if (rest == NULL || ((kind == UNIT_COUNT || kind == UNIT_QP) && n.scale != 1))
		return false;
	if (*rest == ' ' && rest[1] != '\0')
		rest++;
	factor = factor_of(kind, rest);
	if (factor == 0 && *rest != '\0' && (rest = own_name(kind, rest, why)) != NULL)
		factor = factor_of(kind, rest);
	if (rest == NULL)
		return false;
	// 0 needs no unit.
	if (factor == 0 && *rest == '\0' && n.whole == 0 && n.decimals == 0)
		factor = 1;
	if (factor == 0)
		return false;
	v = (__int128_t)n.whole * factor + (__int128_t)n.decimals * factor / n.scale;
	if (v > INT64_MAX / 2) {
		*why = "is too large";
		return false;
	}
	*out = (int64_t)v;
	return true;
}

// num/den against 2^log2: below 0, 0, above 0.
static int compare_power(__int128_t num, __int128_t den, int log2)
{
	__int128_t a = log2 < 0 ? num << -log2 : num;
	__int128_t b = log2 < 0 ? den : den << log2;

	return a < b ? -1 : a > b;
}

void unit_print_alpha(int log2, char *out, size_t len)
{
	if (log2 < 0)
		snprintf(out, len, "1/%d", 1 << -log2);
	else
		snprintf(out, len, "%d", 1 << log2);
}

static bool parse_fraction(const char *text, __int128_t *num, __int128_t *den)
{
	struct number a, b = {1, 0, 1};
	const char *rest = parse_number(text, &a);

	if (rest != NULL && *rest == '/')
		rest = parse_number(rest + 1, &b);
	if (rest == NULL || *rest != '\0')
		return false;
	*num = ((__int128_t)a.whole * a.scale + a.decimals) * b.scale;
	*den = ((__int128_t)b.whole * b.scale + b.decimals) * a.scale;
	// Far outside the range on either side; keeps the shifts below from overflowing.
	if (*num > (__int128_t)1 << 100 || *den > (__int128_t)1 << 100)
		return false;
	return *num > 0 && *den > 0;
}

bool unit_parse_alpha(const char *text, int64_t *log2_out, char *why, size_t why_len)
{
	__int128_t num, den;
	char below[8], above[8];

	if (!parse_fraction(text, &num, &den)) {
		snprintf(why, why_len,
			 "expected a power of two from 1/256 to 128, such as 1/8 or 1");
		return false;
	}
	for (int p = ALPHA_LOG2_MIN; p <= ALPHA_LOG2_MAX; p++) {
		int order = compare_power(num, den, p);

		if (order == 0) {
			*log2_out = p;
			return true;
		}
		if (order > 0)
			continue;
		unit_print_alpha(p, above, sizeof(above));
		unit_print_alpha(p - 1, below, sizeof(below));
		if (p == ALPHA_LOG2_MIN)
			snprintf(why, why_len, "is below the smallest alpha: use %s", above);
		else
			snprintf(why, why_len, "is not a power of two: use %s or %s", below, above);
		return false;
	}
	snprintf(why, why_len, "is above the largest alpha: use 128");
	return false;
}

// n parts of a unit of `factor` parts: a power of ten, or n is a multiple. No zeros at the end.
static void print_decimals(int64_t n, int64_t factor, const char *name, char *out, size_t out_len)
{
	char decimals[UNIT_TEXT_LEN] = ".";
	size_t len = 1;

	for (int64_t rest = n % factor, part = factor / 10; rest != 0; rest %= part, part /= 10)
		decimals[len++] = (char)('0' + rest / part);
	snprintf(out, out_len, "%" PRId64 "%s%s", n / factor, len > 1 ? decimals : "", name);
}

const char *unit_print(enum unit_kind kind, int64_t n, char *out, size_t out_len)
{
	const char *base = "";
	int64_t f = 1;

	for (unsigned i = 0; n != 0 && i < MAX_UNITS && units[kind].unit[i].name != NULL; i++) {
		f = units[kind].unit[i].factor;
		base = units[kind].unit[i].name;
		// 9216 is an MTU to most people, not 9KiB.
		if (kind == UNIT_BYTES && n < 10240 && f % 1024 == 0)
			continue;
		if (n % f == 0)
			break;
	}
	print_decimals(n, f, base, out, out_len);
	return out;
}

// ---- ranges in names
// Appends to a name. False: the name becomes too long.
static bool append_to_name(char name[EXPAND_NAME_LEN + 1], const char *text, size_t len)
{
	size_t at = strlen(name);

	if (at + len > EXPAND_NAME_LEN)
		return false;
	memcpy(name + at, text, len);
	name[at + len] = '\0';
	return true;
}

// Appends to each name its number of the range. Returns what is wrong, or NULL.
static const char *add_range(struct expansion *out, const char *text, size_t len)
{
	char range[MAX_TEXT], number[MAX_TEXT];
	struct cfg_set set = {0};
	const char *why;
	unsigned i = 0;
	bool fits = true;

	memcpy(range, text, len);
	range[len] = '\0';
	if (!schema_parse_ranges(range, 0, CFG_SET_BITS - 1, &set, &why))
		return "the range in [ ] must be such as [1-3] or [1,4-6], below 4096";
	if (set.n > EXPAND_MAX)
		return "the range makes more than " POLICY_MAX_PORTS_TEXT " names";
	if (out->ranged && set.n != out->n)
		return "all ranges of one text must be of the same length";
	for (unsigned k = 1; !out->ranged && k < set.n; k++)
		memcpy(out->items[k], out->items[0], sizeof(out->items[k]));
	out->n = set.n;
	out->ranged = true;
	for (unsigned v = 0; v < CFG_SET_BITS; v++)
		if (cfg_set_has(&set, v)) {
			int width = *range == '0' ? (int)strspn(range, "0123456789") : 1;
			int n = snprintf(number, sizeof(number), "%0*u", width, v);

			fits = append_to_name(out->items[i++], number, (size_t)n) && fits;
		}
	return fits ? NULL : too_long;
}

bool expand(const char *text, struct expansion *out, const char **why)
{
	out->n = 1;
	out->ranged = false;
	out->items[0][0] = '\0';
	*why = strlen(text) < MAX_TEXT ? NULL : "the text is too long";
	while (*why == NULL && *text != '\0') {
		size_t literal = strcspn(text, "[");
		const char *end = strchr(text + literal, ']');

		for (unsigned i = 0; i < out->n; i++)
			if (!append_to_name(out->items[i], text, literal))
				*why = too_long;
		text += literal;
		if (*why != NULL || *text == '\0')
			break;
		*why = end == NULL ? "the [ has no ]"
				   : add_range(out, text + 1, (size_t)(end - text - 1));
		text = end == NULL ? text : end + 1;
	}
	return *why == NULL;
}
