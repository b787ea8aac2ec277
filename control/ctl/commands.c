// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/config/impair.h"
#include "control/ctl/ctl.h"
#include "control/orders/words.h"

enum {
	HANG = sizeof("weirctl ") - 1, // blanks before the further lines of a form
	MISUSED_LEN = 1024,
	ANY = INT_MAX,
};

const char ctl_try_help[] = "Try `weirctl --help`.\n";

int misused(const char *fmt, ...)
{
	char text[MISUSED_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	terminal_printf(stderr, "weirctl: %s\n", text);
	fputs(ctl_try_help, stderr);
	return CTL_MISUSED;
}

void print_usage(FILE *out, const struct command *cmd, const char *first, const char *next)
{
	const char *at = cmd->usage, *lead = first;

	while (*at != '\0') {
		size_t len = strcspn(at, "\n");
		char *form = strndup(at, len);

		fprintf(out, "%sweirctl ", lead);
		print_indented(out, form != NULL ? form : "", (int)strlen(lead) + HANG,
			       TERMINAL_TEXT);
		fputc('\n', out);
		free(form);
		at += len + (at[len] != '\0');
		lead = next;
	}
}

int misused_words(const struct ctl *c)
{
	print_usage(stderr, c->command, "usage: ", "       ");
	fprintf(stderr, "Try `weirctl help %s`.\n", c->command->name);
	return CTL_MISUSED;
}

// ---- the rows

const char ctl_summary[] = "Shows and controls a running switch.";
const char ctl_exit_text[] = "0 done, 1 failed, 2 misused.";

static const struct command commands[] = {
	{"show", cmd_show, 0, ANY,
	 "show KIND [PORT] [--all] [--wide] [--explain] [--follow] [--why] [--unpaired] "
	 "[--elephants] [--limit N] [--interval SECONDS] [--count N] [--severity WORD] "
	 "[--since TIME] [--style weir|sonic] [--json]",
	 "Prints the state of the switch, of one port or of all. With --all also idle rows\n"
	 "and reasons without a frame, with --wide all columns even where the terminal is\n"
	 "narrower, with --explain what each reason of a drop means, with --follow events\n"
	 "as they happen, until interrupted, with --why (show pfc) the cause of each\n"
	 "pause, with --unpaired (show flows) the flows whose sender's queue pair is not\n"
	 "known, and why, with --elephants the elephants among them. Of events\n"
	 "--severity warning leaves out info, and --since 5m older ones. Of events and of\n"
	 "inof log --count 20 leaves out all but the last. show interfaces --interval 5\n"
	 "counts for five seconds. A kind with a hyphen may be two words: show pfc status.\n"
	 "KIND is one of\n", show_help},
	{"watch", cmd_watch, 0, 1, "watch [PORT] [--interval SECONDS] [--count N] [--plain]",
	 "Shows workers, buffer, alarms and a line for each port live: rates per second,\n"
	 "the port in the worst trouble first. With PORT it shows its classes. Arrows\n"
	 "select a port, Enter opens the port, Esc goes back, s sorts, / filters, p\n"
	 "pauses, + and - change the interval, h helps, q quits. With --plain, or without\n"
	 "a terminal, it prints a block of lines per interval, until interrupted or N\n"
	 "times. NO_COLOR turns colours off.\n",
	 .page = "sight.md"},
	{"top", cmd_watch, 0, 1, "top [PORT] [--interval SECONDS] [--count N] [--plain]",
	 "The same as watch.\n",
	 .page = "sight.md"},
	{"check", cmd_check, 1, 1, "check FILE [--strict] [--json]",
	 "Checks a policy file: all mistakes in one pass, exit 2 if there are any.\n"
	 "Warnings name keys that load but cannot have their effect; with --strict they\n"
	 "are mistakes too. --json gives each message as file, line, column, key,\n"
	 "severity, text and hint. Needs no daemon.\n",
	 .page = "configuration.md"},
	{"plan", cmd_plan, 1, 2, "plan FILE [PORT] [--sonic] [--json]",
	 "Prints every number that follows from a policy file: of all ports, where equal\n"
	 "rows are one, or of one port.\n"
	 "With --sonic it prints the numbers of SONiC's QoS tests, as their file\n"
	 "qos_params.yaml. Needs no daemon and opens no device.\n",
	 .page = "configuration.md"},
	{"import", cmd_import, 2, ANY,
	 "import sonic FILE... [--ports PORT=DEVICE,...] [--pg-lookup FILE] [--partial] "
	 "[--output FILE]",
	 "Makes a policy of a SONiC configuration. Several files, such as config_db.json,\n"
	 "are read as one; - is standard input. Prints rows without effect here, and\n"
	 "assumptions. Refuses rows that a policy cannot say, all in one pass, exit 2;\n"
	 "--partial leaves them out. Needs no daemon.\n",
	 .page = "sonic.md"},
	{"export", cmd_export, 2, 2, "export sonic FILE [--output FILE]",
	 "Makes a SONiC configuration of a policy file: the tables that `import sonic`\n"
	 "reads. Needs no daemon.\n",
	 .page = "sonic.md"},
	{"diff", cmd_diff, 1, 1, "diff FILE [--wide] [--json]",
	 "Compares the policy that runs with a policy file: prints each key that differs,\n"
	 "with both values. It does not change the switch.\n",
	 .page = "reload.md"},
	{"reload", cmd_reload, 0, 1, "reload [FILE] [--check] [--confirm-within TIME] [--json]",
	 "Puts a policy file into force. Without FILE the switch reads the file that runs\n"
	 "again. All of it or nothing: mistakes, and keys that only a restart can change,\n"
	 "are printed, exit 2. No frame is lost and no counter starts again. Returns once\n"
	 "all workers run on it, and prints the old and the new value of each key that\n"
	 "changed. With --check nothing changes: it prints whether the switch would take\n"
	 "the file, and what would change. With --confirm-within 60s the policy before\n"
	 "comes back after 60 s without a confirm; until then another reload is refused.\n",
	 .writes = true, .page = "reload.md"},
	{"confirm", cmd_request, 0, 0, "confirm",
	 "Keeps the policy that `reload --confirm-within` put into force.\n", .writes = true,
	 .page = "reload.md"},
	{"rollback", cmd_rollback, 0, 0, "rollback [--json]",
	 "Puts the policy from before `reload --confirm-within` back.\n", .writes = true,
	 .page = "reload.md"},
	{"set", cmd_words, 4, 5, WORDS_SET,
	 "Stops or starts sending of data; queues keep filling.\n"
	 "It returns once no more data leaves.\n", .writes = true},
	{"watchdog", cmd_words, 2, 3, WORDS_WATCHDOG,
	 "Ends a PFC storm, or discards all lossless classes.\n"
	 "recover ends a storm, or the action after too many storms, at once: the class\n"
	 "obeys and sends PFC again, and a port that was taken down comes up. While\n"
	 "drop-all is on, the switch discards all lossless classes of all ports, and they\n"
	 "neither obey nor send PFC.\n", .writes = true, .page = "storms.md"},
	{"flow", cmd_words, 4, 5, WORDS_FLOW,
	 "Sets or deletes the sender's queue pair of a flow.\n"
	 "add sets the queue pair of the sender (address FROM) for the flow to queue pair\n"
	 "QP of TO. The switch keeps this pair until del. del deletes the pair, however\n"
	 "the switch found it. Numbers as 18 or 0x12: `show flows` has addresses and QP.\n",
	 .writes = true, .page = "ipcc.md"},
	{"impair", cmd_impair, 1, ANY,
	 "impair PORT [--match EXPRESSION] --action ACTION [--in|--out] [--for TIME] "
	 "[--count N] [--seed N] [--json]\nimpair list [--json]\nimpair stop RULE|all [--json]",
	 "Impairs chosen frames of a port, as a bad link does.\n"
	 "ACTION is drop, delay TIME, duplicate, reorder N, ce [P%], corrupt icrc or\n"
	 "corrupt payload. EXPRESSION says which frames, without it all:\n"
	 "'data && every 1000'. --in takes frames that the port receives (if not given),\n"
	 "--out frames that it sends.\n"
	 "The rule ends after TIME (60s if not given), or after N changed frames. With the\n"
	 "same --seed the same frames are chosen.\n",
	 impair_help, .writes = true, .page = "impair.md"},
	{"inof", cmd_inof, 3, ANY, WORDS_INOF,
	 "Changes a zone of NVMe-oF hosts of the running switch.\n"
	 "add makes the zone if there is none. remove removes members, without MEMBER the\n"
	 "zone. MEMBER is an address, a prefix, a range\n"
	 "(10.0.0.1-10.0.0.9), an NQN with * for any characters, or a port. The zone lasts\n"
	 "until weir ends; zones of the policy change in its file.\n", .writes = true,
	 .page = "inof.md"},
	{"clear", cmd_clear, 1, 1, "clear watermarks|counters",
	 "Restarts the watermarks, or lets all counters count from here. The longest\n"
	 "pauses of `show pfc` are watermarks. Either restarts the longest times of\n"
	 "`show latency`.\n", .writes = true, .page = "counters.md"},
	{"quiesce", cmd_quiesce, 0, 0, "quiesce [--hold] [--json]",
	 "Stops admission and prints the balance of a switch at rest. The command waits up\n"
	 "to 2 s for the rest, and also prints what is still queued. Admission goes on\n"
	 "afterwards, with --hold only after `resume`.\n", .writes = true, .page = "counters.md"},
	{"resume", cmd_request, 0, 0, "resume", "Admits frames again after `quiesce --hold`.\n",
	 .writes = true, .page = "counters.md"},
	{"metrics", cmd_metrics, 0, 0, "metrics",
	 "Prints the page of metrics for Prometheus. All counts are since the start.\n"
	 "`weir --metrics PORT` serves the same over HTTP.\n",
	 .page = "counters.md"},
	{"support", cmd_support, 0, 1, "support [FILE]",
	 "Collects one archive for a bug report: the policy, all shows as JSON and as\n"
	 "tables, events, metrics, versions, the journal, and facts of the ports and the\n"
	 "machine. FILE is by default weir-support-NAME-TIME.tar.gz. It also works if the\n"
	 "switch does not answer, and prints what it collected and what not. Passwords are\n"
	 "blanked. Names and addresses are not: look into the archive before you send it.\n",
	 .page = "automation.md"},
	{"completion", cmd_completion, 1, 1, "completion bash",
	 "Prints a script for completion in bash: of commands, kinds, options and ports.\n"
	 "  source <(weirctl completion bash)\n"},
	{"capture", cmd_capture, 0, ANY,
	 "capture PORT|all FILE [--filter EXPRESSION] [--only drops|marked|pfc] [--count N] "
	 "[--last N] [--time T] [--until-drop] [--snaplen BYTES] [--json]",
	 "Writes what a port receives, sends and drops to a pcapng file. The capture goes\n"
	 "on until interrupted; FILE - is standard output. Comments have class, queue,\n"
	 "mark and reason of drop. With --last only the last N frames are written, when\n"
	 "the capture ends.\n",
	 .page = "capture.md"},
};

// A whole number above 0.
static bool take_count(const struct opt *row, char *text, void *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > UINT_MAX) {
		terminal_printf(stderr, "weirctl: --%s is a number from 1, not \"%s\"\n",
				row->name, text);
		return false;
	}
	*(unsigned *)((char *)out + row->off) = (unsigned)n;
	return true;
}

static bool take_interval(const struct opt *row, char *text, void *out)
{
	struct ctl *c = out;
	char *end;

	c->interval_given = true;
	c->interval_s = strtod(text, &end);
	if (end != text && *end == '\0' && c->interval_s >= 0.05 && c->interval_s <= 3600)
		return true;
	terminal_printf(stderr, "weirctl: --%s is from 0.05 to 3600 seconds, not \"%s\"\n",
			row->name, text);
	return false;
}

static bool take_style(const struct opt *row, char *text, void *out)
{
	struct ctl *c = out;

	c->style = strcmp(text, "sonic") == 0 ? STYLE_SONIC : STYLE_WEIR;
	if (c->style == STYLE_SONIC || strcmp(text, "weir") == 0)
		return true;
	terminal_printf(stderr, "weirctl: --%s is weir or sonic, not \"%s\"\n", row->name, text);
	return false;
}

#define AT(f) offsetof(struct ctl, f)
static const struct opt options[] = {
	{"switch", 's', "NAME",
	 "which switch, where several run (default: $WEIR_SWITCH, weir, or the only)", AT(name)},
	{"json", 0, NULL, "for programs", AT(json)},
	{"all", 0, NULL, "show: also idle rows, and reasons without a frame", AT(all)},
	{"wide", 0, NULL, "show, diff: all columns, however narrow the terminal is", AT(wide)},
	{"explain", 0, NULL, "show drops: what each reason means", AT(explain)},
	{"follow", 0, NULL, "show events: go on as they happen", AT(follow)},
	{"why", 0, NULL, "show pfc: why each sender is, or was last, paused", AT(why)},
	{"unpaired", 0, NULL,
	 "show flows: those whose sender's queue pair is unknown", AT(unpaired)},
	{"elephants", 0, NULL, "show flows: those that are elephants", AT(elephants)},
	{"severity", 0, "WORD",
	 "show events: info, warning or alarm, and graver ones", AT(severity)},
	{"since", 0, "TIME", "show events: of the last 30s, 5m, 2h", AT(since)},
	{"limit", 0, "N",
	 "show flows: at most N (default 50, up to 1,000)", AT(limit), take_count},
	{"style", 0, "weir|sonic",
	 "show: tables as SONiC prints them (default: $WEIR_STYLE, or weir)", 0, take_style},
	{"strict", 0, NULL, "check: warnings are mistakes", AT(strict)},
	{"sonic", 0, NULL, "plan: the numbers of SONiC's QoS tests, as YAML", AT(sonic)},
	{"hold", 0, NULL, "quiesce: admission stays stopped until resume", AT(hold)},
	{"check", 0, NULL, "reload: would the switch take the file? Changes nothing", AT(check)},
	{"confirm-within", 0, "TIME",
	 "reload: without a confirm the policy before comes back after TIME", AT(confirm)},
	{"interval", 0, "SECONDS",
	 "watch: time between two updates (default 1), show interfaces: time of the rates",
	 0, take_interval},
	{"plain", 0, NULL, "watch: lines instead of a screen", AT(plain)},
	{"count", 0, "N",
	 "watch: updates, capture: frames before it ends, impair: frames that are changed, show "
	 "cnps, events, inof log: the last N",
	 AT(count), take_count},
	{"filter", 0, "EXPRESSION", "capture: as for tcpdump, in one word", AT(capture.filter)},
	{"only", 0, "KIND", "capture: only drops, marked or pfc", AT(capture.only)},
	{"last", 0, "N",
	 "capture: keep the last N frames, write them at the end", AT(capture.last)},
	{"time", 0, "T", "capture: ends after T (500ms, 10s)", AT(capture.time)},
	{"until-drop", 0, NULL,
	 "capture: ends at the first frame lost to a full buffer", AT(capture.until_drop)},
	{"snaplen", 0, "BYTES", "capture: bytes of each frame (default: all)", AT(capture.snaplen)},
	{"output", 'o', "FILE", "import, export: write to FILE (default: standard output)",
	 AT(output)},
	{"ports", 0, "PORT=DEVICE,...",
	 "import: the ports to take, with their devices (default: all, each with the interface of "
	 "its own name)",
	 AT(ports)},
	{"pg-lookup", 0, "FILE",
	 "import: pg_profile_lookup.ini of the platform, for lossless groups without a profile",
	 AT(pg_lookup)},
	{"partial", 0, NULL, "import: leave out what a policy cannot say", AT(partial)},
	{"match", 0, "EXPRESSION", "impair: which frames, in one word", AT(impair.match)},
	{"action", 0, "ACTION", "impair: what happens to them", AT(impair.action)},
	{"for", 0, "TIME", "impair: the rule ends after TIME (default: 60s)", AT(impair.for_text)},
	{"seed", 0, "N", "impair: of chance (default: a new one)", AT(impair.seed), take_count},
	{"in", 0, NULL, "impair: frames that the port receives (default)", AT(impair.in)},
	{"out", 0, NULL, "impair: frames that the port sends", AT(impair.out)},
	{"help", 'h', NULL, "after a command: about that command", AT(help)},
	{"version", 'V', NULL, "the version", AT(version), .last = true},
};

const struct opts ctl_opts = {
	.program = "weirctl", .rows = options, .n = sizeof(options) / sizeof(options[0])};

struct command_table ctl_commands(void)
{
	return (struct command_table){commands, sizeof(commands) / sizeof(commands[0])};
}
