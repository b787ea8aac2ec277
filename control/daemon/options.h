// SPDX-License-Identifier: Apache-2.0
// The command line of `weir`. Pure but for printing help and complaints.
#pragma once

#include <stdbool.h>

struct options {
	const char *policy_path;
	bool json; // the balance at exit as JSON
	bool busy_poll; // workers never sleep
	char **eal; // after `--`
	int n_eal;
};

enum options_verdict {
	OPTIONS_RUN,
	OPTIONS_DONE, // help or version was printed: exit 0
	OPTIONS_MISUSED, // a complaint was printed: exit 2
};

enum options_verdict options_parse(int argc, char **argv, struct options *out);
