// SPDX-License-Identifier: Apache-2.0
// The compiled policy: everything a worker needs to know, in cells, fixed point and maps.
//
// Control compiles it from the YAML configuration (control/config), publishes it with one release
// store, and retires the old one through QSBR. It is immutable once published; a worker
// loads the pointer once per loop. No DPDK here.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"
#include "dataplane/forward/mac_move.h"
#include "dataplane/forward/route_params.h"
#include "dataplane/forward/vlan.h"
#include "dataplane/frame.h"
#include "dataplane/packet/classify.h"
#include "dataplane/packet/trim.h"
#include "dataplane/qos/egress.h"
#include "dataplane/qos/elephant.h"
#include "dataplane/qos/guard.h"
#include "dataplane/qos/microburst.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "dataplane/qos/policer.h"
#include "dataplane/qos/sched.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/qos/watchdog.h"
#include "dataplane/qos/wred.h"
#include "dataplane/roce/params.h"

enum {
	// Memory that a switch keeps for each port at most, and for each pair of ports (switch.c).
	POLICY_PORT_BYTES = 64 << 10,
	POLICY_PAIR_BYTES = N_PGS * N_QUEUES * 4 + N_QUEUES * 8,
};

struct policy_queue {
	struct egress_params egress;
	struct wred_params wred; // `enabled` false: tail drop only
	struct ipcc_params ipcc; // `enabled` false: sends no notifications
};

// ---- what control does at a port

struct loop_params {
	bool on; // sends probes
	bool port_down; // a port whose probe comes back is taken down
	uint64_t recover_ns; // and comes up when none has come back for this long
};

// What control says and obeys by LLDP (control/lldp); no worker reads it.
struct lldp_params {
	bool on;
	bool willing; // takes PFC from a peer
	bool pfc_auto; // PFC only in classes that the peer has too
	uint8_t pfc; // bitmap of classes with PFC in both directions before a peer narrows them
};

enum ecn_action { ECN_ADVISE, ECN_ON };
enum ecn_model_use { ECN_MODEL_OFF, ECN_MODEL_BUILTIN, ECN_MODEL_FILE };

// How control chooses the thresholds of a queue (control/autoecn); no worker reads it.
struct auto_ecn_params {
	bool on;
	uint8_t action; // enum ecn_action
	uint8_t model; // enum ecn_model_use
	uint64_t floor_bytes, ceiling_bytes; // of kmin
	uint64_t step_ns; // between two changes
	uint64_t speed_bps; // of the port, or the queue's max_rate where that is lower
	char model_file[128]; // with ECN_MODEL_FILE
	uint64_t model_stamp; // likewise: other contents have another one
};

struct route_table;
struct vtep; // forward/vtep.h

struct policy_port {
	char name[POLICY_NAME_LEN];
	char device[128]; // as written: "xdp:sw1"
	uint64_t speed_bps;
	uint32_t mtu; // IP MTU
	uint32_t max_frame; // mtu + 14 + 8
	uint32_t rx_guard_on, rx_guard_off; // receive-ring guard, frames waiting; on 0: no guard
	uint32_t tx_ring_bytes; // limit for data in the driver's transmit ring
	uint32_t skid_cells; // receive ring + burst + hand-off, beyond the buffer
	uint32_t skid_frame_cells; // charged for each frame there: one of full size
	uint8_t no_flood; // bitmap of classes whose frames are not flooded when they arrive here
	bool edits; // frames that leave here may change: VLANs, a remark, or the guard
	struct classify_params classify;
	struct pg_params pg[N_PGS];
	struct policy_queue queue[N_QUEUES];
	struct sched_params sched;
	struct shaper_params shaper; // the port's speed, link overhead counted by the caller
	struct pfc_params pfc;
	struct pfc_warning_params pfc_warning;
	struct watchdog_params watchdog;
	struct guard_params guard;
	struct cnp_params cnp; // of CNPs that leave here
	struct policy_vlan vlan;
	bool sticky; // addresses that live here do not move to other ports
	uint32_t mac_limit; // learned addresses at most; 0: what the table has room for
	uint8_t punts; // bitmap of enum punt_reason: what goes to control (switch_punt.h)
	bool routed; // forwards by IP address and is no port of the bridge
	bool in_svi; // bridged, and some VLAN of the port has an SVI
	uint8_t mac[6]; // of a routed port: the router's there
	uint8_t n_addrs;
	// Set as it is published: groups that get frames no PAUSE could stop (switch_change.h), and
	// what `classify` says of most frames.
	uint8_t unpaused_pgs;
	struct frame by_tos[N_TOS]; // untagged IP frames; but for mbuf, time, length and kind
	struct policy_addr addrs[MAX_PORT_ADDRS];
	struct policer_params limit[N_LIMIT_KINDS]; // by enum limit_kind
	struct loop_params loop;
	struct lldp_params lldp;
	struct auto_ecn_params auto_ecn[N_QUEUES];
	struct elephant_action sized[N_SIZES][N_CLASSES]; // of frames that arrive here
	bool acts_by_size; // one of them does something
	struct trim_params trim; // of frames that leave here
	struct shaper_params trim_share; // of the line, for trimmed frames
	char profile[POLICY_NAME_LEN]; // name of its profile in the file
};

struct policy_fdb_entry {
	uint8_t mac[6];
	uint16_t vid; // 0 in a transparent bridge
	port_no_t port; // FDB_ROUTER: the address of an SVI
};

// A multicast address of a VLAN, and the ports by which its frames leave.
struct policy_multicast {
	uint64_t key; // fdb_key
	uint64_t ports[POLICY_MAX_PORTS / 64]; // bitmap
};

// What control does about a worker that stands still. Real time; 0: nothing.
struct stall_params {
	uint64_t pause_after_ns; // the stand-in pauses the peers of its ports
	uint64_t alarm_after_ns; // an event says so
};

struct policy {
	char name[POLICY_NAME_LEN];
	uint64_t version; // of a running switch, set as it is published; 0 before
	// Set by who publishes it: only its routes differ from those of the policy before.
	bool only_routes;
	uint64_t settings; // set as it is published: the version that brought all but the routes
	uint32_t n_ports;
	uint32_t n_workers;
	uint32_t n_worker_cores; // entries of worker_cores that the file gave, else 0
	uint16_t worker_cores[64];
	struct cell_size cell;
	struct buffer_params buffer;
	uint32_t copy_frames; // memory for copies of lossless frames that arrive after a PAUSE
	uint32_t mac_age_s;
	struct mac_move_params mac_move;
	struct stall_params stall;
	bool vlan_aware; // false: one transparent bridge, tags pass unchanged
	uint64_t vlan_exists[N_VLANS / 64];
	uint64_t flood_off[N_VLANS / 64]; // unknown unicast is dropped in these VLANs
	uint32_t n_svis;
	struct policy_svi *svis; // [POLICY_MAX_SVIS], of them n_svis; some may be free
	port_no_t *svi_of_vlan; // [N_VLANS] interface number, 0: none. NULL: no VLAN has an SVI
	char (*guard_groups)[POLICY_NAME_LEN]; // names; a port's group g is [g - 1]
	uint32_t n_guard_groups;
	uint32_t n_fdb;
	struct policy_fdb_entry *fdb; // static entries
	uint32_t n_multicast;
	struct policy_multicast *multicast; // ascending by key
	struct flow_params flows; // of the switch; `max` is a restart-only key
	struct elephant_params elephants;
	struct microburst_params microbursts;
	struct pair_params pairing;
	bool loop_detect; // some port sends probes
	bool inof; // at some port hosts of NVMe over Fabrics register
	bool control_sends; // it does, or a port punts
	uint32_t n_pairs;
	struct known_pair *pairs; // by hand
	struct vtep *vtep; // NULL: no tunnels
	struct policy_routes routes;
	struct route_table *table; // made of routes by the switch that runs the policy, and its own
	struct policy_port ports[]; // n_ports
};

// The interface number of a VLAN's SVI; 0: it has none.
static inline port_no_t policy_svi_of(const struct policy *p, unsigned vid)
{
	return p->svi_of_vlan == NULL ? 0 : p->svi_of_vlan[vid];
}

// The SVI with this interface number; NULL: there is none.
static inline const struct policy_svi *policy_svi(const struct policy *p, unsigned no)
{
	const struct policy_svi *svi;

	if (no < IFACE_SVI || no >= IFACE_SVI + p->n_svis)
		return NULL;
	svi = &p->svis[no - IFACE_SVI];
	return svi->vid != 0 ? svi : NULL;
}

// Frames of a port that a worker holds in its hands: a burst, and PFC. Of a port that routes also
// those that wait for the MAC address of their next hop.
enum { POLICY_PORT_FRAMES = 36, POLICY_PORT_WAITING = 8 };

// Frames of the largest kind that the switch itself can hold.
static inline uint32_t policy_max_frames(const struct policy *p)
{
	uint64_t n = (uint64_t)p->buffer.total_cells + p->copy_frames;

	for (uint32_t i = 0; i < p->n_ports; i++)
		n += p->ports[i].skid_cells / p->ports[i].skid_frame_cells + POLICY_PORT_FRAMES +
		     (p->ports[i].routed || p->ports[i].in_svi ? POLICY_PORT_WAITING : 0);
	return (uint32_t)n;
}
