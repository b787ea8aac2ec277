// SPDX-License-Identifier: Apache-2.0
// Ranges in names: "p[1-3]" is p1, p2, p3; "eth[01-02,7]" is eth01, eth02, eth07. Several ranges in
// one text run in step. Pure: allocates nothing.
#pragma once

#include <stdbool.h>

// No port, device, address, host, switch or end of a cable has a longer name.
enum { EXPAND_MAX = 128, EXPAND_NAME_LEN = 63 };

struct expansion {
	char items[EXPAND_MAX][EXPAND_NAME_LEN + 1];
	unsigned n;
	bool ranged; // the text holds a range
};

// False with *why.
bool expand(const char *text, struct expansion *out, const char **why);
