// SPDX-License-Identifier: Apache-2.0
// Aligned tables for people, from lists of JSON objects: a column is a heading, a key and a unit.
// Pure but for printing; the JSON itself is what programs should read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_object;
struct show_wish;

enum unit {
	UNIT_TEXT, // left aligned, as UNIT_LIST
	UNIT_COUNT, // 1,234
	UNIT_BYTES, // 12.0 KB
	UNIT_BPS, // 1.00 Gb/s
	UNIT_MS, // 100 ms
	UNIT_UPTIME, // of milliseconds: 16 min 14 s, 3 d 4 h
	UNIT_US, // 1.50 ms
	UNIT_NS,
	UNIT_S,
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
	// Where a table is wider than the terminal, the columns of the highest rank are left out
	// first, of one rank the last column first. 0: the column is never left out.
	uint8_t rank;
};

enum { TABLE_MAX_COLUMNS = 24, CELL_LEN = 320 };

// An array of columns and how many there are. More than a table may have do not compile.
#define COLUMNS(c)                                                                                 \
	c, sizeof(c) / sizeof((c)[0]) +                                                            \
		   0 * sizeof(char[sizeof(c) / sizeof((c)[0]) <= TABLE_MAX_COLUMNS ? 1 : -1])

struct table {
	const struct column *cols;
	size_t n_cols;
	// Keys with blanks between. A row in which all of them are 0 is left out. NULL: every row
	// is shown.
	const char *active;
	// The name of the rows that are left out. The letters after '|' are the plural's:
	// "idle queue|s".
	const char *idle;
	const char *none; // the sentence in place of a table without rows
};

// Formats one value; "-" where v is NULL. A text stays as it is in every unit.
void cell_format(char out[CELL_LEN], enum unit unit, struct json_object *v);

// NULL where the key is absent.
struct json_object *list_of(struct json_object *data, const char *key);
struct json_object *row_at(struct json_object *rows, size_t i);
void put_text(struct json_object *row, const char *key, const char *text);

// Whether one of the keys, with blanks between, is not 0.
bool row_is_active(struct json_object *row, const char *keys);

// Prints the rows, or the sentence, and says which rows and columns are left out.
void table_print(FILE *out, struct json_object *list, const struct table *t,
		 const struct show_wish *wish);

// "3 idle queues" of "idle queue|s", "1 idle queue".
void print_counted(FILE *out, size_t n, const char *name);
// "(3 idle queues are not shown; name a port, or --all, to see them)"; nothing for 0.
void print_left_out(FILE *out, size_t n, const char *idle);
