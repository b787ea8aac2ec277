// SPDX-License-Identifier: Apache-2.0
// DPDK binds the thread that starts it to one processor, and threads made later are born there.
// Tests and fuzzers run side by side, and workers of the thread tests at the same time, so they
// may use every processor.
#pragma once

#include <sched.h>

#include <rte_eal.h>

// As rte_eal_init().
static inline int eal_init_unbound(int argc, char **argv)
{
	cpu_set_t allowed;
	int used;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return -1;
	used = rte_eal_init(argc, argv);
	return used >= 0 && sched_setaffinity(0, sizeof(allowed), &allowed) != 0 ? -1 : used;
}
