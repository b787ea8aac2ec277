// SPDX-License-Identifier: Apache-2.0
// The inside of expr.h, shared by parser (expr.c) and evaluation (expr_eval.c).
#pragma once

#include "control/lab/expr.h"

enum expr_op {
	EX_NUMBER,
	EX_LEAF,
	EX_ADD,
	EX_SUB,
	EX_MUL,
	EX_DIV,
	EX_NEG,
	EX_LIST,
	EX_EQ,
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
	struct expr_range leaves; // of a whole text: of its root only
};

static inline bool expr_is_check(const struct expr *e)
{
	return e->op >= EX_EQ;
}
