// SPDX-License-Identifier: Apache-2.0
// The compiled policy: everything a worker needs to know, in cells, fixed point and maps.
//
// Control compiles it from the YAML configuration (control/config), publishes it with one release
// store, and retires the old one through QSBR. It is immutable once published; a worker
// loads the pointer once per loop. No DPDK here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/classify.h"
#include "dataplane/qos/egress.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "dataplane/qos/sched.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/qos/wred.h"

enum {
	POLICY_MAX_PORTS = 128,
	POLICY_NAME_LEN = 32,
	N_VLANS = 4096,
};

struct policy_queue {
	struct egress_params egress;
	struct wred_params wred; // `enabled` false: tail drop only
};

struct policy_vlan {
	uint64_t tagged[N_VLANS / 64]; // bit per VID: the port carries it tagged
	uint16_t untagged; // VID of untagged frames in both directions; 0: refuses untagged frames
};

struct policy_port {
	char name[POLICY_NAME_LEN];
	char device[64]; // as written: "xdp:sw1"
	uint64_t speed_bps;
	uint32_t mtu; // IP MTU
	uint32_t max_frame; // mtu + 14 + 8
	uint32_t rx_guard_on, rx_guard_off; // receive-ring guard, frames waiting; on 0: no guard
	uint32_t tx_ring_bytes; // limit for data in the driver's transmit ring
	uint32_t skid_cells; // receive ring + burst + hand-off, beyond the buffer
	uint32_t skid_frame_cells; // charged for each frame there: one of full size
	bool edits; // frames that leave here may change: VLANs, or a remark
	struct classify_params classify;
	struct pg_params pg[N_PGS];
	struct policy_queue queue[N_QUEUES];
	struct sched_params sched;
	struct shaper_params shaper; // the port's speed, link overhead counted by the caller
	struct pfc_params pfc;
	struct policy_vlan vlan;
};

struct policy_fdb_entry {
	uint8_t mac[6];
	uint16_t vid; // 0 in a transparent bridge
	uint8_t port;
};

struct policy {
	char name[POLICY_NAME_LEN];
	uint64_t version; // of a running switch, set as it is published; 0 before
	uint32_t n_ports;
	uint32_t n_workers;
	uint32_t n_worker_cores; // entries of worker_cores that the file gave, else 0
	uint16_t worker_cores[64];
	struct cell_size cell;
	struct buffer_params buffer;
	uint32_t mac_age_s;
	bool vlan_aware; // false: one transparent bridge, tags pass unchanged
	uint64_t vlan_exists[N_VLANS / 64];
	uint64_t flood_off[N_VLANS / 64]; // unknown unicast is dropped in these VLANs
	uint32_t n_fdb;
	struct policy_fdb_entry *fdb; // static entries
	struct policy_port ports[]; // n_ports
};

static inline bool vlan_bit(const uint64_t *set, unsigned vid)
{
	return set[vid / 64] >> (vid % 64) & 1;
}
