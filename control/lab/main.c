// SPDX-License-Identifier: Apache-2.0
// weir-lab: dispatch and help.
#include <stdio.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"
#include "control/lab/bundle.h"
#include "control/lab/expr_func.h"
#include "control/lab/lab.h"
#include "control/standard_fds.h"

enum { OPTION_COLUMN = 21, COMMAND_COLUMN = 36 };

static void print_exit(FILE *out)
{
	char text[128];

	snprintf(text, sizeof(text), "%s.", lab_exit);
	print_term(out, "Exit:", text, (int)strlen("Exit: "));
}

static void print_help(FILE *out)
{
	fputs(lab_summary, out);
	fputc('\n', out);
	for (size_t i = 0; i < lab_n_commands; i++) {
		char term[64];

		snprintf(term, sizeof(term), "  %s", lab_commands[i].usage);
		print_term(out, term, lab_commands[i].help, COMMAND_COLUMN);
	}
	fputs("\nweir-lab COMMAND --help names the options, weir-lab help functions what can be\n"
	      "expected and recorded.\n", out);
	print_exit(out);
}

static void print_command(const struct lab_command *c, FILE *out)
{
	const struct opts o = lab_opts_of(c);

	fprintf(out, "usage: %s\n%s\n\n", c->usage, c->help);
	opts_help(&o, OPTION_COLUMN, out);
	fputc('\n', out);
	print_exit(out);
}

static const char *name_at(const void *unused, unsigned i)
{
	(void)unused;
	return lab_commands[i].name;
}

static void unknown_command(const char *name)
{
	const char *near = schema_closest(name, (unsigned)lab_n_commands, name_at, NULL);

	usage_printf("weir-lab: no command \"%s\"%s%s%s\n", name,
		     near != NULL ? ": did you mean " : "", near != NULL ? near : "",
		     near != NULL ? "?" : "");
}

static const struct lab_command *find(const char *name)
{
	for (size_t i = 0; i < lab_n_commands; i++)
		if (strcmp(lab_commands[i].name, name) == 0)
			return &lab_commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	bool help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0);
	const char *word = argc < 2 + help ? NULL : argv[1 + help];
	const struct lab_command *c = word == NULL ? NULL : find(word);
	struct lab_args a;
	int code;

	standard_fds_open();
	if (argc == 3 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "functions") == 0) {
		expr_func_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (help && (word == NULL || c != NULL)) {
		if (c != NULL) // `help run` as `run --help`
			print_command(c, stdout);
		else
			print_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		puts("weir-lab " WEIR_VERSION);
		return lab_finish(LAB_DONE);
	}
	if (c == NULL) {
		if (word != NULL)
			unknown_command(word);
		else
			fputs("usage: weir-lab COMMAND\n", stderr);
		fputs("Try `weir-lab --help`.\n", stderr);
		return LAB_MISUSED;
	}
	if (!lab_parse(c, argc - 1, argv + 1, &a)) {
		code = LAB_MISUSED;
	} else if (a.help) {
		print_command(c, stdout);
		code = LAB_DONE;
	} else if ((c->options & LAB_NEEDS_FILE) && !bundle_resolve(&a)) {
		code = LAB_MISUSED;
	} else {
		code = c->run(&a);
	}
	lab_args_fini(&a);
	return lab_finish(code);
}
