// SPDX-License-Identifier: Apache-2.0
// Requests that take time: what each waits for, step by step, and when it gives up. One step per
// control loop; time is an argument. Called by the control thread only.
//
//   set_tx off:  [owner acknowledged] -> [what the driver held then has left]   -> done
//   set_tx on, clear watermarks, watchdog:  [owner acknowledged]                -> done
//   flow del:    [all workers have taken the order]                             -> done
//   quiesce:     [owner acknowledged] -> [nothing queued, or REST_NS is over]   -> done
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/units.h"
#include "dataplane/switch.h"

enum { ACK_TIMEOUT_NS = SECOND_NS, DRAIN_TIMEOUT_NS = 2 * SECOND_NS };

// PENDING_RELOAD, PENDING_FLOWS and PENDING_INOF only mark the client: reload.h,
// flow_requests.h and inof_peers.h go their own ways.
enum pending_kind {
	PENDING_NONE,
	PENDING_TX,
	PENDING_ACK,
	PENDING_QUIESCE,
	PENDING_RELOAD,
	PENDING_FLOWS,
	PENDING_FORGET,
	PENDING_INOF,
};

struct pending {
	enum pending_kind kind;
	uint64_t request; // of the switch
	bool acked;
	uint64_t deadline_ns; // of the present step
	unsigned port; // PENDING_TX
	int queue; // PENDING_TX; -1: the whole port
	bool on; // PENDING_TX
	uint64_t found; // PENDING_FORGET: switch_pair_orders_done() before and after
	uint64_t digest, change; // PENDING_INOF: what the client knows, and when that was so
	uint64_t leave_target; // PENDING_TX: bytes the port must have sent
	bool hold; // PENDING_QUIESCE: admission stays stopped afterwards
};

enum pending_verdict { PENDING_WAIT, PENDING_DONE, PENDING_TIMEOUT };

void pending_start(struct pending *p, enum pending_kind kind, uint64_t request, uint64_t now_ns);
enum pending_verdict pending_step(struct pending *p, const struct weir_switch *sw,
				  uint64_t now_ns);

// Nothing queued and nothing in a driver.
bool switch_at_rest(const struct weir_switch *sw);
