// SPDX-License-Identifier: Apache-2.0
// Every number that the switch shows, as rows: one row (facts.def) has the JSON key, the kind, the
// unit, the column in weirctl's table, the expression that computes the value, and a sentence. The
// answers to `show`, the Prometheus page, the DPDK telemetry mirror, the tables of weirctl and
// docs/counters.md come from the row. fact.c holds the rows without their values: constants, no
// DPDK, that any thread may read. It also makes rows of JSON from values.
//
// The Prometheus name is the list's prefix and the key: `weir_port` and `rx_packets` give
// weir_port_rx_packets_total. Times are seconds there (`_ms`, `_us` and `_ns` become `_seconds`),
// counters end in _total, identity and labels become labels.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

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

// The key of a fact, where code needs one: KEY(PORTS, rx_packets).
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
	FACTS_ECN_AUTO,
	FACTS_BUFFER, FACTS_PG_CONFIG,
	FACTS_PORTS, FACTS_CLOCK, FACTS_QUEUES, FACTS_LATENCY, FACTS_PFC, FACTS_PGS, FACTS_POOLS,
	FACTS_DROPS,
	FACTS_DROP_TOTAL, FACTS_DROP_REASONS, FACTS_CONTROL, FACTS_HINTS, FACTS_WORKERS,
	FACTS_BALANCE, FACTS_QUEUE_MARKS, FACTS_PG_MARKS, FACTS_POOL_MARKS, FACTS_FDB,
	FACTS_FDB_PORTS, FACTS_EVENTS,
	FACTS_BURSTS, FACTS_BURST_QUEUES, FACTS_BURST_PGS, FACTS_BURST_WINDOW,
	FACTS_PUNTS, FACTS_STEERING, FACTS_ROUTES, FACTS_NEIGHBOURS, FACTS_NEIGHBOUR_TOTALS,
	FACTS_LINUX_TAPS, FACTS_LINUX,
	FACTS_WATCHDOG, FACTS_GUARD, FACTS_IMPAIRMENTS, FACTS_CAUSES, FACTS_PEERS, FACTS_STAND_IN,
	FACTS_LLDP, FACTS_LLDP_PORTS, FACTS_DCBX, FACTS_DCBX_CLASSES, FACTS_PFC_PORTS,
	FACTS_INOF_HOSTS, FACTS_INOF_ZONES, FACTS_INOF_LOG, FACTS_INOF_PORTS,
	FACTS_INOF_PEERS,
	FACTS_IPCC, FACTS_FLOW_PORTS, FACTS_FLOW_TABLE, FACTS_ELEPHANTS, FACTS_ELEPHANT_PORTS,
	FACTS_PAIRING, FACTS_FLOWS, FACTS_CNPS,
	FACTS_VNIS, FACTS_TUNNEL_PEERS, FACTS_VXLAN,
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

// ---- from facts to rows of JSON

// The value of a fact at one place.
struct value {
	enum {
		VALUE_ABSENT, // the row has no such key
		VALUE_NULL,
		VALUE_U64,
		VALUE_I64,
		VALUE_DOUBLE,
		VALUE_YES,
		VALUE_TEXT, // NULL: null. Lives as long as the switch
		VALUE_JSON, // the receiver's; NULL: null
	} type;
	union {
		uint64_t u64;
		int64_t i64;
		double number;
		bool yes;
		const char *text;
		struct json_object *json;
	};
};

#define VALUE_FUNCTION(name, type_, id, member)                                                    \
	static inline struct value name(type_ v)                                                   \
	{                                                                                          \
		return (struct value){.type = id, .member = v};                                    \
	}
VALUE_FUNCTION(value_of_u64, uint64_t, VALUE_U64, u64)
VALUE_FUNCTION(value_of_i64, int64_t, VALUE_I64, i64)
VALUE_FUNCTION(value_of_double, double, VALUE_DOUBLE, number)
VALUE_FUNCTION(value_of_yes, bool, VALUE_YES, yes)
VALUE_FUNCTION(value_of_text, const char *, VALUE_TEXT, text)
VALUE_FUNCTION(value_of_json, struct json_object *, VALUE_JSON, json)
#undef VALUE_FUNCTION

static inline struct value value_same(struct value v)
{
	return v;
}

// A value of the type that the expression has.
#define VALUE(e)                                                                                   \
	_Generic((e), struct value: value_same, struct json_object *: value_of_json,               \
		 const char *: value_of_text, char *: value_of_text, double: value_of_double,      \
		 bool: value_of_yes, int: value_of_i64, long: value_of_i64,                        \
		 default: value_of_u64)(e)
// By the kind of a fact. Only facts that are true or false have a type of their own.
#define VALUE_OF_YES(e) value_of_yes((e) != 0)
#define VALUE_OF_ID(e) VALUE(e)
#define VALUE_OF_LABEL(e) VALUE(e)
#define VALUE_OF_TEXT(e) VALUE(e)
#define VALUE_OF_COUNTER(e) VALUE(e)
#define VALUE_OF_GAUGE(e) VALUE(e)
#define VALUE_OF_DERIVED(e) VALUE(e)
// Null, or no key at all, where the condition does not hold.
#define MAYBE(condition, e) ((condition) ? VALUE(e) : (struct value){.type = VALUE_NULL})
#define IF(condition, e) ((condition) ? VALUE(e) : (struct value){.type = VALUE_ABSENT})

// Adds all facts of a list (enum in fact.h) to the row. at: what the row is about, of the type that
// `value` knows.
void emit_facts(struct json_object *row, unsigned list,
		struct value (*value)(enum fact_id f, const void *at), const void *at);

// Adds one of them.
void emit_fact(struct json_object *row, enum fact_id f, struct value v);

void row_u64(struct json_object *row, const char *key, uint64_t v);
void row_bool(struct json_object *row, const char *key, _Bool v);
void row_text(struct json_object *row, const char *key, const char *v);

// Adds an empty list under key, or under the key of a list of facts; the single row of a list of
// facts; an empty row to a list.
struct json_object *mac_json(const uint8_t mac[6]); // "02:00:00:00:00:01"
struct json_object *list_in(struct json_object *out, const char *key);
struct json_object *rows_in(struct json_object *out, unsigned list);
struct json_object *single_in(struct json_object *out, unsigned list);
struct json_object *row_in(struct json_object *list);
