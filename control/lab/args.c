// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/config/terminal.h"
#include "control/lab/expr.h"
#include "control/lab/lab.h"

const struct lab_option lab_options[] = {
	{"set", "KEY=VALUE", LAB_RUN | LAB_CHECK | LAB_SWEEP | LAB_FLUID,
	 "change the scenario: a.b[2].c=value; policy.X changes the policy of all switches"},
	{"seed", "N", LAB_RUN | LAB_SWEEP, "the seed, in place of the file's"},
	{"vary", "KEY=A,B,C", LAB_SWEEP,
	 "run with each of these values; several: all combinations"},
	{"metric", "EXPR", LAB_RUN | LAB_SWEEP,
	 "also report this, such as jain(rate(h*), 10ms, 20ms)"},
	{"jobs", "N", LAB_SWEEP, "processes at a time (default: one per processor)"},
	{"out", "DIR", LAB_RUN | LAB_SWEEP | LAB_FLUID,
	 "write report.json, CSV, SVG plots and report.html there"},
	{"digits", "N", LAB_RUN | LAB_SWEEP,
	 "digits of figures in tables, 4 to 15 (default: 4); counts keep all digits, JSON "
	 "and CSV have nine"},
	{"senders", "N", LAB_FLUID,
	 "N endless flows into one port, in place of the scenario's flows and faults"},
	{"json", NULL, LAB_RUN | LAB_SWEEP | LAB_FLUID, "report as JSON"},
	{"quiet", NULL, LAB_RUN | LAB_SWEEP,
	 "no lines about progress, speed and the place of the report"},
	{"help", NULL, LAB_NEEDS_FILE | LAB_COMPLETION | LAB_LIST, "print this"},
};
const size_t lab_n_options = sizeof(lab_options) / sizeof(lab_options[0]);

const char lab_summary[] =
	"weir-lab runs whole lossless fabrics on a virtual clock: the dataplane and the\n"
	"policy files of weir, emulated NICs (RoCEv2, TCP) and wires. The same file and\n"
	"seed give the same bytes.\n";
const char lab_exit[] =
	"0 all expectations hold, 1 one does not or the run was broken off, 2 misused";

static const struct lab_option *find(const struct lab_command *c, const char *name, size_t len)
{
	for (size_t i = 0; i < lab_n_options; i++)
		if (strlen(lab_options[i].name) == len &&
		    strncmp(lab_options[i].name, name, len) == 0)
			return lab_options[i].commands & c->options ? &lab_options[i] : NULL;
	return NULL;
}

static const char *name_at(const void *command, unsigned i)
{
	const struct lab_command *c = command;

	return lab_options[i].commands & c->options ? lab_options[i].name : "";
}

static bool complain(const struct lab_command *c, const char *what, const char *about)
{
	usage_printf("weir-lab %s: %s%s (try weir-lab %s --help)\n", c->name, what, about, c->name);
	return false;
}

static bool unknown_option(const struct lab_command *c, const char *name, size_t len)
{
	char word[64];
	const char *near;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	near = schema_closest(word, (unsigned)lab_n_options, name_at, c);
	if (near == NULL)
		return complain(c, "unknown option --", word);
	usage_printf("weir-lab %s: unknown option --%s: did you mean --%s?\n", c->name, word, near);
	return false;
}

static bool add_set(struct lab_args *a, const struct lab_command *c, char *text)
{
	char *eq = strchr(text, '=');

	if (eq == NULL || eq == text)
		return complain(c, "--set needs key=value, not ", text);
	*eq = '\0';
	a->sets[a->n_sets++] = (struct sc_set){text, eq + 1};
	return true;
}

struct number {
	unsigned min, max;
	const char *complaint;
};

static bool take_number(const struct lab_command *c, const char *text, const struct number *what,
			unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || end == text || n < what->min || n > what->max)
		return complain(c, what->complaint, text);
	*out = (unsigned)n;
	return true;
}

static bool take(struct lab_args *a, const struct lab_command *c, const struct lab_option *o,
		 char *value)
{
	static const struct number jobs = {1, 1024, "--jobs needs a number from 1 to 1024, not "},
				   digits = {EXPR_DIGITS, EXPR_MAX_DIGITS,
					     "--digits needs a number from 4 to 15, not "},
				   senders = {1, 1024,
					      "--senders needs a number from 1 to 1024, not "};
	const char *name = o->name;

	if (strcmp(name, "json") == 0)
		a->json = true;
	else if (strcmp(name, "quiet") == 0)
		a->quiet = true;
	else if (strcmp(name, "help") == 0)
		a->help = true;
	else if (strcmp(name, "out") == 0)
		a->out = value;
	else if (strcmp(name, "vary") == 0)
		a->varies[a->n_varies++] = value;
	else if (strcmp(name, "metric") == 0)
		a->metrics[a->n_metrics++] = value;
	else if (strcmp(name, "seed") == 0)
		a->sets[a->n_sets++] = (struct sc_set){"seed", value};
	else if (strcmp(name, "jobs") == 0)
		return take_number(c, value, &jobs, &a->jobs);
	else if (strcmp(name, "digits") == 0)
		return take_number(c, value, &digits, &a->digits);
	else if (strcmp(name, "senders") == 0)
		return take_number(c, value, &senders, &a->senders);
	else
		return add_set(a, c, value);
	return true;
}

// One option: --name, --name value or --name=value. *i is left at its last word.
static bool option(struct lab_args *a, const struct lab_command *c, char **argv, int argc, int *i)
{
	char *name = argv[*i] + 2, *eq = strchr(name, '=');
	size_t len = eq == NULL ? strlen(name) : (size_t)(eq - name);
	const struct lab_option *o = find(c, name, len);

	if (o == NULL)
		return unknown_option(c, name, len);
	if (o->value == NULL)
		return eq == NULL ? take(a, c, o, NULL)
				  : complain(c, "no value belongs to ", argv[*i]);
	if (eq != NULL)
		return take(a, c, o, eq + 1);
	if (*i + 1 == argc)
		return complain(c, "a value is missing behind ", argv[*i]);
	return take(a, c, o, argv[++*i]);
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
	bool ok = true;

	*out = (struct lab_args){.digits = EXPR_DIGITS,
				 .files = room(argc, sizeof(char *)),
				 .sets = room(argc, sizeof(struct sc_set)),
				 .varies = room(argc, sizeof(char *)),
				 .metrics = room(argc, sizeof(char *))};
	for (int i = 0; ok && i < argc; i++) {
		if (strncmp(argv[i], "--", 2) == 0 && argv[i][2] != '\0')
			ok = option(out, c, argv, argc, &i);
		else
			out->files[out->n_files++] = argv[i];
	}
	if (ok && !out->help && out->n_files == 0 && (c->options & LAB_NEEDS_FILE))
		ok = complain(c, "no scenario file is named", "");
	return ok;
}

void lab_args_fini(struct lab_args *a)
{
	free(a->files);
	free(a->sets);
	free(a->varies);
	free(a->metrics);
	arena_fini(&a->arena);
}
