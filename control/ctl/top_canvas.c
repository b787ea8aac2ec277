// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/ctl/top.h"

enum { TEXT_LEN = 1024, INDENT = 4, FULL_BLOCK = 0x2588, EIGHTHS = 8 };

struct top_canvas *top_canvas_create(unsigned lines, unsigned columns, bool ascii)
{
	size_t n = (size_t)lines * columns;
	struct top_canvas *c = malloc(sizeof(*c) + n * sizeof(c->cell[0]));

	if (c == NULL)
		return NULL;
	c->lines = lines;
	c->columns = columns;
	c->ascii = ascii;
	for (size_t i = 0; i < n; i++)
		c->cell[i] = (struct top_cell){L' ', TOP_PLAIN};
	return c;
}

static void set(struct top_canvas *c, unsigned y, unsigned x, wchar_t ch, unsigned attr)
{
	if (y < c->lines && x < c->columns)
		c->cell[(size_t)y * c->columns + x] = (struct top_cell){ch, (uint8_t)attr};
}

unsigned top_put(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *text)
{
	for (; *text != '\0'; text++, x++)
		set(c, y, x, *text >= ' ' && *text <= '~' ? (wchar_t)*text : L'?', attr);
	return x;
}

unsigned top_printf(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *fmt,
		    ...)
{
	char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return top_put(c, y, x, attr, text);
}

unsigned top_bar(struct top_canvas *c, unsigned y, unsigned x, unsigned width, double share,
		 unsigned attr, const char *label)
{
	unsigned room = width > 2 ? width - 2 : 0, len = (unsigned)strlen(label);
	double limited = share < 0 ? 0 : share > 1 ? 1 : share;
	unsigned eighths = (unsigned)(limited * EIGHTHS * room + 0.5);

	if (limited > 0 && eighths == 0)
		eighths = 1; // only 0 is an empty bar
	top_put(c, y, x, TOP_FAINT, "[");
	for (unsigned i = 0; i < room; i++) {
		unsigned part = eighths > EIGHTHS * i ? eighths - EIGHTHS * i : 0;

		if (c->ascii && part > 0)
			set(c, y, x + 1 + i, L'|', attr);
		else if (part > 0) // U+2588 is the full block, U+258F an eighth
			set(c, y, x + 1 + i,
			    (wchar_t)(FULL_BLOCK + EIGHTHS - (part < EIGHTHS ? part : EIGHTHS)),
			    attr);
	}
	if (len <= room)
		top_put(c, y, x + 1 + room - len, TOP_PLAIN, label);
	return top_put(c, y, x + 1 + room, TOP_FAINT, "]");
}

unsigned top_wrap(struct top_canvas *c, unsigned y, unsigned max_lines, unsigned attr,
		  const char *text)
{
	unsigned n = 0, indent = 0;

	while (*text != '\0' && n < max_lines && c->columns > 2 * INDENT) {
		size_t room = c->columns - indent, len = strlen(text);
		char line[TEXT_LEN];

		if (len > room && n + 1 < max_lines) {
			len = room;
			while (len > 0 && text[len] != ' ')
				len--;
			len = len > 0 ? len : room;
		}
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		top_put(c, y + n++, indent, attr, line);
		text += len + strspn(text + len, " ");
		indent = INDENT;
	}
	return n;
}

void top_mark_line(struct top_canvas *c, unsigned y, unsigned attr)
{
	for (unsigned x = 0; y < c->lines && x < c->columns; x++)
		c->cell[(size_t)y * c->columns + x].attr |= (uint8_t)attr;
}

void top_canvas_print(const struct top_canvas *c, FILE *out)
{
	unsigned empty = 0;

	for (unsigned y = 0; y < c->lines; y++) {
		unsigned end = c->columns;

		while (end > 0 && top_cell(c, y, end - 1)->ch == L' ')
			end--;
		if (end == 0) {
			empty++;
			continue;
		}
		for (; empty > 0; empty--)
			fputc('\n', out);
		for (unsigned x = 0; x < end; x++) {
			wchar_t ch = top_cell(c, y, x)->ch;

			if (ch < 0x80)
				fputc((int)ch, out);
			else // a block: three bytes of UTF-8
				fprintf(out, "%c%c%c", (int)(0xe0 | ch >> 12),
					(int)(0x80 | (ch >> 6 & 0x3f)), (int)(0x80 | (ch & 0x3f)));
		}
		fputc('\n', out);
	}
}

const char *top_number(char out[TOP_NUMBER_LEN], double v)
{
	static const char scale[] = " kMGTPE";
	unsigned i = 0;

	while (v >= 999.5 && i + 2 < sizeof(scale)) {
		v /= 1000;
		i++;
	}
	if (i == 0 && v > 0 && v < 9.95)
		snprintf(out, TOP_NUMBER_LEN, "%.1f", v > 0.1 ? v : 0.1);
	else if (i == 0)
		snprintf(out, TOP_NUMBER_LEN, "%.0f", v);
	else
		snprintf(out, TOP_NUMBER_LEN, "%.*f%c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v,
			 scale[i]);
	return out;
}
