// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/schema.h"
#include "control/base/standard_fds.h"
#include "control/base/terminal.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"

enum { HELP_COLUMN = 28, BRIEF_COLUMN = 14 };

static void print_command_help(const struct command *cmd)
{
	struct command_table commands = ctl_commands();
	char term[48], brief[TERMINAL_TEXT]; // the first clause of a command's help

	if (cmd != NULL) {
		print_usage(stdout, cmd, "usage: ", "       ");
		printf("\n%s", cmd->help);
		if (cmd->more != NULL)
			cmd->more(stdout);
		return;
	}
	printf("usage: weirctl [-s NAME] COMMAND\n\n%s\n\n", ctl_summary);
	for (size_t i = 0; i < commands.n; i++) {
		cmd = &commands.rows[i];
		snprintf(term, sizeof(term), "  %s", cmd->name);
		snprintf(brief, sizeof(brief), "%.*s", (int)strcspn(cmd->help, ".:;"), cmd->help);
		print_term(stdout, term, brief, BRIEF_COLUMN);
	}
	puts("\nweirctl COMMAND --help prints the forms of a command.\n");
	opts_help(&ctl_opts, HELP_COLUMN, stdout);
	printf("\nExit: %s\n", ctl_exit_text);
}

static const char *command_name_at(const void *commands, unsigned i)
{
	return ((const struct command_table *)commands)->rows[i].name;
}

// The last line of an error. If no switch answers, the line before says what to do.
static int with_page(const struct ctl *c, int status, const char *what)
{
	const char *page = c->command->fn == cmd_show ? show_page(what) : c->command->page;
	struct client client;

	if (status == CTL_DONE || page == NULL)
		return status;
	if (status == CTL_FAILED) {
		if (client_connect(c->name != NULL ? c->name : "weir", &client) != 0)
			return status;
		client_close(&client);
	}
	fprintf(stderr, "More about it: docs/%s\n", page);
	return status;
}

// A user at a terminal sees which switch is meant. A script must name the switch.
static int call(struct ctl *c, int argc, char **argv)
{
	const struct command *cmd = c->command;
	char found[CLIENT_NAME_LEN];

	if (cmd->writes && !c->check && c->name == NULL) {
		if (!isatty(STDIN_FILENO))
			return misused("%s changes a switch: name it with -s NAME, or set "
				       "WEIR_SWITCH", cmd->name);
		c->name = client_find(found);
		if (c->name == NULL)
			return CTL_FAILED;
		fprintf(stderr, "weirctl: switch %s\n", c->name);
	}
	if (argc > 0 && cmd->most == 0)
		return misused("%s takes no \"%s\"", cmd->name, argv[0]);
	if (argc < cmd->least || argc > cmd->most)
		return misused_words(c);
	return with_page(c, cmd->fn(c, argc, argv), argc > 0 ? argv[0] : "");
}

static int run_command_line(struct ctl *c, int argc, char **argv)
{
	struct command_table commands = ctl_commands();
	bool help = c->help;

	if (argc > 0 && strcmp(argv[0], "help") == 0) { // `help show` as `show --help`
		help = true;
		argc--;
		argv++;
	}
	for (size_t i = 0; argc > 0 && i < commands.n; i++)
		if (strcmp(commands.rows[i].name, argv[0]) == 0)
			c->command = &commands.rows[i];
	if (argc > 0 && c->command == NULL) {
		const char *near =
			schema_closest(argv[0], (unsigned)commands.n, command_name_at, &commands);

		if (near != NULL)
			return misused("no command \"%s\": did you mean %s?", argv[0], near);
		return misused("no command \"%s\"", argv[0]);
	}
	if (help) {
		print_command_help(c->command);
		return CTL_DONE;
	}
	return argc == 0 ? misused("no command") : call(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	struct ctl c = {.interval_s = 1};

	standard_fds_open();
	argv[0] = (char[]){"weirctl"}; // how getopt begins its complaints
	if (opts_parse(&ctl_opts, argc, argv, &c) == OPTS_WRONG) {
		fputs(ctl_try_help, stderr);
		return CTL_MISUSED;
	}
	if (c.version) {
		puts("weirctl " WEIR_VERSION);
		return CTL_DONE;
	}
	if (c.name == NULL)
		c.name = getenv("WEIR_SWITCH");
	if (c.name != NULL && *c.name == '\0')
		c.name = NULL;
	return run_command_line(&c, argc - optind, argv + optind);
}
