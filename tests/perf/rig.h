// SPDX-License-Identifier: Apache-2.0
// One switch on live ports, as the daemon builds it (control/daemon/daemon.c) but without its
// sockets and threads: policy, EAL, frames, ports once; switches one after the other on the same
// ports. The main thread calls everything here while no worker runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/daemon/clock.h"
#include "dataplane/switch.h"
#include "drivers/live.h"
#include "tests/perf/probe.h"

enum { RIG_MAX_PORTS = 8, RIG_MAX_WORKERS = 8, RIG_DEVICE_LEN = 256 };

struct rig_conf {
	unsigned n_ports, n_workers;
	int cpus[RIG_MAX_WORKERS]; // one per worker
	char devices[RIG_MAX_PORTS][RIG_DEVICE_LEN];
	uint32_t frame_bytes; // longest frame there will be
	uint32_t n_macs; // hosts behind each port, as traffic_mac() numbers them
	uint32_t next_hops; // of each route; 0: the switch bridges
	bool svis; // the ports do not route: each is in a VLAN that does
	bool vxlan; // odd ports lead to a VTEP each, and the hosts of such a port are behind it
	uint32_t standing; // frames that shall fit into each egress queue without XOFF
	const char *profile_key; // of the policy's profile, with its value; NULL: nothing more
	uint32_t flow_table; // entries; 0: the switch has none
	bool elephants; // and the switch looks for elephants in it
	const char *microbursts; // length of the window of peaks; NULL: off
	uint32_t zoned; // flows of a port whose ends are stations of hard zoning; 0: there is none
	uint32_t spread; // queue pairs that each port's frames are spread over; 0: as they are
	uint32_t driver_frames; // that all drivers together keep for good, beside their rings
};

struct config;

struct rig {
	const struct rig_conf *conf;
	struct config *config;
	struct policy *policy;
	struct rte_mempool *pool;
	unsigned n_open;
	struct live_port ports[RIG_MAX_PORTS];
	struct probe probes[RIG_MAX_PORTS];
	struct weir_switch *sw;
	struct tsc_clock clock;
};

// The policy of the benchmark, for the caller to free; NULL without memory.
char *rig_policy_text(const struct rig_conf *conf);

// 0, or -errno after the reason was printed. conf is borrowed.
__attribute__((warn_unused_result)) int rig_open(struct rig *r, const struct rig_conf *conf);
void rig_close(struct rig *r); // also after a failed rig_open

enum rig_probe { RIG_BARE, RIG_TIMED, RIG_OBEYING, RIG_SPREAD };

// A fresh switch in place of the one before. 0 or -errno, after the reason was printed.
__attribute__((warn_unused_result)) int rig_new_switch(struct rig *r, enum rig_probe probe);
