// SPDX-License-Identifier: Apache-2.0
#include "control/probe/args.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/base/units.h"
#include "dataplane/base/units.h"
#include "drivers/live.h"

enum {
	HELP_COLUMN = 21,
	MEASURE_COLUMN = 14,
	MOST_FRAMES = 1 << 22,
	MOST_CELL = 16384,
	NOT_GIVEN = -1,
};
static const char CONGESTION[] = "congestion"; // of --hold
#define N(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MINUTE_NS (60ll * SECOND_NS)

// Prints the complaint.
__attribute__((format(printf, 1, 2))) static bool bad(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		terminal_printf(stderr, "weir-probe: %s\n", text);
	va_end(ap);
	free(text);
	return false;
}

static bool take_probe_number(const struct opt *row, char *text, void *out)
{
	const char *why;
	char lo[32], hi[32];
	int64_t v;

	if (!unit_parse(row->unit, text, &v, &why))
		return bad("--%s: \"%s\": %s", row->name, text, why);
	if (v < row->min || v > row->max) {
		unit_print(row->unit, row->min, lo, sizeof(lo));
		unit_print(row->unit, row->max, hi, sizeof(hi));
		return bad("--%s: %s is outside %s .. %s", row->name, text, lo, hi);
	}
	*(int64_t *)((char *)out + row->off) = v;
	return true;
}

static bool take_classes(const struct opt *row, char *text, void *out)
{
	struct probe_args *a = out;
	const char *at = text;

	for (a->n_classes = 0; *at >= '0' && *at <= '7' && a->n_classes < PROBE_CLASSES;) {
		a->classes[a->n_classes++] = (uint8_t)(*at - '0');
		at++;
		if (*at == '\0' && a->n_classes > 1)
			return true;
		if (*at++ != ',')
			break;
	}
	return bad("--%s: \"%s\" is no list of two classes or more such as 0,3", row->name, text);
}

#define AT(f) offsetof(struct probe_args, f)
#define NUMBER(f, kind, lo, hi, d)                                                                 \
	AT(f), take_probe_number, .unit = UNIT_##kind, .min = (lo), .max = (hi), .dflt = (d)

// clang-format off
static const struct opt rows[] = {
	{"tx", 0, "PORT",
	 "the port that sends: xdp:IFACE, pci:BDF or vdev:ARGS; with --lab a port of the policy",
	 AT(port[PROBE_TX])},
	{"rx", 0, "PORT", "the port that receives, and pauses the device", AT(port[PROBE_RX])},
	{"third", 0, "PORT",
	 "a third port: a second receiver for xon, a second sender for shared",
	 AT(port[PROBE_THIRD])},
	{"lab", 0, "POLICY",
	 "measure the policy of this file, on the virtual clock, in place of a device",
	 AT(policy)},
	{"class", 0, "N", "class under test (default 3)", NUMBER(cls, COUNT, 0, 7, 3)},
	{"classes", 0, "LIST", "classes whose shares dwrr compares, such as 0,3", 0, take_classes},
	{"dscp", 0, "N", "DSCP of --class (default 8 * class)",
	 NUMBER(dscp, COUNT, 0, 63, NOT_GIVEN)},
	{"vlan", 0, "N", "tag frames with this VLAN, and PCP = class",
	 NUMBER(vlan, COUNT, 0, 4094, NOT_GIVEN)},
	{"hold", 0, "COMMAND",
	 "stop the egress of the device by this command, in place of PAUSE from --rx; with --lab: "
	 "tx-off. `congestion`: --third sends too, and the queue grows", AT(hold)},
	{"release", 0, "COMMAND", "start the egress again", AT(release)},
	{"cell", 0, "BYTES", "size of a cell of the device (default: it is measured)",
	 NUMBER(cell, BYTES, 1, MOST_CELL, 0)},
	{"min", 0, "BYTES", "memory that is reserved for the group, which `shared` leaves out",
	 NUMBER(min, BYTES, 0, INT32_MAX, 0)},
	{"speed", 0, "RATE",
	 "line rate of the device's ports (default: as a PAUSE lasts there, else the link's)",
	 NUMBER(speed, RATE, 1000000, 1000000000000, 0)},
	{"interval", 0, "T", "time between two frames at least (default 10us; --lab: line rate)",
	 NUMBER(interval_ns, TIME, 1, SECOND_NS, 0)},
	{"settle", 0, "T",
	 "the device has reacted after this long (default 20ms; --lab: by the speed)",
	 NUMBER(settle_ns, TIME, US_NS, MINUTE_NS, 0)},
	{"most", 0, "N", "frames of a trial at most (default 200000)",
	 NUMBER(most, COUNT, 1024, MOST_FRAMES, 200000)},
	{"passes", 0, "N", "fills of the queue for ecn (default 100)",
	 NUMBER(passes, COUNT, 1, 1000000, 100)},
	{"quanta", 0, "N", "time in each PAUSE (default 65535)",
	 NUMBER(quanta, COUNT, 256, 65535, 65535)},
	{"storm", 0, "T", "longest storm of watchdog (default 3s)",
	 NUMBER(storm_ns, TIME, MS_NS, MINUTE_NS, 3ll * SECOND_NS)},
	{"delay", 0, "T", "--lab: propagation of each wire (default none)",
	 NUMBER(delay_ns, TIME, 1, MS_NS, 0)},
	{"json", 0, NULL, "report as JSON", AT(json)},
	{"report", 0, "FILE", "also write a page in Markdown there", AT(report)},
	{"quiet", 0, NULL, "no line about progress", AT(quiet)},
	{"rx-ring", 0, "N", "frames of the receive rings (default 8192)",
	 NUMBER(rx_ring, COUNT, 64, 1 << 15, 0)},
	{"help", 0, NULL, "print this", AT(help)},
	{"version", 0, NULL, "print the version", AT(version)},
};
// clang-format on

const struct opts probe_opts = {
	.program = "weir-probe", .rows = rows, .n = N(rows), .wrong = opts_say_wrong};

static bool check_ports(const struct probe_args *a)
{
	static const char *const names[] = {"tx", "rx", "third"};

	if (a->policy != NULL)
		return true;
	for (unsigned i = 0; i < PROBE_PORTS; i++) {
		if (a->port[i] == NULL && i == PROBE_THIRD)
			continue;
		if (a->port[i] == NULL)
			return bad("--%s is missing, for example --%s xdp:eth1; or give --lab "
				   "POLICY", names[i], names[i]);
		if (!live_device_valid(a->port[i]))
			return bad("--%s: \"%s\" is none of xdp:IFACE, pci:BDF, vdev:ARGS",
				   names[i], a->port[i]);
		for (unsigned k = 0; k < i; k++)
			if (strcmp(a->port[k], a->port[i]) == 0)
				return bad("--%s and --%s are the same port", names[k], names[i]);
	}
	return true;
}

static bool check(const struct probe_args *a)
{
	bool congestion = a->hold != NULL && strcmp(a->hold, CONGESTION) == 0;

	if (a->policy != NULL && a->hold != NULL && !congestion && strcmp(a->hold, "tx-off") != 0)
		return bad("--hold: with --lab it is tx-off or congestion, not \"%s\"", a->hold);
	if (a->policy == NULL && !congestion && (a->hold == NULL) != (a->release == NULL))
		return bad("--hold and --release go together");
	if (a->policy == NULL && a->delay_ns != 0)
		return bad("--delay goes with --lab");
	if (a->which == 0)
		return bad("say what to measure: all, or names of `weir-probe --help`");
	return check_ports(a);
}

// dwrr needs --classes.
static unsigned all_measures(const struct probe_args *a)
{
	unsigned all = (1u << PROBE_N_MEASURES) - 1;

	return a->n_classes != 0 ? all : all & ~(1u << probe_measure_find("dwrr"));
}

static bool take_measures(struct probe_args *a, int argc, char **argv)
{
	for (; optind < argc; optind++) {
		int i = probe_measure_find(argv[optind]);

		if (strcmp(argv[optind], "--") == 0)
			return true;
		if (strcmp(argv[optind], "all") == 0)
			a->which |= all_measures(a);
		else if (i >= 0)
			a->which |= 1u << i;
		else
			return bad("there is no measure %s; `weir-probe --help` lists them",
				   argv[optind]);
	}
	return true;
}

bool probe_args_parse(int argc, char **argv, struct probe_args *a)
{
	int end = 1;

	*a = (struct probe_args){0};
	for (unsigned i = 0; i < N(rows); i++)
		if (rows[i].take == take_probe_number)
			*(int64_t *)((char *)a + rows[i].off) = rows[i].dflt;
	// What stands behind `--` is for EAL.
	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	a->eal = argv + (end < argc ? end + 1 : end);
	a->n_eal = end < argc ? argc - end - 1 : 0;
	if (opts_parse(&probe_opts, end, argv, a) == OPTS_WRONG)
		return false;
	if (a->help || a->version)
		return true;
	return take_measures(a, end, argv) && check(a);
}

void probe_args_conf(const struct probe_args *a, struct probe_conf *conf)
{
	conf->cls = (uint8_t)a->cls;
	memcpy(conf->classes, a->classes, sizeof(conf->classes));
	conf->n_classes = a->n_classes;
	for (int c = 0; c < PROBE_CLASSES; c++)
		conf->dscp[c] = c == a->cls && a->dscp != NOT_GIVEN ? (int)a->dscp : 8 * c;
	conf->vlan = a->vlan == NOT_GIVEN ? PROBE_NO_TAG : (int)a->vlan;
	if (a->hold == NULL)
		conf->hold = PROBE_HOLD_PFC;
	else if (strcmp(a->hold, CONGESTION) == 0)
		conf->hold = PROBE_HOLD_CONGESTION;
	else
		conf->hold = PROBE_HOLD_ORDER;
	conf->most = (uint32_t)a->most;
	conf->passes = (uint32_t)a->passes;
	conf->cell_bytes = (uint64_t)a->cell;
	conf->min_bytes = (uint64_t)a->min;
	conf->storm_ns = (uint64_t)a->storm_ns;
	conf->quanta = (uint16_t)a->quanta;
	if (a->settle_ns != 0)
		conf->settle_ns = (uint64_t)a->settle_ns;
	if (a->interval_ns != 0)
		conf->interval_ns = (uint64_t)a->interval_ns;
}

const char probe_summary[] = "measures the buffers, PFC and ECN of any switch from outside";
const char probe_usage[] =
	"weir-probe --tx xdp:e1 --rx xdp:e2 [--third xdp:e3] --class 3 all\n"
	"weir-probe --tx xdp:e1 --rx xdp:e2 --hold COMMAND --release COMMAND limit\n"
	"weir-probe --lab POLICY [--tx p1] [--rx p2] [--third p3] all\n";
const char probe_exit[] =
	"0 all was measured, 1 some was not (such as PFC not answered), 2 misused";

void probe_args_help(FILE *out)
{
	fprintf(out, "weir-probe: %s\n", probe_summary);
	for (const char *at = probe_usage; *at != '\0'; at += strcspn(at, "\n") + 1)
		fprintf(out, "  %.*s\n", (int)strcspn(at, "\n"), at);
	fputs("measures:\n", out);
	print_term(out, "  all", "all of them; dwrr only with --classes", MEASURE_COLUMN);
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++) {
		char term[32];

		snprintf(term, sizeof(term), "  %s", probe_measures[i].name);
		print_term(out, term, probe_measures[i].help, MEASURE_COLUMN);
	}
	fputs("options (EAL arguments after --):\n", out);
	opts_help(&probe_opts, HELP_COLUMN, out);
	fprintf(out, "exit: %s\n", probe_exit);
}

static bool probe_command_at(unsigned i, struct completion_command *out)
{
	if (i <= PROBE_N_MEASURES)
		*out = (struct completion_command){
			i < PROBE_N_MEASURES ? probe_measures[i].name : "all", "", 0};
	return i <= PROBE_N_MEASURES;
}

void probe_args_completion(FILE *out)
{
	const struct completion c = {&probe_opts, "", NULL, probe_command_at};

	completion_script(&c, out);
}
