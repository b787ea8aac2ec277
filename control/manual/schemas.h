// SPDX-License-Identifier: Apache-2.0
// JSON schemas of the answers to `weirctl show KIND --json`, from the rows of the facts
// (control/observe/fact.h). Decides the type of each fact by its kind, its unit and the expression
// that computes it. Does not know the members that are no facts: a table here has them.
#pragma once

#include <stdio.h>

// docs/schemas/show.json: a definition for each kind, under its name.
void schemas_print(FILE *out);
