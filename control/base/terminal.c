// SPDX-License-Identifier: Apache-2.0
#include "control/base/terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	GAP = 2, // blanks before the rest of a broken line
	FOLD_LEAST = 20, // characters of the rest of a line, also on a narrower terminal
};

// File-static, because the descriptors belong to the process.
static unsigned kept_widths[STDERR_FILENO + 1];

unsigned terminal_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long n = columns != NULL ? strtoul(columns, NULL, 10) : 0;
	int fd = fileno(out); // -1: a stream in memory

	if (!isatty(fd))
		return fd == STDOUT_FILENO || fd == STDERR_FILENO ? kept_widths[fd] : 0;
	if (n > 0 && n <= UINT16_MAX)
		return (unsigned)n;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void terminal_keep_widths(void)
{
	kept_widths[STDOUT_FILENO] = terminal_width(stdout);
	kept_widths[STDERR_FILENO] = terminal_width(stderr);
}

int fit_text(const char *text, int length, unsigned width)
{
	int indent = (int)strspn(text, " "), end = 0, n;

	// A byte 10xxxxxx goes on with the character before it.
	while (end < length && ((text[end] & 0xc0) == 0x80 || width-- > 0))
		end++;
	if (end == length)
		return length;
	for (n = end; n > indent; n--)
		if (text[n] == ' ')
			return n;
	return end;
}

static unsigned room_after(int indent, unsigned width)
{
	return width > (unsigned)indent + FOLD_LEAST ? width - (unsigned)indent : FOLD_LEAST;
}

// Prints a line into `room` characters, and its rest into lines that begin at the column `indent`.
static void fold_line(FILE *out, const char *text, int length, unsigned room, int indent,
		      unsigned width)
{
	int n;

	while (width != 0 && (n = fit_text(text, length, room)) < length) {
		int skip = n + (text[n] == ' ');

		while (n > 1 && text[n - 1] == ' ') // between two columns
			n--;
		fprintf(out, "%.*s\n%*s", n, text, indent, "");
		text += skip;
		length -= skip;
		room = room_after(indent, width);
	}
	fprintf(out, "%.*s", length, text);
}

void print_folded(FILE *out, const char *text, unsigned width)
{
	while (*text != '\0') {
		int length = (int)strcspn(text, "\n"), indent = (int)strspn(text, " ") + GAP;

		fold_line(out, text, length, width, indent, width);
		text += length;
		if (*text == '\n')
			fputc(*text++, out);
	}
}

void print_indented(FILE *out, const char *text, int indent, unsigned width)
{
	while (*text != '\0') {
		int length = (int)strcspn(text, "\n");

		fold_line(out, text, length, room_after(indent, width), indent, width);
		text += length;
		if (*text != '\0')
			fprintf(out, "\n%*s", *++text == '\n' ? 0 : indent, "");
	}
}

void print_term(FILE *out, const char *term, const char *text, int indent)
{
	if ((int)strlen(term) < indent)
		fprintf(out, "%-*s", indent, term);
	else
		fprintf(out, "%s\n%*s", term, indent, "");
	print_indented(out, text, indent, TERMINAL_TEXT);
	fputc('\n', out);
}

// Bytes of such a character at the start of the text, in UTF-8; 0: another one is there.
static unsigned obeyed(const unsigned char *c)
{
	if (*c < ' ' || *c == 0x7f)
		return 1;
	if ((c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c))
		return 2;
	if (c[0] != 0xe2)
		return 0;
	if (c[1] == 0x80 && ((c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae)))
		return 3;
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0;
}

void text_mask(char *text, bool keep_lines)
{
	while (*text != '\0') {
		unsigned n = keep_lines && *text == '\n' ? 0 : obeyed((unsigned char *)text);

		if (n == 0)
			text++;
		for (; n > 0; n--)
			*text++ = '?';
	}
}

__attribute__((format(printf, 3, 0))) static void print_folded_lines(FILE *out, unsigned width,
								     const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	text_mask(text, true);
	print_folded(out, text, width);
	free(text);
}

void terminal_printf(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_folded_lines(out, terminal_width(out), fmt, ap);
	va_end(ap);
}

void usage_printf(const char *fmt, ...)
{
	unsigned width = terminal_width(stderr);
	va_list ap;

	va_start(ap, fmt);
	print_folded_lines(stderr, width == 0 || width > TERMINAL_TEXT ? TERMINAL_TEXT : width, fmt,
			   ap);
	va_end(ap);
}
