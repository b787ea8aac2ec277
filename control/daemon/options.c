// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"

enum { WAIT_DIGITS = 5, HELP_COLUMN = 29 };

static bool take_metrics(const struct opt *row, char *text, void *opts)
{
	struct options *out = opts;

	(void)row;
	out->metrics_on = endpoint_parse(text, &out->metrics);
	if (!out->metrics_on)
		fprintf(stderr, "weir: --metrics takes a port, or an address and a port such as "
				"127.0.0.1:9410 or [::1]:9410, not \"%s\"\n", text);
	return out->metrics_on;
}

static bool take_web(const struct opt *row, char *text, void *opts)
{
	struct options *out = opts;

	(void)row;
	out->web_on = endpoint_parse(text, &out->web);
	if (!out->web_on)
		fprintf(stderr, "weir: --web takes a port, or an address and a port such as "
				"127.0.0.1:8080 or [::1]:8080, not \"%s\"\n", text);
	return out->web_on;
}

static bool take_wait(const struct opt *row, char *text, void *opts)
{
	struct options *out = opts;
	size_t digits = strspn(text, "0123456789");

	(void)row;
	out->wait_s = (unsigned)strtoul(text, NULL, 10);
	if (digits > 0 && digits <= WAIT_DIGITS && text[digits] == '\0')
		return true;
	fprintf(stderr, "weir: --wait takes seconds, a number of up to %d digits, not \"%s\"\n",
		WAIT_DIGITS, text);
	return false;
}

static bool take_port(const struct opt *row, char *device, void *opts)
{
	struct options *out = opts;

	(void)row;
	if (out->n_ports == OPTIONS_PORTS_MAX) {
		fprintf(stderr, "weir: --selftest takes one or two ports, and \"%s\" is a third\n",
			device);
		return false;
	}
	out->ports[out->n_ports++] = device;
	return true;
}

#define AT(f) offsetof(struct options, f)
static const struct opt rows[] = {
	{"config", 'c', "FILE", "the policy file (weirctl check FILE reads it without starting)",
	 AT(policy_path)},
	{"busy-poll", 0, NULL, "workers never sleep: lowest latency, one whole core each",
	 AT(busy_poll)},
	{"wait", 0, "SECONDS",
	 "before the start: wait this long for interfaces that do not exist yet", 0, take_wait},
	{"metrics", 0, "[ADDR:]PORT", "serve metrics for Prometheus over HTTP (ADDR: 127.0.0.1)", 0,
	 take_metrics},
	{"web", 0, "[ADDR:]PORT", "serve a page that shows the switch live (ADDR: 127.0.0.1)", 0,
	 take_web},
	{"web-token", 0, "FILE",
	 "the page wants the token in this file; without it --web takes no address beyond this "
	 "machine", AT(web_token)},
	{"allow-vdev", 0, NULL,
	 "take ports of vdev: devices: their drivers may write any file, so let no other program "
	 "write the policy", AT(allow_vdev)},
	{"selftest", 0, "PORT [PORT]",
	 "report what one or two devices can do, such as xdp:eth1, and exit", 0, take_port},
	{"json", 0, NULL, "print the balance at the end as JSON", AT(json)},
	{"keep-privileges", 0, NULL,
	 "keep all capabilities; else CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK stay",
	 AT(keep_privileges)},
	{"help", 'h', NULL, "this text", AT(help), .last = true},
	{"version", 'V', NULL, "the version", AT(version), .last = true},
};

const struct opts weir_opts = {.program = "weir", .rows = rows,
			       .n = sizeof(rows) / sizeof(rows[0]), .stops = true};

const char options_usage[] = "weir -c FILE [--busy-poll] [--wait SECONDS] [--metrics [ADDR:]PORT] "
			     "[--web [ADDR:]PORT [--web-token FILE]] [--allow-vdev] [--json] "
			     "[--keep-privileges] [-- EAL arguments]\n"
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

static void print_weir_help(void)
{
	fputs("usage: ", stdout);
	print_indented(stdout, options_usage, (int)strlen("usage: "), TERMINAL_TEXT);
	printf("\n\n%s\n", options_summary);
	opts_help(&weir_opts, HELP_COLUMN, stdout);
	printf("\n%s", options_notes);
	print_term(stdout, "Exit:", options_exit, (int)strlen("Exit: "));
}

static enum options_verdict options_misused(void)
{
	fputs("weir: try `weir --help`\n", stderr);
	return OPTIONS_MISUSED;
}

static bool enough(const struct options *o)
{
	if (o->policy_path != NULL && o->n_ports > 0)
		fputs("weir: --selftest needs no policy: give it or -c FILE\n", stderr);
	else if (o->policy_path == NULL && o->n_ports == 0)
		fputs("weir: no policy file; start it with: weir -c FILE\n", stderr);
	else if (o->web_token != NULL && !o->web_on)
		fputs("weir: --web-token is for --web [ADDR:]PORT\n", stderr);
	else if (o->web_on && o->web_token == NULL && !endpoint_is_local(&o->web))
		fprintf(stderr,
			"weir: --web %s: others could see the switch; give a token, too: "
			"openssl rand -hex 16 > token, and --web-token token\n",
			o->web.text);
	else
		return true;
	return false;
}

enum options_verdict options_parse(int argc, char **argv, struct options *out)
{
	enum opts_end end = OPTS_END;

	if (opts_completion(&weir_opts, argc, argv))
		return OPTIONS_DONE;
	out->help = argc == 2 && strcmp(argv[1], "help") == 0;
	if (!out->help) {
		// Words that follow --selftest PORT are further ports.
		while ((end = opts_parse(&weir_opts, argc, argv, out)) == OPTS_END &&
		       !out->help && !out->version && out->n_ports > 0 && optind < argc)
			if (!take_port(NULL, argv[optind++], out))
				return options_misused();
		if (end == OPTS_WRONG)
			return options_misused();
	}
	if (out->help)
		print_weir_help();
	if (out->version)
		puts("weir " WEIR_VERSION);
	if (out->help || out->version)
		return OPTIONS_DONE;
	if (end == OPTS_END && optind < argc) {
		fprintf(stderr, "weir: unexpected argument \"%s\"; EAL arguments go after `--`\n",
			argv[optind]);
		return options_misused();
	}
	out->eal = argv + optind;
	out->n_eal = argc - optind;
	return enough(out) ? OPTIONS_RUN : options_misused();
}
