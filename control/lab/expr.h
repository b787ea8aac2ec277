// SPDX-License-Identifier: Apache-2.0
// The language of `record:` and `expect:`: quantities with units, arithmetic, functions of what a
// run counted, and one comparison. The parser makes a tree of a text, or reports the first mistake
// of the text at its place. Later each tree has a value. Pure: the caller gives the values of the
// fabric's functions through struct expr_env. Control thread
// only.
//
//   check  := sum (== != < <= > >=) sum | sum within (P% | sum) of sum | sum between sum and sum
//   sum    := product {(+ | -) product}        product := factor {(* | /) factor}
//   factor := number[unit] | function[(...)] | (sum) | - factor
//
// A pattern as an argument makes a list. A list with a single value, or two lists of one length,
// are combined one by one; a comparison of a list holds when it holds for each of its values.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/base/arena.h"
#include "control/base/diag.h"

// ---- functions, one row each (metric.c): parser, units, reading, `weir-lab help functions` and
// the manual come from the row
// Rates are bits per second, data bytes, time nanoseconds. A share is a number that is shown as a
// percentage.
enum expr_unit {
	EXPR_COUNT,
	EXPR_SHARE,
	EXPR_RATE,
	EXPR_BYTES,
	EXPR_TIME,
	N_EXPR_UNITS,
	EXPR_AS_LIST = N_EXPR_UNITS, // of a function of a list: the unit of its values
};

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

enum expr_list { LIST_JAIN, LIST_SUM, LIST_MEAN, LIST_MIN, LIST_MAX, LIST_COUNT };

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

struct metric_world;
struct expr_leaf;
struct expr_object;
struct traffic_conn;
struct level;

// One queue, class or group of a switch; of an object that is read as a whole its first.
struct metric_part {
	const struct metric_world *w;
	const struct expr_leaf *leaf;
	const struct expr_object *o;
	struct weir_switch *sw;
	unsigned port, cls;
};

enum expr_pause { PAUSE_FRAMES = 1, PAUSE_TIMES, PAUSE_NS, PAUSE_RECEIVED = 4 };

// Where a function's number is: one member for each kind of object that the function is about.
// Numbers of parts are added up. A word is its index in the struct, from 1 on; 0: none.
struct expr_source {
	uint16_t host; // word of struct nic_stats
	uint16_t host_class; // word of struct nic_class_stats, of each class
	uint16_t conn; // word of struct traffic_counts, of each connection
	bool tcp, messages; // of a connection: only of TCP; only where messages are operations
	uint8_t pause; // enum expr_pause: of each class of a host, or of a port without a fact
	uint16_t facts[4]; // enum fact_id: of each queue, class or group; their sum
	uint16_t whole; // enum fact_id: of a switch as a whole
	double (*state)(const struct metric_world *w, const struct traffic_conn *c); // mean
	double (*flow)(const struct metric_world *w, uint32_t flow);
	double (*part)(const struct metric_part *at);
	double (*object)(const struct metric_part *at); // of a switch, port or queue as a whole
	double (*fabric)(const struct metric_world *w);
};

struct expr_func {
	const char *name;
	uint8_t method; // enum expr_method
	uint8_t unit; // enum expr_unit
	uint16_t kinds; // OBJ_BIT of each that it is about
	const char *args, *help;
	uint16_t takes; // bits of enum expr_takes
	uint8_t who; // enum expr_who
	bool ends; // only of flows that have a last message
	bool every_sample; // read at every sample, although it is a counter
	struct expr_source get;
	struct expr_source frames; // whose overhead on the line is added
	struct expr_source per; // BY_SHARE: what it divides by
	uint8_t storm, chain, list; // BY_STORM, BY_SET, BY_LIST: storm_what, chain_kind, expr_list
	double (*level)(const struct level *l); // BY_LEVEL
	uint16_t from, to; // BY_OPERATION: words of struct traffic_done, whose difference it is
	bool slowdown; // that, by the time of the operation alone
};
extern const struct expr_func expr_funcs[]; // metric.c
extern const uint32_t expr_n_funcs;

const struct expr_func *expr_func_find(const char *name, uint32_t len);
const char *expr_func_closest(const char *name);

// "mean", "max", "p99", "p999" (99.9 %), "p99.9".
bool expr_stat_parse(const char *text, struct expr_stat *out);

extern const char *const expr_object_name[N_OBJECT_KINDS]; // "host", "port", ...

// The table as `weir-lab help functions` prints it, and as docs/scenario-functions.md has it.
void expr_func_help(FILE *out);
void expr_func_docs(FILE *out);

// ---- texts and trees
enum { EXPR_MAX_LEAVES = 65536, EXPR_MAX_TEXT = 1024, EXPR_VALUE_LEN = 64 };
// Digits of a printed quantity: as a rule, the most that a user may set, and enough to tell any two
// values apart.
enum { EXPR_DIGITS = 4, EXPR_MAX_DIGITS = 15, EXPR_ALL_DIGITS = 17 };

// What may be named. Strings and arrays outlive what is parsed with them.
struct expr_names {
	const char *const *hosts, *const *flows, *const *switches;
	uint32_t n_hosts, n_flows, n_switches;
	const uint32_t *n_ports; // of each switch
	const bool *endless; // of each flow
	uint64_t duration_ns; // no window ends later
	bool incomplete; // the file has mistakes in what it names: a missing name is no new one
};

// One thing that numbers are about.
struct expr_object {
	uint8_t kind; // enum expr_object_kind
	int8_t cls; // queue, group or class; -1: all of them
	uint16_t port;
	uint32_t node; // host, flow or switch
	uint32_t conn; // OBJ_CONN: which of the flow's; UINT32_MAX: all
	const char *name; // as people write it
};

// A function of the fabric in a text, ready to be measured.
struct expr_leaf {
	const struct expr_func *fn;
	const struct expr_object *objects;
	uint32_t n_objects;
	bool star; // by * : functions that are about senders or receivers leave the others out
	bool windowed;
	uint64_t from_ns, to_ns; // UINT64_MAX: the end of the run
	struct expr_stat stat;
	// Of the words that the function takes: enum drop_reason, pool_id, pair_source, or
	// ipcc_quadrant with N_QUADRANTS for looks left out. -1: all.
	int choice;
	uint32_t size_min, size_max; // of operations, both inclusive
	uint32_t number; // which one, from 1
	uint64_t bytes; // TAKES_BYTES; UINT64_MAX: not given
};

enum expr_op {
	EX_NUMBER,
	EX_LEAF,
	EX_ADD,
	EX_SUB,
	EX_MUL,
	EX_DIV,
	EX_NEG,
	EX_LIST,
	EX_EQ, // comparisons from here on
	EX_NE,
	EX_LT,
	EX_LE,
	EX_GT,
	EX_GE,
	EX_WITHIN,
	EX_BETWEEN,
};

struct expr {
	uint8_t op; // enum expr_op
	uint8_t unit; // enum expr_unit
	uint8_t list; // EX_LIST: enum expr_list
	bool any_unit; // a bare zero
	bool relative; // EX_WITHIN: the tolerance is a share of kid 2
	uint32_t column; // where its text begins, from 0
	double number; // EX_NUMBER; EX_MUL and EX_DIV: what brings the result to its unit
	uint32_t leaf; // EX_LEAF
	const struct expr *kid[3];
	const struct expr *next; // EX_LIST: its arguments are kid[0] and those that follow it
	// Of the root: the leaves of the text, which are neighbours in the set.
	uint32_t first_leaf, n_leaves;
};

struct expr_set {
	struct arena *arena;
	struct diag_sink *sink;
	const struct expr_names *names;
	struct expr_leaf **leaves;
	uint32_t n_leaves;
};

enum expr_want { EXPR_CHECK, EXPR_VALUE };

// NULL: the text has a mistake, which the sink has. at: where the text begins in the file.
const struct expr *expr_parse(struct expr_set *s, const char *text, struct cfg_pos at,
			      const char *path, enum expr_want want);
// The objects that a text names among those that fn is about; false with *why made in the arena.
bool expr_select(struct expr_set *s, const struct expr_func *fn, const char *text,
		 struct expr_leaf *leaf, const char **why);

struct expr_env {
	uint32_t (*n)(const void *arg, uint32_t leaf); // values of a leaf
	double (*value)(const void *arg, uint32_t leaf, uint32_t i); // NaN: nothing to measure
	const void *arg;
	unsigned digits; // of the texts of a verdict, at least; 0: EXPR_DIGITS
};

enum expr_unit expr_unit(const struct expr *e);
uint32_t expr_n(const struct expr *e, const struct expr_env *env);
double expr_value(const struct expr *e, uint32_t i, const struct expr_env *env);

struct expr_verdict {
	bool pass;
	double worst; // the value that decided; of several the one that fails, or the first
	char measured[EXPR_VALUE_LEN], expected[EXPR_VALUE_LEN], tolerance[EXPR_VALUE_LEN];
};
struct expr_verdict expr_check(const struct expr *e, const struct expr_env *env);

// ---- quantities
// "40G", "1.5KB", "10us", "5%", "0.98". Returns the first character behind the quantity, or NULL
// with *why. A bare 0 fits every unit.
const char *expr_number(const char *text, double *v, enum expr_unit *unit, const char **why);

// A short text with EXPR_DIGITS digits: "9.812G", "125.3KB", "12.4us", "0.92%", "17"; "no value"
// for NaN. A count has all its digits.
void expr_print(enum expr_unit unit, double v, char *out, uint32_t len);
// With more than EXPR_MAX_DIGITS in the smallest unit.
void expr_print_digits(enum expr_unit unit, double v, unsigned digits, char *out, uint32_t len);
