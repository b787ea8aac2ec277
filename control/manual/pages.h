// SPDX-License-Identifier: Apache-2.0
// What scripts/docs generates: whole pages of the manual, and parts of pages whose other text is
// written by hand. It comes from the tables of commands, options, numbers, drop reasons and events,
// and from the schemas.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// Prints a page or a part of one. docs: the directory of the manual. 0, or -1 when a source cannot
// be read.
typedef int page_fn(FILE *out, const char *docs);

page_fn page_counters;
page_fn part_policy, part_telemetry, part_lab_commands, part_ctl_commands;

// usage, summary, options or exit of a program, for its manual page. False: there is no such part.
bool part_of_program(FILE *out, const char *part, const char *program);
