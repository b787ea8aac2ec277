// SPDX-License-Identifier: Apache-2.0
// The command `completion`: a script for bash, made from the tables of commands and options.
#include <stdio.h>
#include <string.h>

#include "control/lab/lab.h"

static void print_commands(void)
{
	fputs("_weir_lab_commands='", stdout);
	for (size_t i = 0; i < lab_n_commands; i++)
		printf("%s ", lab_commands[i].name);
	puts("help --help --version'");
}

// "FILE" of "weir-lab run FILE... [options]".
static void print_operand(const struct lab_command *c)
{
	const char *at = strstr(c->usage, c->name) + strlen(c->name) + 1;

	printf("\t%s) echo '%.*s' ;;\n", c->name, (int)strcspn(at, " ."), at);
}

static void print_operands(void)
{
	puts("_weir_lab_operand() {\n\tcase $1 in");
	for (size_t i = 0; i < lab_n_commands; i++)
		print_operand(&lab_commands[i]);
	puts("\thelp) echo functions ;;\n\tesac\n}");
}

static void print_options(void)
{
	puts("_weir_lab_options() {\n\tcase $1 in");
	for (size_t i = 0; i < lab_n_commands; i++) {
		const struct opts o = lab_opts_of(&lab_commands[i]);

		printf("\t%s) echo '", lab_commands[i].name);
		for (const struct opt *row = opts_next(&o, NULL); row != NULL;
		     row = opts_next(&o, row))
			printf("--%s ", row->name);
		puts("' ;;");
	}
	puts("\tesac\n}");
}

// The word for an option's value: DIR is one that can be known.
static void print_values(void)
{
	puts("_weir_lab_value() {\n\tcase $1 in");
	for (unsigned i = 0; i < lab_opts.n; i++)
		if (lab_opts.rows[i].value != NULL)
			printf("\t--%s) echo '%s' ;;\n", lab_opts.rows[i].name,
			       lab_opts.rows[i].value);
	puts("\tesac\n}");
}

static const char functions[] =
	"_weir_lab() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} want=\n"
	"\t# Bash parts words at '=': --out=DIR is three of them.\n"
	"\t[[ $cur == = ]] && cur=\n"
	"\t[[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\twant=$_weir_lab_commands\n"
	"\telif [[ -n $(_weir_lab_value \"$before\") ]]; then\n"
	"\t\twant=$(_weir_lab_value \"$before\")\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\twant=$(_weir_lab_options \"${COMP_WORDS[1]}\")\n"
	"\telse\n"
	"\t\twant=$(_weir_lab_operand \"${COMP_WORDS[1]}\")\n"
	"\t\t[[ $want == FILE ]] || ((COMP_CWORD == 2)) || want=\n"
	"\tfi\n"
	"\tcase $want in\n"
	"\tFILE) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\tDIR) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	"\t[A-Z]* | \\[*) COMPREPLY=() ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$want\" -- \"$cur\") ;;\n"
	"\tesac\n"
	"\t[[ $want == FILE || $want == DIR ]] && compopt -o filenames 2>/dev/null\n"
	"}\n"
	"complete -F _weir_lab weir-lab";

int lab_completion(const struct lab_args *a)
{
	if (a->n_files != 1 || strcmp(a->files[0], "bash") != 0) {
		fputs("weir-lab: it is weir-lab completion bash\n", stderr);
		return LAB_MISUSED;
	}
	puts("# Completes weir-lab in bash. Made by `weir-lab completion bash`.");
	print_commands();
	print_operands();
	print_options();
	print_values();
	puts(functions);
	return LAB_DONE;
}
