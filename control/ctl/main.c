// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"
#include "control/ctl/client.h"
#include "control/ctl/commands.h"
#include "control/ctl/ctl.h"
#include "control/standard_fds.h"

enum { MAX_OPTIONS = 32, HELP_COLUMN = 28, BRIEF_COLUMN = 14 };

static void print_options(void)
{
	struct option_table options = ctl_options();

	for (size_t i = 0; i < options.n; i++) {
		const struct ctl_option *o = &options.rows[i];
		char brief[8] = "", term[48];

		if (o->has_short)
			snprintf(brief, sizeof(brief), "-%c,", o->letter);
		snprintf(term, sizeof(term), "  %-3s --%s%s%s", brief, o->name,
			 o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
		print_term(stdout, term, o->help, HELP_COLUMN);
	}
}

// The first clause of a command's help.
static void print_brief(const struct command *cmd)
{
	char term[48], text[TERMINAL_TEXT];

	snprintf(term, sizeof(term), "  %s", cmd->name);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(cmd->help, ".:;"), cmd->help);
	print_term(stdout, term, text, BRIEF_COLUMN);
}

static void print_help(const struct command *cmd)
{
	struct command_table commands = ctl_commands();

	if (cmd != NULL) {
		print_usage(stdout, cmd, "usage: ", "       ");
		printf("\n%s", cmd->help);
		if (cmd->more != NULL)
			cmd->more(stdout);
		return;
	}
	printf("usage: weirctl [-s NAME] COMMAND\n\n%s\n\n", ctl_summary);
	for (size_t i = 0; i < commands.n; i++)
		print_brief(&commands.rows[i]);
	puts("\nweirctl COMMAND --help prints the forms of a command.\n");
	print_options();
	printf("\nExit: %s\n", ctl_exit_text);
}

static const char *name_at(const void *commands, unsigned i)
{
	return ((const struct command_table *)commands)->rows[i].name;
}

// Who is at a terminal sees which switch was meant. A script must say it.
static int write_to_the_only(const struct ctl *c, const struct command *cmd, int argc, char **argv)
{
	char found[CLIENT_NAME_LEN];
	struct ctl named = *c;

	if (!isatty(STDIN_FILENO))
		return misused("%s changes a switch: name it with -s NAME, or set WEIR_SWITCH",
			       cmd->name);
	named.name = client_find(found);
	if (named.name == NULL)
		return CTL_FAILED;
	fprintf(stderr, "weirctl: switch %s\n", named.name);
	return cmd->fn(&named, argc, argv);
}

static const char *option_at(const void *options, unsigned i)
{
	return ((const struct option_table *)options)->rows[i].name;
}

// After the complaint of getopt about this word.
static int unknown_option(const char *word)
{
	struct option_table options = ctl_options();
	const char *near = NULL;

	if (optopt == 0 && strncmp(word, "--", 2) == 0)
		near = schema_closest(word + 2, (unsigned)options.n, option_at, &options);
	if (near != NULL)
		fprintf(stderr, "weirctl: did you mean --%s?\n", near);
	fputs(ctl_try_help, stderr);
	return CTL_MISUSED;
}

static int run(const struct ctl *c, bool help, int argc, char **argv)
{
	struct command_table commands = ctl_commands();
	const struct command *cmd = NULL;

	if (argc > 0 && strcmp(argv[0], "help") == 0) { // `help show` as `show --help`
		help = true;
		argc--;
		argv++;
	}
	for (size_t i = 0; argc > 0 && i < commands.n; i++)
		if (strcmp(commands.rows[i].name, argv[0]) == 0)
			cmd = &commands.rows[i];
	if (argc > 0 && cmd == NULL) {
		const char *near =
			schema_closest(argv[0], (unsigned)commands.n, name_at, &commands);

		if (near != NULL)
			return misused("no command \"%s\": did you mean %s?", argv[0], near);
		return misused("no command \"%s\"", argv[0]);
	}
	if (help) {
		print_help(cmd);
		return CTL_DONE;
	}
	if (argc == 0)
		return misused("no command");
	if (cmd->writes && !c->check && c->name == NULL)
		return write_to_the_only(c, cmd, argc - 1, argv + 1);
	return cmd->fn(c, argc - 1, argv + 1);
}

// A whole number above 0, or a complaint and false.
static bool parse_count(const char *text, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > UINT_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

static bool parse_interval(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= 0.05 && *out <= 3600;
}

// getopt's own form of the option rows.
static void getopt_rows(struct option longs[MAX_OPTIONS + 1], char shorts[2 * MAX_OPTIONS + 1])
{
	struct option_table options = ctl_options();
	size_t at = 0;

	for (size_t i = 0; i < options.n && i < MAX_OPTIONS; i++) {
		const struct ctl_option *o = &options.rows[i];

		longs[i] = (struct option){
			.name = o->name,
			.has_arg = o->value != NULL ? required_argument : no_argument,
			.val = o->letter,
		};
		if (!o->has_short)
			continue;
		shorts[at++] = o->letter;
		if (o->value != NULL)
			shorts[at++] = ':';
	}
}

int main(int argc, char **argv)
{
	struct option longs[MAX_OPTIONS + 1] = {0};
	char shorts[2 * MAX_OPTIONS + 1] = "";
	struct ctl c = {.interval_s = 1};
	bool help = false;
	int opt;

	standard_fds_open();
	getopt_rows(longs, shorts);
	argv[0] = (char[]){"weirctl"}; // how getopt begins its complaints
	while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		switch (opt) {
		case 's': c.name = optarg; break;
		case 'j': c.json = true; break;
		case 'H': c.hold = true; break;
		case 'R': c.strict = true; break;
		case 'c': c.check = true; break;
		case 'C': c.confirm = optarg; break;
		case 'a': c.all = true; break;
		case 'e': c.explain = true; break;
		case 'F': c.follow = true; break;
		case 'w': c.why = true; break;
		case 'W': c.wide = true; break;
		case 'U': c.unpaired = true; break;
		case 'L':
			if (!parse_count(optarg, &c.limit))
				return misused("--limit is a number from 1, not \"%s\"", optarg);
			break;
		case 'S': c.severity = optarg; break;
		case 'T': c.since = optarg; break;
		case 'i':
			if (!parse_interval(optarg, &c.interval_s))
				return misused("--interval is from 0.05 to 3600 seconds, "
					       "not \"%s\"", optarg);
			c.interval_given = true;
			break;
		case 'n':
			if (!parse_count(optarg, &c.count))
				return misused("--count is a number from 1, not \"%s\"", optarg);
			break;
		case 'P': c.plain = true; break;
		case 'f': c.capture.filter = optarg; break;
		case 'o': c.capture.only = optarg; break;
		case 'l': c.capture.last = optarg; break;
		case 't': c.capture.time = optarg; break;
		case 'u': c.capture.until_drop = true; break;
		case 'z': c.capture.snaplen = optarg; break;
		case 'h': help = true; break;
		case 'V': puts("weirctl " WEIR_VERSION); return CTL_DONE;
		default: return unknown_option(argv[optind - 1]);
		}
	}
	if (c.name == NULL)
		c.name = getenv("WEIR_SWITCH");
	if (c.name != NULL && *c.name == '\0')
		c.name = NULL;
	return run(&c, help, argc - optind, argv + optind);
}
