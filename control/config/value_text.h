// SPDX-License-Identifier: Apache-2.0
// A value of a policy as the file could have it: "60KB", "1/8", "[20, 30-39]", "{26: 3}". For lists
// of changes. Pure; control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "control/config/schema.h"

enum { VALUE_TEXT_LEN = 96 };

// True where a key that may hold others has a value of its own, as in `schedule: strict`.
bool value_is_scalar(const struct cfg_row *row, const void *scalar);

// value: the member of the row, or NULL for an entry that is absent. scalar: the member of
// row->scalar, or NULL. An absent key is "default: DEFAULT". A longer text ends in
// "...".
void value_text(const struct cfg_row *row, const void *value, const void *scalar,
		char out[VALUE_TEXT_LEN]);
