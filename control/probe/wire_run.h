// SPDX-License-Identifier: Apache-2.0
// The runner of weir-probe on the virtual clock: a real switch with the policy of a file, and a
// wire at each of its ports. Times are exact, and a run of seconds takes moments. One thread.
#pragma once

#include "control/config/config.h"
#include "control/probe/probe.h"

struct policy;
struct rte_mempool;
struct wire_run;

struct wire_run_opts {
	unsigned port[PROBE_PORTS]; // of the policy
	bool third; // the third one is used
	uint64_t delay_ns; // of each wire
	uint64_t seed;
};

// Frames that the pool needs for this policy.
uint32_t wire_run_frames(const struct policy *p);
// Speeds of ports without one in the policy.
uint64_t wire_run_speed(const struct config *c, unsigned port);

// 0 or -errno, with messages in *d where the policy does not compile.
__attribute__((warn_unused_result)) int wire_run_open(const struct config *c,
						      const struct wire_run_opts *o,
						      struct rte_mempool *pool,
						      struct wire_run **out, struct diags *d);
void wire_run_close(struct wire_run *r); // NULL is fine

// Addresses, speeds and times of the ports.
void wire_run_conf(const struct wire_run *r, struct probe_conf *conf);
// The DSCP of each class, where the policy of port PROBE_TX gives conf->dscp another class: the
// lowest one that has the class. Classes without a DSCP keep theirs.
void wire_run_dscps(const struct wire_run *r, struct probe_conf *conf);
struct probe_io wire_run_io(struct wire_run *r);
// Whom arrivals are given to.
void wire_run_bind(struct wire_run *r, struct probe *p);
