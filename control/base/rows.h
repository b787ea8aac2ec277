// SPDX-License-Identifier: Apache-2.0
// How rows of the policy's schema are written in C. For the files that hold such rows.
#pragma once

#include <assert.h>

#include "control/base/schema.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))
#define AT(s, f) .off = offsetof(struct s, f)
// A row of a schema. The key and the member of struct s have the same name.
#define FIELD(t, s, f) .key = #f, .type = t, AT(s, f)
#define NUMBER(u, s, f) FIELD(CFG_NUMBER, s, f), .unit = UNIT_##u
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SCALAR(...) (&(const struct cfg_row){__VA_ARGS__})
#define SCHEMA(id, table, type)                                                                    \
	const struct cfg_schema id = {table, N(table), sizeof(struct type)};                       \
	static_assert(N(table) <= CFG_MAX_ROWS, "the engine keeps one position per row")

// Numbers in the units of a key.
#define KB(n) ((n)*1000ll)
#define MB(n) ((n)*1000000ll)
#define GIGA(n) ((n)*1000000000ll)
#define US(n) ((n)*1000ll)
#define MS(n) ((n)*1000000ll)
#define SECONDS(n) ((n)*1000000000ll)
#define KM(n) ((n)*100000ll)
#define PERCENT(n) ((n)*10000ll)
