// SPDX-License-Identifier: Apache-2.0
// weir-lab: dispatch and help.
#include <stdio.h>
#include <string.h>

#include "control/lab/expr_func.h"
#include "control/lab/lab.h"
#include "control/standard_fds.h"

static void print_options(const struct lab_command *c, FILE *out)
{
	for (size_t i = 0; i < lab_n_options; i++) {
		char tag[64];

		if (!(lab_options[i].commands & c->options))
			continue;
		snprintf(tag, sizeof(tag), "--%s%s%s", lab_options[i].name,
			 lab_options[i].value != NULL ? " " : "",
			 lab_options[i].value != NULL ? lab_options[i].value : "");
		fprintf(out, "  %-18s %s\n", tag, lab_options[i].help);
	}
}

static void print_help(FILE *out)
{
	fputs(lab_summary, out);
	fputc('\n', out);
	for (size_t i = 0; i < lab_n_commands; i++)
		fprintf(out, "  %-44s %s\n", lab_commands[i].usage, lab_commands[i].help);
	fprintf(out,
		"\nweir-lab COMMAND --help names the options, weir-lab help functions what can be "
		"expected "
		"and recorded. Exit: %s.\n",
		lab_exit);
}

static void print_command(const struct lab_command *c, FILE *out)
{
	fprintf(out, "usage: %s\n%s\n\n", c->usage, c->help);
	print_options(c, out);
	fprintf(out, "\nExit: %s.\n", lab_exit);
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
	const struct lab_command *c = argc < 2 ? NULL : find(argv[1]);
	struct lab_args a;
	int code;

	standard_fds_open();
	if (argc == 3 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "functions") == 0) {
		expr_func_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
		print_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		puts("weir-lab " WEIR_VERSION);
		return lab_finish(LAB_DONE);
	}
	if (c == NULL) {
		if (argc >= 2)
			fprintf(stderr, "weir-lab: unknown command %s\n", argv[1]);
		print_help(stderr);
		return LAB_MISUSED;
	}
	if (!lab_parse(c, argc - 2, argv + 2, &a)) {
		code = LAB_MISUSED;
	} else if (a.help) {
		print_command(c, stdout);
		code = LAB_DONE;
	} else {
		code = c->run(&a);
	}
	lab_args_fini(&a);
	return lab_finish(code);
}
