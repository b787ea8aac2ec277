// SPDX-License-Identifier: Apache-2.0
// A message of several lines, in a place of a fixed size: each line is whole and there once, and
// the last line counts those that have no room ("and 3 more"). Pure; one thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LINES_ROOM = 16384, LINES_TAIL = 32 };

// The caller zeroes it.
struct lines {
	char text[LINES_ROOM]; // with '\n' between two lines
	size_t len; // without the line that counts
	unsigned left_out;
};

// Adds each line of the text. A line that is there already is not added again.
void lines_add(struct lines *l, const char *text);

// The text has this line of len characters.
bool lines_has(const char *text, const char *line, size_t len);
