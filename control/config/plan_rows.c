// SPDX-License-Identifier: Apache-2.0
// The tables of a plan, shorter: rows that differ in nothing but their port become one row, or the
// rows of one port alone stay. Private to control/config.
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/config/plan.h"
#include "dataplane/policy.h"

// A row of the text: the name of a port, and what follows with the indented lines below it.
struct row {
	const char *line, *rest; // the rest begins behind the blanks that follow the name
	size_t len; // from `line` on
	unsigned port;
	bool printed;
};

// The index of the port that the row begins with. There is one: PLAN_ROW stands before the name.
static unsigned port_at(const struct policy *p, const char *row)
{
	size_t len = strcspn(row, " \n");
	unsigned i = 0;

	while (strncmp(p->ports[i].name, row, len) != 0 || p->ports[i].name[len] != '\0')
		i++;
	return i;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 1;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static size_t line_len(const char *line)
{
	size_t len = strcspn(line, "\n");

	return len + (line[len] == '\n');
}

static bool same_rest(const struct row *a, const struct row *b)
{
	size_t len = a->len - (size_t)(a->rest - a->line);

	return len == b->len - (size_t)(b->rest - b->line) && memcmp(a->rest, b->rest, len) == 0;
}

static size_t without_number(const char *name)
{
	size_t len = strlen(name);

	while (len > 0 && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return len;
}

// The names differ in nothing but the number at their end.
static bool of_one_series(const char *a, const char *b)
{
	size_t len = without_number(a);

	return len == without_number(b) && memcmp(a, b, len) == 0;
}

// "  also p2 to p8": the ports of the later rows that are as this one. These are printed then.
static void print_others(const struct policy *p, struct row *rows, unsigned n, FILE *out)
{
	const char *lead = "  also ";

	for (unsigned i = 1; i < n; i++) {
		unsigned first = rows[i].port, last = first;

		if (rows[i].printed || !same_rest(&rows[0], &rows[i]))
			continue;
		rows[i].printed = true;
		for (unsigned k = i + 1; k < n; k++)
			if (!rows[k].printed && same_rest(&rows[0], &rows[k]) &&
			    rows[k].port == last + 1 &&
			    of_one_series(p->ports[last].name, p->ports[last + 1].name)) {
				rows[k].printed = true;
				last++;
			}
		fprintf(out, "%s%s", lead, p->ports[first].name);
		if (last > first)
			fprintf(out, "%s%s", last == first + 1 ? " " : " to ",
				p->ports[last].name);
		lead = ", ";
	}
	fputs(strcmp(lead, ", ") == 0 ? "\n" : "", out);
}

static void print_rows_of_ports(const struct policy *p, struct row *rows, unsigned n, FILE *out)
{
	for (unsigned i = 0; i < n; i++) {
		if (rows[i].printed)
			continue;
		fwrite(rows[i].line, 1, rows[i].len, out);
		print_others(p, &rows[i], n - i, out);
	}
}

// False: no memory.
static bool write_rows(const struct policy *p, const char *text, const char *port, FILE *out)
{
	struct row *rows = calloc(lines_of(text), sizeof(*rows));
	unsigned n = 0;

	if (rows == NULL)
		return false;
	while (*text != '\0') {
		size_t len = line_len(text), name;
		unsigned at;

		if (*text != PLAN_ROW[0]) {
			print_rows_of_ports(p, rows, n, out);
			n = 0;
			fwrite(text, 1, len, out);
			text += len;
			continue;
		}
		text++;
		len--;
		while (text[len] == ' ')
			len += line_len(text + len);
		at = port_at(p, text);
		name = strlen(p->ports[at].name);
		name += strspn(text + name, " ");
		if (port == NULL || strcmp(p->ports[at].name, port) == 0)
			rows[n++] = (struct row){text, text + name, len, at, false};
		text += len;
	}
	print_rows_of_ports(p, rows, n, out);
	free(rows);
	return true;
}

void plan_rows(const struct policy *p, const char *text, const char *port, FILE *out)
{
	char *shorter = NULL;
	size_t len;
	FILE *f = open_memstream(&shorter, &len);
	bool done = f != NULL && write_rows(p, text, port, f);

	if (f != NULL)
		fclose(f);
	print_folded(out, done ? shorter : text, TERMINAL_TEXT);
	free(shorter);
}
