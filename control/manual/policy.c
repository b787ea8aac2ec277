// SPDX-License-Identifier: Apache-2.0
// The text of weir-policy(5), from docs/configuration.md: its bullets become indented paragraphs,
// each row of its table an entry.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/manual/pages.h"
#include "control/manual/roff.h"

enum { PATH_LEN = 512, FACTS_LEN = 1024, N_CELLS = 5 };
enum { CELL_KEY, CELL_VALUE, CELL_DEFAULT, CELL_APPLIES, CELL_MEANING };

// "| a | b |" in place; false when it is no row of that many cells.
static bool split_row(char *line, char *cells[N_CELLS])
{
	line += 2;
	for (int i = 0; i < N_CELLS; i++) {
		char *end = strstr(line, " |");

		if (end == NULL)
			return false;
		*end = '\0';
		cells[i] = line;
		line = end + 2;
		line += *line == ' ';
	}
	return true;
}

static void table_row(FILE *out, char *line)
{
	char *cells[N_CELLS], *key, facts[FACTS_LEN];
	bool with_default;

	if (strncmp(line, "| key |", 7) == 0 || strncmp(line, "| --- |", 7) == 0 ||
	    !split_row(line, cells))
		return;
	with_default = cells[CELL_DEFAULT][0] != '\0';
	key = cells[CELL_KEY] + 1; // without its backticks
	key[strcspn(key, "`")] = '\0';
	roff_item(out, key, "");
	roff_text(out, cells[CELL_MEANING]);
	snprintf(facts, sizeof(facts), "Value: %s; %s%s%s%s.", cells[CELL_VALUE],
		 with_default ? "default: " : "", with_default ? cells[CELL_DEFAULT] : "",
		 with_default ? "; " : "", cells[CELL_APPLIES]);
	fputs(".br\n", out);
	roff_text(out, facts);
}

static void line_out(FILE *out, char *line, bool *in_table)
{
	if (line[0] == '|') {
		if (!*in_table)
			fputs(".SH KEYS\n", out);
		*in_table = true;
		table_row(out, line);
	} else if (strncmp(line, "* ", 2) == 0) {
		fputs(".IP \\(bu 2\n", out);
		roff_text(out, line + 2);
	} else if (line[0] == '\0') {
		fputs(".PP\n", out);
	} else if (line[0] != '#' && line[0] != '<') {
		roff_text(out, line);
	}
}

int part_policy(FILE *out, const char *docs)
{
	char path[PATH_LEN], *line = NULL;
	bool in_table = false;
	size_t room = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/configuration.md", docs);
	in = fopen(path, "re");
	if (in == NULL)
		return -1;
	// The title and the blank line below it are not for this page.
	for (int i = 0; i < 2; i++)
		if (getline(&line, &room, in) < 0)
			break;
	while (getline(&line, &room, in) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		line_out(out, line, &in_table);
	}
	free(line);
	fclose(in);
	return 0;
}
