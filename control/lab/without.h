// SPDX-License-Identifier: Apache-2.0
// Mechanisms that can be taken away from a scenario: `without: [pfc]`, in the file or by
// `--set without=[pfc]`. The key `about` names the mechanisms that a scenario shows. Only
// tests/lab/scenarios/battery.py reads it: the scenario must fail without each of them.
#pragma once

#include "control/base/schema.h"
#include "control/lab/scenario.h"

struct policy;

// Words, and what taking them away means.
#define LAB_MECHANISMS(X)                                                                          \
	X(CC, cc, "no NIC lowers its rate at a CNP")                                               \
	X(PFC, pfc, "switches send no PAUSE, and neither they nor hosts obey one")                 \
	X(WATCHDOG, watchdog, "no class is watched for storms")                                    \
	X(IPCC, ipcc, "switches send no CNPs")                                                     \
	X(ECN, ecn, "switches set no mark; WRED drops where it may")				   \
	X(AUTO, auto, "auto ECN only advises")                                                     \
	X(TRIM, trim, "switches drop what they would trim")                                        \
	X(ELEPHANTS, elephants, "no flow is looked at by its size")

enum {
#define X(id, ...) MECHANISM_##id,
	LAB_MECHANISMS(X)
#undef X
		N_MECHANISMS,
};

extern const char *const mechanism_words[N_MECHANISMS + 1]; // the last is NULL
extern const char *const mechanism_off[N_MECHANISMS]; // what it means to be without

// The list of the file.
void mechanisms_take(struct scenario *sc, const struct cfg_words *without);

// Switches the mechanisms of `without` off in all hosts. Their NICs are configured before.
void mechanisms_off_in_hosts(struct scenario *sc);
// The same for a policy that a switch is about to run.
void mechanisms_off_in_policy(const struct scenario *sc, struct policy *p);

// All hosts and policies were there: a mechanism that none of them has cannot be taken away. 0,
// -EINVAL with *d filled.
int mechanisms_check(const struct scenario *sc, struct diags *d);
