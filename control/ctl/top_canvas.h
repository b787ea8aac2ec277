// SPDX-License-Identifier: Apache-2.0
// A screen in memory: lines of cells, each a character with an attribute. Text beyond an edge is
// cut. Pure; the terminal and plain text are both written from it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

enum top_attr {
	TOP_PLAIN,
	TOP_FAINT,
	TOP_STRONG,
	TOP_GOOD,
	TOP_WARNING,
	TOP_ALARM,
	N_TOP_ATTRS,
	TOP_REVERSE = 0x80, // may be added to each of these
};

struct top_cell {
	wchar_t ch;
	uint8_t attr;
};

struct top_canvas {
	unsigned lines, columns;
	bool ascii; // no other characters
	struct top_cell cell[];
};

// NULL: out of memory.
struct top_canvas *top_canvas_create(unsigned lines, unsigned columns, bool ascii);
static inline const struct top_cell *top_cell(const struct top_canvas *c, unsigned y, unsigned x)
{
	return &c->cell[(size_t)y * c->columns + x];
}

// Each returns the column behind what it has written.
unsigned top_put(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *text);
__attribute__((format(printf, 5, 6))) unsigned
top_printf(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *fmt, ...);
// [||||   label]; `width` holds the brackets. share: 0 to 1.
unsigned top_bar(struct top_canvas *c, unsigned y, unsigned x, unsigned width, double share,
		 unsigned attr, const char *label);

// Breaks the text between words; the lines after the first are indented. Returns how many it took.
unsigned top_wrap(struct top_canvas *c, unsigned y, unsigned max_lines, unsigned attr,
		  const char *text);
// Adds the attribute to the whole line.
void top_mark_line(struct top_canvas *c, unsigned y, unsigned attr);

// The lines as UTF-8, without blanks at their ends; up to the last line that holds something.
void top_canvas_print(const struct top_canvas *c, FILE *out);

enum { TOP_NUMBER_LEN = 16 };

// At most five characters: 0, 0.3, 999, 1.23k, 12.3M, 123G.
const char *top_number(char out[TOP_NUMBER_LEN], double v);
