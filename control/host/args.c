// SPDX-License-Identifier: Apache-2.0
#include "control/host/args.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/model_time.h"
#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/inof/endpoint.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/cm.h"
#include "drivers/live.h"
#include "drivers/nic/nic.h"

enum {
	HELP_COLUMN = 21,
	NAMES_LEN = 512,
	STALL_NS = 100 * MS_NS, // of real time
	RTO_LEAST_NS = MS_NS,
};
#define N(rows) (sizeof(rows) / sizeof((rows)[0]))
#define HOUR_NS (3600ll * SECOND_NS)

// Prints the complaint.
__attribute__((format(printf, 1, 2))) static bool bad(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		terminal_printf(stderr, "weir-host: %s\n", text);
	va_end(ap);
	free(text);
	return false;
}

static bool parse_ip(const struct opt *row, const char *text, struct ip_key *out)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1 || in.s_addr == 0)
		return bad("--%s: \"%s\" is not an IPv4 address such as 10.0.0.1", row->name,
			   text);
	*out = ip_key_v4(ntohl(in.s_addr));
	return true;
}

// Of one station: neither a group, nor an IPv4 address in another form.
static bool parse_ip6(const struct opt *row, const char *text, struct ip_key *out)
{
	struct in6_addr in;

	if (inet_pton(AF_INET6, text, &in) != 1 || IN6_IS_ADDR_UNSPECIFIED(&in) ||
	    IN6_IS_ADDR_MULTICAST(&in) || IN6_IS_ADDR_V4MAPPED(&in))
		return bad("--%s: \"%s\" is not an IPv6 address such as fd00::1", row->name,
			   text);
	*out = ip_key_v6(in.s6_addr);
	return true;
}

static bool take_ip(const struct opt *row, char *text, void *out)
{
	return parse_ip(row, text, &((struct host_args *)out)->ip);
}

static bool take_ip6(const struct opt *row, char *text, void *out)
{
	return parse_ip6(row, text, &((struct host_args *)out)->ip6);
}

static bool take_ips(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;
	char one[INET6_ADDRSTRLEN + 1];

	for (a->n_to = 0;;) {
		size_t len = strcspn(text, ",");

		if (a->n_to == HOST_MAX_TO)
			return bad("--%s: at most %u addresses are possible", row->name,
				   HOST_MAX_TO);
		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		if (strchr(one, ':') != NULL ? !parse_ip6(row, one, &a->to[a->n_to])
					     : !parse_ip(row, one, &a->to[a->n_to]))
			return false;
		a->n_to++;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

struct number {
	const char *option, *key; // key: "", or "n=" of --cc-set n=50us
	enum unit_kind unit;
	int64_t min, max;
};

static bool parse_number(const struct number *n, const char *text, int64_t *out)
{
	const char *quote = *n->key == '\0' ? "\"" : "", *why;
	char lo[32], hi[32];
	int64_t v;

	if (!unit_parse(n->unit, text, &v, &why))
		return bad("--%s: %s%s%s%s: %s", n->option, n->key, quote, text, quote, why);
	if (v < n->min || v > n->max) {
		unit_print(n->unit, n->min, lo, sizeof(lo));
		unit_print(n->unit, n->max, hi, sizeof(hi));
		return bad("--%s: %s%s is outside %s .. %s", n->option, n->key, text, lo, hi);
	}
	*out = v;
	return true;
}

static bool take_host_number(const struct opt *row, char *text, void *out)
{
	return parse_number(&(struct number){row->name, "", row->unit, row->min, row->max}, text,
			    (int64_t *)((char *)out + row->off));
}

static bool take_rate(const struct opt *row, char *text, void *out)
{
	return strcmp(text, "line") == 0 || take_host_number(row, text, out);
}

// Cuts the text at the character, and returns what is behind it; NULL: the text has none.
static char *cut(char *text, char at)
{
	char *behind = strchr(text, at);

	if (behind != NULL)
		*behind++ = '\0';
	return behind;
}

static bool take_turns(const struct opt *row, char *text, void *out)
{
	const struct number n = {row->name, "", UNIT_TIME, US_NS, HOUR_NS};
	struct host_args *a = out;
	char *next, *off;

	for (a->n_turns = 0; text != NULL; text = next, a->n_turns++) {
		next = cut(text, ',');
		off = cut(text, '/');
		if (a->n_turns == HOST_MAX_TURNS)
			return bad("--%s: at most %u turns are possible", row->name,
				   HOST_MAX_TURNS);
		if (off == NULL)
			return bad("--%s: \"%s\" is no pause and silence such as 20ms/80ms",
				   row->name, text);
		if (!parse_number(&n, text, &a->turns[a->n_turns].on_ns) ||
		    !parse_number(&n, off, &a->turns[a->n_turns].off_ns))
			return false;
	}
	return true;
}

// Numbers up to max with commas between, such as "3" or "26,34"; how many, 0 where the text is no
// such list. A class is one digit.
static uint8_t parse_list(const char *text, unsigned max, uint8_t out[HOST_MAX_CLASSES])
{
	for (uint8_t n = 0; n < HOST_MAX_CLASSES;) {
		char *end;
		unsigned long v = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || v > max || (*end != ',' && *end != '\0') ||
		    (max == NIC_CLASSES - 1 && end - text > 1))
			return 0;
		out[n++] = (uint8_t)v;
		if (*end == '\0')
			return n;
		text = end + 1;
	}
	return 0;
}

static bool take_classes(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;

	a->n_classes = parse_list(text, NIC_CLASSES - 1, a->classes);
	return a->n_classes != 0 || bad("--%s: \"%s\" is not a class 0..7 or a list such as 3,5",
					row->name, text);
}

static bool take_dscps(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;

	a->n_dscps = parse_list(text, NIC_DSCPS - 1, a->dscps);
	return a->n_dscps != 0 || bad("--%s: \"%s\" is not a DSCP 0..63 or a list such as 26,34",
				      row->name, text);
}

static bool take_pcps(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;

	a->n_pcps = parse_list(text, NIC_CLASSES - 1, a->pcps);
	return a->n_pcps != 0 || bad("--%s: \"%s\" is not a PCP 0..7 or a list such as 3,5",
				     row->name, text);
}

static bool take_pfc_classes(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;
	uint8_t classes[HOST_MAX_CLASSES], n = parse_list(text, NIC_CLASSES - 1, classes);
	bool none = strcmp(text, "none") == 0;

	for (a->pfc = 0; n > 0; n--)
		a->pfc |= (uint8_t)(1u << classes[n - 1]);
	return a->pfc != 0 || none ||
	       bad("--%s: \"%s\" is neither none nor a list of classes such as 3,5", row->name,
		   text);
}

static bool take_trimmed(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;
	uint8_t dscps[HOST_MAX_CLASSES], n = parse_list(text, NIC_DSCPS - 1, dscps);

	for (a->trimmed_dscps = 0; n > 0; n--)
		a->trimmed_dscps |= 1ull << dscps[n - 1];
	return a->trimmed_dscps != 0 ||
	       bad("--%s: \"%s\" is not a DSCP 0..63 or a list such as 48,50", row->name, text);
}

// The place of a text among words; -1, and the words as a list, where it is none of them.
static int find_word_index(const char *text, const char *const *words, char list[NAMES_LEN])
{
	list[0] = '\0';
	for (int i = 0; words[i] != NULL; i++) {
		size_t n = strlen(list);

		if (strcmp(text, words[i]) == 0)
			return i;
		snprintf(list + n, NAMES_LEN - n, "%s%s", n != 0 ? ", " : "", words[i]);
	}
	return -1;
}

static bool take_word(const struct opt *row, char *text, void *out)
{
	char list[NAMES_LEN];
	int i = find_word_index(text, row->words, list);

	if (i < 0)
		return bad("--%s: \"%s\" is none of %s", row->name, text, list);
	*((uint8_t *)out + row->off) = (uint8_t)i;
	return true;
}

// ---- congestion control, by the presets and keys of drivers/nic/dcqcn.h

static bool take_cc(const struct opt *row, char *text, void *out)
{
	const struct cc_preset *p = cc_preset_find(text);
	char names[NAMES_LEN] = "dcqcn";

	if (p != NULL) {
		((struct host_args *)out)->cc = p->config;
		return true;
	}
	for (unsigned i = 0; i < N_CC_PRESETS; i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, ", %s", cc_presets[i].name);
	}
	return bad("--%s: \"%s\" is none of %s", row->name, text, names);
}

static bool take_cc_set(const struct opt *row, char *text, void *out)
{
	struct host_args *a = out;

	if (a->n_cc_sets == HOST_MAX_CC_SETS)
		return bad("--%s: at most %u are possible", row->name, HOST_MAX_CC_SETS);
	a->cc_sets[a->n_cc_sets++] = text;
	return true;
}

static bool cc_set_number(const struct cc_key *key, const char *text, struct cc_config *c)
{
	static const uint8_t unit_of[] = {
		[CC_TIME] = UNIT_TIME,	 [CC_RATE] = UNIT_RATE,	  [CC_BYTES] = UNIT_BYTES,
		[CC_COUNT] = UNIT_COUNT, [CC_SWITCH] = UNIT_COUNT,
	};
	char shown[OPT_TERM_LEN];
	struct number n = {"cc-set", shown, unit_of[key->kind], (int64_t)key->min,
			   (int64_t)key->max};
	int64_t v;

	snprintf(shown, sizeof(shown), "%s=", key->name);
	if (!parse_number(&n, text, &v))
		return false;
	cc_set(c, key, (uint64_t)v);
	return true;
}

static bool cc_set_key(const struct cc_key *key, const char *text, struct cc_config *c)
{
	uint8_t classes[HOST_MAX_CLASSES], n;
	uint64_t map = 0;

	if (key->kind == CC_GAIN)
		return cc_set_gain(c, text) ||
		       bad("--cc-set: %s=%s is no fraction of at most 1 such as 1/256", key->name,
			   text);
	if (key->kind != CC_CLASSES)
		return cc_set_number(key, text, c);
	n = parse_list(text, NIC_CLASSES - 1, classes);
	if (n == 0 && *text != '\0')
		return bad("--cc-set: %s=%s is no list of classes such as 3,5", key->name, text);
	while (n > 0)
		map |= 1ull << classes[--n];
	cc_set(c, key, map);
	return true;
}

static bool cc_set_text(const char *text, struct cc_config *c)
{
	static const char *const np_words[] = {
		[NP_NONE] = "none", [NP_WINDOW] = "window", [NP_GAP] = "gap", NULL};
	const char *eq = strchr(text, '=');
	char list[NAMES_LEN];
	int np;

	if (eq == NULL)
		return bad("--cc-set: \"%s\" is not KEY=VALUE, such as g=1/256", text);
	if (strncmp(text, "np=", 3) == 0) {
		np = find_word_index(eq + 1, np_words, list);
		if (np >= 0)
			c->np = (uint8_t)np;
		return np >= 0 || bad("--cc-set: np=%s is none of %s", eq + 1, list);
	}
	for (unsigned i = 0; i < N_CC_KEYS; i++)
		if (strlen(cc_keys[i].name) == (size_t)(eq - text) &&
		    strncmp(text, cc_keys[i].name, (size_t)(eq - text)) == 0)
			return cc_set_key(&cc_keys[i], eq + 1, c);
	return bad("--cc-set: \"%.*s\" is no key of congestion control; docs/dcqcn.md has them all",
		   (int)(eq - text), text);
}

// ---- iNOF

static bool take_inof(const struct opt *row, char *text, void *out)
{
	static const char *const words[] = {"target", "initiator", NULL};
	char list[NAMES_LEN];
	int i = find_word_index(text, words, list);

	if (i < 0)
		return bad("--%s: \"%s\" is none of %s", row->name, text, list);
	((struct host_args *)out)->inof = i == 0 ? INOF_TARGET : INOF_INITIATOR;
	return true;
}

static bool take_nqn(const struct opt *row, char *text, void *out)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return bad("--%s: \"%s\" has a character that no name has", row->name,
				   text);
	if (len == 0 || len > INOF_NQN_MAX)
		return bad("--%s: %zu characters are outside 1 .. %d", row->name, len,
			   INOF_NQN_MAX);
	((struct host_args *)out)->nqn = text;
	return true;
}

// ---- the rows

static const char *const op_words[] = {
	[REQ_WRITE] = "write", [REQ_SEND] = "send", [REQ_READ] = "read", NULL};

#define AT(f) offsetof(struct host_args, f)
#define NUMBER(f, kind, lo, hi, d)                                                                 \
	AT(f), take_host_number, .unit = UNIT_##kind, .min = (lo), .max = (hi), .dflt = (d)

// clang-format off
static const struct opt rows[] = {
	{"device", 0, "DEVICE", "port to use: xdp:IFACE, pci:BDF or vdev:ARGS", AT(device)},
	{"ip", 0, "ADDR", "own IPv4 address", AT(ip), take_ip},
	{"ip6", 0, "ADDR", "own IPv6 address, beside --ip or in its place", AT(ip6), take_ip6},
	{"vlan", 0, "VID",
	 "VLAN of the endpoint: all its frames but PFC, LLDP and iNOF have this 802.1Q tag, and "
	 "frames of other VLANs are ignored; 0: a tag with a priority only (default: no tag)",
	 NUMBER(vlan, COUNT, 0, 4094, -1)},
	{"listen", 0, NULL, "accept connections until --time or SIGTERM", AT(listen)},
	{"to", 0, "LIST",
	 "send to this address, or to several that the queue pairs are spread over", 0, take_ips},
	{"storm", 0, NULL, "send PAUSE frames of --class instead", AT(storm)},
	{"inof", 0, "ROLE",
	 "register at the switch by iNOF as target, which listens, or as initiator, which sends "
	 "to each target that the switch says is online", 0, take_inof},
	{"nqn", 0, "NAME",
	 "iNOF: NVMe qualified name; the targets with one name are the paths of one subsystem, and "
	 "an initiator sends on one of them", 0, take_nqn},
	{"register", 0, "T",
	 "iNOF: interval of registrations, which last four of them and 120 s at most (default "
	 "30s)",
	 NUMBER(register_ns, TIME, 100 * MS_NS, 16000ll * SECOND_NS, 0)},
	{"keep-alive", 0, "T",
	 "iNOF: an initiator leaves a path that does not answer for this long (default 5s)",
	 NUMBER(keep_alive_ns, TIME, MS_NS, HOUR_NS, 0)},
	{"qps", 0, "N",
	 "queue pairs (sender: default 1 for each address; listener: at most, default 1024)",
	 NUMBER(qps, COUNT, 1, NIC_MAX_QPS, 0)},
	{"class", 0, "LIST",
	 "class 0..7 of the queue pairs, or several they are spread over (default 3)",
	 0, take_classes},
	{"dscp", 0, "LIST",
	 "DSCP 0..63 of each --class, at sender and listener alike (default 8 * class)",
	 0, take_dscps},
	{"pcp", 0, "LIST",
	 "PCP 0..7 of each --class in the tag of --vlan, at sender and listener alike (default: "
	 "the class)", 0, take_pcps},
	{"pfc", 0, "LIST",
	 "classes in which PAUSE is obeyed and sent, or none (default all)", 0, take_pfc_classes},
	{"trimmed-dscp", 0, "LIST",
	 "DSCP 0..63 of frames that a switch trims (switch.trim): a listener asks for their "
	 "packets again at once (default none: they are frames with a wrong iCRC)",
	 0, take_trimmed},
	{"selective", 0, NULL,
	 "after a loss send only the missing packets again (selective repeat), and not all behind "
	 "them; sender and listener need it", AT(selective)},
	{"ecn", 0, "CODEPOINT",
	 "ECN codepoint of the data: ect0 (default), ect1 or not-ect",
	 AT(ecn), take_word, .words = nic_ecn_words},
	{"op", 0, "OP", "write (default), send or read", AT(op), take_word, .words = op_words},
	{"size", 0, "BYTES",
	 "bytes of a message (default 64KiB)", NUMBER(size, BYTES, 0, REQ_MAX_MSG_BYTES, 65536)},
	{"count", 0, "N", "messages per queue pair", NUMBER(count, COUNT, 1, INT64_MAX, 0)},
	{"time", 0, "T",
	 "post for this long (default 10s of real time without --count; --inof: until SIGTERM)",
	 NUMBER(time_ns, TIME, 1, HOUR_NS * 24 * 365, 0)},
	{"rate", 0, "RATE",
	 "pace of each queue pair, link overhead included, or line (default)",
	 AT(rate), take_rate, .unit = UNIT_RATE, .min = 1000, .max = 1000000000000},
	{"post-every", 0, "T",
	 "interval between messages of each queue pair, --depth at most in flight (default: one "
	 "after the other)", NUMBER(post_every_ns, TIME, 1, HOUR_NS, 0)},
	{"depth", 0, "N",
	 "messages in flight per queue pair (default 4)", NUMBER(depth, COUNT, 1, REQ_MAX_MSGS, 4)},
	{"window", 0, "N",
	 "unacknowledged packets per queue pair (default 1024)",
	 NUMBER(window, COUNT, 1, NIC_MAX_WINDOW, 1024)},
	{"mtu", 0, "N",
	 "path MTU: 256, 512, 1024 (default), 2048 or 4096", NUMBER(mtu, COUNT, 256, 4096, 1024)},
	{"speed", 0, "RATE",
	 "line rate (default: the link's, 1G where it has none)",
	 NUMBER(speed, RATE, 1000000, 1000000000000, 0)},
	{"time-scale", 0, "S",
	 "live in model time, S times slower than real time, as the switch does (default 1): "
	 "speeds, rates, times and the report are the model's; --retry, --drain, --register, "
	 "--keep-alive, --interval and --burst stay real",
	 NUMBER(time_scale, COUNT, 1, TIME_SCALE_MAX, 1)},
	{"burst", 0, "T",
	 "lateness of the poll loop that costs no rate (default: the port's)",
	 NUMBER(burst_ns, TIME, 1, 100 * MS_NS, 0)},
	{"cc", 0, "NAME",
	 "congestion control: none (default), dcqcn, or connectx, cx3, cx4, gen1, gen2, qcn; a "
	 "listener needs it too, to send CNPs", 0, take_cc},
	{"cc-set", 0, "KEY=VALUE",
	 "one parameter of it, such as g=1/256, n=50us or rmin=1M; may be given several times",
	 0, take_cc_set},
	{"rto", 0, "T",
	 "retransmission timer (default 100ms of real time, as polls on shared cores stall, and "
	 "1ms of model time at least)", NUMBER(rto_ns, TIME, US_NS, HOUR_NS, 0)},
	{"retry", 0, "T",
	 "between tries of ARP and connection management (default 100ms)",
	 NUMBER(retry_ns, TIME, US_NS, HOUR_NS, 100 * MS_NS)},
	{"drain", 0, "T",
	 "wait this long for connections, and for what is outstanding at the end (default 5s)",
	 NUMBER(drain_ns, TIME, US_NS, HOUR_NS, 5ll * SECOND_NS)},
	{"deaf", 0, NULL, "ignore PFC", AT(ignore_pause)},
	{"quanta", 0, "N",
	 "storm: time in each PAUSE (default 65535)", NUMBER(quanta, COUNT, 0, 65535, 65535)},
	{"storm-at", 0, "T",
	 "listener or sender: start a storm after this long: send PAUSE frames of --class beside "
	 "all else, as the options of a storm say",
	 NUMBER(storm_at_ns, TIME, 1, HOUR_NS * 24, 0)},
	{"every", 0, "T",
	 "storm: between PAUSE frames (default half of what one lasts)",
	 NUMBER(every_ns, TIME, US_NS, HOUR_NS, 0)},
	{"storm-rate", 0, "N",
	 "storm: PAUSE frames a second, in place of --every",
	 NUMBER(storm_rate, COUNT, 1, 1000000, 0)},
	{"on", 0, "T",
	 "storm in turns: pause for this long, end with XON, be silent for --off, and so on",
	 NUMBER(on_ns, TIME, US_NS, HOUR_NS, 0)},
	{"off", 0, "T", "storm in turns: silence after each --on",
	 NUMBER(off_ns, TIME, US_NS, HOUR_NS, 0)},
	{"turns", 0, "LIST",
	 "storm in these turns, once: pauses, each with the silence behind it, such as "
	 "20ms/80ms,5ms/45ms", 0, take_turns},
	{"exact", 0, NULL,
	 "storm: exit with 1 if it was not as planned: a PAUSE was left out, or one ran out before "
	 "the next", AT(exact)},
	{"then-xon", 0, "T",
	 "storm: after --for go on with XON for this long, at the same pace",
	 NUMBER(then_xon_ns, TIME, US_NS, HOUR_NS, 0)},
	{"for", 0, "T",
	 "storm: its length (default until SIGTERM)", NUMBER(for_ns, TIME, US_NS, HOUR_NS * 24, 0)},
	{"no-xon", 0, NULL, "storm: end without XON", AT(no_xon)},
	{"no-verify", 0, NULL, "do not compare received payload", AT(no_verify)},
	{"interval", 0, "T",
	 "interval between lines of progress (default: none)",
	 NUMBER(interval_ns, TIME, MS_NS, HOUR_NS, 0)},
	{"json", 0, NULL, "report as JSON", AT(json)},
	{"seed", 0, "N",
	 "of queue pair numbers and PSNs (default: from the clock)",
	 NUMBER(seed, COUNT, 0, INT64_MAX, -1)},
	{"rx-ring", 0, "N", "frames of the receive ring", NUMBER(rx_ring, COUNT, 64, 1 << 17, 0)},
	{"busy", 0, NULL, "poll without ever sleeping", AT(busy)},
	{"help", 0, NULL, "print this", AT(help)},
	{"version", 0, NULL, "print the version", AT(version)},
};
// clang-format on

const struct opts host_opts = {
	.program = "weir-host", .rows = rows, .n = N(rows), .stops = true, .wrong = opts_say_wrong};

// Whether each code, a DSCP or PCP, is of one class.
static bool check_codes(const char *option, const uint8_t *codes, uint8_t n,
			const struct host_args *a)
{
	if (n != 0 && n != a->n_classes)
		return bad("--%s: %u for %u classes: give one for each of --class", option, n,
			   a->n_classes);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			if (codes[i] == codes[k] && a->classes[i] != a->classes[k])
				return bad("--%s: %u would be both class %u and class %u", option,
					   codes[i], a->classes[k], a->classes[i]);
	return true;
}

void host_args_classes(const struct host_args *a, struct nic_config *c)
{
	nic_default_classes(c);
	for (unsigned i = 0; i < a->n_dscps; i++)
		c->class_of_dscp[a->dscps[i]] = a->classes[i];
	for (unsigned i = 0; i < a->n_pcps; i++)
		c->class_of_pcp[a->pcps[i]] = a->classes[i];
}

// CNPs need a PCP of their own class, which --pcp has not for another.
static bool check_cnps(const struct host_args *a)
{
	struct nic_config c;
	uint8_t cls;

	host_args_classes(a, &c);
	cls = c.class_of_dscp[a->cc.cnp_dscp];
	return a->vlan < 0 || a->cc.np_classes == 0 || nic_pcp_of_class(c.class_of_pcp, cls) >= 0 ||
	       bad("--pcp: %u is class %u, and no PCP is left for class %u of CNPs: give another "
		   "PCP", cls, c.class_of_pcp[cls], cls);
}

static bool check_role(struct host_args *a)
{
	if (a->device == NULL)
		return bad("--device is missing, for example --device xdp:eth1");
	if (!live_device_valid(a->device))
		return bad("--device: \"%s\" is none of xdp:IFACE, pci:BDF, vdev:ARGS",
			   a->device);
	if (a->listen + a->storm + (a->n_to != 0) + (a->inof != 0) != 1)
		return bad("say what to do: one of --listen, --to ADDR, --storm, --inof ROLE");
	if (a->inof == 0 && (a->nqn != NULL || a->register_ns != 0 || a->keep_alive_ns != 0))
		return bad("--nqn, --register and --keep-alive go with --inof");
	a->listen |= a->inof == INOF_TARGET;
	a->role = a->listen ? HOST_LISTEN : (a->storm ? HOST_STORM : HOST_SEND);
	if (a->role == HOST_STORM && a->storm_at_ns != 0)
		return bad("--storm-at goes with --listen or --to; --storm begins at once");
	if (a->inof != 0 && ip_key_is_zero(a->ip))
		return bad("--ip is missing: hosts of iNOF have an IPv4 address here");
	if (a->role != HOST_STORM && ip_key_is_zero(a->ip) && ip_key_is_zero(a->ip6))
		return bad("--ip or --ip6 is missing: the endpoint's own address");
	if (!check_codes("dscp", a->dscps, a->n_dscps, a) ||
	    !check_codes("pcp", a->pcps, a->n_pcps, a))
		return false;
	if (a->n_pcps != 0 && a->vlan < 0)
		return bad("--pcp is of a tag: give --vlan, 0 for a tag with a priority only");
	for (unsigned i = 0; i < a->n_to; i++) {
		bool v4 = ip_key_is_v4(a->to[i]);

		if (ip_key_same(a->ip, a->to[i]) || ip_key_same(a->ip6, a->to[i]))
			return bad("--to is the endpoint's own address");
		if (ip_key_is_zero(v4 ? a->ip : a->ip6))
			return bad("--to needs an own address of the same family: give --%s",
				   v4 ? "ip" : "ip6");
	}
	if (a->role == HOST_SEND && a->qps != 0 && a->qps < a->n_to)
		return bad("--qps: %" PRId64 " are fewer than the addresses of --to", a->qps);
	return true;
}

static bool check_storm(const struct host_args *a)
{
	if (a->storm_rate != 0 && a->every_ns != 0)
		return bad("--storm-rate and --every say the same thing: give one of them");
	if ((a->on_ns != 0) != (a->off_ns != 0))
		return bad("--on and --off go together, for example --on 20ms --off 80ms");
	if (a->then_xon_ns != 0 && (a->for_ns == 0 || a->quanta == 0 || a->no_xon))
		return bad("--then-xon needs a storm of PAUSE that ends (--for), and no --no-xon");
	if (a->n_turns != 0 &&
	    (a->on_ns != 0 || a->for_ns != 0 || a->then_xon_ns != 0 || a->no_xon))
		return bad("--turns has the times of the storm, and each turn ends with XON: leave "
			   "out --on, --off, --for, --then-xon and --no-xon");
	if (a->storm || a->storm_at_ns != 0)
		return true;
	if (a->n_turns != 0 || a->exact)
		return bad("--turns and --exact go with --storm or --storm-at");
	if (a->storm_rate != 0 || a->every_ns != 0 || a->for_ns != 0 || a->on_ns != 0 ||
	    a->then_xon_ns != 0 || a->no_xon)
		return bad("--storm-rate, --every, --for, --on, --off, --then-xon and --no-xon "
			   "are of a storm: they go with --storm or --storm-at");
	return true;
}

static int64_t model(const struct host_args *a, int64_t real_ns)
{
	return (int64_t)model_span_ns((uint32_t)a->time_scale, (uint64_t)real_ns);
}

static bool check(struct host_args *a)
{
	if (a->help || a->version)
		return true;
	if (!check_role(a) || !check_storm(a))
		return false;
	if (cm_mtu_code((uint16_t)a->mtu) == 0)
		return bad("--mtu: %" PRId64 " is none of 256, 512, 1024, 2048, 4096", a->mtu);
	if (a->n_cc_sets != 0 && a->cc.flavour == CC_NONE)
		return bad("--cc-set needs --cc, for example --cc dcqcn");
	for (unsigned i = 0; i < a->n_cc_sets; i++)
		if (!cc_set_text(a->cc_sets[i], &a->cc))
			return false;
	if (!check_cnps(a))
		return false;
	if (a->qps == 0)
		a->qps = a->role == HOST_LISTEN ? 1024 : (a->n_to != 0 ? a->n_to : 1);
	if (a->register_ns == 0)
		a->register_ns = INOF_REGISTER_S * (int64_t)SECOND_NS;
	if (a->keep_alive_ns == 0)
		a->keep_alive_ns = 5ll * SECOND_NS;
	if (a->role == HOST_SEND && a->inof == 0 && a->time_ns == 0 && a->count == 0)
		a->time_ns = model(a, 10ll * SECOND_NS);
	if (a->rto_ns == 0 && (a->rto_ns = model(a, STALL_NS)) < RTO_LEAST_NS)
		a->rto_ns = RTO_LEAST_NS;
	a->retry_ns = model(a, a->retry_ns);
	a->drain_ns = model(a, a->drain_ns);
	a->register_ns = model(a, a->register_ns);
	a->keep_alive_ns = model(a, a->keep_alive_ns);
	a->interval_ns = model(a, a->interval_ns);
	a->burst_ns = model(a, a->burst_ns);
	return true;
}

bool host_args_parse(int argc, char **argv, struct host_args *a)
{
	enum opts_end end;

	*a = (struct host_args){.n_classes = 1, .classes = {3}, .pfc = 0xff};
	for (unsigned i = 0; i < N(rows); i++)
		if (rows[i].take == take_host_number)
			*(int64_t *)((char *)a + rows[i].off) = rows[i].dflt;
	a->help = argc == 2 && strcmp(argv[1], "help") == 0;
	if (a->help)
		return true;
	end = opts_parse(&host_opts, argc, argv, a);
	if (end == OPTS_END && optind < argc) {
		opts_say_wrong(&host_opts, OPTS_UNKNOWN, argv[optind],
			       opts_nearest(&host_opts, argv[optind]));
		return false;
	}
	a->eal = argv + optind;
	a->n_eal = argc - optind;
	return end != OPTS_WRONG && check(a);
}

const char host_summary[] = "a RoCEv2 endpoint that obeys PFC";
const char host_usage[] =
	"weir-host --device xdp:eA --ip 10.0.0.1 --listen\n"
	"weir-host --device xdp:eB --ip 10.0.0.2 --to 10.0.0.1 --qps 4 --time 10s\n"
	"weir-host --device xdp:eA --storm --class 3 --storm-rate 1000 --for 1s --json\n"
	"weir-host --device xdp:eA --ip 10.0.0.1 --inof target\n"
	"weir-host --device xdp:eB --ip 10.0.0.2 --inof initiator --time 10s\n";
const char host_exit[] = "0 done, 1 failed or not everything completed, 2 misused";

void host_args_help(FILE *out)
{
	fprintf(out, "weir-host: %s\n", host_summary);
	for (const char *at = host_usage; *at != '\0'; at += strcspn(at, "\n") + 1)
		fprintf(out, "  %.*s\n", (int)strcspn(at, "\n"), at);
	fputs("options (EAL arguments after --):\n", out);
	opts_help(&host_opts, HELP_COLUMN, out);
	fprintf(out, "exit: %s\n", host_exit);
}
