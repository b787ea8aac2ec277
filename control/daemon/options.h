// SPDX-License-Identifier: Apache-2.0
// The command line of `weir`: its options as rows of control/base/opts.h. Pure but for printing
// help and complaints.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "control/base/opts.h"
#include "control/daemon/http.h"

enum { OPTIONS_PORTS_MAX = 2 };

struct options {
	const char *policy_path;
	bool json; // the balance at exit as JSON
	bool busy_poll; // workers never sleep
	bool keep_privileges;
	bool allow_vdev; // ports of DPDK's virtual devices
	bool help, version;
	unsigned wait_s; // for devices that do not exist yet
	bool metrics_on;
	struct endpoint metrics; // where the page of metrics is served
	bool web_on;
	struct endpoint web; // where the page is served
	const char *web_token; // file; NULL: none
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
extern const struct opts weir_opts;
extern const char options_usage[], options_summary[], options_notes[], options_exit[];
