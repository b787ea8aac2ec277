// SPDX-License-Identifier: Apache-2.0
// The commands of weirctl in a scenario: typed at their times, as a live switch takes them
// (control/orders/), and answered in the report. The thread of the run calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fabric;
struct json_object;
struct operator;
struct run;
struct sc_fault;

// To a command, in order of time.
struct operator_answer {
	const struct sc_fault *command;
	struct json_object *data; // NULL: it was refused
	char *refusal;
	bool waits; // for the workers to look for the flow that `flow del` names; `found` before
	uint64_t found;
};

// The switches of the fabric are made. *out is NULL if the scenario has no command. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int operator_create(struct fabric *f, struct operator **out);
void operator_destroy(struct operator *o); // NULL is fine

// True: the answer waits until the workers have stepped, and for operator_look().
bool operator_types(struct operator *o, const struct sc_fault *command, uint64_t now_ns);
// NULL is fine below.
// To be called as often as control looks at the switches.
void operator_look(struct operator *o, uint64_t now_ns);
void operator_new_policy(struct operator *o, uint32_t sw); // a switch has another policy
const struct operator_answer *operator_answers(const struct operator *o, uint32_t *n);

// Says where the answers to `show` are, if there are any.
void report_commands_line(const struct run *r, FILE *out);
// The list `weirctl` of the report, if the scenario has commands.
void report_commands_json(const struct run *r, struct json_object *out);
