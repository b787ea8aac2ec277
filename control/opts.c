// SPDX-License-Identifier: Apache-2.0
#include "control/opts.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"

enum { LONG = 256 }; // + its row: what getopt_long returns for a long option

static bool knows(const struct opts *o, const struct opt *row)
{
	return row->commands == 0 || o->command == 0 || (row->commands & o->command);
}

const struct opt *opts_next(const struct opts *o, const struct opt *row)
{
	for (row = row == NULL ? o->rows : row + 1; row < o->rows + o->n; row++)
		if (knows(o, row))
			return row;
	return NULL;
}

static const char *name_at(const void *opts, unsigned i)
{
	const struct opts *o = opts;

	return knows(o, &o->rows[i]) ? o->rows[i].name : "";
}

const char *opts_nearest(const struct opts *o, const char *word)
{
	char name[OPT_TERM_LEN];

	word += strspn(word, "-");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	return schema_closest(name, o->n, name_at, o);
}

static const struct opt *row_of(const struct opts *o, int code)
{
	if (code >= LONG)
		return &o->rows[code - LONG];
	for (unsigned i = 0; i < o->n; i++)
		if (code != 0 && o->rows[i].letter == code)
			return &o->rows[i];
	return NULL;
}

static void complain(const struct opts *o, bool missing, const char *word)
{
	const struct opt *row = row_of(o, optopt);
	const char letter[] = {'-', (char)optopt, '\0'}, *near = NULL;

	if (optopt == 0) // a long option that no row has
		near = opts_nearest(o, word);
	else if (row == NULL)
		word = letter;
	if (o->wrong == NULL && near != NULL)
		fprintf(stderr, "%s: did you mean --%s?\n", o->program, near);
	else if (o->wrong != NULL && row == NULL)
		o->wrong(o, OPTS_UNKNOWN, word, near);
	else if (o->wrong != NULL)
		o->wrong(o, missing ? OPTS_VALUE_MISSING : OPTS_NO_VALUE, word, row->name);
}

static bool keep(const struct opt *row, char *text, void *out)
{
	char *field = (char *)out + row->off;

	if (row->take != NULL)
		return row->take(row, text, out);
	if (row->value == NULL)
		*(bool *)field = true;
	else
		*(const char **)field = text;
	return true;
}

// The rows in the form of getopt.
static void getopt_rows(const struct opts *o, struct option longs[OPTS_MAX_ROWS + 1],
			char shorts[2 * OPTS_MAX_ROWS + 3])
{
	if (o->stops)
		*shorts++ = '+';
	if (o->wrong != NULL)
		*shorts++ = ':'; // a missing value is not an unknown option
	for (const struct opt *row = opts_next(o, NULL); row != NULL; row = opts_next(o, row)) {
		*longs++ = (struct option){
			.name = row->name,
			.has_arg = row->value != NULL ? required_argument : no_argument,
			.val = LONG + (int)(row - o->rows),
		};
		if (row->letter == '\0')
			continue;
		*shorts++ = row->letter;
		if (row->value != NULL)
			*shorts++ = ':';
	}
	*longs = (struct option){0};
	*shorts = '\0';
}

enum opts_end opts_parse(const struct opts *o, int argc, char **argv, void *out)
{
	struct option longs[OPTS_MAX_ROWS + 1];
	char shorts[2 * OPTS_MAX_ROWS + 3];
	int code;

	assert(o->n <= OPTS_MAX_ROWS);
	getopt_rows(o, longs, shorts);
	opterr = o->wrong == NULL;
	for (;;) {
		int at = optind;
		const struct opt *row;

		optopt = 0;
		code = getopt_long(argc, argv, shorts, longs, NULL);
		if (code == -1)
			return at < optind && strcmp(argv[optind - 1], "--") == 0 ? OPTS_DASHES
										  : OPTS_END;
		if (code == '?' || code == ':') {
			complain(o, code == ':', argv[optind - 1]);
			return OPTS_WRONG;
		}
		row = row_of(o, code);
		if (!keep(row, optarg, out))
			return OPTS_WRONG;
		if (row->last)
			return OPTS_END;
	}
}

void opt_term(const struct opt *row, const char *blank, char term[OPT_TERM_LEN])
{
	char letter[8] = "";

	if (row->letter != '\0')
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(term, OPT_TERM_LEN, "%s--%s%s%s", row->letter != '\0' ? letter : blank, row->name,
		 row->value != NULL ? " " : "", row->value != NULL ? row->value : "");
}

void opts_help(const struct opts *o, int column, FILE *out)
{
	const char *blank = "";

	for (unsigned i = 0; i < o->n; i++)
		if (o->rows[i].letter != '\0')
			blank = "    ";
	for (const struct opt *row = opts_next(o, NULL); row != NULL; row = opts_next(o, row)) {
		char name[OPT_TERM_LEN], term[OPT_TERM_LEN + 2];

		opt_term(row, blank, name);
		snprintf(term, sizeof(term), "  %s", name);
		print_term(out, term, row->help, column);
	}
}
