// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/expr.h"

enum { MAX_DIGITS = 15, MAX_UNIT = 4 };

struct unit_row {
	const char *name;
	uint8_t unit; // enum expr_unit
	double factor;
	bool shown; // used to print
};

// Of one unit the largest first.
static const struct unit_row rows[] = {
	{"T", EXPR_RATE, 1e12, true},	     {"G", EXPR_RATE, 1e9, true},
	{"M", EXPR_RATE, 1e6, true},	     {"K", EXPR_RATE, 1e3, true},
	{"bps", EXPR_RATE, 1, true},	     {"GB", EXPR_BYTES, 1e9, true},
	{"MB", EXPR_BYTES, 1e6, true},	     {"KB", EXPR_BYTES, 1e3, true},
	{"GiB", EXPR_BYTES, 1 << 30, false}, {"MiB", EXPR_BYTES, 1 << 20, false},
	{"KiB", EXPR_BYTES, 1 << 10, false}, {"B", EXPR_BYTES, 1, true},
	{"s", EXPR_TIME, 1e9, true},	     {"ms", EXPR_TIME, 1e6, true},
	{"us", EXPR_TIME, 1e3, true},	     {"ns", EXPR_TIME, 1, true},
	{"%", EXPR_SHARE, 0.01, true},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct unit_row *find_unit(const char *text, size_t len)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		if (strlen(rows[i].name) == len && strncmp(rows[i].name, text, len) == 0)
			return &rows[i];
	return NULL;
}

// Digits with an optional decimal point as whole / scale, both exact.
static const char *digits(const char *s, double *whole, double *scale)
{
	unsigned n = 0;
	bool point = false;

	*whole = 0;
	*scale = 1;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !point && n != 0); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		if (++n > MAX_DIGITS)
			return NULL;
		*whole = *whole * 10 + (*s - '0');
		*scale *= point ? 10 : 1;
	}
	return n == 0 || s[-1] == '.' ? NULL : s;
}

static size_t unit_length(const char *s)
{
	size_t len = 0;

	if (*s == '%')
		return 1;
	while (isalpha((unsigned char)s[len]))
		len++;
	return len;
}

const char *expr_number(const char *text, double *v, enum expr_unit *unit, const char **why)
{
	double whole, scale;
	const char *s = digits(text, &whole, &scale);
	const struct unit_row *u;
	size_t len;

	*why = "expected a number such as 20G, 125KB, 10us, 5% or 0.98";
	if (s == NULL)
		return NULL;
	len = unit_length(s);
	// "20 G": a word behind a blank is a unit only if it is one.
	if (*s == ' ' && find_unit(s + 1, unit_length(s + 1)) != NULL)
		len = unit_length(++s);
	if (len == 0) {
		*unit = EXPR_COUNT;
		*v = whole / scale;
		return s;
	}
	u = find_unit(s, len);
	*why = "unknown unit: known are bps K M G, B KB MB GB KiB MiB GiB, ns us ms s, and %";
	if (u == NULL)
		return NULL;
	*unit = u->unit;
	// A division of whole numbers rounds once: 0.9% and 0.009 are the same.
	*v = u->unit == EXPR_SHARE ? whole / (scale * 100) : whole * u->factor / scale;
	return s + len;
}

static bool is_whole(double v)
{
	return v > -9e15 && v < 9e15 && v == (double)(int64_t)v;
}

// A count is never rounded to fewer digits than it has before the point.
static void print_plain(double v, unsigned digits, char *out, uint32_t len)
{
	snprintf(out, len, "%.*g", (int)digits + 1, v);
	if (is_whole(v) || strstr(out, "e+") != NULL)
		snprintf(out, len, "%.0f", v);
}

static const double LEAST_SHARE = 0.00001;

static double half_a_digit(unsigned digits)
{
	double half = 0.5;

	while (digits-- != 0)
		half /= 10;
	return half;
}

// The unit in which a quantity is printed.
static const struct unit_row *shown_unit(enum expr_unit unit, double size, unsigned digits)
{
	const struct unit_row *u = NULL;

	for (unsigned i = 0; i < N_ROWS; i++) {
		if (rows[i].unit != unit || !rows[i].shown)
			continue;
		u = &rows[i];
		// Four digits would make 999.96M of the next unit 1000M.
		if (size >= u->factor * (1 - half_a_digit(digits)) && digits <= EXPR_MAX_DIGITS)
			break;
	}
	return u;
}

void expr_print_digits(enum expr_unit unit, double v, unsigned digits, char *out, uint32_t len)
{
	const struct unit_row *u;
	double size = v < 0 ? -v : v;

	if (v != v) {
		snprintf(out, len, "no value");
		return;
	}
	if (unit == EXPR_COUNT || v == 0) {
		print_plain(v, digits, out, len);
		return;
	}
	// "%.4g" would print an exponent.
	if (unit == EXPR_SHARE && size < LEAST_SHARE && digits <= EXPR_DIGITS) {
		snprintf(out, len, v < 0 ? "> -0.001%%" : "< 0.001%%");
		return;
	}
	u = shown_unit(unit, size, digits);
	snprintf(out, len, "%.*g%s", (int)digits, v / u->factor, u->name);
}

void expr_print(enum expr_unit unit, double v, char *out, uint32_t len)
{
	expr_print_digits(unit, v, EXPR_DIGITS, out, len);
}

double expr_as_printed(enum expr_unit unit, double v, unsigned digits)
{
	char text[EXPR_VALUE_LEN], *end;
	double printed;

	expr_print_digits(unit, v, digits, text, sizeof(text));
	printed = strtod(text, &end);
	if (end == text)
		return v == v ? 0 : v; // "< 0.001%", "no value"
	return unit == EXPR_COUNT || v == 0
		       ? printed
		       : printed * shown_unit(unit, v < 0 ? -v : v, digits)->factor;
}
