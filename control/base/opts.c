// SPDX-License-Identifier: Apache-2.0
#include "control/base/opts.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "control/base/schema.h"
#include "control/base/terminal.h"

enum { LONG = 256, WORD_LEN = 64 }; // LONG + its row: what getopt_long returns for a long option

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

static const char *option_name_at(const void *opts, unsigned i)
{
	const struct opts *o = opts;

	return knows(o, &o->rows[i]) ? o->rows[i].name : "";
}

const char *opts_nearest(const struct opts *o, const char *word)
{
	char name[OPT_TERM_LEN];

	word += strspn(word, "-");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	return schema_closest(name, o->n, option_name_at, o);
}

static const struct opt *option_row_of_code(const struct opts *o, int code)
{
	if (code >= LONG)
		return &o->rows[code - LONG];
	for (unsigned i = 0; i < o->n; i++)
		if (code != 0 && o->rows[i].letter == code)
			return &o->rows[i];
	return NULL;
}

static void report_wrong_option(const struct opts *o, bool missing, const char *word)
{
	const struct opt *row = option_row_of_code(o, optopt);
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

void opts_say_wrong(const struct opts *o, enum opts_wrong what, const char *word, const char *name)
{
	if (what == OPTS_NO_VALUE)
		terminal_printf(stderr, "%s: --%s takes no value\n", o->program, name);
	else if (what == OPTS_VALUE_MISSING)
		terminal_printf(stderr, "%s: --%s needs a value\n", o->program, name);
	else if (name != NULL)
		terminal_printf(stderr, "%s: %s is not an option: did you mean --%s?\n",
				o->program, word, name);
	else
		terminal_printf(stderr, "%s: %s is not an option; see %s --help\n", o->program,
				word, o->program);
}

static bool store_option_value(const struct opt *row, char *text, void *out)
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
			report_wrong_option(o, code == ':', argv[optind - 1]);
			return OPTS_WRONG;
		}
		row = option_row_of_code(o, code);
		if (!store_option_value(row, optarg, out))
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

// ---- completion in bash

// The next word of a usage line without its brackets; false at the end of the line.
static bool next_word(const char **at, char word[WORD_LEN])
{
	size_t n = 0;

	while (**at == ' ')
		(*at)++;
	for (; **at != ' ' && **at != '\n' && **at != '\0'; (*at)++)
		if (strchr("[]", **at) == NULL && n + 1 < WORD_LEN)
			word[n++] = **at;
	word[n] = '\0';
	return n > 0;
}

static bool takes_value(const struct opts *o, const char *option)
{
	for (unsigned i = 0; i < o->n; i++)
		if (strcmp(o->rows[i].name, option + strspn(option, "-")) == 0)
			return o->rows[i].value != NULL;
	return false;
}

// 'set port PORT tx on|off': a line of a usage without the program, options and their values.
static void print_form(const struct opts *o, const char *line, FILE *out)
{
	const char *lead = "\t'";
	char word[WORD_LEN];

	while (next_word(&line, word)) {
		if (word[0] == '-') {
			if (takes_value(o, word))
				next_word(&line, word);
		} else if (strcmp(word, o->program) != 0 && strcmp(word, "options") != 0) {
			fprintf(out, "%s%s", lead, word);
			lead = " ";
		}
	}
	fputs("'\n", out);
}

static void print_options_of(const struct opts *o, const struct completion_command *c, FILE *out)
{
	struct opts own = *o;
	char word[WORD_LEN];

	own.command = c->bit;
	fprintf(out, "\t%s) echo '", c->name);
	for (const struct opt *row = c->bit == 0 ? NULL : opts_next(&own, NULL); row != NULL;
	     row = opts_next(&own, row))
		fprintf(out, "--%s ", row->name);
	for (const char *at = c->usage; c->bit == 0 && *at != '\0'; at += *at == '\n')
		while (next_word(&at, word))
			if (word[0] == '-')
				fprintf(out, "%s ", word);
	fprintf(out, "%s' ;;\n", c->bit == 0 ? "--help" : "");
}

static const char functions[] =
	"# What may stand for one word of a form, or for the value of an option.\n"
	"_PROGRAM_choices() {\n"
	"\tlocal one\n"
	"\tfor one in ${1//|/ }; do\n"
	"\t\tcase ${one%...} in\n"
	"\t\tKIND) printf '%s\\n' $_PROGRAM_kinds ;;\n"
	"\t\tPORT) \"${COMP_WORDS[0]}\" \"${at[@]}\" completion ports 2>/dev/null ;;\n"
	"\t\tQUEUE | CLASS) printf '%s\\n' 0 1 2 3 4 5 6 7 ;;\n"
	"\t\tNAME)\n"
	"\t\t\tfor one in /run/weir/*.sock; do\n"
	"\t\t\t\tone=${one##*/}\n"
	"\t\t\t\techo \"${one%.sock}\"\n"
	"\t\t\tdone\n"
	"\t\t\t;;\n"
	"\t\tFILE) compgen -f -- \"$cur\" ;;\n"
	"\t\tDIR) compgen -d -- \"$cur\" ;;\n"
	"\t\t*[A-Z]*) ;;\n"
	"\t\t*) echo \"$one\" ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# True when the words so far begin the form $1; next is then the word that follows.\n"
	"_PROGRAM_matches() {\n"
	"\tlocal form i\n"
	"\tread -ra form <<<\"$1\"\n"
	"\twhile [[ ${form[-1]} == *... && ${#form[@]} -le ${#words[@]} ]]; do\n"
	"\t\tform+=(\"${form[-1]}\")\n"
	"\tdone\n"
	"\tfor ((i = 0; i < ${#words[@]}; i++)); do\n"
	"\t\tcase ${form[i]-} in\n"
	"\t\t'') return 1 ;;\n"
	"\t\t*[A-Z]*) ;;\n"
	"\t\t*) [[ \"|${form[i]}|\" == *\"|${words[i]}|\"* ]] || return 1 ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tnext=${form[i]-}\n"
	"}\n"
	"\n"
	"_PROGRAM() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=() at=() value= next= all= one i\n"
	"\t# Bash parts words at '=': --out=DIR is three of them.\n"
	"\t[[ $cur == = ]] && cur=\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tone=${COMP_WORDS[i]}\n"
	"\t\tif [[ $one == = ]]; then\n"
	"\t\t\tcontinue\n"
	"\t\telif [[ -n $value ]]; then\n"
	"\t\t\t[[ $value == NAME ]] && at=(-s \"$one\")\n"
	"\t\t\tvalue=\n"
	"\t\telif [[ $one == -* ]]; then\n"
	"\t\t\tvalue=$(_PROGRAM_value \"$one\")\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$one\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $value == NAME || $value == FILE || $value == DIR || $value == *'|'* ]]; then\n"
	"\t\tnext=$value all=$(_PROGRAM_choices \"$value\")\n"
	"\telif [[ -n $value ]]; then\n"
	"\t\t:\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\tall=$(printf '%s\\n' $(_PROGRAM_options \"${words[0]-}\"))\n"
	"\telse\n"
	"\t\tfor one in \"${_PROGRAM_forms[@]}\"; do\n"
	"\t\t\t_PROGRAM_matches \"$one\" && all+=$'\\n'$(_PROGRAM_choices \"$next\")\n"
	"\t\tdone\n"
	"\t\tall=$(sort -u <<<\"$all\")\n"
	"\tfi\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r one; do\n"
	"\t\t[[ -n $one && $one == \"$cur\"* ]] && COMPREPLY+=(\"$one\")\n"
	"\tdone <<<\"$all\"\n"
	"\t[[ $next == FILE* || $next == DIR ]] && compopt -o filenames 2>/dev/null\n"
	"}\n"
	"complete -F _PROGRAM ";

// Names of functions in bash have no minus.
static void print_named(const char *text, const char *program, FILE *out)
{
	for (const char *next; (next = strstr(text, "PROGRAM")) != NULL;) {
		fprintf(out, "%.*s", (int)(next - text), text);
		for (const char *c = program; *c != '\0'; c++)
			fputc(*c == '-' ? '_' : *c, out);
		text = next + strlen("PROGRAM");
	}
	fputs(text, out);
}

void completion_script(const struct completion *c, FILE *out)
{
	const struct opts *o = c->opts;
	struct completion_command command;

	fprintf(out, "# Completes %s in bash. Made by `%s completion bash`.\n", o->program,
		o->program);
	print_named("_PROGRAM_forms=(\n", o->program, out);
	for (unsigned i = 0; c->command(i, &command); i++)
		for (const char *at = command.usage; *at != '\0'; at += *at == '\n') {
			print_form(o, at, out);
			at += strcspn(at, "\n");
		}
	print_named(")\n_PROGRAM_kinds='", o->program, out);
	fputs(c->kinds, out);
	print_named("'\n_PROGRAM_options() {\n\tcase $1 in\n", o->program, out);
	for (unsigned i = 0; c->command(i, &command); i++)
		print_options_of(o, &command, out);
	fprintf(out, "\t*) echo '%s", c->options != NULL ? c->options : "");
	for (const struct opt *row = o->rows; c->options == NULL && row < o->rows + o->n; row++)
		fprintf(out, "--%s ", row->name);
	fputs("' ;;\n\tesac\n}\n", out);
	print_named("_PROGRAM_value() {\n\tcase $1 in\n", o->program, out);
	for (const struct opt *row = o->rows; row < o->rows + o->n; row++) {
		if (row->value == NULL)
			continue;
		if (row->letter != '\0')
			fprintf(out, "\t-%c) echo '%s' ;;\n", row->letter, row->value);
		fprintf(out, "\t--%s) echo '%s' ;;\n", row->name, row->value);
	}
	fputs("\tesac\n}\n", out);
	print_named(functions, o->program, out);
	fprintf(out, "%s\n", o->program);
}

static bool no_command(unsigned i, struct completion_command *out)
{
	(void)i;
	(void)out;
	return false;
}

bool opts_completion(const struct opts *o, int argc, char **argv)
{
	const struct completion c = {o, "", NULL, no_command};

	if (argc != 3 || strcmp(argv[1], "completion") != 0 || strcmp(argv[2], "bash") != 0)
		return false;
	completion_script(&c, stdout);
	return true;
}
