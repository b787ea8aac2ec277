// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/ctl.h"

static const struct command {
	const char *name;
	ctl_fn *fn;
	const char *usage; // one line per form
	const char *help;
} commands[] = {
	{"show", cmd_show, "show KIND [PORT] [--json]",
	 "Prints what the switch knows. KIND is one of\n"
	 "  ports queues pfc buffers watermarks drops fdb events config control hints latency\n"
	 "  balance. `show pfc counters` is the same as `show pfc`.\n"},
	{"watch", cmd_watch, "watch [PORT] [--interval SECONDS] [--count N]",
	 "Shows ports, busy queues, pauses and drops live, until interrupted or N times.\n"},
	{"check", cmd_check, "check FILE [--json]",
	 "Checks a policy file: all mistakes in one pass, exit 2 if there are any.\n"
	 "Needs no daemon.\n"},
	{"plan", cmd_plan, "plan FILE [--json]",
	 "Prints every number that follows from a policy file.\n"
	 "Needs no daemon and opens no device.\n"},
	{"set", cmd_set, "set port PORT tx on|off\nset queue PORT QUEUE tx on|off",
	 "Stops or starts sending of data; queues keep filling.\n"
	 "It returns once no more data leaves.\n"},
	{"clear", cmd_clear, "clear watermarks|counters",
	 "Restarts the watermarks and the longest times of `show latency`, or lets all\n"
	 "counters count from here.\n"},
	{"quiesce", cmd_quiesce, "quiesce [--hold] [--json]",
	 "Stops admission, waits up to 2 s until the switch is at rest, prints the balance\n"
	 "and what is still queued. Admission goes on afterwards, with --hold only after\n"
	 "`resume`.\n"},
	{"resume", cmd_resume, "resume", "Lets frames in again after `quiesce --hold`.\n"},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static const struct option longs[] = {
	{"switch", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
	{"hold", no_argument, NULL, 'H'},         {"interval", required_argument, NULL, 'i'},
	{"count", required_argument, NULL, 'n'},  {"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
};

// Each form of a command on a line of its own, the first after `first`, the others after `next`.
static void print_usage(const struct command *cmd, const char *first, const char *next)
{
	const char *at = cmd->usage, *lead = first;

	while (*at != '\0') {
		size_t len = strcspn(at, "\n");

		printf("%sweirctl %.*s\n", lead, (int)len, at);
		at += len + (at[len] != '\0');
		lead = next;
	}
}

static void print_help(const struct command *cmd)
{
	if (cmd != NULL) {
		print_usage(cmd, "usage: ", "       ");
		printf("\n%s", cmd->help);
		return;
	}
	puts("usage: weirctl [-s NAME] COMMAND\n\nLooks at, and steers, a running switch.\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		print_usage(&commands[i], "  ", "  ");
	puts("\n  -s, --switch NAME  which switch, where several run (default: weir, or the only)\n"
	     "      --json         for programs\n"
	     "      --help         after a command: about that command\n"
	     "      --version      the version\n\n"
	     "Exit: 0 done, 1 failed, 2 misused.");
}

static const char try_help[] = "Try `weirctl --help`.\n";

int misused(const char *fmt, ...)
{
	va_list ap;

	fputs("weirctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fputs(try_help, stderr);
	return CTL_MISUSED;
}

struct json_object *request_of(const char *cmd, const char *key, const char *value)
{
	struct json_object *req = json_object_new_object();

	json_object_object_add(req, "cmd", json_object_new_string(cmd));
	if (key != NULL)
		json_object_object_add(req, key, json_object_new_string(value));
	return req;
}

void print_json(struct json_object *data)
{
	puts(json_object_to_json_string_ext(data, JSON_C_TO_STRING_PRETTY |
						     JSON_C_TO_STRING_NOSLASHESCAPE |
						     JSON_C_TO_STRING_SPACED));
}

static int run(const struct ctl *c, bool help, int argc, char **argv)
{
	const struct command *cmd = NULL;

	for (size_t i = 0; argc > 0 && i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, argv[0]) == 0)
			cmd = &commands[i];
	if (argc > 0 && cmd == NULL)
		return misused("no command \"%s\"", argv[0]);
	if (help) {
		print_help(cmd);
		return CTL_DONE;
	}
	if (argc == 0)
		return misused("no command");
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

int main(int argc, char **argv)
{
	struct ctl c = {.interval_s = 1};
	bool help = false;
	int opt;

	argv[0] = (char[]){"weirctl"}; // how getopt begins its complaints
	while ((opt = getopt_long(argc, argv, "s:hV", longs, NULL)) != -1) {
		switch (opt) {
		case 's': c.name = optarg; break;
		case 'j': c.json = true; break;
		case 'H': c.hold = true; break;
		case 'i':
			if (!parse_interval(optarg, &c.interval_s))
				return misused("--interval is from 0.05 to 3600 seconds, "
					       "not \"%s\"", optarg);
			break;
		case 'n':
			if (!parse_count(optarg, &c.count))
				return misused("--count is a number from 1, not \"%s\"", optarg);
			break;
		case 'h': help = true; break;
		case 'V': puts("weirctl " WEIR_VERSION); return CTL_DONE;
		default: fputs(try_help, stderr); return CTL_MISUSED;
		}
	}
	return run(&c, help, argc - optind, argv + optind);
}
