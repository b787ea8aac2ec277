// SPDX-License-Identifier: Apache-2.0
// The generated parts of the pages of the programs.
#include <stdlib.h>
#include <string.h>

#include "control/ctl/ctl.h"
#include "control/daemon/options.h"
#include "control/host/args.h"
#include "control/lab/lab.h"
#include "control/manual/pages.h"
#include "control/manual/roff.h"
#include "control/observe/fact.h"

enum { TEXT_LEN = 512 };

static const struct program {
	const char *name;
	const char *usage; // NULL: that of its commands
	const char *about, *exit;
	const struct opts *opts;
} programs[] = {
	{"weir", options_usage, options_summary, options_exit, &weir_opts},
	{"weirctl", "weirctl [-s NAME] COMMAND", ctl_summary, ctl_exit_text, &ctl_opts},
	{"weir-host", host_usage, host_summary, host_exit, &host_opts},
	{"weir-lab", NULL, lab_summary, lab_exit, &lab_opts},
};

static void usage(FILE *out, const struct program *p)
{
	if (p->usage != NULL)
		roff_lines(out, p->usage);
	else
		for (size_t i = 0; i < lab_n_commands; i++)
			roff_lines(out, lab_commands[i].usage);
}

static void options(FILE *out, const struct program *p)
{
	for (unsigned i = 0; i < p->opts->n; i++) {
		const struct opt *row = &p->opts->rows[i];
		char tag[OPT_TERM_LEN], text[TEXT_LEN];
		const char *lead = ". Of ";
		int len = snprintf(text, sizeof(text), "%s", row->help);

		for (size_t c = 0; row->commands != 0 && c < lab_n_commands; c++)
			if (row->commands & lab_commands[c].options) {
				len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s",
						lead, lab_commands[c].name);
				lead = ", ";
			}
		if (row->commands != 0)
			snprintf(text + len, sizeof(text) - (size_t)len, ".");
		opt_term(row, "", tag);
		roff_item(out, tag, text);
	}
}

bool part_of_program(FILE *out, const char *part, const char *program)
{
	const struct program *p = NULL;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, program) == 0)
			p = &programs[i];
	if (p == NULL)
		return false;
	if (strcmp(part, "usage") == 0)
		usage(out, p);
	else if (strcmp(part, "summary") == 0)
		roff_text(out, p->about);
	else if (strcmp(part, "options") == 0)
		options(out, p);
	else if (strcmp(part, "exit") == 0)
		fprintf(out, "%.*s.\n", (int)strcspn(p->exit, "."), p->exit);
	else
		return false;
	return true;
}

int part_telemetry(FILE *out, const char *docs)
{
	(void)docs;
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		if (fact_lists[i].prefix != NULL)
			fprintf(out, "\\fB/weir/%s\\fR\n", fact_lists[i].list);
	return 0;
}

int part_lab_commands(FILE *out, const char *docs)
{
	(void)docs;
	for (size_t i = 0; i < lab_n_commands; i++)
		roff_item(out, lab_commands[i].name, lab_commands[i].help);
	return 0;
}

// The list that follows the help of a command, as it is printed there.
static int more_lines(FILE *out, void (*more)(FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&text, &len);

	if (mem == NULL)
		return -1;
	more(mem);
	fclose(mem);
	fputs(".RS\n", out);
	roff_lines(out, text);
	fputs(".RE\n", out);
	free(text);
	return 0;
}

int part_ctl_commands(FILE *out, const char *docs)
{
	struct command_table commands = ctl_commands();

	(void)docs;
	for (const struct command *c = commands.rows; c < commands.rows + commands.n; c++) {
		char forms[TEXT_LEN], *save = NULL;

		snprintf(forms, sizeof(forms), "%s", c->usage);
		for (char *form = strtok_r(forms, "\n", &save); form != NULL;
		     form = strtok_r(NULL, "\n", &save))
			roff_item(out, form, "");
		roff_text(out, c->help);
		if (c->more != NULL && more_lines(out, c->more) != 0)
			return -1;
	}
	return 0;
}
