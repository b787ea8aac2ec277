// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/args.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/sonic/bridge/redis.h"
#include "dataplane/base/units.h"

enum { HELP_COLUMN = 26 };

static bool take_time(const struct opt *row, char *text, void *out)
{
	const char *why = "it is outside the limits";
	int64_t ns;

	if (unit_parse(UNIT_TIME, text, &ns, &why) && ns >= row->min && ns <= row->max) {
		*(int64_t *)((char *)out + row->off) = ns;
		return true;
	}
	usage_printf("weir-sonic: --%s \"%s\": %s; a time from %s to %s is possible\n", row->name,
		     text, why, UNIT_TEXT(UNIT_TIME, row->min), UNIT_TEXT(UNIT_TIME, row->max));
	return false;
}

static bool take_redis(const struct opt *row, char *text, void *out)
{
	const char *why = redis_address_wrong(text);

	(void)row;
	((struct bridge_args *)out)->redis = text;
	if (why != NULL)
		usage_printf("weir-sonic: --redis \"%s\" %s\n", text, why);
	return why == NULL;
}

#define AT(f) offsetof(struct bridge_args, f)
#define TIME(f, lo, hi) AT(f), take_time, .min = (lo), .max = (hi)
static const struct opt rows[] = {
	{"switch", 's', "NAME", "the switch, as its policy names it (default weir)", AT(name)},
	{"policy", 0, "FILE", "the policy file that the bridge writes and the switch runs",
	 AT(policy)},
	{"redis", 0, "ADDRESS",
	 "HOST:PORT, or the path of a socket such as /var/run/redis/redis.sock (default "
	 "127.0.0.1:6379)", 0, take_redis},
	{"ports", 0, "LIST", "devices of the ports: Ethernet0=xdp:eth1,Ethernet4=xdp:eth2",
	 AT(ports)},
	{"pg-lookup", 0, "FILE", "headroom by speed and cable: a pg_profile_lookup.ini",
	 AT(lookup)},
	{"every", 0, "T", "time between two writes of the counters (default 1s)",
	 TIME(every_ns, 100 * MS_NS, 60ll * SECOND_NS)},
	{"settle", 0, "T",
	 "apply a change when CONFIG_DB has been still for this long (default 100ms)",
	 TIME(settle_ns, 0, 10ll * SECOND_NS)},
	{"poll", 0, "T", "read CONFIG_DB again after this time at the latest (default 10s)",
	 TIME(poll_ns, 100 * MS_NS, 600ll * SECOND_NS)},
	{"no-counters", 0, NULL, "write no counters: only the configuration passes",
	 AT(no_counters)},
	{"once", 0, NULL, "write the policy file from CONFIG_DB and exit; no switch need run",
	 AT(once)},
	{"help", 'h', NULL, "this text", AT(help), .last = true},
	{"version", 'V', NULL, "the version", AT(version), .last = true},
};

const struct opts bridge_opts = {.program = "weir-sonic", .rows = rows,
				 .n = sizeof(rows) / sizeof(rows[0])};
const char bridge_usage[] =
	"weir-sonic --policy FILE [-s NAME] [--redis ADDRESS] [--ports LIST] [--pg-lookup FILE] "
	"[--every T] [--settle T] [--poll T] [--no-counters]\n"
	"weir-sonic --once --policy FILE [--redis ADDRESS] [--ports LIST] [--pg-lookup FILE]";
const char bridge_summary[] =
	"Connects a switch with the Redis of SONiC, or with one of the same schema. It\n"
	"turns CONFIG_DB into the policy of the switch and applies each change by a\n"
	"reload. It writes the counters of the switch to COUNTERS_DB, where SONiC's own\n"
	"show commands read them, and its own state to WEIR|status in STATE_DB.\n";
const char bridge_exit[] = "0 stopped, or the file is written; 1 Redis does not answer or the file "
			   "cannot be written; 2 misused, or CONFIG_DB is refused (--once).";

void bridge_args_help(void)
{
	fputs("usage: ", stdout);
	print_indented(stdout, bridge_usage, (int)strlen("usage: "), TERMINAL_TEXT);
	printf("\n\n%s\n", bridge_summary);
	opts_help(&bridge_opts, HELP_COLUMN, stdout);
	fputs("\n", stdout);
	print_term(stdout, "Exit:", bridge_exit, (int)strlen("Exit: "));
}

static bool report_sonic_misuse(const char *why)
{
	usage_printf("weir-sonic: %s\nTry 'weir-sonic --help'.\n", why);
	return false;
}

bool bridge_args_parse(int argc, char **argv, struct bridge_args *out)
{
	*out = (struct bridge_args){.redis = "127.0.0.1:6379", .name = "weir",
				    .every_ns = SECOND_NS, .settle_ns = 100 * MS_NS,
				    .poll_ns = 10ll * SECOND_NS};
	argv[0] = (char[]){"weir-sonic"}; // how getopt begins its complaints
	if (opts_parse(&bridge_opts, argc, argv, out) == OPTS_WRONG)
		return report_sonic_misuse("the command line is wrong");
	if (out->help || out->version)
		return true;
	if (optind < argc)
		return report_sonic_misuse("there is a word that is no option");
	if (out->policy == NULL)
		return report_sonic_misuse(
			"--policy FILE is missing: the file that the switch runs");
	return true;
}
