// SPDX-License-Identifier: Apache-2.0
// The `show` commands of SONiC: which kind of ours each of them is, and its table as SONiC prints
// it (`--style sonic`), with values of our facts. The table of rows in sonic_show.c has all of it.
// Layout: columns as wide as their head and two blanks at least, all to the right, a rule below
// the heads. Pure but for printing.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json_object;
struct sonic_show;

// The command that the words behind `show` begin with; *n_words: how many of them it takes. NULL:
// none.
const struct sonic_show *sonic_find(int argc, char **argv, int *n_words);
// Finds the SONiC command *theirs that has no table here, and returns the weirctl command for it.
// NULL: the words are no such command.
const char *sonic_elsewhere(int argc, char **argv, const char **theirs);
// The first command that shows the kind; NULL: none.
const struct sonic_show *sonic_of_kind(const char *what);

// Our kind of `show` with the rows of its table.
const char *sonic_kind(const struct sonic_show *s);
unsigned sonic_list(const struct sonic_show *s); // of facts: the rows of its table
// The i-th of the other kinds that have values of its table; NULL behind the last.
const char *sonic_needs(const struct sonic_show *s, unsigned i);

// data: the answers to all these kinds, in one. all: also rows that SONiC leaves out without -e.
void sonic_print(FILE *out, const struct sonic_show *s, struct json_object *data, bool all);

// "show pfc counters [PORT]" of command i; NULL behind the last.
const char *sonic_usage(unsigned i);
