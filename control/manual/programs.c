// SPDX-License-Identifier: Apache-2.0
// The pages of the programs: weir(8), weirctl(1), weir-host(1).
#include <stdlib.h>
#include <string.h>

#include "control/ctl/commands.h"
#include "control/daemon/options.h"
#include "control/host/args.h"
#include "control/manual/pages.h"
#include "control/manual/roff.h"
#include "control/observe/fact.h"

enum { TAG_LEN = 128 };

static void option_items(FILE *out, const struct opts *o)
{
	for (unsigned i = 0; i < o->n; i++) {
		char tag[OPT_TERM_LEN];

		opt_term(&o->rows[i], "", tag);
		roff_item(out, tag, o->rows[i].help);
	}
}

// ---- weir(8)

static const char telemetry_text[] =
	"Each switch has a runtime directory of its own, `weir-NAME`:\n"
	"\n"
	"`dpdk-telemetry.py -f weir-NAME`\n"
	"\n"
	"A command takes a port, a page, or both: `/weir/queues,p1`, `/weir/queues,2`.\n"
	"A reply that is one of several pages says so under `/page` and `/pages`.\n"
	"`-- --no-telemetry` turns telemetry off.\n";

static void telemetry_commands(FILE *out)
{
	roff_text(out, "The numbers of `weirctl show` are also commands of DPDK telemetry,\n"
		       "read-only:\n");
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		if (fact_lists[i].prefix != NULL)
			fprintf(out, "\\fB/weir/%s\\fR\n", fact_lists[i].list);
	fputs(".PP\n", out);
}

static const char metrics_text[] =
	"With `--metrics` the switch serves `http://ADDR:PORT/metrics` in the text format of\n"
	"Prometheus. Without ADDR only this machine can reach it; there is no password and no\n"
	"encryption. `weirctl metrics` prints the same page. The names are in counters.md.\n";

int page_weir(FILE *out, const char *docs)
{
	(void)docs;
	roff_head(out, "weir", 8, "lossless Ethernet switch for RoCEv2");
	roff_section(out, "SYNOPSIS");
	roff_lines(out, options_usage);
	roff_section(out, "DESCRIPTION");
	roff_text(out, options_summary);
	roff_text(out, options_notes);
	roff_text(out, "\nWhat stands after `--` goes to DPDK's EAL.\n"
		       "SIGHUP makes it read its policy file again, as `weirctl reload` does.\n");
	roff_section(out, "OPTIONS");
	option_items(out, &weir_opts);
	roff_section(out, "METRICS");
	roff_text(out, metrics_text);
	roff_section(out, "DPDK TELEMETRY");
	telemetry_commands(out);
	roff_text(out, telemetry_text);
	roff_section(out, "FILES");
	roff_item(out, "/run/weir/NAME.sock", "where weirctl talks to the switch; mode 0600");
	roff_item(out, "/run/weir/NAME.lock", "held while a switch of that name runs");
	roff_item(out, "/var/run/dpdk/weir-NAME/", "DPDK's runtime directory of the switch");
	roff_section(out, "EXIT STATUS");
	roff_text(out, options_exit);
	fputc('\n', out);
	page_examples(out, "weir");
	roff_see_also(out, "weirctl(1), weir-host(1), weir-policy(5)\n");
	return 0;
}

// ---- weirctl(1)

// The list that follows the help of a command, as it is printed there.
static void more_lines(FILE *out, void (*more)(FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&text, &len);

	if (mem == NULL)
		return;
	more(mem);
	fclose(mem);
	fputs(".RS\n", out);
	roff_lines(out, text);
	fputs(".RE\n", out);
	free(text);
}

static void command_items(FILE *out)
{
	struct command_table commands = ctl_commands();

	for (size_t i = 0; i < commands.n; i++) {
		const struct command *c = &commands.rows[i];
		const char *line = c->usage;

		for (; *line != '\0'; line += strcspn(line, "\n")) {
			char tag[2 * TAG_LEN];

			line += *line == '\n';
			snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(line, "\n"), line);
			roff_item(out, tag, "");
		}
		roff_text(out, c->help);
		if (c->more != NULL)
			more_lines(out, c->more);
	}
}

int page_weirctl(FILE *out, const char *docs)
{
	(void)docs;
	roff_head(out, "weirctl", 1, "look at, and steer, a running Weir switch");
	roff_section(out, "SYNOPSIS");
	roff_lines(out, "weirctl [-s NAME] COMMAND");
	roff_section(out, "DESCRIPTION");
	roff_text(out, ctl_summary);
	roff_text(out, "\nTables are for people; the names of `--json` are stable and in\n"
		       "counters.md.\n");
	roff_section(out, "COMMANDS");
	command_items(out);
	roff_section(out, "OPTIONS");
	option_items(out, &ctl_opts);
	roff_section(out, "FILES");
	roff_item(out, "/run/weir/NAME.sock", "the control socket of the switch NAME");
	roff_section(out, "EXIT STATUS");
	roff_text(out, ctl_exit_text);
	page_examples(out, "weirctl");
	roff_see_also(out, "weir(8), weir-host(1), weir-policy(5)\n");
	return 0;
}

// ---- weir-host(1)

int page_weir_host(FILE *out, const char *docs)
{
	(void)docs;
	roff_head(out, "weir-host", 1, host_summary);
	roff_section(out, "SYNOPSIS");
	roff_lines(out, host_usage);
	roff_section(out, "DESCRIPTION");
	roff_text(out, "Sends or receives real RoCEv2 traffic on one port, or sends PAUSE frames,\n"
		       "and reports what happened. What stands after `--` goes to DPDK's EAL.\n");
	roff_section(out, "OPTIONS");
	option_items(out, &host_opts);
	roff_section(out, "EXIT STATUS");
	roff_text(out, host_exit);
	roff_text(out, ".\n");
	page_examples(out, "weir-host");
	roff_see_also(out, "weir(8), weirctl(1)\n");
	return 0;
}
