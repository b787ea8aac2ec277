// SPDX-License-Identifier: Apache-2.0
#include "control/hostd/args.h"

#include <getopt.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/base/units.h"

enum { HELP_COLUMN = 26, DSCPS = 64, DSCPS_PER_CLASS = 8 };
#define LEAST_BPS 1000000ll
#define MOST_BPS 400000000000ll

static bool take_speed(const struct opt *row, char *text, void *out)
{
	const char *why = "it is outside the limits";
	int64_t bps;

	(void)row;
	if (unit_parse(UNIT_RATE, text, &bps, &why) && bps >= LEAST_BPS && bps <= MOST_BPS) {
		((struct hostd_args *)out)->speed_bps = bps;
		return true;
	}
	usage_printf("weir-hostd: --speed \"%s\": %s; a speed from %s to %s is possible\n", text,
		     why, UNIT_TEXT(UNIT_RATE, LEAST_BPS), UNIT_TEXT(UNIT_RATE, MOST_BPS));
	return false;
}

// Reads a whole number below n. Returns the text behind the number, or NULL.
static const char *read_below(const char *text, unsigned n, unsigned *out)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 2 || sscanf(text, "%2u", out) != 1 || *out >= n)
		return NULL;
	return text + len;
}

// CLASS, CLASS:DSCP or CLASS:DSCP-DSCP.
static bool read_class(const char *text, unsigned *c, unsigned *first, unsigned *last)
{
	text = read_below(text, N_CLASSES, c);
	if (text == NULL)
		return false;
	*first = *c * DSCPS_PER_CLASS;
	*last = *first + DSCPS_PER_CLASS - 1;
	if (*text == '\0')
		return true;
	if (*text != ':' || (text = read_below(text + 1, DSCPS, first)) == NULL)
		return false;
	*last = *first;
	if (*text == '-')
		text = read_below(text + 1, DSCPS, last);
	return text != NULL && *text == '\0' && *first <= *last;
}

static bool take_class(const struct opt *row, char *text, void *out)
{
	struct hostd_args *a = out;
	unsigned c, first, last;
	uint64_t dscps;

	(void)row;
	if (!read_class(text, &c, &first, &last)) {
		usage_printf("weir-hostd: --class \"%s\" is no class from 0 to 7, such as 3, 3:26 "
			     "or 3:24-31\n", text);
		return false;
	}
	dscps = (UINT64_MAX >> (DSCPS - 1 - last)) & (UINT64_MAX << first);
	for (unsigned other = 0; other < N_CLASSES; other++) {
		if (other == c || !(a->dscps[other] & dscps))
			continue;
		usage_printf("weir-hostd: --class \"%s\": class %u has one of these DSCPs\n", text,
			     other);
		return false;
	}
	a->classes |= (uint8_t)(1u << c);
	a->dscps[c] |= dscps;
	return true;
}

#define AT(f) offsetof(struct hostd_args, f)
static const struct opt rows[] = {
	{"device", 0, "NAME", "the interface, such as eth0", AT(device)},
	{"speed", 0, "RATE",
	 "speed of its line: PFC counts the bit times of it, and the interface sends no faster", 0,
	 take_speed},
	{"class", 0, "CLASS",
	 "a class that obeys PFC; may be repeated. Class C has the DSCPs 8C to 8C+7; 3:26 or "
	 "3:24-31 name others", 0, take_class},
	{"json", 0, NULL, "print the report as JSON", AT(json)},
	{"help", 'h', NULL, "this text", AT(help), .last = true},
	{"version", 'V', NULL, "the version", AT(version), .last = true},
};

const struct opts hostd_opts = {.program = "weir-hostd", .rows = rows,
				.n = sizeof(rows) / sizeof(rows[0])};
const char hostd_usage[] =
	"weir-hostd --device NAME --speed RATE --class CLASS [--class CLASS]... [--json]";
const char hostd_summary[] =
	"Makes the kernel of a host obey PFC on an interface: iperf3, NFS, soft-RoCE and\n"
	"all else that the kernel sends. While the switch pauses a class, the frames of\n"
	"the class wait in a queue of the kernel, so their senders wait as well. It runs\n"
	"until SIGINT, SIGTERM or SIGHUP, then reports and removes its queues.\n";
const char hostd_exit[] = "0 stopped; 1 the interface or the kernel does not let it work, or the "
			  "interface is gone; 2 misused.";

void hostd_args_help(void)
{
	fputs("usage: ", stdout);
	print_indented(stdout, hostd_usage, (int)strlen("usage: "), TERMINAL_TEXT);
	printf("\n\n%s\n", hostd_summary);
	opts_help(&hostd_opts, HELP_COLUMN, stdout);
	fputs("\n", stdout);
	print_term(stdout, "Exit:", hostd_exit, (int)strlen("Exit: "));
}

static bool report_hostd_misuse(const char *why)
{
	usage_printf("weir-hostd: %s\nTry 'weir-hostd --help'.\n", why);
	return false;
}

bool hostd_args_parse(int argc, char **argv, struct hostd_args *out)
{
	*out = (struct hostd_args){0};
	argv[0] = (char[]){"weir-hostd"}; // how getopt begins its complaints
	if (opts_parse(&hostd_opts, argc, argv, out) == OPTS_WRONG)
		return report_hostd_misuse("the command line is wrong");
	if (out->help || out->version)
		return true;
	if (optind < argc)
		return report_hostd_misuse("there is a word that is no option");
	if (out->device == NULL)
		return report_hostd_misuse("--device NAME is missing: the interface of the host");
	if (out->device[0] == '\0' || strlen(out->device) >= IF_NAMESIZE)
		return report_hostd_misuse("--device: no interface has such a name");
	if (out->speed_bps == 0)
		return report_hostd_misuse(
			"--speed RATE is missing: the speed of the port of the switch");
	if (out->classes == 0)
		return report_hostd_misuse(
			"--class CLASS is missing: the lossless class of the switch");
	return true;
}
