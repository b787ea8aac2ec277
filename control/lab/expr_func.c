// SPDX-License-Identifier: Apache-2.0
#include "control/lab/expr_func.h"

#include <ctype.h>
#include <string.h>

#include "control/config/rows.h"
#include "control/config/terminal.h"
#include "dataplane/units.h"

enum { PAGE_COLUMNS = 96 };

const char *const expr_object_name[N_OBJECT_KINDS] = {
	[OBJ_HOST] = "host",
	[OBJ_HOST_CLASS] = "class of a host",
	[OBJ_FLOW] = "flow",
	[OBJ_CONN] = "connection",
	[OBJ_SWITCH] = "switch",
	[OBJ_PORT] = "port",
	[OBJ_QUEUE] = "queue",
	[OBJ_ALL_HOSTS] = "nothing",
	[OBJ_ALL_SWITCHES] = "nothing",
};

#define H OBJ_BIT(OBJ_HOST)
#define HC (OBJ_BIT(OBJ_HOST) | OBJ_BIT(OBJ_HOST_CLASS))
#define FLOW OBJ_BIT(OBJ_FLOW)
#define F (FLOW | OBJ_BIT(OBJ_CONN))
#define S OBJ_BIT(OBJ_SWITCH)
#define P OBJ_BIT(OBJ_PORT)
#define Q OBJ_BIT(OBJ_QUEUE)
#define SPQ (S | P | Q)
#define ALL_H OBJ_BIT(OBJ_ALL_HOSTS)
#define ALL_S OBJ_BIT(OBJ_ALL_SWITCHES)

// name, method, unit, metric, kinds, arguments, help
static const struct expr_func funcs[] = {
	{"rate", BY_RATE, EXPR_RATE, METRIC_TX_LINE_BYTES, HC | F | SPQ | ALL_H, "X",
	 "data sent, as bits per second of the line: frames and 24 B of overhead each; of a "
	 "port or queue everything but PFC frames",
	 .who = WHO_SENDS},
	{"rx_rate", BY_RATE, EXPR_RATE, METRIC_RX_LINE_BYTES, HC | SPQ | ALL_H, "X",
	 "the same of data received", .who = WHO_RECEIVES},
	{"frame_rate", BY_RATE, EXPR_RATE, METRIC_TX_BYTES, HC | F | SPQ | ALL_H, "X",
	 "data sent, bytes of the frames only", .who = WHO_SENDS},
	{"goodput", BY_RATE, EXPR_RATE, METRIC_GOODPUT_BYTES, HC | F | ALL_H, "X",
	 "payload: of a host what it took in order, of a flow what was acknowledged",
	 .who = WHO_RECEIVES},
	{"utilisation", BY_LINE, EXPR_SHARE, METRIC_TX_LINE_BYTES, HC | P | Q, "X",
	 "rate as a share of the port's speed", .who = WHO_SENDS},
	{"queue", BY_SAMPLE, EXPR_BYTES, METRIC_QUEUE_BYTES, SPQ, "X",
	 "bytes of frames in a queue, or in all queues of a port or switch: of samples",
	 .takes = TAKES_STAT},
	{"queue_mean", BY_LEVEL, EXPR_BYTES, METRIC_QUEUE_MEAN, SPQ, "X",
	 "mean length over time of a queue, or of all queues of a port or switch: exact, "
	 "without samples"},
	{"share_above", BY_LEVEL, EXPR_SHARE, METRIC_SHARE_ABOVE, SPQ, "X, BYTES",
	 "share of time in which the queues hold more than BYTES: exact", .takes = TAKES_BYTES},
	{"pg", BY_SAMPLE, EXPR_BYTES, METRIC_PG_BYTES, SPQ, "X",
	 "cells that a priority group holds, as bytes: min, shared, headroom and skid",
	 .takes = TAKES_STAT},
	{"headroom", BY_SAMPLE, EXPR_BYTES, METRIC_HEADROOM_BYTES, SPQ, "X",
	 "of those the ones in headroom", .takes = TAKES_STAT},
	{"pool", BY_SAMPLE, EXPR_BYTES, METRIC_POOL_BYTES, S, "SWITCH, POOL",
	 "use of a switch's pool: ingress, headroom, egress_lossy or egress_lossless",
	 .takes = TAKES_STAT | TAKES_POOL},
	{"pauses", BY_COUNT, EXPR_COUNT, METRIC_PAUSES_TX, HC | SPQ | ALL_S, "[X]",
	 "PFC frames sent, one for each class they name, XON included; without X by all switches"},
	{"pauses_received", BY_COUNT, EXPR_COUNT, METRIC_PAUSES_RX, HC | SPQ | ALL_S, "[X]",
	 "the same of PFC frames received"},
	{"xoffs", BY_COUNT, EXPR_COUNT, METRIC_XOFFS_TX, HC | SPQ | ALL_S, "[X]",
	 "times that the neighbour was paused anew: refreshes and XON left out"},
	{"xoffs_received", BY_COUNT, EXPR_COUNT, METRIC_XOFFS_RX, HC | SPQ | ALL_S, "[X]",
	 "times that it was itself paused anew"},
	{"pause_time", BY_COUNT, EXPR_TIME, METRIC_PAUSED_TX_NS, HC | SPQ | ALL_S, "[X]",
	 "time for which it kept its neighbour paused, summed over ports and classes"},
	{"pause_time_received", BY_COUNT, EXPR_TIME, METRIC_PAUSED_RX_NS, HC | SPQ | ALL_S, "[X]",
	 "time for which it was itself paused"},
	{"drops", BY_COUNT, EXPR_COUNT, METRIC_DROPS, H | SPQ | ALL_S, "[X] [, REASON]",
	 "frames dropped; REASON as in counters.md. Of a host: by its slow receiver",
	 .takes = TAKES_REASON},
	{"lossless_drops", BY_COUNT, EXPR_COUNT, METRIC_LOSSLESS_DROPS, SPQ | ALL_S, "[X]",
	 "frames of lossless classes lost for want of buffer, which must not happen"},
	{"marks", BY_COUNT, EXPR_COUNT, METRIC_MARKS, HC | SPQ | ALL_S, "[X]",
	 "frames marked CE; of a host: received with the mark"},
	{"mark_share", BY_SHARE, EXPR_SHARE, METRIC_MARKS, SPQ | ALL_S, "[X]",
	 "marked frames as a share of those transmitted", .per = METRIC_TX_PACKETS},
	{"cnps", BY_COUNT, EXPR_COUNT, METRIC_CNPS_TX, H | ALL_H, "[X]",
	 "congestion notifications sent by hosts", .who = WHO_RECEIVES},
	{"cnps_received", BY_COUNT, EXPR_COUNT, METRIC_CNPS_RX, H | F | ALL_H, "[X]",
	 "congestion notifications received by hosts or flows", .who = WHO_SENDS},
	{"retransmissions", BY_COUNT, EXPR_COUNT, METRIC_RETRANSMISSIONS, H | F | ALL_H, "[X]",
	 "packets sent again, by hosts or by flows of TCP"},
	{"spurious", BY_COUNT, EXPR_COUNT, METRIC_SPURIOUS, H | ALL_H, "[X]",
	 "packets sent again without need: a host received them and had accepted them before. "
	 "Without losses the retransmission timer is too short (`nic.rto`, of TCP `rto_min`)",
	 .who = WHO_RECEIVES},
	{"timeouts", BY_COUNT, EXPR_COUNT, METRIC_TIMEOUTS, H | F | ALL_H, "[X]",
	 "retransmission timers that ran out, of hosts or of flows of TCP"},
	{"fast_retransmits", BY_COUNT, EXPR_COUNT, METRIC_FAST_RETRANSMITS, H | F | ALL_H, "[X]",
	 "TCP: recoveries that duplicate ACKs or SACK blocks began"},
	{"ece", BY_COUNT, EXPR_COUNT, METRIC_ECE, H | F | ALL_H, "[X]",
	 "TCP: ACKs received that echo a mark", .who = WHO_SENDS},
	{"naks", BY_COUNT, EXPR_COUNT, METRIC_NAKS, H | ALL_H, "[X]", "NAKs sent by hosts"},
	{"messages", BY_COUNT, EXPR_COUNT, METRIC_MESSAGES, H | F | ALL_H, "[X]",
	 "messages completed, at the host or flow that posted them"},
	{"posted", BY_COUNT, EXPR_COUNT, METRIC_POSTED, H | F | ALL_H, "[X]", "messages posted"},
	{"done", BY_NOW, EXPR_TIME, METRIC_DONE, FLOW, "FLOW",
	 "time at which the last message of the flow was acknowledged; no value before. The "
	 "flow has a `size`, and a `count` or a `stop`"},
	{"cc_rate", BY_SAMPLE, EXPR_RATE, METRIC_CC_RATE, F, "FLOW",
	 "what the reaction point allows, the mean over the flow's connections",
	 .takes = TAKES_STAT},
	{"alpha", BY_SAMPLE, EXPR_SHARE, METRIC_ALPHA, F, "FLOW",
	 "the estimate of congestion of the reaction point, 1 before the first CNP, or of "
	 "DCTCP; the mean over the flow's connections",
	 .takes = TAKES_STAT},
	{"cwnd", BY_SAMPLE, EXPR_BYTES, METRIC_CWND, F, "FLOW",
	 "TCP: the congestion window, the mean over the flow's connections", .takes = TAKES_STAT},
	{"fct", BY_OPERATION, EXPR_TIME, METRIC_FCT, H | F | ALL_H, "[X]",
	 "completion time: from posting to the last ACK", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS},
	{"slowdown", BY_OPERATION, EXPR_COUNT, METRIC_SLOWDOWN, H | F | ALL_H, "[X]",
	 "completion time by the time it would take alone in the fabric",
	 .takes = TAKES_STAT | TAKES_SIZE, .who = WHO_SENDS},
	{"wait", BY_OPERATION, EXPR_TIME, METRIC_WAIT, H | F | ALL_H, "[X]",
	 "of that: from posting to the first byte out", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS},
	{"send", BY_OPERATION, EXPR_TIME, METRIC_SEND, H | F | ALL_H, "[X]",
	 "from the first byte out to the last", .takes = TAKES_STAT | TAKES_SIZE, .who = WHO_SENDS},
	{"net", BY_OPERATION, EXPR_TIME, METRIC_NET, H | F | ALL_H, "[X]",
	 "from the last byte out to the last ACK", .takes = TAKES_STAT | TAKES_SIZE,
	 .who = WHO_SENDS},
	{"frames", BY_COUNT, EXPR_COUNT, METRIC_TX_PACKETS, HC | SPQ | ALL_S, "[X]",
	 "data frames sent; of a switch all but PFC frames. Without X by all switches",
	 .who = WHO_SENDS},
	{"frames_received", BY_COUNT, EXPR_COUNT, METRIC_RX_PACKETS, HC | SPQ | ALL_S, "[X]",
	 "data frames received; of a switch all that were admitted or dropped by a priority "
	 "group",
	 .who = WHO_RECEIVES},
	{"frames_queued", BY_NOW, EXPR_COUNT, METRIC_FRAMES_QUEUED, SPQ | ALL_S, "[X]",
	 "frames that wait in queues at the end of the window"},
	{"frames_on_wires", BY_NOW, EXPR_COUNT, METRIC_FRAMES_ON_WIRES, ALL_S, "",
	 "frames under way on all cables at the end of the window"},
	{"storms", BY_COUNT, EXPR_COUNT, METRIC_STORMS, SPQ | ALL_S, "[X]",
	 "storms that the watchdog detected"},
	{"restored", BY_COUNT, EXPR_COUNT, METRIC_STORMS_RESTORED, SPQ | ALL_S, "[X]",
	 "storms that were over, or ended by an operator"},
	{"escalated", BY_STORM, EXPR_COUNT, METRIC_ESCALATED, SPQ | ALL_S, "[X]",
	 "storms with which the limit of the watchdog was reached"},
	{"storm_detected_at", BY_STORM, EXPR_TIME, METRIC_DETECTED_AT, SPQ | ALL_S, "[X] [, N]",
	 "exact time at which the Nth storm of the window was detected; without N the first",
	 .takes = TAKES_NUMBER},
	{"storm_restored_at", BY_STORM, EXPR_TIME, METRIC_RESTORED_AT, SPQ | ALL_S, "[X] [, N]",
	 "exact time at which the Nth recovery of the window was over", .takes = TAKES_NUMBER},
	{"storm_sent", BY_COUNT, EXPR_COUNT, METRIC_STORM_TX, SPQ | ALL_S, "[X]",
	 "frames for stormed queues that were sent all the same"},
	{"storm_sent_drops", BY_COUNT, EXPR_COUNT, METRIC_STORM_TX_DROPS, SPQ | ALL_S, "[X]",
	 "frames for stormed queues that were dropped"},
	{"storm_received", BY_COUNT, EXPR_COUNT, METRIC_STORM_RX, SPQ | ALL_S, "[X]",
	 "frames that came in by a stormed port and class, and were kept"},
	{"storm_received_drops", BY_COUNT, EXPR_COUNT, METRIC_STORM_RX_DROPS, SPQ | ALL_S, "[X]",
	 "frames that came in there and were dropped"},
	{"remapped", BY_COUNT, EXPR_COUNT, METRIC_REMAPPED, S | P | ALL_S, "[X]",
	 "frames that the deadlock guard gave another class, at their ports of arrival"},
	{"causes", BY_SET, EXPR_COUNT, METRIC_CAUSES, ALL_S, "",
	 "findings about PAUSE in the window: deadlocks, cyclic dependencies, and hosts at the "
	 "root of chains. 0: all PAUSE came from ports that were offered more than they send"},
	{"deadlocks", BY_SET, EXPR_COUNT, METRIC_DEADLOCKS, ALL_S, "",
	 "cycles of paused queues that stood still for `stuck_after` in the window"},
	{"cyclic", BY_SET, EXPR_COUNT, METRIC_CYCLIC, ALL_S, "",
	 "cycles of paused queues that went on draining and were never a deadlock"},
	{"cycle", BY_SET, EXPR_COUNT, METRIC_CYCLE, S, "SWITCH, ...",
	 "deadlocks through exactly these switches", .takes = TAKES_MORE},
	{"rooted", BY_SET, EXPR_COUNT, METRIC_ROOTED, H | ALL_H, "[HOST, ...]",
	 "chains of PAUSE whose root was one of these hosts: findings", .takes = TAKES_MORE},
	{"stuck", BY_NOW, EXPR_COUNT, METRIC_STUCK, SPQ | ALL_S, "[X]",
	 "queues that are paused and not empty and have sent nothing for `stuck_after`, at the "
	 "end of the window"},
	{"cnps_sent", BY_COUNT, EXPR_COUNT, METRIC_CNPS_SWITCH, SPQ | ALL_S, "[X]",
	 "notifications that switches sent because of a queue"},
	{"wrong_cnps", BY_COUNT, EXPR_COUNT, METRIC_CNPS_WRONG, H | SPQ | ALL_S, "[X]",
	 "of those the ones for a queue pair that was not the flow's when they were sent, which "
	 "must not happen. Of a host: received for a queue pair that is not there, of another "
	 "peer, or with another UDP source port than its data has, whoever sent them"},
	{"cnp_looks", BY_COUNT, EXPR_COUNT, METRIC_CNP_LOOKS, SPQ | ALL_S,
	 "[X] [, none | growing | shrinking | many | muted]",
	 "times that a queue above kmin was looked at, by what it looked like; muted: times "
	 "that it was not, because it was paused",
	 .takes = TAKES_QUADRANT},
	{"quadrant", BY_NOW, EXPR_COUNT, METRIC_QUADRANT, Q, "QUEUE",
	 "what a queue looks like now: 0 not above kmin or paused, 1 shallow and shrinking, 2 "
	 "shallow and growing, 3 deep and shrinking, 4 deep and growing"},
	{"trend", BY_NOW, EXPR_BYTES, METRIC_TREND, Q, "QUEUE",
	 "how much it had grown at the last look; 0 when it is not above kmin"},
	{"excess", BY_NOW, EXPR_RATE, METRIC_EXCESS, Q, "QUEUE",
	 "what its senders were to be slowed down by at the last look"},
	{"paired_share", BY_SHARE, EXPR_SHARE, METRIC_PAIRED_BYTES, S | ALL_S,
	 "[X] [, static | cm | read | ack | cnp | none]",
	 "bytes of RoCEv2 data that came in while the sender's queue pair was known, as a share "
	 "of all: flows are looked at every `sample`, and bytes count if the pair was known at "
	 "both looks around them (static, cm and read: also at a flow's first)",
	 .takes = TAKES_SOURCE, .per = METRIC_FLOW_BYTES},
	{"paired", BY_NOW, EXPR_COUNT, METRIC_PAIRED, S | ALL_S, "[X] [, SOURCE]",
	 "flows of data whose sender's queue pair is known at the end of the window",
	 .takes = TAKES_SOURCE},
	{"flows", BY_NOW, EXPR_COUNT, METRIC_FLOWS, S | ALL_S, "[X]",
	 "flows of data in the flow table at the end of the window"},
	{"pairings", BY_COUNT, EXPR_COUNT, METRIC_PAIRINGS, S | ALL_S, "[X] [, SOURCE]",
	 "times that a flow's pair was learnt", .takes = TAKES_SOURCE},
	{"pairs_dropped", BY_COUNT, EXPR_COUNT, METRIC_PAIRS_DROPPED, S | ALL_S, "[X]",
	 "pairs that were given up: contradictions, age, the end of a connection"},
	{"first_crossing_at", BY_WATCH, EXPR_TIME, METRIC_FIRST_CROSSING, SPQ, "X",
	 "exact time at which a queue first rose above the kmin of its WRED curve in the window"},
	{"first_cut_at", BY_WATCH, EXPR_TIME, METRIC_FIRST_CUT, H | ALL_H, "[X]",
	 "exact time at which a reaction point of the host, or without X of any, first lowered "
	 "its rate in the window",
	 .who = WHO_SENDS},
	{"jain", BY_LIST, EXPR_COUNT, METRIC_JAIN, 0, "LIST",
	 "Jain's fairness index: 1 when all are equal, 1/n when one has everything"},
	{"sum", BY_LIST, EXPR_COUNT, METRIC_SUM, 0, "LIST", "the sum"},
	{"mean", BY_LIST, EXPR_COUNT, METRIC_MEAN, 0, "LIST", "the mean"},
	{"min", BY_LIST, EXPR_COUNT, METRIC_MIN, 0, "LIST", "the least"},
	{"max", BY_LIST, EXPR_COUNT, METRIC_MAX, 0, "LIST", "the greatest"},
	{"count", BY_LIST, EXPR_COUNT, METRIC_N_VALUES, 0, "LIST", "how many values there are"},
};
enum { N_FUNCS = N(funcs) };

const struct expr_func *expr_func_at(uint32_t i)
{
	return i < N_FUNCS ? &funcs[i] : NULL;
}

const struct expr_func *expr_func_find(const char *name, uint32_t len)
{
	for (unsigned i = 0; i < N_FUNCS; i++)
		if (strlen(funcs[i].name) == len && strncmp(funcs[i].name, name, len) == 0)
			return &funcs[i];
	return NULL;
}

static const char *func_name(const void *ctx, unsigned i)
{
	(void)ctx;
	return funcs[i].name;
}

const char *expr_func_closest(const char *name)
{
	return schema_closest(name, N_FUNCS, func_name, NULL);
}

// The digits of p99 and p99.9 follow the point of 0.99 and 0.999; p5 is 5 %.
static bool quantile_parse(const char *digits, uint32_t *ppm)
{
	uint32_t v = 0, place = PPM, n = 0;
	bool point = false;

	if (isdigit((unsigned char)digits[0]) && !isdigit((unsigned char)digits[1]))
		place /= 10; // one digit
	for (; *digits != '\0'; digits++) {
		if (*digits == '.' && n == 2 && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*digits) || n++ == 5)
			return false;
		place /= 10;
		v += place * (uint32_t)(*digits - '0');
	}
	*ppm = v;
	return n != 0;
}

bool expr_stat_parse(const char *text, struct expr_stat *out)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"mean", STAT_MEAN}, {"min", STAT_MIN}, {"max", STAT_MAX}, {"now", STAT_NOW}};

	for (unsigned i = 0; i < N(words); i++)
		if (strcmp(text, words[i].word) == 0) {
			*out = (struct expr_stat){.kind = words[i].kind};
			return true;
		}
	if (text[0] != 'p' || !quantile_parse(text + 1, &out->ppm))
		return false;
	out->kind = STAT_QUANTILE;
	return true;
}

// ---- for people

static const char general[] =
	"Quantities: 40G 100M 1K bps; 125KB 1MiB 64B; 10us 1.5ms 400ns 2s; 5%; 0.98. Rates are "
	"compared with rates, bytes with bytes, times with times; a bare 0 fits all.\n"
	"\n"
	"X is a host `h1`, a class of it `h1.3`, a flow by its name, a connection of it `name/1`, "
	"a switch `s1`, a port `s1.p3`, or a queue, priority group or class of a port `s1.p3.3`; "
	"not every function knows all of them. Where a host and a flow have the same name, write "
	"`host:h1` or `flow:h1`. `h*`, `h[1-3,7]`, `s1.p*.3` and `name/*` make a list, in the "
	"order of the file. By `*` only those hosts are meant that send (rate, ...) or receive "
	"(goodput, ...) in some flow.\n"
	"\n"
	"Every function takes a window as its last two arguments, `from, to`; without one it is "
	"about the whole run. A window behind the list of jain, sum and the like holds for all "
	"functions inside. A counter is read exactly at `from` and `to`, before anything else "
	"happens at that instant; at the end of the run after everything. A frame counts when its "
	"transmission begins.\n"
	"\n"
	"queue, pg, headroom, pool, cc_rate, alpha and cwnd are sampled every `sample` of the "
	"scenario, from `from` on, before `to`. STAT is what is computed of the samples, or "
	"of the operations of fct and the like: mean (if none is given), min, max, now (the "
	"last), p50, p90, p99, p999 or any pNN.N: the least value that this share of all does "
	"not exceed. An operation belongs to the window in which it finished; `size < 100KB` or "
	"`size >= 1MB` picks some.\n"
	"\n"
	"The rate of a service (request, storage) is that of all its messages, in both directions. "
	"Of a READ flow the data are counted where they are sent, at the host that is asked; with "
	"`connect: cm`, where nobody knows both ends, only the requests are.\n"
	"\n"
	"In `expect:` stands one comparison: == != < <= > >=, `A within 5% of B`, `A within 10KB "
	"of B`, `A between B and C`. A comparison of a list holds when it holds for each value. A "
	"recorded expression is measured over the time since the row before.\n";

static void arguments(FILE *out, const struct expr_func *f)
{
	fprintf(out, "%s(%s%s%s%s)", f->name, f->args, f->takes & TAKES_STAT ? " [, STAT]" : "",
		f->takes & TAKES_SIZE ? " [, size < BYTES]" : "",
		f->args[0] == '\0' ? "[from, to]" : " [, from, to]");
}

static void kinds(FILE *out, const struct expr_func *f, const char *before)
{
	for (unsigned k = 0; k <= OBJ_QUEUE; k++)
		if (f->kinds & OBJ_BIT(k)) {
			fprintf(out, "%s%s", before, expr_object_name[k]);
			before = ", ";
		}
}

static const char *const unit_name[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "number", [EXPR_SHARE] = "share", [EXPR_RATE] = "rate",
	[EXPR_BYTES] = "bytes",	 [EXPR_TIME] = "time",
};

void expr_func_help(FILE *out)
{
	print_indented(out, general, 0, TERMINAL_TEXT);
	fputc('\n', out);
	for (unsigned i = 0; i < N_FUNCS; i++) {
		fputs("  ", out);
		arguments(out, &funcs[i]);
		fputs("\n      ", out);
		print_indented(out, funcs[i].help, 6, TERMINAL_TEXT);
		kinds(out, &funcs[i], "\n      X: ");
		fputc('\n', out);
	}
}

static void cell(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

void expr_func_docs(FILE *out)
{
	fputs("# Functions of scenarios\n\n"
	      "Made from the table of the program by `scripts/docs`; do not edit. `weir-lab help "
	      "functions` prints the same.\n\n",
	      out);
	print_indented(out, general, 0, PAGE_COLUMNS);
	fputs("\n| function | gives | about | meaning |\n| --- | --- | --- | --- |\n", out);
	for (unsigned i = 0; i < N_FUNCS; i++) {
		fprintf(out, "| `%s(", funcs[i].name);
		cell(out, funcs[i].args);
		fprintf(out, "%s%s)` | %s | ", funcs[i].takes & TAKES_STAT ? " [, STAT]" : "",
			funcs[i].takes & TAKES_SIZE ? " [, size < BYTES]" : "",
			funcs[i].method == BY_LIST && funcs[i].metric != METRIC_JAIN &&
					funcs[i].metric != METRIC_N_VALUES
				? "as its list"
				: unit_name[funcs[i].unit]);
		kinds(out, &funcs[i], "");
		fprintf(out, " | %s |\n", funcs[i].help);
	}
}
