// SPDX-License-Identifier: Apache-2.0
// The rows of a schema as lines of a table in Markdown, for the manual: key, value, default,
// whether a reload applies it (where `reload`), meaning.
#pragma once

#include <stdio.h>

#include "control/config/schema.h"

// path: what stands before the keys, "" or "switches.NAME.".
void schema_print(const struct cfg_schema *s, const char *path, bool reload, FILE *out);
