// SPDX-License-Identifier: Apache-2.0
// The inside of observe, shared by the files that compute facts: one for each subject.
#pragma once

#include "control/autoecn/agent.h"
#include "control/base/model_time.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/lldp/agent.h"
#include "control/microbursts/burstlog.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "control/observe/rate.h"
#include "dataplane/base/units.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/qos/guard.h"
#include "dataplane/qos/watchdog.h"
#include "dataplane/switch_impair.h"
#include "dataplane/switch_vxlan.h"

enum pfc_dir { PFC_RX, PFC_TX, N_PFC_DIRS };

struct pfc_counts {
	uint64_t frames, duration_ns, transitions;
};

struct port_steering {
	unsigned n;
	struct port_reason reasons[PORT_REASONS_MAX];
};

// Members of the dataplane's own types hold the value at the last clear.
struct port_baseline {
	struct port_counters port;
	struct queue_counters queue[N_QUEUES];
	struct pg_counters pg[N_PGS];
	struct drop_counters drops[N_CLASSES][N_DROP_REASONS];
	struct pfc_counts pfc[N_PFC_DIRS][N_CLASSES];
	uint64_t pfc_ignored_lossy, pfc_empty_vector, pause_ignored;
	struct watchdog_class watchdog[N_CLASSES];
	uint64_t remapped[GUARD_MAX_RULES];
	struct ipcc_counters ipcc[N_QUEUES];
	struct port_flow_counters flows;
	struct fdb_port_counters fdb;
	uint64_t flows_refused, flows_evicted, elephant_frames, elephant_bytes;
	struct port_drv_stats drv;
	struct port_steering steering;
	uint64_t standin_sent;
	struct lldp_counters lldp;
	struct inof_counters inof;
};

struct port_rates {
	struct rate_series rx_packets, rx_bytes, tx_packets, tx_bytes;
	struct rate_series queue_packets[N_QUEUES], queue_bytes[N_QUEUES];
};

struct worker_rates {
	struct rate_series loops, busy_loops, waited_ns;
};

// Counters of a worker's heartbeat, and of the stand-in for the worker.
struct stall_counts {
	uint64_t stalls, stalled_ns, late, episodes;
};

// `base`: the values at the last clear.
struct observe {
	const struct instance *in;
	struct weir_switch *sw; // of the instance
	const struct standin *standin; // NULL: there is none
	observe_linux_fn *linux_numbers; // NULL: the kernel is not the control plane
	void *linux_arg;
	struct observe_about about;
	struct {
		struct port_baseline base;
		struct port_rates rates;
	} *port;
	struct {
		struct worker_counters base;
		struct stall_counts stall_base;
		struct worker_rates rates;
	} *worker;
	struct flow_totals flow_base;
	struct vxlan_peer_counters tunnel_base[VTEP_MAX_PEERS];
	struct vxlan_counters tunnels_base;
	uint64_t records_lost_base; // of microbursts
	struct worker_counters worker_zero; // the values at the start, as baseline_zero
	struct rate_clock clock;
};

// A reload gives the switch another policy, so none is kept here.
static inline const struct policy *policy_of(const struct observe *o)
{
	return switch_policy(o->sw);
}

// One answer: the ports from first to last (exclusive).
struct show {
	struct observe *o;
	unsigned first, last;
	unsigned flags; // enum observe_flags
	uint64_t now_ns; // model time
	uint64_t real_ns;
};

// The thing that a row is about. The values of the facts (facts.def) are expressions over `a`, a
// pointer to such a struct. Each list sets the members that its facts name.
struct at {
	const struct show *s;
	const struct observe *o;
	const struct policy *pol;
	const struct policy_port *pp;
	const struct port_baseline *base;
	const struct port_counters *pc;
	const struct port_facts *has; // of the driver
	uint64_t cell; // bytes
	unsigned port, i; // i: the queue, class, group, rule, pool, worker or VLAN
	// observe.c
	const struct queue_counters *qc;
	const struct pg_counters *pgc;
	const struct pg_state *pg;
	const struct worker_counters *worker, *worker_base;
	const struct fdb_port *fdb;
	const struct fdb_row *address;
	const struct pfc_rx_state *rx;
	const struct port_reason *steered;
	const struct residence *stay;
	const struct drop_sums *sums;
	struct frames {
		uint64_t packets, bytes;
	} lost;
	enum drop_reason reason;
	bool alarm;
	enum loop_state loop;
	struct port_drv_stats drv;
	struct pfc_counts pauses[N_PFC_DIRS];
	struct pool_use pool;
	struct stall_counts stalls;
	struct balance balance;
	// settings.c
	const struct wred_params *wred;
	const struct wred_curve *curve;
	const char *color;
	// storms.c
	const struct watchdog_class *watchdog;
	enum watchdog_status status;
	const struct pfc_class_stats *peer_pause, *own_pause;
	const struct chain *chain;
	struct pause_cause cause;
	uint64_t last_pause_ns;
	bool pausing;
	// microbursts.c
	const struct burst *burst;
	struct {
		struct burst_counts counts;
		uint64_t peak_bytes;
		struct value history;
	} part;
	uint64_t records_lost_base;
	// impair.c
	const struct impair_view *impair;
	// auto_ecn.c
	const struct autoecn_view *ecn;
	// lldp.c
	const struct lldp_neighbour *neighbour;
	const struct dcbx_view *dcbx;
	// inof.c
	const struct inof_host_view *host;
	const struct inof_zone_view *zone;
	const struct inof_told *told;
	const struct inof_reflector *reflector;
	// flows.c
	const struct ipcc_counters *ipcc;
	const struct port_flow_counters *flows;
	const struct flow_port *room;
	const struct flow_totals *totals, *totals_base;
	const struct flow_row *flow;
	const struct cnp_record *cnp;
	const struct flow_key *key; // of either
	uint64_t now_ns, rate_bps, seq, wall_ns;
	// tunnels.c
	const struct vtep_vni *vni;
	const struct vxlan_peer_counters *tunnel, *tunnel_base;
	const struct vxlan_counters *tunnels, *tunnels_base;
};

extern const struct port_baseline baseline_zero; // the start, for readers that ignore clears

struct at at_port(const struct show *s, unsigned port, unsigned i);

// A member of `a`: a gauge as it is now, a counter since the last clear.
#define NOW(member, field) gauge_get(&a->member->field)
#define SINCE(member, baseline, field)                                                             \
	(ctr_get(&a->member->field) - ctr_get(&a->base->baseline.field))

typedef void show_fn(const struct show *s, struct json_object *out);

// storms.c
struct value storms_value(enum fact_id f, const struct at *a);
show_fn show_watchdog, show_guard, show_causes;

// settings.c
show_fn show_vlan, show_qos, show_pfc_status, show_ecn, show_buffers_config;

// A list of class numbers.
struct json_object *class_list(uint8_t classes);

// impair.c
show_fn show_impairments;

// auto_ecn.c
show_fn show_auto_ecn;

// lldp.c
show_fn show_lldp, show_dcbx, show_pfc_ports;

// inof.c
show_fn show_inof_hosts, show_inof_zones, show_inof_log, show_inof_ports,
	show_inof_peers;

// microbursts.c
show_fn show_microbursts;
void microbursts_clear(struct observe *o);

// tunnels.c
show_fn show_vxlan;
void tunnels_clear(struct observe *o);
// The address of a peer by its place in the table of peers.
struct json_object *peer_json(const struct vtep *v, unsigned peer);

// flows.c
struct value flows_value(enum fact_id f, const struct at *a);
show_fn show_ipcc, show_flows, show_linux;
struct json_object *wall_text(uint64_t wall_ns); // time of day, UTC

const char *port_name(const struct observe *o, unsigned port);

// The lowest class of a map that ends at `to`; `to` itself when no class does.
static inline unsigned lowest_class_mapped_to(const uint8_t map[N_CLASSES], unsigned to)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (map[c] == to)
			return c;
	return to;
}

static inline uint64_t since_us(uint64_t then_ns, uint64_t now_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / 1000 : 0;
}
