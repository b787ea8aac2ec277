// SPDX-License-Identifier: Apache-2.0
// The commands and the options of weir-lab: one row each. Also the command `completion`.
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/completion.h"
#include "control/config/terminal.h"
#include "control/lab/expr.h"
#include "control/lab/lab.h"

const struct lab_command lab_commands[] = {
	{"run", "weir-lab run FILE... [options]", "run scenarios and check what they expect",
	 LAB_RUN, lab_run},
	{"check", "weir-lab check FILE... [--set KEY=VALUE]",
	 "load scenarios and their policies only", LAB_CHECK, lab_check},
	{"sweep", "weir-lab sweep FILE --vary KEY=A,B,C [options]",
	 "run a scenario with each of some values, several at a time", LAB_SWEEP, lab_sweep},
	{"fluid", "weir-lab fluid FILE [options]",
	 "DCQCN's fluid model of a scenario's busiest port, beside its packet run", LAB_FLUID,
	 lab_fluid},
	{"list", "weir-lab list [WORD]", "print the bundled scenarios, all or those with a word",
	 LAB_LIST, lab_list},
	{"completion", "weir-lab completion bash",
	 "for your shell: source <(weir-lab completion bash)", LAB_COMPLETION, lab_completion},
};
const size_t lab_n_commands = sizeof(lab_commands) / sizeof(lab_commands[0]);

const char lab_summary[] =
	"weir-lab runs whole lossless fabrics on a virtual clock: the dataplane and the\n"
	"policy files of weir, emulated NICs (RoCEv2, TCP) and wires. The same file and\n"
	"seed give the same bytes.\n";
const char lab_exit[] =
	"0 all expectations hold, 1 one does not or the run was broken off, 2 misused";

__attribute__((format(printf, 2, 3))) static bool complain(const struct lab_command *c,
							   const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		usage_printf("weir-lab %s: %s (try weir-lab %s --help)\n", c->name, text, c->name);
	va_end(ap);
	free(text);
	return false;
}

static bool take_set(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;
	char *eq = strchr(text, '=');

	if (eq == NULL || eq == text)
		return complain(a->command, "--%s needs key=value, not %s", row->name, text);
	*eq = '\0';
	a->sets[a->n_sets++] = (struct sc_set){text, eq + 1};
	return true;
}

static bool take_seed(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;

	a->sets[a->n_sets++] = (struct sc_set){row->name, text};
	return true;
}

static bool take_vary(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;

	(void)row;
	a->varies[a->n_varies++] = text;
	return true;
}

static bool take_metric(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;

	(void)row;
	a->metrics[a->n_metrics++] = text;
	return true;
}

static bool take_number(const struct opt *row, char *text, void *args)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || end == text || n < (unsigned long)row->min ||
	    n > (unsigned long)row->max)
		return complain(((struct lab_args *)args)->command,
				"--%s needs a number from %d to %d, not %s", row->name,
				(int)row->min, (int)row->max, text);
	*(unsigned *)((char *)args + row->off) = (unsigned)n;
	return true;
}

#define AT(f) offsetof(struct lab_args, f)
static const struct opt options[] = {
	{"set", 0, "KEY=VALUE",
	 "change the scenario: a.b[2].c=value; policy.X changes the policy of all switches", 0,
	 take_set, LAB_RUN | LAB_CHECK | LAB_SWEEP | LAB_FLUID},
	{"seed", 0, "N", "the seed, in place of the file's", 0, take_seed, LAB_RUN | LAB_SWEEP},
	{"vary", 0, "KEY=A,B,C", "run with each of these values; several: all combinations", 0,
	 take_vary, LAB_SWEEP},
	{"metric", 0, "EXPR", "also report this, such as jain(rate(h*), 10ms, 20ms)", 0,
	 take_metric, LAB_RUN | LAB_SWEEP},
	{"jobs", 0, "N", "processes at a time (default: one per processor)", AT(jobs), take_number,
	 LAB_SWEEP, .min = 1, .max = 1024},
	{"out", 0, "DIR", "write report.json, CSV, SVG plots and report.html there", AT(out),
	 .commands = LAB_RUN | LAB_SWEEP | LAB_FLUID},
	{"digits", 0, "N",
	 "digits of figures in tables, 4 to 15 (default: 4); counts keep all digits, JSON "
	 "and CSV have nine", AT(digits), take_number, LAB_RUN | LAB_SWEEP,
	 .min = EXPR_DIGITS, .max = EXPR_MAX_DIGITS},
	{"senders", 0, "N",
	 "N endless flows into one port, in place of the scenario's flows and faults",
	 AT(senders), take_number, LAB_FLUID, .min = 1, .max = 1024},
	{"json", 0, NULL, "report as JSON", AT(json),
	 .commands = LAB_RUN | LAB_SWEEP | LAB_FLUID},
	{"quiet", 0, NULL, "no lines about progress, speed and the place of the report", AT(quiet),
	 .commands = LAB_RUN | LAB_SWEEP},
	{"help", 0, NULL, "print this", AT(help),
	 .commands = LAB_NEEDS_FILE | LAB_COMPLETION | LAB_LIST},
};

static void wrong(const struct opts *o, enum opts_wrong what, const char *word, const char *name)
{
	const struct lab_command *c = lab_commands;

	while (!(c->options & o->command))
		c++;
	if (what == OPTS_NO_VALUE)
		complain(c, "no value belongs to %s", word);
	else if (what == OPTS_VALUE_MISSING)
		complain(c, "a value is missing behind %s", word);
	else if (name == NULL)
		complain(c, "unknown option %.*s", (int)strcspn(word, "="), word);
	else
		usage_printf("weir-lab %s: unknown option %.*s: did you mean --%s?\n", c->name,
			     (int)strcspn(word, "="), word, name);
}

const struct opts lab_opts = {.program = "weir-lab", .rows = options,
			      .n = sizeof(options) / sizeof(options[0]), .wrong = wrong};

struct opts lab_opts_of(const struct lab_command *c)
{
	struct opts o = lab_opts;

	o.command = c->options;
	return o;
}

static void *room(int n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (p == NULL) {
		fputs("weir-lab: out of memory\n", stderr);
		abort();
	}
	return p;
}

bool lab_parse(const struct lab_command *c, int argc, char **argv, struct lab_args *out)
{
	const struct opts o = lab_opts_of(c);

	*out = (struct lab_args){.command = c, .digits = EXPR_DIGITS,
				 .files = room(argc, sizeof(char *)),
				 .sets = room(argc, sizeof(struct sc_set)),
				 .varies = room(argc, sizeof(char *)),
				 .metrics = room(argc, sizeof(char *))};
	if (opts_parse(&o, argc, argv, out) == OPTS_WRONG)
		return false;
	while (optind < argc)
		out->files[out->n_files++] = argv[optind++];
	return out->help || out->n_files != 0 || !(c->options & LAB_NEEDS_FILE) ||
	       complain(c, "no scenario file is named");
}

void lab_args_fini(struct lab_args *a)
{
	free(a->files);
	free(a->sets);
	free(a->varies);
	free(a->metrics);
	arena_fini(&a->arena);
}

static bool command_at(unsigned i, struct completion_command *out)
{
	if (i < lab_n_commands)
		*out = (struct completion_command){lab_commands[i].name, lab_commands[i].usage,
						   lab_commands[i].options};
	else
		*out = (struct completion_command){"help", "help functions", 0};
	return i <= lab_n_commands;
}

int lab_completion(const struct lab_args *a)
{
	const struct completion c = {&lab_opts, "", "--help --version", command_at};

	if (a->n_files != 1 || strcmp(a->files[0], "bash") != 0) {
		fputs("weir-lab: it is weir-lab completion bash\n", stderr);
		return LAB_MISUSED;
	}
	completion_script(&c, stdout);
	return LAB_DONE;
}
