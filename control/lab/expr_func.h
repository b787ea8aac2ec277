// SPDX-License-Identifier: Apache-2.0
// The functions of expectations and records, one row each: parser, units, reading, `weir-lab help
// functions` and the manual come from the row. Pure data.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Rates are bits per second, data bytes, time nanoseconds. A share is a number that is shown as a
// percentage.
enum expr_unit { EXPR_COUNT, EXPR_SHARE, EXPR_RATE, EXPR_BYTES, EXPR_TIME, N_EXPR_UNITS };

enum expr_object_kind {
	OBJ_HOST,
	OBJ_HOST_CLASS, // h1.3: class 3 of the host
	OBJ_FLOW, // an item of `flows:`, all its connections
	OBJ_CONN, // FLOW/1: the first connection of an item; FLOW/*: each
	OBJ_SWITCH,
	OBJ_PORT, // s1.p3
	OBJ_QUEUE, // s1.p3.3: queue, priority group or class 3 of the port
	OBJ_ALL_HOSTS, // nothing named
	OBJ_ALL_SWITCHES,
	N_OBJECT_KINDS,
};
#define OBJ_BIT(kind) (1u << (kind))

enum expr_method {
	BY_COUNT, // what a counter grew by in the window
	BY_RATE, // 8 times that, by the window's length
	BY_SHARE, // one counter's growth by another's
	BY_LINE, // the rate by the port's speed
	BY_SAMPLE, // of values sampled in the window: mean, or as asked
	BY_OPERATION, // of the operations that finished in the window
	BY_NOW, // what is at the end of the window
	BY_SET, // of all its objects together: what was found in the window (chain.h)
	BY_STORM, // of what the watchdogs said (ledger.h)
	BY_LEVEL, // of the length of queues over time (level.h)
	BY_WATCH, // the instant at which it first happened in the window (level.h)
	BY_LIST, // of the values of its arguments
};

// What is read, by metric.c. The first ones are counters, then come gauges, then times of an
// operation, then functions of a list.
enum metric {
	METRIC_TX_LINE_BYTES,
	METRIC_TX_BYTES,
	METRIC_TX_PACKETS,
	METRIC_RX_LINE_BYTES,
	METRIC_RX_PACKETS,
	METRIC_GOODPUT_BYTES,
	METRIC_PAUSES_TX,
	METRIC_PAUSES_RX,
	METRIC_XOFFS_TX,
	METRIC_XOFFS_RX,
	METRIC_PAUSED_TX_NS,
	METRIC_PAUSED_RX_NS,
	METRIC_DROPS,
	METRIC_LOSSLESS_DROPS,
	METRIC_MARKS,
	METRIC_CNPS_TX,
	METRIC_CNPS_RX,
	METRIC_RETRANSMISSIONS,
	METRIC_SPURIOUS,
	METRIC_TIMEOUTS,
	METRIC_FAST_RETRANSMITS,
	METRIC_ECE,
	METRIC_NAKS,
	METRIC_MESSAGES,
	METRIC_POSTED,
	METRIC_STORMS,
	METRIC_STORMS_RESTORED,
	METRIC_STORM_TX,
	METRIC_STORM_TX_DROPS,
	METRIC_STORM_RX,
	METRIC_STORM_RX_DROPS,
	METRIC_REMAPPED,
	METRIC_CNPS_SWITCH, // from here on: metric_cnp.c
	METRIC_CNPS_WRONG,
	METRIC_CNP_LOOKS,
	METRIC_PAIRED_BYTES,
	METRIC_FLOW_BYTES,
	METRIC_PAIRINGS,
	METRIC_PAIRS_DROPPED,
	METRIC_PAIRED,
	METRIC_FLOWS,
	METRIC_QUADRANT,
	METRIC_TREND,
	METRIC_EXCESS, // the last of them
	METRIC_QUEUE_BYTES,
	METRIC_PG_BYTES,
	METRIC_HEADROOM_BYTES,
	METRIC_POOL_BYTES,
	METRIC_CC_RATE,
	METRIC_ALPHA,
	METRIC_CWND,
	METRIC_FRAMES_QUEUED,
	METRIC_FRAMES_ON_WIRES,
	METRIC_DONE,
	METRIC_STUCK,
	METRIC_CAUSES,
	METRIC_DEADLOCKS,
	METRIC_CYCLIC,
	METRIC_ROOTED,
	METRIC_CYCLE,
	METRIC_DETECTED_AT,
	METRIC_RESTORED_AT,
	METRIC_ESCALATED,
	METRIC_QUEUE_MEAN,
	METRIC_SHARE_ABOVE,
	METRIC_FIRST_CROSSING,
	METRIC_FIRST_CUT,
	METRIC_FCT,
	METRIC_SLOWDOWN,
	METRIC_WAIT,
	METRIC_SEND,
	METRIC_NET,
	METRIC_JAIN,
	METRIC_SUM,
	METRIC_MEAN,
	METRIC_MIN,
	METRIC_MAX,
	METRIC_N_VALUES,
	N_METRICS,
};

enum expr_stat_kind { STAT_MEAN, STAT_MIN, STAT_MAX, STAT_NOW, STAT_QUANTILE };
struct expr_stat {
	uint8_t kind; // enum expr_stat_kind
	uint32_t ppm; // of a quantile, in millionths
};

enum expr_takes {
	TAKES_STAT = 1,
	TAKES_SIZE = 2,
	TAKES_REASON = 4,
	TAKES_POOL = 8,
	TAKES_MORE = 16, // further objects
	TAKES_NUMBER = 32, // which one, from 1
	TAKES_SOURCE = 64, // how a pair was learnt
	TAKES_QUADRANT = 128,
	TAKES_BYTES = 256,
};
enum expr_who { WHO_EVERYBODY, WHO_SENDS, WHO_RECEIVES }; // of hosts named by *

struct expr_func {
	const char *name;
	uint8_t method; // enum expr_method
	uint8_t unit; // enum expr_unit
	uint8_t metric; // enum metric
	uint16_t kinds; // OBJ_BIT of each that it is about
	const char *args, *help;
	uint16_t takes; // bits of enum expr_takes
	uint8_t who; // enum expr_who
	uint8_t per; // enum metric: what BY_SHARE divides by
};

const struct expr_func *expr_func_at(uint32_t i); // NULL behind the last
const struct expr_func *expr_func_find(const char *name, uint32_t len);
const char *expr_func_closest(const char *name);

// "mean", "max", "p99", "p999" (99.9 %), "p99.9".
bool expr_stat_parse(const char *text, struct expr_stat *out);

extern const char *const expr_object_name[N_OBJECT_KINDS]; // "host", "port", ...

// The table as `weir-lab help functions` prints it, and as docs/scenario-functions.md has it.
void expr_func_help(FILE *out);
void expr_func_docs(FILE *out);
