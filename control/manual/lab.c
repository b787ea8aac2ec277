// SPDX-License-Identifier: Apache-2.0
// weir-lab(1), from its tables of commands and options, and docs/scenarios.md, from the rows of a
// scenario file.
#include <string.h>

#include "control/config/schema_doc.h"
#include "control/lab/lab.h"
#include "control/lab/scenario_int.h"
#include "control/manual/pages.h"
#include "control/manual/roff.h"

enum { TEXT_LEN = 512 };

// ---- weir-lab(1)
static void options(FILE *out)
{
	for (unsigned i = 0; i < lab_opts.n; i++) {
		const struct opt *o = &lab_opts.rows[i];
		char tag[OPT_TERM_LEN], text[TEXT_LEN];
		const char *sep = " Of";

		opt_term(o, "", tag);
		snprintf(text, sizeof(text), "%s.", o->help);
		for (size_t c = 0; c < lab_n_commands; c++)
			if (o->commands & lab_commands[c].options) {
				size_t len = strlen(text);

				snprintf(text + len, sizeof(text) - len, "%s %s", sep,
					 lab_commands[c].name);
				sep = ",";
			}
		strncat(text, ".", sizeof(text) - strlen(text) - 1);
		roff_item(out, tag, text);
	}
}

int page_weir_lab(FILE *out, const char *docs)
{
	char exits[TEXT_LEN];

	(void)docs;
	roff_head(out, "weir-lab", 1, "whole lossless fabrics on a virtual clock");
	roff_section(out, "SYNOPSIS");
	for (size_t i = 0; i < lab_n_commands; i++)
		roff_lines(out, lab_commands[i].usage);
	roff_section(out, "DESCRIPTION");
	roff_text(out, lab_summary);
	roff_section(out, "COMMANDS");
	for (size_t i = 0; i < lab_n_commands; i++)
		roff_item(out, lab_commands[i].name, lab_commands[i].help);
	roff_section(out, "OPTIONS");
	options(out);
	roff_section(out, "EXIT STATUS");
	snprintf(exits, sizeof(exits), "%s.", lab_exit);
	roff_text(out, exits);
	fputc('\n', out);
	page_examples(out, "weir-lab");
	roff_see_also(out, "weir(8), weir-host(1), weir-policy(5); scenarios.md has the keys of a\n"
			   "scenario file, scenario-functions.md what it can expect.\n");
	return 0;
}

// ---- scenarios.md
static const char head[] =
	"# Scenario files\n"
	"\n"
	"Generated from the rows of `control/lab`; do not edit. A scenario is one YAML document:\n"
	"`weir-lab check FILE` reports every mistake in one pass as `file:line:column: key: "
	"text`,\n"
	"`weir-lab run FILE` runs it. [scenario-functions.md](scenario-functions.md) has what "
	"`record` and\n"
	"`expect` can say; `conf/lab/first.yaml` shows every kind of key.\n"
	"\n"
	"* Units are those of a policy file: `100KB`, `10us`, `40G`, `5m`, `50%`.\n"
	"* Ranges expand in names: `h[1-3]` is h1, h2, h3. The ends of `between` expand side by "
	"side.\n"
	"  `*` stands for any run of characters. A later entry of `hosts` or `switches` adds to "
	"what\n"
	"  earlier ones say of the same node.\n"
	"* Ports of a switch are p1, p2, ... A port takes the settings of the policy's port of the "
	"same\n"
	"  name, else of its last port; its speed and cable are the link's, and so is its "
	"headroom. The\n"
	"  `profile` of a link, or of a tier of a topology, replaces the port's. The policy's "
	"`fdb`,\n"
	"  `routes`, `neighbours`, addresses, devices and number of workers are not used; ports "
	"need\n"
	"  no `device`. A warning of a policy ends with its switches.\n"
	"* `override` is laid over the policy file key by key: maps merge, anything else replaces, "
	"`~`\n"
	"  removes the key. A range of classes, 0-7, merges class by class. Mistakes are "
	"reported\n"
	"  where they stand.\n"
	"* `--set a.b[2].c=value` changes the file before it is read; `policy.X` is `override.X`. "
	"Keys\n"
	"  that hold a dot are quoted: `--set 'hosts.\"h[1-3]\".nic.cc=none'`.\n"
	"* `params: {n: 8, kmin: 100KB}` gives values names. `$n` stands for the value in every "
	"key\n"
	"  and value of this file: names, counts, sizes, times, rates, titles, expectations. "
	"`${n}`\n"
	"  ends the name where letters follow. `${2 * n}` is computed, as in an expectation: with "
	"+,\n"
	"  -, *, /, parentheses and units; rates, sizes and times become whole bits per second,\n"
	"  bytes and nanoseconds. A param may use others. `$$` is a dollar sign. `--set "
	"params.n=16`\n"
	"  and `--vary params.n=8,16,32` change it; the report names the values. A policy file "
	"has\n"
	"  no params; what is laid over the file with `override` has. In a map or list written\n"
	"  with brackets, `${n}` needs quotes.\n"
	"* Hosts have the addresses 10.0.0.1, 10.0.0.2, ... in the order of the file. Switches "
	"bridge\n"
	"  where their links form a tree, and then know every host; else they route by shortest "
	"paths,\n"
	"  and flows spread over equal ones.\n"
	"* Names that a topology gives: hosts h1, h2, ...; star: s1; leaf-spine: leaves l1, ..., "
	"spines\n"
	"  s1, ...; clos: ToRs t1, ..., leaves l1, ..., spines s1, ...; ring: s1, .... The ports "
	"of a\n"
	"  switch are its hosts first, then the tier below, then the tier above; of a ring: hosts, "
	"the\n"
	"  next switch, the one before.\n"
	"* While a port is down, no switch uses a derived route behind it: `withdraw`, and\n"
	"  [routing.md](routing.md#links-of-the-lab). Routes of the file stay as they are "
	"written.\n"
	"* A fault lasts from `at` for `for`. A reload stays until the next one of its switch, "
	"which\n"
	"  is again laid over what the switch started with: `reload: {override: {}}` brings that\n"
	"  back. A pattern of hosts strikes each of them.\n"
	"* The report says why hosts and switches were paused: what the chains of PAUSE end in, "
	"as\n"
	"  it was each millisecond ([lab-tutorial.md](lab-tutorial.md)).\n"
	"* A switch follows flows where its policy speaks of `flows`, `pairs` or IPCC, then 4096\n"
	"  of them unless it says how many. Every notification it sends is held against the\n"
	"  truth at the instant it leaves: one for a queue pair that is not the flow's fails the\n"
	"  run, unless an expectation speaks of `wrong_cnps`. One that a host has to refuse fails\n"
	"  it always.\n"
	"* The same file and seed give the same bytes of JSON, CSV and plots.\n"
	"\n"
	"| key | value | default | meaning |\n"
	"| --- | --- | --- | --- |\n";

int page_scenarios(FILE *out, const char *docs)
{
	(void)docs;
	fputs(head, out);
	schema_print(&sc_root_schema, "", false, out);
	schema_print(&sc_switch_schema, "switches.NAME.", false, out);
	schema_print(&sc_host_schema, "hosts.NAME.", false, out);
	return 0;
}
