// SPDX-License-Identifier: Apache-2.0
// The inside of observe, shared by its builders of rows (traffic.c, latency.c, buffers.c, rest.c,
// workers.c, storms.c, causes.c, settings.c, flows.c).
#pragma once

#include "control/model_time.h"
#include "control/observe/field.h"
#include "control/observe/observe.h"
#include "control/observe/rate.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/switch_flows.h"

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
	uint64_t pfc_ignored_lossy, pfc_empty_vector;
	struct watchdog_class watchdog[N_CLASSES];
	uint64_t remapped[GUARD_MAX_RULES];
	struct ipcc_counters ipcc[N_QUEUES];
	struct port_flow_counters flows;
	struct fdb_port_counters fdb;
	uint64_t flows_refused, flows_evicted;
	struct port_drv_stats drv;
	struct port_steering steering;
	uint64_t standin_sent;
};

struct port_rates {
	struct rate_series rx_packets, rx_bytes, tx_packets, tx_bytes;
	struct rate_series queue_packets[N_QUEUES], queue_bytes[N_QUEUES];
};

struct worker_rates {
	struct rate_series loops, busy_loops, waited_ns;
};

// Of a worker's heartbeat, and of the stand-in for it.
struct stall_counts {
	uint64_t stalls, stalled_ns, late, episodes;
};

struct observe {
	struct weir_switch *sw;
	const struct standin *standin; // NULL: there is none
	struct observe_about about;
	uint32_t time_scale;
	struct port_baseline *base; // by port
	struct port_baseline *zero; // the start, for readers that ignore clears
	struct worker_counters *worker_base; // by worker
	struct worker_counters worker_zero;
	struct stall_counts *stall_base; // by worker
	struct flow_totals flow_base;
	struct rate_clock clock;
	struct port_rates *rates; // by port
	struct worker_rates *worker_rates; // by worker
};

// A reload gives the switch another policy, so none is kept here.
static inline const struct policy *policy_of(const struct observe *o)
{
	return switch_policy(o->sw);
}

// One call of a builder: the ports from first to last (exclusive).
struct show {
	struct observe *o;
	unsigned first, last;
	unsigned flags; // enum observe_flags
	uint64_t now_ns; // model time
	uint64_t real_ns;
};

static inline const struct port_baseline *baseline(const struct show *s, unsigned port)
{
	return s->flags & OBSERVE_RAW ? s->o->zero : &s->o->base[port];
}

typedef void show_fn(const struct show *s, struct json_object *out);

// traffic.c
show_fn show_ports, show_interfaces, show_queues, show_pfc;
struct pfc_counts pfc_counts_now(const struct observe *o, unsigned port, enum pfc_dir dir,
				 unsigned cls, uint64_t now_ns);

// latency.c
show_fn show_latency;

// buffers.c
show_fn show_buffers, show_watermarks;
void emit_pools(const struct show *s, struct json_object *out);

// steering.c
show_fn show_steering; // part of `show control`
void steering_read(const struct observe *o, unsigned port, struct port_steering *out);
// Frames of one of the driver's reasons; 0 where the driver has no such reason.
uint64_t steering_count(const struct show *s, unsigned port, const char *reason);

// rest.c
show_fn show_drops, show_control, show_hints, show_balance, show_fdb, show_version;

// workers.c
show_fn show_workers;
// Model time of a mean turn over the last second, without waits for a frame. 0: not known.
uint64_t worker_turn_ns(const struct show *s, unsigned worker);

// stalls.c
struct stall_counts stall_counts_now(const struct observe *o, unsigned worker);
uint64_t standin_sent(const struct observe *o, unsigned port);
uint64_t worker_waited_ns(const struct observe *o, unsigned worker);
void emit_worker_stalls(const struct show *s, unsigned worker, struct json_object *row);
void emit_port_stalls(const struct show *s, unsigned port, struct json_object *row);

// storms.c
show_fn show_watchdog, show_guard;
void storms_take_baseline(const struct observe *o, unsigned port, struct port_baseline *b);

// causes.c
show_fn show_causes;

// settings.c
show_fn show_vlan, show_qos, show_pfc_status, show_ecn, show_buffers_config;

// flows.c
show_fn show_ipcc;
show_fn show_flow_sums; // of `show flows` and `show ipcc`
void flows_take_baseline(const struct observe *o, unsigned port, struct port_baseline *b);

static inline const char *port_name(const struct observe *o, unsigned port)
{
	return policy_of(o)->ports[port].name;
}

// The lowest class of a map that ends at `to`; `to` itself when no class does.
static inline unsigned class_of(const uint8_t map[N_CLASSES], unsigned to)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (map[c] == to)
			return c;
	return to;
}
