// SPDX-License-Identifier: Apache-2.0
// The language of `record:` and `expect:`: quantities with units, arithmetic, functions of what a
// run counted, and one comparison. The parser makes a tree of a text, or reports the first mistake
// of the text at its place. Later each tree has a value. Pure: the caller gives the values of the
// fabric's functions through struct expr_env. Functions are rows of expr_func.h. Control thread
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

#include "control/config/arena.h"
#include "control/config/diag.h"
#include "control/lab/expr_func.h"

enum { EXPR_MAX_LEAVES = 65536, EXPR_MAX_TEXT = 1024, EXPR_VALUE_LEN = 64 };
// Digits of a printed quantity: as a rule, at most as asked for, and as many as tell any two apart.
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
	uint8_t metric; // EX_LIST: enum metric
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
