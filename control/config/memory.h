// SPDX-License-Identifier: Apache-2.0
// The memory that a live switch asks of DPDK for a policy: what `weirctl check` and `weirctl plan`
// print is what `weir` reserves. Pure arithmetic. Control thread only.
#pragma once

#include "control/config/config.h"

struct memory_plan {
	uint32_t n_frames; // mbufs of the pool: one for each cell, and those in rings
	uint32_t frame_bytes; // of one mbuf with its buffer
	uint32_t max_frame; // the longest frame of any port
	uint64_t pool_bytes;
	uint64_t record_bytes; // what queues and hand-off rings keep of each frame
	uint64_t table_bytes; // forwarding table, rings, counters
	uint64_t flow_bytes; // flow table and IPCC
	uint64_t total_bytes; // all of these, what `weir` asks of DPDK
	uint64_t huge_bytes; // with what DPDK itself takes: hugepages that must be free
	uint64_t normal_bytes; // in place of them on ordinary pages, at most
	uint32_t n_memzones; // areas of memory with a name; DPDK has LIVE_MEMZONES
};

// A policy before a port is open: with facts that need at least as many frames as those of the
// ports. 0, -EINVAL with *d filled, or -ENOMEM.
__attribute__((warn_unused_result)) int memory_compile(const struct config *c, struct policy **out,
						       struct diags *d);
struct memory_plan memory_plan(const struct config *c, const struct policy *p);

enum { MEMORY_WHY_LEN = 256 };
// False with a sentence where DPDK cannot hold the plan, however much memory the machine has.
bool memory_fits_dpdk(const struct memory_plan *m, const struct policy *p,
		      char why[MEMORY_WHY_LEN]);
