// SPDX-License-Identifier: Apache-2.0
#include "control/page/page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// page_bytes.c, made by the build.
extern const unsigned char page_before[], page_behind[];
extern const uint32_t page_n_before, page_n_behind;

void page_write(const char *json, FILE *out)
{
	fwrite(page_before, 1, page_n_before, out);
	for (const char *s = json; *s != '\0';) {
		size_t n = strcspn(s, "<");

		fwrite(s, 1, n, out);
		s += n;
		if (*s == '<') {
			fputs("\\u003c", out);
			s++;
		}
	}
	fwrite(page_behind, 1, page_n_behind, out);
}

char *page_empty(size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		return NULL;
	page_write("", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
