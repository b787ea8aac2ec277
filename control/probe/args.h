// SPDX-License-Identifier: Apache-2.0
// The command line of weir-probe: its options as rows of control/base/opts.h, and what must hold
// between them. Control thread only; opens nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/base/opts.h"
#include "control/probe/measure.h"

struct probe_args {
	const char *port[PROBE_PORTS]; // devices, or ports of the policy
	const char *policy; // NULL: live ports
	const char *hold, *release; // NULL: by PFC
	const char *report; // NULL: none
	bool json, quiet, help, version;
	unsigned which; // bits of measures
	uint8_t classes[PROBE_CLASSES];
	unsigned n_classes;
	int64_t cls, dscp, vlan, most, passes, quanta, rx_ring; // counts; dscp, vlan -1: not given
	int64_t speed; // bits per second; 0: the link's
	int64_t cell, min; // bytes; 0: not known
	int64_t settle_ns, interval_ns, storm_ns, delay_ns; // 0: not given
	char *const *eal; // after "--"
	int n_eal;
};

// False: the complaint is printed.
__attribute__((warn_unused_result)) bool probe_args_parse(int argc, char **argv,
							  struct probe_args *a);
// The measures: what each needs of the command line is in a->conf. Fills what the runner does not.
void probe_args_conf(const struct probe_args *a, struct probe_conf *conf);
void probe_args_help(FILE *out);
void probe_args_completion(FILE *out);

// For the manual page.
extern const struct opts probe_opts;
extern const char probe_summary[], probe_usage[], probe_exit[];
