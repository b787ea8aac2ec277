// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"

static const struct option_row rows[] = {
	{"config", 'c', true, "FILE",
	 "the policy file (weirctl check FILE reads it without starting)"},
	{"busy-poll", 'b', false, NULL, "workers never sleep: lowest latency, one whole core each"},
	{"wait", 'w', false, "SECONDS",
	 "before the start: wait so long for interfaces that do not exist yet"},
	{"metrics", 'm', false, "[ADDR:]PORT",
	 "serve metrics for Prometheus over HTTP (ADDR: 127.0.0.1)"},
	{"selftest", 's', false, "PORT [PORT]",
	 "say what one or two devices can do, such as xdp:eth1, and exit"},
	{"json", 'j', false, NULL, "print the balance at the end as JSON"},
	{"keep-privileges", 'k', false, NULL,
	 "keep all capabilities; else CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK stay"},
	{"help", 'h', true, NULL, "this text"},
	{"version", 'V', true, NULL, "the version"},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]), WAIT_DIGITS = 5, HELP_COLUMN = 29 };

const char options_usage[] = "weir -c FILE [--busy-poll] [--wait SECONDS] [--metrics [ADDR:]PORT] "
			     "[--json] [--keep-privileges] [-- EAL arguments]\n"
			     "weir --selftest PORT [PORT] [--json] [-- EAL arguments]";
const char options_summary[] =
	"Runs one switch as the policy file says, in the foreground, until SIGTERM or\n"
	"SIGINT. Prints `ready` when frames are forwarded, and the balance of all frames\n"
	"at the end. With --selftest no switch runs: a plain sentence for each check, ok,\n"
	"FAILED or cannot tell. Two ports joined by a cable or veth, or one with a plug,\n"
	"are also tested with frames. The host's own addresses on the tested interfaces\n"
	"do not answer meanwhile.\n";
const char options_notes[] =
	"Events go to standard error. Control it with weirctl, through\n/run/weir/NAME.sock.\n";
const char options_exit[] =
	"0 stopped and every frame is accounted for, or no check failed; 1 failed; 2 misused or "
	"bad policy.";

const struct option_row *options_rows(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

static void print_help(void)
{
	fputs("usage: ", stdout);
	print_indented(stdout, options_usage, (int)strlen("usage: "), TERMINAL_TEXT);
	printf("\n\n%s\n", options_summary);
	for (size_t i = 0; i < N_ROWS; i++) {
		char brief[8] = "", term[48];

		if (rows[i].has_short)
			snprintf(brief, sizeof(brief), "-%c,", rows[i].letter);
		snprintf(term, sizeof(term), "  %-3s --%s%s%s", brief, rows[i].name,
			 rows[i].value != NULL ? " " : "",
			 rows[i].value != NULL ? rows[i].value : "");
		print_term(stdout, term, rows[i].help, HELP_COLUMN);
	}
	printf("\n%s", options_notes);
	print_term(stdout, "Exit:", options_exit, (int)strlen("Exit: "));
}

static const char *name_at(const void *unused, unsigned i)
{
	(void)unused;
	return rows[i].name;
}

// After the complaint of getopt about this word.
static void name_nearest(const char *word)
{
	const char *near = NULL;

	if (optopt == 0 && strncmp(word, "--", 2) == 0)
		near = schema_closest(word + 2, N_ROWS, name_at, NULL);
	if (near != NULL)
		fprintf(stderr, "weir: did you mean --%s?\n", near);
}

static enum options_verdict misused(void)
{
	fputs("weir: try `weir --help`\n", stderr);
	return OPTIONS_MISUSED;
}

// getopt's own form of the rows.
static void getopt_rows(struct option longs[N_ROWS + 1], char shorts[2 * N_ROWS + 2])
{
	size_t at = 0;

	shorts[at++] = '+'; // stop at the first word that is no option
	for (size_t i = 0; i < N_ROWS; i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].value != NULL ? required_argument : no_argument,
			.val = rows[i].letter,
		};
		if (!rows[i].has_short)
			continue;
		shorts[at++] = rows[i].letter;
		if (rows[i].value != NULL)
			shorts[at++] = ':';
	}
}

static bool parse_metrics(const char *text, struct options *out)
{
	out->metrics_on = endpoint_parse(text, &out->metrics);
	if (!out->metrics_on)
		fprintf(stderr, "weir: --metrics takes a port, or an address and a port such as "
				"127.0.0.1:9410 or [::1]:9410, not \"%s\"\n", text);
	return out->metrics_on;
}

static bool parse_wait(const char *text, struct options *out)
{
	size_t digits = strspn(text, "0123456789");

	out->wait_s = (unsigned)strtoul(text, NULL, 10);
	if (digits > 0 && digits <= WAIT_DIGITS && text[digits] == '\0')
		return true;
	fprintf(stderr, "weir: --wait takes seconds, a number of up to %d digits, not \"%s\"\n",
		WAIT_DIGITS, text);
	return false;
}

// getopt stops at the first word that is no option, and skips `--`.
static bool stray_word(int optind_now, char **argv, int n_left)
{
	const char *before = optind_now < 2 ? "" : argv[optind_now - 1];

	if (n_left == 0 || (before[0] == '-' && before[1] == '-' && before[2] == '\0'))
		return false;
	fprintf(stderr, "weir: unexpected argument \"%s\"; EAL arguments go after `--`\n",
		argv[optind_now]);
	return true;
}

static bool add_port(struct options *out, const char *device)
{
	if (out->n_ports == OPTIONS_PORTS_MAX) {
		fprintf(stderr, "weir: --selftest takes one or two ports, and \"%s\" is a third\n",
			device);
		return false;
	}
	out->ports[out->n_ports++] = device;
	return true;
}

// Like getopt_long, but words that follow --selftest PORT are further ports.
static int next_option(int argc, char **argv, const char *shorts, const struct option *longs,
		       struct options *out)
{
	int opt = getopt_long(argc, argv, shorts, longs, NULL);

	while (opt == -1 && out->n_ports > 0 && optind < argc &&
	       strcmp(argv[optind - 1], "--") != 0) {
		if (!add_port(out, argv[optind++]))
			return '?';
		opt = getopt_long(argc, argv, shorts, longs, NULL);
	}
	return opt;
}

static bool enough(const struct options *o)
{
	if (o->policy_path != NULL && o->n_ports > 0)
		fputs("weir: --selftest needs no policy: give it or -c FILE\n", stderr);
	else if (o->policy_path == NULL && o->n_ports == 0)
		fputs("weir: no policy file; start it with: weir -c FILE\n", stderr);
	else
		return true;
	return false;
}

enum options_verdict options_parse(int argc, char **argv, struct options *out)
{
	struct option longs[N_ROWS + 1] = {0};
	char shorts[2 * N_ROWS + 2] = "";
	int opt;

	if (argc == 2 && strcmp(argv[1], "help") == 0) {
		print_help();
		return OPTIONS_DONE;
	}
	getopt_rows(longs, shorts);
	while ((opt = next_option(argc, argv, shorts, longs, out)) != -1) {
		switch (opt) {
		case 'c': out->policy_path = optarg; break;
		case 'j': out->json = true; break;
		case 'b': out->busy_poll = true; break;
		case 'k': out->keep_privileges = true; break;
		case 's':
			if (!add_port(out, optarg))
				return misused();
			break;
		case 'm':
			if (!parse_metrics(optarg, out))
				return misused();
			break;
		case 'w':
			if (!parse_wait(optarg, out))
				return misused();
			break;
		case 'h': print_help(); return OPTIONS_DONE;
		case 'V': puts("weir " WEIR_VERSION); return OPTIONS_DONE;
		default: name_nearest(argv[optind - 1]); return misused();
		}
	}
	out->eal = argv + optind;
	out->n_eal = argc - optind;
	if (stray_word(optind, argv, out->n_eal))
		return misused();
	return enough(out) ? OPTIONS_RUN : misused();
}
