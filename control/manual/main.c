// SPDX-License-Identifier: Apache-2.0
// Writes the generated pages of the manual, and the parts between the marks `begin PART` and `end
// PART` of other pages, or says which pages are stale:
//   manual --write DOCS | --check DOCS
// Exit 0 done or fresh, 1 failed or stale, 2 misused. The text comes from the tables of commands,
// options, numbers, drop reasons and events, and from the schemas.
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/base/schema.h"
#include "control/config/model.h"
#include "control/ctl/ctl.h"
#include "control/daemon/eventlog.h"
#include "control/daemon/options.h"
#include "control/host/args.h"
#include "control/hostd/args.h"
#include "control/lab/expr.h"
#include "control/lab/lab.h"
#include "control/lab/scenario_int.h"
#include "control/manual/schemas.h"
#include "control/observe/fact.h"
#include "control/probe/args.h"
#include "control/probe/report.h"
#include "control/sonic/bridge/args.h"
#include "control/sonic/tables.h"
#include "dataplane/drop.h"
#include "dataplane/event.h"

enum { WORD_LEN = 32, TEXT_LEN = 1024, N_CELLS = 5 };
enum { CELL_KEY, CELL_VALUE, CELL_DEFAULT, CELL_APPLIES, CELL_MEANING };

// Prints a page or a part of one. The working directory is that of the manual.
typedef void page_fn(FILE *out);

// Ends the program when a stream cannot be opened.
static FILE *opened(FILE *f, const char *name)
{
	if (f == NULL) {
		perror(name);
		exit(1);
	}
	return f;
}

// ---- pages in roff (man macros, man(7)): `word` is bold, *word* is italic

static void put_char(FILE *out, char c)
{
	switch (c) {
	case '\\': fputs("\\e", out); break;
	case '-': fputs("\\-", out); break;
	case '~': fputs("\\(ti", out); break;
	case '^': fputs("\\(ha", out); break;
	case '\'': fputs("\\(aq", out); break;
	default: fputc(c, out); break;
	}
}

// A star that begins or ends a word is markup; one between blanks or digits is a star.
static bool is_mark(const char *text, size_t i, size_t len, bool open)
{
	char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < len ? text[i + 1] : ' ';

	if (text[i] == '`')
		return true;
	if (text[i] != '*')
		return false;
	return open ? !isspace((unsigned char)before)
		    : !isspace((unsigned char)after) && !isalnum((unsigned char)before);
}

static void put_span(FILE *out, const char *text, size_t len)
{
	char open = '\0';

	if (len > 0 && (text[0] == '.' || text[0] == '\''))
		fputs("\\&", out); // else a request of roff
	for (size_t i = 0; i < len; i++) {
		if ((open != '\0' && text[i] != open) || !is_mark(text, i, len, open != '\0')) {
			put_char(out, text[i]);
			continue;
		}
		if (open != '\0')
			fputs("\\fR", out);
		else
			fputs(text[i] == '`' ? "\\fB" : "\\fI", out);
		open = open != '\0' ? '\0' : text[i];
	}
	if (open != '\0')
		fputs("\\fR", out);
}

static void roff_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		if (len == 0) {
			fputs(".PP\n", out);
		} else {
			size_t lead = strspn(text, " ");

			put_span(out, text + lead, len - lead);
			fputc('\n', out);
		}
		text += len + (text[len] != '\0');
	}
}

static void roff_item(FILE *out, const char *tag, const char *text)
{
	fputs(".TP\n\\fB", out);
	for (; *tag != '\0'; tag++)
		put_char(out, *tag);
	fputs("\\fR\n", out);
	roff_text(out, text);
}

// A line as it is.
static void put_line(FILE *out, const char *text, size_t len)
{
	if (len > 0 && text[0] == '.')
		fputs("\\&", out); // else a request of roff
	for (size_t i = 0; i < len; i++)
		put_char(out, text[i]);
	fputc('\n', out);
}

static void roff_lines(FILE *out, const char *text)
{
	fputs(".nf\n", out);
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		put_line(out, text, len);
		text += len + (text[len] != '\0');
	}
	fputs(".fi\n", out);
}

// ---- counters.md: every number, drop reason and event, with all its names

static const char intro[] =
	"# Counters, drop reasons, events\n"
	"\n"
	"Made from the tables of the programs by `scripts/docs`; do not edit. Every number has one "
	"source and three views:\n"
	"\n"
	"| view | how | counts from |\n"
	"| --- | --- | --- |\n"
	"| JSON | `weirctl show KIND --json` | the last `weirctl clear counters` |\n"
	"| Prometheus | `weirctl metrics`, or `weir --metrics PORT` and "
	"`http://127.0.0.1:PORT/metrics` | the start of the switch |\n"
	"| DPDK telemetry | `dpdk-telemetry.py -f weir-NAME`, then `/weir/LIST[,PORT][,PAGE]` | as "
	"JSON |\n"
	"\n"
	"Bytes of ports and queues are frame bytes without FCS; bytes of priority groups and pools "
	"are whole\n"
	"cells. Counters have one writer and are read without stopping it: numbers that belong "
	"together agree\n"
	"exactly when the switch is at rest (`weirctl quiesce`). A residence time is as fine as "
	"the loops of its\n"
	"worker: a frame that leaves in the loop in which it came counts 0 ns.\n"
	"\n"
	"*Derived* numbers (rates, quantiles) are no metrics: Prometheus makes them from the "
	"counters.\n";

static const char *const kind_names[N_FACT_KINDS] = {
	[FACT_ID] = "identity",	    [FACT_LABEL] = "label", [FACT_TEXT] = "text",
	[FACT_COUNTER] = "counter", [FACT_GAUGE] = "gauge", [FACT_YES] = "yes or no",
	[FACT_DERIVED] = "derived",
};

static void metric_cell(FILE *out, const struct fact_list *l, const struct fact *f)
{
	char name[METRIC_NAME_LEN];

	if (fact_metric(l, f, name))
		fprintf(out, "`%s`", name);
	else if (l->prefix != NULL && (f->kind == FACT_ID || f->kind == FACT_LABEL))
		fprintf(out, "label `%s`", fact_label(f));
	else if (l->prefix != NULL && f->kind == FACT_TEXT)
		fprintf(out, "label of `%s_info`", l->prefix);
}

static void list_section(FILE *out, const struct fact_list *l)
{
	fprintf(out, "\n## %s\n\n`weirctl show %s`, in JSON `%s%s`", l->help, l->what, l->list,
		l->single ? "" : "[]");
	if (l->prefix != NULL)
		fprintf(out, "; telemetry `/weir/%s`", l->list);
	fputs("\n\n| key | kind | Prometheus | meaning |\n| --- | --- | --- | --- |\n", out);
	for (size_t i = 0; i < l->n; i++) {
		const struct fact *f = &l->rows[i];

		fprintf(out, "| `%s` | %s | ", f->key, kind_names[f->kind]);
		metric_cell(out, l, f);
		fprintf(out, " | %s |\n", f->help);
	}
}

static void page_counters(FILE *out)
{
	fputs(intro, out);
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		list_section(out, &fact_lists[i]);
	fputs("\n## Metrics of their own\n\n| Prometheus | type | meaning |\n| --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < N_FACT_METRICS; i++)
		fprintf(out, "| `%s` | %s | %s |\n", fact_metrics[i].name, fact_metrics[i].type,
			fact_metrics[i].help);
	fputs("\n## Drop reasons\n\nThe `reason` of a row of `show drops`. *Alarm*: in a lossless "
	      "class it must not happen, and\nmakes an event `lossless-drop`.\n\n"
	      "| reason | alarm | meaning |\n| --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < N_DROP_REASONS; i++)
		fprintf(out, "| `%s` | %s | %s |\n", drop_info[i].name,
			drop_info[i].loss ? "yes" : "", drop_info[i].help);
	fputs("\n## Names of events\n\n| event | severity | meaning |\n| --- | --- | --- |\n", out);
	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		fprintf(out, "| `%s` | %s | %s |\n", event_info[i].name, eventlog_severity(i),
			event_info[i].help);
}

// ---- weir-policy(5), from configuration.md: a bullet becomes an indented paragraph, a row of the
// table an entry

// "| a | b |" in place; false when it is no row of that many cells.
static bool split_row(char *line, char *cells[N_CELLS])
{
	line += 2;
	for (int i = 0; i < N_CELLS; i++) {
		char *end = strstr(line, " |");

		if (end == NULL)
			return false;
		*end = '\0';
		cells[i] = line;
		line = end + 2;
		line += *line == ' ';
	}
	return true;
}

static void table_row(FILE *out, char *line)
{
	char *cells[N_CELLS], *key, facts[TEXT_LEN];
	bool with_default;

	if (strncmp(line, "| key |", 7) == 0 || strncmp(line, "| --- |", 7) == 0 ||
	    !split_row(line, cells))
		return;
	with_default = cells[CELL_DEFAULT][0] != '\0';
	key = cells[CELL_KEY] + 1; // without its backticks
	key[strcspn(key, "`")] = '\0';
	roff_item(out, key, "");
	roff_text(out, cells[CELL_MEANING]);
	snprintf(facts, sizeof(facts), "Value: %s; %s%s%s%s.", cells[CELL_VALUE],
		 with_default ? "default: " : "", with_default ? cells[CELL_DEFAULT] : "",
		 with_default ? "; " : "", cells[CELL_APPLIES]);
	fputs(".br\n", out);
	roff_text(out, facts);
}

static void line_out(FILE *out, char *line, bool *in_table, bool *in_code)
{
	if (strncmp(line, "```", 3) == 0) {
		fputs(*in_code ? ".fi\n" : ".PP\n.nf\n", out);
		*in_code = !*in_code;
	} else if (*in_code) {
		put_line(out, line, strlen(line));
	} else if (line[0] == '|') {
		if (!*in_table)
			fputs(".SH KEYS\n", out);
		*in_table = true;
		table_row(out, line);
	} else if (strncmp(line, "* ", 2) == 0) {
		fputs(".IP \\(bu 2\n", out);
		roff_text(out, line + 2);
	} else if (line[0] == '\0') {
		fputs(".PP\n", out);
	} else if (line[0] != '#' && line[0] != '<') {
		roff_text(out, line);
	}
}

static void part_policy(FILE *out)
{
	FILE *in = opened(fopen("configuration.md", "re"), "configuration.md");
	bool in_table = false, in_code = false;
	char *line = NULL;
	size_t room = 0;

	// The title and the blank line below it are not for this page.
	for (int i = 0; i < 2; i++)
		if (getline(&line, &room, in) < 0)
			break;
	while (getline(&line, &room, in) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		line_out(out, line, &in_table, &in_code);
	}
	free(line);
	fclose(in);
}

// ---- the parts of the pages of the programs

static const struct program {
	const char *name;
	const char *usage; // NULL: that of its commands
	const char *about, *exit;
	const struct opts *opts;
} programs[] = {
	{"weir", options_usage, options_summary, options_exit, &weir_opts},
	{"weirctl", "weirctl [-s NAME] COMMAND", ctl_summary, ctl_exit_text, &ctl_opts},
	{"weir-host", host_usage, host_summary, host_exit, &host_opts},
	{"weir-hostd", hostd_usage, hostd_summary, hostd_exit, &hostd_opts},
	{"weir-sonic", bridge_usage, bridge_summary, bridge_exit, &bridge_opts},
	{"weir-lab", NULL, lab_summary, lab_exit, &lab_opts},
	{"weir-probe", probe_usage, probe_summary, probe_exit, &probe_opts},
};

// A form is filled, as it may be wider than a terminal. The next one begins a line.
static void roff_forms(FILE *out, const char *forms)
{
	while (*forms != '\0') {
		size_t len = strcspn(forms, "\n");

		put_span(out, forms, len);
		fputs("\n.br\n", out);
		forms += len + (forms[len] != '\0');
	}
}

static void usage(FILE *out, const struct program *p)
{
	fputs(".ad l\n", out);
	if (p->usage != NULL)
		roff_forms(out, p->usage);
	else
		for (size_t i = 0; i < lab_n_commands; i++)
			roff_forms(out, lab_commands[i].usage);
	fputs(".ad\n", out);
}

static void options(FILE *out, const struct program *p)
{
	for (unsigned i = 0; i < p->opts->n; i++) {
		const struct opt *row = &p->opts->rows[i];
		char tag[OPT_TERM_LEN], text[TEXT_LEN];
		const char *lead = ". Of ";
		int len = snprintf(text, sizeof(text), "%s", row->help);

		for (size_t c = 0; row->commands != 0 && c < lab_n_commands; c++)
			if (row->commands & lab_commands[c].options) {
				len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s",
						lead, lab_commands[c].name);
				lead = ", ";
			}
		if (row->commands != 0)
			snprintf(text + len, sizeof(text) - (size_t)len, ".");
		opt_term(row, "", tag);
		roff_item(out, tag, text);
	}
}

static bool part_of_program(FILE *out, const char *part, const char *program)
{
	const struct program *p = NULL;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, program) == 0)
			p = &programs[i];
	if (p == NULL)
		return false;
	if (strcmp(part, "usage") == 0)
		usage(out, p);
	else if (strcmp(part, "summary") == 0)
		roff_text(out, p->about);
	else if (strcmp(part, "options") == 0)
		options(out, p);
	else if (strcmp(part, "exit") == 0)
		fprintf(out, "%.*s.\n", (int)strcspn(p->exit, "."), p->exit);
	else
		return false;
	return true;
}

static void part_telemetry(FILE *out)
{
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		if (fact_lists[i].prefix != NULL)
			fprintf(out, "\\fB/weir/%s\\fR\n", fact_lists[i].list);
}

static void part_lab_commands(FILE *out)
{
	for (size_t i = 0; i < lab_n_commands; i++)
		roff_item(out, lab_commands[i].name, lab_commands[i].help);
}

// The list that follows the help of a command, as it is printed there.
static void more_lines(FILE *out, page_fn *more)
{
	char *text = NULL;
	size_t len = 0;
	FILE *mem = opened(open_memstream(&text, &len), "memory");

	more(mem);
	fclose(mem);
	fputs(".in 0\n", out); // its lines are as wide as a terminal
	roff_lines(out, text);
	fputs(".in\n", out);
	free(text);
}

static void part_measures(FILE *out)
{
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++)
		roff_item(out, probe_measures[i].name, probe_measures[i].help);
}

static void part_ctl_commands(FILE *out)
{
	struct command_table commands = ctl_commands();

	for (const struct command *c = commands.rows; c < commands.rows + commands.n; c++) {
		char forms[TEXT_LEN], *save = NULL;

		snprintf(forms, sizeof(forms), "%s", c->usage);
		for (char *form = strtok_r(forms, "\n", &save); form != NULL;
		     form = strtok_r(NULL, "\n", &save))
			roff_item(out, form, "");
		roff_text(out, c->help);
		if (c->more != NULL)
			more_lines(out, c->more);
	}
}

// ---- pages

static void part_policy_keys(FILE *out)
{
	fputs("| key | value | default | applies | meaning |\n"
	      "| --- | --- | --- | --- | --- |\n", out);
	schema_print(&cfg_root_schema, "", true, out);
}

static void part_scenario_keys(FILE *out)
{
	fputs("| key | value | default | meaning |\n| --- | --- | --- | --- |\n", out);
	schema_print(&sc_root_schema, "", false, out);
	schema_print(&sc_switch_schema, "switches.NAME.", false, out);
	schema_print(&sc_host_schema, "hosts.NAME.", false, out);
}

static void part_exits(FILE *out)
{
	fputs("| program | exit status |\n| --- | --- |\n", out);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		fprintf(out, "| `%s` | %.*s |\n", programs[i].name,
			(int)strcspn(programs[i].exit, "."), programs[i].exit);
}

static const struct {
	const char *file;
	page_fn *fn; // NULL: its parts are generated
} pages[] = {
	{"automation.md", NULL},
	{"configuration.md", NULL}, // weir-policy(5) reads it
	{"counters.md", page_counters},
	{"probe.md", NULL},
	{"scenario-functions.md", expr_func_docs},
	{"scenarios.md", NULL},
	{"schemas/show.json", schemas_print},
	{"sonic.md", NULL},
	{"man/weir.8", NULL},
	{"man/weirctl.1", NULL},
	{"man/weir-host.1", NULL},
	{"man/weir-hostd.1", NULL},
	{"man/weir-lab.1", NULL},
	{"man/weir-probe.1", NULL},
	{"man/weir-sonic.1", NULL},
	{"man/weir-policy.5", NULL},
};

static const struct {
	const char *part, *of;
	page_fn *fn;
} parts[] = {
	{"keys", "policy", part_policy_keys},	 {"keys", "scenario", part_scenario_keys},
	{"text", "policy", part_policy},	 {"telemetry", "weir", part_telemetry},
	{"commands", "weirctl", part_ctl_commands}, {"commands", "weir-lab", part_lab_commands},
	{"exits", "programs", part_exits},	 {"fields", "sonic", sonic_print_fields},
	{"values", "weir-probe", probe_report_values}, {"measures", "weir-probe", part_measures},
};

static bool print_manual_part(FILE *out, const char *name, const char *of)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].part, name) == 0 && strcmp(parts[i].of, of) == 0) {
			parts[i].fn(out);
			return true;
		}
	return part_of_program(out, name, of);
}

// Behind the sign of a comment in Markdown or roff; "" where the line is none.
static const char *comment(const char *line)
{
	if (strncmp(line, "<!-- ", 5) == 0)
		return line + 5;
	return strncmp(line, ".\\\" ", 4) == 0 ? line + 4 : line + strlen(line);
}

// Copies a page; its parts are made anew. False: a mark is unknown, or has no end.
static bool with_parts(FILE *out, const char *path)
{
	FILE *in = opened(fopen(path, "re"), path);
	char *line = NULL, name[WORD_LEN], of[WORD_LEN];
	bool ok = true, skip = false;
	size_t room = 0;

	while (ok && getline(&line, &room, in) >= 0) {
		if (strncmp(comment(line), "end ", 4) == 0)
			skip = false;
		if (!skip)
			fputs(line, out);
		if (sscanf(comment(line), "begin %31s of %31s", name, of) == 2) {
			ok = print_manual_part(out, name, of);
			skip = true;
		}
	}
	free(line);
	fclose(in);
	return ok && !skip;
}

static bool same_as_file(const char *path, const char *text, size_t len)
{
	FILE *f = opened(fopen(path, "re"), path);
	char *have = calloc(1, len + 1);
	bool same = have != NULL && fread(have, 1, len + 1, f) == len &&
		    memcmp(have, text, len) == 0;

	free(have);
	fclose(f);
	return same;
}

static bool page(unsigned i, bool check)
{
	const char *path = pages[i].file;
	char *text = NULL;
	size_t len = 0;
	FILE *out = opened(open_memstream(&text, &len), "memory"), *f;
	bool ok = true;

	if (pages[i].fn != NULL)
		pages[i].fn(out);
	else
		ok = with_parts(out, path);
	fclose(out);
	if (!ok) {
		fprintf(stderr, "docs/%s: cannot be made; are its marks whole?\n", path);
	} else if (check) {
		ok = same_as_file(path, text, len);
		if (!ok)
			fprintf(stderr, "docs/%s is stale: run scripts/docs\n", path);
	} else {
		f = opened(fopen(path, "we"), path);
		ok = fwrite(text, 1, len, f) == len;
		if (fclose(f) != 0 || !ok) {
			perror(path);
			ok = false;
		}
	}
	free(text);
	return ok;
}

int main(int argc, char **argv)
{
	bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
	bool ok = true;

	if (argc != 3 || (!check && strcmp(argv[1], "--write") != 0)) {
		fputs("usage: manual --write DOCS | --check DOCS\n", stderr);
		return 2;
	}
	if (chdir(argv[2]) != 0) {
		perror(argv[2]);
		return 1;
	}
	for (unsigned i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		ok &= page(i, check);
	return ok ? 0 : 1;
}
