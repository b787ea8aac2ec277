// SPDX-License-Identifier: Apache-2.0
// Auto ECN in a running fabric: an agent (control/autoecn/agent.h) for each switch whose policy
// asks for it, on the virtual clock. Single thread.
#pragma once

#include <stdint.h>

#include "control/autoecn/agent.h"

struct fabric;
struct fabric_switch;

// The agents of the switches, which must exist. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int thresholds_create(struct fabric *f);
void thresholds_destroy(struct fabric *f);
// Once in a look of control.
void thresholds_look(struct fabric *f, uint64_t now_ns);
// Of the queue of a class: changes of the thresholds so far; kmin and kmax now, of auto ECN or of
// the policy. No change for another class of the queue than the lowest.
double thresholds_changes(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls);
double thresholds_kmin(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls);
double thresholds_kmax(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls);
// The switch has taken another policy. False: memory is short.
bool thresholds_new_policy(struct fabric_switch *s, uint64_t now_ns);
