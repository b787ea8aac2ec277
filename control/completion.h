// SPDX-License-Identifier: Apache-2.0
// A script that completes a program with commands in bash, from its rows. Pure but for printing.
#pragma once

#include "control/opts.h"

// `usage` is one line per form, and the grammar of completion: words stand for themselves, `a|b`
// for one of several, WORDS for values (KIND, PORT, QUEUE, CLASS, FILE, and NAME and DIR of an
// option are known by completion), [..] for what may be left out, `...` for what may be repeated.
// Options may stand anywhere.
struct completion_command {
	const char *name, *usage; // usage: with or without the name of the program
	unsigned bit; // of enum lab_command_bit; 0: the options are those of its usage
};

struct completion {
	const struct opts *opts;
	const char *kinds; // what KIND stands for
	const char *options; // before a command
	bool (*command)(unsigned i, struct completion_command *out); // false: there is none
};

void completion_script(const struct completion *c, FILE *out);
