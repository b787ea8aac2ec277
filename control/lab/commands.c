// SPDX-License-Identifier: Apache-2.0
// The commands of weir-lab: one row each.
#include "control/lab/fluid_run.h"
#include "control/lab/lab.h"
#include "control/lab/sweep.h"

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
