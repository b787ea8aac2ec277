// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options.h"

#include <getopt.h>
#include <stdio.h>

static const struct option longs[] = {
	{"config", required_argument, NULL, 'c'}, {"json", no_argument, NULL, 'j'},
	{"busy-poll", no_argument, NULL, 'b'},    {"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
};

static const char help[] =
	"usage: weir -c FILE [--busy-poll] [--json] [-- EAL arguments]\n"
	"\n"
	"Runs one switch as the policy file says, in the foreground, until SIGTERM or SIGINT.\n"
	"Prints `ready` when frames are forwarded, and the balance of all frames at the end.\n"
	"\n"
	"  -c, --config FILE  the policy file (weirctl check FILE reads it without starting)\n"
	"      --busy-poll    workers never sleep: lowest latency, one whole core each\n"
	"      --json         print the balance at the end as JSON\n"
	"      --help         this text\n"
	"      --version      the version\n"
	"\n"
	"Events go to standard error. Control it with weirctl, through /run/weir/NAME.sock.\n"
	"Exit: 0 stopped and every frame is accounted for, 1 failed, 2 misused or bad policy.\n";

static enum options_verdict misused(void)
{
	fputs("weir: try `weir --help`\n", stderr);
	return OPTIONS_MISUSED;
}

enum options_verdict options_parse(int argc, char **argv, struct options *out)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+c:hV", longs, NULL)) != -1) {
		switch (opt) {
		case 'c': out->policy_path = optarg; break;
		case 'j': out->json = true; break;
		case 'b': out->busy_poll = true; break;
		case 'h': fputs(help, stdout); return OPTIONS_DONE;
		case 'V': puts("weir " WEIR_VERSION); return OPTIONS_DONE;
		default: return misused();
		}
	}
	out->eal = argv + optind;
	out->n_eal = argc - optind;
	// getopt stops at the first word that is no option, and skips `--`.
	if (out->n_eal > 0 && (optind < 2 || argv[optind - 1][0] != '-' ||
			       argv[optind - 1][1] != '-' || argv[optind - 1][2] != '\0')) {
		fprintf(stderr, "weir: unexpected argument \"%s\"; EAL arguments go after `--`\n",
			argv[optind]);
		return misused();
	}
	if (out->policy_path == NULL) {
		fputs("weir: no policy file; start it with: weir -c FILE\n", stderr);
		return misused();
	}
	return OPTIONS_RUN;
}
