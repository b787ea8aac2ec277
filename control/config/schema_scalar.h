// SPDX-License-Identifier: Apache-2.0
// Single values of the schema: numbers with units and ranges, words, switches, names. Part of the
// schema engine (schema.h); control thread only.
#pragma once

#include "control/config/schema.h"

// Reads a scalar node by its row; false after a report, *out then keeps its default.
bool schema_scalar(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		   struct cfg_val *out, const char *path);
