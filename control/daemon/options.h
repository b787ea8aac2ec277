// SPDX-License-Identifier: Apache-2.0
// The command line of `weir`, as a table: parsing, --help and the manual page come from its rows.
// Pure but for printing help and complaints.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "control/daemon/endpoint.h"

enum { OPTIONS_PORTS_MAX = 2 };

struct options {
	const char *policy_path;
	bool json; // the balance at exit as JSON
	bool busy_poll; // workers never sleep
	bool keep_privileges;
	unsigned wait_s; // for devices that do not exist yet
	bool metrics_on;
	struct endpoint metrics; // where the page of metrics is served
	const char *ports[OPTIONS_PORTS_MAX]; // to test in place of running a switch
	int n_ports;
	char **eal; // after `--`
	int n_eal;
};

enum options_verdict {
	OPTIONS_RUN,
	OPTIONS_DONE, // help or version was printed: exit 0
	OPTIONS_MISUSED, // a complaint was printed: exit 2
};

enum options_verdict options_parse(int argc, char **argv, struct options *out);

// For the manual page.
struct option_row {
	const char *name; // without the dashes
	char letter;
	bool has_short; // the letter may be typed
	const char *value; // NULL: takes none
	const char *help;
};
const struct option_row *options_rows(size_t *n);

extern const char options_usage[], options_summary[], options_notes[], options_exit[];
