// SPDX-License-Identifier: Apache-2.0
// The inside of observe, shared by its builders of rows (traffic.c, buffers.c, rest.c).
#pragma once

#include "control/observe/field.h"
#include "control/observe/observe.h"
#include "control/observe/rate.h"

enum pfc_dir { PFC_RX, PFC_TX, N_PFC_DIRS };

struct pfc_counts {
	uint64_t frames, duration_ns, transitions;
};

// Members of the dataplane's own types hold the value at the last clear.
struct port_baseline {
	struct port_counters port;
	struct queue_counters queue[N_QUEUES];
	struct pg_counters pg[N_PGS];
	struct drop_counters drops[N_CLASSES][N_DROP_REASONS];
	struct pfc_counts pfc[N_PFC_DIRS][N_CLASSES];
	uint64_t pfc_ignored_lossy, pfc_empty_vector;
	struct port_drv_stats drv;
};

struct port_rates {
	struct rate_series rx_packets, rx_bytes, tx_packets, tx_bytes;
	struct rate_series queue_packets[N_QUEUES], queue_bytes[N_QUEUES];
};

struct observe {
	struct weir_switch *sw;
	const struct policy *policy;
	struct port_baseline *base; // by port
	struct rate_clock clock;
	struct port_rates *rates; // by port
};

// One call of a builder: the ports from first to last (exclusive).
struct show {
	struct observe *o;
	unsigned first, last;
	uint64_t now_ns;
};

typedef void show_fn(const struct show *s, struct json_object *out);

// traffic.c
show_fn show_ports, show_queues, show_pfc, show_latency;
struct pfc_counts pfc_counts_now(const struct observe *o, unsigned port, enum pfc_dir dir,
				 unsigned cls, uint64_t now_ns);
extern const struct field_table port_fields, queue_fields;

// buffers.c
show_fn show_buffers, show_watermarks;
extern const struct field_table pg_fields;

// rest.c
show_fn show_drops, show_control, show_hints, show_balance, show_fdb;
extern const struct field_table drop_fields, control_fields, hint_fields;

static inline const char *port_name(const struct observe *o, unsigned port)
{
	return o->policy->ports[port].name;
}

// The lowest class of a map that ends at `to`; `to` itself when no class does.
static inline unsigned class_of(const uint8_t map[N_CLASSES], unsigned to)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (map[c] == to)
			return c;
	return to;
}

// Adds an empty list under key, and an empty row to a list.
struct json_object *list_in(struct json_object *out, const char *key);
struct json_object *row_in(struct json_object *list);
