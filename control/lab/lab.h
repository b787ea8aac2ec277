// SPDX-License-Identifier: Apache-2.0
// The program weir-lab: its commands and its command line, as tables; parsing, --help, the manual
// page and completion come from their rows. A command gets what was parsed and returns the exit
// code: 0 done, 1 failed, 2 misused.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/base/arena.h"
#include "control/base/opts.h"
#include "control/lab/scenario.h"

enum { LAB_DONE, LAB_FAILED, LAB_MISUSED };

struct lab_args {
	const struct lab_command *command;
	const char **files; // scenarios, in order
	struct sc_set *sets; // --set, and --seed as the last
	struct lab_words {
		const char **texts;
		unsigned n;
	} varies, metrics; // --vary, "key=a,b,c"; --metric
	unsigned n_files, n_sets;
	const char *out; // folder, or NULL
	const char *page; // file, or NULL
	unsigned jobs; // 0: one per processor
	unsigned seeds, rounds; // tune: 0: its default
	const char *objective, *throughput, *floor, *pauses, *queue; // tune: NULL: its default
	unsigned digits; // of figures in tables
	unsigned senders; // fluid: 0: the scenario's own
	const char *on; // of Dask, or NULL
	bool json, quiet, list_files, help;
	struct arena arena; // of what `files` names
};

// `usage` is the grammar of completion too (control/base/opts.h).
struct lab_command {
	const char *name, *usage, *help;
	unsigned options; // bits of enum lab_command_bit: those of which it knows
	int (*run)(const struct lab_args *a);
};

enum lab_command_bit {
	LAB_RUN = 1,
	LAB_CHECK = 2,
	LAB_SWEEP = 4,
	LAB_FLUID = 8,
	LAB_COMPLETION = 16,
	LAB_LIST = 32,
	LAB_TUNE = 64,
	LAB_PAGE = 128,
	LAB_NEEDS_FILE = LAB_RUN | LAB_CHECK | LAB_SWEEP | LAB_FLUID | LAB_TUNE,
};

extern const struct lab_command lab_commands[];
extern const size_t lab_n_commands;
extern const struct opts lab_opts; // of all commands
extern const char lab_summary[], lab_exit[];

// The program. Returns its exit code.
int lab_main(int argc, char **argv, const char *version);

// The folder of the bundled scenarios and of `sizes`: that of the installed program, else of the
// source. The Python module of `weir-lab sweep` or `tune` likewise.
const char *bundle_dir(void);
const char *bundle_python(const char *command);

// run.c
// The exit code of a program whose output has to be whole: 1 in place of 0 where it is not.
int lab_finish(int code);
// Whether files can be put into the folder of --out, which is made if need be; asked before
// anything runs. NULL: --out is not given. False: the complaint is printed.
bool lab_can_write(const char *out);
int lab_run(const struct lab_args *a);
int lab_check(const struct lab_args *a);
int lab_python(const struct lab_args *a); // sweep and tune

int lab_fluid(const struct lab_args *a); // fluid.c
int lab_page(const struct lab_args *a); // page_command.c
