// SPDX-License-Identifier: Apache-2.0
// weirctl: one row per command (commands.c), one function each. A command gets its own words,
// without the options that hold for all, and returns the exit status: 0 done, 1 failed, 2 misused.
#pragma once

#include <stdbool.h>

struct json_object;

enum { CTL_DONE = 0, CTL_FAILED = 1, CTL_MISUSED = 2 };

struct capture_words { // as given; NULL: not said
	const char *filter, *only, *last, *time, *snaplen;
	bool until_drop;
};

struct ctl {
	const char *name; // of the switch; NULL: not said
	bool json;
	bool hold; // quiesce --hold
	bool strict; // check --strict
	bool check; // reload --check
	const char *confirm; // reload --confirm-within; NULL: not said
	bool all, explain, follow, why, unpaired, wide; // show
	unsigned limit; // show flows; 0: not said
	const char *severity, *since; // show events; NULL: not said
	double interval_s; // watch, show interfaces
	bool interval_given;
	bool help, version;
	bool plain; // watch
	// watch: updates, capture: frames before it ends; 0: until interrupted. show cnps, show
	// events: how many
	unsigned count;
	struct capture_words capture;
};

typedef int ctl_fn(const struct ctl *c, int argc, char **argv);

ctl_fn cmd_show, cmd_watch, cmd_check, cmd_plan, cmd_set, cmd_clear, cmd_quiesce, cmd_resume,
	cmd_reload, cmd_capture, cmd_metrics, cmd_completion, cmd_watchdog, cmd_flow, cmd_diff,
	cmd_confirm, cmd_rollback;

extern const char ctl_try_help[];

// Complains and points at the help: CTL_MISUSED.
__attribute__((format(printf, 1, 2))) int misused(const char *fmt, ...);

// Prints the usage of a command. Returns CTL_MISUSED.
int misused_words(const char *command);

// {"cmd": cmd, key: value}; key may be NULL.
struct json_object *request_of(const char *cmd, const char *key, const char *value);

void print_json(struct json_object *data);
