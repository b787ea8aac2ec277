// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/lines.h"

#include <stdio.h>
#include <string.h>

bool lines_has(const char *text, const char *line, size_t len)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n == len && memcmp(text, line, len) == 0)
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

static void add_line(struct lines *l, const char *line, size_t len)
{
	size_t gap = l->len > 0;

	// No line follows one that is left out: the reader sees where the text ends.
	if (l->left_out > 0 || l->len + gap + len + LINES_TAIL > sizeof(l->text)) {
		l->left_out++;
		return;
	}
	if (gap > 0)
		l->text[l->len] = '\n';
	memcpy(l->text + l->len + gap, line, len);
	l->len += gap + len;
	l->text[l->len] = '\0';
}

void lines_add(struct lines *l, const char *text)
{
	l->text[l->len] = '\0'; // the line that counts
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n > 0 && !lines_has(l->text, text, n))
			add_line(l, text, n);
		text += n + (text[n] == '\n');
	}
	if (l->left_out > 0)
		snprintf(l->text + l->len, LINES_TAIL, "%sand %u more", l->len > 0 ? "\n" : "",
			 l->left_out);
}
