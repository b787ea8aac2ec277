// SPDX-License-Identifier: Apache-2.0
// The parser of expr.h while it reads a text, shared by its sums and comparisons (expr.c) and its
// functions with their arguments (expr_call.c).
#pragma once

#include "control/lab/expr_tree.h"

struct parser {
	struct expr_set *s;
	struct cfg_pos at;
	const char *path, *text, *p;
	unsigned depth;
	bool failed;
};

// Says the first mistake of a text; the others would follow from it. NULL.
__attribute__((format(printf, 3, 4))) void *parser_wrong(struct parser *ps, const char *where,
							 const char *fmt, ...);
void parser_skip_space(struct parser *ps);
// Goes on behind a word or sign, where that is what follows.
bool parser_take(struct parser *ps, const char *token);
struct expr *parser_node(struct parser *ps, enum expr_op op, const char *where);
// False: the units of a and b do not fit; `doing` says to what.
bool parser_alike(struct parser *ps, const struct expr *a, const struct expr *b, const char *doing);

// Each NULL when something was wrong.
struct expr *parser_sum(struct parser *ps);
struct expr *parser_call(struct parser *ps);
