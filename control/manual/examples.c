// SPDX-License-Identifier: Apache-2.0
// The examples of the manual pages.
#include <string.h>

#include "control/manual/pages.h"
#include "control/manual/roff.h"

struct example {
	const char *page, *command, *says;
};

static const struct example rows[] = {
	{"weir", "weir -c policy.yaml", "Runs the switch of a policy file until Ctrl-C."},
	{"weir", "weir -c policy.yaml --metrics 9410",
	 "Also serves the metrics at http://127.0.0.1:9410/metrics."},
	{"weir", "weir -c policy.yaml --wait 30",
	 "Waits up to 30 seconds for interfaces that do not exist yet."},
	{"weir", "weir --selftest xdp:eth1 xdp:eth2",
	 "Tests two interfaces that a cable joins, and prints what they can do."},

	{"weirctl", "weirctl check policy.yaml", "Prints all mistakes of a policy file."},
	{"weirctl", "weirctl plan policy.yaml",
	 "Prints headroom, thresholds and memory that follow from a policy file."},
	{"weirctl", "weirctl -s tor1 show pfc --why",
	 "Prints which queue causes each PAUSE of the switch tor1."},
	{"weirctl", "weirctl -s tor1 show events --severity warning --since 5m",
	 "Prints warnings and alarms of the last five minutes."},
	{"weirctl", "weirctl -s tor1 reload policy.yaml --check",
	 "Prints what a new policy would change, and changes nothing."},
	{"weirctl", "weirctl -s tor1 capture p3 p3.pcapng --filter 'udp port 4791' --count 100",
	 "Writes 100 RoCEv2 frames of the port p3 to a file."},

	{"weir-host", "weir-host --device xdp:eth1 --ip 10.0.0.1 --listen",
	 "Accepts connections and acknowledges what comes."},
	{"weir-host", "weir-host --device xdp:eth2 --ip 10.0.0.2 --to 10.0.0.1 --qps 4 --time 10s",
	 "Sends over four queue pairs for ten seconds."},
	{"weir-host",
	 "weir-host --device xdp:eth2 --ip 10.0.0.2 --to 10.0.0.1 --dscp 26 --cc dcqcn",
	 "Sends with DSCP 26 under DCQCN; the listener needs the same --dscp and --cc."},
	{"weir-host", "weir-host --device xdp:eth1 --storm --class 3 --for 1s",
	 "Pauses class 3 of the peer for one second."},

	{"weir-lab", "weir-lab list storm", "Prints the bundled scenarios about storms."},
	{"weir-lab", "weir-lab run first --out runs/first",
	 "Runs the bundled scenario first, and writes runs/first/report.html."},
	{"weir-lab", "weir-lab run tutorial --set policy.profiles.roce.classes.3.wred.kmin=5KB",
	 "Runs a scenario with another threshold of the policy."},
	{"weir-lab",
	 "weir-lab sweep tutorial --vary policy.profiles.roce.classes.3.wred.kmin=5KB,50KB,400KB",
	 "Runs a scenario with three thresholds, and prints one table."},
	{"weir-lab", "weir-lab fluid equilibrium",
	 "Prints what the fluid model of DCQCN predicts beside a packet run."},

	{"weir-policy", "weirctl check policy.yaml --strict",
	 "Prints all mistakes of the file; warnings count as mistakes."},
	{"weir-policy", "weirctl plan policy.yaml", "Prints each number that the file leads to."},
	{"weir-policy", "weirctl -s tor1 diff policy.yaml",
	 "Prints the keys in which the file differs from the policy in force."},
	{"weir-policy", "weirctl -s tor1 reload policy.yaml", "Puts the file into force."},
};

void page_examples(FILE *out, const char *page)
{
	roff_section(out, "EXAMPLES");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].page, page) == 0)
			roff_item(out, rows[i].command, rows[i].says);
}
