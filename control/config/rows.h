// SPDX-License-Identifier: Apache-2.0
// How rows of the policy's schema are written in C. For the files that hold such rows, model*.c.
#pragma once

#include <assert.h>

#include "control/config/schema.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))
#define AT(s, f) .off = offsetof(struct s, f)
#define SCHEMA(id, table, type)                                                                    \
	const struct cfg_schema id = {table, N(table), sizeof(struct type)};                       \
	static_assert(N(table) <= CFG_MAX_ROWS, "the engine keeps one position per row")
