// SPDX-License-Identifier: Apache-2.0
// Pages in one file, without script or anything from elsewhere: frame, and text kept as it is.
// Well-formed as XML, too. Pure but for printing.
#pragma once

#include <stddef.h>
#include <stdio.h>

void html_head(const char *title, FILE *out);
void html_foot(FILE *out);

// Text that is printed first and then becomes a block of the page.
struct html_text {
	char *text;
	size_t len;
	FILE *f; // to print to; NULL: no memory
};
void html_text_open(struct html_text *t);
void html_text_close(struct html_text *t, FILE *out);
