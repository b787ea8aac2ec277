// SPDX-License-Identifier: Apache-2.0
// Manual pages in roff (man macros, man(7)) from plain text with a little markup: `word` is bold,
// *word* is italic. Everything that roff would take for its own is escaped. Pure but for printing.
#pragma once

#include <stdio.h>

// Text of one or several lines; a blank line starts a paragraph.
void roff_text(FILE *out, const char *text);

// A tagged paragraph: the tag as it is, in bold, then the text.
void roff_item(FILE *out, const char *tag, const char *text);

// Lines shown as they are.
void roff_lines(FILE *out, const char *text);
