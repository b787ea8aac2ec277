// SPDX-License-Identifier: Apache-2.0
// The runner of weir-probe on live ports (drivers/live.h). One thread, which polls the ports.
#pragma once

#include "control/probe/probe.h"
#include "drivers/live.h"

struct live_run {
	struct live_port port[PROBE_PORTS];
	unsigned n_ports;
	struct rte_mempool *pool;
	const char *hold, *release; // commands of the operator
	struct probe *probe;
	uint64_t last_ns, gap_ns;
};

struct live_run_conf {
	const char *const *device; // PROBE_PORTS; NULL: not used
	uint32_t rx_ring; // 0: the driver's
	char *const *eal;
	int n_eal;
};

// Starts EAL and opens the ports. 0 or -1 with text->err.
__attribute__((warn_unused_result)) int live_run_open(struct live_run *r,
						      const struct live_run_conf *c,
						      struct live_text *text);
void live_run_close(struct live_run *r);

// Addresses, speeds and times of the ports. speed_bps 0: the link's.
void live_run_conf_fill(const struct live_run *r, uint64_t speed_bps, struct probe_conf *conf);
struct probe_io live_run_io(struct live_run *r);
