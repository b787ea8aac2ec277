// SPDX-License-Identifier: Apache-2.0
// The neighbours of a switch with real threads: one thread that sends on every port as fast as the
// rings take it, obeys PFC, and checks that what arrives is in order. A PAUSE holds until it is
// taken back: this thread may not run for longer than any quanta, and a neighbour's clock would not
// stand still with it.
//
// Members of the first group are control's to write, of the second the thread's.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/rng.h"
#include "tests/lab/schedule_net.h"
#include "tests/threads/ring_port.h"

// Frames with DSCP 8 are of so many flows of UDP to each port: of each flow they stay in order.
enum { PEERS_UDP_FLOWS = 2 };
enum { PEERS_PORTS = 5, PEERS_SEE_VLANS = 1, PEERS_SEE_ROUTES = 2, PEERS_SEE_TUNNELS = 4 };

struct peers {
	struct ring_port *ports; // PEERS_PORTS
	struct rte_mempool *pool;
	_Atomic bool stop, silent, deaf; // deaf: PFC is not obeyed
	_Atomic uint32_t link_epoch[PEERS_PORTS]; // grows when a link went down: forget pauses
	_Atomic uint8_t storming; // bitmap of ports that pause class 3 in every turn
	// Not NULL: the frames are those of schedule_net.h. Of an array of zones each is written
	// before `zones_at` names it, and not again.
	const struct net_zones *zones;
	_Atomic uint16_t zones_at;
	_Atomic uint8_t view; // bitmap of PEERS_SEE_

	pthread_t thread;
	struct rng rng; // the caller's until it starts
	_Atomic uint32_t link_seen[PEERS_PORTS];
	_Atomic bool is_silent;
	ctr_t sent, received, pfc, out_of_order, not_apart; // frames that zones should have stopped
	uint8_t paused[PEERS_PORTS]; // classes
	uint32_t seq;
	// By port of arrival, sender, and DSCP or flow.
	uint32_t last[PEERS_PORTS][PEERS_PORTS][64 + PEERS_PORTS * PEERS_UDP_FLOWS];
};

__attribute__((warn_unused_result)) int peers_start(struct peers *p);
void peers_stop(struct peers *p);

// Control: every row of the flow table is of one of their flows. At rest, when no frame is under
// way, its packets and bytes agree too. Returns how many were made.
struct weir_switch;
uint64_t peers_check_flows(struct weir_switch *sw, uint64_t now_ns, bool at_rest);
