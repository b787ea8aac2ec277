// SPDX-License-Identifier: Apache-2.0
// The functions of switch.h that observe asks, over plain numbers that a test writes: two ports,
// two workers. No DPDK.
#pragma once

#include "control/instance/service.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/policy.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_microbursts.h"
#include "dataplane/switch_vxlan.h"

enum { FAKE_PORTS = 2, FAKE_WORKERS = 2 };

struct fake_port {
	struct port_counters c;
	struct queue_counters queue[N_QUEUES];
	struct pg_counters pg_counters[N_PGS];
	struct pg_state pg[N_PGS];
	struct drop_counters drops[N_CLASSES][N_DROP_REASONS];
	struct pfc_rx_state pfc_rx;
	struct pfc_tx_state pfc_tx;
	struct port_drv_stats drv;
	struct watchdog_class watchdog[N_CLASSES];
	enum watchdog_status status[N_CLASSES];
	struct pause_cause last[N_PGS], now[N_PGS]; // causes
	uint64_t remapped[GUARD_MAX_RULES], pause_ignored;
	bool notifies[N_QUEUES]; // ipcc says something of the queue
	struct ipcc_counters ipcc[N_QUEUES];
	struct port_flow_counters flows;
	struct fdb_port fdb;
	struct flow_port flow_port;
};

enum { FAKE_RECORDS = 64 };

// The flow table: a row for each place, without a kind of address where no flow lives.
struct fake_flows {
	struct flow_row *rows;
	uint32_t n;
	uint32_t most_at_once; // places of one look
	unsigned whys; // rows whose reason was asked for
	struct flow_totals totals;
	struct cnp_record records[FAKE_RECORDS]; // that nobody has taken
	unsigned n_records;
	uint64_t records_lost;
	struct known_pair told;
	int tell_err;
	bool taken; // all that was told
	uint64_t found;
};

struct weir_switch {
	struct policy *policy;
	struct fake_port port[FAKE_PORTS];
	struct switch_port sp[FAKE_PORTS];
	struct worker_counters worker[FAKE_WORKERS];
	struct balance balance;
	uint64_t events_lost;
	bool drops_all, held;
	char guard_group[1][POLICY_NAME_LEN]; // "up"
	struct policy_svi svi; // of VLAN 10
	port_no_t svi_of_vlan[N_VLANS];
	struct fake_flows flows;
	struct vxlan_peer_counters tunnel[VTEP_MAX_PEERS];
	struct vxlan_counters tunnels;
	struct fdb_port behind; // addresses of each peer
	port_no_t place; // of the only address
	struct microburst_record microbursts[FAKE_RECORDS]; // that nobody has taken
	unsigned n_microbursts;
	uint64_t microbursts_lost;
	struct vtep vtep; // in the policy where a test puts it there
	struct instance in; // of this switch; a test gives it the states of services
};

// Ports p1 and p2 in a switch sw1; class 3 is lossless and watched; p1 has a guard rule. To be
// freed with fake_switch_destroy.
struct weir_switch *fake_switch_create(void);
void fake_switch_destroy(struct weir_switch *sw);
