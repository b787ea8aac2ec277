// SPDX-License-Identifier: Apache-2.0
// weirctl: a row for each command and for each option. The command line, --help, shell completion
// and the manual page all come from these rows. A command gets its own words, without the options
// that hold for all, and returns the exit status.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "control/base/opts.h"

struct command;

enum { CTL_DONE = 0, CTL_FAILED = 1, CTL_MISUSED = 2 };

struct capture_words { // as given; NULL: not given
	const char *filter, *only, *last, *time, *snaplen;
	bool until_drop;
};

struct impair_words { // as given; NULL: not given
	const char *match, *action, *for_text;
	unsigned seed; // 0: not given
	bool in, out;
};

struct ctl {
	const char *name; // of the switch; NULL: not given
	const struct command *command;
	bool json;
	bool hold; // quiesce --hold
	bool strict; // check --strict
	bool check; // reload --check
	bool sonic; // plan --sonic
	enum { STYLE_NOT_GIVEN, STYLE_WEIR, STYLE_SONIC } style; // show
	const char *confirm; // reload --confirm-within; NULL: not given
	bool all, explain, follow, why, unpaired, elephants, wide; // show
	unsigned limit; // show flows; 0: not given
	const char *severity, *since; // show events; NULL: not given
	double interval_s; // watch, show interfaces
	bool interval_given;
	bool help, version;
	bool plain; // watch
	// watch: updates, capture: frames before it ends, impair: frames that are changed; 0: until
	// interrupted. show cnps, show events: how many
	unsigned count;
	struct capture_words capture;
	const char *output, *ports, *pg_lookup; // import, export; NULL: not given
	bool partial; // import
	struct impair_words impair;
};

typedef int ctl_fn(const struct ctl *c, int argc, char **argv);

ctl_fn cmd_show, cmd_watch, cmd_check, cmd_plan, cmd_words, cmd_clear, cmd_quiesce, cmd_request,
	cmd_reload, cmd_rollback, cmd_capture, cmd_metrics, cmd_diff,
	cmd_impair, cmd_inof, cmd_support, cmd_completion, cmd_import, cmd_export;

// `usage` is one line per form, and the grammar of completion (control/base/opts.h).
struct command {
	const char *name;
	ctl_fn *fn;
	int least, most; // words behind the command
	const char *usage;
	const char *help; // whole sentences, lines of at most 80 columns
	void (*more)(FILE *out); // NULL, or a list that goes on after the help
	bool writes; // changes the switch
	const char *page; // of docs/: about it and its errors; NULL: none
};

struct command_table {
	const struct command *rows;
	size_t n;
};

struct command_table ctl_commands(void);
extern const struct opts ctl_opts;

// The first lines of --help and of the manual page.
extern const char ctl_summary[];
extern const char ctl_exit_text[];
extern const char ctl_try_help[];

// Each form of a command on a line of its own, the first after `first`, the others after `next`.
void print_usage(FILE *out, const struct command *cmd, const char *first, const char *next);

// Prints what is wrong, and where the help is: CTL_MISUSED.
__attribute__((format(printf, 1, 2))) int misused(const char *fmt, ...);

// Prints the usage of the command: CTL_MISUSED.
int misused_words(const struct ctl *c);

// Adds the kinds of `show` to its help.
void show_help(FILE *out);
// The page about a kind, which may be wrong or the first of two words.
const char *show_page(const char *what);
