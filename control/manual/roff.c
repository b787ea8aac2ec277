// SPDX-License-Identifier: Apache-2.0
#include "control/manual/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

// One character; `-` becomes a real minus, which can be searched and copied.
static void put_char(FILE *out, char c)
{
	switch (c) {
	case '\\': fputs("\\e", out); break;
	case '-': fputs("\\-", out); break;
	case '~': fputs("\\(ti", out); break;
	case '^': fputs("\\(ha", out); break;
	case '\'': fputs("\\(aq", out); break;
	default: fputc(c, out); break;
	}
}

// A star that begins or ends a word is markup; one between blanks or digits is a star.
static bool is_mark(const char *text, size_t i, size_t len, bool open)
{
	char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < len ? text[i + 1] : ' ';

	if (text[i] == '`')
		return true;
	if (text[i] != '*')
		return false;
	return open ? !isspace((unsigned char)before)
		    : !isspace((unsigned char)after) && !isalnum((unsigned char)before);
}

static void put_span(FILE *out, const char *text, size_t len)
{
	char open = '\0';

	if (len > 0 && (text[0] == '.' || text[0] == '\''))
		fputs("\\&", out); // else a request of roff
	for (size_t i = 0; i < len; i++) {
		if ((open != '\0' && text[i] != open) || !is_mark(text, i, len, open != '\0')) {
			put_char(out, text[i]);
			continue;
		}
		if (open != '\0')
			fputs("\\fR", out);
		else
			fputs(text[i] == '`' ? "\\fB" : "\\fI", out);
		open = open != '\0' ? '\0' : text[i];
	}
	if (open != '\0')
		fputs("\\fR", out);
}

void roff_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		if (len == 0) {
			fputs(".PP\n", out);
		} else {
			size_t lead = strspn(text, " ");

			put_span(out, text + lead, len - lead);
			fputc('\n', out);
		}
		text += len + (text[len] != '\0');
	}
}

void roff_item(FILE *out, const char *tag, const char *text)
{
	fputs(".TP\n\\fB", out);
	for (; *tag != '\0'; tag++)
		put_char(out, *tag);
	fputs("\\fR\n", out);
	roff_text(out, text);
}

void roff_lines(FILE *out, const char *text)
{
	fputs(".nf\n", out);
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		if (len > 0 && (text[0] == '.' || text[0] == '\''))
			fputs("\\&", out);
		for (size_t i = 0; i < len; i++)
			put_char(out, text[i]);
		fputc('\n', out);
		text += len + (text[len] != '\0');
	}
	fputs(".fi\n", out);
}
