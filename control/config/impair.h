// SPDX-License-Identifier: Apache-2.0
// Rules of impairment from texts, as `weirctl impair` and the lab's scenarios have them:
//
//   match  := and { || and }            and    := not { && not }
//   not    := ! not | ( match ) | term
//   term   := field [% N] == value      also != < <= > >=
//           | field [% N] in A - B
//           | word | random P% | every N
//
// A text without a term matches all frames. Pure; control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/impair_rule.h"

enum { IMPAIR_MISTAKE_LEN = 192 };

// The first mistake of a text.
struct impair_mistake {
	unsigned column; // in the text, from 1
	char text[IMPAIR_MISTAKE_LEN];
};

// Fills match and match_text, or action and action_text with their values. False with *why; the
// rule is then half-filled.
bool impair_parse_match(const char *text, struct impair_rule *rule, struct impair_mistake *why);
bool impair_parse_action(const char *text, struct impair_rule *rule, struct impair_mistake *why);

// Fields, words and actions, for `weirctl help impair` and the manual.
void impair_help(FILE *out);

enum { IMPAIR_FOR_S = 60, IMPAIR_FOR_MAX_S = 24 * 3600 }; // unless it is said how long
