// SPDX-License-Identifier: Apache-2.0
// cmocka with the headers that it wants before it, and what the tests of this folder share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

// cmocka 1.1 compares as unsigned: these speak of the row of a table that failed.
#define assert_row(row, got, want)                                                                 \
	do {                                                                                       \
		if ((got) != (want))                                                               \
			fail_msg("row %zu: %s is %lld, not %lld", (size_t)(row), #got,             \
				 (long long)(got), (long long)(want));                             \
	} while (0)
