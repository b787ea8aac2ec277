// SPDX-License-Identifier: Apache-2.0
// The command line of weir-sonic, as rows (control/base/opts.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/base/opts.h"

struct bridge_args {
	const char *redis; // address of the server
	const char *name; // of the switch
	const char *policy; // the file that the bridge writes and the switch runs
	const char *ports; // Ethernet0=xdp:eth1,...; NULL: the devices have the ports' names
	const char *lookup; // pg_profile_lookup.ini; NULL: none
	int64_t every_ns, settle_ns, poll_ns;
	bool once, no_counters, help, version;
};

// False after a complaint.
bool bridge_args_parse(int argc, char **argv, struct bridge_args *out);

void bridge_args_help(void);

extern const struct opts bridge_opts;
extern const char bridge_usage[], bridge_summary[], bridge_exit[];
