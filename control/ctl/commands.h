// SPDX-License-Identifier: Apache-2.0
// What weirctl can do, as tables: one row per command and one per option. The command line, --help,
// shell completion and the manual page all come from these rows. Pure data.
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "control/ctl/ctl.h"
#include "control/opts.h"

// `usage` is one line per form, and the grammar of completion (control/completion.h).
struct command {
	const char *name;
	ctl_fn *fn;
	const char *usage;
	const char *help; // whole sentences, lines of at most 80 columns
	void (*more)(FILE *out); // NULL, or a list that goes on after the help
	bool writes; // changes the switch
};

struct command_table {
	const struct command *rows;
	size_t n;
};

struct command_table ctl_commands(void);
extern const struct opts ctl_opts;

void show_help(FILE *out);

// Each form of a command on a line of its own, the first after `first`, the others after `next`.
void print_usage(FILE *out, const struct command *cmd, const char *first, const char *next);

// The first lines of --help and of the manual page.
extern const char ctl_summary[];
extern const char ctl_exit_text[];
