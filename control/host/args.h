// SPDX-License-Identifier: Apache-2.0
// The command line of weir-host: its options as rows of control/base/opts.h, and what must hold
// between them. Control thread only; opens nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/base/opts.h"
#include "dataplane/packet/ip_key.h"
#include "drivers/nic/dcqcn.h"

enum { HOST_MAX_CLASSES = 8, HOST_MAX_TO = 8, HOST_MAX_CC_SETS = 32, HOST_MAX_TURNS = 64 };

enum host_role { HOST_LISTEN, HOST_SEND, HOST_STORM };

struct nic_config;

struct host_args {
	const char *device;
	struct ip_key ip, ip6; // own; zero: not given
	struct ip_key to[HOST_MAX_TO];
	uint8_t inof; // enum inof_role; 0: off
	const char *nqn; // NULL: none
	uint8_t n_to;
	bool listen, storm, ignore_pause, busy, json, no_xon, exact, no_verify, selective,
		help, version;
	uint8_t role; // enum host_role
	uint8_t op; // enum req_op
	uint8_t ecn; // enum nic_ecn
	uint8_t n_classes;
	uint8_t classes[HOST_MAX_CLASSES];
	uint8_t n_dscps; // 0: 8 * class each
	uint8_t dscps[HOST_MAX_CLASSES];
	uint8_t n_pcps; // 0: the class each
	uint8_t pcps[HOST_MAX_CLASSES];
	uint8_t pfc; // bitmap of classes
	uint64_t trimmed_dscps; // bitmap
	int64_t vlan; // VID; -1: untagged
	int64_t time_scale, qps, count, seed, mtu, depth, window, quanta, rx_ring,
		storm_rate; // counts
	int64_t size; // bytes
	int64_t rate, speed; // bits per second; rate 0: line, speed 0: the link's
	// Nanoseconds of model time (control/base/model_time.h), also where real time was given.
	// 0: not given.
	int64_t time_ns, rto_ns, retry_ns, interval_ns, every_ns, for_ns, drain_ns, burst_ns,
		post_every_ns, storm_at_ns, on_ns, off_ns, then_xon_ns, register_ns,
		keep_alive_ns;
	uint8_t n_turns;
	struct {
		int64_t on_ns, off_ns; // a pause, and the silence behind it
	} turns[HOST_MAX_TURNS];
	struct cc_config cc;
	uint8_t n_cc_sets;
	const char *cc_sets[HOST_MAX_CC_SETS]; // as given, until all of the line is read
	char *const *eal; // after "--"
	int n_eal;
};

// argv[0] is skipped. False: the complaint is printed.
__attribute__((warn_unused_result)) bool host_args_parse(int argc, char **argv,
							 struct host_args *a);

// Sets the classes of DSCPs and of PCPs.
void host_args_classes(const struct host_args *a, struct nic_config *c);

void host_args_help(FILE *out);

// For the manual page.
extern const struct opts host_opts;
extern const char host_summary[], host_usage[], host_exit[]; // one line per form of use
