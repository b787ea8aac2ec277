// SPDX-License-Identifier: Apache-2.0
// Breaks lines between words so that a line fits the terminal. A width of 0 breaks no line. A
// character is a code point of UTF-8. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { TERMINAL_TEXT = 80 }; // characters in a line of help and of a plan

// The number of characters in a line of the terminal behind `out`. 0: `out` is no terminal, or the
// terminal does not give its size.
unsigned terminal_width(FILE *out);

// Keeps the widths of standard output and standard error for the rest of the process. The caller
// puts pipes in the place of both descriptors next.
void terminal_keep_widths(void);

// The number of bytes of the text that fit into `width` characters: up to a blank, if the text has
// a blank there.
int fit_text(const char *text, int length, unsigned width);

// Prints lines. The rest of a broken line is indented.
void print_folded(FILE *out, const char *text, unsigned width);

// Prints a text from the column `indent`, where the cursor stands. Its further lines begin at the
// same column.
void print_indented(FILE *out, const char *text, int indent, unsigned width);

// Prints a row of a list: the term, then its explanation from the column `indent`.
void print_term(FILE *out, const char *term, const char *text, int indent);

// Puts `?` in the place of each byte of a character that a terminal or a reader may obey: ASCII's
// control characters, Unicode's U+0080 to U+009F, and those without a shape that turn the direction
// of a line or end it (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2066 to U+2069). keep_lines:
// new lines stay.
void text_mask(char *text, bool keep_lines);

// Prints lines to the width of the terminal behind `out`. What `fmt` and its values have of the
// characters that text_mask() names, but for new lines, is masked.
__attribute__((format(printf, 2, 3))) void terminal_printf(FILE *out, const char *fmt, ...);

// Prints lines about a wrong command line to standard error. They fit TERMINAL_TEXT characters,
// where no terminal reads them, too.
__attribute__((format(printf, 1, 2))) void usage_printf(const char *fmt, ...);
