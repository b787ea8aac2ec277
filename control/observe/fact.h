// SPDX-License-Identifier: Apache-2.0
// Every number that the switch shows, as rows: one row names the JSON key, the kind, the place of
// a counter in its struct, and what it means in a sentence. Output, baseline, the Prometheus name,
// the DPDK telemetry mirror and docs/counters.md come from the row. Pure data, no DPDK; read by
// any thread.
//
// The Prometheus name is the list's prefix and the key: `weir_port` and `rx_packets` give
// weir_port_rx_packets_total. Times are seconds there (`_ms`, `_us` and `_ns` become `_seconds`),
// counters end in _total, identity and labels become labels.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fact_kind {
	FACT_ID, // names the row: with the other ids it is unique
	FACT_LABEL, // goes with the id: a label of each metric of the row
	FACT_TEXT, // a word; in Prometheus a label of PREFIX_info
	FACT_COUNTER, // grows; shown since the last `clear counters`
	FACT_GAUGE, // as it is now
	FACT_YES, // true or false; 1 or 0
	FACT_DERIVED, // a rate or a quantile: no metric of its own, the counters say it better
	N_FACT_KINDS,
};

// Where no single counter holds the value, the builder of the row computes it.
#define FACT_COMPUTED ((size_t)-1)

struct fact {
	const char *key;
	enum fact_kind kind;
	size_t off; // of a ctr_t or gauge_t (or of a sum of them), or FACT_COMPUTED
	const char *help;
	const char *label; // FACT_ID: its name among labels where that is not the key
};

// The rows of one list in an answer to `show`.
struct fact_list {
	const char *what; // kind of `show`
	const char *list; // its key in the answer
	const char *prefix; // of metrics; NULL: shown, but no metrics (said elsewhere, or too many)
	bool single; // one object, not a list of them
	const char *help;
	const struct fact *rows;
	size_t n;
};

enum {
	FACTS_VERSION, FACTS_INTERFACES, FACTS_VLAN, FACTS_QOS, FACTS_PFC_STATUS, FACTS_ECN,
	FACTS_BUFFER, FACTS_PG_CONFIG,
	FACTS_PORTS, FACTS_CLOCK, FACTS_QUEUES, FACTS_LATENCY, FACTS_PFC, FACTS_PGS, FACTS_POOLS,
	FACTS_DROPS,
	FACTS_DROP_TOTAL, FACTS_DROP_REASONS, FACTS_CONTROL, FACTS_HINTS, FACTS_WORKERS,
	FACTS_BALANCE, FACTS_QUEUE_MARKS, FACTS_PG_MARKS, FACTS_POOL_MARKS, FACTS_FDB,
	FACTS_FDB_PORTS, FACTS_EVENTS,
	FACTS_STEERING, FACTS_ROUTES, FACTS_NEIGHBOURS, FACTS_NEIGHBOUR_TOTALS,
	FACTS_WATCHDOG, FACTS_GUARD, FACTS_CAUSES, FACTS_PEERS, FACTS_STAND_IN,
	FACTS_IPCC, FACTS_FLOW_PORTS, FACTS_FLOW_TABLE, FACTS_PAIRING, FACTS_FLOWS, FACTS_CNPS,
	N_FACT_LISTS,
};

extern const struct fact_list fact_lists[N_FACT_LISTS];

// The name among labels of Prometheus.
static inline const char *fact_label(const struct fact *f)
{
	return f->label != NULL ? f->label : f->key;
}

// Metrics that are no row of a list.
struct fact_metric_row {
	const char *name, *type, *help;
};
enum {
	METRIC_INFO, METRIC_EVENTS, METRIC_EVENTS_LOST, METRIC_LOG_LOST, METRIC_RESIDENCE,
	N_FACT_METRICS,
};
extern const struct fact_metric_row fact_metrics[N_FACT_METRICS];

enum { METRIC_NAME_LEN = 96 };

// "weir_port_rx_packets_total" for a row that is a metric; false for one that is none.
bool fact_metric(const struct fact_list *l, const struct fact *f, char out[METRIC_NAME_LEN]);

// 1 for counts and bytes, 1000 for a key in milliseconds, 1000000 in microseconds, 1000000000 in
// nanoseconds: what the value is divided by in Prometheus.
unsigned fact_per_unit(const struct fact *f);
