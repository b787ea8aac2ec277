// SPDX-License-Identifier: Apache-2.0
// Ranges in names: "p[1-3]" is p1, p2, p3; "eth[01-02,7]" is eth01, eth02, eth07. Several ranges in
// one text run in step. Control thread only; pure.
#pragma once

#include <stdbool.h>

#include "control/config/arena.h"

enum { EXPAND_MAX = 128 };

struct expansion {
	const char *items[EXPAND_MAX];
	unsigned n;
	bool ranged; // the text holds a range
};

// False with *why.
bool expand(struct arena *a, const char *text, struct expansion *out, const char **why);
