// SPDX-License-Identifier: Apache-2.0
// How each kind of `show` looks as a table. Pure but for printing.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json_object;

// what: a kind of the daemon's `show`. all: rows without any activity too. False: no such kind.
bool show_tables(FILE *out, const char *what, struct json_object *data, bool all);

// The kinds for a message: "ports queues ...".
const char *show_kinds(void);
bool show_exists(const char *what);
