// SPDX-License-Identifier: Apache-2.0
#include "control/host/args.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"
#include "control/config/units.h"
#include "control/host/cc_args.h"
#include "control/model_time.h"
#include "drivers/live.h"
#include "dataplane/packet/cm.h"
#include "drivers/nic/nic.h"

enum arg_type {
	ARG_TEXT,
	ARG_IP,
	ARG_IPS,
	ARG_FLAG,
	ARG_UNIT,
	ARG_RATE_OR_LINE,
	ARG_CLASSES,
	ARG_DSCPS,
	ARG_WORD,
	ARG_CC,
	ARG_CC_SET,
};

struct arg {
	const char *name;
	uint8_t type; // enum arg_type
	uint8_t unit; // enum unit_kind
	size_t off;
	int64_t min, max, dflt;
	const char *metavar, *help;
	const char *const *words; // of ARG_WORD
};

#define AT(f) offsetof(struct host_args, f)
#define SECOND_NS 1000000000ll
#define HOUR_NS (3600 * SECOND_NS)
#define STALL_NS 100000000ll // of real time
#define RTO_LEAST_NS 1000000ll

static const char *const op_words[] = {
	[REQ_WRITE] = "write", [REQ_SEND] = "send", [REQ_READ] = "read", NULL};

// clang-format off
static const struct arg args[] = {
	{"device", ARG_TEXT, 0, AT(device), 0, 0, 0, "DEVICE",
	 "port to use: xdp:IFACE, pci:BDF or vdev:ARGS"},
	{"ip", ARG_IP, 0, AT(ip), 0, 0, 0, "ADDR",
	 "own IPv4 address"},
	{"listen", ARG_FLAG, 0, AT(listen), 0, 0, 0, NULL,
	 "accept connections until --time or SIGTERM"},
	{"to", ARG_IPS, 0, 0, 0, 0, 0, "LIST",
	 "send to this address, or to several that the queue pairs are spread over"},
	{"storm", ARG_FLAG, 0, AT(storm), 0, 0, 0, NULL,
	 "send PAUSE frames of --class instead"},
	{"qps", ARG_UNIT, UNIT_COUNT, AT(qps), 1, NIC_MAX_QPS, 0, "N",
	 "queue pairs (sender: default 1 for each address; listener: at most, default 1024)"},
	{"class", ARG_CLASSES, 0, 0, 0, 0, 0, "LIST",
	 "class 0..7 of the queue pairs, or several they are spread over (default 3)"},
	{"dscp", ARG_DSCPS, 0, 0, 0, 0, 0, "LIST",
	 "DSCP 0..63 of each --class, at sender and listener alike (default 8 * class)"},
	{"ecn", ARG_WORD, 0, AT(ecn), 0, 0, 0, "CODEPOINT",
	 "ECN codepoint of the data: ect0 (default), ect1 or not-ect", nic_ecn_words},
	{"op", ARG_WORD, 0, AT(op), 0, 0, 0, "OP",
	 "write (default), send or read", op_words},
	{"size", ARG_UNIT, UNIT_BYTES, AT(size), 0, REQ_MAX_MSG_BYTES, 65536, "BYTES",
	 "bytes of a message (default 64KiB)"},
	{"count", ARG_UNIT, UNIT_COUNT, AT(count), 1, INT64_MAX, 0, "N",
	 "messages per queue pair"},
	{"time", ARG_UNIT, UNIT_TIME, AT(time_ns), 1, HOUR_NS * 24 * 365, 0, "T",
	 "post for this long (default 10s of real time without --count)"},
	{"rate", ARG_RATE_OR_LINE, UNIT_RATE, AT(rate), 1000, 1000000000000, 0, "RATE",
	 "pace of each queue pair, link overhead included, or line (default)"},
	{"post-every", ARG_UNIT, UNIT_TIME, AT(post_every_ns), 1, HOUR_NS, 0, "T",
	 "post a message so often per queue pair, --depth at most in flight, not one after the "
	 "other"},
	{"depth", ARG_UNIT, UNIT_COUNT, AT(depth), 1, REQ_MAX_MSGS, 4, "N",
	 "messages in flight per queue pair (default 4)"},
	{"window", ARG_UNIT, UNIT_COUNT, AT(window), 1, NIC_MAX_WINDOW, 1024, "N",
	 "unacknowledged packets per queue pair (default 1024)"},
	{"mtu", ARG_UNIT, UNIT_COUNT, AT(mtu), 256, 4096, 1024, "N",
	 "path MTU: 256, 512, 1024 (default), 2048 or 4096"},
	{"speed", ARG_UNIT, UNIT_RATE, AT(speed), 1000000, 1000000000000, 0, "RATE",
	 "line rate (default: the link's, 1G where it has none)"},
	{"time-scale", ARG_UNIT, UNIT_COUNT, AT(time_scale), 1, TIME_SCALE_MAX, 1, "S",
	 "live in model time, S times slower than real time, as the switch does (default 1): "
	 "speeds, rates, times and the report are the model's; --retry, --drain, --interval and "
	 "--burst stay real"},
	{"burst", ARG_UNIT, UNIT_TIME, AT(burst_ns), 1, 100000000, 0, "T",
	 "lateness of the poll loop that costs no rate (default: the port's)"},
	{"cc", ARG_CC, 0, 0, 0, 0, 0, "NAME",
	 "congestion control: none (default), dcqcn, or connectx, cx3, cx4, gen1, gen2, qcn; a "
	 "listener needs it too, to tell of marks"},
	{"cc-set", ARG_CC_SET, 0, 0, 0, 0, 0, "KEY=VALUE",
	 "one parameter of it, such as g=1/256, n=50us or rmin=1M; may be given several times"},
	{"rto", ARG_UNIT, UNIT_TIME, AT(rto_ns), 1000, HOUR_NS, 0, "T",
	 "retransmission timer (default 100ms of real time, as polls on shared cores stall, "
	 "and 1ms of model time at least)"},
	{"retry", ARG_UNIT, UNIT_TIME, AT(retry_ns), 1000, HOUR_NS, 100000000, "T",
	 "between tries of ARP and connection management (default 100ms)"},
	{"drain", ARG_UNIT, UNIT_TIME, AT(drain_ns), 1000, HOUR_NS, 5000000000, "T",
	 "wait this long for connections, and for what is outstanding at the end (default "
	 "5s)"},
	{"deaf", ARG_FLAG, 0, AT(deaf), 0, 0, 0, NULL,
	 "ignore PFC"},
	{"quanta", ARG_UNIT, UNIT_COUNT, AT(quanta), 0, 65535, 65535, "N",
	 "storm: time in each PAUSE (default 65535)"},
	{"storm-at", ARG_UNIT, UNIT_TIME, AT(storm_at_ns), 1, HOUR_NS * 24, 0, "T",
	 "listener or sender: go mad after this long, and send PAUSE frames of --class beside all "
	 "else, as --quanta, --every, --for and --no-xon say"},
	{"every", ARG_UNIT, UNIT_TIME, AT(every_ns), 1000, HOUR_NS, 0, "T",
	 "storm: between PAUSE frames (default half of what one lasts)"},
	{"for", ARG_UNIT, UNIT_TIME, AT(for_ns), 1000, HOUR_NS * 24, 0, "T",
	 "storm: its length (default until SIGTERM)"},
	{"no-xon", ARG_FLAG, 0, AT(no_xon), 0, 0, 0, NULL,
	 "storm: end without XON"},
	{"no-verify", ARG_FLAG, 0, AT(no_verify), 0, 0, 0, NULL,
	 "do not compare received payload"},
	{"interval", ARG_UNIT, UNIT_TIME, AT(interval_ns), 1000000, HOUR_NS, 0, "T",
	 "print a line of progress so often"},
	{"json", ARG_FLAG, 0, AT(json), 0, 0, 0, NULL,
	 "report as JSON"},
	{"seed", ARG_UNIT, UNIT_COUNT, AT(seed), 0, INT64_MAX, -1, "N",
	 "of queue pair numbers and PSNs (default: from the clock)"},
	{"rx-ring", ARG_UNIT, UNIT_COUNT, AT(rx_ring), 64, 1 << 17, 0, "N",
	 "frames of the receive ring"},
	{"busy", ARG_FLAG, 0, AT(busy), 0, 0, 0, NULL,
	 "poll without ever sleeping"},
	{"help", ARG_FLAG, 0, AT(help), 0, 0, 0, NULL,
	 "print this"},
};
// clang-format on
enum { N_ARGS = sizeof(args) / sizeof(args[0]), HELP_COLUMN = 21 };

__attribute__((format(printf, 2, 3))) static int bad(char *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, HOST_ARGS_ERR, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void *field(struct host_args *a, const struct arg *row)
{
	return (char *)a + row->off;
}

static int parse_ip(const struct arg *row, const char *text, uint32_t *out, char *err)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1 || in.s_addr == 0)
		return bad(err, "--%s: \"%s\" is not an IPv4 address such as 10.0.0.1", row->name,
			   text);
	*out = ntohl(in.s_addr);
	return 0;
}

static int parse_ips(const struct arg *row, const char *text, struct host_args *a, char *err)
{
	char one[INET_ADDRSTRLEN + 1];

	for (a->n_to = 0;;) {
		size_t len = strcspn(text, ",");

		if (a->n_to == HOST_MAX_TO)
			return bad(err, "--%s: at most %u addresses are possible", row->name,
				   HOST_MAX_TO);
		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		if (parse_ip(row, one, &a->to[a->n_to++], err) != 0)
			return -EINVAL;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
}

static int parse_unit(const struct arg *row, const char *text, int64_t *out, char *err)
{
	char lo[32], hi[32];
	const char *why;
	int64_t v;

	if (!unit_parse(row->unit, text, &v, &why))
		return bad(err, "--%s: \"%s\": %s", row->name, text, why);
	if (v < row->min || v > row->max) {
		unit_print(row->unit, row->min, lo, sizeof(lo));
		unit_print(row->unit, row->max, hi, sizeof(hi));
		return bad(err, "--%s: %s is outside %s .. %s", row->name, text, lo, hi);
	}
	*out = v;
	return 0;
}

static int parse_classes(const struct arg *row, const char *text, struct host_args *a, char *err)
{
	const char *at = text;

	a->n_classes = 0;
	for (;; at += 2) {
		if (at[0] < '0' || at[0] > '7' || (at[1] != ',' && at[1] != '\0') ||
		    a->n_classes == HOST_MAX_CLASSES)
			return bad(err, "--%s: \"%s\" is not a class 0..7 or a list such as 3,5",
				   row->name, text);
		a->classes[a->n_classes++] = (uint8_t)(at[0] - '0');
		if (at[1] == '\0')
			return 0;
	}
}

static int parse_dscps(const struct arg *row, const char *text, struct host_args *a, char *err)
{
	a->n_dscps = 0;
	for (const char *at = text;; at++) {
		char *end;
		unsigned long v = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || v >= NIC_DSCPS || (*end != ',' && *end != '\0') ||
		    a->n_dscps == HOST_MAX_CLASSES)
			return bad(err, "--%s: \"%s\" is not a DSCP 0..63 or a list such as 26,34",
				   row->name, text);
		a->dscps[a->n_dscps++] = (uint8_t)v;
		if (*end == '\0')
			return 0;
		at = end;
	}
}

static int parse_word(const struct arg *row, const char *text, uint8_t *out, char *err)
{
	char list[64] = "";

	for (uint8_t i = 0; row->words[i] != NULL; i++) {
		size_t n = strlen(list);

		if (strcmp(text, row->words[i]) == 0) {
			*out = i;
			return 0;
		}
		snprintf(list + n, sizeof(list) - n, "%s%s", n != 0 ? ", " : "", row->words[i]);
	}
	return bad(err, "--%s: \"%s\" is none of %s", row->name, text, list);
}

static int keep_cc_set(const char *text, struct host_args *a, char *err)
{
	if (a->n_cc_sets == HOST_MAX_CC_SETS)
		return bad(err, "--cc-set: at most %u are possible", HOST_MAX_CC_SETS);
	a->cc_sets[a->n_cc_sets++] = text;
	return 0;
}

static int parse_value(const struct arg *row, const char *text, struct host_args *a, char *err)
{
	switch ((enum arg_type)row->type) {
	case ARG_TEXT:
		*(const char **)field(a, row) = text;
		return 0;
	case ARG_IP:
		return parse_ip(row, text, field(a, row), err);
	case ARG_IPS:
		return parse_ips(row, text, a, err);
	case ARG_RATE_OR_LINE:
		if (strcmp(text, "line") == 0)
			return 0;
		return parse_unit(row, text, field(a, row), err);
	case ARG_UNIT:
		return parse_unit(row, text, field(a, row), err);
	case ARG_CLASSES:
		return parse_classes(row, text, a, err);
	case ARG_DSCPS:
		return parse_dscps(row, text, a, err);
	case ARG_WORD:
		return parse_word(row, text, field(a, row), err);
	case ARG_CC:
		return cc_args_preset(text, &a->cc, err, HOST_ARGS_ERR);
	case ARG_CC_SET:
		return keep_cc_set(text, a, err);
	case ARG_FLAG:
		break;
	}
	return 0;
}

static const struct arg *find(const char *name, size_t len)
{
	for (unsigned i = 0; i < N_ARGS; i++)
		if (strlen(args[i].name) == len && memcmp(args[i].name, name, len) == 0)
			return &args[i];
	return NULL;
}

static const char *name_at(const void *unused, unsigned i)
{
	(void)unused;
	return args[i].name;
}

static int unknown(const char *word, char *err)
{
	const char *near = schema_closest(word + strspn(word, "-"), N_ARGS, name_at, NULL);

	if (near != NULL)
		return bad(err, "%s is not an option of weir-host: did you mean --%s?", word, near);
	return bad(err, "%s is not an option of weir-host; see weir-host --help", word);
}

// Takes one option and its value from argv; returns how many words, or -EINVAL.
static int parse_one(int argc, char *const *argv, struct host_args *a, char *err)
{
	const char *word = argv[0], *eq = strchr(word, '='), *value = NULL;
	const struct arg *row = NULL;

	if (strncmp(word, "--", 2) == 0)
		row = find(word + 2, eq != NULL ? (size_t)(eq - word - 2) : strlen(word + 2));
	if (row == NULL)
		return unknown(word, err);
	if (row->type == ARG_FLAG) {
		if (eq != NULL)
			return bad(err, "--%s takes no value", row->name);
		*(bool *)field(a, row) = true;
		return 1;
	}
	if (eq != NULL)
		value = eq + 1;
	else if (argc > 1)
		value = argv[1];
	if (value == NULL)
		return bad(err, "--%s needs a value", row->name);
	if (parse_value(row, value, a, err) != 0)
		return -EINVAL;
	return eq != NULL ? 1 : 2;
}

static int check_role(struct host_args *a, char *err)
{
	if (a->device == NULL)
		return bad(err, "--device is missing, for example --device xdp:eth1");
	if (!live_device_valid(a->device))
		return bad(err, "--device: \"%s\" is none of xdp:IFACE, pci:BDF, vdev:ARGS",
			   a->device);
	if (a->listen + a->storm + (a->n_to != 0) != 1)
		return bad(err, "say what to do: one of --listen, --to ADDR, --storm");
	a->role = a->listen ? HOST_LISTEN : (a->storm ? HOST_STORM : HOST_SEND);
	if (a->role == HOST_STORM && a->storm_at_ns != 0)
		return bad(err, "--storm-at goes with --listen or --to; --storm begins at once");
	if (a->role != HOST_STORM && a->ip == 0)
		return bad(err, "--ip is missing: the endpoint's own IPv4 address");
	if (a->n_dscps != 0 && a->n_dscps != a->n_classes)
		return bad(err, "--dscp: %u for %u classes: give one for each of --class",
			   a->n_dscps, a->n_classes);
	for (unsigned i = 0; i < a->n_to; i++)
		if (a->ip == a->to[i])
			return bad(err, "--to is the endpoint's own address");
	if (a->role == HOST_SEND && a->qps != 0 && a->qps < a->n_to)
		return bad(err, "--qps: %" PRId64 " are fewer than the addresses of --to", a->qps);
	return 0;
}

static int64_t model(const struct host_args *a, int64_t real_ns)
{
	return (int64_t)model_span_ns((uint32_t)a->time_scale, (uint64_t)real_ns);
}

static int check(struct host_args *a, char *err)
{
	if (a->help)
		return 0;
	if (check_role(a, err) != 0)
		return -EINVAL;
	if (cm_mtu_code((uint16_t)a->mtu) == 0)
		return bad(err, "--mtu: %" PRId64 " is none of 256, 512, 1024, 2048, 4096", a->mtu);
	if (a->n_cc_sets != 0 && a->cc.flavour == CC_NONE)
		return bad(err, "--cc-set needs --cc, for example --cc dcqcn");
	for (unsigned i = 0; i < a->n_cc_sets; i++)
		if (cc_args_set(a->cc_sets[i], &a->cc, err, HOST_ARGS_ERR) != 0)
			return -EINVAL;
	if (a->qps == 0)
		a->qps = a->role == HOST_LISTEN ? 1024 : (a->n_to != 0 ? a->n_to : 1);
	if (a->role == HOST_SEND && a->time_ns == 0 && a->count == 0)
		a->time_ns = model(a, 10 * SECOND_NS);
	if (a->rto_ns == 0 && (a->rto_ns = model(a, STALL_NS)) < RTO_LEAST_NS)
		a->rto_ns = RTO_LEAST_NS;
	a->retry_ns = model(a, a->retry_ns);
	a->drain_ns = model(a, a->drain_ns);
	a->interval_ns = model(a, a->interval_ns);
	a->burst_ns = model(a, a->burst_ns);
	return 0;
}

int host_args_parse(int argc, char *const *argv, struct host_args *a, char err[HOST_ARGS_ERR])
{
	*a = (struct host_args){.n_classes = 1, .classes = {3}};
	for (unsigned i = 0; i < N_ARGS; i++)
		if (args[i].type == ARG_UNIT)
			*(int64_t *)field(a, &args[i]) = args[i].dflt;
	a->help = argc == 2 && strcmp(argv[1], "help") == 0;
	for (int i = a->help ? argc : 1; i < argc;) {
		int n;

		if (strcmp(argv[i], "--") == 0) {
			a->eal = argv + i + 1;
			a->n_eal = argc - i - 1;
			break;
		}
		n = parse_one(argc - i, argv + i, a, err);
		if (n < 0)
			return n;
		i += n;
	}
	return check(a, err);
}

const char host_summary[] = "a RoCEv2 endpoint that obeys PFC";
const char host_usage[] =
	"weir-host --device xdp:eA --ip 10.0.0.1 --listen\n"
	"weir-host --device xdp:eB --ip 10.0.0.2 --to 10.0.0.1 --qps 4 --time 10s\n"
	"weir-host --device xdp:eA --storm --class 3 --for 1s\n";
const char host_exit[] = "0 done, 1 failed or not everything completed, 2 misused";

bool host_args_row(unsigned i, struct host_arg_text *out)
{
	if (i >= N_ARGS)
		return false;
	*out = (struct host_arg_text){args[i].name, args[i].metavar, args[i].help};
	return true;
}

void host_args_help(FILE *out)
{
	fprintf(out, "weir-host: %s\n", host_summary);
	for (const char *at = host_usage; *at != '\0'; at += strcspn(at, "\n") + 1)
		fprintf(out, "  %.*s\n", (int)strcspn(at, "\n"), at);
	fputs("options (EAL arguments after --):\n", out);
	for (unsigned i = 0; i < N_ARGS; i++) {
		char term[40];

		snprintf(term, sizeof(term), "  --%s %s", args[i].name,
			 args[i].metavar != NULL ? args[i].metavar : "");
		print_term(out, term, args[i].help, HELP_COLUMN);
	}
	fprintf(out, "exit: %s\n", host_exit);
}
