// SPDX-License-Identifier: Apache-2.0
// A port, its queues and its priority groups, as the worker that owns the port sees them. The owner
// is the only writer; control and other workers read counters and gauges, one word at a time.
//
// What each frame touches comes first and lies together: one line of the port for both ways, one
// line of its counters on arrival and one on departure, one line of the group, two of the
// scheduler, and two of the queue beside its histogram. scripts/shape counts these lines.
#pragma once

#include <assert.h>
#include <stddef.h>

#include <rte_common.h>

#include "dataplane/fifo.h"
#include "dataplane/port_ops.h"
#include "dataplane/qos/cause.h"
#include "dataplane/qos/egress.h"
#include "dataplane/qos/guard.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "dataplane/qos/policer.h"
#include "dataplane/qos/sched.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/qos/watchdog.h"
#include "dataplane/qos/wred.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

enum {
	BURST = 32, // frames that a port receives or sends at once
	MAX_WORKERS = 64,
	PORT_LINE = 64, // bytes of a cache line
	TX_OFF_PORT = 1 << 8, // in tx_off, beside one bit per queue
};

struct ipcc_rt;
struct policy_port;

// One class of one egress port.
struct __rte_cache_aligned queue {
	struct fifo fifo;
	struct egress_state egress;
	struct wred_state wred;
	uint64_t waiting_ns; // when it became non-empty
	struct queue_counters c;
	uint64_t sent_ns; // when a frame last left it while it was paused
	_Atomic(struct ipcc_rt *) ipcc; // made by control before a policy first wants it, kept
};
// Marking of a queue: the policy's, until control gives it other thresholds (switch_ecn.h).
struct __rte_cache_aligned marking {
	struct wred_params wred;
};

static_assert(offsetof(struct queue, c) == PORT_LINE, "a frame enters and leaves by two lines");
static_assert(offsetof(struct queue_counters, dropped_packets) == PORT_LINE, "and no more");

// One class of one ingress port: the unit of buffer accounting. The counters of arrivals lie in the
// line of the state.
struct __rte_cache_aligned pg {
	struct cause_record cause; // of its last PAUSE
	struct {
		port_no_t port;
		uint8_t queue;
	} xoff_by; // where the frame was going with which the group entered XOFF
	uint64_t spare[3];
	struct pg_counters c;
	struct pg_state state;
	uint64_t seen_released[MAX_WORKERS]; // of other workers' releases, already settled
};
static_assert(offsetof(struct pg, c.rx_packets) == PORT_LINE &&
		      offsetof(struct pg, state.max_headroom) == 2 * PORT_LINE,
	      "an arrival touches one line of its group");

// A station that frames of a lossless class are for, and that nobody knows (unknown_unicast.h).
enum { UNKNOWN_STATIONS = 64 };
struct unknown_station {
	uint64_t key; // as fdb_key
	uint64_t since_ns, asked_ns; // of the first frame that it did not get, and of the latest
	uint64_t probed_ns; // of the latest probe
	bool said; // as an alarm
};

struct __rte_cache_aligned port {
	// ---- rare, of arrival
	gauge_t skid_used; // cells
	ctr_t reports; // of source addresses, put into the learn ring
	uint64_t unknown_said_ns; // when the last event of a frame that was not flooded was made
	uint64_t guard_said_ns; // when the last event of the receive-ring guard was made
	uint64_t guards_unsaid; // times that the guard began since then

	// ---- PFC out, and PFC in below: their bitmaps of classes are in the line between them
	struct pfc_tx_state pfc_tx;

	// ---- for every frame, both ways
	const struct port_ops *ops;
	void *drv;
	// Of the owner's loop: other workers may be in another policy, and use worker.pol.
	const struct policy_port *pol;
	// Cells by account and queue: what a PAUSE of that group waits for.
	_Atomic uint32_t (*held_cells)[N_QUEUES];
	uint16_t tx_off; // bitmap of queues, TX_OFF_PORT
	port_no_t no; // the port's number
	uint8_t backlog; // bitmap of queues that hold a frame
	uint8_t xoff_pgs; // bitmap of groups in XOFF
	bool up, rx_guarded;
	bool driver_wakes : 1;
	bool early_pause : 1; // the driver's early records pause, not the frames in its ring
	// Storms (storm.c), bitmaps of classes, all 0 nearly always.
	uint8_t stormed; // in recovery, whatever the action
	uint8_t unprotected; // neither obey nor send PFC: most of those, and all that control wants
	uint8_t discarded; // of the unprotected: their frames are dropped
	uint8_t purging; // queues that are not served until discarded frames are out of them
	uint8_t excused_pgs; // they or the receive ring are full since before PFC was on again
	uint8_t ipcc_queues; // queues that send notifications
	uint8_t impaired; // bitmap of enum impair_direction (impair.h)

	struct pfc_rx_state pfc_rx;

	// ---- departure
	struct __rte_cache_aligned {
		uint16_t n_held; // frames that the driver refused
		uint16_t tx_burst; // 1..BURST
		// Of each queue's first frame. Beside each other, because the scheduler compares
		// them.
		uint32_t head_len[N_QUEUES];
		struct shaper_state shaper;
		struct sched_state sched;
	};

	struct port_counters c;
	struct queue queue[N_QUEUES];
	struct pg pg[N_PGS];
	struct marking marking[N_QUEUES];

	// Where the policy looks for elephants: when the latest frame of each port arrived that
	// has left the queue. Other workers read it.
	gauge_t (*departed_ns)[N_QUEUES];

	// ---- rare
	struct frame held[BURST]; // left the queue, refused by the driver
	struct drop_counters drops[N_CLASSES][N_DROP_REASONS];
	const struct switch_port *device; // as last taken over; NULL: the first is still there
	uint8_t mac[6]; // of the device
	// Early PFC (peer_pause.c).
	uint8_t pause_classes; // whose records are acted upon
	uint32_t pause_seq[N_CLASSES]; // of the driver's records, as last acted upon
	// Storms.
	uint8_t watched; // bitmap of classes
	uint8_t pfc_off; // classes that control wants unprotected
	bool drop_all; // control wants all lossless classes discarded
	uint8_t purge_begun, purge_again; // bitmaps of queues, of those in purging
	struct fifo_purge purge; // of the queue in purge_begun
	uint64_t recover_seen; // wanted.recover as last acted upon
	ctr_t storms; // detected so far, of all classes
	struct watchdog_class watchdog[N_CLASSES];
	// Limits.
	struct policer storm[N_LIMIT_KINDS], storm_bpdu;
	ctr_t remapped[GUARD_MAX_RULES];
	// Unknown stations (unknown_unicast.c).
	struct policer probes;
	struct unknown_station unknown[UNKNOWN_STATIONS];
	struct punt_port *punt; // NULL: no policy has had a frame for control yet (punt.h)
	uint64_t curves_seen; // of the orders in wanted.curves, as last acted upon
	struct shaper_state trim_share;
	// Flows and notifications.
	struct port_flow_counters flows;
	struct cnp_bucket cnps; // that leave by this port
	uint64_t zone_said_ns; // when the last event of a host at another port was made
};
static_assert(offsetof(struct port, pfc_tx.paused) % PORT_LINE == 0 &&
		      offsetof(struct port, pfc_rx) ==
			      offsetof(struct port, pfc_tx.paused) + PORT_LINE - 8,
	      "one line for both ways");
static_assert(offsetof(struct pfc_rx_state, ignore_pause) < 8, "with both bitmaps of PFC in");
static_assert(offsetof(struct port, sched.deficit) % PORT_LINE == 0, "two lines to schedule by");
static_assert(offsetof(struct port_counters, transmitted) == PORT_LINE,
	      "arrival and departure count in a line each");

// A priority group of a port, as an index.
static inline unsigned account_index(unsigned in_port, unsigned pg)
{
	return in_port * N_PGS + pg;
}
