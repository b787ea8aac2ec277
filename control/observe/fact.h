// SPDX-License-Identifier: Apache-2.0
// Every number that the switch shows, as rows: one row (facts.def) has the JSON key, the kind, the
// unit, the column in weirctl's table, the expression that computes the value, and a sentence. The
// answers to `show`, the Prometheus page, the DPDK telemetry mirror, the tables of weirctl and
// docs/counters.md come from the row. Here are the rows without their values: pure data, no DPDK;
// read by any thread.
//
// The Prometheus name is the list's prefix and the key: `weir_port` and `rx_packets` give
// weir_port_rx_packets_total. Times are seconds there (`_ms`, `_us` and `_ns` become `_seconds`),
// counters end in _total, identity and labels become labels.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// How a cell of a table shows a value.
enum cell_unit {
	CELL_TEXT, // left aligned, as CELL_LIST and CELL_TREND
	CELL_COUNT, // 1,234
	CELL_BYTES, // 12.0 KB
	CELL_TREND, // of bytes: +4.20 KB, -120 B
	CELL_BPS, // 1.00 Gb/s
	CELL_MS, // 100 ms
	CELL_UPTIME, // of milliseconds: 16 min 14 s, 3 d 4 h
	CELL_US, // 1.50 ms
	CELL_NS,
	CELL_S,
	CELL_YES, // yes, no
	CELL_UP, // up, down
	CELL_ON, // on, off
	CELL_PERCENT,
	CELL_HEX, // 0x1a2b, as queue pairs are written
	CELL_LIST, // words with blanks between
};

struct fact {
	const char *key;
	enum fact_kind kind;
	enum cell_unit unit;
	// The column of the list's table: its place, from 1 on (0: the fact is no column), its
	// head, and its rank. Where a table is wider than the terminal, the columns of the highest
	// rank are left out first, of one rank the last column first. 0: never left out.
	uint8_t place, rank;
	const char *head;
	const char *label; // FACT_ID: its name among labels where that is not the key
	const char *help;
};

// The places of the facts in fact_rows: F_PORTS_rx_packets.
enum fact_id {
	F_NONE,
#define LIST(list, ...) F_##list##_FIRST, F_##list##_BEFORE = F_##list##_FIRST - 1,
#define ROW(list, key, ...) F_##list##_##key,
#define END(list) F_##list##_END, F_##list##_LAST = F_##list##_END - 1,
#include "control/observe/facts.def"
	N_FACTS,
};
extern const struct fact fact_rows[N_FACTS];

// The key of a fact, where code asks for one: KEY(PORTS, rx_packets).
#define KEY(list, key_) (fact_rows[F_##list##_##key_].key)

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

// In the order of the Prometheus page and of docs/counters.md.
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

// 1 for counts and bytes, 1000 for a value in milliseconds, 1000000 in microseconds, 1000000000 in
// nanoseconds: what the value is divided by in Prometheus.
unsigned fact_per_unit(const struct fact *f);
