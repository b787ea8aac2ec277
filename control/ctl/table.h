// SPDX-License-Identifier: Apache-2.0
// Aligned tables for people, from lists of JSON objects: a column is a heading, a key and a unit.
// Pure but for printing; the JSON itself is what programs should read.
#pragma once

#include <stddef.h>
#include <stdio.h>

struct json_object;

enum unit {
	UNIT_TEXT, // left aligned, as UNIT_LIST
	UNIT_COUNT, // 1,234
	UNIT_BYTES, // 12.0 KB
	UNIT_BPS, // 1.00 Gb/s
	UNIT_MS, // 100 ms
	UNIT_US, // 1.50 ms
	UNIT_NS,
	UNIT_YES, // yes, no
	UNIT_UP, // up, down
	UNIT_ON, // on, off
	UNIT_PERCENT,
	UNIT_HEX, // 0x1a2b, as queue pairs are written
	UNIT_LIST, // words with blanks between
};

struct column {
	const char *head;
	const char *key;
	enum unit unit;
};

enum { TABLE_MAX_COLUMNS = 24, CELL_LEN = 160 };

// An array of columns and how many there are. More than a table may have do not compile.
#define COLUMNS(c)                                                                                 \
	c, sizeof(c) / sizeof((c)[0]) +                                                            \
		   0 * sizeof(char[sizeof(c) / sizeof((c)[0]) <= TABLE_MAX_COLUMNS ? 1 : -1])

// Formats one value; "-" where v is NULL.
void cell_format(char out[CELL_LEN], enum unit unit, struct json_object *v);

// keep: rows for which it says no are left out; NULL keeps all. Returns how many were left out.
size_t table_print(FILE *out, struct json_object *list, const struct column *cols, size_t n_cols,
		   int (*keep)(struct json_object *row));
