// SPDX-License-Identifier: Apache-2.0
// The command `completion`: a script for bash, made from the tables of commands, options and kinds.
// The usage lines are its grammar; port names are asked of the switch when they are wanted.
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/commands.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"

enum { WORD_LEN = 64 };

// The next word of a usage line without its brackets and dots; false at the end of the line.
static bool next_word(const char **at, char word[WORD_LEN])
{
	size_t n = 0;

	while (**at == ' ')
		(*at)++;
	for (; **at != ' ' && **at != '\n' && **at != '\0'; (*at)++)
		if (strchr("[].", **at) == NULL && n + 1 < WORD_LEN)
			word[n++] = **at;
	word[n] = '\0';
	return n > 0;
}

static bool takes_value(const char *option)
{
	for (unsigned i = 0; i < ctl_opts.n; i++)
		if (strcmp(ctl_opts.rows[i].name, option + strspn(option, "-")) == 0)
			return ctl_opts.rows[i].value != NULL;
	return false;
}

// 'set port PORT tx on|off': a line without options and their values.
static void print_form(const char *line)
{
	const char *lead = "\t'";
	char word[WORD_LEN];

	while (next_word(&line, word)) {
		if (word[0] != '-') {
			printf("%s%s", lead, word);
			lead = " ";
		} else if (takes_value(word)) {
			next_word(&line, word);
		}
	}
	puts("'");
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at == '\n' ? at + 1 : NULL;
}

static void print_forms(const struct command_table *commands)
{
	puts("_weirctl_forms=(");
	for (size_t i = 0; i < commands->n; i++)
		for (const char *at = commands->rows[i].usage; at != NULL; at = next_line(at))
			print_form(at);
	puts(")");
}

static void print_options_of(const struct command *c)
{
	char word[WORD_LEN];

	printf("\t%s) echo '--help", c->name);
	for (const char *line = c->usage; line != NULL; line = next_line(line)) {
		const char *at = line;

		while (next_word(&at, word))
			if (word[0] == '-')
				printf(" %s", word);
	}
	puts("' ;;");
}

static void print_options(const struct command_table *commands)
{
	puts("_weirctl_options() {\n\tcase $1 in");
	for (size_t i = 0; i < commands->n; i++)
		print_options_of(&commands->rows[i]);
	puts("\t*) echo '--switch --help --version' ;;\n\tesac\n}");
}

// A pattern of the options whose next word is a value.
static void print_with_value(void)
{
	const char *lead = "";

	fputs("_weirctl_with_value='@(", stdout);
	for (const struct opt *row = ctl_opts.rows; row < ctl_opts.rows + ctl_opts.n; row++) {
		if (row->value == NULL)
			continue;
		printf("%s--%s", lead, row->name);
		lead = "|";
		if (row->letter != '\0')
			printf("|-%c", row->letter);
	}
	puts(")'");
}

static void print_kinds(void)
{
	const char *what, *help;

	fputs("_weirctl_kinds='", stdout);
	for (unsigned i = 0; (what = show_kind(i, &help)) != NULL; i++)
		printf("%s%s", i > 0 ? " " : "", what);
	puts("'");
}

static const char functions[] =
	"# What may stand for one word of a form.\n"
	"_weirctl_choices() {\n"
	"\tlocal one\n"
	"\tfor one in ${1//|/ }; do\n"
	"\t\tcase $one in\n"
	"\t\tKIND) echo \"$_weirctl_kinds\" ;;\n"
	"\t\tPORT) \"${COMP_WORDS[0]}\" \"${at[@]}\" completion ports 2>/dev/null ;;\n"
	"\t\tQUEUE | CLASS) echo 0 1 2 3 4 5 6 7 ;;\n"
	"\t\tFILE) compgen -f -- \"$cur\" ;;\n"
	"\t\t*[A-Z]*) ;;\n"
	"\t\t*) echo \"$one\" ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# True when the words so far begin the form $1; next is then the word that follows.\n"
	"_weirctl_matches() {\n"
	"\tlocal form i\n"
	"\tread -ra form <<<\"$1\"\n"
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
	"_weirctl() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} before= words=() at=() next form i\n"
	"\tlocal glob=$(shopt -p extglob)\n"
	"\tshopt -s extglob\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ $before == $_weirctl_with_value ]]; then\n"
	"\t\t\t[[ $before == @(-s|--switch) ]] && at=(-s \"${COMP_WORDS[i]}\")\n"
	"\t\t\tbefore=\n"
	"\t\t\tcontinue\n"
	"\t\tfi\n"
	"\t\tbefore=${COMP_WORDS[i]}\n"
	"\t\t[[ $before == -* ]] || words+=(\"$before\")\n"
	"\tdone\n"
	"\tCOMPREPLY=()\n"
	"\tif [[ $before == @(-s|--switch) ]]; then\n"
	"\t\tfor i in /run/weir/*.sock; do\n"
	"\t\t\ti=${i##*/}\n"
	"\t\t\tCOMPREPLY+=($(compgen -W \"${i%.sock}\" -- \"$cur\"))\n"
	"\t\tdone\n"
	"\telif [[ $before == $_weirctl_with_value ]]; then\n"
	"\t\t:\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_weirctl_options \"${words[0]-}\")\" -- \"$cur\"))\n"
	"\telse\n"
	"\t\tlocal all=\n"
	"\t\tfor form in \"${_weirctl_forms[@]}\"; do\n"
	"\t\t\t_weirctl_matches \"$form\" || continue\n"
	"\t\t\tall+=\" $(_weirctl_choices \"$next\")\"\n"
	"\t\t\t[[ $next == FILE ]] && compopt -o filenames 2>/dev/null\n"
	"\t\tdone\n"
	"\t\tCOMPREPLY=($(compgen -W \"$all\" -- \"$cur\" | sort -u))\n"
	"\tfi\n"
	"\t$glob\n"
	"}\n"
	"complete -F _weirctl weirctl";

static void completion_script(void)
{
	struct command_table commands = ctl_commands();

	puts("# Completes weirctl in bash. Made by `weirctl completion bash`.");
	print_forms(&commands);
	print_kinds();
	print_with_value();
	print_options(&commands);
	puts(functions);
}

// One name a line, for the script.
static int print_ports(const struct ctl *c)
{
	struct json_object *data = client_request(c->name, request_of("show", "what", "ports"));
	struct json_object *rows, *name;

	if (data == NULL)
		return CTL_FAILED;
	if (json_object_object_get_ex(data, "ports", &rows))
		for (size_t i = 0; i < json_object_array_length(rows); i++)
			if (json_object_object_get_ex(json_object_array_get_idx(rows, i), "name",
						      &name))
				puts(json_object_get_string(name));
	json_object_put(data);
	return CTL_DONE;
}

int cmd_completion(const struct ctl *c, int argc, char **argv)
{
	if (argc == 1 && strcmp(argv[0], "ports") == 0)
		return print_ports(c);
	if (argc != 1 || strcmp(argv[0], "bash") != 0)
		return misused_words("completion");
	completion_script();
	return CTL_DONE;
}
